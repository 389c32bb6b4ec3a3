/* SPDX-License-Identifier: Apache-2.0
 *
 * The networks of a run's rounds: made, trained, evaluated.
 *
 * Seeds depend on the run's seed, the round and their use, not on the strategy: all
 * strategies of a seed start a round with the same weights and see their samples in the
 * same order.
 *
 * The best epoch is found by evaluating on the test set during the training, as often as
 * costs about a fifth of the training's work at most. Work is counted in samples and not
 * by the clock, so that a repeated run gives the same answer. Where the labelled set is
 * small beside the test set that is never, and the best epoch is the last. So it is for
 * ensembles and where the result is an average of the weights: these exist only at the
 * end.
 */
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "loop/loop.h"
#include "nn/input.h"
#include "scant/train.h"

uint64_t loop_seed(uint64_t seed, size_t round, size_t model, enum loop_seed_use use) {
    const scant__rng rng = {seed, SCANT__RNG_ROUND};
    return scant__rng_u64(&rng, ((uint64_t)round * 1024 + model) * 8 + use);
}

/* ---- networks ---------------------------------------------------------------------- */

scant_recipe loop_recipe(const loop_job *job, uint64_t seed) {
    const loop_settings *set = &job->e->set;
    scant_recipe r = {.model = set->model,
                      .weights = set->weights,
                      .net = set->net,
                      .members = loop_members(set),
                      .train = set->training};
    r.net.classes = job->samples.classes;
    r.train.patience = 0; /* a round's training has it, and its validation set */
    r.train.draw = strcmp(set->use_weights, "draw") == 0;
    loop_bayes_options(set, seed, &r.net);
    return r;
}

/* Warnings are left to the runs. */
scant_status loop_net_check(loop_job *job) {
    scant_net *net;
    scant_recipe recipe = loop_recipe(job, 0);
    void (*log)(void *, scant_log_level, const char *) = job->ctx->opts.log;
    recipe.members = 1;
    job->ctx->opts.log = NULL;
    scant_status status = scant_recipe_make(job->ctx, job->samples.train, &recipe, &net);
    if (status == SCANT_OK) status = nn_input_check(net, job->samples.test);
    job->ctx->opts.log = log;
    scant_net_free(net);
    return status;
}

/* The run's first network measures its pool, or has the scaling of the weights that it
 * starts from. */
static scant_status set_scaling(loop_run *run, scant_net *net) {
    const loop_samples *s = &run->job->samples;
    size_t channels = nn_net_input(net->net).c;
    if (run->recipe.mean) return SCANT_OK;
    TRY(nn_input_check(net, s->test));
    TRY(nn_input_fit_scaling(net, s->train, run->split.pool, run->split.n_pool));
    if (!net->mean) return SCANT_OK;
    float *mean = scant__arena_alloc(&run->arena, 2 * channels, sizeof *mean);
    if (!mean) return SCANT_ENOMEM;
    memcpy(mean, net->mean, channels * sizeof *mean);
    memcpy(mean + channels, net->deviation, channels * sizeof *mean);
    run->recipe.mean = mean;
    run->recipe.deviation = mean + channels;
    for (size_t i = 1; i < scant_net_members(net); i++)
        TRY(scant_net_set_scaling(scant_net_member(net, i), mean, mean + channels));
    return SCANT_OK;
}

static scant_status make(loop_run *run, uint64_t seed, size_t members, scant_net **out) {
    scant_recipe recipe = run->recipe;
    recipe.net.seed = seed;
    recipe.members = members;
    scant_status status =
        scant_recipe_make(run->ctx, run->job->samples.train, &recipe, out);
    if (status == SCANT_OK) status = set_scaling(run, *out);
    if (status == SCANT_OK) return SCANT_OK;
    scant_net_free(*out);
    *out = NULL;
    run->no_network = true;
    return status;
}

scant_status loop_net_make(loop_run *run, uint64_t seed, scant_net **out) {
    return make(run, seed, run->recipe.members, out);
}

scant_status loop_net_make_one(loop_run *run, uint64_t seed, scant_net **out) {
    return make(run, seed, 1, out);
}

/* ---- training ---------------------------------------------------------------------- */

/* Follows the training of a part of the round. */
typedef struct watcher {
    loop_run *run;
    scant_net *net; /* evaluated on the test set during the training; NULL: it is not */
    const char *phase;
    size_t samples; /* of an epoch */
    size_t every;   /* epochs between two evaluations; 0: not known yet, SIZE_MAX: none */
    double *done;   /* how far each member's training is, 0 to 1; NULL: not counted */
    size_t member;
    double before, counts; /* of the round's work: models before; each member */
    scant_status status;
} watcher;

