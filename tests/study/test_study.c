/* SPDX-License-Identifier: Apache-2.0
 *
 * Studies of kernels compared with hand-computed values and simulated gradient descent;
 * and full kernels compared with the reduced kernels they are made of.
 */
#include <math.h>
#include <stdbool.h>

#include "context.h"
#include "study/quantities.h"
#include "study/study.h"

enum { N = 14, C = 3 };

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want))))
        fail_msg("%.17g, expected %.17g", got, want);
}

static scant_study *study_of(const double *k, size_t n, const int32_t *labels,
                             size_t classes, const scant_study_opts *opts) {
    scant_study *s;
    if (scant_study_kernel(ctx, k, n, labels, classes, opts, &s) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return s;
}

/* X X^T of rows with `width` numbers. */
static void make(double *k, size_t n, size_t width, uint64_t seed) {
    for (size_t i = 0; i < n * n; i++) {
        k[i] = 0;
        for (size_t c = 0; c < width; c++)
            k[i] += normal_at(seed, i / n * 100 + c) * normal_at(seed, i % n * 100 + c);
    }
}

static void make_labels(int32_t *labels, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) labels[i] = (int32_t)(unit_at(seed, i) * C);
}

/* [[2, 1], [1, 2]] has the eigenvalues 3 along (1, 1) and 1 along (1, -1). Each column of
 * Y has half of its squared length along each, so both energies are 1. */
static void two_samples_match_hand_computed_values(void **state) {
    (void)state;
    const double k[] = {2, 1, 1, 2};
    const int32_t labels[] = {0, 1};
    const float start[] = {1, 1, 0, 0}; /* start - Y: (0, 1), (0, -1) */
    scant_study *s = study_of(k, 2, labels, 2, &(scant_study_opts){.start = start});
    near(s->values[0], 3, 1e-14), near(s->values[1], 1, 1e-14);
    near(s->energy[0], 1, 1e-14), near(s->energy[1], 1, 1e-14);
    near(s->start_energy[0], 0, 1e-14), near(s->start_energy[1], 2, 1e-14);
    near(s->alignment, 4, 1e-14), near(s->alignment_part, 4 / 6.0, 1e-14);
    near(s->bound, sqrt(4 / 3.0), 1e-14), near(s->half_square, 4 / 3.0, 1e-14);
    near(s->low, 1, 1e-14), near(s->factor, 3, 1e-14);
    near(s->sharp_factor, 16 / 12.0, 1e-14); /* and the bound is attained */
    near(s->rate, 1 / 3.0, 1e-14), near(s->stable_rate, 2 / 3.0, 1e-14);
    near(s->mean_rate, 4 / 3.0, 1e-14), near(s->sufficient_rate, 1 / 9.0, 1e-14);
    near(s->contraction, 2 / 3.0, 1e-14), near(s->condition, 3, 1e-14);
    near(s->dynamics, 2, 1e-14), near(s->dimension, 16 / 10.0, 1e-14);
    assert_true(s->rank == 2 && s->jitter == 0 && s->labelled == 2);
    scant_descent d = scant_study_descent(s, s->rate, 1);
    near(d.left, 4 / 9.0, 1e-14), near(d.low, 0, 1e-14), near(d.high, 2 / 3.0, 1e-14);
    near(scant_study_loss(s, s->rate, 0), 1, 1e-14);
    near(scant_study_loss(s, s->rate, 2), pow(2 / 3.0, 4), 1e-14);
    assert_true(s->tenth == 2); /* (4/9)^t <= 2/10 */
    scant_study_free(ctx, s);
}

