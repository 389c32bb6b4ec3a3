/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of small float matrices, stored by rows: the wrapper of single-precision BLAS.
 * Sizes fit an int (la_fits, linalg/products.h). For the same bits at any thread count,
 * call these functions inside a block of core/parfor.h, where BLAS uses one thread.
 */
#ifndef SCANT_LINALG_GEMM_F32_H
#define SCANT_LINALG_GEMM_F32_H

#include <stddef.h>

/* c (m, n) = a b; the inner size is k, rows are lda, ldb, ldc apart. */
void la_snn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
            size_t ldb, float *c, size_t ldc);
/* c = a b^T. */
void la_snt(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
            size_t ldb, float *c, size_t ldc);
/* c += a b^T. */
void la_snt_add(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                size_t ldb, float *c, size_t ldc);
/* c = a^T b. */
void la_stn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
            size_t ldb, float *c, size_t ldc);
/* c += a^T b. */
void la_stn_add(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                size_t ldb, float *c, size_t ldc);

#endif
