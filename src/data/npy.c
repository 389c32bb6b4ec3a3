/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads, checks and writes .npy headers.
 *
 * The bytes are untrusted. As in NumPy, these are accepted: bytes after the elements, '='
 * or no sign for the native byte order, and Fortran order if it equals C order (at most
 * one dimension above 1, or no elements).
 */
#include "data/npy.h"

#include <stdio.h>
#include <string.h>

#include "core/number.h"

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

bool scant__npy_magic(const unsigned char *bytes, size_t size) {
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* ---- the dict literal -------------------------------------------------------------- */

/* Accepts what NumPy accepts: keys in any order, either quote, any white space, trailing
 * commas, and Python 2's L after integers. Unlike NumPy, it refuses repeated keys. Its
 * time is linear in the header's size, without recursion or allocation. */

typedef struct cursor {
    const unsigned char *at, *end;
    const char *why;
} cursor;

static bool wrong(cursor *c, const char *why) {
    c->why = why;
    return false;
}

static void skip_space(cursor *c) {
    while (c->at < c->end && *c->at && strchr(" \t\n\r\f\v", *c->at)) c->at++;
}

/* Skips white space, then skips ch and returns true if it is next. */
static bool accept(cursor *c, char ch) {
    skip_space(c);
    if (c->at == c->end || *c->at != (unsigned char)ch) return false;
    c->at++;
    return true;
}

static bool accept_word(cursor *c, const char *word) {
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

/* Reads a quoted string; *text is the part between the quotes, escapes not decoded. */
static bool string(cursor *c, const unsigned char **text, size_t *length) {
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return wrong(c, "a quoted string was expected");
    unsigned char quote = *c->at++;
    *text = c->at;
    while (c->at < c->end && *c->at != quote && *c->at != '\n') {
        if (*c->at == '\\' && c->end - c->at > 1) c->at++;
        c->at++;
    }
    if (c->at == c->end || *c->at != quote) return wrong(c, "a string does not end");
    *length = (size_t)(c->at++ - *text);
    return true;
}

/* Skips a list or tuple, including nested ones. */
static bool skip_brackets(cursor *c) {
    size_t depth = 0;
    do {
        const unsigned char *text;
        size_t length;
        skip_space(c);
        if (c->at == c->end) return wrong(c, "a list does not end");
        if (*c->at == '\'' || *c->at == '"') {
            if (!string(c, &text, &length)) return false;
            continue;
        }
        if (*c->at == '[' || *c->at == '(') depth++;
        if (*c->at == ']' || *c->at == ')') depth--;
        c->at++;
    } while (depth);
    return true;
}

static bool descr(cursor *c, scant__npy *out) {
    const unsigned char *text;
    size_t length;
    skip_space(c);
    if (c->at < c->end && (*c->at == '[' || *c->at == '(')) {
        text = c->at;
        if (!skip_brackets(c)) return false;
        length = (size_t)(c->at - text);
    } else if (!string(c, &text, &length)) {
        return false;
    }
    scant__printable(text, length, out->descr, sizeof out->descr);
    return true;
}

static bool order(cursor *c, scant__npy *out) {
    out->fortran = accept_word(c, "True");
    return out->fortran || accept_word(c, "False") ||
           wrong(c, "fortran_order is neither True nor False");
}

static bool dimension(cursor *c, size_t *out) {
    size_t n = 0;
    skip_space(c);
    if (c->at == c->end || *c->at < '0' || *c->at > '9')
        return wrong(c, "a dimension that is a whole number from 0 was expected");
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (!scant__mul(n, 10, &n) || !scant__add(n, (size_t)(*c->at - '0'), &n))
            return wrong(c, "a dimension is too large");
    if (c->at < c->end && (*c->at == 'L' || *c->at == 'l')) c->at++;
    *out = n;
    return true;
}

static bool shape(cursor *c, scant__npy *out) {
    bool comma = true;
    if (!accept(c, '(')) return wrong(c, "shape is not a tuple");
    while (!accept(c, ')')) {
        if (!comma) return wrong(c, "a comma or ')' was expected");
        if (out->ndim == SCANT_MAX_DIMS)
            return wrong(c, "shape has more than 32 dimensions");
        if (!dimension(c, &out->shape[out->ndim++])) return false;
        comma = accept(c, ',');
    }
    /* in Python (3) is a number, not a tuple */
    if (out->ndim == 1 && !comma) return wrong(c, "shape is not a tuple");
    return true;
}

static const struct {
    const char *key, *missing, *twice;
    bool (*read)(cursor *c, scant__npy *out);
} fields[] = {
    {"descr", "it lacks 'descr'", "it has 'descr' twice", descr},
    {"fortran_order", "it lacks 'fortran_order'", "it has 'fortran_order' twice", order},
    {"shape", "it lacks 'shape'", "it has 'shape' twice", shape},
};

enum { FIELDS = sizeof fields / sizeof *fields };

static bool field(cursor *c, scant__npy *out, bool seen[FIELDS]) {
    const unsigned char *key;
    size_t length, i = 0;
    if (!string(c, &key, &length)) return false;
    while (i < FIELDS &&
           (strlen(fields[i].key) != length || memcmp(fields[i].key, key, length) != 0))
        i++;
    if (i == FIELDS) return wrong(c, "a key is not descr, fortran_order or shape");
    if (seen[i]) return wrong(c, fields[i].twice);
    seen[i] = true;
    if (!accept(c, ':')) return wrong(c, "a ':' was expected");
    return fields[i].read(c, out);
}

static bool dict(cursor *c, scant__npy *out) {
    bool seen[FIELDS] = {false}, comma = true;
    if (!accept(c, '{')) return wrong(c, "a '{' was expected");
    while (!accept(c, '}')) {
        if (!comma) return wrong(c, "a comma or '}' was expected");
        if (!field(c, out, seen)) return false;
        comma = accept(c, ',');
    }
    for (size_t i = 0; i < FIELDS; i++)
        if (!seen[i]) return wrong(c, fields[i].missing);
    skip_space(c);
    return c->at == c->end || wrong(c, "there is text after the '}'");
}

bool scant__npy_dict(const unsigned char *text, size_t size, scant__npy *out,
                     const char **why, size_t *at) {
    cursor c = {.at = text, .end = text + size};
    bool ok = dict(&c, out);
    *why = c.why;
    *at = (size_t)(c.at - text);
    return ok;
}

/* ---- dtype ------------------------------------------------------------------------- */

/* Texts for messages: a kind's name, and advice if numbers or strings were expected. */
static const struct {
    char kind;
    const char *what, *as_numbers, *as_strings;
} kinds[] = {
    {'f', "floating point", "save it with dtype float32", "save arr.astype(str)"},
    {'i', "integers", "save it with dtype int64", "save arr.astype(str)"},
    {'u', "unsigned integers", "save it with dtype int64", "save arr.astype(str)"},
    {'b', "booleans", "save arr.astype('uint8')", "save arr.astype(str)"},
    {'c', "complex numbers", "save its real and imaginary parts", "save arr.astype(str)"},
    {'O', "Python objects", "save it with dtype float32", "save arr.astype(str)"},
    {'S', "byte strings", "save it with dtype float32", "save arr.astype(str)"},
    {'U', "strings", "save it with dtype float32", "save arr.astype(str)"},
    {'M', "dates", "save arr.astype('int64')", "save arr.astype(str)"},
    {'m', "time spans", "save arr.astype('int64')", "save arr.astype(str)"},
    {'V', "raw bytes", "save it with dtype float32", "save arr.astype(str)"},
    {'[', "a structured dtype", "save one field of it", "save one field of it"},
};

/* Sets kind, item and swapped from descr; false if the dtype is unknown. */
static bool read_descr(scant__npy *h) {
    const char *p = h->descr;
    char sign = '=';
    if (*p == '[' || *p == '(') {
        h->kind = '[';
        return true;
    }
    if (*p && strchr("<>=|", *p)) sign = *p++;
    h->kind = *p ? *p++ : 0;
    if (h->kind == 'a') h->kind = 'S'; /* NumPy's old name of 'S' */
    size_t n = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (!scant__mul(n, 10, &n) || !scant__add(n, (size_t)(*p - '0'), &n))
            return false;
    if (*p && h->kind != 'M' && h->kind != 'm') return false; /* dates have a unit */
    if (h->kind == 'U' && !scant__mul(n, 4, &n)) return false;
    h->item = n;
    h->swapped = sign == (SCANT__LITTLE_ENDIAN ? '>' : '<') && n > 1;
    return true;
}

static scant_status check_dtype(scant_ctx *ctx, const char *name, scant__npy_want want,
                                scant__npy *h) {
    bool numbers = want == SCANT__NPY_NUMBERS;
    bool known = read_descr(h);
    if (known && numbers && scant__dtype_find(h->kind, h->item)) return SCANT_OK;
    if (known && !numbers && (h->kind == 'S' || h->kind == 'U')) return SCANT_OK;
    const char *expected =
        numbers ? "numbers (f2 f4 f8, i1 to i8, u1 to u8)" : "strings (U or S)";
    for (size_t i = 0; known && i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == h->kind)
            return scant__refuse(ctx, name, "has dtype '%s' (%s), expected %s: %s",
                                 h->descr, kinds[i].what, expected,
                                 numbers ? kinds[i].as_numbers : kinds[i].as_strings);
    return scant__refuse(ctx, name, "has the unknown dtype '%s', expected %s", h->descr,
                         expected);
}

/* ---- shape and size ---------------------------------------------------------------- */

static scant_status check_shape(scant_ctx *ctx, const char *name, scant__npy *h) {
    char text[128];
    size_t wide = 0;
    scant__shape_format(h->shape, h->ndim, text, sizeof text);
    if (!scant__shape_count(h->ndim, h->shape, h->item, &h->count))
        return scant__refuse(ctx, name, "its shape %s is too large to address", text);
    for (size_t i = 0; i < h->ndim; i++) wide += h->shape[i] > 1;
    if (h->fortran && wide > 1 && h->count)
        return scant__refuse(ctx, name,
                             "is in Fortran order (shape %s), expected C order: save "
                             "np.ascontiguousarray(arr)",
                             text);
    return SCANT_OK;
}

/* ---- whole file -------------------------------------------------------------------- */

static scant_status not_npy(scant_ctx *ctx, const char *name, const unsigned char *bytes,
                            size_t size) {
    if (!size) return scant__refuse(ctx, name, "is empty, not a .npy file");
    return scant__refuse(ctx, name, "is not a .npy file; it looks like %s",
                         scant__filetype_name(bytes, size));
}

/* Finds the dict literal: its offset *at and its length. */
static scant_status find_dict(scant_ctx *ctx, const char *name,
                              const unsigned char *bytes, size_t size, size_t *at,
                              size_t *length) {
    size_t start = size < sizeof magic ? size : sizeof magic;
    if (!start || memcmp(bytes, magic, start) != 0)
        return not_npy(ctx, name, bytes, size);
    size_t major = size > 6 ? bytes[6] : 1, minor = size > 7 ? bytes[7] : 0;
    if (major < 1 || major > 3 || minor != 0)
        return scant__refuse(
            ctx, name, "is .npy version %zu.%zu, expected 1.0, 2.0 or 3.0", major, minor);
    *at = major == 1 ? 10 : 12;
    if (size < *at)
        return scant__refuse(ctx, name,
                             "is cut short: a .npy file starts with %zu bytes, %zu found",
                             *at, size);
    *length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (major > 1) *length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (*length > size - *at)
        return scant__refuse(ctx, name,
                             "is cut short: its header should have %zu bytes, %zu found",
                             *length, size - *at);
    return SCANT_OK;
}

scant_status scant__npy_parse(scant_ctx *ctx, const char *name,
                              const unsigned char *bytes, size_t size,
                              scant__npy_want want, scant__npy *out) {
    const char *why;
    size_t at = 0, length = 0, wrong_at;
    *out = (scant__npy){0};
    TRY(find_dict(ctx, name, bytes, size, &at, &length));
    if (!scant__npy_dict(bytes + at, length, out, &why, &wrong_at))
        return scant__refuse(ctx, name, "its .npy header is wrong at byte %zu: %s",
                             at + wrong_at, why);
    out->offset = at + length;
    TRY(check_dtype(ctx, name, want, out));
    TRY(check_shape(ctx, name, out));
    size_t expected = out->count * out->item, found = size - out->offset;
    if (found < expected)
        return scant__refuse(ctx, name,
                             "is cut short: %zu bytes of elements expected, %zu found",
                             expected, found);
    return SCANT_OK;
}

/* ---- writing ----------------------------------------------------------------------- */

/* Prints the dict literal and returns its length. Like NumPy, adds blanks that reserve
 * room for a larger shape[0]. */
static size_t print_dict(const scant_array *array, char *text, size_t size) {
    enum { GROWN = 21 };
    char sign = '|';
    if (array->item > 1) sign = SCANT__LITTLE_ENDIAN != array->swapped ? '<' : '>';
    int n = snprintf(text, size, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                     sign, scant__dtype_code(array->dtype));
    int spare = 0;
    for (size_t i = 0; i < array->ndim; i++) {
        const char *comma = i + 1 < array->ndim ? ", " : array->ndim == 1 ? "," : "";
        int digits = snprintf(text + n, size - (size_t)n, "%zu", array->shape[i]);
        n += digits;
        n += snprintf(text + n, size - (size_t)n, "%s", comma);
        if (!i) spare = GROWN - digits;
    }
    n += snprintf(text + n, size - (size_t)n, "), }%*s", spare, "");
    return (size_t)n;
}

size_t scant__npy_format(const scant_array *array, unsigned char *out) {
    enum { PRELUDE = 10, ALIGN = 64 };
    char text[SCANT__NPY_HEADER];
    size_t n = print_dict(array, text, sizeof text);
    size_t total = PRELUDE + n + 1;
    total += ALIGN - total % ALIGN; /* at least one blank, like NumPy */
    size_t length = total - PRELUDE;
    memcpy(out, magic, sizeof magic);
    memcpy(out + sizeof magic, "\1\0", 2);
    out[8] = (unsigned char)(length & 0xff);
    out[9] = (unsigned char)(length >> 8);
    memcpy(out + PRELUDE, text, n);
    memset(out + PRELUDE + n, ' ', length - n - 1);
    out[total - 1] = '\n';
    return total;
}
