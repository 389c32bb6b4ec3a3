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
#include <dirent.h>
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

enum {
    SAMPLES = 64, /* compared of a folder of images */
    SAMPLE = 4096,
    BLOCK = 256 /* items compared between two statements */
};

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
    const char *shape;     /* as it was; "": unknown */
    store_content content; /* as it is */
    char new_shape[64];    /* of the content, which may be closed by now */
    size_t new_rows;
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
    }
    if (!s->of.number) return SCANT_OK;
    return store_fingerprint_take(s->project->ctx, s->of.kind, s->of.path, &s->now);
}

/* An item as the database has it. */
typedef struct stored_item {
    size_t item, row;
    const char *path, *text;
    int64_t print;
} stored_item;

static scant_status compare_item(source *s, const stored_item *item) {
    store_content *c = &s->content;
    bool files = s->of.kind == STORE_FILES, gone = !files && item->row >= c->rows;
    int64_t print = 0;
    if (files && (!item->path || scant__path_goes_up(item->path)))
        return store_damaged(s->project, "an item's path");
    if (!gone) {
        scant_status status =
            store_content_hash(c, item->row, item->path, item->text, &print);
        if (files && status == SCANT_EINPUT) return SCANT_OK; /* missing */
        TRY(status);
    }
    s->compared++;
    if (!gone && print == item->print) return SCANT_OK;
    if (!s->changed && !s->gone) {
        s->first = item->item;
        s->first_row = item->row;
        s->first_path = files ? scant__arena_strdup(&s->arena, item->path) : NULL;
        if (files && !s->first_path) return SCANT_ENOMEM;
    }
    *(gone ? &s->gone : &s->changed) += 1;
    if (!gone)
        TRY_PUSH(s->project->ctx, s->changes, s->n_changes, s->room,
                 (change){item->item, print});
    return SCANT_OK;
}

static scant_status copy_text(scant__arena *arena, const char *text, const char **out) {
    *out = text ? scant__arena_strdup(arena, text) : NULL;
    return text && !*out ? SCANT_ENOMEM : SCANT_OK;
}

/* Reads the next of every stride-th item from number *at on, up to BLOCK of them, and
 * moves *at behind them. */
static scant_status read_block(const source *s, size_t stride, size_t *at,
                               scant__arena *arena, stored_item *out, size_t *n) {
    size_t last = s->of.first + s->of.count;
    *n = 0;
    STORE_EACH(row, s->project,
               "SELECT item, row, path, text, print FROM items"
               " WHERE item >= ?1 AND item < ?2 AND (item - ?3) % ?4 = 0"
               " ORDER BY item LIMIT ?5",
               store_size(*at), store_size(last), store_size(s->of.first),
               store_size(stride), store_int(BLOCK)) {
        stored_item *item = &out[(*n)++];
        *item = (stored_item){.item = store_count(row, 0),
                              .row = store_count(row, 1),
                              .print = store_integer(row, 4)};
        TRY(copy_text(arena, store_string(row, 2), &item->path));
        TRY(copy_text(arena, store_string(row, 3), &item->text));
    }
    *at = *n ? out[*n - 1].item + 1 : last;
    return SCANT_OK;
}

/* Compares every stride-th item with its hash. No statement is open while files are read:
 * a read transaction would keep the log from being written back. */
static scant_status compare_blocks(source *s, size_t stride) {
    size_t at = s->of.first, total = s->of.count / stride + 1;
    for (size_t done = 0, n = 1; n; done += n) {
        AUTO(scant__arena_end) scant__arena arena = {.ctx = s->project->ctx};
        stored_item *items = TRY_NEW(&arena, stored_item, BLOCK);
        TRY(read_block(s, stride, &at, &arena, items, &n));
        if (n) TRY(scant__tick(s->project->ctx, "comparing items", done + 1, total));
        for (size_t i = 0; i < n; i++) TRY(compare_item(s, &items[i]));
    }
    return SCANT_OK;
}

static scant_status compare_items(source *s, size_t stride) {
    store_content *c = &s->content;
    TRY(store_content_open(s->project->ctx, s->of.kind, s->of.path, c));
    snprintf(s->new_shape, sizeof s->new_shape, "%s", c->shape);
    s->new_rows = c->rows;
    TRY(compare_blocks(s, stride));
    store_content_close(c);
    return SCANT_OK;
}

static scant_status put_fingerprint(const source *s) {
    return store_do(s->project,
                    "UPDATE sources SET size = ?2, time = ?3, hash = ?4, shape = ?5"
                    " WHERE source = ?1",
                    store_size(s->of.number), store_int(s->now.size),
                    store_int(s->now.time), store_int(s->now.hash),
                    store_text(s->new_shape));
}

/* ---- checking ---------------------------------------------------------------------- */

static scant_status complain(source *s, bool refuse) {
    AUTO(scant__text_end) scant__text text = {.ctx = s->project->ctx};
    size_t different = s->changed + s->gone;
    scant__text_addf(&text, "%s: has changed since its items were added: ", s->of.path);
    if (*s->shape && strcmp(s->shape, s->new_shape) != 0)
        scant__text_addf(&text, "it was %s and is %s; ", s->shape, s->new_shape);
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

static scant_status save_fingerprint(const source *s) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(s->project, STORE_WRITE);
    TRY(put_fingerprint(s));
    return store_commit(&tx);
}

