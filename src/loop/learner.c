/* SPDX-License-Identifier: Apache-2.0
 *
 * The networks of a run: made, trained, judged.
 *
 * Seeds hang on the run's seed, the round and what they are for, not on the strategy: all
 * strategies of a seed start a round with the same weights and see their samples in the
 * same kind of order.
 *
 * How good the best epoch was is found by looking at the test set in between, as often as
 * makes about a fifth of the training's work at most, by counting samples and not by the
 * clock: the answer must be the same when a run is done again. Where the labelled set is
 * small beside the test set that is never, and the best is the last. So it is where an
 * average of the weights is what a training ends with, and of an ensemble: in between
 * they are not to be had.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/rng.h"
#include "loop/loop.h"
#include "nn/input.h"
#include "scant/train.h"

static const char *or_null(const char *text) { return *text ? text : NULL; }

uint64_t loop_seed(uint64_t seed, size_t round, size_t model, enum loop_seed_use use) {
    const scant__rng rng = {seed, SCANT__RNG_ROUND};
    return scant__rng_u64(&rng, ((uint64_t)round * 1024 + model) * 8 + use);
}

/* ---- making one -------------------------------------------------------------------- */

/* The pool's own mean and deviation, found once a run. */
static scant_status scale(loop_run *run, scant_net *net) {
    size_t channels = nn_net_input(net->net).c;
    if (net->mean) return SCANT_OK; /* weights that came with theirs */
    if (run->mean) return scant_net_set_scaling(net, run->mean, run->deviation);
    TRY(nn_input_fit_scaling(net, run->job->samples.train, run->split.pool,
                             run->split.n_pool));
    if (!net->mean) return SCANT_OK;
    run->mean = scant__arena_alloc(&run->arena, channels, sizeof *run->mean);
    run->deviation = scant__arena_alloc(&run->arena, channels, sizeof *run->deviation);
    if (!run->mean || !run->deviation) return SCANT_ENOMEM;
    memcpy(run->mean, net->mean, channels * sizeof *run->mean);
    memcpy(run->deviation, net->deviation, channels * sizeof *run->deviation);
    return SCANT_OK;
}

static scant_status create(scant_ctx *ctx, const loop_job *job, uint64_t seed,
                           uint64_t draw_seed, scant_net **out) {
    const loop_settings *set = &job->e->set;
    const loop_samples *samples = &job->samples;
    scant_net_opts opts = {.classes = samples->classes,
                           .width = set->width,
                           .depth = set->depth,
                           .activation = or_null(set->activation),
                           .dropout = set->dropout,
                           .norm = or_null(set->norm),
                           .stem = or_null(set->stem),
                           .head = or_null(set->head),
                           .seed = seed};
    scant_data_shape(samples->train, opts.shape);
    loop_bayes_options(set, draw_seed, &opts);
    if (*set->weights)
        TRY(scant_net_start(ctx, set->weights, set->model, &opts, out));
    else
        TRY(scant_net_create(ctx, set->model, &opts, out));
    scant_status status = nn_input_check(*out, samples->test);
    if (status == SCANT_OK) return SCANT_OK;
    scant_net_free(*out);
    *out = NULL;
    return status;
}

/* Warnings are for the runs to tell. */
scant_status loop_net_check(loop_job *job) {
    scant_net *net;
    void (*log)(void *, scant_log_level, const char *) = job->ctx->opts.log;
    job->ctx->opts.log = NULL;
    scant_status status = create(job->ctx, job, 0, 0, &net);
    job->ctx->opts.log = log;
    scant_net_free(net);
    return status;
}

scant_status loop_net_make_one(loop_run *run, uint64_t seed, scant_net **out) {
    TRY(create(run->ctx, run->job, seed, run->seed, out));
    scant_status status = scale(run, *out);
    if (status == SCANT_OK) return SCANT_OK;
    scant_net_free(*out);
    *out = NULL;
    return status;
}

