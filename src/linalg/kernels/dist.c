/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner products and squared distances of rows against centres.
 *
 * Each (row, centre) pair has its own chain of fused multiply-adds per lane, and the
 * lanes are summed in double in a fixed order. So a pair's value does not depend on which
 * other pairs were computed with it: not on blocking, not on threads. Rows come as
 * pointers, whose length d is a multiple of the lanes (padded with zeros).
 *
 * Distances are summed from differences, not from |x|^2 + |y|^2 - 2xy: no cancellation,
 * so that far-off or tight clusters keep their digits.
 */
#include "linalg/kernels/vec.h"

#include "linalg/kernels.h"

enum { ROWS = 4 };

/* One tile of r rows and c centres, r and c known to the compiler. */
INLINE void tile(const T *const *x, const T *const *y, size_t d, double *out, size_t ldo,
                 const int r, const int c, const int differences) {
    V acc[ROWS][3] = {{{0}}};
    for (size_t k = 0; k < d; k += LANES) {
        V yv[3];
#pragma GCC unroll 3
        for (int j = 0; j < c; j++) yv[j] = load_once(y[j] + k);
#pragma GCC unroll 4
        for (int i = 0; i < r; i++) {
            V xv = load_once(x[i] + k);
#pragma GCC unroll 3
            for (int j = 0; j < c; j++) {
                if (differences) {
                    V e = xv - yv[j];
                    acc[i][j] = fma_v(e, e, acc[i][j]);
                } else {
                    acc[i][j] = fma_v(xv, yv[j], acc[i][j]);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < r; i++)
#pragma GCC unroll 3
        for (int j = 0; j < c; j++)
            out[(size_t)i * ldo + (size_t)j] = sum4(fold(acc[i][j]));
}

/* All rows against c centres. */
INLINE void strip(const T *const *x, size_t nx, const T *const *y, size_t d, double *out,
                  size_t ldo, const int c, const int differences) {
    size_t i = 0;
    for (; i + ROWS <= nx; i += ROWS)
        tile(x + i, y, d, out + i * ldo, ldo, ROWS, c, differences);
    for (; i < nx; i++) tile(x + i, y, d, out + i * ldo, ldo, 1, c, differences);
}

void KERNEL(dot)(const void *const *x, size_t nx, const void *const *y, size_t ny,
                 size_t d, double *out) {
    const T *const *xs = (const T *const *)x, *const *ys = (const T *const *)y;
    size_t j = 0;
    for (; j + 3 <= ny; j += 3) strip(xs, nx, ys + j, d, out + j, ny, 3, 0);
    for (; j < ny; j++) strip(xs, nx, ys + j, d, out + j, ny, 1, 0);
}

void KERNEL(sqdist)(const void *const *x, size_t nx, const void *const *y, size_t ny,
                    size_t d, double *out) {
    const T *const *xs = (const T *const *)x, *const *ys = (const T *const *)y;
    size_t j = 0;
    for (; j + 2 <= ny; j += 2) strip(xs, nx, ys + j, d, out + j, ny, 2, 1);
    for (; j < ny; j++) strip(xs, nx, ys + j, d, out + j, ny, 1, 1);
}

void KERNEL(selfdot)(const void *rows, size_t n, size_t d, double *out) {
    const T *x = rows;
    for (size_t i = 0; i < n; i++) {
        const T *row = x + i * d;
        tile(&row, &row, d, out + i, 1, 1, 1, 0);
    }
}
