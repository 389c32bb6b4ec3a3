/* SPDX-License-Identifier: Apache-2.0
 *
 * A set that grows by distant rows: exact farthest-first traversal and exact D^2 sampling
 * (k-means++) that skip most distance computations.
 *
 * Distances to a growing set only fall, so a distance computed against fewer centres is
 * an upper bound. Each row stores its bound and its stamp, the number of centres it has
 * been evaluated against.
 *
 * Farthest-first: the row with the largest bound is evaluated against all centres. If it
 * still has the largest bound, no other row can be farther. Rows with lower bounds are
 * never touched. The picks are those of the plain algorithm in the same arithmetic, ties
 * to the lowest index.
 *
 * D^2 sampling: a row is proposed with probability proportional to its bound and accepted
 * with probability distance / bound; accepted rows thus follow exactly the distribution
 * of the true distances (rejection sampling). Proposals are drawn in batches from the
 * current bounds, evaluated together, and accepted or rejected in order. The test uses
 * the bound that the proposal was drawn with and the distance to all centres, also to
 * those accepted earlier in the batch.
 *
 * A refresh evaluates all rows, in parallel. It runs once the evaluations of single rows
 * since the last refresh have cost about as much as a refresh would, so the total cost is
 * at most about twice the optimum. When it runs depends on the rows alone, never on
 * threads or time.
 *
 * Memory: 12 bytes per row, and the space's centres. Cost of b picks from n rows: at
 * least b evaluations of one row, at most n*b pairs; typically a few per cent of n*b.
 */
#ifndef SCANT_LINALG_GROWSET_H
#define SCANT_LINALG_GROWSET_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/space.h"

typedef struct la_growset {
    scant_ctx *ctx;
    la_space *space;
    size_t n;      /* rows */
    size_t active; /* rows neither picked nor excluded */
    size_t blocks;
    /* smallest squared distance to the first stamp[i] centres; -1 if not active */
    double *bound;
    uint32_t *stamp;
    double *top;    /* per block: largest bound */
    double *sum;    /* per block: sum of bounds */
    double *before; /* running sums of the blocks' sums (sampling) */
    size_t fresh;   /* smallest stamp of all rows */
    bool alone;     /* small work runs on one thread only */
    double spent;   /* pairs evaluated for single rows since the last refresh */
    unsigned char *scratch;
    size_t scratch_size; /* bytes per worker */
} la_growset;

/* Returns the bytes that la_growset_init() allocates, without those of the space. */
size_t la_growset_memory(const la_rows *h, const la_rows *a, size_t group,
                         unsigned threads);
/* Starts with all rows included and no distance known. The space must have no centres. */
scant_status la_growset_init(la_growset *set, scant__arena *arena, la_space *space);
void la_growset_exclude(la_growset *set, size_t row); /* row will not be picked */
/* Adds a row to the set; it will not be picked. */
void la_growset_add(la_growset *set, size_t row);
/* Returns a worker's scratch, for la_space_*() calls by the caller. */
void *la_growset_scratch(const la_growset *set, unsigned worker);

/* Adds up to `want` rows, each time the one farthest from the set; d2: their squared
 * distances when added. The set must not be empty. *got is less than want only if no rows
 * are left. */
scant_status la_growset_farthest(la_growset *set, size_t want, size_t *rows, double *d2,
                                 size_t *got);

/* Adds up to `want` rows, each drawn with probability proportional to its squared
 * distance. Stops early, *got < want, once all distances are 0. */
scant_status la_growset_sample(la_growset *set, uint64_t seed, size_t want, size_t *rows,
                               double *d2, size_t *got);

#endif
