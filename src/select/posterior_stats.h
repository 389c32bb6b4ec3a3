/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of posterior draws: the mean prediction of each row, and how much of its
 * entropy is disagreement among the draws.
 */
#ifndef SCANT_SELECT_POSTERIOR_STATS_H
#define SCANT_SELECT_POSTERIOR_STATS_H

#include "select/pool.h"

/* Statistics of rows first..first+count-1. They do not depend on the order of draws or
 * classes. Entropies in nats. */
typedef struct select_posterior {
    double *mean;        /* (count, C): mean of the draws */
    double *entropy;     /* count: entropy of the mean */
    double *within;      /* count: mean of the draws' entropies */
    double *information; /* count: entropy - within, never below 0 */
    double off;          /* largest deviation of a row's sum from 1, exact to 1e-5 */
} select_posterior;

/* Reads and checks rows of all draws once. room: select_posterior_room() bytes; out
 * points into it. Without `disagreement`, within and information are NULL; they cost one
 * logarithm per number. */
scant_status select_posterior_read(const select_pool *pool, size_t first, size_t count,
                                   bool disagreement, void *room, select_posterior *out,
                                   scant__fault *fault);
size_t select_posterior_room(const select_pool *pool, size_t rows);

/* Returns a view of the pool with the draws in place of probs: row s n + i of probs is
 * row i of draw s. */
select_pool select_draws_view(const select_pool *pool);
/* Returns rows of one draw, of the type select_probs_type(view): in place, or in room
 * (count * C doubles). The numbers must have been checked. */
const void *select_sample_rows(const select_pool *view, size_t sample, size_t first,
                               size_t count, void *room);

#endif
