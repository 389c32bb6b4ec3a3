/* SPDX-License-Identifier: Apache-2.0
 *
 * The space that rows of features span: its dimension, and coordinates in it. Directions
 * in which all rows together have less than LA_SPAN_CUT of what they have in the
 * strongest (eigenvalues of H+^T H+) do not count, so columns that are dead or repeat
 * others vanish.
 *
 * Cost: one pass, d+^2 / 2 multiply-adds a row, and a Cholesky factorization; eigenvalues
 * only where rows do not span all of their live columns.
 */
#ifndef SCANT_LINALG_SPAN_H
#define SCANT_LINALG_SPAN_H

#include "linalg/products.h"

#define LA_SPAN_CUT 1e-10

typedef struct la_span {
    size_t width, rank; /* d+; the dimension */
    /* How coordinates are had of a row of H+: its numbers in these columns (rank of
     * them), or its product with this matrix (d+, rank), whose columns are orthonormal;
     * neither: the row itself. */
    const size_t *columns;
    const double *basis;
} la_span;

/* Of the rows of v. Coordinates are made only where rank < rows; they live in arena. */
scant_status la_span_find(la_span *span, scant__arena *arena, const la_view *v,
                          size_t rows, const char *phase);
size_t la_span_memory(const la_view *v, unsigned threads);

/* out (count, rank) = coordinates of rows (count, d+); not where the row is itself. */
void la_span_coordinates(const la_span *span, const double *rows, size_t count,
                         double *out);

#endif
