/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables derived from the history: current answers, labels, the queue and counters. They
 * are updated in the transaction that changes the history, so readers need not count. An
 * update takes time proportional to the number of the item's answers.
 *
 * An item's label is the class that most people gave; in a tie it has none and is
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
    int64_t since, last; /* entry that gave the label; last current answer */
} state;

/* ---- counters ---------------------------------------------------------------------- */

scant_status store_counter_add(scant_project *project, const char *name, int64_t more) {
    if (!more) return SCANT_OK;
    return store_do(project,
                    "INSERT INTO tally (name, n) VALUES (?1, ?2)"
                    " ON CONFLICT (name) DO UPDATE SET n = n + ?2",
                    store_text(name), store_int(more));
}

#define TRAINING                                                                         \
    "SELECT count(*) FROM states JOIN items USING (item) WHERE " DB_IN_TRAINING

static const struct {
    const char *name;
    const char *sql; /* recounts it */
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
    int64_t n = TRY_ONE(project, 0, counters[i].sql);
    return store_do(project, "INSERT OR REPLACE INTO tally (name, n) VALUES (?1, ?2)",
                    store_text(counters[i].name), store_int(n));
}

scant_status store_counters_recount(scant_project *project) {
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        TRY(recount(project, i));
    TRY(store_do(project, "UPDATE classes SET learned = 0 WHERE learned > 0"));
    return store_do(project,
                    "UPDATE classes SET learned = n FROM"
                    " (SELECT label, count(*) AS n FROM states JOIN items USING (item)"
                    "  WHERE " DB_IN_TRAINING " GROUP BY label)"
                    " WHERE class = label");
}

scant_status store_counters_trained(scant_project *project) {
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (strcmp(counters[i].name, "untrained") == 0) TRY(recount(project, i));
    return SCANT_OK;
}

static scant_status learn_class(scant_project *project, int64_t label, int64_t more) {
    if (label < 0) return SCANT_OK;
    return store_do(project, "UPDATE classes SET learned = learned + ?2 WHERE class = ?1",
                    store_int(label), store_int(more));
}

/* Updates the counters of items that models are trained on. */
static scant_status count_training(scant_project *project, const state *old,
                                   const state *now) {
    if (old->label == now->label && old->since == now->since) return SCANT_OK;
    int64_t seen =
        TRY_ONE(project, 0, "SELECT entry FROM models ORDER BY model DESC LIMIT 1");
    TRY(store_counter_add(project, "training", (now->label >= 0) - (old->label >= 0)));
    TRY(store_counter_add(project, "untrained",
                          (now->label >= 0 && now->since > seen) -
                              (old->label >= 0 && old->since > seen)));
    TRY(learn_class(project, old->label, -1));
    return learn_class(project, now->label, 1);
}

/* A label of the audit set counts if its item's key is below the front: the key of the
 * first item in the audit order that nobody has answered or skipped. The front moves
 * rarely, and by a few items. */
static const char front_sql[] = "SELECT n FROM tally WHERE name = 'front'";

scant_status store_counters_audit(scant_project *project) {
    int64_t front, before = TRY_ONE(project, INT64_MAX, front_sql);
    TRY(store_audit_front(project, INT64_MAX, &front));
    if (front == before) return SCANT_OK;
    bool back = front < before;
    int64_t passed =
        TRY_ONE(project, 0,
                "SELECT count(*) FROM items JOIN states USING (item)"
                " WHERE withheld = " SQL_WITHHELD
                " AND label >= 0 AND audit >= ?1 AND audit < ?2",
                store_int(back ? front : before), store_int(back ? before : front));
    TRY(store_counter_add(project, "audited", back ? -passed : passed));
    return store_do(project,
                    "INSERT OR REPLACE INTO tally (name, n) VALUES ('front', ?1)",
                    store_int(front));
}

