/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes, trains and evaluates the networks of a run's rounds.
 *
 * Seeds depend on the run's seed, the round and their use, not on the strategy: with the
 * same seed all strategies start a round with the same weights and the same sample order.
 * In round 0 loop.initial_seed replaces the run's seed: all runs have the same network.
 *
 * The best epoch is found by evaluating on the test set during the training, at a cost of
 * at most about a fifth of the training's work. Work is counted in samples and not in
 * seconds, so that results are reproducible. There is no such evaluation, and the best
 * epoch is the last, if the labelled set is small compared with the test set, and for
 * ensembles and averaged weights, which exist only at the end.
 *
 * Reliability diagrams are computed on the test set, before and after temperature
 * scaling. The temperature is fitted on the validation set, never on the test set. If
 * there is no validation set, it is the temperature of the round's calibrated
 * probabilities (choose.c). If the strategy does not read these either, there is no
 * diagram after scaling.
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

uint64_t loop_net_seed(const loop_run *run, size_t round, size_t model,
                       enum loop_seed_use use) {
    uint64_t seed = round ? run->seed : run->first_seed;
    if (model == LOOP_QUERY) seed = run->job->e->query_seed;
    return loop_seed(seed, round, model, use);
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
    r.train.patience = 0; /* loop_train_options() sets it with the validation set */
    r.train.draw = strcmp(set->use_weights, "draw") == 0;
    loop_bayes_options(set, seed, &r.net);
    return r;
}

/* Warnings are muted: the runs repeat them. */
scant_status loop_net_check(loop_job *job) {
    AUTO(learn_unmute) learn_mute mute = learn_mute_log(job->ctx);
    AUTO(scant_net_auto) scant_net *net = NULL;
    scant_recipe recipe = loop_recipe(job, 0);
    recipe.members = 1;
    TRY(scant_recipe_make(job->ctx, job->samples.train, &recipe, &net));
    return nn_input_check(net, job->samples.test);
}

/* Sets the run's input scaling when its first network is made: that of the weights that
 * the network starts from, else measured on the pool. */
static scant_status set_scaling(loop_run *run, scant_net *net) {
    const loop_samples *s = &run->job->samples;
    size_t channels = nn_net_input(net->net).c;
    if (run->recipe.mean) return SCANT_OK;
    TRY(nn_input_check(net, s->test));
    TRY(nn_input_fit_scaling(net, s->train, run->split.pool, run->split.n_pool));
    if (!net->scaled) return SCANT_OK;
    float *mean = TRY_NEW(&run->arena, float, 2 * channels);
    memcpy(mean, net->mean, channels * sizeof *mean);
    memcpy(mean + channels, net->deviation, channels * sizeof *mean);
    run->recipe.mean = mean;
    run->recipe.deviation = mean + channels;
    for (size_t i = 1; i < scant_net_members(net); i++)
        TRY(scant_net_set_scaling(scant_net_member(net, i), mean, mean + channels));
    return SCANT_OK;
}

scant_status loop_net_make(loop_run *run, uint64_t seed, size_t members,
                           scant_net **out) {
    scant_recipe recipe = run->recipe;
    recipe.net.seed = seed;
    recipe.members = members;
    scant_status status =
        scant_recipe_make(run->ctx, run->job->samples.train, &recipe, out);
    if (status == SCANT_OK) status = set_scaling(run, *out);
    run->no_network = status != SCANT_OK;
    return learn_free_on_failure(status, out);
}

/* ---- training ---------------------------------------------------------------------- */

/* Callback data of the training of a part. */
typedef struct watcher {
    loop_run *run;
    scant_net *net; /* evaluated on the test set during the training; NULL: none */
    const char *phase;
    size_t samples; /* samples per epoch */
    size_t every;   /* epochs between two evaluations; 0: not known yet, SIZE_MAX: none */
    double *done;   /* progress of each member's training, 0 to 1; NULL: not counted */
    size_t member;
    double before;      /* work of earlier models, in units of loop_work() */
    double member_work; /* work of one member's training */
    scant_status status;
} watcher;

/* Epochs between evaluations. A step costs about three evaluations of its samples. */
static size_t evaluate_every(const loop_run *run, size_t samples, size_t epochs) {
    double work = 3.0 * (double)samples * (double)epochs;
    double times = floor(0.2 * work / (double)run->job->samples.n_test);
    if (times < 1) return SIZE_MAX;
    return (size_t)ceil((double)epochs / (times + 1));
}

