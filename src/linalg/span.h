/* SPDX-License-Identifier: Apache-2.0
 *
 * The span of feature rows: its dimension, and coordinates in it. Directions whose
 * eigenvalue of H+^T H+ is below LA_SPAN_CUT of the largest do not count, so zero columns
 * and copies of columns drop out.
 *
 * Cost: one pass, d+^2 / 2 multiply-adds per row, and a Cholesky factorization;
 * eigenvalues only if the rows do not span all of their nonzero columns.
 */
#ifndef SCANT_LINALG_SPAN_H
#define SCANT_LINALG_SPAN_H

#include "linalg/products.h"

#define LA_SPAN_CUT 1e-10

typedef struct la_span {
    size_t width; /* d+ */
    size_t rank;  /* dimension of the span */
    /* Coordinates of a row of H+: its numbers in these columns (rank of them), or its
     * product with this matrix (d+, rank) of orthonormal columns; the row itself if
     * both are NULL. */
    const size_t *columns;
    const double *basis;
} la_span;

/* Finds the span of the rows of v. Coordinates are prepared only if rank < rows; they
 * live in arena. */
scant_status la_span_find(la_span *span, scant__arena *arena, const la_view *v,
                          size_t rows, const char *phase);
size_t la_span_memory(const la_view *v, unsigned threads);

/* out (count, rank) = coordinates of rows (count, d+); only with columns or basis. */
void la_span_coordinates(const la_span *span, const double *rows, size_t count,
                         double *out);

#endif
