/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit order sorts items by a random key, a function of the project's seed and the
 * item's number. The audit set is the first items of that order, without copies. An item
 * that is added later joins the set if its key is below the largest one in it, so that
 * the set stays a random sample of all items.
 *
 * An item that shares a group with an item of the audit set (DB_AUDIT_GROUP) is neither
 * picked nor trained on: a model trained on it would be evaluated on a similar item.
 */
#include <math.h>
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

int64_t store_queue_place(const scant_project *project, size_t item, bool audit,
                          bool skipped, int64_t *key) {
    *key = (int64_t)(audit ? store_audit_key(project->seed, item)
                           : store_fill_key(project->seed, item));
    return (audit ? DB_AUDIT_FRESH : DB_FRESH) + skipped;
}

/* ---- size of the audit set --------------------------------------------------------- */

enum { LEAST = 10, SHARE = 5, USUAL = 1000 };

static scant_status audit_count(scant_project *project, size_t n, size_t *out) {
    double most;
    TRY(store_setting(project, "audit_most", &most));
    if (!isnan(most))
        *out = size_min((size_t)most, n);
    else
        *out = n < LEAST ? 0 : size_min(USUAL, n / SHARE);
    return SCANT_OK;
}

static int by_key(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The largest audit key of the audit set; -1: the set is empty. */
static scant_status find_limit(scant_project *project, int64_t *limit) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = project->ctx};
    size_t n = 0, items, withheld;
    double every;
    *limit = -1;
    TRY(store_setting(project, "audit_every", &every));
    if (every < 1) return SCANT_OK;
    TRY(store_items(project, &items));
    TRY(audit_count(project, items, &withheld));
    if (!withheld) return SCANT_OK; /* leaving out copies only makes it smaller */
    uint64_t *keys = TRY_NEW(&arena, uint64_t, items);
    STORE_EACH(row, project, "SELECT audit FROM items WHERE copy_of IS NULL")
        if (n < items) keys[n++] = (uint64_t)store_integer(row, 0);
    TRY(audit_count(project, n, &withheld));
    if (!withheld) return SCANT_OK;
    qsort(keys, n, sizeof *keys, by_key);
    *limit = (int64_t)keys[withheld - 1];
    return SCANT_OK;
}

/* ---- drawing the audit set --------------------------------------------------------- */

/* Put items into the audit set, or take them out. ?1: the first item that may change; ?2:
 * the largest audit key of the set. */
static const char mark_sql[] =
    "UPDATE items SET withheld = " SQL_WITHHELD
    " WHERE item >= ?1 AND copy_of IS NULL AND audit <= ?2 AND withheld <> " SQL_WITHHELD;
static const char unmark_sql[] = "UPDATE items SET withheld = " SQL_NOT_WITHHELD
                                 " WHERE item >= ?1 AND withheld <> " SQL_NOT_WITHHELD
                                 " AND (copy_of IS NOT NULL OR audit > ?2)";
/* Marks items that share a group with an item of the audit set, or with a copy of one. It
 * changes only groups that have an item from ?1 on. */
static const char beside_sql[] =
    "UPDATE items SET withheld = " SQL_AUDIT_GROUP " WHERE withheld = " SQL_NOT_WITHHELD
    " AND grp IN"
    " (SELECT i.grp FROM items i JOIN items o ON o.item = coalesce(i.copy_of, i.item)"
    "  WHERE o.withheld = " SQL_WITHHELD " AND i.grp IN"
    "   (SELECT grp FROM items WHERE item >= ?1 AND grp IS NOT NULL))";

/* Rebuilds the queue for items from first on, and removes items of their groups that have
 * become DB_AUDIT_GROUP. Ends the leases of items that are no longer in the queue. */
static scant_status requeue(scant_project *project, size_t first) {
    store_value from = store_size(first);
    TRY(store_do(project, "DELETE FROM queue WHERE item >= ?1 AND kind <> " SQL_OPINION,
                 from));
    TRY(store_do(project,
                 "DELETE FROM queue WHERE kind <> " SQL_OPINION " AND item IN"
                 " (SELECT item FROM items WHERE withheld = " SQL_AUDIT_GROUP
                 " AND grp IN"
                 "  (SELECT grp FROM items WHERE item >= ?1 AND grp IS NOT NULL))",
                 from));
    STORE_EACH(row, project,
               "SELECT item, withheld, coalesce(skips, 0) FROM items"
               " LEFT JOIN states USING (item)"
               " WHERE item >= ?1 AND copy_of IS NULL AND withheld <> " SQL_AUDIT_GROUP
               " AND coalesce(answers + unsures, 0) = 0",
               from) {
        int64_t key, kind = store_queue_place(project, store_count(row, 0),
                                              store_integer(row, 1) == DB_WITHHELD,
                                              store_count(row, 2), &key);
        TRY(store_do(project, "INSERT INTO queue (item, kind, key) VALUES (?1, ?2, ?3)",
                     store_int(store_integer(row, 0)), store_int(kind), store_int(key)));
    }
    return store_do(project, "UPDATE leases SET live = 0 WHERE live = 1"
                             " AND item NOT IN (SELECT item FROM queue)");
}

