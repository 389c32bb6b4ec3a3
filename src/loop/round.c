/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's rounds: train, evaluate, read evidence, pick, reveal the labels. A round is
 * finished when the picks for the next one are chosen; then its results are written. So
 * weights need not be kept between rounds unless the next one trains on them. A round can
 * be cancelled anywhere before that: what is trained of it is kept (nets.c), and the rest
 * is done again from there.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/json.h"
#include "loop/loop.h"
#include "scant/train.h"

/* ---- progress and log -------------------------------------------------------------- */

void loop_report(loop_run *run, scant_run_event_kind kind, size_t round, bool before) {
    const loop_job *job = run->job;
    if (!job->opts.report) return;
    double spent = run->progress.begun > 0 ? scant__now() - run->progress.begun : 0;
    double gained = run->progress.fraction - run->progress.fraction_begun;
    size_t known = kind == SCANT_RUN_ROUND ? round + 1 : run->shown_points;
    const loop_point *last = known ? &run->state.points[known - 1] : NULL;
    bool accurate = last && !job->samples.regression;
    scant_run_event event = {
        .kind = kind,
        .run = run->number,
        .runs = job->n_runs,
        .strategy = run->arm->info->name,
        .seed = run->seed,
        .round = round,
        .rounds = job->e->set.rounds,
        .labels = kind == SCANT_RUN_ROUND ? last->labels
                                          : loop_state_labels(&run->state, round),
        .accuracy = accurate ? last->accuracy : -1,
        .loss = last ? last->loss : -1,
        .train_loss = run->round.training.steps ? run->round.training.loss : -1,
        .unlabelled_loss =
            run->round.training.steps ? run->round.training.unlabelled_loss : -1,
        .kept = run->round.training.steps ? run->round.training.kept : -1,
        .balance = run->round.training.steps ? run->round.training.balance : -1,
        .phase = run->progress.phase ? run->progress.phase : "",
        .fraction = run->progress.fraction,
        .seconds = spent,
        .left = gained > 0 ? spent * (1 - run->progress.fraction) / gained : -1,
        .before = before,
        .text = kind == SCANT_RUN_FAILED ? run->error : ""};
    job->opts.report(job->opts.user, &event);
}

static void tell(void *arg) {
    loop_run *run = arg;
    loop_report(run, SCANT_RUN_PROGRESS, run->round.number, false);
}

void loop_tell(loop_run *run, const char *phase, double part) {
    static const double pause = 0.1;
    double now = scant__now(),
           done = (run->progress.work_done + part) / run->progress.work_whole;
    bool begins = !run->progress.phase || strcmp(run->progress.phase, phase) != 0;
    run->progress.phase = phase;
    run->progress.fraction = done < 1 ? done : 1;
    if ((!begins && now - run->progress.told < pause) || !run->job->opts.report) return;
    run->progress.told = now;
    loop_ask(run, tell, run);
}

enum loop_time loop_clock(loop_run *run, enum loop_time what) {
    double now = scant__now();
    enum loop_time before = run->times.now;
    run->times.seconds[before] += now - run->times.since;
    run->times.since = now;
    run->times.now = what;
    return before;
}

void loop_ask(loop_run *run, void (*fn)(void *arg), void *arg) {
    enum loop_time before = loop_clock(run, LOOP_WAITING);
    scant__jobpool_call(run->jobpool, fn, arg);
    loop_clock(run, before);
}

static void log_name(const loop_run *run, scant__text *text) {
    scant__text_add(text, "\"strategy\": ");
    scant__text_json(text, run->arm->info->name);
    scant__text_addf(text, ", \"seed\": \"%llu\"", (unsigned long long)run->seed);
}

static void log_number(scant__text *text, const char *key, double value) {
    scant__text_addf(text, ", \"%s\": ", key);
    if (isfinite(value))
        scant__text_number(text, value, 9);
    else
        scant__text_add(text, "null");
}

/* Only the network is known of a training that an earlier call has finished. */
static void log_training(const loop_run *run, scant__text *text) {
    const scant_train_state *t = &run->round.training;
    if (!t->steps) return;
    log_number(text, "train_loss", t->loss);
    if (t->unlabelled_loss < 0) return;
    log_number(text, "unlabelled_loss", t->unlabelled_loss);
    log_number(text, "kept", t->kept);
    if (t->balance >= 0) log_number(text, "balance", t->balance);
}

