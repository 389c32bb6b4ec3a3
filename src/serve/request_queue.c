/* SPDX-License-Identifier: Apache-2.0
 *
 * Request queues: each has threads with their own handle of the project, which process
 * requests in order of arrival. Labels have a queue of their own, so that they never wait
 * for a slow request.
 */
#include <stdio.h>
#include <stdlib.h>

#include "scant/project.h"
#include "serve/server.h"

enum { MOST_THREADS = 2, MOST_WAITING = 1000 };

static const unsigned n_threads[QUEUE_KINDS] = {
    [QUEUE_LABELS] = 1, [QUEUE_READS] = 2, [QUEUE_PICTURES] = 2, [QUEUE_EXPORTS] = 1};

struct request_queue {
    queue_kind kind;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    request *first, *last;
    size_t waiting;
    bool ends;
    project_handle handles[MOST_THREADS];
};

static int cancelled(void *user) {
    project_handle *s = user;
    return atomic_load(&s->server->leaving) && s->queue && s->queue->kind != QUEUE_LABELS;
}

static void log_text(void *user, scant_log_level level, const char *text) {
    project_handle *s = user;
    server_log(s->server, level, "%s", text);
}

scant_status project_handle_open(project_handle *h, server *s, request_queue *queue) {
    h->server = s, h->queue = queue;
    scant_ctx_opts opts = {.threads = 1, .user = h, .log = log_text, .cancel = cancelled};
    scant_status status = scant_ctx_create(&opts, &h->ctx);
    if (status == SCANT_OK)
        status = scant_project_open(h->ctx, s->opts->dir, &h->project);
    if (status == SCANT_OK) return status;
    return server_fail(s, status, "%s",
                       h->ctx ? scant_ctx_errmsg(h->ctx) : scant_status_text(status));
}

void project_handle_close(project_handle *h) {
    scant_project_free(h->project);
    scant_ctx_free(h->ctx);
    h->project = NULL, h->ctx = NULL;
}

/* The next request; NULL: the queue is closed. */
static request *take(request_queue *q) {
    pthread_mutex_lock(&q->lock);
    while (!q->first && !q->ends) pthread_cond_wait(&q->wake, &q->lock);
    request *r = q->first;
    if (r) {
        q->first = r->next;
        if (!q->first) q->last = NULL;
        q->waiting--;
    }
    pthread_mutex_unlock(&q->lock);
    return r;
}

static void *work(void *user) {
    project_handle *s = user;
    for (request *r; (r = take(s->queue));) {
        r->route->handler(s, r);
        if (!r->replied) reply_error(r, 500, "the request was not handled");
        http_done(r);
    }
    return NULL;
}

static scant_status open_queue(server *s, queue_kind kind) {
    request_queue *q = calloc(1, sizeof *q);
    if (!q) return server_fail(s, SCANT_ENOMEM, "out of memory");
    q->kind = kind;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->wake, NULL);
    s->queues[kind] = q;
    for (unsigned i = 0; i < n_threads[kind]; i++) {
        scant_status status = project_handle_open(&q->handles[i], s, q);
        if (status != SCANT_OK) return status;
        q->handles[i].started =
            pthread_create(&q->handles[i].thread, NULL, work, &q->handles[i]) == 0;
        if (!q->handles[i].started)
            return server_fail(s, SCANT_ENOMEM, "cannot start a thread");
    }
    return SCANT_OK;
}

scant_status queues_open(server *s) {
    scant_status status = SCANT_OK;
    for (int kind = QUEUE_NONE + 1; kind < QUEUE_KINDS && status == SCANT_OK; kind++)
        status = open_queue(s, (queue_kind)kind);
    return status;
}

bool queue_put(server *s, request *r) {
    request_queue *q = s->queues[r->route->queue];
    pthread_mutex_lock(&q->lock);
    bool room = !q->ends && q->waiting < MOST_WAITING;
    if (room) {
        r->next = NULL;
        if (q->last)
            q->last->next = r;
        else
            q->first = r;
        q->last = r;
        q->waiting++;
        pthread_cond_signal(&q->wake);
    }
    pthread_mutex_unlock(&q->lock);
    return room;
}

static void close_queue(request_queue *q) {
    for (unsigned i = 0; i < MOST_THREADS; i++) {
        if (q->handles[i].started) pthread_join(q->handles[i].thread, NULL);
        project_handle_close(&q->handles[i]);
    }
}

void queues_close(server *s) {
    for (int kind = 0; kind < QUEUE_KINDS; kind++) {
        request_queue *q = s->queues[kind];
        if (!q) continue;
        pthread_mutex_lock(&q->lock);
        q->ends = true;
        pthread_cond_broadcast(&q->wake);
        pthread_mutex_unlock(&q->lock);
        close_queue(q);
    }
}

void queues_free(server *s) {
    for (int kind = 0; kind < QUEUE_KINDS; kind++) {
        request_queue *q = s->queues[kind];
        if (!q) continue;
        pthread_mutex_destroy(&q->lock);
        pthread_cond_destroy(&q->wake);
        free(q);
        s->queues[kind] = NULL;
    }
}
