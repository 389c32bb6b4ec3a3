/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON as it is written. A failure to get memory sticks: what is added after it is lost,
 * and whoever sends the text looks at `failed` once. Strings may be anything: what is not
 * UTF-8 comes out as U+FFFD.
 */
#ifndef SCANT_SERVE_OUT_H
#define SCANT_SERVE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} is an empty one. data is the owner's to free(). */
typedef struct out {
    char *data;
    size_t size, room;
    bool failed;
    bool comma; /* before the next member */
} out;

void out_bytes(out *o, const char *bytes, size_t count);
/* key NULL: an element of an array, or the whole. */
void out_open(out *o, const char *key, char bracket);       /* '{' or '[' */
void out_close(out *o, char bracket);                       /* '}' or ']' */
void out_string(out *o, const char *key, const char *text); /* NULL: null */
void out_integer(out *o, const char *key, int64_t value);
void out_size(out *o, const char *key, size_t value);
/* As short as reads back the same; what is not finite is null. */
void out_real(out *o, const char *key, double value);
void out_bool(out *o, const char *key, bool value);
void out_null(out *o, const char *key);
/* 16 hexadecimal digits, in quotes: a number of JSON would lose bits. */
void out_key64(out *o, const char *key, uint64_t value);
void out_end(out *o); /* frees, and is empty again */

#endif
