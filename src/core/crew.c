/* SPDX-License-Identifier: Apache-2.0
 *
 * One lock and two conditions: jobs hang a call on a list and wait for it to be done, the
 * caller waits for calls and for the end. Calls are answered in the order they came.
 */
#include "core/crew.h"

#include <pthread.h>
#include <time.h>

#include "core/mem.h"
#include "core/size.h"

enum { POLL_NANOSECONDS = 50 * 1000 * 1000, SECOND = 1000 * 1000 * 1000 };

typedef struct call {
    void (*fn)(void *arg);
    void *arg;
    bool done;
    struct call *next;
} call;

typedef struct member {
    scant__crew *crew;
    unsigned seat;
    pthread_t id;
} member;

struct scant__crew {
    scant_ctx *ctx;
    size_t jobs, next; /* next: to begin */
    scant__crew_fn fn;
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t wanted, answered;
    call *first, **last; /* calls that wait */
    unsigned working;    /* members that have not ended */
    atomic_bool stop;
    bool cancelled; /* by the caller's context, which its thread alone asks */
};

static void *work(void *arg) {
    member *m = arg;
    scant__crew *c = m->crew;
    pthread_mutex_lock(&c->lock);
    while (c->next < c->jobs && !atomic_load(&c->stop)) {
        size_t job = c->next++;
        pthread_mutex_unlock(&c->lock);
        c->fn(c, c->arg, job, m->seat);
        pthread_mutex_lock(&c->lock);
    }
    c->working--;
    pthread_cond_signal(&c->wanted);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void scant__crew_ask(scant__crew *c, void (*fn)(void *arg), void *arg) {
    call mine = {.fn = fn, .arg = arg};
    pthread_mutex_lock(&c->lock);
    *c->last = &mine;
    c->last = &mine.next;
    pthread_cond_signal(&c->wanted);
    while (!mine.done) pthread_cond_wait(&c->answered, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void scant__crew_stop(scant__crew *c) { atomic_store(&c->stop, true); }
bool scant__crew_stopped(const scant__crew *c) { return atomic_load(&c->stop); }

/* Whether the caller has had enough: then the crew is stopped. */
static void look_up(scant__crew *c) {
    const scant_ctx_opts *o = &c->ctx->opts;
    if (c->cancelled || !o->cancel || !o->cancel(o->user)) return;
    c->cancelled = true;
    scant__crew_stop(c);
}

/* With the lock held, which is let go while a call runs. */
static void answer(scant__crew *c) {
    while (c->first) {
        call *one = c->first;
        c->first = one->next;
        if (!c->first) c->last = &c->first;
        pthread_mutex_unlock(&c->lock);
        one->fn(one->arg);
        look_up(c); /* who asked hears of it at once */
        pthread_mutex_lock(&c->lock);
        one->done = true;
        pthread_cond_broadcast(&c->answered);
    }
}

/* Answers until all have ended. */
static void attend(scant__crew *c) {
    pthread_mutex_lock(&c->lock);
    for (;;) {
        answer(c);
        if (!c->working) break;
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += POLL_NANOSECONDS;
        until.tv_sec += until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        pthread_cond_timedwait(&c->wanted, &c->lock, &until);
        pthread_mutex_unlock(&c->lock);
        look_up(c);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
}

static unsigned start(scant__crew *c, member *members, unsigned seats) {
    unsigned started = 0;
    pthread_mutex_lock(&c->lock);
    for (; started < seats; started++) {
        members[started] = (member){.crew = c, .seat = started};
        if (pthread_create(&members[started].id, NULL, work, &members[started])) break;
        c->working++;
    }
    pthread_mutex_unlock(&c->lock);
    return started;
}

scant_status scant__crew_run(scant_ctx *ctx, size_t jobs, unsigned seats,
                             scant__crew_fn fn, void *arg) {
    scant__crew c = {.ctx = ctx, .jobs = jobs, .fn = fn, .arg = arg};
    pthread_condattr_t monotonic;
    if (!jobs) return SCANT_OK;
    seats = (unsigned)size_min(size_max(seats, 1), jobs);
    member *members = scant__alloc(ctx, seats, sizeof *members);
    if (!members) return SCANT_ENOMEM;
    c.last = &c.first;
    pthread_mutex_init(&c.lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c.wanted, &monotonic);
    pthread_cond_init(&c.answered, NULL);
    unsigned started = start(&c, members, seats);
    attend(&c);
    for (unsigned i = 0; i < started; i++) pthread_join(members[i].id, NULL);
    pthread_cond_destroy(&c.answered);
    pthread_cond_destroy(&c.wanted);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_destroy(&c.lock);
    scant__free(ctx, members);
    if (!started) return scant__fail(ctx, SCANT_ENOMEM, "no thread could be started");
    if (c.cancelled) return scant__fail(ctx, SCANT_ECANCELLED, "cancelled");
    return SCANT_OK;
}
