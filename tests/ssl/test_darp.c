/* SPDX-License-Identifier: Apache-2.0
 *
 * Refined pseudo-labels: class sums, balanced inputs, a slow solver by another method,
 * threads, memory.
 */
#include <math.h>

#include "../support.h"

#include "core/mem.h"
#include "ssl/darp.h"

enum { N = 700, C = 5 };

/* Rows that sum to 1, with class 0 by far the most likely. */
static void fill_skewed(float *a, size_t n, size_t c, uint64_t seed) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < c; k++) {
            double z = 1.5 * normal_at(seed, i * c + k) + (k == 0 ? 2 : 0);
            a[i * c + k] = (float)exp(z);
            sum += exp(z);
        }
        for (size_t k = 0; k < c; k++) a[i * c + k] = (float)((double)a[i * c + k] / sum);
    }
}

typedef struct fixture {
    scant_ctx *ctx;
    scant__arena arena;
    ssl_darp *darp;
} fixture;

static fixture fixture_of(unsigned threads, size_t n, size_t c, ssl_darp_opts o) {
    fixture b = {.ctx = ctx_threads(threads)};
    scant__arena_init(&b.arena, b.ctx);
    assert_int_equal(ssl_darp_create(&b.arena, n, c, &o, &b.darp), SCANT_OK);
    return b;
}

static void fixture_free(fixture *b) {
    scant__arena_end(&b->arena);
    scant_ctx_free(b->ctx);
}

static void column_sums(const float *x, size_t n, size_t c, double *sums) {
    for (size_t k = 0; k < c; k++) sums[k] = 0;
    for (size_t i = 0; i < n * c; i++) sums[i % c] += (double)x[i];
}

static void assert_rows_sum_to_1(const float *x, size_t n, size_t c) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < c; k++) {
            assert_true(x[i * c + k] >= 0);
            sum += (double)x[i * c + k];
        }
        assert_true(fabs(sum - 1) < 1e-5);
    }
}

static void class_sums_meet_the_target(void **state) {
    (void)state;
    float a[N * C], x[N * C];
    double sums[C];
    const double target[C] = {1, 2, 3, 1, 3};
    fill_skewed(a, N, C, 1);
    column_sums(a, N, C, sums);
    assert_true(sums[0] > 1.5 * N / C); /* far from the target */
    for (int given = 0; given < 2; given++)
        for (int all = 0; all < 2; all++) {
            ssl_darp_opts o = {.target = given ? target : NULL, .alpha = all ? 0 : 2};
            fixture b = fixture_of(2, N, C, o);
            ssl_darp_result found = ssl_darp_refine(b.darp, a, x);
            assert_true(found.error <= 0.1);
            assert_true(found.passes <= 30);
            assert_rows_sum_to_1(x, N, C);
            column_sums(x, N, C, sums);
            for (size_t k = 0; k < C; k++) {
                double want = given ? N * target[k] / 10 : N / (double)C;
                if (fabs(sums[k] - want) > 0.11)
                    fail_msg("class %zu: %g, expected %g", k, sums[k], want);
            }
            fixture_free(&b);
        }
}

static void balanced_rows_stay_unchanged(void **state) {
    (void)state;
    /* each row in all rotations of its classes: all columns have the same sum */
    float a[N * C], x[N * C];
    fill_skewed(a, N, C, 2);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < C; k++) a[i * C + k] = a[i / C * C * C + (k + i % C) % C];
    assert_int_equal(N % C, 0);
    fixture b = fixture_of(1, N, C, (ssl_darp_opts){.alpha = 0});
    ssl_darp_result found = ssl_darp_refine(b.darp, a, x);
    assert_int_equal(found.passes, 1);
    for (size_t i = 0; i < N * C; i++)
        assert_true(fabs((double)a[i] - (double)x[i]) < 1e-6);
    fixture_free(&b);
}

/* ---- a slow reference: the paper's alternating updates ---- */

static double entropy_of(const double *a, size_t c) {
    double h = 0;
    for (size_t k = 0; k < c; k++) h -= a[k] * log(a[k] + 1e-6);
    return h;
}

static int descending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static void slow_clean(const float *a, double *out, double alpha) {
    static float column[N];
    for (size_t k = 0; k < C; k++) {
        double count = N / (double)C, sum = 0;
        for (size_t i = 0; i < N; i++) column[i] = a[i * C + k];
        qsort(column, N, sizeof *column, descending);
        float least = column[(size_t)(alpha * count) - 1];
        for (size_t i = 0; i < N; i++)
            if (a[i * C + k] >= least) sum += (double)a[i * C + k];
        for (size_t i = 0; i < N; i++)
            out[i * C + k] = a[i * C + k] >= least
                                 ? (double)a[i * C + k] * (count + 1e-6) / (sum + 1e-6)
                                 : 0;
    }
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t k = 0; k < C; k++) sum += out[i * C + k] += 1e-6;
        for (size_t k = 0; k < C; k++) out[i * C + k] /= sum;
    }
}

