/* SPDX-License-Identifier: Apache-2.0
 *
 * A row names an item by at least one of id, path, row and text. Which of them are
 * required, and whether ids are new, is the caller's check.
 */
#include "data/manifest.h"

#include <stdint.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "data/fields.h"
#include "data/paths.h"

enum { ID, PATH, ROW, TEXT, LABEL, GROUP, FIELDS };
static const char *const names[FIELDS] = {"id", "path", "row", "text", "label", "group"};

static bool read_row_number(const char *text, size_t *out) {
    *out = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        if (!scant__mul(*out, 10, out) || !scant__add(*out, (size_t)(*text - '0'), out))
            return false;
    }
    return true;
}

static scant_status read_row(scant__fields *f, scant__manifest_row *row) {
    const char *values[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) TRY(scant__fields_get(f, i, &values[i]));
    *row = (scant__manifest_row){.line = f->line,
                                 .id = values[ID],
                                 .path = values[PATH],
                                 .text = values[TEXT],
                                 .label = values[LABEL],
                                 .group = values[GROUP],
                                 .has_row = values[ROW] != NULL};
    if (values[ROW] && !read_row_number(values[ROW], &row->row))
        return scant__fields_wrong(f, values[ROW],
                                   "is not a row: expected a whole number from 0 on");
    if (row->path && scant__path_goes_up(row->path))
        return scant__fields_wrong(
            f, row->path,
            "contains '..': paths must stay below their folder or start with '/'");
    if (row->id || row->path || row->text || row->has_row) return SCANT_OK;
    return scant__fail(f->ctx, SCANT_EINPUT,
                       "%s: line %zu names no item: id, path, row and text are all empty",
                       f->name, f->line);
}

static scant_status check_columns(const scant__fields *f) {
    for (size_t i = ID; i <= TEXT; i++)
        if (scant__fields_has(f, i)) return SCANT_OK;
    return scant__fail(f->ctx, SCANT_EINPUT,
                       "%s: line %zu is not a manifest header: it has none of the "
                       "columns id, path, row and text",
                       f->name, f->line);
}

/* Warns once about all unused columns. */
static scant_status warn_unused(const scant__fields *f) {
    scant__text list;
    char *text;
    size_t size;
    if (!f->others.count) return SCANT_OK;
    scant__text_init(&list, f->ctx);
    for (size_t i = 0; i < f->others.count; i++)
        scant__text_addf(&list, "%s'%.40s'", i ? ", " : "",
                         scant__names_get(&f->others, i));
    TRY(scant__text_take(&list, &text, &size));
    scant__warn(f->ctx, "%s: unknown columns are ignored: %.400s", f->name, text);
    scant__free(f->ctx, text);
    return SCANT_OK;
}

static scant_status
read_all(scant__fields *f, scant_status (*fn)(void *user, const scant__manifest_row *row),
         void *user) {
    scant__manifest_row row;
    bool there;
    size_t rows = 0;
    TRY(check_columns(f));
    for (;; rows++) {
        TRY(scant__fields_next(f, &there));
        if (!there) break;
        TRY(read_row(f, &row));
        TRY(fn(user, &row));
    }
    if (!rows) return scant__fail(f->ctx, SCANT_EINPUT, "%s: has no rows", f->name);
    return warn_unused(f);
}

scant_status scant__manifest_read(scant_ctx *ctx, const char *path,
                                  scant_status (*fn)(void *user,
                                                     const scant__manifest_row *row),
                                  void *user) {
    scant__fields f;
    scant_status status = scant__fields_open(&f, ctx, path, names, FIELDS);
    if (status == SCANT_OK) status = read_all(&f, fn, user);
    scant__fields_end(&f);
    return status;
}
