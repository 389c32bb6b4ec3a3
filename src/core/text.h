/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that grows, under the context's cap. A failure sticks: what is added after it is
 * lost, and scant__text_take() tells it, so that no line of writing needs a check.
 */
#ifndef SCANT_CORE_TEXT_H
#define SCANT_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"

typedef struct scant__text {
    scant_ctx *ctx;
    char *data;
    size_t size, room;
    bool failed;
} scant__text;

void scant__text_init(scant__text *text, scant_ctx *ctx);
void scant__text_bytes(scant__text *text, const char *bytes, size_t count);
void scant__text_add(scant__text *text, const char *string);
/* No %f, %g: the locale would show. Any length. */
void scant__text_addf(scant__text *text, const char *format, ...) SCANT__PRINTF(2, 3);
/* So many digits (17: it reads back the same), without zeros at the end. */
void scant__text_number(scant__text *text, double value, int digits);
/* A field of CSV, in quotes where it needs them (RFC 4180). */
void scant__text_csv(scant__text *text, const char *string);
/* A string of JSON, with its quotes; what is not UTF-8 comes as '?'. */
void scant__text_json(scant__text *text, const char *string);

/* What was written becomes the caller's, ended by scant__free(), and a zero stands behind
 * it; else SCANT_ENOMEM. The text is empty again either way. */
scant_status scant__text_take(scant__text *text, char **bytes, size_t *size);
void scant__text_end(scant__text *text);

#endif
