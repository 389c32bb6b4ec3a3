/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of names: kept, sorted by bytes, found again.
 */
#include <stdio.h>

#include "../support.h"

#include "data/names.h"

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void names_are_returned_as_added(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant__names names = {0};
    char text[16];
    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%zu", i * i);
        assert_int_equal(scant__names_put(ctx, &names, text), SCANT_OK);
    }
    assert_int_equal(scant__names_add(ctx, &names, NULL, 0), SCANT_OK);
    for (size_t i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%zu", i * i);
        assert_string_equal(scant__names_get(&names, i), text);
    }
    assert_string_equal(scant__names_get(&names, 1000), "");
    scant__names_end(&names);
    scant_ctx_free(ctx);
}

/* Compared with qsort(): many equal names, shared prefixes, bytes above 127. */
static void sorting_is_by_bytes(void **state) {
    enum { MOST = 300 };
    static char words[MOST][12];
    const char *want[MOST];
    (void)state;
    for (uint64_t turn = 0; turn < 60; turn++) {
        scant_ctx *ctx = ctx_threads(1);
        scant__names names = {0};
        size_t n = (size_t)(unit_at(turn, 0) * MOST), letters = 1 + turn % 5;
        for (size_t i = 0; i < n; i++) {
            size_t length = (size_t)(unit_at(turn, 2 * i + 1) * 12);
            for (size_t k = 0; k < length; k++)
                words[i][k] = "ab\xe9\x7fz"[(size_t)(unit_at(turn, 1000 + 12 * i + k) *
                                                     (double)letters)];
            if (length < 12) words[i][length] = 0;
            want[i] = words[i];
            assert_int_equal(scant__names_add(ctx, &names, words[i], length), SCANT_OK);
        }
        qsort(want, n, sizeof *want, by_bytes);
        scant__names_sort(&names);
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(scant__names_get(&names, i), want[i]);
            size_t found = scant__names_find(&names, want[i]);
            assert_true(found < n);
            assert_string_equal(scant__names_get(&names, found), want[i]);
        }
        assert_int_equal(scant__names_find(&names, "abc"), n);
        assert_int_equal(scant__names_find(&names, "zzzzzzzzzzzzz"), n);
        scant__names_end(&names);
        scant_ctx_free(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_returned_as_added),
        cmocka_unit_test(sorting_is_by_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
