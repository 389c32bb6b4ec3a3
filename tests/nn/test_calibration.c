/* SPDX-License-Identifier: Apache-2.0
 *
 * Reliability diagrams: the bin of a confidence, the hand-computed error, and the effect
 * of a temperature.
 */
#include <math.h>

#include "../data/support.h"

#include "nn/loss.h"
#include "scant/train.h"

enum { BINS = SCANT_CALIBRATION_BINS };

static void assert_near(double got, double want) {
    if (!(fabs(got - want) <= 1e-6)) fail_msg("%.9g, expected %.9g", got, want);
}

/* Logits of two classes, the first with probability p. */
static void put_pair(float *z, double p) {
    z[0] = (float)log(p);
    z[1] = (float)log(1 - p);
}

/* Confidences 0.6 (once correct, once wrong), 0.9 (correct) and 0.99 (wrong) are in bins
 * 9, 14 and 15, counted from 1. 0.6 is the edge of bins 9 and 10, up to the rounding of
 * its logits. */
static void bins_and_error_match_hand_computed_ones(void **state) {
    static const double p[] = {0.6, 0.9, 0.6, 0.99};
    static const int32_t labels[] = {0, 0, 1, 1};
    float z[8];
    scant_calibration_bin bins[BINS];
    (void)state;
    for (size_t i = 0; i < 4; i++) put_pair(z + 2 * i, p[i]);
    double error = nn_calibration(z, labels, 4, 2, 1, bins);
    for (size_t b = 0; b < BINS; b++) {
        size_t want = b == 8 ? 2 : b == 13 || b == 14 ? 1 : 0;
        assert_int_equal(bins[b].count, want);
        if (want) continue;
        assert_true(bins[b].confidence == 0 && bins[b].accuracy == 0);
    }
    assert_near(bins[8].confidence, 0.6);
    assert_near(bins[8].accuracy, 0.5);
    assert_near(bins[13].confidence, 0.9);
    assert_near(bins[13].accuracy, 1);
    assert_near(bins[14].confidence, 0.99);
    assert_near(bins[14].accuracy, 0);
    assert_near(error, (2 * 0.1 + 0.1 + 0.99) / 4);
    /* T = 2 takes the square root of the odds: 9/1 becomes 3/1 */
    nn_calibration(z, labels, 4, 2, 2, bins);
    assert_int_equal(bins[11].count, 1);
    assert_near(bins[11].confidence, 0.75);
}

/* Equal logits of c classes have confidence 1/c. For 3, 5 and 15 classes that is the edge
 * of two bins and counts in the lower one; a slightly higher confidence is in the upper
 * one. */
static void an_edge_belongs_to_the_lower_bin(void **state) {
    static const size_t classes[] = {3, 5, 15}, bin[] = {4, 2, 0};
    static const int32_t label = 0;
    float z[15] = {0};
    scant_calibration_bin bins[BINS];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        double error = nn_calibration(z, &label, 1, classes[i], 1, bins);
        assert_int_equal(bins[bin[i]].count, 1);
        assert_near(error, 1 - 1 / (double)classes[i]); /* ties: the lowest class */
        z[0] = 1e-5f;
        nn_calibration(z, &label, 1, classes[i], 1, bins);
        assert_int_equal(bins[bin[i] + 1].count, 1);
        z[0] = 0;
    }
}

static void one_class_or_no_samples_give_no_error(void **state) {
    static const float z[] = {-3, 7};
    static const int32_t labels[] = {0, 0};
    scant_calibration_bin bins[BINS];
    (void)state;
    assert_true(nn_calibration(z, labels, 2, 1, 1, bins) == 0);
    assert_int_equal(bins[BINS - 1].count, 2);
    assert_true(bins[BINS - 1].confidence == 1 && bins[BINS - 1].accuracy == 1);
    assert_true(nn_calibration(NULL, NULL, 0, 3, 1, bins) == 0);
    for (size_t b = 0; b < BINS; b++) assert_int_equal(bins[b].count, 0);
}