static void log_round(loop_run *run) {
    const loop_point *p = &run->state.points[run->round.number];
    scant__text text;
    scant__text_init(&text, run->job->ctx);
    log_name(run, &text);
    scant__text_addf(&text, ", \"round\": %zu, \"labels\": %zu", run->round.number,
                     p->labels);
    if (!run->job->samples.regression) {
        log_number(&text, "accuracy", p->accuracy);
        log_number(&text, "best_accuracy", p->best);
    }
    log_number(&text, "loss", p->loss);
    log_training(run, &text);
    log_number(&text, "train_seconds", p->train_seconds);
    log_number(&text, "judge_seconds", run->times.seconds[LOOP_TESTING]);
    log_number(&text, "evidence_seconds", run->times.seconds[LOOP_READING]);
    log_number(&text, "pick_seconds", run->times.seconds[LOOP_PICKING]);
    log_number(&text, "theory_seconds", run->times.seconds[LOOP_THEORY]);
    loop_theory_log(&run->state.theories[run->round.number], &text);
    if (isfinite(run->round.lr_stable))
        log_number(&text, "lr_stable", run->round.lr_stable);
    if (p->labels) log_number(&text, "lr", run->round.lr);
    if (run->round.temperature > 0) {
        log_number(&text, "temperature", run->round.temperature);
        scant__text_addf(&text, ", \"calibrated\": \"%s\"",
                         run->split.n_valid ? "validation set" : "cross-fitting");
    }
    loop_log(run->job, "round", &text);
}

/* ---- on the caller's thread -------------------------------------------------------- */

static void begin_run(void *arg) {
    loop_run *run = arg;
    scant__text text;
    scant__text_init(&text, run->job->ctx);
    log_name(run, &text);
    scant__text_addf(&text, ", \"round\": %zu, \"pool\": %zu, \"validation\": %zu",
                     run->state.n_points, run->split.n_pool, run->split.n_valid);
    loop_log(run->job, "run", &text);
    loop_report(run, SCANT_RUN_BEGIN, run->state.n_points, false);
}

/* The run waits, so its context may be changed. */
static void pass_error(loop_run *run) {
    if (run->written != SCANT_OK)
        memcpy(run->ctx->err, run->job->ctx->err, sizeof run->ctx->err);
}

static void publish(void *arg) {
    loop_run *run = arg;
    log_round(run);
    loop_folder_add(run);
    run->written = loop_folder_write(run->job);
    pass_error(run);
    if (run->written == SCANT_OK)
        loop_report(run, SCANT_RUN_ROUND, run->round.number, false);
}

void loop_say_over(const loop_run *run, scant_ctx *ctx) {
    size_t left = run->split.n_pool - loop_state_picks(&run->state);
    char why[96] = "the pool is used up";
    if (left)
        snprintf(why, sizeof why, "it picked none of the %zu samples that are left",
                 left);
    scant__warn(ctx, "%s, seed %llu: %s after round %zu of %zu; the run ends there",
                run->arm->info->name, (unsigned long long)run->seed, why,
                run->state.n_points - 1, run->job->e->set.rounds);
}

/* A failure is only a warning: the report is written again when all runs have ended. */
static void report_so_far(loop_job *job) {
    char why[SCANT__ERR_SIZE];
    scant_status status = loop_folder_report(job);
    if (status == SCANT_OK || status == SCANT_ECANCELLED) return;
    memcpy(why, job->ctx->err, sizeof why);
    if (loop_say_once(job, why))
        scant__warn(job->ctx, "the report cannot be written yet: %s", why);
}

static void end_run(void *arg) {
    loop_run *run = arg;
    const loop_state *s = &run->state;
    bool used_up = loop_state_picks(s) == run->split.n_pool;
    scant__text text;
    scant__text_init(&text, run->job->ctx);
    log_name(run, &text);
    scant__text_addf(
        &text, ", \"rounds\": %zu, \"pool_used_up\": %s, \"picked_nothing\": %s",
        s->n_points ? s->n_points - 1 : 0, s->over && used_up ? "true" : "false",
        s->over && !used_up ? "true" : "false");
    loop_log(run->job, "end", &text);
    if (s->over) loop_say_over(run, run->job->ctx);
    run->progress.fraction = 1;
    loop_report(run, SCANT_RUN_END, run->state.n_points - 1, false);
    report_so_far(run->job);
}

/* An earlier call has finished the run. */
static void end_finished(void *arg) {
    loop_run *run = arg;
    run->progress.fraction = 1;
    loop_report(run, SCANT_RUN_END, run->state.n_points - 1, true);
}

static void end_failed(void *arg) {
    loop_run *run = arg;
    scant__text text;
    scant__text_init(&text, run->job->ctx);
    log_name(run, &text);
    scant__text_addf(&text, ", \"round\": %zu, \"status\": \"%s\", \"text\": ",
                     run->round.number, scant_status_name(run->status));
    scant__text_json(&text, run->error);
    loop_log(run->job, "failed", &text);
    loop_report(run, SCANT_RUN_FAILED, run->round.number, false);
}

