/* SPDX-License-Identifier: Apache-2.0
 *
 * bss as a strategy: the quality of its weights, computed from rows and weights alone;
 * budgets; bases; invalid calls. The sampling process has its own tests
 * (linalg/test_bss_sampling.c), and so has the basis (linalg/test_basis.c).
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "planned.h"
#include "select/monomials.h"
#include "slow.h"
#include "support.h"

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.17g is not %.17g", got, want);
}

/* ---- calls ------------------------------------------------------------------------- */

typedef struct call {
    const double *x; /* (n, d) */
    size_t n, d, batch;
    const int32_t *labels;
    bool gradients; /* x is given as gradients */
    uint64_t seed;
    const char *epsilon, *basis, *bias, *dim; /* NULL: the default */
} call;

typedef struct result {
    scant_ctx *ctx;
    scant_picks *picks;
    char warned[1024]; /* all warnings */
} result;

static void on_log(void *user, scant_log_level level, const char *text) {
    result *r = user;
    size_t used = strlen(r->warned);
    if (level == SCANT_LOG_WARNING)
        snprintf(r->warned + used, sizeof r->warned - used, "%s\n", text);
}

static scant_status make_call(const call *c, result *r) {
    size_t shape[2] = {c->n, c->d}, n_settings = 0;
    scant_array *x, *labels = NULL;
    scant_setting settings[4];
    scant_ctx_opts opts = {.threads = 2, .user = r, .log = on_log};
    *r = (result){0};
    assert_int_equal(scant_ctx_create(&opts, &r->ctx), SCANT_OK);
    assert_int_equal(scant_array_wrap(r->ctx, "x", c->x, SCANT_F64, 2, shape, &x), 0);
    if (c->labels)
        assert_int_equal(
            scant_array_wrap(r->ctx, "y", c->labels, SCANT_I32, 1, shape, &labels), 0);
    if (c->epsilon) settings[n_settings++] = (scant_setting){"epsilon", c->epsilon};
    if (c->basis) settings[n_settings++] = (scant_setting){"basis", c->basis};
    if (c->bias) settings[n_settings++] = (scant_setting){"bias", c->bias};
    if (c->dim) settings[n_settings++] = (scant_setting){"dim", c->dim};
    scant_evidence e = {.labels = labels};
    if (c->gradients)
        e.gradients = x;
    else
        e.features = x;
    scant_select_opts o = {
        .seed = c->seed, .settings = settings, .n_settings = n_settings};
    scant_status s = scant_select(r->ctx, "bss", &e, c->batch, &o, &r->picks);
    scant_array_free(x);
    scant_array_free(labels);
    return s;
}

static void end(result *r) {
    scant_picks_free(r->ctx, r->picks);
    scant_ctx_free(r->ctx);
}

static void run(const call *c, result *r) {
    if (make_call(c, r) != SCANT_OK) fail_msg("%s", scant_ctx_errmsg(r->ctx));
}

static double info(const result *r, const char *name) {
    for (size_t i = 0; i < r->picks->n_info; i++)
        if (!strcmp(r->picks->info[i].name, name)) return r->picks->info[i].value;
    fail_msg("no figure %s", name);
    return NAN;
}

static const char *setting(const result *r, const char *key) {
    for (size_t i = 0; i < r->picks->n_settings; i++)
        if (!strcmp(r->picks->settings[i].key, key)) return r->picks->settings[i].value;
    fail_msg("no option %s", key);
    return NULL;
}

static void check_refused(const call *c, scant_status status, const char *says) {
    result r;
    assert_int_equal(make_call(c, &r), status);
    if (!strstr(scant_ctx_errmsg(r.ctx), says))
        fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(r.ctx), says);
    end(&r);
}

/* ---- pools ------------------------------------------------------------------------- */

static double *normals(uint64_t seed, size_t count) {
    double *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) x[i] = normal_at(seed, i);
    return x;
}

/* Rows whose lengths spread over three decades. */
static double *heavy(uint64_t seed, size_t n, size_t d) {
    double *x = normals(seed, n * d);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++) x[i * d + k] /= 0.001 + unit_at(seed + 1, i);
    return x;
}

enum { MOST = 16 }; /* functions of a basis that can be checked */