/* A step forwards and backwards costs about three evaluations of its samples. */
static size_t evaluate_every(const loop_run *run, size_t samples, size_t epochs) {
    double work = 3.0 * (double)samples * (double)epochs;
    double times = floor(0.2 * work / (double)run->job->samples.n_test);
    if (times < 1) return SIZE_MAX;
    return (size_t)ceil((double)epochs / (times + 1));
}

/* Not cancelled: a training that is resumed is past it. */
static void evaluate(watcher *w) {
    scant_evaluation e;
    const loop_samples *s = &w->run->job->samples;
    double *best = &w->run->state.partial.best;
    enum loop_time before = loop_clock(w->run, LOOP_TESTING);
    w->run->cancellable = false;
    w->status = scant_net_evaluate(w->net, s->test, s->test_rows, s->n_test, &e);
    w->run->cancellable = true; /* as every training is */
    loop_clock(w->run, before);
    if (w->status == SCANT_OK && e.accuracy > *best) *best = e.accuracy;
}

static void on_step(void *user, const scant_train_state *state) {
    watcher *w = user;
    double done = 0;
    if (w->done) w->done[w->member] = (double)state->step / (double)state->steps;
    for (size_t i = 0; w->done && i < w->run->recipe.members; i++) done += w->done[i];
    w->run->round.training = *state;
    loop_tell(w->run, w->phase, w->before + w->counts * done);
    if (!w->net) return;
    if (state->step == 1) w->run->state.partial.best = 0; /* of a training cut short */
    if (!w->every) w->every = evaluate_every(w->run, w->samples, state->epochs);
    bool due = w->every < SIZE_MAX && state->epoch_ended &&
               state->epoch % w->every == 0 && state->epoch < state->epochs &&
               !state->stopped;
    if (due && w->status == SCANT_OK) evaluate(w);
}

double loop_work(const loop_settings *set, size_t labels) {
    bool same = set->training.steps || !loop_supervised(set);
    return same ? labels > 0 : (double)labels;
}

size_t loop_steps(size_t steps, size_t epochs, size_t all_epochs) {
    size_t whole = steps / all_epochs, rest = steps % all_epochs;
    return steps ? size_max(whole * epochs + rest * epochs / all_epochs, 1) : 0;
}

scant_status loop_train_options(loop_run *run, const loop_labelled *labelled,
                                size_t epochs, scant_train_opts *out) {
    const loop_settings *set = &run->job->e->set;
    scant_train_opts o = run->recipe.train;
    o.rows = labelled->rows;
    o.n_rows = labelled->n;
    o.weights = labelled->weights;
    o.lr = run->round.lr;
    o.epochs = epochs;
    o.steps = loop_steps(set->training.steps, epochs, set->training.epochs);
    if (set->training.patience && run->split.n_valid) {
        o.valid = run->job->samples.train;
        o.valid_rows = run->split.valid;
        o.n_valid_rows = run->split.n_valid;
        o.patience = set->training.patience;
    }
    *out = o;
    return loop_method_options(run, labelled, out);
}

/* ---- a round's networks ------------------------------------------------------------ */

scant_net *loop_part(const loop_run *run, size_t part) {
    scant_net *model = run->round.models[part / run->recipe.members];
    return model ? scant_net_member(model, part % run->recipe.members) : NULL;
}

uint64_t loop_weights_seed(const loop_run *run, size_t model) {
    return loop_seed(run->seed, run->round.number, model, LOOP_SEED_WEIGHTS);
}

/* A training of a part, its checkpoint with it. */
static scant_status prepare(loop_run *run, const scant_train_opts *o, size_t part,
                            uint64_t seed, watcher *w, learn_job *job) {
    *job = (learn_job){.opts = *o, .start_over = true};
    job->opts.seed = seed;
    job->opts.user = w;
    job->opts.report = on_step;
    w->run = run;
    return loop_training_files(run, part, &job->opts);
}

