/* SPDX-License-Identifier: Apache-2.0
 *
 * Projects: people who label, the models trained on their answers, and the audit that
 * measures those models (docs/projects.md).
 */
#ifndef SCANT_PROJECT_H
#define SCANT_PROJECT_H

#include "scant/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- projects ---------------------------------------------------------------------- */

/* A project is a folder with project.db (SQLite; docs/store.md describes it), models/ and
 * cache/. cache/ can be deleted at any time. Images and arrays stay where they are.
 *
 * A handle serves one thread at a time, like its context. Several threads and programs
 * may open handles of one project; each sees the finished transactions of the others, and
 * writers wait for each other. Items are numbered from 0 in the order they were added and
 * keep their numbers; classes likewise.
 *
 * Besides the statuses each function names, any of them may return SCANT_EIO (the disk),
 * SCANT_EINPUT (a damaged database) and SCANT_ENOMEM. Throughout this header
 *   SCANT_EUSAGE     the arguments are wrong, whatever the project contains;
 *   SCANT_ENOTFOUND  the project has no such item, class, person or entry;
 *   SCANT_ECONFLICT  the project does not allow the call: somebody else holds the item,
 *                    the name exists already, other settings or answers contradict it;
 *   SCANT_ENOTREADY  something must happen first, usually training a model.
 */
typedef struct scant_project scant_project;

/* Where items come from: images or features, or neither if the manifest names images by
 * their paths. */
typedef struct scant_source {
    const char *images;   /* a folder of images, subfolders included, or images as
                             scant_data_open() accepts them */
    const char *features; /* n x d: .npy, .npz:KEY */
    /* CSV or JSONL, one line per item, with at least one of id, path, row and text, and
     * optionally label and group. Without a manifest ids are paths below the folder; in
     * an array they are the items' numbers. */
    const char *manifest;
    SCANT_RESERVED;
} scant_source;

typedef struct scant_project_opts {
    scant_source source;
    const char *const *classes; /* distinct names */
    size_t n_classes;
    const char *backbone; /* the model that computes features of images (none) */
    const char *weights;  /* file of the backbone's weights */
    uint64_t seed;
    const scant_setting *settings; /* scant_project_options() */
    size_t n_settings;
    SCANT_RESERVED;
} scant_project_opts;

/* Creates a project in dir, which must be missing or empty (else SCANT_ECONFLICT); all or
 * nothing. On SCANT_OK *out is new: scant_project_free() ends it; else NULL. */
SCANT_API scant_status scant_project_create(scant_ctx *ctx, const char *dir,
                                            const scant_project_opts *opts,
                                            scant_project **out);
/* Opens a project. On SCANT_OK *out is new: scant_project_free() ends it; else NULL.
 * SCANT_EINPUT: dir is not a project, or its database has another version; the message
 * says what to do. */
SCANT_API scant_status scant_project_open(scant_ctx *ctx, const char *dir,
                                          scant_project **out);
SCANT_API void scant_project_free(scant_project *project); /* NULL is fine */

/* SCANT_EIO if project.db or its log was removed, replaced, cut short or overwritten with
 * an older copy since it was opened: what is written then is lost. Every function that
 * writes checks it before and after, and fails in the same way; if the file is put back,
 * they work again. */
SCANT_API scant_status scant_project_check(scant_project *project);

/* Adds items, in time proportional to their number. Ids must be new. Without a manifest,
 * only images or rows that the project does not have yet are added. source NULL: searches
 * all folders that were added without a manifest (SCANT_ENOTREADY: there is none).
 * SCANT_ECONFLICT: the project has items of another kind. *added (may be NULL): how many
 * were added. */
SCANT_API scant_status scant_project_add(scant_project *project,
                                         const scant_source *source, size_t *added);

/* Takes all sources as they are now. A source whose content has changed since its items
 * were added is refused by every function that reads it (SCANT_EINPUT), because labels
 * belong to the earlier content: a features file with its rows in another order, say. A
 * file that was only extended or touched is not refused. Items keep their ids, labels and
 * copies; cache/ is emptied. *changed (may be NULL): how many items are different.
 * SCANT_EINPUT: rows of items are missing. */
SCANT_API scant_status scant_project_accept_changed(scant_project *project,
                                                    size_t *changed);

