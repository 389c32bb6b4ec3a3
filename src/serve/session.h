/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions of browsers, in memory, identified by a cookie of 128 random bits. They end
 * with the server. Any thread may call these functions.
 */
#ifndef SCANT_SERVE_SESSION_H
#define SCANT_SERVE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SESSION_BYTES = 33, /* 32 hexadecimal digits and a zero */
    SESSION_NAME = 101,
    SESSION_MOST = 1000 /* then the longest unused one is dropped, nameless ones first */
};

typedef struct session {
    char id[SESSION_BYTES], csrf[SESSION_BYTES];
    bool trusted;            /* has given the token, or none is needed */
    bool known;              /* has given a name */
    size_t person;           /* its number in the project */
    char name[SESSION_NAME]; /* of the person */
    int64_t seen;            /* server_now() of the last request */
} session;

typedef struct sessions sessions;

sessions *sessions_create(void); /* NULL: no memory */
void sessions_destroy(sessions *all);

/* A new session; false: the system provides no random numbers. */
bool session_begin(sessions *all, bool trusted, int64_t now, session *out);
/* Finds a session and updates `seen`; false: there is none, or it has expired. id may be
 * NULL. */
bool session_find(sessions *all, const char *id, int64_t now, session *out);
/* Signs a person in. *out has a new id and csrf, against session fixation. False: there
 * is no such session, or the system provides no random numbers. */
bool session_enter(sessions *all, const char *id, size_t person, const char *name,
                   session *out);
/* Signs out, likewise; trusted: no token is needed. */
bool session_leave(sessions *all, const char *id, bool trusted, session *out);

/* Calls fn once for each person seen within the last `within` milliseconds; busy: seen
 * within the last minute. */
void sessions_people(sessions *all, int64_t now, int64_t within,
                     void (*fn)(void *user, const char *name, bool busy), void *user);

/* Compares in constant time. */
bool session_same(const char *given, const char *secret);

#endif
