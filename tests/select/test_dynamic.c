/* SPDX-License-Identifier: Apache-2.0
 *
 * dynamic compared with the values of the specification, and with |g_S + g_u|^2 - |g_S|^2
 * from full gradients.
 */
#include "select/pools.h"

#include <math.h>
#include <stdio.h>

static double score_of(const scant_picks *picks, size_t row) {
    for (size_t i = 0; i < picks->count; i++)
        if (picks->items[i].index == row) return picks->items[i].score;
    fail_msg("row %zu was not picked", row);
    return 0;
}

static void the_fixture_has_the_specified_scores(void **state) {
    (void)state;
    static const double norm[] = {.078411, 1.202438, 1.502655, .469351, .027677, .825478};
    static const double dot[] = {.271312, .729068, 1.302536, -.413376, -.071592, .858769};
    static const double exact[] = {.621035,  2.660574, 4.107727,
                                   -.357401, -.115507, 2.543017};
    static const struct {
        const char *gamma;
        double norm, dot;
    } rules[] = {
        {"gamma=0", 1, 0}, {"gamma=1", 1, 1}, {"gamma=2", 1, 2}, {"gamma=inf", 0, 1}};
    scant_ctx *ctx = ctx_threads(1);
    for (size_t r = 0; r < 4; r++) {
        scant_picks *p =
            given_select(ctx, "dynamic", &fixture_pool, 6, 0, rules[r].gamma);
        assert_int_equal(p->count, 6);
        for (size_t i = 0; i < 6; i++) {
            /* six decimals each, times at most two */
            double want = rules[r].norm * norm[i] + rules[r].dot * dot[i];
            assert_true(fabs(score_of(p, i) - want) < 3e-6);
            if (r == 2) assert_true(fabs(score_of(p, i) - exact[i]) < 6e-7);
        }
        for (size_t i = 1; i < 6; i++)
            assert_true(p->items[i].score <= p->items[i - 1].score);
        assert_true(fabs(figure_of(p, "speed") - 2.38625) < 6e-7);
        scant_picks_free(ctx, p);
    }
    scant_ctx_free(ctx);
}

enum { N = 600, D = 7, C = 4, K = C * (D + 1) };

typedef struct pool {
    double h[N * D], p[N * C], g[N * K];
    int64_t y[N];
} pool;

/* g has the full gradients, (p - e_y) x (h, 1). */
static pool *make(uint64_t seed) {
    pool *p = calloc(1, sizeof *p);
    for (size_t i = 0; i < N; i++) {
        double sum = 0, a[C], h[D + 1];
        p->y[i] = i % 3 ? -1 : (int64_t)(i % C);
        size_t top = 0;
        for (size_t c = 0; c < C; c++) sum += a[c] = exp(2 * normal_at(seed, i * C + c));
        for (size_t c = 0; c < C; c++) p->p[i * C + c] = a[c] /= sum;
        for (size_t c = 1; c < C; c++)
            if (a[c] > a[top]) top = c;
        a[p->y[i] >= 0 ? (size_t)p->y[i] : top] -= 1;
        for (size_t k = 0; k < D; k++)
            h[k] = p->h[i * D + k] = normal_at(seed + 1, i * D + k);
        h[D] = 1;
        for (size_t c = 0; c < C; c++)
            for (size_t k = 0; k <= D; k++) p->g[i * K + c * (D + 1) + k] = a[c] * h[k];
    }
    return p;
}

static double speed(const double *g) {
    double sum = 0;
    for (size_t k = 0; k < K; k++) sum += g[k] * g[k];
    return sum;
}

