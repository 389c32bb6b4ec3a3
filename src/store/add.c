/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds items to a project: ids, copies, the audit order, the queue, labels of a manifest.
 *
 * Time is proportional to the new items, plus the files of a folder that is searched
 * again: copies are found by an index of prints.
 */
#include <stdio.h>
#include <string.h>

#include "scant/project.h"
#include "store/content.h"

typedef struct putting {
    scant_project *project;
    store_batch *batch;
    size_t first, source; /* item and source numbers */
    store_content other;  /* the last source of earlier items that was compared */
    bool new_classes;
} putting;

/* ---- copies ------------------------------------------------------------------------ */

/* The content of earlier items: the batch's, or another source's. */
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

static scant_status compare(putting *p, sqlite3_stmt *s, const store_new *item,
                            bool *same) {
    store_content *content;
    *same = false;
    if (!same_text(store_string(s, 3), store_batch_string(p->batch, item->text)))
        return SCANT_OK;
    if (content_of(p, sqlite3_column_int64(s, 4), store_string(s, 5), &content) !=
        SCANT_OK)
        return SCANT_OK; /* its source is gone: not a copy */
    return store_content_same(content, store_count(s, 1), store_string(s, 2),
                              &p->batch->content, item->row,
                              store_batch_string(p->batch, item->path), same);
}

/* *original: an earlier item with the same content; -1: there is none. */
static scant_status find_original(putting *p, const store_new *item, int64_t *original) {
    sqlite3_stmt *s;
    bool row, same = false;
    *original = -1;
    TRY(store_ask(p->project,
                  "SELECT item, row, items.path, text, kind, sources.path"
                  " FROM items JOIN sources USING (source)"
                  " WHERE print = ?1 AND copy_of IS NULL ORDER BY item",
                  STORE_VALUES(store_int(item->print)), &s));
    for (;;) {
        TRY(store_row(p->project, s, &row));
        if (!row) return SCANT_OK;
        scant_status status = compare(p, s, item, &same);
        if (status == SCANT_OK && same) *original = sqlite3_column_int64(s, 0);
        if (status == SCANT_OK && !same) continue;
        store_end(s);
        return status;
    }
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
        STORE_VALUES(store_size(number), store_text(id), store_size(p->source),
                     item->row == SIZE_MAX ? none : store_size(item->row),
                     store_text(store_batch_string(b, item->path)),
                     store_text(store_batch_string(b, item->text)),
                     store_text(store_batch_string(b, item->group)),
                     original < 0 ? none : store_int(original), store_int(item->print),
                     store_int((int64_t)store_audit_key(p->project->seed, number))));
}

/* ---- labels ------------------------------------------------------------------------ */

static scant_status no_class(putting *p, const store_new *item, const char *name) {
    const char *near = store_class_near(p->project, name);
    return scant__fail(p->project->ctx, SCANT_EINPUT,
                       "%s: line %zu: there is no class '%s'%s%s%s", p->batch->manifest,
                       item->line, name, near ? "; the nearest is '" : "",
                       near ? near : "", near ? "'" : "");
}

/* Fails if the original of a copy has another label. */
static scant_status check_copy(putting *p, const store_new *item, size_t number,
                               size_t person, size_t label) {
    size_t original;
    int64_t before;
    TRY(store_original(p->project, number, &original));
    if (original == number) return SCANT_OK;
    TRY(store_one(p->project, "SELECT class FROM answers WHERE item = ?1 AND person = ?2",
                  STORE_VALUES(store_size(original), store_size(person)), -1, &before));
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

/* ---- a batch ----------------------------------------------------------------------- */

static scant_status put_all(putting *p) {
    const store_batch *b = p->batch;
    TRY(store_items(p->project, &p->first));
    TRY(store_do(p->project,
                 "INSERT INTO sources (kind, path, manifest, first, count)"
                 " VALUES (?1, ?2, ?3, ?4, ?5)",
                 STORE_VALUES(store_int(b->content.kind), store_text(b->content.path),
                              store_text(b->manifest), store_size(p->first),
                              store_size(b->n))));
    p->source = (size_t)sqlite3_last_insert_rowid(p->project->db);
    for (size_t i = 0; i < b->n; i++) {
        if (i % 1024 == 0) TRY(scant__tick(p->project->ctx, "storing items", i, b->n));
        TRY(put_item(p, i));
    }
    TRY(store_audit_extend(p->project, p->first));
    return put_labels(p);
}

scant_status store_batch_put(scant_project *project, store_batch *batch,
                             bool new_classes) {
    putting p = {.project = project, .batch = batch, .new_classes = new_classes};
    scant_status status = put_all(&p);
    store_content_close(&p.other);
    return status;
}

/* ---- scant_project_add() ----------------------------------------------------------- */

typedef struct adding {
    store_batch *batches;
    size_t n, added;
} adding;

static scant_status add_event(scant_project *project, const adding *a) {
    char json[64];
    snprintf(json, sizeof json, "{\"items\": %zu}", a->added);
    return store_event_add(project, "added", json);
}

static scant_status put_batches(scant_project *project, void *arg) {
    adding *a = arg;
    a->added = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (!a->batches[i].n) continue;
        TRY(store_batch_put(project, &a->batches[i], false));
        a->added += a->batches[i].n;
    }
    return a->added ? add_event(project, a) : SCANT_OK;
}

