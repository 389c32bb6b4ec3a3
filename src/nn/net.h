/* SPDX-License-Identifier: Apache-2.0
 *
 * A network as plain data: which layers, of what shape, joined how. No weights, no
 * kernels; models.c writes it down, plan.c makes it run.
 *
 * Nodes stand in order: a node reads only nodes before it. Node 0 is the input, the last
 * one gives the logits, and `features` is the node whose output a strategy takes as the
 * sample's features (what the last dense layer reads).
 */
#ifndef SCANT_NN_NET_H
#define SCANT_NN_NET_H

#include <stdbool.h>

#include "core/mem.h"
#include "nn/activation.h"

enum { NN_NAME = 48, NN_NONE = -1 };
#define NN_NORM_EPS 1e-5 /* added to a variance; torch's */

typedef enum nn_kind {
    NN_INPUT,
    NN_CONV,
    NN_DENSE, /* reads its input as one row, planes after each other */
    NN_NORM,  /* batch normalisation */
    NN_ACT,
    NN_MAXPOOL,
    NN_AVGPOOL,
    NN_DROPOUT,
    NN_ADD,
    /* behind the last dense layer: what the spread of its weights does to its output,
     * drawn for each sample (nn/noise.h). There in training alone, as dropout is. */
    NN_NOISE
} nn_kind;

typedef struct nn_shape {
    size_t c, h, w;
} nn_shape;

static inline size_t nn_shape_size(nn_shape s) { return s.c * s.h * s.w; }

typedef struct nn_node {
    nn_kind kind;
    int in[2];          /* nodes read; NN_NONE */
    nn_shape shape;     /* of what it gives */
    char name[NN_NAME]; /* "layer1.0.conv1": its parameters' first name */
    size_t kernel[2], stride[2], pad[2], groups; /* of windows: down, across */
    bool bias;                                   /* convolution and dense */
    bool frozen;     /* its weights are drawn once and not trained */
    float scale;     /* dense: what its output is multiplied by */
    float deviation; /* of the weights it starts with; 0: as its inputs ask for */
    nn_act act;
    float slope;         /* leaky relu */
    float rate;          /* dropout */
    int weight, bias_at; /* parameters; of NN_NORM gamma and beta; NN_NONE */
    int mean, var;       /* buffers of NN_NORM: running mean and variance */
    int rho;             /* parameter of NN_NOISE; NN_NONE */
} nn_node;

/* A tensor of weights, or a buffer that training keeps (running statistics). */
typedef enum nn_role {
    NN_WEIGHT,
    NN_BIAS,
    NN_GAMMA,
    NN_BETA,
    NN_MEAN,
    NN_VAR,
    NN_RHO /* a variational layer's weights deviate by softplus(rho) */
} nn_role;

/* What is known of the last layer's weights: themselves, or a law that they are drawn by.
 */
typedef enum nn_bayes { NN_BAYES_NONE, NN_BAYES_DROPOUT, NN_BAYES_VARIATIONAL } nn_bayes;

typedef struct nn_param {
    char name[NN_NAME + 16]; /* "layer1.0.conv1.weight" */
    int node;
    nn_role role;
    size_t ndim, dims[4], count;
    size_t
        offset; /* in the vector of all parameters in plain order, trained ones first */
    size_t fan_in;
    bool trained;
} nn_param;

typedef struct nn_net {
    scant_ctx *ctx;
    char model[NN_NAME];
    nn_node *nodes;
    size_t n_nodes, room_nodes;
    nn_param *params; /* trained ones first, each kind in order of the nodes */
    size_t n_params, room_params;
    size_t n_trained; /* floats of the trained parameters */
    size_t n_floats;  /* of all, buffers and frozen ones too */
    int features;     /* node */
    int head;         /* the last dense layer: the last node, or the one before noise */
    size_t classes;
    nn_bayes bayes;
    size_t hidden; /* width of the layer that opts.hidden put before the last; 0: none */
    size_t draws;  /* of the last layer's weights, that read-outs average over */
    double prior;  /* variational: the variance of the weights' prior */
    uint64_t draw_seed;
} nn_net;

/* ---- writing one down (net.c) ---- */

/* A builder: calls after a failure do nothing, nn_net_end() tells. Each returns the new
 * node. */
typedef struct nn_builder {
    nn_net *net;
    scant_status status;
} nn_builder;

typedef struct nn_window {
    size_t kernel, stride, pad;
} nn_window;

/* On SCANT_OK *out is a new, empty net of one input node. nn_net_destroy() ends it. */
scant_status nn_net_create(scant_ctx *ctx, const char *model, nn_shape input,
                           nn_net **out);
void nn_net_destroy(nn_net *net); /* NULL is fine */

int nn_add_conv(nn_builder *b, int in, const char *name, size_t channels, nn_window w,
                size_t groups, bool bias);
int nn_add_dense(nn_builder *b, int in, const char *name, size_t width, bool bias);
int nn_add_norm(nn_builder *b, int in, const char *name);
int nn_add_act(nn_builder *b, int in, nn_act act, float slope);
int nn_add_maxpool(nn_builder *b, int in, nn_window w);
int nn_add_mean(nn_builder *b, int in); /* the average of each plane */
int nn_add_dropout(nn_builder *b, int in, float rate);
int nn_add_sum(nn_builder *b, int in, int other);
/* Behind the dense layer in, which then starts as a variational layer's means do. */
int nn_add_noise(nn_builder *b, int in);
/* Lists the parameters and gives them their places; the last node is the output. */
scant_status nn_net_end(nn_builder *b, int features);

const nn_param *nn_net_find(const nn_net *net, const char *name); /* or NULL */
nn_shape nn_net_input(const nn_net *net);
bool nn_net_has(const nn_net *net, nn_kind kind); /* a node of that kind */

#endif
