/* SPDX-License-Identifier: Apache-2.0
 *
 * What experiment.ini says, as far as a report asks: single values, and in what the
 * experiments of several folders differ. It is read as `scant run` writes it; whatever
 * else it may hold is passed over. (The loop's reader refuses what it does not know: a
 * report must be made of results of any version. And it is above this layer.)
 */
#ifndef SCANT_REPORT_EXPERIMENT_H
#define SCANT_REPORT_EXPERIMENT_H

#include "report/results.h"

/* The value of a key, cut to fit; false where there is none, or nothing in it. */
bool report_experiment_value(const char *text, const char *section, const char *key,
                             char *out, size_t size);

/* The keys whose values differ between folders, as "data.train, model.name", in the
 * results' arena; NULL: there are none. Strategies and seeds are not looked at, nor keys
 * that one of the folders does not have: those are options of a strategy that it did not
 * play, or of another version of the program. */
scant_status report_experiments_differ(report_results *results, const char **keys);

#endif
