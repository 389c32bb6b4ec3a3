/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a network description: shapes are computed as nodes are added, and invalid
 * architectures are refused here, naming the layer.
 */
#include "nn/net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 256, PARAMS = 512 };           /* more than any model here has */
static const size_t LARGEST = SIZE_MAX >> 24; /* floats per sample of a layer's output */

scant_status nn_net_create(scant_ctx *ctx, const char *model, nn_shape input,
                           nn_net **out) {
    *out = NULL;
    nn_net *net = scant__zalloc(ctx, 1, sizeof *net);
    if (!net) return SCANT_ENOMEM;
    net->ctx = ctx;
    snprintf(net->model, sizeof net->model, "%s", model);
    net->nodes = scant__zalloc(ctx, NODES, sizeof *net->nodes);
    net->params = scant__zalloc(ctx, PARAMS, sizeof *net->params);
    if (!net->nodes || !net->params) {
        nn_net_destroy(net);
        return SCANT_ENOMEM;
    }
    net->room_nodes = NODES;
    net->room_params = PARAMS;
    net->nodes[net->n_nodes++] =
        (nn_node){.kind = NN_INPUT, .in = {NN_NONE, NN_NONE}, .shape = input};
    *out = net;
    return SCANT_OK;
}

void nn_net_destroy(nn_net *net) {
    if (!net) return;
    scant_ctx *ctx = net->ctx;
    scant__free(ctx, net->nodes);
    scant__free(ctx, net->params);
    scant__free(ctx, net);
}

nn_shape nn_net_input(const nn_net *net) { return net->nodes[0].shape; }

/* A new node with only kind and input set; NULL after a failure. */
static nn_node *add(nn_builder *b, nn_kind kind, int in) {
    if (b->status != SCANT_OK) return NULL;
    nn_net *net = b->net;
    if (net->n_nodes == net->room_nodes) {
        b->status = scant__fail(net->ctx, SCANT_EUSAGE,
                                "%s: more than %zu layers are not supported", net->model,
                                net->room_nodes);
        return NULL;
    }
    nn_node *node = &net->nodes[net->n_nodes++];
    *node = (nn_node){.kind = kind,
                      .in = {in, NN_NONE},
                      .shape = net->nodes[in].shape,
                      .groups = 1,
                      .scale = 1,
                      .weight = NN_NONE,
                      .bias_at = NN_NONE,
                      .mean = NN_NONE,
                      .var = NN_NONE,
                      .rho = NN_NONE};
    return node;
}

static int last(const nn_builder *b) { return (int)b->net->n_nodes - 1; }

static void call(nn_node *node, const char *name) {
    snprintf(node->name, sizeof node->name, "%s", name);
}

/* Sets the output size of a sliding window; refuses one that does not fit. */
static void slide(nn_builder *b, nn_node *node, nn_window w) {
    size_t *side[2] = {&node->shape.h, &node->shape.w};
    for (int i = 0; i < 2; i++) {
        size_t padded = *side[i] + 2 * w.pad;
        if (padded < w.kernel) {
            nn_shape in = nn_net_input(b->net);
            b->status = scant__fail(
                b->net->ctx, SCANT_EINPUT,
                "%s cannot take images of %zux%zu pixels: a window of %zu "
                "pixels meets planes of %zux%zu",
                b->net->model, in.h, in.w, w.kernel, node->shape.h, node->shape.w);
            return;
        }
        node->kernel[i] = w.kernel;
        node->stride[i] = w.stride;
        node->pad[i] = w.pad;
    }
    for (int i = 0; i < 2; i++)
        *side[i] = (*side[i] + 2 * w.pad - w.kernel) / w.stride + 1;
}

int nn_add_conv(nn_builder *b, int in, const char *name, size_t channels, nn_window w,
                size_t groups, bool bias) {
    nn_node *node = add(b, NN_CONV, in);
    if (!node) return 0;
    call(node, name);
    slide(b, node, w);
    node->shape.c = channels;
    node->groups = groups;
    node->bias = bias;
    return last(b);
}

int nn_add_dense(nn_builder *b, int in, const char *name, size_t width, bool bias) {
    nn_node *node = add(b, NN_DENSE, in);
    if (!node) return 0;
    call(node, name);
    node->shape = (nn_shape){width, 1, 1};
    node->bias = bias;
    return last(b);
}

int nn_add_norm(nn_builder *b, int in, const char *name) {
    nn_node *node = add(b, NN_NORM, in);
    if (!node) return 0;
    call(node, name);
    return last(b);
}

int nn_add_act(nn_builder *b, int in, nn_act act, float slope) {
    nn_node *node = add(b, NN_ACT, in);
    if (!node) return 0;
    node->act = act;
    node->slope = slope;
    return last(b);
}

