/* SPDX-License-Identifier: Apache-2.0
 *
 * What a row of probabilities says.
 */
#include "../support.h"
#include "scant/project.h"

static void the_largest_is_likeliest_and_of_several_the_first(void **state) {
    (void)state;
    assert_int_equal(scant_likeliest((const float[]){0.2f, 0.5f, 0.3f}, 3), 1);
    assert_int_equal(scant_likeliest((const float[]){-3, -2, -1}, 3), 2);
    assert_int_equal(scant_likeliest((const float[]){0.2f, 0.4f, 0.4f}, 3), 1);
    assert_int_equal(scant_likeliest((const float[]){1}, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_is_likeliest_and_of_several_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
