/* SPDX-License-Identifier: Apache-2.0
 *
 * The convolutional front of a small network, eight samples at a time, one per SIMD lane.
 *
 * Library convolutions put channels or columns into lanes and waste most of them with
 * one, three or six channels. Here planes are (c, h, w, 8): a convolution multiplies a
 * broadcast weight with a vector of samples. No lane is idle for any number of channels
 * and any width. Since a lane is a sample, a weight gradient kept as a vector is eight
 * samples' gradients: per-sample gradients cost no more than their sum.
 *
 * Blocks of eight samples run in parallel; surplus lanes of the last block are zero. Sums
 * over samples run over the lanes of a block and then over blocks, in order: results do
 * not depend on the thread count. Nothing is allocated after create. Only one thread at a
 * time may use a stack (it uses all threads of its context).
 *
 * Cost: 2 flops per multiply-add forward, 4 backward (2 without gradients by the input).
 * Strided convolutions spend stride^2 times that on gradients by their input, because
 * zeros are inserted into the gradient by their output.
 */
#ifndef SCANT_NN_STACK_H
#define SCANT_NN_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/ctx.h"
#include "nn/activation.h"

enum { NN_LANES = 8 };

/* A convolution or a max pool. A max pool takes the first maximum of a window; its
 * padding is at most half the kernel. oh = (ih + 2 pad - kernel) / stride + 1, rounded
 * down, as in torch; likewise ow. */
typedef struct nn_stage {
    bool conv;
    size_t ic, ih, iw, oc, oh, ow;
    size_t kernel[2], stride[2], pad[2]; /* vertical, horizontal */
    bool bias;
    nn_act act;  /* convolutions: any that is monotone: not swish or square */
    float slope; /* leaky: 0 or more */
    /* Offsets of a convolution's weights (oc, ic, kernel) and biases (oc) in vectors of
     * parameters and gradients. */
    size_t weight, bias_at;
} nn_stage;

typedef struct nn_stack nn_stack;

/* Creates a stack for up to `batch` samples. stages are copied; each reads the output of
 * the one before. training: forward keeps what the backward functions below need. On
 * SCANT_OK *out is new, freed by nn_stack_destroy() before ctx; else NULL. */
scant_status nn_stack_create(scant_ctx *ctx, const nn_stage *stages, size_t n_stages,
                             size_t batch, bool training, nn_stack **out);
void nn_stack_destroy(nn_stack *stack); /* NULL is fine */

/* rows (n, ic, ih, iw) of the first stage; out (n, oc, oh, ow) of the last. */
scant_status nn_stack_forward(nn_stack *stack, const float *params, size_t n,
                              const float *rows, float *out);

/* The next three functions may be called any number of times after a forward pass with
 * the same parameters and n, on a stack created for training. d_out: gradients of the
 * loss by out. */

/* Sets the stack's part of grads to the sums over samples, and d_rows, if not NULL, to
 * the gradients by rows. */
scant_status nn_stack_backward(nn_stack *stack, const float *params, size_t n,
                               const float *d_out, float *grads, float *d_rows);

/* For each sample, adds the squared norm of its gradient by all the stack's parameters to
 * norms, and its inner product with v (laid out like params) to products. Either may be
 * NULL. */
scant_status nn_stack_persample(nn_stack *stack, const float *params, size_t n,
                                const float *d_out, const float *v, double *norms,
                                double *products);

/* Gradients of up to eight samples by `count` parameters. */
typedef struct nn_lane_grads {
    size_t first, samples; /* samples first + lane, lane < samples */
    size_t at, count;      /* parameters at + i, i < count */
    const float *g;        /* (count, 8): parameter at + i, sample first + lane */
} nn_lane_grads;

/* worker indexes scratch and is below the context's thread count. Blocks run in parallel,
 * so fn may write only per-worker data and data of samples first, ... of this block.
 * grads are valid during the call. */
typedef void (*nn_visit_fn)(void *arg, const nn_lane_grads *grads, unsigned worker);

/* Calls fn with the gradients of all samples by all parameters, in one pass: for each
 * block of eight samples, stages from last to first, weights before biases. */
scant_status nn_stack_visit(nn_stack *stack, const float *params, size_t n,
                            const float *d_out, nn_visit_fn fn, void *arg);

#endif
