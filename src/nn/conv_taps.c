/* SPDX-License-Identifier: Apache-2.0
 *
 * A job of the weight gradient is one kernel tap and a share of the input channels. It
 * gathers the input and output pixels that the tap connects, some samples at a time, and
 * adds their product. A job of the other passes is a slice of the batch with all taps.
 * Cost: the flops of the taps inside the input, at the speed of matrix products.
 */
#include "nn/conv_taps.h"

#include <string.h>

#include "core/blas.h"
#include "linalg/gemm_f32.h"

enum {
    ROWS = 1024,       /* weight gradient: pixels gathered at once */
    SHARE = 256,       /* weight gradient: input channels per job */
    SLICES = 8,        /* other passes: number of slices of the batch, within the next two
                        * limits */
    LEAST_ROWS = 64,   /* other passes: minimum pixels of a slice */
    MOST_ROWS = 512,   /* other passes: maximum pixels of a slice */
    FEW_PIXELS = 64,   /* maximum pixels of an output plane, for the weight gradient */
    FEWER_PIXELS = 16, /* maximum pixels of an output plane, for all passes */
    MANY_CHANNELS = 64, /* minimum input channels, and minimum output channels */
    COLUMNS = 64        /* bias gradient: channels summed at a time */
};

bool nn_taps_faster(const nn_node *node) {
    return node->kind == NN_CONV && node->groups == 1 &&
           node->shape.h * node->shape.w <= FEW_PIXELS &&
           node->in_shape.c >= MANY_CHANNELS && node->shape.c >= MANY_CHANNELS;
}

bool nn_taps_faster_all(const nn_node *node) {
    return nn_taps_faster(node) && node->shape.h * node->shape.w <= FEWER_PIXELS &&
           node->kernel[0] > 1 && node->kernel[1] > 1 && node->pad[0] && node->pad[1];
}

typedef struct taps {
    const nn_node *node;
    nn_shape in, out;
    size_t n;       /* batch size */
    size_t samples; /* weight gradient: gathered at a time; other passes: per slice */
    float *scratch;
    size_t room; /* floats per worker */
    /* weight gradient: */
    size_t shares; /* shares of the input channels */
    const float *x, *d;
    float *dw, *db;
    /* forward pass and data gradient: */
    bool data;
    const float *from, *w, *bias; /* from: x (forward) or d (data gradient) */
    float *to;                    /* y (forward) or dx (data gradient) */
} taps;

static size_t samples_at_once(const nn_node *node) {
    return size_max(1, ROWS / (node->shape.h * node->shape.w));
}

/* Floats per worker for nn_taps_weights(): gathered rows of both operands. */
static size_t room_of(const nn_node *node) {
    size_t rows = samples_at_once(node) * node->shape.h * node->shape.w;
    return rows * (SHARE + node->shape.c);
}

/* Floats per worker for nn_taps_apply(): a slice's gathered rows and their product. */
static size_t slice_room(const nn_node *node) {
    size_t pixels = size_max(1, node->shape.h * node->shape.w);
    return (MOST_ROWS + pixels) * (node->in_shape.c + node->shape.c);
}

size_t nn_taps_scratch(const nn_node *node, unsigned threads) {
    return threads * size_max(room_of(node), slice_room(node)) * sizeof(float);
}

/* Gathers the input and output pixels of samples from..to-1 that tap (ky, kx) connects;
 * returns the number of pairs. */
static size_t gather(const taps *t, size_t ky, size_t kx, size_t channel, size_t width,
                     size_t from, size_t to, float *x, float *d) {
    const nn_node *v = t->node;
    size_t y0 = 0, y1 = t->out.h, x0 = 0, x1 = t->out.w, rows = 0, oc = t->out.c;
    nn_tap_inside(t->in.h, ky, v->stride[0], v->pad[0], &y0, &y1);
    nn_tap_inside(t->in.w, kx, v->stride[1], v->pad[1], &x0, &x1);
    for (size_t n = from; n < to; n++)
        for (size_t r = y0; r < y1; r++)
            for (size_t c = x0; c < x1; c++, rows++) {
                size_t ir = r * v->stride[0] + ky - v->pad[0];
                size_t ic = c * v->stride[1] + kx - v->pad[1];
                size_t at = (n * t->in.h + ir) * t->in.w + ic;
                memcpy(x + rows * width, t->x + at * t->in.c + channel,
                       width * sizeof *x);
                at = (n * t->out.h + r) * t->out.w + c;
                memcpy(d + rows * oc, t->d + at * oc, oc * sizeof *d);
            }
    return rows;
}

static void bias(const taps *t) {
    size_t rows = t->n * t->out.h * t->out.w, oc = t->out.c;
    for (size_t c = 0; c < oc; c += COLUMNS) {
        size_t width = size_min(COLUMNS, oc - c);
        double sums[COLUMNS] = {0};
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < width; k++) sums[k] += (double)t->d[r * oc + c + k];
        for (size_t k = 0; k < width; k++) t->db[c + k] = (float)sums[k];
    }
}

