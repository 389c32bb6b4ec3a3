/* SPDX-License-Identifier: Apache-2.0
 *
 * The optional files of a folder: the experiment, the table of classes, and the table of
 * thumbnails.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/ini.h"
#include "data/source.h"
#include "report/csv_table.h"
#include "report/results_int.h"

enum { MOST_CLASSES = 100000, MOST_THUMBNAILS = 100000, MOST_TEXT = 1 << 20 };
enum { MOST_SETTINGS = 1000 }; /* most that are read; there are about a hundred */

typedef struct file_row {
    uint64_t row, index, label;
    const char *name;
    double count;
} file_row;

typedef struct reading {
    report_results *out;
    report_folder *folder;
    const char *path;
    const scant__source *source;
    size_t room; /* capacity of the list that is read */
    file_row row;
} reading;

/* ---- the experiment --------------------------------------------------------------- */

static scant_status on_value(void *user, const char *section, const char *key,
                             const char *value, size_t line) {
    const reading *f = user;
    scant__arena *arena = &f->out->arena;
    report_setting *s = &f->folder->settings[f->folder->n_settings];
    (void)line;
    if (f->folder->n_settings == MOST_SETTINGS) return SCANT_OK;
    s->section = scant__arena_strdup(arena, section);
    s->key = scant__arena_strdup(arena, key);
    s->value = scant__arena_strdup(arena, value);
    if (!s->section || !s->key || !s->value) return SCANT_ENOMEM;
    f->folder->n_settings++;
    return SCANT_OK;
}

/* Accepts unknown keys, and stops at the first invalid line without failing, so that
 * reports can be made from results of any version. */
static scant_status read_experiment(reading *f) {
    scant__arena *arena = &f->out->arena;
    scant__ini ini = {.on_value = on_value, .user = f};
    size_t size = size_min(f->source->size, MOST_TEXT);
    char *text = TRY_ZERO(arena, char, size + 1);
    memcpy(text, f->source->bytes, size);
    for (size_t i = 0; i < size; i++)
        if (!text[i]) text[i] = '?';
    f->folder->experiment = text;
    f->folder->settings = TRY_NEW(arena, report_setting, MOST_SETTINGS);
    scant_status status = scant__ini_read(arena->ctx, f->folder->path, text, size, &ini);
    return status == SCANT_EINPUT ? SCANT_OK : status;
}

const char *report_experiment_value(const report_folder *folder, const char *section,
                                    const char *key) {
    for (size_t i = 0; i < folder->n_settings; i++)
        if (strcmp(folder->settings[i].section, section) == 0 &&
            strcmp(folder->settings[i].key, key) == 0)
            return folder->settings[i].value;
    return NULL;
}

static bool may_differ(const report_setting *s) {
    return strcmp(s->section, "loop") == 0 &&
           (strcmp(s->key, "strategies") == 0 || strcmp(s->key, "seeds") == 0);
}

/* Whether `folder` is the first one with this setting, and a later one has another
 * value. */
static bool differs(const report_results *r, size_t folder, const report_setting *s) {
    bool other = false;
    if (may_differ(s)) return false;
    for (size_t i = 0; i < r->n_folders; i++) {
        const char *value =
            i == folder ? NULL
                        : report_experiment_value(&r->folders[i], s->section, s->key);
        if (i < folder && value) return false;
        other = other || (value && strcmp(value, s->value) != 0);
    }
    return other;
}

scant_status report_experiments_compare(report_results *r) {
    AUTO(scant__text_end) scant__text text = {.ctx = r->arena.ctx};
    for (size_t i = 0; i < r->n_folders; i++)
        for (size_t k = 0; k < r->folders[i].n_settings; k++) {
            const report_setting *s = &r->folders[i].settings[k];
            if (differs(r, i, s))
                scant__text_addf(&text, "%s%s.%s", text.size ? ", " : "", s->section,
                                 s->key);
        }
    if (text.size) r->differ = scant__arena_strdup(&r->arena, text.data);
    return text.failed || (text.size && !r->differ) ? SCANT_ENOMEM : SCANT_OK;
}

