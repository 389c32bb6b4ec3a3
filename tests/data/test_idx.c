/* SPDX-License-Identifier: Apache-2.0
 *
 * IDX files, plain and compressed, with label files next to them; folders of IDX files.
 */
#include "samples.h"
#include "scant/train.h"

static const scant_data_opts none = {0};

static buffer idx(unsigned char type, size_t ndim, const uint32_t *shape,
                  const void *data, size_t size) {
    buffer b = {.size = 0};
    const unsigned char start[] = {0, 0, type, (unsigned char)ndim};
    add(&b, start, 4);
    for (size_t i = 0; i < ndim; i++)
        for (size_t j = 4; j-- > 0;) add_le(&b, shape[i] >> (8 * j) & 0xff, 1);
    add(&b, data, size);
    return b;
}

static const unsigned char pixels[] = {0, 51, 102, 153, 204, 255, 1, 2, 3, 4, 5, 6};
static const unsigned char digits[] = {9, 3};

static buffer two_images(void) {
    return idx(8, 3, (uint32_t[]){2, 2, 3}, pixels, sizeof pixels);
}

static buffer two_labels(void) { return idx(8, 1, (uint32_t[]){2}, digits, 2); }

/* d has the two images, and the labels 9 and 3 if labelled. */
static void assert_two(scant_data *d, bool labelled) {
    float want[6];
    has_shape(d, 2, 1, 2, 3);
    assert_true(scant__data_is_image(d));
    for (size_t row = 0; row < 2; row++) {
        for (size_t i = 0; i < 6; i++) want[i] = (float)pixels[6 * row + i] / 255;
        reads(d, row, want);
    }
    assert_int_equal(scant_data_classes(d), labelled ? 10 : 0);
    if (labelled) {
        assert_int_equal(scant_data_labels(d)[0], 9);
        assert_int_equal(scant_data_labels(d)[1], 3);
    } else {
        assert_null(scant_data_labels(d));
    }
    scant_data_free(d);
}

static void images_are_read_plain_and_compressed(void **state) {
    buffer b = two_images(), z = gzip(b.bytes, b.size), x = xz(b.bytes, b.size);
    (void)state;
    assert_two(opened(put_buffer("pictures", &b), none), false);
    assert_two(opened(put_buffer("images.gz", &z), none), false);
    assert_two(opened(put_buffer("images.xz", &x), none), false);
}

static void labels_are_found_next_to_images(void **state) {
    buffer b = two_images(), y = two_labels();
    buffer zb = gzip(b.bytes, b.size), zy = gzip(y.bytes, y.size);
    (void)state;
    put_buffer("a-labels-idx1-ubyte", &y);
    assert_two(opened(put_buffer("a-images-idx3-ubyte", &b), none), true);
    assert_two(opened(put_buffer("a-images-idx3-ubyte.gz", &zb), none), true);
    put_buffer("b-labels-idx1-ubyte.gz", &zy);
    assert_two(opened(put_buffer("b-images-idx3-ubyte", &b), none), true);
    assert_two(opened(put_buffer("b-images-idx3-ubyte.gz", &zb), none), true);
    assert_two(opened(put_buffer("c-images-idx3-ubyte.gz", &zb), none), false);
    /* labels that are given take precedence */
    buffer other = idx(8, 1, (uint32_t[]){2}, "\1\0", 2);
    const char *given = put_buffer("other", &other);
    scant_data *d =
        opened(path_of("b-images-idx3-ubyte"), (scant_data_opts){.labels = given});
    assert_int_equal(scant_data_classes(d), 2);
    scant_data_free(d);
    d = opened(path_of("b-images-idx3-ubyte"), (scant_data_opts){.regression = 1});
    assert_true(scant_data_targets(d)[0] == 9);
    scant_data_free(d);
}

static void a_folder_has_a_training_and_a_test_set(void **state) {
    buffer b = two_images(), y = two_labels(), z = gzip(b.bytes, b.size);
    (void)state;
    assert_int_equal(mkdir(path_of("set"), 0700), 0);
    put_buffer("set/train-images-idx3-ubyte.gz", &z);
    put_buffer("set/train-labels-idx1-ubyte", &y);
    const char *folder = path_of("set");
    scant_data *d = opened(folder, none);
    assert_true(scant_data_has_test(d));
    assert_string_equal(scant_data_name(d), folder);
    assert_two(d, true);
    refuses(folder, (scant_data_opts){.test = 1}, "has no t10k-images-idx3-ubyte");
    buffer one = idx(8, 3, (uint32_t[]){1, 2, 3}, pixels, 6);
    put_buffer("set/t10k-images-idx3-ubyte", &one);
    d = opened(folder, (scant_data_opts){.test = 1});
    has_shape(d, 1, 1, 2, 3);
    scant_data_free(d);
}

