/* SPDX-License-Identifier: Apache-2.0
 *
 * Items as samples, as feature rows and as images.
 */
#include "sources.h"

#include <fcntl.h>
#include <math.h>

#include "data/dataset.h"
#include "scant/project.h"

enum { SIDE = 8 };

/* ---- sources ----------------------------------------------------------------------- */

/* n images of 3 x 2 pixels, each of one level: from, from + 1, ... */
static const char *put_levels(const char *name, size_t n, unsigned char from) {
    unsigned char pixels[64][3][2];
    for (size_t i = 0; i < n; i++) memset(pixels[i], (int)(from + i), sizeof pixels[i]);
    return put_array(name, pixels, SCANT_U8, 3, (size_t[]){n, 3, 2});
}

static void assert_levels(const scant_data *data, const int *levels, size_t n) {
    float *out = malloc(scant__data_width(data) * sizeof *out);
    scant__fault fault;
    assert_int_equal(scant_data_count(data), n);
    for (size_t i = 0; i < n; i++) {
        if (scant__data_read(data, i, out, &fault) != SCANT_OK)
            fail_msg("%s", fault.text);
        if ((int)lrintf(out[0] * 255) != levels[i])
            fail_msg("item %zu has level %d, expected %d", i, (int)lrintf(out[0] * 255),
                     levels[i]);
    }
    free(out);
}

/* ---- samples ----------------------------------------------------------------------- */

static void images_of_all_folders_are_samples_in_item_order(void **state) {
    scant_data *data;
    size_t added;
    (void)state;
    mkdir(path_of("one"), 0700);
    mkdir(path_of("two"), 0700);
    put_image("one/b.png", 20, 9, 9, false);
    put_image("one/a.png", 10, 9, 9, false);
    put_image("two/x.png", 30, 12, 9, false);
    scant_project *project = created("files", (scant_source){.images = path_of("one")});
    OK(scant_project_add(project, &(scant_source){.images = path_of("two")}, &added));
    assert_int_equal(added, 1);
    put_image("one/0.png", 40, 9, 9,
              false); /* sorts before a and b, but is added later */
    OK(scant_project_add(project, NULL, &added));
    assert_int_equal(added, 1);
    OK(store_samples(project, SIDE, &data));
    assert_levels(data, (int[]){10, 20, 30, 40}, 4);
    assert_string_equal(scant_data_sample_name(data, 3), "0.png");
    size_t shape[3];
    scant_data_shape(data, shape);
    assert_int_equal(shape[1], SIDE);
    scant_data_free(data);
    size_t width;
    REFUSED(store_features_width(project, &width), SCANT_EUSAGE,
            "images, not feature rows");
    scant_project_free(project);
}

static void a_manifest_chooses_the_rows_of_an_array(void **state) {
    scant_data *data;
    size_t added;
    (void)state;
    put_levels("l.npy", 5, 50);
    scant_project *project =
        created("arrays",
                (scant_source){.images = path_of("l.npy"),
                               .manifest = put_text("l.csv", "id,row\nx,4\ny,0\nz,2\n")});
    OK(scant_project_add(project, &(scant_source){.images = put_levels("k.npy", 2, 100)},
                         &added));
    OK(store_samples(project, SIDE, &data));
    assert_levels(data, (int[]){54, 50, 52, 100, 101}, 5);
    scant_data_free(data);
    put_levels("l.npy", 4, 50); /* its last row is gone */
    REFUSED(
        store_samples(project, SIDE, &data), SCANT_EINPUT,
        "l.npy: has changed since its items were added: it was 5 images of 1 x 3 x 2 and "
        "is 4 images of 1 x 3 x 2; 1 of 3 items is different, the first is item 0 (its "
        "row 4)");
    assert_null(data);
    scant_project_free(project);
}

/* ---- features ---------------------------------------------------------------------- */

static void features_are_read_across_sources(void **state) {
    float rows[7][2], out[9][2];
    size_t width, added;
    (void)state;
    for (size_t i = 0; i < 14; i++) (&rows[0][0])[i] = (float)i;
    const char *first = put_array("f.npy", rows, SCANT_F32, 2, (size_t[]){5, 2});
    const char *second = put_array("g.npy", rows[3], SCANT_F32, 2, (size_t[]){4, 2});
    scant_project *project = created(
        "features",
        (scant_source){.features = first,
                       .manifest = put_text("f.csv", "id,row\na,4\nb,1\nc,2\nd,3\n")});
    OK(scant_project_add(
        project,
        &(scant_source){.features = second,
                        .manifest = put_text("g.csv", "id,row\ne,0\nf,1\ng,2\nh,3\n")},
        &added));
    static const int at[] = {4, 1, 2, 3, 3, 4, 5, 6}; /* which row of rows */
    OK(store_features_width(project, &width));
    assert_int_equal(width, 2);
    for (size_t from = 0; from < 8; from++)
        for (size_t n = 0; from + n <= 8; n++) {
            memset(out, 0xff, sizeof out);
            OK(store_features_read(project, from, n, out[0]));
            for (size_t i = 0; i < n; i++)
                assert_memory_equal(out[i], rows[at[from + i]], sizeof out[i]);
            if (n < 9) assert_true(isnan(out[n][0]));
        }
    REFUSED(store_features_read(project, 7, 2, out[0]), SCANT_ENOTFOUND, "no item 8");
    scant_data *data;
    REFUSED(store_samples(project, SIDE, &data), SCANT_EUSAGE,
            "feature rows, not images");
    scant_project_free(project);
}

