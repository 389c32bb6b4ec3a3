/* SPDX-License-Identifier: Apache-2.0
 *
 * batchbald compared with an enumeration of all label strings where that is possible;
 * beyond, its estimates compared with the truth, with bounds that chance exceeds less
 * than once in a million.
 */
#include "select/posterior.h"

#include <stdbool.h>
#include <stdio.h>

#include "select/joint.h"

/* Each pick must add as much as the best row, within `slack`, and its score must be the
 * joint information of the picks. */
static void check_greedy(const given *g, const scant_picks *picks, size_t count,
                         double slack) {
    size_t rows[16];
    for (size_t k = 0; k < count; k++) {
        long double best = -1, got = 0;
        for (size_t i = 0; i < g->n; i++) {
            bool taken = false;
            for (size_t j = 0; j < k; j++) taken |= rows[j] == i;
            if (taken) continue;
            rows[k] = i;
            long double value = joint_information(g, rows, k + 1);
            if (value > best) best = value;
            if (i == picks->items[k].index) got = value;
        }
        rows[k] = picks->items[k].index;
        assert_true((double)(best - got) <= slack);
        assert_true(fabs(picks->items[k].score - (double)got) <= slack);
    }
}

static void exact_picks_are_those_of_enumeration(void **state) {
    (void)state;
    static const struct {
        size_t m, n, c, batch;
        double common, apart;
    } all[] = {{2, 15, 2, 5, 1, 1}, {3, 40, 3, 4, 1, .5},   {8, 30, 4, 4, .5, 2},
               {5, 25, 2, 6, 0, 1}, {8, 12, 3, 5, 3, 3},    {4, 60, 4, 3, 1, .1},
               {6, 20, 2, 7, 0, 4}, {128, 10, 10, 3, 1, 1}, {2, 5, 100, 2, 1, 1}};
    scant_ctx *ctx = ctx_threads(2);
    for (size_t t = 0; t < sizeof all / sizeof *all; t++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            given g = posterior(10 * t + seed, all[t].m, all[t].n, all[t].c,
                                all[t].common, all[t].apart);
            scant_picks *picks =
                given_select(ctx, "batchbald", &g, all[t].batch, 0, NULL);
            assert_int_equal(figure_of(picks, "exact"), all[t].batch);
            /* sums of up to 1000 terms, 1e-14 each; no two rows are that close */
            check_greedy(&g, picks, all[t].batch, 1e-12);
            scant_picks_free(ctx, picks);
            posterior_end(&g);
        }
    scant_ctx_free(ctx);
}

/* The joint information of picks and each row, for all rows. j is (strings, m). */
static void all_gains(const given *g, const size_t *picks, size_t count, double *out) {
    size_t strings = 1;
    double *j = malloc(4096 * g->m * sizeof *j), known = 0;
    for (size_t s = 0; s < g->m; s++) j[s] = 1 / (double)g->m;
    for (size_t k = 0; k < count; k++) {
        known += (double)mean_entropy(g, picks[k]);
        for (size_t t = strings; t-- > 0;)
            for (size_t c = g->c; c-- > 0;)
                for (size_t s = 0; s < g->m; s++)
                    j[(t * g->c + c) * g->m + s] =
                        j[t * g->m + s] * rows_of(g, s, picks[k])[c];
        strings *= g->c;
    }
    for (size_t i = 0; i < g->n; i++) {
        out[i] = -known - (double)mean_entropy(g, i);
        for (size_t t = 0; t < strings; t++)
            for (size_t c = 0; c < g->c; c++) {
                double r = 0;
                for (size_t s = 0; s < g->m; s++)
                    r += j[t * g->m + s] * rows_of(g, s, i)[c];
                out[i] -= r > 0 ? r * log(r) : 0;
            }
    }
    free(j);
}

/* So many rows and strings that bounds and merged strings decide which rows are
 * evaluated. Probabilities sum to 1 only as closely as in half precision: then the bounds
 * are not quite bounds. */
