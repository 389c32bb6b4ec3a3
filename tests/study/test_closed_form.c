/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel functions: hand-computed values, kernels between two arrays, fits that
 * interpolate their targets, predictions, and errors.
 */
#include <math.h>

#include "context.h"
#include "scant/study.h"

static scant_array *rows_of(scant_ctx *c, const char *name, const void *data,
                            scant_dtype dtype, size_t n, size_t d) {
    scant_array *array;
    assert_int_equal(scant_array_wrap(c, name, data, dtype, 2, (size_t[]){n, d}, &array),
                     SCANT_OK);
    return array;
}

static void ntk(const double *a, size_t n, const double *b, size_t m, size_t d,
                size_t depth, double *out) {
    scant_array *x = rows_of(ctx, "a", a, SCANT_F64, n, d);
    scant_array *y = b ? rows_of(ctx, "b", b, SCANT_F64, m, d) : NULL;
    assert_int_equal(scant_ntk_kernel(ctx, x, y, depth, out), SCANT_OK);
    scant_array_free(x);
    scant_array_free(y);
}

/* ---- names ---- */

static void kernel_names_give_a_depth(void **state) {
    (void)state;
    static const char *const wrong[] = {"",
                                        "ntk",
                                        "ntk:depth=",
                                        "ntk:depth=0",
                                        "ntk:depth=101",
                                        "ntk:depth=2.5",
                                        "ntk:depth=x",
                                        "ntk:depth=3 ",
                                        "rbf:depth=3"};
    size_t depth = 0;
    assert_int_equal(scant_kernel_parse(ctx, "ntk:depth=1", &depth), SCANT_OK);
    assert_int_equal(depth, 1);
    assert_int_equal(scant_kernel_parse(ctx, "ntk:depth=100", &depth), SCANT_OK);
    assert_int_equal(depth, 100);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(scant_kernel_parse(ctx, wrong[i], &depth), SCANT_EUSAGE);
        assert_non_null(strstr(scant_ctx_errmsg(ctx), "expected ntk:depth=K"));
        assert_non_null(strstr(scant_ctx_errmsg(ctx), wrong[i]));
    }
}

/* ---- values ---- */

static void values_match_hand_computed_ones(void **state) {
    (void)state;
    static const double a[] = {2, 0, 0, 3}, b[] = {-1, 0, 0, 0, 4, 0};
    double k[6];
    ntk(a, 2, b, 3, 2, 1, k);
    const double want[] = {0, 0, 16, 3 / M_PI, 0, 12 / M_PI};
    for (size_t i = 0; i < 6; i++) assert_true(fabs(k[i] - want[i]) < 1e-14);
}

/* The kernel of one array is symmetric to the bit and equals that of two equal arrays. */
static void one_array_matches_two_equal_arrays(void **state) {
    (void)state;
    enum { N = 150, D = 7 };
    static double h[N * D], other[N * D], one[N * N], two[N * N];
    for (size_t i = 0; i < N * D; i++) other[i] = h[i] = normal_at(1, i);
    ntk(h, N, NULL, 0, D, 3, one);
    ntk(h, N, other, N, D, 3, two);
    assert_memory_equal(one, two, sizeof one);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < i; j++) assert_true(one[i * N + j] == one[j * N + i]);
}

static void results_do_not_depend_on_thread_count_or_type(void **state) {
    (void)state;
    enum { N = 200, D = 5 };
    static float h[N * D];
    static double wide[N * D], first[N * N], k[N * N];
    for (size_t i = 0; i < N * D; i++) wide[i] = h[i] = (float)normal_at(2, i);
    ntk(wide, N, NULL, 0, D, 2, first);
    for (unsigned threads = 1; threads < 5; threads++) {
        scant_ctx *c = ctx_threads(threads);
        scant_array *x = rows_of(c, "h", h, SCANT_F32, N, D);
        assert_int_equal(scant_ntk_kernel(c, x, NULL, 2, k), SCANT_OK);
        assert_memory_equal(k, first, sizeof k);
        scant_array_free(x);
        scant_ctx_free(c);
    }
}

/* Doubling the rows multiplies the kernel by four, also if squares are outside the range
 * of float or double. If the kernel itself overflows, the call fails. */
