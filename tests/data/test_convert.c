/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of every type read as float, double and int64: exact where the target type can
 * hold them.
 */
#include <math.h>

#include "support.h"

static const size_t sizes[] = {
    [SCANT_F16] = 2, [SCANT_F32] = 4, [SCANT_F64] = 8, [SCANT_U8] = 1,
    [SCANT_I8] = 1,  [SCANT_U16] = 2, [SCANT_I16] = 2, [SCANT_U32] = 4,
    [SCANT_I32] = 4, [SCANT_U64] = 8, [SCANT_I64] = 8};

/* An array of these bytes, as scant_array_open() would return it. */
static scant_array array_of(const void *data, scant_dtype dtype, size_t count) {
    return (scant_array){.data = data,
                         .dtype = dtype,
                         .item = sizes[dtype],
                         .ndim = 1,
                         .shape = {count},
                         .count = count};
}

static void half_floats_at_the_limits_follow_ieee_754(void **state) {
    static const struct {
        uint16_t bits;
        float value;
    } cases[] = {
        {0x0000, 0.0f},        {0x3c00, 1.0f},         {0xc000, -2.0f},
        {0x3555, 0x1.554p-2f}, {0x7bff, 65504.0f},     {0x0400, 0x1p-14f},
        {0x0001, 0x1p-24f},    {0x03ff, 0x1.ff8p-15f}, {0x8001, -0x1p-24f},
        {0x7c00, INFINITY},    {0xfc00, -INFINITY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float out;
        scant_array array = array_of(&cases[i].bits, SCANT_F16, 1);
        scant__array_read_f32(&array, 0, 1, &out);
        assert_true(out == cases[i].value);
    }
    const uint16_t odd[] = {0x8000, 0x7e00, 0x7c01, 0xffff};
    float out[4];
    scant_array array = array_of(odd, SCANT_F16, 4);
    scant__array_read_f32(&array, 0, 4, out);
    assert_true(out[0] == 0 && signbit(out[0]));
    for (int i = 1; i < 4; i++) assert_true(isnan(out[i]));
}

/* The definition: (-1)^s 2^(e-25) (1024 + m), and 2^-24 m where e is 0. */
static void every_finite_half_float_is_exact(void **state) {
    static uint16_t bits[65536];
    static float out[65536];
    static double wide[65536];
    (void)state;
    for (size_t i = 0; i < 65536; i++) bits[i] = (uint16_t)i;
    scant_array array = array_of(bits, SCANT_F16, 65536);
    scant__array_read_f32(&array, 0, 65536, out);
    scant__array_read_f64(&array, 0, 65536, wide);
    for (int i = 0; i < 65536; i++) {
        int e = i >> 10 & 31, m = i & 1023;
        if (e == 31) continue;
        double value = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
        if (i & 0x8000) value = -value;
        assert_true((double)out[i] == value && wide[i] == value);
    }
}

static void integers_are_exact_or_saturate_at_their_limits(void **state) {
    const int64_t i8s[] = {INT64_MIN, -1, 0, INT64_MAX};
    const uint64_t u8s[] = {0, (uint64_t)INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    const uint32_t u4s[] = {0, UINT32_MAX};
    int64_t out[4];
    (void)state;
    scant_array array = array_of(i8s, SCANT_I64, 4);
    scant__array_read_i64(&array, 0, 4, out);
    assert_memory_equal(out, i8s, sizeof i8s);
    array = array_of(u8s, SCANT_U64, 4);
    scant__array_read_i64(&array, 0, 4, out);
    assert_true(out[0] == 0 && out[1] == INT64_MAX);
    assert_true(out[2] == INT64_MAX && out[3] == INT64_MAX);
    array = array_of(u4s, SCANT_U32, 2);
    scant__array_read_i64(&array, 0, 2, out);
    assert_true(out[1] == 4294967295);
}

/* Byte order and alignment do not affect the values of any range. */
static void byte_order_and_alignment_do_not_change_values(void **state) {
    enum { COUNT = 2500 }; /* more than two chunks */
    static unsigned char plain[COUNT * 8 + 8], moved[COUNT * 8 + 8];
    static double want[COUNT], got[COUNT];
    static float want_f4[COUNT], got_f4[COUNT];
    static int64_t want_i8[COUNT], got_i8[COUNT];
    static const size_t ranges[][2] = {{0, COUNT}, {0, 1},    {7, 0},
                                       {3, 1024},  {1, 2048}, {2499, 1}};
    (void)state;
    for (scant_dtype dtype = SCANT_F16; dtype <= SCANT_I64; dtype++) {
        size_t size = sizes[dtype];
        for (size_t i = 0; i < COUNT * size; i++) /* no NaN: exponents stay small */
            plain[i] = (unsigned char)((i * 37 + i / 64) % 59);
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < size; j++)
                moved[1 + i * size + j] = plain[i * size + size - 1 - j];
        scant_array a = array_of(plain, dtype, COUNT),
                    b = array_of(moved + 1, dtype, COUNT);
        b.swapped = true;
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            size_t first = ranges[r][0], n = ranges[r][1];
            scant__array_read_f64(&a, first, n, want);
            scant__array_read_f64(&b, first, n, got);
            assert_memory_equal(got, want, n * sizeof *got);
            scant__array_read_f32(&a, first, n, want_f4);
            scant__array_read_f32(&b, first, n, got_f4);
            assert_memory_equal(got_f4, want_f4, n * sizeof *got_f4);
            if (!scant__dtype_is_integer(dtype)) continue;
            scant__array_read_i64(&a, first, n, want_i8);
            scant__array_read_i64(&b, first, n, got_i8);
            assert_memory_equal(got_i8, want_i8, n * sizeof *got_i8);
        }
        memcpy(moved + 1, plain, COUNT * size);
        b.swapped = false;
        scant__array_read_f64(&a, 0, COUNT, want);
        scant__array_read_f64(&b, 0, COUNT, got);
        assert_memory_equal(got, want, sizeof got);
    }
}

