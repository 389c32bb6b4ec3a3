/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that grows, under the context's cap. A failure sticks: what is added after it is
 * lost, and report_text_take() tells it, so that no line of drawing needs a check. No
 * number in it depends on the locale.
 */
#ifndef SCANT_REPORT_TEXT_H
#define SCANT_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"

typedef struct report_text {
    scant_ctx *ctx;
    char *data;
    size_t size, room;
    bool failed;
} report_text;

void report_text_init(report_text *text, scant_ctx *ctx);
void report_add(report_text *text, const char *string);
/* No %f, %g: the locale would show. */
void report_addf(report_text *text, const char *format, ...) SCANT__PRINTF(2, 3);
/* Text for XML: markup is escaped, what is not UTF-8 or no character of XML is '?'. */
void report_add_escaped(report_text *text, const char *string);
void report_add_tenths(report_text *text, double value); /* with one decimal */
void report_add_number(report_text *text, double value); /* with six digits */
void report_add_fixed(report_text *text, double value, int decimals); /* at most 9 */
/* As few digits as give the same number when read; nothing for NaN. */
void report_add_exact(report_text *text, double value);
/* A cell of CSV, in quotes where it needs them. */
void report_add_cell(report_text *text, const char *string);
/* A string of JSON that may stand in a script of HTML. */
void report_add_json(report_text *text, const char *string);
void report_add_bytes(report_text *text, const void *bytes, size_t size);

/* What was written becomes the caller's, ended by scant__free(); else SCANT_ENOMEM. */
scant_status report_text_take(report_text *text, void **bytes, size_t *size);
/* Bytes held at most while a text grows to so many. */
size_t report_text_memory(size_t size);

#endif
