/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices that the content of a source has changed since its items were added: rows in
 * another order, other columns, another file in its place.
 *
 * A source of an array has a fingerprint in the database: size, time and a hash of
 * samples of its file. If it differs, the items themselves are compared with their hashes
 * (items.print): a file that was only touched, copied or extended has the same items, and
 * its fingerprint is stored anew. A folder of images has no fingerprint: the hashes of
 * SAMPLES of its items are compared. It is refused if most of them are different; for
 * fewer there is a warning, because one image may be repaired or become unreadable.
 * Missing files are left to the reader.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/json.h"
#include "data/file.h"
#include "data/source.h"
#include "scant/project.h"
#include "store/content.h"

enum { SAMPLES = 64, SAMPLE = 4096 };

/* ---- fingerprints ------------------------------------------------------------------ */

static void hash_piece(int fd, size_t at, store_fingerprint *out) {
    unsigned char piece[SAMPLE];
    ssize_t n = store_read_at(fd, piece, sizeof piece, at);
    if (n > 0) out->hash = (int64_t)scant__hash((uint64_t)out->hash, piece, (size_t)n);
}

/* Adds a regular file; ignores others and files that cannot be read. */
static void add_file(const char *path, store_fingerprint *out) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        size_t size = (size_t)st.st_size, step = size_max(size / SAMPLES, SAMPLE);
        int64_t time = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        for (size_t at = 0; at < size; at += step) hash_piece(fd, at, out);
        if (size > SAMPLE) hash_piece(fd, size - SAMPLE, out);
        out->size = (out->size < 0 ? 0 : out->size) + st.st_size;
        if (time > out->time) out->time = time;
    }
    close(fd);
}

scant_status store_fingerprint_take(scant_ctx *ctx, store_kind kind, const char *path,
                                    store_fingerprint *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    AUTO(scant__names_end) scant__names files = {0};
    const char *key = scant__npz_key(path);
    struct stat st;
    *out = (store_fingerprint){.size = -1, .hash = (int64_t)SCANT__HASH_FIRST};
    if (kind == STORE_FILES) return SCANT_OK;
    if (key) path = scant__arena_format(&arena, "%.*s", (int)(key - path), path);
    if (!path) return SCANT_ENOMEM;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        add_file(path, out);
        return SCANT_OK;
    }
    TRY(scant__folder_list(ctx, path, &files, NULL));
    for (size_t i = 0; i < files.count; i++) {
        const char *file = scant__path_in(&arena, path, scant__names_get(&files, i));
        if (!file) return SCANT_ENOMEM;
        add_file(file, out);
    }
    return SCANT_OK;
}

static bool same_fingerprint(const store_fingerprint *a, const store_fingerprint *b) {
    return a->size == b->size && a->time == b->time && a->hash == b->hash;
}

/* ---- comparing the items of a source ----------------------------------------------- */

typedef struct change {
    size_t item;
    int64_t print;
} change;

/* A source as the database has it, and what is different now. */
typedef struct source {
    scant_project *project;
    scant__arena arena;
    store_source of;
    store_fingerprint print, now;
    const char *shape;              /* as it was; "": unknown */
    store_content content;          /* as it is */
    size_t compared, changed, gone; /* items; gone: their rows do not exist */
    size_t first, first_row;        /* the first item changed or gone */
    const char *first_path;         /* NULL: a row */
    change *changes;                /* the new hashes */
    size_t n_changes, room;
} source;

static void source_end(source *s) {
    store_content_close(&s->content);
    scant__free(s->project->ctx, s->changes);
    scant__arena_end(&s->arena);
}

