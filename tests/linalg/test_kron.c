/* SPDX-License-Identifier: Apache-2.0
 *
 * Kronecker rows compared with explicit rows; the same bits for direct and fetched rows,
 * and at any thread count; memory as planned.
 */
#include <math.h>

#include "linalg/kron.h"
#include "matrix.h"

/* Sums of up to C d+ or m terms are computed in blocks, with at most 1500 roundings of
 * 2^-53 in sequence: an error of 1.7e-13 times the sum of magnitudes, and twice that for
 * a product of two such sums. */
static const double NEAR = 1e-12;

/* Rows, weights, a matrix R, and other rows to pair with. */
typedef struct problem {
    matrix h, a;
    la_view v;
    size_t width, classes, others;
    double *w, *r;
    size_t *list, *other;
} problem;

typedef struct shape {
    size_t n, d, c;
    bool bias;
} shape;

/* One row, one column, two classes and a thousand, incomplete blocks, other rows in two
 * blocks (300 rows and more), stripes (200 x 300), several rounds (140000). */
static const shape shapes[] = {
    {1, 1, 2, false},    {1, 1, 2, true},       {2, 3, 2, true},     {7, 1, 1000, true},
    {20, 2, 1000, true}, {256, 4, 3, false},    {257, 5, 10, true},  {700, 3, 4, true},
    {30, 9, 7, true},    {600, 299, 200, true}, {140000, 1, 2, true}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

#ifdef SCANT_SANITIZED
enum { LARGE_STEP = 15 }; /* large shapes: all float and fetched, all double and direct */
#else
enum { LARGE_STEP = 5 };
#endif

static bool is_small(const shape *s) { return s->n * s->d * s->c <= 70000; }

/* how: bits for types, and for direct or fetched rows. listed: by a list with runs and
 * repeats. */
static void problem_make(problem *p, const shape *s, unsigned how, bool listed) {
    matrix_make(&p->h, 7, s->n, s->d, how & 1 ? LA_F64 : LA_F32, how & 2);
    matrix_make(&p->a, 8, s->n, s->c, how & 4 ? LA_F64 : LA_F32, how & 8);
    p->v = (la_view){.h = &p->h.rows, .a = &p->a.rows, .m = s->n};
    p->v.bias = s->bias ? 0.5 : 0;
    p->width = la_view_width(&p->v);
    p->classes = s->c;
    p->others = s->n < 400 ? s->n : s->n > 1000 ? 2 : 400;
    p->w = malloc(s->n * sizeof *p->w);
    p->r = malloc(p->width * s->c * sizeof *p->r);
    p->list = malloc(s->n * sizeof *p->list);
    p->other = malloc(p->others * sizeof *p->other);
    assert_true(p->w && p->r && p->list && p->other);
    for (size_t i = 0; i < s->n; i++) {
        p->w[i] = i % 5 ? normal_at(9, i) : 0;
        p->list[i] = i % 100 < 60 ? i : (s->n - i) * 7 % s->n;
    }
    for (size_t i = 0; i < p->width * s->c; i++) p->r[i] = normal_at(10, i);
    for (size_t j = 0; j < p->others; j++) p->other[j] = j * 3 % s->n;
    if (listed) p->v.rows = p->list, p->v.m = s->n - s->n / 4;
}

static void problem_end(problem *p) {
    matrix_end(&p->h);
    matrix_end(&p->a);
    free(p->w);
    free(p->r);
    free(p->list);
    free(p->other);
}

static size_t row_at(const problem *p, size_t i) { return p->v.rows ? p->v.rows[i] : i; }

/* The explicit row g (C, d+), which the library never builds. */
static void build(const problem *p, size_t row, double *g) {
    for (size_t c = 0; c < p->classes; c++)
        for (size_t k = 0; k < p->width; k++)
            g[c * p->width + k] =
                p->a.value[row * p->classes + c] *
                (k < p->h.rows.d ? p->h.value[row * p->h.rows.d + k] : p->v.bias);
}

/* ---- calls, each with work space of exactly its size ---- */

/* The result of GRADIENT is `out` followed by `sum`. */
typedef enum kind { NORMS, PAIRS, SUM, DOTS, GRADIENT, ALONG, KINDS } kind;

static size_t call_size(const problem *p, kind what) {
    size_t m = p->v.m;
    size_t whole = p->classes * p->width;
    if (what == GRADIENT) return m + whole;
    return what == PAIRS ? m * p->others : what == SUM ? whole : m;
}

/* The number of other rows that ALONG uses. */
static size_t few(const problem *p) { return p->others < 5 ? p->others : 5; }

static size_t call_memory(const problem *p, kind what, unsigned threads) {
    if (what == NORMS) return la_kron_norms_memory(&p->v, threads);
    if (what == PAIRS) return la_kron_pairs_memory(&p->v, p->others, threads);
    if (what == SUM) return la_kron_sum_memory(&p->v, threads);
    if (what == GRADIENT) return la_kron_gradient_memory(&p->v, threads);
    if (what == ALONG) return la_kron_along_memory(&p->v, few(p), threads);
    return la_kron_dots_memory(&p->v, threads);
}

static scant_status call_run(const problem *p, kind what, double *out, la_work *work) {
    if (what == NORMS) return la_kron_norms(&p->v, out, work);
    if (what == PAIRS) return la_kron_pairs(&p->v, p->other, p->others, out, work);
    if (what == SUM) return la_kron_sum(&p->v, p->w, out, work);
    if (what == GRADIENT)
        return la_kron_gradient(&p->v, p->r, 0.5, p->w, 2, out, out + p->v.m, work);
    if (what == ALONG) return la_kron_along(&p->v, p->other, few(p), p->r, out, work);
    return la_kron_dots(&p->v, p->r, out, work);
}

/* Calls twice with the same work space, which the first call leaves dirty: both agree. */
static double *result(const problem *p, kind what, unsigned threads) {
    scant_ctx *ctx = ctx_threads(threads);
    scant__arena arena;
    la_work work;
    size_t size = call_size(p, what);
    double *first = malloc((size + 1) * sizeof *first), *out = malloc((size + 1) * 8);
    assert_true(first && out);
    for (size_t i = 0; i <= size; i++) first[i] = out[i] = NAN;
    scant__arena_init(&arena, ctx);
    assert_int_equal(la_work_init(&work, &arena, call_memory(p, what, threads)),
                     SCANT_OK);
    assert_int_equal(call_run(p, what, first, &work), SCANT_OK);
    assert_int_equal(call_run(p, what, out, &work), SCANT_OK);
    assert_memory_equal(first, out, size * sizeof *out);
    assert_true(isnan(out[size])); /* nothing is written past the end */
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
    free(first);
    return out;
}

/* ---- against explicit rows ---- */

static void check_near(double got, double want, double magnitude) {
    if (fabs(got - want) <= NEAR * magnitude) return;
    fail_msg("%.17g, expected %.17g (magnitude %.3g)", got, want, magnitude);
}

static void check_dot(double got, const double *x, const double *y, size_t size) {
    long double sum = 0, magnitude = 0;
    for (size_t k = 0; k < size; k++) {
        sum += (long double)x[k] * y[k];
        magnitude += fabsl((long double)x[k] * y[k]);
    }
    check_near(got, (double)sum, (double)magnitude);
}

static void check_problem(const problem *p) {
    size_t m = p->v.m, size = p->classes * p->width;
    double *g = malloc(size * sizeof *g), *other = malloc(size * sizeof *g);
    double *norms = result(p, NORMS, 2), *pairs = result(p, PAIRS, 2);
    double *sum = result(p, SUM, 2), *dots = result(p, DOTS, 2);
    double *gradient = result(p, GRADIENT, 2), *along = result(p, ALONG, 2);
    long double *want = calloc(4 * size, sizeof *want), *magnitude = want + size;
    long double *image = magnitude + size, *image_magnitude = image + size;
    for (size_t i = 0; i < m; i++) {
        build(p, row_at(p, i), g);
        check_dot(norms[i], g, g, size);
        check_dot(dots[i], g, p->r, size);
        for (size_t k = 0; k < size; k++) {
            long double x = (long double)p->w[row_at(p, i)] * g[k];
            want[k] += x;
            magnitude[k] += fabsl(x);
            image[k] += (long double)gradient[i] * g[k];
            image_magnitude[k] += fabsl((long double)gradient[i] * g[k]);
        }
        assert_true(gradient[i] == 0.5 * dots[i] + 2 * p->w[i]);
        long double to = 0, to_magnitude = 0;
        for (size_t j = 0; j < few(p); j++) {
            build(p, p->other[j], other);
            for (size_t k = 0; k < size; k++) {
                long double x = (long double)p->r[j] * g[k] * other[k];
                to += x, to_magnitude += fabsl(x);
            }
        }
        check_near(along[i], (double)to, (double)to_magnitude);
        for (size_t j = i % 7; j < p->others; j += 7) {
            build(p, p->other[j], other);
            check_dot(pairs[i * p->others + j], g, other, size);
        }
    }
    for (size_t k = 0; k < size; k++) {
        check_near(sum[k], (double)want[k], (double)magnitude[k]);
        check_near(gradient[m + k], (double)image[k], (double)image_magnitude[k]);
    }
    free(gradient);
    free(along);
    free(g);
    free(other);
    free(norms);
    free(pairs);
    free(sum);
    free(dots);
    free(want);
}

static void results_match_explicit_rows(void **state) {
    (void)state;
    for (size_t s = 0; s < SHAPES; s++)
        for (unsigned how = 0; is_small(&shapes[s]) && how < 16; how += 5) {
            problem p;
            problem_make(&p, &shapes[s], how, how & 2);
            check_problem(&p);
            problem_end(&p);
        }
}

static void results_do_not_depend_on_threads_or_on_fetching(void **state) {
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        double *want[KINDS] = {NULL};
        const unsigned step = is_small(&shapes[s]) ? 5 : LARGE_STEP;
        for (unsigned how = 0; how < 16; how += step) {
            problem p;
            problem_make(&p, &shapes[s], how, false);
            for (unsigned run = 0; run < KINDS * THREAD_COUNTS; run++) {
                kind what = run % KINDS;
                double *got = result(&p, what, thread_counts[run / KINDS]);
                if (!want[what]) {
                    want[what] = got;
                    continue;
                }
                assert_memory_equal(got, want[what], call_size(&p, what) * sizeof *got);
                free(got);
            }
            problem_end(&p);
        }
        for (kind k = 0; k < KINDS; k++) free(want[k]);
    }
}

