/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers and undo. All answers of a call are one transaction, durable when the call
 * returns.
 */
#include <string.h>

#include "scant/project.h"
#include "store/store_int.h"

const char *scant_role_name(scant_role role) {
    static const char *const names[] = {"",     "pick",  "audit", "overlap",
                                        "fill", "alike", "import"};
    return role >= SCANT_ROLE_PICK && role <= SCANT_ROLE_IMPORT ? names[role] : "";
}

/* ---- earlier answers --------------------------------------------------------------- */

typedef struct known {
    int64_t entry; /* 0: there is none */
    size_t item;
    int64_t kind, label;
    int64_t undoes;
} known;

/* The entry that was stored with the same `once`. */
static scant_status find_once(scant_project *project, size_t person, const char *once,
                              known *out) {
    sqlite3_stmt *s;
    bool row;
    *out = (known){0};
    if (!once) return SCANT_OK;
    if (strlen(once) > STORE_ONCE)
        return scant__fail(project->ctx, SCANT_EUSAGE,
                           "'once' has %zu bytes; at most %d are allowed", strlen(once),
                           STORE_ONCE);
    TRY(store_first(project,
                    "SELECT entry, item, kind, class, undoes FROM labels"
                    " WHERE person = ?1 AND once = ?2",
                    STORE_VALUES(store_size(person), store_text(once)), &s, &row));
    if (!row) return SCANT_OK;
    *out =
        (known){sqlite3_column_int64(s, 0), store_count(s, 1), sqlite3_column_int64(s, 2),
                sqlite3_column_int64(s, 3), sqlite3_column_int64(s, 4)};
    store_end(s);
    return SCANT_OK;
}

static scant_status once_differs(scant_project *project, const char *once) {
    return scant__fail(project->ctx, SCANT_ECONFLICT,
                       "'once' %s was used for another answer: each answer needs its own",
                       once);
}

/* Why an item was handed out: from its lease, or from the person's earlier answer to it.
 * role 0: neither. */
typedef struct reason {
    int64_t role;
    size_t round, model;
} reason;

static scant_status read_reason(scant_project *project, const char *sql,
                                const store_value *values, size_t n, reason *out) {
    sqlite3_stmt *s;
    bool row;
    *out = (reason){0};
    TRY(store_first(project, sql, values, n, &s, &row));
    if (!row) return SCANT_OK;
    *out = (reason){sqlite3_column_int64(s, 0), store_count(s, 1), store_count(s, 2)};
    store_end(s);
    return SCANT_OK;
}

static scant_status leased(scant_project *project, size_t person, size_t item,
                           uint64_t key, reason *out) {
    return read_reason(
        project,
        "SELECT role, round, model FROM leases"
        " WHERE key = ?1 AND item = ?2 AND person = ?3",
        STORE_VALUES(store_int((int64_t)key), store_size(item), store_size(person)), out);
}

static scant_status answered(scant_project *project, size_t person, size_t item,
                             int64_t *kind, reason *out) {
    const store_value who[] = {store_size(item), store_size(person)};
    TRY(store_one(project, "SELECT kind FROM answers WHERE item = ?1 AND person = ?2",
                  who, 2, 0, kind));
    return read_reason(project,
                       "SELECT l.role, l.round, l.model FROM answers a JOIN labels l"
                       " USING (entry) WHERE a.item = ?1 AND a.person = ?2",
                       who, 2, out);
}

/* ---- is it allowed? ---------------------------------------------------------------- */

/* Fails if somebody else holds the item, or enough people have answered it. */
static scant_status check_others(scant_project *project, size_t person, size_t item) {
    size_t holder;
    int64_t others;
    double overlap;
    TRY(store_lease_holder(project, item, &holder));
    if (holder && holder != person)
        return scant__fail(project->ctx, SCANT_ECONFLICT,
                           "item %zu: is leased to somebody else now", item);
    TRY(store_one(project,
                  "SELECT count(*) FROM answers"
                  " WHERE item = ?1 AND person <> ?2 AND kind <> " SQL_SKIP,
                  STORE_VALUES(store_size(item), store_size(person)), 0, &others));
    TRY(store_setting(project, "overlap", &overlap, NULL));
    if ((double)others >= overlap)
        return scant__fail(project->ctx, SCANT_ECONFLICT,
                           "item %zu: somebody else has answered it in the meantime",
                           item);
    return SCANT_OK;
}

