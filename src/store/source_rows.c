/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads sources of items as samples and as feature rows. Images stay in their files;
 * arrays are memory-mapped where possible. The last array stays open with the handle,
 * because callers read many rows and opening may decompress it.
 *
 * A source whose content has changed since it was added is refused (fingerprint.c).
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data/dataset.h"
#include "data/file.h"
#include "data/source.h"
#include "scant/project.h"
#include "store/store_int.h"

/* ---- sources ----------------------------------------------------------------------- */

scant_status store_sources(scant_project *project, scant__arena *arena,
                           store_source **out, size_t *n) {
    size_t items, next = 0; /* next: the first item not covered by a source so far */
    TRY(store_items(project, &items));
    int64_t room = TRY_ONE(project, 0, "SELECT count(*) FROM sources");
    *out = TRY_NEW(arena, store_source, (size_t)room);
    *n = 0;
    STORE_EACH(row, project,
               "SELECT source, kind, path, first, count FROM sources"
               " ORDER BY first, source") {
        store_source source = {.number = store_count(row, 0),
                               .kind = (store_kind)store_integer(row, 1),
                               .path = store_string(row, 2),
                               .first = store_count(row, 3),
                               .count = store_count(row, 4)};
        /* Sources that were added after the items were counted are left out. */
        if (source.first >= items && next == items) continue;
        /* Callers index arrays with these numbers. */
        if (source.first != next || source.count > items - next || !source.path ||
            *n == (size_t)room || source.kind < STORE_FILES ||
            source.kind > STORE_FEATURES)
            return store_damaged(project, "sources and items do not agree");
        next += source.count;
        source.path = scant__arena_strdup(arena, source.path);
        if (!source.path) return SCANT_ENOMEM;
        (*out)[(*n)++] = source;
    }
    return SCANT_OK;
}

scant_status store_rows(scant_project *project, size_t first, size_t count,
                        size_t *rows) {
    size_t n = 0;
    STORE_EACH(row, project,
               "SELECT item, row FROM items WHERE item >= ?1 AND item < ?2 ORDER BY item",
               store_size(first), store_size(first + count)) {
        if (n >= count || store_count(row, 0) != first + n ||
            store_integer_or(row, 1, -1) < 0)
            return store_damaged(project, "an item has no row");
        rows[n++] = store_count(row, 1);
    }
    return n == count ? SCANT_OK : store_damaged(project, "items are missing");
}

/* ---- the open array ---------------------------------------------------------------- */

typedef struct opened {
    scant_ctx *ctx;
    char *path;
    struct stat as;     /* the file's status when it was opened */
    char *refused;      /* why store_source_check() refused it; NULL: it did not */
    scant_data *data;   /* images, or NULL */
    scant_array *array; /* features, or NULL */
} opened;

static void forget(opened *o) {
    scant_data_free(o->data);
    scant_array_free(o->array);
    scant__free(o->ctx, o->path);
    scant__free(o->ctx, o->refused);
    *o = (opened){.ctx = o->ctx};
}

static void detach(void *attached) {
    opened *o = attached;
    forget(o);
    scant__free(o->ctx, o);
}

/* Whether the file was replaced or modified. False for a deleted file: it is still open.
 */
static bool is_replaced(const opened *o, const struct stat *now) {
    return now->st_ino && (o->as.st_ino != now->st_ino || o->as.st_dev != now->st_dev ||
                           o->as.st_size != now->st_size ||
                           o->as.st_mtim.tv_sec != now->st_mtim.tv_sec ||
                           o->as.st_mtim.tv_nsec != now->st_mtim.tv_nsec);
}

