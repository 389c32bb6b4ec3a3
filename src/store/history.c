/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the history.
 */
#include "scant/project.h"
#include "store/store_int.h"

/* ---- entries ----------------------------------------------------------------------- */

#define ENTRIES                                                                          \
    "SELECT l.entry, l.item, i.id, p.name, l.kind, l.class, c.name, l.at, l.spent,"      \
    " l.role, l.round, l.model, l.undoes,"                                               \
    " EXISTS (SELECT 1 FROM answers a WHERE a.item = l.item AND a.person = l.person"     \
    "  AND a.entry = l.entry)"                                                           \
    " FROM labels l CROSS JOIN items i USING (item) CROSS JOIN people p USING (person)"  \
    " LEFT JOIN classes c ON c.class = l.class"

static const char *const entries_sql[2][2] = {
    {ENTRIES " WHERE l.entry > ?2 ORDER BY l.entry LIMIT ?3",
     ENTRIES " WHERE l.entry < ?2 ORDER BY l.entry DESC LIMIT ?3"},
    {ENTRIES " WHERE l.person = ?1 AND l.entry > ?2 ORDER BY l.entry LIMIT ?3",
     ENTRIES " WHERE l.person = ?1 AND l.entry < ?2 ORDER BY l.entry DESC LIMIT ?3"}};

scant_status scant_project_history(
    scant_project *project, size_t person, int64_t after, bool newest, size_t count,
    scant_status (*fn)(void *user, const scant_entry *entry), void *user) {
    NEED(project);
    bool all = person == SIZE_MAX;
    if (newest && after <= 0) after = INT64_MAX;
    STORE_EACH(row, project, entries_sql[!all][newest],
               store_int(all ? 0 : (int64_t)(person & INT64_MAX)), store_int(after),
               store_int(count > INT64_MAX ? -1 : (int64_t)count)) {
        scant_entry entry = {.entry = store_integer(row, 0),
                             .item = store_count(row, 1),
                             .id = store_string(row, 2),
                             .person = store_string(row, 3),
                             .kind = (scant_answer_kind)store_integer(row, 4),
                             .label = store_integer_or(row, 5, -1),
                             .class_name = store_string(row, 6),
                             .at = store_integer(row, 7),
                             .spent = store_integer_or(row, 8, -1),
                             .role = (scant_role)store_integer(row, 9),
                             .round = store_count(row, 10),
                             .model = store_count(row, 11),
                             .undoes = store_integer(row, 12),
                             .stands = store_integer(row, 13) != 0};
        if (!entry.id || !entry.person || entry.kind < SCANT_ANSWER_LABEL ||
            entry.kind > SCANT_ANSWER_UNDO ||
            (entry.label >= 0) != (entry.class_name != NULL))
            return store_damaged(project, "an entry of the history");
        TRY(fn(user, &entry));
    }
    return SCANT_OK;
}
