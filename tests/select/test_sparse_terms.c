/* SPDX-License-Identifier: Apache-2.0
 *
 * sparse-greedy and sparse-iht with one of their two terms alone: the ablations.
 */
#include "planned.h"
#include "sparse_plain.h"

static const char *const strategies[] = {"sparse-greedy", "sparse-iht"};

/* Two classes and no bias: sigma_j is |h_j| sum_y q_y |q - e_y| / n, and with q = (q, 1 -
 * q) both residuals have length sqrt(2) (1 - q_y): 2 sqrt(2) q (1 - q) |h_j| / n. */
static void variance_of_gradients_by_hand(void **state) {
    (void)state;
    enum { N = 5 };
    static const double q[N] = {.5, .9, .5, .75, .9}, h[N] = {1, 5, -3, -4, 5};
    /* q (1 - q) |h| = .25, .45, .75, .75, .45: rows 2 and 3 tie, and rows 1 and 4 */
    static const size_t order[N] = {2, 3, 1, 4, 0};
    pool p = pool_make(1, N, 1, 2, 0, 0);
    for (size_t i = 0; i < N; i++) {
        p.h[i] = h[i], p.q[2 * i] = q[i], p.q[2 * i + 1] = 1 - q[i];
        p.p[2 * i] = .4, p.p[2 * i + 1] = .6; /* not used */
    }
    scant_ctx *ctx = ctx_threads(2);
    for (size_t k = 0; k < 2; k++) {
        scant_picks *got = picks_of(ctx, &p, strategies[k], N, "terms=variance bias=0");
        assert_int_equal(got->count, N);
        for (size_t i = 0; i < N; i++) {
            size_t row = order[i];
            double sigma = 2 * sqrt(2) * q[row] * (1 - q[row]) * fabs(h[row]) / N;
            assert_int_equal(got->items[i].index, row);
            assert_true(got->items[i].weight == 1);
            assert_true(fabs(got->items[i].score - sigma) < 1e-15);
        }
        assert_true(figure(got, "sigma_max") == got->items[0].score);
        scant_picks_free(ctx, got);
    }
    scant_ctx_free(ctx);
    pool_end(&p);
}

/* Two draws (1 - p, p) and (1 - r, r): losses minus their means are +-a and +-b with a =
 * ln((1 - r) / (1 - p)) / 2 and b = ln(r / p) / 2, gbar = +-(q a + (1 - q) b) with q the
 * mean of 1 - p and 1 - r, and E |g - gbar| = sqrt(2) 2 q (1 - q) |a - b|. */
static void variance_of_draws_by_hand(void **state) {
    (void)state;
    enum { N = 4 };
    static const double pair[N][2] = {{.5, .5}, {.2, .6}, {.5, .75}, {.6, .2}};
    static const size_t order[N] = {1, 3, 2, 0}; /* rows 1 and 3 tie, row 0 has 0 */
    pool p = pool_make(1, N, 1, 2, 2, 0);
    double sigma[N];
    for (size_t i = 0; i < N; i++) {
        double one = pair[i][0], two = pair[i][1], q = 1 - (one + two) / 2;
        for (size_t s = 0; s < 2; s++)
            p.samples[(s * N + i) * 2] = 1 - pair[i][s],
                                    p.samples[(s * N + i) * 2 + 1] = pair[i][s];
        double a = log((1 - two) / (1 - one)) / 2, b = log(two / one) / 2;
        sigma[i] = sqrt(2) * 2 * q * (1 - q) * fabs(a - b) / N;
    }
    scant_ctx *ctx = ctx_threads(1);
    for (size_t k = 0; k < 2; k++) {
        scant_picks *got = picks_of(ctx, &p, strategies[k], N, "terms=variance");
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(got->items[i].index, order[i]);
            assert_true(fabs(got->items[i].score - sigma[order[i]]) < 1e-15);
        }
        scant_picks_free(ctx, got);
    }
    scant_ctx_free(ctx);
    pool_end(&p);
}

/* For both sources, some rows only, float input and several blocks. Copies tie, and the
 * first comes first. */
static void the_largest_sigma_come_first(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    for (size_t t = 0; t < 16; t++) {
        size_t kinds = t & 4 ? 17 : 0, batch = t & 8 ? 10 : 150;
        pool p = pool_make(t, 500, 6, 4, t & 1 ? 7 : 0, kinds);
        if (t & 2) pool_narrow(&p), pool_restrict(&p);
        dense d = dense_make(&p, batch, true, 0, 0);
        scant_picks *got = picks_of(ctx, &p, strategies[t % 2], batch, "terms=variance");
        assert_int_equal(got->count, d.b);
        bool *taken = calloc(d.n, sizeof *taken);
        for (size_t i = 0; i < got->count; i++) {
            const scant_pick *pick = &got->items[i];
            size_t at = 0;
            while (d.rows[at] != pick->index) at++;
            taken[at] = true;
            assert_true(fabs(pick->score - d.sigma[at]) <= 1e-13 * d.sigma[at]);
            if (i == 0) continue;
            assert_true(pick->score <= pick[-1].score);
            if (pick->score == pick[-1].score) assert_true(pick->index > pick[-1].index);
        }
        double least = got->items[got->count - 1].score;
        for (size_t j = 0; j < d.n; j++) /* other rows differ by far more than rounding */
            if (!taken[j]) assert_true(d.sigma[j] <= least * (1 + 1e-13));
        if (kinds && batch == 150) {
            size_t ties = 0;
            for (size_t i = 1; i < got->count; i++)
                ties += got->items[i].score == got->items[i - 1].score;
            assert_true(ties > 100);
        }
        free(taken);
        scant_picks_free(ctx, got);
        dense_end(&d);
        pool_end(&p);
    }
    scant_ctx_free(ctx);
}

