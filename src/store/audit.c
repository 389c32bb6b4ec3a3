/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit order sorts items by a random key, a function of the project's seed and the
 * item's number. The audit set is the first items of that order, without copies. An item
 * that is added later joins the set if its key is below the largest one in it, so that
 * the set stays a random sample of all items.
 *
 * An item that shares a group with one of the audit set (DB_BESIDE) is neither picked nor
 * trained on: the model would know the one from the other.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/rng.h"
#include "scant/project.h"
#include "store/store_int.h"

uint64_t store_audit_key(uint64_t seed, size_t item) {
    return scant__rng_u64(&(scant__rng){seed, SCANT__RNG_AUDIT}, item) >> 1;
}

uint64_t store_fill_key(uint64_t seed, size_t item) {
    return scant__rng_u64(&(scant__rng){seed, SCANT__RNG_FILL}, item) >> 1;
}

int64_t store_open_place(const scant_project *project, size_t item, bool audit,
                         bool skipped, int64_t *key) {
    *key = (int64_t)(audit ? store_audit_key(project->seed, item)
                           : store_fill_key(project->seed, item));
    return (audit ? DB_AUDIT_FRESH : DB_FRESH) + skipped;
}

/* ---- its size -----------------------------------------------------------------------
 */

enum { LEAST = 10, SHARE = 5, USUAL = 1000 };

static scant_status how_many(scant_project *project, size_t n, size_t *out) {
    double most;
    bool automatic;
    *out = 0;
    TRY(store_setting(project, "audit_most", &most, &automatic));
    if (!automatic)
        *out = size_min((size_t)most, n);
    else if (n >= LEAST)
        *out = size_min(USUAL, n / SHARE);
    return SCANT_OK;
}

static int by_key(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

typedef struct key_list {
    uint64_t *keys;
    size_t n, room;
} key_list;

static scant_status take_key(scant_project *project, sqlite3_stmt *row, void *arg) {
    key_list *l = arg;
    (void)project;
    if (l->n < l->room) l->keys[l->n++] = (uint64_t)sqlite3_column_int64(row, 0);
    return SCANT_OK;
}

/* The largest audit key of the audit set; -1: the set is empty. */
static scant_status find_limit(scant_project *project, int64_t *limit) {
    key_list l = {0};
    size_t withheld;
    double every;
    *limit = -1;
    TRY(store_setting(project, "audit_every", &every, NULL));
    if (every < 1) return SCANT_OK;
    TRY(store_items(project, &l.room));
    TRY(how_many(project, l.room, &withheld));
    if (!withheld) return SCANT_OK; /* without the copies it is not more */
    l.keys = scant__alloc(project->ctx, l.room, sizeof *l.keys);
    if (!l.keys) return SCANT_ENOMEM;
    scant_status status =
        store_each(project, "SELECT audit FROM items WHERE copy_of IS NULL", STORE_NONE,
                   take_key, &l);
    if (status == SCANT_OK) status = how_many(project, l.n, &withheld);
    if (status == SCANT_OK && withheld) {
        qsort(l.keys, l.n, sizeof *l.keys, by_key);
        *limit = (int64_t)l.keys[withheld - 1];
    }
    scant__free(project->ctx, l.keys);
    return status;
}

/* ---- applying it ------------------------------------------------------------------- */

/* Items from first on, by the limit; beside_sql marks the rest of their groups. */
static const char mark_sql[] =
    "UPDATE items SET withheld = " SQL_WITHHELD
    " WHERE item >= ?1 AND copy_of IS NULL AND audit <= ?2 AND withheld <> " SQL_WITHHELD;
static const char unmark_sql[] = "UPDATE items SET withheld = " SQL_NOT_WITHHELD
                                 " WHERE item >= ?1 AND withheld <> " SQL_NOT_WITHHELD
                                 " AND (copy_of IS NOT NULL OR audit > ?2)";
/* Groups of items from first on; a copy counts as its original. */
static const char beside_sql[] =
    "UPDATE items SET withheld = " SQL_BESIDE " WHERE withheld = " SQL_NOT_WITHHELD
    " AND grp IN"
    " (SELECT i.grp FROM items i JOIN items o ON o.item = coalesce(i.copy_of, i.item)"
    "  WHERE o.withheld = " SQL_WITHHELD " AND i.grp IN"
    "   (SELECT grp FROM items WHERE item >= ?1 AND grp IS NOT NULL))";

static scant_status queue_item(scant_project *project, sqlite3_stmt *row, void *arg) {
    size_t item = store_count(row, 0);
    bool withheld = sqlite3_column_int64(row, 1) == DB_WITHHELD;
    int64_t key;
    (void)arg;
    int64_t kind = store_open_place(project, item, withheld, store_count(row, 2), &key);
    return store_do(project, "INSERT INTO queue (item, kind, key) VALUES (?1, ?2, ?3)",
                    STORE_VALUES(store_size(item), store_int(kind), store_int(key)));
}

/* Queues items from first on, and the rest of their groups, anew; leases of items that
 * are no longer in the queue end. */
static scant_status requeue(scant_project *project, size_t first) {
    store_value from = store_size(first);
    TRY(store_do(project, "DELETE FROM queue WHERE item >= ?1 AND kind <> " SQL_OPINION,
                 STORE_VALUES(from)));
    TRY(store_do(project,
                 "DELETE FROM queue WHERE kind <> " SQL_OPINION " AND item IN"
                 " (SELECT item FROM items WHERE withheld = " SQL_BESIDE " AND grp IN"
                 "  (SELECT grp FROM items WHERE item >= ?1 AND grp IS NOT NULL))",
                 STORE_VALUES(from)));
    TRY(store_each(project,
                   "SELECT item, withheld, coalesce(skips, 0) FROM items"
                   " LEFT JOIN states USING (item)"
                   " WHERE item >= ?1 AND copy_of IS NULL AND withheld <> " SQL_BESIDE
                   " AND coalesce(answers + unsures, 0) = 0",
                   STORE_VALUES(from), queue_item, NULL));
    return store_do(project,
                    "UPDATE leases SET live = 0 WHERE live = 1"
                    " AND item NOT IN (SELECT item FROM queue)",
                    STORE_NONE);
}

static scant_status apply(scant_project *project, size_t first, int64_t limit) {
    store_value from = store_size(first);
    TRY(store_do(project, unmark_sql, STORE_VALUES(from, store_int(limit))));
    if (limit >= 0) {
        TRY(store_do(project, mark_sql, STORE_VALUES(from, store_int(limit))));
        TRY(store_do(project, beside_sql, STORE_VALUES(from)));
    }
    return requeue(project, first);
}

static scant_status set_limit(scant_project *project, int64_t limit) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)limit);
    return store_meta_set(project, "audit_limit", text);
}

