/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the items of a folder, an array or a manifest that are about to be added. No
 * transaction is open meanwhile: hashing two hundred thousand files takes a while, and
 * people go on labelling.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/dataset_int.h"
#include "data/file.h"
#include "data/manifest.h"
#include "scant/project.h"
#include "store/content.h"

const char *store_batch_string(const store_batch *batch, size_t place) {
    return place == SIZE_MAX ? NULL : scant__names_get(&batch->strings, place);
}

void store_batch_end(store_batch *batch) {
    if (!batch->ctx) return;
    store_content_close(&batch->content);
    scant__names_end(batch->ctx, &batch->strings);
    scant__free(batch->ctx, batch->items);
    scant__free(batch->ctx, batch->manifest);
    *batch = (store_batch){0};
}

static scant_status add_string(store_batch *batch, const char *text, size_t *place) {
    *place = SIZE_MAX;
    if (!text) return SCANT_OK;
    TRY(scant__names_add(batch->ctx, &batch->strings, text, strlen(text)));
    *place = batch->strings.count - 1;
    return SCANT_OK;
}

/* Trims blanks, which names do not have around them; an empty name is none. */
static scant_status add_name(store_batch *batch, const char *text, size_t *place) {
    size_t length = 0;
    *place = SIZE_MAX;
    if (text) text = store_trim(text, &length);
    if (!length) return SCANT_OK;
    TRY(scant__names_add(batch->ctx, &batch->strings, text, length));
    *place = batch->strings.count - 1;
    return SCANT_OK;
}

static scant_status add_item(store_batch *batch, const store_new *item) {
    void *block = batch->items;
    scant_status status =
        scant__grow(batch->ctx, &block, &batch->room, batch->n + 1, sizeof *item);
    batch->items = block;
    if (status == SCANT_OK) batch->items[batch->n++] = *item;
    return status;
}

static const store_new nothing = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX,
                                  SIZE_MAX, SIZE_MAX, 0,        0};

/* ---- paths ------------------------------------------------------------------------- */

/* The absolute path. FILE.npz:KEY keeps its key; a name that is not a file is left as it
 * is. *out is new. */
static scant_status absolute(scant_ctx *ctx, const char *spec, char **out) {
    char real[PATH_MAX], file[PATH_MAX];
    const char *key = NULL;
    for (const char *at = spec; (at = strstr(at, ".npz:")); at += 4) key = at + 4;
    size_t length = key ? (size_t)(key - spec) : 0;
    *out = NULL;
    if (key && length < sizeof file) {
        memcpy(file, spec, length);
        file[length] = 0;
        if (realpath(file, real)) {
            scant__text text;
            size_t size;
            scant__text_init(&text, ctx);
            scant__text_add(&text, real);
            scant__text_add(&text, key);
            return scant__text_take(&text, out, &size);
        }
    }
    *out = store_strdup(ctx, realpath(spec, real) ? real : spec);
    return *out ? SCANT_OK : SCANT_ENOMEM;
}

/* The folder of a path. *out is new. */
static scant_status folder_of(scant_ctx *ctx, const char *path, char **out) {
    const char *slash = strrchr(path, '/');
    *out = store_strdup(ctx, slash ? path : ".");
    if (!*out) return SCANT_ENOMEM;
    if (slash) (*out)[slash == path ? 1 : slash - path] = 0;
    return SCANT_OK;
}

static scant_status kind_of_images(scant_ctx *ctx, const char *images, store_kind *kind) {
    struct stat st;
    bool other;
    *kind = STORE_ARRAY;
    if (stat(images, &st) != 0 || !S_ISDIR(st.st_mode)) return SCANT_OK;
    TRY(scant__is_mnist(ctx, images, &other));
    if (!other) TRY(scant__is_cifar(ctx, images, &other));
    if (!other) *kind = STORE_FILES;
    return SCANT_OK;
}

static scant_status open_source(store_batch *batch, const scant_source *source) {
    store_kind kind = STORE_FEATURES;
    char *path = NULL;
    if (source->images && source->features)
        return scant__fail(batch->ctx, SCANT_EUSAGE,
                           "items are either images or feature rows, not both");
    if (!source->images && !source->features && !source->manifest)
        return scant__fail(
            batch->ctx, SCANT_EUSAGE,
            "no items: images, features or a manifest with paths are needed");
    if (source->images) TRY(kind_of_images(batch->ctx, source->images, &kind));
    if (!source->images && !source->features) {
        kind = STORE_FILES;
        TRY(folder_of(batch->ctx, batch->manifest, &path));
    } else {
        const char *spec = source->images ? source->images : source->features;
        TRY(absolute(batch->ctx, spec, &path));
    }
    scant_status status = store_content_open(batch->ctx, kind, path, &batch->content);
    scant__free(batch->ctx, path);
    return status;
}

/* ---- without a manifest ------------------------------------------------------------ */