/* The parts of a model that are not trained yet. */
static scant_status list_jobs(loop_run *run, size_t model, const scant_train_opts *o,
                              learn_job *jobs, watcher *watchers, size_t *n) {
    const loop_settings *set = &run->job->e->set;
    size_t members = run->recipe.members, labels = run->round.labelled.n;
    double counts = loop_work(set, labels) / (double)(run->round.n_models * members);
    double *done = scant__arena_zalloc(&run->round.arena, members, sizeof *done);
    if (!done) return SCANT_ENOMEM;
    bool evaluates =
        members == 1 && !run->job->samples.regression && set->training.ema == 0;
    *n = 0;
    for (size_t i = 0; i < members; i++) {
        size_t part = model * members + i;
        watcher *w = &watchers[*n];
        done[i] = run->state.partial.parts[part] == LOOP_TRAINED;
        if (done[i] > 0) continue;
        *w = (watcher){.net = evaluates ? run->round.models[model] : NULL,
                       .phase = "training",
                       .samples = o->unlabelled ? o->n_unlabelled : labels,
                       .done = done,
                       .member = i,
                       .before = counts * (double)(model * members),
                       .counts = counts};
        TRY(prepare(run, o, part,
                    loop_seed(run->seed, run->round.number, part, LOOP_SEED_TRAINING), w,
                    &jobs[*n]));
        jobs[(*n)++].member = i;
    }
    return SCANT_OK;
}

/* Marks what became of a model's trainings. */
static void note_jobs(loop_run *run, size_t model, const learn_job *jobs, size_t n,
                      scant_status status) {
    loop_partial *p = &run->state.partial;
    for (size_t i = 0; i < n; i++) {
        size_t part = model * run->recipe.members + jobs[i].member;
        if (jobs[i].done) {
            p->parts[part] = LOOP_TRAINED;
            p->epochs[part] = jobs[i].state.epoch;
            run->round.trained[part] = jobs[i].state;
        } else if (status == SCANT_ECANCELLED) {
            loop_training_cancelled(run, part, &jobs[i].opts);
        }
    }
}

static scant_status train_model(loop_run *run, size_t model) {
    scant__arena *arena = &run->round.arena;
    size_t n, members = run->recipe.members;
    learn_job *jobs = scant__arena_zalloc(arena, members, sizeof *jobs);
    watcher *watchers = scant__arena_zalloc(arena, members, sizeof *watchers);
    scant_train_opts o;
    if (!jobs || !watchers) return SCANT_ENOMEM;
    TRY(loop_train_options(run, &run->round.labelled, run->job->e->set.training.epochs,
                           &o));
    TRY(list_jobs(run, model, &o, jobs, watchers, &n));
    scant_status status = learn_train(run->round.models[model], run->job->samples.train,
                                      &run->recipe, jobs, n);
    note_jobs(run, model, jobs, n, status);
    for (size_t i = 0; i < n && status == SCANT_OK; i++) status = watchers[i].status;
    return status;
}

/* The parts of a model that are not trained yet. */
static scant_status train_parts(loop_run *run, size_t model) {
    char *parts = run->state.partial.parts + model * run->recipe.members;
    scant_net **net = &run->round.models[model];
    size_t left = 0;
    for (size_t i = 0; i < run->recipe.members; i++) left += parts[i] != LOOP_TRAINED;
    if (!left) return SCANT_OK;
    if (!*net) TRY(loop_net_make(run, loop_weights_seed(run, model), net));
    if (run->round.labelled.n) return train_model(run, model);
    memset(parts, LOOP_TRAINED, run->recipe.members);
    return SCANT_OK;
}

/* Of several models the one to keep is chosen on the validation set, where there is one.
 */
static scant_status score(loop_run *run, scant_net *net, loop_test_result *v) {
    scant_evaluation e = {.accuracy = v->accuracy, .loss = v->loss};
    if (run->round.n_models > 1 && run->split.n_valid)
        TRY(scant_net_evaluate(net, run->job->samples.train, run->split.valid,
                               run->split.n_valid, &e));
    v->score = run->job->samples.regression ? -e.loss : e.accuracy;
    return SCANT_OK;
}

static scant_status test_model(loop_run *run, size_t model) {
    loop_test_result *v = &run->state.partial.results[model];
    scant_net *net = run->round.models[model];
    double work = loop_work(&run->job->e->set, run->round.labelled.n);
    double best = run->state.partial.best;
    scant_evaluation e;
    loop_calibration calibration;
    loop_tell(run, "evaluating",
              work * (double)(model + 1) / (double)run->round.n_models);
    enum loop_time before = loop_clock(run, LOOP_TESTING);
    scant_status status = loop_calibrated_evaluate(run, net, &e, &calibration);
    if (status == SCANT_OK) {
        *v = (loop_test_result){.accuracy = e.accuracy,
                                .loss = e.loss,
                                .best = best > e.accuracy ? best : e.accuracy,
                                .calibration = calibration};
        status = score(run, net, v);
    }
    loop_clock(run, before);
    return status;
}

