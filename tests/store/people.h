/* SPDX-License-Identifier: Apache-2.0
 *
 * Annotators for the tests of projects: they take items and answer them.
 */
#ifndef SCANT_TESTS_STORE_PEOPLE_H
#define SCANT_TESTS_STORE_PEOPLE_H

#include "scant/project.h"
#include "support.h"

static const scant_setting no_audit[] = {{"audit_every", "0"}};
static const scant_setting two_people[] = {{"audit_every", "0"}, {"overlap", "2"}};

static inline size_t person(scant_project *project, const char *name) {
    size_t number;
    OK(scant_project_person(project, name, &number));
    return number;
}

/* The next item of a person; there must be one. */
static inline scant_lease next_lease(scant_project *project, size_t who) {
    scant_lease lease;
    size_t n;
    OK(scant_project_next(project, who, 1, &lease, &n));
    assert_int_equal(n, 1);
    return lease;
}

static inline scant_status say(scant_project *project, size_t who,
                               const scant_lease *lease, scant_answer_kind kind,
                               size_t label) {
    scant_answer answer = {.item = lease->item,
                           .kind = kind,
                           .label = label,
                           .spent = 1200,
                           .lease = lease->key};
    return scant_project_answer(project, who, &answer, 1, NULL);
}

/* An answer without a lease, such as a corrected one. */
static inline scant_status change(scant_project *project, size_t who, size_t item,
                                  scant_answer_kind kind, size_t label) {
    scant_lease none = {.item = item};
    return say(project, who, &none, kind, label);
}

static inline scant_item item_of(scant_project *project, size_t item) {
    scant_item out;
    OK(scant_project_item(project, item, &out));
    return out;
}

/* The stored counts and states agree with ones computed from the tables. */
static inline void assert_counted(scant_project *project) {
    static const char *const counts[][2] = {
        {"copies", "SELECT count(*) FROM items WHERE copy_of IS NOT NULL"},
        {"withheld", "SELECT count(*) FROM items WHERE withheld = 1"},
        {"labelled", "SELECT count(*) FROM states WHERE label >= 0"},
        {"training", "SELECT count(*) FROM states JOIN items USING (item)"
                     " WHERE label >= 0 AND withheld = 0"},
        {"untrained", "SELECT count(*) FROM states JOIN items USING (item)"
                      " WHERE label >= 0 AND withheld = 0"
                      " AND since > coalesce((SELECT max(entry) FROM models), 0)"},
        {"audited", "SELECT count(*) FROM states JOIN items USING (item)"
                    " WHERE label >= 0 AND withheld = 1 AND audit < coalesce("
                    "(SELECT min(key) FROM queue WHERE kind = 2), 9223372036854775807)"},
        {"disputed", "SELECT count(*) FROM states WHERE disputed"},
        {"skipped", "SELECT count(*) FROM states WHERE label < 0 AND skips"},
        {"unsure", "SELECT count(*) FROM states WHERE label < 0 AND unsures"},
        {"audits", "SELECT count(*) FROM answers WHERE role = 2"},
        {"asked", "SELECT count(*) FROM answers WHERE role IN (1, 2, 4, 5)"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT sum(n) FROM tally WHERE name = '%s'",
                 counts[i][0]);
        if (ask(project, sql) != ask(project, counts[i][1]))
            fail_msg("%s: stored %lld, counted %lld", counts[i][0],
                     (long long)ask(project, sql), (long long)ask(project, counts[i][1]));
    }
    assert_int_equal(
        ask(project, "SELECT count(*) FROM classes c WHERE learned <> (SELECT count(*)"
                     " FROM states s JOIN items USING (item)"
                     " WHERE s.label = c.class AND withheld = 0)"),
        0);
    assert_int_equal(ask(project,
                         "SELECT count(*) FROM people p WHERE answers <> (SELECT count(*)"
                         " FROM answers a WHERE a.person = p.person)"),
                     0);
    /* people.opinions: the person has answered every second opinion queued before it. */
    assert_int_equal(
        ask(project, "SELECT count(*) FROM people p JOIN queue q ON q.kind = 4"
                     " AND q.key < p.opinions WHERE NOT EXISTS (SELECT 1 FROM answers a"
                     " WHERE a.item = q.item AND a.person = p.person)"),
        0);
    /* No lease of an item that needs no answer, or that its holder has answered. */
    assert_int_equal(ask(project, "SELECT count(*) FROM leases WHERE live = 1"
                                  " AND item NOT IN (SELECT item FROM queue)"),
                     0);
    assert_int_equal(ask(project, "SELECT count(*) FROM leases JOIN answers"
                                  " USING (item, person) WHERE live = 1"),
                     0);
    /* A current answer is its person's last entry for the item, and not undone. */
    assert_int_equal(
        ask(project, "SELECT count(*) FROM answers a WHERE a.entry <> (SELECT max(entry)"
                     " FROM labels l WHERE l.item = a.item AND l.person = a.person)"
                     " OR a.entry IN (SELECT undoes FROM labels WHERE undoes NOT NULL)"),
        0);
    assert_int_equal(
        ask(project, "SELECT count(*) FROM (SELECT item, person, max(entry) e FROM labels"
                     " GROUP BY 1, 2) g JOIN labels l ON l.entry = g.e"
                     " WHERE l.kind <> 4"),
        ask(project, "SELECT count(*) FROM answers"));
}

#endif
