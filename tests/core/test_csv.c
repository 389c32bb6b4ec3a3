/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells of CSV texts.
 */
#include "../support.h"

#include "core/csv.h"

/* Reads a text. Out: each row's line number, its cells, each followed by "|", and "\n".
 */
static scant_status read_all(scant_ctx *ctx, const char *text, size_t size,
                             scant__text *out) {
    scant__cells cells;
    scant__cell c;
    scant_status status = scant__cells_begin(&cells, ctx, "a.csv", text, size);
    scant__text_init(out, ctx);
    while (status == SCANT_OK && scant__cells_row(&cells)) {
        for (c.last = false; status == SCANT_OK && !c.last;) {
            status = scant__cells_next(&cells, &c);
            if (status != SCANT_OK) break;
            scant__text_addf(out, "%zu", c.line);
            scant__text_add(out, c.quoted ? "'" : ":");
            scant__text_bytes(out, c.text, c.length);
            scant__text_add(out, "|");
        }
        scant__text_add(out, "\n");
    }
    scant__cells_end(&cells);
    return status;
}

static void gives(const char *text, const char *want) {
    scant_ctx *ctx = ctx_threads(1);
    scant__text out;
    assert_int_equal(read_all(ctx, text, strlen(text), &out), SCANT_OK);
    assert_string_equal(out.data ? out.data : "", want);
    scant__text_end(&out);
    scant_ctx_free(ctx);
}

static void refuses(const char *text, size_t size, const char *says) {
    scant_ctx *ctx = ctx_threads(1);
    scant__text out;
    assert_int_equal(read_all(ctx, text, size, &out), SCANT_EINPUT);
    assert_string_equal(scant_ctx_errmsg(ctx), says);
    scant__text_end(&out);
    scant_ctx_free(ctx);
}

static void commas_and_line_ends_separate_cells(void **state) {
    (void)state;
    gives("", "");
    gives("a", "1:a|\n");
    gives("a,b\nc,d\n", "1:a|1:b|\n2:c|2:d|\n");
    gives(",\n a ,", "1:|1:|\n2: a |2:|\n");
}

static void a_carriage_return_belongs_to_the_line_end_only(void **state) {
    (void)state;
    gives("a,b\r\nc,d\r\n", "1:a|1:b|\n2:c|2:d|\n");
    gives("a,b\r", "1:a|1:b|\n");
    gives("a\rb\r,c\n", "1:a\rb\r|1:c|\n");
    gives("\"a\",\"b\"\r\nc", "1'a|1'b|\n2:c|\n");
}

static void empty_lines_and_a_byte_order_mark_are_skipped(void **state) {
    (void)state;
    gives("\xef\xbb\xbf"
          "a\n\n\r\nb\n\n",
          "1:a|\n4:b|\n");
    gives("\n\r\n\n", "");
}

static void quoted_cells_may_have_commas_quotes_and_line_ends(void **state) {
    (void)state;
    gives("\"a,b\",\"\"\n", "1'a,b|1'|\n");
    gives("\"say \"\"x\"\" twice \"\"\",b", "1'say \"x\" twice \"|1:b|\n");
    gives("\"a\r\nb\",c\nd", "1'a\r\nb|2:c|\n3:d|\n");
    gives("a\"b\",c", "1:a\"b\"|1:c|\n");
}

static void malformed_texts_are_refused(void **state) {
    (void)state;
    refuses("a\nb,\"c\n", 7, "a.csv: the quote that line 2 opens is never closed");
    refuses("a\n\"b\"c\n", 7, "a.csv: line 2 has text after a closing quote");
    refuses("a\0b", 3, "a.csv: has a zero byte, so it is not text");
}

static void a_rewound_text_is_read_again(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant__cells cells;
    scant__cell c;
    (void)state;
    assert_int_equal(scant__cells_begin(&cells, ctx, "a.csv", "\xef\xbb\xbfx\ny", 6),
                     SCANT_OK);
    for (int i = 0; i < 2; i++) {
        assert_true(scant__cells_row(&cells));
        assert_int_equal(scant__cells_next(&cells, &c), SCANT_OK);
        assert_memory_equal(c.text, "x", 1);
        assert_int_equal(c.line, 1);
        scant__cells_rewind(&cells);
    }
    scant__cells_end(&cells);
    scant_ctx_free(ctx);
}

static void only_decimal_numbers_are_numbers(void **state) {
    static const char *const wrong[] = {"", " ", "nan", "inf", "0x1", "1 2", "1e", "--1"};
    double value;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(scant__cell_number(
            (scant__cell){.text = wrong[i], .length = strlen(wrong[i])}, &value));
    assert_true(
        scant__cell_number((scant__cell){.text = "\t-1.5e1 ,", .length = 8}, &value));
    assert_true(value == -15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_line_ends_separate_cells),
        cmocka_unit_test(a_carriage_return_belongs_to_the_line_end_only),
        cmocka_unit_test(empty_lines_and_a_byte_order_mark_are_skipped),
        cmocka_unit_test(quoted_cells_may_have_commas_quotes_and_line_ends),
        cmocka_unit_test(malformed_texts_are_refused),
        cmocka_unit_test(a_rewound_text_is_read_again),
        cmocka_unit_test(only_decimal_numbers_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
