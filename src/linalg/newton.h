/* SPDX-License-Identifier: Apache-2.0
 *
 * Minimizes a convex function of one variable.
 */
#ifndef SCANT_LINALG_NEWTON_H
#define SCANT_LINALG_NEWTON_H

#include "core/ctx.h"

/* First and second derivative. */
typedef struct la_slope {
    double first, second;
} la_slope;

typedef scant_status (*la_slope_fn)(void *arg, double at, la_slope *out);

/* Newton's method from start within [low, high], with bisection if a step leaves the
 * current bracket. *out is an end if the minimum is there. Fails if fn does. */
scant_status la_convex_minimum(la_slope_fn fn, void *arg, double low, double high,
                               double start, double *out);

#endif
