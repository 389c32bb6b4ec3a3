/* SPDX-License-Identifier: Apache-2.0
 *
 * Kronecker rows g_i = a_i x x_i, never built: their inner products with a matrix, and
 * their weighted sum, in double whatever type the rows x_i have.
 *
 * Both are products of a tall matrix with a small one, for which a general product spends
 * its time on packing. Here rows are widened in registers on their way from where they
 * lie, and what is small stays in the nearest cache: classes are taken a chunk at a time.
 *
 * A row's inner product is one chain of multiply-adds per class and lane, then one over
 * classes: it does not depend on which rows it is computed with. A sum is one chain per
 * element, in the order of rows.
 */
#include "linalg/kernels/vec.h"

#include "linalg/kernels.h"

enum {
    ROWS = 4,
    WIDE = 3,     /* classes at a time: 12 chains keep the machine busy */
    NEAR = 2048,  /* doubles of the small matrix that are worked on together */
    CLASSES = 16, /* and columns of a sum, likewise */
    COLUMNS = 128,
    APART = COLUMNS + 4
};

INLINE D4 spread4(double x) { return (D4){x, x, x, x}; }

INLINE D4 load_d4(const double *p) {
    D4 v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Keeps a value in its register: see load_once(). */
INLINE D4 keep(D4 v) {
#ifdef __AVX2__
    __asm__("" : "+x"(v));
#endif
    return v;
}

/* ---- inner products --------------------------------------------------------------- */

/* Numbers j..j+3 of r rows, or the last that there are, and of c classes. */
INLINE void dot_step(D4 acc[ROWS][WIDE], const T *const *x, size_t j, size_t count,
                     const double *v, size_t pitch, const int r, const int c) {
    D4 vv[WIDE];
#pragma GCC unroll 3
    for (int k = 0; k < c; k++) vv[k] = keep(load_d4(v + (size_t)k * pitch + j));
#pragma GCC unroll 4
    for (int i = 0; i < r; i++) {
        D4 xv = keep(count == 4 ? load_d(x[i] + j) : load_rest(x[i] + j, count));
#pragma GCC unroll 3
        for (int k = 0; k < c; k++) acc[i][k] = fma_d(xv, vv[k], acc[i][k]);
    }
}

/* r rows, c classes: total_i += sum over classes of a_ik (start_k + x_i . v_k). */
INLINE void dot_tile(const T *const *x, size_t d, const double *a, size_t lda,
                     const double *v, size_t pitch, D4 *total, const int r, const int c) {
    D4 acc[ROWS][WIDE];
    size_t j = 0;
#pragma GCC unroll 4
    for (int i = 0; i < r; i++)
#pragma GCC unroll 3
        for (int k = 0; k < c; k++) acc[i][k] = load_d4(v + (size_t)k * pitch);
    v += LA_PANEL_START;
    for (; j + 4 <= d; j += 4) dot_step(acc, x, j, 4, v, pitch, r, c);
    if (j < d) dot_step(acc, x, j, d - j, v, pitch, r, c);
#pragma GCC unroll 4
    for (int i = 0; i < r; i++)
#pragma GCC unroll 3
        for (int k = 0; k < c; k++)
            total[i] =
                fma_d(spread4(a[(size_t)i * lda + (size_t)k]), acc[i][k], total[i]);
}

INLINE void dot_rows(const T *const *x, size_t d, const double *a, size_t lda, size_t c,
                     const double *v, double *out, const int r) {
    size_t pitch = la_panel_pitch(d), k = 0;
    D4 total[ROWS] = {{0}};
    for (; k + 3 <= c; k += 3)
        dot_tile(x, d, a + k, lda, v + k * pitch, pitch, total, r, 3);
    if (c - k == 2) dot_tile(x, d, a + k, lda, v + k * pitch, pitch, total, r, 2);
    if (c - k == 1) dot_tile(x, d, a + k, lda, v + k * pitch, pitch, total, r, 1);
    for (int i = 0; i < r; i++) out[i] += sum4(total[i]);
}

void KERNEL(kron_dot)(const void *const *rows, size_t n, size_t d, const double *a,
                      size_t c, const double *panel, double *out) {
    const T *const *x = (const T *const *)rows;
    size_t pitch = la_panel_pitch(d), step = NEAR / (pitch * WIDE) * WIDE;
    step = step < WIDE ? WIDE : step;
    memset(out, 0, n * sizeof *out);
    for (size_t k = 0; k < c; k += step) {
        size_t count = c - k < step ? c - k : step, i = 0;
        const double *v = panel + k * pitch;
        for (; i + ROWS <= n; i += ROWS)
            dot_rows(x + i, d, a + i * c + k, c, count, v, out + i, ROWS);
        for (; i < n; i++) dot_rows(x + i, d, a + i * c + k, c, count, v, out + i, 1);
    }
}

/* ---- sums ------------------------------------------------------------------------- */

/* Columns j..j+4*wide-1 of all classes of a chunk; q: ROWS coefficients a class. */
INLINE void add_columns(const T *const *x, const double *q, size_t c, size_t j,
                        double *sum, const int wide) {
    D4 h[ROWS][2];
#pragma GCC unroll 4
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++) h[i][w] = keep(load_d(x[i] + j + 4 * w));
    for (size_t k = 0; k < c; k++) {
        double *at = sum + k * APART + j;
        D4 m[2];
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++) m[w] = load_d4(at + 4 * w);
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; i++) {
            D4 s = spread4(q[k * ROWS + (size_t)i]);
#pragma GCC unroll 2
            for (int w = 0; w < wide; w++) m[w] = fma_d(s, h[i][w], m[w]);
        }
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++) memcpy(at + 4 * w, &m[w], sizeof m[w]);
    }
}

