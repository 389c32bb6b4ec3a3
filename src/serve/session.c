/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "serve/lock.h"

static const int64_t lifetime = INT64_C(7) * 24 * 3600 * 1000;
static const int64_t busy_within = 60 * 1000;

struct sessions {
    pthread_mutex_t lock;
    size_t n;
    session list[SESSION_MOST];
};

sessions *sessions_create(void) { return locked_create(sizeof(sessions)); }

void sessions_destroy(sessions *all) { locked_destroy(all); }

bool session_same(const char *given, const char *secret) {
    size_t n = strlen(given), m = strlen(secret);
    volatile unsigned char differ = n != m;
    for (size_t i = 0; i < n; i++)
        differ = (unsigned char)(differ | (given[i] ^ secret[m ? i % m : 0]));
    return !differ;
}

static bool draw(char *text) {
    unsigned char bytes[(SESSION_BYTES - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Returns a free slot, or that of the longest unused session, nameless ones first. */
static session *place(sessions *all) {
    if (all->n < SESSION_MOST) return &all->list[all->n++];
    session *least = &all->list[0];
    for (size_t i = 1; i < all->n; i++) {
        session *s = &all->list[i];
        if (s->known < least->known ||
            (s->known == least->known && s->seen < least->seen))
            least = s;
    }
    return least;
}

bool session_begin(sessions *all, bool trusted, int64_t now, session *out) {
    session fresh = {.trusted = trusted, .seen = now};
    if (!draw(fresh.id) || !draw(fresh.csrf)) return false;
    LOCK(&all->lock);
    *out = *place(all) = fresh;
    return true;
}

/* Finds a session. Compares all ids, so that the time does not depend on the result. */
static session *find(sessions *all, const char *id) {
    session *found = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (session_same(id, all->list[i].id)) found = &all->list[i];
    return found;
}

bool session_find(sessions *all, const char *id, int64_t now, session *out) {
    if (!id || strlen(id) != SESSION_BYTES - 1) return false;
    LOCK(&all->lock);
    session *found = find(all, id);
    if (!found || now - found->seen > lifetime) return false;
    found->seen = now;
    *out = *found;
    return true;
}

/* Replaces the session `id` with `now` under a new id and CSRF value; the last-seen time
 * is kept. */
static bool change(sessions *all, const char *id, session now, session *out) {
    if (!draw(now.id) || !draw(now.csrf)) return false;
    LOCK(&all->lock);
    session *found = find(all, id);
    if (!found) return false;
    now.seen = found->seen;
    *out = *found = now;
    return true;
}

bool session_enter(sessions *all, const char *id, size_t person, const char *name,
                   session *out) {
    session now = {.trusted = true, .known = true, .person = person};
    snprintf(now.name, sizeof now.name, "%s", name);
    return change(all, id, now, out);
}

bool session_leave(sessions *all, const char *id, bool trusted, session *out) {
    return change(all, id, (session){.trusted = trusted}, out);
}

void sessions_people(sessions *all, int64_t now, int64_t within,
                     void (*fn)(void *user, const char *name, bool busy), void *user) {
    LOCK(&all->lock);
    for (size_t i = 0; i < all->n; i++) {
        const session *s = &all->list[i];
        bool shown = s->known && now - s->seen <= within;
        int64_t seen = s->seen;
        for (size_t j = 0; shown && j < all->n; j++) {
            const session *other = &all->list[j];
            if (j == i || !other->known || other->person != s->person) continue;
            if (j < i && now - other->seen <= within)
                shown = false; /* already reported */
            if (other->seen > seen) seen = other->seen;
        }
        if (shown) fn(user, s->name, now - seen <= busy_within);
    }
}
