/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds items to a project: ids, copies, the audit order, the queue, labels of a manifest.
 *
 * Time is proportional to the number of new items, plus that of all files if a folder is
 * searched again. An index of content hashes (items.print) finds copies.
 */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "scant/project.h"
#include "store/content.h"

typedef struct putting {
    scant_project *project;
    store_batch *batch;
    size_t first, source; /* number of the first new item; of the source */
    store_content other;  /* another source, opened for the last comparison */
    bool new_classes;
} putting;

/* ---- copies ------------------------------------------------------------------------ */

/* Opens the source of an earlier item: the batch's own, or p->other. */
static scant_status content_of(putting *p, int64_t kind, const char *path,
                               store_content **out) {
    const store_content *own = &p->batch->content;
    *out = &p->batch->content;
    if (path && (int64_t)own->kind == kind && strcmp(own->path, path) == 0)
        return SCANT_OK;
    *out = &p->other;
    if (p->other.ctx && path && (int64_t)p->other.kind == kind &&
        strcmp(p->other.path, path) == 0)
        return SCANT_OK;
    store_content_close(&p->other);
    return store_content_open(p->project->ctx, (store_kind)kind, path ? path : "",
                              &p->other);
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static scant_status compare(putting *p, store_cursor row, const store_new *item,
                            bool *same) {
    store_content *content;
    *same = false;
    if (!same_text(store_string(row, 3), store_batch_string(p->batch, item->text)))
        return SCANT_OK;
    if (content_of(p, store_integer(row, 4), store_string(row, 5), &content) != SCANT_OK)
        return SCANT_OK; /* its source is gone: not a copy */
    return store_content_same(content, store_count(row, 1), store_string(row, 2),
                              &p->batch->content, item->row,
                              store_batch_string(p->batch, item->path), same);
}

/* *original: an earlier item with the same content; -1: there is none. */
static scant_status find_original(putting *p, const store_new *item, int64_t *original) {
    bool same = false;
    *original = -1;
    STORE_EACH(row, p->project,
               "SELECT item, row, items.path, text, kind, sources.path"
               " FROM items JOIN sources USING (source)"
               " WHERE print = ?1 AND copy_of IS NULL ORDER BY item",
               store_int(item->hash)) {
        TRY(compare(p, row, item, &same));
        if (!same) continue;
        *original = store_integer(row, 0);
        break;
    }
    return SCANT_OK;
}

/* ---- items ------------------------------------------------------------------------- */

static scant_status id_twice(putting *p, const store_new *item, const char *id,
                             size_t other) {
    scant_ctx *ctx = p->project->ctx;
    if (other >= p->first && item->line)
        return scant__fail(
            ctx, SCANT_EINPUT, "%s: line %zu: the id '%s' is also that of line %zu",
            p->batch->manifest, item->line, id, p->batch->items[other - p->first].line);
    if (item->line)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: line %zu: the id '%s' is in the project already",
                           p->batch->manifest, item->line, id);
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s: the id '%s' is in the project already: give other ids in a "
                       "manifest",
                       p->batch->content.path, id);
}

static scant_status put_item(putting *p, size_t i) {
    const store_batch *b = p->batch;
    const store_new *item = &b->items[i];
    size_t number = p->first + i, other;
    int64_t original;
    bool there;
    char own[32];
    const char *id = store_batch_string(b, item->id);
    snprintf(own, sizeof own, "%zu", number);
    if (!id) id = own;
    TRY(store_item_find(p->project, id, &there, &other));
    if (there) return id_twice(p, item, id, other);
    TRY(find_original(p, item, &original));
    store_value none = store_text(NULL);
    return store_do(
        p->project,
        "INSERT INTO items (item, id, source, row, path, text, grp, copy_of, print,"
        " audit, withheld) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
        " " SQL_NOT_WITHHELD ")",
        store_size(number), store_text(id), store_size(p->source),
        item->row == SIZE_MAX ? none : store_size(item->row),
        store_text(store_batch_string(b, item->path)),
        store_text(store_batch_string(b, item->text)),
        store_text(store_batch_string(b, item->group)),
        original < 0 ? none : store_int(original), store_int(item->hash),
        store_int((int64_t)store_audit_key(p->project->seed, number)));
}

