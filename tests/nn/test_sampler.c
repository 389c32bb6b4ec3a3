/* SPDX-License-Identifier: Apache-2.0
 *
 * Drawing samples by weight and weighting their loss give the same step on average
 * (theorem 4.2 of "Sample complexity of deep active learning").
 */
#include <math.h>

#include "../data/support.h"

#include "nn/network.h"
#include "scant/train.h"
#include "train_opts.h"

enum { N = 20, WIDTH = 4, D = 8, FLOATS = WIDTH * D + WIDTH };

typedef struct fixture {
    scant_ctx *ctx;
    scant_data *data;
    scant_net *net;
    size_t rows[N];
    float weights[N], start[FLOATS];
} fixture;

static void begin(fixture *b) {
    const scant_ctx_opts opts = {.threads = 1};
    const scant_net_opts net = {
        .shape = {D, 1, 1}, .classes = 1, .width = WIDTH, .activation = "swish"};
    const scant_data_opts data = {.count = N, .seed = 3, .regression = true};
    assert_int_equal(scant_ctx_create(&opts, &b->ctx), SCANT_OK);
    assert_int_equal(scant_data_open(b->ctx, "heavy", &data, &b->data), SCANT_OK);
    assert_int_equal(scant_net_create(b->ctx, "onehidden", &net, &b->net), SCANT_OK);
    assert_int_equal(b->net->net->n_floats, FLOATS);
    assert_int_equal(nn_weights_get(b->net->weights, b->start), SCANT_OK);
    for (size_t i = 0; i < N; i++) {
        b->rows[i] = i;
        b->weights[i] = (float)(i % 5) * .5f; /* mean 1 */
    }
}

static void end(fixture *b) {
    scant_net_free(b->net);
    scant_data_free(b->data);
    scant_ctx_free(b->ctx);
}

/* out: the change of the weights by one step from the start, with learning rate 1. */
static void step(fixture *b, bool draw, size_t batch, uint64_t seed, double *out) {
    float moved[FLOATS];
    scant_train_state state;
    const scant_train_opts opts =
        TRAIN_OPTS(NULL, NULL, with.rows = b->rows, with.n_rows = N,
                   with.weights = b->weights, with.draw = draw, with.batch = batch,
                   with.steps = 1, with.lr = 1, with.momentum = 0, with.seed = seed);
    assert_int_equal(nn_weights_set(b->net->weights, b->start), SCANT_OK);
    if (scant_net_train(b->net, b->data, &opts, &state) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(b->ctx));
    assert_int_equal(nn_weights_get(b->net->weights, moved), SCANT_OK);
    for (size_t i = 0; i < FLOATS; i++) out[i] = (double)moved[i] - (double)b->start[i];
}

static void the_mean_step_of_drawn_samples_matches_the_weighted_loss(void **state) {
    (void)state;
    enum { SEEDS = 4000 };
    fixture b;
    double sum[FLOATS] = {0}, square[FLOATS] = {0}, want[FLOATS], got[FLOATS], far = 0;
    begin(&b);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        step(&b, true, 5, seed, got);
        for (size_t i = 0; i < FLOATS; i++)
            sum[i] += got[i], square[i] += got[i] * got[i];
    }
    step(&b, false, N, 0, want);
    for (size_t i = 0; i < FLOATS; i++) {
        double mean = sum[i] / SEEDS;
        double error = sqrt(fmax(0, square[i] / SEEDS - mean * mean) / SEEDS) + 1e-7;
        if (fabs(mean - want[i]) > 4.5 * error)
            fail_msg("%g, expected %g", mean, want[i]);
        far = fmax(far, fabs(want[i]) / error);
    }
    assert_true(far > 20); /* a step 25% longer would fail */
    end(&b);
}

/* Replacing them by other samples does not change the step. */
static void samples_of_weight_0_are_never_drawn(void **state) {
    (void)state;
    fixture b;
    double a[FLOATS], c[FLOATS];
    begin(&b);
    for (uint64_t seed = 0; seed < 50; seed++) {
        for (size_t i = 0; i < N; i++) b.rows[i] = i;
        step(&b, true, N, seed, a);
        for (size_t i = 0; i < N; i += 5) b.rows[i] = (i + 7) % N;
        step(&b, true, N, seed, c);
        for (size_t i = 0; i < FLOATS; i++) assert_true(a[i] == c[i]);
    }
    end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_step_of_drawn_samples_matches_the_weighted_loss),
        cmocka_unit_test(samples_of_weight_0_are_never_drawn),
    };
    return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
