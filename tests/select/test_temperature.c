/* SPDX-License-Identifier: Apache-2.0
 *
 * Fitting the temperature: a closed form, the likelihood around the optimum, the ends of
 * the range, and rows that cannot be used.
 */
#include "core/mem.h"
#include "select/pool.h"
#include "select/pools.h"

#include <math.h>

typedef struct fitted {
    scant_status status;
    double temperature;
} fitted;

static fitted fit(scant_ctx *ctx, const given *g) {
    opened o;
    select_pool pool;
    scant__arena arena;
    scant__arena_init(&arena, ctx);
    given_open(ctx, g, &o);
    assert_int_equal(
        select_pool_open(ctx, &o.evidence, SCANT_PROBS | SCANT_CALIBRATED, "test", &pool),
        SCANT_OK);
    assert_int_equal(select_pool_read(&arena, &pool), SCANT_OK);
    fitted out = {select_temperature_fit(&arena, &pool), pool.temperature};
    scant__arena_end(&arena);
    given_close(&o);
    return out;
}

/* Three of four rows right: softmax(s) = 3/4, so s = ln 3. */
static void three_of_four_give_one_over_ln_three(void **state) {
    (void)state;
    static const double z[] = {1, 0, 1, 0, 1, 0, 1, 0, 5, -5};
    static const int64_t y[] = {0, 0, 0, 1, -1}, on[] = {0, 1, 2, 3};
    given g = {
        .n = 5, .c = 2, .logits = z, .labels = y, .calibrate_on = on, .n_calibrate = 4};
    scant_ctx *ctx = ctx_threads(1);
    fitted f = fit(ctx, &g);
    assert_int_equal(f.status, SCANT_OK);
    assert_true(fabs(f.temperature - 1 / log(3)) < 1e-9);
    scant_ctx_free(ctx);
}

static double loss(const double *z, const int64_t *y, size_t n, size_t c, double t) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double total = 0, top = -INFINITY;
        for (size_t k = 0; k < c; k++) top = fmax(top, z[i * c + k] / t);
        for (size_t k = 0; k < c; k++) total += exp(z[i * c + k] / t - top);
        sum += top + log(total) - z[i * c + (size_t)y[i]] / t;
    }
    return sum;
}

static void no_other_temperature_is_likelier(void **state) {
    (void)state;
    enum { N = 200, C = 5 };
    static double z[N * C];
    static int64_t y[N], on[N];
    scant_ctx *ctx = ctx_threads(1);
    for (uint64_t seed = 0; seed < 20; seed++) {
        double sharp = exp(4 * unit_at(seed, 99999) - 2);
        for (size_t i = 0; i < N; i++) {
            size_t top = 0;
            for (size_t k = 0; k < C; k++)
                z[i * C + k] = sharp * normal_at(seed, i * C + k);
            for (size_t k = 1; k < C; k++)
                if (z[i * C + k] > z[i * C + top]) top = k;
            y[i] = (int64_t)(unit_at(seed + 100, i) < 0.6 ? top : i % C);
            on[i] = (int64_t)i;
        }
        given g = {.n = N,
                   .c = C,
                   .logits = z,
                   .labels = y,
                   .calibrate_on = on,
                   .n_calibrate = N};
        fitted f = fit(ctx, &g);
        assert_int_equal(f.status, SCANT_OK);
        double best = loss(z, y, N, C, f.temperature);
        for (double off = 1e-4; off < 1; off *= 10) {
            assert_true(loss(z, y, N, C, f.temperature * (1 + off)) > best);
            assert_true(loss(z, y, N, C, f.temperature / (1 + off)) > best);
        }
    }
    scant_ctx_free(ctx);
}

static void count(void *user, scant_log_level level, const char *text) {
    (void)level;
    assert_non_null(strstr(text, "temperature"));
    ++*(int *)user;
}

/* All rows right: the sharper, the likelier. All wrong: the flatter, the likelier. */
static void the_ends_of_the_range_are_warned_about(void **state) {
    (void)state;
    static const double z[] = {1, 0, 2, 0, 3, 0};
    static const int64_t right[] = {0, 0, 0}, wrong[] = {1, 1, 1}, on[] = {0, 1, 2};
    given g = {.n = 3,
               .c = 2,
               .logits = z,
               .labels = right,
               .calibrate_on = on,
               .n_calibrate = 3};
    int warned = 0;
    scant_ctx *ctx;
    scant_ctx_opts opts = {.threads = 1, .user = &warned, .log = count};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    assert_true(fabs(fit(ctx, &g).temperature - 0.01) < 1e-12);
    assert_int_equal(warned, 1);
    g.labels = wrong;
    assert_true(fabs(fit(ctx, &g).temperature - 100) < 1e-9);
    assert_int_equal(warned, 2);
    scant_ctx_free(ctx);
}

