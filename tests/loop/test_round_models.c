/* SPDX-License-Identifier: Apache-2.0
 *
 * A round's networks: their seeds, which of several is kept, their steps; runs that end
 * early.
 */
#include "runs.h"

static void the_query_network_differs_even_with_the_same_seed(void **state) {
    plan p = {"margin-5",
              {"margin", 5},
              {{"loop.strategies", "margin"}, {"loop.seeds", "5"}, {"train.epochs", "6"}},
              1};
    heard h = {0};
    (void)state;
    assert_int_equal(run_experiment(&p, "own", false, &h), SCANT_OK);
    p.more[3] = (scant_setting){"loop.query_seed", "5"};
    assert_int_equal(run_experiment(&p, "other", false, &h), SCANT_OK);
    kept a = read_kept(&p, "own"), b = read_kept(&p, "other");
    size_t n = loop_state_picks(&a.state);
    assert_true(a.state.points[0].loss == b.state.points[0].loss);
    assert_memory_equal(a.state.picks, b.state.picks, 8 * sizeof *a.state.picks);
    assert_memory_not_equal(a.state.picks, b.state.picks, n * sizeof *a.state.picks);
    end_kept(&a);
    end_kept(&b);
}

/* The validation set chooses among five initial models; the test set would often choose
 * another. */
static void the_validation_set_chooses_the_initial_model(void **state) {
    size_t differ = 0;
    (void)state;
    for (unsigned seed = 0; seed < 6; seed++) {
        char name[32], number[8], folder[32];
        snprintf(name, sizeof name, "badge-%u", seed);
        snprintf(number, sizeof number, "%u", seed);
        snprintf(folder, sizeof folder, "valid%u", seed);
        const plan p = {name,
                        {"badge", seed},
                        {{"loop.strategies", "badge"},
                         {"loop.seeds", number},
                         {"train.epochs", "3"},
                         {"train.initial_models", "5"},
                         {"data.validation", "37"}},
                        1};
        heard first = {.phase = "computing predictions"}, rest = {0};
        loop_test_result by_test[5];
        assert_int_equal(run_experiment(&p, folder, false, &first), SCANT_ECANCELLED);
        kept k = read_kept(&p, folder);
        const loop_partial *partial = &k.state.partial;
        assert_int_equal(partial->n_tested, 5);
        for (size_t i = 0; i < 5; i++) {
            double right = partial->results[i].score * 37;
            assert_true(fabs(right - round(right)) < 1e-9);
            by_test[i] = partial->results[i];
            by_test[i].score = by_test[i].accuracy;
        }
        size_t chosen = loop_median(partial->results, 5);
        differ += partial->results[chosen].loss !=
                  partial->results[loop_median(by_test, 5)].loss;
        assert_int_equal(run_experiment(&p, folder, true, &rest), SCANT_OK);
        kept done = read_kept(&p, folder);
        assert_true(done.state.points[0].loss == partial->results[chosen].loss);
        end_kept(&k);
        end_kept(&done);
    }
    assert_true(differ > 0);
}

static void the_median_is_the_lower_one_of_two(void **state) {
    const loop_test_result v[] = {
        {.score = 4}, {.score = 1}, {.score = 3}, {.score = 3}, {.score = 9}};
    (void)state;
    assert_int_equal(loop_median(v, 1), 0);
    assert_int_equal(loop_median(v, 2), 1);
    assert_int_equal(loop_median(v, 3), 2);
    assert_int_equal(loop_median(v, 4), 2);
    assert_int_equal(loop_median(v, 5), 3);
}

static void the_first_best_model_is_kept_on_request(void **state) {
    const loop_test_result v[] = {
        {.score = -4}, {.score = 1}, {.score = 0}, {.score = 1}};
    const loop_settings best = {.initial_keep = "best"},
                        median = {.initial_keep = "median"};
    (void)state;
    assert_int_equal(loop_kept(&best, v, 1), 0);
    assert_int_equal(loop_kept(&best, v, 4), 1);
    assert_int_equal(loop_kept(&median, v, 4), loop_median(v, 4));
}

static void short_trainings_have_their_share_of_steps(void **state) {
    const size_t most = 1000000000000, epochs = (size_t)1 << 30;
    (void)state;
    assert_int_equal(loop_steps(0, 3, 7), 0);
    assert_int_equal(loop_steps(100, 10, 40), 25);
    assert_int_equal(loop_steps(10, 3, 7), 4); /* 30 / 7 */
    assert_int_equal(loop_steps(1, 1, 1000), 1);
    assert_int_equal(loop_steps(most, epochs, epochs), most);
    assert_int_equal(loop_steps(most, epochs / 4, epochs), most / 4);
}

static void a_strategy_that_picks_nothing_is_reported(void **state) {
    static const scant_strategy_info info = {.name = "bss"};
    scant_experiment e = {.set = {.rounds = 9}};
    loop_job job = {.e = &e};
    size_t ends[] = {8, 12};
    loop_run run = {.job = &job,
                    .strategy = &(loop_strategy){.info = &info},
                    .split = {.n_pool = 50},
                    .state = {.ends = ends, .n_batches = 2, .n_points = 2, .over = true}};
    heard h = {0};
    scant_ctx *ctx;
    (void)state;
    scant_ctx_opts opts = {.threads = 1, .user = &h, .log = listen};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    loop_warn_ended(&run, ctx);
    assert_string_equal(h.said, "bss, seed 0: it picked none of the 38 samples that are "
                                "left after round 1 of 9; the run ends there\n");
    *h.said = 0;
    run.split.n_pool = 12;
    loop_warn_ended(&run, ctx);
    assert_string_equal(h.said,
                        "bss, seed 0: the pool is used up after round 1 of 9; the "
                        "run ends there\n");
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_query_network_differs_even_with_the_same_seed),
        cmocka_unit_test(the_validation_set_chooses_the_initial_model),
        cmocka_unit_test(the_median_is_the_lower_one_of_two),
        cmocka_unit_test(the_first_best_model_is_kept_on_request),
        cmocka_unit_test(short_trainings_have_their_share_of_steps),
        cmocka_unit_test(a_strategy_that_picks_nothing_is_reported),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
