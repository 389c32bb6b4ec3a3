/* SPDX-License-Identifier: Apache-2.0
 *
 * Every operation is memory-bound: one pass over its operands, in blocks that fit in a
 * thread's cache. Loops have no branches, because the signs of activations are
 * unpredictable (branches took five times as long): every choice is between two computed
 * values, which compiles to a blend.
 */
#include "nn/pointwise.h"

#include <math.h>

enum { BLOCK = 1 << 15 };

static size_t begin(size_t block) { return block * BLOCK; }

static size_t end(const nn_elements *j, size_t block) {
    size_t last = (block + 1) * BLOCK;
    return last < j->n ? last : j->n;
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
    const nn_elements *j = arg;
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

static void sum_block(void *arg, size_t block) {
    const nn_elements *j = arg;
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
            &(nn_elements){
                .act = j->act, .slope = j->slope, .a = out, .out = out, .n = j->n},
            block);
}

static void mask_block(void *arg, size_t block) {
    const nn_elements *j = arg;
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

static void scale_block(void *arg, size_t block) {
    const nn_elements *j = arg;
    for (size_t i = begin(block); i < end(j, block); i++) j->out[i] = j->scale * j->a[i];
}

/* A 64-bit random number decides two elements, 32 bits each. */
static void drop_block(void *arg, size_t block) {
    const nn_elements *j = arg;
    uint32_t limit = (uint32_t)ldexp((double)j->rate, 32);
    float by = 1 / (1 - j->rate);
    for (size_t i = begin(block); i < end(j, block); i++) {
        uint64_t at = j->first + i, draw = scant__rng_u64(&j->rng, at / 2);
        j->kept[i] = (uint32_t)(at % 2 ? draw >> 32 : draw) >= limit;
        float a = j->a[i];
        j->out[i] = by * (j->kept[i] ? a : 0);
    }
}

static void drop_back_block(void *arg, size_t block) {
    const nn_elements *j = arg;
    float by = 1 / (1 - j->rate);
    for (size_t i = begin(block); i < end(j, block); i++) {
        float a = j->a[i];
        j->out[i] = by * (j->kept[i] ? a : 0);
    }
}

void nn_pointwise(scant_ctx *ctx, nn_pointwise_op op, const nn_elements *elements) {
    static void (*const blocks[])(void *, size_t) = {
        [NN_APPLY] = apply_block, [NN_SUM] = sum_block,
        [NN_MASK] = mask_block,   [NN_SCALE] = scale_block,
        [NN_DROP] = drop_block,   [NN_DROP_BACK] = drop_back_block};
    nn_elements job = *elements;
    scant__loop(ctx, (job.n + BLOCK - 1) / BLOCK, blocks[op], &job);
}
