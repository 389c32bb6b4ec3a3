/* SPDX-License-Identifier: Apache-2.0
 *
 * acs-fw with gradients of the expected log-likelihood: inner products compared with the
 * closed form of linear regression and with finite differences; runs compared with one on
 * explicit vectors.
 */
#include "select/fisher.h"

#include <math.h>
#include <stdbool.h>

#include "data/array.h"
#include "select/posterior.h"

/* All inner products of the rows h (n, d), without a bias. samples (m, n, C) are
 * posterior draws, of which the first `used` count. */
static void inner_products(const double *h, const double *samples, size_t m, size_t used,
                           size_t n, size_t d, size_t c, double *out) {
    scant_ctx *ctx = ctx_threads(2);
    scant_array *array;
    scant__arena arena;
    size_t shape[] = {m, n, c}, rows[16];
    double *mean = calloc(n * c, sizeof *mean);
    assert_int_equal(
        scant_array_wrap(ctx, "samples", samples, SCANT_F64, 3, shape, &array), SCANT_OK);
    select_pool pool = {.n = n, .c = c, .m = m, .draws = array};
    for (size_t i = 0; i < n; i++) rows[i] = i;
    for (size_t s = 0; s < m; s++)
        for (size_t i = 0; i < n * c; i++) mean[i] += samples[s * n * c + i] / (double)m;
    select_fisher f = {.pool = &pool, .n = n, .draws = used, .rows = rows, .mean = mean};
    la_rows features = {.n = n, .d = d, .type = LA_F64, .base = h}, a;
    select_fisher_rows(&f, &a);
    la_view view = {.h = &features, .a = &a, .m = n};
    la_work work;
    scant__arena_init(&arena, ctx);
    assert_int_equal(la_work_init(&work, &arena, la_kron_pairs_memory(&view, n, 2)),
                     SCANT_OK);
    assert_int_equal(la_kron_pairs(&view, NULL, n, out, &work), SCANT_OK);
    scant__arena_end(&arena);
    scant_array_free(array);
    free(mean);
    scant_ctx_free(ctx);
}

/* Of y = x.w + noise of variance v, w normal around mu with covariance S = L L^T, the
 * gradient of E ln P is x (x.mu - x.w) / v: <i, j> = (x_i.x_j) (x_i' S x_j) / v^2. */
static void linear_regression_has_the_closed_form(void **state) {
    (void)state;
    enum { ROWS = 5, D = 3, DRAWS = 40000 };
    static const double l[D][D] = {{1, 0, 0}, {.5, .8, 0}, {-.4, .3, .6}};
    static const double mu[D] = {.3, -2, 1}, noise = .25;
    double x[ROWS * D], out[ROWS * ROWS], want[ROWS * ROWS];
    double *samples = malloc(DRAWS * ROWS * sizeof *samples);
    for (size_t i = 0; i < ROWS * D; i++) x[i] = normal_at(7, i);
    for (size_t s = 0; s < DRAWS; s++)
        for (size_t i = 0; i < ROWS; i++) {
            double sum = 0;
            for (size_t k = 0; k < D; k++) {
                double w = mu[k];
                for (size_t j = 0; j <= k; j++) w += l[k][j] * normal_at(8, s * D + j);
                sum += w * x[i * D + k];
            }
            samples[s * ROWS + i] = sum / noise;
        }
    inner_products(x, samples, DRAWS, DRAWS, ROWS, D, 1, out);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < ROWS; j++) {
            double dot = 0, across = 0, li[D] = {0}, lj[D] = {0};
            for (size_t k = 0; k < D; k++) dot += x[i * D + k] * x[j * D + k];
            for (size_t k = 0; k < D; k++)
                for (size_t r = 0; r < D; r++)
                    li[k] += l[r][k] * x[i * D + r], lj[k] += l[r][k] * x[j * D + r];
            for (size_t k = 0; k < D; k++) across += li[k] * lj[k];
            want[i * ROWS + j] = dot * across / noise / noise;
        }
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < ROWS; j++) {
            /* a covariance from DRAWS draws is right to sqrt(2 / DRAWS) = 0.7 % */
            double size = sqrt(want[i * ROWS + i] * want[j * ROWS + j]);
            assert_true(fabs(out[i * ROWS + j] - want[i * ROWS + j]) < 0.02 * size);
        }
    free(samples);
}

