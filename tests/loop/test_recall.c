/* SPDX-License-Identifier: Apache-2.0
 *
 * A resumed call that is cancelled before it has loaded what an earlier call kept. This
 * needs images: a network that is created to load weights into measures their pixels,
 * and that can be cancelled. The test cancels at an allocation of the run's thread, which
 * waits there until the caller's thread has noticed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../data/support.h"

#include "loop/loop.h"
#include "scant/train.h"

enum { PICTURES = 120, SIDE = 4, ROUNDS = 1 };

typedef struct heard {
    const char *phase;     /* cancel when it begins; NULL: never */
    size_t cancel_at;      /* or at this allocation of the run; 0: never */
    pthread_t caller;      /* its allocations are not the run's */
    atomic_bool begun;     /* the run has begun, in this call */
    atomic_size_t blocks;  /* allocations since then */
    atomic_bool cancelled; /* cancelling is requested, */
    atomic_bool answered;  /* and the caller's thread has noticed */
    size_t phases;         /* that were reported */
} heard;

static void hear(void *user, const scant_run_event *event) {
    heard *h = user;
    if (event->kind == SCANT_RUN_BEGIN) h->begun = true;
    if (event->kind != SCANT_RUN_PROGRESS) return;
    h->phases++;
    if (h->phase && strcmp(event->phase, h->phase) == 0) h->cancelled = true;
}

static int cancel(void *user) {
    heard *h = user;
    if (h->cancelled) h->answered = true;
    return h->cancelled;
}

static void *allocate(void *user, size_t bytes) {
    heard *h = user;
    if (h->begun && !pthread_equal(pthread_self(), h->caller) &&
        ++h->blocks == h->cancel_at) {
        h->cancelled = true;
        for (int i = 0; i < 2000 && !h->answered; i++)
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        /* until it has stopped the job pool */
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return malloc(bytes);
}

static void release(void *user, void *block) {
    (void)user;
    free(block);
}

static scant_status run_experiment(const scant_setting *all, size_t n, bool resume,
                                   heard *h) {
    scant_ctx *ctx;
    scant_experiment *e;
    scant_ctx_opts opts = {.threads = 1,
                           .user = h,
                           .cancel = cancel,
                           .allocate = allocate,
                           .release = release};
    h->caller = pthread_self();
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_int_equal(scant_experiment_open(ctx, NULL, all, n, &e), SCANT_OK);
    scant_status status = scant_experiment_run(
        e, &(scant_run_opts){
               .out = path_of("out"), .resume = resume, .user = h, .report = hear});
    if (status != SCANT_OK && status != SCANT_ECANCELLED)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    scant_experiment_free(e);
    scant_ctx_free(ctx);
    return status;
}

static loop_state read_kept(scant_ctx *ctx, scant__arena *arena) {
    loop_state s;
    scant__arena_init(arena, ctx);
    assert_int_equal(loop_state_init(arena, ROUNDS, 100, &s), SCANT_OK);
    if (loop_state_read(ctx, path_of("out/runs/random-0.json"),
                        (loop_run_name){"random", 0}, ROUNDS, PICTURES, arena,
                        &s) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return s;
}

static void put_images(char pictures[512], char labels[512]) {
    unsigned char pixels[PICTURES * SIDE * SIDE];
    int64_t classes[PICTURES];
    for (size_t i = 0; i < PICTURES; i++) {
        classes[i] = (int64_t)i % 2;
        for (size_t k = 0; k < SIDE * SIDE; k++) {
            double noise = unit_at(1, i * SIDE * SIDE + k);
            pixels[i * SIDE * SIDE + k] =
                (unsigned char)((i % 2 ? 140 : 60) + 50 * noise);
        }
    }
    buffer x = npy(1, NPY("|u1", "(120, 4, 4, 1)"), pixels, sizeof pixels);
    buffer y = npy(1, NPY("<i8", "(120,)"), classes, sizeof classes);
    snprintf(pictures, 512, "%s", put_buffer("x.npy", &x));
    snprintf(labels, 512, "%s", put_buffer("y.npy", &y));
}

static void a_resumed_run_that_is_cancelled_at_once_loses_nothing(void **state) {
    char pictures[512], labels[512];
    scant_ctx *ctx = ctx_threads(1);
    heard first = {.phase = "training the query network"};
    size_t early = 0;
    bool under_way = false;
    (void)state;
    put_images(pictures, labels);
    const scant_setting all[] = {
        {"data.train", pictures},      {"data.train_labels", labels},
        {"data.test_size", "20"},      {"model.name", "mlp"},
        {"model.width", "8"},          {"train.epochs", "200"},
        {"train.initial_models", "2"}, {"loop.query_seed", "9"},
        {"loop.initial", "8"},         {"loop.batch", "4"},
        {"loop.rounds", "1"},          {"loop.strategies", "random"},
        {"loop.seeds", "0"},
    };
    const size_t n = sizeof all / sizeof *all;
    assert_int_equal(run_experiment(all, n, false, &first), SCANT_ECANCELLED);
    for (size_t at = 1; at < 200 && !under_way; at += 1 + at / 4) {
        scant__arena before_arena, after_arena;
        loop_state before = read_kept(ctx, &before_arena);
        assert_memory_equal(before.partial.parts, "tt", 3);
        heard h = {.cancel_at = at};
        assert_int_equal(run_experiment(all, n, true, &h), SCANT_ECANCELLED);
        loop_state after = read_kept(ctx, &after_arena);
        const loop_partial *a = &before.partial, *b = &after.partial;
        assert_true(b->on_disk);
        assert_memory_equal(b->parts, "tt", 3);
        assert_int_equal(b->n_tested, 2);
        assert_int_equal(b->query == LOOP_NOT_BEGUN, a->query == LOOP_NOT_BEGUN);
        assert_true(b->train_seconds >= a->train_seconds);
        assert_true(b->test_seconds >= a->test_seconds);
        under_way = h.phases > 0;
        early += !under_way;
        scant__arena_end(&before_arena);
        scant__arena_end(&after_arena);
    }
    assert_true(under_way && early > 3);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resumed_run_that_is_cancelled_at_once_loses_nothing),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
