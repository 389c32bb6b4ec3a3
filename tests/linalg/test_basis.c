/* SPDX-License-Identifier: Apache-2.0
 *
 * Orthonormal bases: they are orthonormal, have the right span, keep the leading
 * directions if truncated, and do not depend on which Gram matrix is diagonalized.
 */
#include <math.h>

#include "linalg/basis.h"
#include "support.h"

/* Sums of some thousand products of order 1, and eigenvectors accurate to 1e-15. */
static const double NEAR = 1e-11;

static void assert_near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.17g, expected %.17g", got, want);
}

typedef struct built {
    scant_ctx *ctx;
    scant__arena arena;
    la_rows rows;
    la_view view;
    la_basis basis;
    size_t peak; /* bytes allocated while building */
} built;

static void build(built *b, const double *f, size_t n, size_t d, double bias,
                  const size_t *list, size_t m, size_t most, unsigned threads) {
    b->ctx = ctx_threads(threads);
    scant__arena_init(&b->arena, b->ctx);
    b->rows = (la_rows){.n = n, .d = d, .type = LA_F64, .base = f};
    b->view = (la_view){.h = &b->rows, .bias = bias, .rows = list, .m = m};
    size_t before = b->ctx->used;
    assert_int_equal(la_basis_build(&b->basis, &b->arena, &b->view, most), SCANT_OK);
    b->peak = peak_of(b->ctx) - before;
    assert_true(b->peak <= la_basis_memory(&b->view, most, threads));
    assert_true(b->ctx->used - b->ctx->blas * SCANT__BLAS_BUFFER - before <=
                la_basis_memory_kept(&b->view, most));
}

static void end(built *b) {
    scant__arena_end(&b->arena);
    scant_ctx_free(b->ctx);
}

/* v_i, computed directly. */
static void row_of(const built *b, size_t i, double *v) {
    const la_view *f = &b->basis.f;
    size_t width = la_view_width(f), row = f->rows ? f->rows[i] : i;
    const double *from = (const double *)f->h->base + row * f->h->d;
    for (size_t k = 0; k < b->basis.dim; k++) {
        v[k] = 0;
        for (size_t j = 0; j < width; j++)
            v[k] += (j < f->h->d ? from[j] : f->bias) * b->basis.p[j * b->basis.dim + k];
    }
}

static void check_orthonormal(const built *b) {
    size_t n = b->basis.f.m, dim = b->basis.dim;
    double *sum = calloc(dim * dim, sizeof *sum), *v = malloc(dim * sizeof *v);
    double total = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        double square = 0;
        row_of(b, i, v);
        for (size_t j = 0; j < dim; j++)
            for (size_t k = 0; k < dim; k++) sum[j * dim + k] += v[j] * v[k] / (double)n;
        for (size_t j = 0; j < dim; j++) square += v[j] * v[j];
        total += square;
        largest = fmax(largest, square);
        assert_near(b->basis.sums[i], total, NEAR * total);
    }
    assert_near(b->basis.largest, largest, NEAR * largest);
    for (size_t j = 0; j < dim; j++)
        for (size_t k = 0; k < dim; k++) assert_near(sum[j * dim + k], j == k, NEAR);
    free(sum);
    free(v);
}

static double *normals(uint64_t seed, size_t count) {
    double *out = malloc(count * sizeof *out);
    for (size_t i = 0; i < count; i++) out[i] = normal_at(seed, i);
    return out;
}

static void bases_are_orthonormal_over_the_listed_rows(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{1, 1},   {7, 1},    {7, 3},   {700, 9}, {3, 9},
                                       {40, 60}, {256, 40}, {30, 30}, {1, 50},  {31, 30}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t bias = 0; bias < 2; bias++) {
            size_t n = shapes[s][0], d = shapes[s][1], list[700], m = 0;
            double *f = normals(s + 1, n * d);
            built b;
            build(&b, f, n, d, (double)bias, NULL, n, 1000, 2);
            assert_int_equal(b.basis.rank, n < d + bias ? n : d + bias);
            assert_int_equal(b.basis.dim, b.basis.rank);
            check_orthonormal(&b);
            end(&b);
            for (size_t i = 0; i < n; i += 1 + i % 3) list[m++] = i;
            build(&b, f, n, d, (double)bias, list, m, 5, 3);
            assert_int_equal(b.basis.rank, m < d + bias ? m : d + bias);
            assert_true(b.basis.dim <= 5);
            check_orthonormal(&b);
            end(&b);
            free(f);
        }
}

