/* SPDX-License-Identifier: Apache-2.0
 *
 * Thresholds of FreeMatch, its fairness loss, weights of SoftMatch, and distribution
 * alignment, on cases computed by hand.
 */
#include "fixture.h"

#include "core/argmax.h"
#include "ssl/adaptive.h"
#include "ssl/align.h"
#include "ssl/running.h"

/* Numbers near 1 in floats. */
#define NEAR(x, y) assert_true(fabs((double)(x) - (double)(y)) < 1e-6)

/* ---- running means ---- */

static void the_automatic_decay_covers_a_hundredth_of_the_training(void **state) {
    (void)state;
    const double automatic = (double)NAN;
    NEAR(ssl_running_decay(automatic, 2000), 0.95);
    NEAR(ssl_running_decay(automatic, 10000), 0.99);
    NEAR(ssl_running_decay(automatic, 1000000), 0.999);
    NEAR(ssl_running_decay(automatic, 500), 0.9);
    NEAR(ssl_running_decay(automatic, 1), 0.9);
    assert_true(ssl_running_decay(0.5, 2000) == 0.5);
    assert_true(ssl_running_decay(0, 2000) == 0);
}

static void a_repeated_step_counts_once(void **state) {
    (void)state;
    float stamp = 0;
    assert_true(ssl_running_begins(&stamp, 0));
    assert_false(ssl_running_begins(&stamp, 0));
    assert_true(ssl_running_begins(&stamp, 1));
    assert_false(ssl_running_begins(&stamp, 1));
}

/* ---- FreeMatch ---- */

static void add_batch(size_t n, size_t c, const float *probs, double decay,
                      float *state) {
    int32_t labels[1000];
    for (size_t i = 0; i < n; i++) labels[i] = (int32_t)scant__argmax(probs + i * c, c);
    ssl_freematch_average(n, c, probs, labels, decay, state);
}

/* p, h and t start at 1/2. The batch has mean prediction (0.6, 0.4), shares (2/3, 1/3) of
 * the most likely classes and mean confidence (0.9 + 0.6 + 0.7) / 3. With a decay of 1/2
 * p = (0.55, 0.45), h = (7/12, 5/12) and t = (1/2 + 11/15) / 2. */
static void thresholds_of_two_classes(void **state) {
    (void)state;
    const float probs[] = {0.9f, 0.1f, 0.6f, 0.4f, 0.3f, 0.7f};
    float s[SSL_FREEMATCH_STATE(2)];
    ssl_freematch_init(2, s);
    add_batch(3, 2, probs, 0.5, s);
    const double want[] = {0.55, 0.45, 7 / 12.0, 5 / 12.0, (0.5 + 11 / 15.0) / 2};
    for (size_t i = 0; i < 5; i++) NEAR(s[i], want[i]);
    NEAR(ssl_freematch_threshold(2, s, 0), want[4]);
    NEAR(ssl_freematch_threshold(2, s, 1), want[4] * 0.45 / 0.55);
}

/* Every row has 0.5 for one class of 1000; 999 rows name class 7 and one names class 3.
 */
static void thresholds_of_a_thousand_classes(void **state) {
    (void)state;
    enum { C = 1000, N = 1000 };
    const double rest = 0.5 / (C - 1), p7 = (999 * 0.5 + rest) / N,
                 p3 = (0.5 + 999 * rest) / N;
    float *probs = malloc(N * C * sizeof *probs), s[SSL_FREEMATCH_STATE(C)];
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < C; k++)
            probs[i * C + k] = k == (i ? 7 : 3) ? 0.5f : (float)rest;
    ssl_freematch_init(C, s);
    add_batch(N, C, probs, 0, s);
    NEAR(ssl_freematch_threshold(C, s, 7), 0.5);
    NEAR(ssl_freematch_threshold(C, s, 3), 0.5 * p3 / p7);
    NEAR(ssl_freematch_threshold(C, s, 0), 0.5 * rest / p7);
    NEAR(s[C + 7], 0.999);
    NEAR(s[C + 3], 0.001);
    assert_true(s[C] == 0);
    free(probs);
}

/* Its threshold is then its confidence, that of the others almost 0. */
static void thresholds_if_one_class_is_predicted(void **state) {
    (void)state;
    const float probs[] = {0, 1, 0, 0, 1, 0};
    float s[SSL_FREEMATCH_STATE(3)];
    ssl_freematch_init(3, s);
    for (int i = 0; i < 200; i++) add_batch(2, 3, probs, 0.9, s);
    NEAR(ssl_freematch_threshold(3, s, 1), 1);
    assert_true(ssl_freematch_threshold(3, s, 1) <= 1);
    NEAR(ssl_freematch_threshold(3, s, 0), 0);
}