scant_status loop_net_make(loop_run *run, uint64_t seed, scant_net **out) {
    const scant__rng rng = {seed, SCANT__RNG_MEMBER};
    size_t members = loop_members(&run->job->e->set);
    scant_net *member;
    TRY(loop_net_make_one(run, seed, out));
    for (size_t i = 1; i < members; i++) {
        scant_status status = loop_net_make_one(run, scant__rng_u64(&rng, i), &member);
        if (status == SCANT_OK) {
            status = scant_net_join(*out, member);
            if (status != SCANT_OK) scant_net_free(member);
        }
        if (status == SCANT_OK) continue;
        scant_net_free(*out);
        *out = NULL;
        return status;
    }
    return SCANT_OK;
}

/* ---- training ---------------------------------------------------------------------- */

typedef struct watcher {
    loop_run *run;
    scant_net *net;
    const char *phase;
    bool looks;     /* at the test set */
    bool aside;     /* it is none of the round's networks */
    size_t samples; /* of an epoch */
    size_t every;   /* epochs between two looks; 0: not known yet, SIZE_MAX: none */
    double before, counts; /* of the round's work: done by others, in this one */
    scant_status status;
} watcher;

/* A step forward and back costs about what three readings do. */
static size_t look_every(const loop_run *run, size_t samples, size_t epochs) {
    double work = 3.0 * (double)samples * (double)epochs;
    double looks = floor(0.2 * work / (double)run->job->samples.n_test);
    if (looks < 1) return SIZE_MAX;
    return (size_t)ceil((double)epochs / (looks + 1));
}

/* A look is not broken off: who resumes the training is past it. */
static void look(watcher *w) {
    scant_evaluation e;
    const loop_samples *s = &w->run->job->samples;
    double *best = &w->run->state.partial.best;
    enum loop_time before = loop_clock(w->run, LOOP_JUDGING);
    w->run->cancellable = false;
    w->status = scant_net_evaluate(w->net, s->test, s->test_rows, s->n_test, &e);
    w->run->cancellable = true; /* as every training is */
    loop_clock(w->run, before);
    if (w->status == SCANT_OK && e.accuracy > *best) *best = e.accuracy;
}

static void on_step(void *user, const scant_train_state *state) {
    watcher *w = user;
    double part = (double)state->step / (double)state->steps;
    if (!w->aside) w->run->now = *state;
    if (w->run->side) part = loop_side_done(w->run, part);
    loop_tell(w->run, w->phase, w->before + w->counts * part);
    if (w->looks && !w->every) w->every = look_every(w->run, w->samples, state->epochs);
    bool due = w->every && w->every < SIZE_MAX && state->epoch_ended &&
               state->epoch % w->every == 0 && state->epoch < state->epochs &&
               !state->stopped;
    if (due && w->status == SCANT_OK) look(w);
}

/* A file that was lost, or is of another build, costs the time that it held. */
static scant_status train_or_begin_anew(loop_run *run, scant_net *net,
                                        scant_train_opts *opts,
                                        scant_train_state *state) {
    scant_status status = scant_net_train(net, run->job->samples.train, opts, state);
    bool unread =
        opts->resume && !state->step && (status == SCANT_EINPUT || status == SCANT_EIO);
    if (!unread) return status;
    scant__warn(run->ctx, "%s; this training of round %zu begins anew", run->ctx->err,
                run->round);
    opts->resume = 0;
    run->state.partial.best = 0;
    return scant_net_train(net, run->job->samples.train, opts, state);
}

