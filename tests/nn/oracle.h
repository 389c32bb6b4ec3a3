/* SPDX-License-Identifier: Apache-2.0
 *
 * The oracle: every layer once more, as plain loops in double, straight from its
 * definition. Slow, and shares nothing with what it judges but the list of nodes.
 */
#ifndef SCANT_TESTS_NN_ORACLE_H
#define SCANT_TESTS_NN_ORACLE_H

#include <math.h>

#include "../support.h"

#include "nn/net.h"

typedef struct oracle {
    const nn_net *net;
    size_t n;
    bool train;     /* normalisation by the batch's statistics */
    double *params; /* plain order */
    double *grads;
    double **value, **grad; /* a node each */
} oracle;

static inline size_t oracle_size(const oracle *o, int i) {
    return o->n * nn_shape_size(o->net->nodes[i].shape);
}

static inline oracle oracle_new(const nn_net *net, size_t n, bool train) {
    oracle o = {.net = net, .n = n, .train = train};
    o.params = calloc(net->n_floats, sizeof *o.params);
    o.grads = calloc(net->n_floats, sizeof *o.grads);
    o.value = calloc(net->n_nodes, sizeof *o.value);
    o.grad = calloc(net->n_nodes, sizeof *o.grad);
    for (size_t i = 0; i < net->n_nodes; i++) {
        o.value[i] = calloc(oracle_size(&o, (int)i), sizeof(double));
        o.grad[i] = calloc(oracle_size(&o, (int)i), sizeof(double));
    }
    return o;
}

static inline void oracle_free(oracle *o) {
    for (size_t i = 0; i < o->net->n_nodes; i++) free(o->value[i]), free(o->grad[i]);
    free(o->value), free(o->grad), free(o->params), free(o->grads);
}

static inline double *oracle_param(const oracle *o, double *of, int p) {
    return of + o->net->params[p].offset;
}

/* One weight's meeting with one input and one output number: forward, or all of backward.
 */
typedef void (*oracle_meet)(oracle *o, int i, size_t w, size_t in, size_t out);

static inline __attribute__((always_inline)) void meet_forward(oracle *o, int i, size_t w,
                                                               size_t in, size_t out) {
    const nn_node *node = &o->net->nodes[i];
    o->value[i][out] += (double)node->scale *
                        oracle_param(o, o->params, node->weight)[w] *
                        o->value[node->in[0]][in];
}

static inline __attribute__((always_inline)) void
meet_backward(oracle *o, int i, size_t w, size_t in, size_t out) {
    const nn_node *node = &o->net->nodes[i];
    double d = (double)node->scale * o->grad[i][out];
    oracle_param(o, o->grads, node->weight)[w] += d * o->value[node->in[0]][in];
    o->grad[node->in[0]][in] += d * oracle_param(o, o->params, node->weight)[w];
}

static inline __attribute__((always_inline)) void oracle_conv(oracle *o, int i,
                                                              oracle_meet meet) {
    const nn_node *v = &o->net->nodes[i];
    nn_shape a = o->net->nodes[v->in[0]].shape, b = v->shape;
    size_t ic = a.c / v->groups, oc = b.c / v->groups;
    for (size_t n = 0; n < o->n; n++)
        for (size_t c = 0; c < b.c; c++)
            for (size_t k = 0; k < ic; k++)
                for (size_t y = 0; y < b.h * b.w; y++)
                    for (size_t x = 0; x < v->kernel[0] * v->kernel[1]; x++) {
                        size_t ky = x / v->kernel[1], kx = x % v->kernel[1];
                        size_t r = y / b.w * v->stride[0] + ky;
                        size_t s = y % b.w * v->stride[1] + kx;
                        if (r < v->pad[0] || s < v->pad[1]) continue;
                        r -= v->pad[0], s -= v->pad[1];
                        if (r >= a.h || s >= a.w) continue;
                        size_t from = c / oc * ic + k;
                        meet(o, i, (c * ic + k) * v->kernel[0] * v->kernel[1] + x,
                             ((n * a.c + from) * a.h + r) * a.w + s,
                             (n * b.c + c) * b.h * b.w + y);
                    }
}

