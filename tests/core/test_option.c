/* SPDX-License-Identifier: Apache-2.0 */
#include "core/option.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

static const char *animal(size_t i) {
    static const char *const names[] = {"cat", "dog", "horse"};
    return i < 3 ? names[i] : NULL;
}

typedef struct values {
    bool on;
    size_t count, bytes, width;
    double rate, share, gamma;
    const char *word, *pet, *file;
    uint64_t seed;
} values;

#define AT(field) offsetof(values, field)

static const scant_option rows[] = {
    {.key = "on", .kind = SCANT_OPTION_SWITCH, .at = AT(on)},
    {.key = "count", .kind = SCANT_OPTION_COUNT, .min = 1, .max = 5, .at = AT(count)},
    {.key = "memory", .kind = SCANT_OPTION_BYTES, .at = AT(bytes)},
    {.key = "width",
     .kind = SCANT_OPTION_COUNT,
     .max = INFINITY,
     .choices = "own",
     .at = AT(width)},
    {.key = "learning_rate",
     .kind = SCANT_OPTION_NUMBER,
     .max = INFINITY,
     .open = SCANT_OPEN_MIN | SCANT_OPEN_MAX,
     .choices = "auto",
     .at = AT(rate)},
    {.key = "share",
     .kind = SCANT_OPTION_NUMBER,
     .max = 1,
     .open = SCANT_OPEN_MAX,
     .at = AT(share)},
    {.key = "gamma", .kind = SCANT_OPTION_NUMBER, .max = INFINITY, .at = AT(gamma)},
    {.key = "word",
     .kind = SCANT_OPTION_CHOICE,
     .choices = "one|two|best:K",
     .min = 1,
     .max = 9,
     .at = AT(word)},
    {.key = "pet",
     .kind = SCANT_OPTION_NAME,
     .arg = "PET",
     .names = animal,
     .at = AT(pet)},
    {.key = "file", .kind = SCANT_OPTION_FILE, .at = AT(file)},
    {.key = "seed", .kind = SCANT_OPTION_SEED, .at = AT(seed)},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const scant_option *row(const char *key) {
    const scant_option *found = scant__option_find(rows, ROWS, key);
    assert_non_null(found);
    return found;
}

static bool reads(const char *key, const char *text) {
    scant__value value;
    return scant__option_read(row(key), text, &value);
}

static void values_survive_reading_storing_and_printing(void **state) {
    static const struct {
        const char *key, *text, *printed;
    } cases[] = {
        {"on", "yes", "yes"},
        {"on", "0", "no"},
        {"on", "true", "yes"},
        {"on", "off", "no"},
        {"count", "5", "5"},
        {"memory", "1.5K", "1536"},
        {"memory", "2GiB", "2147483648"},
        {"width", "own", "own"},
        {"width", "0", "0"},
        {"learning_rate", "0.03", "0.03"},
        {"learning-rate", "auto", "auto"},
        {"share", "0", "0"},
        {"share", "1e-3", "0.001"},
        {"gamma", "inf", "inf"},
        {"gamma", "100", "100"},
        {"word", "two", "two"},
        {"word", "best:9", "best:9"},
        {"pet", "horse", "horse"},
        {"file", "a b|c", "a b|c"},
        {"seed", "18446744073709551615", "18446744073709551615"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        values all = {0};
        scant__value value;
        char text[SCANT__NUMBER];
        const scant_option *o = row(cases[i].key);
        assert_true(scant__option_read(o, cases[i].text, &value));
        scant__option_store(o, cases[i].text, &value, &all);
        assert_string_equal(scant__option_text(o, &all, text), cases[i].printed);
    }
}

static void words_in_place_of_numbers_are_stored_as_reserved_values(void **state) {
    (void)state;
    values all = {0};
    scant__value value;
    assert_true(scant__option_read(row("width"), "own", &value) && value.word);
    scant__option_store(row("width"), "own", &value, &all);
    assert_true(all.width == SIZE_MAX);
    assert_true(scant__option_read(row("learning_rate"), "auto", &value));
    scant__option_store(row("learning_rate"), "auto", &value, &all);
    assert_true(isnan(all.rate));
}

static void a_choice_gives_the_index_of_its_word_and_its_number(void **state) {
    (void)state;
    scant__value value;
    assert_true(scant__option_read(row("word"), "best:4", &value));
    assert_true(value.number == 2 && value.param == 4);
    assert_true(scant__option_read(row("word"), "one", &value) && value.number == 0);
}

static void malformed_and_out_of_range_values_are_refused(void **state) {
    static const struct {
        const char *key, *text;
    } wrong[] = {
        {"on", "2"},
        {"on", ""},
        {"on", "Yes"},
        {"count", "0"},
        {"count", "6"},
        {"count", "1e0"},
        {"count", "+1"},
        {"count", " 1"},
        {"count", "1.0"},
        {"count", "99999999999999999999"},
        {"memory", "5X"},
        {"memory", "1.5"},
        {"memory", ".5G"},
        {"memory", "99999999999T"},
        {"width", "auto"},
        {"width", "-1"},
        {"learning_rate", "0"},
        {"learning_rate", "inf"},
        {"learning_rate", "nan"},
        {"learning_rate", "own"},
        {"share", "1"},
        {"share", "-0.1"},
        {"share", "0x1"},
        {"gamma", "-1"},
        {"word", "three"},
        {"word", "best:K"},
        {"word", "best:0"},
        {"word", "best:10"},
        {"word", "best:"},
        {"word", "best:1.5"},
        {"word", ""},
        {"word", "one|two"},
        {"pet", "hors"},
        {"seed", "-1"},
        {"seed", "18446744073709551616"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (reads(wrong[i].key, wrong[i].text))
            fail_msg("%s = '%s' was accepted", wrong[i].key, wrong[i].text);
}

static void messages_say_what_was_expected(void **state) {
    static const struct {
        const char *key, *text, *message;
    } cases[] = {
        {"count", "6", "--count is '6', expected a whole number from 1 to 5"},
        {"width", "x", "--width is 'x', expected own or a whole number of at least 0"},
        {"learning_rate", "0",
         "--learning_rate is '0', expected auto or a number above 0"},
        {"share", "1", "--share is '1', expected a number of at least 0 and below 1"},
        {"gamma", "-1", "--gamma is '-1', expected a number of at least 0, or inf"},
        {"word", "x", "--word is 'x', expected one of one|two|best:K, K from 1 to 9"},
        {"pet", "hors",
         "--pet is 'hors', expected the name of a pet; the nearest is 'horse'"},
        {"on", "maybe", "--on is 'maybe', expected yes or no, or 1 or 0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const scant_option *o = row(cases[i].key);
        char expected[SCANT__EXPECTED], message[SCANT__EXPECTED + 100];
        assert_false(reads(cases[i].key, cases[i].text));
        snprintf(message, sizeof message, "--%s is '%s', expected %s", cases[i].key,
                 cases[i].text, scant__option_expected(o, cases[i].text, expected));
        assert_string_equal(message, cases[i].message);
    }
}

static void numbers_are_printed_in_the_shortest_form_that_reads_back(void **state) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},           {0.1, "0.1"},
                 {1e-8, "1e-08"},    {100, "100"},
                 {150000, "150000"}, {0.9999, "0.9999"},
                 {-2.5, "-2.5"},     {1.0 / 3, "0.3333333333333333"}};
    char out[SCANT__NUMBER];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(scant__number_shortest(cases[i].value, 6, out),
                            cases[i].text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_survive_reading_storing_and_printing),
        cmocka_unit_test(words_in_place_of_numbers_are_stored_as_reserved_values),
        cmocka_unit_test(a_choice_gives_the_index_of_its_word_and_its_number),
        cmocka_unit_test(malformed_and_out_of_range_values_are_refused),
        cmocka_unit_test(messages_say_what_was_expected),
        cmocka_unit_test(numbers_are_printed_in_the_shortest_form_that_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
