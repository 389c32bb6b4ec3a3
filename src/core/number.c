/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing sets the C locale for one call and on this thread only, because a library must
 * not change the program's locale. Formatting replaces the locale's decimal separator,
 * which may have several bytes, by a point.
 */
#include "core/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAFE = 15,
    FULL = 17
}; /* a double preserves SAFE decimal digits; FULL digits preserve a double */

bool scant__number_parse(const char *text, double *out) {
    bool infinite = strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0;
    if (!infinite && text[strspn(text, "0123456789+-.eE")]) return false; /* nan, hex */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!plain) return false;
    locale_t before = uselocale(plain);
    char *end = NULL;
    errno = 0;
    *out = strtod(text, &end);
    bool large = errno == ERANGE && isinf(*out);
    uselocale(before);
    freelocale(plain);
    return end != text && !*end && !isnan(*out) && !large;
}

static bool in_number(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '+' || c == '-';
}

static const char *write_point(char *out) {
    char *to = out;
    for (const char *at = out; *at;) {
        if (in_number(*at)) {
            *to++ = *at++;
            continue;
        }
        *to++ = '.';
        while (*at && !in_number(*at)) at++;
    }
    *to = 0;
    return out;
}

/* Whether `digits` digits, formatted and parsed in the program's locale, give value. */
static bool reads_back(double value, int digits, char out[SCANT__NUMBER]) {
    snprintf(out, SCANT__NUMBER, "%.*g", digits, value);
    return strtod(out, NULL) == value;
}

const char *scant__number_round(double value, int digits, char out[SCANT__NUMBER]) {
    snprintf(out, SCANT__NUMBER, "%.*g", digits, value);
    return write_point(out);
}

const char *scant__number_format(double value, char out[SCANT__NUMBER]) {
    return scant__number_round(value, FULL, out);
}

/* If SAFE digits are not enough, the search for the fewest starts above SAFE. */
const char *scant__number_shortest(double value, int least, char out[SCANT__NUMBER]) {
    int digits = reads_back(value, SAFE, out) ? least : SAFE + 1;
    while (digits < FULL && !reads_back(value, digits, out)) digits++;
    return scant__number_round(value, digits, out);
}

const char *scant__shape_format(const size_t *shape, size_t ndim, char *out,
                                size_t size) {
    size_t used = 0;
    snprintf(out, size, "%s", ndim ? "" : "a single number");
    for (size_t i = 0; i < ndim && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%zu", i ? " x " : "", shape[i]);
    return out;
}