/* Function k of row i: features, then the constant. */
static double function(const call *c, size_t i, size_t k) {
    return k < c->d ? c->x[i * c->d + k] : 1;
}

/* Eigenvalues of the weighted sum over the picks relative to the mean over the pool:
 * those of A^T A in a basis that is orthonormal under the pool's distribution. */
static size_t eigenvalues(const call *c, const result *r, double *values) {
    size_t w = c->d + !(c->gradients || (c->bias && *c->bias == '0')), available = 0;
    double s[MOST * MOST] = {0}, g[MOST * MOST] = {0};
    assert_true(w <= MOST);
    for (size_t i = 0; i < c->n; i++) available += !c->labels || c->labels[i] < 0;
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < w * w && (!c->labels || c->labels[i] < 0); k++)
            g[k] += function(c, i, k / w) * function(c, i, k % w) / (double)available;
    for (size_t p = 0; p < r->picks->count; p++) {
        const scant_pick *pick = &r->picks->items[p];
        for (size_t k = 0; k < w * w; k++)
            s[k] += pick->weight * function(c, pick->index, k / w) *
                    function(c, pick->index, k % w);
    }
    slow_generalized(w, s, g, values);
    return w;
}

/* Properties of every result. */
static void check_result(const call *c, const result *r) {
    const scant_picks *p = r->picks;
    bool *seen = calloc(c->n, sizeof *seen);
    assert_true(p->count >= 1 && p->count <= c->batch && p->count <= c->n);
    assert_true(info(r, "distinct") == (double)p->count);
    assert_true(info(r, "draws") >= (double)p->count);
    assert_true(info(r, "leverage") >= info(r, "dim") * (1 - 1e-9));
    assert_true(info(r, "sum_beta") >= 1 - 1e-9);
    for (size_t i = 0; i < p->count; i++) {
        const scant_pick *pick = &p->items[i];
        assert_true(pick->weight > 0 && isfinite(pick->weight));
        assert_true(pick->score == pick->weight);
        assert_true(pick->index < c->n && !seen[pick->index]);
        seen[pick->index] = true;
        if (!i) continue;
        assert_true(pick[-1].weight >= pick->weight);
        if (pick[-1].weight == pick->weight) assert_true(pick[-1].index < pick->index);
    }
    bool good = info(r, "lambda_min") >= 0.75 && info(r, "lambda_max") <= 1.25 &&
                info(r, "sum_beta") <= 1.25;
    assert_true(info(r, "good") == (good ? 1 : 0));
    free(seen);
}

/* ---- the quality of the weights ---------------------------------------------------- */

/* For generalized eigenvalues of matrices whose entries spread over six decades. */
static const double NEAR = 1e-7;

static void check_band(const call *c, const result *r) {
    double values[MOST];
    size_t w = eigenvalues(c, r, values);
    assert_int_equal(info(r, "dim"), w);
    near(info(r, "lambda_min"), values[0], NEAR);
    near(info(r, "lambda_max"), values[w - 1], NEAR);
}

static void an_epsilon_gives_good_output_in_every_run(void **state) {
    (void)state;
    static const char *epsilons[] = {"0.5", "0.0245", "0.01"};
    for (size_t run_ = 0; run_ < 200; run_++) {
        size_t n = 300 + 13 * run_, d = 1 + run_ % 4;
        double *x = heavy(run_, n, d), values[MOST];
        call c = {.x = x, .n = n, .d = d, .batch = n, .seed = run_};
        c.epsilon = epsilons[run_ % 3];
        result r;
        run(&c, &r);
        check_result(&c, &r);
        check_band(&c, &r);
        size_t w = eigenvalues(&c, &r, values);
        double gamma = info(&r, "gamma"), epsilon = strtod(c.epsilon, NULL);
        assert_true(gamma <= 0.11 && 2 * gamma * gamma / (1 - gamma * gamma) <= epsilon);
        near(info(&r, "epsilon"), 2 * gamma * gamma / (1 - gamma * gamma), 1e-12);
        assert_true(values[0] >= 0.75 && values[w - 1] <= 1.25);
        assert_true(info(&r, "sum_beta") <= 1.25);
        assert_true(info(&r, "good") == 1);
        assert_string_equal(setting(&r, "epsilon"), c.epsilon);
        end(&r);
        free(x);
    }
}

