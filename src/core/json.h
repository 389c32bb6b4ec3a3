/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing JSON (RFC 8259). Strings may hold any bytes: malformed UTF-8 is written as
 * U+FFFD.
 */
#ifndef SCANT_CORE_JSON_H
#define SCANT_CORE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

/* ---- single values ----------------------------------------------------------------- */

void scant__text_json(scant__text *text, const char *string); /* NULL: null */
void scant__text_json_bytes(scant__text *text, const char *bytes, size_t size);
/* For a <script> in HTML: <, >, & and ' are escaped, too. */
void scant__text_json_script(scant__text *text, const char *string);
/* The shortest form that reads back as the same number; null if not finite. */
void scant__text_json_number(scant__text *text, double value);

/* ---- objects and arrays, without blanks -------------------------------------------- */

/* {0} is an empty one in memory from malloc(); text.failed says if memory ran out. */
typedef struct scant__json {
    scant__text text;
    bool comma; /* needed before the next member */
} scant__json;

/* A key of NULL adds an element to an array, or the outermost value. */
void scant__json_open(scant__json *json, const char *key, char bracket); /* '{' or '[' */
void scant__json_close(scant__json *json, char bracket);                 /* '}' or ']' */
void scant__json_string(scant__json *json, const char *key,
                        const char *text); /* or NULL */
void scant__json_integer(scant__json *json, const char *key, int64_t value);
void scant__json_size(scant__json *json, const char *key, size_t value);
void scant__json_number(scant__json *json, const char *key, double value);
void scant__json_bool(scant__json *json, const char *key, bool value);
void scant__json_null(scant__json *json, const char *key);
/* A string of 16 hexadecimal digits: a JSON number would lose bits. */
void scant__json_hex64(scant__json *json, const char *key, uint64_t value);
void scant__json_end(scant__json *json); /* frees; the writer is empty again */

#endif
