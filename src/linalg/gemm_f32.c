/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/gemm_f32.h"

#include <cblas.h>

void la_snn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
            size_t ldb, float *c, size_t ldc) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a,
                (int)lda, b, (int)ldb, 0, c, (int)ldc);
}

static void nt(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
               size_t ldb, float beta, float *c, size_t ldc) {
    if (m == 1) { /* in depthwise convolutions; sgemv does not pack */
        cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)n, (int)k, 1, b, (int)ldb, a, 1,
                    beta, c, 1);
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, a,
                (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

void la_snt(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
            size_t ldb, float *c, size_t ldc) {
    nt(m, n, k, a, lda, b, ldb, 0, c, ldc);
}

void la_snt_add(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                size_t ldb, float *c, size_t ldc) {
    nt(m, n, k, a, lda, b, ldb, 1, c, ldc);
}

void la_stn(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
            size_t ldb, float *c, size_t ldc) {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a,
                (int)lda, b, (int)ldb, 0, c, (int)ldc);
}

void la_stn_add(size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                size_t ldb, float *c, size_t ldc) {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a,
                (int)lda, b, (int)ldb, 1, c, (int)ldc);
}
