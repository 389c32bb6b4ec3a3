/* SPDX-License-Identifier: Apache-2.0
 *
 * Files are written completely or not at all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "counting.h"

#include "data/file.h"

static void assert_writes(const char *path, const char *text) {
    if (scant_file_write(ctx, path, text, strlen(text)) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
}

static void assert_holds(const char *path, const char *text) {
    char bytes[100];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(bytes, text, n);
}

static void assert_fails(const char *path, int number) {
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

static void a_new_file_follows_the_umask_and_leaves_no_temporary_file(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("new"), 0777), 0);
    mode_t mask = umask(027);
    assert_writes(path_of("new/a.csv"), "hello");
    umask(mask);
    assert_holds(path_of("new/a.csv"), "hello");
    assert_int_equal(mode_of(path_of("new/a.csv")), 0640);
    assert_int_equal(entries(path_of("new")), 1);
    assert_int_equal(scant_file_write(ctx, path_of("new/empty"), NULL, 0), SCANT_OK);
    assert_holds(path_of("new/empty"), "");
}

static void a_name_without_a_directory_works(void **state) {
    int here = open(".", O_RDONLY);
    (void)state;
    assert_true(here >= 0);
    assert_int_equal(chdir(dir), 0);
    assert_writes("bare.csv", "hello");
    assert_holds("bare.csv", "hello");
    assert_int_equal(fchdir(here), 0);
    close(here);
}

static void an_old_file_is_replaced_and_keeps_its_mode(void **state) {
    const char *path = put("old.csv", "old and longer", 14);
    struct stat before, after;
    (void)state;
    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_writes(path, "new");
    assert_holds(path, "new");
    assert_int_equal(mode_of(path), 0604);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino != after.st_ino); /* open readers keep the old file */
}

static void root_keeps_the_owner_of_a_file(void **state) {
    struct stat st;
    const char *path = put("theirs.csv", "old", 3);
    (void)state;
    if (geteuid() != 0) skip(); /* only root can change owners */
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_writes(path, "new");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, 65534);
}

static void a_link_is_kept_and_its_target_is_written(void **state) {
    char target[32];
    (void)state;
    put("target.csv", "old", 3);
    assert_int_equal(symlink("target.csv", path_of("link1")), 0);
    assert_int_equal(symlink(path_of("link1"), path_of("link2")), 0);
    assert_writes(path_of("link2"), "new");
    assert_holds(path_of("target.csv"), "new");
    assert_int_equal(readlink(path_of("link1"), target, sizeof target), 10);

    assert_int_equal(symlink("not-yet.csv", path_of("dangling")), 0);
    assert_writes(path_of("dangling"), "born");
    assert_holds(path_of("not-yet.csv"), "born");
    assert_int_equal(readlink(path_of("dangling"), target, sizeof target), 11);

    assert_int_equal(symlink("loop", path_of("loop")), 0);
    assert_fails(path_of("loop"), ELOOP);
}

static void wrong_paths_are_reported(void **state) {
    (void)state;
    assert_fails(path_of("no-such-dir/a.csv"), ENOENT);
    assert_fails(dir, EISDIR);
    assert_fails(path_of("no-such-dir/"), EISDIR);
    assert_fails("", ENOENT);
    put("file", "x", 1);
    assert_fails(path_of("file/a.csv"), ENOTDIR);
}

/* A limit on the file size makes write() fail part-way. */
static void a_failed_write_leaves_the_old_file_and_no_temporary_one(void **state) {
    static char big[100000];
    struct rlimit limit, small;
    (void)state;
    assert_int_equal(mkdir(path_of("full"), 0777), 0);
    const char *path = put("full/a.csv", "old", 3);
    signal(SIGXFSZ, SIG_IGN); /* so that write() returns EFBIG */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){.rlim_cur = 50000, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    scant_status status = scant_file_write(ctx, path, big, sizeof big);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, SCANT_EIO);
    assert_says(ctx, path, strerror(EFBIG));
    assert_holds(path, "old");
    assert_int_equal(entries(path_of("full")), 1);
}

static void a_read_only_file_is_not_replaced(void **state) {
    bool root = geteuid() == 0; /* root may write everything */
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
    assert_holds(path, "old");
}

static void leftover_temporary_files_do_no_harm(void **state) {
    char name[64];
    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, ".scant-%ld-%d.tmp", (long)getpid(), i);
        put(name, "left over", 9);
    }
    assert_writes(path_of("a.csv"), "hello");
    assert_holds(path_of("a.csv"), "hello");
    assert_holds(path_of(name), "left over");
}

static void devices_and_pipes_are_written_directly(void **state) {
    char bytes[16];
    (void)state;
    assert_int_equal(scant_file_write(ctx, "/dev/null", "x", 1), SCANT_OK);
    assert_fails("/dev/full", ENOSPC);

    const char *path = path_of("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_writes(path, "hello");
    assert_int_equal(read(reader, bytes, sizeof bytes), 5);
    assert_memory_equal(bytes, "hello", 5);
    close(reader);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

static void a_path_in_proc_self_fd_is_written_through(void **state) {
    int ends[2];
    char path[64], bytes[16];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    if (access(path, W_OK) != 0) skip(); /* no /proc */
    assert_writes(path, "hello");
    assert_int_equal(read(ends[0], bytes, sizeof bytes), 5);
    close(ends[0]);
    close(ends[1]);
}

/* ---- folders ---------------------------------------------------------------------- */

static void a_folder_is_created_with_its_parents(void **state) {
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
    assert_writes(path_of("new/file"), "text");
    assert_int_equal(scant__folder_make(ctx, path_of("new/file")), SCANT_EIO);
    assert_says(ctx, path_of("new/file"), "the folder cannot be created");
    assert_int_equal(scant__folder_make(ctx, path_of("new/file/below")), SCANT_EIO);
    assert_says(ctx, path_of("new/file"), "the folder cannot be created");
    assert_int_equal(scant__folder_make_in(ctx, path_of("new"), path_of("new/in/it")),
                     SCANT_OK);
    assert_int_equal(access(path_of("new/in/it"), F_OK), 0);
    assert_int_equal(scant__folder_make_in(ctx, path_of("gone"), path_of("gone/in/it")),
                     SCANT_EIO);
    assert_says(ctx, path_of("gone/in"), "the folder cannot be created");
    assert_int_not_equal(access(path_of("gone"), F_OK), 0);
    mem.fail_at = mem.calls;
    assert_int_equal(scant__folder_make(ctx, path_of("new/last")), SCANT_ENOMEM);
    mem.fail_at = SIZE_MAX;
    assert_int_not_equal(access(path_of("new/last"), F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file_follows_the_umask_and_leaves_no_temporary_file),
        cmocka_unit_test(a_name_without_a_directory_works),
        cmocka_unit_test(an_old_file_is_replaced_and_keeps_its_mode),
        cmocka_unit_test(root_keeps_the_owner_of_a_file),
        cmocka_unit_test(a_link_is_kept_and_its_target_is_written),
        cmocka_unit_test(wrong_paths_are_reported),
        cmocka_unit_test(a_failed_write_leaves_the_old_file_and_no_temporary_one),
        cmocka_unit_test(a_read_only_file_is_not_replaced),
        cmocka_unit_test(leftover_temporary_files_do_no_harm),
        cmocka_unit_test(devices_and_pipes_are_written_directly),
        cmocka_unit_test(a_path_in_proc_self_fd_is_written_through),
        cmocka_unit_test(a_folder_is_created_with_its_parents),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
