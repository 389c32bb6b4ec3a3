/* SPDX-License-Identifier: Apache-2.0
 *
 * An orthonormal basis of the column span of a matrix under the uniform distribution of
 * its rows: V (n, D) with V^T V / n = I, optionally cut to the leading principal
 * directions.
 *
 * With F the rows of a view and E diag(lambda) E^T = F^T F / n, V = F E lambda^(-1/2)
 * over the directions whose lambda is above 1e-10 times the largest. V is not stored: its
 * rows are computed when needed, and its squared row lengths (n times the leverage
 * scores) once. If F has more columns than rows, the smaller F F^T is diagonalized, and
 * V, which is then no larger than F, is stored.
 *
 * The relative error of a direction's scale is 1e-16 times the largest lambda over its
 * own, 1e-6 at worst; the span is not affected.
 *
 * Cost: n width^2 / 2 + n width D multiply-adds and an eigen-decomposition of the smaller
 * side. The same to the bit at any thread count.
 */
#ifndef SCANT_LINALG_BASIS_H
#define SCANT_LINALG_BASIS_H

#include "linalg/products.h"

typedef struct la_basis {
    la_view f;       /* the n rows of F, or of V if it is stored */
    const double *p; /* (width of f, dim): v_i = p^T f_i */
    size_t dim;      /* D; 0 if all rows are 0: the members below are then unset */
    size_t rank;     /* dimension before the cut to `most` */
    double *sums;    /* n: running sums of |v_i|^2 */
    double largest;  /* largest |v_i|^2 */
    la_rows kept;    /* V if it is stored */
} la_basis;

/* Builds a basis of at most `most` (at least 1) dimensions. basis must not move; f's
 * matrix must outlive it. */
scant_status la_basis_build(la_basis *basis, scant__arena *arena, const la_view *f,
                            size_t most);
/* The same from a kernel's values gram (n, n): a basis of its feature space over n rows.
 * Only the lower triangle is read; gram is overwritten. V is stored. */
scant_status la_basis_of_gram(la_basis *basis, scant__arena *arena, double *gram,
                              size_t n, size_t most);
size_t la_basis_of_gram_memory(size_t n, size_t most, unsigned threads); /* peak */
size_t la_basis_of_gram_memory_kept(size_t n, size_t most);
/* Fails if the smaller side is too large for LAPACK's eigenvectors. */
scant_status la_basis_fits(scant_ctx *ctx, size_t width, size_t rows);
/* Returns the peak memory of la_basis_build(). */
size_t la_basis_memory(const la_view *f, size_t most, unsigned threads);
/* Returns the part of it that stays allocated. */
size_t la_basis_memory_kept(const la_view *f, size_t most);

/* Returns the first row whose running sum exceeds share (below 1) times the total. */
size_t la_basis_row_at(const la_basis *basis, double share);

#endif
