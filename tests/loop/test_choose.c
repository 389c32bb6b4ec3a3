/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration by cross-fitting: its trainings are shorter than the round's, and may
 * collapse.
 */
#include "../data/support.h"
#include "planted.h"

#include "loop/crossfit.h"
#include "loop/loop.h"

enum { SETTINGS = 20, SEED = 3, INITIAL = 40 };

static const scant_setting base[] = {{"data.train", "moons"},
                                     {"data.test_size", "50"},
                                     {"model.name", "mlp"},
                                     {"model.width", "8"},
                                     {"train.lr", "0.1"},
                                     {"train.batch", "8"},
                                     {"train.epochs", "2"},
                                     {"loop.seeds", "3"},
                                     {"loop.strategies", "sparse-greedy"},
                                     {"loop.initial", "40"},
                                     {"loop.batch", "4"},
                                     {"loop.rounds", "1"}};
enum { BASE = sizeof base / sizeof *base };

static char said[4096];

static void listen(void *user, scant_log_level level, const char *line) {
    size_t at = strlen(said);
    (void)user;
    (void)level;
    snprintf(said + at, sizeof said - at, "%s\n", line);
}

/* Runs the experiment with other values for some keys, and more keys. Returns the
 * temperature of round 0. */
static double temperature_of(const char *folder, const scant_setting *more,
                             size_t n_more) {
    scant_setting all[SETTINGS];
    size_t n = BASE;
    char path[80];
    scant_ctx *ctx;
    scant_experiment *e;
    loop_state state;
    memcpy(all, base, sizeof base);
    for (size_t i = 0; i < n_more; i++) {
        size_t at = 0;
        while (at < n && strcmp(all[at].key, more[i].key) != 0) at++;
        all[at] = more[i];
        n = size_max(n, at + 1);
    }
    *said = 0;
    scant_ctx_opts opts = {.threads = 1, .log = listen};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_int_equal(scant_experiment_open(ctx, NULL, all, n, &e), SCANT_OK);
    if (scant_experiment_run(e, &(scant_run_opts){.out = path_of(folder)}) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    scant_experiment_free(e);
    scant__arena arena = {.ctx = ctx};
    snprintf(path, sizeof path, "%s/runs/sparse-greedy-%d.json", folder, SEED);
    assert_int_equal(loop_state_init(&arena, 1, 1000, &state), SCANT_OK);
    assert_int_equal(loop_state_read(ctx, path_of(path),
                                     (loop_run_name){"sparse-greedy", SEED}, 1, 1000,
                                     &arena, &state),
                     SCANT_OK);
    double temperature = state.calibrations[0].when[LOOP_AFTER].temperature;
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
    return temperature;
}

/* The seed of a fold's first training. */
static uint64_t fold_seed(size_t fold) {
    return loop_seed(SEED, 0, LOOP_FOLDS + fold, LOOP_SEED_FOLDS);
}

/* ---- the warm-up ------------------------------------------------------------------- */

/* The round has 10 steps, a fold 8. */
static void a_warm_up_that_fits_the_round_fits_its_folds(void **state) {
    static const scant_setting more[] = {{"train.warmup", "10"}};
    (void)state;
    planted.watched = fold_seed(0);
    assert_true(temperature_of("warmup", more, 1) > 0);
    assert_int_equal(planted.warmup, 8);
    plant_nothing();
}

/* An epoch is a pass over the 250 samples of the pool, 8 steps of 32. */
static void the_warm_up_of_a_method_is_shortened_like_its_training(void **state) {
    static const scant_setting more[] = {
        {"train.method", "fixmatch"}, {"train.fixmatch_mu", "4"},
        {"train.lr", "0.1"},          {"data.pool", "250"},
        {"train.epochs", "40"},       {"train.warmup", "240"}};
    (void)state;
    planted.watched = fold_seed(0);
    assert_true(temperature_of("method", more, 6) > 0);
    assert_int_equal(planted.warmup, 60); /* a quarter of the epochs */
    plant_nothing();
}

/* ---- collapses --------------------------------------------------------------------- */

static uint64_t repeated_seed(size_t fold) {
    return loop_seed(fold_seed(fold), 0, 0, LOOP_SEED_RETRY_TRAINING);
}

static void a_collapsed_fold_is_repeated_else_the_temperature_is_1(void **state) {
    static const scant_setting more[] = {{"train.epochs", "10"},
                                         {"loop.retry_collapsed", "no"}};
    (void)state;
    double sound = temperature_of("sound", more, 1);
    assert_true(sound > 0 && sound != 1);
    planted.collapsed[0] = fold_seed(1);
    double repeated = temperature_of("repeated", more, 1);
    assert_true(repeated > 0 && repeated != 1 && repeated != sound);
    assert_string_equal(said, "");
    assert_true(temperature_of("once", more, 2) == 1);
    assert_non_null(strstr(said, "has collapsed: their temperature is 1"));
    planted.collapsed[1] = repeated_seed(1);
    assert_true(temperature_of("twice", more, 1) == 1);
    assert_non_null(strstr(said, "and so has its repetition: their temperature is 1"));
    plant_nothing();
}

/* A fold's training diverges, the round's does not. */
static void a_fold_that_diverges_does_not_end_the_run(void **state) {
    static const scant_setting more[] = {{"train.epochs", "10"}};
    (void)state;
    planted.diverges[0] = fold_seed(2);
    assert_true(temperature_of("diverged", more, 1) != 1);
    planted.diverges[1] = repeated_seed(2);
    assert_true(temperature_of("diverged-twice", more, 1) == 1);
    plant_nothing();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_warm_up_that_fits_the_round_fits_its_folds),
        cmocka_unit_test(the_warm_up_of_a_method_is_shortened_like_its_training),
        cmocka_unit_test(a_collapsed_fold_is_repeated_else_the_temperature_is_1),
        cmocka_unit_test(a_fold_that_diverges_does_not_end_the_run),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
