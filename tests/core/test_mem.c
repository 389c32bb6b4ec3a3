/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory under the cap: what is counted, refused and freed.
 */
#include "core/mem.h"

#include <pthread.h>
#include <sched.h>

#include "core/parfor.h"
#include "support.h"

static scant_ctx *capped(size_t cap) {
    scant_ctx *ctx;
    assert_int_equal(scant_ctx_create(&(scant_ctx_opts){.memory = cap}, &ctx), SCANT_OK);
    return ctx;
}

static void blocks_are_aligned_and_do_not_overlap(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    unsigned char *block[100];
    for (size_t i = 0; i < 100; i++) {
        block[i] = scant__alloc(ctx, i, 3);
        assert_non_null(block[i]); /* 0 items is not a failure */
        assert_int_equal((uintptr_t)block[i] % 64, 0);
        memset(block[i], (int)i, 3 * i);
    }
    for (size_t i = 0; i < 100; i++)
        for (size_t k = 0; k < 3 * i; k++) assert_int_equal(block[i][k], i);
    for (size_t i = 0; i < 100; i++) scant__free(ctx, block[i]);
    scant__free(ctx, NULL);
    scant_ctx_free(ctx);
}

static void zalloc_zeroes_reused_memory(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    for (int turn = 0; turn < 10; turn++) {
        unsigned char *block = scant__zalloc(ctx, 100, 7);
        assert_non_null(block);
        for (size_t i = 0; i < 700; i++) assert_int_equal(block[i], 0);
        memset(block, 0xff, 700);
        scant__free(ctx, block);
    }
    scant_ctx_free(ctx);
}

static void the_cap_is_exact(void **state) {
    (void)state;
    enum { LARGE = 1 << 20, SMALL = 500 };
    const size_t cap = scant__alloc_cost(LARGE) + scant__alloc_cost(SMALL);
    scant_ctx *ctx = capped(cap);
    void *a = scant__alloc(ctx, LARGE, 1);
    void *b = scant__alloc(ctx, SMALL, 1);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(scant_ctx_memory_peak(ctx), cap);
    assert_null(scant__alloc(ctx, 1, 1));
    assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
    scant__free(ctx, b);
    assert_null(scant__alloc(ctx, SMALL + 1, 1));
    b = scant__alloc(ctx, SMALL, 1); /* freed memory no longer counts */
    assert_non_null(b);
    scant__free(ctx, a);
    scant__free(ctx, b);
    scant_ctx_free(ctx);
}

static void a_minimum_is_granted_under_any_cap(void **state) {
    (void)state;
    scant_ctx *ctx = capped(1);
    const size_t all = SCANT__MEM_FLOOR - scant__alloc_cost(0);
    void *block = scant__alloc(ctx, all, 1);
    assert_non_null(block);
    assert_null(scant__alloc(ctx, 1, 1));
    scant__free(ctx, block);
    assert_null(scant__alloc(ctx, all + 1, 1));
    scant_ctx_free(ctx);
}

static void the_peak_is_the_most_held_at_once(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    void *a = scant__alloc(ctx, 1000, 1), *b = scant__alloc(ctx, 200, 1);
    const size_t peak = scant__alloc_cost(1000) + scant__alloc_cost(200);
    assert_int_equal(scant_ctx_memory_peak(ctx), peak);
    scant__free(ctx, a);
    void *c = scant__alloc(ctx, 300, 1);
    assert_int_equal(scant_ctx_memory_peak(ctx), peak);
    scant__free(ctx, b);
    scant__free(ctx, c);
    assert_int_equal(scant_ctx_memory_peak(ctx), peak);
    scant_ctx_free(ctx);
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    static const size_t sizes[][2] = {
        {SIZE_MAX, 1},         {1, SIZE_MAX},     {SIZE_MAX, SIZE_MAX},
        {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX - 1, 1}, {(size_t)1 << 32, (size_t)1 << 32},
        {SIZE_MAX - 64, 1},    {SIZE_MAX / 3, 3},
    };
    memory count;
    scant_ctx *ctx = ctx_counting(&count);
    const size_t calls = count.calls;
    scant__arena arena;
    scant__arena_init(&arena, ctx);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_null(scant__alloc(ctx, sizes[i][0], sizes[i][1]));
        assert_null(scant__zalloc(ctx, sizes[i][0], sizes[i][1]));
        assert_null(scant__arena_alloc(&arena, sizes[i][0], sizes[i][1]));
        assert_null(scant__arena_zalloc(&arena, sizes[i][0], sizes[i][1]));
        assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
    }
    assert_int_equal(count.calls, calls); /* the allocator was never called */
    assert_int_equal(scant_ctx_memory_peak(ctx), 0);
    assert_true(scant__alloc_cost(SIZE_MAX) == SIZE_MAX);
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

