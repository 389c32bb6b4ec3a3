/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text, with a decimal point in every locale.
 */
#ifndef SCANT_CORE_NUMBER_H
#define SCANT_CORE_NUMBER_H

#include <stdbool.h>

enum { SCANT__NUMBER = 32 };

/* Reads text, all of it, as a decimal number, inf or -inf. False if it is not one or is
 * too large. */
bool scant__number_parse(const char *text, double *out);

/* These return out. */

/* As %.*g writes it, with 1 to 17 digits. */
const char *scant__number_round(double value, int digits, char out[SCANT__NUMBER]);
/* With 17 digits, so that parsing gives the same number. */
const char *scant__number_format(double value, char out[SCANT__NUMBER]);
/* With the fewest digits, but no fewer than `least`, that parse to the same number. A
 * larger `least` writes larger numbers without an exponent (6: 100000, 1e+06). */
const char *scant__number_shortest(double value, int least, char out[SCANT__NUMBER]);

#endif
