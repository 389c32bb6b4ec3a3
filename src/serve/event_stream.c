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
    SHORTEST = 250,        /* minimum time between two texts; all times in milliseconds */
    CHECK = 2000,          /* time between checks for changes by other programs */
    LONGEST = 15000,       /* maximum time between two texts */
    SHOWN = 30 * 60 * 1000 /* people seen within this time are listed */
};

typedef struct stream {
    struct stream *next;
    events *events;
    struct MHD_Connection *connection;
    uint64_t seen; /* number of the last text copied */
    char *text;    /* text being sent */
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
    uint64_t number; /* number of that text, from 1 */

    atomic_uint_fast64_t changes;     /* number of calls of events_touch() */
    uint_fast64_t published;          /* value of `changes` at the last text */
    int64_t published_at, checked_at; /* used by the thread of events_tick() only */
};

events *events_create(void) { return locked_create(sizeof(events)); }

void events_destroy(events *e) {
    if (e) free(e->text);
    locked_destroy(e);
}

void events_touch(server *s) { atomic_fetch_add(&s->events->changes, 1); }

/* ---- streams ----------------------------------------------------------------------- */

/* Wakes all streams. The caller holds the lock. */
static void wake_all(events *e) {
    for (stream *st = e->first; st; st = st->next) {
        if (!st->asleep) continue;
        st->asleep = false;
        MHD_resume_connection(st->connection);
    }
}

/* Copies the next text, if there is one. The caller holds the lock. */
static void take_text(stream *st) {
    events *e = st->events;
    free(st->text);
    st->text = NULL, st->size = st->sent = 0;
    if (st->seen == e->number || !e->text) return;
    st->text = malloc(e->size);
    if (!st->text) return; /* no memory: try again later */
    memcpy(st->text, e->text, e->size);
    st->size = e->size;
    st->seen = e->number;
}

static ssize_t read_stream(void *user, uint64_t at, char *room, size_t most) {
    stream *st = user;
    events *e = st->events;
    (void)at;
    LOCK(&e->lock);
    if (st->sent == st->size) take_text(st);
    if (st->sent == st->size && e->closing) return MHD_CONTENT_READER_END_OF_STREAM;
    if (st->sent == st->size) {
        st->asleep = true; /* under the lock, so that it is not woken before it sleeps */
        MHD_suspend_connection(st->connection);
        return 0;
    }
    size_t n = st->size - st->sent < most ? st->size - st->sent : most;
    memcpy(room, st->text + st->sent, n);
    st->sent += n;
    return (ssize_t)n;
}

static void end_stream(void *user) {
    stream *st = user;
    events *e = st->events;
    stream **at = &e->first;
    LOCK(&e->lock);
    while (*at != st) at = &(*at)->next;
    *at = st->next;
    e->n_streams--;
    free(st->text);
    free(st);
}

static stream *begin_stream(events *e, struct MHD_Connection *connection) {
    LOCK(&e->lock);
    if (e->n_streams == MOST_STREAMS || e->closing) return NULL;
    stream *st = calloc(1, sizeof *st);
    if (!st) return NULL;
    *st = (stream){.events = e, .connection = connection, .next = e->first};
    e->first = st;
    e->n_streams++;
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
    MHD_destroy_response(response); /* frees the stream if it was not queued */
    return queued;
}

void events_close(server *s) {
    events *e = s->events;
    if (!e) return;
    LOCK(&e->lock);
    e->closing = true;
    wake_all(e);
}

/* ---- texts ------------------------------------------------------------------------- */

static void write_person(void *user, const char *name, bool busy) {
    JSON_OBJECT(user, NULL, MEMBER("name", name), MEMBER("busy", busy));
}

static void write_state(server *s, scant__json *o, const scant_project_info *info) {
    scant__text_add(&o->text, "event: status\ndata: ");
    scant__json_open(o, NULL, '{');
    JSON_MEMBERS(o, MEMBER("labels", info->labelled), MEMBER("entries", info->entries),
                 MEMBER("round", info->rounds), MEMBER("model", info->models));
    worker_write(s, o, "worker");
    scant__json_open(o, "people", '[');
    sessions_people(s->sessions, server_now(), SHOWN, write_person, o);
    scant__json_close(o, ']');
    scant__json_close(o, '}');
    scant__text_add(&o->text, "\n\n");
}

/* Publishes o's text if it has changed or is due. Takes ownership of o's memory. */
static void publish(events *e, scant__json *o, bool due) {
    LOCK(&e->lock);
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
