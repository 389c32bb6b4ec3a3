/* SPDX-License-Identifier: Apache-2.0
 *
 * A source whose content has changed since its items were added is refused until it is
 * accepted; one that was touched or extended is not.
 */
#include "sources.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

enum { N = 40, D = 3, SIDE = 8 };

static double rows[N + 5][D];

static void number_rows(void) {
    for (size_t i = 0; i < (N + 5) * D; i++) (&rows[0][0])[i] = 0.5 * (double)i;
}

static const char *put_rows(const char *name, size_t n) {
    return put_array(name, rows, SCANT_F64, 2, (size_t[]){n, D});
}

static scant_project *numbered(const char *name) {
    char file[64];
    snprintf(file, sizeof file, "%s.npy", name);
    number_rows();
    return created(name, (scant_source){.features = put_rows(file, N)});
}

/* Sets the file's time, so that a change is seen whatever the clock's resolution. */
static void set_time(const char *path, time_t seconds) {
    const struct timespec times[] = {{seconds, 0}, {seconds, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static scant_status read_first(scant_project *project, float *out) {
    return store_features_read(project, 0, 1, out);
}

static int64_t stored_time(scant_project *project) {
    return ask(project, "SELECT time / 1000000000 FROM sources");
}

static void a_file_with_the_same_items_is_not_refused(void **state) {
    static float single[N][D];
    float out[D];
    scant_project *project = numbered("same");
    size_t added;
    (void)state;
    set_time(path_of("same.npy"), 1000);
    OK(read_first(project, out));
    assert_int_equal(stored_time(project), 1000); /* so it is not compared again */
    put_rows("same.npy", N + 5);
    set_time(path_of("same.npy"), 2000);
    OK(read_first(project, out));
    assert_int_equal(stored_time(project), 2000);
    OK(scant_project_add(project, &(scant_source){.features = path_of("same.npy")},
                         &added));
    assert_int_equal(added, 5);
    /* another type, whose numbers are the same */
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++) single[i][j] = (float)rows[i][j];
    OK(read_first(project, out));
    scant_project_free(project);
    project = numbered("single");
    put_array("single.npy", single, SCANT_F32, 2, (size_t[]){N, D});
    OK(read_first(project, out));
    scant_project_free(project);
}

static void a_changed_file_is_refused_by_every_reader_and_named(void **state) {
    static const char words[] =
        "turned.npy: has changed since its items were added: 40 of "
        "40 items are different, the first is item 0 (its row 0)";
    float out[D];
    size_t width;
    (void)state;
    scant_project *project = numbered("turned");
    OK(read_first(project, out));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++) rows[i][j] = 0.5 * (double)((N - 1 - i) * D + j);
    put_rows("turned.npy", N);
    for (int again = 0; again < 2; again++) {
        REFUSED(read_first(project, out), SCANT_EINPUT, words);
        REFUSED(store_features_width(project, &width), SCANT_EINPUT, words);
        REFUSED(scant_project_prepare(project), SCANT_EINPUT, "turned.npy: has changed");
        REFUSED(scant_project_add(
                    project, &(scant_source){.features = path_of("turned.npy")}, NULL),
                SCANT_EINPUT, words);
    }
    scant_project_free(project);
    OK(scant_project_open(ctx, path_of("turned"), &project));
    REFUSED(read_first(project, out), SCANT_EINPUT, "--accept-changed");
    /* the earlier file again */
    number_rows();
    put_rows("turned.npy", N);
    OK(read_first(project, out));
    scant_project_free(project);
}

/* Size and time are the same: only the content tells. */
static void a_change_that_keeps_size_and_time_is_found(void **state) {
    float out[D];
    scant_project *project = numbered("sly");
    (void)state;
    set_time(path_of("sly.npy"), 1000);
    OK(read_first(project, out));
    scant_project_free(project);
    rows[7][1] = -1;
    put_rows("sly.npy", N);
    set_time(path_of("sly.npy"), 1000);
    OK(scant_project_open(ctx, path_of("sly"), &project));
    REFUSED(read_first(project, out), SCANT_EINPUT,
            "1 of 40 items is different, the first is item 7 (its row 7)");
    scant_project_free(project);
}

static void what_is_accepted_is_read_and_recorded(void **state) {
    float out[D];
    size_t changed;
    scant_project *project = numbered("taken");
    (void)state;
    OK(scant_project_prepare(project));
    OK(scant_project_accept_changed(project, &changed));
    assert_int_equal(changed, 0);
    rows[0][0] = 100;
    put_rows("taken.npy", N);
    REFUSED(read_first(project, out), SCANT_EINPUT, "1 of 40 items");
    OK(scant_project_accept_changed(project, &changed));
    assert_int_equal(changed, 1);
    assert_int_equal(access(path_of("taken/cache/features.npy"), F_OK), -1);
    OK(read_first(project, out));
    assert_true(out[0] == 100);
    OK(scant_project_prepare(project));
    assert_int_equal(ask(project, "SELECT count(*) FROM events WHERE kind = 'changed' AND"
                                  " text ->> 'items' = 1"),
                     1);
    put_rows("taken.npy", N - 2);
    REFUSED(scant_project_accept_changed(project, &changed), SCANT_EINPUT,
            "it has only 38 rows, and 2 items are rows after these");
    scant_project_free(project);
}

/* One source cannot be accepted: the others are not accepted, either. */
static void all_sources_are_accepted_or_none(void **state) {
    size_t changed;
    float out[D];
    scant_project *project = numbered("all");
    (void)state;
    rows[3][0] = 33;
    put_rows("all2.npy", N);
    OK(scant_project_add(project, &(scant_source){.features = path_of("all2.npy")},
                         NULL));
    OK(scant_project_prepare(project));
    rows[0][0] = 100;
    put_rows("all.npy", N);
    put_rows("all2.npy", N - 1);
    int64_t prints = ask(project, "SELECT sum(print >> 8) FROM items");
    REFUSED(scant_project_accept_changed(project, &changed), SCANT_EINPUT,
            "all2.npy: cannot be accepted: it has only 39 rows");
    assert_int_equal(ask(project, "SELECT sum(print >> 8) FROM items"), prints);
    assert_int_equal(ask(project, "SELECT count(*) FROM events WHERE kind = 'changed'"),
                     0);
    assert_int_equal(access(path_of("all/cache/features.npy"), F_OK), 0);
    REFUSED(read_first(project, out), SCANT_EINPUT, "all.npy: has changed");
    put_rows("all2.npy", N);
    OK(scant_project_accept_changed(project, &changed));
    assert_int_equal(changed, 3); /* row 0 of both, and row 3 of the first */
    assert_int_equal(ask(project, "SELECT count(*) FROM events WHERE kind = 'changed'"),
                     2);
    OK(read_first(project, out));
    scant_project_free(project);
}

static void accepting_deletes_no_files_outside_the_project(void **state) {
    scant_project *project = numbered("linked");
    size_t changed;
    (void)state;
    mkdir(path_of("outside"), 0700);
    mkdir(path_of("outside/below"), 0700);
    put_text("outside/below/a", "kept");
    put_text("outside/b", "kept");
    mkdir(path_of("linked/cache"), 0700);
    mkdir(path_of("linked/cache/thumbs"), 0700);
    put_text("linked/cache/thumbs/c", "deleted");
    assert_int_equal(symlink(path_of("outside"), path_of("linked/cache/folder")), 0);
    assert_int_equal(symlink(path_of("outside/b"), path_of("linked/cache/thumbs/file")),
                     0);
    rows[0][0] = 100;
    put_rows("linked.npy", N);
    OK(scant_project_accept_changed(project, &changed));
    assert_int_equal(changed, 1);
    assert_int_equal(access(path_of("linked/cache/thumbs/c"), F_OK), -1);
    assert_int_equal(access(path_of("outside/below/a"), F_OK), 0);
    assert_int_equal(access(path_of("outside/b"), F_OK), 0);
    /* cache itself is a link */
    assert_int_equal(rename(path_of("linked/cache"), path_of("linked/old")), 0);
    assert_int_equal(symlink(path_of("outside"), path_of("linked/cache")), 0);
    rows[1][0] = 100;
    put_rows("linked.npy", N);
    REFUSED(scant_project_accept_changed(project, &changed), SCANT_EINPUT,
            "linked/cache: is a symbolic link");
    assert_int_equal(access(path_of("outside/b"), F_OK), 0);
    assert_int_equal(ask(project, "SELECT count(*) FROM events WHERE kind = 'changed'"),
                     1);
    unlink(path_of("linked/cache"));
    OK(scant_project_accept_changed(project, &changed));
    assert_int_equal(changed, 1);
    scant_project_free(project);
}

/* Only the new fingerprint cannot be stored. */
static void a_full_disk_does_not_refuse_a_touched_file(void **state) {
    struct rlimit old, small;
    float out[D];
    scant_project *project = numbered("filled");
    (void)state;
    set_time(path_of("filled.npy"), 1000);
    OK(read_first(project, out));
    put_rows("filled.npy", N + 5);
    set_time(path_of("filled.npy"), 2000);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    scant_status status = read_first(project, out);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, SCANT_OK);
    assert_int_equal(stored_time(project), 1000);
    scant_project_free(project);
    OK(scant_project_open(ctx, path_of("filled"), &project));
    OK(read_first(project, out));
    assert_int_equal(stored_time(project), 2000);
    scant_project_free(project);
}

