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

enum { FIRST = 1024 }; /* at least the initial size of a text in core/text.c */

/* Old and new buffer exist together; the new one has up to twice the size needed. */
size_t report_text_memory(size_t size) {
    return scant__alloc_cost(2 * size + FIRST) + scant__alloc_cost(size + FIRST);
}

/* Excludes U+FFFE, U+FFFF and ASCII control characters, also tabs, line ends and U+007F,
 * which XML allows. */
static bool is_xml(uint32_t code) {
    return code >= 0x20 && code != 0x7F && code != 0xFFFE && code != 0xFFFF &&
           code != SCANT__UTF8_BAD;
}

/* Escapes markup. Malformed UTF-8 and characters that is_xml() excludes become U+FFFD. */
static void add_escaped(scant__text *text, const char *bytes, size_t size) {
    uint32_t code;
    for (size_t at = 0, step; at < size; at += step) {
        step = scant__utf8_next(bytes + at, size - at, &code);
        if (code == '&')
            scant__text_add(text, "&amp;");
        else if (code == '<')
            scant__text_add(text, "&lt;");
        else if (code == '>')
            scant__text_add(text, "&gt;");
        else if (code == '"')
            scant__text_add(text, "&quot;");
        else if (is_xml(code))
            scant__text_bytes(text, bytes + at, step);
        else
            scant__text_add(text, "\xEF\xBF\xBD");
    }
}

void report_add_tenths(scant__text *text, double value) {
    scant__text_number(text, round(value * 10) / 10 + 0.0, 9); /* + 0.0: no "-0" */
}

void report_add_number(scant__text *text, double value) {
    scant__text_number(text, value, 6);
}

void report_add_fixed(scant__text *text, double value, int decimals) {
    char digits[400];
    if (!(fabs(value) < 1e15)) { /* also NaN */
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
    if (sign)
        scant__text_addf(text, "%d", va_arg(a->list, int));
    else
        scant__text_addf(text, "%llu",
                         *size == 'z'         ? va_arg(a->list, size_t)
                         : size[0] && size[1] ? va_arg(a->list, unsigned long long)
                         : size[0]            ? va_arg(a->list, unsigned long)
                                              : va_arg(a->list, unsigned));
}

/* Adds the argument of a conversion; at: the text after its '%'. Returns the end of the
 * conversion. */
static const char *add_argument(scant__text *text, const char *at, arguments *a) {
    char size[3] = "";
    bool sign = *at == '+', fixed = at[sign] == '.';
    int decimals = -1;
    at += sign;
    if (fixed) {
        decimals = at[1] == '*' ? va_arg(a->list, int) : at[1] - '0';
        at += 2;
    }
    for (size_t i = 0; i < 2 && strchr("zl", *at); i++) size[i] = *at++;
    if (*at == 's') {
        const char *string = va_arg(a->list, const char *);
        add_escaped(text, string, fixed ? (size_t)decimals : strlen(string));
    } else if (*at == 'e') {
        report_add_exact(text, va_arg(a->list, double));
    } else if (*at == 'g' || *at == 'f') {
        double value = va_arg(a->list, double);
        if (sign && value > 0) scant__text_add(text, "+");
        if (*at == 'f' && !fixed)
            report_add_tenths(text, value);
        else if (decimals < 0)
            report_add_number(text, value);
        else
            report_add_fixed(text, value, decimals);
    } else if (*at == 'd' || *at == 'u') {
        add_whole(text, size, *at == 'd', a);
    } else { /* "%%" */
        scant__text_bytes(text, at, 1);
    }
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
