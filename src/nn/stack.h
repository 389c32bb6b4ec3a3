/* SPDX-License-Identifier: Apache-2.0
 *
 * The convolutional front of a small network, eight samples at a time, one a SIMD lane.
 *
 * Libraries' convolutions put channels or columns into lanes and waste most of them where
 * there are one, three or six channels. Here planes lie as (c, h, w, 8): a convolution is
 * a weight, spread over the lanes, times a vector of samples. No lane is idle for any
 * number of channels and any width, and as a lane is a sample the gradient of a weight,
 * kept as a vector, is eight samples' gradients: gradients of single samples cost no more
 * than their sum.
 *
 * Samples are worked on in blocks of eight, in parallel; the lanes that the last block
 * has too many are zeros. Sums over samples run over the lanes of a block and then over
 * blocks, in order: results do not depend on the thread count. Nothing is allocated after
 * create. One thread at a time may use a stack (it works with all of its context's).
 *
 * Cost: 2 flops a multiply-add forward, 4 backward (2 without gradients by the input).
 * Convolutions with a stride spend stride^2 times that on gradients by their input, as
 * they are computed over a gradient with zeros in between.
 */
#ifndef SCANT_NN_STACK_H
#define SCANT_NN_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/ctx.h"
#include "nn/activation.h"

enum { NN_LANES = 8 };

typedef enum nn_stage_kind {
    NN_STAGE_CONV,
    NN_STAGE_MAXPOOL, /* the first maximum of a window wins */
    NN_STAGE_AVGPOOL  /* padding counts: sums are divided by the kernel's size */
} nn_stage_kind;

/* oh = (ih + 2 pad - kernel) / stride + 1, rounded down, as torch has it; likewise ow. */
typedef struct nn_stage {
    nn_stage_kind kind;
    size_t ic, ih, iw, oc, oh, ow;
    size_t kernel[2], stride[2], pad[2]; /* down, across */
    bool bias;
    nn_act act;  /* of convolutions: all but swish, which falls */
    float slope; /* of leaky: 0 or more */
    /* Where a convolution's weights (oc, ic, kernel) and biases (oc) begin in vectors of
     * parameters and gradients. */
    size_t weight, bias_at;
} nn_stage;

typedef struct nn_stack nn_stack;

/* For up to `batch` samples. stages are copied. training: forward keeps what the calls
 * below it need. On SCANT_OK *out is ended with nn_stack_destroy(), before ctx; else it
 * is NULL. */
scant_status nn_stack_create(scant_ctx *ctx, const nn_stage *stages, size_t n_stages,
                             size_t batch, bool training, nn_stack **out);
void nn_stack_destroy(nn_stack *stack); /* NULL is fine */

/* rows (n, ic, ih, iw) of the first stage; out (n, oc, oh, ow) of the last. */
scant_status nn_stack_forward(nn_stack *stack, const float *params, size_t n,
                              const float *rows, float *out);

/* The next three follow a forward of the same parameters and n samples, of a stack that
 * trains; any number of times. d_out: the loss's gradients by forward's out. */

/* Sets the stack's parts of grads to the sums over samples, and d_rows, where it is not
 * NULL, to the gradients by rows. */
scant_status nn_stack_backward(nn_stack *stack, const float *params, size_t n,
                               const float *d_out, float *grads, float *d_rows);

/* Adds, for each sample, the squared norm of its gradient by all the stack's parameters
 * to norms, and the gradient's inner product with v (which lies as params do) to
 * products. Either may be NULL. */
scant_status nn_stack_persample(nn_stack *stack, const float *params, size_t n,
                                const float *d_out, const float *v, double *norms,
                                double *products);

/* Gradients of up to eight samples by `count` parameters. */
typedef struct nn_lane_grads {
    size_t first, samples; /* which samples: first + lane, lane < samples */
    size_t at, count;      /* which parameters: at + i, i < count */
    const float *g;        /* (count, 8): parameter at + i, sample first + lane */
} nn_lane_grads;

/* worker is below the context's thread count: an index for scratch. Blocks are visited in
 * parallel, so what is not a worker's own must belong to samples first, ..., of this
 * block (a row a sample of sketches or of gradients). grads end with the call. */
typedef void (*nn_visit_fn)(void *arg, const nn_lane_grads *grads, unsigned worker);

/* Shows fn the gradients of all samples by all parameters, in one pass: for each block of
 * eight its stages from the last to the first, weights before biases. */
scant_status nn_stack_visit(nn_stack *stack, const float *params, size_t n,
                            const float *d_out, nn_visit_fn fn, void *arg);

#endif
