/* SPDX-License-Identifier: Apache-2.0
 *
 * Trainings that have collapsed are repeated once, and a repetition that is cancelled is
 * resumed.
 */
#include "runs.h"

static void a_collapsed_training_is_repeated_once_unless_told_otherwise(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        plan p = collapsing[i / 2];
        bool retry = i % 2 == 0;
        heard h = {0};
        char folder[32];
        snprintf(folder, sizeof folder, "collapsed%zu", i);
        add_setting(&p, "loop.retry_collapsed", retry ? "yes" : "no");
        assert_int_equal(run_experiment(&p, folder, false, &h), SCANT_OK);
        kept k = read_kept(&p, folder);
        size_t repeated = 0;
        for (size_t round = 0; round <= ROUNDS; round++)
            repeated += k.state.healths[round].trainings == 2;
        assert_true(retry ? repeated > 0 : repeated == 0);
        assert_true((strstr(h.said, "repeated once") != NULL) == retry);
        end_kept(&k);
    }
}

/* Members 0 and 2 of 3 collapse. Every step is reported, because the callback sleeps
 * longer than the interval of reports. */
static void a_repetition_is_not_lost_by_a_cancellation(void **state) {
    enum { STEPS = 4 };
    static const size_t cancelled_at[] = {
        STEPS + 2,     /* the first member has collapsed, the second is in training */
        3 * STEPS,     /* the last step of the first trainings */
        3 * STEPS + 2, /* the first repetition */
        4 * STEPS + 2, /* the second one */
    };
    static const char *const parts[] = {"ca.", "ctc", "ctc", "ttc"};
    const plan p = {"bald-11",
                    {"bald", 11},
                    {{"loop.strategies", "bald"},
                     {"loop.seeds", "11"},
                     {"train.epochs", "4"},
                     {"train.batch", "8"},
                     {"model.bayes", "ensemble"},
                     {"model.samples", "3"}},
                    1};
    heard h = {0};
    (void)state;
    plant(0, 11, 0);
    plant(1, 11, 2);
    assert_int_equal(run_experiment(&p, "repeated", false, &h), SCANT_OK);
    for (size_t i = 0; i < sizeof cancelled_at / sizeof *cancelled_at; i++) {
        heard first = {.pause = 0.11, .cancel_at = cancelled_at[i]}, rest = {0};
        char folder[32];
        snprintf(folder, sizeof folder, "repeated%zu", i);
        assert_int_equal(run_experiment(&p, folder, false, &first), SCANT_ECANCELLED);
        kept k = read_kept(&p, folder);
        assert_memory_equal(k.state.partial.parts, parts[i], 4);
        end_kept(&k);
        assert_int_equal(run_experiment(&p, folder, true, &rest), SCANT_OK);
        assert_same(&p, folder, "repeated");
    }
    kept k = read_kept(&p, "repeated");
    assert_int_equal(k.state.healths[0].trainings, 2);
    assert_int_equal(k.state.healths[1].trainings, 1);
    end_kept(&k);
    plant_nothing();
}

/* The first training ends after one or two of its four steps. */
static void a_repetition_after_a_divergence_can_be_cancelled(void **state) {
    const plan p = {"random-15",
                    {"random", 15},
                    {{"loop.strategies", "random"},
                     {"loop.seeds", "15"},
                     {"train.epochs", "4"},
                     {"train.batch", "8"}},
                    1};
    heard h = {0}, first = {.pause = 0.11, .cancel_at = 4}, rest = {0};
    (void)state;
    planted.diverges[0] = loop_seed(15, 0, 0, LOOP_SEED_TRAINING);
    assert_int_equal(run_experiment(&p, "far", false, &h), SCANT_OK);
    assert_int_equal(run_experiment(&p, "far-cut", false, &first), SCANT_ECANCELLED);
    kept k = read_kept(&p, "far-cut");
    assert_memory_equal(k.state.partial.parts, "c", 2);
    assert_true(k.state.partial.healths->signs & SCANT_SIGN_DIVERGED);
    end_kept(&k);
    assert_int_equal(run_experiment(&p, "far-cut", true, &rest), SCANT_OK);
    assert_same(&p, "far-cut", "far");
    plant_nothing();
}

/* The second member diverges, so the run fails: the first is not repeated. */
static void a_run_that_fails_promises_no_repetition(void **state) {
    const plan p = {"bald-17",
                    {"bald", 17},
                    {{"loop.strategies", "bald"},
                     {"loop.seeds", "17"},
                     {"train.epochs", "4"},
                     {"model.bayes", "ensemble"},
                     {"model.samples", "2"}},
                    1};
    heard h = {.may_fail = true};
    (void)state;
    plant(0, 17, 0);
    planted.diverges[0] = loop_seed(17, 0, 1, LOOP_SEED_TRAINING);
    assert_int_equal(run_experiment(&p, "fails", false, &h), SCANT_EINPUT);
    assert_null(strstr(h.said, "repeated"));
    plant_nothing();
}

static void a_norm_that_overflows_is_unknown(void **state) {
    (void)state;
    loop_health h = loop_health_of(
        &(scant_train_state){.gradient_norm = INFINITY, .dead = 0.5, .signs = 1}, 2);
    assert_true(h.gradient_norm == -1 && h.dead == 0.5 && h.signs == 1);
    h = loop_health_of(&(scant_train_state){.gradient_norm = -1}, 1);
    assert_true(h.gradient_norm == -1 && h.dead == -1);
}

/* The repetition leaves its initial weights as they are, so all its evaluations equal the
 * last one. */
