/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise operations. Any layout works if all operands share it: padding is zero and
 * stays zero. out may be the same array as a or b.
 */
#ifndef SCANT_NN_POINTWISE_H
#define SCANT_NN_POINTWISE_H

#include "core/parfor.h"
#include "core/rng.h"
#include "nn/activation.h"

typedef enum nn_pointwise_op {
    NN_APPLY, /* out = act(a) */
    NN_SUM,   /* out = act(a + b) */
    NN_MASK,  /* out = b * act'(x), where a = act(x) */
    NN_SCALE, /* out = scale * a */
    /* Drops each number (sets it to 0) with probability rate and scales the others by
     * 1/(1 - rate); kept[i] is 0 for dropped numbers, else 1. Number i of a call uses
     * (rng, first + i). */
    NN_DROP,
    NN_DROP_BACK /* out = a / (1 - rate) where kept is 1, else 0 */
} nn_pointwise_op;

typedef struct nn_elements {
    nn_act act;
    float slope, scale, rate;
    const float *a, *b;
    float *out;
    unsigned char *kept;
    scant__rng rng;
    uint64_t first;
    size_t n;
} nn_elements;

void nn_pointwise(scant_ctx *ctx, nn_pointwise_op op, const nn_elements *elements);

/* Returns whether act can be used with NN_MASK: its derivative follows from its result
 * alone, and it maps 0 to 0. */
int nn_act_invertible(nn_act act);

#endif
