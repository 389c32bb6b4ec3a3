/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text, with a decimal point in every locale.
 */
#ifndef SCANT_CORE_NUMBER_H
#define SCANT_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

enum { SCANT__NUMBER = 32 };

/* Parses the whole text as a decimal number, inf or -inf. Returns false if it is not one
 * or is too large. */
bool scant__number_parse(const char *text, double *out);

/* ---- formatting; the functions return out ---- */

/* Formats value as %.*g does, with 1 to 17 digits. */
const char *scant__number_round(double value, int digits, char out[SCANT__NUMBER]);
/* Formats value with 17 digits, so that parsing gives the same number. */
const char *scant__number_format(double value, char out[SCANT__NUMBER]);
/* Formats value with the fewest digits, at least `least`, that parse to the same number,
 * without trailing zeros. Round numbers from 10^least on have an exponent: with 6,
 * 100000 but 1e+06. */
const char *scant__number_shortest(double value, int least, char out[SCANT__NUMBER]);
/* Formats a shape as "700 x 5", or as "a single number" if ndim is 0; truncates it to
 * `size` bytes. */
const char *scant__shape_format(const size_t *shape, size_t ndim, char *out, size_t size);

#endif