/* terms=fit is the same as alpha=0, whatever alpha is. */
static void the_fit_alone_ignores_alpha(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    for (size_t t = 0; t < 4; t++) {
        pool p = pool_make(t, 80, 4, 3, t & 1 ? 6 : 0, 0);
        const char *strategy = strategies[t / 2];
        scant_picks *want = picks_of(ctx, &p, strategy, 9, "alpha=0 beta=1e-2");
        scant_picks *got = picks_of(ctx, &p, strategy, 9, "alpha=50 beta=1e-2 terms=fit");
        scant_picks *both = picks_of(ctx, &p, strategy, 9, "alpha=500 beta=1e-2");
        assert_memory_equal(got->items, want->items, 9 * sizeof *got->items);
        assert_true(figure(got, "f") == figure(want, "f"));
        assert_true(figure(got, "f") == figure(got, "f1"));
        assert_true(memcmp(both->items, want->items, 9 * sizeof *got->items) != 0);
        scant_picks_free(ctx, want);
        scant_picks_free(ctx, got);
        scant_picks_free(ctx, both);
        pool_end(&p);
    }
    scant_ctx_free(ctx);
}

/* No row is stored: many posterior draws take no more memory than few. */
static void ranking_by_variance_stores_no_vectors(void **state) {
    (void)state;
    size_t few[2], many[2];
    for (size_t k = 0; k < 2; k++) {
        scant_ctx *ctx = ctx_threads(1);
        pool p = pool_make(1, 3000, 1, 2, k ? 80 : 2, 0);
        call c = call_begin(ctx, &p);
        scant_plan plan;
        scant_setting set = {"terms", "variance"};
        scant_select_opts opts = {.settings = &set, .n_settings = 1};
        assert_int_equal(planned(ctx, "sparse-iht", &c.e, 10, &opts, &plan), SCANT_OK);
        few[k] = plan.memory;
        assert_int_equal(planned(ctx, "sparse-iht", &c.e, 10, NULL, &plan), SCANT_OK);
        many[k] = plan.memory;
        call_end(&c);
        pool_end(&p);
        scant_ctx_free(ctx);
    }
    assert_true(many[1] - many[0] > 78 * 3000 * sizeof(double));
    assert_true(few[1] < few[0] + 3000 * sizeof(double));
}

typedef struct heard {
    char text[500];
} heard;

static void on_log(void *user, scant_log_level level, const char *text) {
    heard *h = user;
    (void)level;
    strncat(h->text, text, sizeof h->text - strlen(h->text) - 1);
}

/* Draws that agree have no variance, which is warned about. That calibration changes
 * nothing does not matter here. */
static void only_a_variance_of_0_is_warned_about(void **state) {
    (void)state;
    for (size_t agree = 0; agree < 2; agree++) {
        heard h = {{0}};
        scant_ctx *ctx;
        scant_ctx_opts opts = {.threads = 1, .user = &h, .log = on_log};
        assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
        pool p = pool_make(1, 20, 3, 3, agree ? 4 : 0, 0);
        if (agree)
            for (size_t s = 1; s < 4; s++)
                memcpy(p.samples + s * 60, p.samples, 60 * sizeof(double));
        else
            memcpy(p.q, p.p, 60 * sizeof(double)); /* calibration changed nothing */
        scant_picks *got = picks_of(ctx, &p, "sparse-greedy", 5, "terms=variance");
        assert_int_equal(strstr(h.text, "variance of every row is 0") != NULL, agree);
        assert_int_equal(h.text[0] != 0, agree);
        for (size_t i = 0; agree && i < 5; i++) assert_int_equal(got->items[i].index, i);
        scant_picks_free(ctx, got);
        pool_end(&p);
        scant_ctx_free(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variance_of_gradients_by_hand),
        cmocka_unit_test(variance_of_draws_by_hand),
        cmocka_unit_test(the_largest_sigma_come_first),
        cmocka_unit_test(the_fit_alone_ignores_alpha),
        cmocka_unit_test(ranking_by_variance_stores_no_vectors),
        cmocka_unit_test(only_a_variance_of_0_is_warned_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
