/* SPDX-License-Identifier: Apache-2.0
 *
 * What models are trained and evaluated on: labelled items outside the audit set, the
 * audit set in its order, and the items that may be picked.
 */
#include "scant/project.h"
#include "store/store_int.h"

typedef struct listing {
    scant__arena *arena;
    size_t *items;
    int64_t *candidates;
    int32_t *labels, *verdicts;
    size_t n, room;            /* rows so far, and as many as were counted */
    size_t n_items, n_classes; /* of the project */
    size_t model, bound;       /* of store_verdicts() */
    size_t seen, left_out;
    int64_t entry;
} listing;

/* Makes room for as many rows as count_sql returns. */
static scant_status make_room(scant_project *project, listing *l, const char *count_sql,
                              const store_value *values, size_t n_values) {
    int64_t n;
    TRY(store_one(project, count_sql, values, n_values, 0, &n));
    TRY(store_items(project, &l->n_items));
    TRY(store_classes(project, &l->n_classes));
    if (n < 0 || (uint64_t)n > l->n_items)
        return store_damaged(project, "there are more labels than items");
    l->n = 0;
    l->room = (size_t)n;
    l->items = scant__arena_alloc(l->arena, (size_t)n, sizeof *l->items);
    l->labels = scant__arena_alloc(l->arena, (size_t)n, sizeof *l->labels);
    l->verdicts = scant__arena_alloc(l->arena, (size_t)n, sizeof *l->verdicts);
    return l->items && l->labels && l->verdicts ? SCANT_OK : SCANT_ENOMEM;
}

/* The class in a column; NULL and -1: none. */
static scant_status class_of(scant_project *project, sqlite3_stmt *s, int column,
                             size_t classes, int32_t *out) {
    int64_t label = store_number_or(s, column, -1);
    if (label < -1 || label >= (int64_t)classes)
        return store_damaged(project, "a label is no class");
    *out = (int32_t)label;
    return SCANT_OK;
}

/* A row of item, label and perhaps verdict. */
static scant_status take_row(scant_project *project, sqlite3_stmt *row, void *arg) {
    listing *l = arg;
    if (l->n >= l->room)
        return store_damaged(project, "an index and its table do not agree");
    TRY(store_index(project, row, 0, l->n_items, &l->items[l->n]));
    TRY(class_of(project, row, 1, l->n_classes, &l->labels[l->n]));
    if (sqlite3_column_count(row) > 2)
        TRY(class_of(project, row, 2, l->n_classes, &l->verdicts[l->n]));
    l->n++;
    return SCANT_OK;
}

/* ---- training ---------------------------------------------------------------------- */

#define LEARNED " FROM states s CROSS JOIN items i USING (item) WHERE " DB_IN_TRAINING

