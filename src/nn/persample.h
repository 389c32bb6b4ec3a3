/* SPDX-License-Identifier: Apache-2.0
 *
 * Per-sample gradients, layer by layer: shared by gradients.c and study/net_kernel.c.
 *
 * A pass over a batch keeps each layer's input x and the gradient d by its output
 * (nn_plan_trace). A layer's gradient for one sample follows from its x and d alone:
 * dense d x^T, convolution d patches(x)^T, normalisation (whose statistics are constants
 * in evaluation mode) the sums over a plane of d (x - mean) / sqrt(var + eps) and of d.
 *
 * Layers without trained parameters are not listed.
 */
#ifndef SCANT_NN_PERSAMPLE_H
#define SCANT_NN_PERSAMPLE_H

#include "nn/network.h"
#include "scant/train.h"

typedef struct nn_layer {
    const nn_node *node;
    int at; /* the node's index */
    nn_shape in;
    size_t x;           /* floats per sample of its input */
    size_t d;           /* floats per sample of its output */
    size_t rows, width; /* shape of its weights; channels and 1 for normalisation */
    size_t places;      /* pixels of an output plane */
    size_t strip;       /* output lines whose patches are built at a time */
    bool bias;
    size_t weight_at, bias_at; /* offsets in the vector of trained parameters */
    const float *mean, *var;   /* for normalisation; borrowed from the weights */
} nn_layer;

/* Returns the number of the layer's parameters. */
static inline size_t nn_layer_size(const nn_layer *l) {
    return l->rows * l->width + (l->bias ? l->rows : 0);
}

/* Selects a part of a gradient and its destination. */
typedef struct nn_part {
    size_t first, count; /* rows of the weights (count x width), followed, if the layer
                            has a bias, by count bias entries */
    size_t copies; /* gradients per sample, one for each of `copies` consecutive d */
    float *out;
    size_t stride; /* floats between gradients */
} nn_part;

/* Computes one sample's gradients. room: nn_layer_room() floats. */
void nn_layer_gradient(const nn_layer *l, const float *x, const float *d,
                       const nn_part *part, float *room);
size_t nn_layer_room(const nn_layer *l);
/* Computes only the bias gradient. */
void nn_layer_bias(const nn_layer *l, const float *d, float *bias);

/* Returns a convolution's patches of one group for output lines first..first+count-1:
 * width x (count * line), with row stride *stride. For 1x1 windows they point into x,
 * else into room. */
const float *nn_layer_patches(const nn_layer *l, const float *x, size_t group,
                              size_t first, size_t count, float *room, size_t *stride);

/* ---- batches ---- */

typedef enum nn_scope {
    NN_SCOPE_ALL,  /* every layer is traced */
    NN_SCOPE_REST, /* all layers except the front's (nn_plan_front_last) */
    NN_SCOPE_LAST  /* the last layer only: no backward pass */
} nn_scope;

typedef struct nn_tracer {
    scant_net *net;
    scant__arena arena; /* owns the following */
    bool last_layer;
    nn_plan *plan;
    size_t batch;     /* maximum number of samples */
    size_t count;     /* current number of samples */
    nn_layer *layers; /* last layer first */
    size_t n_layers;
    size_t parameters; /* number of parameters of the network, or of the last layer */
    size_t offset;     /* position of the first one among the network's parameters */
    float *d_logits;   /* batch x classes: set by the caller before backward */
    float *d_last;     /* last_layer: gradient by W x, before scaling */
    size_t *rows;
} nn_tracer;

/* Makes a plan for n samples or as many as memory allows. nn_tracer_close() must be
 * called, also after a failure. */
scant_status nn_tracer_open(nn_tracer *t, scant_net *net, size_t n, nn_scope scope);
void nn_tracer_close(nn_tracer *t);
/* Runs samples first..first+count-1 of rows (of data if NULL) forward. Fails if an output
 * is not finite. Sets d_logits of unused positions to 0. */
scant_status nn_tracer_forward(nn_tracer *t, const scant_data *data, const size_t *rows,
                               size_t first, size_t count);
const float *nn_tracer_logits(nn_tracer *t);
/* May run several times after one forward pass. Also sets net->weights->grads if
 * `weights`, except with NN_SCOPE_LAST. */
scant_status nn_tracer_backward(nn_tracer *t, bool weights);
/* Sets *x (x may be NULL) and *d to those of the i-th layer for the whole batch;
 * overwritten by the next call. */
scant_status nn_tracer_layer(nn_tracer *t, size_t i, const float **x, const float **d);

/* Returns a memory budget in bytes: half of what the cap leaves, at most `most`. */
size_t nn_share(const scant_ctx *ctx, size_t most);

#endif
