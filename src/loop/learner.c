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
 * small beside the test set that is never, and the best is the last.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/rng.h"
#include "loop/loop.h"
#include "nn/feed.h"

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
    TRY(nn_feed_fit_scaling(net, run->job->samples.train, run->split.pool,
                            run->split.n_pool));
    if (!net->mean) return SCANT_OK;
    run->mean = scant__arena_alloc(&run->arena, channels, sizeof *run->mean);
    run->deviation = scant__arena_alloc(&run->arena, channels, sizeof *run->deviation);
    if (!run->mean || !run->deviation) return SCANT_ENOMEM;
    memcpy(run->mean, net->mean, channels * sizeof *run->mean);
    memcpy(run->deviation, net->deviation, channels * sizeof *run->deviation);
    return SCANT_OK;
}

scant_status loop_net_make(loop_run *run, uint64_t seed, scant_net **out) {
    const loop_settings *set = &run->job->e->set;
    const loop_samples *samples = &run->job->samples;
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
    if (*set->weights)
        TRY(scant_net_start(run->ctx, set->weights, set->model, &opts, out));
    else
        TRY(scant_net_create(run->ctx, set->model, &opts, out));
    scant_status status = nn_feed_check(*out, samples->test);
    if (status == SCANT_OK) status = scale(run, *out);
    if (status == SCANT_OK) return SCANT_OK;
    scant_net_destroy(*out);
    *out = NULL;
    return status;
}

/* ---- training ---------------------------------------------------------------------- */

typedef struct watcher {
    loop_run *run;
    scant_net *net;
    bool looks; /* at the test set */
    size_t labelled;
    size_t every;  /* epochs between two looks; 0: not known yet, SIZE_MAX: none */
    double counts; /* of the run's work, that this training is */
    scant_status status;
} watcher;

/* A step forward and back costs about what three readings do. */
static size_t look_every(const loop_run *run, size_t labelled, size_t epochs) {
    double work = 3.0 * (double)labelled * (double)epochs;
    double looks = floor(0.2 * work / (double)run->job->samples.n_test);
    if (looks < 1) return SIZE_MAX;
    return (size_t)ceil((double)epochs / (looks + 1));
}

static void on_step(void *user, const scant_train_state *state) {
    watcher *w = user;
    double part = (double)state->step / (double)state->steps;
    loop_tell(w->run, "training", w->counts * part);
    if (w->looks && !w->every) w->every = look_every(w->run, w->labelled, state->epochs);
    bool due = w->every && w->every < SIZE_MAX && state->epoch_ended &&
               state->epoch % w->every == 0 && state->epoch < state->epochs &&
               !state->stopped;
    if (!due || w->status != SCANT_OK) return;
    scant_evaluation e;
    const loop_samples *s = &w->run->job->samples;
    w->run->cancellable = false;
    w->status = scant_net_evaluate(w->net, s->test, s->test_rows, s->n_test, &e);
    w->run->cancellable = true; /* as every training that looks at the test set */
    if (w->status == SCANT_OK && e.accuracy > w->run->best) w->run->best = e.accuracy;
}

/* What an earlier call knew of a training that was broken off and is on disk. */
static bool recall_partial(loop_run *run, size_t model, scant_train_opts *opts) {
    loop_state *s = &run->state;
    bool mine =
        s->partial.there && s->partial.round == run->round && s->partial.model == model;
    if (mine && access(opts->checkpoint, F_OK) == 0) {
        opts->resume = 1;
        run->best = s->partial.best;
        run->judging -= s->partial.seconds;
    }
    if (mine) s->partial.there = false;
    return opts->resume;
}

static scant_status keep_partial(loop_run *run, size_t model, double seconds) {
    loop_state *s = &run->state;
    s->partial.there = true;
    s->partial.round = run->round;
    s->partial.model = model;
    s->partial.best = run->best;
    s->partial.seconds = seconds;
    TRY(loop_keep(run));
    return scant__fail(run->ctx, SCANT_ECANCELLED, "cancelled");
}

