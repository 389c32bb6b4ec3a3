/* SPDX-License-Identifier: Apache-2.0
 *
 * Resolves, checks and binds the address to listen at.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/server.h"

enum { SHORTEST_TOKEN = 16, BACKLOG = 128 };

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

static bool is_loopback(const address *a) {
    if (a->any.sa_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
    return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
}

static bool is_any(const address *a) {
    if (a->any.sa_family == AF_INET6) return IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr);
    return a->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

static socklen_t size_of(const address *a) {
    return a->any.sa_family == AF_INET6 ? sizeof a->v6 : sizeof a->v4;
}

static scant_status look_up(server *s, const char *host, unsigned port, address *to) {
    char service[12];
    struct addrinfo *found = NULL,
                    hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    snprintf(service, sizeof service, "%u", port);
    int wrong = getaddrinfo(host, service, &hints, &found);
    if (wrong)
        return server_fail(s, SCANT_EUSAGE, "--host %s: %s", host, gai_strerror(wrong));
    bool fits = found->ai_addrlen <= sizeof *to;
    if (fits) memcpy(to, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return fits ? SCANT_OK
                : server_fail(s, SCANT_EUSAGE, "--host %s: no such address", host);
}

static scant_status check_token(server *s, const char *host, bool loopback) {
    const serve_opts *o = s->opts;
    if (!o->token && !loopback)
        return server_fail(
            s, SCANT_EUSAGE,
            "--host %s can be reached from other machines: give --token, a "
            "password of %d characters or more",
            host, SHORTEST_TOKEN);
    if (o->token && strlen(o->token) < SHORTEST_TOKEN)
        return server_fail(s, SCANT_EUSAGE,
                           "the token is too short: it must have %d characters or more",
                           SHORTEST_TOKEN);
    if (o->token && strlen(o->token) > REQUEST_MOST_TOKEN)
        return server_fail(s, SCANT_EUSAGE,
                           "the token is too long: it must have %d characters or fewer",
                           REQUEST_MOST_TOKEN);
    return SCANT_OK;
}

/* Sets the address to show, the host for Host headers, and the cookie's name. */
static void name(server *s, const char *host, const address *a) {
    s->port = ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
    snprintf(s->host, sizeof s->host, "%s", host);
    const char *shown = s->host;
    if (s->any_address) { /* a browser cannot open "0.0.0.0" */
        char own[sizeof s->host] = "";
        if (gethostname(own, sizeof own - 1) == 0 && *own)
            snprintf(s->host, sizeof s->host, "%s", own);
    }
    bool colons = strchr(shown, ':') != NULL;
    snprintf(s->address, sizeof s->address, "http://%s%s%s:%u/", colons ? "[" : "", shown,
             colons ? "]" : "", s->port);
    snprintf(s->cookie, sizeof s->cookie, "scant-%u", s->port);
}

scant_status listen_open(server *s) {
    const serve_opts *o = s->opts;
    const char *host = o->host ? o->host : "127.0.0.1";
    address a = {0};
    if (strlen(host) > 250)
        return server_fail(s, SCANT_EUSAGE, "--host: no such address");
    TRY(look_up(s, host, o->port, &a));
    TRY(check_token(s, host, is_loopback(&a)));
    s->any_address = is_any(&a);
    name(s, host, &a);
    s->socket = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int yes = 1; /* allows the port of a server that has just ended */
    if (s->socket >= 0) setsockopt(s->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    socklen_t length = size_of(&a);
    if (s->socket < 0 || bind(s->socket, &a.any, length) != 0 ||
        listen(s->socket, BACKLOG) != 0 || getsockname(s->socket, &a.any, &length) != 0)
        return errno == EADDRINUSE
                   ? server_fail(
                         s, SCANT_EUSAGE,
                         "port %u is taken by another program: give another --port, or 0 "
                         "for any free one",
                         o->port)
                   : server_fail(s, SCANT_EUSAGE, "cannot listen at %s: %s", s->address,
                                 strerror(errno));
    name(s, host, &a);
    return SCANT_OK;
}