/* Updates "audited" after a change of an item of the audit set. */
static scant_status count_audited(scant_project *project, size_t item, const state *old,
                                  const state *now) {
    int64_t key = (int64_t)store_audit_key(project->seed, item);
    if (key < TRY_ONE(project, INT64_MAX, front_sql))
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

/* ---- states of items --------------------------------------------------------------- */

static scant_status read_state(scant_project *project, size_t item, state *out) {
    *out = (state){.label = -1};
    STORE_EACH(row, project,
               "SELECT label, answers, skips, unsures, disputed, since, last"
               " FROM states WHERE item = ?1",
               store_size(item))
        *out = (state){.there = true,
                       .label = store_integer(row, 0),
                       .answers = store_count(row, 1),
                       .skips = store_count(row, 2),
                       .unsures = store_count(row, 3),
                       .disputed = store_integer(row, 4) != 0,
                       .since = store_integer(row, 5),
                       .last = store_integer(row, 6)};
    return SCANT_OK;
}

/* Computes the state, without `since`, from the current answers. *own: the number of
 * answers that are neither skips nor imported. */
static scant_status count_answers(scant_project *project, size_t item, state *out,
                                  size_t *own) {
    int64_t most = 0;
    STORE_EACH(row, project,
               "SELECT count(*), sum(kind = " SQL_LABEL "), sum(kind = " SQL_SKIP "),"
               " sum(kind = " SQL_UNSURE "), max(entry),"
               " sum(kind <> " SQL_SKIP " AND role <> " SQL_IMPORT ")"
               " FROM answers WHERE item = ?1",
               store_size(item)) {
        *out = (state){.there = store_count(row, 0) > 0,
                       .label = -1,
                       .answers = store_count(row, 1),
                       .skips = store_count(row, 2),
                       .unsures = store_count(row, 3),
                       .last = store_integer(row, 4)};
        *own = store_count(row, 5);
    }
    if (!out->answers) return SCANT_OK;
    /* The class that most people gave; disputed if the first two have equal counts. */
    STORE_EACH(row, project,
               "SELECT class, count(*) FROM answers WHERE item = ?1"
               " AND kind = " SQL_LABEL " GROUP BY class ORDER BY 2 DESC, 1 LIMIT 2",
               store_size(item)) {
        out->disputed = store_integer(row, 1) == most;
        if (!most) out->label = store_integer(row, 0);
        if (!most) most = store_integer(row, 1);
    }
    if (out->disputed) out->label = -1;
    return SCANT_OK;
}

static scant_status write_state(scant_project *project, size_t item, const state *now) {
    if (!now->there)
        return store_do(project, "DELETE FROM states WHERE item = ?1", store_size(item));
    return store_do(project,
                    "INSERT OR REPLACE INTO states"
                    " (item, label, answers, skips, unsures, disputed, since, last)"
                    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    store_size(item), store_int(now->label), store_size(now->answers),
                    store_size(now->skips), store_size(now->unsures),
                    store_int(now->disputed), store_int(now->since),
                    store_int(now->last));
}

/* ---- the queue --------------------------------------------------------------------- */

typedef struct place {
    int64_t kind; /* -1: not in the queue */
    int64_t key;
} place;

static scant_status find_place(scant_project *project, size_t item, int64_t withheld,
                               const state *now, size_t own, place *out) {
    size_t opinions = now->answers + now->unsures;
    double overlap;
    *out = (place){.kind = -1};
    if (!opinions) {
        if (withheld != DB_AUDIT_GROUP)
            out->kind = store_queue_place(project, item, withheld == DB_WITHHELD,
                                          now->skips > 0, &out->key);
        return SCANT_OK;
    }
    TRY(store_setting(project, "overlap", &overlap));
    if (own && (double)opinions < overlap) *out = (place){DB_OPINION, now->last};
    return SCANT_OK;
}

static bool to_pick(int64_t kind) { return kind == DB_FRESH || kind == DB_SKIPPED; }

static scant_status move_in_queue(scant_project *project, size_t item, const place *now) {
    store_value which = store_size(item), key = store_int(now->key);
    int64_t kind = TRY_ONE(project, -1, "SELECT kind FROM queue WHERE item = ?1", which);
    if (now->kind < 0)
        return kind < 0 ? SCANT_OK
                        : store_do(project, "DELETE FROM queue WHERE item = ?1", which);
    TRY(store_do(project,
                 "INSERT OR REPLACE INTO queue (item, kind, key) VALUES (?1, ?2, ?3)",
                 which, store_int(now->kind), key));
    /* People who have not answered the item must find it: moves their positions back. */
    if (now->kind == DB_OPINION)
        TRY(store_do(project,
                     "UPDATE people SET opinions = ?2 WHERE opinions > ?2 AND person"
                     " NOT IN (SELECT a.person FROM answers a WHERE a.item = ?1)",
                     which, key));
    if (to_pick(kind) || !to_pick(now->kind)) return SCANT_OK;
    /* It may be handed out again: search the last ranking from its start. */
    return store_do(project,
                    "UPDATE rounds SET start = 0"
                    " WHERE round = (SELECT max(round) FROM rounds) AND start > 0");
}

scant_status store_refresh(scant_project *project, size_t item, int64_t entry) {
    state old, now = {.label = -1};
    place at;
    size_t own = 0;
    int64_t withheld = TRY_ONE(project, 0, "SELECT withheld FROM items WHERE item = ?1",
                               store_size(item));
    TRY(read_state(project, item, &old));
    TRY(count_answers(project, item, &now, &own));
    if (now.label >= 0) now.since = now.label == old.label ? old.since : entry;
    TRY(write_state(project, item, &now));
    TRY(find_place(project, item, withheld, &now, own, &at));
    TRY(move_in_queue(project, item, &at));
    if (at.kind < 0) /* the item needs no more answers */
        TRY(store_do(project, "UPDATE leases SET live = 0 WHERE item = ?1 AND live = 1",
                     store_size(item)));
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
    store_value item = store_size(e->item), person = store_size(e->person);
    int64_t role =
        TRY_ONE(project, 0, "SELECT role FROM answers WHERE item = ?1 AND person = ?2",
                item, person);
    int64_t more = (e->kind != SCANT_ANSWER_UNDO) - (role != 0);
    if (more)
        TRY(store_do(project,
                     "UPDATE people SET answers = answers + ?2 WHERE person = ?1", person,
                     store_int(more)));
    if (role) TRY(count_role(project, role, -1));
    if (e->kind == SCANT_ANSWER_UNDO)
        return store_do(project, "DELETE FROM answers WHERE item = ?1 AND person = ?2",
                        item, person);
    TRY(count_role(project, (int64_t)e->role, 1));
    /* an answer that did not name the lease, such as an import, ends it too */
    TRY(store_do(
        project,
        "UPDATE leases SET live = 0 WHERE item = ?1 AND person = ?2 AND live = 1", item,
        person));
    return store_do(project,
                    "INSERT OR REPLACE INTO answers"
                    " (item, person, entry, kind, class, role)"
                    " SELECT item, person, entry, kind, class, role FROM labels"
                    " WHERE entry = ?1",
                    store_int(number));
}

scant_status store_entry_add(scant_project *project, const store_entry *e,
                             int64_t *number) {
    store_value none = store_text(NULL);
    TRY(store_do(
        project,
        "INSERT INTO labels (item, person, kind, class, at, spent, role, round, model,"
        " undoes, once) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        store_size(e->item), store_size(e->person), store_int(e->kind),
        e->kind == SCANT_ANSWER_LABEL ? store_size(e->label) : none,
        store_int(e->at >= 0 ? e->at : store_now(project)),
        e->spent >= 0 ? store_int(e->spent) : none, store_int(e->role),
        store_size_or_null(e->round), store_size_or_null(e->model),
        e->undoes ? store_int(e->undoes) : none, store_text(e->once)));
    *number = sqlite3_last_insert_rowid(project->db);
    TRY(replace_answer(project, e, *number));
    return store_refresh(project, e->item, *number);
}

scant_status store_original(scant_project *project, size_t item, size_t *original) {
    int64_t number =
        item > INT64_MAX
            ? -1
            : TRY_ONE(project, -1,
                      "SELECT coalesce(copy_of, item) FROM items WHERE item = ?1",
                      store_size(item));
    if (number < 0)
        return scant__fail(project->ctx, SCANT_ENOTFOUND, "there is no item %zu", item);
    *original = (size_t)number;
    return SCANT_OK;
}

/* Compares an imported answer with the person's current one, or with the last undo. */
static scant_status compare(scant_project *project, const store_entry *e,
                            store_imported *out) {
    store_value item = store_size(e->item), person = store_size(e->person);
    *out = STORE_IMPORTED;
    STORE_EACH(row, project,
               "SELECT a.kind, a.class, l.at FROM answers a JOIN labels l"
               " USING (entry) WHERE a.item = ?1 AND a.person = ?2",
               item, person) {
        if (store_integer(row, 0) == (int64_t)e->kind &&
            (e->kind != SCANT_ANSWER_LABEL || store_integer(row, 1) == (int64_t)e->label))
            *out = STORE_REPEATED;
        else if (e->at >= 0 && store_integer(row, 2) > e->at)
            *out = STORE_OLDER;
        return SCANT_OK;
    }
    if (e->at >= 0 && TRY_ONE(project, -1,
                              "SELECT max(at) FROM labels WHERE item = ?1 AND person = ?2"
                              " AND kind = " SQL_UNDO,
                              item, person) > e->at)
        *out = STORE_OLDER;
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
    TRY(compare(project, &entry, out));
    return *out == STORE_IMPORTED ? store_entry_add(project, &entry, &number) : SCANT_OK;
}