static scant_status known_path(scant_project *project, const char *folder,
                               const char *path, bool *known) {
    int64_t item;
    TRY(store_one(project,
                  "SELECT item FROM items JOIN sources USING (source)"
                  " WHERE items.path = ?1 AND sources.path = ?2 LIMIT 1",
                  STORE_VALUES(store_text(path), store_text(folder)), -1, &item));
    *known = item >= 0;
    return SCANT_OK;
}

/* Whether a path below a folder is in the project's own folder: a thumbnail, say. */
static bool within(const scant_project *project, const char *folder, const char *path) {
    size_t length = strlen(folder), size;
    const char *dir = project->dir;
    if (strncmp(dir, folder, length) != 0 || dir[length] != '/') return false;
    dir += length + 1;
    size = strlen(dir);
    return strncmp(path, dir, size) == 0 && path[size] == '/';
}

static scant_status add_listed(store_batch *batch, scant_project *project,
                               const scant__names *names) {
    for (size_t i = 0; i < names->count; i++) {
        const char *path = scant__names_get(names, i);
        store_new item = nothing;
        bool known = false;
        if (project) TRY(known_path(project, batch->content.path, path, &known));
        if (known || (project && within(project, batch->content.path, path))) continue;
        TRY(add_string(batch, path, &item.path));
        item.id = item.path;
        TRY(add_item(batch, &item));
    }
    return SCANT_OK;
}

static scant_status list_folder(store_batch *batch, scant_project *project) {
    scant__names names = {0};
    scant_status status = scant__images_list(batch->ctx, batch->content.path, &names);
    if (status == SCANT_OK) status = add_listed(batch, project, &names);
    scant__names_end(batch->ctx, &names);
    return status;
}

/* The number of rows that the project has from the same file, which may have grown. */
static scant_status known_rows(scant_project *project, const char *path, size_t *rows) {
    int64_t last;
    TRY(store_one(project,
                  "SELECT max(row) FROM sources JOIN items ON item BETWEEN"
                  " CASE WHEN manifest IS NULL THEN first + count - 1 ELSE first END"
                  " AND first + count - 1 WHERE sources.path = ?1",
                  STORE_VALUES(store_text(path)), -1, &last));
    *rows = (size_t)(last + 1);
    return SCANT_OK;
}

static scant_status list_rows(store_batch *batch, scant_project *project) {
    size_t row = 0;
    if (project) TRY(known_rows(project, batch->content.path, &row));
    for (; row < batch->content.rows; row++) {
        store_new item = nothing;
        item.row = row;
        TRY(add_item(batch, &item));
    }
    return SCANT_OK;
}

/* ---- manifests --------------------------------------------------------------------- */

typedef struct reading {
    store_batch *batch;
    const char *name; /* of the manifest, as given */
} reading;

static scant_status take_line(void *user, const scant__manifest_row *row) {
    const reading *r = user;
    store_new item = nothing;
    item.line = row->line;
    if (row->has_row) item.row = row->row;
    TRY(add_string(r->batch, row->path, &item.path));
    TRY(add_string(r->batch, row->text, &item.text));
    TRY(add_string(r->batch, row->group, &item.group));
    TRY(add_name(r->batch, row->label, &item.label));
    item.id = item.path;
    if (row->id) TRY(add_string(r->batch, row->id, &item.id));
    if (row->text) r->batch->texts = true;
    return add_item(r->batch, &item);
}

static scant_status wrong_line(const reading *r, const store_new *item,
                               const char *what) {
    return scant__fail(r->batch->ctx, SCANT_EINPUT, "%s: line %zu: %s", r->name,
                       item->line, what);
}

/* The id of a line without one: the number of its row. */
static scant_status number_id(store_batch *batch, store_new *item) {
    char text[32];
    if (item->id != SIZE_MAX) return SCANT_OK;
    snprintf(text, sizeof text, "%zu", item->row);
    return add_string(batch, text, &item->id);
}

/* Lines without rows and paths are in the order of the source. */
static scant_status by_order(const reading *r, size_t rows) {
    store_batch *batch = r->batch;
    bool files = batch->content.kind == STORE_FILES;
    for (size_t i = 0; i < batch->n; i++) {
        const store_new *item = &batch->items[i];
        if (item->row == SIZE_MAX && (!files || item->path == SIZE_MAX)) continue;
        return wrong_line(r, item,
                          files ? "has a path or a row; others have none"
                                : "has a row; others have none");
    }
    if (batch->n != rows)
        return scant__fail(batch->ctx, SCANT_EINPUT,
                           "%s: has %zu lines; %s has %zu items: say which they are in a "
                           "column '%s'",
                           r->name, batch->n, batch->content.path, rows,
                           files ? "path" : "row");
    for (size_t i = 0; i < batch->n; i++) batch->items[i].row = i;
    return SCANT_OK;
}

