/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the items that models are trained and evaluated on: labelled items outside the
 * audit set, the audit set in its order; and the items that may be picked.
 */
#include "scant/project.h"
#include "store/store_int.h"

/* A list of items with label and prediction, in the arena. */
typedef struct listing {
    size_t *items;
    int32_t *labels, *predicted;
    size_t n, room;            /* rows so far; allocated rows, from count(*) */
    size_t n_items, n_classes; /* of the project */
} listing;

/* Makes room for n rows. */
static scant_status make_room(scant_project *project, scant__arena *arena, int64_t n,
                              listing *out) {
    *out = (listing){.room = (size_t)n};
    TRY(store_items(project, &out->n_items));
    TRY(store_classes(project, &out->n_classes));
    if (n < 0 || (uint64_t)n > out->n_items)
        return store_damaged(project, "there are more labels than items");
    out->items = TRY_NEW(arena, size_t, out->room);
    out->labels = TRY_NEW(arena, int32_t, out->room);
    out->predicted = TRY_NEW(arena, int32_t, out->room);
    return SCANT_OK;
}

/* The class in a column; NULL and -1: none. */
static scant_status class_of(store_cursor row, int column, size_t classes, int32_t *out) {
    int64_t label = store_integer_or(row, column, -1);
    if (label < -1 || label >= (int64_t)classes)
        return store_damaged(row.project, "a label is not a class");
    *out = (int32_t)label;
    return SCANT_OK;
}

static scant_status add_row(listing *l, store_cursor row) {
    if (l->n >= l->room)
        return store_damaged(row.project, "an index and its table do not agree");
    TRY(store_index(row, 0, l->n_items, &l->items[l->n]));
    TRY(class_of(row, 1, l->n_classes, &l->labels[l->n]));
    TRY(class_of(row, 2, l->n_classes, &l->predicted[l->n]));
    l->n++;
    return SCANT_OK;
}

/* ---- training ---------------------------------------------------------------------- */

#define LEARNED " FROM states s CROSS JOIN items i USING (item) WHERE " DB_IN_TRAINING

scant_status store_training(scant_project *project, scant__arena *arena, size_t **items,
                            int32_t **labels, size_t *n, int64_t *entry) {
    listing l;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    *entry = TRY_ONE(project, 0, "SELECT max(entry) FROM labels");
    int64_t count = TRY_ONE(project, 0, "SELECT count(*)" LEARNED);
    TRY(make_room(project, arena, count, &l));
    STORE_EACH(row, project,
               "SELECT s.item, s.label, NULL" LEARNED " ORDER BY s.since, s.item")
        TRY(add_row(&l, row));
    *items = l.items;
    *labels = l.labels;
    *n = l.n;
    return store_commit(&tx);
}

/* ---- the audit set ----------------------------------------------------------------- */

scant_status store_audit(scant_project *project, scant__arena *arena, size_t **items,
                         int32_t **labels, size_t *n) {
    listing l;
    int64_t front;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    TRY(store_audit_front(project, INT64_MAX, &front));
    int64_t count =
        TRY_ONE(project, 0, "SELECT count(*) FROM items WHERE withheld = " SQL_WITHHELD);
    TRY(make_room(project, arena, count, &l));
    STORE_EACH(row, project,
               "SELECT i.item, CASE WHEN i.audit < ?1 THEN s.label END, NULL"
               " FROM items i LEFT JOIN states s USING (item)"
               " WHERE i.withheld = " SQL_WITHHELD " ORDER BY i.audit, i.item",
               store_int(front))
        TRY(add_row(&l, row));
    *items = l.items;
    *labels = l.labels;
    *n = l.n;
    return store_commit(&tx);
}

scant_status store_audit_open(scant_project *project, scant__arena *arena, size_t **items,
                              size_t *n, size_t *seen) {
    listing l;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    int64_t count =
        TRY_ONE(project, 0, "SELECT count(*) FROM queue WHERE " DB_AUDIT_OPEN);
    TRY(make_room(project, arena, count, &l));
    int64_t fresh =
        TRY_ONE(project, 0, "SELECT count(*) FROM queue WHERE kind = " SQL_AUDIT_FRESH);
    int64_t withheld = TRY_ONE(project, 0, "SELECT n FROM tally WHERE name = 'withheld'");
    STORE_EACH(row, project,
               "SELECT item, NULL, NULL FROM queue WHERE " DB_AUDIT_OPEN
               " ORDER BY kind, key, item")
        TRY(add_row(&l, row));
    *items = l.items;
    *n = l.n;
    *seen = withheld > fresh ? (size_t)(withheld - fresh) : 0;
    return store_commit(&tx);
}

