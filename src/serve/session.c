/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "serve/lock.h"

static const int64_t lifetime = INT64_C(7) * 24 * 3600 * 1000;
static const int64_t busy_within = 60 * 1000;

/* Secret keys of the codes that sessions without a name consist of. */
enum { KEY_ID, KEY_CSRF, KEY_CSRF_2, KEYS };

struct sessions {
    pthread_mutex_t lock;
    uint64_t keys[KEYS][2];
    bool trusted;
    size_t n;
    session list[SESSION_MOST];
};

static bool draw(void *bytes, size_t size) {
    return getrandom(bytes, size, 0) == (ssize_t)size;
}

sessions *sessions_create(bool trusted) {
    sessions *all = locked_create(sizeof *all);
    if (!all) return NULL;
    all->trusted = trusted;
    if (draw(all->keys, sizeof all->keys)) return all;
    locked_destroy(all);
    return NULL;
}

void sessions_destroy(sessions *all) { locked_destroy(all); }

bool session_same(const char *given, const char *secret) {
    size_t n = strlen(given), m = strlen(secret);
    volatile unsigned char differ = n != m;
    for (size_t i = 0; i < n; i++)
        differ = (unsigned char)(differ | (given[i] ^ secret[m ? i % m : 0]));
    return !differ;
}

/* ---- sessions without a name ------------------------------------------------------- */

static uint64_t rotate(uint64_t x, unsigned n) { return x << n | x >> (64 - n); }

static void mix(uint64_t v[4], unsigned rounds) {
    for (; rounds; rounds--) {
        v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
        v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
    }
}

/* SipHash-2-4 of eight bytes: Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * 2012. */
uint64_t session_code(const uint64_t key[2], uint64_t message) {
    const uint64_t last = (uint64_t)sizeof message << 56;
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                     key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
    v[3] ^= message, mix(v, 2), v[0] ^= message;
    v[3] ^= last, mix(v, 2), v[0] ^= last;
    v[2] ^= 0xff, mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void put_hex(char text[SESSION_BYTES], uint64_t high, uint64_t low) {
    snprintf(text, SESSION_BYTES, "%016" PRIx64 "%016" PRIx64, high, low);
}

/* The session without a name that a random number stands for. */
static session nameless(const sessions *all, uint64_t number, int64_t now) {
    session s = {.trusted = all->trusted, .seen = now};
    put_hex(s.id, number, session_code(all->keys[KEY_ID], number));
    put_hex(s.csrf, session_code(all->keys[KEY_CSRF], number),
            session_code(all->keys[KEY_CSRF_2], number));
    return s;
}

bool session_begin(sessions *all, int64_t now, session *out) {
    uint64_t number;
    if (!draw(&number, sizeof number)) return false;
    *out = nameless(all, number, now);
    return true;
}

/* Whether id is that of a session without a name: its code is right. */
static bool is_nameless(const sessions *all, const char *id, int64_t now, session *out) {
    char half[17];
    snprintf(half, sizeof half, "%s", id);
    *out = nameless(all, strtoull(half, NULL, 16), now);
    return session_same(id, out->id);
}

/* ---- sessions of people ------------------------------------------------------------ */

/* Finds a session. Compares all ids, so that the time does not depend on the result. */
static session *find(sessions *all, const char *id) {
    session *found = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (session_same(id, all->list[i].id)) found = &all->list[i];
    return found;
}

static bool is_id(const char *id) { return id && strlen(id) == SESSION_BYTES - 1; }

bool session_find(sessions *all, const char *id, int64_t now, session *out) {
    if (!is_id(id)) return false;
    LOCK(&all->lock);
    session *found = find(all, id);
    if (!found) return is_nameless(all, id, now, out);
    if (now - found->seen > lifetime) return false;
    found->seen = now;
    *out = *found;
    return true;
}

/* Returns a free slot, or that of the longest unused session: of the same person, if that
 * has many. */
static session *place(sessions *all, size_t person) {
    session *least = NULL, *own = NULL;
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        session *s = &all->list[i];
        if (!least || s->seen < least->seen) least = s;
        if (s->person != person) continue;
        if (!own || s->seen < own->seen) own = s;
        n++;
    }
    if (n >= SESSION_PERSON) return own;
    return all->n < SESSION_MOST ? &all->list[all->n++] : least;
}

bool session_enter(sessions *all, const char *id, size_t person, const char *name,
                   int64_t now, session *out) {
    uint64_t drawn[4];
    session fresh = {.trusted = true, .known = true, .person = person, .seen = now};
    if (!is_id(id) || !draw(drawn, sizeof drawn)) return false;
    put_hex(fresh.id, drawn[0], drawn[1]);
    put_hex(fresh.csrf, drawn[2], drawn[3]);
    snprintf(fresh.name, sizeof fresh.name, "%s", name);
    LOCK(&all->lock);
    session *found = find(all, id), old;
    if (!found && !is_nameless(all, id, now, &old)) return false;
    if (!found) found = place(all, person);
    *out = *found = fresh;
    return true;
}

bool session_leave(sessions *all, const char *id, int64_t now, session *out) {
    session old;
    if (!is_id(id)) return false;
    LOCK(&all->lock);
    session *found = find(all, id);
    if (!found && !is_nameless(all, id, now, &old)) return false;
    if (!session_begin(all, now, out)) return false;
    if (found) *found = all->list[--all->n];
    return true;
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
