/* SPDX-License-Identifier: Apache-2.0
 *
 * Experiments as a program runs them: events, runs side by side, cancelling, memory that
 * runs out. (What the files hold is looked at by tests/cli/test_run.py.)
 */
#include "../data/support.h"

#include <math.h>

#include "loop/loop.h"

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

static scant_status play(scant_ctx *ctx, const char *out, unsigned jobs, bool resume,
                         heard *h) {
    scant_experiment *e;
    TRY(scant_experiment_open(ctx, NULL, moons, SETTINGS, &e));
    scant_status status = scant_experiment_run(e, &(scant_run_opts){.out = out,
                                                                    .resume = resume,
                                                                    .jobs = jobs,
                                                                    .threads = 1,
                                                                    .user = h,
                                                                    .report = hear});
    scant_experiment_close(e);
    return status;
}

static void runs_side_by_side_find_the_same(void **state) {
    scant_ctx *ctx = ctx_threads(2);
    heard one = {0}, three = {0}, again = {0};
    (void)state;
    assert_int_equal(play(ctx, path_of("one"), 1, false, &one), SCANT_OK);
    assert_int_equal(play(ctx, path_of("three"), 3, false, &three), SCANT_OK);
    assert_int_equal(one.begun, RUNS);
    assert_int_equal(one.rounds, RUNS * ROUNDS);
    assert_int_equal(one.ended, RUNS);
    assert_int_equal(three.rounds, RUNS * ROUNDS);
    assert_memory_equal(one.accuracy, three.accuracy, sizeof one.accuracy);
    assert_int_equal(play(ctx, path_of("one"), 2, true, &again), SCANT_OK);
    assert_int_equal(again.before, RUNS * ROUNDS);
    assert_int_equal(again.begun, 0);
    assert_int_equal(again.ended, RUNS);
    assert_memory_equal(one.accuracy, again.accuracy, sizeof one.accuracy);
    scant_ctx_destroy(ctx);
}

static int cancel(void *user) {
    const heard *h = user;
    return h->rounds >= h->cancel_at;
}

static void a_cancelled_experiment_is_gone_on_with(void **state) {
    heard h = {.cancel_at = 4}, whole = {.cancel_at = SIZE_MAX};
    scant_ctx *ctx, *plain = ctx_threads(1);
    scant_ctx_opts opts = {.threads = 1, .user = &h, .cancel = cancel};
    (void)state;
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    scant_status status = play(ctx, path_of("cut"), 2, false, &h);
    /* it asks twenty times a second: a fast machine may have been done before */
    assert_true(status == SCANT_ECANCELLED || h.rounds == RUNS * ROUNDS);
    h = (heard){.cancel_at = SIZE_MAX};
    assert_int_equal(play(ctx, path_of("cut"), 1, true, &h), SCANT_OK);
    assert_int_equal(play(plain, path_of("whole"), 1, false, &whole), SCANT_OK);
    assert_memory_equal(h.accuracy, whole.accuracy, sizeof h.accuracy);
    scant_ctx_destroy(ctx);
    scant_ctx_destroy(plain);
}

/* Wherever memory ends, the call says so, holds nothing, and can be gone on with. */
static void memory_that_runs_out_is_told(void **state) {
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    heard h = {0};
    size_t live = m.live, first = m.calls;
    (void)state;
    assert_int_equal(play(ctx, path_of("plenty"), 1, false, &h), SCANT_OK);
    size_t calls = m.calls - first, failures = 0;
    for (size_t fail = 0; fail < calls; fail += calls / 12 + 1) {
        char folder[32];
        heard torn = {0}, again = {0};
        snprintf(folder, sizeof folder, "torn%zu", fail);
        m.fail_at = m.calls + fail;
        scant_status status = play(ctx, path_of(folder), 1, false, &torn);
        m.fail_at = SIZE_MAX;
        assert_true(status == SCANT_OK || status == SCANT_ENOMEM);
        failures += status == SCANT_ENOMEM;
        assert_int_equal(m.live, live);
        assert_int_equal(play(ctx, path_of(folder), 1, true, &again), SCANT_OK);
        assert_memory_equal(h.accuracy, again.accuracy, sizeof h.accuracy);
    }
    assert_true(failures > 6);
    ctx_end(ctx, &m);
}

static const loop_run_name name = {"badge", 7};

static scant_status read_state(scant_ctx *ctx, const char *text, loop_state *s,
                               scant__arena *arena) {
    const char *path = put("state.json", text, strlen(text));
    assert_int_equal(loop_state_init(arena, 3, 20, s), SCANT_OK);
    return loop_state_read(ctx, path, name, 3, 100, arena, s);
}

