/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions of planes of vectors: forward and weight gradients. The input gradient is
 * a forward convolution of the output's gradient with the flipped kernel.
 *
 * Both keep a tile of sums in 12 of the 16 registers: some output channels times some
 * columns or taps. That is enough independent chains to hide the latency of a
 * multiply-add, with few loads. Each sum is one chain in the order of taps (or items), so
 * results do not depend on the tile.
 */
#include "nn/kernels/lane.h"

#include <math.h>

enum {
    MOST_CHANNELS = NN_GROUP,
    MOST_WIDE = 6,   /* maximum columns or taps per tile */
    NEAR = 20 << 10, /* weight gradients: bytes of a band of rows, within the L1 cache */
    ITEM = sizeof(V)
};

/* Each tile shape is compiled separately: X(channels, columns or taps). Strided operands
 * are rare and have few shapes. Without AVX2 a vector takes two registers, so tiles are
 * small. */
#ifdef __AVX2__
static const size_t widest[MOST_CHANNELS + 1] = {0, 4, 6, 4, 3};
#define ONE(X) X(1, 1) X(1, 2) X(1, 3) X(1, 4)
#define TWO(X) X(2, 1) X(2, 2) X(2, 3) X(2, 4) X(2, 5) X(2, 6)
#define THREE(X) X(3, 1) X(3, 2) X(3, 3) X(3, 4)
#define SHAPES(X) ONE(X) TWO(X) THREE(X) X(4, 1) X(4, 2) X(4, 3)
#define APART(X) X(1, 1) X(1, 4) X(2, 1) X(2, 6) X(3, 1) X(3, 4) X(4, 1) X(4, 3)
#else
static const size_t widest[MOST_CHANNELS + 1] = {0, 3, 2, 1, 1};
#define SHAPES(X) X(1, 1) X(1, 2) X(1, 3) X(2, 1) X(2, 2) X(3, 1) X(4, 1)
#define APART(X) X(1, 1) X(1, 3) X(2, 1) X(2, 2) X(3, 1) X(4, 1)
#endif

/* The size of the next tile of `rest` columns or taps: evenly distributed, or (strided)
 * one of the two sizes available. */
static size_t tile_size(size_t rest, size_t ch, bool dense) {
    size_t most = widest[ch], tiles = (rest + most - 1) / most;
    if (dense) return (rest + tiles - 1) / tiles;
    return rest >= most ? most : 1;
}

/* ---- forward pass ----------------------------------------------------------------- */

typedef struct window {
    const float *x, *w; /* input and weights at the first tap, for the first column */
    size_t rows, cols;  /* size in taps */
    float *y;
    const float *bias;
} window;

/* The next item. The asm hides it from gcc, which would otherwise keep inputs shared by
 * neighbouring taps in registers and spill sums (a third of the speed). */
INLINE const float *next(const float *x) {
    x += LANES;
    __asm__("" : "+r"(x));
    return x;
}

INLINE void conv_tap(V acc[MOST_CHANNELS][MOST_WIDE], const float *x, size_t step,
                     const float *w, const int ch, const int wide) {
    V held[MOST_CHANNELS];
    if (ch > wide) {
#pragma GCC unroll 4
        for (int p = 0; p < wide; p++) held[p] = load_once(x + (size_t)p * step);
#pragma GCC unroll 4
        for (int o = 0; o < ch; o++) {
            V wv = keep(spread(w[o]));
#pragma GCC unroll 4
            for (int p = 0; p < wide; p++) acc[o][p] = fma_v(wv, held[p], acc[o][p]);
        }
        return;
    }
#pragma GCC unroll 4
    for (int o = 0; o < ch; o++) held[o] = keep(spread(w[o]));
#pragma GCC unroll 8
    for (int p = 0; p < wide; p++) {
        V xv = ch == 1 ? load(x + (size_t)p * step) : load_once(x + (size_t)p * step);
#pragma GCC unroll 4
        for (int o = 0; o < ch; o++) acc[o][p] = fma_v(held[o], xv, acc[o][p]);
    }
}

