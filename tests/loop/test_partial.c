/* SPDX-License-Identifier: Apache-2.0
 *
 * Cancelled rounds: wherever a round is cancelled, its training is kept, and resuming it
 * gives the same results. The callback that reports phases cancels, so that the place is
 * known.
 */
#include "runs.h"

#include "core/clock.h"

/* ---- cancelled anywhere ------------------------------------------------------------ */

static const plan plans[] = {
    {"sparse-greedy-3",
     {"sparse-greedy", 3},
     {{"loop.strategies", "sparse-greedy"},
      {"loop.seeds", "3"},
      {"train.epochs", "20"},
      {"train.initial_models", "3"},
      {"loop.query_seed", "3"}},
     1},
    {"badge-1",
     {"badge", 1},
     {{"loop.strategies", "badge"},
      {"loop.seeds", "1"},
      {"train.epochs", "20"},
      {"train.reinit", "no"},
      {"loop.query_seed", "5"},
      {"data.validation", "15"},
      {"train.patience", "18"}},
     1},
    {"albl-2",
     {"albl", 2},
     {{"loop.strategies", "albl"},
      {"loop.seeds", "2"},
      {"train.epochs", "20"},
      {"train.use_weights", "yes"},
      {"train.initial_models", "2"},
      {"loop.initial_seed", "9"},
      {"data.validation", "15"}},
     1},
    {"crc-4",
     {"crc", 4},
     {{"loop.strategies", "crc"},
      {"loop.seeds", "4"},
      {"data.pool", "60"},
      {"train.method", "fixmatch"},
      {"train.darp", "yes"},
      {"train.warm", "yes"},
      {"train.steps", "30"},
      {"train.ema", "0.9"},
      {"train.initial_models", "2"},
      {"train.initial_keep", "best"},
      {"loop.query_seed", "4"}},
     1},
    {"bald-5",
     {"bald", 5},
     {{"loop.strategies", "bald"},
      {"loop.seeds", "5"},
      {"train.epochs", "5"},
      {"train.warm", "yes"},
      {"train.initial_models", "2"},
      {"model.bayes", "ensemble"},
      {"model.samples", "2"}},
     1},
    {"acs-fw-6",
     {"acs-fw", 6},
     {{"loop.strategies", "acs-fw"},
      {"loop.seeds", "6"},
      {"train.epochs", "5"},
      {"train.reinit", "no"},
      {"loop.query_seed", "6"},
      {"model.bayes", "variational"},
      {"model.samples", "8"}},
     1},
    {"bald-7",
     {"bald", 7},
     {{"loop.strategies", "bald"},
      {"loop.seeds", "7"},
      {"train.epochs", "2"},
      {"train.reinit", "no"},
      {"model.bayes", "ensemble"},
      {"model.samples", "2"}},
     1},
    {"sparse-greedy-8",
     {"sparse-greedy", 8},
     {{"loop.strategies", "sparse-greedy"},
      {"loop.seeds", "8"},
      {"loop.sparse-greedy.source", "gradient"}, /* also trains ensembles to calibrate */
      {"train.epochs", "20"},
      {"train.warm", "yes"},
      {"train.initial_models", "2"},
      {"model.bayes", "ensemble"},
      {"model.samples", "3"}},
     2},
};
enum {
    PLANS = sizeof plans / sizeof *plans,
    COLLAPSING = sizeof collapsing / sizeof *collapsing
};
enum { WARM_ENSEMBLE = 4, ENSEMBLE = 6 };

/* The first phase reported when a round that was cancelled in `phase` is resumed. */
static const char *resumed_phase(const char *phase) {
    return strcmp(phase, "calibrating") && strcmp(phase, "picking")
               ? phase
               : "computing predictions";
}

static void a_round_cancelled_anywhere_is_resumed_there(void **state) {
    (void)state;
    for (size_t i = 0; i < PLANS + COLLAPSING; i++) {
        const plan *p = i < PLANS ? &plans[i] : &collapsing[i - PLANS];
        char whole[32], cut[32];
        heard h = {0};
        snprintf(whole, sizeof whole, "whole%zu", i);
        assert_int_equal(run_experiment(p, whole, false, &h), SCANT_OK);
        size_t events = size_min(h.events, ROOM);
        assert_true(events > 3 * ROUNDS);
        for (size_t at = 1; at <= events; at++) {
            heard first = {.cancel_at = at}, second = {.cancel_at = 2}, rest = {0};
            snprintf(cut, sizeof cut, "cut%zu-%zu", i, at);
            scant_status status = run_experiment(p, cut, false, &first);
            if (!first.cancelled) break; /* a slow machine reported more events before */
            if (status != SCANT_ECANCELLED) assert_int_equal(first.last_round, ROUNDS);
            run_experiment(p, cut, true, &second);
            /* a round without another cancellation check was finished instead */
            if (second.before == first.last_round && first.begins)
                assert_string_equal(second.first, resumed_phase(first.last));
            else if (first.begins)
                assert_int_equal(second.before, first.last_round + 1);
            assert_int_equal(run_experiment(p, cut, true, &rest), SCANT_OK);
            assert_same(p, cut, whole);
        }
    }
}

