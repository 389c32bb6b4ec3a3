/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of control groups, as the files of both versions state them.
 */
#include "core/machine.h"
#include "folder.h"

#define MB ((size_t)1 << 20)

static void write_limit(const char *group, const char *file, const char *text) {
    char command[600], name[200];
    snprintf(command, sizeof command, "mkdir -p '%s/%s'", dir, group);
    assert_int_equal(system(command), 0);
    snprintf(name, sizeof name, "%s/%s", group, file);
    put(name, text, strlen(text));
}

static int make_tree(void **state) {
    if (make_dir(state) != 0) return -1;
    write_limit("", "memory.max", "max\n");
    write_limit("batch", "memory.max", "314572800\n");
    write_limit("batch/job", "memory.max", "max\n");
    write_limit("batch/small", "memory.max", "104857600\n");
    write_limit("unified/mixed", "memory.max", "209715200\n");
    write_limit("memory", "memory.limit_in_bytes", "9223372036854771712\n");
    write_limit("memory/docker", "memory.limit_in_bytes", "524288000\n");
    write_limit("memory/docker/one", "memory.limit_in_bytes", "9223372036854771712\n");
    write_limit("batch/odd", "memory.max", "many\n");
    write_limit("batch/empty", "memory.max", "");
    write_limit("batch/huge", "memory.max", "99999999999999999999999\n");
    return 0;
}

static size_t limit_in(const char *groups) {
    return scant__group_memory(put("groups", groups, strlen(groups)), dir);
}

static void the_lowest_limit_of_a_group_and_its_parents_holds(void **state) {
    (void)state;
    assert_int_equal(limit_in("0::/batch\n"), 300 * MB);
    assert_int_equal(limit_in("0::/batch/job\n"), 300 * MB);
    assert_int_equal(limit_in("0::/batch/small\n"), 100 * MB);
    assert_int_equal(limit_in("0::/batch/small"), 100 * MB);
    assert_true(limit_in("0::/\n") == SIZE_MAX);
}

static void both_versions_are_read(void **state) {
    (void)state;
    assert_int_equal(limit_in("5:cpu,cpuacct:/\n4:memory:/docker/one\n0::/\n"), 500 * MB);
    assert_int_equal(limit_in("4:hugetlb,memory:/docker\n"), 500 * MB);
    assert_int_equal(limit_in("4:memory:/docker\n0::/batch\n"), 300 * MB);
    assert_int_equal(limit_in("0::/mixed\n"), 200 * MB);
    assert_true(limit_in("4:memory:/\n") >= (size_t)1 << 62); /* version 1's "none" */
    assert_true(limit_in("4:memoryless,nomemory:/docker\n") == SIZE_MAX);
    assert_true(limit_in("1:name=systemd:/batch\n") == SIZE_MAX);
}

/* In a container the path of the host's group does not exist; the parents that do count.
 */
static void a_group_that_is_not_there_is_passed_over(void **state) {
    (void)state;
    assert_int_equal(limit_in("0::/batch/host/far/away\n"), 300 * MB);
    assert_true(limit_in("0::/host/far/away\n") == SIZE_MAX);
    assert_int_equal(limit_in("0::/batch/odd\n"), 300 * MB);
    assert_int_equal(limit_in("0::/batch/empty\n"), 300 * MB);
    assert_int_equal(limit_in("0::/batch/huge\n"), 300 * MB);
}

static void other_texts_are_no_groups(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "\n", "0", "0:", "0::", "0::batch\n", "0::/../batch\n", "::::\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(limit_in(texts[i]) == SIZE_MAX);
    char *long_line = malloc(20000);
    memset(long_line, 'a', 19999);
    memcpy(long_line, "0::/", 4);
    long_line[19999] = 0;
    assert_true(limit_in(long_line) == SIZE_MAX);
    free(long_line);
    assert_true(scant__group_memory(path_of("nothing"), dir) == SIZE_MAX);
}

static void the_machine_has_memory(void **state) {
    (void)state;
    size_t all = scant__machine_memory();
    scant_ctx *ctx;
    assert_true(all >= 16 * MB && all < SIZE_MAX);
    assert_int_equal(scant_ctx_create(NULL, &ctx), SCANT_OK);
    assert_int_equal(scant_ctx_memory(ctx), all / 2);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_limit_of_a_group_and_its_parents_holds),
        cmocka_unit_test(both_versions_are_read),
        cmocka_unit_test(a_group_that_is_not_there_is_passed_over),
        cmocka_unit_test(other_texts_are_no_groups),
        cmocka_unit_test(the_machine_has_memory),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_dir);
}
