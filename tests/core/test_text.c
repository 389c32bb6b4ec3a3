/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing text buffers and CSV fields.
 */
#include <math.h>

#include "../support.h"

#include "core/text.h"

static void assert_taken(scant__text *text, const char *expected) {
    char *bytes;
    size_t size;
    assert_int_equal(scant__text_take(text, &bytes, &size), SCANT_OK);
    assert_string_equal(bytes, expected);
    assert_int_equal(size, strlen(expected));
    scant__free(text->ctx, bytes);
}

static void csv_strings_are_quoted_where_needed(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant__text text;
    (void)state;
    scant__text_init(&text, ctx);
    scant__text_csv(&text, "plain words");
    scant__text_add(&text, "|");
    scant__text_csv(&text, "a,b");
    scant__text_add(&text, "|");
    scant__text_csv(&text, "say \"x\"");
    scant__text_add(&text, "|");
    scant__text_csv(&text, " x");
    assert_taken(&text, "plain words|\"a,b\"|\"say \"\"x\"\"\"|\" x\"");
    scant_ctx_free(ctx);
}

static void numbers_have_as_many_digits_as_asked_for(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    scant__text text;
    (void)state;
    scant__text_init(&text, ctx);
    scant__text_number(&text, 0.1, 9);
    scant__text_add(&text, " ");
    scant__text_number(&text, 1.0 / 3, 4);
    scant__text_add(&text, " ");
    scant__text_number(&text, (double)NAN, 4);
    assert_taken(&text, "0.1 0.3333 nan");
    assert_taken(&text, "");
    scant_ctx_free(ctx);
}

static void text_grows_and_stays_failed_after_a_failure(void **state) {
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    scant__text text;
    char *bytes;
    size_t size;
    (void)state;
    scant__text_init(&text, ctx);
    for (int i = 0; i < 5000; i++) scant__text_addf(&text, "%04d", i);
    assert_int_equal(scant__text_take(&text, &bytes, &size), SCANT_OK);
    assert_int_equal(size, 20000);
    assert_memory_equal(bytes + 19996, "4999", 5);
    scant__free(ctx, bytes);
    for (size_t fail = 0; fail < 3; fail++) {
        m.fail_at = m.calls + fail;
        for (int i = 0; i < 5000; i++) scant__text_addf(&text, "%04d", i);
        assert_int_equal(scant__text_take(&text, &bytes, &size), SCANT_ENOMEM);
        assert_null(bytes);
    }
    scant_ctx_free(ctx);
    assert_int_equal(m.live, 0);
}

static void without_a_context_memory_comes_from_malloc(void **state) {
    scant__text text = {0};
    char *bytes;
    size_t size;
    (void)state;
    scant__text_add(&text, "");
    assert_null(text.data);
    for (int i = 0; i < 3000; i++) {
        scant__text_addf(&text, "%d", i % 10);
        assert_int_equal(text.data[text.size], 0);
    }
    assert_int_equal(text.size, 3000);
    assert_int_equal(scant__text_take(&text, &bytes, &size), SCANT_OK);
    assert_int_equal(strlen(bytes), 3000);
    free(bytes);
    assert_int_equal(scant__text_take(&text, &bytes, &size), SCANT_OK);
    assert_string_equal(bytes, "");
    free(bytes);
}

static unsigned calls;
static void *count_and_grow(void *block, size_t size) {
    return calls++ < 2 ? realloc(block, size) : NULL;
}

static void memory_of_a_hook_is_never_freed_by_the_text(void **state) {
    char more[4096];
    (void)state;
    memset(more, 'x', sizeof more);
    scant__text text = {.grow = count_and_grow};
    scant__text_add(&text, "x");
    scant__text_bytes(&text, more, sizeof more);
    char *block = text.data;
    assert_int_equal(calls, 2);
    scant__text_end(&text);
    assert_int_equal(block[0], 'x');
    free(block);
    scant__text_add(&text, "y"); /* the hook is kept, and fails now */
    assert_true(text.failed);
    assert_int_equal(calls, 3);
    assert_int_equal(text.size, 0);
}

static void csv_fields_may_hold_any_bytes(void **state) {
    scant__text text = {0};
    (void)state;
    scant__text_csv_bytes(&text, "a\0b", 3);
    assert_memory_equal(text.data, "a\0b", 3);
    scant__text_csv_bytes(&text, "\0,", 2);
    assert_int_equal(text.size, 3 + 4);
    assert_memory_equal(text.data + 3, "\"\0,\"", 4);
    scant__text_end(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_strings_are_quoted_where_needed),
        cmocka_unit_test(numbers_have_as_many_digits_as_asked_for),
        cmocka_unit_test(text_grows_and_stays_failed_after_a_failure),
        cmocka_unit_test(without_a_context_memory_comes_from_malloc),
        cmocka_unit_test(memory_of_a_hook_is_never_freed_by_the_text),
        cmocka_unit_test(csv_fields_may_hold_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