/* All items, as if they were new. */
static scant_status apply_all(scant_project *project, int64_t limit) {
    TRY(set_limit(project, limit));
    TRY(store_do(project,
                 "UPDATE items SET withheld = " SQL_NOT_WITHHELD
                 " WHERE withheld = " SQL_BESIDE,
                 STORE_NONE));
    TRY(apply(project, 0, limit));
    TRY(store_do(project, "UPDATE rounds SET start = 0", STORE_NONE));
    return store_counters_recount(project);
}

scant_status store_audit_apply(scant_project *project) {
    int64_t limit, before;
    TRY(find_limit(project, &limit));
    TRY(store_meta_number(project, "audit_limit", -1, &before));
    return limit == before ? SCANT_OK : apply_all(project, limit);
}

/* Adds the training items of the groups of items from first on to the counters, or
 * (more = -1) subtracts them. */
#define BESIDE                                                                           \
    " FROM items JOIN states USING (item) WHERE " DB_IN_TRAINING " AND grp IN"           \
    " (SELECT grp FROM items WHERE item >= ?1 AND grp IS NOT NULL)"

static scant_status count_groups(scant_project *project, size_t first, int64_t more) {
    store_value from = store_size(first);
    int64_t training, untrained;
    TRY(store_one(project, "SELECT count(*)" BESIDE, STORE_VALUES(from), 0, &training));
    TRY(store_one(project, "SELECT count(*)" BESIDE " AND since > " DB_LAST_TRAINED,
                  STORE_VALUES(from), 0, &untrained));
    TRY(store_counter_add(project, "training", more * training));
    TRY(store_counter_add(project, "untrained", more * untrained));
    return store_do(project,
                    "UPDATE classes SET learned = learned + ?2 * n FROM"
                    " (SELECT label, count(*) AS n" BESIDE " GROUP BY label)"
                    " WHERE class = label",
                    STORE_VALUES(from, store_int(more)));
}

/* Counts new items. */
static scant_status count_new(scant_project *project, size_t first) {
    int64_t n;
    TRY(store_one(project,
                  "SELECT count(*) FROM items WHERE item >= ?1 AND copy_of IS NOT NULL",
                  STORE_VALUES(store_size(first)), 0, &n));
    TRY(store_counter_add(project, "copies", n));
    TRY(store_one(
        project,
        "SELECT count(*) FROM items WHERE item >= ?1 AND withheld = " SQL_WITHHELD,
        STORE_VALUES(store_size(first)), 0, &n));
    TRY(store_counter_add(project, "withheld", n));
    return store_counters_audit(project);
}

scant_status store_audit_extend(scant_project *project, size_t first) {
    int64_t limit;
    TRY(store_meta_number(project, "audit_limit", -1, &limit));
    if (limit <
        0) { /* There may have been too few items. Models trained on one that joins the
              * set now are not evaluated on it: they have no verdict on it. */
        TRY(find_limit(project, &limit));
        if (limit >= 0) return apply_all(project, limit);
    }
    TRY(count_groups(project, first, -1));
    TRY(apply(project, first, limit));
    TRY(count_groups(project, first, 1));
    return count_new(project, first);
}

scant_status store_audit_front(scant_project *project, int64_t items, int64_t *key) {
    return store_one(project,
                     "SELECT key FROM queue WHERE kind = ?1 AND item < ?2"
                     " ORDER BY key LIMIT 1",
                     STORE_VALUES(store_int(DB_AUDIT_FRESH), store_int(items)), INT64_MAX,
                     key);
}