static inline __attribute__((always_inline)) void oracle_dense(oracle *o, int i,
                                                               oracle_meet meet) {
    const nn_node *v = &o->net->nodes[i];
    size_t d = nn_shape_size(o->net->nodes[v->in[0]].shape), c = v->shape.c;
    for (size_t n = 0; n < o->n; n++)
        for (size_t j = 0; j < c; j++)
            for (size_t k = 0; k < d; k++) meet(o, i, j * d + k, n * d + k, n * c + j);
}

static inline void oracle_bias(oracle *o, int i, bool back) {
    const nn_node *v = &o->net->nodes[i];
    if (!v->bias) return;
    size_t plane = v->shape.h * v->shape.w;
    for (size_t k = 0; k < oracle_size(o, i); k++) {
        size_t c = k / plane % v->shape.c;
        if (back)
            oracle_param(o, o->grads, v->bias_at)[c] += (double)v->scale * o->grad[i][k];
        else
            o->value[i][k] +=
                (double)v->scale * oracle_param(o, o->params, v->bias_at)[c];
    }
}

/* Number j of channel c, where the channel has n * plane numbers. */
static inline size_t oracle_of_channel(const nn_node *v, size_t c, size_t j) {
    size_t plane = v->shape.h * v->shape.w;
    return (j / plane * v->shape.c + c) * plane + j % plane;
}

/* The mean and variance that channel c is normalised by. */
static inline void oracle_moments(const oracle *o, int i, size_t c, double *mean,
                                  double *var) {
    const nn_node *v = &o->net->nodes[i];
    size_t m = o->n * v->shape.h * v->shape.w;
    *mean = oracle_param(o, o->params, v->mean)[c];
    *var = oracle_param(o, o->params, v->var)[c];
    if (!o->train) return;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        for (size_t j = 0; j < m; j++) {
            double x = o->value[v->in[0]][oracle_of_channel(v, c, j)];
            sum += pass ? (x - *mean) * (x - *mean) : x;
        }
        *(pass ? var : mean) = sum / (double)m;
    }
}

static inline void oracle_norm(oracle *o, int i, bool back) {
    const nn_node *v = &o->net->nodes[i];
    const double *x = o->value[v->in[0]];
    size_t m = o->n * v->shape.h * v->shape.w;
    for (size_t c = 0; c < v->shape.c; c++) {
        double mean, var, sum_d = 0, sum_dx = 0;
        oracle_moments(o, i, c, &mean, &var);
        double by = 1 / sqrt(var + 1e-5);
        double gamma = oracle_param(o, o->params, v->weight)[c];
        double beta = oracle_param(o, o->params, v->bias_at)[c];
        for (size_t j = 0; j < m; j++) {
            size_t k = oracle_of_channel(v, c, j);
            double z = (x[k] - mean) * by;
            if (!back) o->value[i][k] = gamma * z + beta;
            sum_d += o->grad[i][k];
            sum_dx += o->grad[i][k] * z;
        }
        if (!back) continue;
        oracle_param(o, o->grads, v->weight)[c] += sum_dx;
        oracle_param(o, o->grads, v->bias_at)[c] += sum_d;
        for (size_t j = 0; j < m; j++) {
            size_t k = oracle_of_channel(v, c, j);
            double z = (x[k] - mean) * by, d = o->grad[i][k];
            if (o->train) d -= (sum_d + z * sum_dx) / (double)m;
            o->grad[v->in[0]][k] += gamma * by * d;
        }
    }
}

