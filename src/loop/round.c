/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's rounds: train, evaluate, read evidence, pick, reveal the labels. A round is
 * finished when the picks for the next one are chosen; then its results are written. So
 * weights are kept between rounds only if the next one starts from them. If a round is
 * cancelled before it is finished, its trained networks are kept (nets.c), and a later
 * call does the rest.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "loop/loop.h"
#include "scant/train.h"

enum { DIGITS = 9 }; /* of numbers in the log */

/* ---- progress and log -------------------------------------------------------------- */

void loop_report(loop_run *run, scant_run_event_kind kind, size_t round, bool before) {
    const loop_job *job = run->job;
    if (!job->opts.report) return;
    const loop_progress *p = &run->progress;
    const scant_train_state *t = &run->round.training;
    double spent = p->begun > 0 ? scant__now() - p->begun : 0;
    double gained = p->fraction - p->fraction_begun;
    size_t known = kind == SCANT_RUN_ROUND ? round + 1 : run->shown_points;
    const loop_point *last = known ? &run->state.points[known - 1] : NULL;
    const loop_health *health =
        kind == SCANT_RUN_ROUND ? &run->state.healths[round] : NULL;
    scant_run_event event = {
        .kind = kind,
        .run = run->number,
        .runs = job->n_runs,
        .strategy = run->strategy->info->name,
        .seed = run->seed,
        .round = round,
        .rounds = job->e->set.rounds,
        .labels = kind == SCANT_RUN_ROUND ? last->labels
                                          : loop_state_labels(&run->state, round),
        .accuracy = last && !job->samples.regression ? last->accuracy : -1,
        .loss = last ? last->loss : -1,
        .train_loss = t->steps ? t->loss : -1,
        .unlabelled_loss = t->steps ? t->unlabelled_loss : -1,
        .kept = t->steps ? t->kept : -1,
        .balance = t->steps ? t->balance : -1,
        .signs = health ? health->signs : t->signs,
        .trainings = health ? health->trainings : 0,
        .phase = p->phase ? p->phase : "",
        .fraction = p->fraction,
        .seconds = spent,
        .left = gained > 0 ? spent * (1 - p->fraction) / gained : -1,
        .before = before,
        .text = kind == SCANT_RUN_FAILED ? run->error : ""};
    job->opts.report(job->opts.user, &event);
}

static void report_progress(void *arg) {
    loop_run *run = arg;
    loop_report(run, SCANT_RUN_PROGRESS, run->round.number, false);
}

void loop_report_progress(loop_run *run, const char *phase, double part) {
    static const double pause = 0.1;
    loop_progress *p = &run->progress;
    double now = scant__now(), done = (p->work_done + part) / p->work_whole;
    bool begins = !p->phase || strcmp(p->phase, phase) != 0;
    p->phase = phase;
    p->fraction = done < 1 ? done : 1;
    if ((!begins && now - p->reported < pause) || !run->job->opts.report) return;
    p->reported = now;
    loop_call_back(run, report_progress, run);
}

loop_timer loop_timer_begin(loop_run *run, enum loop_time what) {
    loop_timer timer = {run, run->times.now};
    double now = scant__now();
    run->times.seconds[run->times.now] += now - run->times.since;
    run->times.since = now;
    run->times.now = what;
    return timer;
}

void loop_timer_end(loop_timer *timer) { loop_timer_begin(timer->run, timer->before); }

void loop_call_back(loop_run *run, void (*fn)(void *arg), void *arg) {
    AUTO(loop_timer_end) loop_timer timer = loop_timer_begin(run, LOOP_WAITING);
    scant__jobpool_call(run->jobpool, fn, arg);
}

static void log_numbers(const loop_run *run, scant__json *line) {
    const loop_round *r = &run->round;
    const loop_point *p = &run->state.points[r->number];
    const loop_health *health = &run->state.healths[r->number];
    const double *seconds = run->times.seconds;
    const scant_train_state *t = &r->training;
    /* trained is false if an earlier call finished the training: losses are not stored */
    bool classes = !run->job->samples.regression, trained = t->steps > 0;
    bool unlabelled = trained && t->unlabelled_loss >= 0;
    const struct {
        const char *key;
        bool shown;
        double value;
    } rows[] = {{"accuracy", classes, p->accuracy},
                {"best_accuracy", classes, p->best},
                {"loss", true, p->loss},
                {"train_loss", trained, t->loss},
                {"unlabelled_loss", unlabelled, t->unlabelled_loss},
                {"kept", unlabelled, t->kept},
                {"balance", unlabelled && t->balance >= 0, t->balance},
                {"train_seconds", true, p->train_seconds},
                {"judge_seconds", true, seconds[LOOP_TESTING]},
                {"evidence_seconds", true, seconds[LOOP_READING]},
                {"pick_seconds", true, seconds[LOOP_PICKING]},
                {"theory_seconds", true, seconds[LOOP_THEORY]},
                {"dead", health->dead >= 0, health->dead},
                {"gradient_norm", health->gradient_norm >= 0, health->gradient_norm},
                {"lr_stable", isfinite(r->lr_stable), r->lr_stable},
                {"lr", p->labels > 0, r->lr},
                {"temperature", r->temperature > 0, r->temperature}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].shown) scant__json_rounded(line, rows[i].key, rows[i].value, DIGITS);
}

