/* SPDX-License-Identifier: Apache-2.0
 *
 * Refines pseudo-labels to a given class distribution (DARP; Kim et al. 2020).
 */
#ifndef SCANT_SSL_DARP_H
#define SCANT_SSL_DARP_H

#include "core/mem.h"

typedef struct ssl_darp ssl_darp;

typedef struct ssl_darp_opts {
    const double *target; /* weight per class; NULL: uniform */
    double alpha;         /* entries a class keeps, times its count; 0: all */
    double tolerance;     /* relative to a class's count; 0: 0.1 */
} ssl_darp_opts;

typedef struct ssl_darp_found {
    double error;  /* largest deviation of a class's sum from its count */
    size_t passes; /* over all rows; at most 2100, or 300 for many rows */
} ssl_darp_found;

/* For n rows of c classes. *out is allocated in the arena. */
scant_status ssl_darp_create(scant__arena *arena, size_t n, size_t c,
                             const ssl_darp_opts *opts, ssl_darp **out);

/* One multiplier per class: the start of the next refinement and the end of the last.
 * Initially 0; a good start saves passes, and the result is the same up to the tolerance.
 * May be overwritten with finite numbers. */
double *ssl_darp_multipliers(ssl_darp *darp);

/* Sets x (n x c) to the nearest matrix to a, whose rows sum to 1, with the requested
 * class sums; x must not overlap a. Results do not depend on the thread count. */
ssl_darp_found ssl_darp_refine(ssl_darp *darp, const float *a, float *x);

#endif
