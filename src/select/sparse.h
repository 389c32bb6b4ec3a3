/* SPDX-License-Identifier: Apache-2.0
 *
 * The problem that sparse-greedy and sparse-iht solve, each in its way (Shen, Jiang,
 * Zhang & Koyejo, "Batch active learning from the perspective of sparse approximation",
 * 2022): a batch whose weighted vectors stand for the whole pool's, and that varies much.
 *
 *     f(w)  = f1(w) + f2(w) over w >= 0 with b entries above 0
 *     f1(w) = |v - Phi w|^2 + beta |w - 1|^2      (beta's term over all n rows)
 *     f2(w) = -alpha sum over w_j > 0 of sigma_j^2
 *
 * n is the number of rows that may be picked; no other rows enter. With g_j(y) the vector
 * of row j at label y and gbar_j its mean over the labels' distribution,
 *
 *     v = (1/n) sum gbar_j,  phi_j = gbar_j / b,  sigma_j = (1/n) E |g_j(y) - gbar_j|.
 *
 * Gradient form: g_j(y) = (p_j - e_y) x h_j+, the last layer's gradient, with labels
 * drawn from calibrated probabilities p~: gbar_j = (p_j - p~_j) x h_j+. Posterior form:
 * g_j(y) is the loss of label y under each of m samples of the posterior, less its mean
 * over them; labels are drawn from the samples' mean. Phi then has m rows; no factor
 * 1/sqrt(m) (the paper's Problem 2, which its tables of alpha and beta belong to).
 *
 * Option terms leaves one of the two out, as the paper's ablations do: `fit` has alpha at
 * 0, and `variance` needs no weights at all: the rows with the largest sigma.
 *
 * Rows are counted by place, 0..n-1 among those that may be picked. Matrices of C d+
 * numbers (posterior: m) are vectors of the space that v and phi_j live in.
 */
#ifndef SCANT_SELECT_SPARSE_H
#define SCANT_SELECT_SPARSE_H

#include "linalg/kron.h"
#include "select/strategy.h"

enum { SPARSE_BOTH, SPARSE_FIT, SPARSE_VARIANCE }; /* choices of option terms */

typedef struct sparse {
    const select_req *req;
    size_t n, b;
    bool ranked;  /* by variance alone: nothing of gbar is kept, and no vector */
    size_t *rows; /* of the pool, by place; NULL: all of it */
    select_features features;
    la_rows h, a; /* gbar_j = a_j x h_j+; posterior: h_j alone */
    la_view all;
    size_t width; /* of a row of that matrix, C or m */
    size_t size;  /* of a vector */
    /* Features of extreme size are served times a power of two. All that follows is then
     * of the problem with f times its square: alpha is the same, beta times the square.
     */
    double scale;
    double alpha, beta;
    double *variance; /* n: sigma_j^2 */
    double *length;   /* n: |phi_j| */
    double longest;   /* of them */
    double apart;     /* the largest |p - p~| / max p of a row; posterior: 0 */
    double *v;
    double *image; /* vector, for sums */
    double *step;  /* 2 b, and b places: for steps within a support */
    size_t *support;
    la_work work;
    size_t (*needs)(const la_view *v, unsigned threads);
} sparse;

/* Options that both strategies have. */
#define SPARSE_OPTION_ALPHA(default_)                                                    \
    {                                                                                    \
        .key = "alpha", .kind = SCANT_OPTION_NUMBER, .value = default_, .min = 0,        \
        .max = 1e100, .help = "how much a row's own variance counts"                     \
    }
#define SPARSE_OPTION_BETA(default_)                                                     \
    {                                                                                    \
        .key = "beta", .kind = SCANT_OPTION_NUMBER, .value = default_, .min = 0,         \
        .max = 1e9, .help = "how strongly weights are pulled to 1"                       \
    }
