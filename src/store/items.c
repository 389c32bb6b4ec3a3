/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading items and their labels. A copy has the answers and label of its original.
 */
#include <string.h>

#include "scant/project.h"
#include "store/store_int.h"

/* ---- items ------------------------------------------------------------------------- */

static const char items_sql[] =
    "SELECT i.item, i.id, i.path, i.text, i.grp, o.item, o.withheld, s.label, s.answers,"
    " s.disputed, s.skips, s.unsures"
    " FROM items i JOIN items o ON o.item = coalesce(i.copy_of, i.item)"
    " LEFT JOIN states s ON s.item = o.item"
    " WHERE i.item >= ?1 AND i.item < ?2 ORDER BY i.item";

/* The kind of answer that its current answers amount to; 0: none, or disputed. */
static scant_answer_kind answer_of(sqlite3_stmt *s, const scant_item *item) {
    if (item->label >= 0) return SCANT_ANSWER_LABEL;
    if (item->answers) return 0; /* they differ */
    if (store_count(s, 11)) return SCANT_ANSWER_UNSURE;
    return store_count(s, 10) ? SCANT_ANSWER_SKIP : 0;
}

typedef struct reading {
    scant_status (*fn)(void *user, const scant_item *item);
    void *user;
    size_t items, classes;
} reading;

static scant_status give_item(scant_project *project, sqlite3_stmt *s, void *arg) {
    reading *r = arg;
    scant_item item = {.id = store_string(s, 1),
                       .path = store_string(s, 2),
                       .text = store_string(s, 3),
                       .group = store_string(s, 4),
                       .audit = sqlite3_column_int64(s, 6) == DB_WITHHELD,
                       .label = store_number_or(s, 7, -1),
                       .answers = store_count(s, 8),
                       .disputed = sqlite3_column_int64(s, 9) != 0};
    item.answer = answer_of(s, &item);
    TRY(store_index(project, s, 0, r->items, &item.item));
    TRY(store_index(project, s, 5, r->items, &item.copy_of));
    /* a class may have been added since they were counted */
    if (item.label >= (int64_t)r->classes) TRY(store_classes(project, &r->classes));
    if (!item.id || item.label < -1 || item.label >= (int64_t)r->classes)
        return store_damaged(project, "an item's id or label");
    return r->fn(r->user, &item);
}

scant_status scant_project_items(scant_project *project, size_t first, size_t count,
                                 scant_status (*fn)(void *user, const scant_item *item),
                                 void *user) {
    reading r = {.fn = fn, .user = user};
    TRY(store_items(project, &r.items));
    TRY(store_classes(project, &r.classes));
    if (first >= r.items) return SCANT_OK;
    size_t end = first + size_min(count, r.items - first);
    return store_each(project, items_sql,
                      STORE_VALUES(store_size(first), store_size(end)), give_item, &r);
}

/* Copies a string into the handle's buffer; *at: its offset, SIZE_MAX for NULL. */
static void keep(scant__text *lines, const char *text, size_t *at) {
    *at = text ? lines->size : SIZE_MAX;
    if (text) scant__text_bytes(lines, text, strlen(text) + 1);
}

typedef struct keeping {
    scant_project *project;
    scant_item *out;
    bool found;
} keeping;

static scant_status keep_item(void *user, const scant_item *item) {
    keeping *k = user;
    scant__text *lines = &k->project->lines;
    const char *const from[] = {item->id, item->path, item->text, item->group};
    size_t at[4];
    *k->out = *item;
    k->found = true;
    for (size_t i = 0; i < 4; i++) keep(lines, from[i], &at[i]);
    if (lines->failed) return SCANT_ENOMEM;
    const char **to[] = {&k->out->id, &k->out->path, &k->out->text, &k->out->group};
    for (size_t i = 0; i < 4; i++)
        *to[i] = at[i] == SIZE_MAX ? NULL : lines->data + at[i];
    return SCANT_OK;
}

scant_status scant_project_item(scant_project *project, size_t item, scant_item *out) {
    keeping k = {project, out, false};
    *out = (scant_item){.label = -1};
    scant__text_end(&project->lines);
    scant__text_init(&project->lines, project->ctx);
    if (item < INT64_MAX / 2) TRY(scant_project_items(project, item, 1, keep_item, &k));
    if (!k.found)
        return scant__fail(project->ctx, SCANT_ENOTFOUND, "there is no item %zu", item);
    return SCANT_OK;
}

/* ---- labels ------------------------------------------------------------------------ */

typedef struct labelling {
    int64_t *labels;
    size_t n, classes;
} labelling;

static scant_status take_label(scant_project *project, sqlite3_stmt *row, void *arg) {
    const labelling *l = arg;
    int64_t item = sqlite3_column_int64(row, 0), label = sqlite3_column_int64(row, 1);
    if (item < 0 || label >= (int64_t)l->classes)
        return store_damaged(project, "an item's label");
    if ((uint64_t)item < l->n) l->labels[item] = label;
    return SCANT_OK;
}

static scant_status copy_label(scant_project *project, sqlite3_stmt *row, void *arg) {
    const labelling *l = arg;
    uint64_t item = (uint64_t)sqlite3_column_int64(row, 0);
    uint64_t original = (uint64_t)sqlite3_column_int64(row, 1);
    (void)project;
    if (item < l->n && original < l->n) l->labels[item] = l->labels[original];
    return SCANT_OK;
}

static scant_status read_labels(scant_project *project, void *arg) {
    labelling *l = arg;
    TRY(store_classes(project, &l->classes));
    for (size_t i = 0; i < l->n; i++) l->labels[i] = -1;
    TRY(store_each(project,
                   "SELECT item, label FROM states JOIN items USING (item)"
                   " WHERE label >= 0 AND withheld <> " SQL_WITHHELD,
                   STORE_NONE, take_label, l));
    return store_each(project,
                      "SELECT item, copy_of FROM items WHERE copy_of IS NOT NULL",
                      STORE_NONE, copy_label, l);
}

scant_status scant_project_labels(scant_project *project, int64_t *labels, size_t n) {
    return store_read(project, read_labels, &(labelling){.labels = labels, .n = n});
}
