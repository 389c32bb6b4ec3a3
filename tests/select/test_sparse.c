/* SPDX-License-Identifier: Apache-2.0
 *
 * sparse-greedy and sparse-iht compared with plain dense versions of the paper's
 * algorithms, and the properties of their steps.
 */
#include "sparse_plain.h"

#ifdef SCANT_SANITIZED
enum { MOST_THREADS = 2 };
#else
enum { MOST_THREADS = 5 };
#endif

/* ---- comparing -------------------------------------------------------------------- */

static void near(double got, double want, double slack, const char *what) {
    if (fabs(got - want) <= slack) return;
    fail_msg("%s: %.17g is not %.17g (tolerance %.3g)", what, got, want, slack);
}

/* Sums of thousands of terms in another order, through steps that depend on each other: a
 * few times 1e-16 per step, and weights are quotients of such sums. */
static const double DIGITS = 1e-9;

static void check_greedy(scant_ctx *ctx, const pool *p, size_t batch, double alpha,
                         double beta, double tau) {
    char options[100];
    dense d = dense_make(p, batch, true, alpha, beta);
    double *w = numbers(d.n), *score = numbers(d.b);
    size_t *want = calloc(d.b, sizeof *want);
    dense_greedy(&d, tau, w, want, score);
    snprintf(options, sizeof options, "alpha=%g beta=%g tau=%g", alpha, beta, tau);
    scant_picks *got = picks_of(ctx, p, "sparse-greedy", batch, options);
    assert_int_equal(got->count, d.b);
    double top = fabs(score[0]) + fabs(score[d.b - 1]);
    for (size_t t = 0; t < d.b; t++) {
        assert_int_equal(got->items[t].index, d.rows[want[t]]);
        near(got->items[t].weight, w[want[t]], DIGITS * (1 + w[want[t]]), "weight");
        near(got->items[t].score, score[t], DIGITS * top, "score");
    }
    double f1 = dense_f1(&d, w), v2 = dot(d.v, d.v, d.size);
    near(figure(got, "f1"), f1, DIGITS * (f1 + v2), "f1");
    near(figure(got, "f"), dense_f(&d, w), DIGITS * (fabs(f1) + v2), "f");
    scant_picks_free(ctx, got);
    free(w);
    free(score);
    free(want);
    dense_end(&d);
}

static size_t place_of(const dense *d, size_t row) {
    size_t j = 0;
    while (d->rows[j] != row) j++;
    return j;
}

static void check_iht(scant_ctx *ctx, const pool *p, size_t batch, double alpha,
                      double beta, size_t iters, bool printed) {
    char options[100];
    dense d = dense_make(p, batch, true, alpha, beta);
    double *w = numbers(d.n), *z = numbers(d.n), *point = numbers(d.n);
    bool *chosen = calloc(d.n, sizeof *chosen);
    for (size_t t = 0; t < iters; t++) dense_iteration(&d, printed, w, z, chosen, point);
    snprintf(options, sizeof options, "alpha=%g beta=%g iters=%zu prox=%s", alpha, beta,
             iters, printed ? "printed" : "exact");
    scant_picks *got = picks_of(ctx, p, "sparse-iht", batch, options);
    assert_int_equal(got->count, d.b);
    for (size_t j = 0; j < d.n; j++) {
        size_t at = 0;
        while (at < got->count && got->items[at].index != d.rows[j]) at++;
        assert_int_equal(at < got->count, chosen[j]);
        if (!chosen[j]) continue;
        near(got->items[at].weight, w[j], DIGITS * (1 + w[j]), "weight");
        assert_true(got->items[at].score == got->items[at].weight);
    }
    for (size_t i = 1; i < got->count; i++) {
        const scant_pick *last = &got->items[i - 1], *next = &got->items[i];
        assert_true(last->weight >= next->weight);
        if (last->weight > next->weight) continue;
        size_t before = place_of(&d, last->index), after = place_of(&d, next->index);
        double better = dense_worth(&d, before, point[before], printed);
        double worse = dense_worth(&d, after, point[after], printed);
        assert_true(better >= worse - DIGITS * fabs(worse));
    }
    double f1 = dense_f1(&d, w), v2 = dot(d.v, d.v, d.size);
    near(figure(got, "f1"), f1, DIGITS * (f1 + v2), "f1");
    scant_picks_free(ctx, got);
    free(w);
    free(z);
    free(point);
    free(chosen);
    dense_end(&d);
}

/* ---- the fixture ------------------------------------------------------------------ */