static void checked_arithmetic_does_not_change_out_on_overflow(void **state) {
    (void)state;
    size_t out = 42;
    assert_false(scant__mul(SIZE_MAX, 2, &out));
    assert_false(scant__mul(2, SIZE_MAX, &out));
    assert_false(scant__add(SIZE_MAX, 1, &out));
    assert_false(scant__add(1, SIZE_MAX, &out));
    assert_int_equal(out, 42);
    assert_true(scant__mul(SIZE_MAX, 1, &out) && out == SIZE_MAX);
    assert_true(scant__mul(SIZE_MAX, 0, &out) && out == 0);
    assert_true(scant__mul(0, SIZE_MAX, &out) && out == 0);
    assert_true(scant__add(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX);
    assert_true(scant__mul(6, 7, &out) && out == 42);
}

static void an_arena_frees_everything_and_can_be_reused(void **state) {
    (void)state;
    memory count;
    scant_ctx *ctx = ctx_counting(&count);
    const size_t before = count.live;
    scant__arena arena;
    scant__arena_init(&arena, ctx);
    scant__arena_end(&arena); /* empty */
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < 20; i++) {
            unsigned char *block = scant__arena_alloc(&arena, i, 10);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 64, 0);
            memset(block, 1, i * 10);
        }
        const double *zeros = scant__arena_zalloc(&arena, 100, sizeof *zeros);
        assert_non_null(zeros);
        for (size_t i = 0; i < 100; i++) assert_true(zeros[i] == 0);
        char text[] = "a name";
        char *copy = scant__arena_strdup(&arena, text);
        text[0] = 'x';
        assert_string_equal(copy, "a name");
        assert_true(count.live > before);
        scant__arena_end(&arena);
        assert_int_equal(count.live, before);
    }
    scant_ctx_free(ctx);
    assert_int_equal(count.live, 0);
}

/* Makes every kind of allocation, as library code does. */
static scant_status work(scant_ctx *ctx) {
    scant_status s = SCANT_ENOMEM;
    scant__arena arena;
    scant__arena_init(&arena, ctx);
    void *first = scant__alloc(ctx, 10, 8), *second = scant__zalloc(ctx, 3, 100);
    if (!first || !second) goto done;
    if (!scant__arena_alloc(&arena, 5, 5)) goto done;
    if (!scant__arena_zalloc(&arena, 5, 5)) goto done;
    if (!scant__arena_strdup(&arena, "text")) goto done;
    s = SCANT_OK;
done:
    scant__arena_end(&arena);
    scant__free(ctx, second);
    scant__free(ctx, first);
    return s;
}

static void
running_out_of_memory_at_any_step_leaks_nothing_and_is_reported(void **state) {
    (void)state;
    enum { STEPS = 6 }; /* one for the context, five in work() */
    for (size_t step = 0; step <= STEPS; step++) {
        memory count = {.fail_at = step};
        const scant_ctx_opts opts = {
            .user = &count, .allocate = memory_allocate, .release = memory_release};
        scant_ctx *ctx;
        scant_status s = scant_ctx_create(&opts, &ctx);
        if (s == SCANT_OK) {
            s = work(ctx);
            assert_true(s == SCANT_OK || strlen(scant_ctx_errmsg(ctx)) > 0);
            assert_int_equal(count.live, 1); /* the context itself */
            count.fail_at = SIZE_MAX;
            assert_int_equal(work(ctx), SCANT_OK); /* the context still works */
            scant_ctx_free(ctx);
        }
        assert_int_equal(count.live, 0);
        assert_int_equal(s, step < STEPS ? SCANT_ENOMEM : SCANT_OK);
    }
}

static void a_refused_block_is_not_counted(void **state) {
    (void)state;
    memory count = {.fail_at = 1}; /* call 0 is the context */
    const scant_ctx_opts opts = {.memory = scant__alloc_cost(1 << 20),
                                 .user = &count,
                                 .allocate = memory_allocate,
                                 .release = memory_release};
    scant_ctx *ctx;
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_null(scant__alloc(ctx, 1 << 20, 1));
    assert_int_equal(scant_ctx_memory_peak(ctx), 0);
    void *block = scant__alloc(ctx, 1 << 20, 1); /* the whole cap is still free */
    assert_non_null(block);
    scant__free(ctx, block);
    scant_ctx_free(ctx);
}