static void any_scale_is_exact_or_refused(void **state) {
    (void)state;
    static const double h[] = {1, 2, -0.5, 3, 1, 1};
    double one[9], k[9], scaled[6];
    ntk(h, 3, NULL, 0, 2, 2, one);
    for (int e = -480; e <= 500; e += 70) {
        for (size_t i = 0; i < 6; i++) scaled[i] = ldexp(h[i], e);
        ntk(scaled, 3, NULL, 0, 2, 2, k);
        for (size_t i = 0; i < 9; i++)
            assert_true(fabs(ldexp(k[i], -2 * e) - one[i]) <= 1e-14 * 30);
    }
    for (size_t i = 0; i < 6; i++) scaled[i] = ldexp(h[i], 520);
    scant_array *x = rows_of(ctx, "long", scaled, SCANT_F64, 3, 2);
    assert_int_equal(scant_ntk_kernel(ctx, x, NULL, 2, k), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx),
                           "the kernel of long row 0 and long row 0 overflows"));
    scant_array_free(x);
}

static void wrong_arrays_are_refused_with_a_message(void **state) {
    (void)state;
    double h[] = {1, 2, 3, 4, 5, 6}, k[9];
    scant_array *a = rows_of(ctx, "a", h, SCANT_F64, 3, 2);
    scant_array *b = rows_of(ctx, "b", h, SCANT_F64, 2, 3);
    scant_array *flat;
    assert_int_equal(scant_array_wrap(ctx, "flat", h, SCANT_F64, 1, (size_t[]){6}, &flat),
                     SCANT_OK);
    assert_int_equal(scant_ntk_kernel(ctx, a, b, 2, k), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "b has 3 columns, but a has 2"));
    assert_int_equal(scant_ntk_kernel(ctx, a, NULL, 0, k), SCANT_EUSAGE);
    assert_int_equal(scant_ntk_kernel(ctx, a, NULL, 101, k), SCANT_EUSAGE);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "the depth is 101, expected 1 to 100"));
    assert_int_equal(scant_ntk_kernel(ctx, flat, NULL, 1, k), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "flat: has shape 6"));
    h[3] = NAN;
    assert_int_equal(scant_ntk_kernel(ctx, a, NULL, 1, k), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "a: row 1, column 1 is nan"));
    scant_array_free(a);
    scant_array_free(b);
    scant_array_free(flat);
}

/* ---- fits ---- */

/* [2 1; 1 2]^-1 (1, 0) = (2, -1) / 3; with a ridge of 1, [3 1; 1 3]^-1 (1, 0) = (3, -1) /
 * 8. */
static void a_fit_of_two_rows_matches_hand_computed_values(void **state) {
    (void)state;
    static const double k[] = {2, NAN, 1, 2},
                        y[] = {1, 0}; /* only the lower triangle is read */
    double alpha[2], jitter = -1, out[1];
    assert_int_equal(scant_kernel_fit(ctx, k, 2, y, 1, 0, alpha, &jitter), SCANT_OK);
    assert_true(fabs(alpha[0] - 2.0 / 3) < 1e-15 && fabs(alpha[1] + 1.0 / 3) < 1e-15);
    assert_true(jitter == 0);
    assert_int_equal(scant_kernel_fit(ctx, k, 2, y, 1, 1, alpha, NULL), SCANT_OK);
    assert_true(fabs(alpha[0] - 3.0 / 8) < 1e-15 && fabs(alpha[1] + 1.0 / 8) < 1e-15);
    assert_int_equal(scant_kernel_predict(ctx, (double[]){1, 2}, 1, 2, alpha, 1, out),
                     SCANT_OK);
    assert_true(fabs(out[0] - 1.0 / 8) < 1e-15);
}

/* Rows in distinct directions: any targets are interpolated, even with more rows than
 * columns. */
static void without_a_ridge_fits_interpolate(void **state) {
    (void)state;
    enum { N = 120, D = 4, C = 3 };
    static double h[N * D], y[N * C], k[N * N], alpha[N * C], out[N * C];
    for (size_t i = 0; i < N * D; i++) h[i] = normal_at(3, i);
    for (size_t i = 0; i < N * C; i++) y[i] = normal_at(4, i);
    for (size_t depth = 1; depth <= 5; depth += 2) {
        double jitter;
        ntk(h, N, NULL, 0, D, depth, k);
        assert_int_equal(scant_kernel_fit(ctx, k, N, y, C, 0, alpha, &jitter), SCANT_OK);
        assert_true(jitter == 0);
        assert_int_equal(scant_kernel_predict(ctx, k, N, N, alpha, C, out), SCANT_OK);
        for (size_t i = 0; i < N * C; i++) assert_true(fabs(out[i] - y[i]) < 1e-8);
    }
}