/* sum_i a_ik X_i exp(-v H_i) - count, and its derivative */
static double excess(const double *a, const double *x, const double *h, size_t k,
                     double v, double *slope) {
    double sum = -N / (double)C;
    *slope = 0;
    for (size_t i = 0; i < N; i++) {
        double e = a[i * C + k] * x[i] * exp(-v * h[i]);
        sum += e;
        *slope -= e * h[i];
    }
    return sum;
}

static void slow_refine(const double *a, int turns, double *out) {
    static double x[N], h[N];
    double v[C] = {0}, slope;
    for (size_t i = 0; i < N; i++) h[i] = entropy_of(a + i * C, C);
    for (int turn = 0; turn <= turns; turn++) {
        for (size_t i = 0; i < N; i++) {
            double sum = 0;
            for (size_t k = 0; k < C; k++) sum += a[i * C + k] * exp(-v[k] * h[i]);
            x[i] = 1 / sum;
        }
        for (size_t k = 0; turn < turns && k < C; k++)
            /* convex and decreasing: Newton's method from a positive value cannot
             * overshoot */
            for (int step = 0; step < 60; step++) {
                double off = excess(a, x, h, k, v[k], &slope);
                if (fabs(off) < 1e-9) break;
                double to = v[k] - off / slope;
                v[k] = fabs(to - v[k]) > 20 ? v[k] + (to > v[k] ? 20 : -20) : to;
            }
    }
    for (size_t i = 0; i < N * C; i++)
        out[i] = a[i] * x[i / C] * exp(-v[i % C] * h[i / C]);
}

static void refinement_matches_the_papers_alternating_updates(void **state) {
    (void)state;
    static float a[N * C], x[N * C];
    static double clean[N * C], slow[N * C];
    fill_skewed(a, N, C, 3);
    slow_clean(a, clean, 2);
    slow_refine(clean, 3000, slow);
    fixture b = fixture_of(2, N, C, (ssl_darp_opts){.alpha = 2, .tolerance = 1e-7});
    ssl_darp_result found = ssl_darp_refine(b.darp, a, x);
    assert_true(found.error <= 1e-3);
    double sums[C] = {0}, most = 0;
    for (size_t i = 0; i < N * C; i++) sums[i % C] += slow[i];
    for (size_t k = 0; k < C; k++) assert_true(fabs(sums[k] - N / (double)C) < 0.05);
    for (size_t i = 0; i < N * C; i++) most = fmax(most, fabs(slow[i] - (double)x[i]));
    if (most > 2e-3) fail_msg("differs by %g", most);
    fixture_free(&b);
}

/* ---- threads and warm starts ---- */

static void results_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    enum { MANY = 5000 };
    static float a[MANY * C], one[MANY * C], three[MANY * C];
    fill_skewed(a, MANY, C, 4);
    fixture b = fixture_of(1, MANY, C, (ssl_darp_opts){.alpha = 2}),
            t = fixture_of(3, MANY, C, (ssl_darp_opts){.alpha = 2});
    ssl_darp_refine(b.darp, a, one);
    ssl_darp_refine(t.darp, a, three);
    assert_memory_equal(one, three, sizeof one);
    fixture_free(&b), fixture_free(&t);
}

static void a_warm_start_saves_passes(void **state) {
    (void)state;
    static float a[N * C], x[N * C], y[N * C];
    fill_skewed(a, N, C, 5);
    fixture b = fixture_of(2, N, C, (ssl_darp_opts){.alpha = 2, .tolerance = 1e-3});
    fixture cold = fixture_of(2, N, C, (ssl_darp_opts){.alpha = 2, .tolerance = 1e-3});
    ssl_darp_refine(b.darp, a, x);
    for (size_t i = 0; i < N; i += 7) { /* a slightly different matrix */
        float first = a[i * C];
        a[i * C] = a[i * C + 1];
        a[i * C + 1] = first;
    }
    ssl_darp_result warm = ssl_darp_refine(b.darp, a, x);
    ssl_darp_result anew = ssl_darp_refine(cold.darp, a, y);
    assert_true(warm.passes < anew.passes);
    for (size_t i = 0; i < N * C; i++)
        assert_true(fabs((double)x[i] - (double)y[i]) < 1e-3);
    fixture_free(&b), fixture_free(&cold);
}

/* ---- edge cases ---- */