/* For large shapes, where explicit rows are too slow, by algebra: with M = sum w_i g_i,
 * sum_i w_i <g_i, R> = <M, R>; and with row j as R, <g_i, R> is the pair (i, j). */
static void sums_dots_and_pairs_agree_with_each_other(void **state) {
    (void)state;
    for (size_t s = 0; s < SHAPES; s++) {
        problem p;
        problem_make(&p, &shapes[s], 5, false);
        size_t size = p.classes * p.width;
        double *sum = result(&p, SUM, 3), *dots = result(&p, DOTS, 3);
        double *norms = result(&p, NORMS, 3), *pairs = result(&p, PAIRS, 3);
        long double left = 0, right = 0, magnitude = 0, length = 0;
        for (size_t k = 0; k < size; k++) {
            right += (long double)sum[k] * p.r[k];
            length += (long double)p.r[k] * p.r[k];
        }
        for (size_t i = 0; i < p.v.m; i++) {
            left += (long double)p.w[i] * dots[i];
            magnitude += fabsl(p.w[i]) * sqrtl(norms[i] * length); /* Cauchy-Schwarz */
        }
        check_near((double)left, (double)right, (double)magnitude);
        size_t last = p.others - 1, row = p.other[last];
        build(&p, row, p.r);
        double *again = result(&p, DOTS, 3);
        for (size_t i = 0; i < p.v.m; i++)
            check_near(again[i], pairs[i * p.others + last],
                       sqrt(norms[i] * norms[row]) * 10);
        problem_end(&p);
        free(sum);
        free(dots);
        free(norms);
        free(pairs);
        free(again);
    }
}

