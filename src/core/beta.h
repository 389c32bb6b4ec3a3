/* SPDX-License-Identifier: Apache-2.0
 *
 * The incomplete beta function, and what follows from it of shares: Clopper and Pearson's
 * interval (1934) of a probability by k successes of n.
 *
 * The interval is exact: whatever the probability is, of samples drawn with it no more
 * than 5 % have an interval that it is not in. As k is a whole number it mostly is less.
 */
#ifndef SCANT_CORE_BETA_H
#define SCANT_CORE_BETA_H

#include <stddef.h>

/* I_x(a, b) for a, b > 0: the share of the beta distribution below x. y = 1 - x is given
 * apart, as x may be close to 1. */
double scant__beta_share(double a, double b, double x, double y);
/* The x with I_x(a, b) = share, 0 < share < 1. */
double scant__beta_quantile(double a, double b, double share);

typedef struct scant__interval {
    double low, high;
} scant__interval;

/* Of k <= n; of n = 0 all that can be: 0 to 1. level: 0.95. */
scant__interval scant__share_interval(size_t k, size_t n, double level);

#endif
