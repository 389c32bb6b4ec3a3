/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the server share.
 *
 * A request arrives on a thread of microhttpd, which checks and parses it (http.c) and
 * never blocks. It is then queued (request_queue.c) for a thread that has its own handle
 * of the project, and the connection is suspended until the reply is ready. So a long
 * export delays no label, and an open page needs no thread. Another thread trains
 * networks at a low priority (worker.c). The thread that called serve_run() (server.c)
 * reports changes to open pages (event_stream.c).
 */
#ifndef SCANT_SERVE_SERVER_H
#define SCANT_SERVE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "scant/project.h"
#include "serve/request.h"
#include "serve/serve.h"
#include "serve/session.h"

struct MHD_Connection;
struct MHD_Response;
struct MHD_Daemon;

typedef struct server server;
typedef struct request request;
typedef struct route route;
typedef struct request_queue request_queue;
typedef struct events events;
typedef struct worker worker;
typedef struct statistics statistics;
typedef struct pages pages;

/* ---- requests and replies ---------------------------------------------------------- */

typedef struct reply {
    int status;
    const char *type; /* static; NULL: JSON */
    void *bytes;      /* free() */
    size_t size;
    const void *fixed;                            /* static, instead of bytes */
    char etag[24];                                /* empty: none */
    const char *cache;                            /* Cache-Control; NULL: no-store */
    char allow[40], disposition[80], cookie[160]; /* headers; empty: none */
    bool retry;                                   /* Retry-After: 1 */
    bool stream;                                  /* of events, instead of bytes */
    int64_t wait;                                 /* delay in milliseconds */
} reply;

struct request {
    server *server;
    struct MHD_Connection *connection;
    void *client; /* the connection's own state (http.c) */
    const route *route;
    session session; /* at the time of the request */
    bool has_session;
    char *body; /* size bytes received so far */
    size_t size, room;
    size_t dropped; /* bytes of a refused body */
    request_args args;
    reply reply;
    bool replied;  /* reply is set */
    bool counted;  /* in server.open */
    request *next; /* in a queue, or in the list of delayed replies */
    int64_t due;   /* when to send a delayed reply */
};