static void an_unreachable_target_ends_with_finite_results(void **state) {
    (void)state;
    enum { FEW = 40 };
    float x[FEW * 3], a[FEW * 3];
    double sums[3];
    /* all rows certain of class 0; no row has class 2; a single row; five have class 2 */
    for (int how = 0; how < 4; how++) {
        size_t n = how == 2 ? 1 : FEW;
        for (size_t i = 0; i < FEW; i++) {
            bool two = how % 2 == 1, three = how == 3 && i % 8 == 0;
            a[i * 3] = two ? 0.7f : 1;
            a[i * 3 + 1] = three ? 0.1f : two ? 0.3f : 0;
            a[i * 3 + 2] = three ? 0.2f : 0;
        }
        for (int all = 0; all < 2; all++) {
            fixture b = fixture_of(1, n, 3, (ssl_darp_opts){.alpha = all ? 0 : 2});
            for (int twice = 0; twice < 2; twice++)
                assert_true(ssl_darp_refine(b.darp, a, x).passes <= 2100);
            assert_rows_sum_to_1(x, n, 3);
            for (size_t k = 0; k < 3; k++)
                assert_true(isfinite(ssl_darp_multipliers(b.darp)[k]));
            if (how == 0 && all)
                assert_memory_equal(a, x, sizeof x); /* nothing can change */
            column_sums(x, n, 3, sums);
            if (how == 1 && all) /* the other classes share the count of class 2 */
                assert_true(fabs(sums[0] - 20) < 0.11 && fabs(sums[1] - 20) < 0.11 &&
                            sums[2] == 0);
            if (how == 3 && all) assert_true(fabs(sums[2] - 5) < 0.11);
            fixture_free(&b);
        }
    }
}

/* Everything is within the tolerance, so the result is the input with noise removed. */
static void the_first_of_equal_entries_are_kept(void **state) {
    (void)state;
    /* each class has a count of 2 and keeps 2 entries: class 0, where all are equal,
     * those of rows 0 and 1; the others the marked ones */
    const float a[6 * 3] = {0.5f, 0.1f,       0.4f /* */, 0.5f, 0.2f,       0.3f, /* */
                            0.5f, 0.4f /* */, 0.1f,       0.5f, 0.3f /* */, 0.2f,
                            0.5f, 0.1f,       0.4f /* */, 0.5f, 0.2f,       0.3f};
    /* scaled by 2 / 1, 2 / 0.7, 2 / 0.8; row 5 has only 1e-6 per class */
    const double want[6 * 3] = {0.5, 0, 0.5, 1, 0, 0, 0,       1,       0,
                                0,   1, 0,   0, 0, 1, 1.0 / 3, 1.0 / 3, 1.0 / 3};
    float x[6 * 3];
    fixture b = fixture_of(1, 6, 3, (ssl_darp_opts){.alpha = 1, .tolerance = 100});
    assert_int_equal(ssl_darp_refine(b.darp, a, x).passes, 1);
    for (size_t i = 0; i < 6 * 3; i++)
        if (!(fabs((double)x[i] - want[i]) < 1e-5))
            fail_msg("entry %zu: %g, expected %g", i, (double)x[i], want[i]);
    fixture_free(&b);
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    for (size_t k = 0;; k++) {
        scant__arena arena;
        ssl_darp *d;
        scant__arena_init(&arena, ctx);
        size_t live = m.live;
        m.calls = 0, m.fail_at = k;
        scant_status s = ssl_darp_create(&arena, 10, 3, &(ssl_darp_opts){.alpha = 2}, &d);
        bool reached = m.calls > k;
        m.fail_at = SIZE_MAX;
        scant__arena_end(&arena);
        assert_int_equal(m.live, live);
        assert_int_equal(s, reached ? SCANT_ENOMEM : SCANT_OK);
        if (!reached) break;
        assert_true(k < 50);
    }
    scant_ctx_free(ctx);
}

/* As in training, predictions are confident and their errors change; each refinement
 * starts from the multipliers of the last. */
static void changing_predictions_are_refined_each_time(void **state) {
    (void)state;
    enum { LARGEST = 1000, CLASSES = 10, TIMES = 12 };
    static const size_t sizes[] = {130, 300, LARGEST};
    static float a[LARGEST * CLASSES], x[LARGEST * CLASSES];
    for (size_t s = 0; s < 3; s++) {
        size_t n = sizes[s];
        fixture b = fixture_of(1, n, CLASSES, (ssl_darp_opts){.alpha = 2});
        for (uint64_t t = 0; t < TIMES; t++) {
            double sums[CLASSES];
            for (size_t i = 0; i < n; i++) {
                double sum = 0, e[CLASSES];
                for (size_t k = 0; k < CLASSES; k++) {
                    double z = 10 * normal_at(t, i * CLASSES + k) + (k == t % 3 ? 10 : 0);
                    sum += e[k] = exp(z - 40);
                }
                for (size_t k = 0; k < CLASSES; k++)
                    a[i * CLASSES + k] = (float)(e[k] / sum);
            }
            ssl_darp_result found = ssl_darp_refine(b.darp, a, x);
            column_sums(x, n, CLASSES, sums);
            assert_true(found.error <= 0.1);
            for (size_t k = 0; k < CLASSES; k++)
                assert_true(fabs(sums[k] - (double)n / CLASSES) < 0.11);
        }
        fixture_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(class_sums_meet_the_target),
        cmocka_unit_test(balanced_rows_stay_unchanged),
        cmocka_unit_test(refinement_matches_the_papers_alternating_updates),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
        cmocka_unit_test(a_warm_start_saves_passes),
        cmocka_unit_test(changing_predictions_are_refined_each_time),
        cmocka_unit_test(an_unreachable_target_ends_with_finite_results),
        cmocka_unit_test(the_first_of_equal_entries_are_kept),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