/* Evaluates a network during its training. Cannot be cancelled, because a resumed
 * training would not repeat the evaluation. */
static void evaluate(watcher *w, size_t epoch) {
    scant_evaluation e;
    const loop_samples *s = &w->run->job->samples;
    loop_partial *p = &w->run->state.partial;
    AUTO(loop_timer_end) loop_timer timer = loop_timer_begin(w->run, LOOP_TESTING);
    w->run->cancellable = false;
    w->status = scant_net_evaluate(w->net, s->test, s->test_rows, s->n_test, &e);
    w->run->cancellable = true; /* trainings can be cancelled */
    if (w->status != SCANT_OK) return;
    if (e.accuracy > p->best) p->best = e.accuracy;
    if (!isfinite(e.loss) || (p->horizon && e.loss >= p->lowest)) return;
    p->lowest = e.loss;
    p->horizon = epoch;
}

static void forget(loop_partial *p) {
    p->best = p->lowest = 0;
    p->horizon = 0;
}

static void on_step(void *user, const scant_train_state *state) {
    watcher *w = user;
    double done = 0;
    if (w->done) w->done[w->member] = (double)state->step / (double)state->steps;
    for (size_t i = 0; w->done && i < w->run->recipe.members; i++) done += w->done[i];
    w->run->round.training = *state;
    loop_report_progress(w->run, w->phase, w->before + w->member_work * done);
    if (!w->net) return;
    if (state->step == 1) forget(&w->run->state.partial); /* a training starts over */
    if (!w->every) w->every = evaluate_every(w->run, w->samples, state->epochs);
    bool due = w->every < SIZE_MAX && state->epoch_ended &&
               state->epoch % w->every == 0 && state->epoch < state->epochs &&
               !state->stopped;
    if (due && w->status == SCANT_OK) evaluate(w, state->epoch);
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

/* Fills in the training job of a part, including its checkpoint. */
static scant_status prepare(loop_run *run, const scant_train_opts *o, size_t part,
                            watcher *w, learn_job *job) {
    *job = (learn_job){.opts = *o, .start_over = true};
    job->opts.seed = loop_net_seed(run, run->round.number, part, LOOP_SEED_TRAINING);
    job->opts.user = w;
    job->opts.report = on_step;
    w->run = run;
    return loop_training_files(run, part, &job->opts);
}

/* Lists the trainings of a model's parts that are to be done; again: the repetitions of
 * those that have collapsed. */
static scant_status list_jobs(loop_run *run, size_t model, bool again,
                              const scant_train_opts *o, learn_job *jobs,
                              watcher *watchers, size_t *n) {
    const loop_settings *set = &run->job->e->set;
    size_t members = run->recipe.members, labels = run->round.labelled.n;
    double member_work = loop_work(set, labels) / (double)(run->round.n_models * members);
    double *done = TRY_ZERO(&run->round.arena, double, members);
    bool evaluates =
        members == 1 && !run->job->samples.regression && set->training.ema == 0;
    *n = 0;
    for (size_t i = 0; i < members; i++) {
        size_t part = model * members + i;
        char state = *loop_part_state(run, part);
        watcher *w = &watchers[*n];
        done[i] = state == LOOP_TRAINED || (state == LOOP_COLLAPSED && !again);
        if (done[i] > 0) continue;
        *w = (watcher){.net = evaluates ? run->round.models[model] : NULL,
                       .phase = "training",
                       .samples = o->unlabelled ? o->n_unlabelled : labels,
                       .done = done,
                       .member = i,
                       .before = member_work * (double)(model * members),
                       .member_work = member_work};
        TRY(prepare(run, o, part, w, &jobs[*n]));
        if (again) TRY(loop_retry_prepare(run, part, loop_part(run, part), &jobs[*n]));
        jobs[(*n)++].member = i;
    }
    return SCANT_OK;
}

/* A network that has diverged and is to be repeated is no failure. */
static scant_status train_listed(loop_run *run, size_t model, bool again,
                                 const scant_train_opts *o) {
    scant__arena *arena = &run->round.arena;
    size_t n, members = run->recipe.members;
    learn_job *jobs = TRY_ZERO(arena, learn_job, members);
    watcher *watchers = TRY_ZERO(arena, watcher, members);
    bool repeats = false;
    TRY(list_jobs(run, model, again, o, jobs, watchers, &n));
    if (!n) return SCANT_OK;
    scant_status status = learn_train(run->round.models[model], run->job->samples.train,
                                      &run->recipe, jobs, n);
    for (size_t i = 0; i < n; i++)
        repeats |=
            loop_training_ended(run, model * members + jobs[i].member, &jobs[i], status);
    if (repeats && members == 1) status = SCANT_OK;
    for (size_t i = 0; i < n && status == SCANT_OK; i++) status = watchers[i].status;
    return status;
}

static scant_status train_model(loop_run *run, size_t model) {
    scant_train_opts o;
    TRY(loop_train_options(run, &run->round.labelled, run->job->e->set.training.epochs,
                           &o));
    TRY(train_listed(run, model, false, &o));
    return train_listed(run, model, true, &o);
}

/* Trains the parts of a model that are not trained yet. */
static scant_status train_parts(loop_run *run, size_t model) {
    char *parts = run->state.partial.parts + model * run->recipe.members;
    scant_net **net = &run->round.models[model];
    size_t left = 0;
    for (size_t i = 0; i < run->recipe.members; i++) left += parts[i] != LOOP_TRAINED;
    if (!left) return SCANT_OK;
    if (!*net)
        TRY(loop_net_make(run,
                          loop_net_seed(run, run->round.number, model, LOOP_SEED_WEIGHTS),
                          run->recipe.members, net));
    if (run->round.labelled.n) return train_model(run, model);
    memset(parts, LOOP_TRAINED, run->recipe.members);
    return SCANT_OK;
}

/* Sets the score that decides which model is kept: its accuracy on the validation set, or
 * on the test set if there is none; for regression, minus the loss. */
static scant_status score(loop_run *run, scant_net *net, loop_test_result *v) {
    scant_evaluation e = {.accuracy = v->accuracy, .loss = v->loss};
    if (run->round.n_models > 1 && run->split.n_valid)
        TRY(scant_net_evaluate(net, run->job->samples.train, run->split.valid,
                               run->split.n_valid, &e));
    v->score = run->job->samples.regression ? -e.loss : e.accuracy;
    return SCANT_OK;
}

scant_status loop_calibrate_after(loop_run *run) {
    const loop_samples *s = &run->job->samples;
    scant_evaluation e;
    if (s->regression || run->split.n_valid || !(run->round.temperature > 0))
        return SCANT_OK;
    AUTO(loop_timer_end) loop_timer timer = loop_timer_begin(run, LOOP_TESTING);
    return scant_net_evaluate_at(
        run->net, s->test, s->test_rows, s->n_test, run->round.temperature, &e,
        &run->state.calibrations[run->round.number].when[LOOP_AFTER]);
}

/* Evaluates a network on the test set, with its reliability diagrams. */
static scant_status evaluate_calibrated(loop_run *run, scant_net *net,
                                        scant_evaluation *e, loop_calibration *out) {
    const loop_samples *s = &run->job->samples;
    *out = (loop_calibration){0};
    if (run->split.n_valid && !s->regression) {
        double temperature;
        TRY(loop_fit_held_out(run, net, &temperature));
        TRY(scant_net_evaluate_at(net, s->test, s->test_rows, s->n_test, temperature, e,
                                  &out->when[LOOP_AFTER]));
    } else {
        TRY(scant_net_evaluate(net, s->test, s->test_rows, s->n_test, e));
    }
    scant_calibration *before = &out->when[LOOP_BEFORE];
    before->temperature = 1;
    before->error = e->calibration;
    for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) before->bins[b] = e->bins[b];
    return SCANT_OK;
}