/* Adds n <= ROWS rows of `columns` numbers; missing ones have coefficients 0. */
static void add_group(const T *const *x, size_t from, size_t columns, const double *a,
                      size_t lda, size_t c, const double *s, size_t n, double *sum) {
    double q[CLASSES * ROWS];
    const T *row[ROWS];
    size_t j = 0;
    for (size_t i = 0; i < ROWS; i++) {
        row[i] = x[i < n ? i : 0] + from;
        for (size_t k = 0; k < c; k++)
            q[k * ROWS + i] = i < n ? s[i] * a[i * lda + k] : 0;
    }
    for (; j + 8 <= columns; j += 8) add_columns(row, q, c, j, sum, 2);
    if (j + 4 <= columns) add_columns(row, q, c, j, sum, 1), j += 4;
    for (; j < columns; j++)
        for (size_t k = 0; k < c; k++) {
            D4 m = {sum[k * APART + j]};
            for (size_t i = 0; i < ROWS; i++)
                m = fma_d((D4){q[k * ROWS + i]}, (D4){(double)row[i][j]}, m);
            sum[k * APART + j] = m[0];
        }
}

/* total_k += sum of s_i a_ik over n rows; 4 * wide classes. */
INLINE void add_weights(const double *a, size_t lda, const double *s, size_t n,
                        double *total, const int wide) {
    D4 t[CLASSES / 4] = {{0}};
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int w = 0; w < wide; w++)
            t[w] = fma_d(spread4(s[i]), load_d4(a + i * lda + 4 * w), t[w]);
    memcpy(total, t, sizeof(D4) * (size_t)wide);
}

/* The column of a constant: sum_k += constant * sum of s_i a_ik, for c <= CLASSES. */
static void add_constant(const double *a, size_t lda, size_t c, const double *s, size_t n,
                         double constant, double *sum, size_t apart) {
    double total[CLASSES] = {0};
    if (c / 4 == 1) add_weights(a, lda, s, n, total, 1);
    if (c / 4 == 2) add_weights(a, lda, s, n, total, 2);
    if (c / 4 == 3) add_weights(a, lda, s, n, total, 3);
    if (c / 4 == 4) add_weights(a, lda, s, n, total, 4);
    for (size_t k = c / 4 * 4; k < c; k++) {
        D4 t = {0};
        for (size_t i = 0; i < n; i++) t = fma_d((D4){s[i]}, (D4){a[i * lda + k]}, t);
        total[k] = t[0];
    }
    for (size_t k = 0; k < c; k++) sum[k * apart] += constant * total[k];
}

/* A chunk is worked on in a copy, whose rows do not lie a power of two apart: they would
 * share the few places of the nearest cache that such addresses have. */
void KERNEL(kron_add)(const void *const *rows, size_t n, size_t d, const double *a,
                      size_t c, const double *s, double constant, double *sum,
                      size_t apart) {
    const T *const *x = (const T *const *)rows;
    double near[CLASSES * APART];
    for (size_t k = 0; constant != 0 && k < c; k += CLASSES)
        add_constant(a + k, c, c - k < CLASSES ? c - k : CLASSES, s, n, constant,
                     sum + k * apart + d, apart);
    for (size_t from = 0; from < d; from += COLUMNS) {
        size_t columns = d - from < COLUMNS ? d - from : COLUMNS;
        for (size_t k = 0; k < c; k += CLASSES) {
            size_t count = c - k < CLASSES ? c - k : CLASSES;
            double *at = sum + k * apart + from;
            for (size_t i = 0; i < count; i++)
                memcpy(near + i * APART, at + i * apart, columns * sizeof *at);
            for (size_t i = 0; i < n; i += ROWS)
                add_group(x + i, from, columns, a + i * c + k, c, count, s + i,
                          n - i < ROWS ? n - i : ROWS, near);
            for (size_t i = 0; i < count; i++)
                memcpy(at + i * apart, near + i * APART, columns * sizeof *at);
        }
    }
}
