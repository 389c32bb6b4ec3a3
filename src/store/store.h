/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's database for the layers above: labels to train on, items that may be
 * picked, rounds and models.
 *
 * Every call is one transaction, durable when it returns. A handle serves one thread at a
 * time; other handles, of this process or another, may use the project at the same time.
 * A writer waits at most STORE_WAIT_SECONDS for another, then fails with SCANT_EIO and
 * changes nothing.
 */
#ifndef SCANT_STORE_STORE_H
#define SCANT_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"
#include "scant/project.h"

enum { STORE_WAIT_SECONDS = 30 };

DEFINE_AUTO(scant_hold, scant_hold)

scant_ctx *store_ctx(const scant_project *project);
const char *store_dir(const scant_project *project); /* borrowed */
uint64_t store_seed(const scant_project *project);
/* A setting as a number: "yes" is 1; "auto", "no" and other words are 0. */
double store_number(scant_project *project, const char *key);
/* The number of items; cheap. */
scant_status store_items(scant_project *project, size_t *n);
scant_status store_classes(scant_project *project, size_t *n);

/* A transaction in the scope of the caller, rolled back unless it is committed:
 *     AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
 *     TRY(...);
 *     return store_commit(&tx);
 * Within another transaction it joins that one. */
typedef enum store_mode {
    STORE_READ,          /* a consistent snapshot; nothing may be written */
    STORE_WRITE,         /* the commit is fsynced */
    STORE_WRITE_UNSYNCED /* for leases: a power failure may lose it, a crash of the
                          * program does not */
} store_mode;
typedef struct store_tx {
    scant_project *project; /* NULL: committed, or part of an outer transaction */
} store_tx;
#define TRY_BEGIN(project, mode)                                                         \
    __extension__({                                                                      \
        store_tx try_begin_;                                                             \
        TRY(store_begin(project, mode, &try_begin_));                                    \
        try_begin_;                                                                      \
    })
scant_status store_begin(scant_project *project, store_mode mode, store_tx *out);
scant_status store_commit(store_tx *tx);
void store_tx_end(store_tx *tx);

/* A pointer that another module keeps with the handle, at first NULL. detach frees it
 * when the project is closed. */
typedef enum store_slot {
    STORE_LOOP,
    STORE_MAP,
    STORE_OPENED, /* source_rows.c: the last array */
    STORE_SLOTS
} store_slot;
void **store_attached(scant_project *project, store_slot slot,
                      void (*detach)(void *attached));

/* ---- sources ---- */

typedef enum store_kind {
    STORE_FILES = 1, /* images in files below a folder: each item has a path */
    STORE_ARRAY,     /* images that scant_data_open() reads: each item has a row */
    STORE_FEATURES   /* feature rows */
} store_kind;

typedef struct store_source {
    size_t number; /* from 1 */
    store_kind kind;
    const char *path;    /* absolute, or a name that scant_data_open() knows */
    size_t first, count; /* its items: first .. first + count - 1 */
} store_source;

/* All sources in the order of their items; *out is in the arena. */
scant_status store_sources(scant_project *project, scant__arena *arena,
                           store_source **out, size_t *n);
/* rows (count): row numbers of items first .. first + count - 1 in their array. */
scant_status store_rows(scant_project *project, size_t first, size_t count, size_t *rows);
/* All items as samples; item i is sample i. Images of files are scaled to side x side.
 * SCANT_EUSAGE for a project of features. *out is new: scant_data_free(). */
scant_status store_samples(scant_project *project, size_t side, scant_data **out);
/* Features of items first .. first + count - 1, as stored in the files: out
 * (count, width). */
scant_status store_features_width(scant_project *project, size_t *width);
scant_status store_features_read(scant_project *project, size_t first, size_t count,
                                 float *out);
/* Returns the backbone's name, or NULL if the project has none, and sets *weights
 * (weights may be NULL) to the path of its weights. Borrowed until close. */
const char *store_backbone(scant_project *project, const char **weights);
/* Opens a backbone for images of STORE_BACKBONE_SIDE pixels a side. Logs nothing, to
 * suppress warnings about the image scaling of its file. *out is new: scant_net_free().
 */
enum { STORE_BACKBONE_SIDE = 224 };
scant_status store_backbone_open(scant_ctx *ctx, const char *name, const char *weights,
                                 scant_net **out);

/* ---- training and evaluation ---- */

/* The items to train on, in the order of labelling: labelled, no copies, neither in the
 * audit set nor sharing a group with it. Arrays are in the arena. *entry: the last entry
 * of the history. */