/* ---- damaged files ----------------------------------------------------------------- */

static void spoil(const char *path, bool lost) {
    assert_int_equal(unlink(path), 0);
    if (lost) return;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs("none", f) > 0);
    assert_int_equal(fclose(f), 0);
}

static void an_unreadable_file_costs_only_time(void **state) {
    static const struct {
        size_t plan;
        const char *phase, *file;
    } cases[] = {
        {0, "training", "training-1-0-a"},
        {0, "training the query network", "trained-1-0"},
        {0, "training the query network", "training-1-query-a"},
        {0, "computing predictions", "trained-1-query"},
        /* the first member, already loaded, goes back to the last round's weights */
        {ENSEMBLE, "evaluating", "trained-1-1"}};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const plan *p = &plans[cases[i / 2].plan];
        heard h = {0};
        char unspoiled[32];
        snprintf(unspoiled, sizeof unspoiled, "unspoiled%zu", cases[i / 2].plan);
        if (!i || cases[i / 2].plan != cases[(i - 1) / 2].plan)
            assert_int_equal(run_experiment(p, unspoiled, false, &h), SCANT_OK);
        heard first = {.phase = cases[i / 2].phase, .round = 1}, rest = {0};
        const char *path;
        char folder[32];
        snprintf(folder, sizeof folder, "spoiled%zu", i);
        assert_int_equal(run_experiment(p, folder, false, &first), SCANT_ECANCELLED);
        assert_int_equal(count_files(folder, cases[i / 2].file, &path), 1);
        spoil(path, i % 2);
        assert_int_equal(run_experiment(p, folder, true, &rest), SCANT_OK);
        assert_non_null(strstr(rest.said, cases[i / 2].file));
        assert_same(p, folder, unspoiled);
    }
}

/* lost: the unfinished training starts again from the weights that it started from. Every
 * step is reported, because the callback sleeps longer than the interval of reports. */
static void a_second_member_is_resumed_or_starts_again(void **state) {
    const plan *p = &plans[ENSEMBLE];
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(p, "both", false, &h), SCANT_OK);
    for (size_t lost = 0; lost < 2; lost++) {
        heard first = {.pause = 0.11, .cancel_at = 6}, rest = {0};
        const char *folder = lost ? "second1" : "second0", *path;
        assert_int_equal(run_experiment(p, folder, false, &first), SCANT_ECANCELLED);
        kept k = read_kept(p, folder);
        assert_memory_equal(k.state.partial.parts, "ta", 3);
        end_kept(&k);
        assert_int_equal(count_files(folder, "training-0-1", &path), 1);
        if (lost) spoil(path, true);
        assert_int_equal(run_experiment(p, folder, true, &rest), SCANT_OK);
        assert_same(p, folder, "both");
    }
}

/* One file per member, and none of the round before. */
static void members_are_kept_for_the_next_round(void **state) {
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(&plans[WARM_ENSEMBLE], "members", false, &h),
                     SCANT_OK);
    assert_int_equal(count_files("members", ".weights-2", NULL), 2);
    assert_int_equal(count_files("members", ".warm-2", NULL), 2);
    assert_int_equal(count_files("members", ".safetensors", NULL), 4);
}

/* Killed after writing a checkpoint and before the state that refers to it. */
static void a_new_checkpoint_does_not_overwrite_the_current_one(void **state) {
    const plan *p = &plans[1];
    heard h = {0}, first = {.phase = "training", .round = 1}, second = first, rest = {0};
    const char *old, *new;
    (void)state;
    assert_int_equal(run_experiment(p, "unkilled", false, &h), SCANT_OK);
    assert_int_equal(run_experiment(p, "killed", false, &first), SCANT_ECANCELLED);
    assert_int_equal(count_files("killed", "training-1-0", &old), 1);
    const char *json = file_of("killed", p->name, ".json");
    assert_int_equal(link(old, path_of("checkpoint")), 0);
    assert_int_equal(link(json, path_of("json")), 0);
    assert_int_equal(run_experiment(p, "killed", true, &second), SCANT_ECANCELLED);
    assert_int_equal(count_files("killed", "training-1-0", &new), 1);
    assert_string_not_equal(old, new);
    assert_int_equal(rename(path_of("checkpoint"), old), 0);
    assert_int_equal(rename(path_of("json"), json), 0);
    assert_int_equal(run_experiment(p, "killed", true, &rest), SCANT_OK);
    assert_same(p, "killed", "unkilled");
}

