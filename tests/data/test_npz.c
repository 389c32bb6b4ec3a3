/* SPDX-License-Identifier: Apache-2.0
 *
 * .npz archives: members are found and read, damaged archives are refused.
 */
#include "counting.h"
#include "zip.h"

static zip z; /* too large for the stack; each test resets it */

/* An array of 2 x 3 numbers from `first` on. */
static buffer numbers(float first) {
    float data[6];
    for (int i = 0; i < 6; i++) data[i] = first + (float)i;
    return npy(1, NPY("<f4", "(2, 3)"), data, sizeof data);
}

static void zip_two(bool wide, bool descriptors, int method, const char *comment) {
    buffer a = numbers(0), b = numbers(10);
    z = (zip){.wide = wide, .descriptors = descriptors};
    zip_add(&z, "a.npy", &a, method);
    zip_add(&z, "b.npy", &b, method);
    zip_end(&z, comment);
}

static const char *spec_of(const char *path, const char *key) {
    static char spec[600];
    snprintf(spec, sizeof spec, "%s%s%s", path, key ? ":" : "", key ? key : "");
    return spec;
}

static void assert_reads(const char *path, const char *key, float first) {
    scant_array *array;
    float out[6];
    const char *spec = spec_of(path, key);
    if (scant_array_open(ctx, spec, &array) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    assert_string_equal(scant_array_name(array), spec);
    assert_int_equal(array->count, 6);
    scant__array_read_f32(array, 0, 6, out);
    for (int i = 0; i < 6; i++) assert_true(out[i] == first + (float)i);
    scant_array_free(array);
}

static void refuses(const char *key, const char *words) {
    scant_array *array = (scant_array *)1;
    const char *spec = spec_of(put_buffer("bad.npz", &z.out), key);
    assert_int_equal(scant_array_open(ctx, spec, &array), SCANT_EINPUT);
    assert_null(array);
    assert_says(ctx, spec, words);
}

static void members_are_found_in_every_kind_of_archive(void **state) {
    (void)state;
    for (int i = 0; i < 16; i++) {
        zip_two(i & 1, i & 2, i & 4 ? DEFLATED : STORED,
                i & 8 ? "a comment PK\5\6 of ours" : "");
        const char *path = put_buffer("two.npz", &z.out);
        assert_reads(path, "a", 0);
        assert_reads(path, "b", 10);
        assert_reads(path, "b.npy", 10);
    }
}

static void stored_members_are_mapped_and_not_copied(void **state) {
    (void)state;
    zip_two(false, false, STORED, "");
    scant_array *array;
    const char *spec = spec_of(put_buffer("two.npz", &z.out), "a");
    assert_int_equal(scant_array_open(ctx, spec, &array), SCANT_OK);
    assert_non_null(array->source.map.map);
    assert_null(array->source.owned);
    scant_array_free(array);
}

static void a_single_array_needs_no_key(void **state) {
    buffer a = numbers(5), note = {.size = 0};
    (void)state;
    z = (zip){0};
    add(&note, "hello", 5);
    zip_add(&z, "note.txt", &note, STORED);
    zip_add(&z, "a.npy", &a, DEFLATED);
    zip_end(&z, "");
    assert_reads(put_buffer("one.npz", &z.out), NULL, 5);
    assert_reads(put_buffer("one-by-another-name", &z.out), NULL, 5);
}

static void a_colon_elsewhere_in_the_path_is_not_a_key(void **state) {
    (void)state;
    zip_two(false, false, STORED, "");
    assert_reads(put_buffer("x:y.npz", &z.out), "b", 10);
    assert_reads(put_buffer("x.npz:y.npz", &z.out), "b", 10);
}

static void of_two_members_with_one_name_the_last_is_read(void **state) {
    buffer a = numbers(0), b = numbers(10);
    (void)state;
    z = (zip){0};
    zip_add(&z, "a.npy", &a, STORED);
    zip_add(&z, "a.npy", &b, STORED);
    zip_end(&z, "");
    assert_reads(put_buffer("twice.npz", &z.out), "a", 10);
}

static void an_unknown_or_missing_key_lists_the_keys(void **state) {
    (void)state;
    zip_two(false, false, STORED, "");
    refuses("c", "there is no such key in the archive; its keys are: a, b");
    refuses("", "its keys are: a, b");
    refuses("a.np", "its keys are: a, b");
    refuses(NULL, "several arrays, choose one as FILE.npz:KEY; its keys are: a, b");

    buffer a = numbers(0);
    z = (zip){0};
    for (int i = 0; i < 25; i++) {
        char name[20];
        snprintf(name, sizeof name, "k%d.npy", i);
        zip_add(&z, name, &a, STORED);
    }
    zip_end(&z, "");
    refuses("c", "k18, k19, ...");

    z = (zip){0};
    zip_add(&z, "\x1b[31m.npy", &a, STORED);
    zip_add(&z, "plain.npy", &a, STORED);
    zip_end(&z, "");
    refuses("c", "its keys are: ?[31m, plain");
}

static void an_archive_without_arrays_is_refused(void **state) {
    buffer note = {.size = 0};
    (void)state;
    z = (zip){0};
    zip_end(&z, "");
    refuses(NULL, "no .npy member");
    z = (zip){0};
    zip_add(&z, "data.pkl", &note, STORED);
    zip_end(&z, "");
    refuses(NULL, "no .npy member");
    refuses("a", "no .npy member");
}

static void a_file_that_is_not_an_archive_is_refused(void **state) {
    (void)state;
    z = (zip){.out = numbers(0)};
    refuses("a", "is not an .npz archive; it looks like a .npy file");
    z.out.size = 0;
    refuses("a", "the archive is empty");
}

static void encryption_and_other_methods_are_refused(void **state) {
    (void)state;
    zip_two(false, false, STORED, "");
    zip_set(&z, z.dir_at + z.central[0] + 8, 1, 2);
    refuses("a", "encrypted");
    zip_two(false, false, STORED, "");
    zip_set(&z, z.dir_at + z.central[0] + 10, 14, 2);
    refuses("a", "uses zip method 14");
    zip_two(false, false, STORED, "");
    zip_set(&z, z.end_at + 4, 1, 2);
    refuses("a", "multi-part archives");
}

static void wrong_offsets_and_sizes_are_refused(void **state) {
    size_t record;
    (void)state;
#define DAMAGE(field, value, size, words)                                                \
    do {                                                                                 \
        zip_two(false, false, STORED, "");                                               \
        record = z.dir_at + z.central[0];                                                \
        zip_set(&z, record + (field), value, size);                                      \
        refuses("a", words);                                                             \
    } while (0)
    DAMAGE(0, 0, 4, "an invalid record");
    DAMAGE(20, 1, 4, "sizes differ");
    DAMAGE(28, 60000, 2, "ends within a record");
    DAMAGE(42, z.out.size, 4, "outside of the file");
    DAMAGE(42, 1, 4, "not where it should be");
    DAMAGE(42, z.local[1], 4, "two names differ");
    DAMAGE(42, UINT32_MAX, 4, "outside of the file");
#undef DAMAGE
    zip_two(false, false, STORED, "");
    zip_set(&z, z.dir_at + z.central[0] + 20, z.dir_at, 4);
    zip_set(&z, z.dir_at + z.central[0] + 24, z.dir_at, 4);
    refuses("a", "beyond the data");
    zip_two(false, false, STORED, "");
    zip_set(&z, z.dir_at + z.central[0] + 20, z.dir_at - 100, 4);
    zip_set(&z, z.dir_at + z.central[0] + 24, z.dir_at - 100, 4);
    refuses("a", "overlaps another");
    zip_two(false, false, STORED, "");
    zip_set(&z, z.end_at + 16, z.end_at, 4);
    refuses("a", "directory lies outside");
    zip_two(false, false, STORED, "");
    zip_set(&z, z.end_at + 12, UINT32_MAX, 4);
    refuses("a", "directory lies outside");
}

static void wrong_zip64_fields_are_refused(void **state) {
    (void)state;
    const size_t sizes_at =
        46 + 5 + 5 + 4; /* the record, its name, the UT field, the zip64 field's head */
    zip_two(true, false, STORED, "");
    zip_set(&z, z.end64_at + 56 + 8, UINT64_MAX, 8);
    refuses("a", "zip64 end record");
    zip_two(true, false, STORED, "");
    zip_set(&z, z.end64_at + 48, UINT64_MAX - 3, 8);
    refuses("a", "directory lies outside");
    zip_two(true, false, STORED, "");
    zip_set(&z, z.dir_at + z.central[0] + sizes_at - 2, 8, 2);
    refuses("a", "zip64 field that is cut short");
    for (size_t i = 0; i < 3; i++) { /* size, compressed size, offset */
        zip_two(true, false, STORED, "");
        zip_set(&z, z.dir_at + z.central[0] + sizes_at + 8 * i, UINT64_MAX - 7, 8);
        refuses("a", "damaged");
    }
    zip_two(true, false, STORED, "");
    zip_set(&z, z.dir_at + z.central[0] + sizes_at, UINT64_MAX, 8);
    zip_set(&z, z.dir_at + z.central[0] + sizes_at + 8, UINT64_MAX, 8);
    refuses("a", "beyond the data");
}

static void deflated_members_are_checked(void **state) {
    size_t record, data;
    (void)state;
#define START()                                                                          \
    do {                                                                                 \
        zip_two(false, false, DEFLATED, "");                                             \
        record = z.dir_at + z.central[0];                                                \
        data = z.local[0] + 30 + 5;                                                      \
    } while (0)
    const size_t true_size = numbers(0).size;
    START();
    zip_set(&z, record + 16, 12345, 4);
    refuses("a", "checksum is wrong");
    START();
    zip_set(&z, record + 24, true_size + 1, 4);
    refuses("a", "smaller than declared");
    START();
    zip_set(&z, record + 24, true_size - 1, 4);
    refuses("a", "larger than declared");
    START();
    zip_set(&z, record + 24, 0, 4);
    refuses("a", "larger than declared");
    START();
    zip_set(&z, record + 20, 20, 4);
    refuses("a", "cut short");
    START();
    zip_set(&z, data, 0xff, 1); /* an invalid block type */
    refuses("a", "not deflated data");
    START();
    zip_set(&z, record + 24, UINT32_MAX - 1, 4);
    refuses("a", "larger than it can be");
#undef START
}

static void a_deflated_member_above_the_cap_reports_the_memory_it_needs(void **state) {
    static buffer big;
    scant_ctx *small;
    scant_array *array;
    (void)state;
    big = npy(1, NPY("|u1", "(70000,)"), NULL, 0);
    while (big.size < 70200) add(&big, "\1\2\3\4", 4);
    z = (zip){0};
    zip_add(&z, "a.npy", &big, DEFLATED);
    zip_end(&z, "");
    const char *path = put_buffer("big.npz", &z.out);
    assert_int_equal(scant_ctx_create(&(scant_ctx_opts){.memory = 4096}, &small),
                     SCANT_OK);
    assert_int_equal(scant_array_open(small, path, &array), SCANT_ENOMEM);
    assert_says(small, path, "bytes of memory");
    assert_says(small, path, "uncompressed (np.savez");
    scant_ctx_free(small);
}

static int cancel_always(void *user) {
    (void)user;
    return 1;
}

static void inflating_can_be_cancelled(void **state) {
    scant_ctx *other;
    scant_array *array;
    (void)state;
    zip_two(false, false, DEFLATED, "");
    const char *spec = spec_of(put_buffer("two.npz", &z.out), "a");
    assert_int_equal(scant_ctx_create(&(scant_ctx_opts){.cancel = cancel_always}, &other),
                     SCANT_OK);
    assert_int_equal(scant_array_open(other, spec, &array), SCANT_ECANCELLED);
    assert_null(array);
    scant_ctx_free(other);
}

/* Opens a damaged archive, which is refused or has an array of a valid size. */
static void open_damaged(const buffer *b) {
    float out[64];
    scant_array *array;
    const char *spec = spec_of(put_buffer("odd.npz", b), "a");
    scant_status status = scant_array_open(ctx, spec, &array);
    if (status != SCANT_OK) {
        assert_int_equal(status, SCANT_EINPUT);
        return;
    }
    assert_true(array->count <= 64);
    scant__array_read_f32(array, 0, array->count, out);
    scant_array_free(array);
}

static void an_archive_truncated_or_changed_anywhere_never_crashes(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        zip_two(i & 1, false, i & 2 ? DEFLATED : STORED, "");
        buffer b = z.out;
        for (b.size = 0; b.size < z.out.size; b.size++) open_damaged(&b);
        for (size_t at = 0; at < z.out.size; at++)
            for (unsigned flip = 1; flip < 256; flip += flip) {
                b = z.out;
                b.bytes[at] = (unsigned char)(b.bytes[at] ^ flip);
                open_damaged(&b);
            }
    }
}