/* Simulates f <- f - rate K (f - Y). */
static void predicted_losses_match_simulated_descent(void **state) {
    (void)state;
    double k[N * N], f[N * C], next[N * C];
    float start[N * C];
    int32_t labels[N];
    make(k, N, 20, 1);
    make_labels(labels, N, 2);
    for (size_t i = 0; i < N * C; i++) {
        start[i] = (float)normal_at(3, i);
        f[i] = (double)start[i];
    }
    scant_study *s = study_of(k, N, labels, C, &(scant_study_opts){.start = start});
    for (size_t t = 0; t < 30; t++) {
        double loss = 0;
        for (size_t i = 0; i < N * C; i++) {
            double off = f[i] - (labels[i / C] == (int32_t)(i % C));
            loss += off * off / 2;
        }
        near(scant_study_loss(s, s->rate, (double)t), loss, 1e-9);
        for (size_t i = 0; i < N * C; i++) {
            next[i] = f[i];
            for (size_t j = 0; j < N; j++)
                next[i] -= s->rate * k[i / C * N + j] *
                           (f[j * C + i % C] - (labels[j] == (int32_t)(i % C)));
        }
        memcpy(f, next, sizeof f);
    }
    near(s->dynamics, study_training_dynamics(k, N, labels, C, start), 1e-9);
    double first = scant_study_loss(s, s->rate, 0);
    assert_true(isfinite(s->start_tenth));
    assert_true(scant_study_loss(s, s->rate, s->start_tenth) <= first / 10);
    assert_true(scant_study_loss(s, s->rate, s->start_tenth - 1) > first / 10);
    scant_study_free(ctx, s);
}

/* If outputs are independent, the full kernel has the reduced one once per output. */
static void a_full_kernel_of_independent_outputs_matches_the_reduced_one(void **state) {
    (void)state;
    enum { SIDE = N * C };
    static double k[N * N], full[SIDE * SIDE];
    float start[N * C];
    int32_t labels[N];
    make(k, N, 20, 5);
    make_labels(labels, N, 6);
    for (size_t i = 0; i < N * C; i++) start[i] = (float)normal_at(7, i);
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++)
            full[i * SIDE + j] = i % C == j % C ? k[i / C * N + j / C] : 0;
    scant_study *a = study_of(k, N, labels, C, &(scant_study_opts){.start = start});
    scant_study *b =
        study_of(full, N, labels, C, &(scant_study_opts){.outputs = C, .start = start});
    assert_int_equal(b->n_values, SIDE);
    assert_int_equal(b->rank, C * a->rank);
    near(b->alignment, a->alignment, 1e-10), near(b->bound, a->bound, 1e-9);
    near(b->largest, a->largest, 1e-12), near(b->smallest, a->smallest, 1e-9);
    near(b->low, a->low, 1e-10), near(b->dynamics, a->dynamics, 1e-10);
    near(b->trace, C * a->trace, 1e-12), near(b->mean_rate, a->mean_rate, 1e-12);
    for (double t = 0; t < 100; t = 2 * t + 1) {
        near(scant_study_descent(b, b->rate, t).left,
             scant_study_descent(a, a->rate, t).left, 1e-9);
        near(scant_study_loss(b, b->rate, t), scant_study_loss(a, a->rate, t), 1e-9);
    }
    assert_true(a->tenth == b->tenth && a->start_hundredth == b->start_hundredth);
    scant_study_free(ctx, a), scant_study_free(ctx, b);
}

static void singular_kernels_are_detected(void **state) {
    (void)state;
    double k[N * N];
    int32_t labels[N];
    make(k, N, 4, 8);
    make_labels(labels, N, 9);
    scant_study *s = study_of(k, N, labels, C, NULL);
    assert_int_equal(s->rank, 4);
    assert_true(isinf(s->condition) && isfinite(s->positive_condition));
    assert_true(s->jitter > 0 && isfinite(s->bound));
    assert_true(s->half_square >= s->low && s->half_square <= s->low * s->sharp_factor);
    assert_true(isinf(s->hundredth)); /* ten directions are never learned */
    scant_study_free(ctx, s);
    /* K with errors of 1e-6: with `noise`, eigenvalues of that size count as 0. */
    double mean = 0;
    for (size_t i = 0; i < N; i++) mean += k[i * (N + 1)] / N;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) {
            double off = 1e-6 * mean * (2 * unit_at(10, i * N + j) - 1);
            k[i * N + j] = k[j * N + i] = k[i * N + j] + off;
        }
    s = study_of(k, N, labels, C, NULL);
    assert_true(s->rank > 4);
    scant_study_free(ctx, s);
    s = study_of(k, N, labels, C, &(scant_study_opts){.noise = 2e-6});
    assert_int_equal(s->rank, 4);
    scant_study_free(ctx, s);
    memset(k, 0, sizeof k);
    s = study_of(k, N, labels, C, NULL);
    assert_true(s->rank == 0 && s->largest == 0 && isinf(s->bound) && isnan(s->rate));
    scant_study_free(ctx, s);
    const double one = 4;
    s = study_of(&one, 1, labels, C, NULL);
    assert_true(s->rank == 1 && s->alignment == 4 && s->condition == 1);
    near(s->bound, sqrt(0.5), 1e-15);
    scant_study_free(ctx, s);
}

