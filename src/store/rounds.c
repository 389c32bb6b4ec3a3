/* SPDX-License-Identifier: Apache-2.0
 *
 * Trained models, rounds and their picks.
 */
#include "scant/project.h"
#include "store/store_int.h"

/* ---- models ------------------------------------------------------------------------ */

typedef struct adding {
    const store_model *model;
    const store_round *round;
    const size_t *items;
    const int32_t *verdicts;
    const scant_pick *picks;
    size_t n, number;
} adding;

static scant_status put_verdicts(scant_project *project, const adding *a) {
    for (size_t i = 0; i < a->n; i++)
        TRY(store_do(project,
                     "INSERT INTO verdicts (model, item, class) VALUES (?1, ?2, ?3)",
                     STORE_VALUES(store_size(a->number), store_size(a->items[i]),
                                  store_int(a->verdicts[i]))));
    return SCANT_OK;
}

static scant_status put_model(scant_project *project, void *arg) {
    adding *a = arg;
    const store_model *m = a->model;
    TRY(store_do(
        project,
        "INSERT INTO models (at, entry, seed, labels, classes, items, file, seconds,"
        " agreement, over_random, over_random_low, over_random_high,"
        " over_random_labels)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        STORE_VALUES(store_int(store_now(project)), store_int(m->entry),
                     store_int((int64_t)m->seed), store_size(m->labels),
                     store_size(m->classes), store_size(m->items), store_text(m->file),
                     store_real(m->seconds), store_real(m->agreement),
                     store_real(m->over_random), store_real(m->over_random_low),
                     store_real(m->over_random_high),
                     store_size(m->over_random_labels))));
    a->number = (size_t)sqlite3_last_insert_rowid(project->db);
    TRY(store_counters_trained(project));
    return put_verdicts(project, a);
}

scant_status store_model_add(scant_project *project, const store_model *model,
                             const size_t *items, const int32_t *verdicts, size_t n,
                             size_t *number) {
    adding a = {.model = model, .items = items, .verdicts = verdicts, .n = n};
    TRY(store_write(project, put_model, &a));
    if (number) *number = a.number;
    return SCANT_OK;
}

#define MODELS                                                                           \
    "SELECT model, at, entry, seed, labels, classes, items, file, seconds, agreement,"   \
    " over_random, over_random_low, over_random_high, over_random_labels FROM models"    \
    " ORDER BY model"

static scant_status take_model(scant_project *project, sqlite3_stmt *s,
                               store_model *out) {
    *out = (store_model){.number = store_count(s, 0),
                         .at = sqlite3_column_int64(s, 1),
                         .entry = sqlite3_column_int64(s, 2),
                         .seed = (uint64_t)sqlite3_column_int64(s, 3),
                         .labels = store_count(s, 4),
                         .classes = store_count(s, 5),
                         .items = store_count(s, 6),
                         .file = store_string(s, 7),
                         .seconds = store_double(s, 8),
                         .agreement = store_double(s, 9),
                         .over_random = store_double(s, 10),
                         .over_random_low = store_double(s, 11),
                         .over_random_high = store_double(s, 12),
                         .over_random_labels = store_count(s, 13)};
    return out->file ? SCANT_OK : store_damaged(project, "a model has no file");
}

scant_status store_model_last(scant_project *project, scant__arena *arena, bool *there,
                              store_model *out) {
    sqlite3_stmt *s;
    *out = (store_model){0};
    TRY(store_first(project, MODELS " DESC LIMIT 1", STORE_NONE, &s, there));
    if (!*there) return SCANT_OK;
    scant_status status = take_model(project, s, out);
    if (status == SCANT_OK) {
        out->file = scant__arena_strdup(arena, out->file);
        if (!out->file) status = SCANT_ENOMEM;
    }
    store_end(s);
    return status;
}

typedef struct listening {
    scant_status (*model)(void *user, const store_model *model);
    scant_status (*round)(void *user, const scant_round_point *point);
    void *user;
} listening;

