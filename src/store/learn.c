/* SPDX-License-Identifier: Apache-2.0
 *
 * What models learn from and are judged by: items with labels, apart from those that are
 * withheld; these in the audit order; what may be picked.
 */
#include "scant/project.h"
#include "store/store_int.h"

typedef struct listing {
    scant__arena *arena;
    size_t *items;
    int64_t *candidates;
    int32_t *labels, *verdicts;
    size_t n, room, model, bound, seen, left_out;
    int64_t entry;
} listing;

/* Room for as many as count_sql says. */
static scant_status make_room(scant_project *project, listing *l, const char *count_sql,
                              const store_value *values, size_t n_values) {
    int64_t n;
    size_t items;
    TRY(store_one(project, count_sql, values, n_values, 0, &n));
    TRY(store_items(project, &items));
    if (n < 0 || (uint64_t)n > items)
        return store_damaged(project, "there are more labels than items");
    l->n = 0;
    l->room = (size_t)n;
    l->items = scant__arena_alloc(l->arena, (size_t)n, sizeof *l->items);
    l->labels = scant__arena_alloc(l->arena, (size_t)n, sizeof *l->labels);
    l->verdicts = scant__arena_alloc(l->arena, (size_t)n, sizeof *l->verdicts);
    return l->items && l->labels && l->verdicts ? SCANT_OK : SCANT_ENOMEM;
}

/* A class, or -1, of a column. */
static scant_status class_of(scant_project *project, sqlite3_stmt *s, int column,
                             size_t classes, int32_t *out) {
    int64_t label = sqlite3_column_type(s, column) == SQLITE_NULL
                        ? -1
                        : sqlite3_column_int64(s, column);
    if (label < -1 || label >= (int64_t)classes)
        return store_damaged(project, "a label is no class");
    *out = (int32_t)label;
    return SCANT_OK;
}

/* Rows of item, label and maybe verdict into the arrays. sql's count was asked before, in
 * the same transaction. */
static scant_status read_rows(scant_project *project, listing *l, const char *sql,
                              const store_value *values, size_t n_values, bool verdicts) {
    sqlite3_stmt *s;
    size_t items, classes;
    bool row;
    TRY(store_items(project, &items));
    TRY(store_classes(project, &classes));
    TRY(store_ask(project, sql, values, n_values, &s));
    for (;; l->n++) {
        TRY(store_row(project, s, &row));
        if (!row) return SCANT_OK;
        scant_status status =
            l->n < l->room
                ? store_index(project, s, 0, items, &l->items[l->n])
                : store_damaged(project, "an index and its table do not agree");
        if (status == SCANT_OK)
            status = class_of(project, s, 1, classes, &l->labels[l->n]);
        if (status == SCANT_OK && verdicts)
            status = class_of(project, s, 2, classes, &l->verdicts[l->n]);
        if (status == SCANT_OK) continue;
        store_end(s);
        return status;
    }
}

/* ---- training ---------------------------------------------------------------------- */

#define LEARNED " FROM states s CROSS JOIN items i USING (item) WHERE " DB_IN_TRAINING

static scant_status read_training(scant_project *project, void *arg) {
    listing *l = arg;
    TRY(store_one(project, "SELECT max(entry) FROM labels", STORE_NONE, 0, &l->entry));
    TRY(make_room(project, l, "SELECT count(*)" LEARNED, STORE_NONE));
    return read_rows(project, l,
                     "SELECT s.item, s.label" LEARNED " ORDER BY s.since, s.item",
                     STORE_NONE, false);
}

scant_status store_training(scant_project *project, scant__arena *arena, size_t **items,
                            int32_t **labels, size_t *n, int64_t *entry) {
    listing l = {.arena = arena};
    TRY(store_read(project, read_training, &l));
    *items = l.items;
    *labels = l.labels;
    *n = l.n;
    *entry = l.entry;
    return SCANT_OK;
}

/* ---- the audit --------------------------------------------------------------------- */

static scant_status read_audit(scant_project *project, void *arg) {
    listing *l = arg;
    int64_t front;
    TRY(store_audit_front(project, INT64_MAX, &front));
    TRY(make_room(project, l, "SELECT count(*) FROM items WHERE withheld = " SQL_WITHHELD,
                  STORE_NONE));
    return read_rows(project, l,
                     "SELECT i.item, CASE WHEN i.audit < ?1 THEN s.label END"
                     " FROM items i LEFT JOIN states s USING (item)"
                     " WHERE i.withheld = " SQL_WITHHELD " ORDER BY i.audit, i.item",
                     STORE_VALUES(store_int(front)), false);
}

