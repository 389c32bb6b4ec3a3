/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading items and their labels. A copy has the answers and label of its original.
 */
#include "scant/project.h"
#include "store/store_int.h"

/* ---- items ------------------------------------------------------------------------- */

static const char items_sql[] =
    "SELECT i.item, i.id, i.path, i.text, i.grp, o.item, o.withheld, s.label, s.answers,"
    " s.disputed, s.skips, s.unsures"
    " FROM items i JOIN items o ON o.item = coalesce(i.copy_of, i.item)"
    " LEFT JOIN states s ON s.item = o.item"
    " WHERE i.item >= ?1 AND i.item < ?2 ORDER BY i.item";

/* scant_item.answer. */
static scant_answer_kind answer_of(store_cursor row, const scant_item *item) {
    if (item->label >= 0) return SCANT_ANSWER_LABEL;
    if (item->answers) return 0; /* disputed */
    if (store_count(row, 11)) return SCANT_ANSWER_UNSURE;
    return store_count(row, 10) ? SCANT_ANSWER_SKIP : 0;
}

/* *classes: number of classes, read again if the label is not below it. */
static scant_status read_item(store_cursor row, size_t items, size_t *classes,
                              scant_item *out) {
    *out = (scant_item){.id = store_string(row, 1),
                        .path = store_string(row, 2),
                        .text = store_string(row, 3),
                        .group = store_string(row, 4),
                        .audit = store_integer(row, 6) == DB_WITHHELD,
                        .label = store_integer_or(row, 7, -1),
                        .answers = store_count(row, 8),
                        .disputed = store_integer(row, 9) != 0};
    out->answer = answer_of(row, out);
    TRY(store_index(row, 0, items, &out->item));
    TRY(store_index(row, 5, items, &out->copy_of));
    if (out->label >= (int64_t)*classes) TRY(store_classes(row.project, classes));
    if (!out->id || out->label < -1 || out->label >= (int64_t)*classes)
        return store_damaged(row.project, "an item's id or label");
    return SCANT_OK;
}

scant_status scant_project_items(scant_project *project, size_t first, size_t count,
                                 scant_status (*fn)(void *user, const scant_item *item),
                                 void *user) {
    NEED(project);
    size_t items, classes;
    TRY(store_items(project, &items));
    TRY(store_classes(project, &classes));
    if (first >= items) return SCANT_OK;
    size_t end = first + size_min(count, items - first);
    STORE_EACH(row, project, items_sql, store_size(first), store_size(end)) {
        scant_item item;
        TRY(read_item(row, items, &classes, &item));
        TRY(fn(user, &item));
    }
    return SCANT_OK;
}

typedef struct keeping {
    scant_project *project;
    scant_item *out;
    bool found;
} keeping;

/* Copies the item's strings to the handle. */
static scant_status keep_item(void *user, const scant_item *item) {
    keeping *k = user;
    const char *const from[] = {item->id, item->path, item->text, item->group};
    const char **to[] = {&k->out->id, &k->out->path, &k->out->text, &k->out->group};
    *k->out = *item;
    k->found = true;
    for (size_t i = 0; i < 4; i++)
        if (from[i]) {
            *to[i] = scant__arena_strdup(&k->project->item, from[i]);
            if (!*to[i]) return SCANT_ENOMEM;
        }
    return SCANT_OK;
}

scant_status scant_project_item(scant_project *project, size_t item, scant_item *out) {
    NEED(project);
    keeping k = {project, out, false};
    *out = (scant_item){.label = -1};
    scant__arena_end(&project->item);
    if (item < INT64_MAX / 2) TRY(scant_project_items(project, item, 1, keep_item, &k));
    if (!k.found)
        return scant__fail(project->ctx, SCANT_ENOTFOUND, "there is no item %zu", item);
    return SCANT_OK;
}

/* ---- labels ------------------------------------------------------------------------ */

scant_status scant_project_labels(scant_project *project, int64_t *labels, size_t n) {
    NEED(project);
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    size_t classes;
    TRY(store_classes(project, &classes));
    for (size_t i = 0; i < n; i++) labels[i] = -1;
    STORE_EACH(row, project,
               "SELECT item, label FROM states JOIN items USING (item)"
               " WHERE label >= 0 AND withheld <> " SQL_WITHHELD) {
        int64_t item = store_integer(row, 0), label = store_integer(row, 1);
        if (item < 0 || label >= (int64_t)classes)
            return store_damaged(project, "an item's label");
        if ((uint64_t)item < n) labels[item] = label;
    }
    STORE_EACH(row, project,
               "SELECT item, copy_of FROM items WHERE copy_of IS NOT NULL") {
        uint64_t item = (uint64_t)store_integer(row, 0);
        uint64_t original = (uint64_t)store_integer(row, 1);
        if (item < n && original < n) labels[item] = labels[original];
    }
    return store_commit(&tx);
}
