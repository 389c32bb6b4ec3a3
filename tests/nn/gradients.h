/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of gradients: small networks with perturbed weights and
 * statistics, samples in memory, and reference gradients (plain_*()) from one backward
 * pass per sample, with a batch of one.
 */
#ifndef SCANT_TESTS_NN_GRADIENTS_H
#define SCANT_TESTS_NN_GRADIENTS_H

#include <math.h>
#include <stdio.h>

#include "../support.h"

#include "data/dataset_int.h"
#include "nn/network.h"
#include "nn/plan.h"
#include "scant/train.h"

typedef struct fixture {
    scant_ctx *ctx; /* borrowed */
    scant_net *net;
    scant_data data;
    size_t n, classes, parameters;
    float *numbers;
} fixture;

typedef struct model_case {
    const char *model;
    scant_net_opts opts;
    size_t n;
} model_case;

/* Every kind of layer and every code path: convolutions with few and with many positions,
 * with more patches than are unfolded at once, with strides, of 1x1, depthwise, with and
 * without bias. */
static const model_case model_cases[] = {
    {"mlp", {.shape = {1, 6, 6}, .classes = 4, .width = 9, .depth = 2}, 37},
    {"onehidden", {.shape = {1, 4, 4}, .classes = 3, .width = 32}, 5},
    {"lenet5", {.shape = {1, 28, 28}, .classes = 10}, 5},
    {"cnn", {.shape = {3, 32, 32}, .classes = 5}, 5},
    {"gapcnn", {.shape = {3, 12, 12}, .classes = 3, .width = 4, .activation = "tanh"}, 5},
    {"gapcnn", {.shape = {3, 9, 13}, .classes = 3, .width = 4, .activation = "swish"}, 4},
    {"gapcnn", {.shape = {3, 80, 72}, .classes = 2, .width = 2}, 3},
    {"gapcnn-nopool",
     {.shape = {3, 7, 6}, .classes = 3, .width = 3, .activation = "tanh"},
     4},
    {"wrn-28-2", {.shape = {3, 8, 8}, .classes = 3}, 2},
    {"mobilenetv2", {.shape = {3, 32, 32}, .classes = 3}, 2},
};
enum {
    MODEL_CASES = sizeof model_cases / sizeof *model_cases,
    FEW_CASES = MODEL_CASES - 1 /* without the slowest */
};

/* Changes every number a little; variances stay positive. */
static inline void perturb_weights(scant_net *net) {
    const nn_net *shape = net->net;
    float *w = malloc(shape->n_floats * sizeof *w);
    assert_non_null(w);
    assert_int_equal(nn_weights_get(net->weights, w), SCANT_OK);
    for (size_t i = 0; i < shape->n_params; i++) {
        const nn_param *p = &shape->params[i];
        if (!p->trained && p->role != NN_MEAN && p->role != NN_VAR) continue;
        for (size_t k = 0; k < p->count; k++) {
            double u = unit_at(77, p->offset + k) - 0.5;
            if (p->role == NN_WEIGHT)
                w[p->offset + k] *= (float)(1 + 0.2 * u);
            else
                w[p->offset + k] += (float)(0.4 * u);
        }
    }
    assert_int_equal(nn_weights_set(net->weights, w), SCANT_OK);
    free(w);
}

static inline fixture fixture_open(scant_ctx *ctx, const model_case *m) {
    fixture f = {.ctx = ctx, .n = m->n, .classes = m->opts.classes};
    scant_net_opts opts = m->opts;
    opts.seed = 5;
    if (scant_net_create(ctx, m->model, &opts, &f.net) != SCANT_OK)
        fail_msg("%s: %s", m->model, scant_ctx_errmsg(ctx));
    perturb_weights(f.net);
    f.parameters = scant_net_parameters(f.net);
    size_t width = opts.shape[0] * opts.shape[1] * opts.shape[2];
    f.numbers = malloc(f.n * width * sizeof *f.numbers);
    assert_non_null(f.numbers);
    for (size_t i = 0; i < f.n * width; i++) f.numbers[i] = (float)normal_at(3, i);
    static char name[] = "samples";
    f.data = (scant_data){.ctx = ctx,
                          .name = name,
                          .count = f.n,
                          .images = true,
                          .read = scant__data_read_numbers,
                          .numbers = f.numbers};
    memcpy(f.data.shape, opts.shape, sizeof opts.shape);
    return f;
}

static inline void fixture_close(fixture *f) {
    scant_net_free(f->net);
    free(f->numbers);
}

/* ---- reference: one backward pass per sample ---- */

typedef struct plain {
    nn_plan *plan;
    float *gradient; /* in plain order */
    float *logits;   /* of the sample */
} plain;

static inline plain plain_open(fixture *f) {
    plain p;
    assert_int_equal(nn_plan_create(f->net->weights, 1, NN_TRACE, &p.plan), SCANT_OK);
    p.gradient = malloc(f->parameters * sizeof *p.gradient);
    p.logits = nn_plan_logits(p.plan);
    assert_non_null(p.gradient);
    return p;
}

static inline void plain_close(plain *p) {
    nn_plan_destroy(p->plan);
    free(p->gradient);
}

static inline void plain_forward(fixture *f, plain *p, size_t sample) {
    size_t width = scant__data_width(&f->data);
    memcpy(nn_plan_input(p->plan), f->numbers + sample * width, width * sizeof(float));
    assert_int_equal(nn_plan_forward(p->plan, 0, 0), SCANT_OK);
}

static inline void plain_backward(fixture *f, plain *p, const double *d_logits) {
    for (size_t c = 0; c < f->classes; c++)
        nn_plan_d_logits(p->plan)[c] = (float)d_logits[c];
    assert_int_equal(nn_plan_backward(p->plan), SCANT_OK);
    assert_int_equal(
        nn_weights_unpack(f->net->weights, f->net->weights->grads, true, p->gradient),
        SCANT_OK);
}

/* The gradient of the cross-entropy; label -1: the class with the largest logit. */
static inline void plain_loss(fixture *f, plain *p, size_t sample, int label) {
    double d[16], sum = 0;
    plain_forward(f, p, sample);
    for (size_t c = 0; c < f->classes; c++) sum += d[c] = exp((double)p->logits[c]);
    if (label < 0) {
        label = 0;
        for (size_t c = 1; c < f->classes; c++)
            if (p->logits[c] > p->logits[label]) label = (int)c;
    }
    for (size_t c = 0; c < f->classes; c++) d[c] /= sum;
    d[label] -= 1;
    plain_backward(f, p, d);
}

/* The gradient of output c. */
static inline void plain_output(fixture *f, plain *p, size_t sample, size_t c) {
    double d[16] = {0};
    d[c] = 1;
    plain_forward(f, p, sample);
    plain_backward(f, p, d);
}

static inline double dot_of(const float *a, const float *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* |got - want| <= tolerance * size. Float passes agree to a few millionths; other batch
 * sizes may use other kernels. */
static inline void assert_close(double got, double want, double size, double tolerance,
                                const char *what, size_t at) {
    if (!(fabs(got - want) <= tolerance * size))
        fail_msg("%s %zu: %.9g, expected %.9g (size %g)", what, at, got, want, size);
}

#endif
