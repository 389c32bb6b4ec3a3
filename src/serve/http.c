/* SPDX-License-Identifier: Apache-2.0
 *
 * Between microhttpd and the handlers: checks and parses a request, queues it for a
 * handler thread, and sends the reply with the headers that every reply has.
 *
 * A refused request is first read to its end, up to DROPPED bytes, because a client that
 * is still sending would not see the reply. Bodies have a size limit, and requests have a
 * time limit (clients.c). Bodies and the parsed JSON are freed before a request waits for
 * a thread. The bytes of all bodies and replies have a limit, too: beyond it large ones
 * are refused with 503, and small ones are few enough.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/server.h"

enum {
    THREADS = 2,                                 /* they never block */
    CONNECTIONS = THREADS * (CLIENTS_MOST + 64), /* never reached: see clients.c */
    SILENCE = 30,                                /* timeout in seconds without a byte */
    HEADERS = 32 * 1024,   /* maximum bytes of a request's headers */
    PATH = 1024,           /* maximum bytes of a path */
    DROPPED = 1024 * 1024, /* maximum bytes read of a refused body; then the connection is
                            * closed */
    HELD = 256 * 1024 * 1024, /* maximum bytes of all bodies and replies */
    SMALL = 64 * 1024,        /* bytes of a reply that is never refused */
};

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/* ---- replies ----------------------------------------------------------------------- */

void reply_json(request *r, int status, scant__json *o) {
    r->reply.status = status;
    r->reply.type = NULL;
    free(r->reply.bytes);
    r->reply.bytes = o->text.data, r->reply.size = o->text.size;
    r->replied = true;
    if (!o->text.failed) return;
    /* this reply needs no memory */
    static const char text[] = "{\"error\":\"out of memory\"}";
    free(o->text.data);
    r->reply = (reply){.status = 503, .fixed = text, .size = sizeof text - 1, .retry = 1};
}

scant_status reply_error(request *r, int status, const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    scant__json o = {0};
    JSON_OBJECT(&o, NULL, MEMBER("error", text));
    reply_json(r, status, &o);
    if (status == 503 || status == 429) r->reply.retry = 1;
    return SCANT_OK;
}

static void header(struct MHD_Response *response, const char *name, const char *value) {
    if (value && *value) MHD_add_response_header(response, name, value);
}

void http_headers(server *s, struct MHD_Response *response, const char *type) {
    header(response, "Content-Type", type);
    header(response, "Content-Security-Policy", policy);
    header(response, "X-Content-Type-Options", "nosniff");
    header(response, "X-Frame-Options", "DENY");
    header(response, "Referrer-Policy", "no-referrer");
    header(response, "Cross-Origin-Resource-Policy", "same-origin");
    header(response, "Cross-Origin-Opener-Policy", "same-origin");
    if (atomic_load(&s->closing)) header(response, "Connection", "close");
}

static void add_headers(struct MHD_Response *response, const request *r) {
    const reply *p = &r->reply;
    http_headers(r->server, response, p->type ? p->type : "application/json");
    header(response, "Cache-Control", p->cache ? p->cache : "no-store");
    header(response, "ETag", p->etag);
    header(response, "Allow", p->allow);
    header(response, "Content-Disposition", p->disposition);
    header(response, "Set-Cookie", p->cookie);
    char seconds[12] = "";
    if (p->retry) snprintf(seconds, sizeof seconds, "%d", p->retry);
    header(response, "Retry-After", seconds);
    if (p->close) header(response, "Connection", "close");
}

/* Counts bytes that the request needs until it is completed. False: too many are held. */
static bool hold(request *r, size_t bytes) {
    size_t before = atomic_fetch_add(&r->server->held, bytes);
    r->held += bytes;
    if (before < HELD) return true;
    atomic_fetch_sub(&r->server->held, bytes);
    r->held -= bytes;
    return false;
}

static void drop_body(request *r) {
    free(r->body);
    atomic_fetch_sub(&r->server->held, r->room);
    r->held -= r->room;
    r->body = NULL;
    r->size = r->room = 0;
}

