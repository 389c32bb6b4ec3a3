/* SPDX-License-Identifier: Apache-2.0
 *
 * The best b: sorted, ties go to the lowest index, for any order and division of input.
 */
#include "support.h"

#include "linalg/topk.h"

enum { N = 500 };

static int better_first(const void *x, const void *y) {
    const la_scored *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static void the_best_are_sorted_for_any_input_order(void **state) {
    (void)state;
    la_scored all[N], heap[N], other[N];
    const size_t sizes[] = {1, 2, 7, 100, 499, 500};
    const size_t strides[] = {1, 7, 13, 19, 31, 37}; /* coprime to N: each row once */
    for (size_t i = 0; i < N; i++)
        all[i] = (la_scored){(double)(int)(20 * unit_at(1, i)), i}; /* many ties */
    qsort(all, N, sizeof *all, better_first);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
            la_topk top, half;
            la_topk_init(&top, heap, sizes[s]);
            la_topk_init(&half, other, sizes[s]);
            for (size_t i = 0; i < N; i++) {
                la_scored item = all[i * strides[k] % N];
                la_topk_offer(i % 3 ? &top : &half, item.score, item.index);
            }
            la_topk_merge(&top, &half);
            la_topk_sort(&top);
            assert_int_equal(top.count, sizes[s]);
            for (size_t i = 0; i < top.count; i++) {
                assert_int_equal(top.items[i].index, all[i].index);
                assert_true(top.items[i].score == all[i].score);
            }
        }
}

static void fewer_than_asked_for_are_all_returned(void **state) {
    (void)state;
    la_scored heap[10];
    la_topk top;
    la_topk_init(&top, heap, 10);
    la_topk_offer(&top, 1, 5);
    la_topk_offer(&top, 3, 9);
    la_topk_sort(&top);
    assert_int_equal(top.count, 2);
    assert_int_equal(top.items[0].index, 9);
    assert_int_equal(top.items[1].index, 5);
}

static void a_capacity_of_zero_keeps_nothing(void **state) {
    (void)state;
    la_topk top;
    la_topk_init(&top, NULL, 0);
    la_topk_offer(&top, 1, 1);
    la_topk_sort(&top);
    assert_int_equal(top.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_are_sorted_for_any_input_order),
        cmocka_unit_test(fewer_than_asked_for_are_all_returned),
        cmocka_unit_test(a_capacity_of_zero_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
