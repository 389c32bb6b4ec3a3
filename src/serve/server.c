/* SPDX-License-Identifier: Apache-2.0
 *
 * The server from its start to its end.
 *
 * Shutdown loses nothing: new requests are refused, slow reads and training are
 * cancelled, queued requests are processed and their replies sent, then all is closed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/hash.h"
#include "scant/project.h"
#include "serve/lock.h"
#include "serve/server.h"

enum {
    TICK = 50,           /* milliseconds between two ticks */
    LAST_REPLIES = 5000, /* maximum milliseconds for clients to read their last replies */
    SAME_LINE = 60000    /* milliseconds until a text is logged again */
};

int64_t server_now(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

scant_status server_fail(server *s, scant_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(s->message, s->message_size, format, args);
    va_end(args);
    return status;
}

/* Whether the text is none of the last few, or its last time is long ago. */
static bool is_news(server *s, const char *text) {
    uint64_t hash = scant__hash(SCANT__HASH_FIRST, text, strlen(text));
    int64_t now = server_now();
    LOCK(&s->log_lock);
    size_t oldest = 0;
    for (size_t i = 0; i < SERVER_LINES; i++) {
        if (s->logged[i].hash == hash && now - s->logged[i].at < SAME_LINE) return false;
        if (s->logged[i].at < s->logged[oldest].at) oldest = i;
    }
    s->logged[oldest].hash = hash;
    s->logged[oldest].at = now;
    return true;
}

void server_log(server *s, int level, const char *format, ...) {
    if (!s->opts->log) return;
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (is_news(s, text)) s->opts->log(s->opts->user, level, text);
}

static void pause_tick(void) {
    nanosleep(&(struct timespec){.tv_nsec = TICK * 1000000L}, NULL);
}

/* Sets the project's name: the last part of its path. */
static void name_project(server *s) {
    char *whole = realpath(s->opts->dir, NULL);
    const char *path = whole ? whole : s->opts->dir, *slash = strrchr(path, '/');
    snprintf(s->name, sizeof s->name, "%s", slash && slash[1] ? slash + 1 : path);
    snprintf(s->dir, sizeof s->dir, "%s", path);
    free(whole);
}

/* Sets the error message if a call with the handle s->main has failed. */
static scant_status main_try(server *s, scant_status status) {
    return status == SCANT_OK
               ? status
               : server_fail(s, status, "%s", scant_ctx_errmsg(s->main.ctx));
}

static scant_status hold(server *s) {
    char who[700], host[200] = "";
    if (gethostname(host, sizeof host - 1) != 0 || !*host)
        snprintf(host, sizeof host, "this machine");
    snprintf(who, sizeof who, "process %ld on %s, serving %s", (long)getpid(), host,
             s->address);
    return main_try(s, scant_project_hold(s->main.project, "serve", who, &s->hold));
}

/* Listens and takes the lock, even if the port is in use: the likely reason is another
 * server of this project, and the lock's message says so. */
static scant_status claim(server *s) {
    scant_status listens = listen_open(s);
    if (listens != SCANT_OK && !*s->address) return listens; /* failed before binding */
    char why[600];
    snprintf(why, sizeof why, "%s", s->message);
    scant_status held = hold(s);
    if (held != SCANT_OK || listens == SCANT_OK) return held;
    return server_fail(s, listens, "%s", why);
}

static void add_event(server *s) {
    scant__json o = {0};
    JSON_OBJECT(&o, NULL, MEMBER("address", s->address),
                MEMBER("process", (int64_t)getpid()));
    if (!o.text.failed) scant_project_event(s->main.project, "served", o.text.data);
    scant__json_end(&o);
}

static scant_status start(server *s) {
    scant_project_info info;
    TRY(project_handle_open(&s->main, s, (scant_ctx_opts){.threads = 1}));
    TRY(main_try(s, scant_project_info_get(s->main.project, &info)));
    s->images = info.kind && strcmp(info.kind, "pictures") == 0;
    snprintf(s->key, sizeof s->key, "%s", info.key);
    name_project(s);
    s->sessions = sessions_create(!s->opts->token);
    s->events = events_create();
    s->statistics = statistics_create();
    s->pages = pages_create();
    if (!s->sessions || !s->events || !s->statistics || !s->pages)
        return server_fail(s, SCANT_ENOMEM, "out of memory");
    TRY(claim(s));
    TRY(worker_open(s));
    TRY(queues_open(s));
    TRY(http_open(s));
    return worker_start(s);
}

static void finish(server *s) {
    atomic_store(&s->cancelling, true);
    http_quiesce(s);
    events_close(s);
    queues_close(s);
    for (int64_t end = server_now() + LAST_REPLIES;
         s->daemon && atomic_load(&s->open) && server_now() < end;) {
        clients_tick(s->clients, server_now());
        pause_tick();
    }
    worker_close(s);
    http_close(s);
    if (s->socket >= 0) close(s->socket);
    queues_free(s);
    worker_free(s);
    events_destroy(s->events);
    statistics_destroy(s->statistics);
    pages_destroy(s->pages);
    sessions_destroy(s->sessions);
    scant_hold_free(s->hold);
    project_handle_close(&s->main);
}

scant_status serve_run(const serve_opts *opts, char *message, size_t size) {
    server s = {.opts = opts,
                .log_lock = PTHREAD_MUTEX_INITIALIZER,
                .message = message,
                .message_size = size,
                .socket = -1};
    if (size) message[0] = '\0';
    scant_status status = start(&s);
    if (status == SCANT_OK) {
        add_event(&s);
        if (opts->ready) opts->ready(opts->user, s.address);
        while (!opts->stop || !opts->stop(opts->user)) {
            clients_tick(s.clients, server_now());
            events_tick(&s, &s.main);
            pause_tick();
        }
    }
    finish(&s);
    return status;
}
