/* SPDX-License-Identifier: Apache-2.0
 *
 * A network prepared for batches of one size: a list of steps, and one block of memory in
 * which every tensor has an offset. Tensors that are never live at the same time share
 * memory. Running a plan allocates nothing.
 */
#ifndef SCANT_NN_PLAN_H
#define SCANT_NN_PLAN_H

#include "nn/stack.h"
#include "nn/weights.h"

typedef enum nn_mode {
    NN_PREDICT,   /* forward; running statistics, no dropout, no noise */
    NN_TRAIN,     /* forward and backward; batch statistics, dropout, noise */
    NN_TRACE,     /* forward and backward with NN_PREDICT's statistics; keeps each layer's
                     input and the gradient by its output (nn_plan_trace) */
    NN_TRACE_REST /* NN_TRACE without the layers of the front (plan_front.c), which
                     computes its own per-sample gradients (nn_plan_front_...) */
} nn_mode;

typedef struct nn_plan nn_plan;

/* Packs weights if necessary. On SCANT_OK *out is new; free it with nn_plan_destroy()
 * before weights. */
scant_status nn_plan_create(nn_weights *weights, size_t batch, nn_mode mode,
                            nn_plan **out);
void nn_plan_destroy(nn_plan *plan); /* NULL is fine */

size_t nn_plan_batch(const nn_plan *plan);
float *nn_plan_input(nn_plan *plan);          /* batch x input: set by the caller */
float *nn_plan_logits(nn_plan *plan);         /* batch x classes */
float *nn_plan_d_logits(nn_plan *plan);       /* set by the caller before backward */
const float *nn_plan_features(nn_plan *plan); /* batch x width; valid after forward */

/* seed and step determine the random numbers of dropout and noise. */
scant_status nn_plan_forward(nn_plan *plan, uint64_t seed, uint64_t step);
/* Sets weights->grads to the sums over the batch. In NN_TRACE it may run again with other
 * d_logits after one forward pass. */
scant_status nn_plan_backward(nn_plan *plan);
/* The same in NN_TRACE without weight gradients: weights->grads becomes undefined. */
scant_status nn_plan_backward_trace(nn_plan *plan);
/* After a forward pass in NN_TRAIN: moves the running statistics towards the batch's. */
void nn_plan_keep_statistics(nn_plan *plan, double momentum);

/* After backward in NN_TRACE: the input of a convolution, dense or normalisation layer
 * and the gradient by its output, both batch x planes in plain order. Borrowed;
 * overwritten by the next call. input may be NULL. */
scant_status nn_plan_trace(nn_plan *plan, int node, const float **input,
                           const float **d_output);

/* Returns the last node of the front if nn/stack.h runs it, else 0. */
int nn_plan_front_last(const nn_plan *plan);
/* After backward in NN_TRACE_REST: compute the front's per-sample gradients, as in
 * nn/stack.h with v and parameter positions packed. The first function adds to norms and
 * products (one number per sample; either may be NULL), the second calls fn. */
scant_status nn_plan_front_persample(nn_plan *plan, const float *v, double *norms,
                                     double *products);
scant_status nn_plan_front_visit(nn_plan *plan, nn_visit_fn fn, void *arg);

#endif