static scant_status check_rows(const reading *r, size_t rows) {
    store_batch *batch = r->batch;
    for (size_t i = 0; i < batch->n; i++) {
        const store_new *item = &batch->items[i];
        if (item->row == SIZE_MAX || item->row < rows) continue;
        return scant__fail(
            batch->ctx, SCANT_EINPUT,
            "%s: line %zu: there is no row %zu in %s, which has %zu (counted "
            "from 0)",
            r->name, item->line, item->row, batch->content.path, rows);
    }
    return SCANT_OK;
}

static scant_status match_rows(const reading *r) {
    store_batch *batch = r->batch;
    bool named = batch->n > 0;
    for (size_t i = 0; i < batch->n; i++) named &= batch->items[i].row != SIZE_MAX;
    if (!named) TRY(by_order(r, batch->content.rows));
    TRY(check_rows(r, batch->content.rows));
    for (size_t i = 0; i < batch->n; i++) {
        batch->items[i].path = SIZE_MAX; /* arrays have no paths */
        TRY(number_id(batch, &batch->items[i]));
    }
    return SCANT_OK;
}

/* Finds the images of lines that have a row, or are in the order of the folder. */
static scant_status match_listed(const reading *r) {
    store_batch *batch = r->batch;
    scant__names names = {0};
    bool rows = false;
    for (size_t i = 0; i < batch->n; i++) rows |= batch->items[i].row != SIZE_MAX;
    scant_status status = scant__images_list(batch->ctx, batch->content.path, &names);
    if (status == SCANT_OK && !rows) status = by_order(r, names.count);
    if (status == SCANT_OK) status = check_rows(r, names.count);
    for (size_t i = 0; status == SCANT_OK && i < batch->n; i++) {
        store_new *item = &batch->items[i];
        if (item->row != SIZE_MAX && item->path == SIZE_MAX)
            status = add_string(batch, scant__names_get(&names, item->row), &item->path);
        if (status == SCANT_OK && item->path == SIZE_MAX)
            status = wrong_line(r, item, "has neither a path nor a row");
        if (item->id == SIZE_MAX) item->id = item->path;
        item->row = SIZE_MAX;
    }
    scant__names_end(batch->ctx, &names);
    return status;
}

static scant_status match_files(const reading *r, bool folder) {
    bool paths = true;
    for (size_t i = 0; i < r->batch->n; i++) {
        const store_new *item = &r->batch->items[i];
        if (item->path == SIZE_MAX) paths = false;
        if (item->path != SIZE_MAX || folder) continue;
        return wrong_line(r, item,
                          item->text == SIZE_MAX
                              ? "has no path, and no images or features are given"
                              : "has a text and no path: texts need features that a "
                                "model can be trained on");
    }
    if (!paths) return match_listed(r);
    for (size_t i = 0; i < r->batch->n; i++) r->batch->items[i].row = SIZE_MAX;
    return SCANT_OK;
}

static scant_status read_manifest(store_batch *batch, const scant_source *source) {
    reading r = {batch, source->manifest};
    TRY(scant__manifest_read(batch->ctx, source->manifest, take_line, &r));
    if (!batch->n)
        return scant__fail(batch->ctx, SCANT_EINPUT, "%s: lists no items",
                           source->manifest);
    return batch->content.kind == STORE_FILES ? match_files(&r, source->images)
                                              : match_rows(&r);
}

/* ---- batches ----------------------------------------------------------------------- */

static scant_status read_batch(store_batch *batch, scant_project *project,
                               const scant_source *source) {
    if (source->manifest) TRY(absolute(batch->ctx, source->manifest, &batch->manifest));
    TRY(open_source(batch, source));
    if (source->manifest) return read_manifest(batch, source);
    if (batch->content.kind == STORE_FILES) return list_folder(batch, project);
    return list_rows(batch, project);
}

scant_status store_batch_read(scant_ctx *ctx, scant_project *project,
                              const scant_source *source, store_batch *out) {
    *out = (store_batch){.ctx = ctx};
    scant_status status = read_batch(out, project, source);
    if (status != SCANT_OK) store_batch_end(out);
    return status;
}

scant_status store_batch_folder(scant_project *project, const char *folder,
                                store_batch *out) {
    *out = (store_batch){.ctx = project->ctx};
    scant_status status =
        store_content_open(project->ctx, STORE_FILES, folder, &out->content);
    if (status == SCANT_OK) status = list_folder(out, project);
    if (status != SCANT_OK) store_batch_end(out);
    return status;
}

scant_status store_batch_look(store_batch *batch) {
    for (size_t i = 0; i < batch->n; i++) {
        store_new *item = &batch->items[i];
        if (i % 256 == 0) TRY(scant__tick(batch->ctx, "reading items", i, batch->n));
        TRY(store_content_print(&batch->content, item->row,
                                store_batch_string(batch, item->path),
                                store_batch_string(batch, item->text), &item->print));
    }
    return SCANT_OK;
}
