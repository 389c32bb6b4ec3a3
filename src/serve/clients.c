/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections: how many there may be, and how long one may take.
 *
 * A connection is known once a request on it came from somebody who is allowed to use the
 * project. Others must send their requests and read the replies fast. If too many of them
 * wait, in all or of one address, the one that has waited longest is closed for the next
 * one, so that slow or silent connections keep nobody out; places are reserved for
 * addresses from which a known request came.
 *
 * Also counts the wrong tokens of each address.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "serve/lock.h"
#include "serve/server.h"

enum {
    RESERVED = 200,      /* places for addresses that are known */
    A_HOST = 250,        /* waiting connections of one address that are not known */
    FRESH = 1000,        /* milliseconds for which a waiting connection is not closed */
    HURRY = 10 * 1000,   /* milliseconds for a request or a reply if it is not known */
    ARRIVAL = 45 * 1000, /* milliseconds for a known one's request to arrive */
    SLOW_READER = 15 * 1000, /* milliseconds for a known one to read a reply if all places
                                are taken */
    OTHER_FILES = 100,       /* file descriptors that are not connections */
    HOSTS = 512,             /* addresses that are remembered */
    GUESS = 2000, /* milliseconds for each wrong token after the first GUESSES */
    GUESSES = 10
};

struct client {
    client *next;
    int socket;
    client_address from;
    int64_t since; /* time of the last change of `state` */
    client_state state;
    bool known, closed;
};

/* What is remembered of an address. */
typedef struct host {
    client_address from;
    int64_t seen;    /* time of the last known request or wrong token */
    int64_t paid_at; /* the time at which its wrong tokens are paid for */
    bool known;
} host;

struct clients {
    pthread_mutex_t lock;
    size_t most;
    client *first;
    size_t n_hosts;
    host hosts[HOSTS];
};

clients *clients_create(void) {
    struct rlimit files;
    clients *all = locked_create(sizeof *all);
    if (!all) return NULL;
    all->most = CLIENTS_MOST;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < all->most + OTHER_FILES)
        all->most =
            files.rlim_cur > 2 * OTHER_FILES ? files.rlim_cur - OTHER_FILES : OTHER_FILES;
    return all;
}

void clients_destroy(clients *all) { locked_destroy(all); }

/* IPv4 as IPv6; of IPv6 only the network, as a host has many addresses in it. */
client_address client_address_of(const struct sockaddr *from) {
    client_address a = {{0}};
    if (from && from->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, from, sizeof v4);
        memset(a.bytes + 10, 0xff, 2);
        memcpy(a.bytes + 12, &v4.sin_addr, 4);
    } else if (from && from->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, from, sizeof v6);
        memcpy(a.bytes, &v6.sin6_addr, IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) ? 16 : 8);
    }
    return a;
}

static bool same(client_address a, client_address b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

/* ---- addresses --------------------------------------------------------------------- */

static host *find_host(clients *all, client_address from) {
    for (size_t i = 0; i < all->n_hosts; i++)
        if (same(all->hosts[i].from, from)) return &all->hosts[i];
    return NULL;
}

/* Finds or adds an address; the one that was not seen for longest makes room, those that
 * are not known first. */
static host *put_host(clients *all, client_address from, int64_t now) {
    host *h = find_host(all, from);
    if (!h && all->n_hosts < HOSTS) {
        h = &all->hosts[all->n_hosts++];
    } else if (!h) {
        h = &all->hosts[0];
        for (size_t i = 1; i < HOSTS; i++) {
            host *other = &all->hosts[i];
            if (other->known < h->known ||
                (other->known == h->known && other->seen < h->seen))
                h = other;
        }
    }
    if (!same(h->from, from)) *h = (host){.from = from};
    h->seen = now;
    return h;
}

int64_t client_guess_wait(clients *all, client_address from, int64_t now) {
    LOCK(&all->lock);
    const host *h = find_host(all, from);
    int64_t wait = h ? h->paid_at - now - (GUESSES - 1) * GUESS : 0;
    return wait > 0 ? wait : 0;
}

void client_guessed(clients *all, client_address from, int64_t now) {
    LOCK(&all->lock);
    host *h = put_host(all, from, now);
    h->paid_at = (h->paid_at > now ? h->paid_at : now) + GUESS;
}

/* ---- room -------------------------------------------------------------------------- */

/* Whether it may be closed for another one. */
static bool waits(const client *c) {
    return !c->closed && !c->known && c->state != CLIENT_HANDLED;
}

/* Whether a known one may be, if nothing else makes room: it sends no request, or does
 * not read its reply. */
static bool lingers(const client *c, int64_t now) {
    return !c->closed && (c->state == CLIENT_ARRIVING ||
                          (c->state == CLIENT_SENDING && now - c->since > SLOW_READER));
}

static void close_client(client *c) {
    shutdown(c->socket, SHUT_RDWR); /* microhttpd then closes it */
    c->closed = true;
}

/* Closes the connection that has waited longest: of an address if it is not NULL. False:
 * there is none that has waited for a while. */
static bool close_one(clients *all, const client_address *of, bool known, int64_t now) {
    client *oldest = NULL;
    for (client *c = all->first; c; c = c->next) {
        bool fits = known ? lingers(c, now) : waits(c);
        if (!fits || (of && !same(c->from, *of))) continue;
        if (!oldest || c->since < oldest->since) oldest = c;
    }
    if (!oldest || now - oldest->since < FRESH) return false;
    close_client(oldest);
    return true;
}

bool clients_admit(clients *all, client_address from, int64_t now) {
    size_t n = 0, strangers = 0, own = 0;
    LOCK(&all->lock);
    for (const client *c = all->first; c; c = c->next) {
        n += !c->closed;
        strangers += !c->closed && !c->known;
        own += waits(c) && same(c->from, from);
    }
    const host *h = find_host(all, from);
    size_t reserved = all->most > 2 * RESERVED ? RESERVED : all->most / 2;
    if (own >= A_HOST) return close_one(all, &from, false, now);
    bool full = n >= all->most;
    if (!full && ((h && h->known) || strangers < all->most - reserved)) return true;
    return close_one(all, NULL, false, now) || (full && close_one(all, NULL, true, now));
}

client *client_begin(clients *all, int socket, client_address from, int64_t now) {
    client *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    LOCK(&all->lock);
    *c = (client){.next = all->first, .socket = socket, .from = from, .since = now};
    all->first = c;
    return c;
}

void client_end(clients *all, client *c) {
    client **at = &all->first;
    LOCK(&all->lock);
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    free(c);
}

void client_set(clients *all, client *c, client_state state, int64_t now) {
    if (!c) return;
    LOCK(&all->lock);
    c->state = state;
    c->since = now;
}

void client_known(clients *all, client *c, int64_t now) {
    if (!c) return;
    LOCK(&all->lock);
    c->known = true;
    put_host(all, c->from, now)->known = true;
}

client_address client_from(const client *c) {
    return c ? c->from : (client_address){{0}};
}

void clients_tick(clients *all, int64_t now) {
    LOCK(&all->lock);
    for (client *c = all->first; c; c = c->next) {
        int64_t most = c->known ? ARRIVAL : HURRY;
        bool limited = waits(c) || (!c->closed && c->state == CLIENT_ARRIVING);
        if (limited && now - c->since > most) close_client(c);
    }
}