/* Tells whether a path is a file that the project needs: its database, its models, or
 * where its items come from, such as features, a manifest or an image. *what: a static
 * text to name it in messages; NULL: it is none of these. Files are compared by inode. */
SCANT_API scant_status scant_project_file(scant_project *project, const char *path,
                                          const char **what);

/* The settings of a project, with their defaults. Static. */
SCANT_API const scant_option *scant_project_options(size_t *count);
/* SCANT_EUSAGE: there is no such key, or the value is not allowed. SCANT_ECONFLICT: the
 * strategy needs posterior draws and bayes is none; or there are answers, and the value
 * would change the audit set (another audit_most, or audit_every from or to 0). */
SCANT_API scant_status scant_project_set(scant_project *project, const char *key,
                                         const char *value);
/* Several settings, all or none. */
SCANT_API scant_status scant_project_set_all(scant_project *project,
                                             const scant_setting *settings, size_t n);
/* Borrowed until the setting changes; NULL: no such key. */
SCANT_API const char *scant_project_get(scant_project *project, const char *key);

/* Counts are of items, except entries. */
typedef struct scant_project_info {
    const char *dir;  /* borrowed until the project is closed, like all strings below */
    const char *kind; /* "pictures" (images), "features", "texts" */
    const char *key;  /* random; identifies the project */
    size_t items;
    size_t copies;          /* copies of an earlier item, whose label they share */
    size_t classes;         /* how many */
    size_t people;          /* how many */
    size_t entries;         /* entries of the history */
    size_t labelled;        /* items with a label, without copies */
    size_t training;        /* labelled items that models train on */
    bool learnable;         /* the training items have at least two classes */
    size_t disputed;        /* items whose labels are tied between classes */
    size_t skipped, unsure; /* items with such an answer and no label */
    size_t withheld;        /* the size of the audit set */
    size_t audited; /* labelled items of the audit set, counted in the audit order up to
                       the first item that nobody has answered or skipped: a random
                       sample */
    size_t rounds, models;  /* how many */
    size_t round_model;     /* the model that picked the last round; 0: none */
    size_t picked, waiting; /* picks of the last round; those without an answer */
    size_t untrained;       /* labels to train on that are newer than the last model */
    int64_t created;        /* milliseconds since 1970 */
    SCANT_RESERVED;
} scant_project_info;
SCANT_API scant_status scant_project_info_get(scant_project *project,
                                              scant_project_info *out);

/* Borrowed until the project is changed or closed; NULL: no such class. */
SCANT_API const char *scant_project_class(scant_project *project, size_t label);
/* SCANT_ECONFLICT: the name exists. *label may be NULL. */
SCANT_API scant_status scant_project_class_add(scant_project *project, const char *name,
                                               size_t *label);

/* ---- items of a project ---- */

typedef enum scant_answer_kind {
    SCANT_ANSWER_LABEL = 1,
    SCANT_ANSWER_SKIP,   /* left to others */
    SCANT_ANSWER_UNSURE, /* the class cannot be told */
    SCANT_ANSWER_UNDO    /* withdraws an earlier entry; in the history only */
} scant_answer_kind;
SCANT_API const char *scant_answer_name(scant_answer_kind kind); /* "label"; static */

typedef struct scant_item {
    size_t item;       /* its number */
    const char *id;    /* the user's */
    const char *path;  /* path of its image, below its source; NULL: none */
    const char *text;  /* NULL: none */
    const char *group; /* NULL: none */
    size_t copy_of;    /* number of its original; its own if it is not a copy */
    bool audit;        /* in the audit set */
    int64_t label;     /* the class; -1: none, or answers differ */
    size_t answers;    /* number of current answers that are labels */
    bool disputed;
    /* SCANT_ANSWER_LABEL: it has a label. Without labels: _UNSURE if there is an unsure,
     * else _SKIP if there is a skip. 0: no answers, or disputed. */
    scant_answer_kind answer;
    SCANT_RESERVED;
} scant_item;

/* Calls fn for items first .. first + count - 1 (SIZE_MAX: to the last) in order, until
 * fn returns another status than SCANT_OK, which is returned. Pointers in item are valid
 * during the call of fn, which must not use the project. */
