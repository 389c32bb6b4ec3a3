/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs an experiment's runs side by side. Checks come before changes of the folder where
 * possible. Finished rounds are kept on any failure. If a training diverges or a strategy
 * rejects its evidence, only that run ends; if memory runs out, a file cannot be written
 * or samples have changed, all runs end.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/blas.h"
#include "core/hash.h"
#include "data/file.h"
#include "loop/loop.h"
#include "scant/train.h"
#include "select/strategy.h"

/* ---- a run's context --------------------------------------------------------------- */

/* The cancel callback of a run's context. A cancelled round keeps its trained networks
 * for a later call. */
static int cancel(void *user) {
    const loop_run *run = user;
    return run->cancellable && scant__jobpool_stopped(run->jobpool);
}

typedef struct message {
    loop_run *run;
    scant_log_level level;
    const char *text;
} message;

static scant_status add_message(loop_job *job, uint64_t h) {
    TRY_PUSH(job->ctx, job->messages, job->n_messages, job->room_messages, h);
    return SCANT_OK;
}

bool loop_is_new_message(loop_job *job, const char *text) {
    uint64_t h = scant__hash(SCANT__HASH_FIRST, text, strlen(text));
    for (size_t i = 0; i < job->n_messages; i++)
        if (job->messages[i] == h) return false;
    add_message(job, h); /* a failure is ignored: then the text is shown again */
    return true;
}

/* Logs a message, and shows it unless the same text was shown before. */
static void show_message(void *arg) {
    const message *m = arg;
    loop_job *job = m->run->job;
    scant__json line =
        loop_log_run(m->run, m->level == SCANT_LOG_WARNING ? "warning" : "note");
    JSON_MEMBERS(&line, MEMBER("round", m->run->round.number), MEMBER("text", m->text));
    loop_log_end(job, &line);
    if (job->ctx->opts.log && loop_is_new_message(job, m->text)) {
        char shown[SCANT__ERR_SIZE];
        snprintf(shown, sizeof shown, "%s, seed %llu, round %zu: %s",
                 m->run->strategy->info->name, (unsigned long long)m->run->seed,
                 m->run->round.number, m->text);
        job->ctx->opts.log(job->ctx->opts.user, m->level, shown);
    }
}

static void log_line(void *user, scant_log_level level, const char *text) {
    loop_run *run = user;
    message m = {run, level, text};
    loop_call_back(run, show_message, &m);
}

static scant_status make_context(loop_run *run) {
    scant_ctx_opts opts = {.threads = run->job->threads,
                           .memory = run->job->ctx->cap,
                           .user = run,
                           .log = log_line,
                           .cancel = cancel};
    TRY(scant_ctx_create(&opts, &run->ctx));
    run->ctx->parent = run->job->ctx;
    return SCANT_OK;
}

static void work(scant__jobpool *jobpool, void *arg, size_t number, unsigned worker) {
    loop_job *job = arg;
    loop_run *run = &job->runs[number];
    (void)worker;
    run->jobpool = jobpool;
    run->status = make_context(run);
    if (run->status == SCANT_OK) {
        loop_run_work(run);
        scant_ctx_free(run->ctx);
        run->ctx = NULL;
    } else {
        snprintf(run->error, sizeof run->error, "%s", scant_status_text(run->status));
    }
    if (run->status != SCANT_OK && !run->failed) scant__jobpool_stop(jobpool);
}

/* ---- all runs ---------------------------------------------------------------------- */

/* Warns if train and test are the same data, unless that data has a test part. */
static void warn_of_test(loop_job *job) {
    const loop_settings *set = &job->e->set;
    if (*set->test && !scant_data_has_test(job->samples.train) &&
        (strcmp(set->train, set->test) == 0 || scant__same_file(set->train, set->test)))
        scant__warn(job->ctx,
                    "data.test (%s) is the same as data.train: networks are tested on "
                    "samples that they may have been trained on",
                    set->test);
}

