/* SPDX-License-Identifier: Apache-2.0
 *
 * An orthonormal basis of what the columns of a matrix span, under the uniform law of its
 * rows: V (n, D) with V^T V / n = I, cut to its leading principal directions where it is
 * asked to be small.
 *
 * With F the rows of a view and E diag(lambda) E^T = F^T F / n, V = F E lambda^(-1/2)
 * over the directions whose lambda is above 1e-10 of the largest. V is not built: its
 * rows are made when they are looked at, and its squared row lengths (n times the
 * leverage scores) are measured once. Where F has more columns than rows the smaller F
 * F^T is diagonalized, and V, which is then no larger than F, is kept.
 *
 * A direction's scale is right to 1e-16 of the largest lambda over its own, 1e-6 at
 * worst; the span is what it is.
 *
 * Cost: n width^2 / 2 + n width D multiply-adds and an eigen-decomposition of the smaller
 * side. The same to the bit at any thread count.
 */
#ifndef SCANT_LINALG_BASIS_H
#define SCANT_LINALG_BASIS_H

#include "linalg/products.h"

typedef struct la_basis {
    la_view f;       /* n rows: the caller's, or V */
    const double *p; /* (width of f, dim): v_i = p^T f_i */
    size_t dim;      /* D; 0: all rows are 0, and nothing below is filled */
    size_t rank;     /* before it was cut */
    double *sums;    /* n: running sums of |v_i|^2 */
    double largest;  /* |v_i|^2 */
    la_rows kept;    /* V, where it is */
} la_basis;

/* At most `most` dimensions, at least 1. basis must stay where it is; f's matrix must
 * outlive it. */
scant_status la_basis_build(la_basis *basis, scant__arena *arena, const la_view *f,
                            size_t most);
/* The same of a kernel's feature space over n rows, given the kernel's values between
 * them (n, n), which are spoilt; only their lower triangle is read. V is kept. */
scant_status la_basis_of_gram(la_basis *basis, scant__arena *arena, double *gram,
                              size_t n, size_t most);
size_t la_basis_of_gram_memory(size_t n, size_t most, unsigned threads); /* likewise */
size_t la_basis_of_gram_memory_kept(size_t n, size_t most);
/* Fails where the smaller side is more than eigenvectors can be had of. */
scant_status la_basis_fits(scant_ctx *ctx, size_t width, size_t rows);
/* What that allocates at once, at most; and what of it stays. */
size_t la_basis_memory(const la_view *f, size_t most, unsigned threads);
size_t la_basis_memory_kept(const la_view *f, size_t most);

/* The first row whose running sum is above a share (below 1) of the total. */
size_t la_basis_row_at(const la_basis *basis, double share);

#endif
