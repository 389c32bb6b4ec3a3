/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the next items for a person. Time is proportional to the number of items handed
 * out, open leases and items this person skipped: the queue has only items that need an
 * answer, and each person's position among second opinions is stored.
 *
 * One item in audit_every comes from the audit set, counted over all people's answers and
 * open leases except second opinions. Its position among each audit_every items is
 * random, so that annotators cannot recognise it.
 */
#include "core/rng.h"
#include "scant/project.h"
#include "store/store_int.h"

typedef struct handing {
    size_t person, count;
    scant_lease *leases;
    size_t n;
    size_t asked, audits; /* answers and open leases; the audit items among them */
    size_t every;         /* setting audit_every; 0: no audit */
    int64_t opinions;     /* queue key from which to search second opinions; -1: none */
    size_t round, model, batch, start;
} handing;

/* Condition: the item is not leased at time ?1 and not answered by person ?2. */
#define FREE(item)                                                                       \
    " AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.item = " item                       \
    "  AND l.live = 1 AND l.until > ?1)"                                                 \
    " AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.item = " item                      \
    "  AND a.person = ?2)"

/* ---- candidates -------------------------------------------------------------------- */

/* The first free item of a kind in the queue, with a key of at least `from`; -1: none. */
static scant_status first_of(scant_project *project, const handing *h, int64_t kind,
                             int64_t from, int64_t *item) {
    *item = TRY_ONE(project, -1,
                    "SELECT q.item FROM queue q WHERE q.kind = ?3 AND q.key >= ?4" FREE(
                        "q.item") " ORDER BY q.key LIMIT 1",
                    store_int(store_now(project)), store_size(h->person), store_int(kind),
                    store_int(from));
    return SCANT_OK;
}

static bool audit_is_due(const scant_project *project, const handing *h) {
    const scant__rng rng = {project->seed, SCANT__RNG_TURN};
    if (!h->every) return false;
    size_t turn = h->asked / h->every;
    uint64_t place = scant__rng_below(&rng, turn, h->every);
    return h->audits < turn + (h->asked % h->every >= place);
}

static scant_status audit(scant_project *project, const handing *h, int64_t *item) {
    /* Skipped items first: without them the audited sample would be biased. */
    TRY(first_of(project, h, DB_AUDIT_SKIPPED, 0, item));
    if (*item >= 0) return SCANT_OK;
    return first_of(project, h, DB_AUDIT_FRESH, 0, item);
}

/* The best remaining item of the last ranking. */
static scant_status ranked(scant_project *project, const handing *h, int64_t *item,
                           size_t *place) {
    *item = -1;
    if (!h->round) return SCANT_OK;
    STORE_EACH(row, project,
               "SELECT p.item, p.place FROM picks p CROSS JOIN queue q"
               " ON q.item = p.item AND q." DB_MAY_PICK
               " WHERE p.round = ?3 AND p.place >= ?4" FREE(
                   "p.item") " ORDER BY p.place LIMIT 1",
               store_int(store_now(project)), store_size(h->person), store_size(h->round),
               store_size(h->start)) {
        *item = store_integer(row, 0);
        *place = store_count(row, 1);
    }
    return SCANT_OK;
}

/* Finds any other item; items of the audit set come last. */
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
        TRY(first_of(project, h, order[i].kind, 0, item));
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
    *item = -1;
    if (h->opinions >= 0) /* longest waiting first */
        TRY(first_of(project, h, DB_OPINION, h->opinions, item));
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

/* Renews the person's live leases and returns them first. */
static scant_status hand_own(scant_project *project, handing *h) {
    int64_t until;
    TRY(store_lease_until(project, &until));
    STORE_EACH(row, project,
               "SELECT item, key, role, round FROM leases l"
               " WHERE person = ?1 AND live = 1 AND NOT EXISTS"
               "  (SELECT 1 FROM answers a WHERE a.item = l.item AND a.person = ?1)"
               " ORDER BY lease LIMIT ?2",
               store_size(h->person), store_size(size_min(h->count, 1 << 20)))
        h->leases[h->n++] = (scant_lease){.item = store_count(row, 0),
                                          .key = (uint64_t)store_integer(row, 1),
                                          .role = (scant_role)store_integer(row, 2),
                                          .round = store_count(row, 3),
                                          .until = until};
    for (size_t i = 0; i < h->n; i++)
        TRY(store_do(project, "UPDATE leases SET until = ?2 WHERE key = ?1",
                     store_int((int64_t)h->leases[i].key), store_int(until)));
    return SCANT_OK;
}

/* ---- counts and positions ---------------------------------------------------------- */

static scant_status count_asked(scant_project *project, handing *h) {
    double every;
    h->asked = (size_t)TRY_ONE(project, 0, "SELECT n FROM tally WHERE name = 'asked'");
    h->audits = (size_t)TRY_ONE(project, 0, "SELECT n FROM tally WHERE name = 'audits'");
    STORE_EACH(row, project,
               "SELECT count(*), sum(role = " SQL_AUDIT ") FROM leases"
               " WHERE live = 1 AND until > ?1 AND " DB_ROLE_IS_ASKED,
               store_int(store_now(project))) {
        h->asked += store_count(row, 0);
        h->audits += store_count(row, 1);
    }
    TRY(store_setting(project, "audit_every", &every));
    h->every = (size_t)every;
    return SCANT_OK;
}

