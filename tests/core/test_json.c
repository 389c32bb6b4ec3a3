/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing JSON: jansson reads it back, whatever bytes its strings have.
 */
#include <math.h>

#include <jansson.h>

#include "../support.h"

#include "core/json.h"

static void written_json_reads_back(void **state) {
    (void)state;
    scant__json o = {0};
    scant__json_open(&o, NULL, '{');
    scant__json_string(&o, "s", "a\"b\\c\n\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    scant__json_null(&o, "n");
    scant__json_bool(&o, "t", true);
    scant__json_integer(&o, "i", INT64_MIN);
    scant__json_size(&o, "z", 0);
    scant__json_hex64(&o, "k", 0xfedcba9876543210u);
    scant__json_raw(&o, "r", "{\"x\": [1]}");
    scant__json_open(&o, "a", '[');
    scant__json_number(&o, NULL, 0.1);
    scant__json_number(&o, NULL, 1.0 / 3);
    scant__json_number(&o, NULL, 1e300);
    scant__json_number(&o, NULL, NAN);
    scant__json_number(&o, NULL, -INFINITY);
    scant__json_open(&o, NULL, '{');
    scant__json_close(&o, '}');
    scant__json_close(&o, ']');
    scant__json_close(&o, '}');
    assert_false(o.text.failed);
    json_t *root = json_loadb(o.text.data, o.text.size, 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "s")),
                        "a\"b\\c\n\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_true(json_is_null(json_object_get(root, "n")));
    assert_true(json_is_true(json_object_get(root, "t")));
    assert_true(json_integer_value(json_object_get(root, "i")) == INT64_MIN);
    assert_string_equal(json_string_value(json_object_get(root, "k")),
                        "fedcba9876543210");
    const json_t *x = json_object_get(json_object_get(root, "r"), "x");
    assert_int_equal(json_integer_value(json_array_get(x, 0)), 1);
    const json_t *a = json_object_get(root, "a");
    assert_int_equal(json_array_size(a), 6);
    assert_true(json_real_value(json_array_get(a, 0)) == 0.1);
    assert_true(json_real_value(json_array_get(a, 1)) == 1.0 / 3);
    assert_true(json_real_value(json_array_get(a, 2)) == 1e300);
    assert_true(json_is_null(json_array_get(a, 3)));
    assert_true(json_is_null(json_array_get(a, 4)));
    json_decref(root);
    scant__json_end(&o);
}

static void malformed_utf8_is_replaced(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"\xff", "\xef\xbf\xbd"},
        {"a\x80z", "a\xef\xbf\xbdz"},
        {"\xc3", "\xef\xbf\xbd"},                                 /* cut off */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82z", "\xef\xbf\xbdz"}, /* one for a truncated character */
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scant__text text = {0};
        scant__text_json(&text, texts[i][0]);
        json_t *root = json_loadb(text.data, text.size, JSON_DECODE_ANY, NULL);
        assert_string_equal(json_string_value(root), texts[i][1]);
        json_decref(root);
        scant__text_end(&text);
    }
}

static void assert_text(scant__text *text, const char *expected) {
    assert_string_equal(text->data, expected);
    scant__text_end(text);
}

static void special_characters_are_escaped(void **state) {
    (void)state;
    scant__text text = {0};
    scant__text_json(&text, "\"\\/\b\f\n\r\t\x1f\x7f<");
    assert_text(&text, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u001f\\u007f<\"");
    scant__text_json_bytes(&text, "a\0b", 3);
    assert_text(&text, "\"a\\u0000b\"");
    scant__text_json_script(&text, "{\"a\":\"</script>&'\\\"\"}");
    assert_text(&text, "{\"a\":\"\\u003c/script\\u003e\\u0026\\u0027\\\"\"}");
    scant__text_json(&text, "");
    assert_text(&text, "\"\"");
    scant__text_json(&text, NULL);
    assert_text(&text, "null");
}