static void no_statement_runs_while_items_are_compared(void **state) {
    scant_project *project = NULL;
    float out[D], same;
    scant_ctx *own;
    static double many[1000][D];
    (void)state;
    for (size_t i = 0; i < 1000 * D; i++) (&many[0][0])[i] = (double)i;
    put_array("many.npy", many, SCANT_F64, 2, (size_t[]){1000, D});
    OK(scant_ctx_create(&(scant_ctx_opts){.user = &project, .cancel = no_statement_runs},
                        &own));
    OK(scant_project_create(
        own, path_of("many"),
        &(scant_project_opts){.source = {.features = path_of("many.npy")}}, &project));
    set_time(path_of("many.npy"), 1000);
    OK(read_first(project, out));
    many[999][0] = same = -1;
    put_array("many.npy", many, SCANT_F64, 2, (size_t[]){1000, D});
    assert_int_equal(read_first(project, out), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(own), "1 of 1000 items is different, the "
                                                  "first is item 999 (its row 999)"));
    OK(scant_project_accept_changed(project, NULL));
    OK(store_features_read(project, 999, 1, out));
    assert_true(out[0] == same);
    scant_project_free(project);
    project = NULL;
    scant_ctx_free(own);
}

static void other_columns_and_types_are_named(void **state) {
    float out[D], fewer[N][2] = {{0}};
    scant_project *project = numbered("wide");
    (void)state;
    put_array("wide.npy", fewer, SCANT_F32, 2, (size_t[]){N, 2});
    REFUSED(
        read_first(project, out), SCANT_EINPUT,
        "it was float64, 40 x 3 and is float32, 40 x 2; 40 of 40 items are different");
    scant_project_free(project);
}

