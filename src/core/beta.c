/* SPDX-License-Identifier: Apache-2.0
 *
 * The regularised incomplete beta function by its continued fraction (Lentz's method),
 * and quantiles by bisection, which is fast enough: few are needed.
 */
#include "core/beta.h"

#include <math.h>

static double fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double before = f;
        for (int k = 0; k < 2; k++) {
            double term = k ? odd : even;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            f *= c * d;
        }
        if (fabs(f - before) <= 1e-16 * fabs(f)) break;
    }
    return f;
}

/* Thread-safe, unlike lgamma(), which writes the sign to a global variable. */
static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

double scant__beta_cdf(double a, double b, double x, double y) {
    if (x <= 0) return 0;
    if (y <= 0) return 1;
    double front =
        exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2)) return front * fraction(a, b, x) / a;
    return 1 - front * fraction(b, a, y) / b;
}

double scant__beta_quantile(double a, double b, double share) {
    double low = 0, high = 1;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double middle = low + (high - low) / 2;
        if (scant__beta_cdf(a, b, middle, 1 - middle) < share)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* At the lower bound, k or more successes have probability (1 - level) / 2; at the upper
 * bound, k or fewer do. Binomial sums are beta probabilities, so both bounds are beta
 * quantiles. */
scant__interval scant__binomial_interval(size_t k, size_t n, double level) {
    double tail = (1 - level) / 2, hits = (double)k, misses = (double)(n - k);
    scant__interval i = {0, 1};
    if (k > 0) i.low = scant__beta_quantile(hits, misses + 1, tail);
    if (k < n) i.high = 1 - scant__beta_quantile(misses, hits + 1, tail);
    return i;
}
