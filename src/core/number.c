/* SPDX-License-Identifier: Apache-2.0
 *
 * A locale is set for the one call, on this thread alone: a library does not change the
 * program's.
 */
#include "core/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers with a point from here on; (locale_t)0: that cannot be had. */
static locale_t plain_begin(locale_t *before) {
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain) *before = uselocale(plain);
    return plain;
}

static void plain_end(locale_t plain, locale_t before) {
    uselocale(before);
    freelocale(plain);
}

bool scant__number_parse(const char *text, double *out) {
    bool infinite = strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0;
    if (!infinite && text[strspn(text, "0123456789+-.eE")]) return false; /* nan, hex */
    locale_t before, plain = plain_begin(&before);
    if (!plain) return false;
    char *end = NULL;
    errno = 0;
    *out = strtod(text, &end);
    bool large = errno == ERANGE && isinf(*out);
    plain_end(plain, before);
    return end != text && !*end && !isnan(*out) && !large;
}

/* Where there is no memory for a locale, a comma at least becomes a point. */
static const char *write_digits(double value, int digits, char out[SCANT__NUMBER]) {
    locale_t before, plain = plain_begin(&before);
    snprintf(out, SCANT__NUMBER, "%.*g", digits, value);
    if (plain) plain_end(plain, before);
    for (char *at = out; *at; at++)
        if (*at == ',') *at = '.';
    return out;
}

const char *scant__number_format(double value, char out[SCANT__NUMBER]) {
    return write_digits(value, 17, out);
}

const char *scant__number_shortest(double value, char out[SCANT__NUMBER]) {
    double back;
    for (int digits = fabs(value) >= 1 ? 6 : 1; digits < 17; digits++) {
        write_digits(value, digits, out);
        if (scant__number_parse(out, &back) && back == value) return out;
    }
    return write_digits(value, 17, out);
}
