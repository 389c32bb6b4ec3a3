/* SPDX-License-Identifier: Apache-2.0
 *
 * The problem of sparse-greedy and sparse-iht (Shen, Jiang, Zhang & Koyejo, "Batch active
 * learning from the perspective of sparse approximation", 2022): a batch whose weighted
 * vectors approximate those of the whole pool, and whose variance is large.
 *
 *     f(w)  = f1(w) + f2(w) over w >= 0 with b entries above 0
 *     f1(w) = |v - Phi w|^2 + beta |w - 1|^2      (beta's term over all n rows)
 *     f2(w) = -alpha sum over w_j > 0 of sigma_j^2
 *
 * n is the number of available rows; no other rows enter. With g_j(y) the vector of row j
 * at label y and gbar_j its mean over the labels' distribution,
 *
 *     v = (1/n) sum gbar_j,  phi_j = gbar_j / b,  sigma_j = (1/n) E |g_j(y) - gbar_j|.
 *
 * Gradient form: g_j(y) = (p_j - e_y) x h_j+, the last layer's gradient, with labels
 * drawn from calibrated probabilities p~: gbar_j = (p_j - p~_j) x h_j+. The paper does
 * not say that p is not calibrated, but otherwise gbar_j = 0. Posterior form: g_j(y) is
 * the loss of label y under each of m posterior draws, minus its mean over them; labels
 * are drawn from the draws' mean. Phi then has m rows, without a factor 1/sqrt(m).
 *
 * The paper has that factor in equation 13, and not in Problem 2 and appendix D, which
 * name equation 13 as their source. Section 5 says that its Bayesian experiments use
 * equation 13, without saying which form table 4's alpha and beta belong to. The factor
 * divides |v - Phi w|^2 and sigma^2 by m, and not beta's term: with it, f at beta is f
 * without it at m beta, divided by m. So if the tables mean the form with the factor,
 * beta is m times theirs here, and for sparse-iht alpha is theirs divided by m, since its
 * operator does not multiply f2 by the step length.
 *
 * Option terms leaves out f1 or f2, as in the paper's ablations: `fit` sets alpha to 0,
 * `variance` picks the rows with the largest sigma, without weights.
 *
 * A row's place is its position, 0..n-1, among the available rows. A vector, such as v
 * and phi_j, has C d+ numbers (posterior: m).
 */
#ifndef SCANT_SELECT_SPARSE_H
#define SCANT_SELECT_SPARSE_H

#include "linalg/kron.h"
#include "select/strategy.h"

enum { SPARSE_BOTH, SPARSE_FIT, SPARSE_VARIANCE }; /* choices of option terms */

typedef struct sparse {
    const scant_selection *sel;
    size_t n, b;
    bool ranked;  /* terms=variance: neither gbar nor vectors are stored */
    size_t *rows; /* indices in the pool, by place; NULL for all rows */
    select_features features;
    la_rows h, a; /* gbar_j = a_j x h_j+, or h_j alone in the posterior form */
    la_view all;
    size_t width; /* numbers of a_j (C), or of h_j (m) in the posterior form */
    size_t size;  /* numbers of a vector */
    /* Features of extreme size are multiplied by this power of two. All members then
     * refer to the problem with f multiplied by scale^2: alpha is the same, beta is
     * multiplied by scale^2. */
    double scale;
    double alpha, beta;
    double *variance; /* n: sigma_j^2 */
    double *length;   /* n: |phi_j| */
    double longest;   /* largest |phi_j| */
    double apart;     /* the largest |p - p~| / max p of a row; 0 in the posterior form */
    double *v;
    double *image; /* a vector, buffer for sums */
    double *step;  /* buffer for steps within a support: 2 b numbers and b places */
    size_t *support;
    la_work work;
    size_t (*needs)(const la_view *v, unsigned threads);
} sparse;

/* Options of both strategies. */
#define SPARSE_OPTION_ALPHA(default_)                                                    \
    {                                                                                    \
        .key = "alpha", .kind = SCANT_OPTION_NUMBER, .value = default_, .min = 0,        \
        .max = 1e100, .help = "weight of the rows' own variance"                         \
    }
#define SPARSE_OPTION_BETA(default_)                                                     \
    {                                                                                    \
        .key = "beta", .kind = SCANT_OPTION_NUMBER, .value = default_, .min = 0,         \
        .max = 1e9, .help = "strength of the penalty on weights other than 1"            \
    }
