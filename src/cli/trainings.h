/* SPDX-License-Identifier: Apache-2.0
 *
 * What `scant report` and `scant compare` print about trainings that collapsed.
 */
#ifndef SCANT_CLI_TRAININGS_H
#define SCANT_CLI_TRAININGS_H

#include "cli/cli.h"

/* Returns a line about those that collapsed; NULL: none. where: what shows their
 * accuracies, such as "the figures above". */
const char *trainings_text(const scant_trainings *trainings, const char *where);
/* Adds the member "trainings". */
void trainings_json(scant__json *json, const scant_trainings *trainings);

#endif
