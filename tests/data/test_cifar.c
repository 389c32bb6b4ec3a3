/* SPDX-License-Identifier: Apache-2.0
 *
 * CIFAR records: files, compressed files, folders of batches.
 */
#include "samples.h"
#include "scant/train.h"

enum { TEN = 3073, HUNDRED = 3074 };

static const scant_data_opts none = {0};

static unsigned char pixel(size_t row, size_t i) {
    return (unsigned char)(row * 7 + i * 11 + i / 1024);
}

static void add_record(buffer *b, size_t row, int coarse, int label) {
    if (coarse >= 0) add_le(b, (uint64_t)coarse, 1);
    add_le(b, (uint64_t)label, 1);
    for (size_t i = 0; i < 3072; i++) add_le(b, pixel(row, i), 1);
}

/* n records of ten classes from `first` on, labelled by their number modulo 10. */
static buffer ten(size_t first, size_t n) {
    buffer b = {.size = 0};
    for (size_t i = first; i < first + n; i++) add_record(&b, i, -1, (int)(i % 10));
    return b;
}

static void has_rows(scant_data *d, size_t n, const size_t *rows) {
    float want[3072];
    has_shape(d, n, 3, 32, 32);
    assert_true(scant__data_is_image(d));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < 3072; j++) want[j] = (float)pixel(rows[i], j) / 255;
        reads(d, i, want);
        assert_int_equal(scant_data_labels(d)[i], rows[i] % 10);
    }
    scant_data_free(d);
}

static void records_are_a_label_and_planes(void **state) {
    buffer b = ten(0, 5), z = gzip(b.bytes, b.size), x = xz(b.bytes, b.size);
    const size_t rows[] = {0, 1, 2, 3, 4};
    (void)state;
    scant_data *d = opened(put_buffer("a.bin", &b), none);
    assert_int_equal(scant_data_classes(d), 10);
    assert_false(scant_data_has_test(d));
    has_rows(d, 5, rows);
    has_rows(opened(put_buffer("a.bin.gz", &z), none), 5, rows);
    has_rows(opened(put_buffer("a.BIN.xz", &x), none), 5, rows);
}

static void of_two_labels_the_second_is_used(void **state) {
    buffer b = {.size = 0};
    (void)state;
    add_record(&b, 0, 19, 99);
    add_record(&b, 1, 0, 7);
    scant_data *d = opened(put_buffer("a.bin", &b), none);
    has_shape(d, 2, 3, 32, 32);
    assert_int_equal(scant_data_classes(d), 100);
    assert_int_equal(scant_data_labels(d)[0], 99);
    assert_int_equal(scant_data_labels(d)[1], 7);
    float want[3072];
    for (size_t j = 0; j < 3072; j++) want[j] = (float)pixel(1, j) / 255;
    reads(d, 1, want);
    scant_data_free(d);
}

static void labels_out_of_range_are_refused(void **state) {
    buffer b = ten(0, 2);
    (void)state;
    b.bytes[TEN] = 10;
    refuses(put_buffer("a.bin", &b), none,
            "the label of record 1 is 10, expected 0 to 9");
    b.size = 0;
    add_record(&b, 0, 20, 5);
    refuses(put_buffer("a.bin", &b), none, "of record 0 are 20 (coarse) and 5 (fine)");
    b.size = 0;
    add_record(&b, 0, 1, 100);
    refuses(put_buffer("a.bin", &b), none, "of record 0 are 1 (coarse) and 100 (fine)");
}

static void other_lengths_are_refused(void **state) {
    buffer b = ten(0, 3), z = gzip(b.bytes, TEN + 2), x = xz(b.bytes, b.size);
    (void)state;
    for (size_t n = 1; n <= b.size; n++) {
        if (n % TEN == 0 || n % HUNDRED == 0 || (n > 40 && n % 97 > 2)) continue;
        refuses(put("a.bin", b.bytes, n), none, "are not a multiple of the record size");
    }
    refuses(put("a.bin", "", 0), none, "is empty");
    refuses(put_buffer("a.bin.gz", &z), none, "3075 bytes are not a multiple");
    z = gzip(b.bytes, 0);
    refuses(put_buffer("a.bin.gz", &z), none, "has no records");
    for (size_t n = 6; n < x.size; n += 13)
        refuses(put("a.bin.xz", x.bytes, n), none, "the xz file is");
    refuses_as(SCANT_EUSAGE, put("a.bin", b.bytes, b.size),
               (scant_data_opts){.regression = 1}, path_of("a.bin"), "has classes");
    refuses_as(SCANT_EUSAGE, path_of("a.bin"), (scant_data_opts){.labels = "y"}, "y",
               "has its own");
}

