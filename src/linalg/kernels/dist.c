/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner products and squared distances of rows against centres.
 *
 * Each (row, centre) pair has its own chain of fused multiply-adds per lane, and the
 * lanes are summed in double in a fixed order. So a pair's value does not depend on which
 * other pairs were computed with it: not on blocking, not on threads. Rows are pointers
 * to d numbers. Long rows are divided into pieces that are added in double, so that the
 * rounding of a chain of floats stays below a few millionths.
 *
 * Distances are summed from differences, not from |x|^2 + |y|^2 - 2xy: no cancellation,
 * so that distant or tight clusters keep their precision.
 */
#include "linalg/kernels/vec.h"

#include "linalg/kernels.h"

enum { ROWS = 4, WIDE = 6, PIECE = 2048 };

/* Adds numbers k..k+count-1 of r rows and c centres to acc. r, c and differences are
 * compile-time constants; so is count, except at the end of a row. */
INLINE void step(V acc[ROWS][WIDE], const T *const *x, const T *const *y, size_t k,
                 size_t count, const int r, const int c, const int differences) {
    V yv[WIDE];
#pragma GCC unroll 6
    for (int j = 0; j < c; j++)
        yv[j] = count == LANES ? load_once(y[j] + k) : load_tail(y[j] + k, count);
#pragma GCC unroll 4
    for (int i = 0; i < r; i++) {
        V xv = count == LANES ? load_once(x[i] + k) : load_tail(x[i] + k, count);
#pragma GCC unroll 6
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

/* One tile of r rows and c centres. */
INLINE void tile(const T *const *x, const T *const *y, size_t d, double *out, size_t ldo,
                 const int r, const int c, const int differences) {
    for (size_t from = 0; from < d; from += PIECE) {
        size_t to = d - from < PIECE ? d : from + PIECE, k = from;
        V acc[ROWS][WIDE] = {{{0}}};
        for (; k + LANES <= to; k += LANES) step(acc, x, y, k, LANES, r, c, differences);
        if (k < to) step(acc, x, y, k, to - k, r, c, differences);
#pragma GCC unroll 4
        for (int i = 0; i < r; i++)
#pragma GCC unroll 6
            for (int j = 0; j < c; j++) {
                double *at = &out[(size_t)i * ldo + (size_t)j];
                *at = (from ? *at : 0) + sum4(fold(acc[i][j]));
            }
    }
}

/* Computes all pairs in tiles of ROWS rows and c centres. A tile has an accumulator per
 * pair: 12 in dot (c = 3), 8 in sqdist (c = 2); 8 keep the pipelines full. With c = 3 the
 * last four centres are 2 + 2, not 3 + 1. The last rows are computed one by one, in tiles
 * of WIDE = 6 centres. */
INLINE void pairs(const T *const *x, size_t nx, const T *const *y, size_t ny, size_t d,
                  double *out, const int c, const int differences) {
    size_t even = nx - nx % ROWS, j = 0;
    for (; j + (size_t)c <= ny && (c < 3 || ny - j != 4); j += (size_t)c)
        for (size_t i = 0; i < even; i += ROWS) {
            if (j == 0 && i + 2 * ROWS <= even) fetch(x + i + ROWS, ROWS, d);
            tile(x + i, y + j, d, out + i * ny + j, ny, ROWS, c, differences);
        }
    for (; j + 2 <= ny; j += 2)
        for (size_t i = 0; i < even; i += ROWS)
            tile(x + i, y + j, d, out + i * ny + j, ny, ROWS, 2, differences);
    for (; j < ny; j++)
        for (size_t i = 0; i < even; i += ROWS)
            tile(x + i, y + j, d, out + i * ny + j, ny, ROWS, 1, differences);
    for (size_t i = even; i < nx; i++) {
        for (j = 0; j + WIDE <= ny; j += WIDE)
            tile(x + i, y + j, d, out + i * ny + j, ny, 1, WIDE, differences);
        for (; j < ny; j++)
            tile(x + i, y + j, d, out + i * ny + j, ny, 1, 1, differences);
    }
}

void KERNEL(dot)(const void *const *x, size_t nx, const void *const *y, size_t ny,
                 size_t d, double *out) {
    pairs((const T *const *)x, nx, (const T *const *)y, ny, d, out, 3, 0);
}

void KERNEL(sqdist)(const void *const *x, size_t nx, const void *const *y, size_t ny,
                    size_t d, double *out) {
    pairs((const T *const *)x, nx, (const T *const *)y, ny, d, out, 2, 1);
}

void KERNEL(selfdot)(const void *rows, size_t n, size_t d, double *out) {
    const T *x = rows;
    for (size_t i = 0; i < n; i++) {
        const T *row = x + i * d;
        tile(&row, &row, d, out + i, 1, 1, 1, 0);
    }
}