/* The logits are three times those that the labels were drawn from, so T = 3 calibrates
 * them. T is fitted on the first half; the error is measured on the second. */
static void a_temperature_fitted_on_other_samples_calibrates(void **state) {
    enum { N = 4000, C = 3, HALF = N / 2 };
    static float z[N * C];
    static int32_t labels[N];
    scant_calibration_bin bins[BINS];
    uint32_t random = 12345;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        double sum = 0, u[C + 1];
        for (size_t k = 0; k <= C; k++) {
            random = random * 1664525u + 1013904223u;
            u[k] = (random >> 8) / 16777216.0;
        }
        for (size_t k = 0; k < C; k++) sum += exp(4 * u[k]);
        double left = u[C] * sum;
        for (size_t k = 0; k < C; k++) {
            z[i * C + k] = (float)(3 * 4 * u[k]);
            if (left >= 0) labels[i] = (int32_t)k;
            left -= exp(4 * u[k]);
        }
    }
    const float *other = z + HALF * C;
    double t = nn_temperature(z, labels, HALF, C);
    assert_true(t > 2.7 && t < 3.3);
    double before = nn_calibration(other, labels + HALF, HALF, C, 1, bins);
    double after = nn_calibration(other, labels + HALF, HALF, C, t, bins);
    assert_true(before > 0.15);
    assert_true(after < 0.04);
}

/* ---- networks ---- */

/* Evaluates the middle rows and compares with nn_calibration() of their logits. */
static void a_network_is_evaluated_at_a_temperature(void **state) {
    enum { N = 60, C = 3 };
    scant_ctx *ctx = ctx_threads(1);
    scant_data *data;
    scant_net *net;
    scant_net_opts o = {.width = 8, .depth = 1, .classes = C};
    size_t rows[N];
    float logits[N * C];
    int32_t labels[N];
    scant_evaluation e, plain;
    scant_calibration scaled;
    scant_calibration_bin bins[BINS];
    (void)state;
    assert_int_equal(
        scant_data_open(ctx, "blobs", &(scant_data_opts){.count = 90, .seed = 3}, &data),
        SCANT_OK);
    scant_data_shape(data, o.shape);
    assert_int_equal(scant_net_create(ctx, "mlp", &o, &net), SCANT_OK);
    for (size_t i = 0; i < N; i++) {
        rows[i] = 15 + i;
        labels[i] = scant_data_labels(data)[rows[i]];
    }
    assert_int_equal(
        scant_net_predict(net, data, rows, N, &(scant_outputs){.logits = logits}),
        SCANT_OK);
    assert_int_equal(scant_net_evaluate_at(net, data, rows, N, 0.25, &e, &scaled),
                     SCANT_OK);
    assert_near(e.calibration, nn_calibration(logits, labels, N, C, 1, bins));
    assert_memory_equal(e.bins, bins, sizeof bins);
    assert_true(scaled.temperature == 0.25);
    assert_near(scaled.error, nn_calibration(logits, labels, N, C, 0.25, bins));
    assert_memory_equal(scaled.bins, bins, sizeof bins);
    assert_int_equal(scant_net_evaluate(net, data, rows, N, &plain), SCANT_OK);
    assert_memory_equal(&plain, &e, sizeof e);
    const double wrong[] = {0, -1, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(scant_net_evaluate_at(net, data, rows, N, wrong[i], &e, &scaled),
                         SCANT_EUSAGE);
        assert_says(ctx, "temperature", "expected a positive number");
    }
    scant_net_free(net);
    scant_data_free(data);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_and_error_match_hand_computed_ones),
        cmocka_unit_test(an_edge_belongs_to_the_lower_bin),
        cmocka_unit_test(one_class_or_no_samples_give_no_error),
        cmocka_unit_test(a_temperature_fitted_on_other_samples_calibrates),
        cmocka_unit_test(a_network_is_evaluated_at_a_temperature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
