/* SPDX-License-Identifier: Apache-2.0
 *
 * The span of feature rows: its dimension, and coordinates in it. Directions whose
 * eigenvalue of H+^T H+ is at most LA_SPAN_CUT times the largest do not count, so
 * zero columns and copies of columns drop out.
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
    /* The coordinates of a row of H+ are its numbers in `columns`, or its product with
     * `basis`. If both are NULL, they are the row itself. */
    const size_t *columns; /* (rank) */
    const double *basis;   /* (d+, rank): orthonormal columns */
} la_span;

/* Finds the span of the rows of v. Sets columns or basis, in arena, only if the rank is
 * below `rows`. */
scant_status la_span_find(la_span *span, scant__arena *arena, const la_view *v,
                          size_t rows, const char *phase);
size_t la_span_memory(const la_view *v, unsigned threads);

/* out (count, rank) = coordinates of rows (count, d+). columns or basis must be set. */
void la_span_coordinates(const la_span *span, const double *rows, size_t count,
                         double *out);

#endif