static scant_status find_reason(scant_project *project, size_t person, size_t item,
                                uint64_t lease, reason *out) {
    int64_t kind;
    reason before;
    *out = (reason){0};
    TRY(answered(project, person, item, &kind, &before));
    if (lease) TRY(leased(project, person, item, lease, out));
    /* A skipped item is left to others. */
    if (!kind || kind == SCANT_ANSWER_SKIP) TRY(check_others(project, person, item));
    if (!out->role) *out = before;
    if (out->role) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_ECONFLICT,
                       lease ? "item %zu: this lease belongs to somebody else"
                             : "item %zu: was not handed out to this person",
                       item);
}

static scant_status check_answer(scant_project *project, const scant_answer *answer) {
    size_t classes;
    if (answer->kind != SCANT_ANSWER_LABEL && answer->kind != SCANT_ANSWER_SKIP &&
        answer->kind != SCANT_ANSWER_UNSURE)
        return scant__fail(project->ctx, SCANT_EUSAGE,
                           "an answer is a label, a skip or unsure");
    if (answer->kind != SCANT_ANSWER_LABEL) return SCANT_OK;
    TRY(store_classes(project, &classes));
    if (answer->label < classes) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_ENOTFOUND,
                       "there is no class %zu: there are %zu, counted from 0",
                       answer->label, classes);
}

/* ---- answers ----------------------------------------------------------------------- */

typedef struct answering {
    size_t person;
    const scant_answer *answers;
    size_t n;
    scant_receipt *receipts;
} answering;

static scant_status take_answer(scant_project *project, size_t person,
                                const scant_answer *answer, scant_receipt *receipt) {
    known before;
    reason why;
    size_t item;
    TRY(check_answer(project, answer));
    TRY(store_original(project, answer->item, &item));
    TRY(find_once(project, person, answer->once, &before));
    *receipt = (scant_receipt){before.entry, before.entry != 0};
    if (before.entry)
        return before.item == item && before.kind == (int64_t)answer->kind &&
                       (before.kind != SCANT_ANSWER_LABEL ||
                        before.label == (int64_t)answer->label)
                   ? SCANT_OK
                   : once_differs(project, answer->once);
    TRY(find_reason(project, person, item, answer->lease, &why));
    store_entry entry = {.item = item,
                         .person = person,
                         .kind = answer->kind,
                         .label = answer->label,
                         .at = -1,
                         .spent = answer->spent,
                         .role = (scant_role)why.role,
                         .round = why.round,
                         .model = why.model,
                         .once = answer->once};
    TRY(store_entry_add(project, &entry, &receipt->entry));
    return store_do(project, "DELETE FROM leases WHERE item = ?1 AND person = ?2",
                    STORE_VALUES(store_size(item), store_size(person)));
}

static scant_status take_answers(scant_project *project, void *arg) {
    const answering *a = arg;
    scant_receipt receipt;
    TRY(store_person_known(project, a->person));
    for (size_t i = 0; i < a->n; i++)
        TRY(take_answer(project, a->person, &a->answers[i],
                        a->receipts ? &a->receipts[i] : &receipt));
    return SCANT_OK;
}

scant_status scant_project_answer(scant_project *project, size_t person,
                                  const scant_answer *answers, size_t n,
                                  scant_receipt *receipts) {
    answering a = {person, answers, n, receipts};
    return store_write(project, take_answers, &a);
}

/* ---- undo -------------------------------------------------------------------------- */

typedef struct undoing {
    size_t person;
    int64_t which; /* entry; 0: the last */
    const char *once;
    int64_t entry;
    scant_lease lease;
} undoing;

/* Leases the item to the same person again, unless somebody else holds it or it needs no
 * answer from this person. */
static scant_status lease_again(scant_project *project, undoing *u, size_t item,
                                const reason *why) {
    size_t holder;
    int64_t wanted;
    u->lease = (scant_lease){.item = item};
    TRY(store_lease_holder(project, item, &holder));
    TRY(store_one(project,
                  "SELECT 1 FROM queue q WHERE q.item = ?1 AND NOT EXISTS"
                  " (SELECT 1 FROM answers a WHERE a.item = q.item AND a.person = ?2)",
                  STORE_VALUES(store_size(item), store_size(u->person)), 0, &wanted));
    if ((holder && holder != u->person) || !wanted) return SCANT_OK;
    return store_lease_give(project, u->person, item, (scant_role)why->role, why->round,
                            why->model, &u->lease);
}

