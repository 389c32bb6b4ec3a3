/* SPDX-License-Identifier: Apache-2.0
 *
 * Nystroem rows: what they reproduce exactly, what they leave out, how landmarks are
 * drawn; and the basis of a whole kernel matrix.
 */
#include <math.h>

#include "linalg/basis.h"
#include "linalg/ntk.h"
#include "linalg/nystroem.h"
#include "matrix.h"

typedef struct fixture {
    scant_ctx *ctx;
    scant__arena arena;
    double *h;
    size_t *list, n;
    la_rows rows;
    la_view view;
    la_ntk ntk;
    la_kernel kernel;
} fixture;

/* depth 0: inner products. b must not be moved. */
static void fixture_make(fixture *b, const double *h, size_t n, size_t d, size_t depth,
                         unsigned threads) {
    *b = (fixture){.ctx = ctx_threads(threads), .n = n};
    scant__arena_init(&b->arena, b->ctx);
    b->h = malloc(n * d * sizeof *h);
    b->list = malloc(n * sizeof *b->list);
    memcpy(b->h, h, n * d * sizeof *h);
    for (size_t i = 0; i < n; i++) b->list[i] = i;
    b->rows = (la_rows){.n = n, .d = d, .type = LA_F64, .base = b->h};
    b->view = (la_view){.h = &b->rows, .m = n};
    b->ntk = (la_ntk){&b->view, depth};
    if (depth)
        la_kernel_of_ntk(&b->ntk, &b->kernel);
    else
        la_kernel_of_features(&b->view, &b->kernel);
}

static void fixture_end(fixture *b) {
    scant__arena_end(&b->arena);
    scant_ctx_free(b->ctx);
    free(b->h);
    free(b->list);
}

/* The whole kernel matrix, both triangles. */
static double *whole_matrix(fixture *b) {
    double *k = malloc(b->n * b->n * sizeof *k);
    scant__arena room;
    scant__arena_init(&room, b->ctx);
    assert_int_equal(la_kernel_gram(&b->kernel, b->list, b->n, k, &room), SCANT_OK);
    scant__arena_end(&room);
    for (size_t i = 0; i < b->n; i++)
        for (size_t j = 0; j < i; j++) k[j * b->n + i] = k[i * b->n + j];
    return k;
}

static double inner(const la_nystroem *near, size_t i, size_t j) {
    const float *x = near->rows.base;
    size_t d = near->rows.d;
    double sum = 0;
    for (size_t k = 0; k < d; k++) sum += (double)x[i * d + k] * (double)x[j * d + k];
    return sum;
}

/* Builds the rows, within the planned memory. */
static void build(fixture *b, size_t landmarks, uint64_t seed, la_nystroem *near) {
    enum { SPARE = 4096 };
    size_t before = peak_of(b->ctx);
    size_t plan =
        la_nystroem_memory(&b->kernel, b->n, landmarks, scant_ctx_threads(b->ctx));
    assert_int_equal(
        la_nystroem_build(near, &b->arena, &b->kernel, b->list, b->n, landmarks, seed),
        SCANT_OK);
    assert_true(peak_of(b->ctx) <= before + plan + SPARE);
}

static void fill(double *h, uint64_t seed, size_t size) {
    for (size_t i = 0; i < size; i++) h[i] = normal_at(seed, i);
}

/* With every row a landmark, the kernel is exact up to the rounding of float. */
static void all_rows_as_landmarks_reproduce_the_kernel(void **state) {
    (void)state;
    enum { N = 150, D = 4 };
    static double h[N * D];
    fixture b;
    la_nystroem near;
    fill(h, 1, N * D);
    memcpy(h + 5 * D, h, D * sizeof *h); /* a copy */
    memset(h + 9 * D, 0, D * sizeof *h); /* a row of zeros */
    fixture_make(&b, h, N, D, 2, 2);
    build(&b, N, 3, &near);
    double *k = whole_matrix(&b), top = 0;
    assert_true(near.rows.d < N && near.rows.d > N - 10);
    for (size_t i = 0; i < N; i++) top = fmax(top, k[i * N + i]);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            assert_true(fabs(inner(&near, i, j) - k[i * N + j]) < 1e-6 * top);
    assert_true(fabs(near.explained - 1) < 1e-9);
    free(k);
    fixture_end(&b);
}

/* For inner products of rows of d numbers, d landmarks are enough. */
static void few_directions_need_few_landmarks(void **state) {
    (void)state;
    enum { N = 300, D = 6 };
    static double h[N * D];
    fixture b;
    la_nystroem near;
    fill(h, 2, N * D);
    fixture_make(&b, h, N, D, 0, 2);
    build(&b, 20, 1, &near);
    assert_int_equal(near.rows.d, D);
    assert_true(fabs(near.explained - 1) < 1e-9);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < 3; j++) {
            double want = 0;
            for (size_t k = 0; k < D; k++) want += h[i * D + k] * h[j * D + k];
            assert_true(fabs(inner(&near, i, j) - want) < 1e-4);
        }
    fixture_end(&b);
}

/* With orthogonal rows, landmarks have length 1 and all other rows 0. All rows are
 * landmarks equally often. */
