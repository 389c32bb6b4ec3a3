/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the items of a folder, an array or a manifest that are about to be added. No
 * transaction is open meanwhile: hashing many files takes long, and people keep
 * labelling.
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
    scant__names_end(&batch->strings);
    scant__free(batch->ctx, batch->items);
    scant__arena_end(&batch->arena);
    *batch = (store_batch){0};
}

static scant_status add_bytes(store_batch *batch, const char *text, size_t length,
                              size_t *place) {
    *place = batch->strings.count;
    return scant__names_add(batch->ctx, &batch->strings, text, length);
}

static scant_status add_string(store_batch *batch, const char *text, size_t *place) {
    return text ? add_bytes(batch, text, strlen(text), place) : SCANT_OK;
}

/* Adds a name without blanks at its ends; *place stays unchanged if it is empty. */
static scant_status add_name(store_batch *batch, const char *text, size_t *place) {
    size_t length = 0;
    if (text) text = store_trim(text, &length);
    return length ? add_bytes(batch, text, length, place) : SCANT_OK;
}

static scant_status add_item(store_batch *batch, const store_new *item) {
    TRY_PUSH(batch->ctx, batch->items, batch->n, batch->room, *item);
    return SCANT_OK;
}

static const store_new nothing = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX,
                                  SIZE_MAX, SIZE_MAX, 0,        0};

/* ---- paths ------------------------------------------------------------------------- */

/* Makes a path absolute. FILE.npz:KEY keeps its key; a name that is not a file stays
 * unchanged. Returns NULL if out of memory. */
static const char *absolute(scant__arena *arena, const char *spec) {
    char real[PATH_MAX], file[PATH_MAX];
    const char *key = scant__npz_key(spec);
    if (key && key - spec < PATH_MAX) {
        snprintf(file, sizeof file, "%.*s", (int)(key - spec), spec);
        if (realpath(file, real)) return scant__arena_format(arena, "%s%s", real, key);
    }
    return scant__arena_strdup(arena, realpath(spec, real) ? real : spec);
}

/* Returns the folder of a path, or NULL if out of memory. */
static const char *folder_of(scant__arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    return scant__arena_format(arena, "%.*s", slash == path ? 1 : (int)(slash - path),
                               path);
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
    AUTO(scant__arena_end) scant__arena arena = {.ctx = batch->ctx};
    const char *spec = source->images ? source->images : source->features;
    store_kind kind = STORE_FEATURES;
    if (source->images && source->features)
        return scant__fail(batch->ctx, SCANT_EUSAGE,
                           "items are either images or feature rows, not both");
    if (!spec && !source->manifest)
        return scant__fail(
            batch->ctx, SCANT_EUSAGE,
            "no items: images, features or a manifest with paths are needed");
    if (source->images) TRY(kind_of_images(batch->ctx, source->images, &kind));
    if (!spec) kind = STORE_FILES;
    const char *path = spec ? absolute(&arena, spec) : folder_of(&arena, batch->manifest);
    if (!path) return SCANT_ENOMEM;
    TRY(store_fingerprint_take(batch->ctx, kind, path, &batch->print));
    return store_content_open(batch->ctx, kind, path, &batch->content);
}

/* ---- without a manifest ------------------------------------------------------------ */

/* Whether a path below a folder is in the project's own folder, like thumbnails. */
static bool within(const scant_project *project, const char *folder, const char *path) {
    size_t length = strlen(folder), size;
    const char *dir = project->dir;
    if (strncmp(dir, folder, length) != 0 || dir[length] != '/') return false;
    dir += length + 1;
    size = strlen(dir);
    return strncmp(path, dir, size) == 0 && path[size] == '/';
}

static scant_status list_folder(store_batch *batch, scant_project *project) {
    AUTO(scant__names_end) scant__names names = {0};
    const char *folder = batch->content.path;
    TRY(scant__images_list(batch->ctx, folder, &names));
    for (size_t i = 0; i < names.count; i++) {
        const char *path = scant__names_get(&names, i);
        store_new item = nothing;
        if (project && (within(project, folder, path) ||
                        TRY_ONE(project, -1,
                                "SELECT item FROM items JOIN sources USING (source)"
                                " WHERE items.path = ?1 AND sources.path = ?2 LIMIT 1",
                                store_text(path), store_text(folder)) >= 0))
            continue;
        TRY(add_string(batch, path, &item.path));
        item.id = item.path;
        TRY(add_item(batch, &item));
    }
    return SCANT_OK;
}

/* Sets *rows to the number of leading rows of an array to skip: up to the last row that
 * the project has. Rows after it may have been appended to the array since. */
