/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations that the files of the server share.
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
#include "serve/clients.h"
#include "serve/lock.h"
#include "serve/request.h"
#include "serve/serve.h"
#include "serve/session.h"

struct MHD_Connection;
struct MHD_Response;
struct MHD_Daemon;

DEFINE_AUTO(scant_array, scant_array)

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
    const char *type; /* static string; NULL: JSON */
    void *bytes;      /* malloc()ed */
    size_t size;
    const void *fixed;                            /* static content, instead of bytes */
    char etag[24];                                /* empty: none */
    const char *cache;                            /* Cache-Control; NULL: no-store */
    char allow[40], disposition[80], cookie[160]; /* headers; empty: none */
    int retry;                                    /* Retry-After in seconds; 0: none */
    bool stream;                                  /* an event stream, instead of bytes */
    bool close;                                   /* close the connection */
} reply;

struct request {
    server *server;
    struct MHD_Connection *connection;
    client *client;
    const route *route;
    session session; /* at the time of the request */
    bool has_session;
    char *body; /* the first `size` bytes, received so far */
    size_t size, room;
    size_t dropped; /* number of bytes of a refused body */
    request_args args;
    reply reply;
    bool replied;  /* `reply` is set */
    bool decodes;  /* for an image that must be decoded: moved to QUEUE_DECODES */
    bool counted;  /* counted in server.open */
    size_t held;   /* counted in server.held */
    request *next; /* next in a queue */
};

/* Replies {"error": text}; the arguments are those of printf(). Returns SCANT_OK, because
 * the request now has a reply. */
