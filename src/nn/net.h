/* SPDX-License-Identifier: Apache-2.0
 *
 * A network's structure as plain data: layers, shapes and connections, without weights or
 * kernels. models.c builds it, plan.c makes it executable.
 *
 * A node reads only earlier nodes. Node 0 is the input, the last node computes the
 * logits, and `features` is the node whose output strategies use as the sample's features
 * (the input of the last dense layer).
 */
#ifndef SCANT_NN_NET_H
#define SCANT_NN_NET_H

#include <stdbool.h>

#include "core/mem.h"
#include "nn/activation.h"
#include "scant/train.h"

enum { NN_NAME = 48, NN_NONE = -1, NN_NODES = 256, NN_PARAMS = 2 * NN_NODES };
#define NN_NORM_EPS 1e-5 /* added to a variance, as in torch */

typedef enum nn_kind {
    NN_INPUT,
    NN_CONV,
    NN_DENSE, /* flattens its input */
    NN_NORM,  /* batch normalisation */
    NN_ACT,
    NN_MAXPOOL,
    NN_AVGPOOL,
    NN_DROPOUT,
    NN_ADD,
    /* after the last dense layer: output noise from the spread of its weights, drawn per
     * sample (nn/noise.h). Only in training, like dropout. */
    NN_NOISE
} nn_kind;

typedef struct nn_shape {
    size_t c, h, w;
} nn_shape;

static inline size_t nn_shape_size(nn_shape s) { return s.c * s.h * s.w; }

typedef struct nn_node {
    nn_kind kind;
    int in[2];          /* input nodes, or NN_NONE */
    nn_shape in_shape;  /* shape of the first input */
    nn_shape shape;     /* shape of the output */
    char name[NN_NAME]; /* "layer1.0.conv1": prefix of its parameters' names */
    size_t kernel[2], stride[2], pad[2], groups; /* windows: vertical, horizontal */
    bool bias;                                   /* convolution and dense */
    bool frozen;                                 /* random weights that are not trained */
    float scale;                                 /* factor of a dense layer's output */
    float deviation; /* standard deviation of initial weights; 0 if given by init */
    nn_act act;
    float slope;         /* leaky relu */
    float rate;          /* dropout */
    int weight, bias_at; /* parameters (NN_NORM: gamma and beta), or NN_NONE */
    int mean, var;       /* buffers of NN_NORM: running mean and variance */
    int rho;             /* parameter of NN_NOISE, or NN_NONE */
} nn_node;

/* The role of a parameter: a weight tensor, or a buffer of running statistics. */
typedef enum nn_role {
    NN_WEIGHT,
    NN_BIAS,
    NN_GAMMA,
    NN_BETA,
    NN_MEAN,
    NN_VAR,
    NN_RHO /* a variational layer's weights have deviation softplus(rho) */
} nn_role;

/* The posterior of the last layer's weights. */
typedef enum nn_bayes { NN_BAYES_NONE, NN_BAYES_DROPOUT, NN_BAYES_VARIATIONAL } nn_bayes;

/* How initial weights are drawn (init.c); in the order of the choices of option init. */
typedef enum nn_init {
    NN_INIT_TORCH,
    NN_INIT_HE,
    NN_INIT_HE_OUT,
    NN_INIT_GLOROT
} nn_init;

/* Dense layers of NN_INIT_HE_OUT. */
typedef enum nn_dense_init {
    NN_DENSE_TORCH,
    NN_DENSE_SMALL,
    NN_DENSE_GLOROT
} nn_dense_init;

typedef struct nn_param {
    char name[NN_NAME + 16]; /* "layer1.0.conv1.weight" */
    int node;
    nn_role role;
    size_t ndim, dims[4], count;
    size_t offset; /* position in the plain vector of all parameters; trained first */
    size_t fan_in, fan_out; /* a bias has those of its layer's weights */
    bool trained;
} nn_param;

typedef struct nn_net {
    scant_ctx *ctx;
    char model[NN_NAME];
    nn_node nodes[NN_NODES]; /* enough for every model */
    size_t n_nodes;
    nn_param params[NN_PARAMS]; /* in node order */
    size_t n_params;
    size_t n_trained; /* number of trained floats */
    size_t n_floats;  /* number of floats, including buffers and frozen parameters */
    int features;     /* node whose output is the features */
    int head;         /* the last dense layer: the last node, or the one before noise */
    size_t classes;
    nn_init init;
    nn_dense_init dense_init;
    nn_bayes bayes;
    size_t hidden; /* width of the layer that opts.hidden adds before the last, or 0 */
    size_t draws;  /* posterior draws that inference averages over */
    double prior;  /* variance of a variational layer's weight prior */
    uint64_t draw_seed;
} nn_net;

/* Builds the model called name (models.c) for the given shape and options. On SCANT_OK
 * *out is new, freed by nn_net_free(); else NULL, and the error message says which option
 * or shape does not fit. */
scant_status nn_model_build(scant_ctx *ctx, const char *name, const scant_net_opts *opts,
                            nn_net **out);
static inline void nn_net_free(nn_net *net) { /* NULL is fine */
    if (net) scant__free(net->ctx, net);
}
DEFINE_AUTO(nn_net, nn_net)

/* ---- builder (net.c) ---- */

/* A builder: after a failure calls do nothing, and nn_net_end() returns the error. Each
 * call returns the index of the new node. */
typedef struct nn_builder {
    nn_net *net;
    scant_status status;
} nn_builder;

typedef struct nn_window {
    size_t kernel, stride, pad;
} nn_window;

/* On SCANT_OK *out is a new net with one input node. */
scant_status nn_net_create(scant_ctx *ctx, const char *model, nn_shape input,
                           nn_net **out);

int nn_add_conv(nn_builder *b, int in, const char *name, size_t channels, nn_window w,
                size_t groups, bool bias);
int nn_add_dense(nn_builder *b, int in, const char *name, size_t width, bool bias);
int nn_add_norm(nn_builder *b, int in, const char *name);
int nn_add_act(nn_builder *b, int in, nn_act act); /* leaky: slope 0.1 */
int nn_add_maxpool(nn_builder *b, int in, nn_window w);
int nn_add_mean(nn_builder *b, int in); /* average of each plane */
int nn_add_dropout(nn_builder *b, int in, float rate);
int nn_add_sum(nn_builder *b, int in, int other);
/* Adds noise after the dense layer `in`, which becomes a variational layer's means. */
int nn_add_noise(nn_builder *b, int in);
/* Assigns the parameters' offsets; the last node is the output. */
scant_status nn_net_end(nn_builder *b, int features);

const nn_param *nn_net_find(const nn_net *net, const char *name); /* or NULL */
static inline nn_shape nn_net_input(const nn_net *net) { return net->nodes[0].shape; }
bool nn_net_has(const nn_net *net, nn_kind kind); /* a node of that kind */

#endif
