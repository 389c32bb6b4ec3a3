/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit order: a random number for each item, by the project's seed and the item's
 * number; items ascend by it. What is withheld is what comes first of it (no copies). An
 * item that comes later takes its place in the order, and is withheld where that is
 * before the last one that is: the withheld stay a fair sample of all.
 *
 * An item whose group has one that is withheld (DB_BESIDE) is neither picked nor
 * learned from: a model would know the one by the other.
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

/* ---- how many ---------------------------------------------------------------------- */

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

/* The largest key that is withheld; -1: none is. */
static scant_status find_limit(scant_project *project, int64_t *limit) {
    sqlite3_stmt *s;
    size_t n, withheld, count = 0;
    bool row = true;
    double every;
    *limit = -1;
    TRY(store_setting(project, "audit_every", &every, NULL));
    if (every < 1) return SCANT_OK;
    TRY(store_items(project, &n));
    TRY(how_many(project, n, &withheld));
    if (!withheld) return SCANT_OK; /* nor of those that are no copies */
    uint64_t *keys = scant__alloc(project->ctx, n, sizeof *keys);
    if (!keys) return SCANT_ENOMEM;
    scant_status status = store_ask(
        project, "SELECT audit FROM items WHERE copy_of IS NULL", STORE_NONE, &s);
    while (status == SCANT_OK && row && count < n) {
        status = store_row(project, s, &row);
        if (status == SCANT_OK && row)
            keys[count++] = (uint64_t)sqlite3_column_int64(s, 0);
    }
    if (status == SCANT_OK && row) store_end(s);
    if (status == SCANT_OK) status = how_many(project, count, &withheld);
    if (status == SCANT_OK && withheld) {
        qsort(keys, count, sizeof *keys, by_key);
        *limit = (int64_t)keys[withheld - 1];
    }
    scant__free(project->ctx, keys);
    return status;
}

/* ---- applying it ------------------------------------------------------------------- */

/* Of items from first on, by the limit; those beside one follow. */
static const char mark_sql[] =
    "UPDATE items SET withheld = " SQL_WITHHELD
    " WHERE item >= ?1 AND copy_of IS NULL AND audit <= ?2 AND withheld <> " SQL_WITHHELD;
static const char unmark_sql[] = "UPDATE items SET withheld = " SQL_NOT_WITHHELD
                                 " WHERE item >= ?1 AND withheld <> " SQL_NOT_WITHHELD
                                 " AND (copy_of IS NOT NULL OR audit > ?2)";
/* In groups of items from first on; a copy stands for its original. */
static const char beside_sql[] =
    "UPDATE items SET withheld = " SQL_BESIDE " WHERE withheld = " SQL_NOT_WITHHELD
    " AND grp IN"
    " (SELECT i.grp FROM items i JOIN items o ON o.item = coalesce(i.copy_of, i.item)"
    "  WHERE o.withheld = " SQL_WITHHELD " AND i.grp IN"
    "   (SELECT grp FROM items WHERE item >= ?1 AND grp IS NOT NULL))";

/* Every item from first on, and all of their groups, gets its place in the queue; what is
 * not in it any more is nobody's. */
