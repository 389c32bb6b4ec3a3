/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases reserve an item for one person for some minutes. A lease stops being live when
 * it is released, its item needs no more answers, or the item is leased to somebody else,
 * which an expired lease allows. It stays in the table for a week, for late answers.
 */
#include "scant/project.h"
#include "store/store_int.h"

scant_status store_lease_until(scant_project *project, int64_t *until) {
    double minutes;
    TRY(store_setting(project, "lease_minutes", &minutes));
    *until = store_now(project) + (int64_t)(60000 * minutes);
    return SCANT_OK;
}

/* A lease cannot end later than one that begins now: if it does, the clock was ahead when
 * it began (or leases were longer), and the item would wait until then. */
scant_status store_leases_clean(scant_project *project) {
    int64_t until;
    TRY(store_lease_until(project, &until));
    TRY(store_do(project, "UPDATE leases SET until = ?1 WHERE until > ?1",
                 store_int(until)));
    return store_do(project, "DELETE FROM leases WHERE until < ?1",
                    store_int(store_now(project) - STORE_LEASES_KEPT));
}

scant_status store_person_known(scant_project *project, size_t person) {
    if (person <= INT64_MAX &&
        TRY_ONE(project, 0, "SELECT person FROM people WHERE person = ?1",
                store_size(person)))
        return SCANT_OK;
    return scant__fail(project->ctx, SCANT_ENOTFOUND, "there is no person %zu", person);
}

scant_status store_lease_holder(scant_project *project, size_t item, size_t *person) {
    *person = (size_t)TRY_ONE(
        project, 0,
        "SELECT person FROM leases WHERE item = ?1 AND live = 1 AND until > ?2",
        store_size(item), store_int(store_now(project)));
    return SCANT_OK;
}

scant_status store_lease_find(scant_project *project, size_t person, size_t item,
                              scant_lease *out) {
    *out = (scant_lease){.item = item};
    STORE_EACH(row, project,
               "SELECT key, until, role, round FROM leases"
               " WHERE item = ?1 AND person = ?2 AND live = 1",
               store_size(item), store_size(person)) {
        out->key = (uint64_t)store_integer(row, 0);
        out->until = store_integer(row, 1);
        out->role = (scant_role)store_integer(row, 2);
        out->round = store_count(row, 3);
    }
    return SCANT_OK;
}

scant_status store_lease_give(scant_project *project, size_t person, size_t item,
                              scant_role role, size_t round, size_t model,
                              scant_lease *out) {
    *out = (scant_lease){.item = item, .role = role, .round = round};
    TRY(store_lease_until(project, &out->until));
    while (!out->key) sqlite3_randomness(sizeof out->key, &out->key);
    TRY(store_do(project, "UPDATE leases SET live = 0 WHERE item = ?1 AND live = 1",
                 store_size(item)));
    return store_do(project,
                    "INSERT INTO leases (key, item, person, until, role, round, model,"
                    " live) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)",
                    store_int((int64_t)out->key), store_size(item), store_size(person),
                    store_int(out->until), store_int(role), store_size_or_null(round),
                    store_size_or_null(model));
}

/* ---- renewing and releasing -------------------------------------------------------- */

scant_status scant_project_renew(scant_project *project, size_t person,
                                 const uint64_t *keys, size_t n_keys, size_t *kept) {
    NEED(project);
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE_UNSYNCED);
    int64_t until;
    size_t renewed = 0;
    TRY(store_lease_until(project, &until));
    TRY(store_person_known(project, person));
    for (size_t i = 0; keys && i < n_keys; i++) {
        TRY(store_do(project,
                     "UPDATE leases SET until = ?3"
                     " WHERE key = ?2 AND person = ?1 AND live = 1",
                     store_size(person), store_int((int64_t)keys[i]), store_int(until)));
        renewed += (size_t)sqlite3_changes(project->db);
    }
    if (!keys) {
        TRY(store_do(project,
                     "UPDATE leases SET until = ?2 WHERE person = ?1 AND live = 1",
                     store_size(person), store_int(until)));
        renewed = (size_t)sqlite3_changes(project->db);
    }
    TRY(store_commit(&tx));
    if (kept) *kept = renewed;
    return SCANT_OK;
}

scant_status scant_project_release(scant_project *project, size_t person,
                                   const uint64_t *keys, size_t n_keys) {
    NEED(project);
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE_UNSYNCED);
    TRY(store_person_known(project, person));
    for (size_t i = 0; keys && i < n_keys; i++)
        TRY(store_do(project,
                     "UPDATE leases SET live = 0, until = min(until, ?3)"
                     " WHERE key = ?2 AND person = ?1 AND live = 1",
                     store_size(person), store_int((int64_t)keys[i]),
                     store_int(store_now(project))));
    if (!keys)
        TRY(store_do(project, "UPDATE leases SET live = 0 WHERE person = ?1 AND live = 1",
                     store_size(person)));
    return store_commit(&tx);
}