static scant_status give_model(scant_project *project, sqlite3_stmt *row, void *arg) {
    const listening *l = arg;
    store_model model;
    TRY(take_model(project, row, &model));
    return l->model(l->user, &model);
}

scant_status store_models(scant_project *project,
                          scant_status (*fn)(void *user, const store_model *model),
                          void *user) {
    return store_each(project, MODELS, STORE_NONE, give_model,
                      &(listening){.model = fn, .user = user});
}

/* ---- rounds ------------------------------------------------------------------------ */

static scant_status put_round(scant_project *project, void *arg) {
    adding *a = arg;
    const store_round *r = a->round;
    TRY(store_do(project,
                 "INSERT INTO rounds (at, strategy, seed, model, batch, options)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                 STORE_VALUES(store_int(store_now(project)), store_text(r->strategy),
                              store_int((int64_t)r->seed), store_some(r->model),
                              store_size(r->batch),
                              store_text(r->options ? r->options : "{}"))));
    a->number = (size_t)sqlite3_last_insert_rowid(project->db);
    for (size_t i = 0; i < a->n; i++)
        TRY(store_do(project,
                     "INSERT INTO picks (round, place, item, weight, score)"
                     " VALUES (?1, ?2, ?3, ?4, ?5)",
                     STORE_VALUES(store_size(a->number), store_size(i),
                                  store_size(a->picks[i].index),
                                  store_real(a->picks[i].weight),
                                  store_real(a->picks[i].score))));
    return SCANT_OK;
}

scant_status store_round_add(scant_project *project, const store_round *round,
                             const scant_pick *picks, size_t n, size_t *number) {
    adding a = {.round = round, .picks = picks, .n = n};
    TRY(store_write(project, put_round, &a));
    if (number) *number = a.number;
    return SCANT_OK;
}

static scant_status give_round(scant_project *project, sqlite3_stmt *row, void *arg) {
    const listening *l = arg;
    const char *strategy = store_string(row, 2);
    (void)project;
    return l->round(l->user, &(scant_round_point){.round = store_count(row, 0),
                                                  .at = sqlite3_column_int64(row, 1),
                                                  .strategy = strategy ? strategy : "",
                                                  .model = store_count(row, 3),
                                                  .picked = store_count(row, 4),
                                                  .answered = store_count(row, 5)});
}

scant_status scant_project_rounds(scant_project *project,
                                  scant_status (*fn)(void *user,
                                                     const scant_round_point *point),
                                  void *user) {
    return store_each(
        project,
        "SELECT round, at, strategy, model,"
        " (SELECT count(*) FROM picks p WHERE p.round = r.round AND p.place < r.batch),"
        " (SELECT count(*) FROM picks p WHERE p.round = r.round AND p.place < r.batch"
        "  AND EXISTS (SELECT 1 FROM answers a WHERE a.item = p.item))"
        " FROM rounds r ORDER BY round",
        STORE_NONE, give_round, &(listening){.round = fn, .user = user});
}

typedef struct picked {
    size_t *items;
    size_t room, n, limit;
} picked;

static scant_status take_pick(scant_project *project, sqlite3_stmt *row, void *arg) {
    picked *p = arg;
    size_t item;
    TRY(store_index(project, row, 0, p->limit, &item));
    if (p->n < p->room) p->items[p->n] = item;
    p->n++;
    return SCANT_OK;
}

scant_status scant_project_picked(scant_project *project, size_t room, size_t *items,
                                  size_t *n) {
    picked p = {.items = items, .room = room};
    *n = 0;
    TRY(store_items(project, &p.limit));
    TRY(store_each(project,
                   "SELECT item FROM picks"
                   " WHERE round = (SELECT max(round) FROM rounds) ORDER BY place"
                   " LIMIT coalesce((SELECT batch FROM rounds"
                   "  ORDER BY round DESC LIMIT 1), 0)",
                   STORE_NONE, take_pick, &p));
    *n = p.n;
    return SCANT_OK;
}
