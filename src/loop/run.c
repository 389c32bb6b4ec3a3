/* SPDX-License-Identifier: Apache-2.0
 *
 * An experiment's runs, side by side. What can be checked is checked before the folder is
 * touched. Finished rounds stay, whatever fails. A run whose training diverges or whose
 * strategy cannot use its evidence ends alone; out of memory, a file that cannot be
 * written or changed samples end all runs.
 */
#include <stdio.h>
#include <string.h>

#include "core/hash.h"
#include "core/json.h"
#include "data/file.h"
#include "loop/loop.h"
#include "scant/train.h"

/* ---- a run's context --------------------------------------------------------------- */

/* What is trained of the round is kept, for a later call to go on with. */
static int cancel(void *user) {
    const loop_run *run = user;
    return run->cancellable && scant__jobpool_stopped(run->jobpool);
}

typedef struct message {
    loop_run *run;
    scant_log_level level;
    const char *text;
} message;

bool loop_say_once(loop_job *job, const char *text) {
    uint64_t h = scant__hash(SCANT__HASH_FIRST, text, strlen(text));
    for (size_t i = 0; i < job->n_said; i++)
        if (job->said[i] == h) return false;
    if (job->n_said == job->room_said) {
        size_t room = job->room_said ? 2 * job->room_said : 32;
        uint64_t *said = scant__arena_alloc(&job->arena, room, sizeof *said);
        if (!said) return true; /* better twice than never */
        if (job->n_said) memcpy(said, job->said, job->n_said * sizeof *said);
        job->said = said;
        job->room_said = room;
    }
    job->said[job->n_said++] = h;
    return true;
}

/* A warning is shown once; the log has every one. */
static void pass_on(void *arg) {
    const message *m = arg;
    loop_job *job = m->run->job;
    scant__text text;
    scant__text_init(&text, job->ctx);
    scant__text_add(&text, "\"strategy\": ");
    scant__text_json(&text, m->run->arm->info->name);
    scant__text_addf(&text, ", \"seed\": \"%llu\", \"round\": %zu, \"text\": ",
                     (unsigned long long)m->run->seed, m->run->round.number);
    scant__text_json(&text, m->text);
    loop_log(job, m->level == SCANT_LOG_WARNING ? "warning" : "note", &text);
    if (job->ctx->opts.log && loop_say_once(job, m->text)) {
        char line[SCANT__ERR_SIZE];
        snprintf(line, sizeof line, "%s, seed %llu, round %zu: %s",
                 m->run->arm->info->name, (unsigned long long)m->run->seed,
                 m->run->round.number, m->text);
        job->ctx->opts.log(job->ctx->opts.user, m->level, line);
    }
}

static void log_line(void *user, scant_log_level level, const char *text) {
    loop_run *run = user;
    message m = {run, level, text};
    loop_ask(run, pass_on, &m);
}

static scant_status make_context(loop_run *run) {
    scant_ctx_opts opts = {.threads = run->job->threads,
                           .memory = run->job->ctx->cap,
                           .user = run,
                           .log = log_line,
                           .cancel = cancel};
    TRY(scant_ctx_create(&opts, &run->ctx));
    run->ctx->payer = run->job->ctx;
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
    if (run->status != SCANT_OK && !run->alone) scant__jobpool_stop(jobpool);
}

/* ---- all runs ---------------------------------------------------------------------- */

static scant_status check_arms(loop_job *job) {
    unsigned used;
    for (size_t i = 0; i < job->e->n_arms; i++)
        TRY(loop_evidence_bits(job->ctx, &job->e->arms[i], &job->e->set, &used));
    return SCANT_OK;
}

/* The same name is fine for data that has a test part of its own. */
static void warn_of_test(loop_job *job) {
    const loop_settings *set = &job->e->set;
    if (*set->test && !scant_data_has_test(job->samples.train) &&
        (strcmp(set->train, set->test) == 0 || scant__same_file(set->train, set->test)))
        scant__warn(job->ctx,
                    "data.test (%s) is the same as data.train: networks are tested on "
                    "samples that they may have been trained on",
                    set->test);
}

/* Lists runs in the order of the files: by strategy, then by seed. */
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
            scant__text_init(&run->calibrations, job->ctx);
            scant__text_init(&run->theories, job->ctx);
            TRY(loop_state_init(&job->arena, set->rounds, size_min(most, n_pool),
                                &run->state));
            job->n_runs++;
        }
    return SCANT_OK;
}

/* Checks that states are of these samples, before a file is written. */
static scant_status check_runs(loop_job *job) {
    for (size_t i = 0; i < job->n_runs; i++) TRY(loop_run_check(&job->runs[i], job->ctx));
    return SCANT_OK;
}

/* Reports what earlier calls have finished. The files are written with all of it at once,
 * so that they never hold less than before. */