/* Fails unless new items are of the same kind as the others. */
static scant_status check_kind(scant_project *project, const store_batch *batch) {
    static const char *const names[] = {"", "images in files", "images in an array",
                                        "feature rows"};
    sqlite3_stmt *s;
    store_content first = {0};
    bool row;
    TRY(store_first(project, "SELECT kind, path FROM sources ORDER BY source LIMIT 1",
                    STORE_NONE, &s, &row));
    if (!row) return SCANT_OK;
    int64_t kind = sqlite3_column_int64(s, 0);
    scant_status status = SCANT_OK;
    if (kind != (int64_t)batch->content.kind)
        status =
            scant__fail(project->ctx, SCANT_EUSAGE, "%s: contains %s; the project has %s",
                        batch->content.path, names[batch->content.kind],
                        names[kind >= 1 && kind <= 3 ? kind : 0]);
    else if (batch->content.width && store_string(s, 1))
        status = store_content_open(project->ctx, (store_kind)kind, store_string(s, 1),
                                    &first);
    if (status == SCANT_OK && first.ctx && first.width != batch->content.width)
        status = scant__fail(project->ctx, SCANT_EINPUT,
                             "%s: has %zu numbers per row; the project's items have %zu",
                             batch->content.path, batch->content.width, first.width);
    store_content_close(&first);
    store_end(s);
    return status;
}

static scant_status gather_source(scant_project *project, const scant_source *source,
                                  scant__arena *arena, adding *out) {
    out->batches = scant__arena_zalloc(arena, 1, sizeof *out->batches);
    if (!out->batches) return SCANT_ENOMEM;
    TRY(store_batch_read(project->ctx, project, source, &out->batches[0]));
    out->n = 1;
    TRY(check_kind(project, &out->batches[0]));
    return store_batch_look(&out->batches[0]);
}

typedef struct gathering {
    adding *out;
    size_t room;
} gathering;

static scant_status gather_folder(scant_project *project, sqlite3_stmt *row, void *arg) {
    const gathering *g = arg;
    adding *a = g->out;
    const char *path = store_string(row, 0);
    if (a->n == g->room) return SCANT_OK;
    TRY(store_batch_folder(project, path ? path : "", &a->batches[a->n]));
    return store_batch_look(&a->batches[a->n++]);
}

/* New images in the folders that were added without a manifest. */
#define FOLDERS " FROM sources WHERE kind = " SQL_FILES " AND manifest IS NULL"
static scant_status gather_folders(scant_project *project, scant__arena *arena,
                                   adding *out) {
    int64_t n;
    TRY(store_one(project, "SELECT count(DISTINCT path)" FOLDERS, STORE_NONE, 0, &n));
    if (n <= 0)
        return scant__fail(project->ctx, SCANT_EUSAGE,
                           "the project has no folder to look through for new images");
    out->batches = scant__arena_zalloc(arena, (size_t)n, sizeof *out->batches);
    if (!out->batches) return SCANT_ENOMEM;
    return store_each(project,
                      "SELECT path" FOLDERS " GROUP BY path ORDER BY min(source)",
                      STORE_NONE, gather_folder, &(gathering){out, (size_t)n});
}

scant_status scant_project_add(scant_project *project, const scant_source *source,
                               size_t *added) {
    adding a = {0};
    scant__arena arena;
    scant__arena_init(&arena, project->ctx);
    scant_status status = source ? gather_source(project, source, &arena, &a)
                                 : gather_folders(project, &arena, &a);
    if (status == SCANT_OK) status = store_write(project, put_batches, &a);
    for (size_t i = 0; i < a.n; i++) store_batch_end(&a.batches[i]);
    scant__arena_end(&arena);
    if (status == SCANT_OK && added) *added = a.added;
    return status;
}