scant_status store_audit(scant_project *project, scant__arena *arena, size_t **items,
                         int32_t **labels, size_t *n) {
    listing l = {.arena = arena};
    TRY(store_read(project, read_audit, &l));
    *items = l.items;
    *labels = l.labels;
    *n = l.n;
    return SCANT_OK;
}

static scant_status read_open(scant_project *project, void *arg) {
    listing *l = arg;
    int64_t fresh, withheld;
    TRY(make_room(project, l, "SELECT count(*) FROM queue WHERE " DB_AUDIT_OPEN,
                  STORE_NONE));
    TRY(store_one(project, "SELECT count(*) FROM queue WHERE kind = " SQL_AUDIT_FRESH,
                  STORE_NONE, 0, &fresh));
    TRY(store_one(project, "SELECT n FROM tally WHERE name = 'withheld'", STORE_NONE, 0,
                  &withheld));
    l->seen = withheld > fresh ? (size_t)(withheld - fresh) : 0;
    return read_rows(project, l,
                     "SELECT item, NULL FROM queue WHERE " DB_AUDIT_OPEN
                     " ORDER BY kind, key, item",
                     STORE_NONE, false);
}

scant_status store_audit_open(scant_project *project, scant__arena *arena, size_t **items,
                              size_t *n, size_t *seen) {
    listing l = {.arena = arena};
    TRY(store_read(project, read_open, &l));
    *items = l.items;
    *n = l.n;
    *seen = l.seen;
    return SCANT_OK;
}

typedef struct ahead {
    size_t n, before;
} ahead;

static scant_status read_waiting(scant_project *project, void *arg) {
    ahead *a = arg;
    int64_t front, n, item;
    TRY(store_audit_front(project, INT64_MAX, &front));
    TRY(store_one(project,
                  "SELECT count(*) FROM items CROSS JOIN states USING (item)"
                  " WHERE withheld = " SQL_WITHHELD " AND audit >= ?1 AND label >= 0",
                  STORE_VALUES(store_int(front)), 0, &n));
    TRY(store_one(project,
                  "SELECT item FROM queue WHERE kind = " SQL_AUDIT_FRESH " AND key = ?1",
                  STORE_VALUES(store_int(front)), 0, &item));
    *a = (ahead){(size_t)n, (size_t)item};
    return SCANT_OK;
}

scant_status store_audit_waiting(scant_project *project, size_t *n, size_t *before) {
    ahead a;
    TRY(store_read(project, read_waiting, &a));
    *n = a.n;
    *before = a.before;
    return SCANT_OK;
}

/* Of the items that there were when the model was trained: those that came later took
 * places of the audit order that it was not asked about. */
#define DRAWN " WHERE i.withheld = " SQL_WITHHELD " AND i.audit < ?2 AND i.item < ?3"
#define JUDGED                                                                           \
    " FROM items i JOIN verdicts v ON v.model = ?1 AND v.item = i.item"                  \
    " JOIN states s ON s.item = i.item" DRAWN " AND s.label >= 0"

static scant_status read_verdicts(scant_project *project, void *arg) {
    listing *l = arg;
    int64_t front, bound, left_out;
    TRY(store_one(project, "SELECT items FROM models WHERE model = ?1",
                  STORE_VALUES(store_size(l->model)), 0, &bound));
    if (l->bound && (int64_t)l->bound < bound) bound = (int64_t)l->bound;
    TRY(store_audit_front(project, bound, &front));
    const store_value values[] = {store_size(l->model), store_int(front),
                                  store_int(bound)};
    TRY(make_room(project, l, "SELECT count(*)" JUDGED, values, 3));
    TRY(store_one(project,
                  "SELECT count(*) FROM items i JOIN verdicts v"
                  " ON v.model = ?1 AND v.item = i.item"
                  " LEFT JOIN states s ON s.item = i.item" DRAWN
                  " AND coalesce(s.label, -1) < 0",
                  values, 3, 0, &left_out));
    l->left_out = left_out > 0 ? (size_t)left_out : 0;
    return read_rows(project, l,
                     "SELECT i.item, s.label, v.class" JUDGED " ORDER BY i.audit, i.item",
                     values, 3, true);
}