/* ---- classification --------------------------------------------------------------- */

enum { M = 6, ROWS = 7, D = 3, C = 4, WIDE = D + 1, WEIGHTS = C * WIDE };

/* The weights of each posterior draw, last column a bias, and its predictions. */
typedef struct model {
    double w[M * WEIGHTS], h[ROWS * D], samples[M * ROWS * C], mean[ROWS * C];
} model;

static double logit(const double *w, const double *h, size_t c) {
    double z = w[c * WIDE + D];
    for (size_t k = 0; k < D; k++) z += w[c * WIDE + k] * h[k];
    return z;
}

static double log_chance(const double *w, const double *h, size_t y) {
    double sum = 0;
    for (size_t c = 0; c < C; c++) sum += exp(logit(w, h, c));
    return logit(w, h, y) - log(sum);
}

static model *model_make(uint64_t seed) {
    model *m = calloc(1, sizeof *m);
    for (size_t i = 0; i < M * WEIGHTS; i++) m->w[i] = normal_at(seed, i);
    for (size_t i = 0; i < ROWS * D; i++) m->h[i] = normal_at(seed + 1, i);
    for (size_t s = 0; s < M; s++)
        for (size_t i = 0; i < ROWS; i++)
            for (size_t y = 0; y < C; y++) {
                double p = exp(log_chance(m->w + s * WEIGHTS, m->h + i * D, y));
                m->samples[(s * ROWS + i) * C + y] = p;
                m->mean[i * C + y] += p / M;
            }
    return m;
}

static double expected(const model *m, size_t row, const double *w) {
    double sum = 0;
    for (size_t y = 0; y < C; y++)
        sum += m->mean[row * C + y] * log_chance(w, m->h + row * D, y);
    return sum;
}

/* The gradient by finite differences at each of the first `used` draws: (used, C, D + 1),
 * divided by sqrt(used). */
static void by_differences(const model *m, size_t row, size_t used, double *out) {
    const double step = 1e-5;
    for (size_t s = 0; s < used; s++)
        for (size_t k = 0; k < WEIGHTS; k++) {
            double w[WEIGHTS], above;
            memcpy(w, m->w + s * WEIGHTS, sizeof w);
            w[k] += step;
            above = expected(m, row, w);
            w[k] -= 2 * step;
            out[s * WEIGHTS + k] =
                (above - expected(m, row, w)) / (2 * step) / sqrt((double)used);
        }
}

static double dot(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Central differences of 1e-5 have an error near 1e-10, and rounding adds 1e-11. */
static void inner_products_are_those_of_finite_differences(void **state) {
    (void)state;
    for (size_t used = 2; used <= M; used += 2) {
        model *m = model_make(used);
        double g[ROWS * M * WEIGHTS], out[ROWS * ROWS], wide[ROWS * WIDE];
        for (size_t i = 0; i < ROWS; i++) {
            by_differences(m, i, used, g + i * M * WEIGHTS);
            memcpy(wide + i * WIDE, m->h + i * D, D * sizeof(double));
            wide[i * WIDE + D] = 1;
        }
        inner_products(wide, m->samples, M, used, ROWS, WIDE, C, out);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < ROWS; j++) {
                double want =
                    dot(g + i * M * WEIGHTS, g + j * M * WEIGHTS, used * WEIGHTS);
                assert_true(fabs(out[i * ROWS + j] - want) < 1e-8);
            }
        free(m);
    }
}

/* ---- runs ------------------------------------------------------------------------- */

typedef struct built {
    size_t n, width;
    double *v, *size, *w, *goal, *fit;
    double all;
} built;

