/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees of bounded size: the scan never counts less than jansson allocates, and refuses
 * nothing that jansson reads.
 */
#include <stdlib.h>

#include "../json_counting.h"
#include "../support.h"

#include "core/json_read.h"

/* ---- what jansson allocates -------------------------------------------------------- */

static void assert_counted(const char *text, size_t size) {
    json_error_t error;
    peak = live = 0;
    json_t *root = json_loadb(text, size, 0, &error);
    size_t used = peak, cost = scant__json_cost(text, size);
    json_decref(root);
    assert_int_equal(live, 0);
    if (cost < used)
        fail_msg("%.40s...: jansson needs %zu bytes, the scan counts %zu", text, used,
                 cost);
}

/* begin, n times piece (with %zu: its number), end. */
static char *repeat(const char *begin, const char *piece, const char *end, size_t n,
                    size_t *size) {
    size_t room = strlen(begin) + strlen(end) + n * (strlen(piece) + 20) + 1;
    char *text = malloc(room);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, room, "%s", begin);
    for (size_t i = 0; i < n; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        used += (size_t)snprintf(text + used, room - used, piece, i);
#pragma GCC diagnostic pop
    }
    used += (size_t)snprintf(text + used, room - used, "%s", end);
    *size = used;
    return text;
}

static void the_cost_covers_what_jansson_allocates(void **state) {
    static const char *const shapes[][3] = {
        {"[", "{},", "0]"},
        {"[", "[],", "0]"},
        {"[", "1,", "0]"},
        {"[", "1.5,", "0]"},
        {"[", "true,", "0]"},
        {"[", "\"\",", "0]"},
        {"[", "\"abcdefgh%zu\",", "0]"},
        {"[", "{\"a\":[{}]},", "0]"},
        {"{", "\"%zu\":0,", "\"x\":0}"},
        {"{", "\"%zu\":{},", "\"x\":0}"},
        {"{", "\"key of some length %zu\":[\"%zu\"],", "\"x\":0}"},
        {"[\"", "x", "\"]"},
        {"[\"", "x", ""},
        {"[\"", "\\u00e4", "\"]"},
        {"{\"", "x", "\":1}"},
        {"[", "1", "]"},
        {"", "a", ""},
        {"", "[", ""},
        {"[", "{},", ""},
        {"[", "{},", "}"},
        /* tokens that are errors where they stand, and one behind the value */
        {"{\"a\"\"", "x", ""},
        {"[1\"", "x", "\"]"},
        {"{\"a\":1\"", "x", ""},
        {"{", "1", "}"},
        {"[1] \"", "x", ""},
        {"[1] ", "x", ""},
    };
    (void)state;
    json_set_alloc_funcs(count_malloc, count_free);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t n = 1; n < 30000; n = n * 5 / 3 + 1) {
            size_t size;
            char *text = repeat(shapes[i][0], shapes[i][1], shapes[i][2], n, &size);
            assert_counted(text, size);
            free(text);
        }
    json_set_alloc_funcs(malloc, free);
}

/* ---- the same language ------------------------------------------------------------- */

