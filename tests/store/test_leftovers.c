/* SPDX-License-Identifier: Apache-2.0
 *
 * What killed programs left is removed, and nothing else.
 */
#include "people.h"
#include "scant/project.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

/* A temporary folder as a killed program leaves it. */
static const char *put_left(const char *name) {
    char file[100];
    mkdir(path_of(name), 0777);
    snprintf(file, sizeof file, "%s/project.db", name);
    put_text(file, "half");
    return path_of(name);
}

static void what_killed_programs_left_does_not_prevent_a_project(void **state) {
    char features[512];
    scant_project_opts o = {
        .source = {.features = features}, .classes = abc, .n_classes = 3};
    scant_project *project;
    struct stat st;
    (void)state;
    snprintf(features, sizeof features, "%s", put_features("left.npy", 4, 2, 1));
    mkdir(path_of("again"), 0777);
    put_left("again/.new-1-abcXYZ"); /* 1: a process that runs */
    put_left("again/.new-999999-123456");
    /* one in use, and ones with other names, must stay */
    int fd = open(put_left("again/.new-2-abcdef"), O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    REFUSED(scant_project_create(ctx, path_of("again"), &o, &project), SCANT_ECONFLICT,
            "is not empty");
    assert_int_equal(entries_of(path_of("again")), 1);
    close(fd);
    OK(scant_project_create(ctx, path_of("again"), &o, &project));
    scant_project_free(project);
    assert_int_equal(entries_of(path_of("again")), 1);
    put_left("beside.new-1-abcXYZ");
    put_left("beside.new-backup");
    put_left("beside.new-1-backups");
    put_left("other.new-1-backup");
    put_left("beside.new-2-abcXYZ"); /* somebody's project of such a name */
    mkdir(path_of("beside.new-2-abcXYZ/models"), 0777);
    OK(scant_project_create(ctx, path_of("beside"), &o, &project));
    scant_project_free(project);
    assert_int_not_equal(stat(path_of("beside.new-1-abcXYZ"), &st), 0);
    assert_int_equal(stat(path_of("beside.new-backup/project.db"), &st), 0);
    assert_int_equal(stat(path_of("beside.new-1-backups/project.db"), &st), 0);
    assert_int_equal(stat(path_of("beside.new-2-abcXYZ/project.db"), &st), 0);
    assert_int_equal(stat(path_of("other.new-1-backup/project.db"), &st), 0);
}

/* The path of a temporary file of a process. */
static const char *temporary(const char *folder, pid_t process) {
    char name[100];
    snprintf(name, sizeof name, "swept/%.30s.scant-%ld-0.tmp", folder, (long)process);
    return path_of(name);
}

static void put_temporary(const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void files_of_killed_programs_are_deleted(void **state) {
    static const char *const folders[] = {"", "cache/", "cache/pictures/96/"};
    scant_project *project = make_project("swept", 10, NULL, 0);
    pid_t dead = fork();
    scant_hold *hold;
    (void)state;
    if (!dead) _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    mkdir(path_of("swept/cache"), 0777);
    mkdir(path_of("swept/cache/pictures"), 0777);
    mkdir(path_of("swept/cache/pictures/96"), 0777);
    for (size_t i = 0; i < 3; i++) put_temporary(temporary(folders[i], dead));
    put_temporary(temporary("cache/", getpid()));
    put_temporary(temporary("cache/", getppid())); /* of a running program */
    put_temporary(path_of("swept/cache/.scant-1x-0.tmp"));
    OK(scant_project_hold(project, "train", "a test", &hold));
    for (size_t i = 0; i < 3; i++)
        assert_int_not_equal(access(temporary(folders[i], dead), F_OK), 0);
    assert_int_equal(access(temporary("cache/", getpid()), F_OK), 0);
    scant_hold_free(hold);
    OK(scant_project_hold(project, "serve", "a test", &hold));
    assert_int_not_equal(access(temporary("cache/", getpid()), F_OK), 0);
    assert_int_equal(access(temporary("cache/", getppid()), F_OK), 0);
    assert_int_equal(access(path_of("swept/cache/.scant-1x-0.tmp"), F_OK), 0);
    scant_hold_free(hold);
    scant_project_free(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_killed_programs_left_does_not_prevent_a_project),
        cmocka_unit_test(files_of_killed_programs_are_deleted),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