static built build(const given *g, size_t used, bool bias) {
    size_t wide = g->d + bias;
    built b = {.n = g->n, .width = used * g->c * wide};
    b.v = calloc(b.n * b.width, sizeof *b.v);
    b.size = calloc(b.n, sizeof *b.size), b.w = calloc(b.n, sizeof *b.w);
    b.goal = calloc(b.width, sizeof *b.goal), b.fit = calloc(b.width, sizeof *b.fit);
    for (size_t i = 0; i < b.n; i++) {
        double *v = b.v + i * b.width;
        for (size_t c = 0; c < g->c; c++) {
            double mean = 0;
            for (size_t s = 0; s < g->m; s++) mean += rows_of(g, s, i)[c] / (double)g->m;
            for (size_t s = 0; s < used; s++)
                for (size_t k = 0; k < wide; k++)
                    v[(s * g->c + c) * wide + k] =
                        (mean - rows_of(g, s, i)[c]) / sqrt((double)used) *
                        (k < g->d ? g->features[i * g->d + k] : 1);
        }
        for (size_t k = 0; k < b.width; k++) b.goal[k] += v[k];
        b.all += b.size[i] = sqrt(dot(v, v, b.width) + 1e-6);
    }
    return b;
}

static void built_end(built *b) {
    free(b->v), free(b->size), free(b->w), free(b->goal), free(b->fit);
}

static double built_left(const built *b, const double *v) {
    double sum = 0;
    for (size_t k = 0; k < b->width; k++) sum += v[k] * (b->goal[k] - b->fit[k]);
    return sum;
}

static size_t built_run(built *b, size_t batch) {
    size_t held = 0, steps = 0;
    while (held < batch && steps < 20 * batch) {
        size_t at = 0;
        double most = -INFINITY, along, square = 0;
        for (size_t i = 0; i < b->n; i++) {
            double score = built_left(b, b->v + i * b->width) / b->size[i];
            if (score > most) most = score, at = i;
        }
        const double *v = b->v + at * b->width;
        double far = b->all / b->size[at];
        along = far * built_left(b, v) - built_left(b, b->fit);
        for (size_t k = 0; k < b->width; k++) square += pow(far * v[k] - b->fit[k], 2);
        double stride = fmin(1, fmax(0, along / square));
        if (stride < 1e-12) break;
        for (size_t i = 0; i < b->n; i++) b->w[i] *= 1 - stride;
        b->w[at] += stride * far;
        for (size_t k = 0; k < b->width; k++)
            b->fit[k] += stride * (far * v[k] - b->fit[k]);
        held = 0, steps++;
        for (size_t i = 0; i < b->n; i++) held += b->w[i] > 0;
    }
    return steps;
}

