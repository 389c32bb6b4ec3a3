/* SPDX-License-Identifier: Apache-2.0
 *
 * Projects: people who label, the models trained on their answers, and the audit that
 * says how good those are (docs/projects.md).
 */
#ifndef SCANT_PROJECT_H
#define SCANT_PROJECT_H

#include "scant/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- projects ---------------------------------------------------------------------- */

/* People who label: samples where they are, labels in a database, models beside it. A
 * project is a folder with project.db (SQLite; docs/store.md has its schema and
 * promises), models/ and cache/, which can be deleted at any time.
 *
 * A handle serves one thread at a time, as its context does. Several handles may be open
 * on one project, of several threads and programs; each sees what the others have
 * finished, and writers wait for each other. Items are numbered from 0 in the order they
 * came and keep their numbers; a class is its place in the order classes were added.
 *
 * Besides the statuses each function names, any of them may return SCANT_EIO (the disk),
 * SCANT_EINPUT (a damaged database) and SCANT_ENOMEM. Throughout this header
 *   SCANT_EUSAGE     the arguments are wrong, whatever the project contains;
 *   SCANT_ENOTFOUND  the project has no such item, class, person or entry;
 *   SCANT_ECONFLICT  somebody else holds it, or it exists already;
 *   SCANT_ENOTREADY  something must happen first, usually training a model.
 */
typedef struct scant_project scant_project;

/* Where items come from. One of images and features, or neither where the manifest names
 * pictures by their paths. */
typedef struct scant_source {
    const char *images;   /* a folder of pictures (those in folders of it, too), or else
                           * pictures as scant_data_open() takes them */
    const char *features; /* n x d numbers: .npy, .npz:KEY */
    /* CSV or JSONL, a line an item: id, and one of path, row and text; label, group.
     * Ids are otherwise paths below the folder, or rows' numbers. */
    const char *manifest;
} scant_source;

typedef struct scant_project_opts {
    scant_source source;
    const char *const *classes; /* their names, each once */
    size_t n_classes;
    const char *backbone; /* a model that pictures' features are read out of (none) */
    const char *weights;  /* its weights; with backbone */
    uint64_t seed;
    const scant_setting *settings; /* scant_project_key_at() */
    size_t n_settings;
} scant_project_opts;

/* Makes a project in dir, which must be missing or empty (else SCANT_ECONFLICT). Whole or
 * not at all. On SCANT_OK *out is open: scant_project_free() ends it; else NULL. */
SCANT_API scant_status scant_project_create(scant_ctx *ctx, const char *dir,
                                            const scant_project_opts *opts,
                                            scant_project **out);
/* SCANT_EINPUT where dir is no project, or one of a later version. One of an earlier
 * version is brought up to date first. */
SCANT_API scant_status scant_project_open(scant_ctx *ctx, const char *dir,
                                          scant_project **out);
SCANT_API void scant_project_free(scant_project *project); /* NULL is fine */

/* More items, in time proportional to what is new. A source that is a folder of the
 * project already, or none at all (source NULL: all folders), is looked through for
 * pictures that are new. *added (may be NULL): how many. Ids must not be there yet. */
SCANT_API scant_status scant_project_add(scant_project *project,
                                         const scant_source *source, size_t *added);

/* What can be set, and its default. From i = 0 on; NULL: there are no more. Static. */
typedef struct scant_project_key {
    const char *key, *value, *choices, *help;
} scant_project_key;
SCANT_API const scant_project_key *scant_project_key_at(size_t i);
/* SCANT_EUSAGE where it must not be that; also where there are answers and it would
 * change which items are withheld (audit_most; audit_every to 0 or from 0). */
SCANT_API scant_status scant_project_set(scant_project *project, const char *key,
                                         const char *value);
/* Several: all or none. */
SCANT_API scant_status scant_project_set_all(scant_project *project,
                                             const scant_setting *settings, size_t n);
/* Borrowed until it is set; NULL: there is no such key. */
SCANT_API const char *scant_project_get(scant_project *project, const char *key);