#define SPARSE_OPTION_SOURCE                                                             \
    {                                                                                    \
        .key = "source", .kind = SCANT_OPTION_CHOICE,                                    \
        .otherwise = "by the given inputs", .choices = "gradient|samples",               \
        .help = "compare rows by the last layer's gradients, or by their losses under "  \
                "the posterior draws"                                                    \
    }

#define SPARSE_OPTION_TERMS                                                              \
    {                                                                                    \
        .key = "terms", .kind = SCANT_OPTION_CHOICE, .value = "both",                    \
        .choices = "both|fit|variance",                                                  \
        .help = "parts of the objective to use: both, the fit alone (like alpha=0), or " \
                "the variance alone (picks the rows with the largest sigma)"             \
    }

/* Memory that a strategy's own products need in the shared workspace; NULL if none. */
typedef size_t (*sparse_needs)(const la_view *v, unsigned threads);

scant_status sparse_inputs(scant_selection *sel, unsigned given, unsigned *needs);
scant_status sparse_check(const scant_selection *sel);
/* Adds the memory and passes of sparse_open(). Sets sizes and views of *s, but allocates
 * and reads nothing. */
void sparse_plan(const scant_selection *sel, sparse_needs needs, scant_plan *plan,
                 sparse *s);
/* Checks the evidence and sets up the problem. *s must not move. */
scant_status sparse_open(scant_selection *sel, sparse_needs needs, sparse *s);
size_t sparse_row(const sparse *s, size_t place); /* index in the pool */

/* r = Phi w - v, for w (n) that is 0 except at the listed places. */
scant_status sparse_residual(sparse *s, const size_t *places, size_t count,
                             const double *w, double *r);
/* r += Phi w, for the same w. */
scant_status sparse_add(sparse *s, const size_t *places, size_t count, const double *w,
                        double *r);
/* Returns f1 at w; r: its residual. */
double sparse_f1(const sparse *s, const size_t *places, size_t count, const double *w,
                 const double *r);
/* Returns f2 at w. */
double sparse_f2(const sparse *s, const size_t *places, size_t count, const double *w);

/* Returns the step mu that minimises f1(w - mu u), or 0 if there is no curvature. slope,
 * curvature: half the first and half the second derivative of f1 at w along u. */
double sparse_step(double slope, double curvature);
/* Returns a power of two near the largest entry of the gradient of f1 at w; r: the
 * residual at w, reach: the largest |w_j - 1|. If the gradient is divided by this power,
 * the squares in its image under Phi neither overflow nor underflow. */
double sparse_unit(const sparse *s, double reach, const double *r);
/* One gradient step of f1 within the support of w; updates w and r. places: where w may
 * differ from 0. */
scant_status sparse_debias(sparse *s, const size_t *places, size_t count, double *w,
                           double *r);
/* Sets entries of w below 0 to 0. */
scant_status sparse_clip(sparse *s, const size_t *places, size_t count, double *w,
                         double *r);

/* Plan and selection with terms=variance. Ties go to the lowest row. */
bool sparse_is_ranked(const scant_selection *sel);
void sparse_rank_plan(const scant_selection *sel, scant_plan *plan);
scant_status sparse_rank(scant_selection *sel);

double sparse_inner(const sparse *s, const double *x, const double *y);

/* Computes a row of the posterior form: replaces p (m, C) by losses minus their means;
 * mean (m) = gbar. Returns E |g(y) - gbar|. */
double sparse_posterior_row(double *p, size_t m, size_t c, double *mean, double *room);

/* Figures of the problem and of a solution. */
#define SPARSE_FIGURES                                                                   \
    {"temperature",                                                                      \
     "temperature used to calibrate the probabilities; absent without one"},             \
        {"f", "objective at the weights: f1 minus alpha times the picks' variances; f, " \
              "f1 and v2 are absent with terms=variance"},                               \
        {"f1", "squared distance between the weighted batch and the pool's mean, plus "  \
               "the penalty on weights other than 1"},                                   \
        {"v2", "squared length of the pool's mean, a scale for f1"}, {                   \
        "sigma_max", "largest sigma of a row: its standard deviation over the possible " \
                     "labels, divided by the number of rows"                             \
    }

/* Reports the figures. */
void sparse_figures(const sparse *s, scant_selection *sel, double f1, double f2);

#endif
