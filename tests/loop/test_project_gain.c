/* SPDX-License-Identifier: Apache-2.0
 *
 * The interval of a paired difference: by hand, and its coverage.
 */
#include "../support.h"

#include <math.h>

#include "loop/project.h"

static void assert_near(double a, double b, double within) {
    if (!(fabs(a - b) <= within)) fail_msg("%.17g is not %.17g", a, b);
}

/* 10 and 2 of 100: p = 11/102, q = 3/102, d = 8/102, and the half-width is
 * 1.96 sqrt((p + q - d^2) / 102) = 0.07027. */
static void a_gain_has_bonett_and_prices_interval(void **state) {
    (void)state;
    project_gain g = project_gain_of(10, 2, 100);
    assert_near(g.mean, 0.08, 1e-12);
    assert_near(g.low, 0.07843137 - 0.0702678, 1e-6);
    assert_near(g.high, 0.07843137 + 0.0702678, 1e-6);
}

static void swapping_the_models_negates_the_interval(void **state) {
    (void)state;
    project_gain g = project_gain_of(7, 3, 40), h = project_gain_of(3, 7, 40);
    assert_true(g.mean == -h.mean);
    assert_near(g.low, -h.high, 1e-15);
    assert_near(g.high, -h.low, 1e-15);
}

static void pairs_that_never_differ_still_have_an_interval(void **state) {
    (void)state;
    project_gain g = project_gain_of(0, 0, 20);
    assert_true(g.mean == 0 && g.low < -0.05 && g.high > 0.05);
}

static void fewer_than_two_pairs_give_no_gain(void **state) {
    (void)state;
    for (size_t n = 0; n < 2; n++) {
        project_gain g = project_gain_of(0, 0, n);
        assert_true(isnan(g.mean) && isnan(g.low) && isnan(g.high));
    }
}

/* The exact coverage: a sum over all outcomes of n pairs, by logarithms of factorials. */
static double coverage(size_t n, double p, double q) {
    double sum = 0, all = lgamma((double)n + 1);
    for (size_t b = 0; b <= n; b++)
        for (size_t c = 0; b + c <= n; c++) {
            project_gain g = project_gain_of(b, c, n);
            double rest = (double)(n - b - c);
            if (g.low > p - q || g.high < p - q) continue;
            sum += exp(all - lgamma((double)b + 1) - lgamma((double)c + 1) -
                       lgamma(rest + 1) + (double)b * log(p) + (double)c * log(q) +
                       rest * log(1 - p - q));
        }
    return sum;
}

/* Unlike the exact interval of a share, it may cover a percent or two less than 95 %. */
static void the_interval_covers_the_true_gain(void **state) {
    (void)state;
    const size_t sizes[] = {20, 60, 150};
    const double parts[][2] = {{.01, .01}, {.1, .02}, {.1, .1}, {.3, .1}, {.02, .25}};
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 5; j++) {
            double c = coverage(sizes[i], parts[j][0], parts[j][1]);
            if (c < 0.93)
                fail_msg("n %zu, p %g, q %g: covers %.4f", sizes[i], parts[j][0],
                         parts[j][1], c);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gain_has_bonett_and_prices_interval),
        cmocka_unit_test(swapping_the_models_negates_the_interval),
        cmocka_unit_test(pairs_that_never_differ_still_have_an_interval),
        cmocka_unit_test(fewer_than_two_pairs_give_no_gain),
        cmocka_unit_test(the_interval_covers_the_true_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
