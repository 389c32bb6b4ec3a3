/* SPDX-License-Identifier: Apache-2.0
 *
 * Hand-computed values, inverses by Gauss-Jordan elimination, and both theorems on
 * kernels of many spectra, including singular ones.
 */
#include <math.h>

#include "core/mem.h"
#include "linalg/dense.h"
#include "study/quantities.h"
#include "support.h"

enum { MOST = 40, CLASSES = 4 };

static void near(double got, double want, double scale, double tolerance) {
    if (!(fabs(got - want) <= tolerance * scale))
        fail_msg("%.17g, expected %.17g", got, want);
}

/* ---- kernels of many kinds ---- */

typedef enum kind { NORMAL, STEEP, FLAT, TWICE, NARROW, CONSTANT, KINDS } kind;

/* K = X X^T / d with columns of X scaled by the kind. TWICE: each row occurs
 * twice; NARROW: fewer columns than rows; CONSTANT: all rows are equal. */
static void make_kernel(kind what, uint64_t seed, size_t n, double *k) {
    size_t d = what == NARROW ? 3 : 2 * n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            size_t a = what == TWICE ? i / 2 : what == CONSTANT ? 0 : i;
            size_t b = what == TWICE ? j / 2 : what == CONSTANT ? 0 : j;
            double sum = 0;
            for (size_t c = 0; c < d; c++) {
                double scale = what == STEEP  ? pow(0.8, (double)c)
                               : what == FLAT ? 1
                                              : 1 / sqrt(1 + (double)c);
                sum += scale * normal_at(seed, a * 1000 + c) * scale *
                       normal_at(seed, b * 1000 + c);
            }
            k[i * n + j] = sum / (double)d;
        }
}

/* gaps: some labels are -1. */
static void make_labels(uint64_t seed, size_t n, size_t classes, bool gaps,
                        int32_t *out) {
    for (size_t i = 0; i < n; i++) {
        double u = unit_at(seed + 50, i);
        out[i] =
            gaps && u < 0.2 ? -1 : (int32_t)(unit_at(seed + 51, i) * (double)classes);
    }
}

/* a^-1 by elimination with pivoting. */
static void invert(size_t n, const double *a, double *out) {
    double m[MOST * MOST];
    memcpy(m, a, n * n * sizeof *m);
    for (size_t i = 0; i < n * n; i++) out[i] = i / n == i % n;
    for (size_t c = 0; c < n; c++) {
        size_t top = c;
        for (size_t i = c; i < n; i++)
            if (fabs(m[i * n + c]) > fabs(m[top * n + c])) top = i;
        for (size_t j = 0; j < n; j++) {
            double x = m[c * n + j], y = out[c * n + j];
            m[c * n + j] = m[top * n + j], m[top * n + j] = x;
            out[c * n + j] = out[top * n + j], out[top * n + j] = y;
        }
        double pivot = m[c * n + c];
        for (size_t j = 0; j < n; j++) m[c * n + j] /= pivot, out[c * n + j] /= pivot;
        for (size_t i = 0; i < n; i++) {
            double factor = m[i * n + c];
            for (size_t j = 0; i != c && j < n; j++) {
                m[i * n + j] -= factor * m[c * n + j];
                out[i * n + j] -= factor * out[c * n + j];
            }
        }
    }
}

/* Tr(Y^T M Y) with an explicit Y. */
static double trace_of(size_t n, const double *m, const int32_t *labels, size_t classes) {
    double sum = 0;
    for (size_t c = 0; c < classes; c++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double y = labels[i] == (int32_t)c, z = labels[j] == (int32_t)c;
                sum += y * m[i * n + j] * z;
            }
    return sum;
}

/* ---- hand-computed ---- */