static scant_status test_model(loop_run *run, size_t model) {
    loop_test_result *v = &run->state.partial.results[model];
    scant_net *net = run->round.models[model];
    const loop_settings *set = &run->job->e->set;
    double work = loop_work(set, run->round.labelled.n);
    const loop_partial *p = &run->state.partial;
    bool patient = set->training.patience && run->split.n_valid;
    scant_evaluation e;
    loop_report_progress(run, "evaluating",
                         work * (double)(model + 1) / (double)run->round.n_models);
    AUTO(loop_timer_end) loop_timer timer = loop_timer_begin(run, LOOP_TESTING);
    TRY(evaluate_calibrated(run, net, &e, &v->calibration));
    v->accuracy = e.accuracy;
    v->loss = e.loss;
    v->best = p->best > e.accuracy ? p->best : e.accuracy;
    v->horizon = p->horizon;
    /* with patience the network is that of an earlier epoch, not of the last one */
    if (p->horizon && e.loss < p->lowest && !patient)
        v->horizon = p->epochs[model * run->recipe.members];
    return score(run, net, v);
}

/* Trains and evaluates a model of the round, unless an earlier call has done so. */
static scant_status do_model(loop_run *run, size_t model) {
    loop_partial *p = &run->state.partial;
    TRY(train_parts(run, model));
    if (p->n_tested > model) return SCANT_OK;
    TRY(test_model(run, model));
    p->n_tested = model + 1;
    forget(p);
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

size_t loop_kept(const loop_settings *set, const loop_test_result *results, size_t n) {
    size_t best = 0;
    if (strcmp(set->initial_keep, "median") == 0) return loop_median(results, n);
    for (size_t i = 1; i < n; i++)
        if (results[i].score > results[best].score) best = i;
    return best;
}

static void drop(scant_net **net) {
    scant_net_free(*net);
    *net = NULL;
}

void loop_drop_models(loop_run *run) {
    for (size_t i = 0; run->round.models && i < run->round.n_models; i++)
        drop(&run->round.models[i]);
}

/* again: the first training has collapsed. */
static scant_status train_query_net(loop_run *run, bool again) {
    const scant_experiment *e = run->job->e;
    watcher w = {.phase = "training the query network"};
    scant_train_opts o;
    learn_job job;
    TRY(loop_train_options(run, &run->round.labelled, e->set.training.epochs, &o));
    TRY(prepare(run, &o, LOOP_QUERY, &w, &job));
    if (again) TRY(loop_retry_prepare(run, LOOP_QUERY, run->query_net, &job));
    scant_status status =
        learn_train(run->query_net, run->job->samples.train, &run->recipe, &job, 1);
    return loop_training_ended(run, LOOP_QUERY, &job, status) ? SCANT_OK : status;
}

/* Makes and trains the query network, if there is one. */
static scant_status do_query_net(loop_run *run) {
    const scant_experiment *e = run->job->e;
    size_t round = run->round.number;
    if (!*e->set.query_seed || run->state.partial.query == LOOP_TRAINED) return SCANT_OK;
    if (!run->query_net)
        TRY(loop_net_make(run, loop_net_seed(run, round, LOOP_QUERY, LOOP_SEED_WEIGHTS),
                          1, &run->query_net));
    if (!run->round.labelled.n) return SCANT_OK;
    if (run->state.partial.query != LOOP_COLLAPSED) TRY(train_query_net(run, false));
    return run->state.partial.query == LOOP_COLLAPSED ? train_query_net(run, true)
                                                      : SCANT_OK;
}

/* The worst of the chosen model's members and the query network. */
static loop_health health_of(const loop_run *run) {
    const loop_partial *p = &run->state.partial;
    size_t members = run->recipe.members;
    loop_health both[] = {
        loop_health_worst(p->healths + run->round.chosen * members, members),
        p->query_health};
    return loop_health_worst(both, *run->job->e->set.query_seed ? 2 : 1);
}

/* Allocates the round's models. The first continues from run->net (train.reinit = no). */
static scant_status begin(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    loop_round *r = &run->round;
    r->n_models = r->number == 0 && r->labelled.n ? set->initial_models : 1;
    r->models = TRY_ZERO(&r->arena, scant_net *, r->n_models);
    r->trained =
        TRY_ZERO(&r->arena, scant_train_state, r->n_models * run->recipe.members);
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
    TRY(loop_partial_load(run));
    r->loaded = true;
    for (size_t i = 0; i < r->n_models; i++) TRY(do_model(run, i));
    r->chosen = loop_kept(set, run->state.partial.results, r->n_models);
    run->net = r->models[r->chosen];
    r->models[r->chosen] = NULL;
    loop_drop_models(run);
    run->progress.work_done += loop_work(set, r->labelled.n);
    TRY(do_query_net(run));
    r->training = r->trained[r->chosen * run->recipe.members];
    run->state.healths[r->number] = health_of(run);
    return SCANT_OK;
}

scant_status loop_learn(loop_run *run) {
    loop_state *s = &run->state;
    loop_timer_begin(run, LOOP_TRAINING);
    TRY(learn(run));
    loop_timer_begin(run, LOOP_REST);
    const loop_test_result *v = &s->partial.results[run->round.chosen];
    s->calibrations[s->n_points] = v->calibration;
    s->points[s->n_points] =
        (loop_point){.labels = run->round.labelled.n,
                     .accuracy = v->accuracy,
                     .loss = v->loss,
                     .best = v->best,
                     .train_seconds = run->times.seconds[LOOP_TRAINING]};
    return SCANT_OK;
}
