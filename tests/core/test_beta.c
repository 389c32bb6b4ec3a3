/* SPDX-License-Identifier: Apache-2.0
 *
 * The incomplete beta function against closed forms; the interval of a share against
 * closed forms, printed tables and its promised coverage.
 */
#include "core/beta.h"

#include <math.h>

#include "../support.h"

static void assert_near(double a, double b, double within) {
    if (!(fabs(a - b) <= within)) fail_msg("%.17g, expected %.17g", a, b);
}

static void beta_share_matches_its_closed_forms(void **state) {
    (void)state;
    for (int i = 0; i <= 20; i++) {
        double x = i / 20.0;
        assert_near(scant__beta_cdf(1, 1, x, 1 - x), x, 1e-14);
        assert_near(scant__beta_cdf(3, 1, x, 1 - x), x * x * x, 1e-14);
        assert_near(scant__beta_cdf(1, 4, x, 1 - x), 1 - pow(1 - x, 4), 1e-14);
        assert_near(scant__beta_cdf(2, 2, x, 1 - x), x * x * (3 - 2 * x), 1e-14);
        assert_near(scant__beta_cdf(2.5, 7, x, 1 - x) + scant__beta_cdf(7, 2.5, 1 - x, x),
                    1, 1e-13);
    }
}

static void a_quantile_has_its_share_below_it(void **state) {
    (void)state;
    const double shapes[] = {0.5, 1, 2, 10, 300, 5000};
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            for (double p = 0.025; p < 1; p += 0.19) {
                double x = scant__beta_quantile(shapes[i], shapes[j], p);
                if (x > 1 - 1e-9) continue; /* 1 - x has too few digits left */
                assert_near(scant__beta_cdf(shapes[i], shapes[j], x, 1 - x), p, 1e-8);
            }
}

static void intervals_of_none_and_all_match_their_closed_forms(void **state) {
    (void)state;
    const size_t sizes[] = {1, 2, 10, 77, 1000, 100000};
    for (size_t i = 0; i < 6; i++) {
        double n = (double)sizes[i], low = pow(0.025, 1 / n);
        scant__interval none = scant__binomial_interval(0, sizes[i], 0.95);
        scant__interval all = scant__binomial_interval(sizes[i], sizes[i], 0.95);
        assert_true(none.low == 0 && all.high == 1);
        assert_near(none.high, 1 - low, 1e-10);
        assert_near(all.low, low, 1e-10);
    }
}

static void without_data_the_interval_is_0_to_1(void **state) {
    (void)state;
    scant__interval i = scant__binomial_interval(0, 0, 0.95);
    assert_true(i.low == 0 && i.high == 1);
}

/* From printed tables of exact binomial limits. */
static void intervals_match_printed_tables(void **state) {
    (void)state;
    static const struct {
        size_t k, n;
        double low, high;
    } table[] = {{8, 10, 0.4439, 0.9748},   {1, 10, 0.0025, 0.4450},
                 {5, 10, 0.1871, 0.8129},   {10, 20, 0.2720, 0.7280},
                 {15, 100, 0.0865, 0.2353}, {50, 100, 0.3983, 0.6017}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        scant__interval out = scant__binomial_interval(table[i].k, table[i].n, 0.95);
        assert_near(out.low, table[i].low, 5.1e-5);
        assert_near(out.high, table[i].high, 5.1e-5);
    }
}

/* The exact coverage: sums the probabilities of all k whose interval contains p. */
static double coverage(size_t n, double p) {
    double sum = 0, term = pow(1 - p, (double)n);
    for (size_t k = 0; k <= n; k++) {
        scant__interval i = scant__binomial_interval(k, n, 0.95);
        if (i.low <= p && p <= i.high) sum += term;
        term *= (double)(n - k) / (double)(k + 1) * p / (1 - p);
    }
    return sum;
}

static void
the_interval_covers_every_probability_at_least_95_percent_of_the_time(void **state) {
    (void)state;
    const size_t sizes[] = {1, 5, 20, 88, 200};
    double least = 1;
    for (size_t i = 0; i < 5; i++)
        for (double p = 0.01; p < 0.995; p += 0.0275) {
            double c = coverage(sizes[i], p);
            if (c < 0.95 - 1e-9) fail_msg("n %zu, p %g: %.6f", sizes[i], p, c);
            least = fmin(least, c);
        }
    assert_true(least < 0.97); /* not much wider than necessary either */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beta_share_matches_its_closed_forms),
        cmocka_unit_test(a_quantile_has_its_share_below_it),
        cmocka_unit_test(intervals_of_none_and_all_match_their_closed_forms),
        cmocka_unit_test(without_data_the_interval_is_0_to_1),
        cmocka_unit_test(intervals_match_printed_tables),
        cmocka_unit_test(
            the_interval_covers_every_probability_at_least_95_percent_of_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
