/* SPDX-License-Identifier: Apache-2.0
 *
 * Squared distances from rows of a pool to a growing list of centres, which are rows of
 * the same pool.
 *
 * Two metrics: Euclidean, |h_i - h_j|^2; and between Kronecker rows, |a_i x h_i - a_j x
 * h_j|^2 = N_i + N_j - 2 (a_i.a_j)(h_i.h_j + bias) with N_i = |a_i|^2 (|h_i|^2 + bias),
 * so that Kronecker rows are never built. In both, the distance between equal rows is
 * exactly 0.
 *
 * Cost: d (+ C) multiply-adds per pair. Memory: copies of the centres' rows unless they
 * are direct.
 */
#ifndef SCANT_LINALG_SPACE_H
#define SCANT_LINALG_SPACE_H

#include "core/mem.h"
#include "linalg/rows.h"

enum { LA_GROUP = 64 }; /* maximum rows per call */

typedef struct la_space {
    const la_rows *h;
    const la_rows *a;   /* NULL for Euclidean distances */
    double bias;        /* 1 if h has an appended constant 1, else 0 */
    const double *norm; /* N_i of all rows, from la_space_norms(); Kronecker rows only */
    size_t group;       /* rows in scratch at a time: 1..LA_GROUP; changes no result */
    size_t count;       /* centres so far */
    size_t capacity;
    const void **hc, **ac;            /* the centres' rows */
    double *nc;                       /* the centres' N_i */
    unsigned char *h_store, *a_store; /* copies of the rows, unless they are direct */
} la_space;

/* Returns the bytes that la_space_init() allocates for `capacity` centres. */
size_t la_space_memory(const la_rows *h, const la_rows *a, size_t capacity);
/* h and a are borrowed, not copied. */
scant_status la_space_init(la_space *space, scant__arena *arena, const la_rows *h,
                           const la_rows *a, double bias, size_t group, size_t capacity);

/* Returns the bytes of one worker's scratch for a group of rows. */
size_t la_space_scratch(const la_rows *h, const la_rows *a, size_t group);

/* Computes N of rows first..first+count-1, count <= group. Kronecker only. */
void la_space_norms(const la_space *space, size_t first, size_t count, double *out,
                    void *scratch);

/* The row becomes centre number space->count, which must be below capacity. Kronecker
 * rows need space->norm. */
void la_space_add(la_space *space, size_t row);

/* best[i] = the smaller of best[i] and the squared distances of rows[i] to the centres
 * from..to-1. m <= LA_GROUP. */
void la_space_nearest(const la_space *space, const size_t *rows, size_t m, size_t from,
                      size_t to, double *best, void *scratch);

#endif