/* Finds the entry to undo (u->entry) and its item. */
static scant_status find_entry(scant_project *project, undoing *u, size_t *item) {
    sqlite3_stmt *s;
    bool row;
    TRY(store_first(project,
                    "SELECT entry, item FROM answers WHERE person = ?1"
                    " AND (?2 = 0 OR entry = ?2) ORDER BY entry DESC LIMIT 1",
                    STORE_VALUES(store_size(u->person), store_int(u->which)), &s, &row));
    if (!row)
        return u->which ? scant__fail(project->ctx, SCANT_ENOTFOUND,
                                      "entry %lld: is not a current answer of this "
                                      "person",
                                      (long long)u->which)
                        : scant__fail(project->ctx, SCANT_ENOTFOUND,
                                      "there is nothing to undo");
    u->entry = sqlite3_column_int64(s, 0);
    *item = store_count(s, 1);
    store_end(s);
    return SCANT_OK;
}

/* A repeated undo returns its lease, or a new one if that was released. */
static scant_status undo_again(scant_project *project, undoing *u, const known *before) {
    reason why;
    TRY(store_lease_find(project, u->person, before->item, &u->lease));
    if (u->lease.key) return SCANT_OK;
    TRY(read_reason(project, "SELECT role, round, model FROM labels WHERE entry = ?1",
                    STORE_VALUES(store_int(before->entry)), &why));
    return lease_again(project, u, before->item, &why);
}

static scant_status undo(scant_project *project, void *arg) {
    undoing *u = arg;
    known before;
    reason why;
    size_t item = 0;
    int64_t number, kind;
    TRY(store_person_known(project, u->person));
    TRY(find_once(project, u->person, u->once, &before));
    u->entry = before.undoes;
    if (before.entry &&
        (before.kind != SCANT_ANSWER_UNDO || (u->which && u->which != before.undoes)))
        return once_differs(project, u->once);
    if (before.entry) return undo_again(project, u, &before);
    TRY(find_entry(project, u, &item));
    TRY(answered(project, u->person, item, &kind, &why));
    store_entry entry = {.item = item,
                         .person = u->person,
                         .kind = SCANT_ANSWER_UNDO,
                         .at = -1,
                         .spent = -1,
                         .role = (scant_role)why.role,
                         .round = why.round,
                         .model = why.model,
                         .undoes = u->entry,
                         .once = u->once};
    TRY(store_entry_add(project, &entry, &number));
    return lease_again(project, u, item, &why);
}

scant_status scant_project_undo(scant_project *project, size_t person, int64_t which,
                                const char *once, int64_t *entry, scant_lease *lease) {
    undoing u = {.person = person, .which = which, .once = once};
    TRY(store_write(project, undo, &u));
    if (entry) *entry = u.entry;
    if (lease) *lease = u.lease;
    return SCANT_OK;
}

/* ---- the current answer
 * ------------------------------------------------------------------ */

scant_status scant_project_said(scant_project *project, size_t person, size_t item,
                                int64_t *entry, scant_answer_kind *kind, int64_t *label) {
    sqlite3_stmt *s;
    size_t original;
    bool row;
    *entry = 0, *label = -1;
    TRY(store_original(project, item, &original));
    TRY(store_first(project,
                    "SELECT entry, kind, coalesce(class, -1) FROM answers"
                    " WHERE item = ?1 AND person = ?2",
                    STORE_VALUES(store_size(original), store_size(person)), &s, &row));
    if (!row) return SCANT_OK;
    *entry = sqlite3_column_int64(s, 0);
    *kind = (scant_answer_kind)sqlite3_column_int(s, 1);
    *label = sqlite3_column_int64(s, 2);
    store_end(s);
    if (*kind < SCANT_ANSWER_LABEL || *kind > SCANT_ANSWER_UNSURE)
        return store_damaged(project, "an answer's kind");
    return SCANT_OK;
}