static inline double oracle_act(const nn_node *v, double x, bool slope) {
    double s = 1 / (1 + exp(-x)), t = tanh(x);
    switch (v->act) {
    case NN_ACT_RELU:
        return slope ? x > 0 : fmax(x, 0);
    case NN_ACT_LEAKY:
        return x > 0 ? (slope ? 1 : x) : (slope ? 1 : x) * (double)v->slope;
    case NN_ACT_RELU6:
        return slope ? x > 0 && x < 6 : fmin(fmax(x, 0), 6);
    case NN_ACT_TANH:
        return slope ? 1 - t * t : t;
    case NN_ACT_SIGMOID:
        return slope ? s * (1 - s) : s;
    case NN_ACT_SWISH:
        return slope ? s + x * s * (1 - s) : x * s;
    default:
        return slope ? 1 : x;
    }
}

static inline void oracle_pool(oracle *o, int i, bool back) {
    const nn_node *v = &o->net->nodes[i];
    nn_shape a = o->net->nodes[v->in[0]].shape, b = v->shape;
    const double *x = o->value[v->in[0]];
    double *dx = o->grad[v->in[0]];
    for (size_t k = 0; k < oracle_size(o, i); k++) {
        size_t plane = k / (b.h * b.w), y = k / b.w % b.h, z = k % b.w, best = SIZE_MAX;
        double sum = 0, count = (double)(v->kernel[0] * v->kernel[1]);
        for (size_t w = 0; w < v->kernel[0] * v->kernel[1]; w++) {
            size_t r = y * v->stride[0] + w / v->kernel[1];
            size_t s = z * v->stride[1] + w % v->kernel[1];
            if (r < v->pad[0] || s < v->pad[1]) continue;
            r -= v->pad[0], s -= v->pad[1];
            if (r >= a.h || s >= a.w) continue;
            size_t at = (plane * a.h + r) * a.w + s;
            sum += x[at];
            if (best == SIZE_MAX || x[at] > x[best]) best = at;
            if (back && v->kind == NN_AVGPOOL) dx[at] += o->grad[i][k] / count;
        }
        if (back && v->kind == NN_MAXPOOL) dx[best] += o->grad[i][k];
        if (!back) o->value[i][k] = v->kind == NN_MAXPOOL ? x[best] : sum / count;
    }
}

static inline void oracle_node(oracle *o, int i, bool back) {
    const nn_node *v = &o->net->nodes[i];
    switch (v->kind) {
    case NN_CONV:
        oracle_conv(o, i, back ? meet_backward : meet_forward);
        break;
    case NN_DENSE:
        oracle_dense(o, i, back ? meet_backward : meet_forward);
        break;
    case NN_NORM:
        oracle_norm(o, i, back);
        break;
    case NN_MAXPOOL:
    case NN_AVGPOOL:
        oracle_pool(o, i, back);
        break;
    default:
        for (size_t k = 0; k < oracle_size(o, i); k++) {
            double *x = o->value[v->in[0]], *dx = o->grad[v->in[0]];
            double other = v->kind == NN_ADD ? o->value[v->in[1]][k] : 0;
            if (!back && v->kind == NN_ACT) o->value[i][k] = oracle_act(v, x[k], false);
            if (!back && v->kind != NN_ACT) o->value[i][k] = x[k] + other;
            if (!back) continue;
            double d = o->grad[i][k];
            dx[k] += v->kind == NN_ACT ? d * oracle_act(v, x[k], true) : d;
            if (v->kind == NN_ADD) o->grad[v->in[1]][k] += d;
        }
    }
    oracle_bias(o, i, back);
}

/* Node 0's value is set by the caller. */
static inline void oracle_forward(oracle *o) {
    for (size_t i = 1; i < o->net->n_nodes; i++) {
        memset(o->value[i], 0, oracle_size(o, (int)i) * sizeof(double));
        oracle_node(o, (int)i, false);
    }
}

/* The last node's gradient is set by the caller. */
static inline void oracle_backward(oracle *o) {
    for (size_t i = 0; i + 1 < o->net->n_nodes; i++)
        memset(o->grad[i], 0, oracle_size(o, (int)i) * sizeof(double));
    memset(o->grads, 0, o->net->n_floats * sizeof(double));
    for (size_t i = o->net->n_nodes - 1; i > 0; i--) oracle_node(o, (int)i, true);
}

#endif