/* ---- images ------------------------------------------------------------------------ */

static size_t warnings;

static void note_warning(void *user, scant_log_level level, const char *text) {
    (void)user;
    if (level == SCANT_LOG_WARNING && strstr(text, "has changed")) warnings++;
}

static scant_status open_images(scant_project *project) {
    scant_data *data;
    TRY(store_samples(project, SIDE, &data));
    scant_data_free(data);
    return SCANT_OK;
}

static void a_folder_is_refused_if_most_images_changed(void **state) {
    size_t changed;
    char name[32];
    (void)state;
    mkdir(path_of("photos"), 0700);
    for (unsigned char i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "photos/%u.png", i);
        put_image(name, i, 9, 9, false);
    }
    scant_project *project =
        created("images", (scant_source){.images = path_of("photos")});
    ctx->opts.log = note_warning;
    OK(open_images(project));
    assert_int_equal(warnings, 0);
    put_image("photos/3.png", 200, 9, 9, false); /* one may be repaired */
    unlink(path_of("photos/5.png"));
    OK(open_images(project));
    assert_int_equal(warnings, 1);
    for (unsigned char i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "photos/%u.png", i);
        put_image(name, (unsigned char)(100 + i), 9, 9, false);
    }
    REFUSED(
        open_images(project), SCANT_EINPUT,
        "photos: has changed since its items were added: 8 of 10 items are different, "
        "the first is item 0 (0.png)");
    OK(scant_project_accept_changed(project, &changed));
    assert_int_equal(changed, 8);
    OK(open_images(project));
    assert_int_equal(warnings, 1);
    ctx->opts.log = NULL;
    scant_project_free(project);
}

static size_t comparisons;

static void count_comparisons(void *user, const char *phase, double done) {
    (void)user;
    (void)done;
    comparisons += strcmp(phase, "comparing items") == 0;
}

/* A folder that was added many times is many sources of one path. */
static void every_source_is_compared_once(void **state) {
    enum { TIMES = 13 };
    char name[32];
    scant_project *project = NULL;
    (void)state;
    mkdir(path_of("growing"), 0700);
    for (unsigned char i = 0; i < TIMES; i++) {
        snprintf(name, sizeof name, "growing/%u.png", i);
        put_image(name, i, 9, 9, false);
        if (i)
            OK(scant_project_add(project, NULL, NULL));
        else
            project = created("grown", (scant_source){.images = path_of("growing")});
    }
    assert_int_equal(ask(project, "SELECT count(*) FROM sources"), TIMES);
    ctx->opts.progress = count_comparisons;
    OK(open_images(project));
    ctx->opts.progress = NULL;
    assert_int_equal(comparisons, TIMES);
    scant_project_free(project);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_with_the_same_items_is_not_refused),
        cmocka_unit_test(a_changed_file_is_refused_by_every_reader_and_named),
        cmocka_unit_test(a_change_that_keeps_size_and_time_is_found),
        cmocka_unit_test(what_is_accepted_is_read_and_recorded),
        cmocka_unit_test(all_sources_are_accepted_or_none),
        cmocka_unit_test(accepting_deletes_no_files_outside_the_project),
        cmocka_unit_test(a_full_disk_does_not_refuse_a_touched_file),
        cmocka_unit_test(no_statement_runs_while_items_are_compared),
        cmocka_unit_test(other_columns_and_types_are_named),
        cmocka_unit_test(a_folder_is_refused_if_most_images_changed),
        cmocka_unit_test(every_source_is_compared_once),
    };
    return cmocka_run_group_tests_name("store/fingerprint", tests, begin, end);
}
