/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients of the expected log-likelihood with respect to the last layer's weights, at
 * posterior draws: (p_i - p_is) x h_i+ for row i and draw s, with p_is the draw's
 * prediction and p_i the mean over draws. With J draws used, the row is
 *
 *     a_i x h_i+,  a_i = (p_i - p_is) / sqrt(J) for all s and all classes,
 *
 * a Kronecker row of J C d+ numbers. At most one such row is built at a time. Inner
 * products of rows are means over draws of the gradients' inner products: the weighted
 * Fisher inner product of Pinsler et al. 2019. select_fisher_rows() also works for
 * regression: C is 1, and the draws hold predictions divided by the noise variance.
 *
 * Each product reads the draws again. Memory: n C + 3 n doubles.
 */
#ifndef SCANT_SELECT_FISHER_H
#define SCANT_SELECT_FISHER_H

#include "linalg/kron.h"
#include "select/strategy.h"

typedef struct select_fisher {
    const select_pool *pool;
    size_t n;           /* number of rows, indexed by position */
    size_t draws;       /* J */
    const size_t *rows; /* n: the rows' indices in the pool */
    double *mean;       /* (n, C): p_i by position, filled in by the caller */
    select_features features;
    double scale; /* a power of two that rows are multiplied by */
    la_rows h, a;
    la_view all;
    la_work work;
    double *goal; /* n: inner products with the sum of all rows */
    double *fit;  /* n: inner products with the weighted sum */
    double *row;  /* n: inner products with one row */
} select_fisher;

/* Returns the bytes that select_fisher_open() allocates. */
size_t select_fisher_memory(const scant_selection *sel, size_t draws);
/* Returns how many numbers a row has: J C d+. */
size_t select_fisher_width(const scant_selection *sel, size_t draws);
/* Allocates memory; reads and checks features. The caller must fill in f->mean before any
 * other call, and *f must not move. */
scant_status select_fisher_open(const scant_selection *sel, const size_t *rows,
                                size_t draws, select_fisher *f);
/* out = the rows a_i by position; f needs pool, n, draws, rows and mean. */
void select_fisher_rows(const select_fisher *f, la_rows *out);

/* size (n) = squared lengths, goal (width) = the sum of all rows, f->goal = its inner
 * products with all rows. */
scant_status select_fisher_measure(select_fisher *f, double *size, double *goal);
/* out (width) = the whole row at `place`; f->row = its inner products with all rows. */
scant_status select_fisher_row(select_fisher *f, size_t place, double *out);
/* Updates f->fit after a step: (1 - stride) f->fit + add f->row. */
void select_fisher_step(select_fisher *f, double stride, double add);

#endif
