/* SPDX-License-Identifier: Apache-2.0
 *
 * .npy headers: which are read, and which are refused with which message.
 */
#include "counting.h"

static scant_array *opened(const buffer *b) {
    scant_array *array;
    if (scant_array_open(ctx, put_buffer("a.npy", b), &array) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return array;
}

static void refuses(const buffer *b, const char *words) {
    scant_array *array = (scant_array *)1;
    const char *path = put_buffer("bad.npy", b);
    assert_int_equal(scant_array_open(ctx, path, &array), SCANT_EINPUT);
    assert_null(array);
    assert_says(ctx, path, words);
}

/* The f4 numbers 0 to 5 with this header are read as a 2 x 3 array. */
static void reads_2x3(int version, const char *header) {
    const float data[] = {0, 1, 2, 3, 4, 5};
    float out[6];
    buffer b = npy(version, header, data, sizeof data);
    scant_array *array = opened(&b);
    assert_int_equal(scant_array_dtype(array), SCANT_F32);
    assert_int_equal(scant_array_ndim(array), 2);
    assert_int_equal(scant_array_shape(array)[0], 2);
    assert_int_equal(scant_array_shape(array)[1], 3);
    scant__array_read_f32(array, 0, 6, out);
    assert_memory_equal(out, data, sizeof data);
    scant_array_free(array);
}

static void every_version_is_read(void **state) {
    (void)state;
    for (int version = 1; version <= 3; version++)
        reads_2x3(version, NPY("<f4", "(2, 3)"));
}

static void a_header_may_be_written_in_many_ways(void **state) {
    (void)state;
    reads_2x3(1, "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}");
    reads_2x3(1, "{\"shape\":(2,3,),\"descr\":\"<f4\",\"fortran_order\":False,}\n");
    reads_2x3(
        1, "  {\n\t'descr' : '<f4' , 'fortran_order':False,'shape' : ( 2 , 3 ) }  \n\n");
    reads_2x3(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n");
    reads_2x3(1, "{'descr': '=f4', 'fortran_order': False, 'shape': (2, 3), }\n");
    reads_2x3(1, "{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3), }\n");
}

static void malformed_headers_are_refused(void **state) {
    static const char *const headers[][2] = {
        {"", "'{' was expected"},
        {"(1, 2)", "'{' was expected"},
        {"{", "string was expected"},
        {"{}", "lacks 'descr'"},
        {"{'descr'", "':' was expected"},
        {"{'descr': '<f4", "does not end"},
        {"{'descr': '<f4'", "comma or '}'"},
        {"{'descr': '<f4' 'shape': (1,)}", "comma or '}'"},
        {"{'descr': '<f4', 'shape': (1,)}", "lacks 'fortran_order'"},
        {"{'descr': '<f4', 'fortran_order': False}", "lacks 'shape'"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 1}", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}", "comma or ')'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "whole number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "whole number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}", "comma or ')'"},
        {"{'descr': '<f4', 'descr': '<f4'}", "'descr' twice"},
        {"{'descr': '<f4', 'color': 'red'}", "a key is not"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "after the '}'"},
        {"{'descr': [('a', '<f4'), 'fortran_order': False, 'shape': (1,)}",
         "does not end"},
        {"{'descr': '<f4\\", "does not end"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        buffer b = npy(1, headers[i][0], "abcd", 4);
        refuses(&b, headers[i][1]);
    }
}

static void unsupported_dtypes_are_named_with_advice(void **state) {
    static const char *const descrs[][2] = {
        {"'|O'", "dtype '|O' (Python objects)"},
        {"'|O8'", "save it with dtype float32"},
        {"'|b1'", "(booleans)"},
        {"'<c8'", "dtype '<c8' (complex numbers)"},
        {"'<M8[ns]'", "dtype '<M8[ns]' (dates)"},
        {"'<m8[s]'", "(time spans)"},
        {"'<U4'", "(strings)"},
        {"'|S4'", "(byte strings)"},
        {"'|V2'", "(raw bytes)"},
        {"'<f16'", "dtype '<f16' (floating point)"},
        {"'<i3'", "dtype '<i3' (integers)"},
        {"[('x', '<f4'), ('y', '<i4')]", "(a structured dtype)"},
        {"('<f4', (2,))", "(a structured dtype)"},
        {"'<q9'", "unknown dtype '<q9'"},
        {"'<f4x'", "unknown dtype '<f4x'"},
        {"'<f99999999999999999999999'", "unknown dtype"},
        {"''", "unknown dtype ''"},
        {"'<'", "unknown dtype '<'"},
        {"'\x1b[31mred'", "unknown dtype '?[31mred'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
        char header[200];
        snprintf(header, sizeof header,
                 "{'descr': %s, 'fortran_order': False, 'shape': (1,)}", descrs[i][0]);
        buffer b = npy(1, header, "0123456789abcdef", 16);
        refuses(&b, descrs[i][1]);
    }
}

/* Values and their bytes, least significant first. */
static void every_dtype_is_read_in_both_byte_orders(void **state) {
    static const struct {
        const char *code;
        scant_dtype dtype;
        size_t size;
        unsigned char low_first[8];
        double value;
    } cases[] = {
        {"f2", SCANT_F16, 2, {0x00, 0xc5}, -5.0},
        {"f4", SCANT_F32, 4, {0x00, 0x00, 0x20, 0x40}, 2.5},
        {"f8", SCANT_F64, 8, {0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, -1.5},
        {"u1", SCANT_U8, 1, {0xfe}, 254},
        {"i1", SCANT_I8, 1, {0xfe}, -2},
        {"u2", SCANT_U16, 2, {0xfe, 0xff}, 65534},
        {"i2", SCANT_I16, 2, {0xfe, 0xff}, -2},
        {"u4", SCANT_U32, 4, {0xfe, 0xff, 0xff, 0xff}, 4294967294.0},
        {"i4", SCANT_I32, 4, {0xfe, 0xff, 0xff, 0xff}, -2},
        {"u8", SCANT_U64, 8, {0, 0, 0, 0, 0, 0, 0, 0x40}, 0x1p62},
        {"i8", SCANT_I64, 8, {0, 0, 0, 0, 0, 0, 0, 0xc0}, -0x1p62},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        char header[100];
        unsigned char data[8];
        double out = 0;
        size_t size = cases[i / 2].size;
        bool big = i % 2;
        for (size_t j = 0; j < size; j++)
            data[j] = cases[i / 2].low_first[big ? size - 1 - j : j];
        snprintf(header, sizeof header,
                 "{'descr': '%c%s', 'fortran_order': False, 'shape': (1,), }",
                 size == 1 ? '|'
                 : big     ? '>'
                           : '<',
                 cases[i / 2].code);
        buffer b = npy(1, header, data, size);
        scant_array *array = opened(&b);
        assert_int_equal(scant_array_dtype(array), cases[i / 2].dtype);
        scant__array_read_f64(array, 0, 1, &out);
        assert_true(out == cases[i / 2].value);
        scant_array_free(array);
    }
}

static void scalars_and_empty_arrays_are_read(void **state) {
    const float three = 3;
    float out = 0;
    (void)state;
    buffer b = npy(1, NPY("<f4", "()"), &three, 4);
    scant_array *array = opened(&b);
    assert_int_equal(scant_array_ndim(array), 0);
    scant__array_read_f32(array, 0, 1, &out);
    assert_true(out == 3);
    scant_array_free(array);

    static const char *const shapes[] = {NPY("<f4", "(0,)"), NPY("<f4", "(0, 5)"),
                                         NPY("<f4", "(7, 0, 3)")};
    for (size_t i = 0; i < 3; i++) {
        b = npy(1, shapes[i], NULL, 0);
        array = opened(&b);
        scant__array_read_f32(array, 0, 0, &out);
        scant_array_free(array);
    }
}

static void bytes_after_the_elements_are_ignored(void **state) {
    (void)state;
    buffer b = npy(1, NPY("|u1", "(2,)"), "\1\2and more", 10);
    scant_array *array = opened(&b);
    assert_int_equal(scant_array_shape(array)[0], 2);
    scant_array_free(array);
}

static void fortran_order_is_refused_only_where_it_matters(void **state) {
#define FORTRAN(shape) "{'descr': '|u1', 'fortran_order': True, 'shape': " shape ", }\n"
    static const char *const same[] = {FORTRAN("()"),        FORTRAN("(6,)"),
                                       FORTRAN("(6, 1)"),    FORTRAN("(1, 6)"),
                                       FORTRAN("(1, 6, 1)"), FORTRAN("(2, 0, 3)")};
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        buffer b = npy(1, same[i], "abcdef", 6);
        scant_array_free(opened(&b));
    }
    buffer b = npy(1, FORTRAN("(2, 3)"), "abcdef", 6);
    refuses(&b, "is in Fortran order (shape 2 x 3), expected C order: save "
                "np.ascontiguousarray(arr)");
}

static void shapes_that_overflow_are_refused(void **state) {
    static const char *const headers[] = {
        NPY("<f8", "(2305843009213693952,)"),           /* 2^61 of 8 bytes: 2^64 */
        NPY("<f8", "(1152921504606846976,)"),           /* 2^63: above PTRDIFF_MAX */
        NPY("|u1", "(4294967296, 4294967296)"),         /* 2^64 */
        NPY("|u1", "(4294967296, 4294967296, 0)"),      /* empty, but the rows overflow */
        NPY("|u1", "(18446744073709551615,)"),          /* 2^64 - 1 */
        NPY("|u1", "(99999999999999999999999999999,)"), /* beyond 64 bits */
        NPY("|u1", "(18446744073709551616, 0)"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        buffer b = npy(1, headers[i], "x", 1);
        refuses(&b, "too large");
    }
    buffer b =
        npy(1,
            NPY("|u1", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                       "1,1,1)"),
            "x", 1);
    refuses(&b, "more than 32 dimensions");
}

static void thirty_two_dimensions_are_read(void **state) {
    (void)state;
    buffer b = npy(
        1,
        NPY("|u1", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,3)"),
        "abc", 3);
    scant_array *array = opened(&b);
    assert_int_equal(scant_array_ndim(array), 32);
    assert_int_equal(array->count, 3);
    scant_array_free(array);
}

static void a_file_truncated_anywhere_is_refused(void **state) {
    const double data[3] = {1, 2, 3};
    (void)state;
    for (int version = 1; version <= 3; version++) {
        buffer whole = npy(version, NPY("<f8", "(3,)"), data, sizeof data);
        for (size_t size = 0; size < whole.size; size++) {
            buffer cut = whole;
            cut.size = size;
            refuses(&cut, size ? "is cut short" : "is empty");
        }
    }
    buffer b = npy(1, NPY("<f8", "(4,)"), data, sizeof data);
    refuses(&b, "32 bytes of elements expected, 24 found");
}

static void a_changed_byte_never_crashes(void **state) {
    const float data[4] = {1, 2, 3, 4};
    float out[64];
    (void)state;
    buffer whole = npy(1, NPY("<f4", "(2, 2)"), data, sizeof data);
    for (size_t at = 0; at < whole.size - sizeof data; at++)
        for (unsigned value = 0; value < 256; value++) {
            buffer b = whole;
            scant_array *array;
            b.bytes[at] = (unsigned char)value;
            scant_status status = scant_array_open(ctx, put_buffer("x.npy", &b), &array);
            if (status != SCANT_OK) {
                assert_int_equal(status, SCANT_EINPUT);
                continue;
            }
            assert_true(array->count <= 64);
            scant__array_read_f32(array, 0, array->count, out);
            scant_array_free(array);
        }
}

static void unknown_versions_are_refused(void **state) {
    (void)state;
    buffer b = npy(4, NPY("<f4", "(1,)"), "abcd", 4);
    refuses(&b, "is .npy version 4.0");
    b = npy(1, NPY("<f4", "(1,)"), "abcd", 4);
    b.bytes[7] = 1;
    refuses(&b, "is .npy version 1.1");
}

static void files_of_other_formats_are_refused_with_a_guess(void **state) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } cases[] = {
        {"1,2,3\n4,5,6\n", 12, "looks like text"},
        {"\x1f\x8b\x08\0\0", 5, "looks like a gzip file"},
        {"\x89HDF\r\n\x1a\n", 8, "looks like an HDF5 file"},
        {"\x80\x04\x95", 3, "looks like a Python pickle"},
        {"\0\0\0\0", 4, "looks like raw bytes"},
        {"\x20\0\0\0\0\0\0\0{\"a\":0}", 15, "looks like a safetensors file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buffer b = {.size = 0};
        add(&b, cases[i].bytes, cases[i].size);
        refuses(&b, cases[i].words);
    }
}

static void pipes_folders_devices_and_missing_files_are_refused(void **state) {
    scant_array *array;
    const char *path = path_of("pipe");
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(scant_array_open(ctx, path, &array), SCANT_EINPUT);
    assert_says(ctx, path, "is a pipe");
    assert_int_equal(scant_array_open(ctx, dir, &array), SCANT_EINPUT);
    assert_says(ctx, dir, "is a directory");
    assert_int_equal(scant_array_open(ctx, "/dev/null", &array), SCANT_EINPUT);
    assert_says(ctx, "/dev/null", "is a device");
    path = path_of("nothing.npy");
    assert_int_equal(scant_array_open(ctx, path, &array), SCANT_EINPUT);
    assert_says(ctx, path, "there is no such file");
    assert_int_equal(scant_array_open(ctx, "", &array), SCANT_EINPUT);
    assert_null(array);
}

static void an_unreadable_file_is_refused(void **state) {
    scant_array *array;
    const char *path = put("secret.npy", "x", 1);
    (void)state;
    bool root = geteuid() == 0; /* root may read everything */
    assert_int_equal(chmod(path, 0), 0);
    if (root) assert_int_equal(seteuid(65534), 0);
    scant_status status = scant_array_open(ctx, path, &array);
    if (root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(status, SCANT_EINPUT);
    assert_says(ctx, path, "cannot be opened: Permission denied");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_is_read),
        cmocka_unit_test(a_header_may_be_written_in_many_ways),
        cmocka_unit_test(malformed_headers_are_refused),
        cmocka_unit_test(unsupported_dtypes_are_named_with_advice),
        cmocka_unit_test(every_dtype_is_read_in_both_byte_orders),
        cmocka_unit_test(scalars_and_empty_arrays_are_read),
        cmocka_unit_test(bytes_after_the_elements_are_ignored),
        cmocka_unit_test(fortran_order_is_refused_only_where_it_matters),
        cmocka_unit_test(shapes_that_overflow_are_refused),
        cmocka_unit_test(thirty_two_dimensions_are_read),
        cmocka_unit_test(a_file_truncated_anywhere_is_refused),
        cmocka_unit_test(a_changed_byte_never_crashes),
        cmocka_unit_test(unknown_versions_are_refused),
        cmocka_unit_test(files_of_other_formats_are_refused_with_a_guess),
        cmocka_unit_test(pipes_folders_devices_and_missing_files_are_refused),
        cmocka_unit_test(an_unreadable_file_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