/* The handle's slot, empty or with this source; closes any other source in it. */
static scant_status slot_for(scant_project *project, const char *path, opened **out) {
    void **slot = store_attached(project, STORE_OPENED, detach);
    if (!*slot) {
        opened *o = scant__zalloc(project->ctx, 1, sizeof *o);
        if (!o) return SCANT_ENOMEM;
        o->ctx = project->ctx;
        *slot = o;
    }
    opened *o = *out = *slot;
    struct stat now = {0};
    char file[PATH_MAX];
    const char *key = scant__npz_key(path);
    snprintf(file, sizeof file, "%.*s", key ? (int)(key - path) : PATH_MAX - 1, path);
    if (stat(file, &now) != 0) now.st_ino = 0; /* gone, or not a file */
    if (o->path && strcmp(o->path, path) == 0 && !is_replaced(o, &now)) return SCANT_OK;
    forget(o);
    o->as = now;
    o->path = store_strdup(project->ctx, path);
    return o->path ? SCANT_OK : SCANT_ENOMEM;
}

/* A refusal is kept: finding it reads all items. */
static scant_status check_slot(scant_project *project, opened *o) {
    scant_status status = store_source_check(project, o->path, o->refused);
    if (status == SCANT_EINPUT && !o->refused)
        o->refused = store_strdup(o->ctx, o->ctx->err);
    return status;
}

scant_status store_open_images(scant_project *project, const char *path,
                               const scant_data **out) {
    opened *o;
    TRY(slot_for(project, path, &o));
    if (!o->data) TRY(check_slot(project, o));
    if (!o->data)
        TRY(scant_data_open(project->ctx, path, &(scant_data_opts){.unlabelled = 1},
                            &o->data));
    *out = o->data;
    return SCANT_OK;
}

static scant_status open_features(scant_project *project, const char *path,
                                  const scant_array **out) {
    opened *o;
    TRY(slot_for(project, path, &o));
    if (!o->array) TRY(check_slot(project, o));
    if (!o->array) TRY(scant_array_open(project->ctx, path, &o->array));
    if (scant_array_ndim(o->array) != 2)
        return scant__fail(project->ctx, SCANT_EINPUT,
                           "%s: has %zu dimensions; features are n x d", path,
                           scant_array_ndim(o->array));
    *out = o->array;
    return SCANT_OK;
}

static scant_status row_gone(scant_project *project, const char *path, size_t item,
                             size_t row, size_t rows) {
    return scant__fail(
        project->ctx, SCANT_EINPUT,
        "%s: item %zu is its row %zu (counted from 0), but it has only %zu "
        "rows: the file has changed since it was added",
        path, item, row, rows);
}

static scant_status list_sources(scant_project *project, scant__arena *arena,
                                 store_source **out, size_t *n) {
    TRY(store_sources(project, arena, out, n));
    if (*n) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_EUSAGE, "%s: has no items", project->dir);
}

/* ---- images ------------------------------------------------------------------------ */

static scant_status open_files(scant_project *project, const store_source *source,
                               size_t side, scant_data **out) {
    AUTO(scant__names_end) scant__names names = {0};
    STORE_EACH(row, project,
               "SELECT path FROM items WHERE item >= ?1 AND item < ?2 ORDER BY item",
               store_size(source->first), store_size(source->first + source->count)) {
        const char *path = store_string(row, 0);
        if (!path || scant__path_goes_up(path))
            return store_damaged(project, "an item's path");
        TRY(scant__names_add(project->ctx, &names, path, strlen(path)));
    }
    if (names.count != source->count) return store_damaged(project, "items are missing");
    return scant__data_open_files(project->ctx, source->path, &names, side, out);
}

static scant_status open_array(scant_project *project, const store_source *source,
                               size_t side, scant_data **out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    AUTO(scant_data_auto) scant_data *data = NULL;
    TRY(scant_data_open(project->ctx, source->path,
                        &(scant_data_opts){.unlabelled = 1, .side = side}, &data));
    size_t *rows = TRY_NEW(&arena, size_t, source->count);
    TRY(store_rows(project, source->first, source->count, rows));
    size_t n = scant_data_count(data);
    bool all = n == source->count;
    for (size_t i = 0; i < source->count; i++) {
        all = all && rows[i] == i;
        if (rows[i] >= n)
            return row_gone(project, source->path, source->first + i, rows[i], n);
    }
    scant_data *whole = data;
    data = NULL;
    *out = whole;
    return all ? SCANT_OK
               : scant__data_subset(project->ctx, whole, rows, source->count, out);
}

