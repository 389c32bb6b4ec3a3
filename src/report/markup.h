/* SPDX-License-Identifier: Apache-2.0
 *
 * Escaped markup and numbers for the text of charts and pages.
 */
#ifndef SCANT_REPORT_MARKUP_H
#define SCANT_REPORT_MARKUP_H

#include "core/text.h"

/* printf() for markup:
 *   %s          text, escaped
 *   %f          a coordinate, with one decimal or none
 *   %.2f        so many decimals, at most 9
 *   %g          a number with six digits
 *   %d %u %zu   and other whole numbers, as printf()
 * Numbers do not depend on the locale. */
void report_addf(scant__text *text, const char *format, ...) SCANT__PRINTF(2, 3);

/* Text for XML: markup is escaped; malformed UTF-8 and characters that XML does not allow
 * become U+FFFD. */
void report_add_escaped(scant__text *text, const char *string);
void report_add_tenths(scant__text *text, double value); /* with one decimal */
void report_add_number(scant__text *text, double value); /* with six digits */
void report_add_fixed(scant__text *text, double value, int decimals); /* at most 9 */
/* The fewest digits that read back as the same number; nothing for NaN. */
void report_add_exact(scant__text *text, double value);

/* Bytes held at most while a text grows to so many. */
size_t report_text_memory(size_t size);

#endif
