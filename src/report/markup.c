/* SPDX-License-Identifier: Apache-2.0 */
#include "report/markup.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "core/utf8.h"

enum { FIRST = 1024 }; /* at least what core/text.c begins with */

/* Old and new together, the new one up to twice what is needed. */
size_t report_text_memory(size_t size) {
    return scant__alloc_cost(2 * size + FIRST) + scant__alloc_cost(size + FIRST);
}

/* Control characters, U+FFFE and U+FFFF are not allowed in XML. */
static bool is_xml(uint32_t code) {
    return code >= 0x20 && code != 0x7F && code != 0xFFFE && code != 0xFFFF &&
           code != SCANT__UTF8_BAD;
}

void report_add_escaped(scant__text *text, const char *string) {
    uint32_t code;
    for (size_t size; *string; string += size) {
        size = scant__utf8_next(string, SIZE_MAX, &code);
        if (code == '&')
            scant__text_add(text, "&amp;");
        else if (code == '<')
            scant__text_add(text, "&lt;");
        else if (code == '>')
            scant__text_add(text, "&gt;");
        else if (code == '"')
            scant__text_add(text, "&quot;");
        else if (is_xml(code))
            scant__text_bytes(text, string, size);
        else
            scant__text_add(text, "\xEF\xBF\xBD");
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

void report_add_number(scant__text *text, double value) {
    scant__text_number(text, value, 6);
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
    if (!isnan(value)) scant__text_add(text, scant__number_shortest(value, 15, digits));
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