static scant_status check(source *s) {
    bool files = s->of.kind == STORE_FILES;
    if (is_settled(s)) return SCANT_OK;
    TRY(compare_items(s, files ? size_max(s->of.count / SAMPLES, 1) : 1));
    if (s->changed || s->gone) return complain(s, !files || 2 * s->changed > s->compared);
    /* within a transaction of the caller that only reads, the next check writes it */
    if (files || (!sqlite3_get_autocommit(s->project->db) && !s->project->writing))
        return SCANT_OK;
    scant_status status = save_fingerprint(s);
    /* a full disk does not keep the source from being read: it is compared again */
    return status == SCANT_EIO ? SCANT_OK : status;
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

/* Deletes the files and links in a folder and, to a depth, those in its folders. Closes
 * fd. Links are not followed. What is left is harmless. */
static void remove_files(int fd, int depth) {
    DIR *folder = fdopendir(fd);
    struct stat st;
    if (!folder) {
        close(fd);
        return;
    }
    for (const struct dirent *e; (e = readdir(folder));) {
        if (e->d_name[0] == '.' || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) unlinkat(fd, e->d_name, 0);
        if (!S_ISDIR(st.st_mode) || !depth) continue;
        int inner =
            openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0) remove_files(inner, depth - 1);
    }
    closedir(folder);
}

/* Features, predictions and thumbnails were computed from the earlier content. */
static scant_status remove_cache(scant_project *project) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    const char *cache = scant__arena_format(&arena, "%s/cache", project->dir);
    struct stat st;
    if (!cache) return SCANT_ENOMEM;
    int fd = open(cache, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) remove_files(fd, 2);
    if (fd < 0 && lstat(cache, &st) == 0 && S_ISLNK(st.st_mode))
        return scant__fail(project->ctx, SCANT_EINPUT,
                           "%s: is a symbolic link, and only files in the project are "
                           "deleted: replace it by a folder, or remove it",
                           cache);
    return SCANT_OK;
}

/* All sources, compared with what the database has. */
typedef struct accepting {
    scant_project *project;
    source *all;
    size_t n, changes; /* changes: of items, in all sources */
} accepting;

static void accepting_end(accepting *a) {
    for (size_t i = 0; i < a->n; i++) source_end(&a->all[i]);
    scant__free(a->project->ctx, a->all);
}

static scant_status compare_source(source *s) {
    if (is_settled(s)) return SCANT_OK;
    TRY(compare_items(s, 1));
    if (!s->gone) return SCANT_OK;
    return scant__fail(s->project->ctx, SCANT_EINPUT,
                       "%s: cannot be accepted: it has only %zu rows, and %zu items "
                       "are rows after these",
                       s->of.path, s->new_rows, s->gone);
}

static scant_status compare_sources(accepting *a) {
    scant_ctx *ctx = a->project->ctx;
    int64_t room = TRY_ONE(a->project, 0, "SELECT count(*) FROM sources");
    a->all = scant__zalloc(ctx, (size_t)room + 1, sizeof *a->all);
    if (!a->all) return SCANT_ENOMEM;
    for (size_t after = 0; a->n < (size_t)room;) {
        source *s = &a->all[a->n++];
        *s = (source){.project = a->project, .arena = {.ctx = ctx}};
        TRY(next_source(s, NULL, after));
        if (!s->of.number) break;
        TRY(compare_source(s));
        a->changes += s->n_changes;
        after = s->of.number;
    }
    return SCANT_OK;
}

static scant_status put_source(const source *s) {
    AUTO(scant__json_end) scant__json json = {.text.ctx = s->project->ctx};
    if (!s->of.number || is_settled(s)) return SCANT_OK;
    for (size_t i = 0; i < s->n_changes; i++)
        TRY(store_do(s->project, "UPDATE items SET print = ?2 WHERE item = ?1",
                     store_size(s->changes[i].item), store_int(s->changes[i].print)));
    TRY(put_fingerprint(s));
    JSON_OBJECT(&json, NULL, MEMBER("source", s->of.path), MEMBER("items", s->n_changes));
    return s->n_changes ? store_event_add(s->project, "changed", &json.text) : SCANT_OK;
}

static scant_status put_sources(const accepting *a) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(a->project, STORE_WRITE);
    for (size_t i = 0; i < a->n; i++) TRY(put_source(&a->all[i]));
    return store_commit(&tx);
}

scant_status scant_project_accept_changed(scant_project *project, size_t *changed) {
    NEED(project);
    AUTO(accepting_end) accepting a = {.project = project};
    TRY(compare_sources(&a));
    /* first, so that nothing computed from the earlier content can stay */
    if (a.changes) TRY(remove_cache(project));
    TRY(put_sources(&a));
    if (changed) *changed = a.changes;
    return SCANT_OK;
}
