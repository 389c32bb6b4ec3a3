/* SPDX-License-Identifier: Apache-2.0
 *
 * .npy files written in pieces: the same bytes as at once, and no file before the end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "counting.h"

static size_t entries(const char *path) {
    size_t n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static size_t slurp(const char *path, unsigned char *bytes, size_t room) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, room, f);
    fclose(f);
    return n;
}

static scant_writer *begin(const char *path, scant_dtype dtype, size_t ndim,
                           const size_t *shape) {
    scant_writer *w;
    if (scant_writer_open(ctx, path, dtype, ndim, shape, &w) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return w;
}

static void writing_in_pieces_gives_the_bytes_of_encoding_at_once(void **state) {
    float data[60];
    unsigned char found[1000];
    const size_t shape[] = {5, 4, 3};
    void *expected;
    size_t size;
    scant_array *array;
    (void)state;
    for (int i = 0; i < 60; i++) data[i] = (float)i / 7;
    assert_int_equal(scant_array_wrap(ctx, "a", data, SCANT_F32, 3, shape, &array),
                     SCANT_OK);
    assert_int_equal(scant_array_encode(ctx, array, &expected, &size), SCANT_OK);
    for (size_t piece = 1; piece <= sizeof data; piece += 13) {
        const char *path = path_of("a.npy");
        scant_writer *w = begin(path, SCANT_F32, 3, shape);
        for (size_t at = 0; at < sizeof data; at += piece) {
            size_t rest = sizeof data - at;
            assert_int_equal(
                scant_writer_append(w, (char *)data + at, piece < rest ? piece : rest),
                SCANT_OK);
        }
        assert_int_equal(scant_writer_finish(w), SCANT_OK);
        assert_int_equal(slurp(path, found, sizeof found), size);
        assert_memory_equal(found, expected, size);
    }
    scant_bytes_free(ctx, expected);
    scant_array_free(array);
}

static void a_file_appears_when_it_is_closed_and_not_before(void **state) {
    const int64_t rows[] = {3, 1, 2};
    scant_array *array;
    int64_t back[3];
    (void)state;
    assert_int_equal(mkdir(path_of("late"), 0777), 0);
    const char *path = path_of("late/rows.npy");
    scant_writer *w = begin(path, SCANT_I64, 1, (size_t[]){3});
    assert_int_equal(scant_writer_append(w, rows, sizeof rows), SCANT_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(entries(path_of("late")), 1); /* the temporary file */
    assert_int_equal(scant_writer_finish(w), SCANT_OK);
    assert_int_equal(entries(path_of("late")), 1);
    assert_int_equal(scant_array_open(ctx, path, &array), SCANT_OK);
    assert_int_equal(scant_array_integers(ctx, array, 0, 3, back), SCANT_OK);
    assert_memory_equal(back, rows, sizeof rows);
    scant_array_free(array);
}

static void an_abandoned_writer_leaves_the_old_file(void **state) {
    unsigned char bytes[16];
    (void)state;
    assert_int_equal(mkdir(path_of("kept"), 0777), 0);
    const char *path = put("kept/a.npy", "old", 3);
    scant_writer *w = begin(path, SCANT_U8, 1, (size_t[]){2});
    assert_int_equal(scant_writer_append(w, "ab", 2), SCANT_OK);
    scant_writer_free(w);
    scant_writer_free(NULL);
    assert_int_equal(slurp(path, bytes, sizeof bytes), 3);
    assert_int_equal(entries(path_of("kept")), 1);
}

static void too_few_or_too_many_bytes_leave_no_file(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("odd"), 0777), 0);
    const char *path = path_of("odd/a.npy");
    scant_writer *w = begin(path, SCANT_U8, 1, (size_t[]){4});
    assert_int_equal(scant_writer_append(w, "abc", 3), SCANT_OK);
    assert_int_equal(scant_writer_finish(w), SCANT_EUSAGE);
    assert_says(ctx, path, "only 3 of 4 bytes");

    w = begin(path, SCANT_U8, 1, (size_t[]){4});
    assert_int_equal(scant_writer_append(w, "abc", 3), SCANT_OK);
    assert_int_equal(scant_writer_append(w, "de", 2), SCANT_EUSAGE);
    assert_says(ctx, path, "has 4 bytes of elements");
    assert_int_equal(scant_writer_append(w, "d", 1), SCANT_EUSAGE); /* it stays failed */
    assert_int_equal(scant_writer_finish(w), SCANT_EUSAGE);
    assert_int_equal(entries(path_of("odd")), 0);
}