static void the_best_accuracy_is_that_of_the_second_network(void **state) {
    const plan p = {
        "random-14",
        {"random", 14},
        {{"loop.strategies", "random"}, {"loop.seeds", "14"}, {"train.epochs", "20"}},
        1};
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(&p, "best-first", false, &h), SCANT_OK);
    plant(0, 14, 0);
    planted.still = loop_seed(14, 0, 0, LOOP_SEED_RETRY_TRAINING);
    assert_int_equal(run_experiment(&p, "best-second", false, &h), SCANT_OK);
    plant_nothing();
    kept first = read_kept(&p, "best-first"), second = read_kept(&p, "best-second");
    const loop_point *point = second.state.points;
    assert_true(point->accuracy < first.state.points->accuracy);
    assert_true(point->best == point->accuracy);
    end_kept(&first);
    end_kept(&second);
}

/* The query network's collapse is repeated, and counts in the round's health, also if the
 * round is cancelled later. */
static void a_collapsed_query_network_is_repeated(void **state) {
    static const char *const phases[] = {"training the query network",
                                         "computing predictions"};
    const plan p = {"margin-13",
                    {"margin", 13},
                    {{"loop.strategies", "margin"},
                     {"loop.seeds", "13"},
                     {"train.epochs", "6"},
                     {"loop.query_seed", "13"}},
                    1};
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(&p, "query-sound", false, &h), SCANT_OK);
    planted.collapsed[0] = loop_seed(13, 0, LOOP_QUERY, LOOP_SEED_TRAINING);
    planted.collapsed[1] = loop_seed(13, 1, LOOP_QUERY, LOOP_SEED_TRAINING);
    planted.collapsed[2] = loop_seed(13, 1, LOOP_QUERY, LOOP_SEED_RETRY_TRAINING);
    assert_int_equal(run_experiment(&p, "query", false, &h), SCANT_OK);
    assert_non_null(strstr(h.said, "repeated once"));
    kept sound = read_kept(&p, "query-sound"), k = read_kept(&p, "query");
    assert_memory_not_equal(k.state.picks + 8, sound.state.picks + 8,
                            4 * sizeof *k.state.picks);
    for (size_t round = 0; round <= ROUNDS; round++) {
        assert_int_equal(k.state.healths[round].trainings, round < 2 ? 2 : 1);
        assert_int_equal(k.state.healths[round].signs, round == 1 ? SCANT_SIGN_LOSS : 0);
    }
    end_kept(&sound);
    end_kept(&k);
    for (size_t i = 0; i < 4; i++) {
        heard first = {.phase = phases[i / 2], .round = i % 2}, rest = {0};
        char folder[32];
        snprintf(folder, sizeof folder, "query%zu", i);
        assert_int_equal(run_experiment(&p, folder, false, &first), SCANT_ECANCELLED);
        assert_int_equal(run_experiment(&p, folder, true, &rest), SCANT_OK);
        assert_same(&p, folder, "query");
    }
    plant_nothing();
}

/* From round 1 on there are no other first weights. */
static void a_training_that_continues_is_not_repeated(void **state) {
    static const scant_setting ways[] = {{"train.reinit", "no"}, {"train.warm", "yes"}};
    (void)state;
    plant(0, 9, 0);
    plant(1, 9, 1);
    for (size_t i = 0; i < 2; i++) {
        plan p = collapsing[0];
        heard h = {0};
        const char *folder = i ? "warm" : "continued";
        add_setting(&p, ways[i].key, ways[i].value);
        assert_int_equal(run_experiment(&p, folder, false, &h), SCANT_OK);
        kept k = read_kept(&p, folder);
        assert_true(k.state.healths[1].signs & SCANT_SIGNS_COLLAPSED);
        for (size_t round = 0; round <= ROUNDS; round++)
            assert_int_equal(k.state.healths[round].trainings, round ? 1 : 2);
        end_kept(&k);
    }
    plant_nothing();
}

/* A repetition draws new weights; a network that continues must not lose its own. */
static void a_state_cannot_demand_a_repetition_that_is_off(void **state) {
    const plan p = {
        "random-16",
        {"random", 16},
        {{"loop.strategies", "random"}, {"loop.seeds", "16"}, {"train.reinit", "no"}},
        1};
    heard h = {0}, first = {.phase = "evaluating", .round = 1}, rest = {0};
    (void)state;
    assert_int_equal(run_experiment(&p, "continues", false, &h), SCANT_OK);
    assert_int_equal(run_experiment(&p, "demands", false, &first), SCANT_ECANCELLED);
    kept k = read_kept(&p, "demands");
    assert_memory_equal(k.state.partial.parts, "t", 2);
    char *parts = scant__arena_strdup(&k.arena, "c");
    assert_non_null(parts);
    k.state.partial.parts = parts;
    assert_int_equal(
        loop_state_write(k.ctx, file_of("demands", p.name, ".json"), p.run, &k.state),
        SCANT_OK);
    end_kept(&k);
    assert_int_equal(run_experiment(&p, "demands", true, &rest), SCANT_OK);
    assert_same(&p, "demands", "continues");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collapsed_training_is_repeated_once_unless_told_otherwise),
        cmocka_unit_test(a_repetition_is_not_lost_by_a_cancellation),
        cmocka_unit_test(a_repetition_after_a_divergence_can_be_cancelled),
        cmocka_unit_test(a_run_that_fails_promises_no_repetition),
        cmocka_unit_test(a_norm_that_overflows_is_unknown),
        cmocka_unit_test(the_best_accuracy_is_that_of_the_second_network),
        cmocka_unit_test(a_collapsed_query_network_is_repeated),
        cmocka_unit_test(a_training_that_continues_is_not_repeated),
        cmocka_unit_test(a_state_cannot_demand_a_repetition_that_is_off),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
