/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is at a page: sessions in memory, named by a cookie of 128 random bits. After the
 * server was started anew a page gets a new one. Any thread may call these.
 */
#ifndef SCANT_SERVE_SESSION_H
#define SCANT_SERVE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SESSION_BYTES = 33, /* 32 hexadecimal digits and a zero */
    SESSION_NAME = 101,
    SESSION_MOST = 1000 /* the one unused for longest, best one of nobody, makes room */
};

typedef struct session {
    char id[SESSION_BYTES], csrf[SESSION_BYTES];
    bool trusted;            /* has given the token, or none is needed */
    bool known;              /* has said who it is: */
    size_t person;           /* the project's number of them */
    char name[SESSION_NAME]; /* theirs */
    int64_t seen;            /* when last, in milliseconds of server_now() */
} session;

typedef struct sessions sessions;

sessions *sessions_create(void); /* NULL: no memory */
void sessions_destroy(sessions *all);

/* A new one; false where the system has no random numbers. */
bool session_begin(sessions *all, bool trusted, int64_t now, session *out);
/* The one with that id, which is seen now; false: there is none, or it has long not been
 * seen. id may be NULL. */
bool session_find(sessions *all, const char *id, int64_t now, session *out);
/* It has given the token, and is that person's: under a new id and csrf, into *out, as
 * somebody else may have brought the old ones about. False where there is no such session
 * any more, or the system has no random numbers. */
bool session_enter(sessions *all, const char *id, size_t person, const char *name,
                   session *out);
/* It is nobody's again, likewise; trusted: no token is needed. */
bool session_leave(sessions *all, const char *id, bool trusted, session *out);

/* Calls fn once a person that was seen within the last `within` milliseconds; busy:
 * within the last minute. */
void sessions_people(sessions *all, int64_t now, int64_t within,
                     void (*fn)(void *user, const char *name, bool busy), void *user);

/* In a time that does not tell where they differ. */
bool session_same(const char *given, const char *secret);

#endif
