/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding UTF-8: every code point, and bytes that are not UTF-8.
 */
#include "../support.h"

#include "core/utf8.h"

static size_t encode(uint32_t c, char *out) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(0xF00 >> n | c);
    return n;
}

static void every_code_point_but_surrogates_is_decoded(void **state) {
    (void)state;
    for (uint32_t c = 1; c <= 0x10FFFF; c++) {
        char bytes[5] = {0};
        uint32_t code;
        size_t n = encode(c, bytes), taken = scant__utf8_next(bytes, n, &code);
        bool surrogate = c >= 0xD800 && c <= 0xDFFF;
        assert_int_equal(code, surrogate ? SCANT__UTF8_BAD : c);
        assert_int_equal(taken, surrogate ? 1 : n);
        if (n == 1) continue;
        assert_int_equal(scant__utf8_next(bytes, n - 1, &code), surrogate ? 1 : n - 1);
        assert_int_equal(code, SCANT__UTF8_BAD); /* cut off */
    }
}

static void malformed_sequences_are_skipped_as_unicode_recommends(void **state) {
    static const struct {
        const char *bytes;
        size_t taken;
    } cases[] = {
        {"\x80", 1},
        {"\xBF", 1},
        {"\xC0\x80", 1},
        {"\xC1\xBF", 1},
        {"\xC2", 1},
        {"\xC2 ", 1},
        {"\xE0\x9F\xBF", 1},
        {"\xE0\xA0", 2},
        {"\xE2\x82 ", 2},
        {"\xED\xA0\x80", 1},
        {"\xF0\x8F\xBF\xBF", 1},
        {"\xF0\x90\x80 ", 3},
        {"\xF4\x90\x80\x80", 1},
        {"\xF5\x80\x80\x80", 1},
        {"\xF8\x88\x80\x80", 1},
        {"\xFE", 1},
        {"\xFF", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t code;
        assert_int_equal(scant__utf8_next(cases[i].bytes, SIZE_MAX, &code),
                         cases[i].taken);
        assert_int_equal(code, SCANT__UTF8_BAD);
        assert_false(scant__utf8_valid(cases[i].bytes));
    }
}

static void characters_are_counted(void **state) {
    (void)state;
    assert_int_equal(scant__utf8_count("", 0), 0);
    assert_int_equal(scant__utf8_count("a\xC3\xA9\xF0\x9F\x98\x80\0z", 9), 5);
    assert_int_equal(scant__utf8_count("\xE2\x82z\xFF", 4), 3);
    assert_true(scant__utf8_valid(""));
    assert_true(scant__utf8_valid("a\xC3\xA9\xEF\xBF\xBD"));
    assert_false(scant__utf8_valid("a\xC3\xA9\xFFz"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_but_surrogates_is_decoded),
        cmocka_unit_test(malformed_sequences_are_skipped_as_unicode_recommends),
        cmocka_unit_test(characters_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
