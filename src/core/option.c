/* SPDX-License-Identifier: Apache-2.0 */
#include "core/option.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/near.h"

/* ---- reading values ---------------------------------------------------------------- */

/* Splits the first word off "a|b|c". */
static bool next_word(const char **choices, const char **word, size_t *size) {
    if (!*choices) return false;
    *word = *choices;
    *size = strcspn(*choices, "|");
    *choices = (*choices)[*size] ? *choices + *size + 1 : NULL;
    return true;
}

bool scant__is_choice(const char *choices, const char *text) {
    const char *word;
    size_t size, length = strlen(text);
    while (length && next_word(&choices, &word, &size))
        if (size == length && memcmp(word, text, size) == 0) return true;
    return false;
}

bool scant__has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

bool scant__switch_read(const char *text, bool *out) {
    static const char *const words[] = {"no",  "yes", "false", "true",
                                        "off", "on",  "0",     "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    return false;
}

/* Returns the end of the digits; NULL if there are none or they overflow. */
static const char *read_digits(const char *text, uint64_t *out) {
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10) return NULL;
        value = value * 10 + digit;
    }
    *out = value;
    return at == text ? NULL : at;
}

bool scant__uint_read(const char *text, uint64_t *out) {
    const char *end = read_digits(text, out);
    return end && !*end;
}

/* Reads "", "B", "K", "KB", "KiB", ..., in upper or lower case. */
static bool read_unit(const char *text, uint64_t *unit) {
    static const char letters[] = "KMGT";
    *unit = 1;
    const char *letter = *text ? strchr(letters, toupper((unsigned char)*text)) : NULL;
    if (letter) {
        *unit = (uint64_t)1 << (10 * (letter - letters + 1));
        text++;
        if (tolower((unsigned char)*text) == 'i' &&
            tolower((unsigned char)text[1]) == 'b')
            text++;
    }
    if (*text == 'b' || *text == 'B') text++;
    return !*text;
}

/* Reads a size in bytes: 512, 1.5G, 4KiB; K, M, G and T are powers of 1024. */
static bool read_bytes(const char *text, uint64_t *out) {
    uint64_t whole, unit;
    double fraction = 0, place = 0.1;
    const char *at = read_digits(text, &whole);
    if (!at) return false;
    bool has_fraction = *at == '.';
    if (has_fraction) {
        for (at++; *at >= '0' && *at <= '9'; at++, place /= 10)
            fraction += place * (*at - '0');
        if (at[-1] == '.') return false;
    }
    if (!read_unit(at, &unit) || (has_fraction && unit == 1)) return false;
    if (whole >= SIZE_MAX / unit) return false;
    *out = whole * unit + (uint64_t)(fraction * (double)unit);
    return true;
}

/* Finds text among the words "a|b|c:K"; sets the word's index and K. */
static bool read_choice(const scant_option *o, const char *text, scant__value *out) {
    const char *choices = o->choices, *word;
    size_t size, length = strlen(text);
    for (int which = 0; next_word(&choices, &word, &size); which++) {
        bool open = size > 2 && memcmp(word + size - 2, ":K", 2) == 0;
        out->number = which;
        if (!open && size == length && memcmp(word, text, size) == 0) return true;
        if (open && length > size - 1 && memcmp(word, text, size - 1) == 0 &&
            scant__number_parse(text + size - 1, &out->param) &&
            floor(out->param) == out->param && out->param >= o->min &&
            out->param <= o->max)
            return true;
    }
    return false;
}

static bool within(const scant_option *o, double value) {
    bool above = o->open & SCANT_OPEN_MIN ? value > o->min : value >= o->min;
    bool below = o->open & SCANT_OPEN_MAX ? value < o->max : value <= o->max;
    return above && below;
}

/* inf is valid only if max is infinite and not excluded by SCANT_OPEN_MAX. */
static bool read_number(const scant_option *o, const char *text, scant__value *out) {
    if (!scant__number_parse(text, &out->number)) return false;
    return within(o, out->number) &&
           (isfinite(out->number) || !(o->open & SCANT_OPEN_MAX));
}

