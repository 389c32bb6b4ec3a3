/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the leader, the row with the largest value, among many Kronecker rows g_j
 * (linalg/kron.h):
 *
 *     value_j = share merit_j - slope <g_j, R>
 *
 * After each leader R changes, mostly by a multiple of the leader's row (a move). The
 * next leader is found exactly, with far fewer passes over the rows than leaders.
 *
 * Values are stored for a matrix `near` that follows R by the moves alone. This takes
 * C + d+ multiply-adds per row and move instead of C d+. The rest of R's change alters a
 * value by at most slope |g_j| |R - near| in the spectral norm, since g_j has rank one.
 * Rows that may still lead are evaluated with R itself, and the best of them leads. If
 * there are many such rows, all values are recomputed from R.
 *
 * Only the front, some thousand rows with the largest values, is updated after each move.
 * After a few moves one pass updates all rows and checks whether a row outside the front
 * could have led meanwhile. If so, the leaders from that move on are withdrawn, and the
 * caller continues from an earlier state.
 *
 * So the leaders are those that evaluating all rows would find: the values that decide
 * are always computed from R in the same way, and the bounds include the rounding of all
 * other values. Ties go to the lowest row. Nothing depends on threads or time.
 *
 * Memory: 16 bytes per row, a few matrices of the size of R, and the front.
 */
#ifndef SCANT_LINALG_LAZY_ARGMAX_H
#define SCANT_LINALG_LAZY_ARGMAX_H

#include <stdbool.h>

#include "linalg/kron.h"

enum { LA_LAZY_ARGMAX_UNDO = 16 }; /* most leaders that may be withdrawn */

typedef struct la_move { /* a leader, and the change t g_row of R */
    size_t row;
    double t;
    double value; /* the leader's value */
    double far;   /* bound of the error of stored values, relative to |g_j| */
} la_move;

typedef struct la_lazy_argmax {
    /* Set by the caller: */
    const la_view *view; /* all rows: 0..m-1 */
    la_work *work;
    double share, slope;
    const double *merit;  /* m */
    const double *length; /* m: |g_j| is length[j] * longer */
    double longer;
    /* internal: */
    double longest; /* largest |g_j| */
    double *near;   /* matrix that values refer to */
    double *apart;  /* R - near */
    bool known;     /* values refer to `near` */
    double *value;  /* m: values before all moves; -inf if the row has led */
    double *next;   /* m: values after all moves */
    size_t blocks;
    double *top;    /* per block: the largest value */
    size_t *broken; /* per block: the first move at which a row outside the front could
                     * have led */
    double radius;  /* rounding error of products so far, relative to |g_j| */
    double slack;   /* rounding error of values */
    double most;    /* maximum of share * merit_j */
    size_t active;  /* rows that may lead, before all moves */
    struct {
        size_t count, most, wanted;
        double cut;    /* all rows outside the front have lower values */
        size_t *row;   /* rows, ascending */
        size_t *place; /* the rows' positions in h */
        double *a;     /* the rows' numbers a */
        double *value; /* values after all moves */
        double *dot;
        size_t *chance; /* rows that may lead: indices in the front */
        size_t *start;  /* per block: index of its first row */
        la_rows rows_h, rows_a;
        la_view view;
    } front;
    size_t moves; /* moves since all rows were updated */
    size_t limit; /* moves allowed before all rows are updated */
    la_move move[LA_LAZY_ARGMAX_UNDO];
    size_t doubt;    /* moves left for which values are recomputed from R */
    size_t patience; /* value of doubt after the last failure; doubles at the next one */
} la_lazy_argmax;

size_t la_lazy_argmax_memory(const la_view *v); /* without the work space */
size_t la_lazy_argmax_work(const la_view *v, unsigned threads);
/* The caller must have set its members of *m. At first all rows may lead. */
scant_status la_lazy_argmax_init(la_lazy_argmax *m, scant__arena *arena);

/* Finds the leader at R (C, d+) and <g_row, R>. If *back > 0, the last *back leaders
 * are withdrawn instead; restore R from before the first of them and call again. At least
 * one row must be left. */
scant_status la_lazy_argmax_find(la_lazy_argmax *m, const double *r, size_t *row,
                                 double *dot, size_t *back);
/* Call after R has changed by t g_row, and possibly by slightly more, where row is the
 * leader found. Excludes the row. */
scant_status la_lazy_argmax_take(la_lazy_argmax *m, size_t row, double t);
/* Call after the last leader. Sets *back to the number of last leaders withdrawn. */
scant_status la_lazy_argmax_settle(la_lazy_argmax *m, size_t *back);

#endif
