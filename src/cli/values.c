/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the values of flags. Counts and sizes have decimal digits only: no sign, no
 * blanks, no "1e3".
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

bool cli_read_number(const char *text, size_t min, size_t max, size_t *out) {
    uint64_t value;
    if (!scant__whole_read(text, &value) || value < min || value > max) return false;
    *out = (size_t)value;
    return true;
}

bool cli_read_real(const char *text, double *out) {
    char *end;
    if (!*text || text[strspn(text, "0123456789.eE+-")]) return false; /* no inf, no 0x */
    double value = strtod(text, &end);
    if (*end || !isfinite(value)) return false;
    *out = value;
    return true;
}

bool cli_read_positive(const char *text, double *out) {
    double value;
    if (!cli_read_real(text, &value) || !(value > 0)) return false;
    *out = value;
    return true;
}

void cli_json_setting(scant__text *text, scant_option_kind kind, const char *value) {
    char *end = NULL;
    double number = kind == SCANT_OPTION_CHOICE ? (double)NAN : strtod(value, &end);
    if (kind != SCANT_OPTION_CHOICE && end != value && !*end && isfinite(number))
        scant__text_json_number(text, number);
    else
        scant__text_json(text, value);
}