/* ---- labels ------------------------------------------------------------------------ */

static scant_status no_class(putting *p, const store_new *item, const char *name) {
    const char *near = store_class_near(p->project, name);
    return scant__fail(p->project->ctx, SCANT_EINPUT,
                       "%s: line %zu: there is no class '%s'%s%s%s", p->batch->manifest,
                       item->line, name, near ? "; the nearest is '" : "",
                       near ? near : "", near ? "'" : "");
}

/* Fails if the item is a copy and the person gave its original another label. */
static scant_status check_copy(putting *p, const store_new *item, size_t number,
                               size_t person, size_t label) {
    size_t original;
    TRY(store_original(p->project, number, &original));
    if (original == number) return SCANT_OK;
    int64_t before = TRY_ONE(p->project, -1,
                             "SELECT class FROM answers WHERE item = ?1 AND person = ?2",
                             store_size(original), store_size(person));
    if (before < 0 || (size_t)before == label) return SCANT_OK;
    const char *other = scant_project_class(p->project, (size_t)before);
    return scant__fail(
        p->project->ctx, SCANT_EINPUT,
        "%s: line %zu: is labelled '%s', but is an exact copy of an item labelled '%s'",
        p->batch->manifest, item->line, store_batch_string(p->batch, item->label),
        other ? other : "");
}

static scant_status put_label(putting *p, size_t i, size_t person) {
    const store_new *item = &p->batch->items[i];
    const char *name = store_batch_string(p->batch, item->label);
    bool there;
    size_t label;
    if (!name) return SCANT_OK;
    TRY(store_class_find(p->project, name, &there, &label));
    if (!there && !p->new_classes) return no_class(p, item, name);
    if (!there)
        TRY(store_name_line(p->project->ctx, p->batch->manifest, item->line, "the label",
                            store_class_put(p->project, name, &label)));
    TRY(check_copy(p, item, p->first + i, person, label));
    return store_import_put(p->project, p->first + i, person, SCANT_ANSWER_LABEL, label,
                            -1, NULL);
}

static scant_status put_labels(putting *p) {
    size_t person = 0;
    for (size_t i = 0; i < p->batch->n; i++) {
        if (p->batch->items[i].label == SIZE_MAX) continue;
        if (!person) TRY(store_person_put(p->project, "manifest", &person));
        TRY(put_label(p, i, person));
    }
    return SCANT_OK;
}

/* ---- storing a batch --------------------------------------------------------------- */

static void putting_end(putting *p) { store_content_close(&p->other); }

scant_status store_batch_put(scant_project *project, store_batch *b, bool new_classes) {
    AUTO(putting_end)
    putting p = {.project = project, .batch = b, .new_classes = new_classes};
    TRY(store_items(project, &p.first));
    TRY(store_do(project,
                 "INSERT INTO sources (kind, path, manifest, first, count,"
                 " size, time, hash, shape) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                 store_int(b->content.kind), store_text(b->content.path),
                 store_text(b->manifest), store_size(p.first), store_size(b->n),
                 store_int(b->print.size), store_int(b->print.time),
                 store_int(b->print.hash), store_text(b->content.shape)));
    p.source = (size_t)sqlite3_last_insert_rowid(project->db);
    for (size_t i = 0; i < b->n; i++) {
        if (i % 1024 == 0) TRY(scant__tick(project->ctx, "storing items", i, b->n));
        TRY(put_item(&p, i));
    }
    TRY(store_audit_extend(project, p.first));
    return put_labels(&p);
}

/* ---- scant_project_add() ----------------------------------------------------------- */

typedef struct adding {
    store_batch *batches;
    size_t n;
} adding;

static void adding_end(adding *a) {
    for (size_t i = 0; i < a->n; i++) store_batch_end(&a->batches[i]);
}

