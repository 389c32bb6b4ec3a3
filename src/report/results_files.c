/* SPDX-License-Identifier: Apache-2.0
 *
 * What may lie beside curve.csv and picks.csv: the experiment, names of classes, and
 * which pick a picture is of.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/names.h"
#include "data/source.h"
#include "report/experiment.h"
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
    size_t room;
    report_class *classes;
    size_t n;
} class_reader;

static const report_column class_columns[] = {
    {"label", REPORT_COUNT, false, offsetof(class_row, label)},
    {"name", REPORT_WORDS, false, offsetof(class_row, name)},
    {"count", REPORT_NUMBER, true, offsetof(class_row, count)},
};

static scant_status take_class(void *self, size_t line) {
    class_reader *c = self;
    scant_ctx *ctx = c->out->arena.ctx;
    void *block = c->classes;
    if (c->row.label >= MOST_CLASSES)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: line %zu: classes are fewer than %d, from 0", c->path,
                           line, MOST_CLASSES);
    size_t label = (size_t)c->row.label;
    scant_status status =
        scant__grow(ctx, &block, &c->room, label + 1, sizeof *c->classes);
    c->classes = block;
    if (status != SCANT_OK) return status;
    for (; c->n <= label; c->n++) c->classes[c->n] = (report_class){.count = NAN};
    if (c->row.count >= 0) c->classes[label].count = c->row.count;
    if (!c->row.name[0]) return SCANT_OK;
    c->classes[label].name = scant__arena_strdup(&c->out->arena, c->row.name);
    return c->classes[label].name ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status read_classes(report_results *r, report_folder *folder,
                                 const char *path, const scant__source *source) {
    class_reader c = {.out = r, .path = path};
    report_table table = {class_columns, 3, &c.row, take_class, &c, 0};
    (void)folder;
    if (r->classes) return SCANT_OK;
    scant_status status =
        report_table_read(r->arena.ctx, path, source->bytes, source->size, &table);
    if (status == SCANT_OK && c.n) {
        r->classes = scant__arena_alloc(&r->arena, c.n, sizeof *r->classes);
        if (r->classes) {
            memcpy(r->classes, c.classes, c.n * sizeof *r->classes);
            r->n_classes = c.n;
        } else {
            status = SCANT_ENOMEM;
        }
    }
    scant__free(r->arena.ctx, c.classes);
    return status;
}

/* ---- pictures ---------------------------------------------------------------------- */

typedef struct thumbnail_row {
    uint64_t row, index, label;
    char name[REPORT_NAME];
} thumbnail_row;

typedef struct thumbnail_reader {
    report_results *out;
    const char *path;
    thumbnail_row row;
    report_thumbnail *items;
    size_t n, room;
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
    void *block = t->items;
    if (t->n == MOST_THUMBNAILS)
        return scant__fail(ctx, SCANT_EINPUT, "%s: line %zu: more than %d pictures",
                           t->path, line, MOST_THUMBNAILS);
    scant_status status = scant__grow(ctx, &block, &t->room, t->n + 1, sizeof *t->items);
    t->items = block;
    if (status != SCANT_OK) return status;
    char *name = scant__arena_strdup(&t->out->arena, t->row.name);
    if (!name) return SCANT_ENOMEM;
    t->items[t->n++] = (report_thumbnail){t->row.row, t->row.index, t->row.label, name};
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
    if (status == SCANT_OK && t.n) {
        folder->thumbnails = scant__arena_alloc(&r->arena, t.n, sizeof *t.items);
        if (folder->thumbnails) {
            memcpy(folder->thumbnails, t.items, t.n * sizeof *t.items);
            folder->n_thumbnails = t.n;
            qsort(folder->thumbnails, t.n, sizeof *t.items, by_index);
        } else {
            status = SCANT_ENOMEM;
        }
    }
    scant__free(r->arena.ctx, t.items);
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

static scant_status read_if_there(report_results *r, report_folder *folder,
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
    TRY(read_if_there(r, folder, "experiment.ini", read_experiment));
    TRY(read_if_there(r, folder, "classes.csv", read_classes));
    return read_if_there(r, folder, "thumbnails.csv", read_thumbnails);
}