static void a_larger_ridge_gives_a_larger_training_error(void **state) {
    (void)state;
    enum { N = 40, D = 3 };
    static double h[N * D], y[N], k[N * N], alpha[N], out[N];
    double before = -1;
    for (size_t i = 0; i < N * D; i++) h[i] = normal_at(5, i);
    for (size_t i = 0; i < N; i++) y[i] = normal_at(6, i);
    ntk(h, N, NULL, 0, D, 2, k);
    for (double ridge = 0; ridge<1e5; ridge = ridge> 0 ? ridge * 10 : 1e-3) {
        double error = 0;
        assert_int_equal(scant_kernel_fit(ctx, k, N, y, 1, ridge, alpha, NULL), SCANT_OK);
        assert_int_equal(scant_kernel_predict(ctx, k, N, N, alpha, 1, out), SCANT_OK);
        for (size_t i = 0; i < N; i++) {
            /* (K + ridge) alpha = y for every ridge */
            assert_true(fabs(out[i] + ridge * alpha[i] - y[i]) < 1e-8);
            error += (out[i] - y[i]) * (out[i] - y[i]);
        }
        assert_true(error > before);
        before = error;
    }
}

/* A row occurs twice with two targets: their mean is predicted, the jitter reported. */
static void duplicate_rows_get_a_jitter_and_their_mean(void **state) {
    (void)state;
    enum { N = 30, D = 3 };
    static double h[N * D], y[N], k[N * N], alpha[N], out[N];
    double jitter;
    for (size_t i = 0; i < N * D; i++) h[i] = normal_at(7, i);
    memcpy(h + D, h, D * sizeof *h);
    for (size_t i = 0; i < N; i++) y[i] = normal_at(8, i);
    ntk(h, N, NULL, 0, D, 2, k);
    assert_int_equal(scant_kernel_fit(ctx, k, N, y, 1, 0, alpha, &jitter), SCANT_OK);
    assert_true(jitter > 0 && jitter < 1e-6 * k[0]);
    assert_int_equal(scant_kernel_predict(ctx, k, N, N, alpha, 1, out), SCANT_OK);
    for (size_t i = 2; i < N; i++) assert_true(fabs(out[i] - y[i]) < 1e-5);
    for (size_t i = 0; i < 2; i++) assert_true(fabs(out[i] - (y[0] + y[1]) / 2) < 1e-5);
    /* K = 0 is a kernel: all coefficients are 0 */
    memset(k, 0, sizeof k);
    assert_int_equal(scant_kernel_fit(ctx, k, 2, (double[]){0, 0}, 1, 0, alpha, &jitter),
                     SCANT_OK);
    assert_true(alpha[0] == 0 && alpha[1] == 0);
}

static void wrong_fits_are_refused_with_a_message(void **state) {
    (void)state;
    double k[] = {1, 2, 2, 1}, y[] = {1, 1}, alpha[2], jitter; /* eigenvalues 3 and -1 */
    assert_int_equal(scant_kernel_fit(ctx, k, 2, y, 1, 0, alpha, &jitter), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "negative eigenvalue"));
    assert_int_equal(scant_kernel_fit(ctx, k, 2, y, 1, -1, alpha, NULL), SCANT_EUSAGE);
    assert_int_equal(scant_kernel_fit(ctx, k, 2, y, 1, NAN, alpha, NULL), SCANT_EUSAGE);
    assert_int_equal(scant_kernel_fit(ctx, k, 2, y, 1, 2, alpha, NULL), SCANT_OK);
    y[1] = INFINITY;
    assert_int_equal(scant_kernel_fit(ctx, k, 2, y, 1, 2, alpha, NULL), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "the targets: row 1, column 0 is inf"));
    k[2] = NAN;
    assert_int_equal(scant_kernel_fit(ctx, k, 2, y, 1, 2, alpha, NULL), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "the kernel: row 1, column 0 is nan"));
}

/* Two half moons: 40 labels predict 400 test rows. A constant column is appended because
 * the kernel has no bias. */
