/* SPDX-License-Identifier: Apache-2.0
 *
 * A row names an item by at least one of id, path, row and text. The caller checks which
 * of them are required, and whether ids are new.
 */
#include "data/manifest.h"

#include <stdint.h>
#include <string.h>

#include "core/option.h"
#include "data/fields.h"
#include "data/file.h"

enum { ID, PATH, ROW, TEXT, LABEL, GROUP, FIELDS };
static const char *const names[FIELDS] = {"id", "path", "row", "text", "label", "group"};

static scant_status read_row(scant__fields *f, scant__manifest_row *row) {
    const char *values[FIELDS];
    uint64_t number = 0;
    for (size_t i = 0; i < FIELDS; i++) TRY(scant__fields_get(f, i, &values[i]));
    *row = (scant__manifest_row){.line = f->line,
                                 .id = values[ID],
                                 .path = values[PATH],
                                 .text = values[TEXT],
                                 .label = values[LABEL],
                                 .group = values[GROUP],
                                 .has_row = values[ROW] != NULL};
    if (values[ROW] && (!scant__uint_read(values[ROW], &number) || number > SIZE_MAX))
        return scant__fields_wrong(f, values[ROW],
                                   "is not a row: expected a whole number from 0 on");
    row->row = (size_t)number;
    if (row->path && scant__path_goes_up(row->path))
        return scant__fields_wrong(
            f, row->path,
            "contains '..': paths must stay below their folder or start with '/'");
    if (row->id || row->path || row->text || row->has_row) return SCANT_OK;
    return scant__refuse(f->ctx, f->name,
                         "line %zu names no item: id, path, row and text are all empty",
                         f->line);
}

static scant_status check_columns(const scant__fields *f) {
    for (size_t i = ID; i <= TEXT; i++)
        if (scant__fields_has(f, i)) return SCANT_OK;
    return scant__refuse(f->ctx, f->name,
                         "line %zu is not a manifest header: it has none of the columns "
                         "id, path, row and text",
                         f->line);
}

/* Warns once about all unused columns. */
static scant_status warn_unused(const scant__fields *f) {
    if (!f->others.count) return SCANT_OK;
    AUTO(scant__text_end) scant__text list = {.ctx = f->ctx};
    for (size_t i = 0; i < f->others.count; i++)
        scant__text_addf(&list, "%s'%.40s'", i ? ", " : "",
                         scant__names_get(&f->others, i));
    if (list.failed) return SCANT_ENOMEM;
    scant__warn(f->ctx, "%s: unknown columns are ignored: %.400s", f->name, list.data);
    return SCANT_OK;
}

scant_status scant__manifest_read(scant_ctx *ctx, const char *path,
                                  scant_status (*fn)(void *user,
                                                     const scant__manifest_row *row),
                                  void *user) {
    AUTO(scant__fields_end) scant__fields f = {0};
    scant__manifest_row row;
    bool there;
    size_t rows = 0;
    TRY(scant__fields_open(&f, ctx, path, names, FIELDS));
    TRY(check_columns(&f));
    for (;; rows++) {
        TRY(scant__fields_next(&f, &there));
        if (!there) break;
        TRY(read_row(&f, &row));
        TRY(fn(user, &row));
    }
    if (!rows) return scant__refuse(ctx, path, "has no rows");
    return warn_unused(&f);
}