/* Reads the source after number `after`, of a path (NULL: any); number 0: none. */
static scant_status next_source(source *s, const char *path, size_t after) {
    s->of = (store_source){0};
    STORE_EACH(row, s->project,
               "SELECT source, kind, path, first, count, size, time, hash, shape"
               " FROM sources WHERE source > ?1 AND (?2 IS NULL OR path = ?2)"
               " ORDER BY source LIMIT 1",
               store_size(after), store_text(path)) {
        s->of = (store_source){.number = store_count(row, 0),
                               .kind = (store_kind)store_integer(row, 1),
                               .path = scant__arena_strdup(&s->arena, store_name(row, 2)),
                               .first = store_count(row, 3),
                               .count = store_count(row, 4)};
        s->print = (store_fingerprint){store_integer(row, 5), store_integer(row, 6),
                                       store_integer(row, 7)};
        s->shape = scant__arena_strdup(&s->arena, store_name(row, 8));
        if (!s->of.path || !s->shape) return SCANT_ENOMEM;
        if (s->of.kind < STORE_FILES || s->of.kind > STORE_FEATURES ||
            s->of.count > INT64_MAX / 4 || s->of.first > INT64_MAX / 4)
            return store_damaged(s->project, "a source");
        return store_fingerprint_take(s->project->ctx, s->of.kind, s->of.path, &s->now);
    }
    return SCANT_OK;
}

static scant_status compare_item(source *s, store_cursor row) {
    store_content *c = &s->content;
    size_t item = store_count(row, 0), at = store_count(row, 1);
    const char *path = store_string(row, 2);
    bool files = s->of.kind == STORE_FILES, gone = !files && at >= c->rows;
    int64_t print = 0;
    if (files && (!path || scant__path_goes_up(path)))
        return store_damaged(s->project, "an item's path");
    if (!gone) {
        scant_status status =
            store_content_hash(c, at, path, store_string(row, 3), &print);
        if (files && status == SCANT_EINPUT) return SCANT_OK; /* missing */
        TRY(status);
    }
    s->compared++;
    if (!gone && print == store_integer(row, 4)) return SCANT_OK;
    if (!s->changed && !s->gone) {
        s->first = item;
        s->first_row = at;
        s->first_path = files ? scant__arena_strdup(&s->arena, path) : NULL;
        if (files && !s->first_path) return SCANT_ENOMEM;
    }
    *(gone ? &s->gone : &s->changed) += 1;
    if (!gone)
        TRY_PUSH(s->project->ctx, s->changes, s->n_changes, s->room,
                 (change){item, print});
    return SCANT_OK;
}

/* Compares every stride-th item with its hash. */
static scant_status compare_items(source *s, size_t stride) {
    const store_source *of = &s->of;
    size_t n = 0;
    TRY(store_content_open(s->project->ctx, of->kind, of->path, &s->content));
    STORE_EACH(row, s->project,
               "SELECT item, row, path, text, print FROM items"
               " WHERE item >= ?1 AND item < ?2 AND (item - ?1) % ?3 = 0 ORDER BY item",
               store_size(of->first), store_size(of->first + of->count),
               store_size(stride)) {
        if (n++ % 256 == 0)
            TRY(scant__tick(s->project->ctx, "comparing items", n,
                            of->count / stride + 1));
        TRY(compare_item(s, row));
    }
    return SCANT_OK;
}

static scant_status put_fingerprint(const source *s) {
    return store_do(s->project,
                    "UPDATE sources SET size = ?2, time = ?3, hash = ?4, shape = ?5"
                    " WHERE source = ?1",
                    store_size(s->of.number), store_int(s->now.size),
                    store_int(s->now.time), store_int(s->now.hash),
                    store_text(s->content.shape));
}

/* ---- checking ---------------------------------------------------------------------- */

static scant_status complain(source *s, bool refuse) {
    AUTO(scant__text_end) scant__text text = {.ctx = s->project->ctx};
    size_t different = s->changed + s->gone;
    scant__text_addf(&text, "%s: has changed since its items were added: ", s->of.path);
    if (*s->shape && strcmp(s->shape, s->content.shape) != 0)
        scant__text_addf(&text, "it was %s and is %s; ", s->shape, s->content.shape);
    scant__text_addf(&text, "%zu of %zu items%s %s different, the first is item %zu (",
                     different, s->compared,
                     s->compared < s->of.count ? " that were compared" : "",
                     different == 1 ? "is" : "are", s->first);
    if (s->first_path)
        scant__text_add(&text, s->first_path);
    else
        scant__text_addf(&text, "its row %zu", s->first_row);
    scant__text_add(&text, "): restore it, or take it as it is with 'scant add "
                           "--accept-changed'");
    if (text.failed) return SCANT_ENOMEM;
    if (refuse) return scant__fail(s->project->ctx, SCANT_EINPUT, "%s", text.data);
    scant__warn(s->project->ctx, "%s", text.data);
    return SCANT_OK;
}