/* What is in it. Counts are of items, but for entries. */
typedef struct scant_project_info {
    const char *dir;  /* borrowed, as all below, until close */
    const char *kind; /* "pictures", "features" (rows of numbers), "texts" */
    const char *key;  /* random, made once: whether two are the same project */
    size_t items;
    size_t copies;   /* of others, to the byte: their labels follow from those */
    size_t classes;  /* how many */
    size_t people;   /* how many */
    size_t entries;  /* lines of the history */
    size_t labelled; /* have a label that people agree on, and are no copies */
    size_t training; /* of those, what a model learns from: the others are audited */
    int learnable;   /* these have two classes at least */
    size_t disputed; /* have answers that differ */
    size_t skipped, unsure; /* have such an answer and no label */
    size_t withheld;        /* kept apart for the audit */
    size_t audited; /* of those, have a label, as have all before them in the audit order
                     * that nobody passed over: a fair sample */
    size_t rounds, models;  /* how many */
    size_t round_model;     /* that the last round was picked by; 0: none */
    size_t picked, waiting; /* of the last round; of these, have no answer yet */
    size_t untrained;       /* labels to learn from since the last model */
    int64_t created;        /* milliseconds since 1970 */
} scant_project_info;
SCANT_API scant_status scant_project_info_get(scant_project *project,
                                              scant_project_info *out);

/* Borrowed until the project is next changed or closed; NULL: there is no such class. */
SCANT_API const char *scant_project_class(scant_project *project, size_t label);
/* SCANT_ECONFLICT: there is a class of that name. *label may be NULL. */
SCANT_API scant_status scant_project_class_add(scant_project *project, const char *name,
                                               size_t *label);

/* ---- items of a project ---- */

typedef enum scant_answer_kind {
    SCANT_ANSWER_LABEL = 1,
    SCANT_ANSWER_SKIP,   /* not now, not by me */
    SCANT_ANSWER_UNSURE, /* looked at, and not to be told */
    SCANT_ANSWER_UNDO    /* takes an earlier entry back; of the history alone */
} scant_answer_kind;

typedef struct scant_item {
    size_t item;       /* its number */
    const char *id;    /* the user's */
    const char *path;  /* of its picture, below its source; NULL: it has none */
    const char *text;  /* NULL: it has none */
    const char *group; /* NULL: it is in none */
    size_t copy_of;    /* itself, where it is no copy */
    int audit;         /* withheld for the audit */
    int64_t label;     /* the class, or -1: none, or answers differ */
    size_t answers;    /* that stand: people who gave a label */
    int disputed;
    /* SCANT_ANSWER_LABEL: there is a label. Else _UNSURE, or _SKIP, where that is all
     * that was said of it; 0: nothing was, or answers differ. */
    scant_answer_kind answer;
} scant_item;

/* Calls fn for items first .. first + count - 1 (SIZE_MAX: to the last) in order; it ends
 * early where fn returns other than SCANT_OK, with that. What item points to is valid
 * within the call of fn, which must not use the project. */
SCANT_API scant_status
scant_project_items(scant_project *project, size_t first, size_t count,
                    scant_status (*fn)(void *user, const scant_item *item), void *user);
/* One of them (SCANT_ENOTFOUND: there is none of that number); strings are borrowed until
 * the next call for the project. */
SCANT_API scant_status scant_project_item(scant_project *project, size_t item,
                                          scant_item *out);
/* The number of the item with an id; SCANT_ENOTFOUND where there is none. */
SCANT_API scant_status scant_project_find(scant_project *project, const char *id,
                                          size_t *item);
/* labels: of each item the class, -1 where it has none or is withheld for the audit. The
 * caller's array of as many as there are items. Copies have their original's. */
SCANT_API scant_status scant_project_labels(scant_project *project, int64_t *labels,
                                            size_t n);

/* An item's picture as a file, JPEG or PNG, none of its sides longer than `most` pixels,
 * upright. *type is "image/jpeg" or "image/png", static. *bytes is new:
 * scant_bytes_free() ends it. SCANT_ENOTFOUND: no such item; SCANT_EINPUT
 * where it has none or it cannot be read. */
SCANT_API scant_status scant_project_picture(scant_project *project, size_t item,
                                             size_t most, void **bytes, size_t *size,
                                             const char **type);

/* ---- people and their answers ---- */