scant_status store_training(scant_project *project, scant__arena *arena, size_t **items,
                            int32_t **labels, size_t *n, int64_t *entry);
/* The audit set in its order, with labels or -1. A label counts once all earlier items of
 * the order were answered or skipped, so that the labelled items are a random sample. */
scant_status store_audit(scant_project *project, scant__arena *arena, size_t **items,
                         int32_t **labels, size_t *n);
/* Items of the audit set that nobody has labelled or marked unsure: first those without
 * any answer, then skipped ones, each in the audit order. *seen: number of items of the
 * audit set that somebody has answered or skipped. */
scant_status store_audit_open(scant_project *project, scant__arena *arena, size_t **items,
                              size_t *n, size_t *seen);
/* *n: items of the audit set whose label does not count yet; *before: the unanswered item
 * that must be answered first. */
scant_status store_audit_waiting(scant_project *project, size_t *n, size_t *before);
/* Items that may be picked, in ascending order: without answers, no copies, neither in
 * the audit set nor sharing a group with it. */
scant_status store_candidates(scant_project *project, scant__arena *arena,
                              int64_t **items, size_t *n);

/* How an item came to be labelled. */
typedef enum store_origin {
    STORE_BY_OTHERS =
        0, /* imported, from a grid of similar items, or a spare pick of a strategy */
    STORE_BY_CHANCE,  /* in a round of `random`, or handed out at random */
    STORE_BY_STRATEGY /* in the batch of a round of another strategy, even if its
                       * label was imported */
} store_origin;

/* store_training(), store_audit() and store_candidates() in one transaction, so that no
 * item is in two of the lists. Arrays are in the arena. */
typedef struct store_snapshot {
    size_t *items;
    int32_t *labels;
    unsigned char *origins; /* store_origin */
    size_t n;
    int64_t entry;
    size_t *audit;
    int32_t *audit_labels;
    size_t n_audit;
    int64_t *candidates;
    size_t n_candidates;
} store_snapshot;
scant_status store_snapshot_read(scant_project *project, scant__arena *arena,
                                 store_snapshot *out);

/* ---- models ---- */

typedef struct store_model {
    size_t number; /* set by store_model_add() */
    int64_t at;    /* likewise */
    int64_t entry; /* the last entry of the history that it was trained on */
    uint64_t seed;
    /* Number of labels trained on, of classes, and of items predicted. */
    size_t labels, classes, items;
    const char *file; /* below the project's folder */
    double seconds;
    double agreement; /* NaN: unknown, as for over_random */
    double over_random, over_random_low, over_random_high;
    size_t over_random_labels;
} store_model;

/* predicted: the classes that the model predicts for n items of the audit set. */
scant_status store_model_add(scant_project *project, const store_model *model,
                             const size_t *items, const int32_t *predicted, size_t n,
                             size_t *number);
/* The last model; number 0: there is none. file is in the arena. */
scant_status store_model_last(scant_project *project, scant__arena *arena,
                              store_model *out);
scant_status store_models(scant_project *project, scant__arena *arena, store_model **out,
                          size_t *n); /* all, in order; files in the arena */
/* The last event "collapsed" (loop/project_collapse.c); at 0: there is none. Strings are
 * in the arena. */
typedef struct store_collapse {
    int64_t at;
    size_t used;   /* the last model then; 0: none */
    size_t labels; /* number of labels trained on */
    const char *signs, *found;
    const char *digest, *settings; /* hashes of labels and of settings */
} store_collapse;
scant_status store_collapse_last(scant_project *project, scant__arena *arena,
                                 store_collapse *out);
/* A model's predictions for labelled items of the audit set, in the audit order; in the
 * arena. Only items that existed when it was trained, and if the argument `items` is not
 * 0, only those with smaller numbers. The list ends at the first such item that nobody
 * has answered, so that it is a random sample. */
typedef struct store_predictions {
    size_t *items;
    int32_t *predicted, *labels;
    size_t n;
    size_t left_out; /* items of the sample without a label: unsure, skipped, disputed */
} store_predictions;
scant_status store_predictions_read(scant_project *project, size_t model, size_t items,
                                    scant__arena *arena, store_predictions *out);

/* ---- rounds ---- */

typedef struct store_round {
    size_t number; /* set by store_round_add() */
    int64_t at;    /* likewise */
    const char *strategy;
    uint64_t seed;
    size_t model;        /* 0: none */
    size_t batch;        /* number of picks in the batch; picks after it are spare */
    const char *options; /* JSON */
} store_round;

scant_status store_round_add(scant_project *project, const store_round *round,
                             const scant_pick *picks, size_t n, size_t *number);

#endif
