/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of methods share: samples, a network, a training.
 */
#ifndef SCANT_TESTS_SSL_BEDS_H
#define SCANT_TESTS_SSL_BEDS_H

#include <math.h>

#include "../data/support.h"

#include "nn/network.h"
#include "scant/train.h"
#include "ssl/ssl.h"

static int stop_after;  /* questions whether to stop; 0: never */
static int asked;       /* such questions so far */
static char said[1024]; /* the last warning */

static inline int cancelled(void *user) {
    (void)user;
    asked++;
    return stop_after && --stop_after == 0;
}

static inline void log_to_said(void *user, scant_log_level level, const char *text) {
    (void)user, (void)level;
    snprintf(said, sizeof said, "%s", text);
}

typedef struct bed {
    scant_ctx *ctx;
    scant_data *data, *test;
    scant_net *net;
} bed;

static inline bed bed_with(unsigned threads, const char *data, size_t count,
                           const char *model, scant_net_opts o) {
    bed b = {0};
    scant_ctx_opts opts = {.threads = threads, .cancel = cancelled, .log = log_to_said};
    scant_data_opts d = {.count = count, .seed = 3};
    assert_int_equal(scant_ctx_create(&opts, &b.ctx), SCANT_OK);
    assert_int_equal(scant_data_open(b.ctx, data, &d, &b.data), SCANT_OK);
    d.test = 1;
    assert_int_equal(scant_data_open(b.ctx, data, &d, &b.test), SCANT_OK);
    scant_data_shape(b.data, o.shape);
    if (!o.classes) o.classes = scant_data_classes(b.data);
    assert_int_equal(scant_net_create(b.ctx, model, &o, &b.net), SCANT_OK);
    return b;
}

static inline bed bed_of(const char *data, size_t count, const char *model,
                         scant_net_opts o) {
    return bed_with(2, data, count, model, o);
}

static inline void bed_end(bed *b) {
    scant_net_free(b->net);
    scant_data_free(b->data);
    scant_data_free(b->test);
    scant_ctx_free(b->ctx);
}

static inline scant_train_state train_so(bed *b, scant_train_opts o, bool mixed) {
    scant_train_state state;
    if (ssl_train(b->net, b->data, &o, mixed, &state) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(b->ctx));
    return state;
}

static inline scant_train_state train(bed *b, scant_train_opts o) {
    return train_so(b, o, false);
}

/* In plain order; new. */
static inline float *weights_of(bed *b) {
    float *w = malloc(b->net->net->n_floats * sizeof *w);
    assert_int_equal(nn_weights_get(b->net->weights, w), SCANT_OK);
    return w;
}

static inline void assert_near_weights(bed *a, bed *b, double off) {
    float *x = weights_of(a), *y = weights_of(b);
    for (size_t i = 0; i < a->net->net->n_floats; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= off))
            fail_msg("weight %zu: %.9g and %.9g", i, (double)x[i], (double)y[i]);
    free(x), free(y);
}

static inline void assert_same_weights(bed *a, bed *b) {
    float *x = weights_of(a), *y = weights_of(b);
    assert_memory_equal(x, y, a->net->net->n_floats * sizeof *x);
    free(x), free(y);
}

static inline double accuracy(bed *b) {
    scant_evaluation e;
    assert_int_equal(scant_net_evaluate(b->net, b->test, NULL, 0, &e), SCANT_OK);
    return e.accuracy;
}

/* The first rows of each class: per of them. */
static inline size_t rows_per_class(const bed *b, size_t per, size_t *rows) {
    size_t counts[16] = {0}, n = 0;
    const int32_t *labels = scant_data_labels(b->data);
    for (size_t i = 0; i < scant_data_count(b->data); i++)
        if (counts[labels[i]]++ < per) rows[n++] = i;
    return n;
}

#endif
