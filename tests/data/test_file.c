/* SPDX-License-Identifier: Apache-2.0
 *
 * Files appear whole or not at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "counting.h"

#include "data/file.h"

static void writes(const char *path, const char *text) {
    if (scant_file_write(ctx, path, text, strlen(text)) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
}

static void holds(const char *path, const char *text) {
    char bytes[100];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(bytes, text, n);
}

static void fails(const char *path, int number) {
    assert_int_equal(scant_file_write(ctx, path, "new", 3), SCANT_EIO);
    assert_says(ctx, path, strerror(number));
}

static size_t entries(const char *path) {
    size_t n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void a_new_file_has_the_umasks_mode_and_leaves_nothing_beside_it(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("new"), 0777), 0);
    mode_t mask = umask(027);
    writes(path_of("new/a.csv"), "hello");
    umask(mask);
    holds(path_of("new/a.csv"), "hello");
    assert_int_equal(mode_of(path_of("new/a.csv")), 0640);
    assert_int_equal(entries(path_of("new")), 1);
    assert_int_equal(scant_file_write(ctx, path_of("new/empty"), NULL, 0), SCANT_OK);
    holds(path_of("new/empty"), "");
}

static void a_name_without_a_directory_works(void **state) {
    int here = open(".", O_RDONLY);
    (void)state;
    assert_true(here >= 0);
    assert_int_equal(chdir(dir), 0);
    writes("bare.csv", "hello");
    holds("bare.csv", "hello");
    assert_int_equal(fchdir(here), 0);
    close(here);
}

static void an_old_file_is_replaced_and_keeps_its_mode(void **state) {
    const char *path = put("old.csv", "old and longer", 14);
    struct stat before, after;
    (void)state;
    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(stat(path, &before), 0);
    writes(path, "new");
    holds(path, "new");
    assert_int_equal(mode_of(path), 0604);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino != after.st_ino); /* a reader of the old one still has it */
}

static void an_owner_is_kept_where_one_may(void **state) {
    struct stat st;
    const char *path = put("theirs.csv", "old", 3);
    (void)state;
    if (geteuid() != 0) skip(); /* only root gives files away */
    assert_int_equal(chown(path, 65534, 65534), 0);
    writes(path, "new");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, 65534);
}

static void a_link_stays_and_its_target_is_written(void **state) {
    char target[32];
    (void)state;
    put("target.csv", "old", 3);
    assert_int_equal(symlink("target.csv", path_of("link1")), 0);
    assert_int_equal(symlink(path_of("link1"), path_of("link2")), 0);
    writes(path_of("link2"), "new");
    holds(path_of("target.csv"), "new");
    assert_int_equal(readlink(path_of("link1"), target, sizeof target), 10);

    assert_int_equal(symlink("not-yet.csv", path_of("dangling")), 0);
    writes(path_of("dangling"), "born");
    holds(path_of("not-yet.csv"), "born");
    assert_int_equal(readlink(path_of("dangling"), target, sizeof target), 11);

    assert_int_equal(symlink("loop", path_of("loop")), 0);
    fails(path_of("loop"), ELOOP);
}

static void a_write_that_fails_leaves_what_was_there(void **state) {
    (void)state;
    fails(path_of("no-such-dir/a.csv"), ENOENT);
    fails(dir, EISDIR);
    fails(path_of("no-such-dir/"), EISDIR);
    fails("", ENOENT);
    put("file", "x", 1);
    fails(path_of("file/a.csv"), ENOTDIR);
}

/* A limit on file sizes makes write() fail half way. */
static void a_write_that_fails_half_way_leaves_the_old_file_and_no_other(void **state) {
    static char big[100000];
    struct rlimit limit, small;
    (void)state;
    assert_int_equal(mkdir(path_of("full"), 0777), 0);
    const char *path = put("full/a.csv", "old", 3);
    signal(SIGXFSZ, SIG_IGN); /* so that it is EFBIG */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){.rlim_cur = 50000, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    scant_status status = scant_file_write(ctx, path, big, sizeof big);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, SCANT_EIO);
    assert_says(ctx, path, strerror(EFBIG));
    holds(path, "old");
    assert_int_equal(entries(path_of("full")), 1);
}