static bool read_count(const scant_option *o, const char *text, scant__value *out) {
    if (!scant__uint_read(text, &out->whole)) return false;
    out->number = (double)out->whole;
    bool word = o->choices && out->whole == SIZE_MAX; /* SIZE_MAX stands for a word */
    return within(o, out->number) && out->whole <= SIZE_MAX && !word;
}

static bool read_name(const scant_option *o, const char *text) {
    const char *name;
    for (size_t i = 0; (name = o->names(i)); i++)
        if (strcmp(name, text) == 0) return true;
    return false;
}

bool scant__option_read(const scant_option *o, const char *text, scant__value *out) {
    bool on;
    *out = (scant__value){0};
    if (o->kind != SCANT_OPTION_CHOICE && o->choices &&
        scant__is_choice(o->choices, text)) {
        out->word = true;
        return true;
    }
    switch (o->kind) {
    case SCANT_OPTION_SWITCH:
        if (!scant__switch_read(text, &on)) return false;
        out->number = on;
        return true;
    case SCANT_OPTION_COUNT:
        return read_count(o, text, out);
    case SCANT_OPTION_NUMBER:
        return read_number(o, text, out);
    case SCANT_OPTION_CHOICE:
        return read_choice(o, text, out);
    case SCANT_OPTION_NAME:
        return read_name(o, text);
    case SCANT_OPTION_SEED:
        return scant__uint_read(text, &out->whole);
    case SCANT_OPTION_BYTES:
        return read_bytes(text, &out->whole);
    default:
        return true;
    }
}

/* ---- descriptions of valid values -------------------------------------------------- */

static void add_range(const scant_option *o, char *out, size_t size) {
    bool whole = o->kind == SCANT_OPTION_COUNT;
    const char *what = whole ? "a whole number" : "a number";
    const char *above = o->open & SCANT_OPEN_MIN ? "above" : "of at least";
    const char *below = o->open & SCANT_OPEN_MAX ? "below" : "at most";
    bool limited = isfinite(o->max) && o->max < 1e15;
    if (!isfinite(o->min) && !limited)
        snprintf(out, size, "%s", what);
    else if (!limited)
        snprintf(out, size, "%s %s %.10g%s", what, above, o->min,
                 !whole && isinf(o->max) && !(o->open & SCANT_OPEN_MAX) ? ", or inf"
                                                                        : "");
    else if (o->open)
        snprintf(out, size, "%s %s %.10g and %s %.10g", what, above, o->min, below,
                 o->max);
    else
        snprintf(out, size, "%s from %.10g to %.10g", what, o->min, o->max);
}

static const char *name_at(const void *names, size_t i) {
    return ((const scant_option *)names)->names(i);
}

static void add_name(const scant_option *o, const char *text, char *out, size_t size) {
    size_t n = 0;
    while (o->names(n)) n++;
    const char *near = text ? scant__nearest(text, o, n, name_at) : NULL;
    snprintf(out, size, "the name of a %s%s%s%s",
             strcmp(o->key, "name") ? o->key : o->arg, near ? "; the nearest is '" : "",
             near ? near : "", near ? "'" : "");
}

const char *scant__option_expected(const scant_option *o, const char *text,
                                   char out[SCANT__EXPECTED]) {
    size_t used = 0;
    if (o->kind != SCANT_OPTION_CHOICE && o->choices)
        used = (size_t)snprintf(out, SCANT__EXPECTED, "%s or ", o->choices);
    char *rest = out + used;
    size_t room = SCANT__EXPECTED - used;
    switch (o->kind) {
    case SCANT_OPTION_SWITCH:
        snprintf(rest, room, "yes or no, or 1 or 0");
        break;
    case SCANT_OPTION_CHOICE:
        if (strstr(o->choices, ":K"))
            snprintf(rest, room, "one of %s, K from %g to %g", o->choices, o->min,
                     o->max);
        else
            snprintf(rest, room, "one of %s", o->choices);
        break;
    case SCANT_OPTION_COUNT:
    case SCANT_OPTION_NUMBER:
        add_range(o, rest, room);
        break;
    case SCANT_OPTION_NAME:
        add_name(o, text, rest, room);
        break;
    case SCANT_OPTION_SEED:
        snprintf(rest, room, "a whole number from 0 to %llu",
                 (unsigned long long)UINT64_MAX);
        break;
    case SCANT_OPTION_BYTES:
        snprintf(rest, room, "a size such as 512M or 4G");
        break;
    default:
        snprintf(rest, room, "any text");
    }
    return out;
}

