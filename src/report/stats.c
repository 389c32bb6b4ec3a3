/* SPDX-License-Identifier: Apache-2.0
 *
 * Student's t by the regularised incomplete beta function (core/beta.h); quantiles by
 * bisection, since only a few are needed.
 */
#include "report/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/beta.h"
#include "core/rng.h"

enum { DRAWS = 99999 };

/* A smaller deviation, relative to the mean, is rounding error: a real one is larger,
 * even with a test set of ten million samples. */
static const double ALIKE = 1e-9;

double stats_mean(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return n ? sum / (double)n : (double)NAN;
}

double stats_std(const double *x, size_t n) {
    double mean = stats_mean(x, n), sum = 0;
    if (n < 2) return 0;
    for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)(n - 1));
}

/* ---- Student's t ------------------------------------------------------------------- */

double stats_t_two_sided(double t, double freedom) {
    if (isnan(t)) return NAN;
    if (isinf(t)) return 0;
    double whole = freedom + t * t;
    if (isinf(whole)) return 0;
    return scant__beta_cdf(freedom / 2, 0.5, freedom / whole, t * t / whole);
}

double stats_t_quantile(double level, double freedom) {
    double low = 0, high = 1;
    while (stats_t_two_sided(high, freedom) > 1 - level && high < 1e300) high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double middle = low + (high - low) / 2;
        if (stats_t_two_sided(middle, freedom) > 1 - level)
            low = middle;
        else
            high = middle;
    }
    return high;
}

stats_paired stats_paired_of(const double *x, size_t n) {
    stats_paired s = {.n = n, .mean = stats_mean(x, n), .low = NAN, .high = NAN};
    s.t = s.p = NAN;
    if (n < 2) return s;
    double freedom = (double)(n - 1), deviation = stats_std(x, n);
    if (deviation <= ALIKE * fabs(s.mean)) {
        if (s.mean == 0) s.t = 0, s.p = 1;
        return s;
    }
    double error = deviation / sqrt((double)n);
    double reach = stats_t_quantile(0.95, freedom) * error;
    s.low = s.mean - reach;
    s.high = s.mean + reach;
    s.t = s.mean / error;
    s.p = stats_t_two_sided(s.t, freedom);
    return s;
}

/* ---- sign flips -------------------------------------------------------------------- */

static double flipped_sum(const double *x, size_t n, uint64_t signs) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += signs >> i & 1 ? -x[i] : x[i];
    return sum;
}

/* Returns the share of all sign choices whose sum is at least `reach` from 0. A sum costs
 * one addition: the stored sum of the first half plus the sum of the second half. */
static double all_flips(const double *x, size_t n, double reach) {
    double low[1 << (STATS_EXACT / 2)];
    size_t half = n / 2, lows = (size_t)1 << half, highs = (size_t)1 << (n - half);
    size_t far = 0;
    for (size_t i = 0; i < lows; i++) low[i] = flipped_sum(x, half, i);
    for (size_t j = 0; j < highs; j++) {
        double high = flipped_sum(x + half, n - half, j);
        for (size_t i = 0; i < lows; i++) far += fabs(low[i] + high) >= reach;
    }
    return (double)far / ((double)lows * (double)highs);
}

static double drawn_flips(const double *x, size_t n, double reach) {
    const scant__rng rng = {0, SCANT__RNG_FLIPS};
    size_t words = (n + 63) / 64, far = 1;
    for (size_t draw = 0; draw < DRAWS; draw++) {
        double sum = 0;
        for (size_t w = 0; w < words; w++) {
            size_t rest = n - 64 * w;
            sum += flipped_sum(x + 64 * w, rest < 64 ? rest : 64,
                               scant__rng_u64(&rng, draw * words + w));
        }
        far += fabs(sum) >= reach;
    }
    return (double)far / (DRAWS + 1);
}

double stats_sign_flips(const double *x, size_t n) {
    double sum = 0, size = 0;
    if (!n) return NAN;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        size += fabs(x[i]);
    }
    double reach = fabs(sum) - 1e-12 * size; /* ties count in spite of rounding */
    return n <= STATS_EXACT ? all_flips(x, n, reach) : drawn_flips(x, n, reach);
}

/* ---- Holm's correction ------------------------------------------------------------- */

void stats_holm(double *p, size_t n, size_t *order) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(p[i])) continue;
        size_t at = count++; /* insertion sort: pairs are few */
        for (; at > 0 && p[order[at - 1]] > p[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    double least = 0;
    for (size_t i = 0; i < count; i++) {
        double corrected = fmin(1, p[order[i]] * (double)(count - i));
        least = fmax(least, corrected);
        p[order[i]] = least;
    }
}