scant_status store_audit_waiting(scant_project *project, size_t *n, size_t *before) {
    int64_t front;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    TRY(store_audit_front(project, INT64_MAX, &front));
    *n = (size_t)TRY_ONE(project, 0,
                         "SELECT count(*) FROM items CROSS JOIN states USING (item)"
                         " WHERE withheld = " SQL_WITHHELD
                         " AND audit >= ?1 AND label >= 0",
                         store_int(front));
    *before = (size_t)TRY_ONE(project, 0,
                              "SELECT item FROM queue WHERE kind = " SQL_AUDIT_FRESH
                              " AND key = ?1",
                              store_int(front));
    return store_commit(&tx);
}

/* ?1: the model; ?2: the smallest audit key without an answer; ?3: items from this number
 * on are left out. The model has no predictions for items added after its training. */
#define DRAWN " WHERE i.withheld = " SQL_WITHHELD " AND i.audit < ?2 AND i.item < ?3"
#define AUDIT_PREDICTIONS                                                                \
    " FROM items i JOIN verdicts v ON v.model = ?1 AND v.item = i.item"                  \
    " JOIN states s ON s.item = i.item" DRAWN " AND s.label >= 0"

scant_status store_predictions_read(scant_project *project, size_t model, size_t items,
                                    scant__arena *arena, store_predictions *out) {
    listing l;
    int64_t front;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    int64_t end = TRY_ONE(project, 0, "SELECT items FROM models WHERE model = ?1",
                          store_size(model));
    if (items && (int64_t)items < end) end = (int64_t)items;
    TRY(store_audit_front(project, end, &front));
    const store_value of = store_size(model), before = store_int(front),
                      below = store_int(end);
    int64_t count =
        TRY_ONE(project, 0, "SELECT count(*)" AUDIT_PREDICTIONS, of, before, below);
    TRY(make_room(project, arena, count, &l));
    int64_t left_out = TRY_ONE(project, 0,
                               "SELECT count(*) FROM items i JOIN verdicts v"
                               " ON v.model = ?1 AND v.item = i.item"
                               " LEFT JOIN states s ON s.item = i.item" DRAWN
                               " AND coalesce(s.label, -1) < 0",
                               of, before, below);
    STORE_EACH(row, project,
               "SELECT i.item, s.label, v.class" AUDIT_PREDICTIONS
               " ORDER BY i.audit, i.item",
               of, before, below)
        TRY(add_row(&l, row));
    *out = (store_predictions){l.items, l.predicted, l.labels, l.n,
                               left_out > 0 ? (size_t)left_out : 0};
    return store_commit(&tx);
}

/* ---- candidates -------------------------------------------------------------------- */

scant_status store_candidates(scant_project *project, scant__arena *arena,
                              int64_t **items, size_t *n) {
    size_t n_items, item, count = 0;
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    TRY(store_items(project, &n_items));
    size_t room =
        (size_t)TRY_ONE(project, 0, "SELECT count(*) FROM queue WHERE kind = " SQL_FRESH);
    *items = TRY_NEW(arena, int64_t, room);
    STORE_EACH(row, project,
               "SELECT item FROM queue NOT INDEXED WHERE kind = " SQL_FRESH
               " ORDER BY item") {
        if (count >= room)
            return store_damaged(project, "an index and its table do not agree");
        TRY(store_index(row, 0, n_items, &item));
        (*items)[count++] = (int64_t)item;
    }
    *n = count;
    return store_commit(&tx);
}

/* ---- origins of labels ------------------------------------------------------------- */

/* Origins in the order of store_training(). A round picks only items without a label. */
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
    size_t count = 0;
    STORE_EACH(row, project, origins_sql, store_int(STORE_BY_STRATEGY),
               store_int(STORE_BY_CHANCE), store_int(STORE_BY_OTHERS)) {
        if (count < n) out[count] = (unsigned char)store_integer(row, 0);
        count++;
    }
    return count == n ? SCANT_OK
                      : store_damaged(project, "an index and its table do not agree");
}

scant_status store_snapshot_read(scant_project *project, scant__arena *arena,
                                 store_snapshot *out) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    *out = (store_snapshot){0};
    TRY(store_training(project, arena, &out->items, &out->labels, &out->n, &out->entry));
    out->origins = TRY_NEW(arena, unsigned char, out->n);
    TRY(read_origins(project, out->origins, out->n));
    TRY(store_audit(project, arena, &out->audit, &out->audit_labels, &out->n_audit));
    TRY(store_candidates(project, arena, &out->candidates, &out->n_candidates));
    return store_commit(&tx);
}