static scant_status requeue(scant_project *project, size_t first) {
    sqlite3_stmt *rows;
    bool row = true;
    scant_status status = SCANT_OK;
    TRY(store_do(project, "DELETE FROM queue WHERE item >= ?1 AND kind <> " SQL_OPINION,
                 STORE_VALUES(store_size(first))));
    TRY(store_do(project,
                 "DELETE FROM queue WHERE kind <> " SQL_OPINION " AND item IN"
                 " (SELECT item FROM items WHERE withheld = " SQL_BESIDE " AND grp IN"
                 "  (SELECT grp FROM items WHERE item >= ?1 AND grp IS NOT NULL))",
                 STORE_VALUES(store_size(first))));
    TRY(store_open_rows(project,
                        "SELECT item, withheld, coalesce(skips, 0) FROM items"
                        " LEFT JOIN states USING (item)"
                        " WHERE item >= ?1 AND copy_of IS NULL"
                        " AND withheld <> " SQL_BESIDE
                        " AND coalesce(answers + unsures, 0) = 0",
                        STORE_VALUES(store_size(first)), &rows));
    while (status == SCANT_OK && row) {
        status = store_row(project, rows, &row);
        if (status != SCANT_OK || !row) break;
        size_t item = store_count(rows, 0);
        int64_t key, kind = store_open_place(project, item,
                                             sqlite3_column_int64(rows, 1) == DB_WITHHELD,
                                             sqlite3_column_int64(rows, 2) > 0, &key);
        status =
            store_do(project, "INSERT INTO queue (item, kind, key) VALUES (?1, ?2, ?3)",
                     STORE_VALUES(store_size(item), store_int(kind), store_int(key)));
    }
    store_close_rows(rows);
    if (status != SCANT_OK) return status;
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

/* All items, as if they came just now. */
static scant_status apply_all(scant_project *project, int64_t limit) {
    TRY(set_limit(project, limit));
    TRY(store_do(project,
                 "UPDATE items SET withheld = " SQL_NOT_WITHHELD
                 " WHERE withheld = " SQL_BESIDE,
                 STORE_NONE));
    TRY(apply(project, 0, limit));
    TRY(store_do(project, "UPDATE rounds SET start = 0", STORE_NONE));
    return store_tally_recount(project);
}

scant_status store_audit_apply(scant_project *project) {
    int64_t limit, before;
    TRY(find_limit(project, &limit));
    TRY(store_meta_number(project, "audit_limit", -1, &before));
    return limit == before ? SCANT_OK : apply_all(project, limit);
}

/* What is learned from of the groups that items from first on are in: into the tallies,
 * or (more = -1) out of them. */
#define BESIDE                                                                           \
    " FROM items JOIN states USING (item) WHERE " DB_IN_TRAINING " AND grp IN"           \
    " (SELECT grp FROM items WHERE item >= ?1 AND grp IS NOT NULL)"

static scant_status tally_beside(scant_project *project, size_t first, int64_t more) {
    store_value from = store_size(first);
    int64_t training, untrained;
    TRY(store_one(project, "SELECT count(*)" BESIDE, STORE_VALUES(from), 0, &training));
    TRY(store_one(project, "SELECT count(*)" BESIDE " AND since > " DB_LAST_TRAINED,
                  STORE_VALUES(from), 0, &untrained));
    TRY(store_tally(project, "training", more * training));
    TRY(store_tally(project, "untrained", more * untrained));
    return store_do(project,
                    "UPDATE classes SET learned = learned + ?2 * n FROM"
                    " (SELECT label, count(*) AS n" BESIDE " GROUP BY label)"
                    " WHERE class = label",
                    STORE_VALUES(from, store_int(more)));
}

/* Adds new items to the tallies that count them. */
static scant_status tally_new(scant_project *project, size_t first) {
    int64_t n;
    TRY(store_one(project,
                  "SELECT count(*) FROM items WHERE item >= ?1 AND copy_of IS NOT NULL",
                  STORE_VALUES(store_size(first)), 0, &n));
    TRY(store_tally(project, "copies", n));
    TRY(store_one(
        project,
        "SELECT count(*) FROM items WHERE item >= ?1 AND withheld = " SQL_WITHHELD,
        STORE_VALUES(store_size(first)), 0, &n));
    TRY(store_tally(project, "withheld", n));
    return store_tally_front(project);
}

scant_status store_audit_extend(scant_project *project, size_t first) {
    int64_t limit;
    TRY(store_meta_number(project, "audit_limit", -1, &limit));
    if (limit < 0) { /* there may have been too few before. Models that have learned from
                      * one of those are not judged on it: they said nothing of it. */
        TRY(find_limit(project, &limit));
        if (limit >= 0) return apply_all(project, limit);
    }
    TRY(tally_beside(project, first, -1));
    TRY(apply(project, first, limit));
    TRY(tally_beside(project, first, 1));
    return tally_new(project, first);
}

scant_status store_audit_front(scant_project *project, int64_t items, int64_t *key) {
    return store_one(project,
                     "SELECT key FROM queue WHERE kind = ?1 AND item < ?2"
                     " ORDER BY key LIMIT 1",
                     STORE_VALUES(store_int(DB_AUDIT_FRESH), store_int(items)), INT64_MAX,
                     key);
}
