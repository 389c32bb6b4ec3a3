/* SPDX-License-Identifier: Apache-2.0
 *
 * The incomplete beta function, and Clopper and Pearson's interval (1934) of a
 * probability from k successes in n trials.
 *
 * The interval is exact: at level 0.95 it misses the true probability in at most 5 % of
 * samples, usually in fewer, because k is a whole number.
 */
#ifndef SCANT_CORE_BETA_H
#define SCANT_CORE_BETA_H

#include <stddef.h>

/* I_x(a, b) for a, b > 0: the beta distribution's probability below x. The caller also
 * passes y = 1 - x, which keeps precision if x is close to 1. */
double scant__beta_cdf(double a, double b, double x, double y);
/* The x with I_x(a, b) = share, 0 < share < 1. */
double scant__beta_quantile(double a, double b, double share);

typedef struct scant__interval {
    double low, high;
} scant__interval;

/* The interval for k <= n successes; [0, 1] if n = 0. level: for example 0.95. */
scant__interval scant__binomial_interval(size_t k, size_t n, double level);

#endif