static pool fixture(void) {
    static const double logits[6][3] = {{2, 0, -1},  {.5, .4, .3}, {1, 1, -2},
                                        {-1, 2, .5}, {0, 0, 3},    {.2, -.3, .1}};
    static const double h[6][2] = {{1, 0}, {0, 1}, {1, 1}, {2, -1}, {-1, .5}, {.5, .5}};
    pool p = {.n = 6, .d = 2, .c = 3, .temperature = 2};
    p.h = numbers(12), p.p = numbers(18), p.q = numbers(18);
    memcpy(p.h, h, sizeof h);
    memcpy(p.p, logits, sizeof logits);
    return p;
}

/* A problem opened as a strategy opens it. */
typedef struct opened {
    call c;
    settings set;
    scant_selection sel;
    sparse s;
} opened;

static void open_problem(opened *o, scant_ctx *ctx, const pool *p, size_t batch,
                         const char *options) {
    o->c = call_begin(ctx, p);
    settings_of(&o->set, options);
    o->sel = (scant_selection){
        .ctx = ctx, .strategy = &select_strategy_sparse_greedy, .batch = batch};
    o->sel.arena = &o->sel.memory;
    scant__arena_init(o->sel.arena, ctx);
    const scant_strategy_info *info = &o->sel.strategy->info;
    o->sel.used = p->m ? info->or_needs : info->needs;
    assert_int_equal(select_options_resolve(o->sel.arena, o->sel.strategy, o->set.all,
                                            o->set.count, false, &o->sel.values),
                     SCANT_OK);
    assert_int_equal(
        select_pool_open(ctx, &o->c.e, o->sel.used, "sparse-greedy", &o->sel.pool),
        SCANT_OK);
    assert_int_equal(select_pool_read(o->sel.arena, &o->sel.pool), SCANT_OK);
    o->sel.batch = batch < o->sel.pool.available ? batch : o->sel.pool.available;
    if (sparse_open(&o->sel, NULL, &o->s) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
}

static void close_problem(opened *o) {
    scant__arena_end(o->sel.arena);
    call_end(&o->c);
}

static void the_problem_of_the_fixture_has_the_known_values(void **state) {
    (void)state;
    static const double sigma[] = {.158751, .19233, .218315, .288916, .150429, .166008};
    static const double square[] = {.03484193, .00027668, .00651146,
                                    .08634696, .04010005, .00115226};
    pool p = fixture();
    scant_ctx *ctx = ctx_threads(1);
    opened o;
    open_problem(&o, ctx, &p, 2, "");
    for (size_t j = 0; j < 6; j++) {
        near(sqrt(o.s.variance[j]), sigma[j], 5e-7, "sigma");
        near(o.s.length[j] * o.s.length[j], square[j], 5e-9, "|phi|^2");
    }
    near(sparse_inner(&o.s, o.s.v, o.s.v), .0179819, 5e-8, "|v|^2");
    close_problem(&o);
    pool_end(&p);
    scant_ctx_free(ctx);
}

typedef struct expected {
    const char *strategy, *options;
    size_t row[2];
    double weight[2]; /* 0: not known */
    double f1;
} expected;

static void the_picks_of_the_fixture_are_the_known_ones(void **state) {
    (void)state;
    static const expected all[] = {
        {"sparse-greedy", "alpha=0 beta=.001", {3, 0}, {.421112, .431495}, .00816456},
        {"sparse-greedy", "alpha=1 beta=.001", {3, 2}, {.261588, .569927}, .01354898},
        {"sparse-greedy", "alpha=1e-8 beta=1e-4", {3, 0}, {0, 0}, .00407103},
        {"sparse-iht", "alpha=1 beta=.001 iters=1", {4, 3}, {0, 0}, .01176591},
        {"sparse-iht",
         "alpha=1 beta=.001 iters=20",
         {0, 3},
         {.533916, .449847},
         .00786071},
        {"sparse-iht", "alpha=1 beta=.001 iters=1 prox=printed", {3, 2}, {0}, .01513496},
        {"sparse-iht", "alpha=1 beta=.001 iters=20 prox=printed", {2, 3}, {0}, .01354175},
        {"sparse-iht", "alpha=1e-8 beta=1e-4 iters=1", {4, 3}, {0}, .00724977},
        {"sparse-iht", "alpha=1e-8 beta=1e-4 iters=20", {4, 0}, {0}, .01054208},
        {"sparse-iht",
         "alpha=1e-8 beta=1e-4 iters=1 prox=printed",
         {3, 2},
         {0},
         .01051376},
        {"sparse-iht",
         "alpha=1e-8 beta=1e-4 iters=20 prox=printed",
         {2, 3},
         {0},
         .00928454},
    };
    pool p = fixture();
    scant_ctx *ctx = ctx_threads(2);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const expected *e = &all[i];
        scant_picks *got = picks_of(ctx, &p, e->strategy, 2, e->options);
        assert_int_equal(got->count, 2);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(got->items[k].index, e->row[k]);
            if (e->weight[k] > 0)
                near(got->items[k].weight, e->weight[k], 5e-7, "weight");
        }
        near(figure(got, "f1"), e->f1, 5e-9, "f1");
        near(figure(got, "v2"), .0179819, 5e-8, "|v|^2");
        near(figure(got, "sigma_max"), .288916, 5e-7, "sigma");
        assert_true(figure(got, "temperature") == 2);
        scant_picks_free(ctx, got);
    }
    pool_end(&p);
    scant_ctx_free(ctx);
}