/* ---- storing and printing ---------------------------------------------------------- */

void scant__option_store(const scant_option *o, const char *text,
                         const scant__value *value, void *base) {
    void *at = (char *)base + o->at;
    switch (o->kind) {
    case SCANT_OPTION_SWITCH:
        *(bool *)at = value->number != 0;
        break;
    case SCANT_OPTION_COUNT:
    case SCANT_OPTION_BYTES:
        *(size_t *)at = value->word ? SIZE_MAX : (size_t)value->whole;
        break;
    case SCANT_OPTION_NUMBER:
        *(double *)at = value->word ? (double)NAN : value->number;
        break;
    case SCANT_OPTION_SEED:
        *(uint64_t *)at = value->whole;
        break;
    default:
        *(const char **)at = text;
    }
}

const char *scant__option_text(const scant_option *o, const void *base,
                               char out[SCANT__NUMBER]) {
    const void *at = (const char *)base + o->at;
    const char *text;
    switch (o->kind) {
    case SCANT_OPTION_SWITCH:
        return *(const bool *)at ? "yes" : "no";
    case SCANT_OPTION_COUNT:
    case SCANT_OPTION_BYTES:
        if (o->choices && *(const size_t *)at == SIZE_MAX) return o->choices;
        snprintf(out, SCANT__NUMBER, "%zu", *(const size_t *)at);
        return out;
    case SCANT_OPTION_NUMBER:
        if (o->choices && isnan(*(const double *)at)) return o->choices;
        return scant__number_shortest(*(const double *)at, 6, out);
    case SCANT_OPTION_SEED:
        snprintf(out, SCANT__NUMBER, "%llu", (unsigned long long)*(const uint64_t *)at);
        return out;
    default:
        text = *(const char *const *)at;
        return text ? text : "";
    }
}

static bool is_string(const scant_option *o) {
    return o->kind == SCANT_OPTION_CHOICE ||
           (o->kind >= SCANT_OPTION_NAME && o->kind <= SCANT_OPTION_ARRAY);
}

scant_status scant__options_check(scant_ctx *ctx, const scant_option *rows, size_t n,
                                  const void *base) {
    char out[SCANT__NUMBER], expected[SCANT__EXPECTED];
    for (size_t i = 0; i < n; i++) {
        const char *text = scant__option_text(&rows[i], base, out);
        scant__value value;
        if ((is_string(&rows[i]) && !*text) || scant__option_read(&rows[i], text, &value))
            continue;
        return scant__fail(ctx, SCANT_EUSAGE, "%s is %s, expected %s", rows[i].key, text,
                           scant__option_expected(&rows[i], text, expected));
    }
    return SCANT_OK;
}

void scant__option_copy(const scant_option *o, const void *from, void *to) {
    size_t size = is_string(o)                     ? sizeof(const char *)
                  : o->kind == SCANT_OPTION_SWITCH ? sizeof(bool)
                  : o->kind == SCANT_OPTION_NUMBER ? sizeof(double)
                  : o->kind == SCANT_OPTION_SEED   ? sizeof(uint64_t)
                                                   : sizeof(size_t);
    memcpy((char *)to + o->at, (const char *)from + o->at, size);
}

static bool same_key(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b))) return false;
    return *a == *b;
}

const scant_option *scant__option_find(const scant_option *rows, size_t n,
                                       const char *key) {
    for (size_t i = 0; i < n; i++)
        if (same_key(rows[i].key, key)) return &rows[i];
    return NULL;
}