static void rows_that_cannot_be_used_are_reported(void **state) {
    (void)state;
    static const double z[] = {1, 0, 1, 0, 1, 0};
    static const int64_t y[] = {0, 1, -1};
    static const struct {
        int64_t on[2];
        size_t count;
        const char *says;
    } all[] = {{{0, 2}, 2, "row 1 lists row 2, which has no label"},
               {{3, 0}, 2, "row 0 is 3"},
               {{-1, 0}, 2, "row 0 is -1"},
               {{0, 0}, 0, "lists no rows"}};
    scant_ctx *ctx = ctx_threads(1);
    for (size_t i = 0; i < 4; i++) {
        given g = {.n = 3,
                   .c = 2,
                   .logits = z,
                   .labels = y,
                   .calibrate_on = all[i].on,
                   .n_calibrate = all[i].count};
        assert_int_equal(fit(ctx, &g).status, SCANT_EINPUT);
        if (!strstr(scant_ctx_errmsg(ctx), all[i].says))
            fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(ctx),
                     all[i].says);
    }
    scant_ctx_free(ctx);
}

/* The kinds of rows: p, p~ and p - e_y. */
static void each_kind_of_rows_has_its_values(void **state) {
    (void)state;
    static const double z[] = {1, 3, 2, 0, 0, 4};
    static const int64_t y[] = {-1, 0};
    scant_ctx *ctx = ctx_threads(1);
    given g = {.n = 2, .c = 3, .logits = z, .labels = y, .temperature = 2};
    opened o;
    select_pool pool;
    given_open(ctx, &g, &o);
    assert_int_equal(
        select_pool_open(ctx, &o.evidence, SCANT_PROBS | SCANT_CALIBRATED, "test", &pool),
        SCANT_OK);
    double p[6], q[6], got[6];
    for (size_t i = 0; i < 2; i++) {
        double sum = 0, half = 0;
        for (size_t k = 0; k < 3; k++)
            sum += p[3 * i + k] = exp(z[3 * i + k]),
                             half += q[3 * i + k] = exp(z[3 * i + k] / 2);
        for (size_t k = 0; k < 3; k++) p[3 * i + k] /= sum, q[3 * i + k] /= half;
    }
    for (int kind = SELECT_PROBS; kind <= SELECT_RESIDUAL; kind++) {
        la_rows rows;
        select_prob_rows(&pool, (select_prob_kind)kind, &rows);
        const double *at = la_rows_get(&rows, 0, 2, got);
        for (size_t k = 0; k < 6; k++) {
            double hit = k == 1 || k == 3; /* the largest of row 0, the label of row 1 */
            double want[] = {p[k], q[k], p[k] - hit};
            assert_true(fabs(at[k] - want[kind]) < 1e-14);
        }
    }
    given_close(&o);
    scant_ctx_free(ctx);
}

/* Very cold: all probability is on the largest logits. Very hot: it is uniform. */
static void extreme_temperatures_have_their_limits(void **state) {
    (void)state;
    static const double z[] = {1e300, -1e308, 1e300, 3, 3, 2};
    static const double cold[] = {.5, 0, .5, .5, .5, 0};
    scant_ctx *ctx = ctx_threads(1);
    for (int hot = 0; hot < 2; hot++) {
        given g = {.n = 2, .c = 3, .logits = z, .temperature = hot ? 1e308 : 1e-320};
        opened o;
        select_pool pool;
        la_rows rows;
        double got[6];
        given_open(ctx, &g, &o);
        assert_int_equal(select_pool_open(ctx, &o.evidence,
                                          SCANT_PROBS | SCANT_CALIBRATED, "test", &pool),
                         SCANT_OK);
        select_prob_rows(&pool, SELECT_CALIBRATED, &rows);
        const double *at = la_rows_get(&rows, 0, 2, got);
        for (size_t k = 0; k < 6; k++)
            if (!hot || k > 2)
                assert_true(fabs(at[k] - (hot ? 1. / 3 : cold[k])) < 1e-14);
        given_close(&o);
    }
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_of_four_give_one_over_ln_three),
        cmocka_unit_test(no_other_temperature_is_likelier),
        cmocka_unit_test(the_ends_of_the_range_are_warned_about),
        cmocka_unit_test(rows_that_cannot_be_used_are_reported),
        cmocka_unit_test(each_kind_of_rows_has_its_values),
        cmocka_unit_test(extreme_temperatures_have_their_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
