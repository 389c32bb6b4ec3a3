/* SPDX-License-Identifier: Apache-2.0
 *
 * Experiments as a program runs them: events, runs side by side, cancelling, failed
 * allocations. (tests/cli/test_run.py checks the contents of the files.)
 */
#include "../data/support.h"

#include <math.h>

#include "loop/loop.h"
#include "scant/train.h"

static const scant_setting moons[] = {
    {"data.train", "moons"}, {"data.test_size", "100"},
    {"model.name", "mlp"},   {"model.width", "8"},
    {"train.epochs", "4"},   {"loop.initial", "6"},
    {"loop.batch", "4"},     {"loop.rounds", "2"},
    {"loop.seeds", "0,1"},   {"loop.strategies", "random,badge,sparse-greedy"},
};
enum { SETTINGS = sizeof moons / sizeof *moons, RUNS = 6, ROUNDS = 3 };

typedef struct heard {
    size_t begun, rounds, ended, before;
    double accuracy[RUNS][ROUNDS];
    size_t cancel_at; /* rounds */
} heard;

static void hear(void *user, const scant_run_event *event) {
    heard *h = user;
    assert_int_equal(event->runs, RUNS);
    assert_true(event->run < RUNS && event->rounds == ROUNDS - 1);
    assert_true(event->fraction >= 0 && event->fraction <= 1);
    h->begun += event->kind == SCANT_RUN_BEGIN;
    h->ended += event->kind == SCANT_RUN_END;
    assert_int_not_equal(event->kind, SCANT_RUN_FAILED);
    if (event->kind != SCANT_RUN_ROUND) return;
    h->before += event->before != 0;
    assert_int_equal(event->labels, 6 + 4 * event->round);
    h->accuracy[event->run][event->round] = event->accuracy;
    h->rounds++;
}

static scant_status run_experiment(scant_ctx *ctx, const char *out, unsigned jobs,
                                   bool resume, heard *h) {
    scant_experiment *e;
    TRY(scant_experiment_open(ctx, NULL, moons, SETTINGS, &e));
    scant_status status = scant_experiment_run(e, &(scant_run_opts){.out = out,
                                                                    .resume = resume,
                                                                    .jobs = jobs,
                                                                    .threads = 1,
                                                                    .user = h,
                                                                    .report = hear});
    scant_experiment_free(e);
    return status;
}

static void runs_side_by_side_give_the_same_results(void **state) {
    scant_ctx *ctx = ctx_threads(2);
    heard one = {0}, three = {0}, again = {0};
    (void)state;
    assert_int_equal(run_experiment(ctx, path_of("one"), 1, false, &one), SCANT_OK);
    assert_int_equal(run_experiment(ctx, path_of("three"), 3, false, &three), SCANT_OK);
    assert_int_equal(one.begun, RUNS);
    assert_int_equal(one.rounds, RUNS * ROUNDS);
    assert_int_equal(one.ended, RUNS);
    assert_int_equal(three.rounds, RUNS * ROUNDS);
    assert_memory_equal(one.accuracy, three.accuracy, sizeof one.accuracy);
    assert_int_equal(run_experiment(ctx, path_of("one"), 2, true, &again), SCANT_OK);
    assert_int_equal(again.before, RUNS * ROUNDS);
    assert_int_equal(again.begun, 0);
    assert_int_equal(again.ended, RUNS);
    assert_memory_equal(one.accuracy, again.accuracy, sizeof one.accuracy);
    scant_ctx_free(ctx);
}

static int cancel(void *user) {
    const heard *h = user;
    return h->rounds >= h->cancel_at;
}

static void a_resumed_experiment_gives_the_same_results(void **state) {
    heard h = {.cancel_at = 4}, whole = {.cancel_at = SIZE_MAX};
    scant_ctx *ctx, *plain = ctx_threads(1);
    scant_ctx_opts opts = {.threads = 1, .user = &h, .cancel = cancel};
    (void)state;
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    scant_status status = run_experiment(ctx, path_of("cut"), 2, false, &h);
    /* it is polled twenty times a second: a fast machine may have finished before */
    assert_true(status == SCANT_ECANCELLED || h.rounds == RUNS * ROUNDS);
    h = (heard){.cancel_at = SIZE_MAX};
    assert_int_equal(run_experiment(ctx, path_of("cut"), 1, true, &h), SCANT_OK);
    assert_int_equal(run_experiment(plain, path_of("whole"), 1, false, &whole), SCANT_OK);
    assert_memory_equal(h.accuracy, whole.accuracy, sizeof h.accuracy);
    scant_ctx_free(ctx);
    scant_ctx_free(plain);
}

/* Wherever an allocation fails, the call reports it, or does without (a smaller batch, no
 * report between two rounds) and gives the same results. It leaks nothing and can be
 * resumed. */
static void a_failed_allocation_is_reported_and_can_be_resumed(void **state) {
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    heard h = {0};
    size_t live = m.live, first = m.calls;
    (void)state;
    assert_int_equal(run_experiment(ctx, path_of("plenty"), 1, false, &h), SCANT_OK);
    size_t calls = m.calls - first, failures = 0;
    for (size_t fail = 0; fail < calls; fail += calls / 48 + 1) {
        char folder[32];
        heard torn = {0}, again = {0};
        snprintf(folder, sizeof folder, "torn%zu", fail);
        m.fail_at = m.calls + fail;
        scant_status status = run_experiment(ctx, path_of(folder), 1, false, &torn);
        m.fail_at = SIZE_MAX;
        assert_true(status == SCANT_OK || status == SCANT_ENOMEM);
        failures += status == SCANT_ENOMEM;
        if (status == SCANT_OK)
            assert_memory_equal(h.accuracy, torn.accuracy, sizeof h.accuracy);
        assert_int_equal(m.live, live);
        assert_int_equal(run_experiment(ctx, path_of(folder), 1, true, &again), SCANT_OK);
        assert_memory_equal(h.accuracy, again.accuracy, sizeof h.accuracy);
    }
    assert_true(failures > 20); /* else nearly all failures were done without */
    ctx_end(ctx, &m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_side_by_side_give_the_same_results),
        cmocka_unit_test(a_resumed_experiment_gives_the_same_results),
        cmocka_unit_test(a_failed_allocation_is_reported_and_can_be_resumed),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
