/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that trains and picks in the background, at a low priority. Its context has
 * the threads and memory of the options; by default one core is left for requests, as
 * threads that wait for each other stall on busy cores. The worker prepares features,
 * picks the first round, trains when there are enough new labels or on request, and picks
 * the next round. Pages show its last error; it tries again on request, or when entries,
 * items or settings have changed. If a training has collapsed, it goes on with the last
 * model, and trains again on request, when the settings of trainings have changed, or
 * when there are enough labels that the collapsed training did not have.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/hash.h"
#include "scant/project.h"
#include "serve/server.h"

enum { NICE = 10, POLL_SECONDS = 2, SPARE_LEAST = 50 };

struct worker {
    pthread_mutex_t lock; /* protects the members below, up to next_after */
    pthread_cond_t wake;
    bool ends, requested;
    bool changed; /* something has changed since the last check */
    const char *doing;
    char phase[80], error[SCANT_COLLAPSE_TEXT];
    const char *failed_at; /* what failed */
    double fraction;
    int64_t next_after; /* labels until the next training; negative: none is planned */

    /* used by the worker thread only */
    project_handle handle;
    bool prepared;
    size_t items;            /* number of items prepared */
    size_t unusable;         /* a model that cannot predict; 0: none */
    size_t picked_by;        /* the last model that was used for picks */
    bool picks_pending;      /* picking with the worker's last model has failed */
    bool failed;             /* the last step failed */
    uint64_t digest;         /* digest_of() the project at the last step */
    scant_collapse collapse; /* of the last training */
};

/* ---- state of the worker ---------------------------------------------------------- */

static void show(worker *w, const char *doing, const char *phase, double fraction) {
    LOCK(&w->lock);
    if (strcmp(w->doing, doing) == 0 && strcmp(w->phase, phase) == 0 &&
        fraction - w->fraction < 0.01 && fraction >= w->fraction)
        return;
    w->doing = doing;
    snprintf(w->phase, sizeof w->phase, "%s", phase);
    w->fraction = fraction > 0 ? fraction < 1 ? fraction : 1 : 0; /* NaN: 0 */
    events_touch(w->handle.server);
}

/* failed: the activity that failed. */
static void show_error(worker *w, const char *failed, const char *text) {
    char shown[sizeof w->error] = "";
    public_text(w->handle.server, text, shown, sizeof shown);
    LOCK(&w->lock);
    if (strcmp(w->error, shown) != 0) events_touch(w->handle.server);
    memcpy(w->error, shown, sizeof shown);
    w->failed_at = failed;
}

void worker_write(server *s, scant__json *o, const char *key) {
    worker *w = s->worker;
    LOCK(&w->lock);
    JSON_OBJECT(o, key, MEMBER("doing", w->doing), MEMBER("phase", w->phase),
                MEMBER("fraction", w->fraction),
                MEMBER("error", *w->error ? w->error : NULL),
                MEMBER("failed", *w->error ? w->failed_at : NULL),
                OPTIONAL("next_after", w->next_after));
}

/* ---- callbacks of the context ------------------------------------------------------ */

static void on_progress(void *user, const char *phase, double fraction) {
    worker *w = ((project_handle *)user)->server->worker;
    /* an idle worker reports progress only while it restores a deleted cache */
    show(w, strcmp(w->doing, "idle") == 0 ? "preparing" : w->doing, phase, fraction);
}

static void on_step(void *user, const scant_train_state *state) {
    worker *w = user;
    char phase[80];
    snprintf(phase, sizeof phase, "epoch %zu of %zu", state->epoch, state->epochs);
    show(w, w->doing, phase,
         state->steps ? (double)state->step / (double)state->steps : 0);
}

/* ---- training and picking ---------------------------------------------------------- */

/* Whether cache/ has the last model's predictions, or that model cannot predict. */
static bool is_predicted(worker *w, const scant_project_info *info) {
    AUTO(scant_array_auto) scant_array *all = NULL;
    size_t model;
    if (!info->models || w->unusable == info->models) return true;
    if (scant_project_predict_cached(w->handle.project, &all, &model) != SCANT_OK)
        return true;
    return all && scant_array_shape(all)[0] >= info->items;
}

