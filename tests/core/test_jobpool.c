/* SPDX-License-Identifier: Apache-2.0
 *
 * Each job runs once, a worker runs one job at a time, and callbacks run on the caller's
 * thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../support.h"

#include "core/jobpool.h"

enum { JOBS = 40, WORKERS = 3 };

typedef struct bench {
    pthread_t caller;
    size_t done[JOBS];
    size_t called;  /* written by the caller's thread only, so no lock */
    bool elsewhere; /* a callback ran on another thread */
    atomic_bool workers[WORKERS];
    atomic_bool clash;
    size_t stop_at;
    int cancel_after; /* polls */
} bench;

typedef struct note {
    bench *b;
    size_t job;
} note;

static void on_call(void *arg) {
    note *n = arg;
    n->b->elsewhere |= !pthread_equal(pthread_self(), n->b->caller);
    n->b->done[n->job]++;
    n->b->called++;
}

static void job(scant__jobpool *pool, void *arg, size_t number, unsigned worker) {
    bench *b = arg;
    if (worker >= WORKERS || atomic_exchange(&b->workers[worker], true))
        atomic_store(&b->clash, true);
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    scant__jobpool_call(pool, on_call, &(note){b, number});
    if (number == b->stop_at) scant__jobpool_stop(pool);
    if (worker < WORKERS) atomic_store(&b->workers[worker], false);
}

static void all_jobs_run_once_and_call_back_to_the_caller(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    (void)state;
    for (unsigned workers = 1; workers <= WORKERS; workers++) {
        bench b = {.caller = pthread_self(), .stop_at = JOBS};
        assert_int_equal(scant__jobpool_run(ctx, JOBS, workers, job, &b), SCANT_OK);
        for (size_t i = 0; i < JOBS; i++) assert_int_equal(b.done[i], 1);
        assert_int_equal(b.called, JOBS);
        assert_false(b.elsewhere);
        assert_false(b.clash);
    }
    scant_ctx_free(ctx);
}

static void a_stopped_pool_starts_no_more_jobs(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    bench b = {.caller = pthread_self(), .stop_at = 4};
    (void)state;
    assert_int_equal(scant__jobpool_run(ctx, JOBS, 1, job, &b), SCANT_OK);
    assert_int_equal(b.called, 5);
    scant_ctx_free(ctx);
}

static int cancel(void *user) {
    bench *b = user;
    return --b->cancel_after < 0;
}

static void wait_until_stopped(scant__jobpool *pool, void *arg, size_t number,
                               unsigned worker) {
    (void)arg, (void)number, (void)worker;
    while (!scant__jobpool_stopped(pool))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void cancelling_stops_the_pool(void **state) {
    bench b = {.cancel_after = 2};
    scant_ctx *ctx;
    (void)state;
    scant_ctx_opts opts = {.threads = 1, .user = &b, .cancel = cancel};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_int_equal(scant__jobpool_run(ctx, 5, 2, wait_until_stopped, &b),
                     SCANT_ECANCELLED);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_jobs_run_once_and_call_back_to_the_caller),
        cmocka_unit_test(a_stopped_pool_starts_no_more_jobs),
        cmocka_unit_test(cancelling_stops_the_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