static scant_status train_lasting(loop_run *run, scant_net *net, size_t model,
                                  scant_train_opts *opts) {
    scant__text text;
    char *path;
    size_t size;
    double begun = loop_now();
    scant__text_init(&text, run->ctx);
    scant__text_addf(&text, "%s.training.safetensors", run->path);
    TRY(scant__text_take(&text, &path, &size));
    opts->checkpoint = path;
    opts->only_cancelled = 1;
    bool resumed = recall_partial(run, model, opts);
    run->cancellable = true;
    scant_status status = scant_net_train(net, run->job->samples.train, opts, NULL);
    run->cancellable = false;
    if (status == SCANT_ECANCELLED)
        status = keep_partial(run, model, loop_now() - begun);
    else if (resumed)
        unlink(path);
    scant__free(run->ctx, path);
    return status;
}

scant_status loop_net_train(loop_run *run, scant_net *net, const loop_labelled *labelled,
                            uint64_t seed, size_t epochs, size_t model) {
    const loop_settings *set = &run->job->e->set;
    const loop_samples *s = &run->job->samples;
    watcher w = {.run = run, .net = net};
    bool patient = set->patience && run->split.n_valid, aside = model == LOOP_ASIDE;
    w.looks = !aside && !s->regression;
    w.labelled = labelled->n;
    if (!aside) w.counts = (double)labelled->n;
    run->own = true;
    scant_train_opts opts = {
        .rows = labelled->rows,
        .n_rows = labelled->n,
        .weights = labelled->weights,
        .valid = patient ? s->train : NULL,
        .valid_rows = patient ? run->split.valid : NULL,
        .n_valid_rows = patient ? run->split.n_valid : 0,
        .optimizer = set->optimizer,
        .lr = set->lr,
        .momentum = set->momentum > 0 ? set->momentum : -1,
        .nesterov = set->nesterov,
        .weight_decay = set->weight_decay,
        .decay_weights_only = set->decay_weights_only,
        .schedule = set->schedule,
        .warmup = set->warmup,
        .clip = set->clip,
        .ema = set->ema,
        .batch = set->batch,
        .epochs = epochs,
        .steps = set->steps ? size_max(set->steps * epochs / set->epochs, 1) : 0,
        .until = set->until,
        .patience = patient ? set->patience : 0,
        .loss = set->loss,
        .augment = set->augment,
        .seed = seed,
        .user = &w,
        .report = on_step,
    };
    scant_status status = aside ? scant_net_train(net, s->train, &opts, NULL)
                                : train_lasting(run, net, model, &opts);
    return status == SCANT_OK ? w.status : status;
}

/* ---- a round's --------------------------------------------------------------------- */

typedef struct candidate {
    scant_net *net;
    double score, best;
    scant_evaluation e;
} candidate;

static scant_status judge(loop_run *run, scant_net *net, scant_evaluation *e) {
    const loop_samples *s = &run->job->samples;
    run->phase = "judging";
    return scant_net_evaluate(net, s->test, s->test_rows, s->n_test, e);
}

/* A network of the round that is number `model`: made or gone on with, trained, judged.
 */
static scant_status bring_up(loop_run *run, const loop_labelled *labelled, size_t model,
                             scant_net *before, candidate *c) {
    const loop_settings *set = &run->job->e->set;
    c->net = before;
    if (!c->net)
        TRY(loop_net_make(run, loop_seed(run->seed, run->round, model, LOOP_SEED_WEIGHTS),
                          &c->net));
    run->best = 0;
    if (labelled->n)
        TRY(loop_net_train(run, c->net, labelled,
                           loop_seed(run->seed, run->round, model, LOOP_SEED_TRAINING),
                           set->epochs, model));
    double spent = loop_now();
    TRY(judge(run, c->net, &c->e));
    run->judging += loop_now() - spent;
    c->score = run->job->samples.regression ? -c->e.loss : c->e.accuracy;
    c->best = run->best > c->e.accuracy ? run->best : c->e.accuracy;
    return SCANT_OK;
}

/* The one whose score is in the middle; of an even number the lower of the two. */
static size_t median(const candidate *all, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t below = 0;
        for (size_t k = 0; k < n; k++)
            below +=
                all[k].score < all[i].score || (all[k].score == all[i].score && k < i);
        if (below == (n - 1) / 2) return i;
    }
    return 0;
}