static void a_truncated_archive_is_refused(void **state) {
    (void)state;
    zip_two(false, false, STORED, "");
    z.out.size = z.end_at;
    refuses("a", "no end record (is it cut short?)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_in_every_kind_of_archive),
        cmocka_unit_test(stored_members_are_mapped_and_not_copied),
        cmocka_unit_test(a_single_array_needs_no_key),
        cmocka_unit_test(a_colon_elsewhere_in_the_path_is_not_a_key),
        cmocka_unit_test(of_two_members_with_one_name_the_last_is_read),
        cmocka_unit_test(an_unknown_or_missing_key_lists_the_keys),
        cmocka_unit_test(an_archive_without_arrays_is_refused),
        cmocka_unit_test(a_file_that_is_not_an_archive_is_refused),
        cmocka_unit_test(encryption_and_other_methods_are_refused),
        cmocka_unit_test(wrong_offsets_and_sizes_are_refused),
        cmocka_unit_test(wrong_zip64_fields_are_refused),
        cmocka_unit_test(deflated_members_are_checked),
        cmocka_unit_test(a_deflated_member_above_the_cap_reports_the_memory_it_needs),
        cmocka_unit_test(inflating_can_be_cancelled),
        cmocka_unit_test(an_archive_truncated_or_changed_anywhere_never_crashes),
        cmocka_unit_test(a_truncated_archive_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