int nn_add_maxpool(nn_builder *b, int in, nn_window w) {
    nn_node *node = add(b, NN_MAXPOOL, in);
    if (!node) return 0;
    slide(b, node, w);
    return last(b);
}

int nn_add_mean(nn_builder *b, int in) {
    nn_node *node = add(b, NN_AVGPOOL, in);
    if (!node) return 0;
    node->kernel[0] = node->shape.h;
    node->kernel[1] = node->shape.w;
    node->stride[0] = node->stride[1] = 1;
    node->shape.h = node->shape.w = 1;
    return last(b);
}

int nn_add_dropout(nn_builder *b, int in, float rate) {
    if (rate <= 0) return in;
    nn_node *node = add(b, NN_DROPOUT, in);
    if (!node) return 0;
    node->rate = rate;
    return last(b);
}

int nn_add_sum(nn_builder *b, int in, int other) {
    nn_node *node = add(b, NN_ADD, in);
    if (!node) return 0;
    node->in[1] = other;
    return last(b);
}

int nn_add_noise(nn_builder *b, int in) {
    nn_node *node = add(b, NN_NOISE, in);
    if (!node) return 0;
    nn_node *dense = &b->net->nodes[in];
    node->in[1] = dense->in[0];
    call(node, dense->name);
    dense->deviation = 0.05f;
    return last(b);
}

/* ---- parameters ---- */

static int param(nn_builder *b, size_t at, nn_role role, const char *what, size_t ndim,
                 const size_t *dims) {
    nn_net *net = b->net;
    if (b->status != SCANT_OK) return NN_NONE;
    if (net->n_params == net->room_params) {
        b->status =
            scant__fail(net->ctx, SCANT_EUSAGE, "%s: too many parameters", net->model);
        return NN_NONE;
    }
    nn_param *p = &net->params[net->n_params];
    *p = (nn_param){.node = (int)at, .role = role, .ndim = ndim, .count = 1};
    snprintf(p->name, sizeof p->name, "%s.%s", net->nodes[at].name, what);
    for (size_t i = 0; i < ndim; i++) {
        p->dims[i] = dims[i];
        p->count = size_mul(p->count, dims[i]);
    }
    p->fan_in = ndim > 1 && dims[0] ? p->count / dims[0] : 1;
    p->trained = role != NN_MEAN && role != NN_VAR && !net->nodes[at].frozen;
    return (int)net->n_params++;
}

static void params_of(nn_builder *b, size_t at) {
    nn_node *node = &b->net->nodes[at];
    nn_shape in = node->in[0] == NN_NONE ? node->shape : b->net->nodes[node->in[0]].shape;
    size_t c = node->shape.c;
    if (node->kind == NN_CONV)
        node->weight =
            param(b, at, NN_WEIGHT, "weight", 4,
                  (size_t[4]){c, in.c / node->groups, node->kernel[0], node->kernel[1]});
    if (node->kind == NN_DENSE)
        node->weight = param(b, at, NN_WEIGHT, "weight", 2,
                             (size_t[4]){c, size_mul(in.c, size_mul(in.h, in.w))});
    if (node->bias && node->kind != NN_NORM) {
        node->bias_at = param(b, at, NN_BIAS, "bias", 1, &c);
        if (node->bias_at != NN_NONE && node->weight != NN_NONE)
            b->net->params[node->bias_at].fan_in = b->net->params[node->weight].fan_in;
    }
    if (node->kind == NN_NOISE) {
        in = b->net->nodes[node->in[1]].shape;
        node->rho = param(b, at, NN_RHO, "weight_rho", 2,
                          (size_t[4]){c, size_mul(in.c, size_mul(in.h, in.w))});
    }
    if (node->kind == NN_NORM) {
        node->weight = param(b, at, NN_GAMMA, "weight", 1, &c);
        node->bias_at = param(b, at, NN_BETA, "bias", 1, &c);
        node->mean = param(b, at, NN_MEAN, "running_mean", 1, &c);
        node->var = param(b, at, NN_VAR, "running_var", 1, &c);
    }
}

/* Checks that a layer's output, times a batch, can be counted. */
static void check_sizes(nn_builder *b) {
    for (size_t i = 0; i < b->net->n_nodes && b->status == SCANT_OK; i++) {
        nn_shape s = b->net->nodes[i].shape;
        if (size_mul(s.c, size_mul(s.h, s.w)) > LARGEST)
            b->status = scant__fail(
                b->net->ctx, SCANT_EINPUT,
                "%s: a layer of %zux%zux%zu numbers per sample is too large to address",
                b->net->model, s.c, s.h, s.w);
    }
}

scant_status nn_net_end(nn_builder *b, int features) {
    nn_net *net = b->net;
    check_sizes(b);
    for (size_t i = 0; i < net->n_nodes; i++) params_of(b, i);
    if (b->status != SCANT_OK) return b->status;
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
