/* SPDX-License-Identifier: Apache-2.0
 *
 * What samples of a posterior say of rows: the distribution they predict together, and
 * how much of its entropy is disagreement.
 */
#ifndef SCANT_SELECT_SAMPLES_H
#define SCANT_SELECT_SAMPLES_H

#include "select/evidence.h"

/* Of rows first..first+count-1. Samples that come in another order, and classes likewise,
 * make no difference to any of them. Entropies in nats. */
typedef struct select_beliefs {
    double *mean;        /* (count, C): of the samples */
    double *entropy;     /* count: of the mean */
    double *within;      /* count: the mean of the samples' entropies */
    double *information; /* count: the difference, never below 0 */
    double off; /* by how much sums of probabilities differ from 1, at most; to 1e-5 */
} select_beliefs;

/* Reads rows of all samples once and checks them. room: of select_beliefs_room() bytes;
 * out lies in it. Unless disagreement is wanted, within and information are NULL: they
 * take a logarithm a number. */
scant_status select_beliefs_read(const select_pool *pool, size_t first, size_t count,
                                 bool disagreement, void *room, select_beliefs *out,
                                 scant__fault *fault);
size_t select_beliefs_room(const select_pool *pool, size_t rows);

/* Rows of one sample in select_probs_type() of the view that serves them: where they lie,
 * or in room (count C doubles). The numbers must have been checked. */
select_pool select_samples_view(const select_pool *pool);
const void *select_sample_rows(const select_pool *view, size_t sample, size_t first,
                               size_t count, void *room);

#endif
