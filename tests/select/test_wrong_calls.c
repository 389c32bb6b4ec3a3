/* SPDX-License-Identifier: Apache-2.0
 *
 * scant_select() refuses invalid calls and values, and says why.
 */
#include "random_evidence.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void invalid_calls_are_refused_with_a_reason(void **state) {
    (void)state;
    fixture *f = make();
    scant_ctx *ctx = ctx_threads(1);
    inputs in;
    assert_int_equal(open_inputs(ctx, f, 0, &in), SCANT_OK);
    scant_evidence e = in.evidence;
    assert_refused(ctx, "nonsense", &e, 1, NULL, SCANT_EUSAGE,
                   "unknown strategy 'nonsense'");
    assert_refused(ctx, "bagde", &e, 1, NULL, SCANT_EUSAGE,
                   "unknown strategy 'bagde'; the nearest is 'badge'");
    assert_refused(ctx, "badge", &e, 0, NULL, SCANT_EUSAGE, "batch");
    assert_refused(ctx, "badge", &e, 1, &(scant_setting){"bais", "1"}, SCANT_EUSAGE,
                   "bias");
    assert_refused(ctx, "badge", &e, 1, &(scant_setting){"bias", "2"}, SCANT_EUSAGE,
                   "expected yes or no, or 1 or 0");
    assert_refused(ctx, "badge", &e, 1, &(scant_setting){"bias", ""}, SCANT_EUSAGE,
                   "expected yes or no, or 1 or 0");
    assert_refused(ctx, "badge", &e, 1, &(scant_setting){"bias", "0x1"}, SCANT_EUSAGE,
                   "expected yes or no, or 1 or 0");
    assert_refused(ctx, "entropy", &e, 1, &(scant_setting){"bias", "1"}, SCANT_EUSAGE,
                   "it has no options");
    e.features = NULL;
    assert_refused(ctx, "badge", &e, 1, NULL, SCANT_EUSAGE, "needs features");
    e = in.evidence;
    e.logits = e.probs;
    assert_refused(ctx, "badge", &e, 1, NULL, SCANT_EUSAGE, "probs and logits");
    e = (scant_evidence){0};
    assert_refused(ctx, "random", &e, 1, NULL, SCANT_EUSAGE, "random needs");
    e = in.evidence;
    e.probs = in.evidence.labels;
    assert_refused(ctx, "margin", &e, 1, NULL, SCANT_EINPUT, "expected n x C");
    e = in.evidence;
    e.labels = in.evidence.probs;
    assert_refused(ctx, "margin", &e, 1, NULL, SCANT_EINPUT, "probs: has shape 700 x 5");
    close_inputs(&in);
    scant_ctx_free(ctx);
    free(f);
}

static void invalid_kernels_are_refused_with_a_reason(void **state) {
    (void)state;
    static const struct {
        const char *strategy, *kernel;
        scant_setting set;
        const char *says;
    } wrong[] = {
        {"badge", "ntk:depth=2", {0}, "badge takes no kernel; these do: npc, crc, bss"},
        {"albl", "ntk:depth=2", {0}, "albl takes no kernel"},
        {"npc",
         "ntk:depth=0",
         {0},
         "'ntk:depth=0', expected ntk:depth=K, K from 1 to 100"},
        {"npc", "ntk:depth=101", {0}, "K from 1 to 100"},
        {"npc", "ntk:depth=1.5", {0}, "K from 1 to 100"},
        {"npc", "ntk:depth=", {0}, "expected ntk:depth=K"},
        {"npc", "ntk:depth=inf", {0}, "expected ntk:depth=K"},
        {"npc", "ntk:depth=2 ", {0}, "expected ntk:depth=K"},
        {"npc", "ntk:depth=nan", {0}, "expected ntk:depth=K"},
        {"crc", "ntk:width=3", {0}, "expected ntk:depth=K"},
        {"crc", "ntk", {0}, "expected ntk:depth=K"},
        {"bss", "foo", {0}, "the kernel is 'foo'"},
        {"bss", "", {0}, "the kernel is ''"},
        {"bss", "ntk:depth=2", {"basis", "poly:2"}, "basis is 'poly:2'"},
        {"bss", "ntk:depth=2", {"basis", "gradients"}, "basis is 'gradients'"},
        {"npc", "ntk:depth=2", {"bias", "2"}, "expected yes or no, or 1 or 0"},
    };
    fixture *f = make();
    scant_ctx *ctx = ctx_threads(1);
    inputs in;
    assert_int_equal(open_inputs(ctx, f, 0, &in), SCANT_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        scant_select_opts opts = {.settings = &wrong[i].set,
                                  .n_settings = wrong[i].set.key != NULL,
                                  .kernel = wrong[i].kernel};
        scant_picks *picks = (void *)ctx;
        unsigned used, missing;
        assert_int_equal(
            scant_select(ctx, wrong[i].strategy, &in.evidence, 5, &opts, &picks),
            SCANT_EUSAGE);
        assert_null(picks);
        if (!strstr(scant_ctx_errmsg(ctx), wrong[i].says))
            fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(ctx),
                     wrong[i].says);
        assert_int_equal(
            scant_select_inputs(ctx, wrong[i].strategy, &opts, ~0u, &used, &missing),
            SCANT_EUSAGE);
    }
    close_inputs(&in);
    scant_ctx_free(ctx);
    free(f);
}

typedef struct damage {
    const char *says;
    float *at, value;
    int32_t *label;
    const char *strategy;
} damage;

static void invalid_values_are_reported_with_row_and_value(void **state) {
    (void)state;
    fixture *f = make();
    scant_ctx *ctx = ctx_threads(2);
    const damage all[] = {
        {"features: row 699, column 11 is nan", &f->h[N * D - 1], NAN, NULL, "coreset"},
        {"features: row 3, column 1 is inf", &f->h[3 * D + 1], INFINITY, NULL, "egl"},
        {"features: row 3, column 1 is -inf", &f->h[3 * D + 1], -INFINITY, NULL, "badge"},
        {"probs: row 5, column 0 is nan", &f->p[5 * C], NAN, NULL, "entropy"},
        {"probs: row 650, column 2 is -0.25", &f->p[650 * C + 2], -.25F, NULL, "badge"},
        {"probs: row 44 sums to", &f->p[44 * C], 1.5F, NULL, "margin"},
        {"labels: row 9 is -2", NULL, -2, &f->labels[9], "random"},
        {"labels: row 9 is class 5", NULL, 5, &f->labels[9], "confidence"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const damage *d = &all[i];
        float was = d->at ? *d->at : 0;
        int32_t label = d->label ? *d->label : 0;
        if (d->at) *d->at = d->value;
        if (d->label) *d->label = (int32_t)d->value;
        inputs in;
        assert_int_equal(open_inputs(ctx, f, 0, &in), SCANT_OK);
        assert_refused(ctx, d->strategy, &in.evidence, 10, NULL, SCANT_EINPUT, d->says);
        close_inputs(&in);
        if (d->at) *d->at = was;
        if (d->label) *d->label = label;
    }
    scant_ctx_free(ctx);
    free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_calls_are_refused_with_a_reason),
        cmocka_unit_test(invalid_kernels_are_refused_with_a_reason),
        cmocka_unit_test(invalid_values_are_reported_with_row_and_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