static void other_dtypes_are_converted_or_refused(void **state) {
    const unsigned char be[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    (void)state;
    buffer b = idx(0x0d, 2, (uint32_t[]){1, 2}, be, 8);
    scant_data *d = opened(put_buffer("x", &b), none);
    has_shape(d, 1, 2, 1, 1);
    reads(d, 0, (float[]){1, -2});
    scant_data_free(d);
    b = idx(0x0c, 2, (uint32_t[]){1, 2}, be, 8);
    refuses(put_buffer("x", &b), none, "samples of int32");
    b = idx(0x08, 1, (uint32_t[]){8}, be, 8);
    refuses(put_buffer("x", &b), none, "has 1 dimension, expected");
    const unsigned char labels[] = {0, 0, 0, 4, 0, 0, 0, 1};
    b = two_images();
    put_buffer("x", &b);
    b = idx(0x0c, 1, (uint32_t[]){2}, labels, 8);
    d = opened(path_of("x"), (scant_data_opts){.labels = put_buffer("y", &b)});
    assert_int_equal(scant_data_labels(d)[0], 4);
    scant_data_free(d);
}

static void dimensions_are_one_to_four_and_types_are_known(void **state) {
    const unsigned char i2[] = {0, 4, 0, 1};
    (void)state;
    buffer b = idx(8, 4, (uint32_t[]){1, 1, 2, 3}, pixels, 6);
    scant_data *d = opened(put_buffer("x", &b), none);
    has_shape(d, 1, 3, 1, 2);
    reads(d, 0, (float[]){0, .6F, .2F, .8F, .4F, 1});
    scant_data_free(d);
    b = idx(8, 5, (uint32_t[]){1, 1, 1, 2, 3}, pixels, 6);
    refuses(put_buffer("x", &b), none, "expected samples");
    b = idx(0x0a, 3, (uint32_t[]){1, 2, 3}, pixels, 6);
    refuses(put_buffer("x", &b), none, "expected samples");
    b = idx(8, 0, NULL, pixels, 6);
    refuses(put_buffer("x", &b), none, "expected samples");
    for (size_t i = 0; i < 2; i++) {
        b = two_images();
        b.bytes[i] = 1;
        refuses(put_buffer("x", &b), none, "expected samples");
    }
    b = two_images();
    const char *x = put_buffer("x", &b);
    b = idx(0x0b, 1, (uint32_t[]){2}, i2, 4);
    d = opened(x, (scant_data_opts){.labels = put_buffer("y", &b)});
    assert_int_equal(scant_data_labels(d)[0], 4);
    assert_int_equal(scant_data_labels(d)[1], 1);
    scant_data_free(d);
}

/* A file truncated anywhere is refused, and so is one with an extra byte. */
static void every_other_length_is_refused(void **state) {
    buffer b = two_images();
    const buffer all[] = {b, gzip(b.bytes, b.size), xz(b.bytes, b.size)};
    scant_data *d;
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        for (size_t n = 0; n < all[k].size; n++) {
            const char *path = put("cut", all[k].bytes, n);
            assert_int_equal(scant_data_open(ctx, path, NULL, &d), SCANT_EINPUT);
            assert_says(ctx, path, "");
        }
        buffer longer = all[k];
        add(&longer, "", 1);
        refuses(put_buffer("long", &longer), none,
                k ? "has data after its end" : "12 bytes of elements expected");
    }
}

static void a_header_that_contradicts_compressed_data_is_refused(void **state) {
    (void)state;
    for (uint32_t n = 1; n < 4; n += 2) {
        buffer b = idx(8, 3, (uint32_t[]){n, 2, 3}, pixels, sizeof pixels);
        buffer z = gzip(b.bytes, b.size), x = xz(b.bytes, b.size);
        const char *words = n == 1
                                ? "6 bytes of elements expected by its header, 6 and more"
                                : "18 bytes of elements expected by its header, 12 found";
        refuses(put_buffer("lie.gz", &z), none, words);
        refuses(put_buffer("lie.xz", &x), none, words);
    }
    buffer b = idx(8, 3, (uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX}, NULL, 0);
    buffer z = gzip(b.bytes, b.size);
    refuses(put_buffer("lie", &b), none, "more than can be addressed");
    refuses(put_buffer("lie.gz", &z), none, "more than can be addressed");
    b = idx(8, 3, (uint32_t[]){UINT32_MAX, 65536, 1024}, NULL, 0);
    z = gzip(b.bytes, b.size);
    const char *path = put_buffer("lie.gz", &z);
    refuses_as(SCANT_ENOMEM, path, none, path, "bytes of memory");
}

