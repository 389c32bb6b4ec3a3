/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that wrap the caller's memory, and arrays encoded as .npy.
 */
#include "counting.h"

static void a_wrapped_array_uses_the_callers_memory_and_copies_the_name(void **state) {
    const int32_t data[] = {1, -2, 3, -4, 5, -6};
    char name[] = "labels";
    scant_array *array;
    int64_t out[2];
    (void)state;
    assert_int_equal(
        scant_array_wrap(ctx, name, data, SCANT_I32, 2, (size_t[]){3, 2}, &array),
        SCANT_OK);
    name[0] = 'x'; /* the name was copied */
    assert_string_equal(scant_array_name(array), "labels");
    assert_int_equal(scant_array_dtype(array), SCANT_I32);
    assert_int_equal(scant_array_ndim(array), 2);
    assert_int_equal(scant_array_shape(array)[0], 3);
    assert_int_equal(scant_array_shape(array)[1], 2);
    assert_ptr_equal(array->data, data);
    assert_true(scant__array_is_direct(array, SCANT_I32));
    scant__array_read_i64(array, 3, 2, out);
    assert_true(out[0] == -4 && out[1] == 5);
    scant_array_free(array);
    scant_array_free(NULL);
}

static void wrong_arguments_of_wrap_are_reported(void **state) {
    const float data[1] = {0};
    size_t many[40] = {0};
    scant_array *array;
    (void)state;
    assert_int_equal(
        scant_array_wrap(ctx, "w", data, (scant_dtype)99, 1, (size_t[]){1}, &array),
        SCANT_EUSAGE);
    assert_says(ctx, "w: ", "not a dtype");
    assert_int_equal(
        scant_array_wrap(ctx, "w", data, (scant_dtype)0, 1, (size_t[]){1}, &array),
        SCANT_EUSAGE);
    assert_int_equal(scant_array_wrap(ctx, "w", data, SCANT_F32, 33, many, &array),
                     SCANT_EUSAGE);
    assert_says(ctx, "w: ", "33 dimensions");
    assert_int_equal(
        scant_array_wrap(ctx, "w", data, SCANT_F32, 2, (size_t[]){SIZE_MAX, 2}, &array),
        SCANT_EUSAGE);
    assert_says(ctx, "w: ", "too large");
    assert_int_equal(
        scant_array_wrap(ctx, "w", NULL, SCANT_F32, 1, (size_t[]){1}, &array),
        SCANT_EUSAGE);
    assert_says(ctx, "w: ", "NULL");
    assert_null(array);
    assert_int_equal(
        scant_array_wrap(ctx, "w", NULL, SCANT_F32, 1, (size_t[]){0}, &array), SCANT_OK);
    scant_array_free(array);
}

static void assert_encodes(scant_dtype dtype, const void *data, size_t ndim,
                           const size_t *shape, const char *header, size_t total) {
    scant_array *array;
    void *bytes;
    size_t size;
    assert_int_equal(scant_array_wrap(ctx, "w", data, dtype, ndim, shape, &array),
                     SCANT_OK);
    assert_int_equal(scant_array_encode(ctx, array, &bytes, &size), SCANT_OK);
    size_t elements = array->count * array->item;
    assert_int_equal(size, total);
    assert_int_equal((size - elements) % 64, 0);
    assert_memory_equal(bytes, "\x93NUMPY\1\0", 8);
    const unsigned char *b = bytes;
    assert_int_equal(10u + b[8] + 256u * b[9], size - elements);
    assert_memory_equal(b + 10, header, strlen(header));
    for (size_t i = 10 + strlen(header); i < size - elements - 1; i++)
        assert_int_equal(b[i], ' ');
    assert_int_equal(b[size - elements - 1], '\n');
    if (elements) assert_memory_equal(b + size - elements, data, elements);
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
}

/* `first` and thirty ones, each followed by a comma */
#define ONES(first)                                                                      \
    first ", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "   \
          "1, 1, "                                                                       \
          "1, 1, 1, 1, "

