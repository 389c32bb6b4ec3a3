/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers and undo. All answers of a call are one transaction, durable when the call
 * returns.
 */
#include <string.h>

#include "scant/project.h"
#include "store/store_int.h"

const char *scant_answer_name(scant_answer_kind kind) {
    static const char *const names[] = {"", "label", "skip", "unsure", "undo"};
    return kind <= SCANT_ANSWER_UNDO ? names[kind] : "";
}

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
    *out = (known){0};
    if (!once) return SCANT_OK;
    if (strlen(once) > STORE_ONCE)
        return scant__fail(project->ctx, SCANT_EUSAGE,
                           "'once' has %zu bytes; at most %d are allowed", strlen(once),
                           STORE_ONCE);
    STORE_EACH(row, project,
               "SELECT entry, item, kind, class, undoes FROM labels"
               " WHERE person = ?1 AND once = ?2",
               store_size(person), store_text(once))
        *out = (known){store_integer(row, 0), store_count(row, 1), store_integer(row, 2),
                       store_integer(row, 3), store_integer(row, 4)};
    return SCANT_OK;
}

static scant_status once_differs(scant_project *project, const char *once) {
    return scant__fail(project->ctx, SCANT_ECONFLICT,
                       "'once' %s was used for another answer: each answer needs its own",
                       once);
}

/* Why an item was handed out, from its lease or from the person's earlier answer to it.
 * role 0: there is neither. */
typedef struct reason {
    int64_t role;
    size_t round, model;
} reason;

static reason reason_of(store_cursor row) {
    return (reason){store_integer(row, 0), store_count(row, 1), store_count(row, 2)};
}

/* Finds the kind and reason of the person's current answer; *kind 0: none. */
static scant_status answered(scant_project *project, size_t person, size_t item,
                             int64_t *kind, reason *out) {
    *kind = 0;
    *out = (reason){0};
    STORE_EACH(row, project,
               "SELECT l.role, l.round, l.model, a.kind FROM answers a JOIN labels l"
               " USING (entry) WHERE a.item = ?1 AND a.person = ?2",
               store_size(item), store_size(person)) {
        *out = reason_of(row);
        *kind = store_integer(row, 3);
    }
    return SCANT_OK;
}

/* ---- checks ------------------------------------------------------------------------ */

/* Fails if somebody else holds the item, or enough people have answered it. */
static scant_status check_others(scant_project *project, size_t person, size_t item) {
    size_t holder;
    double overlap;
    TRY(store_lease_holder(project, item, &holder));
    if (holder && holder != person)
        return scant__fail(project->ctx, SCANT_ECONFLICT,
                           "item %zu: is leased to somebody else now", item);
    int64_t others = TRY_ONE(project, 0,
                             "SELECT count(*) FROM answers"
                             " WHERE item = ?1 AND person <> ?2 AND kind <> " SQL_SKIP,
                             store_size(item), store_size(person));
    TRY(store_setting(project, "overlap", &overlap));
    if ((double)others >= overlap)
        return scant__fail(
            project->ctx, SCANT_ECONFLICT,
            overlap > 1 ? "item %zu: enough others have answered it in the meantime"
                        : "item %zu: somebody else has answered it in the meantime",
            item);
    return SCANT_OK;
}

static scant_status find_reason(scant_project *project, size_t person, size_t item,
                                uint64_t lease, reason *out) {
    int64_t kind;
    reason before;
    *out = (reason){0};
    TRY(answered(project, person, item, &kind, &before));
    if (lease)
        STORE_EACH(row, project,
                   "SELECT role, round, model FROM leases"
                   " WHERE key = ?1 AND item = ?2 AND person = ?3",
                   store_int((int64_t)lease), store_size(item), store_size(person))
            *out = reason_of(row);
    /* A skip gives no claim to the item: others may hold or answer it. */
    if (!kind || kind == SCANT_ANSWER_SKIP) TRY(check_others(project, person, item));
    if (!out->role) *out = before;
    if (out->role) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_ECONFLICT,
                       lease ? "item %zu: this person has no such lease"
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
                    store_size(item), store_size(person));
}

scant_status scant_project_answer(scant_project *project, size_t person,
                                  const scant_answer *answers, size_t n,
                                  scant_receipt *receipts) {
    NEED(project);
    scant_receipt unseen;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    TRY(store_person_known(project, person));
    for (size_t i = 0; i < n; i++)
        TRY(take_answer(project, person, &answers[i], receipts ? &receipts[i] : &unseen));
    return store_commit(&tx);
}

