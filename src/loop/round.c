/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's rounds: train, judge, read out, pick, reveal the labels. A round is finished
 * when the picks for the next one are chosen; then it is written down, so that weights
 * need not be kept between rounds unless they are trained on. A round can be broken off
 * anywhere before that: what is trained of it is kept (nets.c), and the rest is done
 * again from there.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "loop/loop.h"
#include "scant/train.h"

double loop_now(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- telling ----------------------------------------------------------------------- */

void loop_report(loop_run *run, scant_run_event_kind kind, size_t round, bool before) {
    const loop_job *job = run->job;
    if (!job->opts.report) return;
    double spent = run->begun > 0 ? loop_now() - run->begun : 0;
    double gained = run->fraction - run->fraction_begun;
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
        .train_loss = run->now.steps ? run->now.loss : -1,
        .unlabelled_loss = run->now.steps ? run->now.unlabelled_loss : -1,
        .kept = run->now.steps ? run->now.kept : -1,
        .balance = run->now.steps ? run->now.balance : -1,
        .phase = run->phase ? run->phase : "",
        .fraction = run->fraction,
        .seconds = spent,
        .left = gained > 0 ? spent * (1 - run->fraction) / gained : -1,
        .before = before,
        .text = kind == SCANT_RUN_FAILED ? run->error : ""};
    job->opts.report(job->opts.user, &event);
}

static void tell(void *arg) {
    loop_run *run = arg;
    loop_report(run, SCANT_RUN_PROGRESS, run->round, false);
}

void loop_tell(loop_run *run, const char *phase, double part) {
    static const double pause = 0.1;
    double now = loop_now(), done = (run->work_done + part) / run->work_whole;
    bool begins = !run->phase || strcmp(run->phase, phase) != 0;
    run->phase = phase;
    run->fraction = done < 1 ? done : 1;
    if ((!begins && now - run->told < pause) || !run->job->opts.report) return;
    run->told = now;
    loop_ask(run, tell, run);
}

enum loop_time loop_clock(loop_run *run, enum loop_time what) {
    double now = loop_now();
    enum loop_time before = run->time;
    run->seconds[before] += now - run->time_began;
    run->time_began = now;
    run->time = what;
    return before;
}

