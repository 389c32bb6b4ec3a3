/* SPDX-License-Identifier: Apache-2.0
 *
 * What is derived from the history: current answers, labels, the queue, and counters.
 * These tables change in the transaction that changes the history, so reading them needs
 * no counting. The work per answer is proportional to the item's answers.
 *
 * An item's label is the one that most people gave; with a tie it has none and is
 * disputed.
 */
#include <string.h>

#include "scant/project.h"
#include "store/store_int.h"

typedef struct state {
    bool there;
    int64_t label; /* -1: none */
    size_t answers, skips, unsures;
    bool disputed;
    int64_t since, last; /* the entry that gave the label; the last current entry */
} state;

/* ---- counters -----------------------------------------------------------------------
 */

scant_status store_counter_add(scant_project *project, const char *name, int64_t more) {
    if (!more) return SCANT_OK;
    return store_do(project,
                    "INSERT INTO tally (name, n) VALUES (?1, ?2)"
                    " ON CONFLICT (name) DO UPDATE SET n = n + ?2",
                    STORE_VALUES(store_text(name), store_int(more)));
}

#define TRAINING                                                                         \
    "SELECT count(*) FROM states JOIN items USING (item) WHERE " DB_IN_TRAINING

static const struct {
    const char *name;
    const char *sql; /* counts anew */
} counters[] = {
    {"copies", "SELECT count(*) FROM items WHERE copy_of IS NOT NULL"},
    {"withheld", "SELECT count(*) FROM items WHERE withheld = " SQL_WITHHELD},
    {"labelled", "SELECT count(*) FROM states WHERE label >= 0"},
    {"training", TRAINING},
    {"untrained", TRAINING " AND since > " DB_LAST_TRAINED},
    {"front", "SELECT coalesce(min(key), 9223372036854775807) FROM queue"
              " WHERE kind = " SQL_AUDIT_FRESH},
    {"audited", "SELECT count(*) FROM items JOIN states USING (item)"
                " WHERE withheld = " SQL_WITHHELD " AND label >= 0"
                " AND audit < (SELECT n FROM tally WHERE name = 'front')"},
    {"disputed", "SELECT count(*) FROM states WHERE disputed = 1"},
    {"skipped", "SELECT count(*) FROM states WHERE label < 0 AND skips > 0"},
    {"unsure", "SELECT count(*) FROM states WHERE label < 0 AND unsures > 0"},
    {"audits", "SELECT count(*) FROM answers WHERE role = " SQL_AUDIT},
    {"asked", "SELECT count(*) FROM answers WHERE " DB_ROLE_IS_ASKED},
};

static scant_status recount(scant_project *project, size_t i) {
    int64_t n;
    TRY(store_one(project, counters[i].sql, STORE_NONE, 0, &n));
    return store_do(project,
                    "INSERT INTO tally (name, n) VALUES (?1, ?2)"
                    " ON CONFLICT (name) DO UPDATE SET n = ?2",
                    STORE_VALUES(store_text(counters[i].name), store_int(n)));
}

scant_status store_counters_recount(scant_project *project) {
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        TRY(recount(project, i));
    TRY(store_do(project, "UPDATE classes SET learned = 0 WHERE learned > 0",
                 STORE_NONE));
    return store_do(project,
                    "UPDATE classes SET learned = n FROM"
                    " (SELECT label, count(*) AS n FROM states JOIN items USING (item)"
                    "  WHERE " DB_IN_TRAINING " GROUP BY label)"
                    " WHERE class = label",
                    STORE_NONE);
}

scant_status store_counters_trained(scant_project *project) {
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (strcmp(counters[i].name, "untrained") == 0) TRY(recount(project, i));
    return SCANT_OK;
}

static scant_status learn_class(scant_project *project, int64_t label, int64_t more) {
    if (label < 0) return SCANT_OK;
    return store_do(project, "UPDATE classes SET learned = learned + ?2 WHERE class = ?1",
                    STORE_VALUES(store_int(label), store_int(more)));
}