static void small_cases_match_hand_computed_values(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    /* A: the pairs of one class are (0,0), (1,1), (2,2), (0,2), (2,0). */
    const double k[] = {4, 1, 2, 1, 3, 0, 2, 0, 5};
    const int32_t labels[] = {0, 1, 0}, gaps[] = {0, -1, -1};
    near(study_alignment(k, 3, labels), 4 + 3 + 5 + 2 + 2, 1, 0);
    near(study_alignment(k, 3, gaps), 4, 1, 0);
    /* [[2, 1], [1, 2]]^-1 = [[2, -1], [-1, 2]] / 3 */
    const double two[] = {2, 1, 1, 2};
    const int32_t apart[] = {0, 1}, one[] = {0, 0};
    double jitter, bound;
    assert_int_equal(study_bound(ctx, two, 2, apart, 2, 0, &jitter, &bound), SCANT_OK);
    near(bound, sqrt(4.0 / 3), 1, 1e-15);
    assert_true(jitter == 0);
    assert_int_equal(study_bound(ctx, two, 2, one, 1, 0, &jitter, &bound), SCANT_OK);
    near(bound, sqrt(2.0 / 3), 1, 1e-15);
    /* F - Y = (-0.5, 0.5), (0.25, -0.75): squared lengths 0.5 and 0.625, product -0.5. */
    const float f[] = {0.5f, 0.5f, 0.25f, 0.25f};
    near(study_training_dynamics(two, 2, apart, 2, f), 2 * 0.5 + 2 * 0.625 - 2 * 0.5, 1,
         1e-15);
    /* S0 = {0, 1}, S = {0, 1, 2}: 2*1/2 + 2*(1+2+0)/6 - 2*(1 + 2 + 1 + 0)/4. */
    const size_t s0[] = {0, 1}, s[] = {0, 1, 2};
    near(study_mmd_square(k, 3, s0, 2, s, 3), 1 + 1 - 2, 1, 1e-15);
    /* S0 = {0, 2}, S = {1, 0, 2}: 2 + 1 - 2*(k00 + k02 + k21 + k22)/4. */
    const size_t t0[] = {0, 2}, t[] = {1, 0, 2};
    near(study_mmd_square(k, 3, t0, 2, t, 3), 2 + 1 - (4 + 2 + 0 + 5) / 2.0, 1, 1e-15);
    near(study_mmd_square(k, 3, t, 3, t0, 2), 2 + 1 - (4 + 2 + 0 + 5) / 2.0, 1, 1e-15);
    assert_true(study_mmd(k, 3, t0, 2, t, 3) == 0);
    assert_true(study_mmd(k, 3, t0, 1, t, 3) == 0);
    scant_ctx_free(ctx);
}

static void kendall_counts_ties_as_tau_b(void **state) {
    (void)state;
    const double up[] = {1, 2, 3, 4}, down[] = {9, 7, 5, 3}, flat[] = {2, 2, 2, 2};
    const double some[] = {1, 1, 2, 3}, other[] = {1, 2, 2, 3}, mixed[] = {1, 3, 2, 4};
    near(study_kendall(up, up, 4), 1, 1, 0);
    near(study_kendall(up, down, 4), -1, 1, 0);
    near(study_kendall(up, mixed, 4), (5 - 1) / 6.0, 1, 1e-15);
    /* 6 pairs: (0,1) is a tie on one side, (1,2) on the other; 4 are concordant. */
    near(study_kendall(some, other, 4), 4 / sqrt(5.0 * 5.0), 1, 1e-15);
    near(study_kendall(some, up, 4), 5 / sqrt(5.0 * 6.0), 1, 1e-15);
    assert_true(isnan(study_kendall(up, flat, 4)));
    assert_true(isnan(study_kendall(up, up, 1)));
}