/* The squared length of a sum is the sum of all pairs; dynamics strategies use this. */
static void the_length_of_a_sum_is_the_sum_of_pairs(void **state) {
    (void)state;
    problem p;
    problem_make(&p, &(shape){30, 9, 7, true}, 0, false);
    for (size_t i = 0; i < 30; i++) p.w[i] = 1, p.other[i] = i;
    double *sum = result(&p, SUM, 2), *pairs = result(&p, PAIRS, 2);
    long double length = 0, all = 0, magnitude = 0;
    for (size_t k = 0; k < p.classes * p.width; k++)
        length += (long double)sum[k] * sum[k];
    for (size_t k = 0; k < 900; k++) all += pairs[k], magnitude += fabs(pairs[k]);
    check_near((double)length, (double)all, (double)magnitude);
    for (size_t i = 0; i < 30; i++) /* row 3 is a copy of row 2 */
        check_near(pairs[2 * 30 + i], pairs[3 * 30 + i], fabs(pairs[3 * 30 + i]));
    free(sum);
    free(pairs);
    problem_end(&p);
}

static void a_small_problem_matches_values_by_hand(void **state) {
    (void)state;
    problem p;
    problem_make(&p, &(shape){2, 1, 2, true}, 15, false);
    double *h = p.h.data, *a = p.a.data, *w = p.w;
    h[0] = 3, h[p.h.rows.d] = -1, p.v.bias = 1; /* h+ = (3, 1), (-1, 1) */
    a[0] = 1, a[1] = -1, a[p.a.rows.d] = 2, a[p.a.rows.d + 1] = 0;
    w[0] = 1, w[1] = 10;
    for (size_t i = 0; i < 4; i++) p.r[i] = (double)i + 1; /* (1 2; 3 4) */
    p.other[0] = 0, p.other[1] = 1;
    static const double want[KINDS][6] = {
        {20, 8}, {20, -4, -4, 8},         {-17, 21, -3, -1},
        {-8, 2}, {-2, 21, -48, 40, 6, 2}, {12, 12}};
    for (kind k = 0; k < KINDS; k++) {
        double *got = result(&p, k, 1);
        for (size_t i = 0; i < call_size(&p, k); i++) assert_true(got[i] == want[k][i]);
        free(got);
    }
    problem_end(&p);
}

