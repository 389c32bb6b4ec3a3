/* SPDX-License-Identifier: Apache-2.0
 *
 * Optimisers and schedules over flat vectors; layouts do not matter. As torch's SGD and
 * Adam compute: weight decay is added to the gradient, momentum starts at the first
 * gradient, Adam's moments are corrected for their start.
 */
#ifndef SCANT_NN_OPTIM_H
#define SCANT_NN_OPTIM_H

#include <stdbool.h>

#include "core/parfor.h"

typedef enum nn_optim_kind { NN_SGD, NN_ADAM } nn_optim_kind;

typedef struct nn_optim_opts {
    nn_optim_kind kind;
    double momentum; /* of Adam beta1 */
    double beta2;    /* 0: 0.999 */
    double epsilon;  /* 0: 1e-8 */
    bool nesterov;
    double weight_decay;
    double clip; /* the gradient's norm at most; 0: any */
} nn_optim_opts;

typedef struct nn_span {
    size_t from, to;
} nn_span;

/* One step, the step-th (from 1), of n weights w by gradient g. m (momentum; NULL: none)
 * and v (Adam's squares) are zero before the first. Weights in decays (in order, apart)
 * decay. The norm is summed in double, in an order that does not hang on threads. */
void nn_optim_step(const scant_ctx *ctx, const nn_optim_opts *opts, size_t step,
                   double lr, size_t n, float *w, const float *g, float *m, float *v,
                   const nn_span *decays, size_t n_decays);

/* average = decay * average + (1 - decay) * w */
void nn_optim_average(const scant_ctx *ctx, double decay, size_t n, const float *w,
                      float *average);

/* Each takes the other's numbers. */
void nn_optim_swap(const scant_ctx *ctx, size_t n, float *a, float *b);

/* What the learning rate is multiplied by at a step (from 0) of total: 1; half a cosine
 * down to 0; 1, then 0.1 from half of the way and 0.01 from three quarters; cos(7 pi k /
 * (16 K)) as FixMatch has it; 1, then 0.2 for the last fifth. Over the first warmup steps
 * it grows to that in a line. */
typedef enum nn_schedule_kind {
    NN_CONSTANT,
    NN_COSINE,
    NN_STEPS,
    NN_FIXMATCH,
    NN_LATE
} nn_schedule_kind;

bool nn_schedule_find(const char *name, nn_schedule_kind *out);
double nn_schedule(nn_schedule_kind kind, size_t step, size_t total, size_t warmup);

#endif