/* Directions whose eigenvalues count as 0 are neither learned nor inverted: of four with
 * an energy of 1 each, two remain. The jitter is the smallest of 1e-8 Tr(K)/n times
 * powers of ten that is above 1e-6 of the largest eigenvalue. */
static void eigenvalues_that_count_as_0_are_not_used(void **state) {
    (void)state;
    const double k[] = {4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1e-9, 0, 0, 0, 0, -1e-9};
    const int32_t labels[] = {0, 1, 2, 3};
    const double jitter = 1.25e-5; /* 1.25e-8 times a thousand */
    scant_study *s = study_of(k, 4, labels, 4, &(scant_study_opts){.tolerance = 1e-6});
    assert_int_equal(s->rank, 2);
    near(scant_study_descent(s, 0.25, 1000).left, 2, 1e-12);
    assert_true(isinf(s->hundredth));
    near(s->jitter / jitter, 1, 1e-12);
    double square =
        1 / (4 + jitter) + 1 / (1 + jitter) + 1 / (1e-9 + jitter) + 1 / (-1e-9 + jitter);
    near(s->half_square / square, 1, 1e-12);
    near(s->factor / ((4 + jitter) / (-1e-9 + jitter)), 1, 1e-12);
    assert_true(s->half_square <= s->low * s->sharp_factor * (1 + 1e-12));
    scant_study_free(ctx, s);
    s = study_of(k, 4, labels, 4, &(scant_study_opts){.tolerance = 1e-9});
    assert_int_equal(s->rank, 2); /* -1e-9 is negative, 1e-9 is 2.5e-10 of the largest */
    scant_study_free(ctx, s);
}

static void quantities_that_need_labels_are_nan_without_them(void **state) {
    (void)state;
    double k[N * N];
    float start[N * C] = {0};
    int32_t some[N] = {-1};
    make(k, N, 20, 11);
    scant_study *s = study_of(k, N, NULL, 0, NULL);
    assert_true(isnan(s->alignment) && isnan(s->bound) && isnan(s->low));
    assert_true(isnan(s->tenth) && !s->energy && s->rank == N && s->rate > 0);
    assert_true(isnan(scant_study_descent(s, 1, 1).left));
    assert_true(isnan(scant_study_loss(s, 1, 1)));
    scant_study_free(ctx, s);
    s = study_of(k, N, some, C,
                 &(scant_study_opts){.start = start}); /* sample 0 has none */
    assert_true(s->labelled == N - 1 && !s->start_energy && isnan(s->dynamics));
    near(scant_study_descent(s, s->rate, 0).left, N - 1, 1e-12);
    scant_study_free(ctx, s);
}

static void wrong_inputs_are_refused(void **state) {
    (void)state;
    double k[] = {1, 0, 0, NAN};
    const int32_t labels[] = {0, 3};
    scant_study *s;
    double mmd;
    const size_t rows[] = {0, 2}, fine[] = {0, 1};
    assert_int_equal(scant_study_kernel(ctx, k, 2, NULL, 0, NULL, &s), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "row 1, column 1"));
    assert_null(s);
    k[3] = 1;
    assert_int_equal(scant_study_kernel(ctx, k, 2, labels, 3, NULL, &s), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "sample 1 has the label 3"));
    assert_int_equal(scant_study_kernel(ctx, k, 0, NULL, 0, NULL, &s), SCANT_EINPUT);
    assert_int_equal(
        scant_study_kernel(ctx, k, 2, NULL, 0, &(scant_study_opts){.rate = -1}, &s),
        SCANT_EUSAGE);
    assert_int_equal(
        scant_study_kernel(ctx, k, 1, labels, 3, &(scant_study_opts){.outputs = 2}, &s),
        SCANT_EUSAGE);
    assert_int_equal(study_kernel_mmd(ctx, k, 2, rows, 2, fine, 2, &mmd), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "row 2"));
}

