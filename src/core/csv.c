/* SPDX-License-Identifier: Apache-2.0 */
#include "core/csv.h"

#include <stdlib.h>
#include <string.h>

#include "core/ctx.h"

enum { LONGEST_NUMBER = 400 };

scant_status scant__cells_begin(scant__cells *cells, scant_ctx *ctx, const char *name,
                                const void *bytes, size_t size) {
    *cells =
        (scant__cells){.ctx = ctx, .name = name, .start = bytes, .quoted = {.ctx = ctx}};
    cells->end = cells->start + size;
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) cells->start += 3;
    scant__cells_rewind(cells);
    if (size && memchr(bytes, 0, size))
        return scant__refuse(ctx, name, "has a zero byte, so it is not text");
    return SCANT_OK;
}

void scant__cells_end(scant__cells *cells) { scant__text_end(&cells->quoted); }

/* Skips a comma or a line end. Returns true at the end of the file too, and false if
 * another byte follows. */
static bool pass_separator(scant__cells *t, scant__cell *out) {
    out->last = true;
    if (t->at == t->end) return true;
    if (*t->at == ',') {
        out->last = false;
        t->at++;
        return true;
    }
    const char *p = t->at;
    if (*p == '\r') p++;
    if (p < t->end && *p != '\n') return false;
    if (p < t->end) p++;
    t->at = p;
    t->line++;
    return true;
}

static scant_status next_quoted(scant__cells *t, scant__cell *out) {
    const char *from = ++t->at;
    size_t length = 0;
    out->quoted = true;
    t->quoted.size = 0; /* keeps its memory */
    for (bool copied = false;;) {
        const char *quote = memchr(t->at, '"', (size_t)(t->end - t->at));
        if (!quote)
            return scant__refuse(t->ctx, t->name,
                                 "the quote that line %zu opens is never closed",
                                 out->line);
        for (const char *p = t->at; p < quote; p++) t->line += *p == '\n';
        bool doubled = quote + 1 < t->end && quote[1] == '"';
        size_t piece = (size_t)(quote - t->at) + doubled; /* keeps one of two quotes */
        if (doubled || copied) {
            scant__text_bytes(&t->quoted, t->at, piece);
            copied = true;
        }
        length += piece;
        t->at = quote + 1 + doubled;
        if (doubled) continue;
        if (t->quoted.failed) return SCANT_ENOMEM;
        out->text = copied ? t->quoted.data : from;
        out->length = length;
        if (pass_separator(t, out)) return SCANT_OK;
        return scant__refuse(t->ctx, t->name, "line %zu has text after a closing quote",
                             t->line);
    }
}

scant_status scant__cells_next(scant__cells *t, scant__cell *out) {
    *out = (scant__cell){.line = t->line, .text = t->at};
    if (t->at < t->end && *t->at == '"') return next_quoted(t, out);
    const char *p = t->at;
    while (p < t->end && *p != ',' && *p != '\n') p++;
    out->length = (size_t)(p - t->at);
    if ((p == t->end || *p == '\n') && out->length && p[-1] == '\r') out->length--;
    t->at = p;
    pass_separator(t, out);
    return SCANT_OK;
}

bool scant__cells_row(scant__cells *t) {
    for (; t->at < t->end; t->line++) {
        if (*t->at == '\r' && t->at + 1 < t->end && t->at[1] == '\n') t->at++;
        if (*t->at != '\n') return true;
        t->at++;
    }
    return false;
}

void scant__cells_rewind(scant__cells *t) {
    t->at = t->start;
    t->line = 1;
}

scant__cell scant__cell_trim(scant__cell c) {
    while (c.length && (*c.text == ' ' || *c.text == '\t')) c.text++, c.length--;
    while (c.length && (c.text[c.length - 1] == ' ' || c.text[c.length - 1] == '\t'))
        c.length--;
    return c;
}

bool scant__cell_number(scant__cell c, double *out) {
    char text[LONGEST_NUMBER];
    c = scant__cell_trim(c);
    if (!c.length || c.length >= sizeof text) return false;
    for (size_t i = 0; i < c.length; i++)
        if (!strchr("0123456789+-.eE", c.text[i])) return false; /* no "nan", no hex */
    memcpy(text, c.text, c.length);
    text[c.length] = 0;
    char *rest;
    *out = strtod(text, &rest);
    return !*rest;
}
