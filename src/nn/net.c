/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a network description: shapes are computed as nodes are added, and invalid
 * architectures are refused here, naming the layer.
 */
#include "nn/net.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const size_t LARGEST = SIZE_MAX >> 24; /* floats per sample of a layer's output */

scant_status nn_net_create(scant_ctx *ctx, const char *model, nn_shape input,
                           nn_net **out) {
    nn_net *net = *out = scant__zalloc(ctx, 1, sizeof *net);
    if (!net) return SCANT_ENOMEM;
    net->ctx = ctx;
    snprintf(net->model, sizeof net->model, "%s", model);
    net->nodes[net->n_nodes++] =
        (nn_node){.kind = NN_INPUT, .in = {NN_NONE, NN_NONE}, .shape = input};
    return SCANT_OK;
}

/* A new node with the shape of its input; name may be NULL. */
static nn_node node_of(const nn_builder *b, nn_kind kind, int in, const char *name) {
    nn_node node = {.kind = kind,
                    .in = {in, NN_NONE},
                    .in_shape = b->net->nodes[in].shape,
                    .shape = b->net->nodes[in].shape,
                    .groups = 1,
                    .scale = 1,
                    .weight = NN_NONE,
                    .bias_at = NN_NONE,
                    .mean = NN_NONE,
                    .var = NN_NONE,
                    .rho = NN_NONE};
    if (name) snprintf(node.name, sizeof node.name, "%s", name);
    return node;
}

static int add(nn_builder *b, const nn_node *node) {
    nn_net *net = b->net;
    if (b->status == SCANT_OK && net->n_nodes == NN_NODES)
        b->status = scant__fail(net->ctx, SCANT_EUSAGE,
                                "%s: more than %d layers are not supported", net->model,
                                NN_NODES);
    if (b->status != SCANT_OK) return 0;
    net->nodes[net->n_nodes] = *node;
    return (int)net->n_nodes++;
}

/* Sets the output size of a sliding window; refuses one that does not fit. */
static void slide(nn_builder *b, nn_node *node, nn_window w) {
    size_t *side[2] = {&node->shape.h, &node->shape.w};
    nn_shape in = nn_net_input(b->net), planes = node->shape;
    for (int i = 0; i < 2; i++) {
        size_t padded = *side[i] + 2 * w.pad;
        if (padded < w.kernel && b->status == SCANT_OK)
            b->status =
                scant__fail(b->net->ctx, SCANT_EINPUT,
                            "%s cannot take images of %zux%zu pixels: a window of %zu "
                            "pixels meets planes of %zux%zu",
                            b->net->model, in.h, in.w, w.kernel, planes.h, planes.w);
        node->kernel[i] = w.kernel;
        node->stride[i] = w.stride;
        node->pad[i] = w.pad;
        *side[i] = (padded - w.kernel) / w.stride + 1;
    }
}

int nn_add_conv(nn_builder *b, int in, const char *name, size_t channels, nn_window w,
                size_t groups, bool bias) {
    nn_node node = node_of(b, NN_CONV, in, name);
    slide(b, &node, w);
    node.shape.c = channels;
    node.groups = groups;
    node.bias = bias;
    return add(b, &node);
}

int nn_add_dense(nn_builder *b, int in, const char *name, size_t width, bool bias) {
    nn_node node = node_of(b, NN_DENSE, in, name);
    node.shape = (nn_shape){width, 1, 1};
    node.bias = bias;
    return add(b, &node);
}

int nn_add_norm(nn_builder *b, int in, const char *name) {
    nn_node node = node_of(b, NN_NORM, in, name);
    return add(b, &node);
}

int nn_add_act(nn_builder *b, int in, nn_act act) {
    nn_node node = node_of(b, NN_ACT, in, NULL);
    node.act = act;
    node.slope = act == NN_ACT_LEAKY ? 0.1f : 0;
    return add(b, &node);
}

int nn_add_maxpool(nn_builder *b, int in, nn_window w) {
    nn_node node = node_of(b, NN_MAXPOOL, in, NULL);
    slide(b, &node, w);
    return add(b, &node);
}

int nn_add_mean(nn_builder *b, int in) {
    nn_node node = node_of(b, NN_AVGPOOL, in, NULL);
    node.kernel[0] = node.shape.h;
    node.kernel[1] = node.shape.w;
    node.stride[0] = node.stride[1] = 1;
    node.shape.h = node.shape.w = 1;
    return add(b, &node);
}

int nn_add_dropout(nn_builder *b, int in, float rate) {
    nn_node node = node_of(b, NN_DROPOUT, in, NULL);
    node.rate = rate;
    return rate > 0 ? add(b, &node) : in;
}

int nn_add_sum(nn_builder *b, int in, int other) {
    nn_node node = node_of(b, NN_ADD, in, NULL);
    node.in[1] = other;
    return add(b, &node);
}