/* ---- the steps -------------------------------------------------------------------- */

static const double alphas[] = {0, 1e-2, 1e-8, 100}, betas[] = {0, .1, 1e-4, 1};

/* Lengths, variances, residuals and objectives are those of explicit matrices. */
static void the_problem_is_that_of_explicit_matrices(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    for (size_t t = 0; t < 12; t++) {
        pool p = t < 2 ? pool_make(t, 6, 2, 3, t ? 4 : 0, 0)
                       : pool_make(t, 50 * t, 3 * t, 2 + t, t % 3 ? 0 : t, 0);
        if (t % 2) pool_narrow(&p);
        if (t % 4 > 1) pool_restrict(&p);
        opened o;
        open_problem(&o, ctx, &p, 5, "alpha=0.5 beta=0.25");
        dense d = dense_make(&p, 5, true, 0.5, 0.25);
        double *w = numbers(d.n), *r = numbers(d.size), *want = numbers(d.size);
        size_t places[5], m = d.n < 5 ? d.n : 5;
        assert_int_equal(o.s.n, d.n);
        assert_int_equal(o.s.size, d.size);
        for (size_t i = 0; i < m; i++) {
            places[i] = i * (d.n / 5);
            w[places[i]] = i == 3 ? 0 : normal_at(t, i);
        }
        double all = 0;
        for (size_t j = 0; j < d.n; j++) {
            double length = sqrt(dot(d.phi + j * d.size, d.phi + j * d.size, d.size));
            near(o.s.length[j], length, 1e-12 * length, "|phi|");
            near(sqrt(o.s.variance[j]), d.sigma[j], 1e-12 * d.sigma[j], "sigma");
            assert_int_equal(sparse_row(&o.s, j), d.rows[j]);
            all += length;
        }
        assert_int_equal(sparse_residual(&o.s, places, m, w, r), SCANT_OK);
        dense_image(&d, w, true, want);
        for (size_t k = 0; k < d.size; k++) near(r[k], want[k], 1e-12 * all, "residual");
        double f1 = dense_f1(&d, w);
        near(sparse_f1(&o.s, places, m, w, r), f1, 1e-12 * f1, "f1");
        near(sparse_f2(&o.s, places, m, w), dense_f(&d, w) - f1, 1e-12 * f1, "f2");
        free(w);
        free(r);
        free(want);
        dense_end(&d);
        close_problem(&o);
        pool_end(&p);
    }
    scant_ctx_free(ctx);
}

/* A step within the support: f1 never rises, the gradient at its end is orthogonal to it,
 * other weights do not change, and the residual is updated. After clipping, no weight is
 * below 0. */
static void steps_end_where_the_slope_along_them_is_zero(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    for (size_t t = 0; t < 16; t++) {
        char options[60];
        pool p = pool_make(t, 40, 3, 4, t % 3 ? 0 : 6, 0);
        snprintf(options, sizeof options, "beta=%g", betas[t % 4]);
        opened o;
        open_problem(&o, ctx, &p, 8, options);
        dense d = dense_make(&p, 8, true, 0, betas[t % 4]);
        double *w = numbers(40), *old = numbers(40), *slope = numbers(40);
        double *r = numbers(d.size), *want = numbers(d.size);
        size_t places[8];
        for (size_t i = 0; i < 8; i++) {
            places[i] = 5 * i;
            w[places[i]] = old[places[i]] = i == 2 ? 0 : normal_at(t, i);
        }
        assert_int_equal(sparse_residual(&o.s, places, 8, w, r), SCANT_OK);
        assert_int_equal(sparse_debias(&o.s, places, 8, w, r), SCANT_OK);
        assert_true(dense_f1(&d, w) <= dense_f1(&d, old) * (1 + 1e-14));
        dense_gradient(&d, w, slope);
        double along = 0, sizes = 0, moved = 0;
        for (size_t j = 0; j < 40; j++) {
            double step = w[j] - old[j];
            if (old[j] == 0) assert_true(w[j] == 0);
            along += slope[j] * step, sizes += fabs(slope[j] * step), moved += fabs(step);
        }
        assert_true(moved > 1e-3);
        near(along, 0, 1e-8 * sizes, "slope at the end");
        for (int clipped = 0; clipped < 2; clipped++) {
            dense_image(&d, w, true, want);
            for (size_t k = 0; k < d.size; k++) near(r[k], want[k], 1e-13, "residual");
            assert_int_equal(sparse_clip(&o.s, places, 8, w, r), SCANT_OK);
        }
        for (size_t j = 0; j < 40; j++) assert_true(w[j] >= 0);
        free(w);
        free(old);
        free(slope);
        free(r);
        free(want);
        dense_end(&d);
        close_problem(&o);
        pool_end(&p);
    }
    scant_ctx_free(ctx);
}

