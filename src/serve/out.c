/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/out.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void out_bytes(out *o, const char *bytes, size_t count) {
    if (o->failed) return;
    if (count >= o->room - o->size) { /* one more than needed: a zero may follow */
        size_t room = o->room < 512 ? 512 : o->room;
        while (room - o->size <= count && room <= SIZE_MAX / 2) room *= 2;
        char *data = room - o->size > count ? realloc(o->data, room) : NULL;
        if (!data) {
            o->failed = true;
            return;
        }
        o->data = data, o->room = room;
    }
    if (count) memcpy(o->data + o->size, bytes, count);
    o->size += count;
    o->data[o->size] = '\0';
}

static void add(out *o, const char *text) { out_bytes(o, text, strlen(text)); }

/* ---- strings ----------------------------------------------------------------------- */

/* How many bytes the character at p takes (none of it beyond the closing zero), or 0
 * where it is not UTF-8: too long a form, a surrogate, beyond U+10FFFF. */
static size_t character(const unsigned char *p) {
    size_t n = p[0] < 0x80                    ? 1
               : p[0] >= 0xC2 && p[0] <= 0xDF ? 2
               : (p[0] & 0xF0) == 0xE0        ? 3
               : p[0] >= 0xF0 && p[0] <= 0xF4 ? 4
                                              : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    if (n == 3 && ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F)))
        return 0;
    if (n == 4 && ((p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F)))
        return 0;
    return n;
}

static void escape(out *o, unsigned char c) {
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = strchr(plain, c);
    char text[8];
    if (at)
        snprintf(text, sizeof text, "\\%c", letters[at - plain]);
    else
        snprintf(text, sizeof text, "\\u%04x", (unsigned)c);
    add(o, text);
}

static void quoted(out *o, const char *text) {
    const unsigned char *p = (const unsigned char *)text, *from = p;
    out_bytes(o, "\"", 1);
    while (*p) {
        size_t n = character(p);
        if (n && *p >= 0x20 && *p != '"' && *p != '\\' && *p != 0x7F) {
            p += n;
            continue;
        }
        out_bytes(o, (const char *)from, (size_t)(p - from));
        if (n)
            escape(o, *p);
        else
            add(o, "\xEF\xBF\xBD");
        from = ++p;
    }
    out_bytes(o, (const char *)from, (size_t)(p - from));
    out_bytes(o, "\"", 1);
}

/* ---- values ------------------------------------------------------------------------ */

static void member(out *o, const char *key) {
    if (o->comma) out_bytes(o, ",", 1);
    o->comma = true;
    if (!key) return;
    quoted(o, key);
    out_bytes(o, ":", 1);
}

void out_open(out *o, const char *key, char bracket) {
    member(o, key);
    out_bytes(o, &bracket, 1);
    o->comma = false;
}

void out_close(out *o, char bracket) {
    out_bytes(o, &bracket, 1);
    o->comma = true;
}

void out_string(out *o, const char *key, const char *text) {
    member(o, key);
    if (text)
        quoted(o, text);
    else
        add(o, "null");
}

void out_integer(out *o, const char *key, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    member(o, key);
    add(o, text);
}

void out_size(out *o, const char *key, size_t value) {
    char text[24];
    snprintf(text, sizeof text, "%zu", value);
    member(o, key);
    add(o, text);
}

void out_real(out *o, const char *key, double value) {
    char text[32] = "null";
    for (int digits = 6; isfinite(value) && digits <= 17; digits += digits < 15 ? 9 : 1) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    member(o, key);
    add(o, text);
}

void out_bool(out *o, const char *key, bool value) {
    member(o, key);
    add(o, value ? "true" : "false");
}

void out_null(out *o, const char *key) { out_string(o, key, NULL); }

void out_key64(out *o, const char *key, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    out_string(o, key, text);
}

void out_end(out *o) {
    free(o->data);
    *o = (out){0};
}