/* No other worker writes to the blocks, and all of them are counted. */
static scant_status allocate_and_free(void *arg, size_t block, unsigned worker,
                                      scant__fault *fault) {
    scant_ctx *ctx = arg;
    unsigned char *held[8];
    (void)worker;
    for (size_t i = 0; i < 8; i++) {
        held[i] = scant__worker_alloc(ctx, 100 + i, 1, fault);
        if (!held[i]) return SCANT_ENOMEM;
        memset(held[i], (int)block, 100 + i);
    }
    if (!scant__charge(ctx, 1000, fault)) return SCANT_ENOMEM;
    scant__uncharge(ctx, 1000);
    scant_status status = SCANT_OK;
    for (size_t i = 0; i < 8; i++) {
        for (size_t k = 0; k < 100 + i; k++)
            if (held[i][k] != (unsigned char)block) status = SCANT_EINTERNAL;
        scant__free(ctx, held[i]);
    }
    return status;
}

static void workers_may_allocate_at_the_same_time(void **state) {
    (void)state;
    memory count;
    for (int own = 0; own < 2; own++) { /* the system's allocator, then the caller's */
        scant_ctx *ctx = own ? ctx_counting(&count) : ctx_threads(4);
        ctx->threads = 4;
        assert_int_equal(scant__parfor(ctx, NULL, 500, allocate_and_free, ctx), SCANT_OK);
        assert_int_equal(ctx->used, 0);
        assert_true(scant_ctx_memory_peak(ctx) >= 8 * scant__alloc_cost(100) + 1000);
        scant_ctx_free(ctx);
        if (own) assert_int_equal(count.live, 0);
    }
}

static void a_worker_gets_the_message_in_its_fault(void **state) {
    (void)state;
    scant__fault fault = {{0}};
    scant_ctx *ctx = capped(1 << 20);
    assert_null(scant__worker_alloc(ctx, 1 << 20, 1, &fault));
    assert_non_null(strstr(fault.text, "allowed are in use"));
    assert_null(scant__worker_alloc(ctx, SIZE_MAX, 2, &fault));
    assert_non_null(strstr(fault.text, "more than can be addressed"));
    assert_false(scant__charge(ctx, (1 << 20) + 1, &fault));
    assert_true(scant__charge(ctx, 1 << 20, &fault));
    assert_int_equal(scant_ctx_memory_peak(ctx), 1 << 20);
    assert_null(scant__worker_alloc(ctx, 1, 1, &fault));
    scant__uncharge(ctx, 1 << 20);
    assert_string_equal(scant_ctx_errmsg(ctx), "");
    scant_ctx_free(ctx);
}

/* A context with a payer: both caps apply, and the message has the one exceeded. */
static void a_payer_is_charged_too(void **state) {
    (void)state;
    scant__fault fault = {{0}};
    scant_ctx *parent = capped(1 << 20), *ctx = capped(1 << 30);
    ctx->parent = parent;
    void *a = scant__alloc(ctx, 1 << 19, 1);
    assert_non_null(a);
    assert_true(parent->used >= 1 << 19 && ctx->used >= 1 << 19);
    assert_null(scant__alloc(ctx, 1 << 19, 1));
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "of 1048576 allowed"));
    assert_false(scant__charge(ctx, 1 << 19, &fault));
    assert_non_null(strstr(fault.text, "of 1048576 allowed"));
    assert_true(scant__charge(ctx, 1 << 18, &fault));
    scant__uncharge(ctx, 1 << 18);
    scant__free(ctx, a);
    assert_true(parent->used == 0 && ctx->used == 0);
    scant_ctx_free(ctx);
    scant_ctx_free(parent);
}

typedef struct numbers {
    size_t *items, n, room;
} numbers;

static scant_status push(scant_ctx *ctx, numbers *list, size_t count) {
    for (size_t i = 0; i < count; i++) TRY_PUSH(ctx, list->items, list->n, list->room, i);
    return SCANT_OK;
}