/* The rows have different spreads along known axes; truncation keeps the largest. */
static void truncation_keeps_the_leading_directions(void **state) {
    (void)state;
    enum { N = 500, D = 4 };
    double *f = normals(5, N * D);
    for (size_t i = 0; i < N; i++) f[i * D] *= 0.01, f[i * D + 1] *= 9, f[i * D + 3] *= 5;
    built b;
    build(&b, f, N, D, 0, NULL, N, 2, 1);
    assert_int_equal(b.basis.rank, D);
    assert_int_equal(b.basis.dim, 2);
    check_orthonormal(&b);
    for (size_t k = 0; k < 2; k++) { /* the leading directions are nearly axes 1 and 3 */
        double along = fabs(b.basis.p[(k ? 3U : 1U) * 2 + k]), all = 0;
        for (size_t j = 0; j < D; j++) all += pow(b.basis.p[j * 2 + k], 2);
        assert_true(along > 0.95 * sqrt(all));
    }
    end(&b);
    free(f);
}

/* Eigenvalues of 1e-8 times the largest count, those of 1e-12 do not. */
static void directions_of_negligible_length_are_left_out(void **state) {
    (void)state;
    enum { N = 300, D = 3 };
    double *f = normals(6, N * D);
    for (size_t i = 0; i < N; i++) f[i * D + 1] *= 1e-4, f[i * D + 2] *= 1e-6;
    built b;
    build(&b, f, N, D, 0, NULL, N, 9, 1);
    assert_int_equal(b.basis.rank, 2);
    end(&b);
    for (size_t i = 0; i < N * D; i++) f[i] = 0;
    build(&b, f, N, D, 0, NULL, N, 9, 1);
    assert_int_equal(b.basis.rank, 0);
    assert_int_equal(b.basis.dim, 0);
    end(&b);
    build(&b, f, N, D, 1, NULL, N, 9, 1); /* the bias only */
    assert_int_equal(b.basis.dim, 1);
    assert_near(b.basis.largest, 1, 1e-14);
    end(&b);
    free(f);
}

/* Rows of 30 numbers that span 5 dimensions have the leverage of rows of 5 numbers. */
static void wide_rows_of_low_rank_have_the_leverage_of_narrow_rows(void **state) {
    (void)state;
    enum { N = 20, NARROW = 5, WIDE = 30 };
    double *g = normals(7, N * NARROW), *mix = normals(8, NARROW * WIDE), f[N * WIDE];
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < WIDE; k++) {
            f[i * WIDE + k] = 0;
            for (size_t j = 0; j < NARROW; j++)
                f[i * WIDE + k] += g[i * NARROW + j] * mix[j * WIDE + k];
        }
    built narrow, wide;
    build(&narrow, g, N, NARROW, 0, NULL, N, 99, 1);
    build(&wide, f, N, WIDE, 0, NULL, N, 99, 1);
    assert_int_equal(wide.basis.rank, NARROW);
    check_orthonormal(&wide);
    for (size_t i = 0; i < N; i++)
        assert_near(wide.basis.sums[i], narrow.basis.sums[i], 1e-10);
    end(&narrow);
    end(&wide);
    free(g);
    free(mix);
}

static void rows_are_found_by_their_share_and_those_of_length_0_skipped(void **state) {
    (void)state;
    double f[] = {0, 3, 0, 4, 0, 5, 0}; /* squares 9, 16, 25 of 50 */
    built b;
    build(&b, f, 7, 1, 0, NULL, 7, 1, 1);
    assert_int_equal(la_basis_row_at(&b.basis, 0), 1);
    assert_int_equal(la_basis_row_at(&b.basis, 0.1799), 1);
    assert_int_equal(la_basis_row_at(&b.basis, 0.1801), 3);
    assert_int_equal(la_basis_row_at(&b.basis, 0.4999), 3);
    assert_int_equal(la_basis_row_at(&b.basis, 0.5001), 5);
    assert_int_equal(la_basis_row_at(&b.basis, 0.9999999), 5);
    end(&b);
}

static void results_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    enum { N = 5000, D = 20 };
    double *f = normals(9, N * D);
    built one, more;
    build(&one, f, N, D, 1, NULL, N, 15, 1);
    for (unsigned threads = 2; threads <= 4; threads++) {
        build(&more, f, N, D, 1, NULL, N, 15, threads);
        assert_memory_equal(one.basis.p, more.basis.p, (D + 1) * 15 * sizeof(double));
        assert_memory_equal(one.basis.sums, more.basis.sums, N * sizeof(double));
        end(&more);
    }
    end(&one);
    free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bases_are_orthonormal_over_the_listed_rows),
        cmocka_unit_test(truncation_keeps_the_leading_directions),
        cmocka_unit_test(directions_of_negligible_length_are_left_out),
        cmocka_unit_test(wide_rows_of_low_rank_have_the_leverage_of_narrow_rows),
        cmocka_unit_test(rows_are_found_by_their_share_and_those_of_length_0_skipped),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