/* At any budget that is enough for the basis. sum u_i |v_i|^2 is the trace of A^T A,
 * whose mean the process keeps near D; the band narrows with gamma. */
static void the_weighted_trace_is_near_the_dimension(void **state) {
    (void)state;
    for (size_t k = 0; k < 12; k++) {
        double *x = heavy(k, 2000, 5), values[MOST], trace = 0;
        call c = {.x = x, .n = 2000, .d = 5, .batch = 100 + 60 * k, .seed = k};
        result r;
        run(&c, &r);
        check_result(&c, &r);
        check_band(&c, &r);
        size_t w = eigenvalues(&c, &r, values);
        for (size_t i = 0; i < w; i++) trace += values[i] / (double)w;
        near(trace, 1, info(&r, "gamma"));
        end(&r);
        free(x);
    }
}

/* Solves min sum u (f . a - y)^2 by normal equations in long double. */
static void fit(const call *c, const scant_pick *picks, size_t count, const double *y,
                double *out) {
    size_t w = c->d + 1;
    long double a[MOST * MOST] = {0}, inverse[MOST * MOST], right[MOST] = {0};
    for (size_t p = 0; p < count; p++)
        for (size_t k = 0; k < w; k++) {
            long double wf = picks[p].weight * function(c, picks[p].index, k);
            right[k] += wf * y[picks[p].index];
            for (size_t j = 0; j < w; j++)
                a[k * w + j] += wf * function(c, picks[p].index, j);
        }
    slow_inverse(w, a, inverse);
    for (size_t k = 0; k < w; k++) {
        long double sum = 0;
        for (size_t j = 0; j < w; j++) sum += inverse[k * w + j] * right[j];
        out[k] = (double)sum;
    }
}

static double predict(const call *c, const double *fitted, size_t i) {
    double sum = 0;
    for (size_t k = 0; k <= c->d; k++) sum += fitted[k] * function(c, i, k);
    return sum;
}

static void functions_in_the_span_are_fitted_exactly(void **state) {
    (void)state;
    enum { N = 1000, D = 6 };
    double *x = normals(3, N * D), y[N], fitted[D + 1];
    static const double truth[] = {1, -2, 0.5, 3, 0, 7, -4};
    call c = {.x = x, .n = N, .d = D};
    for (size_t i = 0; i < N; i++) y[i] = predict(&c, truth, i);
    for (c.batch = 14; c.batch < 400; c.batch *= 2) {
        result r;
        run(&c, &r);
        assert_true(r.picks->count > D);
        fit(&c, r.picks->items, r.picks->count, y, fitted);
        for (size_t k = 0; k <= D; k++) near(fitted[k], truth[k], 1e-8);
        end(&r);
    }
    free(x);
}

/* The noise is the same everywhere, but a few long rows decide the slopes: uniform picks
 * miss them. */
static void the_fit_beats_that_of_uniform_picks(void **state) {
    (void)state;
    enum { N = 3000, D = 5, B = 60, SEEDS = 40 };
    double *x = normals(5, N * D), y[N], fitted[D + 1], loss[2] = {0};
    for (size_t i = 0; i < N; i++) {
        bool far = i % 100 == 0;
        for (size_t k = 0; k < D; k++) x[i * D + k] *= far ? 1 : 0.02;
        y[i] = normal_at(6, i);
    }
    call c = {.x = x, .n = N, .d = D, .batch = B};
    for (c.seed = 0; c.seed < SEEDS; c.seed++)
        for (size_t way = 0; way < 2; way++) {
            result r;
            scant_pick uniform[B];
            run(&c, &r);
            size_t count = r.picks->count;
            for (size_t i = 0; i < count; i++)
                uniform[i] = (scant_pick){
                    .index = (size_t)(unit_at(7, c.seed * B + i) * N), .weight = 1};
            fit(&c, way ? uniform : r.picks->items, count, y, fitted);
            for (size_t i = 0; i < N; i++)
                loss[way] += pow(predict(&c, fitted, i) - y[i], 2) / N / SEEDS;
            end(&r);
        }
    /* The best possible is 1; measured: 1.03, and 2.8 with uniform picks. */
    assert_true(loss[0] < 1.15 && loss[1] > 1.5);
    free(x);
}

