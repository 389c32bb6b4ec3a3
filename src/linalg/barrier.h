/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows drawn at random so that a weighted sum of v v^T stays between two barriers that
 * move apart: randomized BSS (Batson, Spielman & Srivastava 2012; Lee & Sun 2018; for
 * regression Chen & Price 2019).
 *
 * V (n, D) is orthonormal under the uniform law of its rows, V^T V / n = I. With gamma in
 * (0, 1), mid = 2D (1 - gamma^2) / gamma^2, B = 0, u = 2D/gamma and l = -u, draw while
 * u - l < 8D/gamma:
 *
 *     M = (uI - B)^-1 + (B - lI)^-1,    phi = Tr M,    q_i = v_i^T M v_i  (mean: phi)
 *     row i with probability q_i / (n phi),    s = gamma / q_i,    B += s v_i v_i^T
 *     u += gamma / (phi (1 - gamma)),    l += gamma / (phi (1 + gamma))
 *
 * The weight of a draw is s/mid; beta is the sum of gamma / (phi mid). lI < B < uI holds
 * surely. So the eigenvalues of B/mid, the weighted sum, end between (1 - 2 gamma) / (1 -
 * gamma^2) and (1 + 2 gamma) / (1 - gamma^2) + 2 / (mid (1 - gamma)), and beta in [1, 1 +
 * 2/mid). Up to gamma = 0.11 that is within [3/4, 5/4]. Where 1/gamma^2 - 1 is below
 * 1/(2D), the first draw is the last.
 *
 * A draw is exact and looks at few rows: row i is proposed with probability |v_i|^2 /
 * (n D), a law that never changes, and kept with probability q_i / (c |v_i|^2), where c
 * is at least M's largest eigenvalue. As that eigenvalue is below phi, the chance to be
 * kept is at least 1/D with the least c; 0.43 to 0.91 were counted, over D = 4 .. 256
 * and gamma = 0.11 .. 0.6, the less the larger D is. So proposals cost less
 * than the state does, and V is passed over once, to measure |v_i|^2; rows that are
 * proposed are made again.
 *
 * B is diagonalized every O(D^(2/3)) draws; in between M is that diagonal and two
 * corrections of low rank (Woodbury). Cost: O(n width D) to measure, O(D^(7/3)) a draw.
 *
 * The plain law that this improves on is here, too: m independent draws by |v_i|^2, each
 * with weight D / (m |v_i|^2), whose expected weighted sum is I.
 *
 * The condition number of a draw's law, over rows i, is K = sup |v_i|^2 / (n P(i)); what
 * a fit loses hangs on it times the draw's coefficient, gamma / (phi mid): that product
 * is (gamma / mid) sup |v_i|^2 / q_i, at most gamma^2 / (1 - gamma^2). Its largest value
 * over the draws is kept, with the sup over the rows that were proposed: an estimate from
 * below. Of m independent draws it is D / m.
 */
#ifndef SCANT_LINALG_BARRIER_H
#define SCANT_LINALG_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/basis.h"

enum { LA_AHEAD = 32 };

typedef struct la_barrier {
    scant_ctx *ctx;
    const la_basis *basis;
    uint64_t seed;
    double gamma, mid, upper, lower; /* u, l */
    double phi, bound;               /* Tr M; c */
    double beta;
    double condition; /* the largest coefficient times condition number of a draw */
    size_t draws, proposals, distinct;
    double *weight; /* n: summed over a row's draws */
    /* B as it was diagonalized: */
    double *b;      /* (D, D) */
    double *turn;   /* (D, D): its eigenvectors, by rows */
    double *lambda; /* D: its eigenvalues, ascending */
    double spare;   /* l may come so near to the least of them */
    /* what has been drawn since, times the root of s: */
    size_t recent, most;
    double *raw, *y; /* (most, D): v, and turned */
    /* M = diag(near) + w_u^T w_u - w_l^T w_l in the turned basis: */
    double *near; /* D */
    double *w;    /* (2 recent, D): w_u, then w_l */
    double *gram; /* (most, most) */
    double *part; /* 2 most: w z; and D */
    double *room; /* for eigenvalues */
    /* proposals made ahead: */
    size_t next; /* of them; LA_AHEAD: there is none left */
    size_t rows[LA_AHEAD];
    double *f, *v, *z; /* (LA_AHEAD, width), (LA_AHEAD, D) twice: v, and turned */
    double *fetched;   /* rows of f as they come */
} la_barrier;

/* The basis has been measured, and outlives the barrier. */
scant_status la_barrier_init(la_barrier *b, scant__arena *arena, const la_basis *basis,
                             uint64_t seed);
size_t la_barrier_memory(const la_view *f, size_t dim); /* f: the basis' */

/* One whole process; the same seed proposes the same rows at any gamma. */
scant_status la_barrier_run(la_barrier *b, double gamma);
/* Independent draws by leverage, so many, or up to the one before that which would bring
 * more than so many distinct rows. */
scant_status la_barrier_run_plain(la_barrier *b, size_t draws, size_t distinct);
/* The least and the largest eigenvalue of B/mid. */
scant_status la_barrier_band(la_barrier *b, double *least, double *most);

/* Piece by piece. BLAS should be on one thread: see linalg/dense.h. False: B is no longer
 * between its barriers, which rounding alone can do. */
void la_barrier_start(la_barrier *b, double gamma);
bool la_barrier_done(const la_barrier *b);
bool la_barrier_draw(la_barrier *b, size_t *row); /* its place in the view */
double la_barrier_q(la_barrier *b, const double *v);

#endif
