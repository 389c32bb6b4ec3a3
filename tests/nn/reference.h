/* SPDX-License-Identifier: Apache-2.0
 *
 * A reference implementation of every layer: plain loops in double, straight from the
 * definitions. Slow; it shares only the list of nodes with the code under test.
 */
#ifndef SCANT_TESTS_NN_REFERENCE_H
#define SCANT_TESTS_NN_REFERENCE_H

#include <math.h>

#include "../support.h"

#include "nn/net.h"

typedef struct reference {
    const nn_net *net;
    size_t n;
    bool train;     /* normalise with the batch's statistics */
    double *params; /* plain order */
    double *grads;
    double **value, **grad; /* per node */
} reference;

static inline size_t reference_size(const reference *o, int i) {
    return o->n * nn_shape_size(o->net->nodes[i].shape);
}

static inline reference reference_new(const nn_net *net, size_t n, bool train) {
    reference o = {.net = net, .n = n, .train = train};
    o.params = calloc(net->n_floats, sizeof *o.params);
    o.grads = calloc(net->n_floats, sizeof *o.grads);
    o.value = calloc(net->n_nodes, sizeof *o.value);
    o.grad = calloc(net->n_nodes, sizeof *o.grad);
    for (size_t i = 0; i < net->n_nodes; i++) {
        o.value[i] = calloc(reference_size(&o, (int)i), sizeof(double));
        o.grad[i] = calloc(reference_size(&o, (int)i), sizeof(double));
    }
    return o;
}

static inline void reference_free(reference *o) {
    for (size_t i = 0; i < o->net->n_nodes; i++) free(o->value[i]), free(o->grad[i]);
    free(o->value), free(o->grad), free(o->params), free(o->grads);
}

static inline double *reference_param(const reference *o, double *of, int p) {
    return of + o->net->params[p].offset;
}

/* Handles one weight with one input and one output number, in the forward or backward
 * pass.
 */
typedef void (*reference_step)(reference *o, int i, size_t w, size_t in, size_t out);

static inline __attribute__((always_inline)) void
step_forward(reference *o, int i, size_t w, size_t in, size_t out) {
    const nn_node *node = &o->net->nodes[i];
    o->value[i][out] += (double)node->scale *
                        reference_param(o, o->params, node->weight)[w] *
                        o->value[node->in[0]][in];
}

static inline __attribute__((always_inline)) void
step_backward(reference *o, int i, size_t w, size_t in, size_t out) {
    const nn_node *node = &o->net->nodes[i];
    double d = (double)node->scale * o->grad[i][out];
    reference_param(o, o->grads, node->weight)[w] += d * o->value[node->in[0]][in];
    o->grad[node->in[0]][in] += d * reference_param(o, o->params, node->weight)[w];
}

static inline __attribute__((always_inline)) void reference_conv(reference *o, int i,
                                                                 reference_step step) {
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
                        step(o, i, (c * ic + k) * v->kernel[0] * v->kernel[1] + x,
                             ((n * a.c + from) * a.h + r) * a.w + s,
                             (n * b.c + c) * b.h * b.w + y);
                    }
}

static inline __attribute__((always_inline)) void reference_dense(reference *o, int i,
                                                                  reference_step step) {
    const nn_node *v = &o->net->nodes[i];
    size_t d = nn_shape_size(o->net->nodes[v->in[0]].shape), c = v->shape.c;
    for (size_t n = 0; n < o->n; n++)
        for (size_t j = 0; j < c; j++)
            for (size_t k = 0; k < d; k++) step(o, i, j * d + k, n * d + k, n * c + j);
}

static inline void reference_bias(reference *o, int i, bool back) {
    const nn_node *v = &o->net->nodes[i];
    if (!v->bias) return;
    size_t plane = v->shape.h * v->shape.w;
    for (size_t k = 0; k < reference_size(o, i); k++) {
        size_t c = k / plane % v->shape.c;
        if (back)
            reference_param(o, o->grads, v->bias_at)[c] +=
                (double)v->scale * o->grad[i][k];
        else
            o->value[i][k] +=
                (double)v->scale * reference_param(o, o->params, v->bias_at)[c];
    }
}

/* Index of number j of channel c; a channel has n * plane numbers. */
static inline size_t reference_of_channel(const nn_node *v, size_t c, size_t j) {
    size_t plane = v->shape.h * v->shape.w;
    return (j / plane * v->shape.c + c) * plane + j % plane;
}

