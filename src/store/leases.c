/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases reserve an item for one person for some minutes. A lease that has expired, was
 * released, or whose item needs no answer any more stays in the table for a while, not
 * live, so that a late answer can still be given its role.
 */
#include "scant/project.h"
#include "store/store_int.h"

scant_status store_lease_until(scant_project *project, int64_t *until) {
    double minutes;
    TRY(store_setting(project, "lease_minutes", &minutes, NULL));
    *until = store_now(project) + (int64_t)(60000 * minutes);
    return SCANT_OK;
}

scant_status store_person_known(scant_project *project, size_t person) {
    int64_t known = 0;
    if (person <= INT64_MAX)
        TRY(store_one(project, "SELECT person FROM people WHERE person = ?1",
                      STORE_VALUES(store_size(person)), 0, &known));
    if (known) return SCANT_OK;
    return scant__fail(project->ctx, SCANT_ENOTFOUND, "there is no person %zu", person);
}

scant_status store_lease_holder(scant_project *project, size_t item, size_t *person) {
    int64_t holder;
    TRY(store_one(
        project, "SELECT person FROM leases WHERE item = ?1 AND live = 1 AND until > ?2",
        STORE_VALUES(store_size(item), store_int(store_now(project))), 0, &holder));
    *person = (size_t)holder;
    return SCANT_OK;
}

scant_status store_lease_find(scant_project *project, size_t person, size_t item,
                              scant_lease *out) {
    sqlite3_stmt *s;
    bool row;
    *out = (scant_lease){.item = item};
    TRY(store_first(project,
                    "SELECT key, until, role, round FROM leases"
                    " WHERE item = ?1 AND person = ?2 AND live = 1",
                    STORE_VALUES(store_size(item), store_size(person)), &s, &row));
    if (!row) return SCANT_OK;
    out->key = (uint64_t)sqlite3_column_int64(s, 0);
    out->until = sqlite3_column_int64(s, 1);
    out->role = (scant_role)sqlite3_column_int(s, 2);
    out->round = store_count(s, 3);
    store_end(s);
    return SCANT_OK;
}

scant_status store_lease_give(scant_project *project, size_t person, size_t item,
                              scant_role role, size_t round, size_t model,
                              scant_lease *out) {
    *out = (scant_lease){.item = item, .role = role, .round = round};
    TRY(store_lease_until(project, &out->until));
    while (!out->key) sqlite3_randomness(sizeof out->key, &out->key);
    TRY(store_do(project, "UPDATE leases SET live = 0 WHERE item = ?1 AND live = 1",
                 STORE_VALUES(store_size(item))));
    return store_do(project,
                    "INSERT INTO leases (key, item, person, until, role, round, model,"
                    " live) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1)",
                    STORE_VALUES(store_int((int64_t)out->key), store_size(item),
                                 store_size(person), store_int(out->until),
                                 store_int(role), store_some(round), store_some(model)));
}

/* ---- renewing and releasing -------------------------------------------------------- */

typedef struct changing {
    size_t person;
    const uint64_t *keys;
    size_t n, changed;
} changing;

/* Runs sql for every key: ?1 is the person, ?2 the key, ?3 a time. */
static scant_status change_keys(scant_project *project, changing *c, const char *sql,
                                int64_t until) {
    for (size_t i = 0; i < c->n; i++) {
        TRY(store_do(project, sql,
                     STORE_VALUES(store_size(c->person), store_int((int64_t)c->keys[i]),
                                  store_int(until))));
        c->changed += (size_t)sqlite3_changes(project->db);
    }
    return SCANT_OK;
}

static scant_status renew(scant_project *project, void *arg) {
    changing *c = arg;
    int64_t until;
    c->changed = 0;
    TRY(store_lease_until(project, &until));
    TRY(store_person_known(project, c->person));
    if (c->keys)
        return change_keys(project, c,
                           "UPDATE leases SET until = ?3"
                           " WHERE key = ?2 AND person = ?1 AND live = 1",
                           until);
    TRY(store_do(project, "UPDATE leases SET until = ?2 WHERE person = ?1 AND live = 1",
                 STORE_VALUES(store_size(c->person), store_int(until))));
    c->changed = (size_t)sqlite3_changes(project->db);
    return SCANT_OK;
}

scant_status scant_project_renew(scant_project *project, size_t person,
                                 const uint64_t *keys, size_t n_keys, size_t *kept) {
    changing c = {person, keys, n_keys, 0};
    TRY(store_write_unsynced(project, renew, &c));
    if (kept) *kept = c.changed;
    return SCANT_OK;
}

static scant_status release(scant_project *project, void *arg) {
    changing *c = arg;
    TRY(store_person_known(project, c->person));
    if (c->keys)
        return change_keys(project, c,
                           "UPDATE leases SET live = 0, until = min(until, ?3)"
                           " WHERE key = ?2 AND person = ?1 AND live = 1",
                           store_now(project));
    return store_do(project, "UPDATE leases SET live = 0 WHERE person = ?1 AND live = 1",
                    STORE_VALUES(store_size(c->person)));
}

scant_status scant_project_release(scant_project *project, size_t person,
                                   const uint64_t *keys, size_t n_keys) {
    return store_write_unsynced(project, release, &(changing){person, keys, n_keys, 0});
}