static scant_status put_batches(scant_project *project, const adding *a, size_t *added) {
    AUTO(scant__json_end) scant__json json = {.text.ctx = project->ctx};
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (!a->batches[i].n) continue;
        TRY(store_batch_put(project, &a->batches[i], false));
        n += a->batches[i].n;
    }
    JSON_OBJECT(&json, NULL, MEMBER("items", n));
    if (n) TRY(store_event_add(project, "added", &json.text));
    TRY(store_commit(&tx));
    if (added) *added = n;
    return SCANT_OK;
}

/* Fails unless new items have the kind and width of the project's items. */
static scant_status check_kind(scant_project *project, const store_batch *batch) {
    static const char *const names[] = {"", "images in files", "images in an array",
                                        "feature rows"};
    const store_content *content = &batch->content;
    STORE_EACH(row, project, "SELECT kind, path FROM sources ORDER BY source LIMIT 1") {
        AUTO(store_content_close) store_content first = {0};
        int64_t kind = store_integer(row, 0);
        if (kind != (int64_t)content->kind)
            return scant__fail(project->ctx, SCANT_ECONFLICT,
                               "%s: contains %s; the project has %s", content->path,
                               names[content->kind],
                               names[kind >= 1 && kind <= 3 ? kind : 0]);
        if (!content->width) continue;
        TRY(store_content_open(project->ctx, (store_kind)kind, store_name(row, 1),
                               &first));
        if (first.width != content->width)
            return scant__fail(
                project->ctx, SCANT_EINPUT,
                "%s: has %zu numbers per row; the project's items have %zu",
                content->path, content->width, first.width);
    }
    return SCANT_OK;
}

static scant_status gather_source(scant_project *project, const scant_source *source,
                                  scant__arena *arena, adding *out) {
    out->batches = TRY_ZERO(arena, store_batch, 1);
    TRY(store_batch_read(project->ctx, project, source, &out->batches[0]));
    out->n = 1;
    if (out->batches[0].content.kind != STORE_FILES)
        TRY(store_source_check(project, out->batches[0].content.path, NULL));
    TRY(check_kind(project, &out->batches[0]));
    return store_batch_hash(&out->batches[0]);
}

/* The folders that were added without a manifest; *out is in the arena. */
#define FOLDERS " FROM sources WHERE kind = " SQL_FILES " AND manifest IS NULL"
static scant_status read_folders(scant_project *project, scant__arena *arena,
                                 const char ***out, size_t *n) {
    int64_t room = TRY_ONE(project, 0, "SELECT count(DISTINCT path)" FOLDERS);
    *out = TRY_ZERO(arena, const char *, (size_t)room);
    *n = 0;
    STORE_EACH(row, project,
               "SELECT path" FOLDERS " GROUP BY path ORDER BY min(source)") {
        if (*n == (size_t)room) break;
        const char *path = scant__arena_strdup(arena, store_name(row, 0));
        if (!path) return SCANT_ENOMEM;
        (*out)[(*n)++] = path;
    }
    return SCANT_OK;
}

/* Lists the new images of the folders. No statement is open while files are read: the
 * log could not be written back to the database in that time. */
static scant_status gather_folders(scant_project *project, scant__arena *arena,
                                   adding *out) {
    const char **folders;
    size_t n;
    TRY(read_folders(project, arena, &folders, &n));
    if (!n)
        return scant__fail(project->ctx, SCANT_ENOTREADY,
                           "%s: the project has no folder to search for new images",
                           project->dir);
    out->batches = TRY_ZERO(arena, store_batch, n);
    while (out->n < n) {
        TRY(store_batch_folder(project, folders[out->n], &out->batches[out->n]));
        TRY(store_batch_hash(&out->batches[out->n++]));
    }
    return SCANT_OK;
}

scant_status scant_project_add(scant_project *project, const scant_source *source,
                               size_t *added) {
    NEED(project);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    AUTO(adding_end) adding a = {0};
    TRY(source ? gather_source(project, source, &arena, &a)
               : gather_folders(project, &arena, &a));
    return put_batches(project, &a, added);
}
