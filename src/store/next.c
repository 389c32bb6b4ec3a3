/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the next items for a person. The work is proportional to the items handed out,
 * the open leases and the items this person skipped: only items that need an answer are
 * in the queue, and each person's position among second opinions is stored.
 *
 * One item in audit_every comes from the audit set, counted over the answers and open
 * leases of all people without second opinions. Its position among each audit_every is
 * random, so that nobody can tell which it is.
 */
#include "core/rng.h"
#include "scant/project.h"
#include "store/store_int.h"

typedef struct handing {
    size_t person, count;
    scant_lease *leases;
    size_t n;
    size_t asked, audits; /* answers and open leases; those of the audit set */
    size_t every;         /* the setting; 0: no audit */
    int64_t opinions;     /* first second opinion that this person may give; -1: none */
    size_t round, model, batch, start;
    const size_t *items; /* of scant_project_take() */
    size_t n_items;
} handing;

/* Not leased at ?1 (now), and not answered by person ?2. */
#define FREE(item)                                                                       \
    " AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.item = " item                       \
    "  AND l.live = 1 AND l.until > ?1)"                                                 \
    " AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.item = " item                      \
    "  AND a.person = ?2)"

/* ---- candidates -------------------------------------------------------------------- */

static scant_status first_of(scant_project *project, const handing *h, int64_t kind,
                             int64_t *item) {
    return store_one(project,
                     "SELECT q.item FROM queue q WHERE q.kind = ?3" FREE(
                         "q.item") " ORDER BY q.key LIMIT 1",
                     STORE_VALUES(store_int(store_now(project)), store_size(h->person),
                                  store_int(kind)),
                     -1, item);
}

/* The item that has waited longest for a second opinion. */
static scant_status opinion(scant_project *project, const handing *h, int64_t *item) {
    *item = -1;
    if (h->opinions < 0) return SCANT_OK;
    return store_one(project,
                     "SELECT q.item FROM queue q WHERE q.kind = ?3 AND q.key >= ?4" FREE(
                         "q.item") " ORDER BY q.key LIMIT 1",
                     STORE_VALUES(store_int(store_now(project)), store_size(h->person),
                                  store_int(DB_OPINION), store_int(h->opinions)),
                     -1, item);
}

static bool audit_is_due(const scant_project *project, const handing *h) {
    const scant__rng rng = {project->seed, SCANT__RNG_TURN};
    if (!h->every) return false;
    size_t turn = h->asked / h->every;
    uint64_t place = scant__rng_below(&rng, turn, h->every);
    return h->audits < turn + (h->asked % h->every >= place);
}

static scant_status audit(scant_project *project, const handing *h, int64_t *item) {
    /* Skipped items go to somebody else soon: the sample must not miss them. */
    TRY(first_of(project, h, DB_AUDIT_SKIPPED, item));
    if (*item >= 0) return SCANT_OK;
    return first_of(project, h, DB_AUDIT_FRESH, item);
}

/* The best remaining item of the last ranking. */
static scant_status ranked(scant_project *project, const handing *h, int64_t *item,
                           size_t *place) {
    sqlite3_stmt *s;
    bool row;
    *item = -1;
    if (!h->round) return SCANT_OK;
    TRY(store_first(project,
                    "SELECT p.item, p.place FROM picks p CROSS JOIN queue q"
                    " ON q.item = p.item AND q." DB_MAY_PICK
                    " WHERE p.round = ?3 AND p.place >= ?4" FREE(
                        "p.item") " ORDER BY p.place LIMIT 1",
                    STORE_VALUES(store_int(store_now(project)), store_size(h->person),
                                 store_size(h->round), store_size(h->start)),
                    &s, &row));
    if (!row) return SCANT_OK;
    *item = sqlite3_column_int64(s, 0);
    *place = store_count(s, 1);
    store_end(s);
    return SCANT_OK;
}

/* Any other item; the audit set when nothing else is left. */
static scant_status any(scant_project *project, const handing *h, int64_t *item,
                        scant_role *role) {
    static const struct {
        int64_t kind;
        scant_role role;
    } order[] = {{DB_FRESH, SCANT_ROLE_FILL},
                 {DB_SKIPPED, SCANT_ROLE_FILL},
                 {DB_AUDIT_SKIPPED, SCANT_ROLE_AUDIT},
                 {DB_AUDIT_FRESH, SCANT_ROLE_AUDIT}};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        TRY(first_of(project, h, order[i].kind, item));
        *role = order[i].role;
        if (*item >= 0) return SCANT_OK;
    }
    return SCANT_OK;
}

