/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefetched items come out once each, in order and complete; taking the item that failed
 * returns its failure; ending early waits for items in progress.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "../support.h"

#include "core/prefetch.h"

enum { SLOTS = 4, MOST = 400 };

typedef struct bench {
    size_t slots[SLOTS]; /* what fill() wrote */
    size_t prepared;     /* items so far */
    size_t fails_at;
    bool in_order;
    atomic_size_t filled, at_once, most_at_once;
} bench;

static void prepare(void *arg, size_t item, size_t slot) {
    bench *b = arg;
    b->in_order &= item == b->prepared++;
    b->slots[slot] = 0;
}

static scant_status fill(void *arg, size_t item, size_t slot, scant__fault *fault) {
    bench *b = arg;
    size_t now = atomic_fetch_add(&b->at_once, 1) + 1;
    size_t most = atomic_load(&b->most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&b->most_at_once, &most, now))
        continue;
    for (volatile int wait = 0; wait < (int)(item % 7) * 1000; wait++) continue;
    b->slots[slot] = 1000 + item;
    atomic_fetch_add(&b->filled, 1);
    atomic_fetch_sub(&b->at_once, 1);
    if (item == b->fails_at)
        return scant__fault_set(fault, SCANT_EINPUT, "item %zu is bad", item);
    return SCANT_OK;
}

static scant__prefetch *start(scant_ctx *ctx, bench *b, unsigned threads, size_t first,
                              size_t fails_at) {
    *b = (bench){.fails_at = fails_at, .in_order = true, .prepared = first};
    scant__prefetch *prefetch;
    scant__prefetch_job job = {.first = first,
                               .last = MOST,
                               .slots = SLOTS,
                               .threads = threads,
                               .arg = b,
                               .prepare = prepare,
                               .fill = fill};
    assert_int_equal(scant__prefetch_start(ctx, &job, &prefetch), SCANT_OK);
    return prefetch;
}

static void items_come_once_and_in_order(void **state) {
    (void)state;
    for (unsigned threads = 0; threads <= 3; threads++) {
        scant_ctx *ctx = ctx_threads(2);
        bench b;
        size_t slot;
        scant__prefetch *prefetch = start(ctx, &b, threads, 17, SIZE_MAX);
        for (size_t item = 17; item < MOST; item++) {
            assert_int_equal(scant__prefetch_take(prefetch, &slot), SCANT_OK);
            assert_int_equal(slot, item % SLOTS);
            assert_int_equal(b.slots[slot], 1000 + item); /* kept while in use */
        }
        assert_int_equal(b.filled, MOST - 17);
        assert_true(b.in_order);
        assert_true(b.most_at_once <= (threads ? threads : 1));
        scant__prefetch_end(prefetch);
        scant_ctx_free(ctx);
    }
}

static void sleep_1_ms(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

static void prefetch_is_never_further_ahead_than_its_slots(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    bench b;
    size_t slot;
    scant__prefetch *prefetch = start(ctx, &b, 2, 0, SIZE_MAX);
    assert_int_equal(scant__prefetch_take(prefetch, &slot), SCANT_OK);
    size_t held = b.slots[slot];
    /* Item 0 is in use: items 1 to 3 fill the other slots, and even after a while no
     * further item is filled. */
    for (int i = 0; i < 20000 && b.filled < SLOTS; i++) sleep_1_ms();
    assert_int_equal(b.filled, SLOTS);
    for (int i = 0; i < 20; i++) sleep_1_ms();
    assert_int_equal(b.filled, SLOTS);
    assert_int_equal(b.prepared, SLOTS);
    assert_int_equal(b.slots[slot], held);
    scant__prefetch_end(prefetch); /* with items left */
    scant_ctx_free(ctx);
}

static void a_failure_is_returned_for_its_item(void **state) {
    (void)state;
    for (unsigned threads = 0; threads <= 2; threads++) {
        scant_ctx *ctx = ctx_threads(2);
        bench b;
        size_t slot;
        scant__prefetch *prefetch = start(ctx, &b, threads, 0, 6);
        for (int i = 0; i < 6; i++)
            assert_int_equal(scant__prefetch_take(prefetch, &slot), SCANT_OK);
        assert_int_equal(scant__prefetch_take(prefetch, &slot), SCANT_EINPUT);
        assert_string_equal(scant_ctx_errmsg(ctx), "item 6 is bad");
        scant__prefetch_end(prefetch);
        scant_ctx_free(ctx);
    }
}

static void running_out_of_memory_is_reported(void **state) {
    (void)state;
    memory m;
    bench b = {.fails_at = SIZE_MAX};
    scant_ctx *ctx = ctx_counting(&m);
    scant__prefetch *prefetch;
    m.fail_at = m.calls; /* the only allocation */
    scant__prefetch_job job = {
        .last = 3, .slots = 2, .threads = 1, .arg = &b, .fill = fill};
    assert_int_equal(scant__prefetch_start(ctx, &job, &prefetch), SCANT_ENOMEM);
    assert_null(prefetch);
    scant_ctx_free(ctx);
    assert_int_equal(m.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_once_and_in_order),
        cmocka_unit_test(prefetch_is_never_further_ahead_than_its_slots),
        cmocka_unit_test(a_failure_is_returned_for_its_item),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