/* Counters of what models are trained on. */
static scant_status count_training(scant_project *project, const state *old,
                                   const state *now) {
    int64_t seen;
    if (old->label == now->label && old->since == now->since) return SCANT_OK;
    TRY(store_one(project, "SELECT entry FROM models ORDER BY model DESC LIMIT 1",
                  STORE_NONE, 0, &seen));
    TRY(store_counter_add(project, "training", (now->label >= 0) - (old->label >= 0)));
    TRY(store_counter_add(project, "untrained",
                          (now->label >= 0 && now->since > seen) -
                              (old->label >= 0 && old->since > seen)));
    TRY(learn_class(project, old->label, -1));
    return learn_class(project, now->label, 1);
}

/* Labels of the audit set count up to the front, the first item of the audit order that
 * nobody has answered. The front moves rarely and by a few items. */
scant_status store_counters_audit(scant_project *project) {
    int64_t before, front, passed;
    TRY(store_one(project, "SELECT n FROM tally WHERE name = 'front'", STORE_NONE,
                  INT64_MAX, &before));
    TRY(store_audit_front(project, INT64_MAX, &front));
    if (front == before) return SCANT_OK;
    TRY(store_one(project,
                  "SELECT count(*) FROM items JOIN states USING (item)"
                  " WHERE withheld = " SQL_WITHHELD
                  " AND label >= 0 AND audit >= ?1 AND audit < ?2",
                  STORE_VALUES(store_int(front < before ? front : before),
                               store_int(front < before ? before : front)),
                  0, &passed));
    TRY(store_counter_add(project, "audited", front < before ? -passed : passed));
    return store_do(project,
                    "INSERT OR REPLACE INTO tally (name, n) VALUES ('front', ?1)",
                    STORE_VALUES(store_int(front)));
}

/* For an item of the audit set. */
static scant_status count_audited(scant_project *project, size_t item, const state *old,
                                  const state *now) {
    int64_t front, key = (int64_t)store_audit_key(project->seed, item);
    TRY(store_one(project, "SELECT n FROM tally WHERE name = 'front'", STORE_NONE,
                  INT64_MAX, &front));
    if (key < front)
        TRY(store_counter_add(project, "audited", (now->label >= 0) - (old->label >= 0)));
    return store_counters_audit(project);
}

static scant_status count_change(scant_project *project, const state *old,
                                 const state *now) {
    TRY(store_counter_add(project, "labelled", (now->label >= 0) - (old->label >= 0)));
    TRY(store_counter_add(project, "disputed", now->disputed - old->disputed));
    TRY(store_counter_add(project, "skipped",
                          (now->label < 0 && now->skips) -
                              (old->label < 0 && old->skips)));
    return store_counter_add(project, "unsure",
                             (now->label < 0 && now->unsures) -
                                 (old->label < 0 && old->unsures));
}

/* ---- the label --------------------------------------------------------------------- */

static scant_status read_state(scant_project *project, size_t item, state *out) {
    sqlite3_stmt *s;
    *out = (state){.label = -1};
    TRY(store_ask(project,
                  "SELECT label, answers, skips, unsures, disputed, since, last"
                  " FROM states WHERE item = ?1",
                  STORE_VALUES(store_size(item)), &s));
    TRY(store_row(project, s, &out->there));
    if (!out->there) return SCANT_OK;
    out->label = sqlite3_column_int64(s, 0);
    out->answers = store_count(s, 1);
    out->skips = store_count(s, 2);
    out->unsures = store_count(s, 3);
    out->disputed = sqlite3_column_int64(s, 4) != 0;
    out->since = sqlite3_column_int64(s, 5);
    out->last = sqlite3_column_int64(s, 6);
    store_end(s);
    return SCANT_OK;
}