/* ---- classes ---------------------------------------------------------------------- */

static scant_status read_table(reading *f, const report_column *columns, size_t n,
                               scant_status (*take)(void *self, size_t line)) {
    report_table table = {columns, n, &f->row, take, f, 0};
    return report_table_read(f->out->arena.ctx, f->path, f->source->bytes,
                             f->source->size, &table);
}

static scant_status take_class(void *self, size_t line) {
    reading *f = self;
    report_results *r = f->out;
    if (f->row.label >= MOST_CLASSES)
        return scant__fail(r->arena.ctx, SCANT_EINPUT,
                           "%s: line %zu: classes are numbered from 0 to %d", f->path,
                           line, MOST_CLASSES - 1);
    while (r->n_classes <= f->row.label)
        TRY_PUSH(r->arena.ctx, r->classes, r->n_classes, f->room,
                 (report_class){.count = NAN});
    report_class *class = &r->classes[f->row.label];
    if (f->row.count >= 0) class->count = f->row.count;
    if (!*f->row.name) return SCANT_OK;
    class->name = scant__arena_strdup(&r->arena, f->row.name);
    return class->name ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status read_classes(reading *f) {
    static const report_column columns[] = {
        {"label", REPORT_COUNT, false, offsetof(file_row, label)},
        {"name", REPORT_WORDS, false, offsetof(file_row, name)},
        {"count", REPORT_NUMBER, true, offsetof(file_row, count)},
    };
    return f->out->classes ? SCANT_OK : read_table(f, columns, 3, take_class);
}

/* ---- thumbnails -------------------------------------------------------------------- */

static scant_status take_thumbnail(void *self, size_t line) {
    reading *f = self;
    scant_ctx *ctx = f->out->arena.ctx;
    if (f->folder->n_thumbnails == MOST_THUMBNAILS)
        return scant__fail(ctx, SCANT_EINPUT, "%s: line %zu: more than %d images",
                           f->path, line, MOST_THUMBNAILS);
    char *name = scant__arena_strdup(&f->out->arena, f->row.name);
    if (!name) return SCANT_ENOMEM;
    TRY_PUSH(ctx, f->folder->thumbnails, f->folder->n_thumbnails, f->room,
             (report_thumbnail){f->row.row, f->row.index, f->row.label, name});
    return SCANT_OK;
}

static int by_index(const void *a, const void *b) {
    const report_thumbnail *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static scant_status read_thumbnails(reading *f) {
    static const report_column columns[] = {
        {"row", REPORT_COUNT, false, offsetof(file_row, row)},
        {"index", REPORT_COUNT, false, offsetof(file_row, index)},
        {"label", REPORT_COUNT, false, offsetof(file_row, label)},
        {"name", REPORT_WORDS, true, offsetof(file_row, name)},
    };
    report_folder *folder = f->folder;
    TRY(read_table(f, columns, 4, take_thumbnail));
    if (folder->n_thumbnails)
        qsort(folder->thumbnails, folder->n_thumbnails, sizeof *folder->thumbnails,
              by_index);
    return SCANT_OK;
}

/* ---- all optional files ------------------------------------------------------------ */

scant_status report_folder_read(report_results *r, report_folder *folder) {
    static const struct {
        const char *name;
        scant_status (*read)(reading *f);
    } files[] = {{"experiment.ini", read_experiment},
                 {"classes.csv", read_classes},
                 {"thumbnails.csv", read_thumbnails}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        AUTO(scant__source_close) scant__source source = {0};
        reading f = {.out = r, .folder = folder, .source = &source};
        f.path = report_path(&r->arena, folder->path, files[i].name);
        if (!f.path) return SCANT_ENOMEM;
        if (!report_file_exists(f.path)) continue;
        TRY(scant__source_map(r->arena.ctx, f.path, &source));
        TRY(files[i].read(&f));
    }
    return SCANT_OK;
}
