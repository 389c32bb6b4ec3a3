/* SPDX-License-Identifier: Apache-2.0
 *
 * Posterior samples: the mean prediction of each row, and how much of its entropy is
 * disagreement among the samples.
 */
#ifndef SCANT_SELECT_POSTERIOR_STATS_H
#define SCANT_SELECT_POSTERIOR_STATS_H

#include "select/pool.h"

/* Statistics of rows first..first+count-1. They do not depend on the order of samples or
 * classes. Entropies in nats. */
typedef struct select_posterior {
    double *mean;        /* (count, C): of the samples */
    double *entropy;     /* count: of the mean */
    double *within;      /* count: the mean of the samples' entropies */
    double *information; /* count: the difference, never below 0 */
    double off;          /* largest deviation of a row's sum from 1, to 1e-5 */
} select_posterior;

/* Reads and checks rows of all samples once. room: select_posterior_room() bytes, which
 * out points into. Without `disagreement`, within and information are NULL; they cost one
 * logarithm per number. */
scant_status select_posterior_read(const select_pool *pool, size_t first, size_t count,
                                   bool disagreement, void *room, select_posterior *out,
                                   scant__fault *fault);
size_t select_posterior_room(const select_pool *pool, size_t rows);

/* Rows of one sample in select_probs_type() of the view: in place, or in room (count C
 * doubles). The numbers must have been checked. */
select_pool select_samples_view(const select_pool *pool);
const void *select_sample_rows(const select_pool *view, size_t sample, size_t first,
                               size_t count, void *room);

#endif