/* Makes features and predictions in advance, so that pages do not wait for them. Called
 * at every check, as cache/ may be deleted; quick if nothing is missing. */
static scant_status prepare(worker *w, const scant_project_info *info) {
    AUTO(scant_array_auto) scant_array *all = NULL;
    if (!w->prepared || w->items != info->items) {
        show(w, "preparing", "", 0);
        w->picked_by = w->unusable = 0;
    }
    scant_status status = scant_project_prepare(w->handle.project);
    if (status == SCANT_OK && !is_predicted(w, info) &&
        scant_project_predict(w->handle.project, &all, NULL) != SCANT_OK) {
        /* only this model is unusable: the next one may predict */
        server_log(w->handle.server, SCANT_LOG_WARNING, "%s",
                   scant_ctx_errmsg(w->handle.ctx));
        w->unusable = info->models;
    }
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

/* A training that collapsed is not a failed step: the project has recorded it, and keeps
 * the last model. */
static scant_status train(worker *w, size_t batch) {
    scant_project_train_opts opts = {.user = w, .report = on_step};
    scant_project *project = w->handle.project;
    size_t model;
    int64_t before = w->collapse.at;
    show(w, "training", "", 0);
    scant_status status = scant_project_train(project, &opts, &model);
    if (status == SCANT_OK) return pick(w, batch, model);
    if (status != SCANT_ENOTREADY ||
        scant_project_collapse(project, &w->collapse) != SCANT_OK ||
        w->collapse.at == before)
        return status;
    server_log(w->handle.server, SCANT_LOG_WARNING, "training: %s", w->collapse.text);
    return SCANT_OK;
}

static bool is_automatic(worker *w) {
    const char *text = scant_project_get(w->handle.project, "auto_train");
    return !w->handle.server->opts->no_training && (!text || strcmp(text, "no") != 0);
}

/* Number of new labels until the next training: a batch since the last model and since a
 * training that collapsed with the same settings. */
static size_t labels_left(const worker *w, const scant_project_info *info, size_t batch) {
    const scant_collapse *c = &w->collapse;
    size_t left = info->untrained < batch ? batch - info->untrained : 0;
    size_t wanted = c->at && c->same_settings ? c->labels + batch : 0;
    size_t more = info->training < wanted ? wanted - info->training : 0;
    return left > more ? left : more;
}

static void update_next_training(worker *w, const scant_project_info *info,
                                 size_t batch) {
    size_t left = labels_left(w, info, batch);
    int64_t after = !is_automatic(w) ? -1 : left ? (int64_t)left : !info->learnable;
    LOCK(&w->lock);
    if (w->next_after != after) events_touch(w->handle.server);
    w->next_after = after;
}

/* Whether there is no round yet, or the last model was not used for picks: picking has
 * failed or was interrupted, or another program has trained the model. */
static bool needs_picks(worker *w, const scant_project_info *info) {
    if (!info->rounds || w->picks_pending) return true;
    return is_automatic(w) && info->round_model < info->models &&
           w->picked_by < info->models;
}

/* Prepares; then trains, or picks, if that is due. */
static scant_status work_once(worker *w, bool requested, const scant_project_info *info,
                              size_t batch) {
    bool due = is_automatic(w) && info->learnable && !labels_left(w, info, batch);
    TRY(prepare(w, info));
    if (requested || due) return train(w, batch);
    bool picks = !w->handle.server->opts->no_training && needs_picks(w, info);
    return picks ? pick(w, batch, info->models) : SCANT_OK;
}

/* Hashes the settings and the numbers of entries and items. If the hash changes, a failed
 * step is retried. */
static uint64_t digest_of(worker *w, const scant_project_info *info) {
    const size_t counts[] = {info->entries, info->items};
    uint64_t digest = scant__hash(SCANT__HASH_FIRST, counts, sizeof counts);
    size_t n;
    const scant_option *rows = scant_project_options(&n);
    for (size_t i = 0; i < n; i++) {
        const char *value = scant_project_get(w->handle.project, rows[i].key);
        if (value) digest = scant__hash(digest, value, strlen(value));
        digest = scant__hash(digest, "", 1);
    }
    return digest;
}

/* Returns why the worker is idle; "": nothing special. */
static const char *waiting_for(worker *w, const scant_project_info *info, size_t batch) {
    if (!is_automatic(w) || info->untrained < batch) return "";
    if (!info->learnable) return "waiting for a second class";
    return labels_left(w, info, batch) ? "waiting for more labels or other settings" : "";
}

/* Reads what decides about the next step. */
static scant_status read_project(worker *w, scant_project_info *info) {
    TRY(scant_project_info_get(w->handle.project, info));
    return scant_project_collapse(w->handle.project, &w->collapse);
}

static void check(worker *w, bool requested) {
    scant_project_info info;
    if (read_project(w, &info) != SCANT_OK) {
        show_error(w, w->doing, scant_ctx_errmsg(w->handle.ctx));
        return;
    }
    size_t batch = batch_setting(w);
    update_next_training(w, &info, batch);
    if (w->failed && !requested && w->digest == digest_of(w, &info)) return;
    scant_status status = work_once(w, requested, &info, batch);
    w->failed = status != SCANT_OK;
    if (w->failed && status != SCANT_ECANCELLED) {
        const char *why = scant_ctx_errmsg(w->handle.ctx);
        server_log(w->handle.server, SCANT_LOG_WARNING, "%s: %s", w->doing, why);
        show_error(w, w->doing, why); /* before other calls replace the message */
    }
    w->digest = digest_of(w, &info);
    if (read_project(w, &info) == SCANT_OK) update_next_training(w, &info, batch);
    if (!w->failed || status == SCANT_ECANCELLED)
        show_error(w, "training", w->collapse.at ? w->collapse.text : "");
    show(w, "idle", waiting_for(w, &info, batch), 0);
}

/* Waits until the project changes, a training is requested, or POLL_SECONDS pass: other
 * programs may change the project. False: the worker ends. */
static bool await(worker *w, bool *requested) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += POLL_SECONDS;
    LOCK(&w->lock);
    int waited = 0;
    while (!w->ends && !w->requested && !w->changed && waited == 0)
        waited = pthread_cond_timedwait(&w->wake, &w->lock, &until);
    *requested = w->requested;
    w->requested = w->changed = false;
    return !w->ends;
}

