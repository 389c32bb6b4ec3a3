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
    const void *lasting;                          /* instead of bytes: static */
    char mark[24];                                /* an ETag; empty: none */
    const char *cache;                            /* Cache-Control; NULL: no-store */
    char allow[40], disposition[80], cookie[160]; /* headers; empty: none */
    bool retry;                                   /* Retry-After: 1 */
    bool stream;                                  /* of events, instead of all that */
    int64_t wait;                                 /* milliseconds to hold it back */
} reply;

struct request {
    server *server;
    struct MHD_Connection *connection;
    void *client; /* the connection's own state (http.c) */
    const route *route;
    session session; /* as it was when the request came */
    bool has_session;
    char *body; /* of size bytes, as far as it came */
    size_t size, room;
    size_t dropped; /* bytes that nobody wanted */
    request_args args;
    reply reply;
    bool replied;  /* there is one */
    bool counted;  /* among those under way: all of it has come */
    request *next; /* in a queue, or in the list of delayed replies */
    int64_t due;   /* of those */
};

/* {"error": text}, by printf. */
void reply_error(request *r, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes what was written; 503 where there was no memory for it. */
void reply_json(request *r, int status, scant__json *o);

/* ---- request queues ---------------------------------------------------------------- */

typedef enum queue_kind {
    QUEUE_NONE,   /* at once: it takes no time */
    QUEUE_LABELS, /* what people wait for; one thread */
    QUEUE_READS,  /* what takes longer */
    QUEUE_PICTURES,
    QUEUE_EXPORTS, /* what may take minutes: a network is asked about all items */
    QUEUE_KINDS
} queue_kind;

/* A thread's own. Also that of the thread of serve_run(). */
typedef struct project_handle {
    server *server;
    request_queue *queue;
    scant_ctx *ctx;
    scant_project *project;
    pthread_t thread;
    bool started;
} project_handle;

scant_status project_handle_open(project_handle *s, server *on, request_queue *of,
                                 char *message, size_t size);
void project_handle_close(project_handle *s);

scant_status queues_open(server *s, char *message, size_t size);
/* A thread of the route's queue processes the request and calls http_done(). False: the
 * queue is full. */
bool queue_put(server *s, request *r);
/* What waits is done, then the threads end; nothing more is taken. */
void queues_close(server *s);
void queues_free(server *s); /* after that, and when no more requests can come */

/* ---- routes ------------------------------------------------------------------------ */

enum {
    NEEDS_PERSON = 1, /* somebody who has said a name */
    NEEDS_NOTHING = 2 /* not even the token */
};

struct route {
    const char *method, *path; /* request_path() */
    queue_kind queue;
    unsigned needs;
    size_t body; /* bytes at most; 0: none */
    request_parser *parse;
    void (*handler)(project_handle *h, request *r);
};

extern const route routes[];
extern const size_t n_routes;
/* The route, or NULL: allow then lists the methods of that path, empty where there is no
 * such path. */
const route *route_find(const char *method, const char *path, size_t *number, char *allow,
                        size_t size);

/* What the library said no with, as a reply; input: the status for SCANT_EINPUT. */
void reply_failed(project_handle *h, request *r, scant_status status, int input);
/* Sends what was written, or why it was not. */
void reply_out(project_handle *h, request *r, scant__json *o, scant_status status,
               int input);
/* Sends bytes that were allocated in the handle's context, and frees them. */
void reply_bytes(project_handle *h, request *r, const char *type, void *bytes,
                 size_t size);
/* The library's sentence as it may go to pages: files are told without their folders,
 * which are nobody's business there. */
void public_text(const server *s, const char *text, char *told, size_t size);
/* A setting that is a number; 0: it is not set. */
double number_setting(project_handle *h, const char *key);
/* {"kind", "label"}, without brackets. */
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
/* A file of the page; false: there is none. */
bool reply_asset(request *r, const char *name);

/* The classes' names, as an array of objects. */
void write_classes(project_handle *h, scant__json *o);
/* {"item", "id", "text", "picture"} of an item, without the closing bracket. */
scant_status write_item(project_handle *h, scant__json *o, const char *key, size_t item);

/* ---- pages: a person's tabs ----------------------------------------------------------
 */

pages *pages_create(void); /* NULL: no memory */
void pages_destroy(pages *all);
/* Leaves of a person's leases those that no other live page was given, at most so many,
 * and gives them to this one for `lasts` milliseconds; how many. */
size_t pages_keep(pages *all, const char *page, int64_t now, int64_t lasts,
                  scant_lease *leases, size_t n, size_t most);
/* They are their pages' until then; 0: nobody's. */
void pages_renew(pages *all, const uint64_t *keys, size_t n, int64_t until);

/* ---- events ------------------------------------------------------------------------ */

events *events_create(void); /* NULL: no memory */
void events_destroy(events *e);
/* Something has changed: pages are told soon. Any thread. */
void events_touch(server *s);
/* Called about ten times a second by the thread of serve_run(), with its handle. */
void events_tick(server *s, project_handle *h);
/* All streams end. */
void events_close(server *s);
/* Queues the response that goes on and on; false: too many are open, or no memory. */
bool events_begin(server *s, struct MHD_Connection *connection);

/* ---- the worker -------------------------------------------------------------------- */

scant_status worker_open(server *s, char *message, size_t size);
scant_status worker_start(server *s, char *message, size_t size);
void worker_close(server *s); /* ends training at the next step */
void worker_free(server *s);  /* after that, and when nobody asks for it any more */
/* Labels came, or settings changed: there may be something to do. */
void worker_wake(server *s);
/* Asks it to train; false: it is at it. */
bool worker_ask(server *s);
/* WORKER of the interface. */
void worker_write(server *s, scant__json *o, const char *key);

/* ---- tallies: what is computed from all of the history ------------------------------
 */

statistics *statistics_create(void);
void statistics_destroy(statistics *t);
scant_status statistics_people(statistics *t, project_handle *h, scant__json *o);
scant_status statistics_balance(statistics *t, project_handle *h,
                                const scant_project_info *info, scant__json *o);

/* ---- the server -------------------------------------------------------------------- */

struct server {
    const serve_opts *opts;
    char address[300]; /* "http://127.0.0.1:8080/" */
    char host[256];    /* that was asked for, as in a Host header, or the address */
    bool any_address;  /* it listens at all there are */
    char cookie[20];   /* its name: one a port, as cookies know none */
    unsigned port;
    int socket;
    project_handle front; /* of the thread of serve_run() */
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
    atomic_bool leaving;        /* reads that take long end */
    atomic_size_t open;         /* requests that have come and are not answered */
    atomic_size_t wrong_tokens; /* so far */
    char name[256];             /* of the project */
    char dir[4096];             /* likewise, without links */
    char key[64];               /* likewise: which one it is */
    bool pictures; /* are its items, also those without a path of their own */
};

/* Binds the socket and names the server; what fails before its address is known leaves
 * that empty. */
scant_status listen_open(server *s, char *message, size_t size);
scant_status http_open(server *s, char *message, size_t size);
/* The headers that every response has. */
void http_headers(server *s, struct MHD_Response *response, const char *type);
/* A handler has filled in the reply. */
void http_done(request *r);
size_t http_held(server *s); /* how many replies are held back */
/* Some ten times a second: what was held back, connections that take too long. */
void http_tick(server *s);
/* No new requests; those under way are finished. */
void http_quiesce(server *s);
void http_close(server *s);

void server_log(server *s, scant_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int64_t server_now(void); /* milliseconds on a clock that only goes forward */

#endif
