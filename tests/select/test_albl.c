/* SPDX-License-Identifier: Apache-2.0
 *
 * albl: the picks of each arm, the rule that draws and rewards arms computed again here,
 * the state from call to call, and invalid states.
 */
#include "select/pools.h"

#include <math.h>
#include <stdbool.h>

enum { N = 60, D = 3, C = 3 };

typedef struct pool {
    double h[N * D], p[N * C];
    int64_t y[N];
} pool;

static pool make(uint64_t seed) {
    pool p;
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t k = 0; k < D; k++) p.h[i * D + k] = normal_at(seed, i * D + k);
        for (size_t c = 0; c < C; c++)
            sum += p.p[i * C + c] = exp(normal_at(seed + 1, i * C + c));
        for (size_t c = 0; c < C; c++) p.p[i * C + c] /= sum;
        p.y[i] = i < 6 ? (int64_t)(i % C) : -1;
    }
    return p;
}

static given given_of(const pool *p) {
    return (given){
        .n = N, .d = D, .c = C, .features = p->h, .probs = p->p, .labels = p->y};
}

static scant_status call(scant_ctx *ctx, const pool *p, uint64_t seed, const char *state,
                         scant_picks **out) {
    given g = given_of(p);
    opened o;
    scant_select_opts opts = {
        .seed = seed, .state = state, .state_size = state ? strlen(state) : 0};
    given_open(ctx, &g, &o);
    scant_status s = scant_select(ctx, "albl", &o.evidence, 4, &opts, out);
    given_close(&o);
    return s;
}

static bool right(const pool *p, size_t row) {
    size_t top = 0;
    for (size_t c = 1; c < C; c++)
        if (p->p[row * C + c] > p->p[row * C + top]) top = c;
    return (int64_t)top == p->y[row];
}

/* Ten rounds that label the picks, with the update computed here. */
static void rounds_follow_the_rule_of_the_bandit(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    size_t played[2] = {0, 0};
    for (uint64_t seed = 0; seed < 6; seed++) {
        pool p = make(seed);
        double w[2] = {1, 1}, by[N], last_p = 0;
        size_t last = 0;
        char *text = NULL;
        for (size_t i = 0; i < N; i++) by[i] = 1;
        for (int round = 0; round < 10; round++) {
            scant_picks *got;
            if (round) {
                double r = 0, labelled = 0;
                for (size_t i = 0; i < N; i++)
                    if (p.y[i] >= 0) labelled++, r += right(&p, i) / by[i];
                /* p_min = 1/20; sqrt(ln 20 / 2) */
                w[last] *= exp(0.025 * (r / labelled + 1.2238734153404083 / last_p));
            }
            assert_int_equal(call(ctx, &p, seed, text, &got), SCANT_OK);
            size_t arm = (size_t)figure_of(got, "arm");
            double want = 0.9 * w[arm] / (w[0] + w[1]) + 0.05;
            given g = given_of(&p);
            scant_picks *alone =
                given_select(ctx, arm ? "coreset" : "confidence", &g, 4, seed, NULL);
            assert_int_equal(got->count, 4);
            for (size_t i = 0; i < 4; i++) {
                size_t row = got->items[i].index;
                assert_int_equal(row, alone->items[i].index);
                assert_true(fabs(got->items[i].score - want) < 1e-12);
                by[row] = got->items[i].score;
                p.y[row] = (int64_t)(row % C);
            }
            last = arm, last_p = got->items[0].score;
            played[arm]++;
            free(text);
            assert_int_equal(strlen(got->state), got->state_size);
            text = strdup(got->state);
            scant_picks_free(ctx, alone);
            scant_picks_free(ctx, got);
        }
        free(text);
    }
    assert_true(played[0] > 5 && played[1] > 5); /* 60 rounds, each arm at least 1/20 */
    scant_ctx_free(ctx);
}

