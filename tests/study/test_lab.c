/* SPDX-License-Identifier: Apache-2.0
 *
 * A run of the laboratory makes every requested measurement, and an allocation that fails
 * at any step leaks nothing.
 */
#include "../nn/gradients.h"

#include "study/study.h"

enum { N = 3 };
static const int32_t labels[N] = {0, 1, 0};

static scant_lab_opts options(fixture *f, const size_t *rows) {
    f->data.labels = (int32_t *)(uintptr_t)labels;
    return (scant_lab_opts){.net = f->net,
                            .data = &f->data,
                            .rows = rows,
                            .n = N,
                            .all = N,
                            .labels = labels,
                            .classes = f->classes,
                            .full = true,
                            .against = rows,
                            .n_against = 2,
                            .sets = 2,
                            .start = 1,
                            .draw = 1,
                            .steps = 2,
                            .fit = true,
                            .test = &f->data,
                            .test_rows = rows,
                            .n_test = N};
}

static const model_case small = {
    "gapcnn", {.shape = {1, 4, 4}, .classes = 2, .width = 2}, N};
static const model_case chain = {
    "mlp", {.shape = {5, 1, 1}, .classes = 2, .width = 3, .init = "he"}, N};
static const size_t rows[N] = {0, 1, 2};

static void a_run_makes_every_requested_measurement(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    fixture f = fixture_open(ctx, &small);
    scant_lab_opts opts = options(&f, rows);
    scant_lab *lab;
    if (scant_lab_run(ctx, &opts, &lab) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    assert_true(lab->study->samples == N && lab->study->outputs == 2);
    assert_true(lab->agreement->sets == 2 && lab->steps == 2 && lab->against == 2);
    assert_true(lab->losses[2] <= lab->losses[0]);
    /* the test samples are those of the fit */
    assert_true(lab->regression->tests == N);
    assert_true(fabs(lab->regression->test_error - lab->regression->train_error) < 1e-6);
    for (size_t i = 0; i < N; i++) { /* k is the mean over outputs */
        double trace = lab->kernel[2 * i * (2 * N) + 2 * i] +
                       lab->kernel[(2 * i + 1) * (2 * N) + 2 * i + 1];
        assert_true(fabs(lab->k[i * N + i] - trace / 2) <= 1e-12 * trace);
    }
    scant_lab_free(ctx, lab);
    fixture_close(&f);
    scant_ctx_free(ctx);
}

static void an_infinite_network_needs_dense_layers(void **state) {
    (void)state;
    const model_case *const cases[] = {&chain, &small};
    for (size_t i = 0; i < 2; i++) {
        scant_ctx *ctx = ctx_threads(1);
        fixture f = fixture_open(ctx, cases[i]);
        const scant_lab_opts opts = {.net = f.net,
                                     .data = &f.data,
                                     .rows = rows,
                                     .n = N,
                                     .all = N,
                                     .infinite = true};
        scant_lab *lab;
        scant_status s = scant_lab_run(ctx, &opts, &lab);
        assert_int_equal(s, i ? SCANT_EINPUT : SCANT_OK);
        if (!i) {
            const scant_infinite *v = lab->infinite;
            assert_true(v->depth == 1 && v->frobenius > 0 && v->entry > 0);
            assert_true(v->spectral > 0);
        }
        scant_lab_free(ctx, lab);
        fixture_close(&f);
        scant_ctx_free(ctx);
    }
}

static void check_allocations(const model_case *network, bool infinite) {
    bool done = false;
    for (size_t at = 0; !done && at<5000; at += at> 20 ? 17 : 1) {
        memory m;
        scant_lab *lab = NULL;
        scant_ctx *ctx = ctx_counting(&m);
        fixture f = fixture_open(ctx, network);
        scant_lab_opts opts = options(&f, rows);
        opts.infinite = infinite;
        m.calls = 0, m.fail_at = at;
        scant_status s = scant_lab_run(ctx, &opts, &lab);
        m.fail_at = SIZE_MAX;
        done = s == SCANT_OK;
        assert_true(done || (s == SCANT_ENOMEM && !lab));
        scant_lab_free(ctx, lab);
        fixture_close(&f);
        scant_ctx_free(ctx);
        assert_int_equal(m.live, 0);
    }
    assert_true(done);
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    check_allocations(&small, false);
    check_allocations(&chain, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_makes_every_requested_measurement),
        cmocka_unit_test(an_infinite_network_needs_dense_layers),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
