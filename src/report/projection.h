/* SPDX-License-Identifier: Apache-2.0
 *
 * Features in two dimensions: themselves where there are one or two, else their first two
 * principal components.
 *
 * The components are those of all rows, exact, of up to 1024 features and where n d^2 is
 * below 7e10. A larger pool stands in an even sample of its rows; wider features have the
 * components by subspace iteration, as near as an eye can tell. The first large entry of
 * a component is positive. The same bits at any thread count.
 *
 * Cost: n d^2 / 2 multiply-adds and d^3; for wide features a dozen passes over them.
 */
#ifndef SCANT_REPORT_PROJECTION_H
#define SCANT_REPORT_PROJECTION_H

#include "select/evidence.h"

typedef struct report_axes {
    bool components; /* principal components, not features */
    double share[2]; /* of the variance; components only */
} report_axes;

/* out (count, 2): where the given rows lie. Checks all features first. Rows are in the
 * unit of select_features_scan()'s scale. */
scant_status report_project(scant__arena *arena, const select_pool *pool,
                            const size_t *rows, size_t count, double *out,
                            report_axes *axes);
/* Bytes that are allocated at once, at most. */
size_t report_project_memory(const select_pool *pool, size_t count, unsigned threads);

/* Which of `total` things, in order, are taken if there is room for `room` of them: one
 * of each of so many runs of equal length, at a place in it that is drawn. (A fixed step
 * would meet the period of a pool that is sorted in turns.) */
typedef struct report_sample {
    size_t total, room;
    size_t seen, taken, next;
} report_sample;

report_sample report_sample_begin(size_t total, size_t room);
bool report_sample_takes(report_sample *sample); /* the thing that comes next */

#endif