/* The mean and variance that channel c is normalised by. */
static inline void reference_moments(const reference *o, int i, size_t c, double *mean,
                                     double *var) {
    const nn_node *v = &o->net->nodes[i];
    size_t m = o->n * v->shape.h * v->shape.w;
    *mean = reference_param(o, o->params, v->mean)[c];
    *var = reference_param(o, o->params, v->var)[c];
    if (!o->train) return;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        for (size_t j = 0; j < m; j++) {
            double x = o->value[v->in[0]][reference_of_channel(v, c, j)];
            sum += pass ? (x - *mean) * (x - *mean) : x;
        }
        *(pass ? var : mean) = sum / (double)m;
    }
}

static inline void reference_norm(reference *o, int i, bool back) {
    const nn_node *v = &o->net->nodes[i];
    const double *x = o->value[v->in[0]];
    size_t m = o->n * v->shape.h * v->shape.w;
    for (size_t c = 0; c < v->shape.c; c++) {
        double mean, var, sum_d = 0, sum_dx = 0;
        reference_moments(o, i, c, &mean, &var);
        double by = 1 / sqrt(var + 1e-5);
        double gamma = reference_param(o, o->params, v->weight)[c];
        double beta = reference_param(o, o->params, v->bias_at)[c];
        for (size_t j = 0; j < m; j++) {
            size_t k = reference_of_channel(v, c, j);
            double z = (x[k] - mean) * by;
            if (!back) o->value[i][k] = gamma * z + beta;
            sum_d += o->grad[i][k];
            sum_dx += o->grad[i][k] * z;
        }
        if (!back) continue;
        reference_param(o, o->grads, v->weight)[c] += sum_dx;
        reference_param(o, o->grads, v->bias_at)[c] += sum_d;
        for (size_t j = 0; j < m; j++) {
            size_t k = reference_of_channel(v, c, j);
            double z = (x[k] - mean) * by, d = o->grad[i][k];
            if (o->train) d -= (sum_d + z * sum_dx) / (double)m;
            o->grad[v->in[0]][k] += gamma * by * d;
        }
    }
}

static inline double reference_act(const nn_node *v, double x, bool slope) {
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
    case NN_ACT_SQUARE:
        return slope ? 2 * x : x * x;
    default:
        return slope ? 1 : x;
    }
}

static inline void reference_pool(reference *o, int i, bool back) {
    const nn_node *v = &o->net->nodes[i];
    nn_shape a = o->net->nodes[v->in[0]].shape, b = v->shape;
    const double *x = o->value[v->in[0]];
    double *dx = o->grad[v->in[0]];
    for (size_t k = 0; k < reference_size(o, i); k++) {
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

static inline void reference_node(reference *o, int i, bool back) {
    const nn_node *v = &o->net->nodes[i];
    switch (v->kind) {
    case NN_CONV:
        reference_conv(o, i, back ? step_backward : step_forward);
        break;
    case NN_DENSE:
        reference_dense(o, i, back ? step_backward : step_forward);
        break;
    case NN_NORM:
        reference_norm(o, i, back);
        break;
    case NN_MAXPOOL:
    case NN_AVGPOOL:
        reference_pool(o, i, back);
        break;
    default:
        for (size_t k = 0; k < reference_size(o, i); k++) {
            double *x = o->value[v->in[0]], *dx = o->grad[v->in[0]];
            double other = v->kind == NN_ADD ? o->value[v->in[1]][k] : 0;
            if (!back && v->kind == NN_ACT)
                o->value[i][k] = reference_act(v, x[k], false);
            if (!back && v->kind != NN_ACT) o->value[i][k] = x[k] + other;
            if (!back) continue;
            double d = o->grad[i][k];
            dx[k] += v->kind == NN_ACT ? d * reference_act(v, x[k], true) : d;
            if (v->kind == NN_ADD) o->grad[v->in[1]][k] += d;
        }
    }
    reference_bias(o, i, back);
}

/* The caller sets node 0's value. */
static inline void reference_forward(reference *o) {
    for (size_t i = 1; i < o->net->n_nodes; i++) {
        memset(o->value[i], 0, reference_size(o, (int)i) * sizeof(double));
        reference_node(o, (int)i, false);
    }
}

/* The caller sets the last node's gradient. */
static inline void reference_backward(reference *o) {
    for (size_t i = 0; i + 1 < o->net->n_nodes; i++)
        memset(o->grad[i], 0, reference_size(o, (int)i) * sizeof(double));
    memset(o->grads, 0, o->net->n_floats * sizeof(double));
    for (size_t i = o->net->n_nodes - 1; i > 0; i--) reference_node(o, (int)i, true);
}

#endif
