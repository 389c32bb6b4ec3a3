/* SPDX-License-Identifier: Apache-2.0
 *
 * The file with the state of a run: it is read as it was written, and a damaged one is
 * refused.
 */
#include <math.h>

#include "../data/support.h"

#include "loop/loop.h"
#include "scant/train.h"

static const loop_run_name name = {"badge", 7};

static scant_status read_state(scant_ctx *ctx, const char *text, loop_state *s,
                               scant__arena *arena) {
    assert_int_equal(loop_state_init(arena, 3, 20, s), SCANT_OK);
    return loop_state_parse(ctx, path_of("state.json"), text, strlen(text), name, 3, 100,
                            arena, s);
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
    a.strategy_state = scant__arena_strdup(&arena, "{\"x\": \"y\\n\"}\n");
    a.partial.on_disk = true, a.partial.round = 1, a.partial.best = 0.25;
    a.partial.query = LOOP_NOT_BEGUN;
    scant_calibration *before = &a.calibrations[0].when[LOOP_BEFORE];
    *before = (scant_calibration){.temperature = 1, .error = 1.0 / 3};
    before->bins[0] = (scant_calibration_bin){1, 0.05, 0};
    before->bins[14] = (scant_calibration_bin){30, 1.0 / 1.001, 29.0 / 30};
    a.theories[0].figures[LOOP_LAMBDA] = 1.0 / 3;
    a.theories[0].figures[LOOP_RATIO] = -1e300;
    a.theories[0].figures[LOOP_EPOCHS] = 12;
    a.healths[0] =
        (loop_health){2, SCANT_SIGN_DEAD | SCANT_SIGN_DIVERGED, 1.0 / 3, 1e-30};
    assert_int_equal(loop_state_write(ctx, path_of("s.json"), name, &a), SCANT_OK);
    assert_int_equal(loop_state_init(&arena, 3, 20, &b), SCANT_OK);
    assert_int_equal(loop_state_read(ctx, path_of("s.json"), name, 3, 100, &arena, &b),
                     SCANT_OK);
    assert_int_equal(b.n_points, 1);
    assert_int_equal(b.n_batches, 2);
    assert_memory_equal(a.picks, b.picks, sizeof picks);
    assert_memory_equal(a.points, b.points, sizeof *a.points);
    assert_memory_equal(a.calibrations, b.calibrations, sizeof *a.calibrations);
    for (size_t i = 0; i < LOOP_FIGURES; i++) { /* NaN: not known */
        double was = a.theories[0].figures[i], is = b.theories[0].figures[i];
        assert_true(was == is || (isnan(was) && isnan(is)));
    }
    assert_true(isnan(b.theories[0].figures[LOOP_MMD]));
    assert_memory_equal(a.healths, b.healths, sizeof *a.healths);
    assert_string_equal(a.strategy_state, b.strategy_state);
    assert_true(b.partial.on_disk && b.partial.round == 1 && b.partial.best == 0.25);
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

#define HEAD                                                                             \
    "{\"scant run\": 5, \"strategy\": \"badge\", \"seed\": \"7\", "                      \
    "\"samples\": \"0123456789abcdef\", "
#define NO_THEORY                                                                        \
    ", \"theory\": [[null,null,null,null,null,null,null,null,null,null,null]]"
#define HEALTHY ", \"trainings\": [[1, \"\", 0, 0.5]]}"
#define UNKNOWN NO_THEORY HEALTHY
#define TAIL ", \"calibration\": [[null, null]]" UNKNOWN
#define ROUND                                                                            \
    HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]],[]], \"calibration\": "
#define THEORY(list) ROUND "[[null, null]], \"theory\": " list HEALTHY
#define TRAININGS(list) ROUND "[[null, null]]" NO_THEORY ", \"trainings\": " list "}"