/* The label most people gave. */
static scant_status plurality(scant_project *project, size_t item, state *out) {
    sqlite3_stmt *s;
    bool row;
    TRY(store_first(project,
                    "SELECT class, count(*) FROM answers WHERE item = ?1"
                    " AND kind = " SQL_LABEL " GROUP BY class ORDER BY 2 DESC, 1 LIMIT 2",
                    STORE_VALUES(store_size(item)), &s, &row));
    if (!row) return SCANT_OK;
    int64_t label = sqlite3_column_int64(s, 0), votes = sqlite3_column_int64(s, 1);
    TRY(store_row(project, s, &row));
    out->disputed = row && sqlite3_column_int64(s, 1) == votes;
    out->label = out->disputed ? -1 : label;
    if (row) store_end(s);
    return SCANT_OK;
}

/* *own: answers other than skips that were not imported. */
static scant_status count_answers(scant_project *project, size_t item, state *out,
                                  size_t *own) {
    sqlite3_stmt *s;
    bool row;
    *out = (state){.label = -1};
    *own = 0;
    TRY(store_first(project,
                    "SELECT count(*), sum(kind = " SQL_LABEL "), sum(kind = " SQL_SKIP
                    "),"
                    " sum(kind = " SQL_UNSURE "), max(entry),"
                    " sum(kind <> " SQL_SKIP " AND role <> " SQL_IMPORT ")"
                    " FROM answers WHERE item = ?1",
                    STORE_VALUES(store_size(item)), &s, &row));
    if (!row) return SCANT_OK;
    out->there = store_count(s, 0) > 0;
    out->answers = store_count(s, 1);
    out->skips = store_count(s, 2);
    out->unsures = store_count(s, 3);
    out->last = sqlite3_column_int64(s, 4);
    *own = store_count(s, 5);
    store_end(s);
    return out->answers ? plurality(project, item, out) : SCANT_OK;
}

static scant_status write_state(scant_project *project, size_t item, const state *now) {
    if (!now->there)
        return store_do(project, "DELETE FROM states WHERE item = ?1",
                        STORE_VALUES(store_size(item)));
    return store_do(project,
                    "INSERT OR REPLACE INTO states"
                    " (item, label, answers, skips, unsures, disputed, since, last)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    STORE_VALUES(store_size(item), store_int(now->label),
                                 store_size(now->answers), store_size(now->skips),
                                 store_size(now->unsures), store_int(now->disputed),
                                 store_int(now->since), store_int(now->last)));
}

/* ---- the queue --------------------------------------------------------------------- */

typedef struct place {
    int64_t kind; /* -1: not in the queue */
    int64_t key;
} place;

static scant_status write_place(scant_project *project, size_t item, const place *now) {
    if (now->kind < 0)
        return store_do(project, "DELETE FROM queue WHERE item = ?1",
                        STORE_VALUES(store_size(item)));
    return store_do(
        project, "INSERT OR REPLACE INTO queue (item, kind, key) VALUES (?1, ?2, ?3)",
        STORE_VALUES(store_size(item), store_int(now->kind), store_int(now->key)));
}

static scant_status find_place(scant_project *project, size_t item, int64_t withheld,
                               const state *now, size_t own, place *out) {
    size_t opinions = now->answers + now->unsures;
    double overlap;
    *out = (place){.kind = -1};
    if (!opinions) {
        if (withheld != DB_BESIDE)
            out->kind = store_open_place(project, item, withheld == DB_WITHHELD,
                                         now->skips > 0, &out->key);
        return SCANT_OK;
    }
    TRY(store_setting(project, "overlap", &overlap, NULL));
    if (!own || (double)opinions >= overlap) return SCANT_OK;
    out->kind = DB_OPINION;
    out->key = now->last;
    return SCANT_OK;
}

static bool to_pick(int64_t kind) { return kind == DB_FRESH || kind == DB_SKIPPED; }

