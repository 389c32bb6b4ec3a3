/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts of picks: positions are checked on pools whose principal components are known by
 * construction, files by their text. tests/cli/test_cli_plot.py checks with a parser that
 * they are well-formed XML.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "data/array.h"
#include "report/markup.h"
#include "report/projection.h"
#include "support.h"

/* ---- pools whose components are known ---------------------------------------------- */

/* Entry i of the k-th cosine of length n, k >= 1. They are orthonormal with mean 0. */
static double cosine(size_t n, size_t k, size_t i) {
    return sqrt(2.0 / (double)n) *
           cos(M_PI * (double)k * (2 * (double)i + 1) / (2 * (double)n));
}

enum { RANK = 12 };

/* X = sum_k s_k u_k v_k^T + offset with cosines u and v: the k-th component is v_k or
 * -v_k, and the coordinate of row i along it is s_k u_ik. */
typedef struct known {
    size_t n, d, rank;
    double s[RANK], *x;
} known;

static known make_known(size_t n, size_t d, double ratio, double offset) {
    known p = {.n = n, .d = d, .rank = d - 1 < RANK ? d - 1 : RANK};
    p.x = malloc(n * d * sizeof *p.x);
    assert_non_null(p.x);
    for (size_t k = 0; k < p.rank; k++) p.s[k] = 100 * pow(ratio, (double)k);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = offset * (double)(j % 7);
            for (size_t k = 0; k < p.rank; k++)
                sum += p.s[k] * cosine(n, k + 1, i) * cosine(d, k + 1, j);
            p.x[i * d + j] = sum;
        }
    return p;
}

/* 1 or -1, which makes the first of a component's large entries positive. */
static double known_sign(const known *p, size_t k) {
    double reach = 0;
    size_t j = 0;
    for (size_t i = 0; i < p->d; i++) reach = fmax(reach, fabs(cosine(p->d, k, i)));
    while (fabs(cosine(p->d, k, j)) < 0.9 * reach) j++;
    return cosine(p->d, k, j) < 0 ? -1 : 1;
}

static scant_array *wrap2(scant_ctx *ctx, const void *data, scant_dtype dtype, size_t n,
                          size_t d) {
    scant_array *array;
    assert_int_equal(
        scant_array_wrap(ctx, "features", data, dtype, 2, (size_t[]){n, d}, &array),
        SCANT_OK);
    return array;
}

static void check_known(const known *p, double tolerance) {
    scant_ctx *ctx = ctx_threads(2);
    scant_array *features = wrap2(ctx, p->x, SCANT_F64, p->n, p->d);
    scant__arena arena;
    select_pool pool;
    report_axes axes;
    size_t *rows = malloc(p->n * sizeof *rows);
    double *at = malloc(2 * p->n * sizeof *at), total = 0;
    assert_true(rows && at);
    for (size_t i = 0; i < p->n; i++) rows[i] = p->n - 1 - i;
    scant__arena_init(&arena, ctx);
    scant_evidence e = {.features = features};
    assert_int_equal(select_pool_open(ctx, &e, SCANT_FEATURES, "a test", &pool),
                     SCANT_OK);
    assert_int_equal(report_project(&arena, &pool, rows, p->n, at, &axes), SCANT_OK);
    assert_true(axes.components);
    for (size_t k = 0; k < p->rank; k++) total += p->s[k] * p->s[k];
    for (size_t a = 0; a < 2; a++) {
        double sign = known_sign(p, a + 1);
        assert_true(fabs(axes.share[a] - p->s[a] * p->s[a] / total) < tolerance);
        for (size_t i = 0; i < p->n; i++) {
            double want = sign * p->s[a] * cosine(p->n, a + 1, rows[i]);
            assert_true(fabs(at[2 * i + a] - want) <= tolerance * p->s[a]);
        }
    }
    scant__arena_end(&arena);
    scant_array_free(features);
    scant_ctx_free(ctx);
    free(rows);
    free(at);
}

