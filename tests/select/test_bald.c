/* SPDX-License-Identifier: Apache-2.0
 *
 * bald compared with values by hand and with the formula in long double; ties.
 */
#include "select/posterior.h"

/* Two draws that are sure of different classes: the label tells which one is right. */
static void opposite_draws_score_ln_2(void **state) {
    (void)state;
    static const double p[] = {1, 0, .5, .5, 1, 0, /* one draw of three rows, */
                               0, 1, .5, .5, 1, 0};
    scant_ctx *ctx = ctx_threads(1);
    given g = {.n = 3, .c = 2, .m = 2, .samples = p};
    scant_picks *picks = given_select(ctx, "bald", &g, 3, 0, NULL);
    assert_int_equal(picks->items[0].index, 0);
    assert_true(fabs(picks->items[0].score - log(2)) < 2e-16);
    /* the draws agree, unsure or sure: the label tells nothing */
    assert_int_equal(picks->items[1].index, 1);
    assert_int_equal(picks->items[2].index, 2);
    assert_true(picks->items[1].score == 0 && picks->items[2].score == 0);
    scant_picks_free(ctx, picks);
    scant_ctx_free(ctx);
}

static void scores_are_those_of_the_formula(void **state) {
    (void)state;
    static const struct {
        size_t m, n, c;
        double common, apart;
    } all[] = {{2, 40, 2, 1, 1},      {3, 900, 5, 1, .3},   {7, 50, 17, 2, 3},
               {2, 9, 1000, 1, 1},    {60, 33, 4, 0, 1e-3}, {5, 30, 10, 30, 1},
               {100, 500, 10, 1, .5}, {4, 1, 3, 1, 1}};
    scant_ctx *ctx = ctx_threads(2);
    for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
        given g = posterior(t, all[t].m, all[t].n, all[t].c, all[t].common, all[t].apart);
        scant_picks *picks = given_select(ctx, "bald", &g, g.n, 0, NULL);
        assert_int_equal(picks->count, g.n);
        for (size_t i = 0; i < g.n; i++) {
            size_t row = picks->items[i].index;
            double score = picks->items[i].score;
            long double total = mean_entropy(&g, row) + joint_information(&g, &row, 1);
            /* two entropies with a relative error near 1e-15; and probabilities near 1
             * are accurate to 1e-16 only */
            long double want = joint_information(&g, &row, 1);
            assert_true(fabsl((long double)score - want) <= 4e-15L * total + 5e-16L);
            assert_true(score >= 0 && score <= log((double)g.m) + 1e-14);
            assert_true(i == 0 || score <= picks->items[i - 1].score);
        }
        scant_picks_free(ctx, picks);
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

/* Copies, copies with permuted classes and copies with permuted draws have the same
 * score: all tie, and the first comes first. */
static void copies_tie_whatever_the_order_of_classes_and_draws(void **state) {
    (void)state;
    enum { KINDS = 4 };
    scant_ctx *ctx = ctx_threads(1);
    for (size_t trial = 0; trial < 60; trial++) {
        size_t m = 2 + trial % 11, c = 2 + trial % 19;
        given g = posterior(trial, m, KINDS * 3, c, 3, 1 + (double)(trial % 3));
        for (size_t s = 0; s < m; s++)
            for (size_t i = 3; i < g.n; i++)
                for (size_t k = 0; k < c; k++) {
                    size_t kind = i / 3, from = kind == 2 ? (s * 5 + 1) % m : s;
                    if (kind == 2 && m % 5 == 0) from = m - 1 - s;
                    size_t label = kind == 1 ? c - 1 - k : kind == 3 ? (k + 1) % c : k;
                    rows_of(&g, s, i)[k] = rows_of(&g, from, i % 3)[label];
                }
        scant_picks *picks = given_select(ctx, "bald", &g, g.n, 0, NULL);
        for (size_t i = 0; i < g.n; i++) {
            const scant_pick *p = &picks->items[i];
            assert_int_equal(p->index / 3, i % KINDS); /* the copies in order of index */
            assert_true(i % KINDS == 0 || p->score == p[-1].score);
        }
        scant_picks_free(ctx, picks);
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

static void rows_without_disagreement_tie_at_0(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    for (size_t m = 2; m < 40; m += 3) {
        given g = posterior(m, m, 500, 2 + m % 7, 2, 0);
        scant_picks *picks = given_select(ctx, "bald", &g, 200, 0, NULL);
        for (size_t i = 0; i < 200; i++) {
            assert_int_equal(picks->items[i].index, i);
            assert_true(picks->items[i].score == 0);
        }
        scant_picks_free(ctx, picks);
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

static void invalid_draws_are_reported_with_their_place(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    static const char *const strategies[] = {"bald", "batchbald", "acs-fw",
                                             "sparse-greedy", "sparse-iht"};
    for (size_t t = 0; t < 5; t++) {
        given g = posterior(1, 3, 800, 4, 1, 1);
        rows_of(&g, 2, 700)[1] = NAN;
        given_refused(ctx, strategies[t], &g, 5, NULL, SCANT_EINPUT,
                      "samples: draw 2, row 700, column 1 is nan");
        rows_of(&g, 2, 700)[1] = -.25;
        given_refused(ctx, strategies[t], &g, 5, NULL, SCANT_EINPUT,
                      "samples: draw 2, row 700, column 1 is -0.25");
        rows_of(&g, 2, 700)[1] = 1.5;
        given_refused(ctx, strategies[t], &g, 5, NULL, SCANT_EINPUT,
                      "samples: draw 2, row 700 sums to");
        g.m = 1;
        given_refused(ctx, strategies[t], &g, 5, NULL, SCANT_EINPUT,
                      "has 1 posterior draws, expected at least 2");
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opposite_draws_score_ln_2),
        cmocka_unit_test(scores_are_those_of_the_formula),
        cmocka_unit_test(copies_tie_whatever_the_order_of_classes_and_draws),
        cmocka_unit_test(rows_without_disagreement_tie_at_0),
        cmocka_unit_test(invalid_draws_are_reported_with_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