static void runs_equal_those_on_explicit_vectors(void **state) {
    (void)state;
    static const struct {
        size_t m, n, d, c, used, batch;
        const char *options;
        bool bias;
    } all[] = {{4, 40, 3, 3, 4, 6, "inner=fisher", true},
               {7, 300, 5, 4, 7, 12, "inner=fisher bias=0", false},
               {9, 60, 2, 10, 5, 20, "inner=fisher projections=5", true},
               {2, 30, 1, 2, 2, 4, "inner=fisher", true}};
    scant_ctx *ctx = ctx_threads(2);
    for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
        given g = posterior(t, all[t].m, all[t].n, all[t].c, 1, 1);
        double *h = malloc(g.n * all[t].d * sizeof *h), rest = 0, goal = 0;
        for (size_t i = 0; i < g.n * all[t].d; i++) h[i] = normal_at(t + 50, i);
        g.features = h, g.d = all[t].d;
        built b = build(&g, all[t].used, all[t].bias);
        scant_picks *picks =
            given_select(ctx, "acs-fw", &g, all[t].batch, 0, all[t].options);
        size_t steps = built_run(&b, all[t].batch);
        assert_int_equal(figure_of(picks, "steps"), steps);
        for (size_t k = 0; k < picks->count; k++) {
            double want = b.w[picks->items[k].index];
            assert_true(fabs(picks->items[k].weight - want) <= 1e-9 * want);
        }
        for (size_t k = 0; k < b.width; k++) {
            rest += pow(b.goal[k] - b.fit[k], 2);
            goal += b.goal[k] * b.goal[k];
        }
        assert_true(fabs(figure_of(picks, "objective") - sqrt(rest)) <
                    1e-11 * sqrt(goal));
        assert_true(fabs(figure_of(picks, "objective_start") - sqrt(goal)) <
                    1e-13 * sqrt(goal));
        scant_picks_free(ctx, picks);
        built_end(&b);
        free(h);
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

/* Copies are one row with their total weight. Rows with features 0 carry no information,
 * nor do rows whose draws agree. */
static void copies_share_a_weight_and_uninformative_rows_have_none(void **state) {
    (void)state;
    enum { MANY = 9 };
    scant_ctx *ctx = ctx_threads(1);
    given g = posterior(3, 5, MANY, 3, 1, 1);
    double h[MANY * 2] = {0};
    g.features = h, g.d = 2;
    for (size_t s = 0; s < g.m; s++)
        for (size_t i = 1; i < MANY; i++)
            memcpy(rows_of(&g, s, i), rows_of(&g, s, 0), g.c * sizeof(double));
    for (size_t i = 3; i < MANY; i++) h[2 * i] = 3, h[2 * i + 1] = -1;
    scant_picks *picks = given_select(ctx, "acs-fw", &g, 4, 0, "inner=fisher bias=0");
    assert_int_equal(picks->items[0].index, 3); /* rows 0 to 2 have no features */
    /* sizes have 1e-6 under their root, so rows without information have 1e-3: a little
     * of that goes to the row that represents all */
    assert_true(fabs(picks->items[0].weight - 6) < 1e-12);
    for (size_t k = 1; k < 4; k++) assert_true(picks->items[k].weight == 0);
    scant_picks_free(ctx, picks);
    for (size_t s = 1; s < g.m; s++)
        memcpy(rows_of(&g, s, 0), rows_of(&g, 0, 0), MANY * g.c * sizeof(double));
    picks = given_select(ctx, "acs-fw", &g, 4, 0, "inner=fisher");
    assert_int_equal(figure_of(picks, "filled"), 4);
    assert_true(figure_of(picks, "objective_start") == 0);
    scant_picks_free(ctx, picks);
    posterior_end(&g);
    scant_ctx_free(ctx);
}

/* Weights have no unit: features times a power of two give the same picks if the size of
 * a row without information is negligible. */
static void features_of_extreme_size_give_the_same_picks(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    given g = posterior(8, 6, 50, 3, 1, 1);
    double h[50 * 3], large[50 * 3];
    for (size_t i = 0; i < 150; i++) h[i] = ldexp(normal_at(4, i), 40);
    g.d = 3, g.features = h;
    scant_picks *want = given_select(ctx, "acs-fw", &g, 8, 0, "inner=fisher bias=0");
    for (int power = 300; power <= 900; power += 300) {
        for (size_t i = 0; i < 150; i++) large[i] = ldexp(h[i], power);
        g.features = large;
        scant_picks *got = given_select(ctx, "acs-fw", &g, 8, 0, "inner=fisher bias=0");
        for (size_t k = 0; k < 8; k++) {
            assert_int_equal(got->items[k].index, want->items[k].index);
            double weight = want->items[k].weight;
            assert_true(fabs(got->items[k].weight - weight) <= 1e-9 * weight);
        }
        scant_picks_free(ctx, got);
    }
    scant_picks_free(ctx, want);
    posterior_end(&g);
    scant_ctx_free(ctx);
}

static void missing_features_are_reported(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    unsigned used, missing;
    scant_setting set = {"inner", "fisher"};
    scant_select_opts opts = {.settings = &set, .n_settings = 1};
    assert_int_equal(
        scant_select_inputs(ctx, "acs-fw", &opts, SCANT_DRAWS, &used, &missing),
        SCANT_OK);
    assert_int_equal(missing, SCANT_FEATURES);
    assert_int_equal(scant_select_inputs(ctx, "acs-fw", NULL,
                                         SCANT_DRAWS | SCANT_FEATURES, &used, &missing),
                     SCANT_OK);
    assert_int_equal(used, SCANT_DRAWS);
    assert_int_equal(missing, 0);
    given g = posterior(8, 6, 50, 3, 1, 1);
    given_refused(ctx, "acs-fw", &g, 5, "inner=fisher", SCANT_EUSAGE, "features");
    posterior_end(&g);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_regression_has_the_closed_form),
        cmocka_unit_test(inner_products_are_those_of_finite_differences),
        cmocka_unit_test(runs_equal_those_on_explicit_vectors),
        cmocka_unit_test(copies_share_a_weight_and_uninformative_rows_have_none),
        cmocka_unit_test(features_of_extreme_size_give_the_same_picks),
        cmocka_unit_test(missing_features_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