SCANT_API scant_status
scant_project_items(scant_project *project, size_t first, size_t count,
                    scant_status (*fn)(void *user, const scant_item *item), void *user);
/* One item (SCANT_ENOTFOUND: no such number); strings are borrowed until the next call
 * for the project. */
SCANT_API scant_status scant_project_item(scant_project *project, size_t item,
                                          scant_item *out);
/* Finds the item with an id; SCANT_ENOTFOUND: none. */
SCANT_API scant_status scant_project_find(scant_project *project, const char *id,
                                          size_t *item);
/* Writes the class of each item to labels, the caller's array of one element per item; -1
 * if it has no label or is in the audit set. Copies have their original's label. */
SCANT_API scant_status scant_project_labels(scant_project *project, int64_t *labels,
                                            size_t n);

/* Encodes an item's image as JPEG or PNG, upright, no side longer than `most` pixels.
 * *type is "image/jpeg" or "image/png", static. *bytes is new: scant_bytes_free() ends
 * it. SCANT_ENOTFOUND: no such item; SCANT_EINPUT: it has no image, or the image cannot
 * be read. */
SCANT_API scant_status scant_project_image(scant_project *project, size_t item,
                                           size_t most, void **bytes, size_t *size,
                                           const char **type);
/* The same without decoding a file. *bytes is NULL if the image is not in cache/ yet. */
SCANT_API scant_status scant_project_image_cached(scant_project *project, size_t item,
                                                  size_t most, void **bytes, size_t *size,
                                                  const char **type);

/* ---- people and their answers ---- */

/* Why an item was handed out. */
typedef enum scant_role {
    SCANT_ROLE_PICK = 1, /* picked by a strategy, in a round */
    SCANT_ROLE_AUDIT,    /* next in the audit order */
    SCANT_ROLE_OVERLAP,  /* for a second opinion */
    SCANT_ROLE_FILL,     /* no pick was left: a spare pick of the last round, or random */
    SCANT_ROLE_ALIKE,    /* similar to another item, in a grid */
    SCANT_ROLE_IMPORT    /* not handed out: the answer is from a file */
} scant_role;
SCANT_API const char *scant_role_name(scant_role role); /* "pick"; static */

/* Finds the number of a person, who is added if the name is new. Names have 1 to 100
 * bytes of UTF-8, no control characters, no characters that change the writing direction
 * and no spaces at the ends. The same holds for class names, but with up to 200 bytes. */
SCANT_API scant_status scant_project_person(scant_project *project, const char *name,
                                            size_t *person);
/* Borrowed until the next call for the project; NULL: no such person. */
SCANT_API const char *scant_project_person_name(scant_project *project, size_t person);

typedef struct scant_person {
    size_t person; /* number, from 1 on */
    const char *name;
    size_t answers; /* current ones: labels, skips and unsures */
} scant_person;
/* Calls fn for everybody in the order of their numbers, like scant_project_items():
 * person->name is valid during the call of fn. The counts are stored: the cost depends on
 * the number of people only. */
SCANT_API scant_status scant_project_people(
    scant_project *project, scant_status (*fn)(void *user, const scant_person *person),
    void *user);

/* A lease: the item is reserved for one person until `until`. */
typedef struct scant_lease {
    size_t item;
    uint64_t key;  /* identifies the lease; never 0 */
    int64_t until; /* milliseconds since 1970 */
    scant_role role;
    size_t round; /* 0: none */
} scant_lease;

/* Leases up to `count` items to a person: existing leases first, then new ones. No item
 * is leased to two people at once, and nobody gets an item that they have answered. New
 * items come in this order: second opinions (setting overlap), an item of the audit set
 * if one is due (one in audit_every), picks of the last round, its spare picks, any other
 * item at random. *n: the number of leases, fewer if no items are left. */
SCANT_API scant_status scant_project_next(scant_project *project, size_t person,
                                          size_t count, scant_lease *leases, size_t *n);
/* Leases the given items, for a grid of similar items. Leaves out copies, items of the
 * audit set or of its groups, items with an answer and items leased to somebody else. */
SCANT_API scant_status scant_project_take(scant_project *project, size_t person,
                                          const size_t *items, size_t n_items,
                                          scant_lease *leases, size_t *n);
