/* SPDX-License-Identifier: Apache-2.0
 *
 * The rank by its threshold, and coordinates that keep inner products.
 */
#include <math.h>

#include "linalg/span.h"
#include "support.h"

typedef struct rows {
    la_rows h;
    la_view view;
    double *value;
} rows;

static void rows_make(rows *r, size_t n, size_t d, double bias) {
    r->value = calloc(n * d, sizeof(double));
    r->h = (la_rows){.n = n, .d = d, .type = LA_F64, .base = r->value};
    r->view = (la_view){.h = &r->h, .bias = bias, .m = n};
}

/* Finds the span, within the memory that la_span_memory() returns. */
static la_span span_of(const rows *r, size_t above, scant_ctx *ctx, scant__arena *arena) {
    la_span span;
    size_t before = peak_of(ctx);
    scant__arena_init(arena, ctx);
    assert_int_equal(la_span_find(&span, arena, &r->view, above, NULL), SCANT_OK);
    assert_true(peak_of(ctx) <= before + la_span_memory(&r->view, 2));
    return span;
}

static size_t rank_of(const rows *r) {
    scant_ctx *ctx = ctx_threads(2);
    scant__arena arena;
    size_t rank = span_of(r, 0, ctx, &arena).rank;
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
    return rank;
}

/* Row k is a multiple of axis k, so the eigenvalues are the squares of the factors; with
 * fewer rows than columns, and with more. */
static void eigenvalues_below_the_cut_do_not_count(void **state) {
    (void)state;
    static const double square[] = {1, 1e-3, 0.99e-10, 1.01e-10, 0, 1e-12, 0.5};
    for (size_t n = 7; n < 30; n += 10)
        for (size_t d = 7; d < 30; d += 10) {
            rows r;
            rows_make(&r, n, d, 0);
            for (size_t k = 0; k < 7; k++) r.value[k * d + k] = sqrt(square[k]);
            assert_int_equal(rank_of(&r), 4);
            free(r.value);
        }
}

static void rank_is_the_dimension_of_the_span(void **state) {
    (void)state;
    static const size_t sizes[][3] = {{50, 9, 9}, {5, 9, 5},  {50, 9, 4}, {9, 9, 9},
                                      {6, 9, 4},  {50, 9, 1}, {1, 1, 1},  {300, 40, 23}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int bias = 0; bias < 2; bias++) {
            size_t n = sizes[s][0], d = sizes[s][1], inside = sizes[s][2];
            rows r;
            rows_make(&r, n, d, bias);
            for (size_t i = 0; i < n; i++) /* products of (n, inside) and (inside, d) */
                for (size_t j = 0; j < d; j++)
                    for (size_t q = 0; q < inside; q++)
                        r.value[i * d + j] +=
                            normal_at(s, i * inside + q) * normal_at(99, q * d + j);
            size_t want = inside + (size_t)bias;
            assert_int_equal(rank_of(&r), want < n ? want : n);
            free(r.value);
        }
}

static double dot(const double *x, const double *y, size_t d) {
    double sum = 0;
    for (size_t k = 0; k < d; k++) sum += x[k] * y[k];
    return sum;
}

/* h . h' = z . z'. Coordinates are the row itself if the rows span everything, its
 * nonzero columns if some columns are 0, its product with a basis if columns are
 * dependent. 1e-12: sums of some ten numbers of order 1. */
static void coordinates_keep_inner_products(void **state) {
    (void)state;
    enum { N = 20, D = 8 };
    for (int kind = 0; kind < 3; kind++) {
        scant_ctx *ctx = ctx_threads(2);
        scant__arena arena;
        rows r;
        double z[N * D];
        rows_make(&r, N, D, 0);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < D; j++) {
                double x = normal_at(4, i * D + j);
                if (kind == 1 && j % 3 == 0) x = 0;
                if (kind == 2 && j == 5) x = 2 * r.value[i * D + 1];
                r.value[i * D + j] = x;
            }
        la_span span = span_of(&r, N, ctx, &arena);
        assert_int_equal(span.rank, kind == 0 ? D : kind == 1 ? 5 : 7);
        assert_true((span.columns != NULL) == (kind == 1));
        assert_true((span.basis != NULL) == (kind == 2));
        if (kind) {
            la_span_coordinates(&span, r.value, N, z);
            for (size_t i = 0; i < N; i++)
                for (size_t j = 0; j < N; j++) {
                    double want = dot(r.value + i * D, r.value + j * D, D);
                    double got = dot(z + i * span.rank, z + j * span.rank, span.rank);
                    assert_true(fabs(got - want) < 1e-12);
                }
        }
        scant__arena_end(&arena);
        scant_ctx_free(ctx);
        free(r.value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigenvalues_below_the_cut_do_not_count),
        cmocka_unit_test(rank_is_the_dimension_of_the_span),
        cmocka_unit_test(coordinates_keep_inner_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