static enum MHD_Result send_reply(request *r) {
    reply *p = &r->reply;
    drop_body(r);
    if (p->bytes && p->size > SMALL && !hold(r, p->size)) {
        *p->disposition = '\0', p->cache = NULL;
        reply_error(r, 503, "too many replies wait for slow clients");
    }
    client_set(r->server->clients, r->client, p->stream ? CLIENT_HANDLED : CLIENT_SENDING,
               server_now());
    if (p->stream && events_begin(r->server, r->connection)) return MHD_YES;
    if (p->stream) {
        p->stream = false;
        reply_error(r, 503, "too many pages are open for events");
    }
    const char *seen = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_IF_NONE_MATCH);
    if (*p->etag && seen && p->status == 200 && strcmp(seen, p->etag) == 0)
        p->status = 304, p->size = 0;
    union { /* microhttpd does not write to it, but takes a void * */
        const void *in;
        void *out;
    } fixed = {p->fixed};
    struct MHD_Response *response =
        p->fixed
            ? MHD_create_response_from_buffer(p->size, fixed.out, MHD_RESPMEM_PERSISTENT)
            : MHD_create_response_from_buffer(p->size, p->bytes, MHD_RESPMEM_MUST_FREE);
    if (!response) return MHD_NO; /* bytes are freed with the request in this case */
    p->bytes = NULL;              /* owned by the response */
    add_headers(response, r);
    enum MHD_Result queued =
        MHD_queue_response(r->connection, (unsigned)p->status, response);
    MHD_destroy_response(response);
    return queued;
}

/* ---- checks ------------------------------------------------------------------------ */