static void a_flipped_bit_in_compressed_data_is_detected(void **state) {
    buffer b = two_images();
    const buffer all[] = {gzip(b.bytes, b.size), xz(b.bytes, b.size)};
    scant_data *d;
    (void)state;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 10; i < all[k].size; i++) { /* after the gzip header */
            buffer bad = all[k];
            bad.bytes[i] ^= 1;
            assert_int_equal(scant_data_open(ctx, put_buffer("bad", &bad), NULL, &d),
                             SCANT_EINPUT);
        }
}

static void wrong_label_files_are_refused(void **state) {
    buffer b = two_images(), y = idx(8, 1, (uint32_t[]){3}, "abc", 3);
    (void)state;
    const char *x = put_buffer("x", &b), *file = put_buffer("y", &y);
    refuses_as(SCANT_EINPUT, x, (scant_data_opts){.labels = file}, file,
               "has 3 labels, but ");
    refuses_as(SCANT_EINPUT, x, (scant_data_opts){.labels = x}, x, "has 3 dimensions");
    file = put("z", "text", 4);
    refuses_as(SCANT_EINPUT, x, (scant_data_opts){.labels = file}, file, "is not a .npy");
}

static void compressed_images_survive_failing_memory(void **state) {
    buffer b = two_images(), y = two_labels(), z = gzip(b.bytes, b.size),
           x = xz(b.bytes, b.size);
    (void)state;
    put_buffer("m-labels-idx1-ubyte", &y);
    assert_true(torture(put_buffer("m-images-idx3-ubyte", &b), none) >= 8);
    assert_true(torture(put_buffer("m-images-idx3-ubyte.gz", &z), none) >= 12);
    assert_true(torture(put_buffer("m-images-idx3-ubyte.xz", &x), none) >= 12);
}

static void fashion_mnist_is_known_by_name(void **state) {
    static const size_t counts[] = {60000, 10000};
    (void)state;
    if (access("/usr/share/datasets/fashion-mnist", R_OK) != 0) {
        refuses("fashion-mnist", none, "install the package dataset-fashion-mnist");
        skip();
    }
    for (int test = 0; test < 2; test++) {
        size_t many[10] = {0};
        scant_data *d = opened("fashion-mnist", (scant_data_opts){.test = test});
        has_shape(d, counts[test], 1, 28, 28);
        assert_int_equal(scant_data_classes(d), 10);
        for (size_t i = 0; i < counts[test]; i++) many[scant_data_labels(d)[i]]++;
        for (size_t k = 0; k < 10; k++) assert_int_equal(many[k], counts[test] / 10);
        assert_string_equal(scant_data_class_name(d, 0), "T-shirt/top");
        assert_string_equal(scant_data_class_name(d, 9), "Ankle boot");
        scant_data_free(d);
    }
}

static void mnist_has_the_published_class_counts(void **state) {
    static const size_t want[] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};
    size_t many[10] = {0};
    (void)state;
    if (!shared_data("t10k-images-idx3-ubyte.gz")) skip();
    scant_data *d = opened(shared_data("t10k-images-idx3-ubyte.gz"), none);
    has_shape(d, 10000, 1, 28, 28);
    for (size_t i = 0; i < 10000; i++) many[scant_data_labels(d)[i]]++;
    for (size_t k = 0; k < 10; k++) assert_int_equal(many[k], want[k]);
    scant_data_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_read_plain_and_compressed),
        cmocka_unit_test(labels_are_found_next_to_images),
        cmocka_unit_test(a_folder_has_a_training_and_a_test_set),
        cmocka_unit_test(other_dtypes_are_converted_or_refused),
        cmocka_unit_test(dimensions_are_one_to_four_and_types_are_known),
        cmocka_unit_test(every_other_length_is_refused),
        cmocka_unit_test(a_header_that_contradicts_compressed_data_is_refused),
        cmocka_unit_test(a_flipped_bit_in_compressed_data_is_detected),
        cmocka_unit_test(wrong_label_files_are_refused),
        cmocka_unit_test(compressed_images_survive_failing_memory),
        cmocka_unit_test(fashion_mnist_is_known_by_name),
        cmocka_unit_test(mnist_has_the_published_class_counts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
