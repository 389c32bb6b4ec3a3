/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of semi-supervised methods: samples, a network, training.
 */
#ifndef SCANT_TESTS_SSL_FIXTURE_H
#define SCANT_TESTS_SSL_FIXTURE_H

#include <math.h>

#include "../data/support.h"

#include "nn/network.h"
#include "scant/train.h"
#include "ssl/ssl.h"

static int stop_after;     /* cancel at this check; 0: never */
static int checks;         /* checks so far */
static char warning[1024]; /* the last warning */

static inline int cancelled(void *user) {
    (void)user;
    checks++;
    return stop_after && --stop_after == 0;
}

static inline void keep_warning(void *user, scant_log_level level, const char *text) {
    (void)user, (void)level;
    snprintf(warning, sizeof warning, "%s", text);
}

typedef struct fixture {
    scant_ctx *ctx;
    scant_data *data, *test;
    scant_net *net;
} fixture;

static inline fixture fixture_with(unsigned threads, const char *data, size_t count,
                                   const char *model, scant_net_opts o) {
    fixture b = {0};
    scant_ctx_opts opts = {.threads = threads, .cancel = cancelled, .log = keep_warning};
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

static inline fixture fixture_of(const char *data, size_t count, const char *model,
                                 scant_net_opts o) {
    return fixture_with(2, data, count, model, o);
}

static inline void fixture_free(fixture *b) {
    scant_net_free(b->net);
    scant_data_free(b->data);
    scant_data_free(b->test);
    scant_ctx_free(b->ctx);
}

static inline scant_train_state train_mixed(fixture *b, scant_train_opts o, bool mixed) {
    scant_train_state state;
    if (ssl_train(b->net, b->data, &o, mixed, &state) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(b->ctx));
    return state;
}

static inline scant_train_state train(fixture *b, scant_train_opts o) {
    return train_mixed(b, o, false);
}

/* In plain order; the caller frees them. */
static inline float *weights_of(fixture *b) {
    float *w = malloc(b->net->net->n_floats * sizeof *w);
    assert_int_equal(nn_weights_get(b->net->weights, w), SCANT_OK);
    return w;
}

static inline void assert_near_weights(fixture *a, fixture *b, double off) {
    float *x = weights_of(a), *y = weights_of(b);
    for (size_t i = 0; i < a->net->net->n_floats; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= off))
            fail_msg("weight %zu: %.9g and %.9g", i, (double)x[i], (double)y[i]);
    free(x), free(y);
}

static inline void assert_same_weights(fixture *a, fixture *b) {
    float *x = weights_of(a), *y = weights_of(b);
    assert_memory_equal(x, y, a->net->net->n_floats * sizeof *x);
    free(x), free(y);
}

static inline double accuracy(fixture *b) {
    scant_evaluation e;
    assert_int_equal(scant_net_evaluate(b->net, b->test, NULL, 0, &e), SCANT_OK);
    return e.accuracy;
}

/* Sets rows to the first `per` rows of each class, in order; returns their number. */
static inline size_t rows_per_class(const fixture *b, size_t per, size_t *rows) {
    size_t counts[16] = {0}, n = 0;
    const int32_t *labels = scant_data_labels(b->data);
    for (size_t i = 0; i < scant_data_count(b->data); i++)
        if (counts[labels[i]]++ < per) rows[n++] = i;
    return n;
}

#endif
