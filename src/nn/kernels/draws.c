/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions of many posterior draws of a network's last layer: a draw is a lane.
 *
 * The product of a sample with a column of weights is one chain of multiply-adds over the
 * features, independent of tiling: equal samples give equal bits, which BLAS does not
 * guarantee. Tiles of four samples and three vectors of columns fill the registers, so
 * the speed is limited by multiply-adds.
 */
#include "nn/kernels/lane.h"

enum { TILE = 4, VECTORS = NN_PANEL / LANES };

/* Rows of h times one panel w (d, vectors * 8); rows of z are `stride` floats apart. */
INLINE void tile(const float *h, size_t d, const float *w, float *z, size_t stride,
                 int rows, int vectors) {
    V sum[TILE][VECTORS];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) sum[r][v] = spread(0);
    for (size_t j = 0; j < d; j++, w += vectors * LANES) {
        V x[VECTORS];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) x[v] = load_once(w + v * LANES);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            V a = spread(h[(size_t)r * d + j]);
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++) sum[r][v] = fma_v(a, x[v], sum[r][v]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            store(z + (size_t)r * stride + v * LANES, sum[r][v]);
}

INLINE void panel(const float *h, size_t n, size_t d, const float *w, float *z,
                  size_t stride, int vectors) {
    for (; n >= TILE; n -= TILE, h += TILE * d, z += TILE * stride)
        tile(h, d, w, z, stride, TILE, vectors);
    for (; n; n--, h += d, z += stride) tile(h, d, w, z, stride, 1, vectors);
}

void NN_KERNEL(panels)(const float *h, size_t n, size_t d, const float *w, size_t columns,
                       float *z) {
    for (size_t at = 0; at < columns; at += NN_PANEL) {
        size_t vectors = (columns - at) / LANES;
        if (vectors >= 3)
            panel(h, n, d, w + at * d, z + at, columns, 3);
        else if (vectors == 2)
            panel(h, n, d, w + at * d, z + at, columns, 2);
        else
            panel(h, n, d, w + at * d, z + at, columns, 1);
    }
}

_Static_assert(NN_DRAWS_MOST % LANES == 0, "draws come in whole vectors");

/* exp(x) for x <= 0, to 3 ulp; below -87 it is exp(-87), 1.6e-38. NaN stays NaN. */
INLINE V exp_v(V x) {
    const V magic = spread(12582912.0f); /* 1.5 * 2^23: adding it rounds */
    x = choose(x < spread(-87), spread(-87), x);
    V whole = fma_v(x, spread(1.44269504f), magic);
    VI power = ((VI)whole - (VI)magic + 127) << 23;
    whole = whole - magic;
    V f = fma_v(whole, spread(-0.693145752f), x); /* ln 2 in two parts: the first is */
    f = fma_v(whole, spread(-1.42860682e-6f), f); /* short, so its products are exact */
    V e = spread(1 / 5040.0f);
    e = fma_v(e, f, spread(1 / 720.0f));
    e = fma_v(e, f, spread(1 / 120.0f));
    e = fma_v(e, f, spread(1 / 24.0f));
    e = fma_v(e, f, spread(1 / 6.0f));
    e = fma_v(e, f, spread(0.5f));
    e = fma_v(e, f, spread(1));
    e = fma_v(e, f, spread(1));
    return e * (V)power;
}

/* Replaces logits of one vector of draws by exponentials; returns 1 over their sum. */
INLINE V exponentials(float *z, size_t c, size_t draws, const float *bias) {
    V top = spread(-3.4028235e38f), sum = spread(0);
    for (size_t k = 0; k < c; k++) {
        V x = load(z + k * draws) + spread(bias[k]);
        store(z + k * draws, x);
        top = choose(x > top, x, top);
    }
    for (size_t k = 0; k < c; k++) {
        V e = exp_v(load(z + k * draws) - top);
        store(z + k * draws, e);
        sum += e;
    }
    return spread(1) / sum;
}

void NN_KERNEL(draws)(float *z, size_t c, size_t draws, size_t live, const float *bias,
                      double *sums) {
    V by[NN_DRAWS_MOST / LANES];
    size_t vectors = draws / LANES;
    for (size_t v = 0; v < vectors; v++) {
        by[v] = exponentials(z + v * LANES, c, draws, bias);
        for (size_t i = 0; i < LANES; i++)
            if (v * LANES + i >= live) by[v][i] = 0;
    }
    for (size_t k = 0; k < c; k++) {
        V sum = spread(0);
        for (size_t v = 0; v < vectors; v++) {
            V p = load(z + k * draws + v * LANES) * by[v];
            store(z + k * draws + v * LANES, p);
            sum += p;
        }
        sums[k] += sum4(fold(sum));
    }
}