/* Trains and evaluates a model of the round, as far as that is not done yet. */
static scant_status do_model(loop_run *run, size_t model) {
    loop_partial *p = &run->state.partial;
    TRY(train_parts(run, model));
    if (p->n_tested > model) return SCANT_OK;
    TRY(test_model(run, model));
    p->n_tested = model + 1;
    p->best = 0;
    return SCANT_OK;
}

size_t loop_median(const loop_test_result *results, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t below = 0;
        for (size_t k = 0; k < n; k++)
            below += results[k].score < results[i].score ||
                     (results[k].score == results[i].score && k < i);
        if (below == (n - 1) / 2) return i;
    }
    return 0;
}

static void drop(scant_net **net) {
    scant_net_free(*net);
    *net = NULL;
}

static void take_median(loop_run *run) {
    loop_round *r = &run->round;
    r->chosen = loop_median(run->state.partial.results, r->n_models);
    run->net = r->models[r->chosen];
    r->models[r->chosen] = NULL;
    for (size_t i = 0; i < r->n_models; i++) drop(&r->models[i]);
}

static scant_status train_query_net(loop_run *run, uint64_t seed) {
    watcher w = {.phase = "training the query network"};
    scant_train_opts o;
    learn_job job;
    TRY(loop_train_options(run, &run->round.labelled, run->job->e->set.training.epochs,
                           &o));
    TRY(prepare(run, &o, LOOP_QUERY, seed, &w, &job));
    scant_status status =
        learn_train(run->query_net, run->job->samples.train, &run->recipe, &job, 1);
    if (status == SCANT_ECANCELLED) loop_training_cancelled(run, LOOP_QUERY, &job.opts);
    if (status == SCANT_OK) run->state.partial.query = LOOP_TRAINED;
    return status;
}

/* The network that picks, where it is another one. */
static scant_status do_query_net(loop_run *run) {
    const scant_experiment *e = run->job->e;
    size_t round = run->round.number;
    if (!*e->set.query_seed || run->state.partial.query == LOOP_TRAINED) return SCANT_OK;
    if (!run->query_net)
        TRY(loop_net_make(run, loop_seed(e->query_seed, round, 0, LOOP_SEED_QUERY),
                          &run->query_net));
    if (!run->round.labelled.n) return SCANT_OK;
    return train_query_net(run,
                           loop_seed(e->query_seed, round, 0, LOOP_SEED_QUERY_TRAINING));
}

/* Room for the round's models. The first goes on from the last round's (train.reinit =
 * no). */
static scant_status begin(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    loop_round *r = &run->round;
    r->n_models = r->number == 0 && r->labelled.n ? set->initial_models : 1;
    size_t parts = r->n_models * run->recipe.members;
    r->models = scant__arena_zalloc(&r->arena, r->n_models, sizeof *r->models);
    r->trained = scant__arena_zalloc(&r->arena, parts, sizeof *r->trained);
    if (!r->models || !r->trained) return SCANT_ENOMEM;
    r->models[0] = run->net;
    run->net = NULL;
    return SCANT_OK;
}

static scant_status learn(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    loop_round *r = &run->round;
    if (set->reinit) {
        drop(&run->net);
        drop(&run->query_net);
    }
    TRY(loop_theory_rate(run));
    TRY(begin(run));
    TRY(loop_partial_recall(run));
    r->recalled = true;
    for (size_t i = 0; i < r->n_models; i++) TRY(do_model(run, i));
    take_median(run);
    run->progress.work_done += loop_work(set, r->labelled.n);
    TRY(do_query_net(run));
    r->training = r->trained[r->chosen * run->recipe.members];
    return SCANT_OK;
}

scant_status loop_learn(loop_run *run, loop_point *point) {
    loop_clock(run, LOOP_TRAINING);
    TRY(learn(run));
    loop_clock(run, LOOP_REST);
    const loop_test_result *v = &run->state.partial.results[run->round.chosen];
    run->round.calibration = v->calibration;
    *point = (loop_point){.labels = run->round.labelled.n,
                          .accuracy = v->accuracy,
                          .loss = v->loss,
                          .best = v->best,
                          .train_seconds = run->times.seconds[LOOP_TRAINING]};
    return SCANT_OK;
}
