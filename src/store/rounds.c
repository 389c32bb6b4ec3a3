/* SPDX-License-Identifier: Apache-2.0
 *
 * Trained models, trainings that collapsed, rounds and their picks.
 */
#include "scant/project.h"
#include "store/store_int.h"

/* ---- models ------------------------------------------------------------------------ */

scant_status store_model_add(scant_project *project, const store_model *m,
                             const size_t *items, const int32_t *predicted, size_t n,
                             size_t *number) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    TRY(store_do(
        project,
        "INSERT INTO models (at, entry, seed, labels, classes, items, file, seconds,"
        " agreement, over_random, over_random_low, over_random_high,"
        " over_random_labels)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        store_int(store_now(project)), store_int(m->entry), store_int((int64_t)m->seed),
        store_size(m->labels), store_size(m->classes), store_size(m->items),
        store_text(m->file), store_real(m->seconds), store_real(m->agreement),
        store_real(m->over_random), store_real(m->over_random_low),
        store_real(m->over_random_high), store_size(m->over_random_labels)));
    size_t model = (size_t)sqlite3_last_insert_rowid(project->db);
    TRY(store_counters_trained(project));
    for (size_t i = 0; i < n; i++)
        TRY(store_do(project,
                     "INSERT INTO verdicts (model, item, class) VALUES (?1, ?2, ?3)",
                     store_size(model), store_size(items[i]), store_int(predicted[i])));
    TRY(store_commit(&tx));
    if (number) *number = model;
    return SCANT_OK;
}

#define MODELS                                                                           \
    "SELECT model, at, entry, seed, labels, classes, items, file, seconds, agreement,"   \
    " over_random, over_random_low, over_random_high, over_random_labels FROM models"    \
    " ORDER BY model"

static scant_status read_model(store_cursor row, scant__arena *arena, store_model *out) {
    const char *file = store_string(row, 7);
    if (!file) return store_damaged(row.project, "a model has no file");
    *out = (store_model){.number = store_count(row, 0),
                         .at = store_integer(row, 1),
                         .entry = store_integer(row, 2),
                         .seed = (uint64_t)store_integer(row, 3),
                         .labels = store_count(row, 4),
                         .classes = store_count(row, 5),
                         .items = store_count(row, 6),
                         .file = scant__arena_strdup(arena, file),
                         .seconds = store_double(row, 8),
                         .agreement = store_double(row, 9),
                         .over_random = store_double(row, 10),
                         .over_random_low = store_double(row, 11),
                         .over_random_high = store_double(row, 12),
                         .over_random_labels = store_count(row, 13)};
    return out->file ? SCANT_OK : SCANT_ENOMEM;
}

scant_status store_model_last(scant_project *project, scant__arena *arena,
                              store_model *out) {
    *out = (store_model){0};
    STORE_EACH(row, project, MODELS " DESC LIMIT 1") TRY(read_model(row, arena, out));
    return SCANT_OK;
}

scant_status store_models(scant_project *project, scant__arena *arena, store_model **out,
                          size_t *n) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_READ);
    size_t room = (size_t)TRY_ONE(project, 0, "SELECT count(*) FROM models");
    *out = TRY_NEW(arena, store_model, room);
    *n = 0;
    STORE_EACH(row, project, MODELS)
        if (*n < room) TRY(read_model(row, arena, &(*out)[(*n)++]));
    return store_commit(&tx);
}

scant_status store_collapse_last(scant_project *project, scant__arena *arena,
                                 store_collapse *out) {
    *out = (store_collapse){0};
    STORE_EACH(row, project,
               "SELECT at, json_extract(text, '$.used'), json_extract(text, '$.labels'),"
               " json_extract(text, '$.signs'), json_extract(text, '$.found'),"
               " json_extract(text, '$.digest'), json_extract(text, '$.settings')"
               " FROM events"
               " WHERE kind = 'collapsed' AND json_valid(text)"
               " ORDER BY event DESC LIMIT 1") {
        *out =
            (store_collapse){.at = store_integer(row, 0),
                             .used = store_count(row, 1),
                             .labels = store_count(row, 2),
                             .signs = scant__arena_strdup(arena, store_name(row, 3)),
                             .found = scant__arena_strdup(arena, store_name(row, 4)),
                             .digest = scant__arena_strdup(arena, store_name(row, 5)),
                             .settings = scant__arena_strdup(arena, store_name(row, 6))};
        if (!out->signs || !out->found || !out->digest || !out->settings)
            return SCANT_ENOMEM;
    }
    return SCANT_OK;
}

/* ---- rounds ------------------------------------------------------------------------ */

scant_status store_round_add(scant_project *project, const store_round *r,
                             const scant_pick *picks, size_t n, size_t *number) {
    AUTO(store_tx_end) store_tx tx = TRY_BEGIN(project, STORE_WRITE);
    TRY(store_do(project,
                 "INSERT INTO rounds (at, strategy, seed, model, batch, options)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                 store_int(store_now(project)), store_text(r->strategy),
                 store_int((int64_t)r->seed), store_size_or_null(r->model),
                 store_size(r->batch), store_text(r->options ? r->options : "{}")));
    size_t round = (size_t)sqlite3_last_insert_rowid(project->db);
    for (size_t i = 0; i < n; i++)
        TRY(store_do(project,
                     "INSERT INTO picks (round, place, item, weight, score)"
                     " VALUES (?1, ?2, ?3, ?4, ?5)",
                     store_size(round), store_size(i), store_size(picks[i].index),
                     store_real(picks[i].weight), store_real(picks[i].score)));
    TRY(store_commit(&tx));
    if (number) *number = round;
    return SCANT_OK;
}

scant_status scant_project_rounds(scant_project *project,
                                  scant_status (*fn)(void *user,
                                                     const scant_round_point *point),
                                  void *user) {
    NEED(project);
    STORE_EACH(
        row, project,
        "SELECT round, at, strategy, model,"
        " (SELECT count(*) FROM picks p WHERE p.round = r.round AND p.place < r.batch),"
        " (SELECT count(*) FROM picks p WHERE p.round = r.round AND p.place < r.batch"
        "  AND EXISTS (SELECT 1 FROM answers a WHERE a.item = p.item))"
        " FROM rounds r ORDER BY round")
        TRY(fn(user, &(scant_round_point){.round = store_count(row, 0),
                                          .at = store_integer(row, 1),
                                          .strategy = store_name(row, 2),
                                          .model = store_count(row, 3),
                                          .picked = store_count(row, 4),
                                          .answered = store_count(row, 5)}));
    return SCANT_OK;
}

scant_status scant_project_picked(scant_project *project, size_t room, size_t *items,
                                  size_t *n) {
    NEED(project);
    size_t n_items, item;
    *n = 0;
    TRY(store_items(project, &n_items));
    STORE_EACH(row, project,
               "SELECT item FROM picks"
               " WHERE round = (SELECT max(round) FROM rounds) ORDER BY place"
               " LIMIT coalesce((SELECT batch FROM rounds"
               "  ORDER BY round DESC LIMIT 1), 0)") {
        TRY(store_index(row, 0, n_items, &item));
        if (*n < room) items[*n] = item;
        ++*n;
    }
    return SCANT_OK;
}