static void equal_probabilities_pass_their_threshold(void **state) {
    (void)state;
    const size_t classes[] = {2, 3, 10, 1000};
    for (size_t i = 0; i < 4; i++) {
        size_t c = classes[i];
        float probs[2 * 1000], s[SSL_FREEMATCH_STATE(1000)], q = 1 / (float)c;
        for (size_t k = 0; k < 2 * c; k++) probs[k] = q;
        ssl_freematch_init(c, s);
        for (int step = 0; step < 50; step++) add_batch(2, c, probs, 0.9, s);
        for (size_t k = 0; k < c; k++)
            assert_true((double)q >= ssl_freematch_threshold(c, s, k));
    }
}

/* ---- fairness loss ---- */

/* Of two views (3/4, 1/4) and (1/4, 3/4), p / h is 1 for both classes, so b = (1/2, 1/2)
 * and the loss is -log 2 whatever a is. A third view has weight 0. */
static void the_fairness_loss_of_two_views(void **state) {
    (void)state;
    const float l = logf(3), logits[] = {l, 0, 0, l, 9, 0}, weights[] = {1, 1, 0};
    const float s[] = {0.7f, 0.3f, 0.5f, 0.5f, 0.9f};
    float probs[6], d[6] = {0};
    double scratch[6];
    NEAR(ssl_fairness(3, 2, s, logits, weights, 1, probs, scratch, d), -log(2));
    assert_true(d[4] == 0 && d[5] == 0);
    /* a = (0.7, 0.3), so dL/dp_k = (2 a_k - 1) 2 / 2 = +-0.4; q_i0 q_i1 = 3/16. The first
     * logit of a view gets 0.8 * 3/16 / 2 views */
    for (int i = 0; i < 2; i++) {
        NEAR(d[2 * i], 0.075);
        NEAR(d[2 * i + 1], -0.075);
    }
}

static void fairness_without_views_is_0(void **state) {
    (void)state;
    const float logits[] = {1, 2}, weights[] = {0}, s[] = {0.5f, 0.5f, 0.5f, 0.5f, 1};
    float probs[2], d[2] = {0};
    double scratch[6];
    assert_true(ssl_fairness(1, 2, s, logits, weights, 1, probs, scratch, d) == 0);
    assert_true(ssl_fairness(0, 2, s, logits, weights, 1, probs, scratch, d) == 0);
    assert_true(d[0] == 0 && d[1] == 0);
}

/* Central differences of a loss computed from float probabilities: their error is about
 * 1e-7 / step, that of the quotient about step^2. */
static void compare_with_differences(size_t c, size_t n, size_t named) {
    enum { MOST = 8 * 20 };
    const double step = 0.01;
    float logits[MOST], weights[20], probs[MOST], d[MOST] = {0}, s[2 * 8 + 1];
    double scratch[3 * 8];
    for (size_t k = 0; k < 2 * c + 1; k++) s[k] = (float)(0.1 + 0.8 * unit_at(5, k));
    s[c] = 0; /* a class that was never the most likely */
    for (size_t i = 0; i < n; i++) {
        weights[i] = i % 4 != 3;
        for (size_t k = 0; k < c; k++)
            logits[i * c + k] = (float)(2 * unit_at(3, i * c + k));
        logits[i * c + i % named] += 3; /* differences change no class */
    }
    ssl_fairness(n, c, s, logits, weights, 2, probs, scratch, d);
    for (size_t i = 0; i < n * c; i++) {
        float unused[MOST], kept = logits[i];
        logits[i] = (float)((double)kept + step);
        double up = ssl_fairness(n, c, s, logits, weights, 0, probs, scratch, unused);
        logits[i] = (float)((double)kept - step);
        double down = ssl_fairness(n, c, s, logits, weights, 0, probs, scratch, unused);
        logits[i] = kept;
        double want = 2 * (up - down) / (2 * step);
        if (!(fabs((double)d[i] - want) < 2e-4))
            fail_msg("%zu classes, logit %zu: %g, expected %g", c, i, (double)d[i], want);
    }
}

static void the_gradient_of_the_fairness_loss_is_that_of_differences(void **state) {
    (void)state;
    compare_with_differences(2, 8, 2);
    compare_with_differences(5, 20, 5);
    compare_with_differences(8, 20, 3); /* five classes are the most likely of no view */
    compare_with_differences(5, 1, 1);
}

/* ---- SoftMatch ---- */

/* Confidences 0.5, 0.7, 0.9: mean 0.7, variance 0.04 (n - 1 = 2). With a decay of 1/2
 * from 1/2 and 1: 0.6 and 0.52. */
