/* SPDX-License-Identifier: Apache-2.0
 *
 * Kronecker rows g_i = a_i x x_i, never built: their inner products with a matrix, and
 * their weighted sum, in double whatever type the rows x_i have.
 *
 * Both are products of a tall matrix with a small one, for which a general product spends
 * its time on packing. Here rows are widened in registers as they are read, and the small
 * matrix stays in the first-level cache: classes are processed in chunks.
 *
 * A row's inner product is one chain of multiply-adds per class and lane, then one over
 * classes: it does not depend on the other rows. A sum is one chain per element, in the
 * order of rows.
 */
#include "linalg/kernels/vec.h"

#include "linalg/kernels.h"

enum {
    ROWS = 4,
    WIDE = 3,    /* classes at a time: ROWS * WIDE chains keep the pipelines full */
    NEAR = 2048, /* doubles of the small matrix processed together */
    TALL = 6,    /* classes of a sum that stay in registers, 8 columns wide */
    CLASSES = 3 * TALL,
    BATCH = 128 /* rows per batch */
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

/* Adds numbers j..j+count-1 of r rows and c classes to acc; count is at most 4. */
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
    for (; c - k >= 3 && c - k != 4; k += 3)
        dot_tile(x, d, a + k, lda, v + k * pitch, pitch, total, r, 3);
    for (; c - k >= 2; k += 2)
        dot_tile(x, d, a + k, lda, v + k * pitch, pitch, total, r, 2);
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
        for (; i + ROWS <= n; i += ROWS) {
            if (k == 0 && i + 2 * ROWS <= n) fetch(x + i + ROWS, ROWS, d);
            dot_rows(x + i, d, a + i * c + k, c, count, v, out + i, ROWS);
        }
        for (; i < n; i++) dot_rows(x + i, d, a + i * c + k, c, count, v, out + i, 1);
    }
}

/* ---- sums ------------------------------------------------------------------------- */

/* Adds n rows to columns j..j+4*wide-1, or to the last `count` < 4 columns, of c classes.
 * The sums stay in registers over all rows. q: the rows' coefficients, `pitch` apart. */
INLINE void add_tile(const T *const *x, size_t n, const double *q, size_t pitch, size_t j,
                     size_t count, double *sum, size_t stride, const int c,
                     const int wide) {
    D4 acc[TALL][2] = {{{0}}};
    size_t bytes = count < 4 ? count * sizeof(double) : sizeof(D4);
#pragma GCC unroll 6
    for (int k = 0; k < c; k++)
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++)
            memcpy(&acc[k][w], sum + (size_t)k * stride + j + 4 * w, bytes);
    for (size_t i = 0; i < n; i++) {
        D4 h[2];
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++)
            h[w] =
                keep(count < 4 ? load_rest(x[i] + j, count) : load_d(x[i] + j + 4 * w));
#pragma GCC unroll 6
        for (int k = 0; k < c; k++) {
            D4 s = spread4(q[i * pitch + (size_t)k]);
#pragma GCC unroll 2
            for (int w = 0; w < wide; w++) acc[k][w] = fma_d(s, h[w], acc[k][w]);
        }
    }
#pragma GCC unroll 6
    for (int k = 0; k < c; k++)
#pragma GCC unroll 2
        for (int w = 0; w < wide; w++)
            memcpy(sum + (size_t)k * stride + j + 4 * w, &acc[k][w], bytes);
}

INLINE void add_some(const T *const *x, size_t n, const double *q, size_t pitch, size_t j,
                     size_t count, double *sum, size_t stride, size_t c, const int wide) {
    switch (c) {
    case 1:
        add_tile(x, n, q, pitch, j, count, sum, stride, 1, wide);
        break;
    case 2:
        add_tile(x, n, q, pitch, j, count, sum, stride, 2, wide);
        break;
    case 3:
        add_tile(x, n, q, pitch, j, count, sum, stride, 3, wide);
        break;
    case 4:
        add_tile(x, n, q, pitch, j, count, sum, stride, 4, wide);
        break;
    case 5:
        add_tile(x, n, q, pitch, j, count, sum, stride, 5, wide);
        break;
    default:
        add_tile(x, n, q, pitch, j, count, sum, stride, 6, wide);
    }
}

/* Adds n rows to all columns of c <= CLASSES classes. The rows are in cache and are read
 * again for every tile. */
static void add_rows(const T *const *x, size_t n, size_t d, const double *q, size_t c,
                     double *sum, size_t stride) {
    size_t tiles = (c + TALL - 1) / TALL;
    for (size_t j = 0, wide; j < d; j += wide) {
        size_t rest = d - j;
        wide = rest >= 8 ? 8 : rest >= 4 ? 4 : rest;
        for (size_t k = 0, tile = 0, tall; tile < tiles; k += tall, tile++) {
            tall = (c - k + tiles - tile - 1) / (tiles - tile);
            if (wide == 8)
                add_some(x, n, q + k, c, j, 8, sum + k * stride, stride, tall, 2);
            else if (wide == 4)
                add_some(x, n, q + k, c, j, 4, sum + k * stride, stride, tall, 1);
            else
                add_some(x, n, q + k, c, j, wide, sum + k * stride, stride, tall, 1);
        }
    }
}

/* total_k = sum of s_i a_ik over n rows, for 4 * wide classes. */
INLINE void add_weights(const double *a, size_t lda, const double *s, size_t n,
                        double *total, const int wide) {
    D4 t[CLASSES / 4] = {{0}};
    for (size_t i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int w = 0; w < wide; w++)
            t[w] = fma_d(spread4(s[i]), load_d4(a + i * lda + 4 * w), t[w]);
    memcpy(total, t, sizeof(D4) * (size_t)wide);
}

/* Adds the column of a constant: sum_k += constant * sum of s_i a_ik, c <= CLASSES. */
static void add_constant(const double *a, size_t lda, size_t c, const double *s, size_t n,
                         double constant, double *sum, size_t stride) {
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
    for (size_t k = 0; k < c; k++) sum[k * stride] += constant * total[k];
}

void KERNEL(kron_add)(const void *const *rows, size_t n, size_t d, const double *a,
                      size_t c, const double *s, double constant, double *sum,
                      size_t stride) {
    const T *const *x = (const T *const *)rows;
    double q[BATCH * CLASSES];
    for (size_t k = 0; constant != 0 && k < c; k += CLASSES)
        add_constant(a + k, c, c - k < CLASSES ? c - k : CLASSES, s, n, constant,
                     sum + k * stride + d, stride);
    for (size_t first = 0, batch; first < n; first += batch) {
        batch = n - first < BATCH ? n - first : BATCH;
        for (size_t k = 0, some; k < c; k += some) {
            some = c - k < CLASSES ? c - k : CLASSES;
            for (size_t i = 0; i < batch; i++) {
                if (k == 0)
                    fetch(x + first + i, 1, d); /* tiles read few columns at a time */
                for (size_t m = 0; m < some; m++)
                    q[i * some + m] = s[first + i] * a[(first + i) * c + k + m];
            }
            add_rows(x + first, batch, d, q, some, sum + k * stride, stride);
        }
    }
}
