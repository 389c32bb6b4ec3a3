/* SPDX-License-Identifier: Apache-2.0
 *
 * The interval of a paired difference: by hand, and by what it promises.
 */
#include "../support.h"

#include <math.h>

#include "loop/project.h"

static void assert_near(double a, double b, double within) {
    if (!(fabs(a - b) <= within)) fail_msg("%.17g is not %.17g", a, b);
}

/* 10 and 2 of 100: p = 11/102, q = 3/102, d = 8/102, and the reach is
 * 1.96 sqrt((p + q - d^2) / 102) = 0.07027. */
static void a_gain_has_bonett_and_prices_interval(void **state) {
    (void)state;
    project_gain g = project_gain_of(10, 2, 100);
    assert_near(g.mean, 0.08, 1e-12);
    assert_near(g.low, 0.07843137 - 0.0702678, 1e-6);
    assert_near(g.high, 0.07843137 + 0.0702678, 1e-6);
}

static void a_gain_turned_round_is_a_loss(void **state) {
    (void)state;
    project_gain g = project_gain_of(7, 3, 40), h = project_gain_of(3, 7, 40);
    assert_true(g.mean == -h.mean);
    assert_near(g.low, -h.high, 1e-15);
    assert_near(g.high, -h.low, 1e-15);
}

static void pairs_that_never_differ_leave_some_doubt(void **state) {
    (void)state;
    project_gain g = project_gain_of(0, 0, 20);
    assert_true(g.mean == 0 && g.low < -0.05 && g.high > 0.05);
}

static void of_one_pair_nothing_is_known(void **state) {
    (void)state;
    for (size_t n = 0; n < 2; n++) {
        project_gain g = project_gain_of(0, 0, n);
        assert_true(isnan(g.mean) && isnan(g.low) && isnan(g.high));
    }
}

/* Sums over all ways that n pairs can fall out; terms by logarithms of factorials. */
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

/* Not exact as that of a share is: it may be a percent or two below what it says. */
static void the_interval_covers_the_true_gain(void **state) {
    (void)state;
    const size_t sizes[] = {20, 60, 150};
    const double parts[][2] = {{.01, .01}, {.1, .02}, {.1, .1}, {.3, .1}, {.02, .25}};
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 5; j++) {
            double c = coverage(sizes[i], parts[j][0], parts[j][1]);
            if (c < 0.93)
                fail_msg("n %zu, p %g, q %g: %.4f", sizes[i], parts[j][0], parts[j][1],
                         c);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gain_has_bonett_and_prices_interval),
        cmocka_unit_test(a_gain_turned_round_is_a_loss),
        cmocka_unit_test(pairs_that_never_differ_leave_some_doubt),
        cmocka_unit_test(of_one_pair_nothing_is_known),
        cmocka_unit_test(the_interval_covers_the_true_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
