/* SPDX-License-Identifier: Apache-2.0
 *
 * An experiment's runs, side by side. Everything that can be known to fail is looked at
 * before the folder is touched. A run that fails ends all; what is finished stays.
 */
#include <stdio.h>
#include <string.h>

#include "loop/loop.h"

/* ---- a run's context --------------------------------------------------------------- */

/* Memory of runs is the caller's context's, and counts there. */
static void *allocate(void *user, size_t bytes) {
    loop_run *run = user;
    scant__fault fault;
    return scant__worker_alloc(run->job->ctx, bytes, 1, &fault);
}

static void release(void *user, void *block) {
    loop_run *run = user;
    scant__free(run->job->ctx, block);
}

/* A training is broken off, to be gone on with; what else a round has is finished. */
static int cancel(void *user) {
    const loop_run *run = user;
    return run->cancellable && scant__crew_stopped(run->crew);
}

typedef struct message {
    loop_run *run;
    scant_log_level level;
    const char *text;
} message;

static uint64_t hash(const char *text) { /* FNV-1a */
    uint64_t h = 14695981039346656037u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* A warning is shown once; the log has each. */
static void pass_on(void *arg) {
    const message *m = arg;
    loop_job *job = m->run->job;
    scant__text text;
    scant__text_init(&text, job->ctx);
    scant__text_add(&text, "\"strategy\": ");
    scant__text_json(&text, m->run->arm->info->name);
    scant__text_addf(&text, ", \"seed\": \"%llu\", \"round\": %zu, \"text\": ",
                     (unsigned long long)m->run->seed, m->run->round);
    scant__text_json(&text, m->text);
    loop_log(job, m->level == SCANT_LOG_WARNING ? "warning" : "note", &text);
    uint64_t h = hash(m->text);
    size_t many = sizeof job->said / sizeof *job->said;
    for (size_t i = 0; i < job->n_said; i++)
        if (job->said[i] == h) return;
    if (job->n_said == many) return;
    job->said[job->n_said++] = h;
    if (job->ctx->opts.log) {
        char line[SCANT__ERR_SIZE];
        snprintf(line, sizeof line, "%s, seed %llu, round %zu: %s",
                 m->run->arm->info->name, (unsigned long long)m->run->seed, m->run->round,
                 m->text);
        job->ctx->opts.log(job->ctx->opts.user, m->level, line);
    }
}

static void log_line(void *user, scant_log_level level, const char *text) {
    loop_run *run = user;
    message m = {run, level, text};
    scant__crew_ask(run->crew, pass_on, &m);
}

static void work(scant__crew *crew, void *arg, size_t number, unsigned seat) {
    loop_job *job = arg;
    loop_run *run = &job->runs[number];
    scant_ctx_opts opts = {.threads = job->threads,
                           .memory = job->ctx->cap,
                           .user = run,
                           .log = log_line,
                           .cancel = cancel,
                           .allocate = allocate,
                           .release = release};
    (void)seat;
    run->crew = crew;
    run->status = scant_ctx_create(&opts, &run->ctx);
    if (run->status == SCANT_OK) {
        loop_run_work(run);
        scant_ctx_destroy(run->ctx);
        run->ctx = NULL;
    } else {
        snprintf(run->error, sizeof run->error, "%s", scant_status_text(run->status));
    }
    if (run->status != SCANT_OK) scant__crew_stop(crew);
}

/* ---- the whole --------------------------------------------------------------------- */

static scant_status check_arms(loop_job *job) {
    unsigned used;
    bool regression = strcmp(job->e->set.task, "regression") == 0;
    for (size_t i = 0; i < job->e->n_arms; i++)
        TRY(loop_evidence_bits(job->ctx, &job->e->arms[i], regression, &used));
    return SCANT_OK;
}

/* Runs in the order of the files: strategy after strategy, each with all seeds. */
static scant_status list_runs(loop_job *job, size_t n_pool) {
    const scant_experiment *e = job->e;
    const loop_settings *set = &e->set;
    size_t most = size_add(set->initial, size_mul(set->rounds, set->query));
    job->runs =
        scant__arena_zalloc(&job->arena, e->n_arms * e->n_seeds, sizeof *job->runs);
    if (!job->runs) return SCANT_ENOMEM;
    for (size_t a = 0; a < e->n_arms; a++)
        for (size_t s = 0; s < e->n_seeds; s++) {
            loop_run *run = &job->runs[job->n_runs];
            char name[128];
            *run = (loop_run){.job = job,
                              .number = job->n_runs,
                              .arm = &e->arms[a],
                              .seed = e->seeds[s]};
            snprintf(name, sizeof name, "runs/%s-%llu", e->arms[a].info->name,
                     (unsigned long long)e->seeds[s]);
            run->path = loop_path(job, name);
            if (!run->path) return SCANT_ENOMEM;
            scant__text_init(&run->curve, job->ctx);
            scant__text_init(&run->picks, job->ctx);
            TRY(loop_state_init(&job->arena, set->rounds, size_min(most, n_pool),
                                &run->state));
            job->n_runs++;
        }
    return SCANT_OK;
}

/* What earlier calls have finished. */
static scant_status show_finished(loop_job *job) {
    for (size_t i = 0; i < job->n_runs; i++) {
        loop_run *run = &job->runs[i];
        size_t known = run->state.n_points;
        TRY(loop_folder_write(job, run));
        for (size_t round = 0; round < known; round++)
            loop_report(run, SCANT_RUN_ROUND, round, true);
    }
    return SCANT_OK;
}

/* The first run that failed by itself, else one that was stopped. */
static scant_status first_failure(loop_job *job) {
    const loop_run *failed = NULL;
    for (size_t i = 0; i < job->n_runs; i++) {
        const loop_run *run = &job->runs[i];
        if (run->status == SCANT_OK) continue;
        if (!failed || failed->status == SCANT_ECANCELLED) failed = run;
    }
    if (!failed) return SCANT_OK;
    if (failed->status == SCANT_ECANCELLED)
        return scant__fail(job->ctx, SCANT_ECANCELLED, "cancelled");
    return scant__fail(job->ctx, failed->status, "%s, seed %llu, round %zu: %s",
                       failed->arm->info->name, (unsigned long long)failed->seed,
                       failed->round, failed->error);
}

static void log_start(loop_job *job, unsigned seats) {
    scant__text text;
    scant__text_init(&text, job->ctx);
    scant__text_addf(&text,
                     "\"version\": \"%s\", \"runs\": %zu, \"jobs\": %u, \"threads\": %u, "
                     "\"train\": ",
                     scant_version(), job->n_runs, seats, job->threads);
    scant__text_json(&text, scant_data_name(job->samples.train));
    scant__text_addf(&text, ", \"samples\": %zu, \"test\": %zu, \"classes\": %zu",
                     job->samples.n_rows, job->samples.n_test, job->samples.classes);
    loop_log(job, job->opts.resume ? "resume" : "start", &text);
}

static void log_stop(loop_job *job, scant_status status) {
    scant__text text;
    scant__text_init(&text, job->ctx);
    scant__text_addf(&text, "\"status\": \"%s\"", scant_status_name(status));
    if (status != SCANT_OK) {
        scant__text_add(&text, ", \"text\": ");
        scant__text_json(&text, job->ctx->err);
    }
    loop_log(job, "stop", &text);
}

static scant_status run_all(loop_job *job, unsigned seats) {
    size_t n_pool;
    TRY(check_arms(job));
    TRY(loop_samples_open(job->e, job->opts.skip_bad, &job->arena, &job->samples));
    TRY(loop_split_check(job->ctx, &job->e->set, &job->samples, &n_pool));
    TRY(list_runs(job, n_pool));
    TRY(loop_folder_begin(job));
    log_start(job, seats);
    scant_status status = show_finished(job);
    if (status == SCANT_OK)
        status = scant__crew_run(job->ctx, job->n_runs, seats, work, job);
    if (status == SCANT_OK || status == SCANT_ECANCELLED) {
        scant_status worst = first_failure(job);
        if (worst != SCANT_OK) status = worst;
    }
    log_stop(job, status);
    return status;
}

scant_status scant_experiment_run(scant_experiment *e, const scant_run_opts *opts) {
    loop_job job = {.e = e, .ctx = e->ctx, .opts = *opts, .log = -1};
    unsigned seats = opts->jobs ? opts->jobs : 1;
    if (!opts->out || !*opts->out)
        return scant__fail(e->ctx, SCANT_EUSAGE, "there is no folder for results");
    job.threads = opts->threads ? opts->threads : e->ctx->threads / seats;
    if (!job.threads) job.threads = 1;
    scant__arena_init(&job.arena, e->ctx);
    scant_status status = run_all(&job, seats);
    for (size_t i = 0; i < job.n_runs; i++) {
        scant__text_end(&job.runs[i].curve);
        scant__text_end(&job.runs[i].picks);
    }
    loop_folder_end(&job);
    loop_samples_close(&job.samples);
    scant__arena_end(&job.arena);
    return status;
}