static void log_round(loop_run *run) {
    const loop_round *r = &run->round;
    const double *theory = run->state.theories[r->number].figures;
    const loop_health *health = &run->state.healths[r->number];
    char names[SCANT_SIGNS_SIZE];
    scant__json line = loop_log_run(run, "round");
    JSON_MEMBERS(&line, MEMBER("round", r->number),
                 MEMBER("labels", run->state.points[r->number].labels));
    log_numbers(run, &line);
    for (size_t i = 0; i < LOOP_FIGURES; i++)
        if (isfinite(theory[i]))
            scant__json_rounded(&line, loop_theory_names[i], theory[i], DIGITS);
    scant__json_string(&line, "signs", scant_train_sign_names(health->signs, names));
    scant__json_size(&line, "trainings", health->trainings);
    if (r->temperature > 0)
        scant__json_string(&line, "calibrated",
                           run->split.n_valid ? "validation set" : "cross-fitting");
    scant__json_open(&line, "info", '{');
    for (size_t i = 0; i < r->n_figures; i++)
        scant__json_rounded(&line, r->figures[i].name, r->figures[i].value, DIGITS);
    scant__json_close(&line, '}');
    loop_log_end(run->job, &line);
}

/* ---- callbacks on the caller's thread ---------------------------------------------- */

static void begin_run(void *arg) {
    loop_run *run = arg;
    scant__json line = loop_log_run(run, "run");
    JSON_MEMBERS(&line, MEMBER("round", run->state.n_points),
                 MEMBER("pool", run->split.n_pool),
                 MEMBER("validation", run->split.n_valid));
    loop_log_end(run->job, &line);
    loop_report(run, SCANT_RUN_BEGIN, run->state.n_points, false);
}

/* Changing run->ctx is safe, because the run's thread waits for this call. */
static void publish(void *arg) {
    loop_run *run = arg;
    log_round(run);
    loop_folder_add(run);
    run->written = loop_folder_write(run->job);
    if (run->written == SCANT_OK)
        loop_report(run, SCANT_RUN_ROUND, run->round.number, false);
    else
        memcpy(run->ctx->err, run->job->ctx->err, sizeof run->ctx->err);
}

void loop_warn_ended(const loop_run *run, scant_ctx *ctx) {
    size_t left = run->split.n_pool - loop_state_picks(&run->state);
    char why[96] = "the pool is used up";
    if (left)
        snprintf(why, sizeof why, "it picked none of the %zu samples that are left",
                 left);
    scant__warn(ctx, "%s, seed %llu: %s after round %zu of %zu; the run ends there",
                run->strategy->info->name, (unsigned long long)run->seed, why,
                run->state.n_points - 1, run->job->e->set.rounds);
}

/* A failure is only a warning: the report is written again when all runs have ended. */
static void report_so_far(loop_job *job) {
    char why[SCANT__ERR_SIZE];
    scant_status status = loop_folder_report(job);
    if (status == SCANT_OK || status == SCANT_ECANCELLED) return;
    memcpy(why, job->ctx->err, sizeof why);
    if (loop_is_new_message(job, why))
        scant__warn(job->ctx, "the report cannot be written yet: %s", why);
}

static void end_run(void *arg) {
    loop_run *run = arg;
    const loop_state *s = &run->state;
    bool used_up = loop_state_picks(s) == run->split.n_pool;
    scant__json line = loop_log_run(run, "end");
    scant__json_size(&line, "rounds", s->n_points ? s->n_points - 1 : 0);
    scant__json_bool(&line, "pool_used_up", s->over && used_up);
    scant__json_bool(&line, "picked_nothing", s->over && !used_up);
    loop_log_end(run->job, &line);
    if (s->over) loop_warn_ended(run, run->job->ctx);
    run->progress.fraction = 1;
    loop_report(run, SCANT_RUN_END, run->state.n_points - 1, false);
    report_so_far(run->job);
}