/* Lists runs in the order of curve.csv and the other tables: by strategy, then seed. */
static scant_status list_runs(loop_job *job, size_t n_pool) {
    const scant_experiment *e = job->e;
    const loop_settings *set = &e->set;
    size_t most = size_add(set->initial, size_mul(set->rounds, set->query));
    job->runs = TRY_ZERO(&job->arena, loop_run, e->n_strategies * e->n_seeds);
    for (size_t i = 0; i < e->n_strategies * e->n_seeds; i++) {
        loop_run *run = &job->runs[i];
        run->job = job;
        run->number = i;
        run->strategy = &e->strategies[i / e->n_seeds];
        run->seed = e->seeds[i % e->n_seeds];
        run->first_seed = *e->set.initial_seed ? e->initial_seed : run->seed;
        run->path =
            scant__arena_format(&job->arena, "%s/runs/%s-%llu", job->opts.out,
                                run->strategy->info->name, (unsigned long long)run->seed);
        if (!run->path) return SCANT_ENOMEM;
        for (size_t t = 0; t < LOOP_TABLES; t++) run->tables[t].ctx = job->ctx;
        TRY(loop_state_init(&job->arena, set->rounds, size_min(most, n_pool),
                            &run->state));
        job->n_runs++;
    }
    return SCANT_OK;
}

/* Reports the rounds that earlier calls finished. The tables are first written with all
 * these rounds, so that they never have fewer lines than before. */
static scant_status show_finished(loop_job *job) {
    for (size_t i = 0; i < job->n_runs; i++) loop_folder_add(&job->runs[i]);
    TRY(loop_folder_write(job));
    for (size_t i = 0; i < job->n_runs; i++)
        for (size_t round = 0; round < job->runs[i].state.n_points; round++)
            loop_report(&job->runs[i], SCANT_RUN_ROUND, round, true);
    return SCANT_OK;
}

/* Priority of a run's failure; the highest is reported: 3 ended all runs, 2 cancelled, 1
 * ended only this run. */
static int severity(const loop_run *run) {
    if (run->status == SCANT_OK) return 0;
    if (run->failed) return 1;
    return run->status == SCANT_ECANCELLED ? 2 : 3;
}

/* The status of all runs; calling: the status of scant__jobpool_run(). */
static scant_status final_status(loop_job *job, scant_status calling) {
    const loop_run *worst = &job->runs[0];
    size_t failed = 0;
    char count[64] = "";
    for (size_t i = 0; i < job->n_runs; i++) {
        const loop_run *run = &job->runs[i];
        failed += run->failed;
        if (severity(run) > severity(worst)) worst = run;
    }
    if (worst->status == SCANT_OK) return calling;
    if (worst->status == SCANT_ECANCELLED ||
        (worst->failed && calling == SCANT_ECANCELLED))
        return scant__fail(job->ctx, SCANT_ECANCELLED, "cancelled");
    if (worst->failed && job->n_runs > 1)
        snprintf(count, sizeof count, "%zu of %zu runs failed; ", failed, job->n_runs);
    return scant__fail(job->ctx, worst->status, "%s%s, seed %llu, round %zu: %s", count,
                       worst->strategy->info->name, (unsigned long long)worst->seed,
                       worst->round.number, worst->error);
}

static void log_start(loop_job *job, unsigned workers) {
    scant__json line = loop_log_begin(job, job->opts.resume ? "resume" : "start");
    JSON_MEMBERS(&line, MEMBER("version", scant_version()), MEMBER("runs", job->n_runs),
                 MEMBER("jobs", (size_t)workers), MEMBER("threads", (size_t)job->threads),
                 MEMBER("train", scant_data_name(job->samples.train)),
                 MEMBER("samples", job->samples.n_rows),
                 MEMBER("test", job->samples.n_test),
                 MEMBER("classes", job->samples.classes));
    loop_log_end(job, &line);
}

static void log_stop(loop_job *job, scant_status status) {
    scant__json line = loop_log_begin(job, "stop");
    scant__json_string(&line, "status", scant_status_name(status));
    if (status != SCANT_OK) scant__json_string(&line, "text", job->ctx->err);
    loop_log_end(job, &line);
}

/* Results depend on the thread count in their last bits. So a resumed run keeps its
 * thread count, unless the caller sets another one or has fewer threads. */