scant_status store_verdicts(scant_project *project, size_t model, size_t items,
                            scant__arena *arena, store_judged *out) {
    listing l = {.arena = arena, .model = model, .bound = items};
    TRY(store_read(project, read_verdicts, &l));
    *out = (store_judged){.items = l.items,
                          .verdicts = l.verdicts,
                          .labels = l.labels,
                          .n = l.n,
                          .left_out = l.left_out};
    return SCANT_OK;
}

/* ---- candidates -------------------------------------------------------------------- */

static scant_status read_candidates(scant_project *project, void *arg) {
    listing *l = arg;
    sqlite3_stmt *s;
    size_t items, item;
    int64_t n;
    bool row;
    TRY(store_items(project, &items));
    TRY(store_one(project, "SELECT count(*) FROM queue WHERE kind = " SQL_FRESH,
                  STORE_NONE, 0, &n));
    l->candidates = scant__arena_alloc(l->arena, (size_t)n, sizeof *l->candidates);
    if (!l->candidates) return SCANT_ENOMEM;
    TRY(store_ask(project,
                  "SELECT item FROM queue NOT INDEXED WHERE kind = " SQL_FRESH
                  " ORDER BY item",
                  STORE_NONE, &s));
    for (; l->n < (size_t)n; l->n++) {
        TRY(store_row(project, s, &row));
        if (!row) return SCANT_OK;
        scant_status status = store_index(project, s, 0, items, &item);
        l->candidates[l->n] = (int64_t)item;
        if (status == SCANT_OK) continue;
        store_end(s);
        return status;
    }
    store_end(s);
    return SCANT_OK;
}

scant_status store_candidates(scant_project *project, scant__arena *arena,
                              int64_t **items, size_t *n) {
    listing l = {.arena = arena};
    TRY(store_read(project, read_candidates, &l));
    *items = l.candidates;
    *n = l.n;
    return SCANT_OK;
}

/* ---- how labels came --------------------------------------------------------------- */

/* In the order of read_training(). A batch is of items that had no label then. */
#define IN_BATCH                                                                         \
    "s.item IN (SELECT p.item FROM rounds r CROSS JOIN picks p USING (round)"            \
    " WHERE p.place < r.batch AND r.strategy "
static const char origins_sql[] =
    "SELECT CASE WHEN " IN_BATCH "<> 'random') THEN ?1"
    " WHEN " IN_BATCH "= 'random') THEN ?2"
    " WHEN l.role = " SQL_FILL " AND (r.strategy IS NULL OR r.strategy = 'random')"
    " THEN ?2 ELSE ?3 END"
    " FROM states s CROSS JOIN items i USING (item)"
    " LEFT JOIN labels l ON l.entry = s.since LEFT JOIN rounds r ON r.round = l.round"
    " WHERE " DB_IN_TRAINING " ORDER BY s.since, s.item";

static scant_status read_origins(scant_project *project, unsigned char *out, size_t n) {
    sqlite3_stmt *s;
    bool row;
    TRY(store_ask(project, origins_sql,
                  STORE_VALUES(store_int(STORE_BY_STRATEGY), store_int(STORE_BY_CHANCE),
                               store_int(STORE_BY_OTHERS)),
                  &s));
    for (size_t i = 0; i < n; i++) {
        TRY(store_row(project, s, &row));
        if (!row) return store_damaged(project, "an index and its table do not agree");
        out[i] = (unsigned char)sqlite3_column_int64(s, 0);
    }
    store_end(s);
    return SCANT_OK;
}

/* ---- all of it at once ------------------------------------------------------------- */

typedef struct lesson {
    scant__arena *arena;
    store_lesson *out;
} lesson;

static scant_status read_lesson(scant_project *project, void *arg) {
    const lesson *a = arg;
    store_lesson *out = a->out;
    TRY(store_training(project, a->arena, &out->items, &out->labels, &out->n,
                       &out->entry));
    out->origins = scant__arena_alloc(a->arena, out->n, 1);
    if (!out->origins) return SCANT_ENOMEM;
    TRY(read_origins(project, out->origins, out->n));
    TRY(store_audit(project, a->arena, &out->audit, &out->audit_labels, &out->n_audit));
    return store_candidates(project, a->arena, &out->candidates, &out->n_candidates);
}

scant_status store_lesson_read(scant_project *project, scant__arena *arena,
                               store_lesson *out) {
    *out = (store_lesson){0};
    return store_read(project, read_lesson, &(lesson){arena, out});
}