static void equal_weights_fit_the_mean(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    for (size_t b = 7; b <= 30; b += 23) {
        pool p = pool_make(b, 30, 4, 3, 0, 0);
        opened o;
        open_problem(&o, ctx, &p, b, "alpha=0 beta=0");
        double *w = numbers(30), *r = numbers(o.s.size);
        size_t places[30];
        for (size_t j = 0; j < 30; j++) places[j] = j, w[j] = (double)b / 30;
        assert_int_equal(sparse_residual(&o.s, places, 30, w, r), SCANT_OK);
        for (size_t k = 0; k < o.s.size; k++) near(r[k], 0, 1e-15, "residual");
        near(sparse_f1(&o.s, places, 30, w, r), 0, 1e-28, "f1");
        free(w);
        free(r);
        close_problem(&o);
        pool_end(&p);
    }
    scant_ctx_free(ctx);
}

/* Two draws, two classes, by hand: losses l = -log p, minus their mean over draws. */
static void losses_of_posterior_draws_by_hand(void **state) {
    (void)state;
    double p[4] = {.5, .5, .25, .75}, mean[2], room[4];
    double a = (log(.25) - log(.5)) / 2, b = (log(.75) - log(.5)) / 2;
    double spread = sparse_posterior_row(p, 2, 2, mean, room);
    near(p[0], a, 1e-15, "g(0)[0]");
    near(p[1], b, 1e-15, "g(1)[0]");
    near(p[2], -a, 1e-15, "g(0)[1]");
    near(p[3], -b, 1e-15, "g(1)[1]");
    double want = .375 * a + .625 * b; /* mean probabilities .375, .625 */
    near(mean[0], want, 1e-15, "mean");
    near(mean[1], -want, 1e-15, "mean");
    near(spread, sqrt(2) * (.375 * fabs(a - want) + .625 * fabs(b - want)), 1e-15,
         "spread");
    for (size_t t = 0; t < 20; t++) {
        enum { SAMPLES = 9, CLASSES = 5 };
        double all[SAMPLES * CLASSES], g[SAMPLES], more[2 * CLASSES];
        for (size_t i = 0; i < SAMPLES * CLASSES; i++) all[i] = unit_at(t, i);
        all[3] = 0; /* its logarithm is clipped */
        sparse_posterior_row(all, SAMPLES, CLASSES, g, more);
        double sum = 0;
        for (size_t y = 0; y < CLASSES; y++) {
            double column = 0;
            for (size_t s = 0; s < SAMPLES; s++) column += all[s * CLASSES + y];
            near(column, 0, 1e-13, "a column of g"); /* nine losses of up to 28 */
        }
        for (size_t s = 0; s < SAMPLES; s++) sum += g[s];
        near(sum, 0, 1e-13, "gbar");
        assert_true(isfinite(g[0]) && all[3] < 28);
    }
}

/* ---- which rows an iteration keeps ------------------------------------------------- */

static double objective(const dense *d, const double *s, unsigned set) {
    double sum = 0;
    for (size_t j = 0; j < d->n; j++) {
        double w = set >> j & 1 ? fmax(0, s[j]) : 0;
        sum += (w - s[j]) * (w - s[j]) / 2;
        if (set >> j & 1) sum -= d->alpha * d->sigma[j] * d->sigma[j];
    }
    return sum;
}

static double printed_objective(const dense *d, const double *s, unsigned set) {
    double sum = 0;
    for (size_t j = 0; j < d->n; j++)
        if (set >> j & 1) sum -= dense_worth(d, j, s[j], true);
    return sum;
}

