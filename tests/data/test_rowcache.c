/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <signal.h>
#include <sys/wait.h>

#include "data/rowcache.h"

enum { WIDTH = 3 };

static float value(size_t row, size_t column) { return (float)row + (float)column / 8; }

/* Opens a file of `there` rows and appends up to `to` rows, `step` at a time. */
static void grow(const char *path, size_t there, size_t to, size_t step) {
    scant__rowcache *g;
    size_t rows;
    float block[64 * WIDTH];
    if (scant__rowcache_open(ctx, path, WIDTH, &g, &rows) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    assert_int_equal(rows, there);
    for (size_t n; rows < to; rows += n) {
        n = to - rows < step ? to - rows : step;
        for (size_t i = 0; i < n * WIDTH; i++)
            block[i] = value(rows + i / WIDTH, i % WIDTH);
        assert_int_equal(scant__rowcache_append(g, block, n), SCANT_OK);
    }
    assert_int_equal(scant__rowcache_append(g, block, 0), SCANT_OK);
    scant__rowcache_free(g);
}

static void assert_holds(const char *path, size_t rows) {
    scant_array *array;
    float out[WIDTH];
    if (scant_array_open(ctx, path, &array) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    assert_int_equal(scant_array_dtype(array), SCANT_F32);
    assert_int_equal(scant_array_ndim(array), 2);
    assert_int_equal(scant_array_shape(array)[0], rows);
    assert_int_equal(scant_array_shape(array)[1], WIDTH);
    for (size_t i = 0; i < rows; i++) {
        assert_int_equal(scant_array_floats(ctx, array, i * WIDTH, WIDTH, out), SCANT_OK);
        for (size_t j = 0; j < WIDTH; j++) assert_true(out[j] == value(i, j));
    }
    scant_array_free(array);
}

static off_t size_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void rows_persist_when_reopened(void **state) {
    const char *path = path_of("g.npy");
    (void)state;
    grow(path, 0, 0, 1);
    grow(path, 0, 9, 4); /* then past 10 rows: the count has more digits */
    assert_holds(path, 9);
    grow(path, 9, 12, 1);
    grow(path, 12, 1100, 64);
    assert_holds(path, 1100);
}

static void the_header_is_the_one_numpy_writes(void **state) {
    unsigned char head[128];
    char want[130];
    (void)state;
    const char *path = path_of("h.npy");
    grow(path, 0, 7, 7);
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
    fclose(f);
    snprintf(want, sizeof want, "%-117s\n",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 3), }");
    assert_memory_equal(head, "\x93NUMPY\1\0\x76\0", 10);
    assert_memory_equal(head + 10, want, 118);
}

/* A writer that was stopped may have written rows that it did not count yet. */
static void rows_that_the_header_does_not_count_are_discarded(void **state) {
    const char *path = path_of("cut.npy");
    (void)state;
    grow(path, 0, 5, 5);
    off_t size = size_of(path);
    FILE *f = fopen(path, "ab");
    assert_int_equal(fwrite("half a row and more than that", 1, 29, f), 29);
    fclose(f);
    assert_holds(path, 5);
    grow(path, 5, 5, 1);
    assert_int_equal(size_of(path), size);
    grow(path, 5, 8, 2);
    assert_holds(path, 8);
}

static void damaged_files_are_recreated(void **state) {
    const char *path = path_of("bad.npy");
    buffer other = npy(1, NPY("<f8", "(1, 3)"), (double[]){1, 2, 3}, 24);
    (void)state;
    grow(path, 0, 5, 5);
    assert_int_equal(truncate(path, size_of(path) - 1), 0); /* a byte short */
    grow(path, 0, 6, 6);
    assert_holds(path, 6);
    for (off_t cut = 0; cut < 130; cut += 13) {
        assert_int_equal(truncate(path, cut), 0);
        grow(path, 0, 6, 6);
        assert_holds(path, 6);
    }
    put_buffer("bad.npy", &other);
    grow(path, 0, 2, 2);
    assert_holds(path, 2);
    put("bad.npy", "hello", 5);
    grow(path, 0, 2, 2);
    assert_holds(path, 2);
    scant__rowcache *g;
    size_t rows = 7;
    assert_int_equal(scant__rowcache_open(ctx, path, WIDTH + 1, &g, &rows), SCANT_OK);
    assert_int_equal(rows, 0); /* another width */
    scant__rowcache_free(g);
}

/* Even one that turns 4 rows into 5, as the file is too short for 5. */
static void a_wrong_byte_in_the_header_is_detected(void **state) {
    const char *path = path_of("byte.npy");
    (void)state;
    for (long i = 0; i < 128; i++) {
        scant__rowcache *g;
        size_t rows;
        grow(path, 0, 4, 4);
        FILE *f = fopen(path, "r+b");
        fseek(f, i, SEEK_SET);
        int c = fgetc(f);
        fseek(f, i, SEEK_SET);
        fputc(c ^ 1, f);
        fclose(f);
        assert_int_equal(scant__rowcache_open(ctx, path, WIDTH, &g, &rows), SCANT_OK);
        assert_int_equal(rows, 0);
        scant__rowcache_free(g);
        unlink(path);
    }
}

static void existing_mappings_keep_their_rows(void **state) {
    const char *path = path_of("mapped.npy");
    scant_array *before;
    float out[WIDTH];
    (void)state;
    grow(path, 0, 5, 5);
    assert_int_equal(scant_array_open(ctx, path, &before), SCANT_OK);
    grow(path, 5, 50, 50);
    scant__rowcache *g;
    size_t rows;
    assert_int_equal(scant__rowcache_open(ctx, path, 1, &g, &rows), SCANT_OK); /* new */
    scant__rowcache_free(g);
    assert_int_equal(scant_array_floats(ctx, before, 4 * WIDTH, WIDTH, out), SCANT_OK);
    assert_true(out[1] == value(4, 1));
    scant_array_free(before);
}

static void a_second_writer_is_refused(void **state) {
    const char *path = path_of("two.npy");
    scant__rowcache *first, *second;
    size_t rows;
    (void)state;
    assert_int_equal(scant__rowcache_open(ctx, path, WIDTH, &first, &rows), SCANT_OK);
    assert_int_equal(scant__rowcache_open(ctx, path, WIDTH, &second, &rows),
                     SCANT_EUSAGE);
    assert_null(second);
    assert_says(ctx, path, "is being written by another program");
    scant__rowcache_free(first);
    assert_int_equal(scant__rowcache_open(ctx, path, WIDTH, &second, &rows), SCANT_OK);
    scant__rowcache_free(second);
}

/* Killed at any time while it appends: the rows that the header counts are correct. */
static void a_writer_that_is_killed_leaves_whole_rows(void **state) {
    const char *path = path_of("killed.npy");
    size_t most = 0;
    (void)state;
    for (int i = 0; i < 12; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            scant__rowcache *g;
            size_t rows;
            if (scant__rowcache_open(ctx, path, WIDTH, &g, &rows) != SCANT_OK) _exit(1);
            for (;; rows++) {
                float row[WIDTH];
                for (size_t j = 0; j < WIDTH; j++) row[j] = value(rows, j);
                if (scant__rowcache_append(g, row, 1) != SCANT_OK) _exit(1);
            }
        }
        usleep(3000 + 1000 * (useconds_t)i);
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        scant__rowcache *g;
        size_t rows;
        assert_int_equal(scant__rowcache_open(ctx, path, WIDTH, &g, &rows), SCANT_OK);
        scant__rowcache_free(g);
        assert_true(rows >= most);
        most = rows;
        assert_holds(path, rows);
    }
    assert_true(most > 0);
}

