/* SPDX-License-Identifier: Apache-2.0
 *
 * Experiments are read, checked and printed; a printed one reads back as the same.
 */
#include "../data/support.h"

#include "data/ini.h"
#include "loop/experiment.h"
#include "scant/train.h"

static char *print(scant_experiment *e) {
    void *bytes;
    size_t size;
    assert_int_equal(scant_experiment_print(e, &bytes, &size), SCANT_OK);
    char *text = malloc(size + 1);
    memcpy(text, bytes, size);
    text[size] = 0;
    scant_bytes_free(e->ctx, bytes);
    return text;
}

static scant_experiment *open_text(scant_ctx *ctx, const char *text) {
    scant_experiment *e;
    const char *path = put("a.ini", text, strlen(text));
    if (scant_experiment_open(ctx, path, NULL, 0, &e) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return e;
}

static void check_round_trip(scant_ctx *ctx, const char *text) {
    scant_experiment *e = open_text(ctx, text);
    char *first = print(e);
    scant_experiment *again = open_text(ctx, first);
    char *second = print(again);
    assert_string_equal(first, second);
    assert_string_equal(e->set.test, again->set.test);
    assert_int_equal(e->n_strategies, again->n_strategies);
    free(first);
    free(second);
    scant_experiment_free(e);
    scant_experiment_free(again);
}

/* With a tangent kernel the default of bias is 0: samples are used as they are. */
static void a_tangent_kernel_changes_the_default_of_bias(void **state) {
    static const struct {
        const char *text, *says;
    } all[] = {
        {"[loop]\nstrategies=npc\n", "npc.bias = 1\n"},
        {"[loop]\nstrategies=npc\nnpc.kernel=all\n", "npc.bias = 1\n"},
        {"[loop]\nstrategies=npc\nnpc.kernel=ntk:depth=3\n", "npc.bias = 0\n"},
        {"[loop]\nstrategies=crc\ncrc.layers=ntk:depth=3\n", "crc.bias = 0\n"},
        {"[loop]\nstrategies=crc\ncrc.layers=ntk:depth=3\ncrc.bias=1\n",
         "crc.bias = 1\n"},
    };
    scant_ctx *ctx = ctx_threads(1);
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        scant_experiment *e = open_text(ctx, all[i].text);
        char *printed = print(e);
        assert_non_null(strstr(printed, all[i].says));
        free(printed);
        scant_experiment_free(e);
    }
    scant_ctx_free(ctx);
}

static void a_printed_experiment_reads_back_as_the_same(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    char text[4096];
    (void)state;
    check_round_trip(ctx, "");
    check_round_trip(ctx,
                     "[loop]\nstrategies=npc,crc,dynamic,sparse-iht\nnpc.kernel=all\n");
    check_round_trip(ctx, "[loop]\nstrategies=npc,crc\nnpc.kernel=ntk:depth=3\n");
    /* values of any length, made of parts that look like INI syntax */
    static const char *const parts[] = {"ab",  "a=b", "=", "[x]",    "a b",
                                        "x;y", "#a",  ",", "k = v ", "\xC3\xA9"};
    for (uint64_t seed = 0; seed < 300; seed++) {
        size_t at = (size_t)snprintf(text, sizeof text, "[data]\n");
        char value[1024] = "v";
        size_t length = 1, many = (size_t)(unit_at(seed, 0) * 120);
        for (size_t i = 0; i < many; i++) {
            const char *part = parts[(size_t)(unit_at(seed, i + 1) * 10)];
            memcpy(value + length, part, strlen(part) + 1);
            length += strlen(part);
        }
        if (!scant__ini_fits(value)) continue;
        scant_experiment *e;
        const scant_setting setting = {"data.test", value};
        assert_int_equal(scant_experiment_open(ctx, NULL, &setting, 1, &e), SCANT_OK);
        assert_string_equal(e->set.test, value);
        char *printed = print(e);
        scant_experiment *again = open_text(ctx, printed);
        assert_string_equal(again->set.test, value);
        free(printed);
        scant_experiment_free(e);
        scant_experiment_free(again);
        (void)at;
    }
    scant_ctx_free(ctx);
}

static void comments_blanks_and_lists_are_read(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    (void)state;
    scant_experiment *e =
        open_text(ctx, "; a comment\n[data]\ntrain = moons\npool=50 # fifty\n\n[train]\n"
                       "\toptimizer = adam\n\tuntil = 0.99\nreinit = no\n[loop]\n"
                       "strategies = random, npc\nseeds=7,\n  9\nnpc.candidates = 5\n"
                       "badge.bias = 1\n");
    assert_string_equal(e->set.train, "moons");
    assert_int_equal(e->set.pool, 50);
    assert_true(e->set.training.lr == 0.001 && e->set.training.until == 0.99 &&
                !e->set.reinit);
    assert_int_equal(e->n_seeds, 2);
    assert_int_equal(e->seeds[1], 9);
    assert_int_equal(e->n_strategies, 2);
    bool found = false;
    for (size_t i = 0; i < e->strategies[1].n_settings; i++)
        found |= !strcmp(e->strategies[1].settings[i].key, "candidates") &&
                 !strcmp(e->strategies[1].settings[i].value, "5");
    assert_true(found);
    scant_experiment_free(e);
    scant_ctx_free(ctx);
}