int nn_add_noise(nn_builder *b, int in) {
    nn_node *dense = &b->net->nodes[in];
    nn_node node = node_of(b, NN_NOISE, in, dense->name);
    node.in[1] = dense->in[0];
    dense->deviation = 0.05f;
    return add(b, &node);
}

/* ---- parameters ---- */

static int param(nn_net *net, size_t at, nn_role role, const char *what, size_t ndim,
                 const size_t *dims) {
    nn_param p = {.node = (int)at, .role = role, .ndim = ndim, .count = 1};
    snprintf(p.name, sizeof p.name, "%s.%s", net->nodes[at].name, what);
    for (size_t i = 0; i < ndim; i++) {
        p.dims[i] = dims[i];
        p.count = size_mul(p.count, dims[i]);
    }
    p.fan_in = ndim > 1 && dims[0] ? p.count / dims[0] : 1;
    p.fan_out = ndim > 1 && dims[1] ? p.count / dims[1] : 1;
    p.trained = role != NN_MEAN && role != NN_VAR && !net->nodes[at].frozen;
    assert(net->n_params < NN_PARAMS);
    net->params[net->n_params] = p;
    return (int)net->n_params++;
}

/* Adds a parameter of node `at`: a row of weights per output channel, over all outputs of
 * node `in`. */
static int matrix(nn_net *net, size_t at, nn_role role, const char *what, int in) {
    nn_shape s = net->nodes[in].shape;
    return param(net, at, role, what, 2,
                 (size_t[]){net->nodes[at].shape.c, size_mul(s.c, size_mul(s.h, s.w))});
}

static void params_of(nn_net *net, size_t at) {
    nn_node *node = &net->nodes[at];
    size_t c = node->shape.c;
    if (node->kind == NN_CONV)
        node->weight = param(net, at, NN_WEIGHT, "weight", 4,
                             (size_t[]){c, node->in_shape.c / node->groups,
                                        node->kernel[0], node->kernel[1]});
    if (node->kind == NN_DENSE)
        node->weight = matrix(net, at, NN_WEIGHT, "weight", node->in[0]);
    if (node->kind == NN_NOISE)
        node->rho = matrix(net, at, NN_RHO, "weight_rho", node->in[1]);
    if (node->bias) {
        node->bias_at = param(net, at, NN_BIAS, "bias", 1, &c);
        net->params[node->bias_at].fan_in = net->params[node->weight].fan_in;
        net->params[node->bias_at].fan_out = net->params[node->weight].fan_out;
    }
    if (node->kind == NN_NORM) {
        node->weight = param(net, at, NN_GAMMA, "weight", 1, &c);
        node->bias_at = param(net, at, NN_BETA, "bias", 1, &c);
        node->mean = param(net, at, NN_MEAN, "running_mean", 1, &c);
        node->var = param(net, at, NN_VAR, "running_var", 1, &c);
    }
}

scant_status nn_net_end(nn_builder *b, int features) {
    nn_net *net = b->net;
    TRY(b->status);
    for (size_t i = 0; i < net->n_nodes; i++) { /* batch * size must not overflow */
        nn_shape s = net->nodes[i].shape;
        if (size_mul(s.c, size_mul(s.h, s.w)) > LARGEST)
            return scant__fail(
                net->ctx, SCANT_EINPUT,
                "%s: a layer of %zux%zux%zu numbers per sample is too large to address",
                net->model, s.c, s.h, s.w);
        params_of(net, i);
    }
    net->features = features;
    net->head = (int)net->n_nodes - 1;
    if (net->nodes[net->head].kind == NN_NOISE) net->head = net->nodes[net->head].in[0];
    net->classes = net->nodes[net->n_nodes - 1].shape.c;
    size_t at = 0;
    for (int trained = 1; trained >= 0; trained--) {
        for (size_t i = 0; i < net->n_params; i++) {
            nn_param *p = &net->params[i];
            if (p->trained != (trained == 1)) continue;
            p->offset = at;
            at = size_add(at, p->count);
        }
        if (trained) net->n_trained = at;
    }
    net->n_floats = at;
    if (at > SIZE_MAX / 64)
        return scant__fail(net->ctx, SCANT_EINPUT, "%s: too large to address",
                           net->model);
    return SCANT_OK;
}

const nn_param *nn_net_find(const nn_net *net, const char *name) {
    for (size_t i = 0; i < net->n_params; i++)
        if (strcmp(net->params[i].name, name) == 0) return &net->params[i];
    return NULL;
}

bool nn_net_has(const nn_net *net, nn_kind kind) {
    for (size_t i = 0; i < net->n_nodes; i++)
        if (net->nodes[i].kind == kind) return true;
    return false;
}
