/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples joined from parts, subsets, and samples from lists of image files.
 */
#include "samples.h"

#include "data/dataset.h"
#include "data/file.h"
#include "scant/train.h"

#ifndef PICTURES
#error "PICTURES is the folder tests/data/pictures"
#endif

enum { SIDE = 14, WIDTH = 3 * SIDE * SIDE };

static const scant_data_opts small = {.side = SIDE};

/* ---- files ------------------------------------------------------------------------- */

static scant__names listed(const char *folder) {
    scant__names names = {0};
    if (scant__images_list(ctx, folder, &names) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return names;
}

static scant_data *opened_files(const char *folder, const scant__names *names) {
    scant_data *data;
    if (scant__data_open_files(ctx, folder, names, SIDE, &data) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return data;
}

/* n samples of a from row_a on equal those of b from row_b on. */
static void same_samples(const scant_data *a, size_t row_a, const scant_data *b,
                         size_t row_b, size_t n) {
    size_t width = scant__data_width(a);
    scant__fault fault;
    float *want = malloc(width * sizeof *want);
    assert_non_null(want);
    for (size_t i = 0; i < n; i++) {
        if (scant__data_read(a, row_a + i, want, &fault) != SCANT_OK)
            fail_msg("%s", fault.text);
        reads(b, row_b + i, want);
    }
    free(want);
}

static void listed_files_read_like_their_folder(void **state) {
    (void)state;
    scant__names names = listed(PICTURES);
    scant_data *folder = opened(PICTURES, small), *files = opened_files(PICTURES, &names);
    assert_int_equal(scant_data_count(files), scant_data_count(folder));
    assert_true(scant__data_is_image(files));
    assert_true(scant__data_bytes(files));
    same_samples(folder, 0, files, 0, names.count);
    for (size_t i = 0; i < names.count; i++)
        assert_string_equal(scant_data_sample_name(files, i),
                            scant_data_sample_name(folder, i));
    scant_data_free(folder);
    scant_data_free(files);
    scant__names_end(&names);
}

static void absolute_paths_are_not_relative_to_the_folder(void **state) {
    scant__names names = {0};
    (void)state;
    assert_int_equal(
        scant__names_add(ctx, &names, PICTURES "/rgb8.png", strlen(PICTURES "/rgb8.png")),
        SCANT_OK);
    assert_int_equal(scant__names_add(ctx, &names, "rgb8.png", 8), SCANT_OK);
    scant_data *elsewhere = opened_files(path_of("nowhere"), &names);
    scant_data *here = opened_files(PICTURES, &names);
    same_samples(elsewhere, 0, here, 1, 1);
    scant__fault fault;
    float out[WIDTH];
    assert_int_equal(scant__data_read(elsewhere, 1, out, &fault), SCANT_EINPUT);
    assert_non_null(strstr(fault.text, "nowhere/rgb8.png: there is no such file"));
    scant_data_free(elsewhere);
    scant_data_free(here);
    scant__names_end(&names);
}

static const char *copy(const char *name, const char *to) {
    static unsigned char bytes[1 << 20];
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", PICTURES, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return put(to, bytes, size);
}

/* By whole paths: '-' comes before '/', so "a-b.png" precedes the files in folder a. */
static void images_are_listed_at_any_depth_in_byte_order_of_their_paths(void **state) {
    static const char *const want[] = {"a-b.png", "a/c/d.JPG", "a/z.png", "b.png"};
    (void)state;
    for (const char *const *f = (const char *const[]){"l", "l/a", "l/a/c", "l/e", NULL};
         *f; f++)
        assert_int_equal(mkdir(path_of(*f), 0700), 0);
    copy("rgb8.png", "l/b.png");
    copy("rgb8.png", "l/a-b.png");
    copy("rgb8.png", "l/a/z.png");
    copy("baseline.jpg", "l/a/c/d.JPG");
    copy("rgb8.png", "l/a/.hidden.png");
    put("l/notes.txt", "", 0);
    scant__names names = listed(path_of("l"));
    assert_int_equal(names.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(scant__names_get(&names, i), want[i]);
    scant__names_end(&names);
    assert_int_equal(scant__images_list(ctx, path_of("l/e"), &names), SCANT_EINPUT);
    assert_says(ctx, path_of("l/e"), "has no images");
    scant__names_end(&names);
    assert_int_equal(scant__images_list(ctx, path_of("l/none"), &names), SCANT_EINPUT);
    assert_says(ctx, path_of("l/none"), "the folder cannot be read");
    scant__names_end(&names);
}

/* ---- parts ------------------------------------------------------------------------- */

static scant_data *opened_numbers(const char *name, size_t rows, size_t width,
                                  float from) {
    static float data[1024];
    char header[200];
    for (size_t i = 0; i < rows * width; i++) data[i] = from + (float)i;
    snprintf(header, sizeof header, NPY("<f4", "(%zu, %zu)"), rows, width);
    buffer b = npy(1, header, data, rows * width * sizeof *data);
    return opened(put_buffer(name, &b), (scant_data_opts){0});
}

static void joined_samples_are_those_of_the_parts_in_order(void **state) {
    static const size_t counts[] = {3, 1, 7, 2, 1};
    scant_data *parts[5], *again[5], *all;
    char name[32];
    size_t at = 0;
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "part%zu.npy", i);
        parts[i] = opened_numbers(name, counts[i], 4, 100 * (float)i);
        again[i] = opened(path_of(name), (scant_data_opts){0});
    }
    assert_int_equal(scant__data_join(ctx, parts, 5, &all), SCANT_OK);
    has_shape(all, 14, 4, 1, 1);
    assert_false(scant__data_is_image(all));
    assert_false(scant__data_bytes(all));
    for (size_t i = 0; i < 5; at += counts[i++]) {
        same_samples(again[i], 0, all, at, counts[i]);
        scant_data_free(again[i]);
    }
    scant__fault fault;
    float out[4];
    assert_int_equal(scant__data_read(all, 14, out, &fault), SCANT_EUSAGE);
    scant_data_free(all);
}

static void a_subset_has_the_order_of_its_rows(void **state) {
    static const size_t rows[] = {5, 0, 5, 3};
    scant_data *some, *of = opened_numbers("of.npy", 6, 3, 0);
    scant_data *again = opened(path_of("of.npy"), (scant_data_opts){0});
    (void)state;
    assert_int_equal(scant__data_subset(ctx, of, rows, 4, &some), SCANT_OK);
    has_shape(some, 4, 3, 1, 1);
    assert_false(scant__data_bytes(some));
    for (size_t i = 0; i < 4; i++) same_samples(again, rows[i], some, i, 1);
    scant_data_free(some);
    scant_data_free(again);
}

/* A subset within a join: names and bytes are found through both. */
static void parts_can_be_nested(void **state) {
    scant_data *both[2], *all, *folder = opened(PICTURES, small);
    size_t n = scant_data_count(folder), last[] = {n - 1};
    (void)state;
    assert_int_equal(scant__data_subset(ctx, opened(PICTURES, small), last, 1, &both[0]),
                     SCANT_OK);
    both[1] = opened(PICTURES, small);
    assert_int_equal(scant__data_join(ctx, both, 2, &all), SCANT_OK);
    assert_int_equal(scant_data_count(all), n + 1);
    assert_true(scant__data_bytes(all));
    assert_true(scant__data_is_image(all));
    same_samples(folder, n - 1, all, 0, 1);
    same_samples(folder, 0, all, 1, n);
    assert_string_equal(scant_data_sample_name(all, 0),
                        scant_data_sample_name(folder, n - 1));
    assert_string_equal(scant_data_sample_name(all, 1),
                        scant_data_sample_name(folder, 0));
    assert_null(scant_data_sample_name(all, n + 1));
    scant_data_free(folder);
    scant_data_free(all);
}

static void parts_that_do_not_fit_are_refused_and_closed(void **state) {
    scant_data *out,
        *parts[] = {opened_numbers("x3.npy", 2, 3, 0), opened_numbers("x4.npy", 2, 4, 0)};
    size_t rows[] = {0, 2};
    (void)state;
    assert_int_equal(scant__data_join(ctx, parts, 2, &out), SCANT_EINPUT);
    assert_null(out);
    assert_says(ctx, path_of("x4.npy"),
                "has samples of 4 x 1 x 1, expected the shape of");
    assert_int_equal(scant__data_join(ctx, parts, 0, &out), SCANT_EUSAGE);
    assert_int_equal(
        scant__data_subset(ctx, opened_numbers("x3.npy", 2, 3, 0), rows, 2, &out),
        SCANT_EUSAGE);
    assert_null(out);
    assert_says(ctx, path_of("x3.npy"), "has no sample 2, only 2");
    assert_int_equal(
        scant__data_subset(ctx, opened_numbers("x3.npy", 2, 3, 0), rows, 0, &out),
        SCANT_EUSAGE);
    assert_int_equal(ctx->used, 0);
    scant_data *one = opened_numbers("x3.npy", 2, 3, 0);
    assert_int_equal(scant__data_join(ctx, &one, 1, &out), SCANT_OK);
    assert_ptr_equal(one, out);
    scant_data_free(out);
}

static scant_status build(const scant__names *names, scant_data **out) {
    scant_data *parts[2] = {NULL, NULL};
    scant_status status = scant__data_open_files(ctx, PICTURES, names, SIDE, &parts[0]);
    if (status == SCANT_OK)
        status = scant__data_open_files(ctx, PICTURES, names, SIDE, &parts[1]);
    if (status == SCANT_OK) return scant__data_join(ctx, parts, 2, out);
    scant_data_free(parts[0]);
    *out = NULL;
    return status;
}

static void joining_and_subsets_survive_failing_memory(void **state) {
    scant__names names = listed(PICTURES);
    size_t used = ctx->used, k = 0;
    (void)state;
    for (scant_status status = SCANT_ENOMEM; status != SCANT_OK; k++) {
        scant_data *all, *some = NULL;
        mem.calls = 0;
        mem.fail_at = k;
        status = build(&names, &all);
        assert_int_equal(status == SCANT_OK, all != NULL);
        if (status == SCANT_OK)
            status = scant__data_subset(ctx, all, (size_t[]){1, 0}, 2, &some);
        mem.fail_at = SIZE_MAX;
        assert_int_equal(status == SCANT_OK, some != NULL);
        assert_true(status == SCANT_OK || status == SCANT_ENOMEM);
        scant_data_free(some);
        assert_int_equal(ctx->used, used);
    }
    assert_true(k > 8);
    scant__names_end(&names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_files_read_like_their_folder),
        cmocka_unit_test(absolute_paths_are_not_relative_to_the_folder),
        cmocka_unit_test(images_are_listed_at_any_depth_in_byte_order_of_their_paths),
        cmocka_unit_test(joined_samples_are_those_of_the_parts_in_order),
        cmocka_unit_test(a_subset_has_the_order_of_its_rows),
        cmocka_unit_test(parts_can_be_nested),
        cmocka_unit_test(parts_that_do_not_fit_are_refused_and_closed),
        cmocka_unit_test(joining_and_subsets_survive_failing_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