static void choose_threads(loop_job *job, unsigned workers) {
    unsigned before = loop_folder_threads(job), cores = job->ctx->threads;
    job->threads = job->opts.threads ? job->opts.threads : cores / workers;
    if (!job->threads) job->threads = 1;
    if (!before || before == job->threads) return;
    if (!job->opts.threads && before <= cores / workers) {
        job->threads = before;
        return;
    }
    scant__warn(
        job->ctx,
        "runs have had %u threads each and now have %u: results may differ from "
        "those of an uninterrupted experiment in their last bits, and so may picks; "
        "--threads %u keeps them",
        before, job->threads, before);
}

/* Runs all runs side by side and writes the report. */
static scant_status run_jobs(loop_job *job, unsigned workers) {
    /* check that states match these samples before any file is written */
    for (size_t i = 0; i < job->n_runs; i++) TRY(loop_run_check(&job->runs[i], job->ctx));
    TRY(show_finished(job));
    scant_status calling = scant__jobpool_run(job->ctx, job->n_runs, workers, work, job);
    if (calling != SCANT_OK && calling != SCANT_ECANCELLED) return calling;
    bool whole = calling == SCANT_OK;
    for (size_t i = 0; i < job->n_runs; i++) whole = whole && severity(&job->runs[i]) < 2;
    if (whole && job->stale) TRY(loop_folder_report(job));
    return final_status(job, calling);
}

/* How many runs go side by side. Each that calls BLAS, by its strategy or for figures of
 * theory, needs room for a buffer. */
static unsigned choose_workers(loop_job *job) {
    size_t wanted = size_min(size_max(job->opts.jobs, 1), job->n_runs), fit = wanted;
    bool blas = strcmp(job->e->set.theory, "none") != 0;
    for (size_t i = 0; i < job->e->n_strategies; i++)
        blas |= select_strategy_find(job->e->strategies[i].info->name)->blas;
    if (blas) fit = size_max(job->ctx->cap / SCANT__BLAS_BUFFER, 1);
    if (fit >= wanted) return (unsigned)wanted;
    scant__warn(
        job->ctx,
        "%zu of %zu jobs run side by side: OpenBLAS needs %zu MB for each, and the "
        "limit on memory allows no more",
        fit, wanted, SCANT__BLAS_BUFFER >> 20);
    return (unsigned)fit;
}

static scant_status run_all(loop_job *job) {
    size_t n_pool;
    unsigned used;
    for (size_t i = 0; i < job->e->n_strategies; i++)
        TRY(loop_evidence_bits(job->ctx, &job->e->strategies[i], &job->e->set, &used));
    TRY(loop_samples_open(job->e, job->opts.skip_bad, &job->arena, &job->samples));
    warn_of_test(job);
    if (!job->opts.resume) TRY(loop_net_check(job));
    TRY(loop_split_check(job->ctx, &job->e->set, &job->samples, &n_pool));
    TRY(loop_theory_check(job, n_pool));
    TRY(list_runs(job, n_pool));
    TRY(loop_folder_begin(job));
    unsigned workers = choose_workers(job);
    choose_threads(job, workers);
    log_start(job, workers);
    scant_status status = run_jobs(job, workers);
    log_stop(job, status);
    return status;
}

scant_status scant_experiment_run(scant_experiment *e, const scant_run_opts *opts) {
    NEED(e);
    loop_job job = {.e = e, .ctx = e->ctx, .arena = {.ctx = e->ctx}, .log = -1};
    if (opts) job.opts = *opts;
    if (!job.opts.out || !*job.opts.out)
        return scant__fail(e->ctx, SCANT_EUSAGE,
                           "opts->out is missing: the results folder");
    scant_status status = run_all(&job);
    for (size_t i = 0; i < job.n_runs; i++)
        for (size_t t = 0; t < LOOP_TABLES; t++) scant__text_end(&job.runs[i].tables[t]);
    scant__free(e->ctx, job.messages);
    if (job.log >= 0) close(job.log);
    loop_samples_close(&job.samples);
    scant__arena_end(&job.arena);
    return status;
}
