/* SPDX-License-Identifier: Apache-2.0
 *
 * The page about a kernel: markup in names, failed allocations, and the blocks that a
 * large kernel is drawn with.
 */
#include <math.h>
#include <stdbool.h>

#include "scant/study.h"
#include "study/study_charts.h"
#include "support.h"

enum { N = 130, C = 3, STEPS = 4 };

static double k[N * N];
static int32_t labels[N];

/* Cosine 1 within a class, 0.25 between classes; various lengths. */
static void make(void) {
    for (size_t i = 0; i < N; i++) labels[i] = (int32_t)(i % C);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            k[i * N + j] = (1 + (double)(i % 7)) * (1 + (double)(j % 7)) *
                           (labels[i] == labels[j] ? 1 : 0.25);
}

static scant_status page(scant_ctx *ctx, const char *title, void **bytes, size_t *size) {
    static const double losses[STEPS + 1] = {5, 3, 2, 1, 0},
                                       predicted_losses[STEPS + 1] = {5, 2, 1, 0.5, NAN};
    static const double a[] = {1, 2, 3}, g[] = {2, 2.5, 7};
    scant_agreement agreement = {3, 5, 5, 1, 0.3, g, a};
    scant_regression numbers = {.ridge = 0.5,
                                .train_accuracy = NAN,
                                .train_error = 0.0625,
                                .tests = 789,
                                .test_accuracy = NAN,
                                .test_error = 0.3125};
    scant_study *study;
    *bytes = NULL;
    TRY(scant_study_kernel(ctx, k, N, labels, C, NULL, &study));
    scant_lab v = {.study = study,
                   .k = k,
                   .labels = labels,
                   .classes = C,
                   .agreement = &agreement,
                   .steps = STEPS,
                   .losses = losses,
                   .predicted = predicted_losses,
                   .rate = 0.1,
                   .factor = 0.9,
                   .regression = &numbers};
    scant_status s = scant_lab_page(ctx, &v, title, bytes, size);
    scant_study_free(ctx, study);
    return s;
}

static void markup_in_names_is_escaped(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    void *bytes;
    size_t size;
    make();
    assert_int_equal(page(ctx, "<b>&\"x\"", &bytes, &size), SCANT_OK);
    assert_true(strlen(bytes) == size && size < 1 << 20);
    assert_null(strstr(bytes, "<b>&"));
    assert_non_null(strstr(bytes, "&lt;b&gt;&amp;"));
    assert_non_null(strstr(bytes, "The kernel is singular"));
    assert_null(strstr(bytes, "nan"));
    assert_non_null(strstr(bytes, ">Regression</h2>"));
    assert_non_null(strstr(bytes, "789"));
    assert_non_null(strstr(bytes, "0.3125"));
    assert_null(strstr(bytes, "accuracy on")); /* regression has none */
    scant_bytes_free(ctx, bytes);
    scant_ctx_free(ctx);
}

/* Blocks of two and three samples are 1 within a class, 0.25 between two classes, and in
 * between if a class ends within the block. */
static void blocks_are_means_over_sorted_samples(void **state) {
    (void)state;
    static study_heat heat;
    size_t order[N];
    scant_study study = {.samples = N};
    make();
    scant_lab v = {.study = &study, .k = k, .labels = labels, .classes = C};
    study_heat_of(&v, order, &heat);
    assert_int_equal(heat.cells, STUDY_HEAT_CELLS);
    assert_int_equal(heat.n_borders, C - 1);
    for (size_t i = 1; i < N; i++) assert_true(labels[order[i]] >= labels[order[i - 1]]);
    for (size_t i = 0; i < STUDY_HEAT_CELLS; i++)
        for (size_t j = 0; j < STUDY_HEAT_CELLS; j++) {
            double got = heat.value[i * STUDY_HEAT_CELLS + j], sum = 0, count = 0;
            for (size_t p = i * N / STUDY_HEAT_CELLS; p < (i + 1) * N / STUDY_HEAT_CELLS;
                 p++)
                for (size_t q = j * N / STUDY_HEAT_CELLS;
                     q < (j + 1) * N / STUDY_HEAT_CELLS; q++) {
                    if (p == q) continue;
                    sum += labels[order[p]] == labels[order[q]] ? 1 : 0.25;
                    count++;
                }
            assert_true(fabs(got - sum / count) < 1e-12);
        }
    assert_true(fabs(heat.low - 0.25) < 1e-12 && fabs(heat.high - 1) < 1e-12);
    study.samples = 1; /* a single sample is one block */
    study_heat_of(&v, order, &heat);
    assert_true(heat.cells == 1 && heat.value[0] == 1 && heat.n_borders == 0);
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    bool done = false;
    make();
    for (size_t at = 0; !done; at++) {
        memory m;
        void *bytes;
        size_t size;
        scant_ctx *ctx = ctx_counting(&m);
        m.calls = 0, m.fail_at = at;
        scant_status s = page(ctx, "kernel", &bytes, &size);
        done = s == SCANT_OK;
        assert_true(done ? at > 5 : s == SCANT_ENOMEM && !bytes);
        m.fail_at = SIZE_MAX;
        scant_bytes_free(ctx, bytes);
        scant_ctx_free(ctx);
        assert_int_equal(m.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_in_names_is_escaped),
        cmocka_unit_test(blocks_are_means_over_sorted_samples),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