static void eigenvalues_below_the_tolerance_do_not_count(void **state) {
    (void)state;
    const double values[] = {-1e-17, 3e-13, 0.5, 2};
    study_spectrum s;
    study_spectrum_of(values, 4, STUDY_RANK_TOLERANCE, &s);
    assert_int_equal(s.rank, 2);
    assert_true(s.largest == 2 && s.positive == 0.5 && s.smallest == -1e-17);
    assert_true(isinf(s.condition) && s.part == 4);
    near(s.dimension, 2.5 * 2.5 / 4.25, 1, 1e-10);
    study_spectrum_of(values + 2, 2, STUDY_RANK_TOLERANCE, &s);
    assert_true(s.rank == 2 && s.condition == 4);
    const double nothing[] = {0, 0};
    study_spectrum_of(nothing, 2, STUDY_RANK_TOLERANCE, &s);
    assert_true(s.rank == 0 && s.largest == 0 && s.positive == 0 && isinf(s.condition));
}

/* Two directions with energies 1 and 3 and eigenvalues 1 and 0.5, at a rate of 1/2:
 * E_t^2 = 0.25^t + 3 (9/16)^t. */
static void residuals_match_hand_computed_values(void **state) {
    (void)state;
    const double values[] = {0.5, 1}, energy[] = {3, 1}, stuck[] = {0, 1};
    near(study_residual(values, energy, 2, 0.5, 0), 4, 1, 1e-15);
    near(study_residual(values, energy, 2, 0.5, 3), 1.0 / 64 + 3 * 729.0 / 4096, 1,
         1e-15);
    /* a tenth of E_0^2 is 0.4; E_t^2 is 0.549... at t = 3, 0.304... at t = 4 */
    assert_true(study_steps(values, energy, 2, 0.5, 0.1) == 4);
    assert_true(study_steps(values, energy, 2, 0.5, 1) == 0);
    assert_true(isinf(study_steps(stuck, energy, 2, 0.5, 0.1)));
    assert_true(isinf(study_steps(values, energy, 2, 5, 0.1))); /* diverges */
    assert_true(study_steps(stuck, energy, 2, 1, 0.75) == 1);
}

/* ---- theorems ---- */

static void check_bound(const double *k, size_t n, const int32_t *labels, size_t classes,
                        double jitter, double bound) {
    double shifted[MOST * MOST], inverse[MOST * MOST];
    memcpy(shifted, k, n * n * sizeof *k);
    for (size_t i = 0; i < n; i++) shifted[i * n + i] += jitter;
    invert(n, shifted, inverse);
    double want = sqrt(2 * trace_of(n, inverse, labels, classes) / (double)n);
    near(bound, want, 1 + want, 1e-5); /* condition numbers reach 1e10 */
}

/* t includes values where both ends of theorem 1 are sharp, and where none is. */
static void check_theorems(scant_ctx *ctx, const double *k, size_t n,
                           const int32_t *labels, size_t classes) {
    double vectors[MOST * MOST], values[MOST], energy[MOST], room[CLASSES];
    double *work = malloc(la_eigh_room(n, true) * sizeof *work);
    double labelled = 0, total = 0, jitter, bound, a = study_alignment(k, n, labels);
    for (size_t i = 0; i < n; i++) labelled += labels[i] >= 0;
    memcpy(vectors, k, n * n * sizeof *k);
    assert_int_equal(la_eigh_alone(ctx, n, vectors, true, values, work), SCANT_OK);
    study_energies(vectors, n, labels, classes, energy, room);
    for (size_t i = 0; i < n; i++) total += energy[i];
    near(total, labelled, 1 + labelled,
         1e-12); /* eigenvectors are an orthonormal basis */
    near(a, trace_of(n, k, labels, classes), 1 + fabs(a), 1e-12);
    double top = values[n - 1], slack = 1e-9 * (1 + labelled);
    for (double t = 1; t < 1e6; t *= 3)
        for (double part = 0.01; part < 1.5; part *= 10) {
            double rate = part / top, e = study_residual(values, energy, n, rate, t);
            if (rate * top > 1) continue;
            study_interval ends = study_theorem1(labelled, a, rate, t);
            assert_true(e >= ends.low - slack && e <= ends.high + slack);
        }
    assert_int_equal(study_bound(ctx, k, n, labels, classes, 0, &jitter, &bound),
                     SCANT_OK);
    check_bound(k, n, labels, classes, jitter, bound);
    study_factors factors;
    study_interval ends = study_theorem2(labelled, a + jitter * labelled, top + jitter,
                                         values[0] + jitter, &factors);
    double half = bound * bound * (double)n / 2;
    if (labelled > 0) {
        assert_true(half >= ends.low * (1 - 1e-6) && half <= ends.high * (1 + 1e-6));
        assert_true(factors.kantorovich <= factors.paper * (1 + 1e-12));
    }
    free(work);
}

