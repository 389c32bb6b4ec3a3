/* SPDX-License-Identifier: Apache-2.0
 *
 * The known name closest to a mistyped word.
 */
#include "../support.h"

#include "core/near.h"

static const char *name_at(const void *names, size_t i) {
    return ((const char *const *)names)[i];
}

static void the_nearest_name_has_the_fewest_edits(void **state) {
    static const char *const names[] = {"batch", "rounds", "seeds", "initial_how"};
    (void)state;
    assert_string_equal(scant__nearest_typo("bathc", names, 4, name_at), "batch");
    assert_string_equal(scant__nearest_typo("init", names, 4, name_at), "initial_how");
    assert_null(scant__nearest_typo("zzzzz", names, 4, name_at));
    assert_non_null(scant__nearest("zzzzz", names, 4, name_at));
    assert_string_equal(scant__nearest("sed", names, 4, name_at), "seeds");
    assert_null(scant__nearest("x", names, 0, name_at));
    assert_null(scant__nearest_typo("x", names, 0, name_at));
}

static void no_typo_is_suggested_for_a_long_word(void **state) {
    static const char *const names[] = {"0123456789012345678901234567890123456789x"};
    (void)state;
    assert_null(scant__nearest_typo(names[0] + 1, names, 1, name_at));
    assert_string_equal(scant__nearest("y", names, 1, name_at), names[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_name_has_the_fewest_edits),
        cmocka_unit_test(no_typo_is_suggested_for_a_long_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
