/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text, with a point whatever the program's locale is.
 */
#ifndef SCANT_CORE_NUMBER_H
#define SCANT_CORE_NUMBER_H

#include <stdbool.h>

enum { SCANT__NUMBER = 32 };

/* The decimal number (or inf, -inf) that text is as a whole; false if it is none or too
 * large. */
bool scant__number_parse(const char *text, double *out);
/* So many digits that parsing gives the same number. Returns out. */
const char *scant__number_format(double value, char out[SCANT__NUMBER]);
/* The fewest digits that read back as the same number, as a person would write it: 100,
 * not 1e+02. Returns out. */
const char *scant__number_shortest(double value, char out[SCANT__NUMBER]);

#endif
