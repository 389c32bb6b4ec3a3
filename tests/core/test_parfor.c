/* SPDX-License-Identifier: Apache-2.0
 *
 * The parallel loop at several thread counts, some above the number of cores: each block
 * runs once, the lowest failing block is reported, cancel and progress work.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/parfor.h"
#include "support.h"

enum { MAX_BLOCKS = 1000, MAX_THREADS = 5 };
static const unsigned thread_counts[] = {1, 2, MAX_THREADS};
enum { THREAD_COUNTS = sizeof thread_counts / sizeof *thread_counts };

static scant_ctx *context(scant_ctx_opts opts, unsigned threads) {
    scant_ctx *ctx;
    opts.threads = threads;
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    return ctx;
}

typedef struct tally {
    unsigned threads;
    atomic_uint runs[MAX_BLOCKS];
    atomic_flag busy[MAX_THREADS]; /* one thread at a time may use a worker index */
    atomic_bool bad_worker;
} tally;

static scant_status count_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    (void)fault;
    tally *t = arg;
    if (worker >= t->threads || atomic_flag_test_and_set(&t->busy[worker])) {
        atomic_store(&t->bad_worker, true);
        return SCANT_OK;
    }
    atomic_fetch_add(&t->runs[block], 1);
    atomic_flag_clear(&t->busy[worker]);
    return SCANT_OK;
}

static void every_block_runs_exactly_once(void **state) {
    (void)state;
    static const size_t blocks[] = {0, 1, 2, 7, MAX_BLOCKS};
    for (size_t k = 0; k < THREAD_COUNTS; k++) {
        scant_ctx *ctx = ctx_threads(thread_counts[k]);
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            tally t = {.threads = thread_counts[k]};
            for (size_t i = 0; i < MAX_THREADS; i++) atomic_flag_clear(&t.busy[i]);
            assert_int_equal(scant__parfor(ctx, "counting", blocks[b], count_block, &t),
                             SCANT_OK);
            assert_false(atomic_load(&t.bad_worker));
            for (size_t i = 0; i < MAX_BLOCKS; i++)
                assert_int_equal(atomic_load(&t.runs[i]), i < blocks[b]);
        }
        scant_ctx_free(ctx);
    }
}

typedef struct failing {
    size_t first;
    atomic_size_t runs;
} failing;

/* Every block from `first` on fails: odd ones with EINPUT, even ones with EIO. */
static scant_status fail_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    (void)worker;
    failing *f = arg;
    atomic_fetch_add(&f->runs, 1);
    if (block < f->first) return SCANT_OK;
    return scant__fault_set(fault, block % 2 ? SCANT_EINPUT : SCANT_EIO,
                            "block %zu is bad", block);
}

static void the_lowest_failing_block_is_reported(void **state) {
    (void)state;
    for (size_t k = 0; k < THREAD_COUNTS; k++) {
        scant_ctx *ctx = ctx_threads(thread_counts[k]);
        /* Many repetitions, as the order of the threads is random. */
        for (size_t turn = 0; turn < 1000; turn++) {
            failing f = {.first = turn % 50};
            char expected[64];
            snprintf(expected, sizeof expected, "block %zu is bad", f.first);
            assert_int_equal(scant__parfor(ctx, NULL, MAX_BLOCKS, fail_block, &f),
                             f.first % 2 ? SCANT_EINPUT : SCANT_EIO);
            assert_string_equal(scant_ctx_errmsg(ctx), expected);
        }
        scant_ctx_free(ctx);
    }
}

static void a_failure_ends_the_loop_soon(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    failing f = {.first = 3};
    assert_int_equal(scant__parfor(ctx, NULL, MAX_BLOCKS, fail_block, &f), SCANT_EINPUT);
    assert_int_equal(atomic_load(&f.runs), 4);
    scant_ctx_free(ctx);
}

static void a_failed_loop_does_not_affect_the_next(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    failing f = {.first = 0}, none = {.first = MAX_BLOCKS};
    assert_int_equal(scant__parfor(ctx, NULL, 10, fail_block, &f), SCANT_EIO);
    assert_int_equal(scant__parfor(ctx, NULL, 10, fail_block, &none), SCANT_OK);
    assert_int_equal(atomic_load(&none.runs), 10);
    scant_ctx_free(ctx);
}

/* Records the calls of the callbacks, and on which thread they run. */
typedef struct listener {
    pthread_t caller;
    int off_thread; /* calls on a thread other than the caller's */
    int polls, cancel_after;
    int reports, steps_back;
    double last;
    char phase[32];
} listener;

static int listen_cancel(void *user) {
    listener *l = user;
    if (!pthread_equal(pthread_self(), l->caller)) l->off_thread++;
    return ++l->polls > l->cancel_after;
}

