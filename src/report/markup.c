/* SPDX-License-Identifier: Apache-2.0 */
#include "report/markup.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"

enum { FIRST = 1024 }; /* at least what core/text.c begins with */

/* Old and new together, the new one up to twice what is needed. */
size_t report_text_memory(size_t size) {
    return scant__alloc_cost(2 * size + FIRST) + scant__alloc_cost(size + FIRST);
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

void report_add_escaped(scant__text *text, const char *string) {
    for (const char *at = string; *at;) {
        size_t size = character((const unsigned char *)at);
        if (*at == '&')
            scant__text_add(text, "&amp;");
        else if (*at == '<')
            scant__text_add(text, "&lt;");
        else if (*at == '>')
            scant__text_add(text, "&gt;");
        else if (*at == '"')
            scant__text_add(text, "&quot;");
        else if (size)
            scant__text_bytes(text, at, size);
        else
            scant__text_add(text, "?");
        at += size ? size : 1;
    }
}

void report_add_tenths(scant__text *text, double value) {
    long long tenths = llround(value * 10);
    const char *sign = tenths < 0 ? "-" : "";
    unsigned long long size = (unsigned long long)(tenths < 0 ? -tenths : tenths);
    if (size % 10)
        scant__text_addf(text, "%s%llu.%llu", sign, size / 10, size % 10);
    else
        scant__text_addf(text, "%s%llu", sign, size / 10);
}

/* The decimal point is whatever the locale writes between digits: it becomes '.'. */
void report_add_number(scant__text *text, double value) {
    char digits[64];
    bool odd = false;
    snprintf(digits, sizeof digits, "%.6g", value);
    for (const char *c = digits; *c; c++) {
        bool plain = isalnum((unsigned char)*c) || strchr("+-", *c);
        if (plain)
            scant__text_bytes(text, c, 1);
        else if (!odd)
            scant__text_bytes(text, ".", 1);
        odd = !plain;
    }
}

void report_add_fixed(scant__text *text, double value, int decimals) {
    char digits[400];
    if (!(fabs(value) < 1e15)) { /* NaN, too */
        report_add_number(text, value);
        return;
    }
    int size = snprintf(digits, sizeof digits, "%.*f", decimals, value);
    bool zero = digits[0] == '-' && !digits[strspn(digits, "-0.,")]; /* "-0.00" */
    for (int i = zero; i < size; i++) {
        bool plain = isdigit((unsigned char)digits[i]) || digits[i] == '-';
        scant__text_bytes(text, plain ? &digits[i] : ".", 1);
    }
}

void report_add_exact(scant__text *text, double value) {
    char digits[SCANT__NUMBER];
    double back;
    if (isnan(value)) return;
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        for (char *at = digits; *at; at++)
            if (*at == ',') *at = '.';
        if (scant__number_parse(digits, &back) && back == value) break;
    }
    scant__text_add(text, digits);
}

void report_add_json(scant__text *text, const char *string) {
    scant__text_add(text, "\"");
    for (const char *at = string; *at;) {
        size_t size = character((const unsigned char *)at);
        if (strchr("<>&\"\\'", *at))
            scant__text_addf(text, "\\u%04x", (unsigned)(unsigned char)*at);
        else if (size)
            scant__text_bytes(text, at, size);
        else
            scant__text_add(text, "?");
        at += size ? size : 1;
    }
    scant__text_add(text, "\"");
}

/* ---- printf() ---------------------------------------------------------------------- */

typedef struct arguments {
    va_list list;
} arguments;

static void add_whole(scant__text *text, const char *size, bool sign, arguments *a) {
    if (*size == 'z')
        scant__text_addf(text, "%zu", va_arg(a->list, size_t));
    else if (strcmp(size, "ll") == 0)
        scant__text_addf(text, "%llu", va_arg(a->list, unsigned long long));
    else if (*size == 'l')
        scant__text_addf(text, "%lu", va_arg(a->list, unsigned long));
    else if (sign)
        scant__text_addf(text, "%d", va_arg(a->list, int));
    else
        scant__text_addf(text, "%u", va_arg(a->list, unsigned));
}

/* Adds the argument of a conversion, which begins behind its '%'; returns its end. */
static const char *add_argument(scant__text *text, const char *at, arguments *a) {
    char size[3] = "";
    int decimals = -1;
    if (*at == '.') {
        decimals = at[1] - '0';
        at += 2;
    }
    for (size_t i = 0; i < 2 && strchr("zl", *at); i++) size[i] = *at++;
    if (*at == 's')
        report_add_escaped(text, va_arg(a->list, const char *));
    else if (*at == 'g')
        report_add_number(text, va_arg(a->list, double));
    else if (*at == 'f' && decimals < 0)
        report_add_tenths(text, va_arg(a->list, double));
    else if (*at == 'f')
        report_add_fixed(text, va_arg(a->list, double), decimals);
    else if (*at == 'd' || *at == 'u')
        add_whole(text, size, *at == 'd', a);
    else /* "%%" */
        scant__text_bytes(text, at, 1);
    return at + 1;
}

void report_addf(scant__text *text, const char *format, ...) {
    arguments a;
    va_start(a.list, format);
    while (*format) {
        size_t plain = strcspn(format, "%");
        scant__text_bytes(text, format, plain);
        format += plain;
        if (*format) format = add_argument(text, format + 1, &a);
    }
    va_end(a.list);
}