/* ---- handing out ------------------------------------------------------------------- */

/* *item: the next item; -1: there are no more. */
static scant_status choose(scant_project *project, const handing *h, int64_t *item,
                           scant_role *role, size_t *round) {
    size_t place = 0;
    *round = 0;
    *role = SCANT_ROLE_OVERLAP;
    TRY(opinion(project, h, item));
    if (*item >= 0) return SCANT_OK;
    *role = SCANT_ROLE_AUDIT;
    if (audit_is_due(project, h)) TRY(audit(project, h, item));
    if (*item >= 0) return SCANT_OK;
    TRY(ranked(project, h, item, &place));
    *role = place < h->batch ? SCANT_ROLE_PICK : SCANT_ROLE_FILL;
    *round = h->round;
    if (*item >= 0) return SCANT_OK;
    *round = 0;
    return any(project, h, item, role);
}

static scant_status hand_out(scant_project *project, handing *h) {
    int64_t item;
    scant_role role;
    size_t round;
    while (h->n < h->count) {
        TRY(choose(project, h, &item, &role, &round));
        if (item < 0) return SCANT_OK;
        TRY(store_lease_give(project, h->person, (size_t)item, role, round,
                             round ? h->model : 0, &h->leases[h->n]));
        h->n++;
        if (role != SCANT_ROLE_OVERLAP) h->asked++;
        if (role == SCANT_ROLE_AUDIT) h->audits++;
    }
    return SCANT_OK;
}

/* The person's open leases, renewed. */
static scant_status hand_own(scant_project *project, handing *h) {
    sqlite3_stmt *s;
    bool row;
    int64_t until;
    TRY(store_lease_until(project, &until));
    TRY(store_ask(
        project,
        "SELECT item, key, role, round FROM leases l"
        " WHERE person = ?1 AND live = 1 AND NOT EXISTS"
        "  (SELECT 1 FROM answers a WHERE a.item = l.item AND a.person = ?1)"
        " ORDER BY lease LIMIT ?2",
        STORE_VALUES(store_size(h->person), store_size(size_min(h->count, 1 << 20))),
        &s));
    for (;;) {
        TRY(store_row(project, s, &row));
        if (!row) break;
        h->leases[h->n++] = (scant_lease){.item = store_count(s, 0),
                                          .key = (uint64_t)sqlite3_column_int64(s, 1),
                                          .role = (scant_role)sqlite3_column_int(s, 2),
                                          .round = store_count(s, 3),
                                          .until = until};
    }
    for (size_t i = 0; i < h->n; i++)
        TRY(store_do(
            project, "UPDATE leases SET until = ?2 WHERE key = ?1",
            STORE_VALUES(store_int((int64_t)h->leases[i].key), store_int(until))));
    return SCANT_OK;
}

/* ---- progress ---------------------------------------------------------------------- */

static scant_status count_asked(scant_project *project, handing *h) {
    sqlite3_stmt *s;
    bool row;
    int64_t asked, audits;
    TRY(store_one(project, "SELECT n FROM tally WHERE name = 'asked'", STORE_NONE, 0,
                  &asked));
    TRY(store_one(project, "SELECT n FROM tally WHERE name = 'audits'", STORE_NONE, 0,
                  &audits));
    TRY(store_first(project,
                    "SELECT count(*), sum(role = " SQL_AUDIT ") FROM leases"
                    " WHERE live = 1 AND until > ?1 AND " DB_ROLE_IS_ASKED,
                    STORE_VALUES(store_int(store_now(project))), &s, &row));
    if (row) {
        h->asked = (size_t)asked + store_count(s, 0);
        h->audits = (size_t)audits + store_count(s, 1);
        store_end(s);
    }
    double every;
    TRY(store_setting(project, "audit_every", &every, NULL));
    h->every = (size_t)every;
    return SCANT_OK;
}

/* The position of the first second opinion that this person has not given. It is stored,
 * so that items before it, which may still wait for others, are not searched again. */
static scant_status read_opinions(scant_project *project, handing *h) {
    store_value person = store_size(h->person), kind = store_int(DB_OPINION);
    int64_t start, place;
    TRY(store_one(project, "SELECT opinions FROM people WHERE person = ?1",
                  STORE_VALUES(person), 0, &start));
    TRY(store_one(project,
                  "SELECT q.key FROM queue q WHERE q.kind = ?1 AND q.key >= ?2"
                  " AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.item = q.item"
                  "  AND a.person = ?3) ORDER BY q.key LIMIT 1",
                  STORE_VALUES(kind, store_int(start), person), -1, &h->opinions));
    place = h->opinions;
    if (place < 0) /* none: past the last one */
        TRY(store_one(project, "SELECT max(key) + 1 FROM queue WHERE kind = ?1",
                      STORE_VALUES(kind), 0, &place));
    if (place <= start) return SCANT_OK;
    return store_do(project, "UPDATE people SET opinions = ?2 WHERE person = ?1",
                    STORE_VALUES(person, store_int(place)));
}

