/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV files of numbers and labels.
 */
#include "samples.h"
#include "scant/train.h"

#include <locale.h>

static const scant_data_opts none = {0};

static const char *csv(const char *text) { return put("a.csv", text, strlen(text)); }

/* The values are 1, 2, ... in rows of `columns`, with these labels. */
static void gives(const char *text, size_t rows, size_t columns, const int *labels) {
    float want[16];
    scant_data *d = opened(csv(text), none);
    has_shape(d, rows, columns, 1, 1);
    assert_false(scant__data_is_image(d));
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) want[j] = (float)(i * columns + j + 1);
        reads(d, i, want);
        assert_int_equal(scant_data_labels(d)[i], labels[i]);
    }
    scant_data_free(d);
}

static void the_last_column_is_the_label(void **state) {
    const int y[] = {0, 2};
    (void)state;
    gives("1,2,0\n3,4,2\n", 2, 2, y);
    gives("1,2,0\r\n3,4,2", 2, 2, y);
    gives("\xef\xbb\xbf"
          "1,2,0\n\n3,4,2\r\n\r\n\n",
          2, 2, y);
    gives("a,b,c\n1,2,0\n3,4,2\n", 2, 2, y);
    gives(" 1 ,\t2,0\n+3.0e0,.4e1, 2.0 \n", 2, 2, y);
    gives("\"1\",\"2\",\"0\"\r\n3,\"4\",2\n", 2, 2, y);
    gives(",b,c\n1,2,0\n3,4,2\n", 2, 2, y);
    scant_data *d = opened(csv("1,2,0\n3,4,2\n"), none);
    assert_int_equal(scant_data_classes(d), 3);
    assert_null(scant_data_class_name(d, 0));
    scant_data_free(d);
}

static void labels_are(const scant_data *d, const int *want, size_t n) {
    for (size_t i = 0; i < n; i++) assert_int_equal(scant_data_labels(d)[i], want[i]);
}

static void classes_are_renumbered_by_name(void **state) {
    static const char *const names[] = {"eel", NULL, "dog", "cat", "dog"};
    const int before[] = {0, 2, 1}, after[] = {3, 0, 2};
    (void)state;
    scant_data *d = opened(csv("1,2,cat\n3,4,eel\n5,6,dog\n"), none);
    labels_are(d, before, 3);
    /* a class is missing: nothing changes */
    assert_int_equal(scant_data_renumber(d, names + 1, 4), SCANT_EINPUT);
    assert_says(ctx, scant_data_name(d), "sample 1 has the class 'eel'");
    labels_are(d, before, 3);
    assert_string_equal(scant_data_class_name(d, 0), "cat");
    assert_int_equal(scant_data_renumber(d, names, 5), SCANT_OK);
    labels_are(d, after, 3);
    assert_int_equal(scant_data_classes(d), 5);
    assert_string_equal(scant_data_class_name(d, 3), "cat");
    assert_null(scant_data_class_name(d, 1));
    scant_data_free(d);
    /* classes without names keep their numbers */
    d = opened(csv("1,2,0\n3,4,2\n5,6,1\n"), none);
    assert_int_equal(scant_data_renumber(d, names, 5), SCANT_OK);
    labels_are(d, (const int[]){0, 2, 1}, 3);
    scant_data_free(d);
}

static void without_labels_all_columns_are_numbers(void **state) {
    static const char *const texts[] = {"1,2\n3,4\n", "a,b\n1,2\n3,4\n",
                                        "1,b\n1,2\n3,4\n", "y,b\n1,2\n3,4\n"};
    const float first[] = {1, 2}, second[] = {3, 4};
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        scant_data *d =
            opened(csv(texts[i / 2]),
                   (scant_data_opts){.unlabelled = 1, .regression = (int)(i % 2)});
        has_shape(d, 2, 2, 1, 1);
        reads(d, 0, first);
        reads(d, 1, second);
        assert_null(scant_data_labels(d));
        assert_null(scant_data_targets(d));
        assert_int_equal(scant_data_classes(d), 0);
        scant_data_free(d);
    }
    scant_data *d = opened(csv("1\n2\n"), (scant_data_opts){.unlabelled = 1});
    has_shape(d, 2, 1, 1, 1);
    scant_data_free(d);
    refuses(csv("1,2\n3,x\n"), (scant_data_opts){.unlabelled = 1}, "'x' is not a number");
}

