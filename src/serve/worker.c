/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that trains and picks, beside those who label: at a low priority, with a
 * context of its own that has the threads and the memory of the call (one core is left
 * for people, unless the call says otherwise: threads that wait for each other come to a
 * standstill on cores that others use). It prepares features, sees to a first round,
 * trains when enough labels are new or somebody asks for it, and picks the next round.
 * What goes wrong is kept for people to see; it is tried again when there are new
 * entries, items or settings, or somebody asks.
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
    bool news; /* since it looked last */
    const char *doing;
    char phase[80], error[500];
    const char *failed_at; /* what it was doing when that happened */
    double fraction;
    int64_t next_after; /* labels; negative: it does not train by itself */

    /* of the thread alone */
    bool prepared;
    size_t items;       /* that it has prepared */
    size_t mute;        /* a model that cannot be asked; 0: none */
    size_t asked_of;    /* the last model that was asked what to pick */
    bool picks_pending; /* picks, of the model that it has trained itself */
    bool failed;        /* the last try did */
    uint64_t digest;    /* of what there was then */
};

/* ---- what it does, for others ------------------------------------------------------ */

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
    char told[sizeof w->error] = "";
    public_text(w->server, text, told, sizeof told);
    pthread_mutex_lock(&w->lock);
    bool same = strcmp(w->error, told) == 0;
    memcpy(w->error, told, sizeof told);
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
    if (w->next_after >= 0)
        scant__json_integer(o, "next_after", w->next_after);
    else
        scant__json_null(o, "next_after");
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
    /* a cache that was deleted is filled while it does nothing else */
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

/* ---- its turns --------------------------------------------------------------------- */

/* Whether cache/ has what the last model says of all items, or it cannot be asked. */
static bool is_said(worker *w, const scant_project_info *info) {
    scant_array *all = NULL;
    size_t model;
    if (!info->models || w->mute == info->models) return true;
    if (scant_project_predicted(w->handle.project, &all, &model) != SCANT_OK) return true;
    bool there = all && scant_array_shape(all)[0] >= info->items;
    scant_array_free(all);
    return there;
}

/* What pages show without waiting for it: features, and what the last model says. Looked
 * at each time, as cache/ may be deleted at any time; that takes next to none where it is
 * there. */
static scant_status prepare(worker *w, const scant_project_info *info) {
    scant_array *all = NULL;
    bool before = w->prepared && w->items == info->items;
    if (!before) {
        show(w, "preparing", "", 0);
        w->asked_of = w->mute = 0;
    }
    scant_status status = scant_project_prepare(w->handle.project);
    if (status == SCANT_OK && !is_said(w, info) &&
        scant_project_predict(w->handle.project, &all, NULL) != SCANT_OK) {
        /* another model may do without it */
        server_log(w->server, SCANT_LOG_WARNING, "%s", scant_ctx_errmsg(w->handle.ctx));
        w->mute = info->models;
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
    scant_picks_free(w->handle.ctx, picks); /* NULL: there is nothing left to pick */
    w->picks_pending = status != SCANT_OK;
    if (status == SCANT_OK) w->asked_of = model;
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

/* Whether the last model has not been asked yet: picking went wrong or was cut off, or
 * another program has trained it. */
static bool needs_picks(worker *w, const scant_project_info *info) {
    if (!info->rounds || w->picks_pending) return true;
    return trains_by_itself(w) && info->round_model < info->models &&
           w->asked_of < info->models;
}

/* What is to be done now, if anything is. */
static scant_status turn(worker *w, bool asked, const scant_project_info *info,
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

/* Entries, items and settings: what failed may go well when one of them is another. */
static uint64_t digest_of(worker *w, const scant_project_info *info) {
    uint64_t digest = info->entries * UINT64_C(1000003) + info->items;
    const scant_project_key *key;
    for (size_t i = 0; (key = scant_project_key_at(i)); i++) {
        const char *value = scant_project_get(w->handle.project, key->key);
        digest = mix(digest, value ? value : "");
    }
    return digest;
}

/* What it is idle for. */
static const char *waiting_for(worker *w, const scant_project_info *info, size_t batch) {
    bool enough = trains_by_itself(w) && info->untrained >= batch;
    return enough && !info->learnable ? "waiting for a second class" : "";
}

static void look(worker *w, bool asked) {
    scant_project_info info;
    scant_status status = scant_project_info_get(w->handle.project, &info);
    if (status != SCANT_OK) {
        show_error(w, scant_ctx_errmsg(w->handle.ctx));
        return;
    }
    size_t batch = batch_setting(w);
    update_next_training(w, &info, batch);
    if (w->failed && !asked && w->digest == digest_of(w, &info)) return;
    status = turn(w, asked, &info, batch);
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

/* Waits for news, or some seconds: other programs change a project too. */
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
    /* A thread's priority is inherited by those that it starts. It is a courtesy: */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE); /* it may fail */
    do look(w, asked);
    while (await(w, &asked));
    return NULL;
}

/* ---- from outside ------------------------------------------------------------------ */

static unsigned spare_cores(void) {
    scant_ctx *usual;
    if (scant_ctx_create(NULL, &usual) != SCANT_OK) return 1;
    unsigned cores = scant_ctx_threads(usual);
    scant_ctx_free(usual);
    return cores > 2 ? cores - 1 : 1;
}

static scant_status open_project(worker *w, char *message, size_t size) {
    const serve_opts *o = w->server->opts;
    scant_ctx_opts opts = {.threads = o->threads ? o->threads : spare_cores(),
                           .memory = o->memory,
                           .user = w,
                           .log = on_log,
                           .progress = on_progress,
                           .cancel = on_cancel};
    scant_status status = scant_ctx_create(&opts, &w->handle.ctx);
    if (status == SCANT_OK)
        status = scant_project_open(w->handle.ctx, o->dir, &w->handle.project);
    if (status != SCANT_OK)
        snprintf(message, size, "%s",
                 w->handle.ctx ? scant_ctx_errmsg(w->handle.ctx)
                               : scant_status_text(status));
    return status;
}

scant_status worker_open(server *s, char *message, size_t size) {
    worker *w = calloc(1, sizeof *w);
    if (!w) {
        snprintf(message, size, "out of memory");
        return SCANT_ENOMEM;
    }
    w->server = s;
    w->doing = "idle";
    w->next_after = -1;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    s->worker = w;
    return open_project(w, message, size);
}

scant_status worker_start(server *s, char *message, size_t size) {
    worker *w = s->worker;
    w->started = pthread_create(&w->handle.thread, NULL, work, w) == 0;
    if (w->started) return SCANT_OK;
    snprintf(message, size, "no thread can be started");
    return SCANT_ENOMEM;
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
