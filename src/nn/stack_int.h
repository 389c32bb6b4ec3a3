/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of a stack, for stack.c and tests.
 *
 * Memory has three areas of floats. `kept`: data that backward needs from forward, a part
 * per block of eight samples. `scratch`: a part per worker; without training it holds all
 * planes. `parts`: partial sums of gradients over groups of blocks. Padding is zeroed on
 * creation and never written, because a buffer always belongs to the same stage.
 */
#ifndef SCANT_NN_STACK_INT_H
#define SCANT_NN_STACK_INT_H

#include "core/mem.h"
#include "nn/kernels.h"

/* Maximum number of partial sums of gradients. */
enum { NN_STACK_PARTS = 64 };

/* The layout of planes in a block's or worker's part. */
typedef struct stack_place {
    bool kept;
    size_t at;              /* offset of item (0, 0, 0), in floats */
    size_t plane, row, col; /* as in nn_view */
} stack_place;

typedef struct stack_stage {
    nn_stage s;
    bool pooled;       /* a convolution followed by a max pool, which applies act */
    stack_place in;    /* padded for a convolution */
    stack_place index; /* max pool: the argmax in the window */
    stack_place grad;  /* convolution: gradient by its output, items `stride` apart */
    size_t taps;       /* convolution: weights per output channel */
    size_t *offset;    /* training: offset of each tap in `in`, in floats */
    float *packed;     /* weights for forward */
    float *turned;     /* training: weights for backward */
    size_t first;      /* offset of its weights, then biases, in a part of `parts` */
} stack_stage;

struct nn_stack {
    scant_ctx *ctx;
    scant__arena arena; /* owns everything below */
    const nn_kernels *kernels;
    stack_stage *stages;
    size_t n_stages, batch;
    bool training;
    size_t ready; /* number of samples of the last forward pass; 0 if there was none */
    stack_place out;
    stack_place d[2]; /* gradients by planes, used alternately */
    stack_place lane; /* gradients by a stage's parameters */
    size_t kept_size, scratch_size, part_size;
    float *kept, *scratch, *parts;
};

#endif