void loop_ask(loop_run *run, void (*fn)(void *arg), void *arg) {
    enum loop_time before = loop_clock(run, LOOP_WAITING);
    scant__crew_ask(run->crew, fn, arg);
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

/* Of a training that an earlier call has ended nothing is known but its network. */
static void log_training(const loop_run *run, scant__text *text) {
    const scant_train_state *t = &run->now;
    if (!t->steps) return;
    log_number(text, "train_loss", t->loss);
    if (t->unlabelled_loss < 0) return;
    log_number(text, "unlabelled_loss", t->unlabelled_loss);
    log_number(text, "kept", t->kept);
    if (t->balance >= 0) log_number(text, "balance", t->balance);
}

static void log_round(loop_run *run) {
    const loop_point *p = &run->state.points[run->round];
    scant__text text;
    scant__text_init(&text, run->job->ctx);
    log_name(run, &text);
    scant__text_addf(&text, ", \"round\": %zu, \"labels\": %zu", run->round, p->labels);
    if (!run->job->samples.regression) {
        log_number(&text, "accuracy", p->accuracy);
        log_number(&text, "best_accuracy", p->best);
    }
    log_number(&text, "loss", p->loss);
    log_training(run, &text);
    log_number(&text, "train_seconds", p->train_seconds);
    log_number(&text, "judge_seconds", run->seconds[LOOP_JUDGING]);
    log_number(&text, "evidence_seconds", run->seconds[LOOP_READING]);
    log_number(&text, "pick_seconds", run->seconds[LOOP_PICKING]);
    log_number(&text, "theory_seconds", run->seconds[LOOP_THEORY]);
    loop_theory_log(&run->state.theories[run->round], &text);
    if (isfinite(run->lr_stable)) log_number(&text, "lr_stable", run->lr_stable);
    if (p->labels) log_number(&text, "lr", run->lr);
    if (run->temperature > 0) {
        log_number(&text, "temperature", run->temperature);
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

/* The run waits meanwhile: its context may be written to. */
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
    if (run->written == SCANT_OK) loop_report(run, SCANT_RUN_ROUND, run->round, false);
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

/* A report that cannot be written stops nobody: all it is made of is there, and it is
 * tried again when all runs have ended. */
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
    run->fraction = 1;
    loop_report(run, SCANT_RUN_END, run->state.n_points - 1, false);
    report_so_far(run->job);
}

/* An earlier call has had all of it. */
static void end_finished(void *arg) {
    loop_run *run = arg;
    run->fraction = 1;
    loop_report(run, SCANT_RUN_END, run->state.n_points - 1, true);
}

static void end_failed(void *arg) {
    loop_run *run = arg;
    scant__text text;
    scant__text_init(&text, run->job->ctx);
    log_name(run, &text);
    scant__text_addf(&text,
                     ", \"round\": %zu, \"status\": \"%s\", \"text\": ", run->round,
                     scant_status_name(run->status));
    scant__text_json(&text, run->error);
    loop_log(run->job, "failed", &text);
    loop_report(run, SCANT_RUN_FAILED, run->round, false);
}

/* ---- the rounds -------------------------------------------------------------------- */

/* What is labelled when round begins. A strategy's weights are made to average 1 in each
 * of its batches, as the samples of the initial set have 1. */
static scant_status list_labelled(loop_run *run, scant__arena *arena,
                                  loop_labelled *out) {
    const loop_state *s = &run->state;
    size_t n = loop_state_labels(s, run->round);
    size_t *rows = scant__arena_alloc(arena, n + 1, sizeof *rows);
    float *weights = scant__arena_alloc(arena, n + 1, sizeof *weights);
    if (!rows || !weights) return SCANT_ENOMEM;
    for (size_t round = 0, i = 0; round <= run->round; round++) {
        double sum = 0, size = (double)(s->ends[round] - i);
        for (size_t k = i; k < s->ends[round]; k++) sum += s->picks[k].weight;
        for (; i < s->ends[round]; i++) {
            rows[i] = s->picks[i].index;
            weights[i] = sum > 0 ? (float)(s->picks[i].weight * size / sum) : 1;
        }
    }
    bool use = strcmp(run->job->e->set.use_weights, "no") != 0;
    *out = (loop_labelled){rows, use ? weights : NULL, n};
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

static scant_status choose(loop_run *run, const loop_labelled *labelled) {
    const loop_settings *set = &run->job->e->set;
    size_t left = run->split.n_pool - labelled->n;
    bool last = run->round == set->rounds;
    scant_picks *picks = NULL;
    run->temperature = 0;
    run->own = true;
    if (!last && left)
        TRY(loop_choose(run, labelled, size_min(set->query, left), &picks));
    scant_status status = loop_calibrate_after(run);
    if (status == SCANT_OK) status = loop_theory_measure(run, labelled, picks);
    /* from here on nothing is broken off */
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

static scant_status write_down(loop_run *run) {
    bool broken_off = run->state.partial.there;
    run->state.partial.there = false;
    TRY(loop_nets_keep(run));
    TRY(loop_keep(run));
    if (run->round) loop_nets_forget(run, run->round - 1);
    if (broken_off || run->job->e->set.warm) loop_partial_sweep(run, SIZE_MAX);
    return SCANT_OK;
}

static scant_status do_round(loop_run *run) {
    loop_labelled labelled;
    loop_point point;
    scant__arena arena;
    scant__arena_init(&arena, run->ctx);
    run->own = false; /* until there is a network, which is the same for all runs */
    loop_clock(run, LOOP_REST);
    memset(run->seconds, 0, sizeof run->seconds);
    scant_status status = list_labelled(run, &arena, &labelled);
    run->recalled = false;
    run->cancellable = true;
    if (status == SCANT_OK) status = loop_learn(run, &labelled, &point);
    if (status == SCANT_OK) status = choose(run, &labelled);
    run->cancellable = false;
    loop_clock(run, LOOP_REST);
    scant__arena_end(&arena);
    /* until it is recalled, what is on disk of the round is more than what is here */
    if (status == SCANT_ECANCELLED && run->recalled) return loop_partial_keep(run);
    TRY(status);
    run->own = false;
    point.select_seconds = run->seconds[LOOP_READING] + run->seconds[LOOP_PICKING];
    run->state.calibrations[run->state.n_points] = run->calibration;
    run->state.theories[run->state.n_points] = run->theory;
    run->state.points[run->state.n_points++] = point;
    TRY(write_down(run));
    loop_ask(run, publish, run);
    return run->written;
}

static void plan_work(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    size_t labels = run->split.n_initial;
    run->work_whole = run->work_done = 0;
    for (size_t round = 0; round <= set->rounds; round++) {
        if (round < run->state.n_points) run->work_done += loop_work(set, labels);
        run->work_whole += loop_work(set, labels);
        labels = size_min(labels + set->query, run->split.n_pool);
    }
    if (!(run->work_whole > 0)) run->work_whole = 1;
    run->fraction = run->fraction_begun = run->work_done / run->work_whole;
}

/* What a state on disk says was picked must be what this pool could give. */
static bool could_be_picked(const loop_state *s, const loop_split *split) {
    bool same = s->ends[0] == split->n_initial;
    for (size_t i = 0; same && i < loop_state_picks(s); i++) {
        size_t row = s->picks[i].index;
        same = i < split->n_initial ? row == split->initial[i]
                                    : loop_split_place(split, row) < split->n_pool;
    }
    return same;
}

/* An earlier version's state has no mark; then picks alone can tell. */
scant_status loop_run_check(loop_run *run, scant_ctx *ctx) {
    const loop_job *job = run->job;
    loop_state *s = &run->state;
    loop_split split;
    scant__arena arena;
    if (!s->n_batches) return SCANT_OK;
    scant__arena_init(&arena, ctx);
    scant_status status =
        loop_split_make(&arena, &job->e->set, &job->samples, run->seed, &split);
    bool same = status != SCANT_OK || ((!s->samples || s->samples == job->samples.mark) &&
                                       could_be_picked(s, &split));
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

static scant_status make_room(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    size_t n = set->initial_models;
    run->n_members = loop_members(set);
    run->models = scant__arena_zalloc(&run->arena, n, sizeof *run->models);
    run->verdicts = scant__arena_zalloc(&run->arena, n, sizeof *run->verdicts);
    run->taught =
        scant__arena_zalloc(&run->arena, n * run->n_members, sizeof *run->taught);
    run->parts = scant__arena_alloc(&run->arena, n, run->n_members);
    run->epochs =
        scant__arena_zalloc(&run->arena, n * run->n_members, sizeof *run->epochs);
    bool all = run->models && run->verdicts && run->taught && run->parts && run->epochs;
    return all ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status do_rounds(loop_run *run) {
    const scant_experiment *e = run->job->e;
    TRY(loop_split_make(&run->arena, &e->set, &run->job->samples, run->seed,
                        &run->split));
    TRY(add_initial(run));
    if (run->state.n_points > 1) /* left behind by a call that was killed */
        loop_nets_forget(run, run->state.n_points - 2);
    loop_partial_sweep(run, run->state.partial.there ? run->state.n_points : SIZE_MAX);
    if (run->state.over || run->state.n_points > e->set.rounds) {
        loop_ask(run, end_finished, run);
        return SCANT_OK;
    }
    TRY(make_room(run));
    run->round = run->state.n_points;
    TRY(loop_nets_recall(run));
    plan_work(run);
    loop_ask(run, begin_run, run);
    for (; run->round <= e->set.rounds && !run->state.over; run->round++) {
        if (scant__crew_stopped(run->crew))
            return scant__fail(run->ctx, SCANT_ECANCELLED, "cancelled");
        TRY(do_round(run));
    }
    loop_ask(run, end_run, run);
    return SCANT_OK;
}

void loop_run_work(loop_run *run) {
    scant__arena_init(&run->arena, run->ctx);
    run->begun = run->time_began = loop_now();
    run->status = do_rounds(run);
    memcpy(run->error, run->ctx->err, sizeof run->error);
    run->alone = run->own && (run->status == SCANT_EINPUT || run->status == SCANT_EUSAGE);
    if (run->alone) loop_ask(run, end_failed, run);
    scant_net_free(run->asker);
    scant_net_free(run->net);
    for (size_t i = 0; run->models && i < run->job->e->set.initial_models; i++)
        scant_net_free(run->models[i]);
    run->net = run->asker = NULL;
    run->models = NULL;
    run->taught = NULL;
    run->parts = NULL;
    run->epochs = NULL;
    run->state.memory = NULL; /* it may have been the run's */
    run->state.partial.verdicts = NULL;
    run->state.partial.parts = NULL;
    run->state.partial.epochs = NULL;
    scant__arena_end(&run->arena);
}
