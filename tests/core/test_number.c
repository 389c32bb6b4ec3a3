/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text: they read back exactly, whatever the locale.
 */
#include <locale.h>
#include <math.h>

#include "../support.h"

#include "core/number.h"

static void short_forms_are_the_shortest(void **state) {
    static const struct {
        double value;
        int least;
        const char *text;
    } cases[] = {
        {0.1, 1, "0.1"},
        {0.1, 9, "0.1"},
        {100, 1, "1e+02"},
        {100, 6, "100"},
        {1e6, 6, "1e+06"},
        {1e6, 9, "1000000"},
        {1.0 / 3, 9, "0.3333333333333333"},
        {5e-324, 1, "5e-324"},
        {0.30000000000000004, 6, "0.30000000000000004"},
        {-0.0, 6, "-0"},
        {1.7976931348623157e308, 9, "1.7976931348623157e+308"},
        {123456789012345, 9, "123456789012345"},
        {INFINITY, 9, "inf"},
    };
    char out[SCANT__NUMBER];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(scant__number_shortest(cases[i].value, cases[i].least, out),
                            cases[i].text);
    scant__number_shortest((double)NAN, 9, out);
    assert_non_null(strstr(out, "nan"));
}

static void every_form_reads_back(void **state) {
    char out[SCANT__NUMBER];
    uint64_t bits = 1;
    double value, back;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        assert_true(scant__number_parse(scant__number_shortest(value, 1, out), &back));
        assert_true(back == value);
        assert_true(scant__number_parse(scant__number_format(value, out), &back));
        assert_true(back == value);
        assert_true(strlen(scant__number_round(-value, 17, out)) < SCANT__NUMBER);
    }
}

static void only_decimal_numbers_are_read(void **state) {
    static const char *const wrong[] = {"",     " 1",  "1 ",    "1,5",
                                        "0x10", "nan", "1e999", "1.5.",
                                        "--1",  "e",   "inf ",  "infinity"};
    double value;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(scant__number_parse(wrong[i], &value));
    assert_true(scant__number_parse("-1.5e3", &value) && value == -1500);
    assert_true(scant__number_parse("-inf", &value) && isinf(value));
    assert_true(scant__number_parse("1e-999", &value) && value == 0);
}

static void the_locale_has_no_effect(void **state) {
    char out[SCANT__NUMBER];
    double value;
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) skip();
    assert_string_equal(scant__number_round(1234.5, 9, out), "1234.5");
    assert_string_equal(scant__number_format(0.5, out), "0.5");
    assert_string_equal(scant__number_shortest(1.25, 1, out), "1.25");
    assert_true(scant__number_parse("1.25", &value) && value == 1.25);
    setlocale(LC_ALL, "C");
}

static void shapes_are_truncated_to_the_room(void **state) {
    const size_t shape[] = {700, 5, 32};
    char out[16], little[6];
    (void)state;
    assert_string_equal(scant__shape_format(shape, 3, out, sizeof out), "700 x 5 x 32");
    assert_string_equal(scant__shape_format(shape, 1, out, sizeof out), "700");
    assert_string_equal(scant__shape_format(shape, 3, little, sizeof little), "700 x");
    assert_string_equal(scant__shape_format(NULL, 0, out, sizeof out), "a single number");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_forms_are_the_shortest),
        cmocka_unit_test(every_form_reads_back),
        cmocka_unit_test(only_decimal_numbers_are_read),
        cmocka_unit_test(the_locale_has_no_effect),
        cmocka_unit_test(shapes_are_truncated_to_the_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
