/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of a few numbers: mean and deviation, Student's t, sign flips, Holm.
 */
#ifndef SCANT_REPORT_STATS_H
#define SCANT_REPORT_STATS_H

#include <stddef.h>

double stats_mean(const double *x, size_t n); /* NaN of none */
double stats_std(const double *x, size_t n);  /* with n - 1; 0 of fewer than two */

/* P(|T| >= |t|) of Student's t with freedom degrees. */
double stats_t_two_sided(double t, double freedom);
/* The t with P(|T| <= t) = level. */
double stats_t_quantile(double level, double freedom);

/* What differences say, paired: one number a seed. */
typedef struct stats_paired {
    size_t n;
    double mean, low, high; /* 95 % interval of Student's t; NaN for fewer than two */
    double t, p;            /* two-sided; NaN for fewer than two */
} stats_paired;

/* Differences that are all alike tell nothing of how they spread, so there is no
 * interval, and t and p are NaN (of differences that are all 0: 0 and 1). Accuracies are
 * multiples of one over the size of a test set, so that this happens with few seeds. */
stats_paired stats_paired_of(const double *differences, size_t n);

enum { STATS_EXACT = 20 }; /* numbers whose signs are all gone through */

/* The share of all ways to choose the signs of the differences whose sum is as far from 0
 * as theirs is, or further. Of more than STATS_EXACT a hundred thousand drawn ones are
 * looked at, and theirs counted in. NaN of none. */
double stats_sign_flips(const double *differences, size_t n);

/* Holm's step-down correction (1979) of n p values, in place; NaN are left alone and do
 * not count. order has room for n. */
void stats_holm(double *p, size_t n, size_t *order);

#endif