static void without_a_the_rows_are_those_of_h(void **state) {
    (void)state;
    problem p;
    double *with[KINDS];
    problem_make(&p, &(shape){300, 5, 2, true}, 0, false);
    for (size_t i = 0; i < 300; i++) /* a = (1, 0) keeps all inner products */
        for (size_t c = 0; c < 2; c++)
            ((float *)p.a.data)[i * p.a.rows.d + c] = c ? 0 : 1;
    for (size_t k = 0; k < p.width; k++) p.r[p.width + k] = 0;
    for (kind k = 0; k < KINDS; k++) with[k] = result(&p, k, 2);
    p.v.a = NULL, p.classes = 1;
    for (kind k = 0; k < KINDS; k++) { /* for a sum: its first row; the other is 0 */
        double *bare = result(&p, k, 2);
        assert_memory_equal(bare, with[k], call_size(&p, k) * sizeof *bare);
        free(bare);
        free(with[k]);
    }
    problem_end(&p);
}

/* A list in the matrices gives the same as a list in the view. */
static void lists_in_views_and_in_matrices_agree(void **state) {
    (void)state;
    for (unsigned how = 0; how < 16; how += 5) {
        problem p;
        problem_make(&p, &(shape){700, 9, 3, true}, how, true);
        double *want[KINDS], *by_row = malloc(700 * sizeof *by_row), *by_number = p.w;
        for (size_t i = 0; i < p.v.m; i++) by_row[i] = p.w[p.list[i]];
        for (kind k = 0; k < KINDS; k++) want[k] = result(&p, k, 2);
        p.h.rows.list = p.a.rows.list = p.list;
        p.v.rows = NULL;
        for (kind k = 0; k < KINDS; k++) {
            if (k == PAIRS || k == ALONG)
                continue; /* the list would apply to the other rows, too */
            p.w = k == SUM ? by_row : by_number; /* sums index weights by row number */
            double *got = result(&p, k, 2);
            assert_memory_equal(got, want[k], call_size(&p, k) * sizeof *got);
            free(got);
        }
        for (kind k = 0; k < KINDS; k++) free(want[k]);
        p.w = by_number;
        free(by_row);
        problem_end(&p);
    }
}

static void weights_may_be_left_out(void **state) {
    (void)state;
    problem p;
    problem_make(&p, &(shape){600, 3, 4, true}, 0, true);
    for (size_t i = 0; i < 600; i++) p.w[i] = 1;
    double *ones = result(&p, SUM, 2), *weights = p.w;
    p.w = NULL;
    double *none = result(&p, SUM, 2);
    p.w = weights;
    assert_memory_equal(ones, none, call_size(&p, SUM) * sizeof *ones);
    free(ones);
    free(none);
    problem_end(&p);
}