/* ---- budgets ----------------------------------------------------------------------- */

static void no_budget_is_exceeded(void **state) {
    (void)state;
    static const size_t ns[] = {1, 2, 3, 10, 60, 500}, ds[] = {1, 2, 5, 30};
    static const size_t batches[] = {1, 2, 3, 4, 7, 20, 90, 600};
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 4; k++)
            for (size_t j = 0; j < 8; j++)
                for (int tail = 0; tail < 2; tail++) {
                    double *x = tail ? heavy(i, ns[i], ds[k]) : normals(i, ns[i] * ds[k]);
                    call c = {.x = x, .n = ns[i], .d = ds[k], .batch = batches[j]};
                    result r;
                    c.seed = i + k + j;
                    run(&c, &r);
                    check_result(&c, &r);
                    size_t batch = c.batch < c.n ? c.batch : c.n;
                    size_t most = batch < 4 ? 1 : batch / 2;
                    assert_true(info(&r, "dim") <= (double)most);
                    bool cut = info(&r, "dim") == (double)most && ds[k] + 1 > most;
                    assert_true(!strstr(r.warned, "principal") || cut);
                    end(&r);
                    free(x);
                }
}

/* With many rows, none of which stands out, nearly all of the budget is used. */
static void the_budget_is_used(void **state) {
    (void)state;
    double *x = normals(8, 20000 * 4);
    for (size_t batch = 10; batch <= 2000; batch += 199) {
        call c = {.x = x, .n = 20000, .d = 4, .batch = batch, .seed = batch};
        result r;
        run(&c, &r);
        assert_true((double)r.picks->count >= 0.95 * (double)batch - 2);
        end(&r);
    }
    free(x);
}

static void an_epsilon_that_needs_more_rows_than_the_batch_is_refused(void **state) {
    (void)state;
    double *x = normals(9, 2000 * 3);
    call c = {.x = x, .n = 2000, .d = 3, .batch = 2000, .epsilon = "0.2"};
    result r;
    char says[80];
    run(&c, &r);
    size_t takes = r.picks->count;
    assert_true(takes > 100 && takes < 1000);
    end(&r);
    snprintf(says, sizeof says, "needs %zu rows, more than the batch of 50", takes);
    c.batch = 50;
    check_refused(&c, SCANT_EUSAGE, says);
    c.batch = takes;
    run(&c, &r);
    assert_int_equal(r.picks->count, takes);
    end(&r);
    c.batch = takes - 1;
    check_refused(&c, SCANT_EUSAGE, "more than the batch");
    free(x);
}

static void a_row_that_is_drawn_twice_is_one_pick(void **state) {
    (void)state;
    enum { N = 400 };
    double x[N]; /* one row has nearly all the leverage of the second dimension */
    for (size_t i = 0; i < N; i++) x[i] = i == 77 ? 1000 : normal_at(10, i);
    call c = {.x = x, .n = N, .d = 1, .batch = 40};
    result r;
    run(&c, &r);
    check_result(&c, &r);
    check_band(&c, &r);
    assert_true(info(&r, "draws") > info(&r, "distinct") + 5);
    bool there = false;
    for (size_t i = 0; i < r.picks->count; i++) there |= r.picks->items[i].index == 77;
    assert_true(there);
    near(info(&r, "leverage"), N, 0.05 * N); /* it spans a dimension alone */
    end(&r);
}

/* ---- bases ------------------------------------------------------------------------- */

static void check_same(const call *a, const call *b, double tolerance) {
    result one, other;
    run(a, &one);
    run(b, &other);
    assert_int_equal(one.picks->count, other.picks->count);
    for (size_t i = 0; i < one.picks->count; i++) {
        const scant_pick *p = &one.picks->items[i], *q = &other.picks->items[i];
        assert_int_equal(p->index, q->index);
        near(p->weight, q->weight, tolerance * p->weight);
    }
    end(&one);
    end(&other);
}

/* The distribution depends on the span alone, not on the functions that span it; weights
 * differ by rounding. */
