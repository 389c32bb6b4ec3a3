/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of many Kronecker rows g_j (linalg/kron.h) leads, by
 *
 *     value_j = share merit_j - slope <g_j, R>,
 *
 * while R moves, mostly by a multiple of the row that led: exactly, and for C + d+
 * multiply-adds a row and move instead of C d+.
 *
 * Values are kept for a matrix near R, and follow it along the rows that the caller tells
 * of. What R moved by beyond that changes a row's value by at most slope |g_j| |R - near|
 * in the spectral norm, as g_j is of rank one. Rows that the bound leaves a chance are
 * evaluated with R itself, and the best of them leads. Where they would be many, all
 * values are computed anew from R.
 *
 * The leader is the one that evaluating all rows would find: what decides is always the
 * same arithmetic, and the bounds allow for the rounding of what does not decide. Ties go
 * to the lowest row.
 *
 * Memory: 16 bytes a row and a few matrices of the size of R.
 */
#ifndef SCANT_LINALG_LEAD_H
#define SCANT_LINALG_LEAD_H

#include <stdbool.h>

#include "linalg/kron.h"

typedef struct la_lead {
    const la_view *view; /* all rows: 0..m-1 */
    la_work *work;
    double share, slope;
    const double *merit, *length; /* m; |g_j| is length times longer */
    double longer, longest;
    size_t blocks;
    double *value;          /* m; -inf: not for leading */
    double *dot;            /* m */
    double *top, *reach;    /* of a block: the largest value, the largest |g_j| */
    double *near, *apart;   /* matrices: what values are of, and R less it */
    size_t *chance;         /* rows to evaluate */
    double radius;          /* rounding of products so far, of |g_j| */
    double slack;           /* rounding of values */
    double most;            /* the largest share merit_j */
    bool known;             /* whether values are of `near` at all */
    size_t doubt, patience; /* moves that are not worth following, now and next time */
} la_lead;

size_t la_lead_memory(const la_view *v); /* beyond work's */
size_t la_lead_work(const la_view *v, unsigned threads);
/* Of *lead the caller sets the view, work, share, slope, merit, length and longer before.
 * All rows may lead. */
scant_status la_lead_init(la_lead *lead, scant__arena *arena);
/* The leader at R (C, d+), and <g_row, R>. At least one row must be left. */
scant_status la_lead_find(la_lead *lead, const double *r, size_t *row, double *dot);
/* The row leads no more, and R has moved by t g_row, and perhaps a little more. */
scant_status la_lead_take(la_lead *lead, size_t row, double t);

/* An upper bound of the largest singular value of x (rows, columns), seldom 8% above it;
 * where both are above 32, its Frobenius norm. */
double la_spectral(const double *x, size_t rows, size_t columns);

#endif