static void landmarks_are_drawn_uniformly(void **state) {
    (void)state;
    enum { N = 12, M = 5, TURNS = 2000 };
    static double h[N * N];
    size_t times[N] = {0}, both = 0;
    double chi = 0, expected = (double)TURNS * M / N;
    for (size_t i = 0; i < N; i++) h[i * N + i] = 1;
    fixture b;
    fixture_make(&b, h, N, N, 0, 1);
    for (uint64_t seed = 0; seed < TURNS; seed++) {
        la_nystroem near;
        size_t count = 0;
        build(&b, M, seed, &near);
        for (size_t i = 0; i < N; i++) {
            double length = inner(&near, i, i);
            assert_true(fabs(length) < 1e-6 || fabs(length - 1) < 1e-6);
            count += length > 0.5;
            times[i] += length > 0.5;
        }
        both += inner(&near, 0, 0) > 0.5 && inner(&near, N - 1, N - 1) > 0.5;
        assert_int_equal(count, M);
        assert_true(fabs(near.explained - (double)M / N) < 1e-12);
    }
    for (size_t i = 0; i < N; i++) chi += pow((double)times[i] - expected, 2) / expected;
    assert_true(chi < chi_square_limit(N - 1));
    double pair = (double)TURNS * M * (M - 1) / N / (N - 1);
    assert_true(fabs((double)both - pair) < 5 * sqrt(pair));
    fixture_end(&b);
}

/* More landmarks explain more of the trace, and the diagonal never exceeds that of the
 * kernel. */
static void more_landmarks_explain_more(void **state) {
    (void)state;
    enum { N = 400, D = 3 };
    static double h[N * D];
    double before = 0;
    fill(h, 4, N * D);
    for (size_t m = 4; m <= 256; m *= 4) {
        fixture b;
        la_nystroem near;
        fixture_make(&b, h, N, D, 1, 2);
        build(&b, m, 7, &near);
        double *k = whole_matrix(&b), has = 0, trace = 0;
        for (size_t i = 0; i < N; i++) {
            assert_true(inner(&near, i, i) <= k[i * N + i] * (1 + 1e-6));
            has += inner(&near, i, i), trace += k[i * N + i];
        }
        assert_true(fabs(near.explained - has / trace) < 1e-6);
        assert_true(near.explained > before && near.explained <= 1);
        before = near.explained;
        free(k);
        fixture_end(&b);
    }
    assert_true(before > 0.99);
}

static void results_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    enum { N = 500, D = 5, M = 70 };
    static double h[N * D];
    static float first[N * M];
    fill(h, 5, N * D);
    for (unsigned threads = 1; threads < 4; threads++) {
        fixture b;
        la_nystroem near;
        fixture_make(&b, h, N, D, 3, threads);
        build(&b, M, 7, &near);
        assert_int_equal(near.rows.d, M);
        if (threads == 1) memcpy(first, near.rows.base, sizeof first);
        assert_memory_equal(near.rows.base, first, sizeof first);
        fixture_end(&b);
    }
}

static void rows_of_zeros_have_rank_zero(void **state) {
    (void)state;
    static const double h[60];
    fixture b;
    la_nystroem near;
    fixture_make(&b, h, 20, 3, 2, 1);
    build(&b, 5, 7, &near);
    assert_int_equal(near.rows.d, 0);
    fixture_end(&b);
}

/* ---- the basis of a whole matrix ---- */

/* With more columns than rows, the basis of the features is computed from this matrix. */
static void a_matrix_has_the_basis_of_its_features(void **state) {
    (void)state;
    enum { N = 60, D = 90, MOST = 25 };
    static double h[N * D];
    fixture b;
    la_basis one, two;
    fill(h, 6, N * D);
    fixture_make(&b, h, N, D, 0, 2);
    double *k = whole_matrix(&b);
    for (size_t i = 0; i < N; i++) /* only the lower triangle is read */
        for (size_t j = i + 1; j < N; j++) k[i * N + j] = NAN;
    assert_int_equal(la_basis_build(&one, &b.arena, &b.view, MOST), SCANT_OK);
    assert_int_equal(la_basis_of_gram(&two, &b.arena, k, N, MOST), SCANT_OK);
    assert_true(one.dim == MOST && two.dim == MOST && one.rank == N && two.rank == N);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(one.sums[i] - two.sums[i]) < 1e-8 * one.sums[N - 1]);
    free(k);
    fixture_end(&b);
}

static void a_matrix_gives_an_orthonormal_basis_within_its_plan(void **state) {
    (void)state;
    enum { N = 200, D = 3, SPARE = 4096 };
    static double h[N * D];
    static const size_t mosts[] = {1, 7, N};
    fill(h, 7, N * D);
    for (size_t s = 0; s < 3; s++) {
        fixture b;
        la_basis basis;
        fixture_make(&b, h, N, D, 2, 2);
        double *k = whole_matrix(&b);
        size_t before = peak_of(b.ctx);
        size_t plan = la_basis_of_gram_memory(N, mosts[s], 2);
        assert_int_equal(la_basis_of_gram(&basis, &b.arena, k, N, mosts[s]), SCANT_OK);
        assert_true(peak_of(b.ctx) <= before + plan + SPARE);
        assert_int_equal(basis.dim, mosts[s]);
        assert_int_equal(basis.f.m, N);
        const double *v = basis.kept.base;
        for (size_t p = 0; p < basis.dim; p++)
            for (size_t q = 0; q <= p; q++) {
                double sum = 0;
                for (size_t i = 0; i < N; i++)
                    sum += v[i * basis.dim + p] * v[i * basis.dim + q];
                assert_true(fabs(sum / N - (p == q)) < 1e-10);
            }
        assert_true(fabs(basis.sums[N - 1] - N * (double)basis.dim) < 1e-8 * N * N);
        free(k);
        fixture_end(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_as_landmarks_reproduce_the_kernel),
        cmocka_unit_test(few_directions_need_few_landmarks),
        cmocka_unit_test(landmarks_are_drawn_uniformly),
        cmocka_unit_test(more_landmarks_explain_more),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
        cmocka_unit_test(rows_of_zeros_have_rank_zero),
        cmocka_unit_test(a_matrix_has_the_basis_of_its_features),
        cmocka_unit_test(a_matrix_gives_an_orthonormal_basis_within_its_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
