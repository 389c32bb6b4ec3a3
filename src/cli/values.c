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

/* Digits from text on; NULL where there are none or they overflow. */
static const char *digits(const char *text, uint64_t *out) {
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10) return NULL;
        value = value * 10 + digit;
    }
    if (at == text) return NULL;
    *out = value;
    return at;
}

bool cli_read_seed(const char *text, uint64_t *out) {
    uint64_t value;
    const char *end = digits(text, &value);
    if (!end || *end) return false;
    *out = value;
    return true;
}

bool cli_read_number(const char *text, size_t min, size_t max, size_t *out) {
    uint64_t value;
    if (!cli_read_seed(text, &value) || value < min || value > max) return false;
    *out = (size_t)value;
    return true;
}

/* "", "K", "KB", "KiB", ... in either case; all of them powers of 1024. */
static bool read_unit(const char *text, uint64_t *unit) {
    static const char letters[] = "KMGT";
    *unit = 1;
    if (*text) {
        const char *letter = strchr(letters, toupper((unsigned char)*text));
        if (letter) {
            *unit = (uint64_t)1 << (10 * (letter - letters + 1));
            text++;
            if ((*text == 'i' || *text == 'I') && (text[1] == 'b' || text[1] == 'B'))
                text++;
        }
        if (*text == 'b' || *text == 'B') text++;
    }
    return *text == '\0';
}

bool cli_read_size(const char *text, size_t *out) {
    uint64_t whole, unit;
    double fraction = 0, place = 0.1;
    const char *at = digits(text, &whole);
    bool has_fraction = at && *at == '.';
    if (!at) return false;
    if (has_fraction) {
        for (at++; *at >= '0' && *at <= '9'; at++, place /= 10)
            fraction += place * (*at - '0');
        if (at[-1] == '.') return false;
    }
    if (!read_unit(at, &unit) || (has_fraction && unit == 1)) return false;
    if (whole >= SIZE_MAX / unit) return false;
    size_t bytes = (size_t)(whole * unit) + (size_t)(fraction * (double)unit);
    *out = bytes ? bytes : 1; /* 0 would mean "the default" to the library */
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

bool cli_is_choice(const char *choices, const char *word) {
    size_t length = strlen(word);
    while (length > 0) {
        size_t span = strcspn(choices, "|");
        if (span == length && memcmp(choices, word, length) == 0) return true;
        if (!choices[span]) return false;
        choices += span + 1;
    }
    return false;
}

void cli_json_setting(scant__text *text, scant_option_kind kind, const char *value) {
    char *end = NULL;
    double number = kind == SCANT_OPTION_CHOICE ? (double)NAN : strtod(value, &end);
    if (kind != SCANT_OPTION_CHOICE && end != value && !*end && isfinite(number))
        scant__text_json_number(text, number);
    else
        scant__text_json(text, value);
}