scant_status reply_error(request *r, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Replies with o and takes ownership of it; with 503 if it ran out of memory. */
void reply_json(request *r, int status, scant__json *o);

/* ---- request queues ---------------------------------------------------------------- */

typedef enum queue_kind {
    QUEUE_NONE,    /* handled at once, on the connection's thread */
    QUEUE_LABELS,  /* fast requests, such as answers; one thread */
    QUEUE_READS,   /* slower requests */
    QUEUE_IMAGES,  /* from cache/; others move to the next queue */
    QUEUE_DECODES, /* images to decode, which may take seconds each */
    QUEUE_EXPORTS, /* may take minutes: all items are predicted */
    QUEUE_KINDS
} queue_kind;

/* A project handle for one thread. */
typedef struct project_handle {
    server *server;
    request_queue *queue;
    scant_ctx *ctx;
    scant_project *project;
    bool cancels; /* its calls are cancelled when the server ends */
    pthread_t thread;
    bool started;
} project_handle;

/* Opens the project. The handle is the user pointer of its context. */
scant_status project_handle_open(project_handle *h, server *s, scant_ctx_opts opts);
scant_status project_handle_start(project_handle *h, void *(*work)(void *handle));
void project_handle_close(project_handle *h); /* after its thread has ended */

scant_status queues_open(server *s);
/* Queues the request: a thread of its route's queue processes it and calls http_done().
 * False: the queue is full or closed. */
bool queue_put(server *s, request *r);
/* Accepts no more requests, handles the waiting ones and ends the threads. */
void queues_close(server *s);
void queues_free(server *s); /* after queues_close() and http_close() */

/* ---- routes ------------------------------------------------------------------------ */

enum { SERVER_LINES = 8 };

enum {
    NEEDS_PERSON = 1,  /* requires a session with a name */
    NEEDS_NOTHING = 2, /* requires no token */
    ITEM_404 = 4,      /* is about one item: 404 if it is missing (reply.c) */
    VALUE_422 = 8      /* has values: 422 if they are wrong (reply.c) */
};

/* Writes the members of the reply, an object; its status is 200 unless r->reply.status is
 * set. A handler may also reply itself, and then writes nothing. */
typedef scant_status route_handler(project_handle *h, request *r, scant__json *o);

struct route {
    const char *method, *path; /* path: a pattern of request_path() */
    queue_kind queue;
    unsigned flags;
    size_t body; /* maximum bytes of the body; 0: no body */
    request_parser *parse;
    route_handler *handler;
};

extern const route routes[];
extern const size_t n_routes;
/* Finds a route. NULL: there is none; allow lists the methods of the path, empty if the
 * path is unknown. */
const route *route_find(const char *method, const char *path, size_t *number, char *allow,
                        size_t size);

/* Calls the route's handler and replies. The HTTP status of an error of the library
 * follows from its status and the route's flags. */
void reply_to(project_handle *h, request *r);
/* Replies with bytes allocated by the handle's context, and frees them. */
void reply_bytes(project_handle *h, request *r, const char *type, void *bytes,
                 size_t size);
/* Copies a message of the library for pages, without the folders in paths: they are
 * private. */
void public_text(const server *s, const char *text, char *out, size_t size);
/* Returns a setting as a number; 0 if unset. */
double number_setting(project_handle *h, const char *key);
scant__member model_member(size_t model); /* "model", null if 0 */

/* The handlers: api_session.c, api_labels.c, api_items.c, api_dashboard.c. */
route_handler api_session_get, api_session_post, api_leave, api_next, api_alike,
    api_answers, api_undo, api_renew, api_release, api_class, api_mine, api_item,
    api_image, api_prediction, api_why, api_status, api_map, api_train, api_settings,
    api_export, api_events, api_openapi;
/* Replies with a file of the web page. False: there is no such file. */
bool reply_asset(request *r, const char *name);

/* Writes the member "classes". */
void write_classes(project_handle *h, scant__json *o);
/* Writes the members "item", "id", "text" and "picture". */
void write_item(project_handle *h, scant__json *o, const scant_item *item);

/* ---- page leases ------------------------------------------------------------------- */

pages *pages_create(void); /* NULL: no memory */
void pages_destroy(pages *all);
/* Assigns leases to this page for `lasts` milliseconds: up to `most` that no other page
 * has. Moves them to the front of leases and returns how many. */
size_t pages_keep(pages *all, const char *page, int64_t now, int64_t lasts,
                  scant_lease *leases, size_t n, size_t most);
/* Leases stay with their pages until `until`; 0: releases them. */
void pages_renew(pages *all, const uint64_t *keys, size_t n, int64_t until);

/* ---- events ------------------------------------------------------------------------ */

events *events_create(void); /* NULL: no memory */
void events_destroy(events *e);
/* Notes a change; events_tick() notifies pages. Any thread may call it. */
void events_touch(server *s);
/* Called about twenty times a second by the thread of serve_run(), with its handle. */
void events_tick(server *s, project_handle *h);
/* Ends all streams. */
void events_close(server *s);
/* Queues the response of an event stream; false: too many streams, or no memory. */
bool events_begin(server *s, struct MHD_Connection *connection);

/* ---- the worker -------------------------------------------------------------------- */

scant_status worker_open(server *s);
scant_status worker_start(server *s);
void worker_close(server *s); /* ends training at the next step */
void worker_free(server *s);  /* after worker_close(), when no handler is running */
/* Makes the worker check for work, after new labels or settings. */
void worker_wake(server *s);
/* Requests a training; false: one is running. */
bool worker_request(server *s);
/* Writes the state of the worker. */
void worker_write(server *s, scant__json *o, const char *key);

/* ---- statistics of the whole history ----------------------------------------------- */

statistics *statistics_create(void);
void statistics_destroy(statistics *t);
scant_status statistics_people(statistics *t, project_handle *h, scant__json *o);
scant_status statistics_pairs(statistics *t, project_handle *h,
                              const scant_project_info *info, scant__json *o);
scant_status statistics_balance(statistics *t, project_handle *h,
                                const scant_project_info *info, scant__json *o);

/* ---- the server -------------------------------------------------------------------- */

struct server {
    const serve_opts *opts;
    pthread_mutex_t log_lock;
    struct {
        uint64_t hash;
        int64_t at;
    } logged[SERVER_LINES]; /* the last texts of server_log() and their times */
    char *message;          /* error message of serve_run() */
    size_t message_size;
    char address[300]; /* "http://127.0.0.1:8080/" */
    char host[256];    /* expected in Host headers: --host, or this machine's name */
    bool any_address;  /* listens at all addresses */
    char cookie[20];   /* cookie name, with the port, as cookies ignore ports */
    unsigned port;
    int socket;
    project_handle main; /* for the thread of serve_run() */
    scant_hold *hold;
    sessions *sessions;
    struct MHD_Daemon *daemon;
    clients *clients;
    request_queue *queues[QUEUE_KINDS];
    events *events;
    worker *worker;
    statistics *statistics;
    pages *pages;
    atomic_bool closing;        /* requests are refused */
    atomic_bool cancelling;     /* calls that can be cancelled are cancelled */
    atomic_size_t open;         /* requests whose reply is not yet sent */
    atomic_size_t held;         /* bytes of bodies and replies */
    atomic_size_t wrong_tokens; /* number of wrong tokens so far */
    char name[256];             /* name of the project */
    char dir[4096];             /* folder of the project, links resolved */
    char key[64];               /* key of the project */
    bool images;                /* items are images, also those without a path */
};

/* Sets the address and listens. The address stays empty if host or token is invalid. */
scant_status listen_open(server *s);
scant_status http_open(server *s);
/* Adds the headers that every response has. */
void http_headers(server *s, struct MHD_Response *response, const char *type);
/* Sends the reply that a handler has filled in. */
void http_done(request *r);
/* Refuses new connections and requests; open requests are finished. */
void http_quiesce(server *s);
void http_close(server *s);

/* Sets the message of serve_run() and returns the status. */
scant_status server_fail(server *s, scant_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Repeats a text at most once a minute. level: scant_log_level or SERVE_LOG_ERROR. */
void server_log(server *s, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int64_t server_now(void); /* milliseconds of a monotonic clock */

#endif