static scant_status move_in_queue(scant_project *project, size_t item, const place *now) {
    int64_t kind;
    TRY(store_one(project, "SELECT kind FROM queue WHERE item = ?1",
                  STORE_VALUES(store_size(item)), -1, &kind));
    if (kind < 0 && now->kind < 0) return SCANT_OK;
    TRY(write_place(project, item, now));
    /* People who have not answered it search for second opinions from there again. */
    if (now->kind == DB_OPINION)
        TRY(store_do(project,
                     "UPDATE people SET opinions = ?2 WHERE opinions > ?2 AND person"
                     " NOT IN (SELECT a.person FROM answers a WHERE a.item = ?1)",
                     STORE_VALUES(store_size(item), store_int(now->key))));
    if (to_pick(kind) || !to_pick(now->kind)) return SCANT_OK;
    /* It may be handed out again: search the last ranking from its start. */
    return store_do(project,
                    "UPDATE rounds SET start = 0"
                    " WHERE round = (SELECT max(round) FROM rounds) AND start > 0",
                    STORE_NONE);
}

scant_status store_refresh(scant_project *project, size_t item, int64_t entry) {
    state old, now;
    place at;
    size_t own;
    int64_t withheld;
    TRY(store_one(project, "SELECT withheld FROM items WHERE item = ?1",
                  STORE_VALUES(store_size(item)), 0, &withheld));
    TRY(read_state(project, item, &old));
    TRY(count_answers(project, item, &now, &own));
    if (now.label >= 0) now.since = now.label == old.label ? old.since : entry;
    TRY(write_state(project, item, &now));
    TRY(find_place(project, item, withheld, &now, own, &at));
    TRY(move_in_queue(project, item, &at));
    if (at.kind < 0) /* no answer is needed any more, but one is still accepted */
        TRY(store_do(project, "UPDATE leases SET live = 0 WHERE item = ?1 AND live = 1",
                     STORE_VALUES(store_size(item))));
    if (withheld == DB_NOT_WITHHELD) TRY(count_training(project, &old, &now));
    if (withheld == DB_WITHHELD) TRY(count_audited(project, item, &old, &now));
    return count_change(project, &old, &now);
}

/* ---- the history ------------------------------------------------------------------- */

static scant_status count_role(scant_project *project, int64_t role, int64_t more) {
    if (role == SCANT_ROLE_OVERLAP || role == SCANT_ROLE_IMPORT) return SCANT_OK;
    if (role == SCANT_ROLE_AUDIT) TRY(store_counter_add(project, "audits", more));
    return store_counter_add(project, "asked", more);
}

/* Makes the new entry the person's current answer to the item; an undo removes it. */
static scant_status replace_answer(scant_project *project, const store_entry *e,
                                   int64_t number) {
    int64_t role;
    store_value item = store_size(e->item), person = store_size(e->person);
    TRY(store_one(project, "SELECT role FROM answers WHERE item = ?1 AND person = ?2",
                  STORE_VALUES(item, person), 0, &role));
    int64_t more = (e->kind != SCANT_ANSWER_UNDO) - (role != 0);
    if (more)
        TRY(store_do(project,
                     "UPDATE people SET answers = answers + ?2 WHERE person = ?1",
                     STORE_VALUES(person, store_int(more))));
    if (role) TRY(count_role(project, role, -1));
    if (e->kind == SCANT_ANSWER_UNDO)
        return store_do(project, "DELETE FROM answers WHERE item = ?1 AND person = ?2",
                        STORE_VALUES(item, person));
    TRY(count_role(project, (int64_t)e->role, 1));
    /* also where the answer did not come from the lease */
    TRY(store_do(
        project,
        "UPDATE leases SET live = 0 WHERE item = ?1 AND person = ?2 AND live = 1",
        STORE_VALUES(item, person)));
    store_value class =
        e->kind == SCANT_ANSWER_LABEL ? store_size(e->label) : store_text(NULL);
    return store_do(project,
                    "INSERT OR REPLACE INTO answers"
                    " (item, person, entry, kind, class, role)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    STORE_VALUES(item, person, store_int(number), store_int(e->kind),
                                 class, store_int(e->role)));
}

