/* SPDX-License-Identifier: Apache-2.0
 *
 * Desks: threads with a handle of the project each, which do requests in the order they
 * come. Labels have a desk of their own, so that nothing that takes long is before them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "scant/project.h"
#include "serve/server.h"

enum { MOST_SEATS = 2, MOST_WAITING = 1000 };

static const unsigned n_seats[DESK_KINDS] = {
    [DESK_LABELS] = 1, [DESK_READS] = 2, [DESK_PICTURES] = 2, [DESK_EXPORTS] = 1};

struct desk {
    desk_kind kind;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    request *first, *last;
    size_t waiting;
    bool ends;
    seat seats[MOST_SEATS];
};

static int cancelled(void *user) {
    seat *s = user;
    return atomic_load(&s->server->leaving) && s->desk && s->desk->kind != DESK_LABELS;
}

static void log_text(void *user, scant_log_level level, const char *text) {
    seat *s = user;
    server_log(s->server, level, "%s", text);
}

scant_status seat_open(seat *s, server *on, desk *of, char *message, size_t size) {
    s->server = on, s->desk = of;
    scant_ctx_opts opts = {.threads = 1, .user = s, .log = log_text, .cancel = cancelled};
    scant_status status = scant_ctx_create(&opts, &s->ctx);
    if (status == SCANT_OK)
        status = scant_project_open(s->ctx, on->opts->dir, &s->project);
    if (status != SCANT_OK)
        snprintf(message, size, "%s",
                 s->ctx ? scant_ctx_errmsg(s->ctx) : scant_status_text(status));
    return status;
}

void seat_close(seat *s) {
    scant_project_free(s->project);
    scant_ctx_free(s->ctx);
    s->project = NULL, s->ctx = NULL;
}

/* The next request, or NULL: there will be none. */
static request *take(desk *d) {
    pthread_mutex_lock(&d->lock);
    while (!d->first && !d->ends) pthread_cond_wait(&d->wake, &d->lock);
    request *r = d->first;
    if (r) {
        d->first = r->next;
        if (!d->first) d->last = NULL;
        d->waiting--;
    }
    pthread_mutex_unlock(&d->lock);
    return r;
}

static void *work(void *user) {
    seat *s = user;
    for (request *r; (r = take(s->desk));) {
        r->route->handle(s, r);
        if (!r->replied) reply_error(r, 500, "nothing was answered");
        http_done(r);
    }
    return NULL;
}

static scant_status open_desk(server *s, desk_kind kind, char *message, size_t size) {
    desk *d = calloc(1, sizeof *d);
    if (!d) {
        snprintf(message, size, "out of memory");
        return SCANT_ENOMEM;
    }
    d->kind = kind;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake, NULL);
    s->desks[kind] = d;
    for (unsigned i = 0; i < n_seats[kind]; i++) {
        scant_status status = seat_open(&d->seats[i], s, d, message, size);
        if (status != SCANT_OK) return status;
        d->seats[i].started =
            pthread_create(&d->seats[i].thread, NULL, work, &d->seats[i]) == 0;
        if (d->seats[i].started) continue;
        snprintf(message, size, "no thread can be started");
        return SCANT_ENOMEM;
    }
    return SCANT_OK;
}

scant_status desks_open(server *s, char *message, size_t size) {
    scant_status status = SCANT_OK;
    for (int kind = DESK_NONE + 1; kind < DESK_KINDS && status == SCANT_OK; kind++)
        status = open_desk(s, (desk_kind)kind, message, size);
    return status;
}

bool desk_put(server *s, request *r) {
    desk *d = s->desks[r->route->desk];
    pthread_mutex_lock(&d->lock);
    bool room = !d->ends && d->waiting < MOST_WAITING;
    if (room) {
        r->next = NULL;
        if (d->last)
            d->last->next = r;
        else
            d->first = r;
        d->last = r;
        d->waiting++;
        pthread_cond_signal(&d->wake);
    }
    pthread_mutex_unlock(&d->lock);
    return room;
}

static void close_desk(desk *d) {
    for (unsigned i = 0; i < MOST_SEATS; i++) {
        if (d->seats[i].started) pthread_join(d->seats[i].thread, NULL);
        seat_close(&d->seats[i]);
    }
}

void desks_close(server *s) {
    for (int kind = 0; kind < DESK_KINDS; kind++) {
        desk *d = s->desks[kind];
        if (!d) continue;
        pthread_mutex_lock(&d->lock);
        d->ends = true;
        pthread_cond_broadcast(&d->wake);
        pthread_mutex_unlock(&d->lock);
        close_desk(d);
    }
}

void desks_free(server *s) {
    for (int kind = 0; kind < DESK_KINDS; kind++) {
        desk *d = s->desks[kind];
        if (!d) continue;
        pthread_mutex_destroy(&d->lock);
        pthread_cond_destroy(&d->wake);
        free(d);
        s->desks[kind] = NULL;
    }
}