static void gamma_two_is_the_gain_in_speed(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    for (uint64_t seed = 0; seed < 5; seed++) {
        pool *p = make(10 * seed);
        given all = {
            .n = N, .d = D, .c = C, .features = p->h, .probs = p->p, .labels = p->y};
        given sketch = {.n = N, .k = K, .gradients = p->g, .labels = p->y};
        double labelled[K] = {0};
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; p->y[i] >= 0 && k < K; k++) labelled[k] += p->g[i * K + k];
        scant_picks *got = given_select(ctx, "dynamic", &all, N, 0, NULL);
        scant_picks *from_g = given_select(ctx, "dynamic", &sketch, N, 0, NULL);
        assert_int_equal(got->count, 2 * N / 3);
        assert_int_equal(from_g->count, got->count);
        for (size_t i = 0; i < got->count; i++) {
            const double *g = p->g + got->items[i].index * K;
            double with[K], score = got->items[i].score;
            for (size_t k = 0; k < K; k++) with[k] = labelled[k] + g[k];
            double after = speed(with);
            assert_true(fabs(score - (after - speed(labelled))) < 1e-9 * after);
            assert_int_equal(from_g->items[i].index, got->items[i].index);
            assert_true(fabs(from_g->items[i].score - score) < 1e-9 * after);
        }
        scant_picks_free(ctx, got);
        scant_picks_free(ctx, from_g);
        free(p);
    }
    scant_ctx_free(ctx);
}

/* Slopes are |g|^2 and <g, g_S>. They give the picks and the speed that the gradients
 * give, for every gamma. */
static void slopes_give_the_picks_of_their_gradients(void **state) {
    (void)state;
    static const char *const gammas[] = {"gamma=0", "gamma=1", "gamma=2", "gamma=inf"};
    scant_ctx *ctx = ctx_threads(2);
    pool *p = make(5);
    double *slopes = calloc(2 * N, sizeof *slopes), labelled[K] = {0};
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; p->y[i] >= 0 && k < K; k++) labelled[k] += p->g[i * K + k];
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < K; k++) {
            slopes[2 * i] += p->g[i * K + k] * p->g[i * K + k];
            slopes[2 * i + 1] += p->g[i * K + k] * labelled[k];
        }
    given built = {.n = N, .k = K, .gradients = p->g, .labels = p->y};
    given both = built; /* slopes are preferred */
    both.slopes = slopes;
    for (size_t r = 0; r < 4; r++) {
        scant_picks *want = given_select(ctx, "dynamic", &built, N, 0, gammas[r]);
        scant_picks *got = given_select(ctx, "dynamic", &both, N, 0, gammas[r]);
        assert_int_equal(got->count, want->count);
        double size = fabs(want->items[0].score);
        for (size_t i = 0; i < got->count; i++) {
            assert_int_equal(got->items[i].index, want->items[i].index);
            assert_true(fabs(got->items[i].score - want->items[i].score) < 1e-12 * size);
        }
        assert_true(fabs(figure_of(got, "speed") / speed(labelled) - 1) < 1e-12);
        scant_picks_free(ctx, want);
        scant_picks_free(ctx, got);
    }
    free(slopes);
    free(p);
    scant_ctx_free(ctx);
}

/* Given lengths, egl needs nothing else. */
static void egl_ranks_by_given_lengths(void **state) {
    (void)state;
    static const double lengths[] = {0.5, 3, 2, 0, 3, 1};
    static const int64_t labels[] = {-1, -1, 0, -1, -1, -1};
    static const size_t want[] = {1, 4, 5, 0, 3};
    scant_ctx *ctx = ctx_threads(2);
    given g = {.n = 6, .lengths = lengths, .labels = labels};
    scant_picks *got = given_select(ctx, "egl", &g, 6, 0, NULL);
    assert_int_equal(got->count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(got->items[i].index, want[i]);
        assert_true(got->items[i].score == lengths[want[i]]);
    }
    scant_picks_free(ctx, got);
    scant_ctx_free(ctx);
}

/* The second half copies the first: each row ties with its copy and comes before it. */
static void copies_tie_and_the_first_comes_first(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    pool *p = make(77);
    enum { HALF = N / 2 - 7, ALL = 2 * HALF };
    for (size_t i = 0; i < HALF; i++) {
        memcpy(p->h + (HALF + i) * D, p->h + i * D, D * sizeof *p->h);
        memcpy(p->p + (HALF + i) * C, p->p + i * C, C * sizeof *p->p);
        memcpy(p->g + (HALF + i) * K, p->g + i * K, K * sizeof *p->g);
        p->y[i] = p->y[HALF + i] = -1;
    }
    p->y[0] = p->y[HALF] = 1;
    given all = {
        .n = ALL, .d = D, .c = C, .features = p->h, .probs = p->p, .labels = p->y};
    given sketch = {.n = ALL, .k = K, .gradients = p->g, .labels = p->y};
    for (int way = 0; way < 2; way++) {
        scant_picks *got =
            given_select(ctx, "dynamic", way ? &sketch : &all, ALL, 0, NULL);
        for (size_t i = 0; i + 1 < got->count; i += 2) {
            assert_true(got->items[i].score == got->items[i + 1].score);
            assert_int_equal(got->items[i].index + HALF, got->items[i + 1].index);
        }
        scant_picks_free(ctx, got);
    }
    free(p);
    scant_ctx_free(ctx);
}