/* Why an item was handed out. */
typedef enum scant_role {
    SCANT_ROLE_PICK = 1, /* by a strategy, in a round */
    SCANT_ROLE_AUDIT,    /* by the audit order */
    SCANT_ROLE_OVERLAP,  /* for a second opinion */
    SCANT_ROLE_FILL,     /* as there was no pick left: further down the last ranking, or
                          * at random */
    SCANT_ROLE_ALIKE,    /* next to another, in a grid */
    SCANT_ROLE_IMPORT    /* from a file */
} scant_role;
SCANT_API const char *scant_role_name(scant_role role); /* "pick"; static */

/* The number of a person, who is added where the name is new. Names are not empty, at
 * most 100 bytes of UTF-8, without control characters, those that change the direction of
 * writing, and blanks at their ends; so are those of classes, of 200 bytes. */
SCANT_API scant_status scant_project_person(scant_project *project, const char *name,
                                            size_t *person);
/* Borrowed until the next call for the project; NULL: there is no such person. */
SCANT_API const char *scant_project_person_name(scant_project *project, size_t person);

typedef struct scant_person {
    size_t person; /* number, from 1 on */
    const char *name;
    size_t answers; /* of theirs that stand: labels, skips and unsures */
} scant_person;
/* Calls fn for everybody, in the order of their numbers, as scant_project_items() does.
 * These counts are kept: it takes time for the people, not for their answers. */
SCANT_API scant_status scant_project_people(
    scant_project *project, scant_status (*fn)(void *user, const scant_person *person),
    void *user);

/* An item that is a person's to answer until a time. */
typedef struct scant_lease {
    size_t item;
    uint64_t key;  /* names the lease; never 0 */
    int64_t until; /* milliseconds since 1970 */
    scant_role role;
    size_t round; /* 0: none */
} scant_lease;

/* Up to `count` items for a person to answer: what is leased to that person already, then
 * new ones. No item is leased to two people at once, and nobody gets one again that they
 * have answered. In order: second opinions that are due (setting overlap), one of the
 * audit order in every audit_every, picks of the last round, what came next in its
 * ranking, any other at random. *n may be less: there are no more. */
SCANT_API scant_status scant_project_next(scant_project *project, size_t person,
                                          size_t count, scant_lease *leases, size_t *n);
/* Leases these items to a person, those of them that may be: no copies, not withheld, not
 * leased to another, without an answer. For a grid of look-alikes. */
SCANT_API scant_status scant_project_take(scant_project *project, size_t person,
                                          const size_t *items, size_t n_items,
                                          scant_lease *leases, size_t *n);
/* Leases whose keys are given last as long as new ones again; *kept: how many are still
 * the person's. Keys NULL: all of theirs. */
SCANT_API scant_status scant_project_renew(scant_project *project, size_t person,
                                           const uint64_t *keys, size_t n_keys,
                                           size_t *kept);
/* Leases that end: others may have the items. Keys NULL: all of theirs. */
SCANT_API scant_status scant_project_release(scant_project *project, size_t person,
                                             const uint64_t *keys, size_t n_keys);

typedef struct scant_answer {
    size_t item;
    scant_answer_kind kind; /* no undo */
    size_t label;           /* the class, of a label */
    int64_t spent;          /* milliseconds that it took; negative: nobody knows */
    uint64_t lease;         /* the key it was handed out with; 0: none */
    /* Chosen by whoever asks, at most 64 bytes: an answer that comes again with the same
     * one is stored once. NULL: none. */
    const char *once;
} scant_answer;

typedef struct scant_receipt {
    int64_t entry; /* of the history */
    int repeated;  /* it was there already */
} scant_receipt;

/* Stores answers, all or none; when it returns SCANT_OK they are on the disk. An answer
 * replaces what the person said of the item before. It may come when its lease has run
 * out, unless somebody else has the item or has answered it meanwhile (and overlap does
 * not ask for more): SCANT_ECONFLICT then, and the message says so. Without a lease an
 * answer may only replace one of the person's own (else SCANT_ECONFLICT, as where `once`
 * has come with another answer). SCANT_ENOTFOUND: no such item, class or person.
 * SCANT_EIO where the disk is full: nothing is stored. receipts: n, may be NULL. */
