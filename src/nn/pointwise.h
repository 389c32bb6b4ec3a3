/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise operations. Any layout works if all operands share it: padding is zero and
 * stays zero. in and out may be the same.
 */
#ifndef SCANT_NN_POINTWISE_H
#define SCANT_NN_POINTWISE_H

#include "core/parfor.h"
#include "core/rng.h"
#include "nn/activation.h"

/* Whether the derivative follows from the result alone and 0 maps to 0, as required
 * below. */
int nn_act_invertible(nn_act act);

void nn_apply(scant_ctx *ctx, nn_act act, float slope, const float *in, float *out,
              size_t n);
/* out = act(a + b) */
void nn_sum(scant_ctx *ctx, nn_act act, float slope, const float *a, const float *b,
            float *out, size_t n);
/* out = d * act'(.), y = the activation's result */
void nn_mask(scant_ctx *ctx, nn_act act, float slope, const float *y, const float *d,
             float *out, size_t n);
void nn_scale(scant_ctx *ctx, float by, const float *in, float *out, size_t n);
/* Drops each number with probability rate and scales the rest by 1/(1 - rate); kept[i] is
 * 1 if it stays. Number i of a call uses (rng, first + i). */
void nn_drop(scant_ctx *ctx, const scant__rng *rng, uint64_t first, float rate,
             const float *in, float *out, unsigned char *kept, size_t n);
void nn_drop_back(scant_ctx *ctx, float rate, const unsigned char *kept, const float *d,
                  float *out, size_t n);

#endif
