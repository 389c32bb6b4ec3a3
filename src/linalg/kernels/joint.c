/* SPDX-License-Identifier: Apache-2.0
 *
 * Entropies of matrix products that are never stored: a tile of r = j p at a time is
 * computed in registers, with -r log2 r.
 *
 * Each r is one chain of multiply-adds, and its term is rounded to a grid on which sums
 * are exact (log.h). So a column's sum depends neither on the order of columns and rows
 * nor on the division into blocks.
 */
#include "linalg/kernels/log.h"

#include "linalg/kernels.h"

#ifdef KERNEL_f64

enum {
    TALL = 4,              /* rows of a tile: with 12 columns it fills 12 registers */
    WIDE = LA_PANEL / 4,   /* vectors per row */
    BEFORE_ROUND = 32 / 4, /* tiles per sum: 32 terms of at most 0.54 stay below 32 */
};

typedef struct tile {
    D4 r[TALL][WIDE];
} tile;

INLINE D4 load_4(const double *p) {
    D4 v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE tile multiply(const double *const j[TALL], const double *panel, size_t m) {
    tile t = {{{{0}}}};
    for (size_t s = 0; s < m; s++, panel += LA_PANEL) {
        D4 p[WIDE];
#pragma GCC unroll 3
        for (int k = 0; k < WIDE; k++) p[k] = load_once(panel + 4 * k);
#pragma GCC unroll 4
        for (int i = 0; i < TALL; i++) {
            D4 x = spread(j[i][s]);
#pragma GCC unroll 3
            for (int k = 0; k < WIDE; k++) t.r[i][k] = fma_d(x, p[k], t.r[i][k]);
        }
    }
    return t;
}

/* Adds the terms of up to BEFORE_ROUND tiles. */
INLINE void some_rows(const double *j, size_t rows, size_t m, const double *panel,
                      double *sum) {
    D4 bits[WIDE] = {spread(BASE), spread(BASE), spread(BASE)};
    for (size_t t = 0; t < rows; t += TALL) {
        const double *row[TALL];
        int count = rows - t < TALL ? (int)(rows - t) : TALL;
        for (int i = 0; i < TALL; i++) row[i] = j + (t + (size_t)(i < count ? i : 0)) * m;
        tile done = multiply(row, panel, m);
        for (int i = 0; i < count; i++)
#pragma GCC unroll 3
            for (int k = 0; k < WIDE; k++) bits[k] = surprise(bits[k], done.r[i][k]);
    }
    for (int k = 0; k < WIDE; k++) {
        D4 all = load_4(sum + 4 * k) + (bits[k] - BASE);
        memcpy(sum + 4 * k, &all, sizeof all);
    }
}

void KERNEL(joint_bits)(const double *j, size_t rows, size_t m, const double *panel,
                        double *sum) {
    const size_t step = TALL * BEFORE_ROUND;
    for (size_t t = 0; t < rows; t += step)
        some_rows(j + t * m, rows - t < step ? rows - t : step, m, panel, sum);
}

#endif