/* Renews the leases with these keys to the full time. Ignores leases that are unknown or
 * have ended; an expired lease ends when somebody else gets the item. *kept: how many
 * were renewed. keys NULL: all of the person's. */
SCANT_API scant_status scant_project_renew(scant_project *project, size_t person,
                                           const uint64_t *keys, size_t n_keys,
                                           size_t *kept);
/* Releases leases, so that others may have the items. keys NULL: all of the person's. */
SCANT_API scant_status scant_project_release(scant_project *project, size_t person,
                                             const uint64_t *keys, size_t n_keys);

typedef struct scant_answer {
    size_t item;
    scant_answer_kind kind; /* not an undo */
    size_t label;           /* the class, if kind is a label */
    int64_t spent;          /* milliseconds; negative: unknown */
    uint64_t lease;         /* the key of its lease; 0: none */
    /* Makes the call idempotent: an answer that is sent again with the same `once` is not
     * stored again. A text of at most 64 bytes, chosen by the client; NULL: none. */
    const char *once;
} scant_answer;

typedef struct scant_receipt {
    int64_t entry; /* its number in the history */
    bool repeated; /* it was stored by an earlier call with the same `once` */
} scant_receipt;

/* Stores answers, all or none; on SCANT_OK they are on the disk. An answer replaces the
 * person's earlier answer to the item. SCANT_ECONFLICT:
 * - somebody else holds the item's lease, or enough others (the setting overlap) have
 *   answered it, unless the person has a current label or unsure for it;
 * - the person has neither a lease of the item nor an earlier answer to it;
 * - `once` was used for another answer.
 * SCANT_ENOTFOUND: no such item, class or person. SCANT_EIO: the disk is full, nothing is
 * stored. receipts: the caller's array of n, or NULL. */
SCANT_API scant_status scant_project_answer(scant_project *project, size_t person,
                                            const scant_answer *answers, size_t n,
                                            scant_receipt *receipts);
/* Withdraws a person's current answer (which: its entry; 0: the last one) by a new entry.
 * The answer that it had replaced does not become current again. The item is leased to
 * the person again, unless somebody else has it or it needs no more answers: then
 * lease->key is 0. *entry: the withdrawn entry. SCANT_ENOTFOUND: there is no such answer.
 * once: as in scant_answer. */
SCANT_API scant_status scant_project_undo(scant_project *project, size_t person,
                                          int64_t which, const char *once, int64_t *entry,
                                          scant_lease *lease);
/* Reads a person's current answer to an item (for a copy: to its original). *entry 0:
 * there is none. *label -1: the answer is no label. */
SCANT_API scant_status scant_project_current_answer(scant_project *project, size_t person,
                                                    size_t item, int64_t *entry,
                                                    scant_answer_kind *kind,
                                                    int64_t *label);

/* An entry of the history, which only grows. */
typedef struct scant_entry {
    int64_t entry;
    size_t item;
    const char *id, *person;
    scant_answer_kind kind;
    int64_t label; /* -1: none */
    const char *class_name;
    int64_t at, spent; /* milliseconds; at: since 1970; spent negative: unknown */
    scant_role role;
    size_t round, model; /* round and model that proposed the item; 0: none */
    int64_t undoes;      /* the entry that an undo withdraws; else 0 */
    bool stands;         /* current answer: neither undone nor replaced */
} scant_entry;

/* Calls fn for at most `count` entries of a person (person SIZE_MAX: of all people), like
 * scant_project_items(). If newest is false: entries after the entry `after`, oldest
 * first. If it is true: entries before `after` (0: all entries), newest first. */
SCANT_API scant_status scant_project_history(
    scant_project *project, size_t person, int64_t after, bool newest, size_t count,
    scant_status (*fn)(void *user, const scant_entry *entry), void *user);