/* All that the last round's had, where that is asked for (train.warm). */
static scant_status train_warm(loop_run *run, scant_net *net, size_t part,
                               scant_train_opts *opts, scant_train_state *state) {
    if (!run->job->e->set.warm) return train_or_begin_anew(run, net, opts, state);
    bool before = run->round && loop_state_labels(&run->state, run->round - 1);
    char *left = loop_left_path(run, part);
    char *warm = before ? loop_warm_path(run, part) : NULL;
    opts->leave = left;
    opts->warm = warm;
    scant_status status = SCANT_ENOMEM;
    if (left && (warm || !before)) status = train_or_begin_anew(run, net, opts, state);
    scant__free(run->ctx, left);
    scant__free(run->ctx, warm);
    return status;
}

/* A training that is gone on with when it was broken off. */
static scant_status train_lasting(loop_run *run, scant_net *net, size_t part,
                                  scant_train_opts *opts, scant_train_state *state) {
    loop_partial *p = &run->state.partial;
    char *far = part == LOOP_ASKER ? &p->asker : &p->parts[part];
    bool mine = *far == LOOP_SLOT_A || *far == LOOP_SLOT_B;
    size_t slot = *far == LOOP_SLOT_A;
    char *to = loop_training_path(run, part, slot);
    char *from = loop_training_path(run, part, !slot);
    scant_status status = to && from ? SCANT_OK : SCANT_ENOMEM;
    if (status == SCANT_OK) {
        opts->checkpoint = to;
        opts->only_cancelled = 1;
        opts->resume_from = from;
        opts->resume = mine && access(from, F_OK) == 0;
        if (mine && !opts->resume)
            scant__warn(run->ctx, "%s: is lost; this training of round %zu begins anew",
                        from, run->round);
        if (!opts->resume) p->best = 0;
        unlink(to); /* whatever it is, no state tells of it */
        status = train_warm(run, net, part, opts, state);
    }
    if (status == SCANT_ECANCELLED && access(to, F_OK) == 0)
        *far = slot ? LOOP_SLOT_B : LOOP_SLOT_A;
    scant__free(run->ctx, to);
    scant__free(run->ctx, from);
    return status;
}

double loop_work(const loop_settings *set, size_t labels) {
    bool same = set->steps || !loop_supervised(set);
    return same ? labels > 0 : (double)labels;
}

size_t loop_steps(size_t steps, size_t epochs, size_t all_epochs) {
    size_t whole = steps / all_epochs, rest = steps % all_epochs;
    return steps ? size_max(whole * epochs + rest * epochs / all_epochs, 1) : 0;
}

static scant_train_opts options(const loop_run *run, const loop_labelled *labelled,
                                uint64_t seed, size_t epochs) {
    const loop_settings *set = &run->job->e->set;
    bool patient = set->patience && run->split.n_valid;
    return (scant_train_opts){
        .rows = labelled->rows,
        .n_rows = labelled->n,
        .weights = labelled->weights,
        .draw = strcmp(set->use_weights, "draw") == 0,
        .valid = patient ? run->job->samples.train : NULL,
        .valid_rows = patient ? run->split.valid : NULL,
        .n_valid_rows = patient ? run->split.n_valid : 0,
        .optimizer = set->optimizer,
        .lr = run->lr,
        .momentum = scant_or_none(set->momentum),
        .nesterov = set->nesterov ? 1 : -1, /* 0 is the method's */
        .weight_decay = set->weight_decay,
        .decay_weights_only = set->decay_weights_only ? 1 : -1,
        .schedule = set->schedule,
        .warmup = set->warmup,
        .clip = set->clip,
        .norm_momentum = set->norm_momentum,
        .ema = set->ema,
        .batch = set->batch,
        .epochs = epochs,
        .steps = loop_steps(set->steps, epochs, set->epochs),
        .until = set->until,
        .patience = patient ? set->patience : 0,
        .loss = set->loss,
        .seed = seed,
        .report = on_step,
    };
}

