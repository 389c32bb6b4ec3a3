/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that trains and picks in the background, at a low priority. Its context has
 * the threads and memory of the options; by default one core is left for requests, as
 * threads that wait for each other stall on busy cores. The worker prepares features,
 * picks the first round, trains when there are enough new labels or on request, and picks
 * the next round. Pages show its last error; it tries again on request, or when entries,
 * items or settings have changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "scant/project.h"
#include "serve/server.h"

enum { NICE = 10, POLL_SECONDS = 2, SPARE_LEAST = 50 };

struct worker {
    server *server;
    project_handle handle;
    bool started;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;
    bool ends, asked;
    bool news; /* since the last check */
    const char *doing;
    char phase[80], error[500];
    const char *failed_at; /* `doing` at the time of the error */
    double fraction;
    int64_t next_after; /* labels until the next training; negative: none is planned */

    /* used by the thread only */
    bool prepared;
    size_t items;       /* prepared */
    size_t unusable;    /* a model that cannot predict; 0: none */
    size_t picked_by;   /* the last model that was used for picks */
    bool picks_pending; /* picking with its own last model has failed */
    bool failed;        /* the last try */
    uint64_t digest;    /* of the project at that time */
};

/* ---- its state -------------------------------------------------------------------- */

static void show(worker *w, const char *doing, const char *phase, double fraction) {
    pthread_mutex_lock(&w->lock);
    bool same = strcmp(w->doing, doing) == 0 && strcmp(w->phase, phase) == 0 &&
                fraction - w->fraction < 0.01 && fraction >= w->fraction;
    if (!same) {
        w->doing = doing;
        snprintf(w->phase, sizeof w->phase, "%s", phase);
        w->fraction = fraction > 0 ? fraction < 1 ? fraction : 1 : 0; /* NaN: 0 */
    }
    pthread_mutex_unlock(&w->lock);
    if (!same) events_touch(w->server);
}

static void show_error(worker *w, const char *text) {
    char shown[sizeof w->error] = "";
    public_text(w->server, text, shown, sizeof shown);
    pthread_mutex_lock(&w->lock);
    bool same = strcmp(w->error, shown) == 0;
    memcpy(w->error, shown, sizeof shown);
    w->failed_at = w->doing;
    pthread_mutex_unlock(&w->lock);
    if (!same) events_touch(w->server);
}

void worker_write(server *s, scant__json *o, const char *key) {
    worker *w = s->worker;
    pthread_mutex_lock(&w->lock);
    scant__json_open(o, key, '{');
    scant__json_string(o, "doing", w->doing);
    scant__json_string(o, "phase", w->phase);
    scant__json_number(o, "fraction", w->fraction);
    scant__json_string(o, "error", *w->error ? w->error : NULL);
    scant__json_string(o, "failed", *w->error ? w->failed_at : NULL);
    write_optional(o, "next_after", w->next_after);
    scant__json_close(o, '}');
    pthread_mutex_unlock(&w->lock);
}

/* ---- callbacks of its context ------------------------------------------------------ */

static void on_log(void *user, scant_log_level level, const char *text) {
    worker *w = user;
    server_log(w->server, level, "%s", text);
}

static void on_progress(void *user, const char *phase, double fraction) {
    worker *w = user;
    /* an idle worker refills a deleted cache */
    show(w, strcmp(w->doing, "idle") == 0 ? "preparing" : w->doing, phase, fraction);
}

static int on_cancel(void *user) {
    worker *w = user;
    return atomic_load(&w->server->leaving);
}

static void on_step(void *user, const scant_train_state *state) {
    worker *w = user;
    char phase[80];
    snprintf(phase, sizeof phase, "epoch %zu of %zu", state->epoch, state->epochs);
    show(w, w->doing, phase,
         state->steps ? (double)state->step / (double)state->steps : 0);
}

/* ---- work -------------------------------------------------------------------------- */

/* Whether cache/ has the predictions of the last model, or it cannot predict. */
static bool is_predicted(worker *w, const scant_project_info *info) {
    scant_array *all = NULL;
    size_t model;
    if (!info->models || w->unusable == info->models) return true;
    if (scant_project_predicted(w->handle.project, &all, &model) != SCANT_OK) return true;
    bool there = all && scant_array_shape(all)[0] >= info->items;
    scant_array_free(all);
    return there;
}

