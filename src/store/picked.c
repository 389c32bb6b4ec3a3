/* SPDX-License-Identifier: Apache-2.0
 *
 * What the last round has picked.
 */
#include "scant/project.h"
#include "store/store_int.h"

scant_status scant_project_picked(scant_project *project, size_t room, size_t *items,
                                  size_t *n) {
    sqlite3_stmt *rows;
    size_t count, item;
    bool row = true;
    *n = 0;
    TRY(store_items(project, &count));
    TRY(store_open_rows(project,
                        "SELECT item FROM picks"
                        " WHERE round = (SELECT max(round) FROM rounds) ORDER BY place"
                        " LIMIT coalesce((SELECT batch FROM rounds"
                        "  ORDER BY round DESC LIMIT 1), 0)",
                        STORE_NONE, &rows));
    scant_status status = SCANT_OK;
    while (status == SCANT_OK && row) {
        status = store_row(project, rows, &row);
        if (status == SCANT_OK && row)
            status = store_index(project, rows, 0, count, &item);
        if (status != SCANT_OK || !row) continue;
        if (*n < room) items[*n] = item;
        ++*n;
    }
    store_close_rows(rows);
    return status;
}
