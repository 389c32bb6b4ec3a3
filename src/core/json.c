/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/number.h"
#include "core/utf8.h"

enum { DIGITS = 9 }; /* from here on large numbers get an exponent */

static bool is_plain(uint32_t code, const char *special) {
    if (code >= 0x80) return code != SCANT__UTF8_BAD;
    return code >= 0x20 && code != 0x7F && !strchr(special, (int)code);
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

static void add_string(scant__text *text, const char *bytes, size_t size,
                       const char *special) {
    size_t from = 0, taken;
    scant__text_add(text, "\"");
    for (size_t at = 0; at < size; at += taken) {
        uint32_t code;
        taken = scant__utf8_next(bytes + at, size - at, &code);
        if (is_plain(code, special)) continue;
        scant__text_bytes(text, bytes + from, at - from);
        add_special(text, code);
        from = at + taken;
    }
    scant__text_bytes(text, bytes + from, size - from);
    scant__text_add(text, "\"");
}

void scant__text_json_bytes(scant__text *text, const char *bytes, size_t size) {
    add_string(text, bytes, size, "\"\\");
}

void scant__text_json_script(scant__text *text, const char *string) {
    add_string(text, string, strlen(string), "\"\\<>&'");
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

static scant__text *begin_member(scant__json *json, const char *key) {
    if (json->comma) scant__text_add(&json->text, ",");
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
}

void scant__json_close(scant__json *json, char bracket) {
    scant__text_bytes(&json->text, &bracket, 1);
    json->comma = true;
}

void scant__json_string(scant__json *json, const char *key, const char *text) {
    scant__text_json(begin_member(json, key), text);
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

void scant__json_bool(scant__json *json, const char *key, bool value) {
    scant__text_add(begin_member(json, key), value ? "true" : "false");
}

void scant__json_null(scant__json *json, const char *key) {
    scant__text_add(begin_member(json, key), "null");
}

void scant__json_hex64(scant__json *json, const char *key, uint64_t value) {
    scant__text_addf(begin_member(json, key), "\"%016" PRIx64 "\"", value);
}

void scant__json_end(scant__json *json) {
    scant__text_end(&json->text);
    json->comma = false;
}