static void without_labels_length_decides_and_gamma_inf_ties(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    given bare = fixture_pool;
    bare.labels = NULL;
    scant_picks *two = given_select(ctx, "dynamic", &bare, 8, 0, NULL);
    scant_picks *zero = given_select(ctx, "dynamic", &bare, 8, 0, "gamma=0");
    scant_picks *inf = given_select(ctx, "dynamic", &bare, 8, 0, "gamma=inf");
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(two->items[i].index, zero->items[i].index);
        assert_int_equal(inf->items[i].index, i);
        assert_true(inf->items[i].score == 0);
    }
    scant_picks_free(ctx, two);
    scant_picks_free(ctx, zero);
    scant_picks_free(ctx, inf);
    scant_ctx_free(ctx);
}

static void the_scale_of_features_does_not_change_the_order(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    double h[16];
    given scaled = fixture_pool;
    scaled.features = h;
    scant_picks *want = given_select(ctx, "dynamic", &fixture_pool, 6, 0, "bias=0");
    for (int power = -600; power <= 600; power += 300) {
        for (size_t i = 0; i < 16; i++) h[i] = ldexp(fixture_h[i], power);
        scant_picks *got = given_select(ctx, "dynamic", &scaled, 6, 0, "bias=0");
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(got->items[i].index, want->items[i].index);
        scant_picks_free(ctx, got);
    }
    scant_picks_free(ctx, want);
    scant_ctx_free(ctx);
}

static void invalid_calls_are_refused_with_a_reason(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    given none = {.n = 8, .labels = fixture_y};
    given_refused(ctx, "dynamic", &none, 1, NULL, SCANT_EUSAGE, "needs features");
    given_refused(ctx, "dynamic", &fixture_pool, 1, "gamma=-1", SCANT_EUSAGE, "gamma");
    double g[8] = {0, 1, 2, NAN, 4, 5, 6, 7};
    given bad = {.n = 8, .k = 1, .gradients = g};
    given_refused(ctx, "dynamic", &bad, 1, NULL, SCANT_EINPUT,
                  "gradients: row 3, column 0 is nan");
    double slopes[16] = {0, -1, 2, 3, 4, NAN};
    given not_finite = {.n = 8, .slopes = slopes};
    given_refused(ctx, "dynamic", &not_finite, 1, NULL, SCANT_EINPUT,
                  "slopes: row 2, column 1 is nan, expected a finite number");
    slopes[4] = -4;
    given_refused(
        ctx, "dynamic", &not_finite, 1, NULL, SCANT_EINPUT,
        "slopes: row 2, column 0 is -4, expected a finite number of at least 0");
    g[3] = -INFINITY;
    given lengths = {.n = 8, .lengths = g};
    given_refused(ctx, "egl", &lengths, 1, NULL, SCANT_EINPUT,
                  "lengths: row 3, column 0 is -inf");
    const size_t shape[] = {4, 3};
    scant_array *wide;
    scant_picks *picks;
    assert_int_equal(scant_array_wrap(ctx, "wide", slopes, SCANT_F64, 2, shape, &wide),
                     SCANT_OK);
    scant_evidence e = {.slopes = wide};
    assert_int_equal(scant_select(ctx, "dynamic", &e, 1, NULL, &picks), SCANT_EINPUT);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), "wide: has 3 columns, expected 2"));
    scant_array_free(wide);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fixture_has_the_specified_scores),
        cmocka_unit_test(gamma_two_is_the_gain_in_speed),
        cmocka_unit_test(slopes_give_the_picks_of_their_gradients),
        cmocka_unit_test(egl_ranks_by_given_lengths),
        cmocka_unit_test(copies_tie_and_the_first_comes_first),
        cmocka_unit_test(without_labels_length_decides_and_gamma_inf_ties),
        cmocka_unit_test(the_scale_of_features_does_not_change_the_order),
        cmocka_unit_test(invalid_calls_are_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
