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

bool scant__number_parse(const char *text, double *out) {
    bool infinite = strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0;
    if (!infinite && text[strspn(text, "0123456789+-.eE")]) return false; /* nan, hex */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!plain) return false;
    char *end = NULL;
    locale_t before = uselocale(plain);
    errno = 0;
    *out = strtod(text, &end);
    bool large = errno == ERANGE && isinf(*out);
    uselocale(before);
    freelocale(plain);
    return end != text && !*end && !isnan(*out) && !large;
}

const char *scant__number_format(double value, char out[SCANT__NUMBER]) {
    snprintf(out, SCANT__NUMBER, "%.17g", value);
    for (char *at = out; *at; at++)
        if (*at == ',') *at = '.';
    return out;
}