static void another_basis_of_the_same_span_gives_the_same_picks(void **state) {
    (void)state;
    enum { N = 900, D = 4 };
    double *x = normals(11, N * D), mixed[N * D], ones[N * (D + 1)], large[N * D];
    for (size_t i = 0; i < N; i++) {
        const double *row = x + i * D;
        for (size_t k = 0; k < D; k++) {
            mixed[i * D + k] = 3 * row[k] - row[(k + 1) % D] + 5;
            ones[i * (D + 1) + k] = row[k];
            large[i * D + k] = ldexp(row[k], 700);
        }
        ones[i * (D + 1) + D] = 1;
    }
    call c = {.x = x, .n = N, .d = D, .batch = 120, .seed = 5}, other = c;
    other.x = mixed;
    check_same(&c, &other, 1e-8);
    other = c;
    other.basis = "poly:1";
    check_same(&c, &other, 1e-8);
    other = c;
    other.x = ones, other.d = D + 1, other.bias = "0";
    check_same(&c, &other, 1e-8);
    other.gradients = true; /* the same numbers, to the bit */
    other.bias = NULL;
    call plain = other;
    plain.gradients = false, plain.bias = "0";
    check_same(&plain, &other, 0);
    other.basis = "gradients";
    check_same(&plain, &other, 0);
    c.bias = "0";
    other = c;
    other.x = large; /* whose squares overflow */
    check_same(&c, &other, 1e-8);
    for (size_t i = 0; i < N * D; i++) large[i] = ldexp(x[i], -700);
    check_same(&c, &other, 1e-8); /* or underflow */
    result r;
    other.bias = "1";
    run(&other, &r);
    assert_int_equal(info(&r, "dim"), 1); /* nothing beside the constant */
    end(&r);
    free(x);
}

static void the_option_shows_the_basis_that_was_used(void **state) {
    (void)state;
    double *x = normals(12, 300);
    call c = {.x = x, .n = 100, .d = 3, .batch = 20};
    result r;
    run(&c, &r);
    assert_string_equal(setting(&r, "basis"), "features");
    assert_null(setting(&r, "epsilon"));
    assert_string_equal(r.warned, "");
    end(&r);
    c.gradients = true;
    run(&c, &r);
    assert_string_equal(setting(&r, "basis"), "gradients");
    end(&r);
    c.basis = "features";
    check_refused(&c, SCANT_EUSAGE, "needs features");
    c.basis = "gradients";
    c.gradients = false;
    check_refused(&c, SCANT_EUSAGE, "needs gradients");
    free(x);
}

/* Two long axes, two short ones: with 5 rows, two dimensions are kept, and the weights
 * are right for those. */
static void a_basis_that_is_too_large_is_cut_with_a_warning(void **state) {
    (void)state;
    enum { N = 600, D = 4 };
    double *x = normals(13, N * D), long_axes[N * 2];
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < D; k++) {
            x[i * D + k] *= k < 2 ? 100 : 1e-2;
            if (k < 2) long_axes[i * 2 + k] = x[i * D + k];
        }
    call c = {.x = x, .n = N, .d = D, .batch = 5, .bias = "0"};
    result r;
    run(&c, &r);
    assert_non_null(strstr(r.warned, "4 dimensions, more than half of a batch of 5"));
    assert_non_null(strstr(r.warned, "2 leading principal directions"));
    assert_int_equal(info(&r, "dim"), 2);
    call kept = c;
    kept.x = long_axes, kept.d = 2;
    double values[MOST];
    eigenvalues(&kept, &r, values); /* the short axes turn the long ones by 1e-4 */
    near(info(&r, "lambda_min"), values[0], 1e-3);
    near(info(&r, "lambda_max"), values[1], 1e-3);
    end(&r);
    c.batch = 60, c.dim = "2"; /* the same two directions, by option dim */
    run(&c, &r);
    assert_string_equal(r.warned, "");
    assert_int_equal(info(&r, "dim"), 2);
    eigenvalues(&kept, &r, values);
    near(info(&r, "lambda_min"), values[0], 1e-3);
    near(info(&r, "lambda_max"), values[1], 1e-3);
    end(&r);
    c.dim = "5", c.batch = 5;
    run(&c, &r);
    assert_non_null(strstr(r.warned, "4 dimensions, more than half of a batch of 5"));
    end(&r);
    free(x);
}

/* A larger batch has a larger basis: the number in the message must be enough for that.
 */