scant_status loop_net_train(loop_run *run, scant_net *net, const loop_labelled *labelled,
                            uint64_t seed, size_t epochs, size_t part) {
    const loop_samples *s = &run->job->samples;
    const loop_settings *set = &run->job->e->set;
    bool aside = part == LOOP_ASIDE, asker = part == LOOP_ASKER;
    scant_train_opts opts = options(run, labelled, seed, epochs);
    scant_train_state state = {0};
    scant__arena arena;
    scant__arena_init(&arena, run->ctx);
    void (*log)(void *, scant_log_level, const char *) = run->ctx->opts.log;
    if (aside) run->ctx->opts.log = NULL; /* the round's own training has told it */
    scant_status status = loop_method_options(run, labelled, &arena, &opts);
    watcher w = {.run = run, .net = net, .aside = aside};
    w.samples = opts.method ? opts.n_unlabelled : labelled->n;
    w.phase = aside ? "calibrating" : asker ? "training the asker" : "training";
    w.looks = !aside && !asker && !s->regression && set->ema == 0 && run->n_members == 1;
    if (!aside && !asker) {
        size_t others = run->side ? part - part % run->n_members : part;
        w.counts = loop_work(set, labelled->n) / (double)(run->n_models * run->n_members);
        w.before = w.counts * (double)others;
    }
    run->own = true;
    opts.user = &w;
    if (status == SCANT_OK)
        status = aside ? scant_net_train(net, s->train, &opts, NULL)
                       : train_lasting(run, net, part, &opts, &state);
    run->ctx->opts.log = log;
    if (!aside && !asker && status == SCANT_OK) {
        run->taught[part] = state;
        run->state.partial.epochs[part] = state.epoch;
    }
    scant__arena_end(&arena);
    return status == SCANT_OK ? w.status : status;
}

/* ---- a round's --------------------------------------------------------------------- */

/* Which of several models is kept is a choice: where there are samples to validate on,
 * they make it. */
static scant_status score(loop_run *run, scant_net *net, loop_verdict *v) {
    scant_evaluation e = {.accuracy = v->accuracy, .loss = v->loss};
    if (run->n_models > 1 && run->split.n_valid)
        TRY(scant_net_evaluate(net, run->job->samples.train, run->split.valid,
                               run->split.n_valid, &e));
    v->score = run->job->samples.regression ? -e.loss : e.accuracy;
    return SCANT_OK;
}

static scant_status judge(loop_run *run, scant_net *net, double part, loop_verdict *v) {
    double best = run->state.partial.best;
    scant_evaluation e;
    loop_tell(run, "judging", part);
    enum loop_time before = loop_clock(run, LOOP_JUDGING);
    loop_calibration calibration;
    scant_status status = loop_calibrated_evaluate(run, net, &e, &calibration);
    if (status == SCANT_OK) {
        *v = (loop_verdict){.accuracy = e.accuracy,
                            .loss = e.loss,
                            .best = best > e.accuracy ? best : e.accuracy,
                            .calibration = calibration};
        status = score(run, net, v);
    }
    loop_clock(run, before);
    return status;
}

scant_net *loop_part(const loop_run *run, size_t part) {
    scant_net *model = run->models[part / run->n_members];
    return model ? scant_net_member(model, part % run->n_members) : NULL;
}

uint64_t loop_weights_seed(const loop_run *run, size_t model) {
    return loop_seed(run->seed, run->round, model, LOOP_SEED_WEIGHTS);
}

/* The parts of a model that are not trained yet. */
static scant_status train_parts(loop_run *run, const loop_labelled *labelled,
                                size_t model) {
    loop_lesson lessons[LOOP_MEMBERS];
    char *parts = run->state.partial.parts;
    scant_net **net = &run->models[model];
    size_t n = 0;
    for (size_t i = 0; i < run->n_members; i++) {
        size_t part = model * run->n_members + i;
        if (parts[part] != LOOP_TRAINED)
            lessons[n++] = (loop_lesson){
                i, loop_seed(run->seed, run->round, part, LOOP_SEED_TRAINING), part};
    }
    if (!n) return SCANT_OK;
    if (!*net) TRY(loop_net_make(run, loop_weights_seed(run, model), net));
    if (labelled->n)
        return loop_members_train(run, *net, labelled, lessons, n,
                                  run->job->e->set.epochs);
    memset(parts + model * run->n_members, LOOP_TRAINED, run->n_members);
    return SCANT_OK;
}

