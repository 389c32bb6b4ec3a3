/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of many Kronecker rows g_j (linalg/kron.h) leads, by
 *
 *     value_j = share merit_j - slope <g_j, R>,
 *
 * again and again, while R moves mostly by a multiple of the row that led: exactly, and
 * with far fewer passes over the rows than there are leaders.
 *
 * Values are kept for a matrix near R that moves along the rows that led: for C + d+
 * multiply-adds a row and move, not C d+. What R moved by beyond that changes a value by
 * at most slope |g_j| |R - near| in the spectral norm, as g_j is of rank one. Rows that
 * this leaves a chance are evaluated with R itself, and the best of them leads. Where
 * they would be many, all values are computed anew from R.
 *
 * Only the front, some thousand rows with the largest values, is brought up to date at
 * once. After a few moves one pass over all rows catches up with them, and looks whether
 * a row behind the front could have led meanwhile. If so, the leaders from there on are
 * taken back, and the caller goes on from an earlier state.
 *
 * So the leaders are those that evaluating all rows would find: what decides is always
 * the same arithmetic, and the bounds allow for the rounding of what does not. Ties go to
 * the lowest row. Nothing hangs on threads or time.
 *
 * Memory: 16 bytes a row, a few matrices of the size of R, and the front.
 */
#ifndef SCANT_LINALG_LEAD_H
#define SCANT_LINALG_LEAD_H

#include <stdbool.h>

#include "linalg/kron.h"

enum { LA_LEAD_AHEAD = 16 }; /* leaders that may be taken back, at most */

typedef struct la_move { /* a row that led, and what R moved by: t g_row */
    size_t row;
    double t;
    double value, far; /* its value when it led; what other rows' were off by, of |g_j| */
} la_move;

typedef struct la_lead {
    /* the caller's: */
    const la_view *view; /* all rows: 0..m-1 */
    la_work *work;
    double share, slope;
    const double *merit, *length; /* m; |g_j| is length times longer */
    double longer;
    /* its own: */
    double longest;       /* |g_j| */
    double *near, *apart; /* matrices: what values are of, and R less it */
    bool known;           /* whether values are of `near` at all */
    double *value, *next; /* m, before all moves; -inf: not for leading */
    size_t blocks;
    double *top;    /* of a block: the largest value */
    size_t *broken; /* of a block: the first move at which a row behind could have led */
    double radius;  /* rounding of products so far, of |g_j| */
    double slack;   /* rounding of values */
    double most;    /* the largest share merit_j */
    size_t active;  /* rows that may lead, before all moves */
    struct {
        size_t count, most, wanted;
        double cut;    /* all rows behind have lower values */
        size_t *row;   /* rising */
        size_t *place; /* where h has it */
        double *a;     /* its numbers */
        double *value; /* after all moves */
        double *dot;
        size_t *chance; /* places in the front */
        size_t *start;  /* of a block: where its rows begin */
        la_rows rows_h, rows_a;
        la_view view;
    } front;
    size_t moves, limit; /* made, and to be made before all rows catch up */
    la_move move[LA_LEAD_AHEAD];
    size_t doubt, patience; /* moves that are not worth following, now and next time */
} la_lead;

size_t la_lead_memory(const la_view *v); /* beyond work's */
size_t la_lead_work(const la_view *v, unsigned threads);
/* Of *lead the caller sets its part before. All rows may lead. */
scant_status la_lead_init(la_lead *lead, scant__arena *arena);

/* The leader at R (C, d+), and <g_row, R>; or how many of the last leaders are to be
 * taken back: then R must be that of the state before the first of them, and the leader
 * be asked for again. At least one row must be left. */
scant_status la_lead_find(la_lead *lead, const double *r, size_t *row, double *dot,
                          size_t *back);
/* The row that was found leads no more, and R has moved by t g_row and perhaps a little
 * more. */
scant_status la_lead_take(la_lead *lead, size_t row, double t);
/* Once no more are wanted: whether the last leaders stand. */
scant_status la_lead_settle(la_lead *lead, size_t *back);

#endif