static scant_status show_finished(loop_job *job) {
    for (size_t i = 0; i < job->n_runs; i++) loop_folder_add(&job->runs[i]);
    TRY(loop_folder_write(job));
    for (size_t i = 0; i < job->n_runs; i++)
        for (size_t round = 0; round < job->runs[i].state.n_points; round++)
            loop_report(&job->runs[i], SCANT_RUN_ROUND, round, true);
    return SCANT_OK;
}

/* The failure with the greatest weight is reported: one that ended all runs before a
 * cancelled one, and that before one that ended alone. */
static int weight_of(const loop_run *run) {
    if (run->status == SCANT_OK) return 0;
    if (run->alone) return 1;
    return run->status == SCANT_ECANCELLED ? 2 : 3;
}

/* The status of the runs; calling is that of the call that started them. */
static scant_status sum_up(loop_job *job, scant_status calling) {
    const loop_run *worst = &job->runs[0];
    size_t alone = 0;
    char count[64] = "";
    for (size_t i = 0; i < job->n_runs; i++) {
        const loop_run *run = &job->runs[i];
        alone += run->alone;
        if (weight_of(run) > weight_of(worst)) worst = run;
    }
    if (worst->status == SCANT_OK) return calling;
    if (worst->status == SCANT_ECANCELLED ||
        (worst->alone && calling == SCANT_ECANCELLED))
        return scant__fail(job->ctx, SCANT_ECANCELLED, "cancelled");
    if (worst->alone && job->n_runs > 1)
        snprintf(count, sizeof count, "%zu of %zu runs failed; ", alone, job->n_runs);
    return scant__fail(job->ctx, worst->status, "%s%s, seed %llu, round %zu: %s", count,
                       worst->arm->info->name, (unsigned long long)worst->seed,
                       worst->round.number, worst->error);
}

static void log_start(loop_job *job, unsigned workers) {
    scant__text text;
    scant__text_init(&text, job->ctx);
    scant__text_addf(&text,
                     "\"version\": \"%s\", \"runs\": %zu, \"jobs\": %u, \"threads\": %u, "
                     "\"train\": ",
                     scant_version(), job->n_runs, workers, job->threads);
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

/* Results depend on the thread count in their last bits. So a resumed run keeps the count
 * it had, unless the caller names another or has fewer. */
static void choose_threads(loop_job *job, unsigned workers) {
    unsigned before = loop_folder_threads(job), cores = job->ctx->threads;
    job->threads = job->opts.threads ? job->opts.threads : cores / workers;
    if (!job->threads) job->threads = 1;
    if (!before || before == job->threads) return;
    if (!job->opts.threads && before <= cores / workers) {
        job->threads = before;
        return;
    }
    scant__warn(job->ctx,
                "runs have had %u threads each and now have %u: results may differ from "
                "those of an unbroken experiment in their last bits, and so may picks; "
                "--threads %u keeps them",
                before, job->threads, before);
}

/* The runs, side by side, and a report of them all. */
static scant_status play(loop_job *job, unsigned workers) {
    TRY(check_runs(job));
    TRY(show_finished(job));
    scant_status calling = scant__jobpool_run(job->ctx, job->n_runs, workers, work, job);
    if (calling != SCANT_OK && calling != SCANT_ECANCELLED) return calling;
    bool whole = calling == SCANT_OK;
    for (size_t i = 0; i < job->n_runs; i++)
        whole = whole && weight_of(&job->runs[i]) < 2;
    if (whole && job->stale) TRY(loop_folder_report(job));
    return sum_up(job, calling);
}

static scant_status run_all(loop_job *job) {
    size_t n_pool;
    TRY(check_arms(job));
    TRY(loop_samples_open(job->e, job->opts.skip_bad, &job->arena, &job->samples));
    warn_of_test(job);
    if (!job->opts.resume) TRY(loop_net_check(job));
    TRY(loop_split_check(job->ctx, &job->e->set, &job->samples, &n_pool));
    TRY(loop_theory_check(job, n_pool));
    TRY(list_runs(job, n_pool));
    TRY(loop_folder_begin(job));
    unsigned workers = (unsigned)size_min(size_max(job->opts.jobs, 1), job->n_runs);
    choose_threads(job, workers);
    log_start(job, workers);
    scant_status status = play(job, workers);
    log_stop(job, status);
    return status;
}

scant_status scant_experiment_run(scant_experiment *e, const scant_run_opts *opts) {
    loop_job job = {.e = e, .ctx = e->ctx, .opts = *opts, .log = -1};
    if (!opts->out || !*opts->out)
        return scant__fail(e->ctx, SCANT_EUSAGE, "there is no folder for results");
    scant__arena_init(&job.arena, e->ctx);
    scant_status status = run_all(&job);
    for (size_t i = 0; i < job.n_runs; i++) {
        scant__text_end(&job.runs[i].curve);
        scant__text_end(&job.runs[i].picks);
        scant__text_end(&job.runs[i].calibrations);
        scant__text_end(&job.runs[i].theories);
    }
    loop_folder_end(&job);
    loop_samples_close(&job.samples);
    scant__arena_end(&job.arena);
    return status;
}