static void empty_views_give_zeros(void **state) {
    (void)state;
    problem p;
    problem_make(&p, &(shape){5, 3, 4, true}, 0, false);
    p.v.m = 0; /* an empty list may be NULL */
    for (kind k = 0; k < KINDS; k++) {
        double *got = result(&p, k, 2);
        for (size_t i = 0; i < call_size(&p, k); i++) assert_true(got[i] == 0);
        free(got);
    }
    p.v.m = 5, p.others = 0;
    free(result(&p, PAIRS, 2));
    problem_end(&p);
}

/* ---- memory ---- */

static void memory_is_as_planned_and_allocated_once(void **state) {
    (void)state;
    for (size_t s = 0; s < SHAPES; s++)
        for (unsigned run = 0; run < KINDS * 2; run++) {
            problem p;
            memory count;
            scant_ctx *ctx = ctx_counting(&count);
            scant__arena arena;
            la_work work;
            kind what = run / 2;
            scant__arena_init(&arena, ctx);
            problem_make(&p, &shapes[s], run & 1 ? 10 : 0, false);
            double *out = malloc(call_size(&p, what) * sizeof *out);
            size_t planned = call_memory(&p, what, 2);
            assert_int_equal(la_work_init(&work, &arena, planned), SCANT_OK);
            size_t calls = count.calls;
            assert_int_equal(call_run(&p, what, out, &work), SCANT_OK);
            assert_int_equal(count.calls, calls);
            assert_true(peak_of(ctx) <= planned);
            work.memory--;
            assert_int_equal(call_run(&p, what, out, &work), SCANT_EINTERNAL);
            work.memory = 10;
            assert_int_equal(call_run(&p, what, out, &work), SCANT_EINTERNAL);
            scant__arena_end(&arena);
            scant_ctx_free(ctx);
            assert_int_equal(count.live, 0);
            problem_end(&p);
            free(out);
        }
}

static void memory_does_not_grow_with_rows_or_with_classes_times_columns(void **state) {
    (void)state;
    la_rows h = {.n = 1, .d = 512, .base = ""}, a = h;
    a.d = 1000;
    la_view v = {.h = &h, .a = &a, .bias = 1};
    for (size_t n = 1000000; n < 2000000000; n *= 10) {
        h.n = a.n = v.m = n;
        /* two workers of 256 (513 + 1000 + 1000) doubles, and 32 MB of partial sums */
        assert_true(la_kron_dots_memory(&v, 2) < 11 << 20);
        assert_true(la_kron_norms_memory(&v, 2) < 11 << 20);
        assert_true(la_kron_pairs_memory(&v, 1000, 2) < 11 << 20);
        assert_true(la_kron_sum_memory(&v, 2) < 43 << 20);
        assert_true(la_kron_gradient_memory(&v, 2) < 47 << 20);
    }
}

static void running_out_of_memory_leaks_nothing(void **state) {
    (void)state;
    problem p;
    problem_make(&p, &(shape){300, 4, 3, true}, 0, false);
    for (kind k = 0; k < KINDS; k++) {
        memory count;
        scant_ctx *ctx = ctx_counting(&count);
        scant__arena arena;
        la_work work;
        size_t before = count.live;
        count.fail_at = count.calls; /* the only allocation */
        scant__arena_init(&arena, ctx);
        assert_int_equal(la_work_init(&work, &arena, call_memory(&p, k, 2)),
                         SCANT_ENOMEM);
        assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
        assert_int_equal(count.live, before);
        scant__arena_end(&arena);
        scant_ctx_free(ctx);
        assert_int_equal(count.live, 0);
    }
    problem_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_match_explicit_rows),
        cmocka_unit_test(results_do_not_depend_on_threads_or_on_fetching),
        cmocka_unit_test(sums_dots_and_pairs_agree_with_each_other),
        cmocka_unit_test(the_length_of_a_sum_is_the_sum_of_pairs),
        cmocka_unit_test(a_small_problem_matches_values_by_hand),
        cmocka_unit_test(without_a_the_rows_are_those_of_h),
        cmocka_unit_test(lists_in_views_and_in_matrices_agree),
        cmocka_unit_test(weights_may_be_left_out),
        cmocka_unit_test(empty_views_give_zeros),
        cmocka_unit_test(memory_is_as_planned_and_allocated_once),
        cmocka_unit_test(memory_does_not_grow_with_rows_or_with_classes_times_columns),
        cmocka_unit_test(running_out_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