SCANT_API scant_status scant_project_answer(scant_project *project, size_t person,
                                            const scant_answer *answers, size_t n,
                                            scant_receipt *receipts);
/* Takes back an entry of a person's that stands (which; 0: the last), as a new entry; the
 * item is leased to them again (key 0: it is not, as somebody else has it or no more
 * answers are needed). What that entry had replaced does not stand again. *entry: the one
 * that is taken back. SCANT_ENOTFOUND where there is none. once: as above. */
SCANT_API scant_status scant_project_undo(scant_project *project, size_t person,
                                          int64_t which, const char *once, int64_t *entry,
                                          scant_lease *lease);
/* What a person says of an item (of a copy: of its original) that stands: a label, or -1,
 * of that entry; *entry 0: nothing. */
SCANT_API scant_status scant_project_said(scant_project *project, size_t person,
                                          size_t item, int64_t *entry,
                                          scant_answer_kind *kind, int64_t *label);

/* A line of the history, which only grows. */
typedef struct scant_entry {
    int64_t entry;
    size_t item;
    const char *id, *person;
    scant_answer_kind kind;
    int64_t label; /* -1: none */
    const char *class_name;
    int64_t at, spent; /* milliseconds; spent negative: not known */
    scant_role role;
    size_t round, model; /* that the item was proposed by; 0: none */
    int64_t undoes;      /* of an undo: which entry; else 0 */
    int stands;          /* an answer that is neither taken back nor replaced */
} scant_entry;

/* Calls fn for the entries after `after`, oldest first, of a person (SIZE_MAX: all);
 * newest: the other way round, before `after` (0: from the last). At most `count`.
 * Otherwise as scant_project_items(). */
SCANT_API scant_status scant_project_history(
    scant_project *project, size_t person, int64_t after, int newest, size_t count,
    scant_status (*fn)(void *user, const scant_entry *entry), void *user);

/* What came from a file of labels. */
typedef struct scant_import {
    size_t lines, stored, repeated; /* repeated: that answer was there already */
    size_t others;  /* of those stored: no labels, but skips and unsures */
    size_t older;   /* not stored: its person has said otherwise after that time, or
                     * taken back an answer */
    size_t unknown; /* ids that are not in the project */
    const char *const *unknown_ids; /* all of them; borrowed until the next import */
} scant_import;
/* Labels from CSV (id,label; answer, annotator, time), JSONL (the same) or Label Studio's
 * JSON; an answer may be label, skip or unsure, the last two without a label.
 * All or none: SCANT_EINPUT where an id or a class is not known, unless partial, which
 * leaves those lines out. A new class is none, unless add_classes. person: who is said to
 * have labelled what names nobody. Where a line has a time, and its person has given
 * another answer to the item after it, that answer stays. */
typedef struct scant_import_opts {
    const char *person; /* ("import") */
    int partial, add_classes;
} scant_import_opts;
SCANT_API scant_status scant_project_import(scant_project *project, const char *path,
                                            const scant_import_opts *opts,
                                            scant_import *out);

/* Agreement of people on items that both have answered. */
typedef struct scant_agreement_of {
    const char *a, *b; /* people */
    size_t items;
    double agreed; /* the part of them */
    double kappa;  /* Cohen's; NaN where it is not defined */
} scant_agreement_of;
SCANT_API scant_status scant_project_agreements(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_agreement_of *pair), void *user);

/* ---- models and rounds ---- */

/* Fills cache/ with what items' features are, where they are of a backbone or of a file:
 * only what is not there yet. Called by whatever needs it. */
SCANT_API scant_status scant_project_prepare(scant_project *project);

typedef struct scant_project_train_opts {
    uint64_t seed; /* (the project's, and the model's number) */
    void *user;
    void (*report)(void *user, const scant_train_state *state);
} scant_project_train_opts;

/* Trains a model on the labels there are (of no withheld item), keeps it in models/, its
 * predictions in cache/, and what the audit says of it in the database. SCANT_ENOTREADY
 * where there are labels of fewer than two classes. While another program trains,
 * SCANT_ECONFLICT and a message that says who. *model: its number, from 1; may be NULL.
 */