static void weights_of_three_confidences(void **state) {
    (void)state;
    const float confidence[] = {0.5f, 0.7f, 0.9f};
    float s[SSL_SOFTMATCH_STATE];
    ssl_softmatch_init(2, s);
    NEAR(s[0], 0.5);
    NEAR(s[1], 1);
    ssl_softmatch_average(3, confidence, 0.5, s);
    NEAR(s[0], 0.6);
    NEAR(s[1], 0.52);
    NEAR(ssl_softmatch_weight(s, 0.5), exp(-0.01 * 4 / (2 * 0.52)));
    assert_true(ssl_softmatch_weight(s, 0.7) == 1);
    assert_true(ssl_softmatch_weight(s, 1) == 1);
    ssl_softmatch_average(3, confidence, 0, s);
    NEAR(ssl_softmatch_weight(s, 0.5), exp(-2)); /* two half deviations below the mean */
}

static void equal_confidences_have_weight_1(void **state) {
    (void)state;
    for (size_t c = 2; c <= 1000; c += c < 10 ? 1 : 99) {
        float q = 1 / (float)c, confidence[] = {q, q, q, q, q, q, q},
              s[SSL_SOFTMATCH_STATE];
        for (size_t n = 1; n <= 7; n++) {
            ssl_softmatch_init(c, s);
            ssl_softmatch_average(n, confidence, 0, s); /* the variance is 0 */
            assert_true(ssl_softmatch_weight(s, (double)q) > 0.999);
        }
    }
}

/* ---- alignment ---- */

static void alignment_multiplies_by_target_over_mean(void **state) {
    (void)state;
    const double target[] = {3, 1};
    const float mean[] = {0.6f, 0.4f};
    float q[] = {0.5f, 0.5f, 0.2f, 0.8f};
    ssl_align(2, 2, target, mean, q);
    /* factors 0.75 / 0.6 and 0.25 / 0.4: 1.25 and 0.625 */
    NEAR(q[0], 2 / 3.0);
    NEAR(q[2], 0.25 / 0.75);
    NEAR(q[2] + q[3], 1);
}

static void alignment_changes_nothing_if_the_mean_is_the_target(void **state) {
    (void)state;
    const double target[] = {5, 3, 2};
    const float mean[] = {0.5f, 0.3f, 0.2f}, even[] = {1 / 3.0f, 1 / 3.0f, 1 / 3.0f};
    const float before[] = {0.7f, 0.2f, 0.1f, 0, 0, 1};
    float q[6];
    memcpy(q, before, sizeof q);
    ssl_align(2, 3, target, mean, q);
    for (int i = 0; i < 6; i++) NEAR(q[i], before[i]);
    ssl_align(2, 3, NULL, even, q);
    for (int i = 0; i < 6; i++) NEAR(q[i], before[i]);
}

/* If all predictions are the same, they become the target. */
static void alignment_moves_the_mean_prediction_to_the_target(void **state) {
    (void)state;
    const double target[] = {1, 0, 3};
    const float row[] = {0.1f, 0.6f, 0.3f};
    float mean[] = {0, 0, 0}, q[6];
    for (int step = 0; step < 3; step++) {
        memcpy(q, row, sizeof row);
        memcpy(q + 3, row, sizeof row);
        ssl_align_average(2, 3, q, 0.9, step == 0, mean);
        ssl_align(2, 3, target, mean, q);
        for (int i = 0; i < 6; i++)
            assert_true(fabs((double)q[i] - target[i % 3] / 4) < 1e-5); /* TINY */
    }
}

/* No class of the target has any probability. */
static void aligned_predictions_are_finite_and_sum_to_1(void **state) {
    (void)state;
    const double target[] = {1, 0};
    float mean[] = {0, 0}, q[] = {0, 1};
    ssl_align_average(1, 2, q, 0.9, true, mean);
    ssl_align(1, 2, target, mean, q);
    assert_true(q[0] == 0 && q[1] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_automatic_decay_covers_a_hundredth_of_the_training),
        cmocka_unit_test(a_repeated_step_counts_once),
        cmocka_unit_test(thresholds_of_two_classes),
        cmocka_unit_test(thresholds_of_a_thousand_classes),
        cmocka_unit_test(thresholds_if_one_class_is_predicted),
        cmocka_unit_test(equal_probabilities_pass_their_threshold),
        cmocka_unit_test(the_fairness_loss_of_two_views),
        cmocka_unit_test(fairness_without_views_is_0),
        cmocka_unit_test(the_gradient_of_the_fairness_loss_is_that_of_differences),
        cmocka_unit_test(weights_of_three_confidences),
        cmocka_unit_test(equal_confidences_have_weight_1),
        cmocka_unit_test(alignment_multiplies_by_target_over_mean),
        cmocka_unit_test(alignment_changes_nothing_if_the_mean_is_the_target),
        cmocka_unit_test(alignment_moves_the_mean_prediction_to_the_target),
        cmocka_unit_test(aligned_predictions_are_finite_and_sum_to_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
