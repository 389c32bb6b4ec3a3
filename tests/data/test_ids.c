/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's ids, from text and from arrays of strings.
 */
#include "counting.h"
#include "zip.h"

/* spec has these ids, here joined by '|'. */
static void assert_ids(const char *spec, size_t count, const char *joined) {
    scant_ids *ids;
    char all[200];
    size_t used = 0;
    if (scant_ids_open(ctx, spec, &ids) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    assert_int_equal(scant_ids_count(ids), count);
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *text = scant_ids_get(ids, i, &length);
        if (i) all[used++] = '|';
        assert_true(used + length < sizeof all);
        if (length) memcpy(all + used, text, length);
        used += length;
    }
    all[used] = 0;
    assert_string_equal(all, joined);
    scant_ids_free(ids);
}

static void refuses(const char *spec, const char *words) {
    scant_ids *ids = (scant_ids *)1;
    assert_int_equal(scant_ids_open(ctx, spec, &ids), SCANT_EINPUT);
    assert_null(ids);
    assert_says(ctx, spec, words);
}

static const char *text(const char *bytes) {
    return put("ids.txt", bytes, strlen(bytes));
}

static void every_line_is_an_id(void **state) {
    (void)state;
    assert_ids(text("a\nbb\nccc\n"), 3, "a|bb|ccc");
    assert_ids(text("a\nbb\nccc"), 3, "a|bb|ccc");
    assert_ids(text("a\r\nbb\r\nccc\r\n"), 3, "a|bb|ccc");
    assert_ids(text("a\r\nbb\nccc\r"), 3, "a|bb|ccc");
    assert_ids(text("one"), 1, "one");
    assert_ids(text("na\xc3\xafve, with a comma\n  blanks  \n"), 2,
               "na\xc3\xafve, with a comma|  blanks  ");
}

static void an_empty_file_has_no_ids_and_an_empty_line_is_one(void **state) {
    (void)state;
    assert_ids(text(""), 0, "");
    assert_ids(text("\n"), 1, "");
    assert_ids(text("a\n\nb\n"), 3, "a||b");
    assert_ids(text("\r\n\r\n"), 2, "|");
}

static void a_byte_order_mark_is_skipped(void **state) {
    (void)state;
    assert_ids(text("\xef\xbb\xbf"
                    "a\nb\n"),
               2, "a|b");
    assert_ids(text("\xef\xbb\xbf"), 0, "");
}

static void a_zero_byte_in_text_is_refused(void **state) {
    (void)state;
    refuses(put("ids.txt", "a\nb\0c\n", 6), "line 2 has a zero byte");
}

static const char *strings(const char *header, const void *data, size_t size) {
    buffer b = npy(1, header, data, size);
    return put_buffer("ids.npy", &b);
}

static void padding_zeros_of_byte_strings_are_removed(void **state) {
    (void)state;
    assert_ids(strings(NPY("|S3", "(3,)"), "ab\0c\0\0def", 9), 3, "ab|c|def");
    assert_ids(strings(NPY("|S3", "(0,)"), NULL, 0), 0, "");
    assert_ids(strings(NPY("|S0", "(2,)"), NULL, 0), 2, "|");
    refuses(strings(NPY("|S3", "(2,)"), "abca\0b", 6), "row 1 contains a zero");
}

/* a, e acute, the euro sign and an emoji: one to four bytes of UTF-8. */
static void unicode_strings_become_utf8_from_either_byte_order(void **state) {
    const uint32_t points[] = {'a', 0xe9, 0x20ac, 0x1f600, 'z', 0, 0, 0, 0, 0, 0, 0};
    unsigned char little[48], big[48];
    (void)state;
    for (size_t i = 0; i < 12; i++)
        for (size_t j = 0; j < 4; j++)
            little[4 * i + j] = big[4 * i + 3 - j] =
                (unsigned char)(points[i] >> (8 * j));
    const char *want = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|z|";
    assert_ids(strings(NPY("<U4", "(3,)"), little, 48), 3, want);
    assert_ids(strings(NPY(">U4", "(3,)"), big, 48), 3, want);
    assert_ids(strings(NPY("<U0", "(2,)"), NULL, 0), 2, "|");
}

static void invalid_code_points_are_refused(void **state) {
    static const uint32_t bad[] = {0xd800, 0xdfff, 0x110000, 0xffffffff};
    static const uint32_t good[] = {0xd7ff, 0xe000, 0x10ffff};
    uint32_t data[2] = {'a'};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        data[1] = bad[i];
        refuses(strings(NPY("=U1", "(2,)"), data, 8), "row 1 contains 0x");
    }
    for (size_t i = 0; i < 3; i++) {
        scant_ids *ids;
        data[1] = good[i];
        assert_int_equal(scant_ids_open(ctx, strings(NPY("=U1", "(2,)"), data, 8), &ids),
                         SCANT_OK);
        scant_ids_free(ids);
    }
    refuses(strings(NPY("=U3", "(1,)"), (uint32_t[]){'a', 0, 'b'}, 12),
            "contains a zero");
}

static void other_arrays_and_missing_files_are_refused(void **state) {
    (void)state;
    refuses(strings(NPY("|O", "(1,)"), "pickle", 6), "(Python objects)");
    refuses(strings(NPY("|O", "(1,)"), "pickle", 6), "save arr.astype(str)");
    refuses(strings(NPY("<i8", "(1,)"), "01234567", 8), "dtype '<i8' (integers)");
    refuses(strings(NPY("|S1", "(2, 2)"), "abcd", 4), "has 2 dimensions");
    refuses(strings(NPY("|S1", "()"), "a", 1), "has 0 dimensions");
    refuses(strings(NPY("|S4", "(2,)"), "abcd", 4),
            "8 bytes of elements expected, 4 found");
    refuses(path_of("none.txt"), "there is no such file");
    refuses(dir, "is a directory");
}

static void more_strings_than_memory_are_refused_before_reading(void **state) {
    scant_ids *ids;
    (void)state;
    const char *path = strings(NPY("|S0", "(1000000000000000000,)"), NULL, 0);
    assert_int_equal(scant_ids_open(ctx, path, &ids), SCANT_ENOMEM);
    assert_null(ids);
}

static void strings_are_read_from_archives(void **state) {
    static zip z;
    char spec[600];
    (void)state;
    buffer names = npy(1, NPY("|S2", "(2,)"), "abcd", 4);
    z = (zip){0};
    zip_add(&z, "names.npy", &names, DEFLATED);
    zip_add(&z, "more.npy", &names, STORED);
    zip_end(&z, "");
    const char *path = put_buffer("ids.npz", &z.out);
    snprintf(spec, sizeof spec, "%s:names", path);
    assert_ids(spec, 2, "ab|cd");
    snprintf(spec, sizeof spec, "%s:more", path);
    assert_ids(spec, 2, "ab|cd");
    refuses(path, "its keys are: names, more");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_is_an_id),
        cmocka_unit_test(an_empty_file_has_no_ids_and_an_empty_line_is_one),
        cmocka_unit_test(a_byte_order_mark_is_skipped),
        cmocka_unit_test(a_zero_byte_in_text_is_refused),
        cmocka_unit_test(padding_zeros_of_byte_strings_are_removed),
        cmocka_unit_test(unicode_strings_become_utf8_from_either_byte_order),
        cmocka_unit_test(invalid_code_points_are_refused),
        cmocka_unit_test(other_arrays_and_missing_files_are_refused),
        cmocka_unit_test(more_strings_than_memory_are_refused_before_reading),
        cmocka_unit_test(strings_are_read_from_archives),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