static void missing_feature_rows_are_reported(void **state) {
    scant_project *project;
    float out[6];
    (void)state;
    scant_project_free(make_project("gone", 6, NULL, 0));
    put_features("gone.npy", 4, 3, 7);
    OK(scant_project_open(ctx, path_of("gone"), &project));
    REFUSED(
        store_features_read(project, 3, 2, out), SCANT_EINPUT,
        "gone.npy: has changed since its items were added: it was float32, 6 x 3 and is "
        "float32, 4 x 3; 2 of 6 items are different, the first is item 4 (its row 4)");
    scant_project_free(project);
    put_features("gone.npy", 6, 4, 7);
    OK(scant_project_open(ctx, path_of("gone"), &project));
    unlink(path_of("gone.npy"));
    REFUSED(store_features_read(project, 0, 1, out), SCANT_EINPUT, "no such file");
    scant_project_free(project);
}

/* ---- images ------------------------------------------------------------------------ */

static void assert_image(scant_project *project, size_t item, size_t most,
                         const char *want) {
    void *bytes;
    size_t size;
    const char *type;
    OK(scant_project_image(project, item, most, &bytes, &size, &type));
    assert_string_equal(type, want);
    assert_true(size > 20);
    assert_memory_equal(bytes, strcmp(type, "image/png") ? "\xff\xd8" : "\x89P", 2);
    scant_bytes_free(ctx, bytes);
}

static size_t image_bytes(scant_project *project, size_t item, size_t most,
                          unsigned char *out, size_t room) {
    void *bytes;
    size_t size;
    const char *type;
    OK(scant_project_image(project, item, most, &bytes, &size, &type));
    assert_true(size <= room);
    memcpy(out, bytes, size);
    scant_bytes_free(ctx, bytes);
    return size;
}

static void thumbnails_are_made_and_cached(void **state) {
    static unsigned char first[65536], again[65536];
    (void)state;
    mkdir(path_of("show"), 0700);
    put_image("show/a.jpg", 10, 300, 200, true);
    put_image("show/b.png", 20, 30, 20, false);
    scant_project *project = created("shown", (scant_source){.images = path_of("show")});
    assert_image(project, 0, 96, "image/jpeg");
    assert_image(project, 1, 96, "image/png");
    assert_image(project, 1, 16, "image/jpeg");
    const char *kept = path_of("shown/cache/pictures/0/0-96");
    assert_int_equal(access(kept, R_OK), 0);
    size_t size = image_bytes(project, 0, 96, first, sizeof first);
    /* the cached file is used if it is a JPEG and not older than the image */
    put("shown/cache/pictures/0/0-96", "\xff\xd8 not really", 12);
    assert_int_equal(image_bytes(project, 0, 96, again, sizeof again), 12);
    put("shown/cache/pictures/0/0-96", "neither", 7);
    assert_int_equal(image_bytes(project, 0, 96, again, sizeof again), size);
    assert_memory_equal(first, again, size);
    put_image("show/a.jpg", 200, 300, 200, true);
    struct timespec later[2] = {{.tv_sec = 4000000000}, {.tv_sec = 4000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path_of("show/a.jpg"), later, 0), 0);
    image_bytes(project, 0, 96, again, sizeof again);
    assert_memory_not_equal(first, again, size);
    /* the cache may be deleted at any time, and a file may be in its place */
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", path_of("shown/cache"));
    assert_int_equal(system(command), 0);
    assert_image(project, 0, 96, "image/jpeg");
    assert_int_equal(system(command), 0);
    put("shown/cache", "", 0);
    assert_image(project, 0, 96, "image/jpeg");
    scant_project_free(project);
}