static void a_file_one_may_not_write_is_refused(void **state) {
    bool root = geteuid() == 0; /* who may write everything */
    (void)state;
    assert_int_equal(mkdir(path_of("open"), 0777), 0);
    assert_int_equal(chmod(path_of("open"), 0777), 0);
    assert_int_equal(chmod(dir, 0755), 0);
    const char *path = put("open/fixed.csv", "old", 3);
    assert_int_equal(chmod(path, 0444), 0);
    if (root) assert_int_equal(seteuid(65534), 0);
    scant_status status = scant_file_write(ctx, path, "new", 3);
    if (root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(status, SCANT_EIO);
    assert_says(ctx, path, strerror(EACCES));
    holds(path, "old");
}

static void a_name_already_taken_by_a_temporary_file_is_no_obstacle(void **state) {
    char name[64];
    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, ".scant-%ld-%d.tmp", (long)getpid(), i);
        put(name, "left over", 9);
    }
    writes(path_of("a.csv"), "hello");
    holds(path_of("a.csv"), "hello");
    holds(path_of(name), "left over");
}

static void what_is_no_regular_file_is_written_straight(void **state) {
    char bytes[16];
    (void)state;
    assert_int_equal(scant_file_write(ctx, "/dev/null", "x", 1), SCANT_OK);
    fails("/dev/full", ENOSPC);

    const char *path = path_of("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    writes(path, "hello");
    assert_int_equal(read(reader, bytes, sizeof bytes), 5);
    assert_memory_equal(bytes, "hello", 5);
    close(reader);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

static void a_descriptors_path_is_written_through(void **state) {
    int ends[2];
    char path[64], bytes[16];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    if (access(path, W_OK) != 0) skip(); /* no /proc here */
    writes(path, "hello");
    assert_int_equal(read(ends[0], bytes, sizeof bytes), 5);
    close(ends[0]);
    close(ends[1]);
}

/* ---- folders ---------------------------------------------------------------------- */

static void a_folder_is_made_with_those_above_it(void **state) {
    (void)state;
    const char *const paths[] = {path_of("new/of/all"), path_of("new/of//all/"),
                                 path_of("new/other")};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(scant__folder_make(ctx, paths[i]), SCANT_OK);
        assert_int_equal(entries(paths[i]), 0);
    }
    assert_true(scant__same_file(paths[0], paths[1]));
    assert_false(scant__same_file(paths[0], paths[2]));
    assert_false(scant__same_file(path_of("none"), path_of("none")));
    writes(path_of("new/file"), "text");
    assert_int_equal(scant__folder_make(ctx, path_of("new/file")), SCANT_EIO);
    assert_says(ctx, path_of("new/file"), "the folder cannot be created");
    assert_int_equal(scant__folder_make(ctx, path_of("new/file/below")), SCANT_EIO);
    assert_says(ctx, path_of("new/file"), "the folder cannot be created");
    mem.fail_at = mem.calls;
    assert_int_equal(scant__folder_make(ctx, path_of("new/last")), SCANT_ENOMEM);
    mem.fail_at = SIZE_MAX;
    assert_int_not_equal(access(path_of("new/last"), F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file_has_the_umasks_mode_and_leaves_nothing_beside_it),
        cmocka_unit_test(a_name_without_a_directory_works),
        cmocka_unit_test(an_old_file_is_replaced_and_keeps_its_mode),
        cmocka_unit_test(an_owner_is_kept_where_one_may),
        cmocka_unit_test(a_link_stays_and_its_target_is_written),
        cmocka_unit_test(a_write_that_fails_leaves_what_was_there),
        cmocka_unit_test(a_write_that_fails_half_way_leaves_the_old_file_and_no_other),
        cmocka_unit_test(a_file_one_may_not_write_is_refused),
        cmocka_unit_test(a_name_already_taken_by_a_temporary_file_is_no_obstacle),
        cmocka_unit_test(what_is_no_regular_file_is_written_straight),
        cmocka_unit_test(a_descriptors_path_is_written_through),
        cmocka_unit_test(a_folder_is_made_with_those_above_it),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