static void listen_progress(void *user, const char *phase, double fraction) {
    listener *l = user;
    if (!pthread_equal(pthread_self(), l->caller)) l->off_thread++;
    if (strcmp(phase, l->phase) != 0) {
        snprintf(l->phase, sizeof l->phase, "%s", phase);
        l->last = 0;
    }
    if (!(fraction >= l->last && fraction <= 1)) l->steps_back++;
    l->last = fraction;
    l->reports++;
}

/* Other workers' blocks wait until the caller has run one, so that it always does. */
static scant_status wait_for_caller(void *arg, size_t block, unsigned worker,
                                    scant__fault *fault) {
    (void)block, (void)fault;
    atomic_bool *caller_ran = arg;
    if (worker == 0) atomic_store(caller_ran, true);
    while (!atomic_load(caller_ran)) sched_yield();
    return SCANT_OK;
}

static void cancel_ends_the_loop(void **state) {
    (void)state;
    for (size_t k = 0; k < THREAD_COUNTS; k++) {
        listener l = {.caller = pthread_self(), .cancel_after = 0};
        scant_ctx *ctx = context((scant_ctx_opts){.user = &l, .cancel = listen_cancel},
                                 thread_counts[k]);
        atomic_bool caller_ran = false;
        assert_int_equal(
            scant__parfor(ctx, "x", MAX_BLOCKS, wait_for_caller, &caller_ran),
            SCANT_ECANCELLED);
        assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
        assert_int_equal(l.off_thread, 0);
        scant_ctx_free(ctx);
    }
}

static void no_block_starts_after_cancel(void **state) {
    (void)state;
    listener l = {.caller = pthread_self(), .cancel_after = 2};
    scant_ctx *ctx = context((scant_ctx_opts){.user = &l, .cancel = listen_cancel}, 1);
    failing none = {.first = MAX_BLOCKS};
    assert_int_equal(scant__parfor(ctx, "x", MAX_BLOCKS, fail_block, &none),
                     SCANT_ECANCELLED);
    assert_int_equal(atomic_load(&none.runs), 3);
    scant_ctx_free(ctx);
}

static void progress_never_decreases_and_is_reported_on_the_callers_thread(void **state) {
    (void)state;
    for (size_t k = 0; k < THREAD_COUNTS; k++) {
        listener l = {.caller = pthread_self()};
        scant_ctx *ctx = context(
            (scant_ctx_opts){.user = &l, .progress = listen_progress}, thread_counts[k]);
        const char *const phases[] = {"reading", "scoring", "sorting"};
        for (int p = 0; p < 3; p++) {
            atomic_bool caller_ran = false;
            assert_int_equal(
                scant__parfor(ctx, phases[p], MAX_BLOCKS, wait_for_caller, &caller_ran),
                SCANT_OK);
            assert_string_equal(l.phase, phases[p]);
        }
        assert_int_equal(l.steps_back, 0);
        assert_int_equal(l.off_thread, 0);
        if (thread_counts[k] == 1) assert_true(l.last == 1);
        const int before = l.reports;
        failing none = {.first = MAX_BLOCKS};
        assert_int_equal(scant__parfor(ctx, NULL, MAX_BLOCKS, fail_block, &none),
                         SCANT_OK);
        assert_int_equal(l.reports, before); /* without a phase, no reports */
        scant_ctx_free(ctx);
    }
}

/* Runs many small loops in its own context. */
static void *own_context(void *arg) {
    scant_ctx *ctx = NULL;
    size_t *wrong = arg;
    if (scant_ctx_create(&(scant_ctx_opts){.threads = 2}, &ctx) != SCANT_OK) {
        *wrong = 1;
        return NULL;
    }
    for (size_t turn = 0; turn < 100; turn++) {
        failing none = {.first = MAX_BLOCKS};
        scant_status s = scant__parfor(ctx, "x", 20, fail_block, &none);
        *wrong += s != SCANT_OK || atomic_load(&none.runs) != 20;
    }
    scant_ctx_free(ctx);
    return NULL;
}

static void contexts_in_two_threads_are_independent(void **state) {
    (void)state;
    pthread_t other;
    size_t wrong_here = 0, wrong_there = 0;
    assert_int_equal(pthread_create(&other, NULL, own_context, &wrong_there), 0);
    own_context(&wrong_here);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(wrong_here + wrong_there, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_runs_exactly_once),
        cmocka_unit_test(the_lowest_failing_block_is_reported),
        cmocka_unit_test(a_failure_ends_the_loop_soon),
        cmocka_unit_test(a_failed_loop_does_not_affect_the_next),
        cmocka_unit_test(cancel_ends_the_loop),
        cmocka_unit_test(no_block_starts_after_cancel),
        cmocka_unit_test(progress_never_decreases_and_is_reported_on_the_callers_thread),
        cmocka_unit_test(contexts_in_two_threads_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