/* Makes features and predictions, so that pages need not wait for them. Checked every
 * time, as cache/ may be deleted; that is quick if nothing is missing. */
static scant_status prepare(worker *w, const scant_project_info *info) {
    scant_array *all = NULL;
    bool before = w->prepared && w->items == info->items;
    if (!before) {
        show(w, "preparing", "", 0);
        w->picked_by = w->unusable = 0;
    }
    scant_status status = scant_project_prepare(w->handle.project);
    if (status == SCANT_OK && !is_predicted(w, info) &&
        scant_project_predict(w->handle.project, &all, NULL) != SCANT_OK) {
        /* another model may not need it */
        server_log(w->server, SCANT_LOG_WARNING, "%s", scant_ctx_errmsg(w->handle.ctx));
        w->unusable = info->models;
    }
    scant_array_free(all);
    w->prepared = status == SCANT_OK;
    w->items = info->items;
    return status;
}

static size_t batch_setting(worker *w) {
    double batch = number_setting(&w->handle, "batch");
    return batch >= 1 && batch < 1e9 ? (size_t)batch : 1;
}

static scant_status pick(worker *w, size_t batch, size_t model) {
    scant_picks *picks = NULL;
    size_t spare = 2 * batch > SPARE_LEAST ? 2 * batch : SPARE_LEAST;
    show(w, "picking", "", 0);
    scant_status status = scant_project_query(
        w->handle.project, &(scant_project_query_opts){.batch = batch, .spare = spare},
        &picks, NULL);
    scant_picks_free(w->handle.ctx, picks); /* NULL: nothing is left to pick */
    w->picks_pending = status != SCANT_OK;
    if (status == SCANT_OK) w->picked_by = model;
    return status;
}

static scant_status train(worker *w, size_t batch) {
    scant_project_train_opts opts = {.user = w, .report = on_step};
    size_t model;
    show(w, "training", "", 0);
    scant_status status = scant_project_train(w->handle.project, &opts, &model);
    return status == SCANT_OK ? pick(w, batch, model) : status;
}

static bool trains_by_itself(worker *w) {
    const char *text = scant_project_get(w->handle.project, "auto_train");
    return !w->server->opts->no_training && (!text || strcmp(text, "no") != 0);
}

static void update_next_training(worker *w, const scant_project_info *info,
                                 size_t batch) {
    int64_t after = !trains_by_itself(w)       ? -1
                    : info->untrained >= batch ? !info->learnable
                                               : (int64_t)(batch - info->untrained);
    pthread_mutex_lock(&w->lock);
    bool same = w->next_after == after;
    w->next_after = after;
    pthread_mutex_unlock(&w->lock);
    if (!same) events_touch(w->server);
}

/* Whether the last model was not used for picks: picking has failed or was interrupted,
 * or another program has trained the model. */
static bool needs_picks(worker *w, const scant_project_info *info) {
    if (!info->rounds || w->picks_pending) return true;
    return trains_by_itself(w) && info->round_model < info->models &&
           w->picked_by < info->models;
}

/* Does what is due. */
static scant_status work_once(worker *w, bool asked, const scant_project_info *info,
                              size_t batch) {
    bool quiet = w->server->opts->no_training;
    bool due = trains_by_itself(w) && info->untrained >= batch && info->learnable;
    scant_status status = prepare(w, info);
    if (status == SCANT_OK && (asked || due)) return train(w, batch);
    if (status == SCANT_OK && !quiet && needs_picks(w, info))
        status = pick(w, batch, info->models);
    return status;
}