/* 3073 * 3074 bytes: 3074 records of one label or 3073 of two. */
static void an_ambiguous_record_size_is_decided_by_the_name_or_the_labels(void **state) {
    const size_t size = (size_t)TEN * HUNDRED;
    unsigned char *bytes = calloc(size, 1);
    (void)state;
    assert_non_null(bytes);
    refuses(put("a.bin", bytes, size), none, "may have 3073 or 3074 bytes");
    scant_data *d = opened(put("my-CIFAR-100.bin", bytes, size), none);
    assert_int_equal(scant_data_count(d), TEN);
    scant_data_free(d);
    d = opened(put("cifar10.bin", bytes, size), none);
    assert_int_equal(scant_data_count(d), HUNDRED);
    scant_data_free(d);
    bytes[HUNDRED] = 200; /* not a label, if the second record has two labels */
    d = opened(put("b.bin", bytes, size), none);
    assert_int_equal(scant_data_count(d), HUNDRED);
    scant_data_free(d);
    bytes[HUNDRED] = 0;
    bytes[TEN] = 200; /* not a label, if it has one */
    d = opened(put("b.bin", bytes, size), none);
    assert_int_equal(scant_data_classes(d), 100);
    scant_data_free(d);
    free(bytes);
}

static void batches_of_a_folder_are_read_in_order_of_their_names(void **state) {
    buffer a = ten(1, 2), b = ten(3, 1), c = ten(4, 3), t = ten(8, 2);
    buffer z = xz(b.bytes, b.size);
    (void)state;
    assert_int_equal(mkdir(path_of("set"), 0700), 0);
    put_buffer("set/data_batch_3.BIN", &c);
    put_buffer("set/data_batch_1.bin", &a);
    put_buffer("set/data_batch_2.bin.xz", &z);
    put("set/batches.meta.txt", "airplane\n", 9);
    put("set/.data_batch_0.bin", "?", 1);
    put("set/data.bin", "?", 1);
    const char *folder = path_of("set");
    scant_data *d = opened(folder, none);
    assert_true(scant_data_has_test(d));
    has_rows(d, 6, (size_t[]){1, 2, 3, 4, 5, 6});
    refuses(folder, (scant_data_opts){.test = 1}, "has no test_batch.bin or test.bin");
    put_buffer("set/test_batch.bin", &t);
    has_rows(opened(folder, (scant_data_opts){.test = 1}), 2, (size_t[]){8, 9});
    b.size = 0;
    add_record(&b, 0, 0, 0);
    put_buffer("set/data_batch_4.bin", &b);
    refuses(folder, none, "data_batch_4.bin: has records of 3074 bytes");
}

static void class_names_come_from_the_meta_file(void **state) {
    static const char names[] = "plane\ncar\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\n"
                                "truck\n\n";
    buffer b = ten(0, 1);
    (void)state;
    assert_int_equal(mkdir(path_of("named"), 0700), 0);
    put_buffer("named/data_batch_1.bin", &b);
    const char *folder = path_of("named");
    /* whole; without the last line end; with a name missing. Below: with one too many. */
    const size_t sizes[] = {strlen(names), strlen(names) - 2, strlen(names) - 7};
    for (size_t i = 0; i < 3; i++) {
        put("named/batches.meta.txt", names, sizes[i]);
        scant_data *d = opened(folder, none);
        if (i < 2) {
            assert_string_equal(scant_data_class_name(d, 0), "plane");
            assert_string_equal(scant_data_class_name(d, 9), "truck");
        } else {
            assert_null(scant_data_class_name(d, 0));
        }
        assert_null(scant_data_class_name(d, 10));
        scant_data_free(d);
    }
    put("named/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n", 22);
    scant_data *d = opened(folder, none);
    assert_null(scant_data_class_name(d, 0));
    scant_data_free(d);
    put("named/batches.meta.txt", names, strlen(names));
    assert_true(torture(folder, none) >= 12);
}

