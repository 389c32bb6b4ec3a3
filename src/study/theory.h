/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel matrix K (n, n) says of training: the quantities of the theorems of
 * dynamicAL (Wang et al., 2022: alignment A, bound B, Theorems 1 and 2, MMD, Kendall's
 * tau between A and the training dynamics) and of the convergence papers (NPC, CRC:
 * smallest eigenvalues, the predicted course of the loss).
 *
 * K is symmetric and positive up to rounding, in double, by rows. Y (n, classes) has a
 * one where a sample has its class: it is never built, labels say it. All sums are in
 * double and in one order: the same bits at any thread count.
 *
 * Deviations: K that is singular (duplicates, more samples than parameters) has no
 * inverse and smallest eigenvalues that are rounding; B is then of K + jitter I, and the
 * smallest eigenvalue that counts is the least above STUDY_RANK_TOLERANCE of the largest.
 */
#ifndef SCANT_STUDY_THEORY_H
#define SCANT_STUDY_THEORY_H

#include "core/ctx.h"

#define STUDY_RANK_TOLERANCE 1e-10

/* What comes in: whether all numbers of K are finite; whether labels are -1 or below
 * classes, and how many are not -1. */
scant_status study_check_kernel(scant_ctx *ctx, const double *k, size_t n);
scant_status study_check_labels(scant_ctx *ctx, const int32_t *labels, size_t n,
                                size_t classes, size_t *labelled);

/* A(X, Y) = Tr(Y^T K Y): the sum of K_ij over pairs of one class. label -1: no class
 * (that row of Y is 0). n^2 additions. */
double study_alignment(const double *k, size_t n, const int32_t *labels);
/* B = sqrt(2 Tr(Y^T (K + *jitter I)^-1 Y) / n) by Cholesky. *jitter: 0 where K is
 * positive definite as it is, else the least of 1e-8 Tr(K)/n times powers of ten that
 * makes it so and is no less than `zero`: what eigenvalues of a K that is known to be
 * singular (rank < n) count as 0 up to; 0: nobody knows of any. k (n,n) is read, not
 * changed. Room is taken from ctx: n (n + classes) doubles. A pivot below 1e-12 of the
 * largest diagonal entry is rounding, and K not definite. K = 0 has no bound: infinity.
 * SCANT_EINPUT where K is no kernel. */
scant_status study_bound(scant_ctx *ctx, const double *k, size_t n, const int32_t *labels,
                         size_t classes, double zero, double *jitter, double *bound);
size_t study_bound_memory(size_t n, size_t classes); /* bytes */
/* sqrt(max(0, MMD^2)) between S0 (m rows) and S (count rows), by the unbiased statistic:
 * pairs (i, i) of the cross term are left out, so S that starts with S0's rows does not
 * count them; S = S0 gives exactly 0. k rows are `apart` numbers apart; m, count >= 2,
 * else 0. The shorter set is taken as S0. */
double study_mmd(const double *k, size_t apart, const size_t *s0, size_t m,
                 const size_t *s, size_t count);
/* The same before it is clamped and its root taken: its mean over sets of one law is 0.
 */
double study_mmd_square(const double *k, size_t apart, const size_t *s0, size_t m,
                        const size_t *s, size_t count);
/* Kendall's tau-b; NaN where one side is all ties. n^2 / 2 comparisons. */
double study_kendall(const double *a, const double *b, size_t n);
/* G_MSE = Tr((F - Y)^T K (F - Y)); f (n, classes) outputs. Of label -1 the row of Y is 0.
 */
double study_training_dynamics(const double *k, size_t n, const int32_t *labels,
                               size_t classes, const float *f);

/* ---- the spectrum ---------------------------------------------------------------- */

typedef struct study_spectrum {
    double trace;     /* sum of eigenvalues */
    double largest;   /* at least 0 */
    double smallest;  /* as computed: of a singular matrix rounding, of either sign */
    double positive;  /* the least above tolerance times the largest; 0: K is 0 */
    size_t rank;      /* how many are */
    double condition; /* largest / smallest; infinite where rank < n */
    double part;      /* largest / positive: the condition of what is not 0 */
    double dimension; /* (sum)^2 / sum of squares of eigenvalues: how many directions
                       * hold the trace, 1 to n; 0: K is 0 */
} study_spectrum;

/* values (n): eigenvalues in any order. tolerance: STUDY_RANK_TOLERANCE, or more. */
void study_spectrum_of(const double *values, size_t n, double tolerance,
                       study_spectrum *out);

/* energy (n): the squared length of Y in the direction of each eigenvector, sum over
 * classes of (v_i . Y^k)^2. vectors: by rows, as la_eigh() leaves them. room: classes
 * doubles. */
void study_energies(const double *vectors, size_t n, const int32_t *labels,
                    size_t classes, double *energy, double *room);

/* E_t^2 = sum_i (1 - rate value_i)^(2t) energy_i: the squared distance from outputs to Y
 * after t steps of gradient descent on 1/2 |f - Y|^2 from f = 0. What is below 0 among
 * values is rounding, and taken as 0. */
double study_residual(const double *values, const double *energy, size_t n, double rate,
                      double t);
/* The least whole t with E_t^2 <= part E_0^2; infinite where there is none up to 2^50. */
double study_steps(const double *values, const double *energy, size_t n, double rate,
                   double part);

typedef struct study_interval {
    double low, high;
} study_interval;

/* Theorem 1: E_t^2 is between Tr(Y^T Y) - 2 t rate A and Tr(Y^T Y) - rate A, for t >= 1
 * and 0 <= rate value_i <= 1. labelled = Tr(Y^T Y): how many have a class. */
study_interval study_theorem1(double labelled, double alignment, double rate, double t);
/* Theorem 2: (n/2) B^2 = Tr(Y^T K^-1 Y) is between labelled^2 / A and that times a
 * factor: largest / smallest in the paper; (largest + smallest)^2 / (4 largest smallest)
 * by Kantorovich's inequality, which is never more. factors may be NULL. The high end is
 * the sharper one. Of K + jitter I all three numbers are its own: A grows by jitter
 * labelled, eigenvalues by jitter. */
typedef struct study_factors {
    double paper, kantorovich;
} study_factors;
study_interval study_theorem2(double labelled, double alignment, double largest,
                              double smallest, study_factors *factors);

#endif
