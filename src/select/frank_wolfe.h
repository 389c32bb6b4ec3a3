/* SPDX-License-Identifier: Apache-2.0
 *
 * Frank-Wolfe steps that make a weighted sum of few vectors, w >= 0, come near to the
 * sum of all: with s_i > 0 the size of vector i and s the sum of sizes, a step goes from
 * the fit towards one vertex, (s / s_i) times vector i, as far as is best and at most all
 * the way. So the rest, the sum of all less the fit, never grows.
 *
 * Which vertex a step goes to is the caller's to say, as are the vectors: they are handed
 * in one at a time. No memory is taken. O(width) a step, and O(rows with weight).
 */
#ifndef SCANT_SELECT_FRANK_WOLFE_H
#define SCANT_SELECT_FRANK_WOLFE_H

#include <stddef.h>

typedef struct select_walk {
    size_t n, width;      /* vectors; numbers of each */
    double *size, all;    /* n: s_i; their sum */
    double *weight;       /* n; 0 at first */
    size_t *held, n_held; /* n: places of vectors with weight */
    double *goal, *fit,
        *rest; /* width: sum of all; of weighted ones, 0 at first; between */
} select_walk;

/* a - b, but 0 where that is no more than rounding: where all samples agree, nothing is
 * said, and where the goal is reached, nothing is left. */
double select_walk_difference(double a, double b);
/* Sets the rest out before the first step. */
void select_walk_begin(select_walk *w);
/* How far towards the vertex of vector v, at `place`, the rest is smallest: 0 to 1. */
double select_walk_stride(const select_walk *w, size_t place, const double *v);
/* Goes that far. */
void select_walk_step(select_walk *w, size_t place, const double *v, double stride);
double select_walk_length(const select_walk *w, const double *x); /* of goal, fit, rest */

#endif
