/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory-bound: one pass each, in blocks that fit in a thread's cache. This requires
 * loops without branches, because the signs of activations are unpredictable (branches
 * took five times as long): every choice is between two computed values, which compiles
 * to a blend.
 */
#include "nn/pointwise.h"

#include <math.h>

enum { BLOCK = 1 << 15 };

typedef struct job {
    nn_act act;
    float slope, by;
    const float *a, *b;
    float *out;
    unsigned char *kept;
    const unsigned char *keep;
    scant__rng rng;
    uint64_t first;
    size_t n;
} job;

static size_t begin(size_t block) { return block * BLOCK; }

static size_t end(const job *j, size_t block) {
    size_t last = (block + 1) * BLOCK;
    return last < j->n ? last : j->n;
}

static void run(scant_ctx *ctx, void (*fn)(void *, size_t), job *j) {
    scant__loop(ctx, (j->n + BLOCK - 1) / BLOCK, fn, j);
}

int nn_act_invertible(nn_act act) {
    return act == NN_ACT_RELU || act == NN_ACT_LEAKY || act == NN_ACT_RELU6 ||
           act == NN_ACT_TANH;
}

/* NaN stays NaN, so that the loss shows it; -inf becomes 0. */
static inline float relu(float x) { return x <= 0 ? 0 : x; }
static inline float relu6(float x) { return relu(x) > 6 ? 6 : relu(x); }
static inline float leaky(float x, float slope) {
    return (x < 0 ? 0 : x) + slope * (x < 0 ? x : 0);
}

static void apply_block(void *arg, size_t block) {
    const job *j = arg;
    const float *a = j->a;
    float *out = j->out, slope = j->slope;
    size_t from = begin(block), to = end(j, block);
    if (j->act == NN_ACT_TANH)
        for (size_t i = from; i < to; i++) out[i] = tanhf(a[i]);
    else if (j->act == NN_ACT_RELU6)
        for (size_t i = from; i < to; i++) out[i] = relu6(a[i]);
    else if (j->act == NN_ACT_LEAKY)
        for (size_t i = from; i < to; i++) out[i] = leaky(a[i], slope);
    else
        for (size_t i = from; i < to; i++) out[i] = relu(a[i]);
}

void nn_apply(scant_ctx *ctx, nn_act act, float slope, const float *in, float *out,
              size_t n) {
    run(ctx, apply_block,
        &(job){.act = act, .slope = slope, .a = in, .out = out, .n = n});
}

static void sum_block(void *arg, size_t block) {
    const job *j = arg;
    const float *a = j->a, *b = j->b;
    float *out = j->out;
    size_t from = begin(block), to = end(j, block);
    if (j->act == NN_ACT_RELU) {
        for (size_t i = from; i < to; i++) out[i] = relu(a[i] + b[i]);
        return;
    }
    for (size_t i = from; i < to; i++) out[i] = a[i] + b[i];
    if (j->act != NN_ACT_NONE)
        apply_block(
            &(job){.act = j->act, .slope = j->slope, .a = out, .out = out, .n = j->n},
            block);
}

void nn_sum(scant_ctx *ctx, nn_act act, float slope, const float *a, const float *b,
            float *out, size_t n) {
    run(ctx, sum_block,
        &(job){.act = act, .slope = slope, .a = a, .b = b, .out = out, .n = n});
}

static void mask_block(void *arg, size_t block) {
    const job *j = arg;
    const float *y = j->a, *d = j->b;
    float *out = j->out, slope = j->slope;
    size_t from = begin(block), to = end(j, block);
    if (j->act == NN_ACT_TANH)
        for (size_t i = from; i < to; i++) out[i] = d[i] * (1 - y[i] * y[i]);
    else if (j->act == NN_ACT_RELU6)
        for (size_t i = from; i < to; i++) {
            float g = d[i]; /* loaded unconditionally */
            g = y[i] > 0 ? g : 0;
            out[i] = y[i] < 6 ? g : 0;
        }
    else if (j->act == NN_ACT_LEAKY)
        for (size_t i = from; i < to; i++) {
            float g = d[i];
            out[i] = (y[i] > 0 ? g : 0) + slope * (y[i] > 0 ? 0 : g);
        }
    else
        for (size_t i = from; i < to; i++) {
            float g = d[i];
            out[i] = y[i] > 0 ? g : 0;
        }
}

void nn_mask(scant_ctx *ctx, nn_act act, float slope, const float *y, const float *d,
             float *out, size_t n) {
    run(ctx, mask_block,
        &(job){.act = act, .slope = slope, .a = y, .b = d, .out = out, .n = n});
}

static void scale_block(void *arg, size_t block) {
    const job *j = arg;
    for (size_t i = begin(block); i < end(j, block); i++) j->out[i] = j->by * j->a[i];
}

void nn_scale(scant_ctx *ctx, float by, const float *in, float *out, size_t n) {
    run(ctx, scale_block, &(job){.by = by, .a = in, .out = out, .n = n});
}

/* Two 32-bit draws per 64-bit number. */
static void drop_block(void *arg, size_t block) {
    const job *j = arg;
    uint32_t limit = (uint32_t)ldexp((double)j->slope, 32);
    for (size_t i = begin(block); i < end(j, block); i++) {
        uint64_t at = j->first + i, draw = scant__rng_u64(&j->rng, at / 2);
        j->kept[i] = (uint32_t)(at % 2 ? draw >> 32 : draw) >= limit;
        float a = j->a[i];
        j->out[i] = j->by * (j->kept[i] ? a : 0);
    }
}

void nn_drop(scant_ctx *ctx, const scant__rng *rng, uint64_t first, float rate,
             const float *in, float *out, unsigned char *kept, size_t n) {
    run(ctx, drop_block,
        &(job){.slope = rate,
               .by = 1 / (1 - rate),
               .a = in,
               .out = out,
               .kept = kept,
               .rng = *rng,
               .first = first,
               .n = n});
}

static void drop_back_block(void *arg, size_t block) {
    const job *j = arg;
    for (size_t i = begin(block); i < end(j, block); i++) {
        float a = j->a[i];
        j->out[i] = j->by * (j->keep[i] ? a : 0);
    }
}

void nn_drop_back(scant_ctx *ctx, float rate, const unsigned char *kept, const float *d,
                  float *out, size_t n) {
    run(ctx, drop_back_block,
        &(job){.by = 1 / (1 - rate), .keep = kept, .a = d, .out = out, .n = n});
}
