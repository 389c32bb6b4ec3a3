/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/number.h"
#include "core/utf8.h"

enum { DIGITS = 9 }; /* whole numbers up to this length have no exponent */

static bool is_plain(uint32_t code) {
    if (code >= 0x80) return code != SCANT__UTF8_BAD;
    return code >= 0x20 && code != 0x7F && code != '"' && code != '\\';
}

static void add_special(scant__text *text, uint32_t code) {
    static const char codes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = code && code < 0x80 ? strchr(codes, (int)code) : NULL;
    if (code == SCANT__UTF8_BAD)
        scant__text_add(text, "\xEF\xBF\xBD");
    else if (at)
        scant__text_addf(text, "\\%c", letters[at - codes]);
    else
        scant__text_addf(text, "\\u%04x", (unsigned)code);
}

void scant__text_json_bytes(scant__text *text, const char *bytes, size_t size) {
    size_t from = 0, taken;
    scant__text_add(text, "\"");
    for (size_t at = 0; at < size; at += taken) {
        uint32_t code;
        taken = scant__utf8_next(bytes + at, size - at, &code);
        if (is_plain(code)) continue;
        scant__text_bytes(text, bytes + from, at - from);
        add_special(text, code);
        from = at + taken;
    }
    scant__text_bytes(text, bytes + from, size - from);
    scant__text_add(text, "\"");
}

void scant__text_json_script(scant__text *text, const char *json) {
    for (size_t length; *json; json += length) {
        length = strcspn(json, "<>&'");
        scant__text_bytes(text, json, length);
        if (!json[length]) return;
        scant__text_addf(text, "\\u%04x", (unsigned)(unsigned char)json[length++]);
    }
}

void scant__text_json(scant__text *text, const char *string) {
    if (string)
        scant__text_json_bytes(text, string, strlen(string));
    else
        scant__text_add(text, "null");
}

void scant__text_json_number(scant__text *text, double value) {
    char digits[SCANT__NUMBER];
    scant__text_add(text, isfinite(value) ? scant__number_shortest(value, DIGITS, digits)
                                          : "null");
}

/* ---- objects and arrays ------------------------------------------------------------ */

/* Starts a new line if members at this depth have a line each. */
static void break_line(scant__json *json, unsigned indent) {
    if (!json->depth || json->depth > json->lines) return;
    scant__text_addf(&json->text, "\n%*s", (int)indent, "");
}

static scant__text *begin_member(scant__json *json, const char *key) {
    if (json->comma) scant__text_add(&json->text, ",");
    break_line(json, json->depth);
    json->comma = true;
    if (key) {
        scant__text_json(&json->text, key);
        scant__text_add(&json->text, ":");
    }
    return &json->text;
}

void scant__json_open(scant__json *json, const char *key, char bracket) {
    scant__text_bytes(begin_member(json, key), &bracket, 1);
    json->comma = false;
    json->depth++;
}

void scant__json_close(scant__json *json, char bracket) {
    if (json->comma) break_line(json, json->depth - 1);
    scant__text_bytes(&json->text, &bracket, 1);
    json->comma = true;
    json->depth--;
}

void scant__json_string(scant__json *json, const char *key, const char *text) {
    scant__text_json(begin_member(json, key), text);
}

void scant__json_bytes(scant__json *json, const char *key, const char *bytes,
                       size_t size) {
    scant__text_json_bytes(begin_member(json, key), bytes, size);
}

void scant__json_integer(scant__json *json, const char *key, int64_t value) {
    scant__text_addf(begin_member(json, key), "%" PRId64, value);
}

void scant__json_size(scant__json *json, const char *key, size_t value) {
    scant__text_addf(begin_member(json, key), "%zu", value);
}

void scant__json_number(scant__json *json, const char *key, double value) {
    scant__text_json_number(begin_member(json, key), value);
}

void scant__json_rounded(scant__json *json, const char *key, double value, int digits) {
    if (isfinite(value))
        scant__text_number(begin_member(json, key), value, digits);
    else
        scant__json_null(json, key);
}

void scant__json_bool(scant__json *json, const char *key, bool value) {
    scant__text_add(begin_member(json, key), value ? "true" : "false");
}

void scant__json_null(scant__json *json, const char *key) {
    scant__text_add(begin_member(json, key), "null");
}

void scant__json_hex64(scant__json *json, const char *key, uint64_t value) {
    scant__text_addf(begin_member(json, key), "\"%016" PRIx64 "\"", value);
}

void scant__json_raw(scant__json *json, const char *key, const char *value) {
    scant__text_add(begin_member(json, key), value);
}

void scant__json_end(scant__json *json) {
    scant__text_end(&json->text);
    json->comma = false;
    json->depth = 0;
}

/* ---- several members --------------------------------------------------------------- */

scant__member scant__member_string(const char *key, const char *value) {
    return (scant__member){key, SCANT__JSON_STRING, .string = value};
}

scant__member scant__member_integer(const char *key, int64_t value) {
    return (scant__member){key, SCANT__JSON_INTEGER, .integer = value};
}

scant__member scant__member_size(const char *key, size_t value) {
    return (scant__member){key, SCANT__JSON_SIZE, .size = value};
}

scant__member scant__member_number(const char *key, double value) {
    return (scant__member){key, SCANT__JSON_NUMBER, .number = value};
}

scant__member scant__member_bool(const char *key, bool value) {
    return (scant__member){key, SCANT__JSON_BOOL, .yes = value};
}

scant__member scant__member_optional(const char *key, int64_t value) {
    return value < 0 ? scant__member_string(key, NULL)
                     : scant__member_integer(key, value);
}

void scant__json_members(scant__json *json, const scant__member *members, size_t n) {
    for (const scant__member *m = members; m < members + n; m++) switch (m->kind) {
        case SCANT__JSON_STRING:
            scant__json_string(json, m->key, m->string);
            break;
        case SCANT__JSON_INTEGER:
            scant__json_integer(json, m->key, m->integer);
            break;
        case SCANT__JSON_SIZE:
            scant__json_size(json, m->key, m->size);
            break;
        case SCANT__JSON_NUMBER:
            scant__json_number(json, m->key, m->number);
            break;
        case SCANT__JSON_BOOL:
            scant__json_bool(json, m->key, m->yes);
            break;
        }
}
