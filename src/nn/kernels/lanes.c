/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversion between rows of samples and lanes, and sums per lane and across lanes.
 */
#include "nn/kernels/lane.h"

#define SHUFFLE __builtin_shufflevector

/* Lane i of vector j becomes lane j of vector i. */
INLINE void transpose(V v[LANES]) {
    V a[LANES], b[LANES];
#pragma GCC unroll 4
    for (int i = 0; i < LANES; i += 2) {
        a[i] = SHUFFLE(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[i + 1] = SHUFFLE(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 2
    for (int i = 0; i < LANES; i += 4)
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            b[i + 2 * j] = SHUFFLE(a[i + j], a[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + 2 * j + 1] =
                SHUFFLE(a[i + j], a[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
#pragma GCC unroll 4
    for (int i = 0; i < LANES / 2; i++) {
        v[i] = SHUFFLE(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v[i + 4] = SHUFFLE(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

INLINE void pack_some(const float *from, size_t pitch, size_t lanes, size_t count,
                      float *to) {
    V v[LANES];
#pragma GCC unroll 8
    for (size_t i = 0; i < LANES; i++)
        v[i] = i >= lanes       ? spread(0)
               : count >= LANES ? load(from + i * pitch)
                                : load_tail(from + i * pitch, count);
    transpose(v);
    if (count >= LANES) {
#pragma GCC unroll 8
        for (size_t i = 0; i < LANES; i++) store(to + i * LANES, v[i]);
    } else {
        for (size_t i = 0; i < count; i++) store(to + i * LANES, v[i]);
    }
}

void NN_KERNEL(pack)(const float *rows, size_t lanes, size_t c, size_t h, size_t w,
                     const nn_view *y) {
    for (size_t p = 0; p < c; p++)
        for (size_t r = 0; r < h; r++) {
            const float *from = rows + (p * h + r) * w;
            float *to = y->at + p * y->plane + r * y->row;
            for (size_t i = 0; i < w; i += LANES)
                pack_some(from + i, c * h * w, lanes, w - i, to + i * LANES);
        }
}

void NN_KERNEL(unpack)(const nn_view *x, size_t lanes, size_t c, size_t h, size_t w,
                       float *rows) {
    for (size_t p = 0; p < c; p++)
        for (size_t r = 0; r < h; r++) {
            const float *from = x->at + p * x->plane + r * x->row;
            float *to = rows + (p * h + r) * w;
            for (size_t i = 0; i < w; i += LANES) {
                size_t count = w - i < LANES ? w - i : LANES;
                V v[LANES] = {{0}};
                for (size_t k = 0; k < count; k++) v[k] = load(from + (i + k) * LANES);
                transpose(v);
                for (size_t k = 0; k < lanes; k++)
                    memcpy(to + k * c * h * w + i, &v[k], count * sizeof(float));
            }
        }
}

void NN_KERNEL(lane_sums)(const float *x, size_t count, float *out) {
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        V v[LANES];
#pragma GCC unroll 8
        for (size_t k = 0; k < LANES; k++) v[k] = load(x + (i + k) * LANES);
        transpose(v);
        store(out + i, load(out + i) + (((v[0] + v[4]) + (v[2] + v[6])) +
                                        ((v[1] + v[5]) + (v[3] + v[7]))));
    }
    for (; i < count; i++) {
        const float *v = x + i * LANES;
        out[i] += ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
    }
}

void NN_KERNEL(lane_squares)(const float *x, size_t count, double *out) {
    D4 sum[2] = {{0}};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < 2; k++) {
            D4 v = load_d(x + i * LANES + 4 * k);
            sum[k] = fma_d(v, v, sum[k]);
        }
    for (size_t k = 0; k < LANES; k++) out[k] += sum[k / 4][k % 4];
}

void NN_KERNEL(lane_products)(const float *x, const float *v, size_t count, double *out) {
    D4 sum[2] = {{0}};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < 2; k++) {
            double a = (double)v[i];
            sum[k] = fma_d(load_d(x + i * LANES + 4 * k), (D4){a, a, a, a}, sum[k]);
        }
    for (size_t k = 0; k < LANES; k++) out[k] += sum[k / 4][k % 4];
}

void NN_KERNEL(add_parts)(const float *x, size_t parts, size_t pitch, size_t count,
                          float *out) {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        D4 sum = {0};
        for (size_t k = 0; k < parts; k++) sum += load_d(x + k * pitch + i);
        for (size_t k = 0; k < 4; k++) out[i + k] = (float)sum[k];
    }
    for (; i < count; i++) {
        double sum = 0;
        for (size_t k = 0; k < parts; k++) sum += (double)x[k * pitch + i];
        out[i] = (float)sum;
    }
}