/* The result of an import. */
typedef struct scant_import {
    size_t lines, stored, repeated; /* repeated: equal to a current answer */
    size_t others;                  /* skips and unsures among those stored */
    size_t older;   /* not stored: the person has answered or undone after the line's
                       time */
    size_t unknown; /* ids that are not in the project */
    const char *const *unknown_ids; /* all of them; borrowed until the next import */
    SCANT_RESERVED;
} scant_import;
/* Imports labels from CSV (id, label; optionally answer, annotator, time), JSONL (the
 * same keys) or Label Studio's JSON. answer is label (the default), skip or unsure; the
 * last two have no label. All or none: SCANT_EINPUT if an id or a class is unknown.
 * partial skips lines with unknown ids or classes; add_classes adds unknown classes. A
 * line with a time does not replace a later answer of the same person. */
typedef struct scant_import_opts {
    const char *person; /* annotator of lines that name none ("import") */
    bool partial, add_classes;
    SCANT_RESERVED;
} scant_import_opts;
SCANT_API scant_status scant_project_import(scant_project *project, const char *path,
                                            const scant_import_opts *opts,
                                            scant_import *out);

/* The agreement of two people on items that both have labelled. */
typedef struct scant_person_agreement {
    const char *a, *b; /* people */
    size_t items;
    double agreed; /* share of items with the same label */
    double kappa;  /* Cohen's; NaN if undefined */
} scant_person_agreement;
/* Calls fn for the pairs of people with the most items in common: at most
 * SCANT_AGREEMENTS pairs, of the 50 people with the most answers, with at least 5 items
 * each. The names are valid during the call of fn, as in scant_project_items(). */
enum { SCANT_AGREEMENTS = 100 };
SCANT_API scant_status scant_project_agreements(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_person_agreement *pair), void *user);

/* ---- models and rounds ---- */

/* Computes missing features (of a backbone or a file) and stores them in cache/.
 * Functions that need features call it themselves. */
SCANT_API scant_status scant_project_prepare(scant_project *project);

typedef struct scant_project_train_opts {
    uint64_t seed; /* (from the project's seed and the model's number) */
    void *user;
    void (*report)(void *user, const scant_train_state *state);
    SCANT_RESERVED;
} scant_project_train_opts;

/* Trains a model on the labels outside the audit set. Stores it in models/, its
 * predictions in cache/, and its predictions for the audit set in the database.
 * SCANT_ENOTREADY: there are labels of fewer than two classes; or the training collapsed,
 * and so did its repetition with another seed (scant_project_collapse()): no model is
 * stored. SCANT_ECONFLICT: another program trains; the message names it. *model: its
 * number, from 1; may be NULL. */
SCANT_API scant_status scant_project_train(scant_project *project,
                                           const scant_project_train_opts *opts,
                                           size_t *model);

/* The last training, if it collapsed and so did its repetition with another seed. */
enum { SCANT_COLLAPSE_TEXT = 640 };
typedef struct scant_collapse {
    int64_t at;     /* milliseconds since 1970; 0: the last training did not collapse */
    size_t labels;  /* number of labels it was trained on */
    size_t model;   /* the model before, which is still used; 0: none */
    uint64_t signs; /* of scant_train_sign */
    bool same; /* labels and settings of the training have not changed since: a training
                  with the same seed would collapse again */
    bool same_settings; /* settings of the training have not changed since, nor, with a
                           semi-supervised method, has the number of items */
    char found[SCANT_SIGNS_TEXT];   /* the signs in words */
    char text[SCANT_COLLAPSE_TEXT]; /* what failed, what is used, and what may help */
    SCANT_RESERVED;
} scant_collapse;
SCANT_API scant_status scant_project_collapse(scant_project *project,
                                              scant_collapse *out);

typedef struct scant_project_query_opts {
    const char *strategy; /* (the setting strategy; random if that needs a model and there
                             is none) */
    size_t batch;         /* (the setting batch) */
    size_t spare;         /* items of the ranking after the batch, as a reserve (none) */
    uint64_t seed;        /* (from the project's seed and the round's number) */
    const scant_setting *settings; /* options of the strategy */
    size_t n_settings;
    SCANT_RESERVED;
} scant_project_query_opts;

/* Picks items to label next with the last model, and stores them as a round.
 * SCANT_ENOTREADY: the strategy needs a model, features or posterior draws that do not
 * exist yet. On SCANT_OK *out is new: scant_picks_free() ends it; else NULL. Its rows are
 * items. *round may be NULL. If no item is left to pick: SCANT_OK, *out is NULL and
 * *round 0. */
