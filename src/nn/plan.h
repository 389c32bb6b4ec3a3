/* SPDX-License-Identifier: Apache-2.0
 *
 * A network made ready to run on batches of one size: the list of steps, and one block of
 * memory in which every tensor has its place, shared by those that are never needed at
 * the same time. Made once; running allocates nothing.
 */
#ifndef SCANT_NN_PLAN_H
#define SCANT_NN_PLAN_H

#include "nn/stack.h"
#include "nn/weights.h"

typedef enum nn_mode {
    NN_PREDICT, /* forward; running statistics, no dropout, no noise */
    NN_TRAIN,   /* forward and backward; the batch's statistics, dropout, noise */
    NN_TRACE,   /* forward and backward as NN_PREDICT computes, each layer's input and the
                 * gradient by its output kept (nn_plan_trace) */
    NN_TRACE_REST /* the same, but for the layers of a front (plan_front.c), if there is
                   * one: it tells of its samples' gradients itself (nn_plan_front_...) */
} nn_mode;

typedef struct nn_plan nn_plan;

/* Packs weights if that has not been done. On SCANT_OK *out is new: nn_plan_destroy()
 * ends it, before weights. */
scant_status nn_plan_create(nn_weights *weights, size_t batch, nn_mode mode,
                            nn_plan **out);
void nn_plan_destroy(nn_plan *plan); /* NULL is fine */

size_t nn_plan_batch(const nn_plan *plan);
float *nn_plan_input(nn_plan *plan);          /* batch x input: to be filled in */
float *nn_plan_logits(nn_plan *plan);         /* batch x classes */
float *nn_plan_d_logits(nn_plan *plan);       /* to be filled in before backward */
const float *nn_plan_features(nn_plan *plan); /* batch x width; valid after forward */

/* seed and step key what dropout and noise draw. */
scant_status nn_plan_forward(nn_plan *plan, uint64_t seed, uint64_t step);
/* Sets weights->grads to the sums over the batch. In NN_TRACE it may run again, with
 * other d_logits, after one forward pass. */
scant_status nn_plan_backward(nn_plan *plan);
/* The same for who wants traces alone: what weights->grads holds then is of no use. */
scant_status nn_plan_backward_trace(nn_plan *plan);
/* After a forward pass in NN_TRAIN: moves the running statistics towards the batch's. */
void nn_plan_keep_statistics(nn_plan *plan, double momentum);

/* After backward in NN_TRACE: a convolution's, dense or normalisation layer's input and
 * the gradient by its output, both batch x planes in plain order. Borrowed: the next call
 * overwrites them. input may be NULL. */
scant_status nn_plan_trace(nn_plan *plan, int node, const float **input,
                           const float **d_output);

/* The last node that is part of an untraced front; 0: there is none. After backward in
 * NN_TRACE_REST the gradients of single samples by its parameters: added to norms and
 * products (batch numbers each; NULL: not wanted) or shown to fn, as nn/stack.h says, v
 * and places of parameters as packed. */
int nn_plan_front_last(const nn_plan *plan);
scant_status nn_plan_front_persample(nn_plan *plan, const float *v, double *norms,
                                     double *products);
scant_status nn_plan_front_visit(nn_plan *plan, nn_visit_fn fn, void *arg);

#endif