/* The minimum over all sets of b rows. */
static double least(const dense *d, const double *s,
                    double (*value)(const dense *, const double *, unsigned)) {
    double best = INFINITY;
    for (unsigned set = 0; set < 1U << d->n; set++)
        if ((size_t)__builtin_popcount(set) == d->b) best = fmin(best, value(d, s, set));
    return best;
}

static void each_rule_finds_the_minimum_of_its_objective(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    size_t suboptimal = 0;
    for (size_t t = 0; t < 100; t++) {
        char options[100];
        pool p = pool_make(t, 9, 2, 3, 0, 0);
        dense d = dense_make(&p, 1 + t % 4, true, t % 2 ? 1 : 1e-3, 1e-3);
        double *w = numbers(9), *z = numbers(9), *s = numbers(9);
        bool chosen[9];
        dense_iteration(&d, false, w, z, chosen, s); /* for the point s */
        for (int printed = 0; printed < 2; printed++) {
            unsigned set = 0;
            snprintf(options, sizeof options, "alpha=%g beta=%g iters=1 prox=%s", d.alpha,
                     d.beta, printed ? "printed" : "exact");
            scant_picks *got = picks_of(ctx, &p, "sparse-iht", d.b, options);
            for (size_t i = 0; i < got->count; i++) set |= 1U << got->items[i].index;
            double claimed =
                printed ? least(&d, s, printed_objective) : least(&d, s, objective);
            double value = (printed ? printed_objective : objective)(&d, s, set);
            near(value, claimed, 1e-12 * (1 + fabs(claimed)), "minimum");
            if (printed)
                suboptimal += objective(&d, s, set) > least(&d, s, objective) + 1e-9;
            scant_picks_free(ctx, got);
        }
        free(w);
        free(z);
        free(s);
        dense_end(&d);
        pool_end(&p);
    }
    assert_true(suboptimal > 25); /* of 100: the paper's rule often misses the minimum */
    scant_ctx_free(ctx);
}

/* ---- whole runs ------------------------------------------------------------------- */

typedef struct sizes {
    size_t n, d, c, m, kinds, batch;
} sizes;

/* One row, one column, all rows, copies, a thousand classes, draws, several blocks. */
static const sizes runs[] = {
    {1, 1, 2, 0, 0, 1},      {1, 3, 2, 0, 0, 5},     {2, 1, 2, 0, 0, 2},
    {30, 4, 3, 0, 0, 30},    {30, 4, 3, 0, 5, 20},   {40, 2, 1000, 0, 0, 6},
    {60, 3, 4, 7, 0, 15},    {50, 3, 4, 9, 6, 30},   {600, 7, 5, 0, 0, 40},
    {700, 20, 3, 0, 60, 50}, {300, 40, 10, 0, 0, 20}};
enum { RUNS = sizeof runs / sizeof *runs };

/* For greedy, which tracks only some of so many rows: also draws, copies, and rows that
 * may not be picked. */
static const sizes larger[] = {{1500, 6, 4, 0, 0, 60},
                               {2500, 12, 5, 0, 0, 47},
                               {2000, 3, 4, 10, 0, 53},
                               {2300, 5, 4, 0, 300, 64},
                               {4200, 4, 3, 0, 0, 60}};
enum { LARGER = sizeof larger / sizeof *larger };

static void over_all_runs(void (*check)(scant_ctx *, const pool *, size_t, size_t)) {
    scant_ctx *ctx = ctx_threads(2);
    for (size_t i = 0; i < RUNS; i++)
        for (size_t how = 0; how < 4; how++) {
            const sizes *r = &runs[i];
            pool p = pool_make(i, r->n, r->d, r->c, r->m, r->kinds);
            if (how & 1) pool_narrow(&p);
            if (how & 2 && r->n > 4) pool_restrict(&p);
            check(ctx, &p, r->batch, i + how);
            pool_end(&p);
        }
    scant_ctx_free(ctx);
}

static void greedy_run(scant_ctx *ctx, const pool *p, size_t batch, size_t turn) {
    /* Without the terms of alpha and beta the fit becomes exact, and what is left is
     * rounding: there the batch stays below the number of dimensions. */
    for (size_t k = 0; k < 3; k++) {
        double beta = betas[(turn + k) % 4];
        check_greedy(ctx, p, beta > 0 || batch < 7 ? batch : 6,
                     alphas[(turn + k) / 2 % 4], beta, turn % 3 ? 1 : 0.5);
    }
}

static void greedy_picks_what_the_plain_algorithm_picks(void **state) {
    (void)state;
    over_all_runs(greedy_run);
}

/* Counts in the reported progress how often picks were withdrawn. */
typedef struct backs {
    double fraction;
    size_t count;
} backs;

