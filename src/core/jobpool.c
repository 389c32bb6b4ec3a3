/* SPDX-License-Identifier: Apache-2.0
 *
 * One lock and two conditions. A job appends its call to a queue and waits until the call
 * is done. The starting thread waits for calls, and for the threads to end.
 */
#include "core/jobpool.h"

#include <pthread.h>
#include <time.h>

#include "core/mem.h"

enum { POLL_NANOSECONDS = 50 * 1000 * 1000, SECOND = 1000 * 1000 * 1000 };

typedef struct call {
    void (*fn)(void *arg);
    void *arg;
    bool done;
    struct call *next;
} call;

typedef struct thread {
    scant__jobpool *pool;
    unsigned worker;
    pthread_t id;
} thread;

struct scant__jobpool {
    scant_ctx *ctx;
    size_t jobs, next; /* next: the next job to start */
    scant__jobpool_fn fn;
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t wanted, answered; /* to the starting thread; to the jobs */
    call *first, **last;             /* queue of calls */
    unsigned working;                /* threads that have not ended */
    atomic_bool stop;
    bool cancelled; /* by ctx's callback; used by the starting thread only */
};

static void *work(void *arg) {
    thread *t = arg;
    scant__jobpool *p = t->pool;
    pthread_mutex_lock(&p->lock);
    while (p->next < p->jobs && !atomic_load(&p->stop)) {
        size_t job = p->next++;
        pthread_mutex_unlock(&p->lock);
        p->fn(p, p->arg, job, t->worker);
        pthread_mutex_lock(&p->lock);
    }
    p->working--;
    pthread_cond_signal(&p->wanted);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void scant__jobpool_call(scant__jobpool *p, void (*fn)(void *arg), void *arg) {
    call mine = {.fn = fn, .arg = arg};
    pthread_mutex_lock(&p->lock);
    *p->last = &mine;
    p->last = &mine.next;
    pthread_cond_signal(&p->wanted);
    while (!mine.done) pthread_cond_wait(&p->answered, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void scant__jobpool_stop(scant__jobpool *p) { atomic_store(&p->stop, true); }
bool scant__jobpool_stopped(const scant__jobpool *p) { return atomic_load(&p->stop); }

static void poll_cancel(scant__jobpool *p) {
    const scant_ctx_opts *o = &p->ctx->opts;
    if (p->cancelled || !o->cancel || !o->cancel(o->user)) return;
    p->cancelled = true;
    scant__jobpool_stop(p);
}

/* The caller holds the lock; it is released while a call runs. */
static void run_calls(scant__jobpool *p) {
    while (p->first) {
        call *one = p->first;
        p->first = one->next;
        if (!p->first) p->last = &p->first;
        pthread_mutex_unlock(&p->lock);
        one->fn(one->arg);
        poll_cancel(p); /* before the job continues */
        pthread_mutex_lock(&p->lock);
        one->done = true;
        pthread_cond_broadcast(&p->answered);
    }
}

/* Runs calls until all threads have ended. */
static void serve_calls(scant__jobpool *p) {
    pthread_mutex_lock(&p->lock);
    for (;;) {
        run_calls(p);
        if (!p->working) break;
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += POLL_NANOSECONDS;
        until.tv_sec += until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        pthread_cond_timedwait(&p->wanted, &p->lock, &until);
        pthread_mutex_unlock(&p->lock);
        poll_cancel(p);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
}

static unsigned start(scant__jobpool *p, thread *threads, unsigned workers) {
    unsigned started = 0;
    pthread_mutex_lock(&p->lock);
    for (; started < workers; started++) {
        threads[started] = (thread){.pool = p, .worker = started};
        if (pthread_create(&threads[started].id, NULL, work, &threads[started])) break;
        p->working++;
    }
    pthread_mutex_unlock(&p->lock);
    return started;
}

scant_status scant__jobpool_run(scant_ctx *ctx, size_t jobs, unsigned workers,
                                scant__jobpool_fn fn, void *arg) {
    scant__jobpool p = {.ctx = ctx, .jobs = jobs, .fn = fn, .arg = arg};
    pthread_condattr_t monotonic;
    if (!jobs) return SCANT_OK;
    workers = (unsigned)size_min(size_max(workers, 1), jobs);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    thread *threads = TRY_NEW(&arena, thread, workers);
    p.last = &p.first;
    pthread_mutex_init(&p.lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p.wanted, &monotonic);
    pthread_cond_init(&p.answered, NULL);
    unsigned started = start(&p, threads, workers);
    serve_calls(&p);
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i].id, NULL);
    pthread_cond_destroy(&p.answered);
    pthread_cond_destroy(&p.wanted);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_destroy(&p.lock);
    if (!started) return scant__fail(ctx, SCANT_ENOMEM, "no thread could be started");
    if (p.cancelled) return scant__fail(ctx, SCANT_ECANCELLED, "cancelled");
    return SCANT_OK;
}
