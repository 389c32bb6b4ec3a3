/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources as samples and as feature rows. Images stay in their files; arrays are mapped
 * where possible. The last array stays open with the handle: callers read many rows, and
 * opening may unpack it.
 *
 * Files may have changed since they were added: missing rows are SCANT_EINPUT.
 */
#include "store/samples.h"

#include <string.h>
#include <sys/stat.h>

#include "data/dataset.h"
#include "data/paths.h"
#include "scant/project.h"
#include "store/store_int.h"

/* ---- the open array ---------------------------------------------------------------- */

typedef struct opened {
    scant_ctx *ctx;
    char *path;
    struct stat as;     /* the file when it was opened */
    scant_data *data;   /* images, or NULL */
    scant_array *array; /* features, or NULL */
} opened;

static void forget(opened *o) {
    scant_data_free(o->data);
    scant_array_free(o->array);
    scant__free(o->ctx, o->path);
    *o = (opened){.ctx = o->ctx};
}

static void detach(void *attached) {
    opened *o = attached;
    forget(o);
    scant__free(o->ctx, o);
}

/* Whether another file has replaced it. A deleted file is still open. */
static bool is_replaced(const opened *o, const struct stat *now) {
    return now->st_ino && (o->as.st_ino != now->st_ino || o->as.st_dev != now->st_dev ||
                           o->as.st_size != now->st_size ||
                           o->as.st_mtim.tv_sec != now->st_mtim.tv_sec ||
                           o->as.st_mtim.tv_nsec != now->st_mtim.tv_nsec);
}

/* The slot for a source; closes another source that it holds. */
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
    if (stat(path, &now) != 0) now.st_ino = 0; /* gone, or FILE.npz:KEY */
    if (o->path && strcmp(o->path, path) == 0 && !is_replaced(o, &now)) return SCANT_OK;
    forget(o);
    o->as = now;
    o->path = store_strdup(project->ctx, path);
    return o->path ? SCANT_OK : SCANT_ENOMEM;
}