static void values_that_an_ini_file_cannot_hold_are_refused(void **state) {
    static const char *const values[] = {"a\nb", " a", "a ",  "a ;b",
                                         "a #b", "#a", "\x7F"};
    scant_ctx *ctx = ctx_threads(1);
    scant_experiment *e;
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const scant_setting setting = {"data.train", values[i]};
        assert_int_equal(scant_experiment_open(ctx, NULL, &setting, 1, &e), SCANT_EUSAGE);
        assert_null(e);
        assert_says(ctx, "--set: data.train", "cannot be written to a file");
    }
    scant_ctx_free(ctx);
}

/* A long value is printed on several lines. None may read as a key or lose a blank. */
static void long_values_that_cannot_be_wrapped_are_refused(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    char value[1024];
    (void)state;
    for (size_t length = 140; length < 480; length += 17)
        for (int kind = 0; kind < 5; kind++) {
            scant_experiment *e;
            const scant_setting setting = {"data.test", value};
            memset(value, 'w', length);
            snprintf(value + length, sizeof value - length, kind ? "=1" : " =1");
            for (size_t i = 0; kind == 1 && i < length; i++) value[i] = "a "[i % 2];
            for (size_t i = 50; (kind == 2 || kind == 3) && i < length; i += 100)
                value[i] = kind == 2 ? ',' : '=';
            scant_status status = scant_experiment_open(ctx, NULL, &setting, 1, &e);
            assert_int_equal(status == SCANT_OK, length < 150 || kind >= 2);
            if (status != SCANT_OK) {
                assert_says(ctx, "--set: data.test", "no place to break");
                continue;
            }
            char *printed = print(e);
            scant_experiment *again = open_text(ctx, printed);
            assert_string_equal(again->set.test, value);
            free(printed);
            scant_experiment_free(e);
            scant_experiment_free(again);
        }
    scant_ctx_free(ctx);
}

static void every_allocation_may_fail(void **state) {
    static const char text[] = "[data]\ntrain = moons\n[train]\nmethod = fixmatch\n"
                               "[loop]\nstrategies = npc,badge\n"
                               "npc.candidates = 5\npreset = sparse-mnist\n";
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    const char *path = put("a.ini", text, strlen(text));
    const scant_setting setting = {"loop.seeds", "1,2,3"};
    size_t live = m.live;
    (void)state;
    for (size_t fail = 0;; fail++) {
        scant_experiment *e;
        void *bytes = NULL;
        size_t size;
        m.fail_at = m.calls + fail;
        scant_status status = scant_experiment_open(ctx, path, &setting, 1, &e);
        if (status == SCANT_OK) status = scant_experiment_print(e, &bytes, &size);
        bool reached = m.calls > m.fail_at;
        m.fail_at = SIZE_MAX;
        scant_bytes_free(ctx, bytes);
        scant_experiment_free(e);
        assert_int_equal(m.live, live);
        if (!reached) {
            assert_int_equal(status, SCANT_OK);
            assert_true(fail > 20);
            break;
        }
        assert_int_equal(status, SCANT_ENOMEM);
    }
    ctx_end(ctx, &m);
}

static void the_default_of_every_key_is_accepted(void **state) {
    scant_ctx *ctx = ctx_threads(1);
    size_t n = 0;
    (void)state;
    for (scant_experiment_key key; scant_experiment_key_at(n, &key); n++) {
        scant_experiment *e;
        char name[128];
        snprintf(name, sizeof name, "%s.%s", key.section, key.key);
        const scant_setting setting = {name, key.value};
        if (scant_experiment_open(ctx, NULL, &setting, 1, &e) != SCANT_OK)
            fail_msg("%s", scant_ctx_errmsg(ctx));
        scant_experiment_free(e);
        assert_true(key.option->help[0]);
    }
    assert_int_equal(n, 100); /* a new option adds one; a key must not get lost */
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_printed_experiment_reads_back_as_the_same),
        cmocka_unit_test(a_tangent_kernel_changes_the_default_of_bias),
        cmocka_unit_test(comments_blanks_and_lists_are_read),
        cmocka_unit_test(values_that_an_ini_file_cannot_hold_are_refused),
        cmocka_unit_test(long_values_that_cannot_be_wrapped_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_default_of_every_key_is_accepted),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