static void rows_of_arrays_are_shown_as_images(void **state) {
    (void)state;
    put_levels("show.npy", 5, 50);
    scant_project *project =
        created("shown-rows",
                (scant_source){.images = path_of("show.npy"),
                               .manifest = put_text("s.csv", "id,row\nx,4\ny,0\n")});
    assert_image(project, 0, 96, "image/png");
    assert_image(project, 1, 96, "image/png");
    assert_int_not_equal(access(path_of("shown-rows/cache/pictures"), F_OK), 0);
    void *bytes;
    size_t size;
    const char *type;
    REFUSED(scant_project_image(project, 2, 96, &bytes, &size, &type), SCANT_ENOTFOUND,
            "there is no item 2");
    assert_null(bytes);
    REFUSED(scant_project_image(project, SIZE_MAX, 96, &bytes, &size, &type),
            SCANT_ENOTFOUND, "there is no item");
    scant_project_free(project);
    project = make_project("no-picture", 3, NULL, 0);
    REFUSED(scant_project_image(project, 0, 96, &bytes, &size, &type), SCANT_EINPUT,
            "item 0 has no image: it is a feature row");
    scant_project_free(project);
}

/* A database from somebody else may contain such paths. */
static void paths_that_go_up_are_not_followed(void **state) {
    void *bytes;
    size_t size;
    const char *type;
    scant_data *data;
    (void)state;
    mkdir(path_of("up"), 0700);
    put_image("up/a.png", 10, 9, 9, false);
    put_image("secret.png", 20, 9, 9, false);
    scant_project *project = created("goes-up", (scant_source){.images = path_of("up")});
    OK(store_do(project, "UPDATE items SET path = '../secret.png'"));
    REFUSED(scant_project_image(project, 0, 96, &bytes, &size, &type), SCANT_EINPUT,
            "is damaged: an item's path");
    REFUSED(store_samples(project, SIDE, &data), SCANT_EINPUT,
            "is damaged: an item's path");
    scant_project_free(project);
}

static void damaged_and_missing_images_are_reported(void **state) {
    void *bytes;
    size_t size;
    const char *type;
    (void)state;
    mkdir(path_of("bad"), 0700);
    put_image("bad/a.png", 10, 9, 9, false);
    scant_project *project =
        created("gets-bad", (scant_source){.images = path_of("bad")});
    put("bad/a.png", "hello", 5);
    REFUSED(scant_project_image(project, 0, 96, &bytes, &size, &type), SCANT_EINPUT,
            "bad/a.png: is neither PNG nor JPEG");
    unlink(path_of("bad/a.png"));
    REFUSED(scant_project_image(project, 0, 96, &bytes, &size, &type), SCANT_EINPUT,
            "bad/a.png: there is no such file");
    scant_project_free(project);
}

/* ---- memory ------------------------------------------------------------------------ */

static scant_status use_all(scant_project *pictures, scant_project *rows) {
    float out[12];
    scant_data *data;
    void *bytes;
    size_t size;
    const char *type;
    TRY(store_samples(pictures, SIDE, &data));
    scant_data_free(data);
    TRY(store_features_read(rows, 1, 3, out));
    TRY(scant_project_image(pictures, 0, 8, &bytes, &size, &type));
    scant_bytes_free(ctx, bytes);
    return SCANT_OK;
}

static void a_failed_allocation_leaks_nothing(void **state) {
    scant_project *pictures, *rows;
    (void)state;
    mkdir(path_of("m"), 0700);
    put_image("m/a.png", 10, 9, 9, false);
    put_image("m/b.jpg", 20, 9, 9, true);
    scant_project_free(created("m-pictures", (scant_source){.images = path_of("m")}));
    scant_project_free(make_project("m-rows", 6, NULL, 0));
    for (size_t k = 0;; k++) {
        OK(scant_project_open(ctx, path_of("m-pictures"), &pictures));
        OK(scant_project_open(ctx, path_of("m-rows"), &rows));
        mem.calls = 0;
        mem.fail_at = k;
        scant_status status = use_all(pictures, rows);
        bool reached = mem.calls > k;
        mem.fail_at = SIZE_MAX;
        scant_project_free(pictures);
        scant_project_free(rows);
        assert_int_equal(ctx->used, 0);
        if (!reached) {
            assert_int_equal(status, SCANT_OK);
            assert_true(k > 20);
            return;
        }
        /* if only writing the cache failed, the image is returned all the same */
        assert_true(status == SCANT_ENOMEM || status == SCANT_OK);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_of_all_folders_are_samples_in_item_order),
        cmocka_unit_test(a_manifest_chooses_the_rows_of_an_array),
        cmocka_unit_test(features_are_read_across_sources),
        cmocka_unit_test(missing_feature_rows_are_reported),
        cmocka_unit_test(thumbnails_are_made_and_cached),
        cmocka_unit_test(rows_of_arrays_are_shown_as_images),
        cmocka_unit_test(paths_that_go_up_are_not_followed),
        cmocka_unit_test(damaged_and_missing_images_are_reported),
        cmocka_unit_test(a_failed_allocation_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