scant_status store_entry_add(scant_project *project, const store_entry *e,
                             int64_t *number) {
    store_value none = store_text(NULL);
    TRY(store_do(
        project,
        "INSERT INTO labels (item, person, kind, class, at, spent, role, round, model,"
        " undoes, once) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        STORE_VALUES(store_size(e->item), store_size(e->person), store_int(e->kind),
                     e->kind == SCANT_ANSWER_LABEL ? store_size(e->label) : none,
                     store_int(e->at >= 0 ? e->at : store_now(project)),
                     e->spent >= 0 ? store_int(e->spent) : none, store_int(e->role),
                     store_some(e->round), store_some(e->model),
                     e->undoes ? store_int(e->undoes) : none, store_text(e->once))));
    *number = sqlite3_last_insert_rowid(project->db);
    TRY(replace_answer(project, e, *number));
    return store_refresh(project, e->item, *number);
}

scant_status store_original(scant_project *project, size_t item, size_t *original) {
    int64_t number = -1;
    if (item <= INT64_MAX)
        TRY(store_one(project,
                      "SELECT coalesce(copy_of, item) FROM items WHERE item = ?1",
                      STORE_VALUES(store_size(item)), -1, &number));
    if (number < 0)
        return scant__fail(project->ctx, SCANT_ENOTFOUND, "there is no item %zu", item);
    *original = (size_t)number;
    return SCANT_OK;
}

/* An imported answer is older if the person has undone an answer since. */
static scant_status hold_against_undo(scant_project *project, const store_entry *e,
                                      store_imported *out) {
    int64_t at;
    if (e->at < 0) return SCANT_OK;
    TRY(store_one(project,
                  "SELECT max(at) FROM labels WHERE item = ?1 AND person = ?2"
                  " AND kind = " SQL_UNDO,
                  STORE_VALUES(store_size(e->item), store_size(e->person)), -1, &at));
    if (at > e->at) *out = STORE_OLDER;
    return SCANT_OK;
}

/* Compares an imported answer with the person's current one. */
static scant_status hold_against(scant_project *project, const store_entry *e,
                                 store_imported *out) {
    sqlite3_stmt *s;
    bool row;
    *out = STORE_IMPORTED;
    TRY(store_first(project,
                    "SELECT a.kind, a.class, l.at FROM answers a JOIN labels l"
                    " USING (entry) WHERE a.item = ?1 AND a.person = ?2",
                    STORE_VALUES(store_size(e->item), store_size(e->person)), &s, &row));
    if (!row) return hold_against_undo(project, e, out);
    if (sqlite3_column_int64(s, 0) == (int64_t)e->kind &&
        (e->kind != SCANT_ANSWER_LABEL ||
         sqlite3_column_int64(s, 1) == (int64_t)e->label))
        *out = STORE_REPEATED;
    else if (e->at >= 0 && sqlite3_column_int64(s, 2) > e->at)
        *out = STORE_OLDER;
    store_end(s);
    return SCANT_OK;
}

scant_status store_import_put(scant_project *project, size_t item, size_t person,
                              scant_answer_kind kind, size_t label, int64_t at,
                              store_imported *out) {
    store_entry entry = {.person = person,
                         .kind = kind,
                         .label = label,
                         .at = at,
                         .spent = -1,
                         .role = SCANT_ROLE_IMPORT};
    store_imported unseen;
    int64_t number;
    if (!out) out = &unseen;
    TRY(store_original(project, item, &entry.item));
    TRY(hold_against(project, &entry, out));
    return *out == STORE_IMPORTED ? store_entry_add(project, &entry, &number) : SCANT_OK;
}
