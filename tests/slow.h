/* SPDX-License-Identifier: Apache-2.0
 *
 * Reference code for small dense matrices, without BLAS and LAPACK.
 */
#ifndef SCANT_TESTS_SLOW_H
#define SCANT_TESTS_SLOW_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* out (n, n) = a^-1 by Gauss-Jordan elimination with pivoting; overwrites a. */
static inline void slow_inverse(size_t n, long double *a, long double *out) {
    for (size_t i = 0; i < n * n; i++) out[i] = i % (n + 1) == 0;
    for (size_t c = 0; c < n; c++) {
        size_t p = c;
        for (size_t r = c; r < n; r++)
            if (fabsl(a[r * n + c]) > fabsl(a[p * n + c])) p = r;
        for (size_t k = 0; k < n; k++) {
            long double x = a[c * n + k], y = out[c * n + k];
            a[c * n + k] = a[p * n + k], a[p * n + k] = x;
            out[c * n + k] = out[p * n + k], out[p * n + k] = y;
        }
        long double pivot = a[c * n + c];
        for (size_t k = 0; k < n; k++) a[c * n + k] /= pivot, out[c * n + k] /= pivot;
        for (size_t r = 0; r < n; r++) {
            long double by = a[r * n + c];
            for (size_t k = 0; r != c && k < n; k++)
                a[r * n + k] -= by * a[c * n + k], out[r * n + k] -= by * out[c * n + k];
        }
    }
}

static inline int slow_order(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Eigenvalues of a symmetric matrix, ascending, by Jacobi rotations; overwrites a. */
static inline void slow_eigenvalues(size_t n, double *a, double *values) {
    for (int sweep = 0; sweep < 60; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (a[p * n + q] == 0) continue;
                double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (size_t k = 0; k < n; k++) {
                    double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
                }
                for (size_t k = 0; k < n; k++) {
                    double x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = c * x - s * y, a[q * n + k] = s * x + c * y;
                }
            }
    for (size_t i = 0; i < n; i++) values[i] = a[i * n + i];
    qsort(values, n, sizeof *values, slow_order);
}

/* Eigenvalues x of s v = x g v: those of L^-1 s L^-T with g = L L^T; overwrites both. */
static inline void slow_generalized(size_t n, double *s, double *g, double *values) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double x = g[i * n + j];
            for (size_t k = 0; k < j; k++) x -= g[i * n + k] * g[j * n + k];
            g[i * n + j] = i == j ? sqrt(x) : x / g[j * n + j];
        }
    for (int side = 0; side < 2; side++) { /* s = (L^-1 s)^T, twice */
        for (size_t c = 0; c < n; c++)
            for (size_t i = 0; i < n; i++) {
                double x = s[i * n + c];
                for (size_t k = 0; k < i; k++) x -= g[i * n + k] * s[k * n + c];
                s[i * n + c] = x / g[i * n + i];
            }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) {
                double x = s[i * n + j];
                s[i * n + j] = s[j * n + i], s[j * n + i] = x;
            }
    }
    slow_eigenvalues(n, s, values);
}

#endif
