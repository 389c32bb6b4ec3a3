/* SPDX-License-Identifier: Apache-2.0
 *
 * Request queues: each has threads with their own handle of the project, which process
 * requests in order of arrival. Labels have a queue of their own, so that they never wait
 * for a slow request; cached images do not wait for those that are decoded.
 */
#include "scant/project.h"
#include "serve/server.h"

enum { MOST_THREADS = 2, MOST_WAITING = 1000 };

static const unsigned n_threads[QUEUE_KINDS] = {[QUEUE_LABELS] = 1,
                                                [QUEUE_READS] = 2,
                                                [QUEUE_IMAGES] = 1,
                                                [QUEUE_DECODES] = 2,
                                                [QUEUE_EXPORTS] = 1};

struct request_queue {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    request *first, *last;
    size_t waiting;
    bool ends;
    project_handle handles[MOST_THREADS];
};

/* ---- project handles --------------------------------------------------------------- */

static int cancelled(void *user) {
    const project_handle *h = user;
    return h->cancels && atomic_load(&h->server->cancelling);
}

static void log_text(void *user, scant_log_level level, const char *text) {
    server_log(((project_handle *)user)->server, (int)level, "%s", text);
}

scant_status project_handle_open(project_handle *h, server *s, scant_ctx_opts opts) {
    h->server = s;
    opts.user = h, opts.log = log_text, opts.cancel = cancelled;
    scant_status status = scant_ctx_create(&opts, &h->ctx);
    if (status != SCANT_OK)
        return server_fail(s, status, "%s", scant_status_text(status));
    status = scant_project_open(h->ctx, s->opts->dir, &h->project);
    return status == SCANT_OK ? status
                              : server_fail(s, status, "%s", scant_ctx_errmsg(h->ctx));
}

scant_status project_handle_start(project_handle *h, void *(*work)(void *user)) {
    h->started = pthread_create(&h->thread, NULL, work, h) == 0;
    return h->started ? SCANT_OK
                      : server_fail(h->server, SCANT_ENOMEM, "cannot start a thread");
}

void project_handle_close(project_handle *h) {
    if (h->started) pthread_join(h->thread, NULL);
    scant_project_free(h->project);
    scant_ctx_free(h->ctx);
}

/* ---- request queues ---------------------------------------------------------------- */

/* Waits for the next request; NULL: the queue is closed. */
static request *take(request_queue *q) {
    LOCK(&q->lock);
    while (!q->first && !q->ends) pthread_cond_wait(&q->wake, &q->lock);
    request *r = q->first;
    if (!r) return NULL;
    q->first = r->next;
    q->waiting--;
    return r;
}

static void *work(void *user) {
    project_handle *h = user;
    for (request *r; (r = take(h->queue));) {
        bool moved = r->decodes;
        reply_to(h, r);
        if (r->decodes && !moved && queue_put(h->server, r)) continue;
        if (r->decodes && !moved) reply_error(r, 503, "too many images are waiting");
        http_done(r);
    }
    return NULL;
}

static scant_status open_queue(server *s, queue_kind kind) {
    request_queue *q = s->queues[kind] = locked_create(sizeof *q);
    if (!q) return server_fail(s, SCANT_ENOMEM, "out of memory");
    pthread_cond_init(&q->wake, NULL);
    for (unsigned i = 0; i < n_threads[kind]; i++) {
        project_handle *h = &q->handles[i];
        h->queue = q, h->cancels = kind != QUEUE_LABELS;
        TRY(project_handle_open(h, s, (scant_ctx_opts){.threads = 1}));
        TRY(project_handle_start(h, work));
    }
    return SCANT_OK;
}

scant_status queues_open(server *s) {
    for (int kind = QUEUE_NONE + 1; kind < QUEUE_KINDS; kind++)
        TRY(open_queue(s, (queue_kind)kind));
    return SCANT_OK;
}

bool queue_put(server *s, request *r) {
    request_queue *q = s->queues[r->decodes ? QUEUE_DECODES : r->route->queue];
    LOCK(&q->lock);
    if (q->ends || q->waiting == MOST_WAITING) return false;
    r->next = NULL;
    *(q->first ? &q->last->next : &q->first) = r;
    q->last = r;
    q->waiting++;
    pthread_cond_signal(&q->wake);
    return true;
}

static void end_threads(request_queue *q) {
    LOCK(&q->lock);
    q->ends = true;
    pthread_cond_broadcast(&q->wake);
}

void queues_close(server *s) {
    for (int kind = 0; kind < QUEUE_KINDS; kind++) {
        request_queue *q = s->queues[kind];
        if (q) end_threads(q);
        for (unsigned i = 0; q && i < MOST_THREADS; i++)
            project_handle_close(&q->handles[i]);
    }
}

void queues_free(server *s) {
    for (int kind = 0; kind < QUEUE_KINDS; kind++) locked_destroy(s->queues[kind]);
}