/* {"error": text}, by printf. */
void reply_error(request *r, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes o; 503 if its memory ran out. */
void reply_json(request *r, int status, scant__json *o);

/* ---- request queues ---------------------------------------------------------------- */

typedef enum queue_kind {
    QUEUE_NONE,   /* handled at once, on the connection's thread */
    QUEUE_LABELS, /* requests that people wait for; one thread */
    QUEUE_READS,  /* slower ones */
    QUEUE_PICTURES,
    QUEUE_EXPORTS, /* may take minutes, as all items are predicted */
    QUEUE_KINDS
} queue_kind;

/* A project handle for one thread. */
typedef struct project_handle {
    server *server;
    request_queue *queue;
    scant_ctx *ctx;
    scant_project *project;
    pthread_t thread;
    bool started;
} project_handle;

scant_status project_handle_open(project_handle *h, server *s, request_queue *queue);
void project_handle_close(project_handle *h);

scant_status queues_open(server *s);
/* A thread of the route's queue processes the request and calls http_done(). False: the
 * queue is full. */
bool queue_put(server *s, request *r);
/* Handles waiting requests, then ends the threads; no more are accepted. */
void queues_close(server *s);
void queues_free(server *s); /* after queues_close() and http_close() */

/* ---- routes ------------------------------------------------------------------------ */

enum {
    NEEDS_PERSON = 1,  /* a session with a name */
    NEEDS_NOTHING = 2, /* not even the token */
    ITEM_404 = 4,      /* names an item: SCANT_ENOTFOUND and SCANT_EINPUT are 404 */
    VALUE_422 = 8      /* takes values: SCANT_EUSAGE and SCANT_ENOTFOUND are 422 */
};

struct route {
    const char *method, *path; /* request_path() */
    queue_kind queue;
    unsigned flags;
    size_t body; /* most bytes of a body; 0: none */
    request_parser *parse;
    void (*handler)(project_handle *h, request *r);
};

extern const route routes[];
extern const size_t n_routes;
/* The route, or NULL; allow then lists the methods of the path, empty if there is no such
 * path. */
const route *route_find(const char *method, const char *path, size_t *number, char *allow,
                        size_t size);

/* Replies with the library's error; the HTTP status follows from the status and the
 * route's flags. */
void reply_failed(project_handle *h, request *r, scant_status status);
/* Closes the object and sends it; with another status than SCANT_OK reply_failed(). */
void reply_object(project_handle *h, request *r, scant__json *o, scant_status status);
/* Sends bytes of the handle's context, and frees them. */
void reply_bytes(project_handle *h, request *r, const char *type, void *bytes,
                 size_t size);
/* The library's message for pages: paths without their folders, which are private. */
void public_text(const server *s, const char *text, char *out, size_t size);
/* A setting as a number; 0 if unset. */
double number_setting(project_handle *h, const char *key);
/* A number, null if negative; a model's number, null if 0. */
void write_optional(scant__json *o, const char *key, int64_t value);
void write_model(scant__json *o, size_t model);
/* The members "kind" and "label". */
void write_said(scant__json *o, scant_answer_kind kind, int64_t label);

/* The handlers: api_session.c, api_labels.c, api_items.c, api_dashboard.c. */
void api_session_get(project_handle *h, request *r);
void api_session_post(project_handle *h, request *r);
void api_leave(project_handle *h, request *r);
void api_next(project_handle *h, request *r);
void api_alike(project_handle *h, request *r);
void api_answers(project_handle *h, request *r);
void api_undo(project_handle *h, request *r);
void api_renew(project_handle *h, request *r);
void api_release(project_handle *h, request *r);
void api_class(project_handle *h, request *r);
void api_mine(project_handle *h, request *r);
void api_item(project_handle *h, request *r);
void api_picture(project_handle *h, request *r);
void api_prediction(project_handle *h, request *r);
void api_why(project_handle *h, request *r);
void api_status(project_handle *h, request *r);
void api_map(project_handle *h, request *r);
void api_train(project_handle *h, request *r);
void api_settings(project_handle *h, request *r);
void api_export(project_handle *h, request *r);
void api_events(project_handle *h, request *r);
void api_openapi(project_handle *h, request *r);
/* Replies with a file of the page; false: there is none. */
bool reply_asset(request *r, const char *name);

/* The member "classes". */
void write_classes(project_handle *h, scant__json *o);
/* {"item", "id", "text", "picture"} without the closing bracket. */
scant_status write_item(project_handle *h, scant__json *o, const char *key, size_t item);

/* ---- page leases --------------------------------------------------------------------
 */

pages *pages_create(void); /* NULL: no memory */
void pages_destroy(pages *all);
/* Assigns up to `most` leases that no other page has to this page for `lasts`
 * milliseconds; moves them to the front of leases and returns how many. */
size_t pages_keep(pages *all, const char *page, int64_t now, int64_t lasts,
                  scant_lease *leases, size_t n, size_t most);
/* Leases stay with their pages until then; 0: releases them. */
void pages_renew(pages *all, const uint64_t *keys, size_t n, int64_t until);

/* ---- events ------------------------------------------------------------------------ */

events *events_create(void); /* NULL: no memory */
void events_destroy(events *e);
/* Something has changed: pages are notified soon. Any thread. */
void events_touch(server *s);
/* Called about ten times a second by the thread of serve_run(), with its handle. */
void events_tick(server *s, project_handle *h);
/* All streams end. */
void events_close(server *s);
/* Queues the response of an event stream; false: too many streams, or no memory. */
bool events_begin(server *s, struct MHD_Connection *connection);

/* ---- the worker -------------------------------------------------------------------- */

scant_status worker_open(server *s);
scant_status worker_start(server *s);
void worker_close(server *s); /* ends training at the next step */
void worker_free(server *s);  /* after worker_close(), when no handler is running */
/* New labels or settings: there may be something to do. */
void worker_wake(server *s);
/* Requests a training; false: one is running. */
bool worker_ask(server *s);
/* The state of the worker. */
void worker_write(server *s, scant__json *o, const char *key);

/* ---- statistics of the whole history ------------------------------------------------
 */

statistics *statistics_create(void);
void statistics_destroy(statistics *t);
scant_status statistics_people(statistics *t, project_handle *h, scant__json *o);
scant_status statistics_balance(statistics *t, project_handle *h,
                                const scant_project_info *info, scant__json *o);

/* ---- the server -------------------------------------------------------------------- */

struct server {
    const serve_opts *opts;
    char *message; /* of serve_run(): why it failed */
    size_t message_size;
    char address[300]; /* "http://127.0.0.1:8080/" */
    char host[256];    /* of a Host header: --host, or this machine's name */
    bool any_address;  /* listens at all addresses */
    char cookie[20];   /* its name has the port, as cookies ignore ports */
    unsigned port;
    int socket;
    project_handle front; /* for the thread of serve_run() */
    scant_hold *hold;
    sessions *sessions;
    struct MHD_Daemon *daemon;
    void *clients; /* connections (http.c) */
    request_queue *queues[QUEUE_KINDS];
    events *events;
    worker *worker;
    statistics *statistics;
    pages *pages;
    atomic_bool closing;        /* requests are refused */
    atomic_bool leaving;        /* slow reads are cancelled */
    atomic_size_t open;         /* requests without a reply */
    atomic_size_t wrong_tokens; /* so far */
    char name[256];             /* of the project */
    char dir[4096];             /* of the project, links resolved */
    char key[64];               /* of the project */
    bool pictures;              /* items are images, also those without a path */
};

/* Binds the socket and sets the address, which stays empty on an earlier failure. */
scant_status listen_open(server *s);
scant_status http_open(server *s);
/* The headers that every response has. */
void http_headers(server *s, struct MHD_Response *response, const char *type);
/* A handler has filled in the reply. */
void http_done(request *r);
size_t http_delayed(server *s); /* how many replies are delayed */
/* Called about ten times a second: sends delayed replies, closes slow connections. */
void http_tick(server *s);
/* No new requests; those under way are finished. */
void http_quiesce(server *s);
void http_close(server *s);

/* Sets the message of serve_run() and returns the status. */
scant_status server_fail(server *s, scant_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void server_log(server *s, scant_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int64_t server_now(void); /* milliseconds of the monotonic clock */

#endif
