/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs of strategies, compared seed by seed: what differs between seeds but not between
 * strategies (the initial set, the network's first weights) falls out.
 *
 * A seed counts where both have a run of it that began with the same samples (as far as
 * picks tell), over the labels that both runs have come to: a strategy may pick fewer
 * than it is asked for. Neither run may have fewer rounds and fewer labels than others of
 * its strategy have; so half-finished runs do not count.
 * Cost: seeds times levels a pair, and 2^seeds sums.
 */
#ifndef SCANT_REPORT_COMPARE_H
#define SCANT_REPORT_COMPARE_H

#include "report/measures.h"
#include "scant/train.h"

/* Pairs of each strategy with those before it, or with the baseline (a strategy, or
 * n_strategies: none). In the results' arena. */
scant_status report_compare(report_results *results, const report_measures *measures,
                            size_t baseline, scant_pair **pairs, size_t *count);

/* Why a pair has no seed that is compared, in a few words. */
const char *report_why_not(const scant_pair *pair);

#endif
