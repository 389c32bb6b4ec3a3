/* SPDX-License-Identifier: Apache-2.0
 *
 * A job is a slice of the batch and a group of output channels. It processes its samples
 * in strips: rows of the output that fit in the L1 cache with the inputs they need from
 * one block of input channels. For each kernel tap it sums over the pixels inside the
 * input (kernels/strip.c) and skips padding. The number of slices does not depend on the
 * thread count; each has its own gradients, which are summed in order.
 */
#include "nn/conv_strips.h"

#include <string.h>

#include "core/parfor.h"
#include "nn/conv_taps.h"
#include "nn/kernels.h"

enum {
    EIGHT = NN_LANES,
    CHANNELS = 32,   /* output channels per job */
    FEW_PIXELS = 16, /* planes of at most this many pixels: conv_taps.h is faster */
    JOBS = 32,
    NEAR = 24 << 10, /* bytes per strip (outputs and inputs): fits the L1 cache */
    SUMMED = 4096    /* floats per summing task */
};

typedef struct strips {
    const nn_node *node;
    nn_shape in, out;
    size_t n;       /* batch size */
    size_t slices;  /* batch slices */
    size_t groups;  /* groups of output channels */
    size_t rows;    /* output rows per strip */
    size_t weights; /* number of weights */
    const float *x, *d;
    float *parts; /* per slice: weight gradients, then bias gradients */
    float *dw, *db;
    const nn_kernels *kernels;
} strips;

static size_t taps_of(const nn_node *node) { return node->kernel[0] * node->kernel[1]; }

bool nn_strips_faster(const nn_node *node) {
    return node->kind == NN_CONV && node->groups == 1 && node->in_shape.c % EIGHT == 0 &&
           node->shape.c % (2 * EIGHT) == 0 && taps_of(node) > 1 &&
           node->shape.h * node->shape.w > FEW_PIXELS &&
           nn_kernels_best() != nn_kernels_plain();
}

/* Output rows per strip: as many as fit in the cache, distributed evenly. */
static size_t strip_rows(const nn_node *node, nn_shape in) {
    size_t rows = NEAR / sizeof(float) /
                  (node->shape.w * CHANNELS + node->stride[0] * in.w * EIGHT);
    rows = size_min(size_max(rows, 1), node->shape.h);
    size_t count = (node->shape.h + rows - 1) / rows;
    return (node->shape.h + count - 1) / count;
}

static size_t weights_of(const nn_node *node) {
    return node->in_shape.c * node->shape.c * taps_of(node);
}

static size_t groups_of(const nn_node *node) {
    return (node->shape.c + CHANNELS - 1) / CHANNELS;
}

/* Slices of the batch: enough for a few dozen threads. The gradients of all slices take
 * about JOBS * CHANNELS floats per tap and input channel. */
static size_t most_slices(const nn_node *node) {
    return size_max(1, JOBS / groups_of(node));
}

size_t nn_strips_scratch(const nn_node *node) {
    return most_slices(node) * (weights_of(node) + node->shape.c) * sizeof(float);
}

static float *part_of(const strips *t, size_t slice) {
    return t->parts + slice * (t->weights + t->out.c);
}

/* The strip that a job processes. */
typedef struct place {
    size_t sample, channel; /* first output channel */
    size_t first, last;     /* output rows first..last-1 */
    float *dw, *db;         /* gradients of the job's output channels */
} place;

/* Adds the contribution of one block of input channels at one tap. */
static void tap_strip(const strips *t, const place *at, nn_strip *s, size_t block,
                      size_t tap) {
    const nn_node *v = t->node;
    size_t ky = tap / v->kernel[1], kx = tap % v->kernel[1], blocks = t->in.c / EIGHT;
    size_t y0 = at->first, y1 = at->last, x0 = 0, x1 = t->out.w;
    nn_tap_inside(t->in.h, ky, v->stride[0], v->pad[0], &y0, &y1);
    nn_tap_inside(t->in.w, kx, v->stride[1], v->pad[1], &x0, &x1);
    if (y0 >= y1 || x0 >= x1) return;
    size_t row = y0 * v->stride[0] + ky - v->pad[0];
    size_t col = x0 * v->stride[1] + kx - v->pad[1];
    size_t plane = (at->sample * blocks + block) * t->in.h;
    s->rows = y1 - y0;
    s->cols = x1 - x0;
    s->x = t->x + ((plane + row) * t->in.w + col) * EIGHT;
    plane = (at->sample * t->out.c + at->channel) / EIGHT * t->out.h;
    s->d = t->d + ((plane + y0) * t->out.w + x0) * EIGHT;
    s->dw = at->dw + (block * taps_of(v) + tap) * EIGHT * EIGHT;
    t->kernels->strip(s);
}

