/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text.h"

#include <stdio.h>
#include <string.h>

#include "core/number.h"

enum { FIRST = 1024 };

void scant__text_init(scant__text *text, scant_ctx *ctx) {
    *text = (scant__text){.ctx = ctx};
}

static bool reserve(scant__text *text, size_t more) {
    if (text->failed) return false;
    if (text->room - text->size >= more) return true;
    size_t room = size_max(size_mul(2, text->room), size_add(text->size, more));
    room = size_max(room, FIRST);
    char *data = scant__alloc(text->ctx, room, 1);
    if (!data) {
        text->failed = true;
        return false;
    }
    if (text->size) memcpy(data, text->data, text->size);
    scant__free(text->ctx, text->data);
    text->data = data;
    text->room = room;
    return true;
}

void scant__text_bytes(scant__text *text, const char *bytes, size_t count) {
    if (!count || !reserve(text, count)) return;
    memcpy(text->data + text->size, bytes, count);
    text->size += count;
}

void scant__text_add(scant__text *text, const char *string) {
    scant__text_bytes(text, string, strlen(string));
}

void scant__text_addf(scant__text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size > 0 && reserve(text, (size_t)size + 1)) {
        vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
        text->size += (size_t)size;
    }
    va_end(again);
}

void scant__text_number(scant__text *text, double value, int digits) {
    char out[SCANT__NUMBER + 8];
    snprintf(out, sizeof out, "%.*g", digits, value);
    for (char *at = out; *at; at++)
        if (*at == ',') *at = '.'; /* a locale's */
    scant__text_add(text, out);
}

void scant__text_csv(scant__text *text, const char *string) {
    size_t length = strlen(string);
    bool blank =
        length && (strchr(" \t", string[0]) || strchr(" \t", string[length - 1]));
    if (!blank && !string[strcspn(string, ",\"\r\n")]) {
        scant__text_add(text, string);
        return;
    }
    scant__text_add(text, "\"");
    for (; *string; string++) {
        if (*string == '"') scant__text_add(text, "\"");
        scant__text_bytes(text, string, 1);
    }
    scant__text_add(text, "\"");
}

/* How many bytes the UTF-8 character at s takes; 0: it is none. */
static size_t character(const unsigned char *s) {
    size_t size = s[0] < 0x80 ? 1 : s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    unsigned char low = 0x80, high = 0xBF; /* of the second byte */
    if (size == 1) return 1;
    if (s[0] < 0xC2 || s[0] > 0xF4) return 0;
    if (s[0] == 0xE0) low = 0xA0;
    if (s[0] == 0xED) high = 0x9F;
    if (s[0] == 0xF0) low = 0x90;
    if (s[0] == 0xF4) high = 0x8F;
    if (s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i < size; i++)
        if (s[i] < 0x80 || s[i] > 0xBF) return 0;
    return size;
}

void scant__text_json(scant__text *text, const char *string) {
    const unsigned char *at = (const unsigned char *)string;
    scant__text_add(text, "\"");
    while (*at) {
        size_t size = character(at);
        if (*at == '"' || *at == '\\')
            scant__text_addf(text, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7F)
            scant__text_addf(text, "\\u%04x", *at);
        else if (size)
            scant__text_bytes(text, (const char *)at, size);
        else
            scant__text_add(text, "?");
        at += size ? size : 1;
    }
    scant__text_add(text, "\"");
}

scant_status scant__text_take(scant__text *text, char **bytes, size_t *size) {
    size_t written = text->size;
    if (reserve(text, 1)) text->data[written] = 0;
    bool failed = text->failed;
    if (failed) scant__free(text->ctx, text->data);
    *bytes = failed ? NULL : text->data;
    *size = failed ? 0 : written;
    scant__text_init(text, text->ctx);
    return failed ? SCANT_ENOMEM : SCANT_OK; /* the allocator has said why */
}

void scant__text_end(scant__text *text) {
    scant__free(text->ctx, text->data);
    scant__text_init(text, text->ctx);
}