SCANT_API scant_status scant_project_train(scant_project *project,
                                           const scant_project_train_opts *opts,
                                           size_t *model);

typedef struct scant_project_query_opts {
    const char *strategy; /* (the setting strategy; random before the first model) */
    size_t batch;         /* (the setting batch) */
    size_t spare;         /* further rows of the ranking, to fall back on (none) */
    uint64_t seed;        /* (the project's, and the round's number) */
    const scant_setting *settings; /* of the strategy */
    size_t n_settings;
} scant_project_query_opts;

/* Picks items to label next, by the last model, and keeps them as a round.
 * SCANT_ENOTREADY: the strategy needs a model, or features, that are not there yet. *out
 * is new: scant_picks_free() ends it; its rows are items. *round may be NULL. Where no
 * item is left to pick that is no failure: *out is NULL, and there is no round (0). */
SCANT_API scant_status scant_project_query(scant_project *project,
                                           const scant_project_query_opts *opts,
                                           scant_picks **out, size_t *round);
/* Withheld items that belong among `batch` to be labelled, where they are not handed out
 * by scant_project_next(): the next of the audit order that nobody has answered, then
 * those that were passed over, as many as bring the audited part of all labels to one in
 * audit_every; at most half of the batch.
 * items: the caller's array of batch. */
SCANT_API scant_status scant_project_audit(scant_project *project, size_t batch,
                                           size_t *items, size_t *n);

/* What the last model says of all items: n x classes probabilities, float32. *out is a
 * new array, mapped from cache/, and made anew where it is not there:
 * scant_array_free() ends it. *model: which. SCANT_ENOTREADY where there is no model. */
SCANT_API scant_status scant_project_predict(scant_project *project, scant_array **out,
                                             size_t *model);
/* The same as far as cache/ has it, without asking a network: it takes no time, but there
 * may be fewer rows than items, and fewer columns than classes. *out NULL: there is
 * nothing, *model 0: nor a model. */
SCANT_API scant_status scant_project_predicted(scant_project *project, scant_array **out,
                                               size_t *model);
/* Items' features, likewise: their own, or those of the last model; NULL: there are none
 * yet. Fewer rows than items: a backbone has not seen the others, which
 * scant_project_prepare() would show it. */
SCANT_API scant_status scant_project_features(scant_project *project, scant_array **out);

/* Where a model stands on the audited items: an unbiased sample of the pool that it has
 * not learned from. NaN: not known. */
typedef struct scant_model_point {
    size_t model; /* number */
    size_t round; /* that its labels end with */
    int64_t at;
    size_t labels;              /* it was trained on */
    size_t audited, right;      /* items with a label now; the model is right on */
    double accuracy, low, high; /* with its 95 % interval (Clopper and Pearson, 1934) */
    double agreement; /* with the model before: the part of the unlabelled items on which
                       * both say the same */
    double seconds;   /* that training took */
    const char *file; /* of its weights, below the project's folder */
} scant_model_point;
SCANT_API scant_status scant_project_models(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_model_point *point), void *user);

typedef struct scant_round_point {
    size_t round;
    int64_t at;
    const char *strategy;
    size_t model;            /* that it was picked by; 0: none */
    size_t picked, answered; /* items */
} scant_round_point;
SCANT_API scant_status scant_project_rounds(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_round_point *point), void *user);
/* The last round's picks, best first, those to fall back on not among them. items: the
 * caller's array of `room`; *n: how many there are, of which so many as fit are set; 0:
 * there is no round. */
SCANT_API scant_status scant_project_picked(scant_project *project, size_t room,
                                            size_t *items, size_t *n);

/* The honest meter (docs/projects.md): how good the last model is, and whether to go on.
 */