static void a_cifar_100_folder_has_train_and_test(void **state) {
    buffer b = {.size = 0};
    (void)state;
    assert_int_equal(mkdir(path_of("hundred"), 0700), 0);
    add_record(&b, 0, 1, 50);
    add_record(&b, 1, 1, 51);
    put_buffer("hundred/test.bin", &b);
    refuses(path_of("hundred"), none, "has no data_batch_1.bin or train.bin");
    put("hundred/train.bin", b.bytes, HUNDRED);
    scant_data *d = opened(path_of("hundred"), none);
    assert_int_equal(scant_data_count(d), 1);
    scant_data_free(d);
    d = opened(path_of("hundred"), (scant_data_opts){.test = 1});
    assert_int_equal(scant_data_count(d), 2);
    assert_int_equal(scant_data_labels(d)[1], 51);
    scant_data_free(d);
    refuses("/proc/self/nothing", none, "there is no such file");
}

static void records_survive_failing_memory(void **state) {
    buffer b = ten(0, 2), z = gzip(b.bytes, b.size), x = xz(b.bytes, b.size);
    (void)state;
    assert_true(torture(put_buffer("a.bin", &b), none) >= 5);
    assert_true(torture(put_buffer("a.bin.gz", &z), none) >= 8);
    assert_true(torture(put_buffer("a.bin.xz", &x), none) >= 8);
    assert_int_equal(mkdir(path_of("tiny"), 0700), 0);
    put_buffer("tiny/data_batch_1.bin", &b);
    assert_true(torture(path_of("tiny"), none) >= 10);
}

/* The uncompressed size is not known in advance; decompression stops at the cap. */
static void a_decompression_bomb_stops_at_the_cap(void **state) {
    const size_t size = (size_t)TEN * 3000;
    unsigned char *zeros = calloc(size, 1);
    scant_ctx *small;
    scant_data *d;
    (void)state;
    assert_non_null(zeros);
    const buffer packed[] = {gzip(zeros, size), xz(zeros, size)};
    for (size_t k = 0; k < 2; k++) {
        const char *path = put_buffer(k ? "a.bin.xz" : "a.bin.gz", &packed[k]);
        assert_int_equal(
            scant_ctx_create(&(scant_ctx_opts){.threads = 1, .memory = 4 << 20}, &small),
            SCANT_OK);
        assert_int_equal(scant_data_open(small, path, NULL, &d), SCANT_ENOMEM);
        assert_says(small, path, "does not fit in memory");
        assert_true(scant_ctx_memory_peak(small) <= 4 << 20);
        scant_ctx_free(small);
        d = opened(path, none);
        assert_int_equal(scant_data_count(d), 3000);
        scant_data_free(d);
    }
    free(zeros);
}

static void the_published_cifar_100_is_read(void **state) {
    size_t many[100] = {0};
    (void)state;
    const char *path = shared_data("cifar100_test_2500.bin.xz");
    if (!path) skip();
    scant_data *d = opened(path, none);
    has_shape(d, 2500, 3, 32, 32);
    assert_int_equal(scant_data_classes(d), 100);
    for (size_t i = 0; i < 2500; i++) many[scant_data_labels(d)[i]]++;
    for (size_t i = 0; i < 100; i++) assert_int_equal(many[i], 25);
    scant_data_free(d);
}

static void decompression_can_be_cancelled(void **state) {
    buffer b = ten(0, 2), z = gzip(b.bytes, b.size), x = xz(b.bytes, b.size);
    (void)state;
    assert_true(cancels(put_buffer("c.bin.gz", &z), none) >= 1);
    assert_true(cancels(put_buffer("c.bin.xz", &x), none) >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_a_label_and_planes),
        cmocka_unit_test(of_two_labels_the_second_is_used),
        cmocka_unit_test(labels_out_of_range_are_refused),
        cmocka_unit_test(other_lengths_are_refused),
        cmocka_unit_test(an_ambiguous_record_size_is_decided_by_the_name_or_the_labels),
        cmocka_unit_test(batches_of_a_folder_are_read_in_order_of_their_names),
        cmocka_unit_test(class_names_come_from_the_meta_file),
        cmocka_unit_test(a_cifar_100_folder_has_train_and_test),
        cmocka_unit_test(records_survive_failing_memory),
        cmocka_unit_test(a_decompression_bomb_stops_at_the_cap),
        cmocka_unit_test(the_published_cifar_100_is_read),
        cmocka_unit_test(decompression_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
