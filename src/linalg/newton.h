/* SPDX-License-Identifier: Apache-2.0
 *
 * Minimizes a convex function of one variable.
 */
#ifndef SCANT_LINALG_NEWTON_H
#define SCANT_LINALG_NEWTON_H

#include "core/ctx.h"

typedef struct la_slope {
    double first, second; /* derivatives */
} la_slope;

typedef scant_status (*la_slope_fn)(void *arg, double at, la_slope *out);

/* Finds the minimum of a convex function in [low, high] by Newton's method from `start`;
 * bisects if a step leaves the bracket. *out is low or high if the minimum is there.
 * Returns fn's error if fn fails. */
scant_status la_convex_minimum(la_slope_fn fn, void *arg, double low, double high,
                               double start, double *out);

#endif
