/* SPDX-License-Identifier: Apache-2.0
 *
 * Weight gradients of one tap over a strip of pixels, channels in blocks of eight.
 *
 * A tile of sums, vectors of output channels times input channels, stays in registers
 * over all pixels. A tile of 4 x 3 has 12 sums for 7 loads per pixel, so multiply-adds
 * are the limit; the tiles of eight sums just hide the latency of a multiply-add. A
 * strip's sums start at zero and are then added to dw, which rounds less than one long
 * chain.
 */
#include "nn/kernels/lane.h"

enum { MOST = 4 };

INLINE void pixel(V acc[MOST][MOST], const float *d, size_t d_block, const float *x,
                  const int vectors, const int inputs) {
    V held[MOST];
    if (vectors > inputs) {
#pragma GCC unroll 4
        for (int i = 0; i < inputs; i++) held[i] = keep(spread(x[i]));
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            V dv = load_once(d + (size_t)v * d_block);
#pragma GCC unroll 4
            for (int i = 0; i < inputs; i++) acc[v][i] = fma_v(dv, held[i], acc[v][i]);
        }
        return;
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) held[v] = load_once(d + (size_t)v * d_block);
#pragma GCC unroll 4
    for (int i = 0; i < inputs; i++) {
        V xv = keep(spread(x[i]));
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) acc[v][i] = fma_v(held[v], xv, acc[v][i]);
    }
}

/* Computes input channels first..first+inputs-1. */
INLINE void tile(const nn_strip *s, size_t first, const int vectors, const int inputs) {
    V acc[MOST][MOST];
    const size_t d_block = s->d_block, step = s->x_col;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
#pragma GCC unroll 4
        for (int i = 0; i < inputs; i++) acc[v][i] = spread(0);
    for (size_t r = 0; r < s->rows; r++) {
        const float *d = s->d + r * s->d_row, *x = s->x + r * s->x_row + first;
        const float *end = d + s->cols * LANES;
        for (; d != end; d += LANES, x += step)
            pixel(acc, d, d_block, x, vectors, inputs);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        float *dw = s->dw + (size_t)v * s->dw_block + first * LANES;
#pragma GCC unroll 4
        for (int i = 0; i < inputs; i++, dw += LANES) store(dw, load(dw) + acc[v][i]);
    }
}

void NN_KERNEL(strip)(const nn_strip *s) {
    if (s->vectors == 4) {
        tile(s, 0, 4, 3);
        tile(s, 3, 4, 3);
        tile(s, 6, 4, 2);
    } else {
        tile(s, 0, 2, 4);
        tile(s, 4, 2, 4);
    }
}
