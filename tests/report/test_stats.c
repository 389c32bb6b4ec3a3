/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics compared with SciPy 1.10.1. The comment above a table is the code that made
 * its numbers (from scipy import stats).
 */
#include <math.h>

#include "report/stats.h"
#include "support.h"

static void assert_near(double got, double want, double relative) {
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("%.17g, expected %.17g", got, want);
}

/* 2 * stats.t.sf(abs(t), freedom). The exact value of the second is 1/2; SciPy's error
 * there is 1e-15. Our error for a million degrees of freedom is 4e-10. */
static void tails_of_t_match_scipy(void **state) {
    (void)state;
    static const double cases[][3] = {
        {0, 1, 1},
        {1, 1, 0.5},
        {2.776, 4, 0.050022778319976403},
        {12.706204736432095, 1, 0.049999999998991303},
        {-3.5, 9, 0.0067235157630589522},
        {0.001, 30, 0.99920873576648517},
        {50, 2, 0.00039976015988808051},
        {1e3, 4, 5.9999600002100148e-12},
        {8, 1000, 3.426661482391499e-15},
        {2, 1e6, 0.045500533851319198},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(stats_t_two_sided(cases[i][0], cases[i][1]), cases[i][2], 1e-9);
    assert_true(stats_t_two_sided(INFINITY, 3) == 0);
    assert_true(isnan(stats_t_two_sided(NAN, 3)));
}

/* stats.t.ppf((1 + level) / 2, freedom); SciPy's error in the sixth is 4e-10. */
static void quantiles_of_t_match_scipy(void **state) {
    (void)state;
    static const double cases[][3] = {
        {0.95, 1, 12.706204736432095}, {0.95, 2, 4.3026527299112747},
        {0.95, 4, 2.7764451051977987}, {0.95, 9, 2.2621571627409915},
        {0.95, 29, 2.045229642132703}, {0.5, 3, 0.76489232808089103},
        {0.99, 7, 3.4994832973505026}, {0.95, 1000, 1.9623390808264074},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(stats_t_quantile(cases[i][0], cases[i][1]), cases[i][2], 1e-9);
}

/* a, b = [71.2, 70.1, 73.4, 69.8, 72.0], [70.5, 70.3, 71.9, 69.1, 70.8]
 * d = numpy.array(a) - b
 * stats.ttest_rel(a, b); stats.t.interval(.95, 4, loc=d.mean(), scale=stats.sem(d))
 * stats.permutation_test((d,), numpy.sum, permutation_type='samples',
 *                        n_resamples=numpy.inf) */
static void a_paired_test_matches_scipy(void **state) {
    (void)state;
    const double d[] = {71.2 - 70.5, 70.1 - 70.3, 73.4 - 71.9, 69.8 - 69.1, 72.0 - 70.8};
    stats_paired s = stats_paired_of(d, 5);
    assert_int_equal(s.n, 5);
    assert_near(s.mean, 0.78, 1e-13);
    assert_near(s.t, 2.7009191081513286, 1e-12);
    assert_near(s.p, 0.054042846497212929, 1e-11);
    assert_near(s.low, -0.021811196610241557, 1e-10);
    assert_near(s.high, 1.5818111966102437, 1e-11);
    assert_true(stats_sign_flips(d, 5) == 0.125);
    const double e[] = {.3, -.1, .4, .2, .5, -.2, .6, .1};
    assert_true(stats_sign_flips(e, 8) == 0.0859375);
}

static void few_or_equal_numbers_have_no_interval(void **state) {
    (void)state;
    const double same[] = {2, 2, 2}, none[] = {0, 0}, one[] = {5};
    stats_paired s = stats_paired_of(same, 3);
    /* without a spread there is no interval */
    assert_true(s.mean == 2 && isnan(s.low) && isnan(s.high) && isnan(s.t) && isnan(s.p));
    const double rounded[] = {0.3 - 0.1, 0.4 - 0.2, 0.5 - 0.3};
    assert_true(rounded[0] != rounded[2]);
    s = stats_paired_of(rounded, 3);
    assert_true(isnan(s.low) && isnan(s.p));
    const double close[] = {2, 2.000001}; /* relative difference 5e-7: not rounding */
    s = stats_paired_of(close, 2);
    assert_true(s.low < 2 && s.p < 1e-5);
    s = stats_paired_of(none, 2);
    assert_true(s.mean == 0 && s.t == 0 && s.p == 1 && isnan(s.low));
    s = stats_paired_of(one, 1);
    assert_true(s.mean == 5 && isnan(s.low) && isnan(s.t) && isnan(s.p));
    assert_true(isnan(stats_paired_of(one, 0).mean));
    assert_true(stats_sign_flips(none, 2) == 1);    /* all signs give 0 */
    assert_true(stats_sign_flips(same, 3) == 0.25); /* all plus, all minus */
    assert_true(isnan(stats_sign_flips(one, 0)));
    assert_true(stats_std(one, 1) == 0);
    const double x[] = {1, 2, 3, 4};
    assert_near(stats_std(x, 4), sqrt(5.0 / 3), 1e-15);
}

/* For n equal differences, two of the 2^n choices of signs are as far from 0. */
static void all_signs_are_tried_for_few_numbers(void **state) {
    (void)state;
    double x[STATS_EXACT];
    for (size_t i = 0; i < STATS_EXACT; i++) x[i] = 0.1; /* sums are rounded */
    for (size_t n = 1; n <= STATS_EXACT; n++)
        assert_true(stats_sign_flips(x, n) == ldexp(2, -(int)n));
}

/* 2 * stats.binom.sf(35, 64, .5); tolerance: four standard deviations of the draws. */
static void signs_are_drawn_for_many_numbers(void **state) {
    (void)state;
    double x[64];
    for (size_t i = 0; i < 64; i++)
        x[i] = i < 36 ? 1 : -1; /* sum and standard deviation are 8 */
    double p = stats_sign_flips(x, 64);
    assert_true(fabs(p - 0.38173) < 0.0062);
    double far[64];
    for (size_t i = 0; i < 64; i++) far[i] = 1;
    assert_near(stats_sign_flips(far, 64), 1e-5, 1e-12); /* only the signs of the data */
}

/* 0.01 x 4; 0.02 x 3; 0.03 x 2, but not below the one before; 0.5. */
static void holm_matches_hand_computed_values(void **state) {
    (void)state;
    double p[] = {0.03, NAN, 0.01, 0.5, 0.02};
    size_t order[5];
    stats_holm(p, 5, order);
    assert_near(p[2], 0.04, 1e-12);
    assert_near(p[4], 0.06, 1e-12);
    assert_near(p[0], 0.06, 1e-12);
    assert_near(p[3], 0.5, 1e-12);
    assert_true(isnan(p[1]));
    double large[] = {0.9, 0.8};
    stats_holm(large, 2, order);
    assert_true(large[0] == 1 && large[1] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_of_t_match_scipy),
        cmocka_unit_test(quantiles_of_t_match_scipy),
        cmocka_unit_test(a_paired_test_matches_scipy),
        cmocka_unit_test(few_or_equal_numbers_have_no_interval),
        cmocka_unit_test(all_signs_are_tried_for_few_numbers),
        cmocka_unit_test(signs_are_drawn_for_many_numbers),
        cmocka_unit_test(holm_matches_hand_computed_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
