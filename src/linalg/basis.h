/* SPDX-License-Identifier: Apache-2.0
 *
 * An orthonormal basis of the column span of a matrix whose n rows have equal weights:
 * V (n, D) with V^T V / n = I. Optionally only the leading principal directions.
 *
 * With F the rows of a view and E diag(lambda) E^T = F^T F / n, V = F E lambda^(-1/2)
 * over the directions whose lambda is above 1e-10 times the largest. V is not stored: its
 * rows are computed when needed. Their squared lengths (n times the leverage scores) are
 * computed once. If F has more columns than rows, the smaller F F^T is diagonalized, and
 * V, which is then no larger than F, is stored.
 *
 * The relative error of a direction's scale is 1e-16 times the largest lambda divided by
 * the direction's own, so at most 1e-6; the span is not affected.
 *
 * Cost, in multiply-adds: n width^2 / 2 + n width D, or n^2 width + n D^2 if V is stored,
 * and an eigen-decomposition of the smaller side. Results are the same to the bit at any
 * thread count.
 */
#ifndef SCANT_LINALG_BASIS_H
#define SCANT_LINALG_BASIS_H

#include "linalg/products.h"

typedef struct la_basis {
    la_view f;       /* the n rows of F, or of V if it is stored */
    const double *p; /* (width of f, dim): v_i = p^T f_i */
    size_t dim;      /* D; 0 if all rows are 0: p and the members below are then 0 */
    size_t rank;     /* dimension before the cut to `most` */
    double *sums;    /* n: running sums of |v_i|^2 */
    double largest;  /* largest |v_i|^2 */
    la_rows kept;    /* V if it is stored */
} la_basis;

/* Builds a basis of at most `most` (at least 1) dimensions. *basis must not be copied or
 * moved, because it points into itself. f's matrix must outlive the basis. */
scant_status la_basis_build(la_basis *basis, scant__arena *arena, const la_view *f,
                            size_t most);
/* Builds a basis of a kernel's feature space from gram (n, n), the kernel's values
 * between n rows. Reads only the lower triangle and overwrites gram. V is stored. */
scant_status la_basis_of_gram(la_basis *basis, scant__arena *arena, double *gram,
                              size_t n, size_t most);
size_t la_basis_of_gram_memory(size_t n, size_t most, unsigned threads); /* peak */
size_t la_basis_of_gram_memory_kept(size_t n, size_t most);
/* Fails if the smaller side is too large for LAPACK's eigenvectors. */
scant_status la_basis_fits(scant_ctx *ctx, size_t width, size_t rows);
/* Returns the peak memory of la_basis_build(). */
size_t la_basis_memory(const la_view *f, size_t most, unsigned threads);
/* Returns the part of la_basis_memory() that stays allocated. */
size_t la_basis_memory_kept(const la_view *f, size_t most);

/* Returns the first row whose running sum exceeds share (below 1) times the total. */
size_t la_basis_row_at(const la_basis *basis, double share);

#endif
