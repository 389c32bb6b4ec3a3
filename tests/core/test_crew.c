/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs side by side: each runs once, no two in one seat, their calls by the caller.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../support.h"

#include "core/crew.h"

enum { JOBS = 40, SEATS = 3 };

typedef struct bench {
    pthread_t caller;
    size_t done[JOBS];
    size_t answered; /* by the caller's thread, so no lock */
    bool elsewhere;  /* a call was run by another thread */
    atomic_bool seats[SEATS];
    atomic_bool clash;
    size_t stop_at;
    int cancel_after; /* polls */
} bench;

typedef struct note {
    bench *b;
    size_t job;
} note;

static void answer(void *arg) {
    note *n = arg;
    n->b->elsewhere |= !pthread_equal(pthread_self(), n->b->caller);
    n->b->done[n->job]++;
    n->b->answered++;
}

static void job(scant__crew *crew, void *arg, size_t number, unsigned seat) {
    bench *b = arg;
    if (seat >= SEATS || atomic_exchange(&b->seats[seat], true))
        atomic_store(&b->clash, true);
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    scant__crew_ask(crew, answer, &(note){b, number});
    if (number == b->stop_at) scant__crew_stop(crew);
    if (seat < SEATS) atomic_store(&b->seats[seat], false);
}

static void all_jobs_run_once_and_call_back_to_the_caller(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    (void)state;
    for (unsigned seats = 1; seats <= SEATS; seats++) {
        bench b = {.caller = pthread_self(), .stop_at = JOBS};
        assert_int_equal(scant__crew_run(ctx, JOBS, seats, job, &b), SCANT_OK);
        for (size_t i = 0; i < JOBS; i++) assert_int_equal(b.done[i], 1);
        assert_int_equal(b.answered, JOBS);
        assert_false(b.elsewhere);
        assert_false(b.clash);
    }
    scant_ctx_free(ctx);
}

static void a_crew_that_is_stopped_begins_no_more(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    bench b = {.caller = pthread_self(), .stop_at = 4};
    (void)state;
    assert_int_equal(scant__crew_run(ctx, JOBS, 1, job, &b), SCANT_OK);
    assert_int_equal(b.answered, 5);
    scant_ctx_free(ctx);
}

static int cancel(void *user) {
    bench *b = user;
    return --b->cancel_after < 0;
}

static void wait_for_the_end(scant__crew *crew, void *arg, size_t number, unsigned seat) {
    (void)arg, (void)number, (void)seat;
    while (!scant__crew_stopped(crew))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void cancelling_stops_it(void **state) {
    bench b = {.cancel_after = 2};
    scant_ctx *ctx;
    (void)state;
    scant_ctx_opts opts = {.threads = 1, .user = &b, .cancel = cancel};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_int_equal(scant__crew_run(ctx, 5, 2, wait_for_the_end, &b), SCANT_ECANCELLED);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_jobs_run_once_and_call_back_to_the_caller),
        cmocka_unit_test(a_crew_that_is_stopped_begins_no_more),
        cmocka_unit_test(cancelling_stops_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