typedef struct part_list {
    scant_data **all;
    size_t n;
} part_list;

static void parts_end(part_list *parts) {
    for (size_t i = 0; i < parts->n; i++) scant_data_free(parts->all[i]);
}

scant_status store_samples(scant_project *project, size_t side, scant_data **out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    AUTO(parts_end) part_list parts = {0};
    store_source *sources;
    size_t n;
    *out = NULL;
    TRY(list_sources(project, &arena, &sources, &n));
    parts.all = TRY_ZERO(&arena, scant_data *, n);
    for (size_t i = 0; i < n; i++)
        if (sources[i].kind == STORE_FEATURES)
            return scant__fail(project->ctx, SCANT_EUSAGE,
                               "%s: its items are feature rows, not images",
                               project->dir);
    TRY(store_source_check(project, NULL, NULL));
    for (size_t i = 0; i < n; i++) {
        TRY((sources[i].kind == STORE_FILES ? open_files : open_array)(
            project, &sources[i], side, &parts.all[i]));
        parts.n++;
    }
    parts.n = 0;
    return scant__data_join(project->ctx, parts.all, n, out);
}

/* ---- features ---------------------------------------------------------------------- */

scant_status store_features_width(scant_project *project, size_t *width) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    store_source *sources;
    size_t n;
    const scant_array *array;
    TRY(list_sources(project, &arena, &sources, &n));
    if (sources[0].kind != STORE_FEATURES)
        return scant__fail(project->ctx, SCANT_EUSAGE,
                           "%s: its items are images, not feature rows", project->dir);
    TRY(open_features(project, sources[0].path, &array));
    *width = scant_array_shape(array)[1];
    return SCANT_OK;
}

/* Reads features of items first .. first + count - 1, all of one source. */
static scant_status read_source(scant_project *project, const store_source *source,
                                size_t first, size_t count, size_t width, size_t *rows,
                                float *out) {
    const scant_array *array;
    TRY(store_rows(project, first, count, rows));
    TRY(open_features(project, source->path, &array));
    const size_t *shape = scant_array_shape(array);
    if (shape[1] != width)
        return scant__fail(project->ctx, SCANT_EINPUT,
                           "%s: has %zu numbers per row; the project's items have %zu",
                           source->path, shape[1], width);
    for (size_t i = 0, n; i < count; i += n) { /* runs of consecutive rows */
        for (n = 1; i + n < count && rows[i + n] == rows[i] + n;) n++;
        if (rows[i] >= shape[0] || n > shape[0] - rows[i])
            return row_gone(project, source->path, first + i, rows[i], shape[0]);
        TRY(scant_array_floats(project->ctx, array, rows[i] * width, n * width,
                               out + i * width));
    }
    return SCANT_OK;
}

scant_status store_features_read(scant_project *project, size_t first, size_t count,
                                 float *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    store_source *sources;
    size_t n_sources, width, done = 0;
    TRY(store_features_width(project, &width));
    TRY(list_sources(project, &arena, &sources, &n_sources));
    size_t *rows = TRY_NEW(&arena, size_t, size_max(count, 1));
    for (size_t i = 0; i < n_sources && done < count; i++) {
        const store_source *s = &sources[i];
        size_t at = first + done;
        if (at >= s->first + s->count) continue;
        size_t n = size_min(count - done, s->first + s->count - at);
        TRY(read_source(project, s, at, n, width, rows, out + done * width));
        done += n;
    }
    if (done == count) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_ENOTFOUND, "%s: there is no item %zu",
                       project->dir, first + done);
}
