/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack as its own files (and tests) see it.
 *
 * Memory is in three areas of floats. `kept`: what forward leaves for backward, a part a
 * block of eight samples. `scratch`: a part a worker; without training it holds all
 * planes. `parts`: sums of gradients over groups of blocks. Paddings are zeroed when the
 * stack is made and never written: a buffer is always the same stage's.
 */
#ifndef SCANT_NN_STACK_INT_H
#define SCANT_NN_STACK_INT_H

#include "core/mem.h"
#include "nn/kernels.h"

/* Gradients are summed in at most so many parts. */
enum { NN_STACK_PARTS = 64 };

/* Where planes lie in a block's or a worker's part of memory. */
typedef struct stack_place {
    bool kept;
    size_t at;              /* of item (0, 0, 0), in floats */
    size_t plane, row, col; /* as in nn_view */
} stack_place;

typedef struct stack_stage {
    nn_stage s;
    bool conv;
    bool pooled;       /* a convolution: the next stage takes maxima, then comes act */
    stack_place in;    /* padded for a convolution */
    stack_place index; /* maxima: which item of the window */
    stack_place grad;  /* a convolution: gradient by its output, strides apart */
    size_t taps;       /* a convolution's weights an output channel */
    size_t *offset;    /* of each, in `in` (training) */
    float *packed;     /* weights as forward reads them */
    float *turned;     /* and as backward does (training) */
    size_t first;      /* in a part: weights, then biases */
} stack_stage;

struct nn_stack {
    scant_ctx *ctx;
    scant__arena arena; /* all that is below */
    const nn_kernels *kernels;
    stack_stage *stages;
    size_t n_stages, batch;
    bool training;
    size_t ready; /* samples that forward has left something of; 0: none */
    stack_place out;
    stack_place d[2]; /* gradients by planes, to and fro */
    stack_place lane; /* gradients by a stage's parameters */
    size_t kept_size, scratch_size, part_size;
    float *kept, *scratch, *parts;
};

/* stack_plan.c: checks stages and lays out memory. Nothing is released on failure:
 * nn_stack_destroy() does. */
scant_status nn_stack_plan(nn_stack *stack, const nn_stage *stages);

#endif
