/* SPDX-License-Identifier: Apache-2.0
 *
 * The expected log-likelihood's gradient by a last layer's weights, at samples of the
 * posterior: row i at sample s has (p_i - p_is) x h_i+, p_is what the sample predicts and
 * p_i the mean of all. With J samples used, the row is
 *
 *     a_i x h_i+,  a_i = (p_i - p_is) / sqrt(J) over s and the classes,
 *
 * a Kronecker row of J C d+ numbers that is never built. Inner products of rows are the
 * means over samples of those of gradients: the weighted Fisher inner product of Pinsler
 * et al. 2019. In place of probabilities the samples may hold a regression's predictions,
 * divided by the variance of its noise (C is 1).
 *
 * Samples are read anew by each product. Memory: n C doubles for the means, and 3 n.
 */
#ifndef SCANT_SELECT_FISHER_H
#define SCANT_SELECT_FISHER_H

#include "linalg/kron.h"
#include "select/strategy.h"

typedef struct select_fisher {
    const select_pool *pool;
    size_t n, samples;  /* rows that count, by place; J */
    const size_t *rows; /* n: their numbers in the pool */
    double *mean;       /* (n, C) p_i, by place: the caller's to fill in */
    select_features features;
    double scale; /* rows are times that, a power of two, where features are extreme */
    la_rows h, a;
    la_view all;
    la_work work;
    double *goal, *fit, *row; /* n: inner products with sums; with a row */
} select_fisher;

/* What select_fisher_open() allocates. */
size_t select_fisher_memory(const select_req *req, size_t samples);
/* Numbers of a row, d+ at most. */
size_t select_fisher_width(const select_req *req, size_t samples);
/* Allocates; reads and checks features. f->mean is to be filled in before anything else.
 * *f must stay where it is. */
scant_status select_fisher_open(const select_req *req, const size_t *rows, size_t samples,
                                select_fisher *f);
/* Serves a_i, by place; f needs pool, n, samples, rows and mean. */
void select_fisher_rows(const select_fisher *f, la_rows *out);

/* size (n) = squared lengths, goal (width) = the sum of all rows; f->goal likewise. */
scant_status select_fisher_measure(select_fisher *f, double *size, double *goal);
/* out (width) = the row at `place`, built; f->row = its inner products with all. */
scant_status select_fisher_row(select_fisher *f, size_t place, double *out);
/* f->fit follows a step: (1 - stride) times itself, and `add` times f->row. */
void select_fisher_step(select_fisher *f, double stride, double add);

#endif
