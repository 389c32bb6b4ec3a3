/* SPDX-License-Identifier: Apache-2.0
 *
 * The optional files of a folder: the experiment, the names of classes, and the picks of
 * the thumbnails.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/names.h"
#include "data/source.h"
#include "report/experiment_ini.h"
#include "report/results_int.h"

enum { MOST_CLASSES = 100000, MOST_THUMBNAILS = 100000, MOST_TEXT = 1 << 20 };

typedef scant_status (*file_reader)(report_results *r, report_folder *folder,
                                    const char *path, const scant__source *source);

static scant_status read_experiment(report_results *r, report_folder *folder,
                                    const char *path, const scant__source *source) {
    size_t size = size_min(source->size, MOST_TEXT);
    char *text = scant__arena_zalloc(&r->arena, size + 1, 1);
    (void)path;
    if (!text) return SCANT_ENOMEM;
    memcpy(text, source->bytes, size);
    for (size_t i = 0; i < size; i++)
        if (!text[i]) text[i] = '?';
    folder->experiment = text;
    return report_experiment_read(&r->arena, folder);
}

/* ---- classes ----------------------------------------------------------------------- */

typedef struct class_row {
    uint64_t label;
    char name[REPORT_NAME];
    double count;
} class_row;

typedef struct class_reader {
    report_results *out;
    const char *path;
    class_row row;
    report_list classes; /* of report_class */
} class_reader;

static const report_column class_columns[] = {
    {"label", REPORT_COUNT, false, offsetof(class_row, label)},
    {"name", REPORT_WORDS, false, offsetof(class_row, name)},
    {"count", REPORT_NUMBER, true, offsetof(class_row, count)},
};

static scant_status take_class(void *self, size_t line) {
    class_reader *c = self;
    scant_ctx *ctx = c->out->arena.ctx;
    if (c->row.label >= MOST_CLASSES)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: line %zu: classes are numbered from 0 to %d", c->path,
                           line, MOST_CLASSES - 1);
    size_t label = (size_t)c->row.label;
    while (c->classes.n <= label) {
        report_class *added = report_list_add(ctx, &c->classes, sizeof *added);
        if (!added) return SCANT_ENOMEM;
        *added = (report_class){.count = NAN};
    }
    report_class *class = (report_class *)c->classes.items + label;
    if (c->row.count >= 0) class->count = c->row.count;
    if (!c->row.name[0]) return SCANT_OK;
    class->name = scant__arena_strdup(&c->out->arena, c->row.name);
    return class->name ? SCANT_OK : SCANT_ENOMEM;
}

/* Copies a list to the arena and frees it. */
static scant_status keep(scant__arena *arena, report_list *list, size_t size,
                         scant_status status, void **items, size_t *n) {
    if (status == SCANT_OK && list->n) {
        *items = scant__arena_alloc(arena, list->n, size);
        if (*items) memcpy(*items, list->items, list->n * size);
        *n = *items ? list->n : 0;
        if (!*items) status = SCANT_ENOMEM;
    }
    scant__free(arena->ctx, list->items);
    return status;
}

static scant_status read_classes(report_results *r, report_folder *folder,
                                 const char *path, const scant__source *source) {
    class_reader c = {.out = r, .path = path};
    report_table table = {class_columns, 3, &c.row, take_class, &c, 0};
    (void)folder;
    if (r->classes) return SCANT_OK;
    scant_status status =
        report_table_read(r->arena.ctx, path, source->bytes, source->size, &table);
    void *classes = NULL;
    status =
        keep(&r->arena, &c.classes, sizeof *r->classes, status, &classes, &r->n_classes);
    r->classes = classes;
    return status;
}

/* ---- thumbnails -------------------------------------------------------------------- */

typedef struct thumbnail_row {
    uint64_t row, index, label;
    char name[REPORT_NAME];
} thumbnail_row;

typedef struct thumbnail_reader {
    report_results *out;
    const char *path;
    thumbnail_row row;
    report_list items; /* of report_thumbnail */
} thumbnail_reader;

static const report_column thumbnail_columns[] = {
    {"row", REPORT_COUNT, false, offsetof(thumbnail_row, row)},
    {"index", REPORT_COUNT, false, offsetof(thumbnail_row, index)},
    {"label", REPORT_COUNT, false, offsetof(thumbnail_row, label)},
    {"name", REPORT_WORDS, true, offsetof(thumbnail_row, name)},
};

static scant_status take_thumbnail(void *self, size_t line) {
    thumbnail_reader *t = self;
    scant_ctx *ctx = t->out->arena.ctx;
    if (t->items.n == MOST_THUMBNAILS)
        return scant__fail(ctx, SCANT_EINPUT, "%s: line %zu: more than %d images",
                           t->path, line, MOST_THUMBNAILS);
    report_thumbnail *added = report_list_add(ctx, &t->items, sizeof *added);
    char *name = scant__arena_strdup(&t->out->arena, t->row.name);
    if (!added || !name) return SCANT_ENOMEM;
    *added = (report_thumbnail){t->row.row, t->row.index, t->row.label, name};
    return SCANT_OK;
}

static int by_index(const void *a, const void *b) {
    const report_thumbnail *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static scant_status read_thumbnails(report_results *r, report_folder *folder,
                                    const char *path, const scant__source *source) {
    thumbnail_reader t = {.out = r, .path = path};
    report_table table = {thumbnail_columns, 4, &t.row, take_thumbnail, &t, 0};
    scant_status status =
        report_table_read(r->arena.ctx, path, source->bytes, source->size, &table);
    void *items = NULL;
    size_t size = sizeof *folder->thumbnails;
    status = keep(&r->arena, &t.items, size, status, &items, &folder->n_thumbnails);
    folder->thumbnails = items;
    if (items) qsort(items, folder->n_thumbnails, size, by_index);
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

static scant_status read_optional(report_results *r, report_folder *folder,
                                  const char *name, file_reader read) {
    scant__source source;
    char *path = report_path(&r->arena, folder->path, name);
    if (!path) return SCANT_ENOMEM;
    if (!report_file_exists(path)) return SCANT_OK;
    TRY(scant__source_map(r->arena.ctx, path, &source));
    scant_status status = read(r, folder, path, &source);
    scant__source_close(r->arena.ctx, &source);
    return status;
}

scant_status report_folder_read(report_results *r, report_folder *folder) {
    TRY(read_optional(r, folder, "experiment.ini", read_experiment));
    TRY(read_optional(r, folder, "classes.csv", read_classes));
    return read_optional(r, folder, "thumbnails.csv", read_thumbnails);
}