static void open_failures_are_reported(void **state) {
    scant__rowcache *g;
    size_t rows;
    (void)state;
    assert_int_equal(scant__rowcache_open(ctx, path_of("no/g.npy"), WIDTH, &g, &rows),
                     SCANT_EIO);
    assert_null(g);
    assert_says(ctx, path_of("no/g.npy"), "cannot be opened for writing");
    assert_int_equal(scant__rowcache_open(ctx, path_of("g.npy"), 0, &g, &rows),
                     SCANT_EUSAGE);
    mem.calls = 0;
    mem.fail_at = 0;
    assert_int_equal(scant__rowcache_open(ctx, path_of("g.npy"), 1, &g, &rows),
                     SCANT_ENOMEM);
    mem.fail_at = SIZE_MAX;
    assert_int_equal(ctx->used, 0);
    if (access("/dev/full", W_OK) != 0) return;
    assert_int_equal(symlink("/dev/full", path_of("full")), 0);
    assert_int_equal(scant__rowcache_open(ctx, path_of("full"), 1, &g, &rows), SCANT_EIO);
    assert_int_equal(ctx->used, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_persist_when_reopened),
        cmocka_unit_test(the_header_is_the_one_numpy_writes),
        cmocka_unit_test(rows_that_the_header_does_not_count_are_discarded),
        cmocka_unit_test(damaged_files_are_recreated),
        cmocka_unit_test(a_wrong_byte_in_the_header_is_detected),
        cmocka_unit_test(existing_mappings_keep_their_rows),
        cmocka_unit_test(a_second_writer_is_refused),
        cmocka_unit_test(a_writer_that_is_killed_leaves_whole_rows),
        cmocka_unit_test(open_failures_are_reported),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