static void a_damaged_state_is_refused(void **state) {
    static const char *const wrong[] = {
        "",
        "{}",
        "[1]",
        "{\"scant run\": \"2\"}",
        "{\"scant run\": 5, \"strategy\": \"npc\", \"seed\": \"7\"}",
        "{\"scant run\": 5, \"strategy\": \"badge\", \"seed\": 7}",
        "{\"scant run\": 5, \"strategy\": \"badge\", \"seed\": \"7\", \"rounds\": [], "
        "\"picks\": [[]], \"calibration\": [], \"theory\": [], "
        "\"trainings\": []}", /* no samples */
        HEAD "\"rounds\": 3, \"picks\": []" TAIL,
        HEAD "\"rounds\": [], \"picks\": []" TAIL,
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[100,1,0]],[]]" TAIL,
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[-1,1,0]],[]]" TAIL,
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]],[[3,1,0]]]" TAIL,
        HEAD "\"rounds\": [[2,0,0,0,0,0]], \"picks\": [[[3,1,0]],[[4,1,0]]]" TAIL,
        HEAD "\"rounds\": [[1,0,0,0,0]], \"picks\": [[[3,1,0]],[[4,1,0]]]" TAIL,
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1]],[[4,1,0]]]" TAIL,
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]]]" TAIL,
        HEAD
        "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]],[]], \"partial\": 3" TAIL,
        HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,\"inf\",0]],[]]" TAIL,
        HEAD "\"rounds\": [], \"picks\": [], \"over\": true" TAIL,
        THEORY("3"),
        THEORY("[]"), /* one per round */
        THEORY("[null]"),
        THEORY("[[1, 2, 3]]"),
        THEORY("[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, \"inf\"]]"),
        THEORY("[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]]"),
        TRAININGS("3"),
        TRAININGS("[]"), /* one per round */
        TRAININGS("[null]"),
        TRAININGS("[[1, \"\", 0]]"),
        TRAININGS("[[3, \"\", 0, 1]]"), /* at most two */
        TRAININGS("[[1, 7, 0, 1]]"),
        TRAININGS("[[1, \"\", 1.5, 1]]"), /* a share */
        TRAININGS("[[1, \"\", 0, -2]]"),
        ROUND "[[null, null]]" NO_THEORY "}",
        ROUND "3" UNKNOWN,
        ROUND "[]" UNKNOWN, /* one per round */
        ROUND "[[null, null], [null, null]]" UNKNOWN,
        ROUND "[null]" UNKNOWN,
        ROUND "[[null]]" UNKNOWN,
        ROUND "[[[1, 0.5], null]]" UNKNOWN,
        ROUND "[[[0, 0.5, []], null]]" UNKNOWN, /* the temperature */
        ROUND "[[[1, 1.5, []], null]]" UNKNOWN, /* the error */
        ROUND "[[[1, 0.5, 3], null]]" UNKNOWN,
        ROUND "[[null, [1, 0.5, [[0, 1, 0.5, 0.5]]]]]" UNKNOWN, /* bins are 1 to 15 */
        ROUND "[[null, [1, 0.5, [[16, 1, 0.5, 0.5]]]]]" UNKNOWN,
        ROUND
        "[[null, [1, 0.5, [[1, 0, 0.5, 0.5]]]]]" UNKNOWN, /* a bin without samples */
        ROUND "[[null, [1, 0.5, [[1, 1, 1.5, 0.5]]]]]" UNKNOWN,
        ROUND "[[null, [1, 0.5, [[1, 1, 0.5, -1]]]]]" UNKNOWN,
        ROUND "[[null, [1, 0.5, [[1, 1, 0.5]]]]]" UNKNOWN,
        ROUND
        "[[null, [1, 0.5, [[1, 1, 0.5, 0.5], [1, 1, 0.5, 0.5]]]]]" UNKNOWN, /* twice */
    };
    scant_ctx *ctx = ctx_threads(1);
    scant__arena arena;
    loop_state s;
    (void)state;
    scant__arena_init(&arena, ctx);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (read_state(ctx, wrong[i], &s, &arena) != SCANT_EINPUT)
            fail_msg("%s was accepted", wrong[i]);
        assert_says(ctx, path_of("state.json"), "not a valid state");
    }
    assert_int_equal(
        read_state(ctx,
                   HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]],[]]" TAIL, &s,
                   &arena),
        SCANT_OK);
    assert_int_equal(read_state(ctx,
                                ROUND "[[[1, 0.5, [[15, 9, 1, 0.5]]], null]]" UNKNOWN, &s,
                                &arena),
                     SCANT_OK);
    assert_int_equal(s.calibrations->when[LOOP_BEFORE].bins[14].count, 9);
    assert_true(isnan(s.theories->figures[LOOP_LAMBDA]));
    assert_int_equal(
        read_state(ctx, THEORY("[[1, 2, 3, null, 5, 6, 7, 8, 9, 10, 11]]"), &s, &arena),
        SCANT_OK);
    assert_true(isnan(s.theories->figures[LOOP_DYNAMICS]));
    assert_true(s.theories->figures[LOOP_LR_ADVICE] == 11);
    assert_int_equal(
        read_state(ctx, TRAININGS("[[2, \"loss few-classes\", 0.25, -1]]"), &s, &arena),
        SCANT_OK);
    assert_int_equal(s.healths->trainings, 2);
    assert_int_equal(s.healths->signs, SCANT_SIGN_LOSS | SCANT_SIGN_CLASSES);
    assert_true(s.healths->dead == 0.25 && s.healths->gradient_norm == -1);
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

