/* SPDX-License-Identifier: Apache-2.0
 *
 * Projects are made whole or not at all, of what they are made of.
 */
#include "support.h"

static void a_project_is_made_and_opened(void **state) {
    scant_project *project;
    size_t n;
    (void)state;
    scant_project_close(make_project("one", 50, NULL, 0));
    OK(scant_project_open(ctx, path_of("one"), &project));
    OK(store_items(project, &n));
    assert_int_equal(n, 50);
    assert_string_equal(scant_project_class(project, 2), "c");
    assert_null(scant_project_class(project, 3));
    assert_string_equal(scant_project_get(project, "name"), "one");
    assert_string_equal(scant_project_get(project, "strategy"), "badge");
    assert_int_equal(ask(project, "SELECT count(*) FROM items WHERE withheld = 1"), 10);
    assert_int_equal(ask(project, "SELECT count(*) FROM queue"), 50);
    scant_project_close(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_is_made_and_opened),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
