/* SPDX-License-Identifier: Apache-2.0
 *
 * Small dense matrices in double, stored by rows: the wrapper of LAPACK. Sizes fit an int
 * (la_fits, linalg/products.h). Nothing is allocated: the caller provides work space,
 * counted in doubles.
 *
 * Results do not depend on the thread count if BLAS uses one thread. Inside a block of
 * core/parfor.h it does; elsewhere use la_eigh_alone() or scant__parfor() with one block.
 */
#ifndef SCANT_LINALG_DENSE_H
#define SCANT_LINALG_DENSE_H

#include <stdbool.h>

#include "core/ctx.h"

enum { LA_EIGH_MOST = 30000 }; /* LAPACK's work size, 1 + 6n + 2n^2, must fit an int */
scant_status la_eigh_fits(scant_ctx *ctx, size_t n); /* fails if n > LA_EIGH_MOST */

/* Computes the eigenvalues of a symmetric matrix (n, n), ascending. If `vectors`, a
 * becomes the eigenvectors, row k for values[k]; if not, a is overwritten. Only the lower
 * triangle of a is read. Returns false if the iteration does not converge, for example
 * because a is not finite. */
bool la_eigh(size_t n, double *a, bool vectors, double *values, double *room);
size_t la_eigh_room(size_t n, bool vectors);
/* The same outside a parallel block, with BLAS on one thread. It cannot be cancelled. */
scant_status la_eigh_alone(scant_ctx *ctx, size_t n, double *a, bool vectors,
                           double *values, double *room);

/* The lower triangle becomes L with a = L L^T; rows are lda apart. Returns false if a
 * is not positive definite; a is then overwritten. The part above the diagonal is not
 * accessed. */
bool la_cholesky(size_t n, double *a, size_t lda);
/* b (n, k) = L^-1 b; rows are ldb apart. */
void la_solve_lower(size_t n, size_t k, const double *l, size_t lda, double *b,
                    size_t ldb);
/* b (n, k) = L^-T b. */
void la_solve_lower_t(size_t n, size_t k, const double *l, size_t lda, double *b,
                      size_t ldb);

/* Returns the Euclidean norm, without overflow or underflow of squares. */
double la_frobenius(const double *x, size_t size);
/* Returns an upper bound of the largest singular value of x (rows, columns), seldom more
 * than 8% above it; the Frobenius norm if both sizes exceed 32. */
double la_spectral(const double *x, size_t rows, size_t columns);

#endif