/* At the first call both arms have probability 1/2. */
static void seeds_draw_both_arms_equally_often(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    pool p = make(1);
    double seen[2] = {0, 0};
    for (uint64_t seed = 0; seed < 400; seed++) {
        scant_picks *got;
        assert_int_equal(call(ctx, &p, seed, NULL, &got), SCANT_OK);
        assert_true(got->items[0].score == 0.5);
        seen[(size_t)figure_of(got, "arm")]++;
        scant_picks_free(ctx, got);
    }
    double off = seen[0] - 200;
    assert_true(2 * off * off / 200 < chi_square_limit(1));
    scant_ctx_free(ctx);
}

/* The last arm's probability stays within its bounds however often it is rewarded. */
static void probabilities_stay_within_their_bounds(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    pool p = make(2);
    char *text = NULL;
    for (int round = 0; round < 400; round++) {
        scant_picks *got;
        assert_int_equal(call(ctx, &p, (uint64_t)round, text, &got), SCANT_OK);
        double score = got->items[0].score;
        assert_true(score >= 0.05 && score <= 0.95);
        assert_true(fmax(figure_of(got, "weight_confidence"),
                         figure_of(got, "weight_coreset")) == 1);
        free(text);
        text = strdup(got->state);
        scant_picks_free(ctx, got);
    }
    free(text);
    scant_ctx_free(ctx);
}

static void invalid_states_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } all[] = {
        {"", "not valid JSON"},
        {"{", "not valid JSON"},
        {"[]", "'state'"},
        {"{\"state\": 7}", "'state'"},
        {"{\"state\": \"scant albl 1\"}", "'weights'"},
#define START "{\"state\": \"scant albl 1\", \"weights\": "
        {START "[1, 2]}", "weight"},
        {START "[0.5, 0.5]}", "largest weight"},
        {START "[1, 1], \"arm\": 2}", "'arm'"},
        {START "[1, 1], \"arm\": 1, \"probability\": 0}", "'probability'"},
        {START "[1, 1], \"arm\": 1, \"probability\": 0.5, \"calls\": 0}", "'calls'"},
#define MIDDLE START "[1, 1], \"arm\": 1, \"probability\": 0.5, \"calls\": 1"
        {MIDDLE "}", "'picked'"},
        {MIDDLE ", \"picked\": [[1]]}", "'picked'"},
        {MIDDLE ", \"picked\": [[-1, 0.5]]}", "'picked'"},
        {MIDDLE ", \"picked\": [[1, 1e-9]]}", "'picked'"},
        {MIDDLE ", \"picked\": [[60, 0.5]]}", "another pool"},
        {MIDDLE ", \"calls\": 2, \"picked\": []}", "not valid JSON"},
    };
    scant_ctx *ctx = ctx_threads(1);
    pool p = make(3);
    scant_picks *got;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(call(ctx, &p, 0, all[i].text, &got), SCANT_EINPUT);
        assert_null(got);
        if (!strstr(scant_ctx_errmsg(ctx), all[i].says))
            fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(ctx),
                     all[i].says);
    }
    assert_int_equal(call(ctx, &p, 0, MIDDLE ", \"picked\": [[59, 0.5]]}", &got),
                     SCANT_OK);
    scant_picks_free(ctx, got);
    scant_ctx_free(ctx);
}

static void invalid_values_are_found_whichever_arm_is_drawn(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    for (uint64_t seed = 0; seed < 6; seed++) {
        pool p = make(4);
        scant_picks *got;
        p.h[7] = NAN;
        assert_int_equal(call(ctx, &p, seed, NULL, &got), SCANT_EINPUT);
        p.h[7] = 0, p.p[7] = NAN;
        assert_int_equal(call(ctx, &p, seed, NULL, &got), SCANT_EINPUT);
    }
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_follow_the_rule_of_the_bandit),
        cmocka_unit_test(seeds_draw_both_arms_equally_often),
        cmocka_unit_test(probabilities_stay_within_their_bounds),
        cmocka_unit_test(invalid_states_are_refused),
        cmocka_unit_test(invalid_values_are_found_whichever_arm_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
