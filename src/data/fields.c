/* SPDX-License-Identifier: Apache-2.0 */
#include "data/fields.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/mem.h"
#include "data/filetype.h"
#include "data/unpack.h"

enum { SHOWN = 80, MOST_OTHERS = 32, TICK = 4096 };

scant_status scant__fields_wrong(const scant__fields *f, const char *value,
                                 const char *what) {
    char text[SHOWN];
    return scant__fail(
        f->ctx, SCANT_EINPUT, "%s: line %zu: '%s' %s", f->name, f->line,
        scant__printable((const unsigned char *)value, strlen(value), text, sizeof text),
        what);
}

/* ---- CSV --------------------------------------------------------------------------- */

static scant__cell trimmed(scant__cell c) { return c.quoted ? c : scant__cell_trim(c); }

/* The field named by a header cell, ignoring case; n if there is none. */
static size_t find_field(const scant__fields *f, scant__cell c) {
    size_t i = 0;
    while (i < f->n && (strlen(f->names[i]) != c.length ||
                        strncasecmp(f->names[i], c.text, c.length) != 0))
        i++;
    return i;
}

static scant_status add_column(scant__fields *f, scant__cell c) {
    size_t field = find_field(f, c);
    void *block = f->fields;
    for (size_t i = 0; i < f->columns && field < f->n; i++)
        if (f->fields[i] == field)
            return scant__fail(f->ctx, SCANT_EINPUT,
                               "%s: line %zu: two columns are called '%s'", f->name,
                               c.line, f->names[field]);
    scant_status status =
        scant__grow(f->ctx, &block, &f->room, f->columns + 1, sizeof *f->fields);
    f->fields = block;
    if (status != SCANT_OK) return status;
    f->fields[f->columns++] = field;
    if (field < f->n) return SCANT_OK;
    return scant__names_add(f->ctx, &f->others, c.text, c.length);
}

static scant_status read_header(scant__fields *f) {
    scant__cell c = {.last = false};
    if (!scant__cells_row(&f->cells))
        return scant__fail(f->ctx, SCANT_EINPUT, "%s: is empty", f->name);
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
    return scant__fail(f->ctx, SCANT_EINPUT,
                       "%s: line %zu has %zu cell%s, expected %zu as in the header",
                       f->name, f->line, column, column == 1 ? "" : "s", f->columns);
}

/* ---- JSON -------------------------------------------------------------------------- */

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
    json_object_foreach(f->object, key, value) {
        if (f->others.count == MOST_OTHERS) return SCANT_OK;
        if (!is_known(f, key))
            TRY(scant__names_add(f->ctx, &f->others, key, strlen(key)));
    }
    return SCANT_OK;
}

static scant_status next_object(scant__fields *f, bool *there) {
    json_decref(f->object);
    f->object = NULL;
    if (f->objects.count % TICK == 0) TRY(scant__tick(f->ctx, "reading", 0, 0));
    TRY(scant__objects_next(&f->objects, &f->object, &f->line));
    *there = f->object != NULL;
    return *there ? note_others(f) : SCANT_OK;
}

static scant_status get_value(scant__fields *f, size_t field, const char **out) {
    const json_t *value = json_object_get(f->object, f->names[field]);
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

/* ---- both -------------------------------------------------------------------------- */

scant_status scant__fields_open(scant__fields *f, scant_ctx *ctx, const char *path,
                                const char *const *names, size_t n) {
    *f = (scant__fields){.ctx = ctx, .name = path, .names = names, .n = n};
    TRY(scant__source_map(ctx, path, &f->source));
    TRY(scant__unpack_source(ctx, path, &f->source));
    f->json = scant__objects_begin_with(f->source.bytes, f->source.size);
    if (f->json) {
        scant__objects_begin(&f->objects, ctx, path, f->source.bytes, f->source.size);
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
    json_decref(f->object);
    if (f->cells.ctx) scant__cells_end(&f->cells);
    scant__names_end(f->ctx, &f->others);
    scant__names_end(f->ctx, &f->text);
    scant__free(f->ctx, f->fields);
    scant__source_close(f->ctx, &f->source);
}