static double distance(const double *k, const size_t *a, size_t n, const size_t *b,
                       size_t m) {
    double out;
    assert_int_equal(study_kernel_mmd(ctx, k, N, a, n, b, m, &out), SCANT_OK);
    return out;
}

/* Rows that both sets share are found in any order. */
static void mmd_does_not_depend_on_the_order_of_rows(void **state) {
    (void)state;
    double k[N * N];
    make(k, N, 5, 12);
    const size_t a[] = {4, 9, 2, 7}, again[] = {7, 4, 2, 9}, more[] = {11, 7, 9, 0, 4, 2};
    const size_t ordered[] = {2, 4, 7, 9, 11, 0}, s0[] = {2, 4, 7, 9};
    const size_t twice[] = {3, 3, 5}, other[] = {5, 3, 8, 3};
    const size_t twice_first[] = {3, 3, 5}, other_first[] = {3, 3, 5, 8};
    assert_true(distance(k, a, 4, again, 4) == 0);
    near(distance(k, a, 4, more, 6), study_mmd(k, N, s0, 4, ordered, 6), 1e-13);
    assert_true(isnan(distance(k, a, 1, more, 6))); /* undefined for one row */
    near(distance(k, more, 6, a, 4), study_mmd(k, N, s0, 4, ordered, 6), 1e-13);
    near(distance(k, twice, 3, other, 4), study_mmd(k, N, twice_first, 3, other_first, 4),
         1e-13);
}

/* One of two rows is drawn, so each set is one of two whose values are computed here. */
static void agreement_matches_sets_computed_one_by_one(void **state) {
    (void)state;
    double k[N * N], a[2], g[2];
    float f[N * C];
    int32_t labels[N];
    make(k, N, 20, 13);
    make_labels(labels, N, 14);
    for (size_t i = 0; i < N * C; i++) f[i] = (float)normal_at(15, i);
    enum { S = N - 2, SETS = 40 };
    for (size_t which = 0; which < 2; which++) {
        double part[(S + 1) * (S + 1)];
        int32_t own[S + 1];
        float out[(S + 1) * C];
        for (size_t i = 0; i <= S; i++) {
            size_t row = i < S ? i : S + which;
            own[i] = labels[row];
            memcpy(out + i * C, f + row * C, sizeof(float) * C);
            for (size_t j = 0; j <= S; j++)
                part[i * (S + 1) + j] = k[row * N + (j < S ? j : S + which)];
        }
        a[which] = study_alignment(part, S + 1, own);
        g[which] = study_training_dynamics(part, S + 1, own, C, out);
    }
    scant_agreement result, other, *got = &result, *one = &other;
    scant__arena arena, single;
    scant__arena_init(&arena, ctx);
    scant_lab_opts opts = {.n = N,
                           .labels = labels,
                           .classes = C,
                           .sets = SETS,
                           .start = S,
                           .draw = 1,
                           .seed = 3};
    assert_int_equal(study_kernel_agreement(&arena, k, f, &opts, got), SCANT_OK);
    size_t seen[2] = {0};
    for (size_t i = 0; i < SETS; i++) {
        size_t which = fabs(got->alignment[i] - a[0]) > fabs(got->alignment[i] - a[1]);
        near(got->alignment[i], a[which], 1e-12);
        near(got->dynamics[i], g[which], 1e-9);
        seen[which]++;
    }
    assert_true(seen[0] > 8 && seen[1] > 8); /* 40 fair draws: fails once in 1e5 */
    near(fabs(got->tau), 1, 1e-12);
    assert_true((got->tau > 0) == ((a[1] > a[0]) == (g[1] > g[0])));
    assert_true(got->p < 1e-6);
    scant_ctx *alone = ctx_threads(1);
    scant__arena_init(&single, alone);
    assert_int_equal(study_kernel_agreement(&single, k, f, &opts, one), SCANT_OK);
    assert_memory_equal(one->dynamics, got->dynamics, SETS * sizeof(double));
    scant__arena_end(&single);
    scant_ctx_free(alone);
    scant__arena_end(&arena);
    opts.draw = 3;
    assert_int_equal(study_kernel_agreement(&arena, k, f, &opts, got), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "there are 14"));
    labels[3] = -1, opts.draw = 1;
    assert_int_equal(study_kernel_agreement(&arena, k, f, &opts, got), SCANT_EINPUT);
}

