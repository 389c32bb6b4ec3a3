/* SPDX-License-Identifier: Apache-2.0 */
#include "data/json_objects.h"

#include <string.h>

#include "data/filetype.h"

enum { SHOWN = 100 };

static const char mark[] = "\xef\xbb\xbf";

static bool has_mark(const char *bytes, size_t size) {
    return size >= 3 && memcmp(bytes, mark, 3) == 0;
}

/* Blanks as JSON has them. */
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool scant__objects_begin_with(const void *bytes, size_t size) {
    const char *at = bytes, *end = at + size;
    if (has_mark(at, size)) at += 3;
    while (at < end && is_blank(*at)) at++;
    return at < end && (*at == '{' || *at == '[');
}

static void pass_blanks(scant__objects *o) {
    for (; o->at < o->end && is_blank(*o->at); o->at++) o->line += *o->at == '\n';
}

void scant__objects_begin(scant__objects *o, scant_ctx *ctx, const char *name,
                          const void *bytes, size_t size) {
    *o = (scant__objects){.ctx = ctx, .name = name, .at = bytes, .line = 1};
    o->end = o->at + size;
    if (has_mark(bytes, size)) o->at += 3;
    pass_blanks(o);
    o->list = o->at < o->end && *o->at == '[';
    if (o->list) o->at++;
}

static scant_status expected(const scant__objects *o, const char *what) {
    char text[SHOWN];
    if (o->at == o->end)
        return scant__fail(o->ctx, SCANT_EINPUT, "%s: ends in line %zu, expected %s",
                           o->name, o->line, what);
    return scant__fail(
        o->ctx, SCANT_EINPUT, "%s: line %zu: found '%s', expected %s", o->name, o->line,
        scant__printable((const unsigned char *)o->at, 1, text, sizeof text), what);
}

/* Moves to the next object of a list, past its comma, or past the closing bracket, after
 * which nothing may follow. */
static scant_status pass_list(scant__objects *o) {
    pass_blanks(o);
    if (o->at < o->end && *o->at == ']') {
        o->at++;
        o->ended = true;
        pass_blanks(o);
        return o->at == o->end ? SCANT_OK : expected(o, "the end");
    }
    if (!o->count) return SCANT_OK;
    if (o->at == o->end || *o->at != ',') return expected(o, "',' or ']'");
    o->at++;
    return SCANT_OK;
}

scant_status scant__objects_next(scant__objects *o, json_t **out, size_t *line) {
    json_error_t why;
    char text[SHOWN];
    *out = NULL;
    if (o->list && !o->ended) TRY(pass_list(o));
    pass_blanks(o);
    *line = o->line;
    if (o->ended || (!o->list && o->at == o->end)) return SCANT_OK;
    if (o->at == o->end || *o->at != '{') return expected(o, "an object, '{'");
    json_t *object = json_loadb(o->at, (size_t)(o->end - o->at),
                                JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &why);
    if (!object)
        return scant__fail(o->ctx, SCANT_EINPUT, "%s: line %zu: not valid JSON: %s",
                           o->name, o->line + (why.line > 1 ? (size_t)why.line - 1 : 0),
                           scant__printable((const unsigned char *)why.text,
                                            strlen(why.text), text, sizeof text));
    const char *next = o->at + why.position; /* bytes read so far */
    for (; o->at < next; o->at++) o->line += *o->at == '\n';
    o->count++;
    *out = object;
    return SCANT_OK;
}
