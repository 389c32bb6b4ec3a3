/* SPDX-License-Identifier: Apache-2.0
 *
 * How samples are split: sizes, disjoint sets, what depends on the seed.
 */
#include "../data/support.h"

#include "loop/loop.h"
#include "scant/train.h"

enum { N = 400, CLASSES = 5 };

typedef struct bench {
    scant_ctx *ctx;
    scant__arena arena;
    scant_experiment *e;
    loop_samples samples;
} bench;

/* Labels cycle through the classes; every 10th sample has none. */
static void begin(bench *b, const scant_setting *more, size_t n_more) {
    static float points[N][2];
    static int64_t labels[N];
    for (size_t i = 0; i < N; i++) labels[i] = i % 10 == 9 ? -1 : (int64_t)(i % CLASSES);
    buffer x = npy(1, NPY("<f4", "(400, 2)"), points, sizeof points);
    buffer y = npy(1, NPY("<i8", "(400,)"), labels, sizeof labels);
    scant_setting settings[8] = {{"data.train", put_buffer("x.npy", &x)},
                                 {"data.train_labels", put_buffer("y.npy", &y)},
                                 {"data.test_size", "50"}};
    memcpy(settings + 3, more, n_more * sizeof *more);
    b->ctx = ctx_threads(1);
    scant__arena_init(&b->arena, b->ctx);
    assert_int_equal(scant_experiment_open(b->ctx, NULL, settings, 3 + n_more, &b->e),
                     SCANT_OK);
    assert_int_equal(loop_samples_open(b->e, false, &b->arena, &b->samples), SCANT_OK);
}

static void end(bench *b) {
    loop_samples_close(&b->samples);
    scant__arena_end(&b->arena);
    scant_experiment_free(b->e);
    scant_ctx_free(b->ctx);
}

static loop_split split(bench *b, uint64_t seed) {
    loop_split s;
    assert_int_equal(loop_split_make(&b->arena, &b->e->set, &b->samples, seed, &s),
                     SCANT_OK);
    return s;
}

/* Marks rows; none of them may be marked already. */
static void mark(bool *seen, const size_t *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        assert_true(rows[i] < N && rows[i] % 10 != 9);
        assert_false(seen[rows[i]]);
        seen[rows[i]] = true;
    }
}

static void sets_have_their_sizes_and_are_disjoint(void **state) {
    const scant_setting more[] = {
        {"data.pool", "200"}, {"data.validation", "30"}, {"loop.initial", "12"}};
    bench b;
    (void)state;
    begin(&b, more, 3);
    assert_int_equal(b.samples.n_test, 50);
    assert_int_equal(b.samples.n_rows, N - N / 10 - 50);
    for (uint64_t seed = 0; seed < 5; seed++) {
        bool seen[N] = {false}, pool[N] = {false};
        loop_split s = split(&b, seed);
        assert_int_equal(s.n_pool, 170);
        assert_int_equal(s.n_valid, 30);
        assert_int_equal(s.n_initial, 12);
        mark(seen, b.samples.test_rows, b.samples.n_test);
        mark(seen, s.valid, s.n_valid);
        mark(seen, s.pool, s.n_pool);
        for (size_t i = 0; i < s.n_pool; i++) pool[s.pool[i]] = true;
        for (size_t i = 1; i < s.n_pool; i++) assert_true(s.pool[i - 1] < s.pool[i]);
        for (size_t i = 0; i < s.n_initial; i++) {
            assert_true(pool[s.initial[i]]);
            pool[s.initial[i]] = false;
        }
    }
    end(&b);
}

static void the_seed_decides_the_split(void **state) {
    const scant_setting more[] = {{"data.pool", "200"}};
    bench b;
    (void)state;
    begin(&b, more, 1);
    loop_split one = split(&b, 1), same = split(&b, 1), other = split(&b, 2);
    assert_memory_equal(one.pool, same.pool, 200 * sizeof *one.pool);
    assert_memory_equal(one.initial, same.initial, 40 * sizeof *one.pool);
    assert_memory_not_equal(one.pool, other.pool, 200 * sizeof *one.pool);
    end(&b);
}

/* Each split draws random numbers of its own. */
static void a_validation_set_is_taken_from_the_same_pool(void **state) {
    const scant_setting without[] = {{"data.pool", "200"}};
    const scant_setting with[] = {{"data.pool", "200"}, {"data.validation", "20"}};
    bool before[N] = {false}, after[N] = {false};
    bench b;
    (void)state;
    begin(&b, without, 1);
    loop_split s = split(&b, 3);
    mark(before, s.pool, s.n_pool);
    end(&b);
    begin(&b, with, 2);
    s = split(&b, 3);
    mark(after, s.pool, s.n_pool);
    mark(after, s.valid, s.n_valid);
    assert_memory_equal(before, after, sizeof before);
    end(&b);
}

static void balanced_sets_have_equally_many_of_each_class(void **state) {
    const scant_setting more[] = {{"loop.initial", "22"},
                                  {"loop.initial_how", "balanced"}};
    bench b;
    (void)state;
    begin(&b, more, 2);
    for (uint64_t seed = 0; seed < 5; seed++) {
        size_t counts[CLASSES] = {0};
        bool seen[N] = {false};
        loop_split s = split(&b, seed);
        mark(seen, s.initial, s.n_initial);
        for (size_t i = 0; i < s.n_initial; i++) counts[s.initial[i] % CLASSES]++;
        for (size_t c = 0; c < CLASSES; c++)
            assert_true(counts[c] == 4 || counts[c] == 5);
    }
    end(&b);
}

static void sizes_that_do_not_fit_are_refused(void **state) {
    const struct {
        scant_setting setting;
        const char *says;
    } cases[] = {{{"data.pool", "311"}, "has 310 samples"},
                 {{"data.validation", "310"}, "expected less than 310"},
                 {{"loop.initial", "311"}, "the pool has 310"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        bench b;
        loop_split s;
        begin(&b, &cases[i].setting, 1);
        assert_int_equal(loop_split_make(&b.arena, &b.e->set, &b.samples, 0, &s),
                         SCANT_EINPUT);
        assert_says(b.ctx, cases[i].setting.key, cases[i].says);
        end(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_have_their_sizes_and_are_disjoint),
        cmocka_unit_test(the_seed_decides_the_split),
        cmocka_unit_test(a_validation_set_is_taken_from_the_same_pool),
        cmocka_unit_test(balanced_sets_have_equally_many_of_each_class),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