static void *work(void *user) {
    worker *w = ((project_handle *)user)->server->worker;
    bool requested = false;
    /* Lowers the priority, also of threads started from here. Failure is harmless. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
    do check(w, requested);
    while (await(w, &requested));
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

scant_status worker_open(server *s) {
    worker *w = s->worker = locked_create(sizeof *w);
    if (!w) return server_fail(s, SCANT_ENOMEM, "out of memory");
    pthread_cond_init(&w->wake, NULL);
    w->doing = "idle";
    w->next_after = -1;
    w->handle.cancels = true;
    unsigned threads = s->opts->threads ? s->opts->threads : spare_cores();
    return project_handle_open(&w->handle, s,
                               (scant_ctx_opts){.threads = threads,
                                                .memory = s->opts->memory,
                                                .progress = on_progress});
}

scant_status worker_start(server *s) {
    return project_handle_start(&s->worker->handle, work);
}

static void notify(worker *w, bool *flag) {
    LOCK(&w->lock);
    *flag = true;
    pthread_cond_signal(&w->wake);
}

void worker_close(server *s) {
    worker *w = s->worker;
    if (!w) return;
    notify(w, &w->ends);
    project_handle_close(&w->handle);
}

void worker_free(server *s) { locked_destroy(s->worker); }

void worker_wake(server *s) { notify(s->worker, &s->worker->changed); }

bool worker_request(server *s) {
    worker *w = s->worker;
    LOCK(&w->lock);
    if (w->requested || strcmp(w->doing, "training") == 0 ||
        strcmp(w->doing, "picking") == 0)
        return false;
    w->requested = true;
    pthread_cond_signal(&w->wake);
    return true;
}