/* ---- time -------------------------------------------------------------------------- */

static void seconds_add_up_and_none_is_negative(void **state) {
    const plan *p = &plans[0];
    heard first = {.phase = "evaluating"}, second = first, rest = {0};
    char text[1 << 14] = "";
    (void)state;
    assert_int_equal(run_experiment(p, "added", false, &first), SCANT_ECANCELLED);
    kept a = read_kept(p, "added");
    assert_true(a.state.partial.train_seconds > 0);
    assert_true(a.state.partial.test_seconds > 0); /* there were evaluations */
    assert_int_equal(run_experiment(p, "added", true, &second), SCANT_ECANCELLED);
    kept b = read_kept(p, "added");
    assert_true(b.state.partial.train_seconds > a.state.partial.train_seconds);
    assert_true(b.state.partial.test_seconds > a.state.partial.test_seconds);
    assert_int_equal(run_experiment(p, "added", true, &rest), SCANT_OK);
    kept c = read_kept(p, "added");
    assert_true(c.state.points[0].train_seconds > b.state.partial.train_seconds);
    FILE *log = fopen(path_of("added/log.jsonl"), "r");
    assert_non_null(log);
    assert_true(fread(text, 1, sizeof text - 1, log) > 0);
    fclose(log);
    assert_non_null(strstr(text, "\"judge_seconds\":"));
    assert_null(strstr(text, "_seconds\":-"));
    end_kept(&a);
    end_kept(&b);
    end_kept(&c);
}

/* Time in the caller's callback is not counted as work: work and pauses together fit into
 * the elapsed time. */
static void time_in_the_callers_callback_is_not_work(void **state) {
    const plan *p = &plans[0];
    heard h = {.pause = 0.03};
    double seconds = 0, begun = scant__now();
    (void)state;
    assert_int_equal(run_experiment(p, "slow", false, &h), SCANT_OK);
    double whole = scant__now() - begun, paused = h.pause * (double)h.events;
    kept k = read_kept(p, "slow");
    for (size_t i = 0; i <= ROUNDS; i++)
        seconds += k.state.points[i].train_seconds + k.state.points[i].select_seconds;
    if (!(seconds > 0 && seconds + paused <= whole))
        fail_msg("%g s of work and %g s of pauses in %g s", seconds, paused, whole);
    end_kept(&k);
}

static double test_seconds_of(const char *folder, const char *epochs) {
    const plan p = {
        "random-0",
        {"random", 0},
        {{"loop.strategies", "random"}, {"loop.seeds", "0"}, {"train.epochs", epochs}},
        1};
    heard h = {.phase = "computing predictions"};
    run_experiment(&p, folder, false, &h);
    kept k = read_kept(&p, folder);
    assert_true(k.state.partial.on_disk);
    double seconds = k.state.partial.test_seconds;
    end_kept(&k);
    return seconds;
}

/* 4 epochs have no evaluation in between; 1000 have 240. */
static void evaluations_during_training_count_as_test_time(void **state) {
    double one = INFINITY;
    (void)state;
    for (int i = 0; i < 5; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, "blind%d", i);
        one = fmin(one, test_seconds_of(folder, "4"));
    }
    double many = test_seconds_of("looking", "1000");
    if (!(many > 10 * one)) fail_msg("one evaluation %g s, 241 of them %g s", one, many);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_cancelled_anywhere_is_resumed_there),
        cmocka_unit_test(an_unreadable_file_costs_only_time),
        cmocka_unit_test(a_second_member_is_resumed_or_starts_again),
        cmocka_unit_test(members_are_kept_for_the_next_round),
        cmocka_unit_test(a_new_checkpoint_does_not_overwrite_the_current_one),
        cmocka_unit_test(seconds_add_up_and_none_is_negative),
        cmocka_unit_test(time_in_the_callers_callback_is_not_work),
        cmocka_unit_test(evaluations_during_training_count_as_test_time),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