SCANT_API scant_status scant_project_query(scant_project *project,
                                           const scant_project_query_opts *opts,
                                           scant_picks **out, size_t *round);
/* Lists items of the audit set to add to a batch that the caller hands out
 * (scant_project_next() adds them itself): the next unanswered ones of the audit order,
 * then skipped ones. Lists enough items that one label in audit_every belongs to the
 * audit set, but at most half of the batch. items: the caller's array of `batch`. */
SCANT_API scant_status scant_project_audit(scant_project *project, size_t batch,
                                           size_t *items, size_t *n);

/* The last model's predictions for all items: n x classes probabilities, float32, mapped
 * from cache/ and computed if missing. On SCANT_OK *out is new: scant_array_free() ends
 * it; else NULL. *model: its number. SCANT_ENOTREADY: there is no model. */
SCANT_API scant_status scant_project_predict(scant_project *project, scant_array **out,
                                             size_t *model);
/* The same from cache/ only, without computing. There may be fewer rows than items and
 * fewer columns than classes. On SCANT_OK *out is new: scant_array_free() ends it; or
 * NULL if nothing is cached. On failure *out is NULL. *model 0: no model. */
SCANT_API scant_status scant_project_predict_cached(scant_project *project,
                                                    scant_array **out, size_t *model);
/* Reads features from cache/: the items' own, or else the last model's. On SCANT_OK *out
 * is new: scant_array_free() ends it; or NULL if there are none yet. On failure *out is
 * NULL. There are fewer rows than items until scant_project_prepare() has completed the
 * backbone's features. */
SCANT_API scant_status scant_project_features(scant_project *project, scant_array **out);

/* A model's accuracy on the audited items. They are an unbiased sample of the pool, and
 * the model was not trained on them. NaN: unknown. */
typedef struct scant_model_point {
    size_t model; /* number */
    size_t round; /* the last round that was picked before this model */
    int64_t at;
    size_t labels;              /* number of labels it was trained on */
    size_t audited, right;      /* audited items; those predicted correctly */
    double accuracy, low, high; /* with its 95 % interval (Clopper and Pearson, 1934) */
    double agreement; /* with the previous model: the share of unlabelled items with the
                         same prediction */
    double seconds;   /* duration of the training */
    const char *file; /* its weights, below the project's folder */
    SCANT_RESERVED;
} scant_model_point;
/* Calls fn for every model in the order of their numbers, like scant_project_items():
 * point->file is valid during the call of fn. */
SCANT_API scant_status scant_project_models(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_model_point *point), void *user);

typedef struct scant_round_point {
    size_t round;
    int64_t at;
    const char *strategy;
    size_t model;            /* model that picked it; 0: none */
    size_t picked, answered; /* items */
} scant_round_point;
/* Calls fn for every round in order, like scant_project_items(): point->strategy is valid
 * during the call of fn. */
SCANT_API scant_status scant_project_rounds(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_round_point *point), void *user);
/* The last round's picks, best first, without spare ones. items: the caller's array of
 * `room`, which gets the first picks. *n: the number of all picks; 0: there is no round.
 */
SCANT_API scant_status scant_project_picked(scant_project *project, size_t room,
                                            size_t *items, size_t *n);

/* The meter (docs/projects.md): the accuracy of the last model, and whether to stop. */
typedef struct scant_meter {
    scant_model_point last; /* model 0: none */
    size_t left_out; /* items of the audit set that are unsure, skipped or disputed: not
                        part of the accuracy */
    size_t added;    /* items added after the last model, on which it is not evaluated */
    /* The gain over random: the accuracy of a model trained on the project's first
     * labels, at least half of them picked by a strategy, minus that of models trained on
     * as many audited (random) ones. Each model predicts audited items that it was not
     * trained on. low and high: the 95 % interval for these labels, which does not cover
     * other draws of labels. NaN: unknown. */
    double over_random, over_random_low, over_random_high;
    size_t over_random_labels; /* number of labels in this comparison */
    /* The recent gain per ten labels, in accuracy on the audited items: the last model is
     * compared with the earliest one within the last stop_labels labels. NaN: unknown. */
    double per_ten, per_ten_high; /* high: upper end of its 95 % interval */
    bool narrow;                  /* the interval is at most stop_width wide */
    bool fading;                  /* per_ten is below stop_gain */
    bool agreeing; /* the last two agreements are at least stop_agreement */
    bool stop;     /* all three hold, and no items were added after the last model */
    SCANT_RESERVED;
} scant_meter;
/* out->last.file is borrowed until the next call for the project. */
SCANT_API scant_status scant_project_meter(scant_project *project, scant_meter *out);
/* The same in words, a paragraph each: a collapsed training if there is one, accuracy,
 * gain over random, whether to stop. *text is new, zero-terminated: scant_bytes_free()
 * ends it. */
