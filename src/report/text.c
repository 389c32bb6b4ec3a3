/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"

enum { FIRST = 4096, PIECE = 512 };

void report_text_init(report_text *text, scant_ctx *ctx) {
    *text = (report_text){.ctx = ctx};
}

/* Old and new together, the new one up to twice what is needed. */
size_t report_text_memory(size_t size) {
    return scant__alloc_cost(2 * size + FIRST) + scant__alloc_cost(size + FIRST);
}

static bool reserve(report_text *text, size_t more) {
    if (text->failed) return false;
    if (text->room - text->size >= more) return true;
    size_t room = text->room ? 2 * text->room : FIRST;
    while (room - text->size < more) room *= 2;
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

static void add_bytes(report_text *text, const char *bytes, size_t count) {
    if (!reserve(text, count)) return;
    memcpy(text->data + text->size, bytes, count);
    text->size += count;
}

void report_add(report_text *text, const char *string) {
    add_bytes(text, string, strlen(string));
}

void report_addf(report_text *text, const char *format, ...) {
    char piece[PIECE];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (size > 0) add_bytes(text, piece, (size_t)size < PIECE ? (size_t)size : PIECE - 1);
}

/* How many bytes the character at s takes, 0: it is none that XML allows. */
static size_t character(const unsigned char *s) {
    static const struct {
        unsigned char low, high; /* of the first byte */
        unsigned char from, to;  /* of the second */
        size_t size;
    } forms[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
                 {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
                 {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
                 {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7F;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (s[0] < forms[i].low || s[0] > forms[i].high) continue;
        if (s[1] < forms[i].from || s[1] > forms[i].to) return 0;
        for (size_t k = 2; k < forms[i].size; k++)
            if (s[k] < 0x80 || s[k] > 0xBF) return 0;
        bool no_xml = s[0] == 0xEF && s[1] == 0xBF && s[2] >= 0xBE; /* U+FFFE, U+FFFF */
        return no_xml ? 0 : forms[i].size;
    }
    return 0;
}

void report_add_escaped(report_text *text, const char *string) {
    for (const char *at = string; *at;) {
        size_t size = character((const unsigned char *)at);
        if (*at == '&')
            report_add(text, "&amp;");
        else if (*at == '<')
            report_add(text, "&lt;");
        else if (*at == '>')
            report_add(text, "&gt;");
        else if (*at == '"')
            report_add(text, "&quot;");
        else if (size)
            add_bytes(text, at, size);
        else
            report_add(text, "?");
        at += size ? size : 1;
    }
}

void report_add_tenths(report_text *text, double value) {
    long long tenths = llround(value * 10);
    const char *sign = tenths < 0 ? "-" : "";
    unsigned long long size = (unsigned long long)(tenths < 0 ? -tenths : tenths);
    if (size % 10)
        report_addf(text, "%s%llu.%llu", sign, size / 10, size % 10);
    else
        report_addf(text, "%s%llu", sign, size / 10);
}

/* The decimal point is whatever the locale writes between digits: it becomes '.'. */
void report_add_number(report_text *text, double value) {
    char digits[64];
    bool odd = false;
    snprintf(digits, sizeof digits, "%.6g", value);
    for (const char *c = digits; *c; c++) {
        bool plain = isalnum((unsigned char)*c) || strchr("+-", *c);
        if (plain)
            add_bytes(text, c, 1);
        else if (!odd)
            add_bytes(text, ".", 1);
        odd = !plain;
    }
}

void report_add_fixed(report_text *text, double value, int decimals) {
    char digits[400];
    if (!(fabs(value) < 1e15)) { /* NaN, too */
        report_add_number(text, value);
        return;
    }
    int size = snprintf(digits, sizeof digits, "%.*f", decimals, value);
    bool zero = digits[0] == '-' && !digits[strspn(digits, "-0.,")]; /* "-0.00" */
    for (int i = zero; i < size; i++) {
        bool plain = isdigit((unsigned char)digits[i]) || digits[i] == '-';
        add_bytes(text, plain ? &digits[i] : ".", 1);
    }
}

void report_add_exact(report_text *text, double value) {
    char digits[SCANT__NUMBER];
    double back;
    if (isnan(value)) return;
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        for (char *at = digits; *at; at++)
            if (*at == ',') *at = '.';
        if (scant__number_parse(digits, &back) && back == value) break;
    }
    report_add(text, digits);
}

void report_add_cell(report_text *text, const char *string) {
    bool blank = *string && (strchr(" \t", *string) || /* else it would be cut */
                             strchr(" \t", string[strlen(string) - 1]));
    if (*string && !blank && !string[strcspn(string, ",\"\r\n")]) {
        report_add(text, string);
        return;
    }
    add_bytes(text, "\"", 1);
    for (const char *at = string; *at; at++) {
        if (*at == '"') add_bytes(text, at, 1);
        add_bytes(text, at, 1);
    }
    add_bytes(text, "\"", 1);
}

void report_add_json(report_text *text, const char *string) {
    report_add(text, "\"");
    for (const char *at = string; *at;) {
        size_t size = character((const unsigned char *)at);
        if (strchr("<>&\"\\'", *at))
            report_addf(text, "\\u%04x", (unsigned)(unsigned char)*at);
        else if (size)
            add_bytes(text, at, size);
        else
            report_add(text, "?");
        at += size ? size : 1;
    }
    report_add(text, "\"");
}

void report_add_bytes(report_text *text, const void *bytes, size_t size) {
    add_bytes(text, bytes, size);
}

scant_status report_text_take(report_text *text, void **bytes, size_t *size) {
    *bytes = NULL;
    *size = 0;
    if (text->failed) {
        scant__free(text->ctx, text->data);
        return SCANT_ENOMEM; /* the allocator has said why */
    }
    *bytes = text->data;
    *size = text->size;
    return SCANT_OK;
}