/* ---- the rounds -------------------------------------------------------------------- */

/* The samples that are labelled when the round begins. A strategy's weights are scaled to
 * average 1 in each of its batches; samples of the initial set weigh 1. */
static scant_status list_labelled(loop_run *run) {
    const loop_state *s = &run->state;
    loop_round *r = &run->round;
    size_t n = loop_state_labels(s, r->number);
    size_t *rows = scant__arena_alloc(&r->arena, n + 1, sizeof *rows);
    float *weights = scant__arena_alloc(&r->arena, n + 1, sizeof *weights);
    if (!rows || !weights) return SCANT_ENOMEM;
    for (size_t round = 0, i = 0; round <= r->number; round++) {
        double sum = 0, size = (double)(s->ends[round] - i);
        for (size_t k = i; k < s->ends[round]; k++) sum += s->picks[k].weight;
        for (; i < s->ends[round]; i++) {
            rows[i] = s->picks[i].index;
            weights[i] = sum > 0 ? (float)(s->picks[i].weight * size / sum) : 1;
        }
    }
    bool use = strcmp(run->job->e->set.use_weights, "no") != 0;
    r->labelled = (loop_labelled){.rows = rows, .weights = use ? weights : NULL, .n = n};
    return SCANT_OK;
}

static scant_status take_picks(loop_run *run, const scant_picks *picks) {
    loop_state *s = &run->state;
    loop_pick *mine = scant__alloc(run->ctx, picks->count + 1, sizeof *mine);
    if (!mine) return SCANT_ENOMEM;
    for (size_t i = 0; i < picks->count; i++)
        mine[i] = (loop_pick){run->split.pool[picks->items[i].index],
                              picks->items[i].weight, picks->items[i].score};
    if (picks->count)
        loop_state_add(s, mine, picks->count);
    else
        s->over = true;
    scant__free(run->ctx, mine);
    s->memory = NULL;
    if (!picks->state || s->over) return SCANT_OK;
    s->memory = scant__arena_strdup(&run->arena, picks->state);
    s->memory_size = picks->state_size;
    return s->memory ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status choose(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    size_t left = run->split.n_pool - run->round.labelled.n;
    bool last = run->round.number == set->rounds;
    scant_picks *picks = NULL;
    if (!last && left) TRY(loop_choose(run, size_min(set->query, left), &picks));
    scant_status status = loop_calibrate_after(run);
    if (status == SCANT_OK) status = loop_theory_measure(run, picks);
    /* from here on nothing is cancelled */
    if (status == SCANT_OK && picks) status = take_picks(run, picks);
    if (status == SCANT_OK && !last && !left) run->state.over = true;
    scant_picks_free(run->ctx, picks);
    return status;
}

scant_status loop_keep(loop_run *run) {
    scant__text text;
    char *path;
    size_t size;
    scant__text_init(&text, run->ctx);
    scant__text_addf(&text, "%s.json", run->path);
    TRY(scant__text_take(&text, &path, &size));
    scant_status status = loop_state_write(
        run->ctx, path, (loop_run_name){run->arm->info->name, run->seed}, &run->state);
    scant__free(run->ctx, path);
    return status;
}

static scant_status write_round(loop_run *run) {
    size_t round = run->round.number;
    bool swept = run->state.partial.there || run->job->e->set.warm;
    run->state.partial.there = false;
    TRY(loop_nets_keep(run));
    TRY(loop_keep(run));
    if (round) loop_nets_forget(run, round - 1);
    if (swept) loop_partial_sweep(run, SIZE_MAX);
    return SCANT_OK;
}

static scant_status finish(loop_run *run, loop_point *point) {
    const double *seconds = run->times.seconds;
    loop_state *s = &run->state;
    point->select_seconds = seconds[LOOP_READING] + seconds[LOOP_PICKING];
    s->calibrations[s->n_points] = run->round.calibration;
    s->theories[s->n_points] = run->round.theory;
    s->points[s->n_points++] = *point;
    TRY(write_round(run));
    loop_ask(run, publish, run);
    return run->written;
}

static scant_status play_round(loop_run *run) {
    loop_point point;
    loop_clock(run, LOOP_REST);
    memset(run->times.seconds, 0, sizeof run->times.seconds);
    TRY(list_labelled(run));
    run->cancellable = true;
    scant_status status = loop_learn(run, &point);
    if (status == SCANT_OK) status = choose(run);
    run->cancellable = false;
    loop_clock(run, LOOP_REST);
    /* before it is recalled, the disk has more of the round than this call */
    if (status == SCANT_ECANCELLED && run->round.recalled) return loop_partial_keep(run);
    return status == SCANT_OK ? finish(run, &point) : status;
}

static scant_status do_round(loop_run *run) {
    loop_round *r = &run->round;
    *r = (loop_round){.number = r->number, .arena = r->arena};
    scant_status status = play_round(run);
    for (size_t i = 0; r->models && i < r->n_models; i++) scant_net_free(r->models[i]);
    r->models = NULL;
    run->state.partial = (loop_partial){0}; /* it may have been the round's */
    scant__arena_end(&r->arena);
    return status;
}

static void plan_work(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    size_t labels = run->split.n_initial;
    run->progress.work_whole = run->progress.work_done = 0;
    for (size_t round = 0; round <= set->rounds; round++) {
        if (round < run->state.n_points)
            run->progress.work_done += loop_work(set, labels);
        run->progress.work_whole += loop_work(set, labels);
        labels = size_min(labels + set->query, run->split.n_pool);
    }
    if (!(run->progress.work_whole > 0)) run->progress.work_whole = 1;
    run->progress.fraction = run->progress.fraction_begun =
        run->progress.work_done / run->progress.work_whole;
}

/* Whether the picks of a state on disk are possible with this pool. */
static bool could_be_picked(const loop_state *s, const loop_split *split) {
    bool same = s->ends[0] == split->n_initial;
    for (size_t i = 0; same && i < loop_state_picks(s); i++) {
        size_t row = s->picks[i].index;
        same = i < split->n_initial ? row == split->initial[i]
                                    : loop_split_place(split, row) < split->n_pool;
    }
    return same;
}

scant_status loop_run_check(loop_run *run, scant_ctx *ctx) {
    const loop_job *job = run->job;
    loop_state *s = &run->state;
    loop_split split;
    scant__arena arena;
    if (!s->n_batches) return SCANT_OK;
    scant__arena_init(&arena, ctx);
    scant_status status =
        loop_split_make(&arena, &job->e->set, &job->samples, run->seed, &split);
    bool same = status != SCANT_OK ||
                (s->samples == job->samples.mark && could_be_picked(s, &split));
    scant__arena_end(&arena);
    if (same) return status;
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s.json: the samples, their labels or which of them cannot be "
                       "read are no longer those that this run was begun with",
                       run->path);
}

