/* SPDX-License-Identifier: Apache-2.0
 *
 * A project's database as the layers above see it: what a model learns from, what may be
 * picked, what was picked and trained. Questions and answers, no networks.
 *
 * Every call is a transaction of its own: it is done, and on the disk, or it is not. A
 * handle serves one thread at a time; other handles, of this process or another, may be
 * at work on the same project. A writer waits for another for at most WAIT_SECONDS, then
 * the call fails with SCANT_EIO and changes nothing.
 */
#ifndef SCANT_STORE_STORE_H
#define SCANT_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"
#include "scant/project.h"

enum { STORE_WAIT_SECONDS = 30 };

scant_ctx *store_ctx(const scant_project *project);
const char *store_dir(const scant_project *project); /* borrowed */
uint64_t store_seed(const scant_project *project);
/* "DIR/name", new: scant__free(); NULL with the error text set. */
char *store_path(scant_project *project, const char *name);
/* Settings as numbers; they were checked when they were set. "auto", "no" and words are
 * 0, "yes" is 1. */
double store_number(scant_project *project, const char *key);
/* The number of items; cheap. */
scant_status store_items(scant_project *project, size_t *n);
scant_status store_classes(scant_project *project, size_t *n);

/* fn, to which the project is as it was at one moment, whatever others do meanwhile. It
 * must not write. Within another it is part of that. */
typedef scant_status store_work(scant_project *project, void *arg);
scant_status store_read(scant_project *project, store_work *fn, void *arg);

/* What a layer above keeps with the handle, a slot each: NULL at first. Where it is not,
 * detach is called with it before the project is closed. */
typedef enum store_slot {
    STORE_LOOP,
    STORE_MAP,
    STORE_OPENED, /* of this layer: the source that was read last */
    STORE_SLOTS
} store_slot;
void **store_attached(scant_project *project, store_slot slot,
                      void (*detach)(void *attached));

/* ---- sources ---- */

typedef enum store_kind {
    STORE_FILES = 1, /* pictures in files below a folder: an item has its own path */
    STORE_ARRAY,     /* pictures as scant_data_open() takes them: items are its rows */
    STORE_FEATURES   /* rows of numbers */
} store_kind;

typedef struct store_source {
    size_t number; /* from 1 */
    store_kind kind;
    const char *path;    /* absolute, or a name that scant_data_open() knows */
    size_t first, count; /* items first .. first + count - 1, in the order of rows */
} store_source;

/* In order of their items. An item's row of an array or of features is item - first where
 * no manifest says else: store_rows(). */
scant_status store_sources(scant_project *project,
                           scant_status (*fn)(void *user, const store_source *source),
                           void *user);
/* rows (count): of an array or of features, which row each item of a source is. */
scant_status store_rows(scant_project *project, const store_source *source, size_t *rows);
/* The backbone's name and its weights' path (may be NULL: not asked for), as the project
 * was made with; NULL: none. Borrowed until close. */
const char *store_backbone(scant_project *project, const char **weights);
/* A backbone, for pictures of STORE_BACKBONE_SIDE pixels a side. Nothing is logged:
 * that a file does not say how pictures were scaled is no question of a backbone. *out is
 * new: scant_net_free(). */
enum { STORE_BACKBONE_SIDE = 224 };
scant_status store_backbone_open(scant_ctx *ctx, const char *name, const char *weights,
                                 scant_net **out);

/* ---- what models learn from, and are judged by ---- */

/* Items with a label that people agree on, in the order in which they got it; no copies,
 * none that is withheld, nor in a group of which one is. Arrays are of the arena. *entry:
 * the last of the history that was looked at. */
scant_status store_training(scant_project *project, scant__arena *arena, size_t **items,
                            int32_t **labels, size_t *n, int64_t *entry);
/* Withheld items in the audit order, with their label or -1. A label that came (from a
 * file, say, or from whoever was quicker) before all earlier items of the order were
 * answered or passed over does not count yet: those with one are always a fair sample. */
scant_status store_audit(scant_project *project, scant__arena *arena, size_t **items,
                         int32_t **labels, size_t *n);
/* Withheld items without a label or an unsure: those that nobody has seen in the audit
 * order, then those that were passed over, likewise. *seen: how many others somebody has
 * answered or passed over. */
scant_status store_audit_open(scant_project *project, scant__arena *arena, size_t **items,
                              size_t *n, size_t *seen);
/* Withheld items whose label does not count yet, as store_audit() has it; *before: the
 * first item that they wait for, where there are some. */
scant_status store_audit_waiting(scant_project *project, size_t *n, size_t *before);
/* Items that may be picked, ascending: no standing answer, no label, no copy, not
 * withheld, nor in a group of which one is. */
scant_status store_candidates(scant_project *project, scant__arena *arena,
                              int64_t **items, size_t *n);

/* How an item came to be labelled. */
typedef enum store_origin {
    STORE_BY_OTHERS = 0, /* a file, a grid of look-alikes, further down a ranking */
    STORE_BY_CHANCE,     /* in a round that was random, or before there was one */
    STORE_BY_STRATEGY    /* in the batch of a round of another strategy; by whatever way
                          * its label came */
} store_origin;

/* All that a training reads, of one moment, so that no item is in two of the lists even
 * where items or settings come meanwhile: store_training(), store_audit() and
 * store_candidates(). Arrays are of the arena. */
typedef struct store_lesson {
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
} store_lesson;
scant_status store_lesson_read(scant_project *project, scant__arena *arena,
                               store_lesson *out);

/* ---- models ---- */

typedef struct store_model {
    size_t number; /* set by store_model_add() */
    int64_t at;    /* likewise */
    int64_t entry; /* the last of the history that it has seen */
    uint64_t seed;
    size_t labels, classes, items; /* learned from; known; predicted */
    const char *file;              /* below the project's folder */
    double seconds;
    double agreement; /* NaN: not known; so below */
    double over_random, over_random_low, over_random_high;
    size_t over_random_labels;
} store_model;

/* verdicts: what the model says of each of n withheld items. */
scant_status store_model_add(scant_project *project, const store_model *model,
                             const size_t *items, const int32_t *verdicts, size_t n,
                             size_t *number);
/* The last one; *there is false where there is none. file is of the arena. */
scant_status store_model_last(scant_project *project, scant__arena *arena, bool *there,
                              store_model *out);
scant_status store_models(scant_project *project,
                          scant_status (*fn)(void *user, const store_model *model),
                          void *user);
/* What a model said of withheld items that have a label now, in the audit order; of the
 * arena. Only of the items that there were when it was trained (of the first `items` of
 * them, where that is not 0), up to the first that nobody was asked about: a fair sample
 * of those, whatever came later. */
typedef struct store_judged {
    size_t *items;
    int32_t *verdicts, *labels;
    size_t n;
    size_t left_out; /* drawn among these, and without a label: nobody could tell, all
                      * have passed it over, or people disagree */
} store_judged;
scant_status store_verdicts(scant_project *project, size_t model, size_t items,
                            scant__arena *arena, store_judged *out);

/* ---- rounds ---- */

typedef struct store_round {
    size_t number; /* set by store_round_add() */
    int64_t at;    /* likewise */
    const char *strategy;
    uint64_t seed;
    size_t model; /* 0: none */
    size_t batch; /* the first so many picks are the batch, the rest to fall back on */
    const char *options; /* JSON */
} store_round;

scant_status store_round_add(scant_project *project, const store_round *round,
                             const scant_pick *picks, size_t n, size_t *number);

#endif
