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
/* Adds a JSON document for a <script> in HTML: <, >, & and ', which occur only in its
 * strings, become \u003c and so on. */
void scant__text_json_script(scant__text *text, const char *json);
/* The shortest form that reads back as the same number; null if not finite. */
void scant__text_json_number(scant__text *text, double value);

/* ---- objects and arrays ------------------------------------------------------------ */

/* A JSON writer. {0} is empty and uses malloc(); text.failed: memory ran out. */
typedef struct scant__json {
    scant__text text;
    bool comma;     /* whether the next member needs a comma before it */
    unsigned lines; /* down to this depth each member has its own line; 0: one line */
    unsigned depth; /* number of open brackets */
} scant__json;

/* A key of NULL adds an element to an array, or the outermost value. */
void scant__json_open(scant__json *json, const char *key, char bracket); /* '{' or '[' */
void scant__json_close(scant__json *json, char bracket);                 /* '}' or ']' */
void scant__json_string(scant__json *json, const char *key,
                        const char *text); /* or NULL */
void scant__json_bytes(scant__json *json, const char *key, const char *bytes,
                       size_t size);
void scant__json_integer(scant__json *json, const char *key, int64_t value);
void scant__json_size(scant__json *json, const char *key, size_t value);
void scant__json_number(scant__json *json, const char *key, double value);
/* Writes a number like scant__text_number(), or null if it is not finite. */
void scant__json_rounded(scant__json *json, const char *key, double value, int digits);
void scant__json_bool(scant__json *json, const char *key, bool value);
void scant__json_null(scant__json *json, const char *key);
/* A string of 16 hexadecimal digits: a JSON number would lose bits. */
void scant__json_hex64(scant__json *json, const char *key, uint64_t value);
/* A value that is JSON already. */
void scant__json_raw(scant__json *json, const char *key, const char *value);
void scant__json_end(scant__json *json); /* frees; the writer is empty again */

/* ---- several members in one call --------------------------------------------------- */

typedef struct scant__member {
    const char *key;
    enum {
        SCANT__JSON_STRING,
        SCANT__JSON_INTEGER,
        SCANT__JSON_SIZE,
        SCANT__JSON_NUMBER,
        SCANT__JSON_BOOL
    } kind;
    union {
        const char *string; /* NULL: written as null */
        int64_t integer;
        size_t size;
        double number;
        bool yes;
    };
} scant__member;

/* A member from a string, an int64_t, a size_t, a double or a bool. An int does not
 * compile, because it may be meant as a bool. */
#define MEMBER(key, value)                                                               \
    _Generic((value), char *                                                             \
             : scant__member_string, const char *                                        \
             : scant__member_string, int64_t                                             \
             : scant__member_integer, size_t                                             \
             : scant__member_size, double                                                \
             : scant__member_number, bool                                                \
             : scant__member_bool)(key, value)
scant__member scant__member_string(const char *key, const char *value);
scant__member scant__member_integer(const char *key, int64_t value);
scant__member scant__member_size(const char *key, size_t value);
scant__member scant__member_number(const char *key, double value);
scant__member scant__member_bool(const char *key, bool value);
/* A member from an int64_t; null if it is negative. */
#define OPTIONAL(key, value) scant__member_optional(key, value)
scant__member scant__member_optional(const char *key, int64_t value);

/* JSON_MEMBERS(json, MEMBER("a", 1.5), MEMBER("b", "x")) adds the members to the object
 * that is open; JSON_OBJECT(json, key, ...) adds an object with the members. */
#define JSON_MEMBERS(json, ...)                                                          \
    scant__json_members(json, (const scant__member[]){__VA_ARGS__},                      \
                        sizeof((const scant__member[]){__VA_ARGS__}) /                   \
                            sizeof(scant__member))
#define JSON_OBJECT(json, key, ...)                                                      \
    (scant__json_open(json, key, '{'), JSON_MEMBERS(json, __VA_ARGS__),                  \
     scant__json_close(json, '}'))
void scant__json_members(scant__json *json, const scant__member *members, size_t n);

#endif
