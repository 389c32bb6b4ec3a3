/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients of single samples, layer by layer: what gradients.c and kernel.c share.
 *
 * A pass over a batch leaves each layer's input x and the gradient d by its output
 * (nn_plan_trace). A layer's gradient of one sample follows from its own x and d alone:
 * dense d x^T, convolution d patches(x)^T, normalisation (whose statistics are constants
 * in evaluation mode) the sums over a plane of d (x - mean) / sqrt(var + eps) and of d.
 *
 * Layers whose parameters are not trained are not listed.
 */
#ifndef SCANT_NN_PERSAMPLE_H
#define SCANT_NN_PERSAMPLE_H

#include "nn/network.h"
#include "scant/train.h"

typedef struct nn_layer {
    const nn_node *node;
    int at; /* the node's place */
    nn_shape in;
    size_t x, d;        /* floats a sample of its input, of its output */
    size_t rows, width; /* of its weights; of normalisation channels and 1 */
    size_t places;      /* of an output plane */
    size_t strip;       /* lines of it whose patches are laid out at a time */
    bool bias;
    size_t weight_at, bias_at; /* where in the vector of trained parameters */
    const float *mean, *var;   /* of normalisation: borrowed from the weights */
} nn_layer;

/* Numbers of the layer's parameters. */
static inline size_t nn_layer_size(const nn_layer *l) {
    return l->rows * l->width + (l->bias ? l->rows : 0);
}

/* Which part of a gradient, of what, and where to. */
typedef struct nn_part {
    size_t first, count; /* rows of the weights (count x width), then, where the layer has
                          * a bias, as many numbers of that */
    size_t copies;       /* gradients of one sample: as many d, one after the other */
    float *out;
    size_t apart; /* floats from one gradient to the next */
} nn_part;

/* One sample's gradients. room: nn_layer_room() floats. */
void nn_layer_gradient(const nn_layer *l, const float *x, const float *d,
                       const nn_part *part, float *room);
size_t nn_layer_room(const nn_layer *l);
/* By the bias alone. */
void nn_layer_bias(const nn_layer *l, const float *d, float *bias);

/* A convolution's patches of one group for lines first..first+count-1 of the output:
 * width x (count * line), its row length in *apart. They are x itself where windows are
 * single pixels, else in room. */
const float *nn_layer_patches(const nn_layer *l, const float *x, size_t group,
                              size_t first, size_t count, float *room, size_t *apart);

/* ---- batches ---- */

typedef enum nn_scope {
    NN_SCOPE_ALL,  /* every layer is traced */
    NN_SCOPE_REST, /* all but those of a front (nn_plan_front_last), if there is one */
    NN_SCOPE_LAST  /* the last layer alone: nothing runs backwards */
} nn_scope;

typedef struct nn_tracer {
    scant_net *net;
    scant__arena arena; /* holds what follows */
    bool last_layer;
    nn_plan *plan;
    size_t batch, count; /* samples at most, and in it now */
    nn_layer *layers;    /* last one first */
    size_t n_layers;
    size_t parameters; /* of the network, or of the last layer */
    size_t offset;     /* of the first of them among the network's */
    float *d_logits;   /* batch x classes: to be filled in before backward */
    float *d_last;     /* of last_layer: by what the layer multiplies with its weights */
    size_t *rows;
} nn_tracer;

/* A plan for n samples or as many as memory suggests. nn_tracer_close() ends it, also
 * after a failure. */
scant_status nn_tracer_open(nn_tracer *t, scant_net *net, size_t n, nn_scope scope);
void nn_tracer_close(nn_tracer *t);
/* Runs samples first..first+count-1 of rows (NULL: of data) forward. Fails where an
 * output is not finite. d_logits of places that are not used are 0. */
scant_status nn_tracer_forward(nn_tracer *t, const scant_data *data, const size_t *rows,
                               size_t first, size_t count);
const float *nn_tracer_logits(nn_tracer *t);
/* May run several times after one forward. weights: net->weights->grads too. */
scant_status nn_tracer_backward(nn_tracer *t, bool weights);
/* Of the i-th layer, for the whole batch; the next call overwrites them. x may be NULL.
 */
scant_status nn_tracer_layer(nn_tracer *t, size_t i, const float **x, const float **d);

/* Bytes that work of this kind may take now: half of what the cap leaves, and no more
 * than most. */
size_t nn_share(const scant_ctx *ctx, size_t most);

#endif
