/* SPDX-License-Identifier: Apache-2.0
 *
 * A small network on 300 samples, for the tests of the watch: trained, cancelled, with
 * units that are dead, and with its warnings kept.
 */
#ifndef TEST_NN_WATCHED_H
#define TEST_NN_WATCHED_H

#include <math.h>
#include <stdbool.h>

#include "../data/support.h"

#include "core/rng.h"
#include "nn/network.h"
#include "nn/train.h"
#include "scant/train.h"
#include "train_opts.h"

typedef struct fixture {
    scant_ctx *ctx;
    scant_data *data;
    scant_net *net;
    char warning[4096]; /* all of them */
    int warnings;
    int stop_after; /* cancel at this check; 0: never */
} fixture;

static inline int cancelled(void *user) {
    fixture *f = user;
    return f->stop_after && --f->stop_after == 0;
}

static inline void on_log(void *user, scant_log_level level, const char *text) {
    fixture *f = user;
    if (level != SCANT_LOG_WARNING) return;
    size_t used = strlen(f->warning);
    snprintf(f->warning + used, sizeof f->warning - used, "%s\n", text);
    f->warnings++;
}

static inline void assert_near(double got, double want, double off) {
    if (!(fabs(got - want) <= off)) fail_msg("%.12g, expected %.12g", got, want);
}

/* 300 samples of `data`; C classes (0: the data's). */
static inline void begin_with(fixture *f, const char *data, const char *model,
                              scant_net_opts o) {
    scant_ctx_opts opts = {.threads = 2, .user = f, .log = on_log, .cancel = cancelled};
    scant_data_opts d = {
        .count = 300, .seed = 3, .regression = strcmp(data, "waves") == 0};
    *f = (fixture){0};
    assert_int_equal(scant_ctx_create(&opts, &f->ctx), SCANT_OK);
    assert_int_equal(scant_data_open(f->ctx, data, &d, &f->data), SCANT_OK);
    scant_data_shape(f->data, o.shape);
    if (!o.classes) o.classes = scant_data_classes(f->data);
    assert_int_equal(scant_net_create(f->ctx, model, &o, &f->net), SCANT_OK);
}

static inline void begin(fixture *f, const char *model, scant_net_opts o) {
    begin_with(f, "blobs", model, o);
}

static inline void end(fixture *f) {
    scant_net_free(f->net);
    scant_data_free(f->data);
    scant_ctx_free(f->ctx);
}

static inline scant_train_state train(fixture *f, scant_train_opts o) {
    scant_train_state state;
    if (scant_net_train(f->net, f->data, &o, &state) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(f->ctx));
    return state;
}

/* Sets the biases of the first `count` units of a layer to -1000, so that they are dead,
 * and those of the others to 3, so that they are not. */
static inline void kill_units(fixture *f, const char *bias, size_t count) {
    const nn_param *p = nn_net_find(f->net->net, bias);
    float *w = malloc(f->net->net->n_floats * sizeof *w);
    assert_non_null(p);
    assert_int_equal(nn_weights_get(f->net->weights, w), SCANT_OK);
    for (size_t i = 0; i < p->count; i++) w[p->offset + i] = i < count ? -1000 : 3;
    assert_int_equal(nn_weights_set(f->net->weights, w), SCANT_OK);
    free(w);
}

static const scant_net_opts small __attribute__((unused)) = {.width = 20, .depth = 2};

#endif
