/* SPDX-License-Identifier: Apache-2.0
 *
 * Products over rows compared with plain sums in long double; the same bits for direct
 * and fetched rows, and at any thread count; memory as planned.
 */
#include <math.h>
#include <stdio.h>

#include "linalg/products.h"
#include "matrix.h"

/* A sum in double adds the 256 terms of a block, the blocks of a part, and the parts:
 * fewer than 1000 roundings of 2^-53, so an error of 1.1e-13 of the sum of magnitudes. */
static const long double NEAR = 1e-12L;

/* Number k of row i of the view's H+. */
static double at(const matrix *m, const la_view *v, size_t i, size_t k) {
    size_t row = v->rows ? v->rows[i] : i;
    return k < m->rows.d ? m->value[row * m->rows.d + k] : v->bias;
}

static double weight_at(const la_view *v, const double *w, size_t i) {
    return w ? w[v->rows ? v->rows[i] : i] : 1;
}

/* ---- calls, each with work space of exactly its size ---- */

typedef enum kind { GRAM, SUMS, TIMES, KINDS } kind;
enum { K = 3 }; /* columns of b in la_times() */

typedef struct call {
    kind kind;
    const la_view *v;
    const double *w, *b;
} call;

static size_t call_size(const call *c) { /* of the result */
    size_t width = la_view_width(c->v);
    return c->kind == GRAM ? width * width : c->kind == SUMS ? width : c->v->m * K;
}

static size_t call_memory(const call *c, unsigned threads) {
    if (c->kind == GRAM) return la_gram_memory(c->v, threads);
    if (c->kind == SUMS) return la_sums_memory(c->v, threads);
    return la_times_memory(c->v, K, threads);
}

static scant_status call_run(const call *c, double *out, la_work *work) {
    if (c->kind == GRAM) return la_gram(c->v, c->w, out, work);
    if (c->kind == SUMS) return la_sums(c->v, c->w, out, work);
    return la_times(c->v, c->b, K, out, work);
}

/* Calls twice with the same work space, which the first call leaves dirty: both agree. */
static double *result(const call *c, unsigned threads) {
    scant_ctx *ctx = ctx_threads(threads);
    scant__arena arena;
    la_work work;
    size_t size = call_size(c);
    double *first = malloc((size + 1) * sizeof *first), *out = malloc((size + 1) * 8);
    assert_true(first && out);
    for (size_t i = 0; i <= size; i++) first[i] = out[i] = NAN;
    scant__arena_init(&arena, ctx);
    assert_int_equal(la_work_init(&work, &arena, call_memory(c, threads)), SCANT_OK);
    assert_int_equal(call_run(c, first, &work), SCANT_OK);
    assert_int_equal(call_run(c, out, &work), SCANT_OK);
    assert_memory_equal(first, out, size * sizeof *out);
    assert_true(isnan(out[size])); /* nothing is written past the end */
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
    free(first);
    return out;
}

/* ---- against plain sums ---- */

static void check_near(double got, long double want, long double magnitude) {
    if (fabsl((long double)got - want) <= NEAR * magnitude) return;
    fail_msg("%.17g, expected %.17Lg (magnitude %.3Lg)", got, want, magnitude);
}

static void check_gram(const matrix *m, const call *c, const double *got) {
    size_t width = la_view_width(c->v);
    for (size_t i = 0; i < width; i++)
        for (size_t j = 0; j <= i; j++) {
            long double sum = 0, magnitude = 0;
            for (size_t r = 0; r < c->v->m; r++) {
                long double x = at(m, c->v, r, i), y = at(m, c->v, r, j);
                sum += weight_at(c->v, c->w, r) * x * y;
                magnitude += weight_at(c->v, c->w, r) * fabsl(x * y);
            }
            check_near(got[i * width + j], sum, magnitude);
            assert_memory_equal(&got[i * width + j], &got[j * width + i], 8);
        }
}

static void check_sums(const matrix *m, const call *c, const double *got) {
    for (size_t k = 0; k < la_view_width(c->v); k++) {
        long double sum = 0, magnitude = 0;
        for (size_t r = 0; r < c->v->m; r++) {
            long double x = (long double)weight_at(c->v, c->w, r) * at(m, c->v, r, k);
            sum += x;
            magnitude += fabsl(x);
        }
        check_near(got[k], sum, magnitude);
    }
}

