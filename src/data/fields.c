/* SPDX-License-Identifier: Apache-2.0 */
#include "data/fields.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/unpack.h"

enum { SHOWN = 100, MOST_OTHERS = 32, TICK = 4096 };

/* ---- rows of CSV ------------------------------------------------------------------- */

scant_status scant__fields_wrong(const scant__fields *f, const char *value,
                                 const char *what) {
    char text[80];
    return scant__refuse(f->ctx, f->name, "line %zu: '%s' %s", f->line,
                         scant__printable(value, strlen(value), text, sizeof text), what);
}

static scant__cell trimmed(scant__cell c) { return c.quoted ? c : scant__cell_trim(c); }

/* Returns the index of the field that a header cell names, ignoring case, or f->n. */
static size_t find_field(const scant__fields *f, scant__cell c) {
    size_t i = 0;
    while (i < f->n && (strlen(f->names[i]) != c.length ||
                        strncasecmp(f->names[i], c.text, c.length) != 0))
        i++;
    return i;
}

static scant_status add_column(scant__fields *f, scant__cell c) {
    size_t field = find_field(f, c);
    for (size_t i = 0; i < f->columns && field < f->n; i++)
        if (f->fields[i] == field)
            return scant__refuse(f->ctx, f->name, "line %zu: two columns are called '%s'",
                                 c.line, f->names[field]);
    TRY_PUSH(f->ctx, f->fields, f->columns, f->room, field);
    if (field < f->n) return SCANT_OK;
    return scant__names_add(f->ctx, &f->others, c.text, c.length);
}

static scant_status read_header(scant__fields *f) {
    scant__cell c = {.last = false};
    if (!scant__cells_row(&f->cells)) return scant__refuse(f->ctx, f->name, "is empty");
    f->line = f->cells.line;
    while (!c.last) {
        TRY(scant__cells_next(&f->cells, &c));
        TRY(add_column(f, trimmed(c)));
    }
    return SCANT_OK;
}

static scant_status next_cells(scant__fields *f, bool *there) {
    scant__cell c = {.last = false};
    size_t column = 0;
    *there = scant__cells_row(&f->cells);
    if (!*there) return SCANT_OK;
    if (f->rows++ % TICK == 0)
        TRY(scant__tick(f->ctx, "reading", (size_t)(f->cells.at - f->cells.start),
                        (size_t)(f->cells.end - f->cells.start)));
    f->line = f->cells.line;
    f->text.used = f->text.count = 0; /* keeps its memory */
    for (size_t i = 0; i < f->n; i++) f->at[i] = SIZE_MAX;
    for (; !c.last; column++) {
        TRY(scant__cells_next(&f->cells, &c));
        size_t field = column < f->columns ? f->fields[column] : f->n;
        c = trimmed(c);
        if (field == f->n || !c.length) continue;
        f->at[field] = f->text.count;
        TRY(scant__names_add(f->ctx, &f->text, c.text, c.length));
    }
    if (column == f->columns) return SCANT_OK;
    return scant__refuse(f->ctx, f->name,
                         "line %zu has %zu cell%s, expected %zu as in the header",
                         f->line, column, column == 1 ? "" : "s", f->columns);
}

/* ---- rows of JSON ------------------------------------------------------------------ */

static const char bom[] = "\xef\xbb\xbf";

static bool has_bom(const char *bytes, size_t size) {
    return size >= 3 && memcmp(bytes, bom, 3) == 0;
}

/* Whether c is white space in JSON. */
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool is_json(const void *bytes, size_t size) {
    const char *at = bytes, *end = at + size;
    if (has_bom(at, size)) at += 3;
    while (at < end && is_blank(*at)) at++;
    return at < end && (*at == '{' || *at == '[');
}

static void pass_blanks(scant__objects *o) {
    for (; o->at < o->end && is_blank(*o->at); o->at++) o->line += *o->at == '\n';
}

static void begin_objects(scant__objects *o, const void *bytes, size_t size) {
    *o = (scant__objects){.at = bytes, .line = 1};
    o->end = o->at + size;
    if (has_bom(bytes, size)) o->at += 3;
    pass_blanks(o);
    o->list = o->at < o->end && *o->at == '[';
    if (o->list) o->at++;
}

static scant_status expected(const scant__fields *f, const char *what) {
    const scant__objects *o = &f->objects;
    char text[SHOWN];
    if (o->at == o->end)
        return scant__refuse(f->ctx, f->name, "ends in line %zu, expected %s", o->line,
                             what);
    return scant__refuse(f->ctx, f->name, "line %zu: found '%s', expected %s", o->line,
                         scant__printable(o->at, 1, text, sizeof text), what);
}

/* Skips the comma before the next object of a list, or the closing bracket, after which
 * nothing may follow. */
static scant_status pass_list(scant__fields *f) {
    scant__objects *o = &f->objects;
    pass_blanks(o);
    if (o->at < o->end && *o->at == ']') {
        o->at++;
        o->ended = true;
        pass_blanks(o);
        return o->at == o->end ? SCANT_OK : expected(f, "the end");
    }
    if (!o->count) return SCANT_OK;
    if (o->at == o->end || *o->at != ',') return expected(f, "',' or ']'");
    o->at++;
    return SCANT_OK;
}

