/* SPDX-License-Identifier: Apache-2.0
 *
 * Frank-Wolfe steps that approximate the sum of all vectors by a weighted sum of few, w
 * >= 0. With s_i > 0 the size of vector i and s the sum of sizes, a step moves the fit
 * towards one vertex, (s / s_i) times vector i, by the optimal fraction in [0, 1]. So the
 * residual, the sum of all minus the fit, never grows.
 *
 * The caller chooses the vertex and passes one vector at a time. Allocates nothing.
 * O(width + rows with weight) per step.
 */
#ifndef SCANT_SELECT_FRANK_WOLFE_H
#define SCANT_SELECT_FRANK_WOLFE_H

#include <stddef.h>

typedef struct select_walk {
    size_t n;       /* number of vectors */
    size_t width;   /* their length */
    double *size;   /* n: s_i */
    double all;     /* sum of the s_i */
    double *weight; /* n: w_i; 0 at first */
    size_t *held;   /* n: indices of vectors with weight */
    size_t n_held;  /* number of vectors with weight */
    double *goal;   /* width: sum of all vectors */
    double *fit;    /* width: weighted sum; 0 at first */
    double *rest;   /* width: residual */
} select_walk;

/* Returns a - b, but 0 if the difference is within rounding, so that agreeing draws and a
 * reached goal give exactly 0. */
double select_walk_difference(double a, double b);
/* Computes the residual before the first step. */
void select_walk_begin(select_walk *w);
/* Returns the step fraction in [0, 1] towards the vertex of vector v at `place` that
 * minimises the residual. */
double select_walk_stride(const select_walk *w, size_t place, const double *v);
/* Moves the fit by that fraction. */
void select_walk_step(select_walk *w, size_t place, const double *v, double stride);
double select_walk_length(const select_walk *w,
                          const double *x); /* norm of goal, fit or rest */

#endif