/* Sizes and headers of files that np.save wrote on a little-endian machine. */
static void encoded_bytes_are_what_numpy_writes(void **state) {
    const double data[12] = {1, 2, 3};
    size_t ones[32];
    (void)state;
    for (int i = 0; i < 32; i++) ones[i] = 1;
    assert_encodes(SCANT_F32, data, 2, (size_t[]){3, 4},
                   "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", 176);
    assert_encodes(SCANT_I64, data, 1, (size_t[]){3},
                   "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", 152);
    assert_encodes(SCANT_F32, data, 0, NULL,
                   "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 132);
    assert_encodes(SCANT_U8, NULL, 1, (size_t[]){0},
                   "{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }", 128);
    assert_encodes(
        SCANT_F16, data, 32, ones,
        "{'descr': '<f2', 'fortran_order': False, 'shape': (" ONES("1") "1), }", 194);
    scant_bytes_free(ctx, NULL);
}

static void the_largest_header_fits(void **state) {
    size_t shape[32];
    (void)state;
    for (int i = 0; i < 32; i++) shape[i] = 1;
    shape[0] = 0;
    shape[31] = (size_t)PTRDIFF_MAX;
    assert_encodes(SCANT_U8, NULL, 32, shape,
                   "{'descr': '|u1', 'fortran_order': False, 'shape': (" ONES(
                       "0") "9223372036854775807), }",
                   256);
}

static void an_encoded_array_opens_again(void **state) {
    _Alignas(8) unsigned char data[48];
    scant_array *array, *again;
    void *bytes, *twice;
    size_t size, size_twice;
    (void)state;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)i;
    for (scant_dtype dtype = SCANT_F16; dtype <= SCANT_I64; dtype++) {
        assert_int_equal(
            scant_array_wrap(ctx, "w", data, dtype, 3, (size_t[]){1, 3, 2}, &array),
            SCANT_OK);
        array->swapped = array->item > 1 && dtype % 2; /* the byte order is kept */
        assert_int_equal(scant_array_encode(ctx, array, &bytes, &size), SCANT_OK);
        assert_int_equal(scant_array_open(ctx, put("again.npy", bytes, size), &again),
                         SCANT_OK);
        assert_int_equal(scant_array_dtype(again), dtype);
        assert_int_equal(again->swapped, array->swapped);
        assert_memory_equal(scant_array_shape(again), scant_array_shape(array),
                            3 * sizeof(size_t));
        assert_memory_equal(again->data, data, 6 * array->item);
        assert_int_equal((uintptr_t)again->data % 64, 0); /* usable in place */
        assert_int_equal(scant_array_encode(ctx, again, &twice, &size_twice), SCANT_OK);
        assert_int_equal(size_twice, size);
        assert_memory_equal(twice, bytes, size);
        scant_bytes_free(ctx, twice);
        scant_bytes_free(ctx, bytes);
        scant_array_free(again);
        scant_array_free(array);
    }
}

static void numbers_are_read_as_floats(void **state) {
    (void)state;
    int16_t whole[] = {-3, 0, 7};
    double real[] = {0.5, 1e300 * 1e300, 2};
    float out[3] = {9, 9, 9};
    scant_array *a, *b;
    assert_int_equal(scant_array_wrap(ctx, "w", whole, SCANT_I16, 1, (size_t[]){3}, &a),
                     SCANT_OK);
    assert_int_equal(scant_array_wrap(ctx, "r", real, SCANT_F64, 1, (size_t[]){3}, &b),
                     SCANT_OK);
    assert_int_equal(scant_array_floats(ctx, a, 1, 2, out), SCANT_OK);
    assert_true(out[0] == 0 && out[1] == 7 && out[2] == 9);
    assert_int_equal(scant_array_floats(ctx, a, 2, 2, out), SCANT_EUSAGE);
    assert_int_equal(scant_array_floats(ctx, b, 0, 3, out), SCANT_EINPUT);
    assert_says(ctx, "r", "element 1 is not a finite number");
    scant_array_free(a);
    scant_array_free(b);
}

static void dtypes_have_the_names_numpy_gives_them(void **state) {
    (void)state;
    assert_string_equal(scant__dtype_name(SCANT_F16), "float16");
    assert_string_equal(scant__dtype_name(SCANT_U8), "uint8");
    assert_string_equal(scant__dtype_name(SCANT_I64), "int64");
    assert_string_equal(scant__dtype_name((scant_dtype)77), "unknown");
    for (scant_dtype dtype = SCANT_F16; dtype <= SCANT_I64; dtype++)
        assert_int_equal(scant__dtype_is_integer(dtype), dtype > SCANT_F64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrapped_array_uses_the_callers_memory_and_copies_the_name),
        cmocka_unit_test(wrong_arguments_of_wrap_are_reported),
        cmocka_unit_test(encoded_bytes_are_what_numpy_writes),
        cmocka_unit_test(the_largest_header_fits),
        cmocka_unit_test(an_encoded_array_opens_again),
        cmocka_unit_test(numbers_are_read_as_floats),
        cmocka_unit_test(dtypes_have_the_names_numpy_gives_them),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
