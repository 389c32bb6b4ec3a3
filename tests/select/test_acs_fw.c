/* SPDX-License-Identifier: Apache-2.0
 *
 * acs-fw compared with a dense version in long double, and properties of any run.
 */
#include "select/posterior.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct dense {
    size_t n, width, steps;
    long double *l, *size, *w, *score; /* (n, J), n, n, n */
    long double goal[64], fit[64], all;
} dense;

static dense dense_make(const given *g, size_t width) {
    dense f = {.n = g->n, .width = width};
    f.l = calloc(g->n * width, sizeof *f.l);
    f.size = calloc(g->n, sizeof *f.size);
    f.w = calloc(g->n, sizeof *f.w);
    f.score = calloc(g->n, sizeof *f.score);
    for (size_t i = 0; i < g->n; i++) {
        long double squares = 1e-6L;
        for (size_t s = 0; s < width; s++) {
            long double sum = 0;
            for (size_t k = 0; k < g->c; k++) {
                long double mean = 0;
                for (size_t r = 0; r < g->m; r++) mean += rows_of(g, r, i)[k];
                mean /= g->m;
                sum += mean * logl(fmaxl(1e-12L, rows_of(g, s, i)[k])) - plogp(mean);
            }
            f.l[i * width + s] = sum / sqrtl(width);
            squares += sum * sum / width;
            f.goal[s] += f.l[i * width + s];
        }
        f.all += f.size[i] = sqrtl(squares);
    }
    return f;
}

static void dense_end(dense *f) { free(f->l), free(f->size), free(f->w), free(f->score); }

static size_t dense_best(dense *f) {
    size_t best = 0;
    for (size_t i = 0; i < f->n; i++) {
        f->score[i] = 0;
        for (size_t s = 0; s < f->width; s++)
            f->score[i] += f->l[i * f->width + s] * (f->goal[s] - f->fit[s]);
        f->score[i] /= f->size[i];
        if (f->score[i] > f->score[best]) best = i;
    }
    return best;
}

static size_t dense_held(const dense *f) {
    size_t held = 0;
    for (size_t i = 0; i < f->n; i++) held += f->w[i] > 0;
    return held;
}

static void dense_run(dense *f, size_t batch) {
    long double gamma = 1;
    while (dense_held(f) < batch && f->steps < 20 * batch && gamma >= 1e-12L) {
        size_t at = dense_best(f);
        long double far = f->all / f->size[at], along = 0, square = 0;
        for (size_t s = 0; s < f->width; s++) {
            long double v = far * f->l[at * f->width + s] - f->fit[s];
            along += v * (f->goal[s] - f->fit[s]), square += v * v;
        }
        gamma = square > 0 ? along / square : 0;
        gamma = gamma < 0 ? 0 : gamma > 1 ? 1 : gamma;
        for (size_t i = 0; i < f->n; i++) f->w[i] *= 1 - gamma;
        f->w[at] += gamma * far;
        for (size_t s = 0; s < f->width; s++)
            f->fit[s] += gamma * (far * f->l[at * f->width + s] - f->fit[s]);
        f->steps += gamma >= 1e-12L;
    }
    dense_best(f);
}

static long double dense_rest(const dense *f) {
    long double sum = 0;
    for (size_t s = 0; s < f->width; s++)
        sum += (f->goal[s] - f->fit[s]) * (f->goal[s] - f->fit[s]);
    return sqrtl(sum);
}

