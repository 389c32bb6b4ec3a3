/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing string. A failed allocation is sticky: text added after it is dropped, and
 * scant__text_take() or `failed` reports it, so that no single call needs a check.
 */
#ifndef SCANT_CORE_TEXT_H
#define SCANT_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"

/* {0} is an empty text. */
typedef struct scant__text {
    scant_ctx *ctx; /* allocates under its cap; NULL: with malloc() */
    /* If set, allocates instead, like realloc(); scant__text_end() then frees nothing. */
    void *(*grow)(void *block, size_t size);
    char *data; /* ends in a zero that size does not count; NULL: empty */
    size_t size, room;
    bool failed;
} scant__text;

void scant__text_init(scant__text *text, scant_ctx *ctx);
void scant__text_bytes(scant__text *text, const char *bytes, size_t count);
void scant__text_add(scant__text *text, const char *string);
/* Adds formatted text of any length. The library must not use %f, %e or %g here, because
 * they depend on the locale. */
void scant__text_addf(scant__text *text, const char *format, ...) SCANT__PRINTF(2, 3);
/* Adds value rounded to `digits` digits, without trailing zeros. 17 digits parse to the
 * same number. */
void scant__text_number(scant__text *text, double value, int digits);
/* Adds a CSV cell, in quotes if RFC 4180 requires it or a reader might trim it. */
void scant__text_csv(scant__text *text, const char *string);
void scant__text_csv_bytes(scant__text *text, const char *bytes, size_t size);
/* Adds a cell of text that somebody else has written: spreadsheets run cells that start
 * with = + - @, a tab or a carriage return as formulas, so these get a quote (') in
 * front; and another one those that have it already, so that it can be removed again. */
void scant__text_csv_quoted(scant__text *text, const char *string);
/* The cell without that quote, if it has it. */
const char *scant__csv_unquoted(const char *cell);

/* Passes the bytes, followed by a zero, to the caller, who frees them with scant__free();
 * SCANT_ENOMEM if memory ran out. The text is empty afterwards in both cases. */
scant_status scant__text_take(scant__text *text, char **bytes, size_t *size);
void scant__text_end(scant__text *text); /* frees; the text is empty again */

#endif