#define SPARSE_OPTION_SOURCE                                                             \
    {                                                                                    \
        .key = "source", .kind = SCANT_OPTION_CHOICE, .otherwise = "by what is given",   \
        .choices = "gradient|samples",                                                   \
        .help =                                                                          \
            "what rows are compared by: the last layer's gradients, or losses under "    \
            "samples of the posterior"                                                   \
    }

#define SPARSE_OPTION_TERMS                                                              \
    {                                                                                    \
        .key = "terms", .kind = SCANT_OPTION_CHOICE, .value = "both",                    \
        .choices = "both|fit|variance",                                                  \
        .help = "what of the objective counts: all of it, the fit alone (as alpha=0), "  \
                "or the variance alone (the rows with the largest sigma)"                \
    }

/* What a strategy's own products need of the work that it shares with the problem; NULL:
 * nothing. */
typedef size_t (*sparse_needs)(const la_view *v, unsigned threads);

scant_status sparse_way(select_req *req, unsigned given, unsigned *needs);
scant_status sparse_check(const select_req *req);
/* Adds what open allocates, and its passes. *s has sizes and views, but no numbers. */
void sparse_plan(const select_req *req, sparse_needs needs, scant_plan *plan, sparse *s);
/* Checks the evidence and sets the problem up. *s must stay where it is. */
scant_status sparse_open(select_req *req, sparse_needs needs, sparse *s);
size_t sparse_row(const sparse *s, size_t place); /* its number in the pool */

/* The vector r = Phi w - v, for w (n) that is 0 beyond the places listed. */
scant_status sparse_residual(sparse *s, const size_t *places, size_t count,
                             const double *w, double *r);
/* r += Phi w, likewise. */
scant_status sparse_add(sparse *s, const size_t *places, size_t count, const double *w,
                        double *r);
/* f1, and f2, of w and its residual. */
double sparse_f1(const sparse *s, const size_t *places, size_t count, const double *w,
                 const double *r);
double sparse_f2(const sparse *s, const size_t *places, size_t count, const double *w);

/* The step mu that makes f1(w - mu u) least: half of what f1 falls by at first, over half
 * of its curvature along u. 0 where there is none. */
double sparse_step(double slope, double curvature);
/* A power of two that the gradient's entries at w and r do not much exceed; reach: the
 * largest |w_j - 1|. Squares of their images neither overflow nor vanish once they are
 * divided by it. */
double sparse_unit(const sparse *s, double reach, const double *r);
/* One step down the gradient of f1 within the support of w. places: where w may differ
 * from 0. w and r are brought up to date. */
scant_status sparse_debias(sparse *s, const size_t *places, size_t count, double *w,
                           double *r);
/* Sets entries of w below 0 to 0. */
scant_status sparse_clip(sparse *s, const size_t *places, size_t count, double *w,
                         double *r);

/* With terms=variance: the whole plan, and the whole strategy. Ties go by row. */
bool sparse_is_ranked(const select_req *req);
void sparse_rank_plan(const select_req *req, scant_plan *plan);
scant_status sparse_rank(select_req *req);

double sparse_inner(const sparse *s, const double *x, const double *y);

/* A row of the posterior form: p (m, C) becomes losses less their means; mean (m) is
 * gbar. Returns E |g(y) - gbar|. */
double sparse_posterior_row(double *p, size_t m, size_t c, double *mean, double *room);

/* Figures of the problem and of a solution. */
#define SPARSE_FIGURES                                                                   \
    {"temperature", "temperature that calibrated the probabilities; absent: none did"},  \
        {"f", "the objective at the weights: f1 less alpha times the picks' variances; " \
              "f, f1 and v2 are absent with terms=variance"},                            \
        {"f1", "squared distance of the weighted batch from the pool's mean, plus what " \
               "weights other than 1 cost by beta"},                                     \
        {"v2", "squared length of the pool's mean, to compare f1 with"}, {               \
        "sigma_max", "largest sigma of a row: how far it is from its mean over the "     \
                     "labels it may have, divided by the number of rows"                 \
    }

/* Tells them. */
void sparse_figures(const sparse *s, select_req *req, double f1, double f2);

#endif
