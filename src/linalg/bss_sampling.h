/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws rows at random so that a weighted sum of v v^T stays between two barriers that
 * move apart: randomized BSS (Batson, Spielman & Srivastava 2012; Lee & Sun 2018; for
 * regression Chen & Price 2019).
 *
 * V (n, D) is orthonormal under the uniform distribution of its rows, V^T V / n = I. With
 * gamma in (0, 1), mid = 2D (1 - gamma^2) / gamma^2, B = 0, u = 2D/gamma and l = -u, draw
 * while u - l < 8D/gamma:
 *
 *     M = (uI - B)^-1 + (B - lI)^-1,    phi = Tr M,    q_i = v_i^T M v_i  (mean: phi)
 *     row i with probability q_i / (n phi),    s = gamma / q_i,    B += s v_i v_i^T
 *     u += gamma / (phi (1 - gamma)),    l += gamma / (phi (1 + gamma))
 *
 * The weight of a draw is s/mid; beta is the sum of gamma / (phi mid). lI < B < uI always
 * holds. So the eigenvalues of B/mid, the weighted sum, end between (1 - 2 gamma) / (1 -
 * gamma^2) and (1 + 2 gamma) / (1 - gamma^2) + 2 / (mid (1 - gamma)), and beta in [1, 1 +
 * 2/mid). For gamma <= 0.11 beta and the eigenvalues are within [3/4, 5/4]. There is one
 * draw only if 1/gamma^2 - 1 is below 1/(2D).
 *
 * A draw is exact and reads few rows (rejection sampling): row i is proposed with the
 * fixed probability |v_i|^2 / (n D) and accepted with probability q_i / (c |v_i|^2),
 * where c is at least M's largest eigenvalue. That eigenvalue is below phi, so the
 * acceptance rate is at least 1/D with the smallest c. Measured rates are 0.43 to 0.91
 * for D = 4 .. 256 and gamma = 0.11 .. 0.6, falling with D, so proposals cost less than
 * updating the state. V is computed once for |v_i|^2; proposed rows are computed again.
 *
 * B is diagonalized every O(D^(2/3)) draws; in between M is that diagonal plus two
 * low-rank corrections (Woodbury). Cost: O(n width D) to measure, O(D^(7/3)) per draw.
 *
 * The baseline: m independent draws with probability proportional to |v_i|^2, each with
 * weight D / (m |v_i|^2); the expected weighted sum is I.
 *
 * The condition number of a draw's distribution is K = sup over i of |v_i|^2 / (n P(i)).
 * The excess error of a fit depends on K times the draw's coefficient gamma / (phi mid),
 * which is (gamma / mid) sup |v_i|^2 / q_i, at most gamma^2 / (1 - gamma^2). `condition`
 * is the largest product over the draws, with the sup over the proposed rows only: a
 * lower estimate. For m independent draws it is D / m.
 */
#ifndef SCANT_LINALG_BSS_SAMPLING_H
#define SCANT_LINALG_BSS_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/basis.h"

enum { LA_AHEAD = 32 };

typedef struct la_bss {
    scant_ctx *ctx;
    const la_basis *basis;
    uint64_t seed;
    double gamma, mid;
    double upper; /* u */
    double lower; /* l */
    double phi;   /* Tr M */
    double bound; /* c */
    double beta;
    double condition; /* largest product of a draw's coefficient and condition number */
    size_t draws, proposals, distinct;
    double *weight; /* n: sum of the weights of a row's draws */
    /* B at the last diagonalization: */
    double *b;      /* (D, D) */
    double *turn;   /* (D, D): B's eigenvectors, one per row */
    double *lambda; /* D: B's eigenvalues, ascending */
    double spare;   /* smallest allowed distance of l from the smallest eigenvalue */
    /* Rows drawn since the last diagonalization, times the square root of s: */
    size_t recent, most;
    double *raw; /* (most, D): the rows */
    double *y;   /* (most, D): the rows in the eigenvector basis */
    /* M = diag(near) + w_u^T w_u - w_l^T w_l in the eigenvector basis: */
    double *near; /* D */
    double *w;    /* (2 recent, D): w_u, then w_l */
    double *gram; /* (most, most) */
    double *part; /* 2 most: w z; and D: work space of la_bss_q() */
    double *room; /* work space of la_eigh() */
    /* Proposals computed in advance: */
    size_t next; /* index of the next proposal; LA_AHEAD if none is left */
    size_t rows[LA_AHEAD];
    double *f;       /* (LA_AHEAD, width) */
    double *v;       /* (LA_AHEAD, D) */
    double *z;       /* v in the eigenvector basis */
    double *fetched; /* rows of f in their own type */
} la_bss;

/* basis must be built and must outlive b. */
scant_status la_bss_init(la_bss *b, scant__arena *arena, const la_basis *basis,
                         uint64_t seed);
size_t la_bss_memory(const la_view *f, size_t dim); /* f: basis->f */

/* Runs all draws for one gamma; a seed proposes the same rows at any gamma. */
scant_status la_bss_run(la_bss *b, double gamma);
/* Draws rows independently, with probability proportional to |v_i|^2. Stops after `draws`
 * draws, or before a draw would exceed `distinct` distinct rows. */
scant_status la_bss_run_plain(la_bss *b, size_t draws, size_t distinct);
/* Computes the smallest and the largest eigenvalue of B/mid. */
scant_status la_bss_band(la_bss *b, double *least, double *most);

/* The steps of a run. BLAS should use one thread: see linalg/dense.h. la_bss_draw()
 * returns false if rounding moved B out of its barriers. */
void la_bss_start(la_bss *b, double gamma);
bool la_bss_done(const la_bss *b);
bool la_bss_draw(la_bss *b, size_t *row); /* row: its position in the view */
double la_bss_q(la_bss *b, const double *v);

#endif