/* The last round, and the first place of its ranking that is left. */
static scant_status read_round(scant_project *project, handing *h) {
    sqlite3_stmt *s;
    bool row;
    int64_t start;
    TRY(store_first(project,
                    "SELECT round, model, batch, start FROM rounds"
                    " ORDER BY round DESC LIMIT 1",
                    STORE_NONE, &s, &row));
    if (!row) return SCANT_OK;
    h->round = store_count(s, 0);
    h->model = store_count(s, 1);
    h->batch = store_count(s, 2);
    h->start = store_count(s, 3);
    store_end(s);
    TRY(store_one(project,
                  "SELECT p.place FROM picks p CROSS JOIN queue q"
                  " ON q.item = p.item AND q." DB_MAY_PICK
                  " WHERE p.round = ?1 AND p.place >= ?2 ORDER BY p.place LIMIT 1",
                  STORE_VALUES(store_size(h->round), store_size(h->start)), -1, &start));
    if (start < 0) /* none: past its end */
        TRY(store_one(project, "SELECT max(place) + 1 FROM picks WHERE round = ?1",
                      STORE_VALUES(store_size(h->round)), 0, &start));
    if ((size_t)start <= h->start) return SCANT_OK;
    h->start = (size_t)start;
    return store_do(project, "UPDATE rounds SET start = ?2 WHERE round = ?1",
                    STORE_VALUES(store_size(h->round), store_int(start)));
}

static scant_status next(scant_project *project, void *arg) {
    handing *h = arg;
    h->n = 0;
    TRY(store_person_known(project, h->person));
    TRY(store_do(project, "DELETE FROM leases WHERE until < ?1",
                 STORE_VALUES(store_int(store_now(project) - STORE_LEASES_KEPT))));
    TRY(hand_own(project, h));
    if (h->n >= h->count) return SCANT_OK;
    TRY(count_asked(project, h));
    TRY(read_opinions(project, h));
    TRY(read_round(project, h));
    return hand_out(project, h);
}

scant_status scant_project_next(scant_project *project, size_t person, size_t count,
                                scant_lease *leases, size_t *n) {
    handing h = {.person = person, .count = count, .leases = leases};
    *n = 0;
    TRY(store_write_unsynced(project, next, &h));
    *n = h.n;
    return SCANT_OK;
}

/* ---- given items ------------------------------------------------------------------- */

/* The person's lease of an item, renewed; key 0: there is none. */
static scant_status own_lease(scant_project *project, size_t person, size_t item,
                              scant_lease *out) {
    TRY(store_lease_find(project, person, item, out));
    if (!out->key) return SCANT_OK;
    TRY(store_lease_until(project, &out->until));
    return store_do(project, "UPDATE leases SET until = ?2 WHERE key = ?1",
                    STORE_VALUES(store_int((int64_t)out->key), store_int(out->until)));
}

static scant_status take(scant_project *project, void *arg) {
    handing *h = arg;
    h->n = 0;
    TRY(store_person_known(project, h->person));
    for (size_t i = 0; i < h->n_items; i++) {
        int64_t item = -1;
        size_t holder;
        scant_lease *lease = &h->leases[h->n];
        if (h->items[i] <= INT64_MAX)
            TRY(store_one(project,
                          "SELECT item FROM queue WHERE item = ?1 AND kind = " SQL_FRESH,
                          STORE_VALUES(store_size(h->items[i])), -1, &item));
        if (item < 0) continue;
        TRY(store_lease_holder(project, (size_t)item, &holder));
        if (holder && holder != h->person) continue;
        TRY(own_lease(project, h->person, (size_t)item, lease));
        if (!lease->key)
            TRY(store_lease_give(project, h->person, (size_t)item, SCANT_ROLE_ALIKE, 0, 0,
                                 lease));
        h->n++;
    }
    return SCANT_OK;
}

scant_status scant_project_take(scant_project *project, size_t person,
                                const size_t *items, size_t n_items, scant_lease *leases,
                                size_t *n) {
    handing h = {.person = person, .leases = leases, .items = items, .n_items = n_items};
    *n = 0;
    TRY(store_write_unsynced(project, take, &h));
    *n = h.n;
    return SCANT_OK;
}
