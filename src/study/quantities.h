/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantities of a kernel matrix K (n, n) in theorems about training: those of dynamicAL
 * (Wang et al., 2022: alignment A, bound B, Theorems 1 and 2, MMD, Kendall's tau between
 * A and the training dynamics) and of the convergence papers (NPC, CRC: smallest
 * eigenvalues, the predicted loss).
 *
 * K is symmetric and positive semidefinite up to rounding, in double, by rows. Y (n,
 * classes) is 1 for a sample's class, else 0; it is given by labels and never built. All
 * sums are in double and in a fixed order: the same bits at any thread count.
 *
 * Deviations: a singular K (duplicates, more samples than parameters) has no inverse, and
 * its smallest eigenvalues are rounding error. Then B is that of K + jitter I, and the
 * smallest eigenvalue is the smallest one above STUDY_RANK_TOLERANCE times the largest.
 */
#ifndef SCANT_STUDY_QUANTITIES_H
#define SCANT_STUDY_QUANTITIES_H

#include "core/ctx.h"

#define STUDY_RANK_TOLERANCE 1e-10

/* Check that all numbers of K are finite, and that labels are from -1 to classes - 1.
 * *labelled: the number of labels that are not -1. */
scant_status study_check_kernel(scant_ctx *ctx, const double *k, size_t n);
scant_status study_check_labels(scant_ctx *ctx, const int32_t *labels, size_t n,
                                size_t classes, size_t *labelled);

/* A(X, Y) = Tr(Y^T K Y): the sum of K_ij over pairs of the same class. Label -1: none
 * (the row of Y is 0). n^2 additions. */
double study_alignment(const double *k, size_t n, const int32_t *labels);
/* B = sqrt(2 Tr(Y^T (K + *jitter I)^-1 Y) / n) by Cholesky. *jitter is 0 if `zero` is 0
 * and K is positive definite. Otherwise it is the smallest of 1e-8, 1e-7, 1e-6, ... times
 * Tr(K)/n that is at least `zero` and makes K + *jitter I positive definite. zero: if K
 * is known to be singular, the value up to which eigenvalues count as 0; else 0.
 * Allocates n (n + classes) doubles. If a squared pivot is below 1e-12 times the largest
 * diagonal entry, it is rounding error, and the matrix is not definite. The bound of K =
 * 0 is infinite. SCANT_EINPUT if K has negative eigenvalues. */
scant_status study_bound(scant_ctx *ctx, const double *k, size_t n, const int32_t *labels,
                         size_t classes, double zero, double *jitter, double *bound);
/* sqrt(max(0, MMD^2)) between S0 (m rows) and S (count rows), by the unbiased statistic.
 * The cross term leaves out the pairs (i, i), so that rows that both sets begin with are
 * not compared with themselves; if S = S0, the result is exactly 0. Rows of k are `apart`
 * numbers apart. 0 if a set has fewer than 2 rows. The shorter set is used as S0. */
double study_mmd(const double *k, size_t apart, const size_t *s0, size_t m,
                 const size_t *s, size_t count);
/* MMD^2 itself, which may be negative: its mean over sets from one distribution is 0. */
double study_mmd_square(const double *k, size_t apart, const size_t *s0, size_t m,
                        const size_t *s, size_t count);
/* Kendall's tau-b; NaN if all values of one side are equal. n^2 / 2 comparisons. */
double study_kendall(const double *a, const double *b, size_t n);
/* G_MSE = Tr((F - Y)^T K (F - Y)), where f (n, classes) are outputs. */
double study_training_dynamics(const double *k, size_t n, const int32_t *labels,
                               size_t classes, const float *f);

/* ---- the spectrum ---------------------------------------------------------------- */

typedef struct study_spectrum {
    double trace;     /* sum of eigenvalues */
    double largest;   /* largest eigenvalue, at least 0 */
    double smallest;  /* smallest eigenvalue; rounding error if K is singular */
    double positive;  /* smallest eigenvalue above tolerance * largest; 0: K is 0 */
    size_t rank;      /* number of eigenvalues above tolerance * largest */
    double condition; /* largest / smallest; infinite if rank < n */
    double part;      /* largest / positive */
    double dimension; /* (sum)^2 / sum of squares of eigenvalues, 1 to n: the number of
                       * directions that hold most of the trace; 0: K is 0 */
} study_spectrum;

/* values (n): eigenvalues in any order. tolerance: STUDY_RANK_TOLERANCE, or more. */
void study_spectrum_of(const double *values, size_t n, double tolerance,
                       study_spectrum *out);

/* energy (n): the squared length of Y along each eigenvector, the sum over classes of
 * (v_i . Y^k)^2. vectors: by rows, as from la_eigh(). room: classes doubles. */
void study_energies(const double *vectors, size_t n, const int32_t *labels,
                    size_t classes, double *energy, double *room);

/* E_t^2 = sum_i (1 - rate value_i)^(2t) energy_i: the squared distance from outputs to Y
 * after t steps of gradient descent on 1/2 |f - Y|^2 from f = 0. Negative values are
 * rounding error and count as 0. */
double study_residual(const double *values, const double *energy, size_t n, double rate,
                      double t);
/* The smallest whole t with E_t^2 <= part E_0^2; infinite if t would exceed 2^50. */
double study_steps(const double *values, const double *energy, size_t n, double rate,
                   double part);

typedef struct study_interval {
    double low, high;
} study_interval;

/* Theorem 1: E_t^2 is between Tr(Y^T Y) - 2 t rate A and Tr(Y^T Y) - rate A, for t >= 1
 * and 0 <= rate value_i <= 1. labelled = Tr(Y^T Y): the number of labels. */
study_interval study_theorem1(double labelled, double alignment, double rate, double t);
/* Theorem 2: (n/2) B^2 = Tr(Y^T K^-1 Y) is between labelled^2 / A and this number times a
 * factor. In the paper the factor is largest / smallest. By Kantorovich's inequality it
 * is (largest + smallest)^2 / (4 largest smallest), which is never larger and gives
 * `high`. factors may be NULL. For K + jitter I, pass the numbers of that matrix: A +
 * jitter labelled, and eigenvalues + jitter. */
typedef struct study_factors {
    double paper, kantorovich;
} study_factors;
study_interval study_theorem2(double labelled, double alignment, double largest,
                              double smallest, study_factors *factors);

#endif
