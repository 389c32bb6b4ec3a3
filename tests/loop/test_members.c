/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of an ensemble that are trained side by side. That they are broken off and gone
 * on with is test_partial's.
 */
#include "../data/support.h"

#include "loop/loop.h"
#include "scant/train.h"

/* Calibrated by ensembles, too, which are trained aside. */
static scant_status play(scant_ctx *ctx, const char *folder, unsigned threads,
                         const char *lr, const char *rounds) {
    const scant_setting all[] = {
        {"data.train", "moons"},
        {"data.test_size", "20"},
        {"model.name", "mlp"},
        {"model.width", "8"},
        {"model.bayes", "ensemble"},
        {"model.samples", "3"},
        {"train.lr", lr},
        {"train.batch", "4"},
        {"train.epochs", "20"},
        {"train.warm", "yes"},
        {"loop.strategies", "sparse-greedy"},
        {"loop.sparse-greedy.source", "gradient"},
        {"loop.seeds", "8"},
        {"loop.initial", "8"},
        {"loop.batch", "4"},
        {"loop.rounds", rounds},
    };
    scant_experiment *e;
    scant_status status =
        scant_experiment_open(ctx, NULL, all, sizeof all / sizeof *all, &e);
    if (status == SCANT_OK)
        status = scant_experiment_run(
            e, &(scant_run_opts){.out = path_of(folder), .threads = threads});
    scant_experiment_free(e);
    return status;
}

static size_t read_member(const char *folder, int member, char *bytes, size_t room) {
    char name[128];
    int n = snprintf(name, sizeof name, "%s/runs/sparse-greedy-8.weights-2", folder);
    if (member) n += snprintf(name + n, sizeof name - (size_t)n, "-%d", member);
    snprintf(name + n, sizeof name - (size_t)n, ".safetensors");
    FILE *f = fopen(path_of(name), "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, room, f);
    assert_true(size > 0 && size < room);
    fclose(f);
    return size;
}

/* Each on one thread, however many there are. One alone comes first: what oneDNN then
 * keeps for the others is filled by it, where the thread sanitizer cannot follow. */
static void members_learn_the_same_on_any_number_of_threads(void **state) {
    static char a[1 << 16], b[1 << 16];
    const char *folders[] = {"one", "two", "three"};
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        const char *folder = folders[threads - 1];
        scant_ctx *ctx = ctx_threads(threads);
        assert_int_equal(play(ctx, folder, threads, "0.1", "2"), SCANT_OK);
        scant_ctx_free(ctx);
        for (int i = 0; i < 3; i++) {
            size_t n = read_member("one", i, a, sizeof a);
            assert_int_equal(read_member(folder, i, b, sizeof b), n);
            assert_memory_equal(a, b, n);
        }
    }
    /* and not the same as each other */
    size_t n = read_member("two", 0, a, sizeof a), m = read_member("two", 1, b, sizeof b);
    assert_true(n != m || memcmp(a, b, n) != 0);
}

/* The others end, too, and the run says what the one said. */
static void a_member_that_diverges_ends_the_run(void **state) {
    scant_ctx *ctx = ctx_threads(2);
    (void)state;
    assert_int_equal(play(ctx, "far", 2, "1e9", "2"), SCANT_EINPUT);
    assert_says(ctx, "sparse-greedy, seed 8, round 0", "loss");
    scant_ctx_free(ctx);
}

/* Of one round; wherever it is, nothing is left behind. Which call that is hangs on how
 * the members' trainings fall in with each other. */
static void allocations_may_fail(void **state) {
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    size_t live = m.live, failed = 0;
    (void)state;
    for (size_t fail = 0;; fail += 1 + fail / 16) {
        char folder[32];
        snprintf(folder, sizeof folder, "short%zu", fail);
        m.fail_at = m.calls + fail;
        scant_status status = play(ctx, folder, 2, "0.1", "0");
        bool reached = m.calls > m.fail_at;
        m.fail_at = SIZE_MAX;
        assert_int_equal(m.live, live);
        if (status != SCANT_OK) assert_int_equal(status, SCANT_ENOMEM);
        failed += status != SCANT_OK;
        if (!reached) break;
    }
    assert_true(failed > 50);
    ctx_end(ctx, &m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_learn_the_same_on_any_number_of_threads),
        cmocka_unit_test(a_member_that_diverges_ends_the_run),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