/* Finds the first item in the queue that needs a second opinion and that this person has
 * not answered. Stores its key, so that items before it, which may still need answers of
 * other people, are not searched again. */
static scant_status read_opinions(scant_project *project, handing *h) {
    store_value person = store_size(h->person), kind = store_int(DB_OPINION);
    int64_t start =
        TRY_ONE(project, 0, "SELECT opinions FROM people WHERE person = ?1", person);
    h->opinions = TRY_ONE(project, -1,
                          "SELECT q.key FROM queue q WHERE q.kind = ?1 AND q.key >= ?2"
                          " AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.item = q.item"
                          "  AND a.person = ?3) ORDER BY q.key LIMIT 1",
                          kind, store_int(start), person);
    int64_t place = h->opinions;
    if (place < 0) /* none: after the last one */
        place =
            TRY_ONE(project, 0, "SELECT max(key) + 1 FROM queue WHERE kind = ?1", kind);
    if (place <= start) return SCANT_OK;
    return store_do(project, "UPDATE people SET opinions = ?2 WHERE person = ?1", person,
                    store_int(place));
}

/* Reads the last round; stores the first place of its ranking still to hand out. */
static scant_status read_round(scant_project *project, handing *h) {
    STORE_EACH(row, project,
               "SELECT round, model, batch, start FROM rounds"
               " ORDER BY round DESC LIMIT 1") {
        h->round = store_count(row, 0);
        h->model = store_count(row, 1);
        h->batch = store_count(row, 2);
        h->start = store_count(row, 3);
    }
    if (!h->round) return SCANT_OK;
    store_value round = store_size(h->round);
    int64_t start =
        TRY_ONE(project, -1,
                "SELECT p.place FROM picks p CROSS JOIN queue q"
                " ON q.item = p.item AND q." DB_MAY_PICK
                " WHERE p.round = ?1 AND p.place >= ?2 ORDER BY p.place LIMIT 1",
                round, store_size(h->start));
    if (start < 0) /* none: after its end */
        start = TRY_ONE(project, 0, "SELECT max(place) + 1 FROM picks WHERE round = ?1",
                        round);
    if ((size_t)start <= h->start) return SCANT_OK;
    h->start = (size_t)start;
    return store_do(project, "UPDATE rounds SET start = ?2 WHERE round = ?1", round,
                    store_int(start));
}

static scant_status next(scant_project *project, handing *h) {
    TRY(store_person_known(project, h->person));
    TRY(store_leases_clean(project));
    TRY(hand_own(project, h));
    if (h->n >= h->count) return SCANT_OK;
    TRY(count_asked(project, h));
    TRY(read_opinions(project, h));
    TRY(read_round(project, h));
    return hand_out(project, h);
}

scant_status scant_project_next(scant_project *project, size_t person, size_t count,
                                scant_lease *leases, size_t *n) {
    NEED(project);
    handing h = {.person = person, .count = count, .leases = leases};
    *n = 0;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE_UNSYNCED);
    TRY(next(project, &h));
    TRY(store_commit(&tx));
    *n = h.n;
    return SCANT_OK;
}

/* ---- leasing given items ----------------------------------------------------------- */

/* Leases an item without answers, or renews the person's lease. *taken false: the item
 * is leased to somebody else, or not DB_FRESH. */
static scant_status take(scant_project *project, size_t person, size_t item,
                         scant_lease *lease, bool *taken) {
    size_t holder;
    *taken = false;
    if (item > INT64_MAX ||
        TRY_ONE(project, -1,
                "SELECT item FROM queue WHERE item = ?1 AND kind = " SQL_FRESH,
                store_size(item)) < 0)
        return SCANT_OK;
    TRY(store_lease_holder(project, item, &holder));
    if (holder && holder != person) return SCANT_OK;
    *taken = true;
    TRY(store_lease_find(project, person, item, lease));
    if (!lease->key)
        return store_lease_give(project, person, item, SCANT_ROLE_ALIKE, 0, 0, lease);
    TRY(store_lease_until(project, &lease->until));
    return store_do(project, "UPDATE leases SET until = ?2 WHERE key = ?1",
                    store_int((int64_t)lease->key), store_int(lease->until));
}

scant_status scant_project_take(scant_project *project, size_t person,
                                const size_t *items, size_t n_items, scant_lease *leases,
                                size_t *n) {
    NEED(project);
    size_t count = 0;
    bool taken;
    *n = 0;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE_UNSYNCED);
    TRY(store_person_known(project, person));
    TRY(store_leases_clean(project));
    for (size_t i = 0; i < n_items; i++) {
        TRY(take(project, person, items[i], &leases[count], &taken));
        count += taken;
    }
    TRY(store_commit(&tx));
    *n = count;
    return SCANT_OK;
}
