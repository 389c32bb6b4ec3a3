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
    double alpha;     /* a class keeps its floor(alpha * count) largest entries; 0: all */
    double tolerance; /* maximum deviation of a class's sum from its count; 0: 0.1 */
} ssl_darp_opts;

typedef struct ssl_darp_result {
    double error;  /* largest deviation of a class's sum from its count */
    size_t passes; /* passes over all rows; at most 2100, or 300 for many rows */
} ssl_darp_result;

/* Creates a solver for n rows of c classes. *out is allocated in the arena. */
scant_status ssl_darp_create(scant__arena *arena, size_t n, size_t c,
                             const ssl_darp_opts *opts, ssl_darp **out);

/* One multiplier per class: the result of the last refinement and the start of the next;
 * initially 0. May be overwritten with finite numbers: a good start saves passes, and the
 * result is the same up to the tolerance. */
double *ssl_darp_multipliers(ssl_darp *darp);

/* Sets x (n x c) to the matrix with the requested class sums that is nearest to a. Rows
 * of a and x sum to 1; x must not overlap a. Results do not depend on the thread count.
 */
ssl_darp_result ssl_darp_refine(ssl_darp *darp, const float *a, float *x);

#endif
