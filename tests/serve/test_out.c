/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON as it is written is JSON as it is read, whatever the strings.
 */
#include "support.h"

#include <jansson.h>
#include <math.h>

#include "serve/out.h"

static void what_is_written_reads_back(void **state) {
    (void)state;
    out o = {0};
    out_open(&o, NULL, '{');
    out_string(&o, "s", "a\"b\\c\n\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    out_null(&o, "n");
    out_bool(&o, "t", true);
    out_integer(&o, "i", INT64_MIN);
    out_size(&o, "z", 0);
    out_key64(&o, "k", 0xfedcba9876543210u);
    out_open(&o, "a", '[');
    out_real(&o, NULL, 0.1);
    out_real(&o, NULL, 1.0 / 3);
    out_real(&o, NULL, 1e300);
    out_real(&o, NULL, NAN);
    out_real(&o, NULL, -INFINITY);
    out_open(&o, NULL, '{');
    out_close(&o, '}');
    out_close(&o, ']');
    out_close(&o, '}');
    assert_false(o.failed);
    json_t *root = json_loadb(o.data, o.size, 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "s")),
                        "a\"b\\c\n\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_true(json_is_null(json_object_get(root, "n")));
    assert_true(json_is_true(json_object_get(root, "t")));
    assert_true(json_integer_value(json_object_get(root, "i")) == INT64_MIN);
    assert_string_equal(json_string_value(json_object_get(root, "k")),
                        "fedcba9876543210");
    const json_t *a = json_object_get(root, "a");
    assert_int_equal(json_array_size(a), 6);
    assert_true(json_real_value(json_array_get(a, 0)) == 0.1);
    assert_true(json_real_value(json_array_get(a, 1)) == 1.0 / 3);
    assert_true(json_real_value(json_array_get(a, 2)) == 1e300);
    assert_true(json_is_null(json_array_get(a, 3)));
    assert_true(json_is_null(json_array_get(a, 4)));
    json_decref(root);
    out_end(&o);
}

static void what_is_not_utf8_is_replaced(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"\xff", "\xef\xbf\xbd"},
        {"a\x80z", "a\xef\xbf\xbdz"},
        {"\xc3", "\xef\xbf\xbd"},                                 /* cut off */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* too long a form */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82z", "\xef\xbf\xbd\xef\xbf\xbdz"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        out o = {0};
        out_open(&o, NULL, '[');
        out_string(&o, NULL, texts[i][0]);
        out_close(&o, ']');
        json_t *root = json_loadb(o.data, o.size, 0, NULL);
        assert_non_null(root);
        assert_string_equal(json_string_value(json_array_get(root, 0)), texts[i][1]);
        json_decref(root);
        out_end(&o);
    }
}

/* Two bytes and three: all there are, of which jansson judges what is UTF-8. */
static void any_bytes_make_json(void **state) {
    (void)state;
    for (unsigned i = 1; i < 65536; i++) {
        char text[] = {(char)(i & 255), (char)(i >> 8), (char)(i * 7 & 255), 0};
        out o = {0};
        out_open(&o, NULL, '[');
        out_string(&o, NULL, text);
        out_close(&o, ']');
        json_t *root = json_loadb(o.data, o.size, 0, NULL);
        assert_non_null(root);
        json_decref(root);
        out_end(&o);
    }
}

static void long_texts_grow(void **state) {
    (void)state;
    out o = {0};
    out_open(&o, NULL, '[');
    for (size_t i = 0; i < 5000; i++) out_size(&o, NULL, i);
    out_close(&o, ']');
    json_t *root = json_loadb(o.data, o.size, 0, NULL);
    assert_int_equal(json_array_size(root), 5000);
    assert_int_equal(json_integer_value(json_array_get(root, 4999)), 4999);
    json_decref(root);
    out_end(&o);
    assert_null(o.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
        cmocka_unit_test(any_bytes_make_json),
        cmocka_unit_test(long_texts_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