static void the_rows_that_epsilon_needs_are_enough(void **state) {
    (void)state;
    double *x = normals(16, 20000 * 8);
    call c = {.x = x, .n = 20000, .d = 8, .batch = 10, .epsilon = "0.3"};
    result r;
    assert_int_equal(make_call(&c, &r), SCANT_EUSAGE);
    const char *number = strstr(scant_ctx_errmsg(r.ctx), "needs up to ");
    assert_non_null(number);
    size_t enough = strtoul(number + strlen("needs up to "), NULL, 10);
    end(&r);
    c.batch = enough;
    run(&c, &r);
    assert_int_equal(info(&r, "dim"), 9);
    /* The number is not far too large either: a run has 1.53 to 1.64 of the 1.7 draws
     * that it allows for, and about 3 % of these are repeated rows. */
    assert_true((double)r.picks->count > 0.85 * (double)enough);
    end(&r);
    free(x);
}

static void polynomials_are_fitted_exactly(void **state) {
    (void)state;
    enum { N = 800, W = 10 }; /* of two variables, degree 3 */
    double *x = normals(14, N * 2), f[N * (W - 1)], y[N], fitted[W], truth[W];
    for (size_t i = 0; i < N; i++) {
        double a = x[2 * i], b = x[2 * i + 1];
        const double all[] = {a,         b,         a * a,     a * b,    b * b,
                              a * a * a, a * a * b, a * b * b, b * b * b};
        memcpy(f + i * (W - 1), all, sizeof all);
    }
    for (size_t k = 0; k < W; k++) truth[k] = (double)k - 4;
    call c = {.x = x, .n = N, .d = 2, .batch = 60, .basis = "poly:3"};
    call spelled = {.x = f, .n = N, .d = W - 1, .batch = 60};
    for (size_t i = 0; i < N; i++) y[i] = predict(&spelled, truth, i);
    result r;
    run(&c, &r);
    check_result(&c, &r);
    assert_int_equal(info(&r, "dim"), W);
    check_band(&spelled, &r);
    fit(&spelled, r.picks->items, r.picks->count, y, fitted);
    for (size_t k = 0; k < W; k++) near(fitted[k], truth[k], 1e-8);
    end(&r);
    c.bias = "0";
    run(&c, &r);
    assert_int_equal(info(&r, "dim"), W - 1);
    end(&r);
    free(x);
}