static void on_progress(void *user, const char *phase, double fraction) {
    backs *b = user;
    if (strcmp(phase, "picking")) return;
    b->count += fraction <= b->fraction;
    b->fraction = fraction;
}

/* From 1025 rows on only some are tracked. When all are updated, another row may turn out
 * to have been better, and picks are withdrawn. With a smaller beta even the plain
 * algorithm's weights depend on the last digit. */
static void greedy_picks_the_same_where_it_withdraws_picks(void **state) {
    (void)state;
    backs seen = {0};
    scant_ctx *ctx;
    scant_ctx_opts opts = {.threads = 2, .user = &seen, .progress = on_progress};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    for (size_t i = 0; i < LARGER; i++)
        for (size_t how = 0; how < 3; how++) {
            const sizes *r = &larger[i];
            double beta = how < 2 ? 1e-2 : 0.1;
            pool p = pool_make(i, r->n, r->d, r->c, r->m, r->kinds);
            if (i & 1) pool_narrow(&p);
            if (r->n > 3000) pool_restrict(&p);
            seen = (backs){0};
            check_greedy(ctx, &p, r->batch, how ? 1e-2 : 1e-8, beta, 1);
            assert_true(seen.count > 0);
            pool_end(&p);
        }
    scant_ctx_free(ctx);
}

static void iht_run(scant_ctx *ctx, const pool *p, size_t batch, size_t turn) {
    for (size_t k = 0; k < 3; k++)
        check_iht(ctx, p, batch, alphas[(turn + k) / 2 % 4], betas[1 + (turn + k) % 3],
                  1 + (turn * 5 + k) % 12, k % 2);
}

static void iht_keeps_what_the_plain_algorithm_keeps(void **state) {
    (void)state;
    over_all_runs(iht_run);
}

/* Small batches over many iterations: most rows are not evaluated again, and the step
 * length comes from the few that had weight. With three different rows only, a third of
 * all may be kept whenever one may: then all are evaluated. With more rows than the
 * iterations pay for, their part of the step is not stored. */
static void iht_keeps_the_same_where_few_rows_are_evaluated(void **state) {
    (void)state;
    static const sizes few[] = {{1500, 6, 4, 0, 0, 4},  {2500, 12, 5, 0, 0, 6},
                                {2000, 3, 4, 10, 0, 5}, {900, 5, 4, 0, 3, 3},
                                {800, 9, 3, 0, 40, 4},  {600, 4, 3, 0, 0, 25}};
    scant_ctx *ctx = ctx_threads(2);
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        for (size_t how = 0; how < 4; how++) {
            pool p =
                pool_make(20 + i, few[i].n, few[i].d, few[i].c, few[i].m, few[i].kinds);
            if (how & 1) pool_narrow(&p);
            if (how & 2) pool_restrict(&p);
            check_iht(ctx, &p, few[i].batch, alphas[how], betas[1 + how % 3], 30, false);
            pool_end(&p);
        }
    scant_ctx_free(ctx);
}

typedef struct warnings {
    char text[2000];
} warnings;

static void on_log(void *user, scant_log_level level, const char *text) {
    warnings *w = user;
    (void)level;
    strncat(w->text, text, sizeof w->text - strlen(w->text) - 1);
}

static scant_ctx *ctx_listening(warnings *w) {
    scant_ctx *ctx;
    *w = (warnings){{0}};
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.threads = 2, .user = w, .log = on_log}, &ctx),
        SCANT_OK);
    return ctx;
}

/* Where calibration changes nothing, all gradients are 0: variance decides. */
static void without_calibration_variance_decides_and_a_warning_says_so(void **state) {
    (void)state;
    warnings heard;
    scant_ctx *ctx = ctx_listening(&heard);
    pool p = pool_make(3, 50, 4, 3, 0, 0);
    memcpy(p.q, p.p, 150 * sizeof *p.q);
    check_greedy(ctx, &p, 10, 1, .1, 1);
    assert_non_null(strstr(heard.text, "calibrated: at most "));
    assert_non_null(strstr(heard.text, "away from the model's own"));
    scant_picks *got = picks_of(ctx, &p, "sparse-greedy", 10, "");
    dense d = dense_make(&p, 10, true, 1, 1);
    for (size_t i = 0; i < 10; i++) {
        size_t above = 0;
        for (size_t j = 0; j < 50; j++)
            above += d.sigma[j] > d.sigma[got->items[i].index];
        assert_int_equal(above, i);
        near(got->items[i].weight, 1, 1e-12, "weight");
    }
    scant_picks_free(ctx, got);
    check_iht(ctx, &p, 10, 1, .1, 5, false);
    dense_end(&d);
    pool_end(&p);
    scant_ctx_free(ctx);
}