static scant_status add_initial(loop_run *run) {
    const loop_split *split = &run->split;
    run->state.samples = run->job->samples.mark;
    if (run->state.n_batches) return SCANT_OK;
    loop_pick *picks = scant__alloc(run->ctx, split->n_initial + 1, sizeof *picks);
    if (!picks) return SCANT_ENOMEM;
    for (size_t i = 0; i < split->n_initial; i++)
        picks[i] = (loop_pick){split->initial[i], 1, 0};
    loop_state_add(&run->state, picks, split->n_initial);
    scant__free(run->ctx, picks);
    return SCANT_OK;
}

static scant_status do_rounds(loop_run *run) {
    const scant_experiment *e = run->job->e;
    run->recipe = loop_recipe(run->job, run->seed);
    TRY(loop_split_make(&run->arena, &e->set, &run->job->samples, run->seed,
                        &run->split));
    TRY(add_initial(run));
    if (run->state.n_points > 1) /* of a call that was killed */
        loop_nets_forget(run, run->state.n_points - 2);
    loop_partial_sweep(run, run->state.partial.there ? run->state.n_points : SIZE_MAX);
    if (run->state.over || run->state.n_points > e->set.rounds) {
        loop_ask(run, end_finished, run);
        return SCANT_OK;
    }
    run->round.number = run->state.n_points;
    TRY(loop_nets_recall(run));
    plan_work(run);
    loop_ask(run, begin_run, run);
    for (; run->round.number <= e->set.rounds && !run->state.over; run->round.number++) {
        if (scant__jobpool_stopped(run->jobpool))
            return scant__fail(run->ctx, SCANT_ECANCELLED, "cancelled");
        TRY(do_round(run));
    }
    loop_ask(run, end_run, run);
    return SCANT_OK;
}

void loop_run_work(loop_run *run) {
    scant__arena_init(&run->arena, run->ctx);
    scant__arena_init(&run->round.arena, run->ctx);
    run->progress.begun = run->times.since = scant__now();
    run->status = do_rounds(run);
    memcpy(run->error, run->ctx->err, sizeof run->error);
    run->alone =
        !run->no_network && (run->status == SCANT_EINPUT || run->status == SCANT_EUSAGE);
    if (run->alone) loop_ask(run, end_failed, run);
    scant_net_free(run->query_net);
    scant_net_free(run->net);
    run->net = run->query_net = NULL;
    run->state.memory = NULL; /* it may have been the run's */
    scant__arena_end(&run->round.arena);
    scant__arena_end(&run->arena);
}
