/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over rows in double: squared norms, a total of rows, squared distances to a point;
 * and sums that do not depend on the order of their terms.
 */
#include "linalg/kernels/vec.h"

#include "linalg/kernels.h"

void KERNEL(sumsq)(const void *rows, size_t n, size_t d, double *out) {
    const T *x = rows;
    for (size_t i = 0; i < n; i++) {
        const T *row = x + i * d;
        D4 a = {0}, b = {0};
        size_t k = 0;
        for (; k + 8 <= d; k += 8) {
            D4 u = load_d(row + k), v = load_d(row + k + 4);
            a = fma_d(u, u, a);
            b = fma_d(v, v, b);
        }
        for (; k + 4 <= d; k += 4) {
            D4 u = load_d(row + k);
            a = fma_d(u, u, a);
        }
        D4 u = load_rest(row + k, d - k);
        out[i] = sum4(fma_d(u, u, a) + b);
    }
}

void KERNEL(total)(const void *rows, size_t n, size_t d, double *sum) {
    for (size_t i = 0; i < n; i++) {
        const T *row = (const T *)rows + i * d;
        size_t k = 0;
        for (; k + 4 <= d; k += 4) {
            D4 s;
            memcpy(&s, sum + k, sizeof s);
            s += load_d(row + k);
            memcpy(sum + k, &s, sizeof s);
        }
        for (; k < d; k++) sum[k] += (double)row[k];
    }
}

void KERNEL(sqdist_to)(const void *rows, size_t n, size_t d, const double *point,
                       double *out) {
    for (size_t i = 0; i < n; i++) {
        const T *row = (const T *)rows + i * d;
        D4 sum = {0};
        size_t k = 0;
        for (; k + 4 <= d; k += 4) {
            D4 e;
            memcpy(&e, point + k, sizeof e);
            e -= load_d(row + k);
            sum = fma_d(e, e, sum);
        }
        out[i] = sum4(sum);
        for (; k < d; k++) {
            double e = (double)row[k] - point[k];
            out[i] += e * e;
        }
    }
}

void KERNEL(gather)(const void *rows, size_t count, double grid, double *coarse,
                    double *fine) {
    const T *x = rows;
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        D4 a, b, v = load_d(x + k), part = (v + grid) - grid;
        memcpy(&a, coarse + k, sizeof a);
        memcpy(&b, fine + k, sizeof b);
        a += part;
        b += v - part;
        memcpy(coarse + k, &a, sizeof a);
        memcpy(fine + k, &b, sizeof b);
    }
    for (; k < count; k++) {
        double v = (double)x[k], part = (v + grid) - grid;
        coarse[k] += part;
        fine[k] += v - part;
    }
}
