/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs of strategies, compared seed by seed: what differs between seeds but not between
 * strategies (the initial set, the network's first weights) falls out.
 *
 * A seed counts where both have a run of it from the same to the same number of labels;
 * so half-finished runs do not. Cost: seeds times levels a pair, and 2^seeds sums.
 */
#ifndef SCANT_REPORT_COMPARE_H
#define SCANT_REPORT_COMPARE_H

#include "report/measures.h"

/* Pairs of each strategy with those before it, or with the baseline (a strategy, or
 * n_strategies: none). In the results' arena. */
scant_status report_compare(report_results *results, const report_measures *measures,
                            size_t baseline, scant_pair **pairs, size_t *count);

#endif
