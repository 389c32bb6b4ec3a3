/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that grows, and how it quotes; names that are near.
 */
#include <math.h>

#include "../support.h"

#include "core/near.h"
#include "core/text.h"

static void is(scant__text *text, const char *expected) {
    char *bytes;
    size_t size;
    assert_int_equal(scant__text_take(text, &bytes, &size), SCANT_OK);
    assert_string_equal(bytes, expected);
    assert_int_equal(size, strlen(expected));
    scant__free(text->ctx, bytes);
}

static void strings_are_quoted_where_they_must_be(void **state) {
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
    is(&text, "plain words|\"a,b\"|\"say \"\"x\"\"\"|\" x\"");
    scant__text_json(&text, "a\"\\\n\x7F\xC3\xA9\xE2\x82\xAC\xFF\xC3");
    is(&text, "\"a\\\"\\\\\\u000a\\u007f\xC3\xA9\xE2\x82\xAC??\"");
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
    is(&text, "0.1 0.3333 nan");
    is(&text, "");
    scant_ctx_free(ctx);
}

static void it_grows_and_a_failure_sticks(void **state) {
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

static const char *name_at(const void *names, size_t i) {
    return ((const char *const *)names)[i];
}

static void the_nearest_name_has_the_fewest_slips(void **state) {
    static const char *const names[] = {"batch", "rounds", "seeds", "initial_how"};
    (void)state;
    assert_string_equal(scant_nearest("bathc", names, 4, name_at), "batch");
    assert_string_equal(scant_nearest("init", names, 4, name_at), "initial_how");
    assert_null(scant_nearest("zzzzz", names, 4, name_at));
    assert_non_null(scant__nearest("zzzzz", names, 4, name_at));
    assert_string_equal(scant__nearest("sed", names, 4, name_at), "seeds");
    assert_null(scant__nearest("x", names, 0, name_at));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_quoted_where_they_must_be),
        cmocka_unit_test(numbers_have_as_many_digits_as_asked_for),
        cmocka_unit_test(it_grows_and_a_failure_sticks),
        cmocka_unit_test(the_nearest_name_has_the_fewest_slips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