static scant_status known_rows(scant_project *project, const char *path, size_t *rows) {
    *rows = (size_t)(1 + TRY_ONE(project, -1,
                                 "SELECT max(row) FROM sources JOIN items ON item BETWEEN"
                                 " CASE WHEN manifest IS NULL THEN first + count - 1"
                                 " ELSE first END"
                                 " AND first + count - 1 WHERE sources.path = ?1",
                                 store_text(path)));
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
    const char *name; /* the manifest's path as given, for messages */
} reading;

/* Pages get up to 200 items in a reply. */
static scant_status check_length(const reading *r, size_t line, const char *what,
                                 const char *text) {
    size_t size = text ? strlen(text) : 0;
    if (size <= STORE_TEXT) return SCANT_OK;
    return scant__fail(r->batch->ctx, SCANT_EINPUT,
                       "%s: line %zu: the %s has %zu bytes; at most %d are allowed",
                       r->name, line, what, size, STORE_TEXT);
}

static scant_status take_line(void *user, const scant__manifest_row *row) {
    const reading *r = user;
    store_new item = nothing;
    TRY(check_length(r, row->line, "text", row->text));
    TRY(check_length(r, row->line, "id", row->id));
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

/* Matches a manifest whose lines have no row (and, for a folder, no path): the i-th line
 * is the i-th item of the source. */
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
                           "%s: has %zu lines; %s has %zu items: add a column '%s' that "
                           "says which item each line is",
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
        store_new *item = &batch->items[i];
        char number[32];
        item->path = SIZE_MAX; /* arrays have no paths */
        if (item->id != SIZE_MAX) continue;
        snprintf(number, sizeof number, "%zu", item->row);
        TRY(add_string(batch, number, &item->id));
    }
    return SCANT_OK;
}

/* Sets the path of each line without one. Its row is an index into the sorted list of the
 * folder's images; if no line has a row, the lines are in the order of that list. */
static scant_status match_listed(const reading *r) {
    AUTO(scant__names_end) scant__names names = {0};
    store_batch *batch = r->batch;
    bool rows = false;
    for (size_t i = 0; i < batch->n; i++) rows |= batch->items[i].row != SIZE_MAX;
    TRY(scant__images_list(batch->ctx, batch->content.path, &names));
    if (!rows) TRY(by_order(r, names.count));
    TRY(check_rows(r, names.count));
    for (size_t i = 0; i < batch->n; i++) {
        store_new *item = &batch->items[i];
        if (item->row != SIZE_MAX && item->path == SIZE_MAX)
            TRY(add_string(batch, scant__names_get(&names, item->row), &item->path));
        if (item->path == SIZE_MAX)
            return wrong_line(r, item, "has neither a path nor a row");
        if (item->id == SIZE_MAX) item->id = item->path;
        item->row = SIZE_MAX;
    }
    return SCANT_OK;
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

/* ---- reading and hashing a batch --------------------------------------------------- */

static scant_status read_batch(store_batch *batch, scant_project *project,
                               const scant_source *source) {
    if (source->manifest) {
        batch->manifest = absolute(&batch->arena, source->manifest);
        if (!batch->manifest) return SCANT_ENOMEM;
    }
    TRY(open_source(batch, source));
    if (source->manifest) return read_manifest(batch, source);
    if (batch->content.kind == STORE_FILES) return list_folder(batch, project);
    return list_rows(batch, project);
}

scant_status store_batch_read(scant_ctx *ctx, scant_project *project,
                              const scant_source *source, store_batch *out) {
    *out = (store_batch){.ctx = ctx, .arena = {.ctx = ctx}};
    scant_status status = read_batch(out, project, source);
    if (status != SCANT_OK) store_batch_end(out);
    return status;
}

scant_status store_batch_folder(scant_project *project, const char *folder,
                                store_batch *out) {
    *out = (store_batch){.ctx = project->ctx, .print.size = -1};
    scant_status status =
        store_content_open(project->ctx, STORE_FILES, folder, &out->content);
    if (status == SCANT_OK) status = list_folder(out, project);
    if (status != SCANT_OK) store_batch_end(out);
    return status;
}

scant_status store_batch_hash(store_batch *batch) {
    for (size_t i = 0; i < batch->n; i++) {
        store_new *item = &batch->items[i];
        if (i % 256 == 0) TRY(scant__tick(batch->ctx, "reading items", i, batch->n));
        TRY(store_content_hash(&batch->content, item->row,
                               store_batch_string(batch, item->path),
                               store_batch_string(batch, item->text), &item->hash));
    }
    return SCANT_OK;
}