static scant_status job(void *arg, size_t block, unsigned worker, scant__fault *fault) {
    const taps *t = arg;
    const nn_node *v = t->node;
    size_t tap = block / t->shares, channel = block % t->shares * SHARE;
    (void)fault;
    if (tap == v->kernel[0] * v->kernel[1]) { /* the last block: bias gradient */
        bias(t);
        return SCANT_OK;
    }
    size_t width = size_min(SHARE, t->in.c - channel), oc = t->out.c;
    float *out = t->dw + (tap * t->in.c + channel) * oc;
    float *d = t->scratch + worker * t->room;
    float *x = d + t->samples * t->out.h * t->out.w * oc;
    bool any = false;
    for (size_t from = 0; from < t->n; from += t->samples) {
        size_t rows = gather(t, tap / v->kernel[1], tap % v->kernel[1], channel, width,
                             from, size_min(from + t->samples, t->n), x, d);
        if (!rows) break; /* the tap lies in padding everywhere */
        if (any)
            la_stn_add(width, oc, rows, x, width, d, oc, out, oc);
        else
            la_stn(width, oc, rows, x, width, d, oc, out, oc);
        any = true;
    }
    if (!any) memset(out, 0, width * oc * sizeof *out);
    return SCANT_OK;
}

scant_status nn_taps_weights(scant_ctx *ctx, const nn_node *node, size_t n,
                             const float *x, const float *d, float *dw, float *db,
                             void *scratch) {
    taps t = {.node = node,
              .in = node->in_shape,
              .out = node->shape,
              .n = n,
              .samples = samples_at_once(node),
              .x = x,
              .d = d,
              .dw = dw,
              .db = db,
              .scratch = scratch,
              .room = room_of(node)};
    t.shares = (t.in.c + SHARE - 1) / SHARE;
    size_t blocks = node->kernel[0] * node->kernel[1] * t.shares + (db ? 1 : 0);
    return scant__blas_for(ctx, NULL, blocks, job, &t);
}

/* ---- forward pass and data gradient ---- */

/* Lists the input and output pixels of a sample that a tap connects; returns the
 * number of pairs. */
static size_t overlap(const taps *t, size_t tap, size_t *in, size_t *out) {
    const nn_node *v = t->node;
    size_t ky = tap / v->kernel[1], kx = tap % v->kernel[1], rows = 0;
    size_t y0 = 0, y1 = t->out.h, x0 = 0, x1 = t->out.w;
    nn_tap_inside(t->in.h, ky, v->stride[0], v->pad[0], &y0, &y1);
    nn_tap_inside(t->in.w, kx, v->stride[1], v->pad[1], &x0, &x1);
    for (size_t r = y0; r < y1; r++)
        for (size_t c = x0; c < x1; c++, rows++) {
            in[rows] = (r * v->stride[0] + ky - v->pad[0]) * t->in.w + c * v->stride[1] +
                       kx - v->pad[1];
            out[rows] = r * t->out.w + c;
        }
    return rows;
}

static void add_row(float *to, const float *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] += from[i];
}

/* One tap, samples first..last-1: gathers rows, multiplies, and adds to the outputs. */
static void slice_tap(const taps *t, size_t tap, size_t first, size_t last, float *a,
                      float *b) {
    size_t in[FEWER_PIXELS], out[FEWER_PIXELS], rows = overlap(t, tap, in, out);
    size_t ic = t->in.c, oc = t->out.c, all = rows * (last - first);
    size_t from_width = t->data ? oc : ic, to_width = t->data ? ic : oc;
    size_t from_plane = t->data ? t->out.h * t->out.w : t->in.h * t->in.w;
    size_t to_plane = t->data ? t->in.h * t->in.w : t->out.h * t->out.w;
    const size_t *from_at = t->data ? out : in, *to_at = t->data ? in : out;
    const float *w = t->w + tap * ic * oc;
    if (!all) return;
    for (size_t i = 0; i < all; i++)
        memcpy(a + i * from_width,
               t->from +
                   ((first + i / rows) * from_plane + from_at[i % rows]) * from_width,
               from_width * sizeof *a);
    if (t->data)
        la_snt(all, ic, oc, a, oc, w, oc, b, ic);
    else
        la_snn(all, oc, ic, a, ic, w, oc, b, oc);
    for (size_t i = 0; i < all; i++)
        add_row(t->to + ((first + i / rows) * to_plane + to_at[i % rows]) * to_width,
                b + i * to_width, to_width);
}

static scant_status slice(void *arg, size_t block, unsigned worker, scant__fault *fault) {
    const taps *t = arg;
    size_t first = block * t->samples, last = size_min(first + t->samples, t->n);
    size_t width = t->data ? t->in.c : t->out.c;
    size_t plane = t->data ? t->in.h * t->in.w : t->out.h * t->out.w;
    float *a = t->scratch + worker * t->room;
    float *b = a + t->room / (t->in.c + t->out.c) * (t->data ? t->out.c : t->in.c);
    (void)fault;
    for (size_t i = first * plane; i < last * plane; i++) {
        if (t->bias)
            memcpy(t->to + i * width, t->bias, width * sizeof *t->to);
        else
            memset(t->to + i * width, 0, width * sizeof *t->to);
    }
    for (size_t tap = 0; tap < t->node->kernel[0] * t->node->kernel[1]; tap++)
        slice_tap(t, tap, first, last, a, b);
    return SCANT_OK;
}

scant_status nn_taps_apply(scant_ctx *ctx, const nn_node *node, size_t n, bool data,
                           const float *from, const float *w, const float *bias_of,
                           float *to, void *scratch) {
    taps t = {.node = node,
              .in = node->in_shape,
              .out = node->shape,
              .n = n,
              .from = from,
              .w = w,
              .bias = bias_of,
              .to = to,
              .scratch = scratch,
              .room = slice_room(node),
              .data = data};
    size_t pixels = t.out.h * t.out.w, rows = n * pixels / SLICES;
    rows = size_min(size_max(rows, LEAST_ROWS), MOST_ROWS);
    t.samples = size_max(1, rows / pixels);
    return scant__blas_for(ctx, NULL, (n + t.samples - 1) / t.samples, slice, &t);
}