static void pieces_may_come_in_any_order(void **state) {
    const size_t shape[] = {2, 3};
    const int32_t data[] = {1, 2, 3, 4, 5, 6};
    const char *path = path_of("order.npy");
    unsigned char ordered[200], found[200];
    (void)state;
    scant_writer *w = begin(path, SCANT_I32, 2, shape);
    assert_int_equal(scant_writer_append(w, data, sizeof data), SCANT_OK);
    assert_int_equal(scant_writer_finish(w), SCANT_OK);
    size_t size = slurp(path, ordered, sizeof ordered);
    static const size_t order[] = {4, 0, 5, 2, 1, 3};
    w = begin(path, SCANT_I32, 2, shape);
    for (int i = 0; i < 6; i++)
        assert_int_equal(scant_writer_put(w, 4 * order[i], &data[order[i]], 4), SCANT_OK);
    assert_int_equal(scant_writer_put(w, 20, data, 0), SCANT_OK);
    assert_int_equal(scant_writer_finish(w), SCANT_OK);
    assert_int_equal(slurp(path, found, sizeof found), size);
    assert_memory_equal(found, ordered, size);
    /* outside the array, too many bytes or too few: the old file stays */
    static const size_t wrong[][2] = {{24, 4}, {22, 4}, {SIZE_MAX, 4}, {0, 28}};
    for (int i = 0; i < 4; i++) {
        w = begin(path, SCANT_I32, 2, shape);
        assert_int_equal(scant_writer_put(w, wrong[i][0], ordered, wrong[i][1]),
                         SCANT_EUSAGE);
        assert_int_equal(scant_writer_finish(w), SCANT_EUSAGE);
    }
    w = begin(path, SCANT_I32, 2, shape);
    assert_int_equal(scant_writer_put(w, 4, data, 20), SCANT_OK);
    assert_int_equal(scant_writer_finish(w), SCANT_EUSAGE);
    assert_int_equal(slurp(path, found, sizeof found), size);
    assert_memory_equal(found, ordered, size);
}

static void an_empty_array_is_written(void **state) {
    scant_array *array;
    (void)state;
    scant_writer *w = begin(path_of("none.npy"), SCANT_F64, 2, (size_t[]){0, 7});
    assert_int_equal(scant_writer_append(w, NULL, 0), SCANT_OK);
    assert_int_equal(scant_writer_finish(w), SCANT_OK);
    assert_int_equal(scant_array_open(ctx, path_of("none.npy"), &array), SCANT_OK);
    assert_int_equal(scant_array_shape(array)[1], 7);
    scant_array_free(array);
}

static void wrong_arguments_and_paths_are_reported(void **state) {
    size_t many[40] = {0};
    scant_writer *w;
    (void)state;
    const char *path = path_of("nowhere/a.npy");
    assert_int_equal(scant_writer_open(ctx, path, SCANT_F32, 1, (size_t[]){1}, &w),
                     SCANT_EIO);
    assert_null(w);
    assert_says(ctx, path, strerror(ENOENT));
    assert_int_equal(scant_writer_open(ctx, "w", (scant_dtype)0, 0, many, &w),
                     SCANT_EUSAGE);
    assert_says(ctx, "w: ", "not a dtype");
    assert_int_equal(scant_writer_open(ctx, "w", SCANT_F32, 33, many, &w), SCANT_EUSAGE);
    assert_says(ctx, "w: ", "33 dimensions");
    assert_int_equal(
        scant_writer_open(ctx, "w", SCANT_F32, 2, (size_t[]){SIZE_MAX, 2}, &w),
        SCANT_EUSAGE);
    assert_says(ctx, "w: ", "too large");
}