INLINE void conv_tile(const nn_conv *c, const window *t, size_t step, const int ch,
                      const int wide) {
    V acc[MOST_CHANNELS][MOST_WIDE];
    const size_t taps_row = c->kernel[1] * (size_t)ch, x_row = c->x.row;
    const float *x_plane = t->x, *w_plane = t->w;
#pragma GCC unroll 4
    for (int o = 0; o < ch; o++)
#pragma GCC unroll 8
        for (int p = 0; p < wide; p++) acc[o][p] = spread(t->bias ? t->bias[o] : 0);
    for (size_t i = 0; i < c->ic; i++) {
        const float *x_at = x_plane, *w_at = w_plane;
        for (size_t r = 0; r < t->rows; r++, x_at += x_row, w_at += taps_row) {
            const float *x = x_at, *w = w_at, *end = w_at + t->cols * (size_t)ch;
            for (; w != end; x = next(x), w += ch) conv_tap(acc, x, step, w, ch, wide);
        }
        x_plane += c->x.plane;
        w_plane += c->kernel[0] * taps_row;
    }
    /* relu; if one operand is NaN, the second is the result */
    const V least = spread(c->act == NN_ACT_RELU ? 0 : -INFINITY);
#pragma GCC unroll 4
    for (int o = 0; o < ch; o++)
#pragma GCC unroll 8
        for (int p = 0; p < wide; p++)
            store(t->y + (size_t)o * c->y.plane + (size_t)p * LANES,
                  max_v(least, acc[o][p]));
}

#define CASE(channels, columns)                                                          \
    case 10 * (channels) + (columns):                                                    \
        conv_tile(c, t, step, channels, columns);                                        \
        break;

static void conv_dense(const nn_conv *c, const window *t, size_t ch, size_t wide) {
    const size_t step = LANES;
    switch (10 * ch + wide) { SHAPES(CASE) }
}

static void conv_apart(const nn_conv *c, const window *t, size_t ch, size_t wide) {
    const size_t step = c->stride[1] * LANES;
    switch (10 * ch + wide) { APART(CASE) }
}

/* Applies activations that a tile does not compute itself. */
static void act_rows(const nn_conv *c, size_t o, size_t ch, size_t row) {
    V slope = spread(c->slope);
    for (size_t k = 0; k < ch; k++) {
        float *y = c->y.at + (o + k) * c->y.plane + row * c->y.row;
        for (size_t x = 0; x < c->ow; x++)
            store(y + x * LANES, act_v(load(y + x * LANES), c->act, slope));
    }
}

/* The taps first..end-1 of a kernel that read an input 0..size-1 for at least one output.
 * The first output's window begins at `begin`, the last's at begin + further. */
typedef struct taps {
    size_t first, end;
} taps;

static taps clip(ptrdiff_t begin, size_t further, size_t size, size_t kernel) {
    ptrdiff_t first = -(begin + (ptrdiff_t)further), end = (ptrdiff_t)size - begin;
    taps t = {first > 0 ? (size_t)first : 0, end > 0 ? (size_t)end : 0};
    if (t.end > kernel) t.end = kernel;
    if (t.first > t.end) t.first = t.end;
    return t;
}

/* Computes one row of ch output channels. */
static void conv_row(const nn_conv *c, size_t o, size_t ch, size_t row) {
    const float *w = c->w + o * c->ic * c->kernel[0] * c->kernel[1];
    ptrdiff_t top = (ptrdiff_t)(row * c->stride[0]) - c->lead[0];
    taps down = clip(top, 0, c->ih, c->kernel[0]);
    bool dense = c->stride[1] == 1;
    for (size_t at = 0, wide; at < c->ow; at += wide) {
        wide = tile_size(c->ow - at, ch, dense);
        ptrdiff_t left = (ptrdiff_t)(at * c->stride[1]) - c->lead[1];
        taps across = clip(left, (wide - 1) * c->stride[1], c->iw, c->kernel[1]);
        window t = {.rows = down.end - down.first,
                    .cols = across.end - across.first,
                    .y = c->y.at + o * c->y.plane + row * c->y.row + at * LANES,
                    .bias = c->bias ? c->bias + o : NULL,
                    .x = c->x.at,
                    .w = w + (down.first * c->kernel[1] + across.first) * ch};
        if (t.rows && t.cols)
            t.x += (top + (ptrdiff_t)down.first) * (ptrdiff_t)c->x.row +
                   (left + (ptrdiff_t)across.first) * (ptrdiff_t)LANES;
        (dense ? conv_dense : conv_apart)(c, &t, ch, wide);
    }
    if (c->act > NN_ACT_RELU) act_rows(c, o, ch, row);
}

void NN_KERNEL(conv)(const nn_conv *c) {
    for (size_t o = 0, ch; o < c->oc; o += ch) {
        ch = nn_group_size(o, c->oc);
        for (size_t row = 0; row < c->oh; row++) conv_row(c, o, ch, row);
    }
}

/* ---- weight gradients ------------------------------------------------------------- */

typedef struct span { /* rows of items that a tile sums over */
    size_t row, rows;
    bool more; /* out already holds sums */
} span;

