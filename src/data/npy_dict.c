/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the Python dict literal in the header of an untrusted .npy file.
 *
 * Accepts what NumPy does: keys in any order, either quote, any white space, trailing
 * commas, and Python 2's L after integers. Stricter in one point: repeated keys are
 * refused. Linear in the header's size, no recursion, no allocation.
 */
#include <string.h>

#include "core/mem.h"
#include "data/filetype.h"
#include "data/npy.h"

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

/* Consumes ch, after white space, if it is next. */
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

/* A quoted string; *text is the part between the quotes, with escapes uninterpreted. */
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

static void copy_descr(scant__npy *out, const unsigned char *text, size_t length) {
    scant__printable(text, length, out->descr, sizeof out->descr);
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
        copy_descr(out, text, (size_t)(c->at - text));
        return true;
    }
    if (!string(c, &text, &length)) return false;
    copy_descr(out, text, length);
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
    /* (3) is a number to Python, not a tuple */
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