static void pushed_values_survive_a_failed_push(void **state) {
    (void)state;
    scant_ctx *ctx = capped(1 << 20);
    numbers list = {0};
    assert_int_equal(push(ctx, &list, 1000), SCANT_OK);
    assert_int_equal(push(ctx, &list, SIZE_MAX), SCANT_ENOMEM);
    assert_true(list.n > 1000);
    assert_int_equal(list.n, list.room);
    for (size_t i = 0; i < 1000; i++) assert_int_equal(list.items[i], i);
    assert_int_equal(list.items[list.n - 1], list.n - 1001);
    scant__free(ctx, list.items);
    scant_ctx_free(ctx);
}

static size_t ended;
static void count_end(const size_t *value) { ended += *value; }

static scant_status use_all(scant_ctx *ctx, scant_status between, size_t *used) {
    AUTO(count_end) size_t three = 3;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    double *a = TRY_NEW(&arena, double, three);
    int *b = TRY_ZERO(&arena, int, 100);
    for (size_t i = 0; i < 100; i++) assert_int_equal(b[i], 0);
    a[2] = 1;
    const char *text = scant__arena_format(&arena, "%s has %zu rows", "x.npy", three);
    assert_string_equal(text, "x.npy has 3 rows");
    assert_string_equal(scant__arena_format(&arena, "%s", ""), "");
    *used = 1;
    TRY(between);
    *used = 2;
    (void)TRY_NEW(&arena, double, SIZE_MAX / 16);
    return SCANT_OK;
}

static void variables_are_freed_however_their_scope_is_left(void **state) {
    (void)state;
    scant_ctx *ctx = capped(1 << 20);
    size_t used = 0;
    assert_int_equal(use_all(ctx, SCANT_EINPUT, &used), SCANT_EINPUT);
    assert_int_equal(used, 1);
    assert_int_equal(ended, 3);
    assert_int_equal(use_all(ctx, SCANT_OK, &used), SCANT_ENOMEM);
    assert_int_equal(used, 2);
    assert_int_equal(ended, 6);
    assert_int_equal(ctx->used, 0);
    scant_ctx_free(ctx);
}

static void a_reserve_is_given_once_and_made_again(void **state) {
    (void)state;
    assert_false(scant__reserve_give()); /* only a program makes one */
    assert_false(scant__reserve_taken());
    scant__reserve_make();
    scant__reserve_make();
    assert_false(scant__reserve_taken());
    assert_true(scant__reserve_give());
    assert_false(scant__reserve_give());
    assert_true(scant__reserve_taken());
    assert_false(scant__reserve_taken());
    assert_true(scant__reserve_give()); /* the new one */
    assert_true(scant__reserve_taken());
}

static atomic_bool asked;

static void *ask(void *answer) {
    atomic_bool *answered = answer;
    atomic_store(&asked, true);
    atomic_store(answered, scant__can_map(1));
    return NULL;
}

static void room_that_a_thread_was_promised_is_not_promised_to_another(void **state) {
    (void)state;
    pthread_t other;
    atomic_bool answered = false;
    assert_false(scant__map_begin(SIZE_MAX / 2)); /* holds nothing */
    assert_true(scant__map_begin(1));
    assert_int_equal(pthread_create(&other, NULL, ask, &answered), 0);
    while (!atomic_load(&asked)) sched_yield();
    for (int i = 0; i < 1000; i++) sched_yield();
    assert_false(atomic_load(&answered));
    scant__map_end();
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_true(atomic_load(&answered));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_values_survive_a_failed_push),
        cmocka_unit_test(variables_are_freed_however_their_scope_is_left),
        cmocka_unit_test(workers_may_allocate_at_the_same_time),
        cmocka_unit_test(a_worker_gets_the_message_in_its_fault),
        cmocka_unit_test(a_payer_is_charged_too),
        cmocka_unit_test(blocks_are_aligned_and_do_not_overlap),
        cmocka_unit_test(zalloc_zeroes_reused_memory),
        cmocka_unit_test(the_cap_is_exact),
        cmocka_unit_test(a_minimum_is_granted_under_any_cap),
        cmocka_unit_test(the_peak_is_the_most_held_at_once),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(checked_arithmetic_does_not_change_out_on_overflow),
        cmocka_unit_test(an_arena_frees_everything_and_can_be_reused),
        cmocka_unit_test(running_out_of_memory_at_any_step_leaks_nothing_and_is_reported),
        cmocka_unit_test(a_refused_block_is_not_counted),
        cmocka_unit_test(a_reserve_is_given_once_and_made_again),
        cmocka_unit_test(room_that_a_thread_was_promised_is_not_promised_to_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