typedef struct scant_meter {
    scant_model_point last; /* model 0: there is none */
    size_t left_out; /* drawn like the audited items, but nobody could tell, people passed
                      * them over or disagree: the accuracy is without them */
    size_t added;    /* items that came after the last model: it is not judged on them */
    /* What picking is worth: the accuracy of a model on the project's first labels, half
     * of them and more picked by a strategy, over that of models on as many audited
     * (random) ones, each asked about audited items that it has not seen; paired, with a
     * 95 % interval (for these labels: not for other draws). NaN: not known. */
    double over_random, over_random_low, over_random_high;
    size_t over_random_labels;
    /* What ten more labels have brought lately, in accuracy on the audited items (the
     * last models that span stop_labels labels); NaN: not known. */
    double per_ten, per_ten_high; /* high: of its 95 % interval */
    int narrow;   /* the interval is no wider than the setting stop_width */
    int fading;   /* per_ten is below stop_gain */
    int agreeing; /* the last two pairs of models agree on stop_agreement and more */
    int stop;     /* all three, and no items came after the last model */
} scant_meter;
SCANT_API scant_status scant_project_meter(scant_project *project, scant_meter *out);
/* The same in words: a paragraph each of how good, what picking is worth, and whether to
 * go on. *text is new, ended by a zero: scant_bytes_free() ends it. */
SCANT_API scant_status scant_project_advice(scant_project *project,
                                            const scant_meter *meter, char **text);

/* Why an item might be asked about. */
enum { SCANT_WHY_NEIGHBOURS = 6 };
typedef struct scant_why {
    size_t model;             /* 0: none yet, and what needs one is NaN */
    int64_t class_1, class_2; /* what it holds most likely; -1: not asked yet */
    double p_1, p_2;
    double entropy;      /* of its probabilities, as a part of the largest there can be */
    double surer;        /* the part of all items that the model is surer of */
    double novelty;      /* distance to the nearest labelled item, by features */
    double newer;        /* the part of (a sample of) unlabelled items that are farther */
    size_t n_neighbours; /* labelled ones, nearest first */
    size_t neighbours[SCANT_WHY_NEIGHBOURS];
    double distances[SCANT_WHY_NEIGHBOURS];
} scant_why;
SCANT_API scant_status scant_project_why(scant_project *project, size_t item,
                                         scant_why *out);
/* Items nearest to one by their features that have no answer, are no copies and not
 * withheld; nearest first, the item itself not among them. SCANT_ENOTFOUND: no such
 * item; SCANT_ENOTREADY: there are no features yet. */
SCANT_API scant_status scant_project_alike(scant_project *project, size_t item,
                                           size_t count, size_t *items, size_t *n);

/* Items in two dimensions, by the first two principal components of their features: all,
 * or an even sample of at most `most` beside those that are labelled or were picked last.
 * items (most), xy (2 * most): the caller's; *n of them are set. SCANT_ENOTREADY: there
 * are no features yet. */
SCANT_API scant_status scant_project_map(scant_project *project, size_t most,
                                         size_t *items, float *xy, size_t *n);

/* All items, or their labels, for other programs: "csv", "jsonl", "label-studio"
 * (what has answers or a prediction, as its import reads it), "npy" (n int64: the class,
 * else -1).
 * Complete: withheld items and copies, too; ids, annotator, time, and of what has no
 * label what the last model says and how sure it is. *bytes is new: scant_bytes_free()
 * ends it. */
SCANT_API scant_status scant_project_export(scant_project *project, const char *format,
                                            void **bytes, size_t *size);

/* What happened: "created", "added", "trained", "queried", "imported", "set", "class",
 * "served". text is JSON. Calls fn for events after `after`, oldest first. */
typedef struct scant_event {
    int64_t event, at;
    const char *kind, *text;
} scant_event;
SCANT_API scant_status scant_project_events(scant_project *project, int64_t after,
                                            scant_status (*fn)(void *user,
                                                               const scant_event *event),
                                            void *user);
SCANT_API scant_status scant_project_event(scant_project *project, const char *kind,
                                           const char *json);

/* At most one program holds each of a project's locks ("serve", "train"; "cache" and
 * "predict", which whoever fills cache/ with features or predictions holds) at a time,
 * until it lets go or ends, however that comes.
 * who (a sentence: "process 12 on host, serving http://127.0.0.1:8080") is told to those
 * that come too late: SCANT_ECONFLICT. */
typedef struct scant_hold scant_hold;
SCANT_API scant_status scant_project_hold(scant_project *project, const char *lock,
                                          const char *who, scant_hold **out);
SCANT_API void scant_hold_free(scant_hold *hold); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