static void lazy_picks_are_those_of_evaluating_every_row(void **state) {
    (void)state;
    enum { N = 700, M = 8, C = 5, B = 6 };
    scant_ctx *ctx = ctx_threads(2);
    static double gains[N];
    for (uint64_t seed = 0; seed < 6; seed++) {
        given g = posterior(seed, M, N, C, .5, seed % 2 ? 2 : .1);
        double uneven = seed < 2 ? 0 : 9e-4;
        for (size_t i = 0; i < M * N; i++)
            for (size_t k = 0; k < C; k++)
                rows_of(&g, 0, 0)[i * C + k] *= 1 + uneven * (2 * unit_at(seed, i) - 1);
        scant_picks *picks = given_select(ctx, "batchbald", &g, B, 0, NULL);
        size_t rows[B];
        for (size_t k = 0; k < B; k++) {
            size_t best = N;
            all_gains(&g, rows, k, gains);
            for (size_t i = 0; i < N; i++) {
                bool taken = false;
                for (size_t l = 0; l < k; l++) taken |= rows[l] == i;
                if (!taken && (best == N || gains[i] > gains[best])) best = i;
            }
            rows[k] = picks->items[k].index;
            assert_int_equal(rows[k], best);
            assert_true(fabs(picks->items[k].score - gains[best]) < 1e-11);
        }
        scant_picks_free(ctx, picks);
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

static void a_copy_adds_no_information(void **state) {
    (void)state;
    /* rows 1 and 3 are copies; the draws agree on row 2 and differ a little on row 0 */
    static const double p[] = {.6, .4, 1, 0, .5, .5, 1, 0, /* */
                               .4, .6, 0, 1, .5, .5, 0, 1};
    scant_ctx *ctx = ctx_threads(1);
    given g = {.n = 4, .c = 2, .m = 2, .samples = p};
    scant_picks *picks = given_select(ctx, "batchbald", &g, 4, 0, NULL);
    assert_int_equal(picks->items[0].index, 1);
    assert_true(fabs(picks->items[0].score - log(2)) < 1e-14);
    /* no information is left: the rest by bald, the copy before the others */
    assert_int_equal(picks->items[1].index, 3);
    assert_int_equal(picks->items[2].index, 0);
    assert_int_equal(picks->items[3].index, 2);
    for (size_t k = 1; k < 4; k++)
        assert_true(picks->items[k].score == picks->items[0].score);
    assert_int_equal(figure_of(picks, "by_bald"), 3);
    assert_int_equal(figure_of(picks, "exact"), 1);
    assert_true(figure_of(picks, "ceiling") == log(2));
    scant_picks_free(ctx, picks);
    scant_ctx_free(ctx);
}

/* It never falls, and is at most the sum of the parts and at most ln m. */
static void information_is_monotone_and_bounded(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    static const char *const settings[] = {"mc=1", "mc=30", "mc=1000", NULL};
    for (uint64_t seed = 0; seed < 4; seed++)
        for (size_t t = 0; t < 4; t++) {
            given g = posterior(seed, 2 + 5 * seed, 90, 3, 1, .5 + (double)seed / 2);
            scant_picks *alone = given_select(ctx, "bald", &g, 90, 0, NULL);
            scant_picks *picks =
                given_select(ctx, "batchbald", &g, 90, seed, settings[t]);
            double sum = 0, ceiling = log((double)g.m);
            assert_int_equal(picks->count, 90);
            for (size_t k = 0; k < 90; k++) {
                double score = picks->items[k].score;
                for (size_t i = 0; i < 90; i++)
                    if (alone->items[i].index == picks->items[k].index)
                        sum += alone->items[i].score;
                assert_true(score >= (k ? picks->items[k - 1].score : 0));
                assert_true(score <= ceiling);
                /* an estimate may exceed it by its noise: see below */
                double noise = k < (size_t)figure_of(picks, "exact") ? 1e-12 : ceiling;
                assert_true(score <= sum + noise);
            }
            assert_int_equal(figure_of(picks, "exact") + figure_of(picks, "sampled") +
                                 figure_of(picks, "by_bald"),
                             90);
            scant_picks_free(ctx, picks);
            scant_picks_free(ctx, alone);
            posterior_end(&g);
        }
    scant_ctx_free(ctx);
}

/* An estimate is ln m minus the mean over strings of entropies between 0 and ln m: its
 * standard deviation is at most ln m / 2 divided by the root of their number. Returns
 * five standard deviations. */
static double noise_of(const given *g, size_t mc) {
    double strings = (double)(mc / g->m * g->m);
    return 5 * log((double)g->m) / 2 / sqrt(strings);
}

/* Each alone, and averaged over many seeds: choosing the best row does not bias them. */
static void estimates_are_near_the_truth(void **state) {
    (void)state;
    enum { B = 9, SEEDS = 30 };
    scant_ctx *ctx = ctx_threads(2);
    for (size_t t = 0; t < 4; t++) {
        static const size_t samples[] = {3, 5, 12, 25}, limits[] = {700, 200, 700, 25};
        size_t mc = limits[t], exact = 0;
        given g = posterior(t, samples[t], 40, 3, .5, .9);
        double error[B] = {0};
        char settings[32];
        snprintf(settings, sizeof settings, "mc=%zu", mc);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            scant_picks *picks = given_select(ctx, "batchbald", &g, B, seed, settings);
            size_t rows[B];
            exact = (size_t)figure_of(picks, "exact");
            for (size_t k = 0; k < B; k++) rows[k] = picks->items[k].index;
            for (size_t k = exact; k < exact + (size_t)figure_of(picks, "sampled"); k++) {
                double truth = (double)joint_information(&g, rows, k + 1);
                double off = picks->items[k].score - truth;
                assert_true(fabs(off) < noise_of(&g, mc));
                error[k] += off / SEEDS;
            }
            scant_picks_free(ctx, picks);
        }
        assert_true(exact < B - 1); /* else nothing was estimated */
        for (size_t k = exact; k < B; k++)
            assert_true(fabs(error[k]) < noise_of(&g, mc) / sqrt(SEEDS));
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

/* The gains of rows after some picks: those from drawn strings are exact on average over
 * many draws, and those from merged strings are upper bounds. */
static void gains_are_unbiased_and_merged_ones_are_bounds(void **state) {
    (void)state;
    enum { N = 30, M = 7, C = 3, B = 7, DRAWS = 60 };
    static double value[N * JOINT_PARTS];
    size_t all[N];
    scant_ctx *ctx = ctx_threads(2);
    given g = posterior(5, M, N, C, .5, .8);
    opened o;
    given_open(ctx, &g, &o);
    select_pool pool = {.n = N, .c = C, .m = M, .draws = o.evidence.draws};
    double want[N], told = 0, sum[N] = {0}, square[N] = {0}, left = 0;
    for (size_t i = 0; i < N; i++) all[i] = i;
    for (int draw = -1; draw < DRAWS; draw++) {
        scant__arena arena;
        joint j;
        scant__arena_init(&arena, ctx);
        size_t limit = draw < 0 ? 100000 : 140;
        assert_int_equal(joint_init(&j, &arena, &pool, (uint64_t)draw, limit, B),
                         SCANT_OK);
        for (size_t k = 0; k < B - 1; k++) {
            assert_int_equal(joint_evaluate(&j, &j.all, &all[k], 1, 0, 1, value),
                             SCANT_OK);
            double gain = value[0] - j.all.known;
            if (draw < 0) told += gain;
            assert_int_equal(joint_add(&j, k, gain), SCANT_OK);
        }
        assert_int_equal(joint_evaluate(&j, &j.all, all, N, 0, j.all.parts, value),
                         SCANT_OK);
        assert_true(j.exact == (draw < 0));
        for (size_t i = 0; i < N; i++) {
            double gain = -j.all.known;
            for (size_t p = 0; p < j.all.parts; p++) gain += value[i * JOINT_PARTS + p];
            if (draw < 0) {
                want[i] = gain;
            } else {
                gain /= (double)j.drawn;
                assert_true(gain > -1e-12);
                sum[i] += gain, square[i] += gain * gain;
            }
        }
        left += draw < 0 ? 0 : j.left / DRAWS;
        if (draw < 0) {
            assert_int_equal(joint_merge(&j), SCANT_OK);
            assert_true(j.merged.count > 8 && j.merged.count < j.all.count / 4);
            assert_int_equal(joint_evaluate(&j, &j.merged, all, N, 0, 1, value),
                             SCANT_OK);
            for (size_t i = 0; i < N; i++) {
                double bound = value[i * JOINT_PARTS] - j.merged.known;
                assert_true(bound > want[i] - 1e-12);
                if (i >= B - 1) assert_true(bound < 1.5 * want[i]); /* and close */
            }
        }
        scant__arena_end(&arena);
    }
    for (size_t i = B - 1; i < N; i++) {
        double mean = sum[i] / DRAWS, variance = square[i] / DRAWS - mean * mean;
        /* five standard deviations, and a thousandth of `left` for dropped strings */
        double error = 5 * sqrt(variance / DRAWS) + 1e-3 * left;
        assert_true(fabs(mean - want[i]) < error);
        assert_true(error < want[i] / 2); /* else the test is too weak */
    }
    assert_true(fabs(log(M) - left - told) < noise_of(&g, 140 * DRAWS));
    given_close(&o);
    posterior_end(&g);
    scant_ctx_free(ctx);
}

/* Labels come as often as the model predicts them. Ten rows on which all posterior draws
 * agree make so many strings that these are sampled; the posterior after the eleventh row
 * shows which label it got. */
static void labels_are_drawn_by_their_probabilities(void **state) {
    (void)state;
    enum { N = 11, M = 5, C = 3, LIMIT = 30000 };
    scant_ctx *ctx = ctx_threads(2);
    given g = posterior(4, M, N, C, .5, 0), other = posterior(5, M, N, C, .5, .4);
    for (size_t s = 0; s < M; s++)
        memcpy(rows_of(&g, s, N - 1), rows_of(&other, s, 0), C * sizeof(double));
    opened o;
    scant__arena arena;
    joint j;
    given_open(ctx, &g, &o);
    select_pool pool = {.n = N, .c = C, .m = M, .draws = o.evidence.draws};
    scant__arena_init(&arena, ctx);
    assert_int_equal(joint_init(&j, &arena, &pool, 3, LIMIT, N), SCANT_OK);
    for (size_t k = 0; k < N; k++) assert_int_equal(joint_add(&j, k, 0), SCANT_OK);
    assert_int_equal(j.all.count, LIMIT);
    double seen[C] = {0}, chi_square = 0;
    for (size_t t = 0; t < LIMIT; t++)
        for (size_t k = 0; k < C; k++) {
            double sum = 0;
            for (size_t s = 0; s < M; s++) sum += rows_of(&g, s, N - 1)[k];
            double off = j.all.weight[t * M] - rows_of(&g, 0, N - 1)[k] / sum;
            seen[k] += fabs(off) < 1e-12;
        }
    assert_true(seen[0] + seen[1] + seen[2] == LIMIT);
    for (size_t k = 0; k < C; k++) {
        double want = 0;
        for (size_t s = 0; s < M; s++) want += rows_of(&g, s, N - 1)[k] * LIMIT / M;
        chi_square += (seen[k] - want) * (seen[k] - want) / want;
    }
    assert_true(chi_square < chi_square_limit(C - 1));
    scant__arena_end(&arena);
    given_close(&o);
    posterior_end(&g);
    posterior_end(&other);
    scant_ctx_free(ctx);
}

/* When little information is left, the noise of a gain must not exceed it. */
static void gains_do_not_exceed_the_information_left(void **state) {
    (void)state;
    enum { N = 40, M = 9, C = 3, B = 12 };
    static double value[N * JOINT_PARTS];
    size_t all[N];
    scant_ctx *ctx = ctx_threads(1);
    given g = posterior(8, M, N, C, 0, 2);
    opened o;
    scant__arena arena;
    joint j;
    given_open(ctx, &g, &o);
    select_pool pool = {.n = N, .c = C, .m = M, .draws = o.evidence.draws};
    scant__arena_init(&arena, ctx);
    assert_int_equal(joint_init(&j, &arena, &pool, 1, 900, B), SCANT_OK);
    for (size_t i = 0; i < N; i++) all[i] = i;
    for (size_t k = 0; k < B; k++) {
        assert_int_equal(joint_add(&j, k, 0), SCANT_OK);
        if (j.exact) continue;
        assert_int_equal(joint_evaluate(&j, &j.all, all, N, 0, j.all.parts, value),
                         SCANT_OK);
        for (size_t i = 0; i < N; i++) {
            double gain = 0;
            for (size_t p = 0; p < j.all.parts; p++) gain += value[i * JOINT_PARTS + p];
            gain /= (double)j.drawn;
            assert_true(gain >= -1e-13 && gain <= j.left + 1e-13);
        }
    }
    assert_true(j.left < .1);
    scant__arena_end(&arena);
    given_close(&o);
    posterior_end(&g);
    scant_ctx_free(ctx);
}

#ifdef SCANT_SANITIZED
enum { RACES = 1, RACERS = 300, LONG_MC = 500 };
#define LONG_SETTING "mc=500"
#else
enum { RACES = 3, RACERS = 900, LONG_MC = 2000 };
#define LONG_SETTING "mc=2000"
#endif

/* Rows that the race for a pick drops after a few strings would not have won on all of
 * them: the picks again, each time with every row evaluated on the same strings. */
static void the_race_is_won_by_the_best_row(void **state) {
    (void)state;
    enum { N = RACERS, M = 20, C = 4, B = 14 };
    static double value[N * JOINT_PARTS];
    static size_t all[N];
    scant_ctx *ctx = ctx_threads(2);
    for (size_t i = 0; i < N; i++) all[i] = i;
    for (uint64_t seed = 0; seed < RACES; seed++) {
        given g = posterior(seed, M, N, C, .5, .6);
        scant_picks *picks = given_select(ctx, "batchbald", &g, B, seed, "mc=4000");
        opened o;
        scant__arena arena;
        joint j;
        given_open(ctx, &g, &o);
        select_pool pool = {.n = N, .c = C, .m = M, .draws = o.evidence.draws};
        scant__arena_init(&arena, ctx);
        assert_int_equal(joint_init(&j, &arena, &pool, seed, 4000, B), SCANT_OK);
        bool taken[N] = {false};
        assert_true(figure_of(picks, "sampled") >= 6);
        for (size_t k = 0; k < B; k++) {
            size_t best = N, row = picks->items[k].index;
            double most = -1, gain[N];
            assert_int_equal(joint_evaluate(&j, &j.all, all, N, 0, j.all.parts, value),
                             SCANT_OK);
            for (size_t i = 0; i < N; i++) {
                gain[i] = -j.all.known;
                for (size_t p = 0; p < j.all.parts; p++)
                    gain[i] += value[i * JOINT_PARTS + p];
                if (!taken[i] && gain[i] > most) most = gain[i], best = i;
            }
            assert_int_equal(best, row);
            taken[row] = true;
            assert_int_equal(joint_add(&j, row, gain[row]), SCANT_OK);
        }
        scant__arena_end(&arena);
        given_close(&o);
        scant_picks_free(ctx, picks);
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

/* Hundreds of labels with little information, and impossible ones: products of so many
 * probabilities would underflow. */
static void long_strings_do_not_underflow(void **state) {
    (void)state;
    enum { N = 420, B = 400 };
    scant_ctx *ctx = ctx_threads(2);
    for (int hard = 0; hard < 2; hard++) {
        given g = posterior(3, 4, N, 30, hard ? 4 : 0, .02);
        for (size_t i = 0; hard && i < N; i++) /* a class that only one draw allows */
            for (size_t s = 0; s < 3; s++) {
                double *p = rows_of(&g, s, i);
                p[1] += p[0], p[0] = 0;
            }
        scant_picks *picks = given_select(ctx, "batchbald", &g, B, 1, LONG_SETTING);
        double last = picks->items[B - 1].score;
        assert_int_equal(picks->count, B);
        for (size_t k = 0; k < B; k++) assert_true(isfinite(picks->items[k].score));
        assert_true(last <= log(4));
        if (!hard) {
            assert_true(figure_of(picks, "sampled") > 300);
            /* little of it is redundant: a fair part of the sum of all */
            scant_picks *alone = given_select(ctx, "bald", &g, B, 0, NULL);
            double sum = 0;
            for (size_t k = 0; k < B; k++) sum += alone->items[k].score;
            assert_true(last > sum / 3 && last < sum + noise_of(&g, LONG_MC));
            scant_picks_free(ctx, alone);
        }
        scant_picks_free(ctx, picks);
        posterior_end(&g);
    }
    scant_ctx_free(ctx);
}

static void degenerate_pools_are_fine(void **state) {
    (void)state;
    static const struct {
        size_t m, n, c, batch;
        const char *settings;
    } all[] = {{2, 1, 2, 5, NULL},      {2, 6, 1000, 6, NULL},  {50, 4, 2, 4, "mc=1"},
               {3, 30, 1000, 4, NULL},  {2, 300, 2, 300, NULL}, {9, 20, 3, 20, "mc=2"},
               {2, 40, 2, 40, "mc=100"}};
    scant_ctx *ctx = ctx_threads(3);
    for (size_t t = 0; t < sizeof all / sizeof *all; t++) {
        given g = posterior(t, all[t].m, all[t].n, all[t].c, 1, 1);
        scant_picks *picks =
            given_select(ctx, "batchbald", &g, all[t].batch, 0, all[t].settings);
        size_t want = all[t].batch < g.n ? all[t].batch : g.n;
        assert_int_equal(picks->count, want);
        scant_picks_free(ctx, picks);
        posterior_end(&g);
    }
    given same = posterior(1, 3, 30, 4, 1, 0); /* no disagreement at all */
    scant_picks *picks = given_select(ctx, "batchbald", &same, 10, 0, NULL);
    for (size_t k = 0; k < 10; k++) {
        assert_int_equal(picks->items[k].index, k);
        assert_true(picks->items[k].score == 0);
    }
    assert_int_equal(figure_of(picks, "by_bald"), 10);
    scant_picks_free(ctx, picks);
    posterior_end(&same);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_picks_are_those_of_enumeration),
        cmocka_unit_test(lazy_picks_are_those_of_evaluating_every_row),
        cmocka_unit_test(a_copy_adds_no_information),
        cmocka_unit_test(information_is_monotone_and_bounded),
        cmocka_unit_test(estimates_are_near_the_truth),
        cmocka_unit_test(gains_are_unbiased_and_merged_ones_are_bounds),
        cmocka_unit_test(labels_are_drawn_by_their_probabilities),
        cmocka_unit_test(gains_do_not_exceed_the_information_left),
        cmocka_unit_test(the_race_is_won_by_the_best_row),
        cmocka_unit_test(long_strings_do_not_underflow),
        cmocka_unit_test(degenerate_pools_are_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