static void runs_equal_those_of_a_dense_version(void **state) {
    (void)state;
    static const struct {
        size_t m, n, c, batch, width;
        double common, apart;
    } all[] = {{10, 50, 4, 8, 10, 1, .5},  {10, 50, 4, 20, 10, 1, .5},
               {30, 300, 3, 25, 30, 1, 1}, {30, 300, 3, 25, 12, 1, 1},
               {5, 40, 2, 5, 5, 0, .3},    {40, 70, 10, 60, 40, 2, 1},
               {3, 20, 1000, 3, 3, 1, 1},  {2, 60, 3, 2, 2, 1, 1},
               {20, 200, 5, 30, 20, 1, 4}, {6, 30, 4, 2, 1, 1, 1},
               {15, 30, 3, 30, 15, 2, 6}}; /* the last runs out of steps */
    scant_ctx *ctx = ctx_threads(2);
    for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
        given g = posterior(t, all[t].m, all[t].n, all[t].c, all[t].common, all[t].apart);
        dense f = dense_make(&g, all[t].width);
        char settings[40];
        snprintf(settings, sizeof settings, "projections=%zu",
                 all[t].width == g.m ? 0 : all[t].width);
        scant_picks *picks = given_select(ctx, "acs-fw", &g, all[t].batch, 0, settings);
        dense_run(&f, all[t].batch);
        if (t == 10) assert_int_equal(f.steps, 20 * all[t].batch);
        size_t held = dense_held(&f);
        long double start = 0, before = INFINITY;
        for (size_t s = 0; s < f.width; s++) start += f.goal[s] * f.goal[s];
        start = sqrtl(start);
        assert_int_equal(figure_of(picks, "steps"), f.steps);
        assert_int_equal(figure_of(picks, "filled"), picks->count - held);
        /* double against long double, over dozens of steps */
        assert_true(fabsl(figure_of(picks, "objective") - dense_rest(&f)) <
                    1e-12L * start);
        assert_true(fabsl(figure_of(picks, "objective_start") - start) < 1e-14L * start);
        for (size_t k = 0; k < picks->count; k++) {
            const scant_pick *p = &picks->items[k];
            assert_true(fabsl(p->weight - f.w[p->index]) <= 1e-9L * f.w[p->index]);
            assert_true(p->score == p->weight);
            assert_true((p->weight > 0) == (k < held));
            long double key = k < held ? f.w[p->index] : f.score[p->index];
            if (k == held) before = INFINITY;
            /* the rest by score; rounding may change it by 1e-13 of the start */
            assert_true(key <= before + 1e-13L * start);
            before = key;
        }
        dense_end(&f);
        scant_picks_free(ctx, picks);
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

/* A larger batch takes the same steps and some more: the objective only falls. */
static void the_objective_falls_with_the_batch(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    given g = posterior(2, 25, 120, 4, 1, 1);
    double before = INFINITY;
    for (size_t batch = 1; batch <= 40; batch++) {
        scant_picks *picks = given_select(ctx, "acs-fw", &g, batch, 0, NULL);
        double now = figure_of(picks, "objective");
        assert_true(now < before && now < figure_of(picks, "objective_start"));
        before = now;
        scant_picks_free(ctx, picks);
    }
    posterior_end(&g);
    scant_ctx_free(ctx);
}

/* One row represents itself; the first of n copies represents all, with weight n. So the
 * weights times sizes sum to all sizes, as after any first step of length 1. */
static void the_first_of_n_copies_has_weight_n(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    for (size_t n = 1; n <= 9; n += 4) {
        given g = posterior(n, 6, n, 3, 1, 1);
        for (size_t s = 0; s < g.m; s++)
            for (size_t i = 1; i < n; i++)
                memcpy(rows_of(&g, s, i), rows_of(&g, s, 0), g.c * sizeof(double));
        scant_picks *picks = given_select(ctx, "acs-fw", &g, n, 0, NULL);
        assert_int_equal(picks->count, n);
        for (size_t k = 0; k < n; k++) {
            double want = k ? 0 : (double)n;
            assert_int_equal(picks->items[k].index, k);
            assert_true(fabs(picks->items[k].weight - want) <= want * 1e-14);
        }
        assert_int_equal(figure_of(picks, "steps"), 1);
        assert_true(figure_of(picks, "objective") <
                    1e-14 * figure_of(picks, "objective_start"));
        scant_picks_free(ctx, picks);
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

/* Where all draws agree, no row carries information and none has a weight. */
static void agreeing_draws_give_no_weights(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    given g = posterior(4, 5, 60, 4, 1, 0);
    scant_picks *picks = given_select(ctx, "acs-fw", &g, 20, 0, NULL);
    for (size_t k = 0; k < 20; k++) {
        assert_int_equal(picks->items[k].index, k);
        assert_true(picks->items[k].weight == 0);
    }
    assert_int_equal(figure_of(picks, "filled"), 20);
    assert_int_equal(figure_of(picks, "steps"), 0);
    scant_picks_free(ctx, picks);
    posterior_end(&g);
    scant_ctx_free(ctx);
}

/* Only rows that may be picked count: removing the labelled ones changes nothing. */
static void labelled_rows_do_not_count(void **state) {
    (void)state;
    enum { N = 45 };
    scant_ctx *ctx = ctx_threads(1);
    given g = posterior(6, 8, N, 3, 1, 1);
    int64_t labels[N];
    double *p = malloc(g.m * N * g.c * sizeof *p);
    size_t kept = 0, rows[N];
    for (size_t i = 0; i < N; i++) {
        labels[i] = i % 3 == 1 ? (int64_t)(i % 3) : -1;
        if (labels[i] < 0) rows[kept++] = i;
    }
    for (size_t s = 0; s < g.m; s++)
        for (size_t i = 0; i < kept; i++)
            memcpy(p + (s * kept + i) * g.c, rows_of(&g, s, rows[i]),
                   g.c * sizeof(double));
    given only = {.n = kept, .c = g.c, .m = g.m, .samples = p};
    g.labels = labels;
    scant_picks *a = given_select(ctx, "acs-fw", &g, 12, 0, NULL);
    scant_picks *b = given_select(ctx, "acs-fw", &only, 12, 0, NULL);
    for (size_t k = 0; k < 12; k++) {
        assert_int_equal(a->items[k].index, rows[b->items[k].index]);
        assert_true(a->items[k].weight == b->items[k].weight);
    }
    scant_picks_free(ctx, a);
    scant_picks_free(ctx, b);
    free(p);
    posterior_end(&g);
    scant_ctx_free(ctx);
}

static void more_projections_than_draws_are_refused(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    given g = posterior(1, 4, 10, 3, 1, 1);
    given_refused(ctx, "acs-fw", &g, 3, "projections=5", SCANT_EUSAGE,
                  "projections is 5, but samples has 4");
    given_refused(ctx, "acs-fw", &g, 3, "projections=-1", SCANT_EUSAGE, "whole number");
    posterior_end(&g);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_equal_those_of_a_dense_version),
        cmocka_unit_test(the_objective_falls_with_the_batch),
        cmocka_unit_test(the_first_of_n_copies_has_weight_n),
        cmocka_unit_test(agreeing_draws_give_no_weights),
        cmocka_unit_test(labelled_rows_do_not_count),
        cmocka_unit_test(more_projections_than_draws_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