static uint64_t mix(uint64_t digest, const char *text) {
    for (; *text; text++)
        digest = (digest ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return digest * 31 + 1;
}

/* Of entries, items and settings: a failed step is tried again when they change. */
static uint64_t digest_of(worker *w, const scant_project_info *info) {
    uint64_t digest = info->entries * UINT64_C(1000003) + info->items;
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    for (size_t i = 0; i < count; i++) {
        const char *value = scant_project_get(w->handle.project, rows[i].key);
        digest = mix(digest, value ? value : "");
    }
    return digest;
}

/* Why it is idle. */
static const char *waiting_for(worker *w, const scant_project_info *info, size_t batch) {
    bool enough = trains_by_itself(w) && info->untrained >= batch;
    return enough && !info->learnable ? "waiting for a second class" : "";
}

static void check(worker *w, bool asked) {
    scant_project_info info;
    scant_status status = scant_project_info_get(w->handle.project, &info);
    if (status != SCANT_OK) {
        show_error(w, scant_ctx_errmsg(w->handle.ctx));
        return;
    }
    size_t batch = batch_setting(w);
    update_next_training(w, &info, batch);
    if (w->failed && !asked && w->digest == digest_of(w, &info)) return;
    status = work_once(w, asked, &info, batch);
    w->failed = status != SCANT_OK;
    w->digest = digest_of(w, &info);
    if (w->failed && status != SCANT_ECANCELLED) {
        show_error(w, scant_ctx_errmsg(w->handle.ctx));
        server_log(w->server, SCANT_LOG_WARNING, "%s: %s", w->doing,
                   scant_ctx_errmsg(w->handle.ctx));
    } else {
        show_error(w, "");
    }
    if (scant_project_info_get(w->handle.project, &info) == SCANT_OK)
        update_next_training(w, &info, batch);
    show(w, "idle", waiting_for(w, &info, batch), 0);
}

/* Waits for news, or some seconds, as other programs may change the project. */
static bool await(worker *w, bool *asked) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += POLL_SECONDS;
    pthread_mutex_lock(&w->lock);
    int waited = 0;
    while (!w->ends && !w->asked && !w->news && waited == 0)
        waited = pthread_cond_timedwait(&w->wake, &w->lock, &until);
    *asked = w->asked;
    w->asked = w->news = false;
    bool goes_on = !w->ends;
    pthread_mutex_unlock(&w->lock);
    return goes_on;
}

static void *work(void *user) {
    worker *w = user;
    bool asked = false;
    /* Threads that it starts inherit the priority. Failure is harmless. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    do check(w, asked);
    while (await(w, &asked));
    return NULL;
}

/* ---- interface --------------------------------------------------------------------- */

static unsigned spare_cores(void) {
    scant_ctx *usual;
    if (scant_ctx_create(NULL, &usual) != SCANT_OK) return 1;
    unsigned cores = scant_ctx_threads(usual);
    scant_ctx_free(usual);
    return cores > 2 ? cores - 1 : 1;
}

static scant_status open_project(worker *w) {
    const serve_opts *o = w->server->opts;
    project_handle *h = &w->handle;
    scant_ctx_opts opts = {.threads = o->threads ? o->threads : spare_cores(),
                           .memory = o->memory,
                           .user = w,
                           .log = on_log,
                           .progress = on_progress,
                           .cancel = on_cancel};
    scant_status status = scant_ctx_create(&opts, &h->ctx);
    if (status == SCANT_OK) status = scant_project_open(h->ctx, o->dir, &h->project);
    if (status == SCANT_OK) return status;
    return server_fail(w->server, status, "%s",
                       h->ctx ? scant_ctx_errmsg(h->ctx) : scant_status_text(status));
}

scant_status worker_open(server *s) {
    worker *w = calloc(1, sizeof *w);
    if (!w) return server_fail(s, SCANT_ENOMEM, "out of memory");
    w->server = s;
    w->doing = "idle";
    w->next_after = -1;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    s->worker = w;
    return open_project(w);
}

scant_status worker_start(server *s) {
    worker *w = s->worker;
    w->started = pthread_create(&w->handle.thread, NULL, work, w) == 0;
    return w->started ? SCANT_OK : server_fail(s, SCANT_ENOMEM, "cannot start a thread");
}

void worker_close(server *s) {
    worker *w = s->worker;
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (w->started) pthread_join(w->handle.thread, NULL);
    w->started = false;
    project_handle_close(&w->handle);
}

void worker_free(server *s) {
    worker *w = s->worker;
    if (!w) return;
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->wake);
    free(w);
    s->worker = NULL;
}

void worker_wake(server *s) {
    worker *w = s->worker;
    pthread_mutex_lock(&w->lock);
    w->news = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

bool worker_ask(server *s) {
    worker *w = s->worker;
    pthread_mutex_lock(&w->lock);
    bool free_to = !w->asked && strcmp(w->doing, "training") != 0 &&
                   strcmp(w->doing, "picking") != 0;
    if (free_to) w->asked = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    return free_to;
}
