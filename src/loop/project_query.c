/* SPDX-License-Identifier: Apache-2.0
 *
 * Picks the items to label next: collects the evidence that the strategy needs from the
 * last model, calls the strategy and stores its picks as a round in the database.
 *
 *  - features: the items' own, or the last network's, from cache/
 *  - probs: from cache/
 *  - calibrated: probs scaled by a temperature, which is cross-fitted on the labelled
 *    items (project_gain.c)
 *  - samples: the draws of a Bayesian network (the setting bayes)
 *  - labels: those that models are trained on. Items of the audit set are neither
 *    labelled nor candidates here, so that no strategy sees them.
 *  - state (albl): in cache/. It starts empty if the file is missing.
 *
 * Spare picks: if the strategy ranks items, the next ones of the ranking. If it chooses a
 * set as a whole, it is called again for the remaining candidates.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "core/number.h"
#include "data/source.h"
#include "loop/evidence.h"
#include "loop/project.h"
#include "scant/project.h"

typedef struct query {
    scant_project *project;
    const scant_project_query_opts *opts;
    const char *strategy;
    bool plain; /* ignore opts->settings: they belong to another strategy */
    scant__arena arena;
    project_settings settings;
    store_model model; /* the last model; number 0: none */
    size_t round, n, batch, spare;
    uint64_t seed;
    unsigned given, used;
    size_t *rows; /* labelled items */
    int32_t *row_labels;
    size_t n_rows;
    int64_t *labels, *candidates;
    size_t n_candidates;
    scant__source state;
    loop_evidence evidence;
} query;

static scant_ctx *ctx_of(const query *a) { return store_ctx(a->project); }

/* ---- model and strategy ------------------------------------------------------------ */

static scant_status find_model(query *a) {
    scant_project_info info;
    TRY(store_model_last(a->project, &a->arena, &a->model));
    TRY(scant_project_info_get(a->project, &info));
    a->round = info.rounds + 1;
    a->seed = a->opts->seed
                  ? a->opts->seed
                  : project_seed(store_seed(a->project), a->round, PROJECT_SEED_PICKS);
    return project_settings_read(a->project, &a->settings);
}

/* Sets the available evidence. SCANT_DRAWS: the model may have draws; give_draws()
 * checks its file. */
static scant_status note_given(query *a) {
    bool features;
    TRY(project_has_features(a->project, &features));
    a->given = SCANT_LABELS | SCANT_ROWS | SCANT_STATE;
    if (features || a->model.number) a->given |= SCANT_FEATURES;
    if (a->model.number) a->given |= SCANT_PROBS | SCANT_CALIBRATED;
    if (a->model.number && a->settings.bayes) a->given |= SCANT_DRAWS;
    return SCANT_OK;
}

static scant_select_opts select_opts(const query *a) {
    return (scant_select_opts){.seed = a->seed,
                               .settings = a->opts->settings,
                               .n_settings = a->plain ? 0 : a->opts->n_settings,
                               .state = (const char *)a->state.bytes,
                               .state_size = a->state.size,
                               .state_name = "cache/albl.json"};
}

static scant_status fail_missing(const query *a, unsigned missing) {
    if (!a->model.number)
        return scant__fail(ctx_of(a), SCANT_ENOTREADY,
                           "%s needs a model, and there is none yet: label some items of "
                           "at least two classes, and train",
                           a->strategy);
    if (missing & SCANT_DRAWS)
        return scant__fail(ctx_of(a), SCANT_ENOTREADY,
                           "%s needs posterior draws, and the last model has none: "
                           "set bayes to dropout or variational, and train again",
                           a->strategy);
    return scant__fail(ctx_of(a), SCANT_EUSAGE,
                       "%s needs gradients of the whole network, which a project's model "
                       "does not give",
                       a->strategy);
}

/* Fails if the strategy lacks evidence. But if it comes from the project's setting and
 * there is no model yet, it is replaced by random. */
static scant_status choose_strategy(query *a) {
    unsigned missing;
    bool named = a->opts->strategy != NULL;
    a->strategy = named ? a->opts->strategy : scant_project_get(a->project, "strategy");
    scant_select_opts o = select_opts(a);
    o.state = NULL;
    TRY(scant_select_inputs(ctx_of(a), a->strategy, &o, a->given, &a->used, &missing));
    if (!missing) return SCANT_OK;
    if (named || a->model.number) return fail_missing(a, missing);
    scant__note(ctx_of(a),
                "there is no model yet, and %s needs one: items are picked at random",
                a->strategy);
    a->strategy = "random";
    a->plain = true;
    return scant_select_inputs(ctx_of(a), a->strategy, NULL, a->given, &a->used,
                               &missing);
}

/* ---- evidence ---------------------------------------------------------------------- */

