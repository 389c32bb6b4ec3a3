/* SPDX-License-Identifier: Apache-2.0
 *
 * Pseudo-labels refined to a given distribution of classes (DARP; Kim et al. 2020).
 */
#ifndef SCANT_SSL_DARP_H
#define SCANT_SSL_DARP_H

#include "core/mem.h"

typedef struct ssl_darp ssl_darp;

typedef struct ssl_darp_opts {
    const double *target; /* a part each class; NULL: the same each */
    double alpha;     /* entries a class keeps, times its count; 0: 2; negative: all */
    double tolerance; /* of a class's count; 0: 0.1 */
} ssl_darp_opts;

typedef struct ssl_darp_found {
    double error;  /* largest difference of a class's sum from its count */
    size_t passes; /* over all rows; at most 2100, or 300 where these are many */
} ssl_darp_found;

/* For n rows of c classes. On SCANT_OK *out is new, from the arena. */
scant_status ssl_darp_create(scant__arena *arena, size_t n, size_t c,
                             const ssl_darp_opts *opts, ssl_darp **out);

/* One multiplier a class: where the next refinement begins, and where the last ended.
 * Begins at 0; a good beginning saves passes, and the result is the same up to the
 * tolerance. May be written to: finite numbers. */
double *ssl_darp_multipliers(ssl_darp *darp);

/* x (n x c) becomes what is nearest to a, whose rows sum to 1, with class sums as asked
 * for; x must not overlap a. The same bits with any number of threads. */
ssl_darp_found ssl_darp_refine(ssl_darp *darp, const float *a, float *x);

#endif