/* Adds a strip's pixels to its channels' bias gradients. */
static void bias_strip(const strips *t, const place *at, size_t vectors) {
    size_t plane = t->out.h * t->out.w * EIGHT, row = t->out.w * EIGHT;
    const float *d = t->d + (at->sample * t->out.c + at->channel) / EIGHT * plane;
    for (size_t v = 0; v < vectors; v++, d += plane) {
        float sum[EIGHT] = {0};
        for (size_t i = at->first * row; i < at->last * row; i += EIGHT)
            for (size_t k = 0; k < EIGHT; k++) sum[k] += d[i + k];
        for (size_t k = 0; k < EIGHT; k++) at->db[v * EIGHT + k] += sum[k];
    }
}

static void one_strip(const strips *t, const place *at, nn_strip *s) {
    for (size_t block = 0; block < t->in.c / EIGHT; block++)
        for (size_t tap = 0; tap < taps_of(t->node); tap++)
            tap_strip(t, at, s, block, tap);
    if (t->db) bias_strip(t, at, s->vectors);
}

static scant_status job(void *arg, size_t block, unsigned worker, scant__fault *fault) {
    const strips *t = arg;
    const nn_node *v = t->node;
    size_t slice = block / t->groups, channel = block % t->groups * CHANNELS;
    size_t each = t->weights / t->out.c; /* weights per output channel */
    float *part = part_of(t, slice);
    nn_strip s = {.vectors = size_min(CHANNELS, t->out.c - channel) / EIGHT,
                  .x_row = v->stride[0] * t->in.w * EIGHT,
                  .x_col = v->stride[1] * EIGHT,
                  .d_row = t->out.w * EIGHT,
                  .d_block = t->out.h * t->out.w * EIGHT,
                  .dw_block = each * EIGHT};
    place at = {.channel = channel,
                .dw = part + channel * each,
                .db = part + t->weights + channel};
    (void)worker, (void)fault;
    memset(at.dw, 0, s.vectors * EIGHT * each * sizeof *at.dw);
    memset(at.db, 0, s.vectors * EIGHT * sizeof *at.db);
    size_t end = t->n * (slice + 1) / t->slices;
    for (at.sample = t->n * slice / t->slices; at.sample < end; at.sample++)
        for (at.first = 0; at.first < t->out.h; at.first = at.last) {
            at.last = size_min(at.first + t->rows, t->out.h);
            one_strip(t, &at, &s);
        }
    return SCANT_OK;
}

static void sum_parts(void *arg, size_t block) {
    const strips *t = arg;
    size_t from = block * SUMMED, count = size_min(SUMMED, t->weights - from);
    t->kernels->add_parts(t->parts + from, t->slices, t->weights + t->out.c, count,
                          t->dw + from);
}

scant_status nn_strips_weights(scant_ctx *ctx, const nn_node *node, size_t n,
                               const float *x, const float *d, float *dw, float *db,
                               void *scratch) {
    strips t = {.node = node,
                .in = node->in_shape,
                .out = node->shape,
                .n = n,
                .slices = size_min(n, most_slices(node)),
                .groups = groups_of(node),
                .weights = weights_of(node),
                .x = x,
                .d = d,
                .parts = scratch,
                .dw = dw,
                .db = db,
                .kernels = nn_kernels_best()};
    t.rows = strip_rows(node, t.in);
    TRY(scant__parfor(ctx, NULL, t.slices * t.groups, job, &t));
    scant__loop(ctx, (t.weights + SUMMED - 1) / SUMMED, sum_parts, &t);
    if (db)
        t.kernels->add_parts(t.parts + t.weights, t.slices, t.weights + t.out.c, t.out.c,
                             db);
    return SCANT_OK;
}
