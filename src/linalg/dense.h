/* SPDX-License-Identifier: Apache-2.0
 *
 * Small dense matrices in double, by rows: LAPACK behind a door. Sizes fit an int
 * (la_fits, linalg/products.h). Nothing is allocated: room comes from the caller, in
 * doubles.
 *
 * BLAS must be on one thread for results that do not depend on their number: inside a
 * block of core/parfor.h it is; outside, la_eigh_alone() and scant__parfor() with one
 * block see to it.
 */
#ifndef SCANT_LINALG_DENSE_H
#define SCANT_LINALG_DENSE_H

#include <stdbool.h>

#include "core/ctx.h"

enum { LA_EIGH_MOST = 30000 }; /* LAPACK counts its room, over 2 n^2, in an int */
scant_status la_eigh_fits(scant_ctx *ctx, size_t n); /* fails where n is above */

/* Eigenvalues of a symmetric matrix (n, n), ascending. With vectors: a becomes them, row
 * k belongs to values[k]; without, a is spoilt. Only one triangle of a is read. False:
 * the iteration did not end (a is not finite). */
bool la_eigh(size_t n, double *a, bool vectors, double *values, double *room);
size_t la_eigh_room(size_t n, bool vectors);
/* The same as a call of its own, with BLAS on one thread. It cannot be cancelled. */
scant_status la_eigh_alone(scant_ctx *ctx, size_t n, double *a, bool vectors,
                           double *values, double *room);

/* The lower triangle becomes L with a = L L^T; rows are lda apart. False: a is not
 * positive definite (a is spoilt). Above the diagonal nothing is read or written. */
bool la_cholesky(size_t n, double *a, size_t lda);
/* b (n, k) = L^-1 b, or L^-T b; rows are ldb apart. */
void la_solve_lower(size_t n, size_t k, const double *l, size_t lda, double *b,
                    size_t ldb);
void la_solve_lower_t(size_t n, size_t k, const double *l, size_t lda, double *b,
                      size_t ldb);

/* The root of the sum of squares; also where those would overflow or vanish. */
double la_frobenius(const double *x, size_t size);
/* An upper bound of the largest singular value of x (rows, columns), seldom 8% above it;
 * where both sizes are above 32, the Frobenius norm. */
double la_spectral(const double *x, size_t rows, size_t columns);

#endif