/* ---- undo -------------------------------------------------------------------------- */

/* Leases the item to the same person again, unless somebody else holds it or it needs no
 * answer from this person. */
static scant_status lease_again(scant_project *project, size_t person, size_t item,
                                const reason *why, scant_lease *lease) {
    size_t holder;
    *lease = (scant_lease){.item = item};
    TRY(store_lease_holder(project, item, &holder));
    bool wanted =
        TRY_ONE(project, 0,
                "SELECT 1 FROM queue q WHERE q.item = ?1 AND NOT EXISTS"
                " (SELECT 1 FROM answers a WHERE a.item = q.item AND a.person = ?2)",
                store_size(item), store_size(person));
    if ((holder && holder != person) || !wanted) return SCANT_OK;
    return store_lease_give(project, person, item, (scant_role)why->role, why->round,
                            why->model, lease);
}

/* Finds the entry to undo (which 0: the last current answer) and its item. */
static scant_status find_entry(scant_project *project, size_t person, int64_t which,
                               int64_t *entry, size_t *item) {
    STORE_EACH(row, project,
               "SELECT entry, item FROM answers WHERE person = ?1"
               " AND (?2 = 0 OR entry = ?2) ORDER BY entry DESC LIMIT 1",
               store_size(person), store_int(which)) {
        *entry = store_integer(row, 0);
        *item = store_count(row, 1);
        return SCANT_OK;
    }
    if (!which)
        return scant__fail(project->ctx, SCANT_ENOTFOUND, "there is nothing to undo");
    return scant__fail(project->ctx, SCANT_ENOTFOUND,
                       "entry %lld: is not a current answer of this person",
                       (long long)which);
}

/* Repeats an undo with the same `once`: returns its lease, or a new one if it ended. */
static scant_status undo_again(scant_project *project, size_t person, const known *before,
                               scant_lease *lease) {
    reason why = {0};
    TRY(store_lease_find(project, person, before->item, lease));
    if (lease->key) return SCANT_OK;
    STORE_EACH(row, project, "SELECT role, round, model FROM labels WHERE entry = ?1",
               store_int(before->entry))
        why = reason_of(row);
    return lease_again(project, person, before->item, &why, lease);
}

static scant_status undo(scant_project *project, size_t person, int64_t which,
                         const char *once, int64_t *undone, scant_lease *lease) {
    known before;
    reason why;
    size_t item = 0;
    int64_t number, kind;
    TRY(store_person_known(project, person));
    TRY(find_once(project, person, once, &before));
    *undone = before.undoes;
    if (before.entry &&
        (before.kind != SCANT_ANSWER_UNDO || (which && which != before.undoes)))
        return once_differs(project, once);
    if (before.entry) return undo_again(project, person, &before, lease);
    TRY(find_entry(project, person, which, undone, &item));
    TRY(answered(project, person, item, &kind, &why));
    store_entry entry = {.item = item,
                         .person = person,
                         .kind = SCANT_ANSWER_UNDO,
                         .at = -1,
                         .spent = -1,
                         .role = (scant_role)why.role,
                         .round = why.round,
                         .model = why.model,
                         .undoes = *undone,
                         .once = once};
    TRY(store_entry_add(project, &entry, &number));
    return lease_again(project, person, item, &why, lease);
}

scant_status scant_project_undo(scant_project *project, size_t person, int64_t which,
                                const char *once, int64_t *entry, scant_lease *lease) {
    NEED(project);
    int64_t undone;
    scant_lease again = {0};
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    TRY(undo(project, person, which, once, &undone, &again));
    TRY(store_commit(&tx));
    if (entry) *entry = undone;
    if (lease) *lease = again;
    return SCANT_OK;
}

/* ---- the current answer ------------------------------------------------------------ */

scant_status scant_project_current_answer(scant_project *project, size_t person,
                                          size_t item, int64_t *entry,
                                          scant_answer_kind *kind, int64_t *label) {
    NEED(project);
    size_t original;
    *entry = 0, *label = -1;
    TRY(store_original(project, item, &original));
    STORE_EACH(row, project,
               "SELECT entry, kind, class FROM answers WHERE item = ?1 AND person = ?2",
               store_size(original), store_size(person)) {
        *entry = store_integer(row, 0);
        *kind = (scant_answer_kind)store_integer(row, 1);
        *label = store_integer_or(row, 2, -1);
        if (*kind < SCANT_ANSWER_LABEL || *kind > SCANT_ANSWER_UNSURE)
            return store_damaged(project, "an answer's kind");
    }
    return SCANT_OK;
}