static void check_times(const matrix *m, const call *c, const double *got) {
    for (size_t r = 0; r < c->v->m; r++)
        for (size_t j = 0; j < K; j++) {
            long double sum = 0, magnitude = 0;
            for (size_t k = 0; k < la_view_width(c->v); k++) {
                long double x = (long double)at(m, c->v, r, k) * c->b[k * K + j];
                sum += x;
                magnitude += fabsl(x);
            }
            check_near(got[r * K + j], sum, magnitude);
        }
}

static void (*const checks[KINDS])(const matrix *, const call *, const double *) = {
    check_gram, check_sums, check_times};

/* One row, one column, incomplete blocks, several parts (5000), stripes of columns
 * (300 wide), several rounds (140000). */
static const struct {
    size_t n, d;
} shapes[] = {{1, 1},   {1, 7},   {5, 1},    {255, 3},   {256, 8},   {257, 9},
              {600, 9}, {70, 40}, {5000, 5}, {600, 299}, {140000, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Weights 0 and 1 (mask), or from 0 to 3. */
static void weights_make(double *w, size_t n, bool mask) {
    for (size_t i = 0; i < n; i++) w[i] = mask ? (double)(i % 3 == 0) : 3 * unit_at(9, i);
}

static size_t list_make(size_t *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        rows[i] = i % 100 < 60 ? i : (n - i) * 7 % n; /* runs of sixty, then others */
    return n > 1 ? n - n / 4 : 1;
}

static void results_match_plain_sums(void **state) {
    (void)state;
    double b[301 * K];
    for (size_t i = 0; i < 301 * K; i++) b[i] = normal_at(3, i);
    for (size_t s = 0; s < SHAPES; s++) {
        size_t n = shapes[s].n;
        double *w = malloc(n * sizeof *w);
        size_t *list = malloc(n * sizeof *list), listed = list_make(list, n);
        for (unsigned how = 0; how < 8; how++) { /* bits: type, direct, bias */
            matrix m;
            matrix_make(&m, 7, n, shapes[s].d, how & 1 ? LA_F64 : LA_F32, how & 2);
            la_view v = {.h = &m.rows, .m = n, .bias = how & 4 ? 0.5 : 0};
            if (how == 1 || how == 6) v.rows = list, v.m = listed;
            weights_make(w, n, how & 1);
            for (kind what = 0; what < KINDS; what++) {
                if (n * shapes[s].d > 100000 && how != 1 && how != 4) continue;
                call c = {what, &v, how % 3 ? w : NULL, b};
                double *got = result(&c, 2);
                checks[what](&m, &c, got);
                free(got);
            }
            matrix_end(&m);
        }
        free(w);
        free(list);
    }
}

static void results_do_not_depend_on_threads_or_on_fetching(void **state) {
    (void)state;
    double b[301 * K];
    for (size_t i = 0; i < 301 * K; i++) b[i] = normal_at(3, i);
    for (size_t s = 0; s < SHAPES; s++) {
        size_t n = shapes[s].n;
        double *w = malloc(n * sizeof *w), *want[KINDS] = {NULL};
        weights_make(w, n, false);
        for (unsigned how = 0; how < 4; how++) {
            matrix m;
            matrix_make(&m, 7, n, shapes[s].d, how & 1 ? LA_F64 : LA_F32, how & 2);
            la_view v = {.h = &m.rows, .m = n, .bias = 1};
            for (unsigned run = 0; run < KINDS * THREAD_COUNTS; run++) {
                call c = {run % KINDS, &v, w, b};
                double *got = result(&c, thread_counts[run / KINDS]);
                if (!want[c.kind]) {
                    want[c.kind] = got;
                    continue;
                }
                assert_memory_equal(got, want[c.kind], call_size(&c) * sizeof *got);
                free(got);
            }
            matrix_end(&m);
        }
        for (kind k = 0; k < KINDS; k++) free(want[k]);
        free(w);
    }
}

/* Two parts, a dozen stripes, two rounds; checks some of the two million numbers. */
static void a_wide_gram_is_computed_in_stripes(void **state) {
    (void)state;
    enum { N = 600, D = 1499 };
    matrix m;
    double w[N], *want = NULL;
    matrix_make(&m, 7, N, D, LA_F32, true);
    weights_make(w, N, false);
    la_view v = {.h = &m.rows, .m = N, .bias = 1};
    call c = {.kind = GRAM, .v = &v, .w = w};
    assert_true(la_gram_memory(&v, 1) < (size_t)64 << 20);
    for (size_t t = 0; t < THREAD_COUNTS; t++) {
        double *got = result(&c, thread_counts[t]);
        if (want) assert_memory_equal(got, want, call_size(&c) * sizeof *got);
        free(want);
        want = got;
    }
    for (size_t i = 0; i < call_size(&c); i += 9973) {
        long double sum = 0, magnitude = 0;
        for (size_t r = 0; r < N; r++) {
            long double x = at(&m, &v, r, i / (D + 1)), y = at(&m, &v, r, i % (D + 1));
            sum += w[r] * x * y;
            magnitude += w[r] * fabsl(x * y);
        }
        check_near(want[i], sum, magnitude);
    }
    free(want);
    matrix_end(&m);
}

/* ---- properties and anchors ---- */

static void a_small_gram_matches_values_by_hand(void **state) {
    (void)state;
    const double rows[3][2] = {{1, 2}, {3, -1}, {0, 4}}, w[] = {1, 4, 0};
    la_rows h = {.n = 3, .d = 2, .type = LA_F64};
    h.base = rows;
    la_view v = {.h = &h, .bias = 1, .m = 3};
    double *g = result(&(call){.kind = GRAM, .v = &v, .w = w}, 1);
    const double want[] = {37, -10, 13, -10, 8, -2, 13, -2, 5};
    for (size_t i = 0; i < 9; i++) assert_true(g[i] == want[i]); /* small integers */
    double *sums = result(&(call){.kind = SUMS, .v = &v, .w = w}, 1);
    assert_true(sums[0] == 13 && sums[1] == -2 && sums[2] == 5);
    free(g);
    free(sums);
}

static void weights_of_0_and_1_equal_a_list_of_rows(void **state) {
    (void)state;
    enum { N = 700, D = 6 };
    matrix m;
    double w[N];
    size_t list[N], listed = 0;
    matrix_make(&m, 7, N, D, LA_F32, false);
    weights_make(w, N, true);
    for (size_t i = 0; i < N; i++)
        if (w[i] > 0) list[listed++] = i;
    la_view all = {.h = &m.rows, .m = N, .bias = 1},
            some = {.h = &m.rows, .m = listed, .rows = list, .bias = 1};
    double *x = result(&(call){.kind = GRAM, .v = &all, .w = w}, 2);
    double *y = result(&(call){.kind = GRAM, .v = &some}, 2);
    for (size_t i = 0; i < (D + 1) * (D + 1); i++) check_near(x[i], y[i], N);
    free(x);
    free(y);
    matrix_end(&m);
}

static void rows_outside_the_list_have_no_effect(void **state) {
    (void)state;
    matrix m;
    matrix_make(&m, 7, 50, 4, LA_F64, true);
    for (size_t i = 0; i < 50; i++)
        if (i % 10)
            for (size_t k = 0; k < 4; k++) ((double *)m.data)[i * 4 + k] = NAN;
    const size_t list[] = {40, 0, 10, 10, 20};
    double b[4 * K];
    for (size_t i = 0; i < 4 * K; i++) b[i] = 1;
    la_view v = {.h = &m.rows, .rows = list, .m = 5};
    for (kind what = 0; what < KINDS; what++) {
        call c = {what, &v, NULL, b};
        double *got = result(&c, 2);
        checks[what](&m, &c, got);
        free(got);
    }
    matrix_end(&m);
}

static void empty_views_give_zeros(void **state) {
    (void)state;
    matrix m;
    matrix_make(&m, 7, 5, 3, LA_F32, false);
    la_view v = {.h = &m.rows, .bias = 1, .m = 0}; /* an empty list may be NULL */
    for (kind what = 0; what < KINDS; what++) {
        call c = {what, &v, NULL, NULL};
        double *got = result(&c, 2);
        for (size_t i = 0; i < call_size(&c); i++) assert_true(got[i] == 0);
        free(got);
    }
    matrix_end(&m);
}

/* ---- memory, cancel ---- */

static void memory_is_as_planned_and_allocated_once(void **state) {
    (void)state;
    double b[301 * K] = {0};
    for (size_t s = 0; s < SHAPES; s++)
        for (unsigned run = 0; run < KINDS * 2; run++) {
            matrix m;
            memory count;
            scant_ctx *ctx = ctx_counting(&count);
            scant__arena arena;
            la_work work;
            scant__arena_init(&arena, ctx);
            matrix_make(&m, 7, shapes[s].n, shapes[s].d, LA_F32, run & 1);
            la_view v = {.h = &m.rows, .m = shapes[s].n, .bias = 1};
            call c = {run / 2, &v, NULL, b};
            double *out = malloc(call_size(&c) * sizeof *out);
            size_t planned = call_memory(&c, 2);
            assert_int_equal(la_work_init(&work, &arena, planned), SCANT_OK);
            size_t calls = count.calls;
            assert_int_equal(call_run(&c, out, &work), SCANT_OK);
            assert_int_equal(count.calls, calls);
            assert_true(peak_of(ctx) <= planned);
            work.memory--;
            assert_int_equal(call_run(&c, out, &work), SCANT_EINTERNAL);
            scant__arena_end(&arena);
            scant_ctx_free(ctx);
            assert_int_equal(count.live, 0);
            matrix_end(&m);
            free(out);
        }
}

static void running_out_of_memory_leaks_nothing(void **state) {
    (void)state;
    matrix m;
    matrix_make(&m, 7, 300, 4, LA_F32, false);
    la_view v = {.h = &m.rows, .m = 300, .bias = 1};
    for (kind what = 0; what < KINDS; what++) {
        memory count;
        scant_ctx *ctx = ctx_counting(&count);
        scant__arena arena;
        la_work work;
        size_t before = count.live;
        count.fail_at = count.calls; /* the only allocation */
        scant__arena_init(&arena, ctx);
        size_t planned = call_memory(&(call){.kind = what, .v = &v}, 2);
        assert_int_equal(la_work_init(&work, &arena, planned), SCANT_ENOMEM);
        assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
        assert_int_equal(count.live, before);
        scant__arena_end(&arena);
        scant_ctx_free(ctx);
        assert_int_equal(count.live, 0);
    }
    matrix_end(&m);
}

/* d+^2 is more than can be addressed; the plan must not wrap around. */
static void huge_sizes_are_planned_as_too_large(void **state) {
    (void)state;
    la_rows h = {.n = SIZE_MAX / 2, .d = SIZE_MAX / 64, .base = ""};
    la_view v = {.h = &h, .m = h.n};
    assert_true(la_gram_memory(&v, 64) > SIZE_MAX / 2);
    assert_true(la_times_memory(&v, SIZE_MAX, 64) > SIZE_MAX / 2);
    scant_ctx *ctx = ctx_threads(1);
    la_work work = {.ctx = ctx, .memory = SIZE_MAX};
    assert_int_equal(la_gram(&v, NULL, NULL, &work), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "too large for BLAS"));
    scant_ctx_free(ctx);
}

typedef struct watch {
    unsigned polls, limit;
    double last;
    bool back; /* progress decreased */
} watch;

static int stop(void *user) {
    watch *w = user;
    return w->polls++ >= w->limit;
}

static void on_progress(void *user, const char *phase, double fraction) {
    watch *w = user;
    assert_string_equal(phase, "summing");
    w->back = w->back || fraction < w->last;
    w->last = fraction;
}

static void long_sums_report_progress_and_can_be_cancelled(void **state) {
    (void)state;
    enum { N = 300000 };
    matrix m;
    matrix_make(&m, 7, N, 1, LA_F32, true);
    la_view v = {.h = &m.rows, .m = N};
    for (unsigned limit = 1; limit < 1000; limit += 998) {
        watch watched = {.limit = limit};
        scant_ctx_opts opts = {
            .threads = 1, .user = &watched, .cancel = stop, .progress = on_progress};
        scant_ctx *ctx;
        scant__arena arena;
        la_work work;
        double sum;
        assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
        scant__arena_init(&arena, ctx);
        assert_int_equal(la_work_init(&work, &arena, la_sums_memory(&v, 1)), SCANT_OK);
        work.phase = "summing";
        assert_int_equal(la_sums(&v, NULL, &sum, &work),
                         limit == 1 ? SCANT_ECANCELLED : SCANT_OK);
        assert_true(limit == 1 || (watched.last == 1 && watched.polls > 2));
        assert_false(watched.back);
        scant__arena_end(&arena);
        scant_ctx_free(ctx);
    }
    matrix_end(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_match_plain_sums),
        cmocka_unit_test(results_do_not_depend_on_threads_or_on_fetching),
        cmocka_unit_test(a_wide_gram_is_computed_in_stripes),
        cmocka_unit_test(a_small_gram_matches_values_by_hand),
        cmocka_unit_test(weights_of_0_and_1_equal_a_list_of_rows),
        cmocka_unit_test(rows_outside_the_list_have_no_effect),
        cmocka_unit_test(empty_views_give_zeros),
        cmocka_unit_test(memory_is_as_planned_and_allocated_once),
        cmocka_unit_test(running_out_of_memory_leaks_nothing),
        cmocka_unit_test(huge_sizes_are_planned_as_too_large),
        cmocka_unit_test(long_sums_report_progress_and_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
