/* SPDX-License-Identifier: Apache-2.0
 *
 * Where items come from, for those who read them.
 */
#include "scant/project.h"
#include "store/store_int.h"

scant_status store_sources(scant_project *project,
                           scant_status (*fn)(void *user, const store_source *source),
                           void *user) {
    sqlite3_stmt *rows;
    bool row = true;
    size_t n, next = 0;
    scant_status status;
    TRY(store_items(project, &n));
    TRY(store_open_rows(project,
                        "SELECT source, kind, path, first, count FROM sources"
                        " ORDER BY first, source",
                        STORE_NONE, &rows));
    for (;;) {
        status = store_row(project, rows, &row);
        if (status != SCANT_OK || !row) break;
        store_source source = {.number = store_count(rows, 0),
                               .kind = (store_kind)sqlite3_column_int(rows, 1),
                               .path = store_string(rows, 2),
                               .first = store_count(rows, 3),
                               .count = store_count(rows, 4)};
        /* Others fill arrays by these numbers. Items that came after n was read are of
         * sources that are left out. */
        if (source.first >= n && next == n) break;
        if (source.first != next || source.count > n - next || !source.path ||
            source.kind < STORE_FILES || source.kind > STORE_FEATURES)
            status = store_damaged(project, "sources and items do not agree");
        next += source.count;
        if (status == SCANT_OK) status = fn(user, &source);
        if (status != SCANT_OK) break;
    }
    store_close_rows(rows);
    return status;
}

scant_status store_rows(scant_project *project, const store_source *source,
                        size_t *rows) {
    sqlite3_stmt *s;
    bool row;
    size_t item = source->first;
    TRY(store_ask(project,
                  "SELECT item, row FROM items WHERE item >= ?1 AND item < ?2"
                  " ORDER BY item",
                  STORE_VALUES(store_size(source->first),
                               store_size(source->first + source->count)),
                  &s));
    for (;; item++) {
        TRY(store_row(project, s, &row));
        if (!row) break;
        if (store_count(s, 0) != item || sqlite3_column_type(s, 1) == SQLITE_NULL ||
            sqlite3_column_int64(s, 1) < 0) {
            store_end(s);
            return store_damaged(project, "an item has no row");
        }
        rows[item - source->first] = store_count(s, 1);
    }
    if (item != source->first + source->count)
        return store_damaged(project, "items are missing");
    return SCANT_OK;
}