static void a_state_is_read_as_it_was_written(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant__arena arena;
    loop_state a, b;
    const double inf = (double)INFINITY;
    const loop_pick picks[] = {
        {5, 1, 0}, {99, 0.1, -1e300}, {7, 2, 1.0 / 3}, {8, 1, inf}, {9, 1, -inf}};
    (void)state;
    scant__arena_init(&arena, ctx);
    assert_int_equal(loop_state_init(&arena, 3, 20, &a), SCANT_OK);
    loop_state_add(&a, picks, 2);
    loop_state_add(&a, picks + 2, 3);
    a.points[a.n_points++] = (loop_point){2, 0.7, inf, 0.8, 3, 4};
    a.memory = scant__arena_strdup(&arena, "{\"x\": \"y\\n\"}\n");
    a.partial.there = true, a.partial.round = 1, a.partial.best = 0.25;
    a.partial.asker = LOOP_NOT_BEGUN;
    scant_calibration *before = &a.calibrations[0].when[LOOP_BEFORE];
    *before = (scant_calibration){.temperature = 1, .error = 1.0 / 3};
    before->bins[0] = (scant_calibration_bin){1, 0.05, 0};
    before->bins[14] = (scant_calibration_bin){30, 1.0 / 1.001, 29.0 / 30};
    assert_int_equal(loop_state_write(ctx, path_of("s.json"), name, &a), SCANT_OK);
    assert_int_equal(loop_state_init(&arena, 3, 20, &b), SCANT_OK);
    assert_int_equal(loop_state_read(ctx, path_of("s.json"), name, 3, 100, &arena, &b),
                     SCANT_OK);
    assert_int_equal(b.n_points, 1);
    assert_int_equal(b.n_batches, 2);
    assert_memory_equal(a.picks, b.picks, sizeof picks);
    assert_memory_equal(a.points, b.points, sizeof *a.points);
    assert_memory_equal(a.calibrations, b.calibrations, sizeof *a.calibrations);
    assert_string_equal(a.memory, b.memory);
    assert_true(b.partial.there && b.partial.round == 1 && b.partial.best == 0.25);
    scant__arena_end(&arena);
    scant_ctx_destroy(ctx);
}

#define ROUND                                                                            \
    HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]],[]], \"calibration\": "
#define HEAD "{\"scant run\": 1, \"strategy\": \"badge\", \"seed\": \"7\", "

static void a_damaged_state_is_refused(void **state) {
    static const char *const wrong[] = {
        "",
        "{}",
        "[1]",
        "{\"scant run\": 2}",
        "{\"scant run\": 1, \"strategy\": \"npc\", \"seed\": \"7\"}",
        "{\"scant run\": 1, \"strategy\": \"badge\", \"seed\": 7}",
        HEAD "\"rounds\": 3, \"picks\": []}",
        HEAD "\"rounds\": [], \"picks\": []}",
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[100,1,0]],[]]}",
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[-1,1,0]],[]]}",
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]],[[3,1,0]]]}",
        HEAD "\"rounds\": [[2,0,0,0,0,0]], \"picks\": [[[3,1,0]],[[4,1,0]]]}",
        HEAD "\"rounds\": [[1,0,0,0,0]], \"picks\": [[[3,1,0]],[[4,1,0]]]}",
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1]],[[4,1,0]]]}",
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]]]}",
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]],[]], \"partial\": 3}",
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,\"inf\",0]],[]]}",
        HEAD "\"rounds\": [], \"picks\": [], \"over\": true}",
        ROUND "3}",
        ROUND "[]}", /* one a round */
        ROUND "[[null, null], [null, null]]}",
        ROUND "[null]}",
        ROUND "[[null]]}",
        ROUND "[[[1, 0.5], null]]}",
        ROUND "[[[0, 0.5, []], null]]}", /* the temperature */
        ROUND "[[[1, 1.5, []], null]]}", /* the error */
        ROUND "[[[1, 0.5, 3], null]]}",
        ROUND "[[null, [1, 0.5, [[0, 1, 0.5, 0.5]]]]]}", /* bins are 1 to 15 */
        ROUND "[[null, [1, 0.5, [[16, 1, 0.5, 0.5]]]]]}",
        ROUND "[[null, [1, 0.5, [[1, 0, 0.5, 0.5]]]]]}", /* with samples */
        ROUND "[[null, [1, 0.5, [[1, 1, 1.5, 0.5]]]]]}",
        ROUND "[[null, [1, 0.5, [[1, 1, 0.5, -1]]]]]}",
        ROUND "[[null, [1, 0.5, [[1, 1, 0.5]]]]]}",
        ROUND "[[null, [1, 0.5, [[1, 1, 0.5, 0.5], [1, 1, 0.5, 0.5]]]]]}", /* twice */
    };
    scant_ctx *ctx = ctx_threads(1);
    scant__arena arena;
    loop_state s;
    (void)state;
    scant__arena_init(&arena, ctx);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (read_state(ctx, wrong[i], &s, &arena) != SCANT_EINPUT)
            fail_msg("%s was taken", wrong[i]);
        assert_says(ctx, path_of("state.json"), "not what a run");
    }
    assert_int_equal(
        read_state(ctx, HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]],[]]}",
                   &s, &arena),
        SCANT_OK);
    assert_int_equal(
        read_state(ctx, ROUND "[[[1, 0.5, [[15, 9, 1, 0.5]]], null]]}", &s, &arena),
        SCANT_OK);
    assert_int_equal(s.calibrations->when[LOOP_BEFORE].bins[14].count, 9);
    scant__arena_end(&arena);
    scant_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_side_by_side_find_the_same),
        cmocka_unit_test(a_cancelled_experiment_is_gone_on_with),
        cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(a_state_is_read_as_it_was_written),
        cmocka_unit_test(a_damaged_state_is_refused),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
