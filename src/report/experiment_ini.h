/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings in a folder's experiment.ini. Unknown keys are fine, and reading stops at
 * the first bad line without failing: a report can be made of results of any version.
 */
#ifndef SCANT_REPORT_EXPERIMENT_INI_H
#define SCANT_REPORT_EXPERIMENT_INI_H

#include "report/results.h"

/* Fills in the settings of a folder from its text. */
scant_status report_experiment_read(scant__arena *arena, report_folder *folder);

/* The value of a key; NULL if there is none. */
const char *report_experiment_value(const report_folder *folder, const char *section,
                                    const char *key);

/* The keys whose values differ between folders, as "data.train, model.name", in the
 * results' arena; NULL: there are none. Strategies and seeds do not count, nor do keys
 * that only one folder has: those are options of strategies that the others did not run,
 * or keys of another version. */
scant_status report_experiments_differ(report_results *results, const char **keys);

#endif