static void monomials_are_listed_by_degree(void **state) {
    (void)state;
    static const double x[] = {2, 3, 5};
    static const double want[] = {1, 2,  3,  5,  4,  6,  10, 9,  15, 25,
                                  8, 12, 20, 18, 30, 50, 27, 45, 75, 125};
    double got[20];
    scant_ctx *ctx = ctx_threads(1);
    scant__arena arena;
    la_rows in = {.n = 1, .d = 3, .type = LA_F64, .base = x}, out;
    select_monomials m;
    scant__arena_init(&arena, ctx);
    assert_int_equal(select_monomials_init(&m, &arena, &in, 1, 3, true), SCANT_OK);
    select_monomial_rows(&m, &out);
    assert_int_equal(out.d, 20);
    la_rows_get(&out, 0, 1, got);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(select_monomials_init(&m, &arena, &in, 1, 3, false), SCANT_OK);
    select_monomial_rows(&m, &out);
    assert_int_equal(out.d, 19);
    la_rows_get(&out, 0, 1, got);
    assert_memory_equal(got, want + 1, 19 * sizeof *want);
    assert_int_equal(select_monomials_count(100, 3, true), 176851);
    assert_int_equal(select_monomials_count(7, 1, false), 7);
    assert_true(select_monomials_count(1000000000, 8, true) == SIZE_MAX);
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

/* ---- labelled rows and unusual pools ----------------------------------------------- */

static void labelled_rows_do_not_count(void **state) {
    (void)state;
    enum { N = 500, D = 3 };
    double *x = normals(15, N * D), left[N * D];
    int32_t labels[N];
    size_t n = 0, rows[N];
    for (size_t i = 0; i < N; i++) {
        labels[i] = i % 3 ? -1 : 0;
        if (labels[i] == 0) x[i * D] *= 1e6; /* it would have all the leverage */
        if (labels[i] < 0) memcpy(left + n * D, x + i * D, D * sizeof *x), rows[n++] = i;
    }
    call c = {.x = x, .n = N, .d = D, .batch = 50, .labels = labels};
    call alone = {.x = left, .n = n, .d = D, .batch = 50};
    result r, s;
    run(&c, &r);
    run(&alone, &s);
    check_band(&c, &r);
    assert_int_equal(r.picks->count, s.picks->count);
    for (size_t i = 0; i < s.picks->count; i++) {
        assert_int_equal(r.picks->items[i].index, rows[s.picks->items[i].index]);
        assert_true(r.picks->items[i].weight == s.picks->items[i].weight);
    }
    end(&r);
    end(&s);
    free(x);
}

static void small_and_constant_pools_have_a_result(void **state) {
    (void)state;
    double one[] = {3, 4}, same[40], nothing[40] = {0};
    for (size_t i = 0; i < 40; i++) same[i] = 1 + (double)(i % 2);
    result r;
    call c = {.x = one, .n = 1, .d = 2, .batch = 1};
    run(&c, &r); /* the basis of one row is one function, of length 1 there */
    assert_int_equal(r.picks->count, 1);
    near(r.picks->items[0].weight, info(&r, "lambda_min"), 1e-12);
    near(r.picks->items[0].weight, 1, 0.25);
    assert_true(info(&r, "good") == 1);
    end(&r);
    c = (call){.x = same, .n = 20, .d = 2, .batch = 6};
    run(&c, &r); /* one dimension, and every row as good as another */
    assert_int_equal(info(&r, "dim"), 1);
    near(info(&r, "leverage"), 1, 1e-12);
    end(&r);
    c.x = nothing;
    run(&c, &r); /* only the constant is left */
    assert_int_equal(info(&r, "dim"), 1);
    end(&r);
    c.basis = "poly:2";
    run(&c, &r);
    assert_int_equal(info(&r, "dim"), 1);
    end(&r);
    c.bias = "0";
    check_refused(&c, SCANT_EINPUT, "x: every available row is 0");
    c.basis = NULL;
    check_refused(&c, SCANT_EINPUT, "x: every available row is 0");
    c.gradients = true, c.bias = NULL;
    check_refused(&c, SCANT_EINPUT, "x: every available row is 0");
}

/* With more features than rows, the rows limit the dimension of the basis. */
static void wide_features_are_fine(void **state) {
    (void)state;
    double *x = normals(16, 30 * 200);
    call c = {.x = x, .n = 30, .d = 200, .batch = 30};
    result r;
    run(&c, &r);
    check_result(&c, &r);
    assert_int_equal(info(&r, "dim"), 15);
    assert_non_null(strstr(r.warned, "more than the 30 rows of the pool"));
    end(&r);
    c.d = 20, c.n = 300, c.basis = "poly:3", c.batch = 40; /* 1771 monomials */
    run(&c, &r);
    check_result(&c, &r);
    assert_non_null(strstr(
        r.warned, "the basis has 1771 functions, more than the 300 rows of the pool"));
    assert_int_equal(info(&r, "dim"), 20);
    end(&r);
    free(x);
}

static void invalid_options_are_refused(void **state) {
    (void)state;
    double *x = normals(17, 100 * 100);
    call c = {.x = x, .n = 100, .d = 100, .batch = 10};
    static const char *bad[] = {"0", "1", "-1", "2", "inf", "nan", "much"};
    for (size_t i = 0; i < 7; i++) {
        c.epsilon = bad[i];
        check_refused(&c, SCANT_EUSAGE, "expected a number above 0 and below 1");
    }
    c.epsilon = NULL;
    static const char *words[] = {"poly:0", "poly:9", "poly:", "poly", "poly:1.5", "ntk"};
    for (size_t i = 0; i < 6; i++) {
        c.basis = words[i];
        check_refused(&c, SCANT_EUSAGE, "expected one of features|poly:K|gradients");
    }
    c.basis = "poly:3";
    check_refused(&c, SCANT_EUSAGE,
                  "degree 3 in 100 features have 176851 monomials, more than 5000");
    c.basis = "poly:8";
    check_refused(&c, SCANT_EUSAGE, "more than 5000");
    x[1234] = NAN;
    c.basis = NULL;
    check_refused(&c, SCANT_EINPUT, "x: row 12, column 34 is nan");
    free(x);
}

/* ---- kernels ----------------------------------------------------------------------- */

static scant_status kernel_call(scant_ctx *ctx, const double *x, size_t n, size_t batch,
                                scant_plan *plan, scant_picks **picks) {
    scant_array *features;
    assert_int_equal(
        scant_array_wrap(ctx, "x", x, SCANT_F64, 2, (size_t[]){n, 3}, &features),
        SCANT_OK);
    scant_evidence e = {.features = features};
    scant_select_opts o = {.seed = 5, .kernel = "ntk:depth=2"};
    scant_status s = planned(ctx, "bss", &e, batch, &o, plan);
    if (s == SCANT_OK) s = scant_select(ctx, "bss", &e, batch, &o, picks);
    scant_array_free(features);
    return s;
}

/* By eigenvectors of all rows and by landmarks: within the plan, and the same on any
 * number of threads. */
static void a_kernel_keeps_to_its_plan(void **state) {
    (void)state;
    static const size_t sizes[][2] = {
        {1, 1}, {5, 5}, {900, 400}, {4200, 30}, {4200, 900}};
    double *x = malloc(4200 * 3 * sizeof *x);
    for (size_t i = 0; i < 4200 * 3; i++) x[i] = normal_at(77, i);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        scant_pick *first = NULL;
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            scant_ctx *ctx = ctx_threads(threads);
            scant_plan plan;
            scant_picks *picks;
            assert_int_equal(kernel_call(ctx, x, sizes[s][0], sizes[s][1], &plan, &picks),
                             SCANT_OK);
            assert_true(scant_ctx_memory_peak(ctx) <= plan.memory);
            assert_true(picks->count >= 1 && picks->count <= sizes[s][1]);
            size_t bytes = picks->count * sizeof *first;
            if (threads == 1) {
                first = malloc(bytes);
                memcpy(first, picks->items, bytes);
            }
            assert_memory_equal(picks->items, first, bytes);
            scant_picks_free(ctx, picks);
            scant_ctx_free(ctx);
        }
        free(first);
    }
    /* too little memory: the plan says how much is enough, and it is */
    scant_ctx *ctx;
    scant_plan plan;
    scant_picks *picks = NULL;
    size_t cap = 1 << 20;
    for (int turn = 0; turn < 2; turn++, cap = plan.memory) {
        assert_int_equal(
            scant_ctx_create(&(scant_ctx_opts){.threads = 2, .memory = cap}, &ctx),
            SCANT_OK);
        scant_status status = kernel_call(ctx, x, 4200, 30, &plan, &picks);
        assert_int_equal(status, turn ? SCANT_OK : SCANT_ENOMEM);
        scant_picks_free(ctx, picks);
        scant_ctx_free(ctx);
    }
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_keeps_to_its_plan),
        cmocka_unit_test(an_epsilon_gives_good_output_in_every_run),
        cmocka_unit_test(the_weighted_trace_is_near_the_dimension),
        cmocka_unit_test(functions_in_the_span_are_fitted_exactly),
        cmocka_unit_test(the_fit_beats_that_of_uniform_picks),
        cmocka_unit_test(no_budget_is_exceeded),
        cmocka_unit_test(the_budget_is_used),
        cmocka_unit_test(an_epsilon_that_needs_more_rows_than_the_batch_is_refused),
        cmocka_unit_test(the_rows_that_epsilon_needs_are_enough),
        cmocka_unit_test(a_row_that_is_drawn_twice_is_one_pick),
        cmocka_unit_test(another_basis_of_the_same_span_gives_the_same_picks),
        cmocka_unit_test(the_option_shows_the_basis_that_was_used),
        cmocka_unit_test(a_basis_that_is_too_large_is_cut_with_a_warning),
        cmocka_unit_test(polynomials_are_fitted_exactly),
        cmocka_unit_test(monomials_are_listed_by_degree),
        cmocka_unit_test(labelled_rows_do_not_count),
        cmocka_unit_test(small_and_constant_pools_have_a_result),
        cmocka_unit_test(wide_features_are_fine),
        cmocka_unit_test(invalid_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