static void results_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    enum { MANY = 150 };
    static double k[MANY * MANY];
    int32_t labels[MANY];
    scant_study *one = NULL;
    make(k, MANY, 90, 18);
    make_labels(labels, MANY, 19);
    scant_ctx *alone = ctx_threads(1);
    assert_int_equal(scant_study_kernel(alone, k, MANY, labels, C, NULL, &one), SCANT_OK);
    for (unsigned threads = 2; threads < 5; threads++) {
        scant_ctx *other = ctx_threads(threads);
        scant_study *s;
        assert_int_equal(scant_study_kernel(other, k, MANY, labels, C, NULL, &s),
                         SCANT_OK);
        assert_memory_equal(s->values, one->values, MANY * sizeof(double));
        assert_memory_equal(s->energy, one->energy, MANY * sizeof(double));
        assert_true(s->bound == one->bound && s->alignment == one->alignment);
        scant_study_free(other, s);
        scant_ctx_free(other);
    }
    scant_study_free(alone, one);
    scant_ctx_free(alone);
}

static scant_status all_calls(scant_ctx *c, const double *k, const int32_t *labels,
                              const float *f) {
    scant_study *s;
    scant_agreement g;
    scant__arena arena;
    double mmd;
    const size_t a[] = {0, 1, 2}, b[] = {1, 2, 3, 4};
    scant_status status =
        scant_study_kernel(c, k, N, labels, C, &(scant_study_opts){.start = f}, &s);
    if (status != SCANT_OK) return status;
    scant_study_free(c, s);
    status = study_kernel_mmd(c, k, N, a, 3, b, 4, &mmd);
    if (status != SCANT_OK) return status;
    scant_lab_opts opts = {
        .n = N, .labels = labels, .classes = C, .sets = 4, .start = 5, .draw = 3};
    scant__arena_init(&arena, c);
    status = study_kernel_agreement(&arena, k, f, &opts, &g);
    scant__arena_end(&arena);
    return status;
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    double k[N * N];
    float f[N * C] = {0};
    int32_t labels[N];
    bool done = false;
    make(k, N, 20, 16);
    make_labels(labels, N, 17);
    for (size_t at = 0; !done; at++) {
        memory m;
        scant_ctx *c = ctx_counting(&m);
        size_t before = peak_of(c);
        m.calls = 0, m.fail_at = at;
        scant_status s = all_calls(c, k, labels, f);
        done = s == SCANT_OK;
        assert_true(done ? at > 10 : s == SCANT_ENOMEM);
        m.fail_at = SIZE_MAX;
        assert_true(peak_of(c) - before <= scant_study_memory(N, C, 1));
        scant_ctx_free(c);
        assert_int_equal(m.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_samples_match_hand_computed_values),
        cmocka_unit_test(predicted_losses_match_simulated_descent),
        cmocka_unit_test(a_full_kernel_of_independent_outputs_matches_the_reduced_one),
        cmocka_unit_test(singular_kernels_are_detected),
        cmocka_unit_test(eigenvalues_that_count_as_0_are_not_used),
        cmocka_unit_test(quantities_that_need_labels_are_nan_without_them),
        cmocka_unit_test(wrong_inputs_are_refused),
        cmocka_unit_test(mmd_does_not_depend_on_the_order_of_rows),
        cmocka_unit_test(agreement_matches_sets_computed_one_by_one),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