static void both_theorems_hold_for_every_kernel(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 5, 12, MOST};
    scant_ctx *ctx = ctx_threads(2);
    double k[MOST * MOST];
    int32_t labels[MOST];
    for (kind what = 0; what < KINDS; what++)
        for (size_t s = 0; s < 5; s++)
            for (size_t classes = 1; classes <= CLASSES; classes += 3)
                for (uint64_t seed = 0; seed < 4; seed++) {
                    size_t n = sizes[s];
                    make_kernel(what, seed, n, k);
                    make_labels(seed, n, classes, seed == 3, labels);
                    check_theorems(ctx, k, n, labels, classes);
                }
    scant_ctx_free(ctx);
}

static void jitter_is_the_smallest_sufficient_one(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    double k[MOST * MOST], jitter, bound;
    int32_t labels[MOST];
    static const kind singular[] = {TWICE, NARROW, CONSTANT};
    make_labels(1, MOST, 3, false, labels);
    for (size_t s = 0; s < 3; s++) {
        double trace = 0;
        make_kernel(singular[s], 9, MOST, k);
        for (size_t i = 0; i < MOST; i++) trace += k[i * (MOST + 1)];
        assert_int_equal(study_bound(ctx, k, MOST, labels, 3, 0, &jitter, &bound),
                         SCANT_OK);
        near(jitter, 1e-8 * trace / MOST, jitter,
             1e-12); /* rounding errors are far smaller */
        /* An eigenvalue of -1e-5 times the mean needs a larger jitter. */
        for (size_t i = 0; i < MOST; i++) k[i * (MOST + 1)] -= 1e-5 * trace / MOST;
        assert_int_equal(study_bound(ctx, k, MOST, labels, 3, 0, &jitter, &bound),
                         SCANT_OK);
        near(jitter, 1e-4 * trace / MOST, jitter, 1e-4);
    }
    memset(k, 0, sizeof k);
    assert_int_equal(study_bound(ctx, k, MOST, labels, 3, 0, &jitter, &bound), SCANT_OK);
    assert_true(jitter == 0 && isinf(bound));
    scant_ctx_free(ctx);
}

/* ---- sets ---- */

static void mmd_of_sets_from_one_distribution_has_mean_zero(void **state) {
    (void)state;
    enum { DRAWS = 4000, M = 5, COUNT = 9 };
    static double k[MOST * MOST];
    double mean = 0, square = 0, shared = 0, shared_square = 0;
    make_kernel(NORMAL, 4, MOST, k);
    for (size_t draw = 0; draw < DRAWS; draw++) {
        size_t rows[MOST];
        for (size_t i = 0; i < MOST; i++) rows[i] = i;
        for (size_t i = 0; i < M + COUNT; i++) {
            size_t j = i + (size_t)(unit_at(8, draw * 100 + i) * (double)(MOST - i));
            size_t keep = rows[i];
            rows[i] = rows[j], rows[j] = keep;
        }
        double d = study_mmd_square(k, MOST, rows, M, rows + M, COUNT);
        mean += d / DRAWS, square += d * d / DRAWS;
        d = study_mmd_square(k, MOST, rows, M, rows, COUNT); /* S starts with S0 */
        shared += d / DRAWS, shared_square += d * d / DRAWS;
        assert_true(study_mmd(k, MOST, rows, M, rows, M) == 0);
    }
    /* Five standard deviations of the mean over draws. */
    assert_true(fabs(mean) < 5 * sqrt(square / DRAWS));
    assert_true(fabs(shared) < 5 * sqrt(shared_square / DRAWS));
    assert_true(square > 0 && shared_square > 0);
}

