/* SPDX-License-Identifier: Apache-2.0
 *
 * Escaped markup and numbers for the text of charts and pages.
 */
#ifndef SCANT_REPORT_MARKUP_H
#define SCANT_REPORT_MARKUP_H

#include "core/text.h"

/* printf() for markup:
 *   %s %.*s     text, or its first bytes, escaped for XML; malformed UTF-8 and control
 *               characters (also tabs and line ends) become U+FFFD
 *   %f          a coordinate, with one decimal or none
 *   %.2f %.*f   that many decimals, at most 9; -1: six digits
 *   %g          a number with six digits
 *   %e          the fewest digits that read back as the same number; nothing for NaN
 *   %+.2f %+g   with a plus sign if positive
 *   %d %u %zu   int and unsigned whole numbers, as printf()
 * Numbers do not depend on the locale. */
void report_addf(scant__text *text, const char *format, ...) SCANT__PRINTF(2, 3);

void report_add_tenths(scant__text *text, double value); /* one decimal or none */
void report_add_number(scant__text *text, double value); /* six digits */
void report_add_fixed(scant__text *text, double value, int decimals); /* at most 9 */
/* The fewest digits that read back as the same number; nothing for NaN. */
void report_add_exact(scant__text *text, double value);

/* Returns the most bytes allocated at a time while a text grows to `size` bytes. */
size_t report_text_memory(size_t size);

#endif
