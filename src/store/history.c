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

typedef struct listening {
    scant_status (*fn)(void *user, const scant_entry *entry);
    void *user;
} listening;

static scant_status give_entry(scant_project *project, sqlite3_stmt *s, void *arg) {
    const listening *l = arg;
    scant_entry entry = {.entry = sqlite3_column_int64(s, 0),
                         .item = store_count(s, 1),
                         .id = store_string(s, 2),
                         .person = store_string(s, 3),
                         .kind = (scant_answer_kind)sqlite3_column_int(s, 4),
                         .label = store_number_or(s, 5, -1),
                         .class_name = store_string(s, 6),
                         .at = sqlite3_column_int64(s, 7),
                         .spent = store_number_or(s, 8, -1),
                         .role = (scant_role)sqlite3_column_int(s, 9),
                         .round = store_count(s, 10),
                         .model = store_count(s, 11),
                         .undoes = sqlite3_column_int64(s, 12),
                         .stands = sqlite3_column_int(s, 13)};
    if (!entry.id || !entry.person || entry.kind < SCANT_ANSWER_LABEL ||
        entry.kind > SCANT_ANSWER_UNDO ||
        (entry.label >= 0) != (entry.class_name != NULL))
        return store_damaged(project, "an entry of the history");
    return l->fn(l->user, &entry);
}

scant_status scant_project_history(
    scant_project *project, size_t person, int64_t after, int newest, size_t count,
    scant_status (*fn)(void *user, const scant_entry *entry), void *user) {
    bool all = person == SIZE_MAX;
    if (newest && after <= 0) after = INT64_MAX;
    return store_each(project, entries_sql[!all][newest != 0],
                      STORE_VALUES(store_int(all ? 0 : (int64_t)(person & INT64_MAX)),
                                   store_int(after),
                                   store_int(count > INT64_MAX ? -1 : (int64_t)count)),
                      give_entry, &(listening){fn, user});
}

/* ---- agreement --------------------------------------------------------------------- */

/* Two people's labels of the same items. */
typedef struct table {
    int64_t a, b; /* people; 0: none yet */
    double items, agreed;
    double *of_a, *of_b; /* labels of each class, by each of them */
    size_t classes;
    scant_status (*fn)(void *user, const scant_agreement_of *pair);
    void *user;
} table;

static scant_status add_cell(scant_project *project, table *t, sqlite3_stmt *s) {
    size_t x, y;
    double n = (double)store_count(s, 4);
    TRY(store_index(project, s, 2, t->classes, &x));
    TRY(store_index(project, s, 3, t->classes, &y));
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

typedef struct agreeing {
    scant_status (*fn)(void *user, const scant_agreement_of *pair);
    void *user;
} agreeing;

static scant_status give_pair(scant_project *project, const table *t) {
    char name[STORE_PERSON + 1] = "";
    if (!t->a || t->items < 1) return SCANT_OK;
    const char *a = scant_project_person_name(project, (size_t)t->a);
    if (a) strncpy(name, a, STORE_PERSON);
    const char *b = scant_project_person_name(project, (size_t)t->b);
    if (!a || !b) return store_damaged(project, "a person has no name");
    return t->fn(t->user, &(scant_agreement_of){.a = name,
                                                .b = b,
                                                .items = (size_t)t->items,
                                                .agreed = t->agreed / t->items,
                                                .kappa = kappa(t)});
}

/* A cell of a pair's table; cells of one pair follow each other. */
static scant_status read_cell(scant_project *project, sqlite3_stmt *row, void *arg) {
    table *t = arg;
    int64_t a = sqlite3_column_int64(row, 0), b = sqlite3_column_int64(row, 1);
    if (a != t->a || b != t->b) {
        TRY(give_pair(project, t));
        t->a = a;
        t->b = b;
        t->items = t->agreed = 0;
        memset(t->of_a, 0, 2 * t->classes * sizeof *t->of_a);
    }
    return add_cell(project, t, row);
}

scant_status scant_project_agreements(scant_project *project,
                                      scant_status (*fn)(void *user,
                                                         const scant_agreement_of *pair),
                                      void *user) {
    table t = {.fn = fn, .user = user};
    TRY(store_classes(project, &t.classes));
    t.of_a = scant__zalloc(project->ctx, size_mul(2, t.classes), sizeof *t.of_a);
    if (!t.of_a) return SCANT_ENOMEM;
    t.of_b = t.of_a + t.classes;
    scant_status status =
        store_each(project,
                   "SELECT a.person, b.person, a.class, b.class, count(*) FROM answers a"
                   " JOIN answers b ON b.item = a.item AND b.person > a.person"
                   " WHERE a.kind = " SQL_LABEL " AND b.kind = " SQL_LABEL
                   " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2",
                   STORE_NONE, read_cell, &t);
    if (status == SCANT_OK) status = give_pair(project, &t);
    scant__free(project->ctx, t.of_a);
    return status;
}