/* Tolerance: sums of a few thousand terms in double. */
static void components_match_the_known_ones(void **state) {
    (void)state;
    const size_t widths[] = {3, 4, 17, 50, 300};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        known p = make_known(400, widths[i], 0.7, 0);
        check_known(&p, 1e-11);
        free(p.x);
    }
}

/* An offset of 1e6 leaves ten of a double's sixteen digits for the differences. */
static void a_large_offset_does_not_change_the_components(void **state) {
    (void)state;
    known p = make_known(300, 20, 0.6, 1e6);
    check_known(&p, 1e-8);
    free(p.x);
}

/* The iteration ends when variances change by 1e-5; angles are then right to some
 * thousandths. */
static void components_of_wide_features_are_found_by_iteration(void **state) {
    (void)state;
    known p = make_known(500, 1500, 0.7, 3);
    check_known(&p, 1e-2);
    free(p.x);
    p = make_known(60, 2000, 0.2, 0); /* fewer effective dimensions than vectors */
    check_known(&p, 1e-3);
    free(p.x);
}

/* ---- thinned rows ------------------------------------------------------------------ */

static void thinning_takes_one_row_of_each_segment(void **state) {
    (void)state;
    const size_t sizes[][2] = {{0, 5}, {5, 5}, {4, 5}, {6, 5}, {1000, 7}, {100000, 3000}};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        size_t total = sizes[c][0], room = sizes[c][1], taken = 0, kinds[10] = {0};
        report_sample sample = report_sample_begin(total, room);
        for (size_t i = 0; i < total; i++) {
            if (!report_sample_takes(&sample)) continue;
            if (total > room) { /* within its segment, up to rounding */
                assert_true(i + 1 >= total * taken / room);
                assert_true(i <= total * (taken + 1) / room);
            }
            kinds[i % 10]++;
            taken++;
        }
        assert_int_equal(taken, total < room ? total : room);
        /* kinds repeat every ten rows, steps are about 33: all kinds are taken */
        for (size_t k = 0; total == 100000 && k < 10; k++)
            assert_in_range(kinds[k], 200, 400);
    }
}

/* ---- whole charts ------------------------------------------------------------------ */

enum { N = 500, D = 6, B = 25 };

typedef struct fixture {
    float x[N * D];
    int32_t labels[N];
    scant_pick items[N];
    scant_picks picks;
} fixture;

static fixture *make(size_t batch) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < N * D; i++)
        f->x[i] = (float)(normal_at(1, i) * (double)(1 + i % D));
    for (size_t i = 0; i < N; i++) f->labels[i] = i % 10 ? -1 : (int32_t)(i % 3);
    for (size_t i = 0; i < batch; i++)
        f->items[i] = (scant_pick){.index = 10 * (i / 9) + i % 9 + 1, .weight = 1};
    f->picks =
        (scant_picks){.strategy = "badge", .count = batch, .rows = N, .items = f->items};
    return f;
}

static scant_status draw(scant_ctx *ctx, const fixture *f, char **text, size_t *size) {
    scant_array *features = NULL, *labels = NULL;
    void *bytes = NULL;
    scant_status s = scant_array_wrap(ctx, "features", f->x, SCANT_F32, 2,
                                      (size_t[]){N, D}, &features);
    if (s == SCANT_OK)
        s = scant_array_wrap(ctx, "labels", f->labels, SCANT_I32, 1, (size_t[]){N},
                             &labels);
    if (s == SCANT_OK)
        s = scant_plot_picks(ctx,
                             &(scant_evidence){.features = features, .labels = labels},
                             &f->picks, &bytes, size);
    *text = NULL;
    if (s == SCANT_OK) {
        *text = calloc(*size + 1, 1);
        assert_non_null(*text);
        memcpy(*text, bytes, *size);
    }
    scant_bytes_free(ctx, bytes);
    scant_array_free(labels);
    scant_array_free(features);
    return s;
}

static size_t occurrences(const char *text, const char *what) {
    size_t count = 0;
    while ((text = strstr(text, what))) count++, text++;
    return count;
}