static void a_header_names_the_label(void **state) {
    const int y[] = {5, 1};
    (void)state;
    gives("Label,b,c\n5,1,2\n1,3,4\n", 2, 2, y);
    gives("b,\"y\",c\n1,5,2\n3,1,4\n", 2, 2, y);
    gives("1,2,class\n1,2,5\n3,4,1\n", 2, 2, y);
    gives("a,Target ,y\n1,5,2\n3,1,4\n", 2, 2, y); /* the first of two */
}

static void words_are_classes_in_byte_order(void **state) {
    const int y[] = {2, 0, 2, 1};
    static const char text[] = "1,cat\n2,\"Ant, \"\"red\"\"\nor not\"\n3,cat\n4,bee\n";
    (void)state;
    gives(text, 4, 1, y);
    scant_data *d = opened(csv(text), none);
    assert_int_equal(scant_data_classes(d), 3);
    assert_string_equal(scant_data_class_name(d, 0), "Ant, \"red\"\nor not");
    assert_string_equal(scant_data_class_name(d, 1), "bee");
    assert_string_equal(scant_data_class_name(d, 2), "cat");
    assert_null(scant_data_class_name(d, 3));
    scant_data_free(d);
    gives("1,1\n2,-1\n", 2, 1, (int[]){1, 0}); /* "-1" comes before "1" */
    gives("1,10\n2,x\n3,9\n", 3, 1, (int[]){0, 2, 1});
}

static void quoted_line_ends_count_as_lines(void **state) {
    (void)state;
    refuses(csv("1,\"a\nb\"\n2,\"c\r\n\"\nx,d\n"), none, "line 5, column 1: 'x' is no");
}

static void targets_are_any_numbers(void **state) {
    (void)state;
    scant_data *d =
        opened(csv("x,y,z\n1,-.5,2\n3,1e3,4\n"), (scant_data_opts){.regression = 1});
    assert_null(scant_data_labels(d));
    assert_true(scant_data_targets(d)[0] == -.5F && scant_data_targets(d)[1] == 1000);
    reads(d, 1, (float[]){3, 4});
    scant_data_free(d);
    refuses(csv("1,cat\n"), (scant_data_opts){.regression = 1},
            "line 1, column 2: 'cat' is not a number");
    refuses(csv("1,0.5\n2,1\n"), none,
            "the label of sample 0 is 0.5, which is not a class");
}

static void errors_name_line_and_column(void **state) {
    (void)state;
    refuses(csv("1,2,0\n1,,0\n"), none, "line 2, column 2: a number is missing");
    refuses(csv("1,,0\n1,2,0\n"), none, "line 1, column 2: a number is missing");
    refuses(csv("NaN,2,0\n"), none, "line 1, column 1: a number is missing: NaN");
    refuses(csv("a,b,c\n1,two,0\n"), none, "line 2, column 2: 'two' is not a number");
    refuses(csv("1,0x10,0\n1,2,0\n"), none, "'0x10'");
    refuses(csv("1,2,0\n1,1e39,0\n"), none, "'1e39' is too large a number");
    refuses(csv("1,2,0\n1,2.3.4,0\n"), none, "'2.3.4' is not a number");
    refuses(csv("1,2,0\n1,2,\n"), none, "line 2, column 3: the label is missing");
    refuses(csv("1,2,0\n\n1,2\n"), none,
            "line 3 has 2 cells, expected 3 as in the first");
    refuses(csv("1,2,0\n1,2,0,\n"), none, "line 2 has 4 cells");
    refuses(csv("1,\"2\n"), none, "the quote that line 1 opens is never closed");
    refuses(csv("1,\"2\"3,0\n"), none, "line 1 has text after a closing quote");
    refuses(csv("1\n2\n"), none, "has one column");
    refuses(csv("1;2;0\n"), none, "has one column");
    refuses(csv("a,b\n"), none, "has no samples");
    refuses(csv("\n\r\n"), none, "has no rows");
    refuses(csv(""), none, "is empty");
    refuses(csv("1,2\n1,1000000\n"), none, "the label of sample 1 is 1000000; classes");
    refuses(put("a.csv", "1,2\0", 4), none, "has a zero byte");
    refuses_as(SCANT_EUSAGE, csv("1,2\n"), (scant_data_opts){.labels = "y.npy"}, "y.npy",
               "has its own");
}