/* Reports a run that an earlier call finished. */
static void end_finished(void *arg) {
    loop_run *run = arg;
    run->progress.fraction = 1;
    loop_report(run, SCANT_RUN_END, run->state.n_points - 1, true);
}

static void end_failed(void *arg) {
    loop_run *run = arg;
    scant__json line = loop_log_run(run, "failed");
    JSON_MEMBERS(&line, MEMBER("round", run->round.number),
                 MEMBER("status", scant_status_name(run->status)),
                 MEMBER("text", run->error));
    loop_log_end(run->job, &line);
    loop_report(run, SCANT_RUN_FAILED, run->round.number, false);
}

/* ---- the rounds -------------------------------------------------------------------- */

/* Lists the samples that are labelled when the round begins. A strategy's weights are
 * scaled to mean 1 in each batch; samples of the initial set have weight 1. */
static scant_status list_labelled(loop_run *run) {
    const loop_state *s = &run->state;
    loop_round *r = &run->round;
    size_t n = loop_state_labels(s, r->number);
    size_t *rows = TRY_NEW(&r->arena, size_t, n + 1);
    float *weights = TRY_NEW(&r->arena, float, n + 1);
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
    loop_round *r = &run->round;
    loop_pick *mine = TRY_NEW(&r->arena, loop_pick, picks->count + 1);
    scant_figure *figures = TRY_NEW(&r->arena, scant_figure, picks->n_info + 1);
    for (size_t i = 0; i < picks->n_info; i++) figures[i] = picks->info[i];
    r->figures = figures, r->n_figures = picks->n_info;
    for (size_t i = 0; i < picks->count; i++)
        mine[i] = (loop_pick){run->split.pool[picks->items[i].index],
                              picks->items[i].weight, picks->items[i].score};
    if (picks->count)
        loop_state_add(s, mine, picks->count);
    else
        s->over = true;
    s->strategy_state = NULL;
    if (!picks->state || s->over) return SCANT_OK;
    s->strategy_state = scant__arena_strdup(&run->arena, picks->state);
    s->strategy_state_size = picks->state_size;
    return s->strategy_state ? SCANT_OK : SCANT_ENOMEM;
}

static scant_status choose(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    size_t left = run->split.n_pool - run->round.labelled.n;
    bool last = run->round.number == set->rounds;
    scant_picks *picks = NULL;
    if (!last && left) TRY(loop_choose(run, size_min(set->query, left), &picks));
    scant_status status = loop_calibrate_after(run);
    if (status == SCANT_OK) status = loop_theory_measure(run, picks);
    /* no cancellation from here on */
    if (status == SCANT_OK && picks) status = take_picks(run, picks);
    if (status == SCANT_OK && !last && !left) run->state.over = true;
    scant_picks_free(run->ctx, picks);
    return status;
}

scant_status loop_run_save(loop_run *run) {
    char *path = scant__arena_format(&run->round.arena, "%s.json", run->path);
    if (!path) return SCANT_ENOMEM;
    return loop_state_write(run->ctx, path,
                            (loop_run_name){run->strategy->info->name, run->seed},
                            &run->state);
}

static scant_status finish(loop_run *run) {
    const double *seconds = run->times.seconds;
    loop_state *s = &run->state;
    size_t round = run->round.number;
    bool swept = s->partial.on_disk || run->job->e->set.warm;
    s->partial.on_disk = false;
    s->points[s->n_points++].select_seconds =
        seconds[LOOP_READING] + seconds[LOOP_PICKING];
    TRY(loop_nets_save(run));
    TRY(loop_run_save(run));
    if (round) loop_nets_delete(run, round - 1);
    if (swept) loop_partial_sweep(run, SIZE_MAX);
    loop_call_back(run, publish, run);
    return run->written;
}

static scant_status train_and_pick(loop_run *run) {
    loop_timer_begin(run, LOOP_REST);
    memset(run->times.seconds, 0, sizeof run->times.seconds);
    TRY(list_labelled(run));
    run->cancellable = true;
    scant_status status = loop_learn(run);
    if (status == SCANT_OK) status = choose(run);
    run->cancellable = false;
    loop_timer_begin(run, LOOP_REST);
    /* before loop_partial_load() the files on disk are more complete than memory */
    if (status == SCANT_ECANCELLED && run->round.loaded) return loop_partial_save(run);
    return status == SCANT_OK ? finish(run) : status;
}

