/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events: pages get the state of the project when it has changed, at most
 * four times a second, and at least every 15 seconds. Only the last state is stored: a
 * slow page skips earlier ones. A waiting stream needs no thread.
 *
 * Every two seconds the project is checked for changes by other programs.
 */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scant/project.h"
#include "serve/server.h"

enum {
    MOST_STREAMS = 200,
    SHORTEST = 250,        /* least milliseconds between two texts; also below */
    CHECK = 2000,          /* between checks for changes by other programs */
    LONGEST = 15000,       /* most between two texts */
    SHOWN = 30 * 60 * 1000 /* since a person was last seen */
};

typedef struct stream {
    struct stream *next, *before;
    events *events;
    struct MHD_Connection *connection;
    uint64_t seen; /* the number of the last text */
    char *text;    /* being sent */
    size_t size, sent;
    bool asleep;
} stream;

struct events {
    pthread_mutex_t lock;
    stream *first;
    size_t n_streams;
    bool closing;
    char *text; /* the last state */
    size_t size;
    uint64_t number; /* of that text, from 1 */

    atomic_uint_fast64_t changes;     /* events_touch() */
    uint_fast64_t published;          /* the changes that the last text includes */
    int64_t published_at, checked_at; /* used by the ticking thread only */
};

events *events_create(void) {
    events *e = calloc(1, sizeof *e);
    if (e) pthread_mutex_init(&e->lock, NULL);
    return e;
}

void events_destroy(events *e) {
    if (!e) return;
    free(e->text);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void events_touch(server *s) { atomic_fetch_add(&s->events->changes, 1); }

/* ---- streams ----------------------------------------------------------------------- */

/* Under the lock. */
static void wake_all(events *e) {
    for (stream *st = e->first; st; st = st->next) {
        if (!st->asleep) continue;
        st->asleep = false;
        MHD_resume_connection(st->connection);
    }
}

/* The next text, if there is one. Under the lock. */
static void take_text(stream *st) {
    events *e = st->events;
    free(st->text);
    st->text = NULL, st->size = st->sent = 0;
    if (st->seen == e->number || !e->text) return;
    st->text = malloc(e->size);
    if (!st->text) return; /* skip it */
    memcpy(st->text, e->text, e->size);
    st->size = e->size;
    st->seen = e->number;
}

static ssize_t read_stream(void *user, uint64_t at, char *room, size_t most) {
    stream *st = user;
    events *e = st->events;
    ssize_t given = 0;
    (void)at;
    pthread_mutex_lock(&e->lock);
    if (st->sent == st->size) take_text(st);
    if (st->sent < st->size) {
        size_t n = st->size - st->sent < most ? st->size - st->sent : most;
        memcpy(room, st->text + st->sent, n);
        st->sent += n;
        given = (ssize_t)n;
    } else if (e->closing) {
        given = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        st->asleep = true; /* under the lock, so that it is not woken before it sleeps */
        MHD_suspend_connection(st->connection);
    }
    pthread_mutex_unlock(&e->lock);
    return given;
}

static void end_stream(void *user) {
    stream *st = user;
    events *e = st->events;
    pthread_mutex_lock(&e->lock);
    if (st->before)
        st->before->next = st->next;
    else
        e->first = st->next;
    if (st->next) st->next->before = st->before;
    e->n_streams--;
    pthread_mutex_unlock(&e->lock);
    free(st->text);
    free(st);
}

static stream *begin_stream(events *e, struct MHD_Connection *connection) {
    stream *st = NULL;
    pthread_mutex_lock(&e->lock);
    if (e->n_streams < MOST_STREAMS && !e->closing) st = calloc(1, sizeof *st);
    if (st) {
        *st = (stream){.events = e, .connection = connection, .next = e->first};
        if (st->next) st->next->before = st;
        e->first = st;
        e->n_streams++;
    }
    pthread_mutex_unlock(&e->lock);
    return st;
}

bool events_begin(server *s, struct MHD_Connection *connection) {
    stream *st = begin_stream(s->events, connection);
    if (!st) return false;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, 16 * 1024, read_stream, st, end_stream);
    if (!response) {
        end_stream(st);
        return false;
    }
    http_headers(s, response, "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    bool queued = MHD_queue_response(connection, 200, response) == MHD_YES;
    MHD_destroy_response(response); /* ends the stream if it was not queued */
    return queued;
}

void events_close(server *s) {
    events *e = s->events;
    if (!e) return;
    pthread_mutex_lock(&e->lock);
    e->closing = true;
    wake_all(e);
    pthread_mutex_unlock(&e->lock);
}

/* ---- texts ------------------------------------------------------------------------- */

static void write_person(void *user, const char *name, bool busy) {
    scant__json *o = user;
    scant__json_open(o, NULL, '{');
    scant__json_string(o, "name", name);
    scant__json_bool(o, "busy", busy);
    scant__json_close(o, '}');
}

static void write_state(server *s, scant__json *o, const scant_project_info *info) {
    static const char head[] = "event: status\ndata: ", tail[] = "\n\n";
    scant__text_bytes(&o->text, head, sizeof head - 1);
    scant__json_open(o, NULL, '{');
    scant__json_size(o, "labels", info->labelled);
    scant__json_size(o, "entries", info->entries);
    scant__json_size(o, "round", info->rounds);
    scant__json_size(o, "model", info->models);
    worker_write(s, o, "worker");
    scant__json_open(o, "people", '[');
    sessions_people(s->sessions, server_now(), SHOWN, write_person, o);
    scant__json_close(o, ']');
    scant__json_close(o, '}');
    scant__text_bytes(&o->text, tail, sizeof tail - 1);
}

/* Publishes the text if it has changed or is due. Takes it. */
static void publish(events *e, scant__json *o, bool due) {
    pthread_mutex_lock(&e->lock);
    bool same = e->text && e->size == o->text.size &&
                memcmp(e->text, o->text.data, o->text.size) == 0;
    if (!o->text.failed && (due || !same)) {
        free(e->text);
        e->text = o->text.data, e->size = o->text.size;
        *o = (scant__json){0};
        e->number++;
        e->published_at = server_now();
        wake_all(e);
    }
    pthread_mutex_unlock(&e->lock);
    scant__json_end(o);
}

void events_tick(server *s, project_handle *h) {
    events *e = s->events;
    int64_t now = server_now();
    uint_fast64_t changes = atomic_load(&e->changes);
    bool late = !e->text || now - e->published_at >= LONGEST;
    bool changed = changes != e->published && now - e->checked_at >= SHORTEST;
    if (!late && !changed && now - e->checked_at < CHECK) return;
    scant_project_info info;
    e->checked_at = now;
    if (scant_project_info_get(h->project, &info) != SCANT_OK) return;
    e->published = changes;
    scant__json o = {0};
    write_state(s, &o, &info);
    publish(e, &o, late);
}
