/* SPDX-License-Identifier: Apache-2.0
 *
 * INI text is read as written, and bad text is refused with the name and the line.
 */
#include "support.h"

#include "data/ini.h"

typedef struct seen {
    char text[1000]; /* "[section]" and "section.key=value@line;", in order */
} seen;

static void note(seen *s, const char *format, ...) {
    size_t used = strlen(s->text);
    va_list args;
    va_start(args, format);
    vsnprintf(s->text + used, sizeof s->text - used, format, args);
    va_end(args);
}

static scant_status on_section(void *user, const char *section, size_t line) {
    note(user, "[%s]@%zu;", section, line);
    return SCANT_OK;
}

static scant_status on_value(void *user, const char *section, const char *key,
                             const char *value, size_t line) {
    note(user, "%s.%s=%s@%zu;", section, key, value, line);
    return SCANT_OK;
}

static scant_status read_text(scant_ctx *ctx, const char *text, size_t size, seen *s) {
    scant__ini ini = {on_section, on_value, s};
    *s = (seen){{0}};
    return scant__ini_read(ctx, "a.ini", text, size, &ini);
}

static void text_is_read_as_written(void **state) {
    static const struct {
        const char *text, *expected;
    } all[] = {
        {"", ""},
        {"[a]\nx = 1\ny=2", "[a]@1;a.x=1@2;a.y=2@3;"},
        {"\xEF\xBB\xBF[a]\r\nx = 1 \r\n", "[a]@1;a.x=1@2;"},
        {"[a]\n  x = 1\n\ty = 2\n", "[a]@1;a.x=1@2;a.y=2@3;"},
        {"[a]\nx = one,\n  two,\n\n  three\n", "[a]@1;a.x=one,two,three@2;"},
        {"[a]\n; no\nx = 1 # no\ny = a#b ; no\n", "[a]@1;a.x=1@3;a.y=a#b@4;"},
        {"[a]\n[]\n[b]\nx =\n", "[a]@1;[]@2;[b]@3;b.x=@4;"},
        {"x = 1\n", ".x=1@1;"},
    };
    scant_ctx *ctx = ctx_threads(1);
    seen s;
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(read_text(ctx, all[i].text, strlen(all[i].text), &s), SCANT_OK);
        assert_string_equal(s.text, all[i].expected);
    }
    scant_ctx_free(ctx);
}

static void bad_text_is_refused(void **state) {
    static char large[(1 << 20) + 1], line[300];
    scant_ctx *ctx = ctx_threads(1);
    seen s;
    (void)state;
    memset(large, '\n', sizeof large);
    memset(line, 'x', sizeof line);
    assert_int_equal(read_text(ctx, "[a]\nx = 1\nword\n", 15, &s), SCANT_EINPUT);
    assert_says(ctx, "a.ini:3: ", "key = value");
    assert_int_equal(read_text(ctx, "[a\n", 3, &s), SCANT_EINPUT);
    assert_says(ctx, "a.ini:1: ", "[section]");
    assert_int_equal(read_text(ctx, "[a]\0\n", 5, &s), SCANT_EINPUT);
    assert_says(ctx, "a.ini: ", "zero byte");
    assert_int_equal(read_text(ctx, line, sizeof line, &s), SCANT_EINPUT);
    assert_says(ctx, "a.ini:1: ", "longer than 190 bytes");
    assert_int_equal(read_text(ctx, large, sizeof large, &s), SCANT_EINPUT);
    assert_says(ctx, "a.ini: ", "at most 1048576");
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_read_as_written),
        cmocka_unit_test(bad_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