SCANT_API scant_status scant_project_advice(scant_project *project,
                                            const scant_meter *meter, char **text);

/* Why an item may have been picked. */
enum { SCANT_WHY_NEIGHBOURS = 6 };
typedef struct scant_why {
    size_t model;             /* 0: none; values that need a model are NaN */
    int64_t class_1, class_2; /* the most probable classes; -1: unknown */
    double p_1, p_2;
    double entropy;      /* entropy of the probabilities / log(classes) */
    double more_certain; /* the share of items whose prediction is more certain */
    double novelty;      /* distance to the nearest labelled item, by features */
    double more_novel;   /* the share of (a sample of) unlabelled items with a larger
                            novelty */
    size_t n_neighbours; /* labelled items, nearest first */
    size_t neighbours[SCANT_WHY_NEIGHBOURS];
    double distances[SCANT_WHY_NEIGHBOURS];
    SCANT_RESERVED;
} scant_why;
SCANT_API scant_status scant_project_why(scant_project *project, size_t item,
                                         scant_why *out);
/* Finds similar items: those with the nearest features, nearest first. Leaves out the
 * item itself, copies, items with answers, and items of the audit set or of its groups.
 * SCANT_ENOTFOUND: no such item; SCANT_ENOTREADY: no features yet. */
SCANT_API scant_status scant_project_alike(scant_project *project, size_t item,
                                           size_t count, size_t *items, size_t *n);

/* Maps items to two dimensions, the first two principal components of their features. If
 * there are more than `most` items: the last picks, then labelled items, then an even
 * sample of the others. items (most), xy (2 * most): the caller's; *n: the number of
 * items. SCANT_ENOTREADY: no features yet. */
SCANT_API scant_status scant_project_map(scant_project *project, size_t most,
                                         size_t *items, float *xy, size_t *n);

/* Exports all items with their labels for other programs: "csv" (text that a spreadsheet
 * would run as a formula gets a ' in front), "csv-raw" (as it is), "jsonl",
 * "label-studio" (items with labels or a prediction, in its import format), "npy" (n
 * int64: the class, or -1). Includes the audit set and copies. All formats but npy have
 * ids, annotator and time, and for items without a label the predicted class and its
 * probability. *bytes is new: scant_bytes_free() ends it. */
SCANT_API scant_status scant_project_export(scant_project *project, const char *format,
                                            void **bytes, size_t *size);

/* An event: "created", "added", "changed", "trained", "collapsed", "queried", "imported",
 * "set", "class", "served". text is JSON. */
typedef struct scant_event {
    int64_t event, at;
    const char *kind, *text;
} scant_event;
/* Calls fn for events after `after`, oldest first, like scant_project_items(): the
 * strings are valid during the call of fn. */
SCANT_API scant_status scant_project_events(scant_project *project, int64_t after,
                                            scant_status (*fn)(void *user,
                                                               const scant_event *event),
                                            void *user);
SCANT_API scant_status scant_project_event(scant_project *project, const char *kind,
                                           const char *json);

/* Takes one of a project's locks: "serve", "train", "cache" (to fill cache/ with
 * features) or "predict" (with predictions). One program holds a lock at a time, until it
 * frees it or ends. If another program holds it: SCANT_ECONFLICT, and the message has
 * that program's `who` ("process 12 on host, serving http://127.0.0.1:8080"). On SCANT_OK
 * *out is new: scant_hold_free() ends it; else NULL. */
typedef struct scant_hold scant_hold;
SCANT_API scant_status scant_project_hold(scant_project *project, const char *lock,
                                          const char *who, scant_hold **out);
SCANT_API void scant_hold_free(scant_hold *hold); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