static scant_status apply(scant_project *project, size_t first, int64_t limit) {
    store_value from = store_size(first), most = store_int(limit);
    TRY(store_do(project, unmark_sql, from, most));
    if (limit >= 0) {
        TRY(store_do(project, mark_sql, from, most));
        TRY(store_do(project, beside_sql, from));
    }
    return requeue(project, first);
}

/* Draws the audit set anew from all items. */
static scant_status apply_all(scant_project *project, int64_t limit) {
    TRY(store_meta_set(project, "audit_limit", store_int(limit)));
    TRY(store_do(project, "UPDATE items SET withheld = " SQL_NOT_WITHHELD
                          " WHERE withheld = " SQL_AUDIT_GROUP));
    TRY(apply(project, 0, limit));
    TRY(store_do(project, "UPDATE rounds SET start = 0"));
    return store_counters_recount(project);
}

scant_status store_audit_apply(scant_project *project) {
    int64_t limit, before;
    TRY(find_limit(project, &limit));
    TRY(store_meta_number(project, "audit_limit", -1, &before));
    return limit == before ? SCANT_OK : apply_all(project, limit);
}

/* Updates the counters for training items that share a group with an item from first on:
 * adds these items (more = 1) or subtracts them (more = -1). */
#define IN_GROUPS                                                                        \
    " FROM items JOIN states USING (item) WHERE " DB_IN_TRAINING " AND grp IN"           \
    " (SELECT grp FROM items WHERE item >= ?1 AND grp IS NOT NULL)"

static scant_status count_groups(scant_project *project, size_t first, int64_t more) {
    store_value from = store_size(first);
    int64_t training = TRY_ONE(project, 0, "SELECT count(*)" IN_GROUPS, from);
    int64_t untrained = TRY_ONE(
        project, 0, "SELECT count(*)" IN_GROUPS " AND since > " DB_LAST_TRAINED, from);
    TRY(store_counter_add(project, "training", more * training));
    TRY(store_counter_add(project, "untrained", more * untrained));
    return store_do(project,
                    "UPDATE classes SET learned = learned + ?2 * n FROM"
                    " (SELECT label, count(*) AS n" IN_GROUPS " GROUP BY label)"
                    " WHERE class = label",
                    from, store_int(more));
}

/* Adds items from first on to the counters. */
static scant_status count_new(scant_project *project, size_t first) {
    store_value from = store_size(first);
    int64_t copies = TRY_ONE(
        project, 0, "SELECT count(*) FROM items WHERE item >= ?1 AND copy_of IS NOT NULL",
        from);
    int64_t withheld = TRY_ONE(
        project, 0,
        "SELECT count(*) FROM items WHERE item >= ?1 AND withheld = " SQL_WITHHELD, from);
    TRY(store_counter_add(project, "copies", copies));
    TRY(store_counter_add(project, "withheld", withheld));
    return store_counters_audit(project);
}

scant_status store_audit_extend(scant_project *project, size_t first) {
    int64_t limit;
    TRY(store_meta_number(project, "audit_limit", -1, &limit));
    if (limit < 0) {
        /* So far there may have been too few items for an audit set. Earlier models have
         * no predictions for items that join it now, so they are not evaluated on them.
         */
        TRY(find_limit(project, &limit));
        if (limit >= 0) return apply_all(project, limit);
    }
    TRY(count_groups(project, first, -1));
    TRY(apply(project, first, limit));
    TRY(count_groups(project, first, 1));
    return count_new(project, first);
}

scant_status store_audit_front(scant_project *project, int64_t items, int64_t *key) {
    *key = TRY_ONE(project, INT64_MAX,
                   "SELECT key FROM queue WHERE kind = ?1 AND item < ?2"
                   " ORDER BY key LIMIT 1",
                   store_int(DB_AUDIT_FRESH), store_int(items));
    return SCANT_OK;
}