static void temperatures_are_reported_and_one_near_1_is_warned_about(void **state) {
    (void)state;
    static const double told[] = {1.0005, 2, 1};
    static const char *const says[] = {"the temperature is 1.0005", "", "is 1;"};
    for (size_t i = 0; i < 3; i++) {
        warnings heard;
        scant_ctx *ctx = ctx_listening(&heard);
        pool p = fixture();
        p.temperature = told[i];
        scant_picks *got = picks_of(ctx, &p, "sparse-iht", 2, "");
        assert_true(figure(got, "temperature") == told[i]);
        assert_non_null(strstr(heard.text, says[i]));
        assert_int_equal(heard.text[0] == 0, i == 1);
        scant_picks_free(ctx, got);
        pool_end(&p);
        scant_ctx_free(ctx);
    }
}

/* The smallest objective of all iterates, found by ending at each of them in turn. */
static void the_best_iterate_has_the_smallest_objective(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    size_t earlier = 0;
    for (size_t t = 0; t < 10; t++) {
        pool p = pool_make(t, 60, 4, 3, 0, 0);
        double smallest = INFINITY;
        size_t when = 0;
        char options[100];
        for (size_t iters = 1; iters <= 15; iters++) {
            snprintf(options, sizeof options, "alpha=1e-8 beta=0.01 iters=%zu", iters);
            scant_picks *got = picks_of(ctx, &p, "sparse-iht", 8, options);
            if (figure(got, "f") < smallest) smallest = figure(got, "f"), when = iters;
            assert_true(figure(got, "iterations") == (double)iters);
            scant_picks_free(ctx, got);
        }
        scant_picks *best =
            picks_of(ctx, &p, "sparse-iht", 8, "alpha=1e-8 beta=0.01 iters=15 keep=best");
        snprintf(options, sizeof options, "alpha=1e-8 beta=0.01 iters=%zu", when);
        scant_picks *then = picks_of(ctx, &p, "sparse-iht", 8, options);
        assert_true(figure(best, "f") == smallest);
        assert_true(figure(best, "kept") == (double)when);
        assert_memory_equal(best->items, then->items, 8 * sizeof *best->items);
        earlier += when < 15;
        scant_picks_free(ctx, best);
        scant_picks_free(ctx, then);
        pool_end(&p);
    }
    assert_true(earlier > 2); /* the last is not always the best */
    scant_ctx_free(ctx);
}

static void a_tolerance_ends_the_iteration_and_changes_nothing_else(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    pool p = pool_make(5, 80, 4, 3, 0, 0);
    scant_picks *early =
        picks_of(ctx, &p, "sparse-iht", 5, "beta=1e-4 iters=500 tol=1e-4");
    double done = figure(early, "iterations");
    assert_true(done > 1 && done < 500);
    char options[60];
    snprintf(options, sizeof options, "beta=1e-4 iters=%g", done);
    scant_picks *plain = picks_of(ctx, &p, "sparse-iht", 5, options);
    assert_memory_equal(early->items, plain->items, 5 * sizeof *plain->items);
    scant_picks *all = picks_of(ctx, &p, "sparse-iht", 5, "beta=1e-4 iters=500");
    assert_true(figure(all, "iterations") == 500);
    scant_picks_free(ctx, early);
    scant_picks_free(ctx, plain);
    scant_picks_free(ctx, all);
    pool_end(&p);
    scant_ctx_free(ctx);
}

static void more_threads_change_no_bit(void **state) {
    (void)state;
    static const char *const strategies[] = {"sparse-greedy", "sparse-iht"};
    static const char *const options[] = {"beta=1e-4", "beta=0.1"};
    for (size_t k = 0; k < 8; k++) {
        pool p = pool_make(k, 3000, 33, 7, k & 1 ? 11 : 0, 0);
        if (k & 2) pool_narrow(&p);
        scant_ctx *one = ctx_threads(1);
        scant_picks *want = picks_of(one, &p, strategies[k / 4], 60, options[k & 1]);
        for (unsigned threads = 2; threads <= MOST_THREADS; threads++) {
            scant_ctx *ctx = ctx_threads(threads);
            scant_picks *got = picks_of(ctx, &p, strategies[k / 4], 60, options[k & 1]);
            assert_memory_equal(got->items, want->items, 60 * sizeof *got->items);
            scant_picks_free(ctx, got);
            scant_ctx_free(ctx);
        }
        scant_picks_free(one, want);
        scant_ctx_free(one);
        pool_end(&p);
    }
}

/* Without beta and bias f has no unit (and without alpha, neither has an iteration's
 * choice of rows): features times a power of two give the same picks, to the bit. */