static scant_status run_round(loop_run *run) {
    loop_round *r = &run->round;
    *r = (loop_round){.number = r->number, .arena = r->arena};
    scant_status status = train_and_pick(run);
    loop_drop_models(run);
    run->state.partial = (loop_partial){0}; /* it may point into the round's arena */
    scant__arena_end(&r->arena);
    return status;
}

static void plan_work(loop_run *run) {
    const loop_settings *set = &run->job->e->set;
    loop_progress *p = &run->progress;
    size_t labels = run->split.n_initial;
    p->work_whole = p->work_done = 0;
    for (size_t round = 0; round <= set->rounds; round++) {
        if (round < run->state.n_points) p->work_done += loop_work(set, labels);
        p->work_whole += loop_work(set, labels);
        labels = size_min(labels + set->query, run->split.n_pool);
    }
    if (!(p->work_whole > 0)) p->work_whole = 1;
    p->fraction = p->fraction_begun = p->work_done / p->work_whole;
}

/* Whether the picks of a state from disk match this split. */
static bool picks_match(const loop_state *s, const loop_split *split) {
    bool same = s->ends[0] == split->n_initial;
    for (size_t i = 0; same && i < loop_state_picks(s); i++) {
        size_t row = s->picks[i].index;
        same = i < split->n_initial
                   ? row == split->initial[i]
                   : loop_place(split->pool, split->n_pool, row) < split->n_pool;
    }
    return same;
}

scant_status loop_run_check(loop_run *run, scant_ctx *ctx) {
    const loop_job *job = run->job;
    const loop_state *s = &run->state;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    loop_split split;
    if (!s->n_batches) return SCANT_OK;
    TRY(loop_split_make(&arena, &job->e->set, &job->samples, run->first_seed, &split));
    if (s->samples == job->samples.hash && picks_match(s, &split)) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT,
                       "%s.json: the samples, their labels or the set of unreadable ones "
                       "have changed since this run started",
                       run->path);
}

static scant_status add_initial(loop_run *run) {
    const loop_split *split = &run->split;
    run->state.samples = run->job->samples.hash;
    if (run->state.n_batches) return SCANT_OK;
    loop_pick *picks = TRY_NEW(&run->round.arena, loop_pick, split->n_initial + 1);
    for (size_t i = 0; i < split->n_initial; i++)
        picks[i] = (loop_pick){split->initial[i], 1, 0};
    loop_state_add(&run->state, picks, split->n_initial);
    return SCANT_OK;
}

static scant_status run_rounds(loop_run *run) {
    const scant_experiment *e = run->job->e;
    loop_state *s = &run->state;
    run->recipe = loop_recipe(run->job, run->first_seed);
    TRY(loop_split_make(&run->arena, &e->set, &run->job->samples, run->first_seed,
                        &run->split));
    TRY(add_initial(run));
    /* files that a killed call has left */
    if (s->n_points > 1) loop_nets_delete(run, s->n_points - 2);
    loop_partial_sweep(run, s->partial.on_disk ? s->n_points : SIZE_MAX);
    if (s->over || s->n_points > e->set.rounds) {
        loop_call_back(run, end_finished, run);
        return SCANT_OK;
    }
    run->round.number = s->n_points;
    TRY(loop_nets_load(run));
    plan_work(run);
    loop_call_back(run, begin_run, run);
    for (; run->round.number <= e->set.rounds && !s->over; run->round.number++) {
        if (scant__jobpool_stopped(run->jobpool))
            return scant__fail(run->ctx, SCANT_ECANCELLED, "cancelled");
        TRY(run_round(run));
    }
    loop_call_back(run, end_run, run);
    return SCANT_OK;
}

void loop_run_work(loop_run *run) {
    run->arena.ctx = run->round.arena.ctx = run->ctx;
    run->progress.begun = run->times.since = scant__now();
    run->status = run_rounds(run);
    memcpy(run->error, run->ctx->err, sizeof run->error);
    run->failed =
        !run->no_network && (run->status == SCANT_EINPUT || run->status == SCANT_EUSAGE);
    if (run->failed) loop_call_back(run, end_failed, run);
    scant_net_free(run->query_net);
    scant_net_free(run->net);
    run->net = run->query_net = NULL;
    run->state.strategy_state = NULL; /* it may point into the run's arena */
    scant__arena_end(&run->round.arena);
    scant__arena_end(&run->arena);
}
