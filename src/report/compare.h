/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares pairs of strategies, seed by seed. Effects of the seed that both have in
 * common (the initial set, the network's first weights) cancel.
 *
 * A seed is used if both strategies have a run of it and both runs began with the same
 * samples (if picks are known). Runs are compared over the labels that both have, since a
 * strategy may pick fewer than asked for. Runs with fewer rounds and fewer labels than
 * others of their strategy are unfinished and left out.
 * Cost: seeds times levels for each pair, and 2^seeds sums.
 */
#ifndef SCANT_REPORT_COMPARE_H
#define SCANT_REPORT_COMPARE_H

#include "report/measures.h"
#include "scant/train.h"

/* Pairs of each strategy with those before it, or with the baseline (n_strategies: none).
 * In the results' arena. */
scant_status report_compare(report_results *results, const report_measures *measures,
                            size_t baseline, scant_pair **pairs, size_t *count);

/* Why no seed of a pair is compared, in a few words. */
const char *report_why_not(const scant_pair *pair);

#endif
