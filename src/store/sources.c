/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources of items, and which rows of them items are.
 */
#include "scant/project.h"
#include "store/store_int.h"

typedef struct reading {
    scant_status (*fn)(void *user, const store_source *source);
    void *user;
    size_t n, next; /* items; the next that no source has covered */
} reading;

static scant_status give_source(scant_project *project, sqlite3_stmt *row, void *arg) {
    reading *r = arg;
    store_source source = {.number = store_count(row, 0),
                           .kind = (store_kind)sqlite3_column_int(row, 1),
                           .path = store_string(row, 2),
                           .first = store_count(row, 3),
                           .count = store_count(row, 4)};
    /* Items may have been added after n was read: their sources are left out. */
    if (source.first >= r->n && r->next == r->n) return SCANT_OK;
    /* Callers fill arrays by these numbers. */
    if (source.first != r->next || source.count > r->n - r->next || !source.path ||
        source.kind < STORE_FILES || source.kind > STORE_FEATURES)
        return store_damaged(project, "sources and items do not agree");
    r->next += source.count;
    return r->fn(r->user, &source);
}

scant_status store_sources(scant_project *project,
                           scant_status (*fn)(void *user, const store_source *source),
                           void *user) {
    reading r = {.fn = fn, .user = user};
    TRY(store_items(project, &r.n));
    return store_each(project,
                      "SELECT source, kind, path, first, count FROM sources"
                      " ORDER BY first, source",
                      STORE_NONE, give_source, &r);
}

typedef struct row_list {
    size_t first, count, *rows, n;
} row_list;

static scant_status take_row(scant_project *project, sqlite3_stmt *row, void *arg) {
    row_list *l = arg;
    if (l->n >= l->count || store_count(row, 0) != l->first + l->n ||
        store_number_or(row, 1, -1) < 0)
        return store_damaged(project, "an item has no row");
    l->rows[l->n++] = store_count(row, 1);
    return SCANT_OK;
}

scant_status store_rows(scant_project *project, const store_source *source,
                        size_t *rows) {
    row_list l = {source->first, source->count, rows, 0};
    TRY(store_each(project,
                   "SELECT item, row FROM items WHERE item >= ?1 AND item < ?2"
                   " ORDER BY item",
                   STORE_VALUES(store_size(l.first), store_size(l.first + l.count)),
                   take_row, &l));
    return l.n == l.count ? SCANT_OK : store_damaged(project, "items are missing");
}