static void the_chart_has_every_pick_and_label(void **state) {
    (void)state;
    fixture *f = make(B);
    scant_ctx *ctx = ctx_threads(2);
    char *text, row[64];
    size_t size;
    assert_int_equal(draw(ctx, f, &text, &size), SCANT_OK);
    assert_int_equal(strncmp(text, "<svg xmlns=", 11), 0);
    assert_int_equal(strcmp(text + size - 7, "</svg>\n"), 0);
    for (size_t i = 0; i < B; i++) {
        snprintf(row, sizeof row, "<title>pick %zu: row %zu, score 0</title>", i + 1,
                 f->items[i].index);
        assert_non_null(strstr(text, row));
    }
    assert_int_equal(occurrences(text, "<circle "), B + 1); /* and one in the legend */
    /* one mark per labelled row, and one per class in the legend */
    assert_int_equal(occurrences(text, "m-5 0a5"), N / 10 + 3);
    assert_int_equal(occurrences(text, "h0"), N - N / 10 - B + 1);
    assert_non_null(strstr(text, "badge: 25 of 500 rows picked"));
    assert_non_null(strstr(text, "50 labelled before, 425 left, 6 features"));
    assert_non_null(strstr(text, "labelled as 2 (16)"));
    assert_null(strstr(text, "size: weight"));
    assert_null(strstr(text, "script"));
    assert_null(strstr(text, "href"));
    free(text);
    for (size_t i = 0; i < B; i++) f->items[i].weight = (double)i / 8;
    assert_int_equal(draw(ctx, f, &text, &size), SCANT_OK);
    assert_non_null(strstr(text, "size: weight"));
    assert_non_null(strstr(text, "score 0, weight 0.125</title>"));
    assert_non_null(strstr(text, "r=\"10\"")); /* the largest weight */
    free(text);
    scant_ctx_free(ctx);
    free(f);
}

static void the_chart_does_not_depend_on_the_thread_count(void **state) {
    (void)state;
    fixture *f = make(B);
    char *want = NULL, *text;
    size_t size;
    for (unsigned threads = 1; threads <= 5; threads++) {
        scant_ctx *ctx = ctx_threads(threads);
        assert_int_equal(draw(ctx, f, &text, &size), SCANT_OK);
        if (want) assert_string_equal(text, want);
        if (want) free(text);
        want = want ? want : text;
        scant_ctx_free(ctx);
    }
    free(want);
    free(f);
}

#define BAD "\xef\xbf\xbd"

static void names_cannot_break_the_markup(void **state) {
    (void)state;
    fixture *f = make(1);
    scant_ctx *ctx = ctx_threads(1);
    char *text;
    size_t size;
    f->picks.strategy = "</title><script>&\"\x01\xff\xc3\xa9\xed\xa0\x80\xef\xbf\xbf\xf0";
    assert_int_equal(draw(ctx, f, &text, &size), SCANT_OK);
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "&lt;/title&gt;&lt;script&gt;&amp;&quot;" BAD BAD
                                 "\xc3\xa9" BAD BAD BAD BAD BAD ": 1 of 500"));
    free(text);
    f->picks.strategy = NULL;
    assert_int_equal(draw(ctx, f, &text, &size), SCANT_OK);
    assert_non_null(strstr(text, ">1 of 500 rows picked<"));
    free(text);
    scant_ctx_free(ctx);
    free(f);
}

