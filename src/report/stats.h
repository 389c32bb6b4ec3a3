/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of a few numbers: mean and deviation, Student's t, sign flips, Holm.
 */
#ifndef SCANT_REPORT_STATS_H
#define SCANT_REPORT_STATS_H

#include <stddef.h>

double stats_mean(const double *x, size_t n); /* NaN for n = 0 */
double stats_std(const double *x, size_t n);  /* divides by n - 1; 0 for n < 2 */

/* P(|T| >= |t|) for Student's t with `freedom` degrees of freedom. */
double stats_t_two_sided(double t, double freedom);
/* Returns t with P(|T| <= t) = level. */
double stats_t_quantile(double level, double freedom);

/* Statistics of paired differences; each seed gives one difference. */
typedef struct stats_paired {
    size_t n;
    double mean, low, high; /* 95 % interval of Student's t; NaN for fewer than two */
    double t, p;            /* two-sided; NaN for fewer than two */
} stats_paired;

/* If all differences are equal, there is no interval, and t and p are NaN (0 and 1 if all
 * are 0). That happens with few seeds: accuracies are multiples of 1 / (test samples). */
stats_paired stats_paired_of(const double *differences, size_t n);

enum { STATS_EXACT = 20 }; /* most differences for which all signs are tried */

/* Permutation test: among all choices of signs for the differences, the share whose sum
 * is at least as far from 0 as the actual sum. For more than STATS_EXACT differences, it
 * uses 99,999 random choices and the actual one. NaN for n = 0. */
double stats_sign_flips(const double *differences, size_t n);

/* Holm's step-down correction (1979) of n p values, in place; NaN values are ignored.
 * order: room for n. */
void stats_holm(double *p, size_t n, size_t *order);

#endif
