/* SPDX-License-Identifier: Apache-2.0
 *
 * The wrappers of LAPACK: which triangle is read, rows or columns, and work space of
 * exactly the size that the _room() function returns.
 */
#include <math.h>

#include "core/parfor.h"
#include "linalg/dense.h"
#include "support.h"

enum { LARGEST = 70 };

/* Symmetric; NaN above the diagonal, which must not be read. */
static void make(double *a, size_t n, size_t lda, double shift) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double x = normal_at(7, i > j ? i * 100 + j : j * 100 + i);
            a[i * lda + j] = j > i ? (double)NAN : x + (i == j ? shift : 0);
        }
}

static double at(const double *a, size_t lda, size_t i, size_t j) {
    return i > j ? a[i * lda + j] : a[j * lda + i];
}

/* `size` numbers, followed by a marker. */
static double *marked_room(size_t size) {
    double *room = malloc((size + 1) * sizeof *room);
    assert_non_null(room);
    room[size] = 12345;
    return room;
}

static void check_eigh(scant_ctx *ctx, size_t n, bool vectors) {
    double *a = malloc(n * n * sizeof *a), *v = malloc(n * n * sizeof *v);
    double *values = marked_room(n), trace = 0, sum = 0;
    size_t size = la_eigh_room(n, vectors);
    double *room = marked_room(size);
    make(a, n, n, 0);
    memcpy(v, a, n * n * sizeof *a);
    assert_int_equal(la_eigh_alone(ctx, n, v, vectors, values, room), SCANT_OK);
    assert_true(values[n] == 12345 && room[size] == 12345);
    for (size_t i = 0; i < n; i++) {
        trace += a[i * n + i];
        sum += values[i];
        assert_true(i == 0 || values[i] >= values[i - 1]);
    }
    assert_true(fabs(trace - sum) < 1e-11); /* at most 70 eigenvalues below 20 */
    for (size_t k = 0; vectors && k < n; k++)
        for (size_t i = 0; i < n; i++) {
            double av = 0;
            for (size_t j = 0; j < n; j++) av += at(a, n, i, j) * v[k * n + j];
            assert_true(fabs(av - values[k] * v[k * n + i]) < 1e-11);
        }
    free(a);
    free(v);
    free(values);
    free(room);
}

static void eigenvectors_are_rows(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    static const size_t sizes[] = {1, 2, 3, 26, LARGEST};
    for (size_t s = 0; s < 5; s++) {
        check_eigh(ctx, sizes[s], true);
        check_eigh(ctx, sizes[s], false);
    }
    scant_ctx_free(ctx);
}

static void nan_is_reported_or_returned(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    double a[9], values[3], *room = marked_room(la_eigh_room(3, false));
    for (size_t i = 0; i < 9; i++) a[i] = NAN;
    scant_status s = la_eigh_alone(ctx, 3, a, false, values, room);
    assert_true(s == SCANT_EINTERNAL || isnan(values[0]));
    scant_ctx_free(ctx);
    free(room);
}

typedef struct factor {
    size_t n, lda;
    double *a;
    bool definite;
} factor;

static scant_status factor_block(void *arg, size_t block, unsigned worker,
                                 scant__fault *fault) {
    factor *f = arg;
    (void)block, (void)worker, (void)fault;
    f->definite = la_cholesky(f->n, f->a, f->lda);
    return SCANT_OK;
}

static bool cholesky(size_t n, double *a, size_t lda) {
    scant_ctx *ctx = ctx_threads(1);
    factor f = {n, lda, a, false};
    assert_int_equal(scant__parfor(ctx, NULL, 1, factor_block, &f), SCANT_OK);
    scant_ctx_free(ctx);
    return f.definite;
}

/* a = L L^T in the lower triangle; the upper one and gaps between rows do not change. */
static void cholesky_factors_and_solves_are_correct(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 5, 33, LARGEST};
    for (size_t s = 0; s < 5; s++) {
        size_t n = sizes[s], lda = n + 3, k = 2;
        double *a = malloc(n * lda * sizeof *a), *l = malloc(n * lda * sizeof *l);
        double *b = malloc(n * k * sizeof *b);
        for (size_t i = 0; i < n * lda; i++) a[i] = NAN;
        make(a, n, lda, 3 * sqrt((double)n) + 1);
        memcpy(l, a, n * lda * sizeof *a);
        assert_true(cholesky(n, l, lda));
        for (size_t i = 0; i < n; i++) {
            assert_true(n == 1 || i + 1 == n || isnan(l[i * lda + i + 1]));
            for (size_t j = 0; j <= i; j++) {
                double sum = 0;
                for (size_t q = 0; q <= j; q++) sum += l[i * lda + q] * l[j * lda + q];
                assert_true(fabs(sum - a[i * lda + j]) < 1e-12 * (double)n);
            }
        }
        for (size_t i = 0; i < n * k; i++) b[i] = normal_at(3, i);
        la_solve_lower(n, k, l, lda, b, k);
        la_solve_lower_t(n, k, l, lda, b, k);
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < k; c++) {
                double sum = 0;
                for (size_t j = 0; j < n; j++) sum += at(a, lda, i, j) * b[j * k + c];
                assert_true(fabs(sum - normal_at(3, i * k + c)) < 1e-12 * (double)n);
            }
        free(a);
        free(l);
        free(b);
    }
}

static void indefinite_matrices_are_reported(void **state) {
    (void)state;
    double negative[] = {1, 0, 2, 1}, zero[] = {0}, semi[] = {1, 0, 1, 1};
    double fine[] = {1, 0, 0.999, 1};
    assert_false(cholesky(2, negative, 2));
    assert_false(cholesky(1, zero, 1));
    assert_false(cholesky(2, semi, 2));
    assert_true(cholesky(2, fine, 2));
    assert_true(cholesky(0, fine, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigenvectors_are_rows),
        cmocka_unit_test(nan_is_reported_or_returned),
        cmocka_unit_test(cholesky_factors_and_solves_are_correct),
        cmocka_unit_test(indefinite_matrices_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