static void numbers_have_up_to_399_characters(void **state) {
    char text[500];
    (void)state;
    memset(text, '0', sizeof text);
    memcpy(text, "1.", 2);
    memcpy(text + 399, ",5\n", 4);
    scant_data *d = opened(csv(text), none);
    reads(d, 0, (float[]){1});
    scant_data_free(d);
    memset(text + 399, '0', 2);
    memcpy(text + 400, ",5\n", 4);
    refuses(csv(text), none, "line 1, column 1: '1.000");
}

/* A file cut anywhere is read or refused; cut at a line end it has the rows before. */
static void a_truncated_file_has_the_rows_before_or_is_refused(void **state) {
    static const char text[] = "x,\"la\"\"bel\",label\n1,2,\"a\"\n3,4,\"b,b\"\r\n5,6,c\n";
    scant_data *d;
    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        scant_status status = scant_data_open(ctx, put("a.csv", text, n), NULL, &d);
        assert_true(status == SCANT_OK || status == SCANT_EINPUT);
        if (n && text[n - 1] == '\n') assert_int_equal(status == SCANT_OK, n > 20);
        scant_data_free(d);
    }
}

static void a_locale_with_a_decimal_comma_has_no_effect(void **state) {
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) skip();
    scant_data *d = opened(csv("1.5,2.25,0\n"), none);
    reads(d, 0, (float[]){1.5F, 2.25F});
    scant_data_free(d);
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
}

static void compressed_tables_are_read_and_survive_failing_memory(void **state) {
    static const char text[] = "x,label\n1,cat\n2,\"a \"\"dog\"\"\"\n3,bee\n";
    (void)state;
    buffer z = gzip(text, strlen(text)), x = xz(text, strlen(text));
    const char *packed = put_buffer("b.csv.gz", &z), *tight = put_buffer("b.csv.xz", &x);
    scant_data *d = opened(tight, none);
    has_shape(d, 3, 1, 1, 1);
    assert_string_equal(scant_data_class_name(d, 0), "a \"dog\"");
    scant_data_free(d);
    assert_true(torture(csv(text), none) >= 10);
    assert_true(torture(packed, none) >= 10);
    assert_true(torture(csv("1,2\n3,4\n"), (scant_data_opts){.regression = 1}) >= 4);
}

static void reading_can_be_cancelled(void **state) {
    static char text[4 * 5000 + 1];
    (void)state;
    for (size_t i = 0; i < 5000; i++) memcpy(text + 4 * i, "1,0\n", 4);
    assert_true(cancels(csv(text), none) >= 3); /* 5000 rows are read twice */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_column_is_the_label),
        cmocka_unit_test(classes_are_renumbered_by_name),
        cmocka_unit_test(without_labels_all_columns_are_numbers),
        cmocka_unit_test(a_header_names_the_label),
        cmocka_unit_test(words_are_classes_in_byte_order),
        cmocka_unit_test(quoted_line_ends_count_as_lines),
        cmocka_unit_test(targets_are_any_numbers),
        cmocka_unit_test(errors_name_line_and_column),
        cmocka_unit_test(numbers_have_up_to_399_characters),
        cmocka_unit_test(a_truncated_file_has_the_rows_before_or_is_refused),
        cmocka_unit_test(a_locale_with_a_decimal_comma_has_no_effect),
        cmocka_unit_test(compressed_tables_are_read_and_survive_failing_memory),
        cmocka_unit_test(reading_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