static scant_status read_training(scant_project *project, void *arg) {
    listing *l = arg;
    TRY(store_one(project, "SELECT max(entry) FROM labels", STORE_NONE, 0, &l->entry));
    TRY(make_room(project, l, "SELECT count(*)" LEARNED, STORE_NONE));
    return store_each(project,
                      "SELECT s.item, s.label" LEARNED " ORDER BY s.since, s.item",
                      STORE_NONE, take_row, l);
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
    return store_each(project,
                      "SELECT i.item, CASE WHEN i.audit < ?1 THEN s.label END"
                      " FROM items i LEFT JOIN states s USING (item)"
                      " WHERE i.withheld = " SQL_WITHHELD " ORDER BY i.audit, i.item",
                      STORE_VALUES(store_int(front)), take_row, l);
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
    return store_each(project,
                      "SELECT item, NULL FROM queue WHERE " DB_AUDIT_OPEN
                      " ORDER BY kind, key, item",
                      STORE_NONE, take_row, l);
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

typedef struct waiting {
    size_t n, before;
} waiting;

static scant_status read_waiting(scant_project *project, void *arg) {
    waiting *w = arg;
    int64_t front, n, item;
    TRY(store_audit_front(project, INT64_MAX, &front));
    TRY(store_one(project,
                  "SELECT count(*) FROM items CROSS JOIN states USING (item)"
                  " WHERE withheld = " SQL_WITHHELD " AND audit >= ?1 AND label >= 0",
                  STORE_VALUES(store_int(front)), 0, &n));
    TRY(store_one(project,
                  "SELECT item FROM queue WHERE kind = " SQL_AUDIT_FRESH " AND key = ?1",
                  STORE_VALUES(store_int(front)), 0, &item));
    *w = (waiting){(size_t)n, (size_t)item};
    return SCANT_OK;
}

scant_status store_audit_waiting(scant_project *project, size_t *n, size_t *before) {
    waiting w;
    TRY(store_read(project, read_waiting, &w));
    *n = w.n;
    *before = w.before;
    return SCANT_OK;
}

/* Only items that existed when the model was trained: it has no verdicts on items that
 * were added to the audit set later. */
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
    return store_each(
        project, "SELECT i.item, s.label, v.class" JUDGED " ORDER BY i.audit, i.item",
        values, 3, take_row, l);
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

static scant_status take_candidate(scant_project *project, sqlite3_stmt *row, void *arg) {
    listing *l = arg;
    size_t item;
    if (l->n >= l->room)
        return store_damaged(project, "an index and its table do not agree");
    TRY(store_index(project, row, 0, l->n_items, &item));
    l->candidates[l->n++] = (int64_t)item;
    return SCANT_OK;
}

static scant_status read_candidates(scant_project *project, void *arg) {
    listing *l = arg;
    int64_t n;
    TRY(store_items(project, &l->n_items));
    TRY(store_one(project, "SELECT count(*) FROM queue WHERE kind = " SQL_FRESH,
                  STORE_NONE, 0, &n));
    l->room = (size_t)n;
    l->candidates = scant__arena_alloc(l->arena, l->room, sizeof *l->candidates);
    if (!l->candidates) return SCANT_ENOMEM;
    return store_each(project,
                      "SELECT item FROM queue NOT INDEXED WHERE kind = " SQL_FRESH
                      " ORDER BY item",
                      STORE_NONE, take_candidate, l);
}

scant_status store_candidates(scant_project *project, scant__arena *arena,
                              int64_t **items, size_t *n) {
    listing l = {.arena = arena};
    TRY(store_read(project, read_candidates, &l));
    *items = l.candidates;
    *n = l.n;
    return SCANT_OK;
}

/* ---- origins of labels ---------------------------------------------------------------
 */

/* In the order of read_training(). Items of a batch had no label when it was picked. */
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

typedef struct origin_list {
    unsigned char *out;
    size_t n, room;
} origin_list;

static scant_status take_origin(scant_project *project, sqlite3_stmt *row, void *arg) {
    origin_list *l = arg;
    if (l->n >= l->room)
        return store_damaged(project, "an index and its table do not agree");
    l->out[l->n++] = (unsigned char)sqlite3_column_int64(row, 0);
    return SCANT_OK;
}

static scant_status read_origins(scant_project *project, unsigned char *out, size_t n) {
    origin_list l = {out, 0, n};
    TRY(store_each(project, origins_sql,
                   STORE_VALUES(store_int(STORE_BY_STRATEGY), store_int(STORE_BY_CHANCE),
                                store_int(STORE_BY_OTHERS)),
                   take_origin, &l));
    return l.n == n ? SCANT_OK
                    : store_damaged(project, "an index and its table do not agree");
}

/* ---- a snapshot ------------------------------------------------------------ */

typedef struct snapshot {
    scant__arena *arena;
    store_snapshot *out;
} snapshot;

static scant_status read_snapshot(scant_project *project, void *arg) {
    const snapshot *a = arg;
    store_snapshot *out = a->out;
    TRY(store_training(project, a->arena, &out->items, &out->labels, &out->n,
                       &out->entry));
    out->origins = scant__arena_alloc(a->arena, out->n, 1);
    if (!out->origins) return SCANT_ENOMEM;
    TRY(read_origins(project, out->origins, out->n));
    TRY(store_audit(project, a->arena, &out->audit, &out->audit_labels, &out->n_audit));
    return store_candidates(project, a->arena, &out->candidates, &out->n_candidates);
}

scant_status store_snapshot_read(scant_project *project, scant__arena *arena,
                                 store_snapshot *out) {
    *out = (store_snapshot){0};
    return store_read(project, read_snapshot, &(snapshot){arena, out});
}