/* A pick's index, an accuracy, a seed: whatever the digit belongs to. */
static void a_state_with_a_changed_digit_is_refused(void **state) {
    static unsigned char bytes[4096];
    const loop_pick picks[] = {{5, 1, 0}, {99, 0.1, -1e300}, {7, 2, 1.0 / 3}};
    scant_ctx *ctx = ctx_threads(1);
    scant__arena arena;
    loop_state s;
    size_t changes = 0;
    (void)state;
    scant__arena_init(&arena, ctx);
    assert_int_equal(loop_state_init(&arena, 3, 20, &s), SCANT_OK);
    loop_state_add(&s, picks, 1);
    loop_state_add(&s, picks + 1, 2);
    s.points[s.n_points++] = (loop_point){1, 0.7, 0.3, 0.8, 3, 4};
    assert_int_equal(loop_state_write(ctx, path_of("s.json"), name, &s), SCANT_OK);
    FILE *file = fopen(path_of("s.json"), "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 100 && size < sizeof bytes);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] < '0' || bytes[i] > '9') continue;
        unsigned char was = bytes[i];
        bytes[i] = (unsigned char)('0' + (was - '0' + 3) % 10);
        put("s.json", bytes, size);
        assert_int_equal(loop_state_init(&arena, 3, 20, &s), SCANT_OK);
        if (loop_state_read(ctx, path_of("s.json"), name, 3, 100, &arena, &s) !=
            SCANT_EINPUT)
            fail_msg("byte %zu of %zu was changed", i, size);
        bytes[i] = was;
        changes++;
    }
    assert_true(changes > 40);
    put("s.json", bytes, size);
    assert_int_equal(loop_state_init(&arena, 3, 20, &s), SCANT_OK);
    assert_int_equal(loop_state_read(ctx, path_of("s.json"), name, 3, 100, &arena, &s),
                     SCANT_OK);
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

static void a_state_of_another_version_is_refused(void **state) {
    static const char *const others[] = {"{\"scant run\": 4}", "{\"scant run\": 6}"};
    scant_ctx *ctx = ctx_threads(1);
    scant__arena arena;
    loop_state s;
    (void)state;
    scant__arena_init(&arena, ctx);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(read_state(ctx, others[i], &s, &arena), SCANT_EINPUT);
        assert_says(ctx, path_of("state.json"), "another version");
    }
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

/* ---- a round that is cancelled ---- */

static void a_cancelled_round_is_read_as_it_was_written(void **state) {
    const double inf = (double)INFINITY;
    loop_test_result results[] = {
        {.accuracy = 0.5, .loss = 1.0 / 3, .best = 0.75, .score = 0.1, .horizon = 7},
        {.accuracy = 0.25, .loss = 2, .best = 0.25, .score = inf}};
    results[1].calibration.when[LOOP_AFTER] = (scant_calibration){
        .temperature = 1.0 / 3, .error = 0.125, .bins = {{7, 1.0 / 30, 0.25}}};
    loop_calibration none = {0};
    size_t ends[] = {3, 5};
    loop_pick picks[] = {{1, 1, 0}, {2, 1, 0}, {3, 1, 0}, {4, 1, 0}, {5, 1, 0}};
    loop_point point = {.labels = 3};
    char parts[] = "ttbc";
    size_t epochs[] = {12, 300000, 0, 0};
    loop_health healths[] = {{1, 0, 0.25, 1.0 / 3}, {2, SCANT_SIGN_MASK, 1, 0}, {0}, {0}};
    loop_health health = {1, SCANT_SIGN_LOSS, -1, -1};
    const loop_partial want = {.on_disk = true,
                               .round = 1,
                               .parts = parts,
                               .n_parts = 4,
                               .query = LOOP_SLOT_A,
                               .n_tested = 2,
                               .results = results,
                               .best = 0.125,
                               .lowest = inf,
                               .horizon = 9,
                               .train_seconds = 1.0 / 3000,
                               .test_seconds = 4.5,
                               .epochs = epochs,
                               .healths = healths,
                               .query_health = {2, SCANT_SIGN_DEAD, 0.5, 3}};
    loop_theory known = loop_theory_unknown();
    const loop_state mine = {.points = &point,
                             .calibrations = &none,
                             .theories = &known,
                             .healths = &health,
                             .picks = picks,
                             .ends = ends,
                             .n_points = 1,
                             .n_batches = 2,
                             .partial = want};
    scant_ctx *ctx = ctx_threads(1);
    scant__arena arena;
    loop_state read;
    (void)state;
    assert_int_equal(loop_state_write(ctx, path_of("p.json"), name, &mine), SCANT_OK);
    scant__arena_init(&arena, ctx);
    assert_int_equal(loop_state_init(&arena, 3, 20, &read), SCANT_OK);
    assert_int_equal(loop_state_read(ctx, path_of("p.json"), name, 3, 100, &arena, &read),
                     SCANT_OK);
    const loop_partial *got = &read.partial;
    assert_true(got->on_disk && got->query == LOOP_SLOT_A);
    assert_int_equal(got->round, 1);
    assert_int_equal(got->n_parts, 4);
    assert_memory_equal(got->parts, parts, sizeof parts);
    assert_int_equal(got->n_tested, 2);
    assert_true(got->lowest == want.lowest && got->horizon == want.horizon);
    assert_true(got->best == want.best && got->train_seconds == want.train_seconds &&
                got->test_seconds == want.test_seconds);
    assert_memory_equal(got->results, results, sizeof results);
    assert_memory_equal(got->epochs, epochs, sizeof epochs);
    assert_memory_equal(got->healths, healths, sizeof healths);
    assert_memory_equal(&got->query_health, &want.query_health, sizeof health);
    assert_memory_equal(read.healths, &health, sizeof health);
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

#define PARTIAL(round, parts, models, rest)                                              \
    "{\"round\": " round ", \"parts\": \"" parts "\", \"models\": [" models "], " rest "}"
#define QUERY "\"query\": \".\", "
#define TIMES "\"best\": [0, 0, 0], \"seconds\": [1, 2]"
#define MORE(calibration, epochs) CALIBRATION(calibration, epochs) NOT_TRAINED
#define CALIBRATION(calibration, epochs)                                                 \
    ", \"calibration\": " calibration ", \"epochs\": " epochs
#define NOT_TRAINED ", \"trainings\": [[0, \"\", -1, -1]]"
#define REST QUERY TIMES MORE("[]", "[0]")

static scant_status read_partial(scant_ctx *ctx, const char *partial, loop_state *s) {
    char text[1024];
    scant__arena arena;
    snprintf(text, sizeof text,
             HEAD "\"rounds\": [[1,0,0,0,0,0]], \"picks\": [[[3,1,0]],[]], "
                  "\"partial\": %s" TAIL,
             partial);
    scant__arena_init(&arena, ctx);
    scant_status status = read_state(ctx, text, s, &arena);
    scant__arena_end(&arena);
    return status;
}

static void a_damaged_cancelled_round_is_refused(void **state) {
    static const char *const wrong[] = {
        "3",
        "{}",
        PARTIAL("0", ".", "", REST), /* another round */
        PARTIAL("2", ".", "", REST),
        PARTIAL("1", "x", "", REST),
        PARTIAL("1", "T", "", REST),
        PARTIAL("1", "t", "[1, 1, 1, 1, 1], [1, 1, 1, 1, 1]",
                QUERY TIMES MORE("[[null, null], [null, null]]", "[0]")),
        PARTIAL("1", "t", "[1, 1, 1, 1]", QUERY TIMES MORE("[[null, null]]", "[0]")),
        PARTIAL("1", "t", "[1, 1, 1, 1, -1]", QUERY TIMES MORE("[[null, null]]", "[0]")),
        PARTIAL("1", ".", "", QUERY "\"best\": 0, \"seconds\": [1, 2]" MORE("[]", "[0]")),
        PARTIAL("1", ".", "",
                QUERY "\"best\": [null, 0, 0], \"seconds\": [1, 2]" MORE("[]", "[0]")),
        PARTIAL("1", ".", "",
                QUERY "\"best\": [0, 0, 0.5], \"seconds\": [1, 2]" MORE("[]", "[0]")),
        PARTIAL("1", "t", "[1, 1, 1]", QUERY TIMES MORE("[[null, null]]", "[0]")),
        PARTIAL("1", "t", "3", REST),
        PARTIAL("1", ".", "", QUERY "\"seconds\": [1, 2]" MORE("[]", "[0]")),
        PARTIAL("1", ".", "",
                QUERY "\"best\": [0, 0, 0], \"seconds\": [1]" MORE("[]", "[0]")),
        PARTIAL("1", ".", "", TIMES MORE("[]", "[0]")),
        PARTIAL("1", ".", "", "\"query\": \"\", " TIMES MORE("[]", "[0]")),
        PARTIAL("1", ".", "", "\"query\": \"tt\", " TIMES MORE("[]", "[0]")),
        PARTIAL("1", ".", "", "\"query\": true, " TIMES MORE("[]", "[0]")),
        PARTIAL("1", "t", "[1, 1, 1, 1, 1]", REST), /* calibration: one per model */
        PARTIAL("1", "t", "[1, 1, 1, 1, 1]", QUERY TIMES MORE("[3]", "[0]")),
        PARTIAL("1", "ta", "", QUERY TIMES MORE("[]", "[1]")),
        PARTIAL("1", "ta", "", QUERY TIMES MORE("[]", "[1, -1]")),
        PARTIAL("1", "ta", "", QUERY TIMES MORE("[]", "3")),
        PARTIAL("1", ".", "", QUERY TIMES ", \"calibration\": []"),  /* no epochs */
        PARTIAL("1", ".", "", QUERY TIMES CALIBRATION("[]", "[0]")), /* no trainings */
        PARTIAL("1", ".", "", QUERY TIMES CALIBRATION("[]", "[0]") ", \"trainings\": []"),
        "{\"round\": 1, \"models\": [], " REST "}",
        PARTIAL("1", ".", "", REST ", \"query training\": []"),
        PARTIAL("1", ".", "", REST ", \"query training\": [[3, \"\", 0, 0]]"),
    };
    scant_ctx *ctx = ctx_threads(1);
    loop_state s;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (read_partial(ctx, wrong[i], &s) != SCANT_EINPUT)
            fail_msg("%s was accepted", wrong[i]);
        assert_says(ctx, path_of("state.json"), "not a valid state");
    }
    const char *fine = PARTIAL(
        "1", "tab.", "[1, 1, 1, 1, 1]",
        QUERY TIMES CALIBRATION("[[null, null]]",
                                "[5, 0, 0, 0]") ", \"trainings\": "
                                                "[[1, \"\", 0, 1], [0, \"\", -1, -1], "
                                                "[0, \"\", -1, -1], [0, \"\", -1, -1]]");
    assert_int_equal(read_partial(ctx, fine, &s), SCANT_OK);
    assert_true(s.partial.on_disk);
    assert_int_equal(read_partial(ctx, PARTIAL("1", ".", "", REST), &s), SCANT_OK);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_is_read_as_it_was_written),
        cmocka_unit_test(a_damaged_state_is_refused),
        cmocka_unit_test(a_state_with_a_changed_digit_is_refused),
        cmocka_unit_test(a_state_of_another_version_is_refused),
        cmocka_unit_test(a_cancelled_round_is_read_as_it_was_written),
        cmocka_unit_test(a_damaged_cancelled_round_is_refused),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