/* Fails for an object that could not be read. */
static scant_status not_read(const scant__fields *f, scant_status status) {
    const json_error_t *why = &f->object.error;
    size_t line = f->objects.line + (why->line > 1 ? (size_t)why->line - 1 : 0);
    char text[JSON_ERROR_TEXT_LENGTH];
    if (status == SCANT_ENOMEM)
        return scant__fail(f->ctx, status, "%s: line %zu: the object %s", f->name,
                           f->objects.line, why->text);
    return scant__refuse(f->ctx, f->name, "line %zu: not valid JSON: %s", line,
                         scant__printable(why->text, strlen(why->text), text, SHOWN));
}

/* Reads the next object into f->object, which stays empty at the end. SCANT_EINPUT if the
 * text is not JSON, not an object, or repeats a key. */
static scant_status read_object(scant__fields *f) {
    scant__objects *o = &f->objects;
    if (o->list && !o->ended) TRY(pass_list(f));
    pass_blanks(o);
    f->line = o->line;
    if (o->ended || (!o->list && o->at == o->end)) return SCANT_OK;
    if (o->at == o->end || *o->at != '{') return expected(f, "an object, '{'");
    scant_status status = scant__json_read(
        f->ctx, o->at, (size_t)(o->end - o->at),
        JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, NULL, &f->object);
    if (status != SCANT_OK) return not_read(f, status);
    const char *next = o->at + f->object.error.position; /* bytes read so far */
    for (; o->at < next; o->at++) o->line += *o->at == '\n';
    o->count++;
    return SCANT_OK;
}

static bool is_known(const scant__fields *f, const char *key) {
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(key, f->names[i]) == 0) return true;
    for (size_t i = 0; i < f->others.count; i++)
        if (strcmp(key, scant__names_get(&f->others, i)) == 0) return true;
    return false;
}

static scant_status note_others(scant__fields *f) {
    const char *key;
    json_t *value;
    json_object_foreach(f->object.root, key, value) {
        if (f->others.count == MOST_OTHERS) return SCANT_OK;
        if (!is_known(f, key)) TRY(scant__names_put(f->ctx, &f->others, key));
    }
    return SCANT_OK;
}

static scant_status next_object(scant__fields *f, bool *there) {
    scant__json_tree_end(&f->object);
    if (f->objects.count % TICK == 0) TRY(scant__tick(f->ctx, "reading", 0, 0));
    TRY(read_object(f));
    *there = f->object.root != NULL;
    return *there ? note_others(f) : SCANT_OK;
}

static scant_status get_value(scant__fields *f, size_t field, const char **out) {
    const json_t *value = json_object_get(f->object.root, f->names[field]);
    *out = NULL;
    if (!value || json_is_null(value)) return SCANT_OK;
    if (json_is_integer(value)) {
        snprintf(f->numbers[field], sizeof f->numbers[field], "%" JSON_INTEGER_FORMAT,
                 json_integer_value(value));
        *out = f->numbers[field];
        return SCANT_OK;
    }
    if (!json_is_string(value))
        return scant__fields_wrong(f, f->names[field],
                                   "is neither a string nor a whole number");
    if (json_string_length(value)) *out = json_string_value(value);
    return SCANT_OK;
}

/* ---- rows of CSV or JSON ----------------------------------------------------------- */

scant_status scant__fields_open(scant__fields *f, scant_ctx *ctx, const char *path,
                                const char *const *names, size_t n) {
    *f = (scant__fields){.ctx = ctx, .name = path, .names = names, .n = n};
    TRY(scant__source_map(ctx, path, &f->source));
    TRY(scant__unpack_source(ctx, path, &f->source));
    f->json = is_json(f->source.bytes, f->source.size);
    if (f->json) {
        begin_objects(&f->objects, f->source.bytes, f->source.size);
        return SCANT_OK;
    }
    TRY(scant__cells_begin(&f->cells, ctx, path, f->source.bytes, f->source.size));
    return read_header(f);
}

bool scant__fields_has(const scant__fields *f, size_t field) {
    for (size_t i = 0; i < f->columns; i++)
        if (f->fields[i] == field) return true;
    return f->json;
}

scant_status scant__fields_next(scant__fields *f, bool *there) {
    return f->json ? next_object(f, there) : next_cells(f, there);
}

scant_status scant__fields_get(scant__fields *f, size_t field, const char **out) {
    if (f->json) return get_value(f, field, out);
    *out = f->at[field] == SIZE_MAX ? NULL : scant__names_get(&f->text, f->at[field]);
    return SCANT_OK;
}

void scant__fields_end(scant__fields *f) {
    scant__json_tree_end(&f->object);
    scant__cells_end(&f->cells);
    scant__names_end(&f->others);
    scant__names_end(&f->text);
    scant__free(f->ctx, f->fields);
    scant__source_close(&f->source);
}