static void what_jansson_reads_is_read(void **state) {
    static const char *const pieces[] = {
        "{",      "}",    "[",    "]", ",",  ":",  "\"a\"", "\"b\"", "1",
        "-1.5e3", "true", "null", " ", "\n", "\"", "x",     "\\",    "\"\\\"\""};
    size_t valid = 0;
    uint32_t draw = 1;
    (void)state;
    json_set_alloc_funcs(count_malloc, count_free);
    for (size_t i = 0; i < 200000; i++) {
        char text[200] = "[";
        size_t used = 1, n = i % 7 + 1;
        if (i % 3)
            used = (size_t)snprintf(text, sizeof text, i % 3 == 1 ? "{\"a\":" : "");
        for (size_t k = 0; k < n; k++) {
            draw = draw * 1664525 + 1013904223;
            const char *piece = pieces[(draw >> 8) % (sizeof pieces / sizeof *pieces)];
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", piece);
        }
        if (i % 3 < 2) text[used++] = i % 3 ? '}' : ']';
        json_error_t error;
        scant__json_tree tree;
        peak = live = 0;
        json_t *root = json_loadb(text, used, 0, &error);
        assert_true(scant__json_cost(text, used) >= peak);
        json_decref(root);
        scant_status status = scant__json_read(NULL, text, used, 0, NULL, &tree);
        if ((status == SCANT_OK) != (root != NULL)) fail_msg("%s", text);
        if (status != SCANT_OK) assert_string_equal(tree.error.text, error.text);
        valid += status == SCANT_OK;
        scant__json_tree_end(&tree);
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(valid > 500);
}

/* ---- limits ------------------------------------------------------------------------ */

static void a_tree_counts_against_the_cap_as_long_as_it_lives(void **state) {
    scant_ctx *ctx;
    scant__json_tree tree;
    size_t size;
    (void)state;
    assert_int_equal(scant_ctx_create(&(scant_ctx_opts){.memory = 1 << 20}, &ctx),
                     SCANT_OK);
    char *text = repeat("[", "{},", "0]", 100000, &size); /* 300 KB; 24 MB as a tree */
    assert_int_equal(scant__json_read(ctx, text, size, 0, NULL, &tree), SCANT_ENOMEM);
    assert_non_null(strstr(tree.error.text, "needs"));
    assert_null(tree.root);
    assert_int_equal(ctx->used, 0);
    assert_int_equal(scant__json_read(ctx, "[1, 2]", 6, 0, NULL, &tree), SCANT_OK);
    assert_true(ctx->used > 0);
    scant__json_tree_end(&tree);
    assert_int_equal(ctx->used, 0);
    /* invalid JSON leaves nothing, and is not refused for what follows the error */
    text[0] = '{';
    assert_int_equal(scant__json_read(ctx, text, size, 0, NULL, &tree), SCANT_EINPUT);
    assert_int_equal(ctx->used, 0);
    /* nor does the rest of the text count if it is not read */
    text[0] = ' ';
    assert_int_equal(
        scant__json_read(ctx, text, size, JSON_DISABLE_EOF_CHECK, NULL, &tree), SCANT_OK);
    assert_int_equal(tree.error.position, 3);
    scant__json_tree_end(&tree);
    free(text);
    scant_ctx_free(ctx);
}

static void limits_are_on_values_and_depth(void **state) {
    const scant__json_limits limits = {.values = 5, .depth = 2};
    static const struct {
        const char *text, *says; /* says NULL: accepted */
    } rows[] = {
        {"[1,2,3,4]", NULL},
        {"{\"a\":1,\"b\":2}", NULL},
        {"[1,2,3,4,5]", "more than 5 values"},
        {"{\"a\":1,\"b\":[]}", NULL},
        {"{\"a\":1,\"b\":[1]}", "more than 5 values"},
        {"[[]]", NULL},
        {"[[[]]]", "deeper than 2"},
        {"[{\"a\":[", "deeper than 2"},
        {"[[1 2]", "expected"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scant__json_tree tree;
        scant_status status =
            scant__json_read(NULL, rows[i].text, strlen(rows[i].text), 0, &limits, &tree);
        assert_int_equal(status, rows[i].says ? SCANT_EINPUT : SCANT_OK);
        if (rows[i].says && !strstr(tree.error.text, rows[i].says))
            fail_msg("%s: %s", rows[i].text, tree.error.text);
        scant__json_tree_end(&tree);
    }
    size_t size;
    char *text = repeat("", "[", "", 5000, &size);
    scant__json_tree tree;
    assert_int_equal(scant__json_read(NULL, text, size, 0, NULL, &tree), SCANT_EINPUT);
    assert_non_null(strstr(tree.error.text, "deeper than 1000"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_covers_what_jansson_allocates),
        cmocka_unit_test(what_jansson_reads_is_read),
        cmocka_unit_test(a_tree_counts_against_the_cap_as_long_as_it_lives),
        cmocka_unit_test(limits_are_on_values_and_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
