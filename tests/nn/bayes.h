/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of posterior draws and ensembles: networks, samples, predictions.
 */
#ifndef SCANT_TESTS_NN_BAYES_H
#define SCANT_TESTS_NN_BAYES_H

#include <math.h>

#include "../data/support.h"

#include "nn/network.h"
#include "scant/train.h"

static int cancel_now;

static inline int cancelled(void *user) {
    (void)user;
    return cancel_now;
}

static inline scant_ctx *ctx_of(unsigned threads, size_t cap) {
    scant_ctx *ctx;
    scant_ctx_opts o = {.threads = threads, .memory = cap, .cancel = cancelled};
    assert_int_equal(scant_ctx_create(&o, &ctx), SCANT_OK);
    return ctx;
}

#define OK(call)                                                                         \
    do {                                                                                 \
        if ((call) != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(ctx));                   \
    } while (0)

static inline scant_net *net_of(scant_ctx *ctx, const char *model, scant_net_opts o) {
    scant_net *net;
    OK(scant_net_create(ctx, model, &o, &net));
    return net;
}

/* n random samples of side x side pixels, or of width numbers if side is 0. */
static inline scant_data *data_of(scant_ctx *ctx, size_t n, size_t side, size_t width) {
    size_t all = n * (side ? side * side : width);
    float *x = malloc(all * sizeof *x);
    for (size_t i = 0; i < all; i++) x[i] = (float)unit_at(11, i);
    scant_array *array;
    scant_data *data;
    void *bytes;
    size_t size;
    OK(scant_array_wrap(ctx, "x", x, SCANT_F32, side ? 3 : 2,
                        side ? (size_t[]){n, side, side} : (size_t[]){n, width}, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    OK(scant_file_write(ctx, path_of("x.npy"), bytes, size));
    OK(scant_data_open(ctx, path_of("x.npy"), NULL, &data));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    free(x);
    return data;
}

static inline float *floats_of(size_t n) {
    float *x = malloc((n ? n : 1) * sizeof *x);
    assert_non_null(x);
    return x;
}

/* All outputs of a network for all samples. */
typedef struct predictions {
    size_t m, n, c, d;
    float *features, *logits, *probs, *samples;
} predictions;

static inline predictions predict(scant_net *net, const scant_data *data) {
    scant_ctx *ctx = net->ctx;
    predictions s = {scant_net_draws(net),
                     scant_data_count(data),
                     scant_net_classes(net),
                     scant_net_features(net),
                     0,
                     0,
                     0,
                     0};
    s.features = floats_of(s.n * s.d);
    s.logits = floats_of(s.n * s.c);
    s.probs = floats_of(s.n * s.c);
    s.samples = floats_of(s.m * s.n * s.c);
    OK(scant_net_predict(net, data, NULL, 0,
                         &(scant_outputs){.features = s.features,
                                          .logits = s.logits,
                                          .probs = s.probs,
                                          .draws = s.samples}));
    return s;
}

static inline void predictions_free(predictions *s) {
    free(s->features), free(s->logits), free(s->probs), free(s->samples);
}

static inline void assert_near(const float *a, const float *b, size_t n,
                               double tolerance) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= tolerance))
            fail_msg("%zu: %.9g and %.9g", i, (double)a[i], (double)b[i]);
}

#endif