static void bytes_are_read_as_signed_or_unsigned_numbers(void **state) {
    unsigned char bytes[256];
    float out[256];
    int64_t ints[256];
    (void)state;
    for (int i = 0; i < 256; i++) bytes[i] = (unsigned char)i;
    scant_array array = array_of(bytes, SCANT_U8, 256);
    scant__array_read_f32(&array, 0, 256, out);
    for (int i = 0; i < 256; i++) assert_true(out[i] == (float)i);
    array = array_of(bytes, SCANT_I8, 256);
    scant__array_read_i64(&array, 0, 256, ints);
    for (int i = 0; i < 256; i++) assert_true(ints[i] == (i < 128 ? i : i - 256));
}

static void an_array_is_direct_if_native_aligned_and_of_the_type(void **state) {
    _Alignas(64) unsigned char data[16] = {0};
    (void)state;
    scant_array array = array_of(data, SCANT_F32, 2);
    assert_true(scant__array_is_direct(&array, SCANT_F32));
    assert_false(scant__array_is_direct(&array, SCANT_F64));
    array.swapped = true;
    assert_false(scant__array_is_direct(&array, SCANT_F32));
    array = array_of(data + 2, SCANT_F32, 2);
    assert_false(scant__array_is_direct(&array, SCANT_F32));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_floats_at_the_limits_follow_ieee_754),
        cmocka_unit_test(every_finite_half_float_is_exact),
        cmocka_unit_test(integers_are_exact_or_saturate_at_their_limits),
        cmocka_unit_test(byte_order_and_alignment_do_not_change_values),
        cmocka_unit_test(bytes_are_read_as_signed_or_unsigned_numbers),
        cmocka_unit_test(an_array_is_direct_if_native_aligned_and_of_the_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
