/* SPDX-License-Identifier: Apache-2.0
 *
 * What the interface promises of options: NULL means all defaults, and what has no
 * default is named. A call that fails leaves nothing behind.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "scant/project.h"
#include "scant/study.h"

static void null_options_name_what_is_missing(void **state) {
    (void)state;
    scant_project *project;
    scant_experiment *experiment;
    scant_lab *lab;
    assert_int_equal(scant_project_create(ctx, "promises-none", NULL, &project),
                     SCANT_EUSAGE);
    assert_null(project);
    assert_int_not_equal(access("promises-none", F_OK), 0);
    assert_int_equal(scant_lab_run(ctx, NULL, &lab), SCANT_EUSAGE);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "opts->net"));
    assert_int_equal(scant_lab_run(ctx, &(scant_lab_opts){.sketch = 5}, &lab),
                     SCANT_EUSAGE);
    assert_null(lab);
    must(scant_experiment_open(ctx, NULL, NULL, 0, &experiment));
    assert_int_equal(scant_experiment_run(experiment, NULL), SCANT_EUSAGE);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "opts->out"));
    scant_experiment_free(experiment);
}

static void a_failed_create_leaves_nothing_behind(void **state) {
    (void)state;
    static const float rows[6] = {1, 2, 3, 4, 5, 6};
    static const char *const classes[] = {"x", "y"};
    char folder[] = "/tmp/scant-test-XXXXXX", features[100], dir[100];
    assert_non_null(mkdtemp(folder));
    snprintf(features, sizeof features, "%s/x.npy", folder);
    snprintf(dir, sizeof dir, "%s/project", folder);
    scant_array *array;
    void *bytes;
    size_t size;
    must(scant_array_wrap(ctx, "x", rows, SCANT_F32, 2, (size_t[]){3, 2}, &array));
    must(scant_array_encode(ctx, array, &bytes, &size));
    must(scant_file_write(ctx, features, bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    scant_project_opts opts = {
        .source = {.features = features}, .classes = classes, .n_classes = 2};
    bool done = false;
    for (size_t at = 0; !done; at++) {
        memory m;
        scant_ctx *c = ctx_counting(&m);
        scant_project *project;
        m.calls = 0, m.fail_at = at;
        scant_status status = scant_project_create(c, dir, &opts, &project);
        done = status == SCANT_OK;
        assert_true(done || status == SCANT_ENOMEM);
        struct stat st;
        assert_int_equal(stat(dir, &st) == 0, done);
        m.fail_at = SIZE_MAX;
        scant_project_free(project);
        scant_ctx_free(c);
    }
    char path[200];
    static const char *const files[] = {"project.db", "project.db-wal", "project.db-shm"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
    unlink(features);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_options_name_what_is_missing),
        cmocka_unit_test(a_failed_create_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
