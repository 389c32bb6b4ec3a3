/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the history, and the agreement between people.
 */
#include <math.h>
#include <string.h>

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

/* ---- agreement --------------------------------------------------------------------- */

/* Two people's labels of the same items. */
typedef struct table {
    int64_t a, b; /* people; 0: none yet */
    double items, agreed;
    double *of_a, *of_b; /* number of labels of each class, by person */
    size_t classes;
} table;

static scant_status add_cell(table *t, store_cursor row) {
    size_t x, y;
    double n = (double)store_count(row, 4);
    TRY(store_index(row, 2, t->classes, &x));
    TRY(store_index(row, 3, t->classes, &y));
    t->items += n;
    t->of_a[x] += n;
    t->of_b[y] += n;
    if (x == y) t->agreed += n;
    return SCANT_OK;
}

/* Cohen, "A coefficient of agreement for nominal scales", 1960. */
static double kappa(const table *t) {
    double chance = 0, seen = t->agreed / t->items;
    for (size_t i = 0; i < t->classes; i++)
        chance += t->of_a[i] / t->items * (t->of_b[i] / t->items);
    return chance < 1 ? (seen - chance) / (1 - chance) : (double)NAN;
}

static scant_status give_pair(scant_project *project, const table *t,
                              scant_status (*fn)(void *user,
                                                 const scant_person_agreement *pair),
                              void *user) {
    char name[STORE_PERSON + 1] = "";
    if (!t->a || t->items < 1) return SCANT_OK;
    TRY(store_person_name(project, (size_t)t->a));
    if (project->person) strncpy(name, project->person, STORE_PERSON);
    TRY(store_person_name(project, (size_t)t->b));
    if (!*name || !project->person) return store_damaged(project, "a person has no name");
    return fn(user, &(scant_person_agreement){.a = name,
                                              .b = project->person,
                                              .items = (size_t)t->items,
                                              .agreed = t->agreed / t->items,
                                              .kappa = kappa(t)});
}

scant_status scant_project_agreements(
    scant_project *project,
    scant_status (*fn)(void *user, const scant_person_agreement *pair), void *user) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    table t = {0};
    TRY(store_classes(project, &t.classes));
    t.of_a = TRY_ZERO(&arena, double, size_mul(2, t.classes));
    t.of_b = t.of_a + t.classes;
    STORE_EACH(row, project,
               "SELECT a.person, b.person, a.class, b.class, count(*) FROM answers a"
               " JOIN answers b ON b.item = a.item AND b.person > a.person"
               " WHERE a.kind = " SQL_LABEL " AND b.kind = " SQL_LABEL
               " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2") {
        int64_t a = store_integer(row, 0), b = store_integer(row, 1);
        if (a != t.a || b != t.b) { /* rows of one pair are adjacent */
            TRY(give_pair(project, &t, fn, user));
            t = (table){a, b, 0, 0, t.of_a, t.of_b, t.classes};
            memset(t.of_a, 0, 2 * t.classes * sizeof *t.of_a);
        }
        TRY(add_cell(&t, row));
    }
    return give_pair(project, &t, fn, user);
}