static void features_of_extreme_size_give_the_same_picks(void **state) {
    (void)state;
    static const int powers[] = {-700, -40, 40, 500, 900};
    static const char *const strategies[] = {"sparse-greedy", "sparse-iht"};
    scant_ctx *ctx = ctx_threads(2);
    for (size_t s = 0; s < 2; s++) {
        const char *options = s ? "alpha=0 beta=0 bias=0" : "alpha=0.5 beta=0 bias=0";
        pool p = pool_make(9, 100, 5, 4, 0, 0);
        scant_picks *want = picks_of(ctx, &p, strategies[s], 10, options);
        for (size_t k = 0; k < sizeof powers / sizeof *powers; k++) {
            pool large = pool_make(9, 100, 5, 4, 0, 0);
            for (size_t i = 0; i < 500; i++) large.h[i] = ldexp(p.h[i], powers[k]);
            scant_picks *got = picks_of(ctx, &large, strategies[s], 10, options);
            for (size_t i = 0; i < 10; i++) {
                assert_int_equal(got->items[i].index, want->items[i].index);
                assert_true(got->items[i].weight == want->items[i].weight);
            }
            scant_picks_free(ctx, got);
            pool_end(&large);
        }
        scant_picks_free(ctx, want);
        pool_end(&p);
    }
    scant_ctx_free(ctx);
}

/* The option decides which evidence is read; without it, gradients if all is given. */
static void the_source_follows_the_option_or_the_evidence(void **state) {
    (void)state;
    const unsigned gradient = SCANT_PROBS | SCANT_CALIBRATED | SCANT_FEATURES;
    const struct {
        const char *source;
        unsigned given, used;
    } all[] = {{NULL, gradient, gradient},
               {NULL, gradient | SCANT_DRAWS, gradient},
               {NULL, SCANT_DRAWS, SCANT_DRAWS},
               {NULL, SCANT_DRAWS | SCANT_PROBS, SCANT_DRAWS},
               {NULL, SCANT_PROBS, gradient},
               {"samples", gradient | SCANT_DRAWS, SCANT_DRAWS},
               {"samples", gradient, SCANT_DRAWS},
               {"gradient", SCANT_DRAWS, gradient}};
    scant_ctx *ctx = ctx_threads(1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        unsigned used, missing;
        scant_setting source = {"source", all[i].source};
        scant_select_opts opts = {.settings = &source,
                                  .n_settings = source.value != NULL};
        assert_int_equal(
            scant_select_inputs(ctx, "sparse-iht", &opts, all[i].given, &used, &missing),
            SCANT_OK);
        assert_int_equal(used, all[i].used & all[i].given);
        assert_int_equal(missing, all[i].used & ~all[i].given);
    }
    pool p = pool_make(1, 20, 2, 3, 4, 0);
    scant_picks *got = picks_of(ctx, &p, "sparse-greedy", 2, "");
    bool told = false;
    for (size_t i = 0; i < got->n_settings; i++)
        told |= !strcmp(got->settings[i].key, "source") &&
                !strcmp(got->settings[i].value, "samples");
    assert_true(told);
    scant_picks_free(ctx, got);
    pool_end(&p);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_problem_of_the_fixture_has_the_known_values),
        cmocka_unit_test(the_picks_of_the_fixture_are_the_known_ones),
        cmocka_unit_test(the_problem_is_that_of_explicit_matrices),
        cmocka_unit_test(steps_end_where_the_slope_along_them_is_zero),
        cmocka_unit_test(equal_weights_fit_the_mean),
        cmocka_unit_test(losses_of_posterior_draws_by_hand),
        cmocka_unit_test(each_rule_finds_the_minimum_of_its_objective),
        cmocka_unit_test(greedy_picks_what_the_plain_algorithm_picks),
        cmocka_unit_test(greedy_picks_the_same_where_it_withdraws_picks),
        cmocka_unit_test(iht_keeps_what_the_plain_algorithm_keeps),
        cmocka_unit_test(iht_keeps_the_same_where_few_rows_are_evaluated),
        cmocka_unit_test(without_calibration_variance_decides_and_a_warning_says_so),
        cmocka_unit_test(temperatures_are_reported_and_one_near_1_is_warned_about),
        cmocka_unit_test(the_best_iterate_has_the_smallest_objective),
        cmocka_unit_test(a_tolerance_ends_the_iteration_and_changes_nothing_else),
        cmocka_unit_test(more_threads_change_no_bit),
        cmocka_unit_test(features_of_extreme_size_give_the_same_picks),
        cmocka_unit_test(the_source_follows_the_option_or_the_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