static void numbers_are_written_in_the_c_locale(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    scant__text text;
    char *bytes;
    size_t size;
    const double tenths[] = {0, 0.04, -0.04, 0.05, -0.26, 12, 12.34, -1000.99};
    const double numbers[] = {0.5, -1e-7, 123456789, (double)INFINITY, (double)NAN};
    scant__text_init(&text, ctx);
    for (size_t i = 0; i < sizeof tenths / sizeof *tenths; i++) {
        report_add_tenths(&text, tenths[i]);
        scant__text_add(&text, " ");
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        report_add_number(&text, numbers[i]);
        scant__text_add(&text, " ");
    }
    scant__text_add(&text, "end");
    assert_int_equal(scant__text_take(&text, &bytes, &size), SCANT_OK);
    const char want[] = "0 0 0 0.1 -0.3 12 12.3 -1001 0.5 -1e-07 1.23457e+08 inf nan end";
    assert_int_equal(size, sizeof want - 1);
    assert_memory_equal(bytes, want, size);
    scant_bytes_free(ctx, bytes);
    scant_ctx_free(ctx);
}

/* ---- degenerate and large pools ---------------------------------------------------- */

static const char *const point = "<circle cx=\"310\" cy=\"292\" r=\"7.5\"/>"; /* centre */

static void degenerate_pools_are_drawn(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    static float x[4 * 50];
    const size_t shapes[][2] = {{1, 1}, {1, 2}, {1, 50}, {4, 1}, {4, 2}, {4, 50}, {0, 3}};
    for (int kind = 0; kind < 3; kind++)
        for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
            size_t n = shapes[c][0], d = shapes[c][1], size;
            for (size_t i = 0; i < n * d; i++) /* all 0, all equal, extreme */
                x[i] = kind == 0 ? 0 : kind == 1 ? 7 : (float)(i % 2) * 3e38F;
            scant_array *features = wrap2(ctx, x, SCANT_F32, n, d);
            scant_pick item = {.index = 0, .weight = 1, .score = 2};
            scant_picks picks = {.rows = n, .count = n > 0, .items = &item};
            void *bytes;
            scant_evidence e = {.features = features};
            assert_int_equal(scant_plot_picks(ctx, &e, &picks, &bytes, &size), SCANT_OK);
            char *text = calloc(size + 1, 1);
            assert_non_null(text);
            memcpy(text, bytes, size);
            assert_null(strstr(text, "nan"));
            assert_null(strstr(text, "inf"));
            if (n > 0 && kind < 2) assert_non_null(strstr(text, point));
            free(text);
            scant_bytes_free(ctx, bytes);
            scant_array_free(features);
        }
    scant_ctx_free(ctx);
}

/* One feature is drawn on a line; two are the axes, with larger values up. */
static void one_or_two_features_are_drawn_directly(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    const uint8_t one[] = {0, 255, 51}, two[] = {0, 0, 200, 200, 0, 100};
    scant_pick items[] = {{0, 1, 0}, {1, 1, 0}, {2, 1, 0}};
    scant_picks picks = {.rows = 3, .count = 3, .items = items};
    /* 512 pixels wide from x = 54, 428 high from y = 506 up: 428 / 200 pixels per unit */
    const char *const want[2][3] = {
        {"cx=\"54\" cy=\"292\"", "cx=\"566\" cy=\"292\"", "cx=\"156.4\" cy=\"292\""},
        {"cx=\"96\" cy=\"506\"", "cx=\"524\" cy=\"78\"", "cx=\"96\" cy=\"292\""}};
    for (size_t d = 1; d <= 2; d++) {
        scant_array *features = wrap2(ctx, d == 1 ? one : two, SCANT_U8, 3, d);
        void *bytes;
        size_t size;
        scant_evidence e = {.features = features};
        assert_int_equal(scant_plot_picks(ctx, &e, &picks, &bytes, &size), SCANT_OK);
        char *text = calloc(size + 1, 1);
        assert_non_null(text);
        memcpy(text, bytes, size);
        for (size_t i = 0; i < 3; i++) assert_non_null(strstr(text, want[d - 1][i]));
        assert_non_null(strstr(text, ">feature 0<"));
        assert_int_equal(strstr(text, ">feature 1<") != NULL, d == 2);
        free(text);
        scant_bytes_free(ctx, bytes);
        scant_array_free(features);
    }
    scant_ctx_free(ctx);
}

