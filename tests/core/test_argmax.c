/* SPDX-License-Identifier: Apache-2.0
 *
 * The most likely class of a row.
 */
#include "../support.h"

#include "core/argmax.h"

static void argmax_returns_the_first_of_the_largest(void **state) {
    (void)state;
    assert_int_equal(scant__argmax((const float[]){0.2f, 0.5f, 0.3f}, 3), 1);
    assert_int_equal(scant__argmax((const float[]){-3, -2, -1}, 3), 2);
    assert_int_equal(scant__argmax((const float[]){0.2f, 0.4f, 0.4f}, 3), 1);
    assert_int_equal(scant__argmax((const float[]){1}, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(argmax_returns_the_first_of_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
