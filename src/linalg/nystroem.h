/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows whose inner products approximate a kernel, computed from m of its rows, the
 * landmarks (Nystroem approximation; Williams & Seeger 2001). With W = U S U^T the kernel
 * between landmarks, row x becomes k(x, landmarks) U S^(-1/2), for the eigenvalues above
 * 1e-10 times the largest. Inner products of landmarks are exact.
 *
 * Landmarks are drawn uniformly, without replacement. Rows are stored as float: the
 * rounding is far below the approximation error, and a basis is built from the rounded
 * numbers.
 *
 * Cost: n m values of the kernel, n m^2 multiply-adds, and the eigenvectors of an m x m
 * matrix. Results are the same to the bit at any thread count. Memory: 4 n m bytes and a
 * few m x m matrices.
 */
#ifndef SCANT_LINALG_NYSTROEM_H
#define SCANT_LINALG_NYSTROEM_H

#include <stdint.h>

#include "linalg/lambda.h"

typedef struct la_nystroem {
    la_rows rows;     /* (n, rank), in the arena; rank is 0 if all landmarks are 0 */
    double explained; /* fraction of the kernel's trace that the rows reproduce */
} la_nystroem;

/* Builds the rows for the n listed rows of the kernel; 0 < landmarks <= n. */
scant_status la_nystroem_build(la_nystroem *out, scant__arena *arena,
                               const la_kernel *kernel, const size_t *rows, size_t n,
                               size_t landmarks, uint64_t seed);
/* Returns the peak memory of la_nystroem_build(). */
size_t la_nystroem_memory(const la_kernel *kernel, size_t n, size_t landmarks,
                          unsigned threads);
/* Returns the part of la_nystroem_memory() that stays allocated. */
size_t la_nystroem_memory_kept(size_t n, size_t landmarks);

#endif
