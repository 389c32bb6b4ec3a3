/* SPDX-License-Identifier: Apache-2.0
 *
 * A set that grows by rows far from it: exact farthest-first traversal and exact D^2
 * sampling (k-means++), with most distances never computed.
 *
 * Distances to a growing set only fall, so a distance computed against fewer centres is
 * an upper bound of today's. Each row keeps its bound and how many centres it has seen.
 *
 * Farthest-first: the row with the largest bound is brought up to date; when the largest
 * bound belongs to a row that is up to date, no other row can be farther. Rows below that
 * one are never touched. The picks are those of the plain algorithm in the same
 * arithmetic, ties to the lowest index.
 *
 * D^2 sampling: a row is proposed with probability proportional to its bound and accepted
 * with probability distance / bound; an accepted row thus has exactly the law of its true
 * distance, whatever the bounds are. Proposals are drawn a batch at a time from the
 * bounds as they stand, evaluated together, and accepted in order against the bound they
 * were drawn with; centres accepted meanwhile count.
 *
 * All bounds are refreshed, in parallel, when what was spent on single rows since the
 * last refresh comes near the price of one: at most about twice the best possible,
 * without knowing the future. When that is depends on the rows alone, never on threads or
 * time.
 *
 * Memory: 12 bytes a row, and the space's centres. Cost: between b evaluations of one row
 * and n*b pairs; typically a few per cent of n*b.
 */
#ifndef SCANT_LINALG_GROWSET_H
#define SCANT_LINALG_GROWSET_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/space.h"

typedef struct la_growset {
    scant_ctx *ctx;
    la_space *space;
    size_t n, active; /* rows; rows that may still be picked */
    size_t blocks;
    double
        *bound; /* squared distance to the first stamp[i] centres; -1: not for picking */
    uint32_t *stamp;
    double *top, *sum; /* a block's largest bound, and the sum of its bounds */
    double *before;    /* sums of the blocks before (sampling) */
    size_t fresh;      /* every row has seen at least so many centres */
    bool alone;        /* little work is not shared between threads */
    double spent;      /* pairs evaluated for single rows since all were refreshed */
    unsigned char *scratch;
    size_t scratch_size; /* a worker's */
} la_growset;

/* Bytes that init takes from the arena, beyond the space's. */
size_t la_growset_memory(const la_rows *h, const la_rows *a, size_t group,
                         unsigned threads);
/* All rows may be picked, no distance is known. The space must be empty of centres. */
scant_status la_growset_init(la_growset *set, scant__arena *arena, la_space *space);
void la_growset_exclude(la_growset *set, size_t row); /* never picked from now on */
/* Row joins the set, and is not picked from now on. */
void la_growset_add(la_growset *set, size_t row);
/* A worker's scratch, for la_space_ calls outside. */
void *la_growset_scratch(const la_growset *set, unsigned worker);

/* Adds up to want rows, each the farthest when it was taken, with squared distances. The
 * set must not be empty. *got is less than want only where no rows are left. */
scant_status la_growset_farthest(la_growset *set, size_t want, size_t *rows, double *d2,
                                 size_t *got);

/* Adds up to want rows, each drawn with probability proportional to its squared distance.
 * Stops early, *got < want, once all distances are 0. */
scant_status la_growset_sample(la_growset *set, uint64_t seed, size_t want, size_t *rows,
                               double *d2, size_t *got);

#endif
