/* SPDX-License-Identifier: Apache-2.0
 *
 * Optimisers and schedules over flat vectors in any layout, computed like torch's SGD and
 * Adam: weight decay is added to the gradient, momentum starts at the first gradient,
 * Adam's moments are bias-corrected.
 */
#ifndef SCANT_NN_OPTIM_H
#define SCANT_NN_OPTIM_H

#include <stdbool.h>

#include "core/parfor.h"

typedef enum nn_optim_kind { NN_SGD, NN_ADAM } nn_optim_kind;

typedef struct nn_optim_opts {
    nn_optim_kind kind;
    double momentum; /* SGD's momentum, or Adam's beta1 */
    double beta2;    /* 0 means 0.999 */
    double epsilon;  /* 0 means 1e-8 */
    bool nesterov;
    double weight_decay;
    double clip; /* maximum norm of the gradient; 0 or NaN: no limit */
} nn_optim_opts;

typedef struct nn_span {
    size_t from, to;
} nn_span;

/* Performs step number `step` (from 1) for n weights w with gradient g. m (momentum, or
 * NULL) and v (Adam's squares) are zero before the first step. Weight decay applies
 * to the spans in decays (ordered, disjoint). The gradient's norm is summed in double;
 * it does not depend on the thread count. */
void nn_optim_step(const scant_ctx *ctx, const nn_optim_opts *opts, size_t step,
                   double lr, size_t n, float *w, const float *g, float *m, float *v,
                   const nn_span *decays, size_t n_decays);

/* The norm of n numbers, summed in double; does not depend on the thread count. */
double nn_optim_norm(const scant_ctx *ctx, const float *g, size_t n);

/* average = decay * average + (1 - decay) * w */
void nn_optim_average(const scant_ctx *ctx, double decay, size_t n, const float *w,
                      float *average);

/* Exchanges two vectors. */
void nn_optim_swap(const scant_ctx *ctx, size_t n, float *a, float *b);

/* Returns the factor of the learning rate at a step (from 0) of total, by the schedule's
 * name. constant: 1; cosine: half a cosine down to 0; step: 1, then 0.1 after half and
 * 0.01 after three quarters of the steps; fixmatch: cos(7 pi step / (16 total)); late:
 * 1, then 0.2 for the last fifth. The factor rises linearly over the first warmup steps.
 */
double nn_schedule(const char *name, size_t step, size_t total, size_t warmup);

#endif