static const char *header_of(const request *r, const char *name) {
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

static bool numeric(const char *host) {
    return strchr(host, ':') || strspn(host, "0123456789.") == strlen(host);
}

/* Prevents DNS rebinding: if another site's name resolves to this server, that name is in
 * Host. Numeric addresses are safe. */
static bool host_is_ours(const server *s, const char *given) {
    char host[256];
    if (!request_host(given, host, sizeof host)) return false;
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
           strcmp(host, "::1") == 0 || strcasecmp(host, s->host) == 0 ||
           (s->any_address && numeric(host));
}

static bool origin_is_ours(const request *r) {
    const char *origin = header_of(r, "Origin"), *host = header_of(r, "Host");
    if (!origin) return true;
    return strncmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

/* Browsers say in Sec-Fetch-Site whether a page of this or of another site has made the
 * request. Other programs do not send this header. */
static bool site_is_ours(const request *r) {
    const char *site = header_of(r, "Sec-Fetch-Site");
    return !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

static bool is_json(const char *type) {
    static const char json[] = "application/json";
    size_t n = sizeof json - 1;
    return type && strncasecmp(type, json, n) == 0 &&
           (!type[n] || type[n] == ';' || type[n] == ' ');
}

/* Checks the headers of a request with a body. X-Scant-Project names the project of the
 * page: if another project is now served at the same address, a page must not send its
 * stored answers there. */
static void check_post(request *r) {
    const char *project = header_of(r, "X-Scant-Project");
    const char *csrf = header_of(r, "X-Scant"), *size = header_of(r, "Content-Length");
    if (!is_json(header_of(r, "Content-Type")))
        reply_error(r, 415, "the body must be application/json");
    else if (size && strtoull(size, NULL, 10) > r->route->body)
        reply_error(r, 413, "the body is larger than %zu bytes", r->route->body);
    else if (project && strcmp(project, r->server->key) != 0)
        reply_error(r, 412, "this server now serves another project: reload the page");
    else if (!r->has_session)
        reply_error(r, 401, "there is no session: call GET /api/session first");
    else if (!csrf || !session_same(csrf, r->session.csrf))
        reply_error(r, 403,
                    "the header X-Scant must contain the csrf of GET /api/session");
}

static scant_status refuse_method(request *r, const char *method, const char *allow) {
    snprintf(r->reply.allow, sizeof r->reply.allow, "%s", allow);
    return reply_error(r, 405, "%.20s is not allowed for this path: %s", method, allow);
}

static scant_status check_api(request *r, const char *method, const char *path) {
    server *s = r->server;
    char allow[sizeof r->reply.allow];
    r->route = route_find(method, path, &r->args.number, allow, sizeof allow);
    if (!r->route && *allow) return refuse_method(r, method, allow);
    if (!r->route) return reply_error(r, 404, "there is no such path");
    if (!site_is_ours(r) || !origin_is_ours(r))
        return reply_error(r, 403, "requests from pages of other sites are refused");
    const char *id =
        MHD_lookup_connection_value(r->connection, MHD_COOKIE_KIND, s->cookie);
    r->has_session = session_find(s->sessions, id, server_now(), &r->session);
    if (s->opts->token && !(r->route->flags & NEEDS_NOTHING) &&
        !(r->has_session && r->session.trusted))
        return reply_error(r, 401, "a token is needed: POST /api/session");
    if (r->route->body) check_post(r);
    if (!r->replied && r->route->flags & NEEDS_PERSON &&
        !(r->has_session && r->session.known))
        reply_error(r, 401, "a name is needed: POST /api/session");
    if (!r->replied && (!s->opts->token || (r->has_session && r->session.known)))
        client_known(s->clients, r->client, server_now());
    return SCANT_OK;
}

static void check_page(request *r, const char *method, const char *path) {
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        refuse_method(r, method, "GET, HEAD");
    else if (!reply_asset(r, path[1] ? path + 1 : "index.html"))
        reply_error(r, 404, "there is no such path");
}

/* What another program on the way may read differently: two lengths, for example, hide a
 * second request in the body of the first. */
typedef struct framing {
    size_t hosts, lengths, encodings;
    bool hidden; /* the header Host goes on after a zero byte */
} framing;

/* Up to 0.9.75, microhttpd ends a value at a zero byte and does not say how long it was.
 * It parses headers in place and overwrites the CR LF at the end of a line by two zero
 * bytes. So if the byte after the first zero is not zero, there was more, or the line
 * ends in LF alone. Later versions refuse zero bytes themselves. */
static bool goes_on(const char *name, const char *value) {
    static const char first[] = "0.9.";
    const char *version = MHD_get_version();
    if (strncmp(version, first, sizeof first - 1) != 0 ||
        strtoul(version + sizeof first - 1, NULL, 10) > 75)
        return false;
    size_t between = strlen(name) + 1, n = strlen(value); /* ":" and blanks */
    bool in_place = value > name && (size_t)(value - name) >= between &&
                    (size_t)(value - name) < HEADERS;
    return in_place && value[n + 1];
}

static enum MHD_Result count_header(void *user, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    framing *f = user;
    bool host = strcasecmp(name, "Host") == 0;
    (void)kind;
    f->hosts += host;
    f->hidden = f->hidden || (host && value && goes_on(name, value));
    f->lengths += strcasecmp(name, "Content-Length") == 0;
    f->encodings += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* Refuses an ambiguous request, and closes its connection: where the next one begins is
 * unknown. */
static void check_framing(request *r) {
    framing f = {0};
    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, count_header, &f);
    if (f.hidden)
        reply_error(r, 400, "the header Host must be a line without zero bytes");
    else if (f.hosts > 1)
        reply_error(r, 400, "there are %zu headers Host", f.hosts);
    else if (f.lengths + f.encodings > 1)
        reply_error(r, 400,
                    "there must be one Content-Length or one Transfer-Encoding, not %zu",
                    f.lengths + f.encodings);
    r->reply.close = r->replied;
}

/* Checks the headers. Replies if they are refused, or if a file of the page is wanted. */
static void check(request *r, const char *method, const char *path) {
    const char *host = header_of(r, "Host");
    check_framing(r);
    if (r->replied) return;
    if (atomic_load(&r->server->closing))
        reply_error(r, 503, "the server is shutting down");
    else if (!host)
        reply_error(r, 400, "the header Host is missing");
    else if (!host_is_ours(r->server, host))
        reply_error(r, 421, "this server is not '%.100s': it serves %s", host,
                    r->server->address);
    else if (strlen(path) > PATH)
        reply_error(r, 414, "the path is longer than %d bytes", PATH);
    else if (strncmp(path, "/api/", 5) == 0)
        check_api(r, method, path);
    else
        check_page(r, method, path);
}

/* ---- requests --------------------------------------------------------------------- */

static enum MHD_Result begin(server *s, struct MHD_Connection *connection,
                             const char *method, const char *path, void **state) {
    request *r = calloc(1, sizeof *r);
    if (!r) return MHD_NO;
    r->server = s, r->connection = connection;
    *state = r;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    r->client = info ? info->socket_context : NULL;
    client_set(s->clients, r->client, CLIENT_ARRIVING, server_now());
    check(r, method, path);
    const char *size = header_of(r, "Content-Length");
    bool large = size && strtoull(size, NULL, 10) > DROPPED;
    return r->replied && (large || r->reply.close) ? send_reply(r) : MHD_YES;
}

/* Stores a part of the body, or replies with an error. False: close the connection. */
static bool take(request *r, const char *bytes, size_t count) {
    size_t most = r->replied || !r->route ? 0 : r->route->body;
    if (r->size + count <= most && r->size + count > r->room) {
        size_t room = r->room ? 2 * r->room : 4096;
        while (room < r->size + count) room *= 2;
        char *body = hold(r, room - r->room) ? realloc(r->body, room) : NULL;
        if (body)
            r->body = body, r->room = room;
        else
            reply_error(r, 503, "out of memory");
    } else if (!r->replied && r->size + count > most) {
        reply_error(r, 413, "the body is larger than %zu bytes", most);
    }
    if (r->replied) {
        drop_body(r);
        r->dropped += count;
        return r->dropped <= DROPPED;
    }
    memcpy(r->body + r->size, bytes, count);
    r->size += count;
    return true;
}

static const char *query_value(void *user, const char *name) {
    return MHD_lookup_connection_value(user, MHD_GET_ARGUMENT_KIND, name);
}

/* Handles a complete request. */
static enum MHD_Result complete(request *r) {
    request_in in = {r->body, r->size, query_value, r->connection};
    request_why why;
    if (!r->replied) {
        int refused = request_parse(r->route->parse, &in, &r->args, &why);
        if (refused) reply_error(r, refused, "%s", why.text);
        drop_body(r);
    }
    if (!r->counted) atomic_fetch_add(&r->server->open, 1);
    r->counted = true;
    if (r->replied) return send_reply(r);
    if (r->route->queue == QUEUE_NONE) {
        reply_to(NULL, r);
        return send_reply(r);
    }
    client_set(r->server->clients, r->client, CLIENT_HANDLED, server_now());
    MHD_suspend_connection(
        r->connection); /* before queueing: the handler may finish at once */
    if (!queue_put(r->server, r)) {
        reply_error(r, 503, "the server is overloaded");
        http_done(r);
    }
    return MHD_YES;
}

/* %00 must not end a path early. */
static size_t unescape(void *user, struct MHD_Connection *connection, char *text) {
    size_t size = MHD_http_unescape(text);
    (void)user, (void)connection;
    for (size_t i = 0; i < size; i++)
        if (!text[i]) text[i] = '\x01';
    return size;
}

static enum MHD_Result access_handler(void *user, struct MHD_Connection *connection,
                                      const char *path, const char *method,
                                      const char *version, const char *bytes,
                                      size_t *count, void **state) {
    request *r = *state;
    (void)version;
    if (!r) return begin(user, connection, method, path, state);
    if (*count) {
        bool going_on = take(r, bytes, *count);
        *count = 0;
        return going_on ? MHD_YES : MHD_NO;
    }
    return complete(r); /* also called when a handler has set the reply */
}

static void completed(void *user, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code) {
    request *r = *state;
    (void)user, (void)connection, (void)code;
    if (!r) return;
    client_set(r->server->clients, r->client, CLIENT_ARRIVING, server_now());
    if (r->counted) atomic_fetch_sub(&r->server->open, 1);
    request_args_end(&r->args);
    drop_body(r);
    atomic_fetch_sub(&r->server->held, r->held);
    free(r->reply.bytes);
    free(r);
    *state = NULL;
}

void http_done(request *r) { MHD_resume_connection(r->connection); }

/* ---- connections ------------------------------------------------------------------- */

static enum MHD_Result admit(void *user, const struct sockaddr *from, socklen_t size) {
    (void)size;
    return clients_admit(user, client_address_of(from), server_now()) ? MHD_YES : MHD_NO;
}

static void begin_client(clients *all, struct MHD_Connection *connection,
                         void **context) {
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!fd) return;
    *context =
        client_begin(all, fd->connect_fd,
                     client_address_of(from ? from->client_addr : NULL), server_now());
}

static void connection_changed(void *user, struct MHD_Connection *connection,
                               void **context, enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        begin_client(user, connection, context);
    else if (*context)
        client_end(user, *context);
}

scant_status http_open(server *s) {
    clients *all = s->clients = clients_create();
    if (!all) return server_fail(s, SCANT_ENOMEM, "out of memory");
    /* MHD_USE_POLL, because with epoll microhttpd 0.9.75 does not notice if a client goes
     * away in the middle of a request, and keeps the connection until it times out. */
    s->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_ALLOW_SUSPEND_RESUME, 0,
        admit, all, access_handler, s, MHD_OPTION_LISTEN_SOCKET, s->socket,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS, MHD_OPTION_STRICT_FOR_CLIENT,
        1, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_UNESCAPE_CALLBACK,
        unescape, NULL, MHD_OPTION_NOTIFY_CONNECTION, connection_changed, all,
        MHD_OPTION_END);
    if (s->daemon) {
        s->socket = -1; /* owned by the daemon */
        return SCANT_OK;
    }
    return server_fail(s, SCANT_EINTERNAL, "cannot start the server: %s",
                       strerror(errno));
}

void http_quiesce(server *s) {
    atomic_store(&s->closing, true);
    if (!s->daemon) return;
    int listening = MHD_quiesce_daemon(s->daemon);
    if (listening >= 0) close(listening);
}

void http_close(server *s) {
    if (s->daemon) MHD_stop_daemon(s->daemon);
    clients_destroy(s->clients);
}
