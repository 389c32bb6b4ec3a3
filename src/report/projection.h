/* SPDX-License-Identifier: Apache-2.0
 *
 * Projects features to two dimensions: the features themselves if there are one or two,
 * else their first two principal components.
 *
 * Components are exact and from all rows for up to 1024 features and n d^2 below 7e10. A
 * larger pool is represented by an even sample of its rows; for more features, components
 * are computed by subspace iteration, accurate enough for a plot. The first large entry
 * of a component is positive. The result has the same bits at any thread count.
 *
 * Cost: n d^2 / 2 multiply-adds and d^3; for wide features a dozen passes over them.
 */
#ifndef SCANT_REPORT_PROJECTION_H
#define SCANT_REPORT_PROJECTION_H

#include "select/pool.h"

typedef struct report_axes {
    bool components; /* principal components, not features */
    double share[2]; /* share of the variance; components only */
} report_axes;

/* out (count, 2): coordinates of the given rows, in units of select_features_scan()'s
 * scale. Checks all features first. */
scant_status report_project(scant__arena *arena, const select_pool *pool,
                            const size_t *rows, size_t count, double *out,
                            report_axes *axes);
/* Returns the most bytes that report_project() allocates at a time. */
size_t report_project_memory(const select_pool *pool, size_t count, unsigned threads);

/* Samples `room` of `total` items, in order: a random one of each of `room` intervals of
 * equal length. (A fixed step could match a period in the order of the pool.) */
typedef struct report_sample {
    size_t total, room;
    size_t seen, taken, next;
} report_sample;

report_sample report_sample_begin(size_t total, size_t room);
bool report_sample_takes(report_sample *sample); /* whether to take the next item */

#endif