static void the_kernel_learns_two_moons(void **state) {
    (void)state;
    enum { TRAIN = 40, TEST = 400 };
    static double x[(TRAIN + TEST) * 3], y[TRAIN], k[TRAIN * TRAIN], t[TEST * TRAIN];
    static double alpha[TRAIN], out[TEST];
    size_t right = 0;
    for (size_t i = 0; i < TRAIN + TEST; i++) {
        double turn = M_PI * unit_at(9, i);
        int second = i % 2;
        x[3 * i] = (second ? 1 - cos(turn) : cos(turn)) + 0.1 * normal_at(10, i);
        x[3 * i + 1] = (second ? 0.5 - sin(turn) : sin(turn)) + 0.1 * normal_at(11, i);
        x[3 * i + 2] = 1;
        if (i < TRAIN) y[i] = second ? 1 : -1;
    }
    ntk(x, TRAIN, NULL, 0, 3, 3, k);
    ntk(x + 3 * TRAIN, TEST, x, TRAIN, 3, 3, t);
    assert_int_equal(scant_kernel_fit(ctx, k, TRAIN, y, 1, 0, alpha, NULL), SCANT_OK);
    assert_int_equal(scant_kernel_predict(ctx, t, TEST, TRAIN, alpha, 1, out), SCANT_OK);
    for (size_t i = 0; i < TEST; i++) right += (out[i] > 0) == ((TRAIN + i) % 2);
    assert_true(right > TEST * 9 / 10);
}

/* ---- memory ---- */

static scant_status kernel_and_fit(scant_ctx *c, double *k, double *alpha) {
    enum { N = 100, D = 3 };
    static double h[N * D], y[N];
    scant_array *x;
    for (size_t i = 0; i < N * D; i++) h[i] = normal_at(12, i);
    scant_status s = scant_array_wrap(c, "h", h, SCANT_F64, 2, (size_t[]){N, D}, &x);
    if (s != SCANT_OK) return s;
    s = scant_ntk_kernel(c, x, NULL, 2, k);
    if (s == SCANT_OK) s = scant_kernel_fit(c, k, N, y, 1, 0, alpha, NULL);
    scant_array_free(x);
    return s;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static double k[100 * 100], alpha[100];
    memory m;
    scant_ctx *c = ctx_counting(&m);
    size_t steps = 0;
    for (;; steps++) {
        m.calls = 0, m.fail_at = steps;
        scant_status s = kernel_and_fit(c, k, alpha);
        assert_int_equal(m.live, 1); /* only the context */
        if (s == SCANT_OK) break;
        assert_int_equal(s, SCANT_ENOMEM);
        assert_true(strlen(scant_ctx_errmsg(c)) > 0);
    }
    assert_true(steps > 4);
    scant_ctx_free(c);
}

/* Rows read in place, and rows so large that they are scaled. */
static void memory_is_within_the_plan(void **state) {
    (void)state;
    enum { N = 100, D = 3000 };
    static float h[N * D];
    static double k[N * N];
    for (size_t d = 1; d <= D; d *= 3)
        for (unsigned threads = 1; threads < 4; threads += 2)
            for (int large = 0; large < 2; large++) {
                scant_ctx *c = ctx_threads(threads);
                for (size_t i = 0; i < N * d; i++)
                    h[i] = (float)normal_at(13, i) * (large ? 1e30F : 1);
                scant_array *x = rows_of(c, "h", h, SCANT_F32, N, d);
                assert_int_equal(scant_ntk_kernel(c, x, NULL, 2, k), SCANT_OK);
                size_t planned = scant_ntk_memory(c, d), peak = scant_ctx_memory_peak(c);
                assert_true(peak <= planned && planned < 2 * peak + (3 << 20));
                scant_array_free(x);
                scant_ctx_free(c);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_names_give_a_depth),
        cmocka_unit_test(values_match_hand_computed_ones),
        cmocka_unit_test(one_array_matches_two_equal_arrays),
        cmocka_unit_test(results_do_not_depend_on_thread_count_or_type),
        cmocka_unit_test(any_scale_is_exact_or_refused),
        cmocka_unit_test(wrong_arrays_are_refused_with_a_message),
        cmocka_unit_test(a_fit_of_two_rows_matches_hand_computed_values),
        cmocka_unit_test(without_a_ridge_fits_interpolate),
        cmocka_unit_test(a_larger_ridge_gives_a_larger_training_error),
        cmocka_unit_test(duplicate_rows_get_a_jitter_and_their_mean),
        cmocka_unit_test(wrong_fits_are_refused_with_a_message),
        cmocka_unit_test(the_kernel_learns_two_moons),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(memory_is_within_the_plan),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