/* Whether the file is known to be unchanged, or there is nothing to compare. */
static bool is_settled(const source *s) {
    return s->of.kind != STORE_FILES &&
           (s->now.size < 0 || same_fingerprint(&s->now, &s->print));
}

static scant_status check(source *s) {
    bool files = s->of.kind == STORE_FILES;
    if (is_settled(s)) return SCANT_OK;
    TRY(compare_items(s, files ? size_max(s->of.count / SAMPLES, 1) : 1));
    if (s->changed || s->gone) return complain(s, !files || 2 * s->changed > s->compared);
    /* within a transaction of the caller that only reads, the next check writes it */
    if (files || (!sqlite3_get_autocommit(s->project->db) && !s->project->writing))
        return SCANT_OK;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(s->project, STORE_WRITE);
    TRY(put_fingerprint(s));
    return store_commit(&tx);
}

scant_status store_source_check(scant_project *project, const char *path,
                                const char *known) {
    for (size_t after = 0;;) {
        AUTO(source_end) source s = {.project = project, .arena = {.ctx = project->ctx}};
        TRY(next_source(&s, path, after));
        if (!s.of.number) return SCANT_OK;
        if (known && !is_settled(&s))
            return scant__fail(project->ctx, SCANT_EINPUT, "%s", known);
        TRY(check(&s));
        after = s.of.number;
    }
}

/* ---- accepting --------------------------------------------------------------------- */

/* Deletes the files in a folder and, to a depth, its folders. What is left is harmless.
 */
static void remove_files(scant__arena *arena, const char *folder, int depth) {
    AUTO(scant__names_end) scant__names files = {0}, folders = {0};
    if (scant__folder_list(arena->ctx, folder, &files, &folders) != SCANT_OK) return;
    for (size_t i = 0; i < files.count; i++) {
        const char *path = scant__path_in(arena, folder, scant__names_get(&files, i));
        if (path) unlink(path);
    }
    for (size_t i = 0; i < folders.count && depth; i++) {
        const char *path = scant__path_in(arena, folder, scant__names_get(&folders, i));
        if (path) remove_files(arena, path, depth - 1);
    }
}

/* Features, predictions and thumbnails were computed from the earlier content. */
static scant_status remove_cache(scant_project *project) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    const char *cache = scant__arena_format(&arena, "%s/cache", project->dir);
    if (!cache) return SCANT_ENOMEM;
    if (access(cache, F_OK) == 0) remove_files(&arena, cache, 2);
    return SCANT_OK;
}

static scant_status put_changes(const source *s) {
    AUTO(scant__json_end) scant__json json = {.text.ctx = s->project->ctx};
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(s->project, STORE_WRITE);
    for (size_t i = 0; i < s->n_changes; i++)
        TRY(store_do(s->project, "UPDATE items SET print = ?2 WHERE item = ?1",
                     store_size(s->changes[i].item), store_int(s->changes[i].print)));
    TRY(put_fingerprint(s));
    JSON_OBJECT(&json, NULL, MEMBER("source", s->of.path), MEMBER("items", s->n_changes));
    if (s->n_changes) TRY(store_event_add(s->project, "changed", &json.text));
    return store_commit(&tx);
}

static scant_status accept(source *s) {
    if (is_settled(s)) return SCANT_OK;
    TRY(compare_items(s, 1));
    if (s->gone)
        return scant__fail(s->project->ctx, SCANT_EINPUT,
                           "%s: cannot be accepted: it has only %zu rows, and %zu items "
                           "are rows after these",
                           s->of.path, s->content.rows, s->gone);
    /* first, so that nothing computed from the earlier content can stay */
    if (s->n_changes) TRY(remove_cache(s->project));
    return put_changes(s);
}

scant_status scant_project_accept_changed(scant_project *project, size_t *changed) {
    NEED(project);
    size_t n = 0;
    for (size_t after = 0;;) {
        AUTO(source_end) source s = {.project = project, .arena = {.ctx = project->ctx}};
        TRY(next_source(&s, NULL, after));
        if (!s.of.number) break;
        TRY(accept(&s));
        n += s.n_changes;
        after = s.of.number;
    }
    if (changed) *changed = n;
    return SCANT_OK;
}