/* A limit on the file size makes write() fail part-way. */
static void a_failed_write_leaves_the_old_file_and_no_temporary_one(void **state) {
    static char big[100000];
    unsigned char bytes[16];
    struct rlimit limit, small;
    (void)state;
    assert_int_equal(mkdir(path_of("full"), 0777), 0);
    const char *path = put("full/a.npy", "old", 3);
    signal(SIGXFSZ, SIG_IGN); /* so that write() returns EFBIG */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){.rlim_cur = 50000, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    scant_writer *w = begin(path, SCANT_U8, 1, (size_t[]){sizeof big});
    scant_status status = scant_writer_append(w, big, sizeof big);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, SCANT_EIO);
    assert_says(ctx, path, strerror(EFBIG));
    assert_int_equal(scant_writer_finish(w), SCANT_EIO);
    assert_int_equal(slurp(path, bytes, sizeof bytes), 3);
    assert_int_equal(entries(path_of("full")), 1);
}

static void a_pipe_gets_the_bytes_as_they_are_written(void **state) {
    unsigned char bytes[256];
    (void)state;
    const char *path = path_of("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    scant_writer *w = begin(path, SCANT_U8, 1, (size_t[]){2});
    ssize_t header = read(reader, bytes, sizeof bytes);
    assert_int_equal(header, 128);
    assert_memory_equal(bytes, "\x93NUMPY", 6);
    assert_int_equal(scant_writer_append(w, "ab", 2), SCANT_OK);
    assert_int_equal(read(reader, bytes, sizeof bytes), 2);
    assert_int_equal(scant_writer_finish(w), SCANT_OK);
    close(reader);
}

static void running_out_of_memory_leaves_no_file(void **state) {
    scant_writer *w;
    (void)state;
    mem.calls = 0;
    mem.fail_at = 0;
    assert_int_equal(
        scant_writer_open(ctx, path_of("m.npy"), SCANT_U8, 1, (size_t[]){2}, &w),
        SCANT_ENOMEM);
    mem.fail_at = SIZE_MAX;
    assert_null(w);
    assert_int_equal(access(path_of("m.npy"), F_OK), -1);
}

static void integers_are_read_and_other_values_are_refused(void **state) {
    const uint64_t large[] = {5, (uint64_t)1 << 63};
    const float numbers[] = {1};
    int64_t out[2];
    scant_array *array;
    (void)state;
    assert_int_equal(
        scant_array_wrap(ctx, "u", large, SCANT_U64, 1, (size_t[]){2}, &array), SCANT_OK);
    assert_int_equal(scant_array_integers(ctx, array, 0, 1, out), SCANT_OK);
    assert_int_equal(out[0], 5);
    assert_int_equal(scant_array_integers(ctx, array, 0, 2, out), SCANT_EINPUT);
    assert_says(ctx, "u: ", "element 1");
    assert_int_equal(scant_array_integers(ctx, array, 1, 2, out), SCANT_EUSAGE);
    assert_int_equal(scant_array_integers(ctx, array, 3, 0, out), SCANT_EUSAGE);
    scant_array_free(array);
    assert_int_equal(
        scant_array_wrap(ctx, "f", numbers, SCANT_F32, 1, (size_t[]){1}, &array),
        SCANT_OK);
    assert_int_equal(scant_array_integers(ctx, array, 0, 1, out), SCANT_EINPUT);
    assert_says(ctx, "f: ", "float32");
    scant_array_free(array);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writing_in_pieces_gives_the_bytes_of_encoding_at_once),
        cmocka_unit_test(a_file_appears_when_it_is_closed_and_not_before),
        cmocka_unit_test(an_abandoned_writer_leaves_the_old_file),
        cmocka_unit_test(too_few_or_too_many_bytes_leave_no_file),
        cmocka_unit_test(pieces_may_come_in_any_order),
        cmocka_unit_test(an_empty_array_is_written),
        cmocka_unit_test(wrong_arguments_and_paths_are_reported),
        cmocka_unit_test(a_failed_write_leaves_the_old_file_and_no_temporary_one),
        cmocka_unit_test(a_pipe_gets_the_bytes_as_they_are_written),
        cmocka_unit_test(running_out_of_memory_leaves_no_file),
        cmocka_unit_test(integers_are_read_and_other_values_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