static scant_status bring_up_several(loop_run *run, const loop_labelled *labelled,
                                     size_t n, candidate *out) {
    candidate *all = scant__zalloc(run->ctx, n, sizeof *all);
    if (!all) return SCANT_ENOMEM;
    scant_status status = SCANT_OK;
    for (size_t i = 0; i < n && status == SCANT_OK; i++)
        status = bring_up(run, labelled, i, NULL, &all[i]);
    size_t kept = status == SCANT_OK ? median(all, n) : n;
    for (size_t i = 0; i < n; i++)
        if (i != kept) scant_net_destroy(all[i].net);
    if (kept < n) *out = all[kept];
    scant__free(run->ctx, all);
    return status;
}

/* The network that picks, where it is another one. */
static scant_status bring_up_asker(loop_run *run, const loop_labelled *labelled) {
    const scant_experiment *e = run->job->e;
    if (!*e->set.query_seed) return SCANT_OK;
    if (e->set.reinit) {
        scant_net_destroy(run->asker);
        run->asker = NULL;
    }
    if (!run->asker)
        TRY(loop_net_make(run, loop_seed(e->query_seed, run->round, 0, LOOP_SEED_WEIGHTS),
                          &run->asker));
    if (!labelled->n) return SCANT_OK;
    return loop_net_train(run, run->asker, labelled,
                          loop_seed(e->query_seed, run->round, 0, LOOP_SEED_TRAINING),
                          e->set.epochs, LOOP_ASIDE);
}

scant_status loop_learn(loop_run *run, const loop_labelled *labelled, loop_point *point) {
    const loop_settings *set = &run->job->e->set;
    double begun = loop_now();
    candidate c = {0};
    run->judging = 0;
    if (set->reinit) {
        scant_net_destroy(run->net);
        run->net = NULL;
    }
    scant_status status;
    if (run->round == 0 && set->initial_models > 1 && labelled->n) {
        status = bring_up_several(run, labelled, set->initial_models, &c);
    } else {
        status = bring_up(run, labelled, 0, run->net, &c);
    }
    run->net = c.net;
    if (status == SCANT_OK) status = bring_up_asker(run, labelled);
    if (status != SCANT_OK) return status;
    *point = (loop_point){.labels = labelled->n,
                          .accuracy = c.e.accuracy,
                          .loss = c.e.loss,
                          .best = c.best,
                          .train_seconds = loop_now() - begun - run->judging};
    return SCANT_OK;
}

/* ---- on disk ----------------------------------------------------------------------- */

/* Files carry the number of the round after which they were written: the state says which
 * round that is, and is written after them. */
static char *weights_path(const loop_run *run, const char *which, size_t round) {
    scant__text text;
    char *path;
    size_t size;
    scant__text_init(&text, run->ctx);
    scant__text_addf(&text, "%s.%s%zu.safetensors", run->path, which, round);
    return scant__text_take(&text, &path, &size) == SCANT_OK ? path : NULL;
}

static scant_status keep_one(loop_run *run, scant_net *net, const char *which) {
    if (!net) return SCANT_OK;
    char *path = weights_path(run, which, run->round);
    if (!path) return SCANT_ENOMEM;
    scant_status status = scant_net_save(net, path);
    scant__free(run->ctx, path);
    return status;
}

scant_status loop_nets_keep(loop_run *run) {
    if (run->job->e->set.reinit) return SCANT_OK;
    TRY(keep_one(run, run->net, "weights-"));
    return keep_one(run, run->asker, "asker-");
}

/* Those of the round before are of no use any more. */
void loop_nets_forget(loop_run *run, size_t round) {
    static const char *const names[] = {"weights-", "asker-"};
    if (run->job->e->set.reinit) return;
    for (size_t i = 0; i < 2; i++) {
        char *path = weights_path(run, names[i], round);
        if (path) unlink(path);
        scant__free(run->ctx, path);
    }
}

static scant_status recall_one(loop_run *run, const char *which, size_t round,
                               scant_net **net) {
    TRY(loop_net_make(run, 0, net));
    char *path = weights_path(run, which, round);
    if (!path) return SCANT_ENOMEM;
    scant_status status = scant_net_load(*net, path, 0);
    scant__free(run->ctx, path);
    return status;
}

scant_status loop_nets_recall(loop_run *run) {
    const scant_experiment *e = run->job->e;
    size_t done = run->state.n_points;
    if (e->set.reinit || !done) return SCANT_OK;
    TRY(recall_one(run, "weights-", done - 1, &run->net));
    if (!*e->set.query_seed) return SCANT_OK;
    return recall_one(run, "asker-", done - 1, &run->asker);
}