INLINE void wgrad_item(V acc[MOST_CHANNELS][MOST_WIDE], const float *const *g,
                       const float *const *x, size_t at_g, size_t at_x, const int ch,
                       const int wide) {
    V held[MOST_CHANNELS];
    if (ch > wide) {
#pragma GCC unroll 4
        for (int k = 0; k < wide; k++) held[k] = load_once(x[k] + at_x);
#pragma GCC unroll 4
        for (int o = 0; o < ch; o++) {
            V gv = load_once(g[o] + at_g);
#pragma GCC unroll 4
            for (int k = 0; k < wide; k++) acc[o][k] = fma_v(gv, held[k], acc[o][k]);
        }
        return;
    }
#pragma GCC unroll 4
    for (int o = 0; o < ch; o++) held[o] = load_once(g[o] + at_g);
#pragma GCC unroll 8
    for (int k = 0; k < wide; k++) {
        V xv = ch == 1 ? load(x[k] + at_x) : load_once(x[k] + at_x);
#pragma GCC unroll 4
        for (int o = 0; o < ch; o++) acc[o][k] = fma_v(held[o], xv, acc[o][k]);
    }
}

INLINE void wgrad_tile(const nn_wgrad *w, const span *s, size_t o, size_t tap,
                       size_t g_col, size_t x_col, const int ch, const int wide) {
    V acc[MOST_CHANNELS][MOST_WIDE] = {{{0}}};
    const float *g[MOST_CHANNELS], *x[MOST_WIDE];
    float *out = w->out + (o * w->taps + tap) * LANES;
#pragma GCC unroll 4
    for (int k = 0; k < ch; k++)
        g[k] = w->g.at + (o + (size_t)k) * w->g.plane + s->row * w->g.row;
#pragma GCC unroll 8
    for (int k = 0; k < wide; k++)
        x[k] = w->x.at + s->row * w->x.row + w->offset[tap + (size_t)k];
    if (s->more)
#pragma GCC unroll 4
        for (int a = 0; a < ch; a++)
#pragma GCC unroll 8
            for (int k = 0; k < wide; k++)
                acc[a][k] = load(out + ((size_t)a * w->taps + (size_t)k) * LANES);
    for (size_t r = 0; r < s->rows; r++) {
        size_t at_g = r * w->g.row, at_x = r * w->x.row, end = at_g + w->ow * g_col;
        for (; at_g != end; at_g += g_col, at_x += x_col)
            wgrad_item(acc, g, x, at_g, at_x, ch, wide);
    }
#pragma GCC unroll 4
    for (int a = 0; a < ch; a++)
#pragma GCC unroll 8
        for (int k = 0; k < wide; k++)
            store(out + ((size_t)a * w->taps + (size_t)k) * LANES, acc[a][k]);
}

#undef CASE
#define CASE(channels, taps_)                                                            \
    case 10 * (channels) + (taps_):                                                      \
        wgrad_tile(w, s, o, tap, g_col, x_col, channels, taps_);                         \
        break;

static void wgrad_dense(const nn_wgrad *w, const span *s, size_t o, size_t tap, size_t ch,
                        size_t wide) {
    const size_t g_col = LANES, x_col = LANES;
    switch (10 * ch + wide) { SHAPES(CASE) }
}

static void wgrad_apart(const nn_wgrad *w, const span *s, size_t o, size_t tap, size_t ch,
                        size_t wide) {
    const size_t g_col = w->g.col, x_col = w->x.col;
    switch (10 * ch + wide) { APART(CASE) }
}

/* Computes a group of channels, one band of rows at a time, so that the band's g and x
 * stay in the cache for all taps. */
static void wgrad_group(const nn_wgrad *w, size_t o, size_t ch) {
    bool dense = w->g.col == LANES && w->x.col == LANES;
    size_t band = NEAR / (w->ow * (ch + 1) * ITEM);
    size_t bands = band ? (w->oh + band - 1) / band : w->oh;
    for (span s = {0}; s.row < w->oh; s.row += s.rows, s.more = true, bands--) {
        s.rows = (w->oh - s.row + bands - 1) / bands;
        for (size_t tap = 0, wide; tap < w->taps; tap += wide) {
            wide = tile_size(w->taps - tap, ch, dense);
            (dense ? wgrad_dense : wgrad_apart)(w, &s, o, tap, ch, wide);
        }
    }
}

void NN_KERNEL(wgrad)(const nn_wgrad *w) {
    for (size_t o = 0, ch; o < w->oc; o += ch) {
        ch = nn_group_size(o, w->oc);
        wgrad_group(w, o, ch);
    }
}

void NN_KERNEL(plane_sums)(const nn_view *x, size_t c, size_t h, size_t w, float *out) {
    for (size_t p = 0; p < c; p++) {
        V sum[4] = {{0}};
        for (size_t r = 0; r < h; r++) {
            const float *row = x->at + p * x->plane + r * x->row;
            size_t i = 0;
            for (; i + 4 <= w; i += 4)
                for (size_t k = 0; k < 4; k++) sum[k] += load(row + (i + k) * x->col);
            for (; i < w; i++) sum[0] += load(row + i * x->col);
        }
        store(out + p * LANES, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}