static void numbers_are_short(void **state) {
    (void)state;
    scant__json o = {0};
    scant__json_open(&o, NULL, '[');
    scant__json_number(&o, NULL, 0.1);
    scant__json_number(&o, NULL, -0.0);
    scant__json_number(&o, NULL, 123456789);
    scant__json_number(&o, NULL, 1e9);
    scant__json_number(&o, NULL, 0.1 + 0.2);
    scant__json_rounded(&o, NULL, 0.1 + 0.2, 9);
    scant__json_rounded(&o, NULL, 0.1, 17);
    scant__json_rounded(&o, NULL, (double)INFINITY, 17);
    scant__json_close(&o, ']');
    assert_text(&o.text, "[0.1,-0,123456789,1e+09,0.30000000000000004,0.3,"
                         "0.10000000000000001,null]");
}

/* Every pair of first bytes, and a third; jansson refuses malformed UTF-8. */
static void any_bytes_make_valid_json(void **state) {
    (void)state;
    for (unsigned i = 1; i < 65536; i++) {
        char text[] = {(char)(i & 255), (char)(i >> 8), (char)(i * 7 & 255), 0};
        scant__json o = {0};
        scant__json_open(&o, NULL, '[');
        scant__json_string(&o, NULL, text);
        scant__json_close(&o, ']');
        json_t *root = json_loadb(o.text.data, o.text.size, 0, NULL);
        assert_non_null(root);
        json_decref(root);
        scant__json_end(&o);
    }
}

static void long_texts_grow(void **state) {
    (void)state;
    scant__json o = {0};
    scant__json_open(&o, NULL, '[');
    for (size_t i = 0; i < 5000; i++) scant__json_size(&o, NULL, i);
    scant__json_close(&o, ']');
    json_t *root = json_loadb(o.text.data, o.text.size, 0, NULL);
    assert_int_equal(json_array_size(root), 5000);
    assert_int_equal(json_integer_value(json_array_get(root, 4999)), 4999);
    json_decref(root);
    scant__json_end(&o);
    assert_null(o.text.data);
}

static void members_have_the_type_of_their_value(void **state) {
    (void)state;
    scant__json o = {0};
    char text[] = "x";
    JSON_OBJECT(&o, NULL, MEMBER("s", text), MEMBER("i", INT64_C(-1)),
                MEMBER("z", sizeof text), MEMBER("d", 0.5), MEMBER("b", (bool)true),
                OPTIONAL("o", 0), OPTIONAL("n", -1), MEMBER("null", (char *)NULL));
    assert_string_equal(o.text.data, "{\"s\":\"x\",\"i\":-1,\"z\":2,\"d\":0.5,\"b\":true,"
                                     "\"o\":0,\"n\":null,\"null\":null}");
    scant__json_end(&o);
}

static void members_can_have_a_line_each(void **state) {
    scant__json json = {.lines = 1};
    (void)state;
    scant__json_open(&json, NULL, '{');
    scant__json_size(&json, "a", 1);
    scant__json_open(&json, "b", '[');
    scant__json_size(&json, NULL, 2);
    scant__json_size(&json, NULL, 3);
    scant__json_close(&json, ']');
    scant__json_close(&json, '}');
    assert_string_equal(json.text.data, "{\n \"a\":1,\n \"b\":[2,3]\n}");
    scant__json_end(&json);
    scant__json_open(&json, NULL, '[');
    scant__json_close(&json, ']');
    assert_string_equal(json.text.data, "[]");
    scant__json_end(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_can_have_a_line_each),
        cmocka_unit_test(written_json_reads_back),
        cmocka_unit_test(malformed_utf8_is_replaced),
        cmocka_unit_test(special_characters_are_escaped),
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(any_bytes_make_valid_json),
        cmocka_unit_test(long_texts_grow),
        cmocka_unit_test(members_have_the_type_of_their_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