static scant_status read_labels(query *a) {
    int64_t entry;
    size_t kept = 0;
    TRY(store_training(a->project, &a->arena, &a->rows, &a->row_labels, &a->n_rows,
                       &entry));
    TRY(store_candidates(a->project, &a->arena, &a->candidates, &a->n_candidates));
    a->labels = TRY_NEW(&a->arena, int64_t, a->n);
    for (size_t i = 0; i < a->n; i++) a->labels[i] = -1;
    for (size_t i = 0; i < a->n_rows; i++)
        if (a->rows[i] < a->n) a->labels[a->rows[i]] = a->row_labels[i];
    for (size_t i = 0; i < a->n_candidates; i++) /* items may have been added since */
        if ((size_t)a->candidates[i] < a->n) a->candidates[kept++] = a->candidates[i];
    a->n_candidates = kept;
    return SCANT_OK;
}

static scant_status give_features(query *a) {
    const scant_array *features;
    TRY(scant_project_prepare(a->project));
    TRY(project_features_cached(a->project, &features));
    if (!features || scant_array_shape(features)[0] < a->n)
        return scant__fail(ctx_of(a), SCANT_ENOTREADY,
                           "%s needs features, and those of the last model are not in "
                           "cache/: train again",
                           a->strategy);
    return loop_evidence_wrap(&a->evidence, "features", features->data, SCANT_F32, a->n,
                              scant_array_shape(features)[1]);
}

/* softmax(z / T) of z = log p. */
static void apply_temperature(const float *p, size_t n, double temperature, float *out) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double q = p[i] > 0 ? pow((double)p[i], 1 / temperature) : 0;
        out[i] = (float)q;
        sum += q;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = sum > 0 ? (float)((double)out[i] / sum) : 1 / (float)n;
}

static scant_status find_temperature(query *a, double *out) {
    AUTO(project_samples_close) project_samples samples = {0};
    project_training labelled = {.rows = a->rows,
                                 .labels = a->row_labels,
                                 .n = a->n_rows,
                                 .pool = a->candidates,
                                 .n_pool = a->n_candidates,
                                 .seed = a->model.seed};
    TRY(project_samples_open(a->project, project_side(&a->settings), &a->arena,
                             &samples));
    labelled.brief = !samples.features;
    return project_temperature(a->project, &a->settings, &samples, &labelled, out);
}

static scant_status give_calibrated(query *a, const scant_array *probs) {
    double temperature;
    size_t classes = scant_array_shape(probs)[1];
    float *out = TRY_NEW(&a->arena, float, size_mul(a->n, classes));
    TRY(find_temperature(a, &temperature));
    for (size_t i = 0; i < a->n; i++)
        apply_temperature((const float *)probs->data + i * classes, classes,
                          temperature > 0 ? temperature : 1, out + i * classes);
    return loop_evidence_wrap(&a->evidence, "calibrated", out, SCANT_F32, a->n, classes);
}

static scant_status give_draws(query *a) {
    AUTO(scant_net_auto) scant_net *net = NULL;
    AUTO(project_samples_close) project_samples samples = {0};
    size_t shape[3];
    const char *path,
        *name = scant__arena_format(&a->arena, "samples-%ld.npy", (long)getpid());
    if (!name) return SCANT_ENOMEM;
    TRY(project_cache_path(a->project, &a->arena, name, &path));
    TRY(project_net_open(a->project, &a->model, &net));
    if (scant_net_draws(net) < 2) return fail_missing(a, SCANT_DRAWS);
    size_t *all = TRY_NEW(&a->arena, size_t, a->n);
    for (size_t i = 0; i < a->n; i++) all[i] = i;
    scant_net_shape(net, shape);
    TRY(project_samples_open(a->project, shape[1], &a->arena, &samples));
    return loop_evidence_draw(&a->evidence, &(loop_evidence_opts){.net = net,
                                                                  .data = samples.data,
                                                                  .rows = all,
                                                                  .n = a->n,
                                                                  .draws_path = path});
}

static scant_status gather(query *a) {
    const scant_array *probs;
    size_t model;
    TRY(store_items(a->project, &a->n));
    TRY(read_labels(a));
    if (a->used & SCANT_FEATURES) TRY(give_features(a));
    if (a->used & (SCANT_PROBS | SCANT_CALIBRATED)) {
        TRY(project_predictions(a->project, &probs, &model));
        if (a->used & SCANT_PROBS)
            TRY(loop_evidence_wrap(&a->evidence, "probs", probs->data, SCANT_F32, a->n,
                                   scant_array_shape(probs)[1]));
        if (a->used & SCANT_CALIBRATED) TRY(give_calibrated(a, probs));
    }
    if (a->used & SCANT_DRAWS) TRY(give_draws(a));
    a->evidence.view.rows = a->used & ~(unsigned)(SCANT_LABELS | SCANT_ROWS) ? 0 : a->n;
    return loop_evidence_wrap(&a->evidence, "labels", a->labels, SCANT_I64, a->n, 0);
}

/* ---- state ------------------------------------------------------------------------- */

static scant_status read_state(query *a) {
    const char *path;
    TRY(project_cache_path(a->project, &a->arena, "albl.json", &path));
    if (access(path, R_OK) != 0) return SCANT_OK; /* there is none yet */
    return scant__source_map(ctx_of(a), path, &a->state);
}

static scant_status keep_state(query *a, const scant_picks *picks) {
    const char *path;
    if (!picks->state) return SCANT_OK;
    TRY(project_cache_path(a->project, &a->arena, "albl.json", &path));
    return scant_file_write(ctx_of(a), path, picks->state, picks->state_size);
}