static void a_large_pool_is_thinned_and_says_so(void **state) {
    (void)state;
    enum { MANY = 100000 };
    scant_ctx *ctx = ctx_threads(2);
    float *x = malloc(MANY * 2 * sizeof *x);
    int16_t *y = malloc(MANY * sizeof *y);
    scant_pick *items = malloc(MANY * sizeof *items);
    assert_true(x && y && items);
    for (size_t i = 0; i < MANY; i++) {
        x[2 * i] = (float)unit_at(2, 2 * i), x[2 * i + 1] = (float)unit_at(2, 2 * i + 1);
        y[i] = i % 4 == 0 ? (int16_t)(i % 1000) : -1;
    }
    size_t count = 0, size;
    for (size_t i = 1; i < MANY; i += 2) items[count++] = (scant_pick){i, 1, -12.3456789};
    scant_array *features = wrap2(ctx, x, SCANT_F32, MANY, 2), *labels;
    assert_int_equal(
        scant_array_wrap(ctx, "y", y, SCANT_I16, 1, (size_t[]){MANY}, &labels), SCANT_OK);
    scant_picks picks = {.rows = MANY, .count = count, .items = items};
    void *bytes;
    scant_evidence e = {.features = features, .labels = labels};
    assert_int_equal(scant_plot_picks(ctx, &e, &picks, &bytes, &size), SCANT_OK);
    assert_true(size < 500000);
    char *text = calloc(size + 1, 1);
    assert_non_null(text);
    memcpy(text, bytes, size);
    assert_non_null(strstr(text, "picked (50000)"));
    assert_non_null(strstr(text, "4000 of them drawn"));
    assert_non_null(strstr(text, "2000 of them drawn"));
    assert_non_null(strstr(text, "unlabelled (25000)"));
    assert_non_null(strstr(text, "3000 of them drawn"));
    assert_non_null(strstr(text, "more classes"));
    assert_int_equal(occurrences(text, "<circle "), 4001);
    free(text);
    scant_bytes_free(ctx, bytes);
    scant_array_free(labels);
    scant_array_free(features);
    scant_ctx_free(ctx);
    free(x), free(y), free(items);
}

/* ---- memory and errors ------------------------------------------------------------- */

static void every_allocation_may_fail(void **state) {
    (void)state;
    fixture *f = make(B);
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    char *text;
    size_t size, steps = 0;
    for (;; steps++) {
        m.calls = 0, m.fail_at = steps;
        scant_status s = draw(ctx, f, &text, &size);
        assert_int_equal(m.live, 1); /* only the context */
        if (s == SCANT_OK) break;
        assert_int_equal(s, SCANT_ENOMEM);
        assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
    }
    assert_true(steps > 15);
    free(text);
    scant_ctx_free(ctx);
    free(f);
}

/* Every second row from `batch` on is labelled. */
static void check_plan(size_t n, size_t d, size_t batch, unsigned threads) {
    float *x = malloc(n * d * sizeof *x);
    scant_pick *items = malloc(batch * sizeof *items);
    int64_t *y = malloc(n * sizeof *y);
    assert_true(x && items && y);
    for (size_t i = 0; i < n * d; i++) x[i] = (float)unit_at(3, i);
    for (size_t i = 0; i < n; i++) y[i] = i < batch || i % 2 ? -1 : (int64_t)i;
    for (size_t i = 0; i < batch; i++) items[i] = (scant_pick){i, (double)i, 1.0 / 3};
    scant_picks picks = {.rows = n, .count = batch, .items = items};
    size_t need = 0, caps[] = {0, 0, 1000};
    for (size_t c = 0; c < 3; c++) {
        scant_ctx *ctx;
        scant_ctx_opts opts = {.threads = threads, .memory = c == 0 ? 0 : caps[c]};
        void *bytes;
        size_t planned_bytes, size;
        assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
        scant_array *features = wrap2(ctx, x, SCANT_F32, n, d), *labels;
        assert_int_equal(
            scant_array_wrap(ctx, "y", y, SCANT_I64, 1, (size_t[]){n}, &labels),
            SCANT_OK);
        scant_evidence e = {.features = features, .labels = labels};
        scant_status planned = scant_plot_plan(ctx, &e, batch, &planned_bytes);
        assert_int_equal(planned, c < 2 ? SCANT_OK : SCANT_ENOMEM);
        scant_status done = scant_plot_picks(ctx, &e, &picks, &bytes, &size);
        assert_int_equal(done, planned);
        assert_true(scant_ctx_memory_peak(ctx) <= planned_bytes);
        if (c == 0) caps[1] = need = planned_bytes;
        assert_int_equal(planned_bytes, need);
        scant_bytes_free(ctx, bytes);
        scant_array_free(labels);
        scant_array_free(features);
        scant_ctx_free(ctx);
    }
    free(x), free(items), free(y);
}

