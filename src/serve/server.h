/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the server share.
 *
 * A request comes in on a thread of microhttpd's, which checks and parses it (http.c),
 * and never waits: what needs the project is put before a desk (desk.c), whose threads
 * have a handle of the project each, and the connection sleeps until it is done. So a
 * long export delays no label, and a page that is open costs no thread. Networks are
 * trained by one more thread (worker.c) at a low priority. What changes is told to open
 * pages (events.c) by the thread that called serve_run() (run.c).
 */
#ifndef SCANT_SERVE_SERVER_H
#define SCANT_SERVE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scant/project.h"
#include "serve/out.h"
#include "serve/request.h"
#include "serve/serve.h"
#include "serve/session.h"

struct MHD_Connection;
struct MHD_Response;
struct MHD_Daemon;

typedef struct server server;
typedef struct request request;
typedef struct route route;
typedef struct desk desk;
typedef struct events events;
typedef struct worker worker;
typedef struct tally tally;
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
    void *line; /* the connection's own state (http.c) */
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
    request *next; /* at a desk, or of those held back */
    int64_t due;   /* of those */
};

/* {"error": text}, by printf. */
void reply_error(request *r, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes what was written; 503 where there was no memory for it. */
void reply_json(request *r, int status, out *o);

/* ---- desks ------------------------------------------------------------------------- */

typedef enum desk_kind {
    DESK_NONE,   /* at once: it takes no time */
    DESK_LABELS, /* what people wait for; one thread */
    DESK_READS,  /* what takes longer */
    DESK_PICTURES,
    DESK_EXPORTS, /* what may take minutes: a network is asked about all items */
    DESK_KINDS
} desk_kind;

/* A thread's own. Also that of the thread of serve_run(). */
typedef struct seat {
    server *server;
    desk *desk;
    scant_ctx *ctx;
    scant_project *project;
    pthread_t thread;
    bool started;
} seat;

scant_status seat_open(seat *s, server *on, desk *of, char *message, size_t size);
void seat_close(seat *s);

scant_status desks_open(server *s, char *message, size_t size);
/* The request is done by a thread of its route's desk, which calls http_done(); false:
 * too many wait. */
bool desk_put(server *s, request *r);
/* What waits is done, then the threads end; nothing more is taken. */
void desks_close(server *s);
void desks_free(server *s); /* after that, and when no more requests can come */

/* ---- routes ------------------------------------------------------------------------ */

enum {
    NEEDS_PERSON = 1, /* somebody who has said a name */
    NEEDS_NOTHING = 2 /* not even the token */
};

struct route {
    const char *method, *path; /* request_path() */
    desk_kind desk;
    unsigned needs;
    size_t body; /* bytes at most; 0: none */
    request_parser *parse;
    void (*handle)(seat *here, request *r);
};

extern const route routes[];
extern const size_t n_routes;
/* The route, or NULL: allow then lists the methods of that path, empty where there is no
 * such path. */
const route *route_find(const char *method, const char *path, size_t *number, char *allow,
                        size_t size);

/* What the library said no with, as a reply; input: the status for SCANT_EINPUT. */
void reply_failed(seat *here, request *r, scant_status status, int input);
/* Sends what was written, or why it was not. */
void reply_out(seat *here, request *r, out *o, scant_status status, int input);
/* Sends bytes of the seat's context, which it frees. */
void reply_bytes(seat *here, request *r, const char *type, void *bytes, size_t size);
/* The library's sentence as it may go to pages: files are told without their folders,
 * which are nobody's business there. */
void public_text(const server *s, const char *text, char *told, size_t size);
/* A setting that is a number; 0: it is not set. */
double number_setting(seat *here, const char *key);
/* {"kind", "label"}, without brackets. */
void write_said(out *o, scant_answer_kind kind, int64_t label);

/* people.c: people, and what they do; items.c: items and pictures; board.c: the rest. */
void handle_session_get(seat *here, request *r);
void handle_session_post(seat *here, request *r);
void handle_leave(seat *here, request *r);
void handle_next(seat *here, request *r);
void handle_alike(seat *here, request *r);
void handle_answers(seat *here, request *r);
void handle_undo(seat *here, request *r);
void handle_renew(seat *here, request *r);
void handle_release(seat *here, request *r);
void handle_class(seat *here, request *r);
void handle_mine(seat *here, request *r);
void handle_item(seat *here, request *r);
void handle_picture(seat *here, request *r);
void handle_prediction(seat *here, request *r);
void handle_why(seat *here, request *r);
void handle_status(seat *here, request *r);
void handle_map(seat *here, request *r);
void handle_train(seat *here, request *r);
void handle_settings(seat *here, request *r);
void handle_export(seat *here, request *r);
void handle_events(seat *here, request *r);
void handle_openapi(seat *here, request *r);
/* A file of the page; false: there is none. */
bool reply_asset(request *r, const char *name);

/* The classes' names, as an array of objects. */
void write_classes(seat *here, out *o);
bool item_exists(seat *here, size_t number);
/* {"item", "id", "text", "picture"} of an item, without the closing bracket. */
scant_status write_item(seat *here, out *o, const char *key, size_t item);

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
/* Called some ten times a second by the thread of serve_run(), whose seat it is. */
void events_tick(server *s, seat *here);
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
void worker_write(server *s, out *o, const char *key);

/* ---- tallies: what is computed from all of the history ------------------------------
 */

tally *tally_create(void);
void tally_destroy(tally *t);
scant_status tally_people(tally *t, seat *here, out *o);
scant_status tally_balance(tally *t, seat *here, const scant_project_info *info, out *o);

/* ---- the server -------------------------------------------------------------------- */

struct server {
    const serve_opts *opts;
    char address[300]; /* "http://127.0.0.1:8080/" */
    char host[256];    /* that was asked for, as in a Host header, or the address */
    bool any_address;  /* it listens at all there are */
    char cookie[20];   /* its name: one a port, as cookies know none */
    unsigned port;
    int socket;
    seat front; /* of the thread of serve_run() */
    scant_hold *hold;
    sessions *sessions;
    struct MHD_Daemon *daemon;
    void *lines; /* connections (http.c) */
    desk *desks[DESK_KINDS];
    events *events;
    worker *worker;
    tally *tally;
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
/* A desk has filled in the reply. */
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