/* A model of the round, as far as that is to be done: made or gone on with, trained,
 * judged. */
static scant_status bring_up(loop_run *run, const loop_labelled *labelled, size_t model) {
    loop_partial *p = &run->state.partial;
    TRY(train_parts(run, labelled, model));
    if (p->n_judged > model) return SCANT_OK;
    double work = loop_work(&run->job->e->set, labelled->n);
    double part = work * (double)(model + 1) / (double)run->n_models;
    TRY(judge(run, run->models[model], part, &p->verdicts[model]));
    p->n_judged = model + 1;
    p->best = 0;
    return SCANT_OK;
}

size_t loop_median(const loop_verdict *verdicts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t below = 0;
        for (size_t k = 0; k < n; k++)
            below += verdicts[k].score < verdicts[i].score ||
                     (verdicts[k].score == verdicts[i].score && k < i);
        if (below == (n - 1) / 2) return i;
    }
    return 0;
}

static void drop(scant_net **net) {
    scant_net_free(*net);
    *net = NULL;
}

static void take_median(loop_run *run) {
    run->chosen = loop_median(run->verdicts, run->n_models);
    run->net = run->models[run->chosen];
    run->models[run->chosen] = NULL;
    for (size_t i = 0; i < run->n_models; i++) drop(&run->models[i]);
}

/* The network that picks, where it is another one. */
static scant_status bring_up_asker(loop_run *run, const loop_labelled *labelled) {
    const scant_experiment *e = run->job->e;
    loop_partial *p = &run->state.partial;
    if (!*e->set.query_seed || p->asker == LOOP_TRAINED) return SCANT_OK;
    if (!run->asker)
        TRY(loop_net_make(run, loop_seed(e->query_seed, run->round, 0, LOOP_SEED_ASKER),
                          &run->asker));
    if (!labelled->n) return SCANT_OK;
    TRY(loop_net_train(run, run->asker, labelled,
                       loop_seed(e->query_seed, run->round, 0, LOOP_SEED_ASKER_TRAINING),
                       e->set.epochs, LOOP_ASKER));
    p->asker = LOOP_TRAINED;
    return SCANT_OK;
}

scant_status loop_learn(loop_run *run, const loop_labelled *labelled, loop_point *point) {
    const loop_settings *set = &run->job->e->set;
    bool several = run->round == 0 && labelled->n;
    loop_clock(run, LOOP_TRAINING);
    if (set->reinit) {
        drop(&run->net);
        drop(&run->asker);
    }
    TRY(loop_theory_rate(run, labelled));
    run->n_models = several ? set->initial_models : 1;
    run->models[0] = run->net;
    run->net = NULL;
    memset(run->taught, 0, run->n_models * run->n_members * sizeof *run->taught);
    run->now = (scant_train_state){0};
    TRY(loop_partial_recall(run));
    run->recalled = true;
    for (size_t i = 0; i < run->n_models; i++) TRY(bring_up(run, labelled, i));
    take_median(run);
    run->work_done += loop_work(set, labelled->n);
    TRY(bring_up_asker(run, labelled));
    run->now = run->taught[run->chosen * run->n_members];
    loop_clock(run, LOOP_REST);
    const loop_verdict *v = &run->verdicts[run->chosen];
    run->calibration = v->calibration;
    *point = (loop_point){.labels = labelled->n,
                          .accuracy = v->accuracy,
                          .loss = v->loss,
                          .best = v->best,
                          .train_seconds = run->seconds[LOOP_TRAINING]};
    return SCANT_OK;
}