static void memory_is_within_the_plan(void **state) {
    (void)state;
    const size_t sizes[][3] = {{10, 1, 1},      {5000, 2, 400}, {6000, 2, 3},
                               {9000, 3, 5000}, {700, 40, 9},   {300, 500, 30},
                               {200, 1100, 100}};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++)
        for (unsigned threads = 1; threads <= 3; threads++)
            check_plan(sizes[c][0], sizes[c][1], sizes[c][2], threads);
}

static void wrong_calls_are_refused_with_a_message(void **state) {
    (void)state;
    fixture *f = make(B);
    scant_ctx *ctx = ctx_threads(2);
    char *text;
    void *bytes;
    size_t size, planned_bytes;
    scant_evidence none = {0};
    assert_int_equal(scant_plot_picks(ctx, &none, &f->picks, &bytes, &size),
                     SCANT_EUSAGE);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "a plot needs features"));
    assert_int_equal(scant_plot_plan(ctx, &none, 1, &planned_bytes), SCANT_EUSAGE);
    f->items[3].index = N;
    assert_int_equal(draw(ctx, f, &text, &size), SCANT_EUSAGE);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "pick 4 is row 500"));
    f->items[3].index = 4;
    f->picks.rows = N - 1;
    assert_int_equal(draw(ctx, f, &text, &size), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "features: has 500 rows"));
    f->picks.rows = N;
    f->x[7 * D + 2] = NAN;
    assert_int_equal(draw(ctx, f, &text, &size), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "features: row 7, column 2 is nan"));
    f->x[7 * D + 2] = 0;
    f->labels[9] = -3;
    assert_int_equal(draw(ctx, f, &text, &size), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "labels: row 9 is -3"));
    scant_ctx_free(ctx);
    free(f);
}

static int after_some(void *user) { return ++*(int *)user > 2; }

static void a_call_can_be_cancelled(void **state) {
    (void)state;
    fixture *f = make(B);
    int polled = 0;
    scant_ctx *ctx;
    scant_ctx_opts opts = {.threads = 1, .user = &polled, .cancel = after_some};
    char *text;
    size_t size;
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_int_equal(draw(ctx, f, &text, &size), SCANT_ECANCELLED);
    scant_ctx_free(ctx);
    free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_match_the_known_ones),
        cmocka_unit_test(a_large_offset_does_not_change_the_components),
        cmocka_unit_test(components_of_wide_features_are_found_by_iteration),
        cmocka_unit_test(thinning_takes_one_row_of_each_segment),
        cmocka_unit_test(the_chart_has_every_pick_and_label),
        cmocka_unit_test(the_chart_does_not_depend_on_the_thread_count),
        cmocka_unit_test(names_cannot_break_the_markup),
        cmocka_unit_test(numbers_are_written_in_the_c_locale),
        cmocka_unit_test(degenerate_pools_are_drawn),
        cmocka_unit_test(one_or_two_features_are_drawn_directly),
        cmocka_unit_test(a_large_pool_is_thinned_and_says_so),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(memory_is_within_the_plan),
        cmocka_unit_test(wrong_calls_are_refused_with_a_message),
        cmocka_unit_test(a_call_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