/* ---- picks ------------------------------------------------------------------------- */

static scant_status pick(query *a, size_t count, scant_picks **out) {
    scant_select_opts o = select_opts(a);
    TRY(loop_evidence_wrap(&a->evidence, "candidates", a->candidates, SCANT_I64,
                           a->n_candidates, 0));
    return scant_select(ctx_of(a), a->strategy, &a->evidence.view, count, &o, out);
}

static void leave_out(query *a, const scant_picks *picks) {
    size_t kept = 0;
    for (size_t i = 0; i < picks->count; i++) a->labels[picks->items[i].index] = -2;
    for (size_t i = 0; i < a->n_candidates; i++)
        if (a->labels[a->candidates[i]] != -2) a->candidates[kept++] = a->candidates[i];
    for (size_t i = 0; i < picks->count; i++) a->labels[picks->items[i].index] = -1;
    a->n_candidates = kept;
}

/* *all: the round's picks, then the spare ones, in the arena. */
static scant_status pick_all(query *a, scant_picks **out, scant_pick **all,
                             size_t *n_all) {
    scant_picks *more = NULL;
    bool ranked = scant_strategy_find(a->strategy)->ranked;
    /* `spare` may exceed what is left; if the batch does, scant_select() warns */
    size_t left = a->n_candidates > a->batch ? a->n_candidates - a->batch : 0;
    size_t spare = size_min(a->spare, left);
    size_t first = ranked ? size_add(a->batch, spare) : a->batch;
    TRY(pick(a, first, out));
    size_t mine = (*out)->count;
    leave_out(a, *out);
    size_t rest = ranked ? 0 : size_min(a->spare, a->n_candidates);
    *all = TRY_NEW(&a->arena, scant_pick, size_add(mine, rest) + 1);
    if (rest) TRY(pick(a, rest, &more));
    *n_all = mine;
    for (size_t i = 0; i < mine; i++) (*all)[i] = (*out)->items[i];
    for (size_t i = 0; more && i < more->count; i++) (*all)[(*n_all)++] = more->items[i];
    scant_picks_free(ctx_of(a), more);
    (*out)->count = size_min(mine, a->batch);
    return SCANT_OK;
}

static void add_options(scant__json *json, const scant_picks *picks) {
    scant__json_open(json, NULL, '{');
    for (size_t i = 0; i < picks->n_settings; i++)
        if (picks->settings[i].value)
            scant__json_string(json, picks->settings[i].key, picks->settings[i].value);
    scant__json_close(json, '}');
}

static scant_status keep(query *a, const scant_picks *picks, const scant_pick *all,
                         size_t n_all) {
    AUTO(scant__json_end) scant__json options = {.text.ctx = ctx_of(a)};
    AUTO(scant__json_end) scant__json event = {.text.ctx = ctx_of(a)};
    add_options(&options, picks);
    if (options.text.failed) return SCANT_ENOMEM;
    store_round round = {.strategy = a->strategy,
                         .seed = a->seed,
                         .model = a->model.number,
                         .batch = picks->count,
                         .options = options.text.data};
    TRY(store_round_add(a->project, &round, all, n_all, &a->round));
    JSON_OBJECT(&event, NULL, MEMBER("round", a->round), MEMBER("strategy", a->strategy),
                MEMBER("model", a->model.number), MEMBER("picked", picks->count));
    return event.text.failed
               ? SCANT_ENOMEM
               : scant_project_event(a->project, "queried", event.text.data);
}

static scant_status run_query(query *a, scant_picks **out) {
    scant_pick *all;
    size_t n_all;
    a->batch =
        a->opts->batch ? a->opts->batch : (size_t)store_number(a->project, "batch");
    a->spare = a->opts->spare;
    TRY(find_model(a));
    TRY(note_given(a));
    TRY(choose_strategy(a));
    TRY(gather(a));
    if (!a->n_candidates) { /* all items have an answer: no round begins */
        a->round = 0;
        return SCANT_OK;
    }
    if (a->used & SCANT_STATE) TRY(read_state(a));
    TRY(pick_all(a, out, &all, &n_all));
    TRY(keep(a, *out, all, n_all));
    return keep_state(a, *out);
}

static void query_end(query *a) {
    loop_evidence_end(&a->evidence);
    scant__source_close(&a->state);
    scant__arena_end(&a->arena);
}

scant_status scant_project_query(scant_project *project,
                                 const scant_project_query_opts *opts, scant_picks **out,
                                 size_t *round) {
    *out = NULL;
    NEED(project);
    const scant_project_query_opts none = {0};
    scant_ctx *ctx = store_ctx(project);
    AUTO(query_end)
    query a = {.project = project, .opts = opts ? opts : &none, .arena = {.ctx = ctx}};
    loop_evidence_init(&a.evidence, ctx);
    scant_status status = run_query(&a, out);
    if (status != SCANT_OK) {
        scant_picks_free(ctx, *out);
        *out = NULL;
    } else if (round) {
        *round = a.round;
    }
    return status;
}
