/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions of browsers, identified by a cookie of 128 bits. They end with the server. Any
 * thread may call these functions.
 *
 * Only sessions of people who have signed in are stored. A session without a name needs
 * no memory, so that nobody can end those of others by beginning many: its id has a
 * random half and a message authentication code of it under a secret key, and the csrf is
 * derived from the same half.
 */
#ifndef SCANT_SERVE_SESSION_H
#define SCANT_SERVE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SESSION_BYTES = 33, /* 32 hexadecimal digits and a zero */
    SESSION_NAME = 101,
    SESSION_MOST = 1000, /* when full, the longest unused is dropped */
    SESSION_PERSON = 20  /* of one person; likewise */
};

typedef struct session {
    char id[SESSION_BYTES], csrf[SESSION_BYTES];
    bool trusted;            /* the token was given, or none is needed */
    bool known;              /* a name was given */
    size_t person;           /* the person's number in the project */
    char name[SESSION_NAME]; /* the person's name */
    int64_t seen;            /* time of the last request, by server_now() */
} session;

typedef struct sessions sessions;

/* trusted: sessions without a name are, because no token is needed. NULL: no memory, or
 * the system provides no random numbers. */
sessions *sessions_create(bool trusted);
void sessions_destroy(sessions *all);

/* Makes a session without a name. False: the system provides no random numbers. */
bool session_begin(sessions *all, int64_t now, session *out);
/* Finds a session and updates `seen`. False: there is none, or it has expired. id may be
 * NULL. */
bool session_find(sessions *all, const char *id, int64_t now, session *out);
/* Signs a person in. *out has a new id and csrf, against session fixation. False: there
 * is no such session, or the system provides no random numbers. */
bool session_enter(sessions *all, const char *id, size_t person, const char *name,
                   int64_t now, session *out);
/* Signs out: ends the session and makes one without a name. False: likewise. */
bool session_leave(sessions *all, const char *id, int64_t now, session *out);

/* Calls fn once for each person seen within the last `within` milliseconds; busy: seen
 * within the last minute. */
void sessions_people(sessions *all, int64_t now, int64_t within,
                     void (*fn)(void *user, const char *name, bool busy), void *user);

/* For tests: the authentication code of eight bytes. */
uint64_t session_code(const uint64_t key[2], uint64_t message);

/* Compares two strings in constant time. */
bool session_same(const char *given, const char *secret);

#endif