/* f is Y plus a shift, so G_MSE depends only on the shift. */
static void dynamics_depend_only_on_the_residual(void **state) {
    (void)state;
    enum { N = 12 };
    double k[N * N], want = 0;
    float f[N * CLASSES];
    int32_t labels[N];
    make_kernel(FLAT, 2, N, k);
    make_labels(2, N, CLASSES, true, labels);
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < CLASSES; c++) {
            float shift = (float)(unit_at(6, i * CLASSES + c));
            f[i * CLASSES + c] = shift + (labels[i] == (int32_t)c ? 1.0f : 0.0f);
        }
    for (size_t i = 0; i < N * N; i++)
        for (size_t c = 0; c < CLASSES; c++)
            want +=
                unit_at(6, i / N * CLASSES + c) * k[i] * unit_at(6, i % N * CLASSES + c);
    near(study_training_dynamics(k, N, labels, CLASSES, f), want, fabs(want), 1e-5);
}

/* ---- errors ---- */

static void matrices_that_are_not_kernels_are_refused(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    double odd[] = {1, 2, 2, 1}, far[] = {1e-30, 1, 1, 1e-30}, none[] = {1, 0, 0, NAN};
    double jitter, bound;
    const int32_t labels[] = {0, 1}, high[] = {0, 2}, low[] = {-2, 0};
    assert_int_equal(study_bound(ctx, far, 2, labels, 2, 0, &jitter, &bound),
                     SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "not a kernel"));
    assert_int_equal(study_bound(ctx, odd, 2, labels, 2, 0, &jitter, &bound), SCANT_OK);
    assert_true(jitter > 1); /* the smallest eigenvalue is -1 */
    assert_int_equal(study_bound(ctx, none, 2, labels, 2, 0, &jitter, &bound),
                     SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "row 1, column 1"));
    assert_int_equal(study_bound(ctx, odd, 2, high, 2, 0, &jitter, &bound), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "sample 1 has the label 2"));
    assert_int_equal(study_bound(ctx, odd, 2, low, 2, 0, &jitter, &bound), SCANT_EINPUT);
    scant_ctx_free(ctx);
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    const double k[] = {2, 1, 1, 2};
    const int32_t labels[] = {0, 1};
    double jitter, bound;
    for (size_t at = 0; at < 3; at++) {
        memory m;
        scant_ctx *ctx = ctx_counting(&m);
        m.calls = 0, m.fail_at = at;
        scant_status s = study_bound(ctx, k, 2, labels, 2, 0, &jitter, &bound);
        assert_int_equal(s, at < 2 ? SCANT_ENOMEM : SCANT_OK);
        m.fail_at = SIZE_MAX;
        scant_ctx_free(ctx);
        assert_int_equal(m.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_cases_match_hand_computed_values),
        cmocka_unit_test(kendall_counts_ties_as_tau_b),
        cmocka_unit_test(eigenvalues_below_the_tolerance_do_not_count),
        cmocka_unit_test(residuals_match_hand_computed_values),
        cmocka_unit_test(both_theorems_hold_for_every_kernel),
        cmocka_unit_test(jitter_is_the_smallest_sufficient_one),
        cmocka_unit_test(mmd_of_sets_from_one_distribution_has_mean_zero),
        cmocka_unit_test(dynamics_depend_only_on_the_residual),
        cmocka_unit_test(matrices_that_are_not_kernels_are_refused),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