scant_status store_open_pictures(scant_project *project, const char *path,
                                 const scant_data **out) {
    opened *o;
    TRY(slot_for(project, path, &o));
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

/* ---- sources ----------------------------------------------------------------------- */

typedef struct listed {
    scant__arena *arena;
    store_source *sources;
    size_t n, room;
} listed;

static scant_status keep_source(void *user, const store_source *source) {
    listed *l = user;
    if (l->n == l->room) {
        size_t room = size_max(8, 2 * l->room);
        store_source *more = scant__arena_alloc(l->arena, room, sizeof *more);
        if (!more) return SCANT_ENOMEM;
        if (l->n) memcpy(more, l->sources, l->n * sizeof *more);
        l->sources = more;
        l->room = room;
    }
    l->sources[l->n] = *source;
    l->sources[l->n].path = scant__arena_strdup(l->arena, source->path);
    return l->sources[l->n++].path ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status list_sources(scant_project *project, scant__arena *arena,
                                 listed *out) {
    *out = (listed){.arena = arena};
    TRY(store_sources(project, keep_source, out));
    if (out->n) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_EUSAGE, "%s: has no items", project->dir);
}

/* ---- images ------------------------------------------------------------------------ */

static scant_status take_path(scant_project *project, sqlite3_stmt *row, void *arg) {
    const char *path = store_string(row, 0);
    if (!path || scant__path_goes_up(path))
        return store_damaged(project, "an item's path");
    return scant__names_add(project->ctx, arg, path, strlen(path));
}

static scant_status list_paths(scant_project *project, const store_source *source,
                               scant__names *names) {
    TRY(store_each(project,
                   "SELECT path FROM items WHERE item >= ?1 AND item < ?2 ORDER BY item",
                   STORE_VALUES(store_size(source->first),
                                store_size(source->first + source->count)),
                   take_path, names));
    if (names->count == source->count) return SCANT_OK;
    return store_damaged(project, "items are missing");
}

static scant_status open_files(scant_project *project, const store_source *source,
                               size_t side, scant_data **out) {
    scant__names names = {0};
    scant_status status = list_paths(project, source, &names);
    if (status == SCANT_OK)
        status = scant__data_open_files(project->ctx, source->path, &names, side, out);
    scant__names_end(project->ctx, &names);
    return status;
}

/* Takes ownership of data, also on failure. */
static scant_status take_rows(scant_project *project, const store_source *source,
                              scant_data *data, size_t *rows, scant_data **out) {
    size_t n = scant_data_count(data);
    bool all = n == source->count;
    scant_status status = store_rows(project, source, rows);
    for (size_t i = 0; i < source->count && status == SCANT_OK; i++) {
        all = all && rows[i] == i;
        if (rows[i] >= n)
            status = row_gone(project, source->path, source->first + i, rows[i], n);
    }
    if (status == SCANT_OK && !all)
        return scant__data_subset(project->ctx, data, rows, source->count, out);
    if (status == SCANT_OK)
        *out = data;
    else
        scant_data_free(data);
    return status;
}

static scant_status open_array(scant_project *project, const store_source *source,
                               size_t side, scant_data **out) {
    scant_data *data;
    TRY(scant_data_open(project->ctx, source->path,
                        &(scant_data_opts){.unlabelled = 1, .side = side}, &data));
    size_t *rows = scant__alloc(project->ctx, source->count, sizeof *rows);
    if (!rows) {
        scant_data_free(data);
        return SCANT_ENOMEM;
    }
    scant_status status = take_rows(project, source, data, rows, out);
    scant__free(project->ctx, rows);
    return status;
}

static scant_status open_source(scant_project *project, const store_source *source,
                                size_t side, scant_data **out) {
    *out = NULL;
    switch (source->kind) {
    case STORE_FILES:
        return open_files(project, source, side, out);
    case STORE_ARRAY:
        return open_array(project, source, side, out);
    default:
        return scant__fail(project->ctx, SCANT_EUSAGE,
                           "%s: its items are feature rows, not images", project->dir);
    }
}

scant_status store_samples(scant_project *project, size_t side, scant_data **out) {
    scant__arena arena;
    listed sources;
    scant_data **parts = NULL;
    size_t n = 0;
    *out = NULL;
    scant__arena_init(&arena, project->ctx);
    scant_status status = list_sources(project, &arena, &sources);
    if (status == SCANT_OK) {
        parts = scant__arena_alloc(&arena, sources.n, sizeof(scant_data *));
        if (!parts) status = SCANT_ENOMEM;
    }
    while (status == SCANT_OK && n < sources.n) {
        status = open_source(project, &sources.sources[n], side, &parts[n]);
        if (status == SCANT_OK) n++;
    }
    if (status == SCANT_OK)
        status = scant__data_join(project->ctx, parts, n, out);
    else
        for (size_t i = 0; i < n; i++) scant_data_free(parts[i]);
    scant__arena_end(&arena);
    return status;
}

/* ---- features ---------------------------------------------------------------------- */

scant_status store_features_width(scant_project *project, size_t *width) {
    scant__arena arena;
    listed sources;
    const scant_array *array = NULL;
    scant__arena_init(&arena, project->ctx);
    scant_status status = list_sources(project, &arena, &sources);
    if (status == SCANT_OK && sources.sources[0].kind != STORE_FEATURES)
        status = scant__fail(project->ctx, SCANT_EUSAGE,
                             "%s: its items are images, not feature rows", project->dir);
    if (status == SCANT_OK)
        status = open_features(project, sources.sources[0].path, &array);
    if (status == SCANT_OK) *width = scant_array_shape(array)[1];
    scant__arena_end(&arena);
    return status;
}

/* Reads features of items first .. first + count - 1, all of one source. */
static scant_status read_source(scant_project *project, const store_source *source,
                                size_t first, size_t count, size_t width, size_t *rows,
                                float *out) {
    const scant_array *array;
    const store_source part = {.first = first, .count = count};
    TRY(store_rows(project, &part, rows));
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

static scant_status read_features(scant_project *project, scant__arena *arena,
                                  size_t first, size_t count, float *out) {
    listed sources;
    size_t width, done = 0;
    TRY(store_features_width(project, &width));
    TRY(list_sources(project, arena, &sources));
    size_t *rows = scant__arena_alloc(arena, size_max(count, 1), sizeof *rows);
    if (!rows) return SCANT_ENOMEM;
    for (size_t i = 0; i < sources.n && done < count; i++) {
        const store_source *s = &sources.sources[i];
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

scant_status store_features_read(scant_project *project, size_t first, size_t count,
                                 float *out) {
    scant__arena arena;
    scant__arena_init(&arena, project->ctx);
    scant_status status = read_features(project, &arena, first, count, out);
    scant__arena_end(&arena);
    return status;
}
