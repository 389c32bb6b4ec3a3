/* SPDX-License-Identifier: Apache-2.0
 *
 * npc: properties of its batches, lambda compared with the dense solver, refining
 * compared with all possible exchanges.
 */
#include "lambda.h"
#include "planned.h"

static scant_picks *npc(scant_ctx *ctx, const pool *p, size_t batch, uint64_t seed,
                        const char *candidates, const char *refine) {
    const scant_setting settings[] = {{"candidates", candidates},
                                      {"refine", refine},
                                      {"bias", p->bias > 0 ? "1" : "0"}};
    scant_picks *picks;
    assert_int_equal(pool_call(ctx, p, "npc", batch, seed, settings, 3, &picks),
                     SCANT_OK);
    assert_int_equal(picks->count, batch);
    return picks;
}

static void rows_of(const scant_picks *picks, size_t *rows) {
    for (size_t i = 0; i < picks->count; i++) rows[i] = picks->items[i].index;
}

/* Unlabelled rows in index order, each with the lambda of the batch. */
static void check_picks(const pool *p, const scant_picks *picks, size_t rank) {
    size_t rows[256];
    double largest, score = picks->items[0].score;
    rows_of(picks, rows);
    for (size_t i = 0; i < picks->count; i++) {
        assert_true(p->labels[rows[i]] < 0);
        assert_true(i == 0 || rows[i] > rows[i - 1]);
        assert_true(picks->items[i].score == score && picks->items[i].weight == 1);
    }
    double lambda = lambda_of(p, rank, rows, picks->count, &largest);
    assert_true(fabs(score - lambda) <= NEAR * largest);
    assert_true(figure(picks, "lambda") == score);
    assert_true(figure(picks, "rank") == (double)rank);
}

static void scores_are_the_lambda_of_the_batch(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    static const size_t sizes[][3] = {/* d, every, batch */
                                      {10, 0, 3},   {10, 30, 5}, {10, 12, 4}, {10, 12, 5},
                                      {10, 12, 6},  {10, 3, 2},  {10, 3, 30}, {40, 6, 15},
                                      {40, 3, 3},   {40, 9, 40}, {1, 0, 1},   {1, 2, 1},
                                      {100, 6, 10}, {79, 3, 20}, {80, 0, 79}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int bias = 0; bias < 2; bias++) {
            pool p;
            pool_make(&p, s, 80, sizes[s][0], sizes[s][1], bias);
            for (uint64_t seed = 0; seed < 3; seed++) {
                scant_picks *picks = npc(ctx, &p, sizes[s][2], seed, "60", "0");
                check_picks(&p, picks, rank_of(&p));
                assert_true(figure(picks, "evaluated") >= 1);
                scant_picks_free(ctx, picks);
            }
            pool_end(&p);
        }
    scant_ctx_free(ctx);
}

/* The first candidates are the same ones: more can only raise lambda. */
static void more_candidates_are_never_worse(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    size_t rises = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        static const char *const counts[] = {"1", "2", "5", "30", "200"};
        double before = -1;
        pool p;
        pool_make(&p, seed, 120, 12, seed % 2 ? 6 : 40, 1);
        for (size_t k = 0; k < 5; k++) {
            scant_picks *picks = npc(ctx, &p, 5, seed, counts[k], "0");
            double lambda = picks->items[0].score;
            assert_true(lambda >= before);
            rises += lambda > before;
            before = lambda;
            scant_picks_free(ctx, picks);
        }
        pool_end(&p);
    }
    assert_true(rises > 25);
    scant_ctx_free(ctx);
}

/* With more candidates than there are batches, the best batch is found. */
static void the_best_pair_of_the_fixture_is_found(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    pool p;
    pool_fixture(&p);
    scant_picks *picks = npc(ctx, &p, 1, 0, "1000", "0");
    assert_int_equal(picks->items[0].index, 3);
    assert_true(fabs(picks->items[0].score - 1.55051) < 1e-6);
    assert_true(fabs(figure(picks, "cap") - 5) < 1e-12);
    assert_true(figure(picks, "rank") == 3);
    scant_picks_free(ctx, picks);
    double best = 0;
    size_t pair[2] = {0, 0};
    for (size_t i = 0; i < 6; i++)
        for (size_t j = i + 1; j < 6; j++) {
            double lambda = lambda_of(&p, 3, (size_t[]){i, j}, 2, NULL);
            if (lambda > best) best = lambda, pair[0] = i, pair[1] = j;
        }
    picks = npc(ctx, &p, 2, 0, "1000", "0");
    assert_true(picks->items[0].index == pair[0] && picks->items[1].index == pair[1]);
    assert_true(fabs(picks->items[0].score - best) < 1e-10);
    assert_true(isnan(figure(picks, "cap"))); /* N > r: there is no cap */
    scant_picks_free(ctx, picks);
    pool_end(&p);
    scant_ctx_free(ctx);
}

/* Of unit vectors at angles to a labelled one: the one nearest to the right angle. */
static void the_vector_at_the_widest_angle_is_picked(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(1);
    pool p;
    pool_make(&p, 1, 12, 3, 0, 0);
    for (size_t i = 0; i < 12; i++) {
        double a = i == 7 ? -0.1 : 0.2 + 0.06 * (double)i; /* the cosine */
        p.h[3 * i] = i ? a : 1;
        p.h[3 * i + 1] = i ? sqrt(1 - a * a) * cos((double)i) : 0;
        p.h[3 * i + 2] = i ? sqrt(1 - a * a) * sin((double)i) : 0;
    }
    p.labels[0] = 0, p.l = 1;
    scant_picks *picks = npc(ctx, &p, 1, 0, "1000", "0");
    assert_int_equal(picks->items[0].index, 7);
    assert_true(fabs(picks->items[0].score - 0.9) < NEAR * 2);
    scant_picks_free(ctx, picks);
    pool_end(&p);
    scant_ctx_free(ctx);
}

static void a_batch_of_all_rows_is_the_only_candidate(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    for (size_t n = 1; n < 40; n += 13) {
        pool p;
        pool_make(&p, n, n, 6, 0, 1);
        scant_picks *picks = npc(ctx, &p, n, 3, "1000", "2");
        check_picks(&p, picks, rank_of(&p));
        assert_true(figure(picks, "evaluated") == 1);
        assert_true(figure(picks, "swaps") == 0);
        scant_picks_free(ctx, picks);
        pool_end(&p);
    }
    scant_ctx_free(ctx);
}

/* A single candidate is drawn uniformly: all rows are equally frequent. */
static void candidate_batches_are_uniform(void **state) {
    (void)state;
    enum { ROWS = 12, BATCH = 5, TURNS = 3000 };
    scant_ctx *ctx = ctx_threads(1);
    size_t times[ROWS] = {0}, together = 0;
    double chi = 0, expected = (double)TURNS * BATCH / ROWS;
    pool p;
    pool_make(&p, 1, ROWS, 2, 0, 1);
    for (uint64_t seed = 0; seed < TURNS; seed++) {
        scant_picks *picks = npc(ctx, &p, BATCH, seed, "1", "0");
        bool first = false, last = false;
        for (size_t i = 0; i < BATCH; i++) {
            times[picks->items[i].index]++;
            first |= picks->items[i].index == 0;
            last |= picks->items[i].index == ROWS - 1;
        }
        together += first && last;
        scant_picks_free(ctx, picks);
    }
    for (size_t i = 0; i < ROWS; i++) {
        double off = (double)times[i] - expected;
        chi += off * off / expected;
    }
    assert_true(chi < chi_square_limit(ROWS - 1));
    /* 5/12 * 4/11 = 0.1515 of the batches, within five standard deviations */
    assert_true(fabs((double)together - 0.1515 * TURNS) < 5 * sqrt(0.1286 * TURNS));
    pool_end(&p);
    scant_ctx_free(ctx);
}

static void a_labelled_copy_does_not_make_lambda_0(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    pool p, once;
    size_t rows[3];
    pool_make(&p, 5, 40, 12, 8, 1); /* 0, 8, 16, 24, 32 */
    memcpy(p.h + 8 * 12, p.h, 12 * sizeof *p.h);
    pool_make(&once, 5, 40, 12, 8, 1);
    once.labels[8] = -1;
    scant_picks *picks = npc(ctx, &p, 3, 1, "100", "0");
    rows_of(picks, rows);
    assert_true(picks->items[0].score > 0.1);
    double lambda = lambda_of(&once, 13, rows, 3, NULL);
    assert_true(fabs(picks->items[0].score - lambda) < 1e-10);
    scant_picks_free(ctx, picks);
    pool_end(&p);
    pool_end(&once);
    scant_ctx_free(ctx);
}

/* Without a bias, because 1 is not scaled. Squares of extreme features leave the range of
 * double. LAPACK scales some matrices by numbers that are not powers of two, hence a few
 * roundings. */
static void the_scale_of_features_does_not_matter(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    static const int powers[] = {-30, 40, 400, -400, 900, -900};
    pool p;
    pool_make(&p, 9, 60, 8, 10, 0);
    scant_picks *want = npc(ctx, &p, 2, 0, "100", "3");
    for (size_t k = 0; k < sizeof powers / sizeof *powers; k++) {
        pool q;
        pool_make(&q, 9, 60, 8, 10, 0);
        for (size_t i = 0; i < q.n * q.d; i++) q.h[i] = ldexp(q.h[i], powers[k]);
        scant_picks *picks = npc(ctx, &q, 2, 0, "100", "3");
        double score = ldexp(want->items[0].score, 2 * powers[k]);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(picks->items[i].index, want->items[i].index);
        double off = fabs(picks->items[0].score - score);
        assert_true(picks->items[0].score == score || off < 1e-13 * score);
        scant_picks_free(ctx, picks);
        pool_end(&q);
    }
    scant_picks_free(ctx, want);
    pool_end(&p);
    scant_ctx_free(ctx);
}

static void normalised_rows_are_unit_vectors(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    pool p, unit;
    scant_picks *picks;
    pool_make(&p, 4, 50, 7, 9, 1);
    pool_make(&unit, 4, 50, 7, 9, 1);
    for (size_t i = 0; i < p.n; i++) {
        double norm = 0;
        for (size_t k = 0; k < 7; k++) norm += unit.h[i * 7 + k] * unit.h[i * 7 + k];
        for (size_t k = 0; k < 7; k++) unit.h[i * 7 + k] /= sqrt(norm);
    }
    const scant_setting settings[] = {{"normalise", "1"}};
    assert_int_equal(pool_call(ctx, &p, "npc", 2, 0, settings, 1, &picks), SCANT_OK);
    check_picks(&unit, picks, 8);
    scant_picks_free(ctx, picks);
    pool_end(&p);
    pool_end(&unit);
    scant_ctx_free(ctx);
}

/* Fewer rows than columns need no d x d matrix, but one block of rows per worker and one
 * more. Some rows are copies, so the rank is below N. */
static void few_wide_rows_take_little_memory(void **state) {
    (void)state;
    enum { ROWS = 30, WIDE = 20000 };
    scant_ctx *ctx = ctx_threads(2);
    pool p;
    pool_make(&p, 3, ROWS, WIDE, 3, 1);
    for (size_t i = 12; i < ROWS; i += 3) /* labelled copies of unlabelled rows */
        memcpy(p.h + i * WIDE, p.h + (i + 1) * WIDE, WIDE * sizeof *p.h);
    for (size_t batch = 1; batch < 20; batch += 6) {
        scant_picks *picks = npc(ctx, &p, batch, 0, "50", "1");
        check_picks(&p, picks, rank_of(&p));
        scant_picks_free(ctx, picks);
    }
    assert_true(peak_of(ctx) < 4 * ROWS * WIDE * sizeof(double));
    pool_end(&p);
    scant_ctx_free(ctx);
}

/* ---- refining ---- */

/* The largest lambda that one exchange can lead to. */
static double best_exchange(const pool *p, size_t rank, const scant_picks *picks) {
    size_t rows[16], b = picks->count;
    double best = 0;
    for (size_t out = 0; out < b; out++)
        for (size_t in = 0; in < p->n; in++) {
            bool taken = p->labels[in] >= 0;
            rows_of(picks, rows);
            for (size_t i = 0; i < b; i++) taken |= rows[i] == in;
            if (taken) continue;
            rows[out] = in;
            best = fmax(best, lambda_of(p, rank, rows, b, NULL));
        }
    return best;
}

/* Each exchange raises lambda, and in the end no exchange is left that would. (With at
 * most eight rows in the batch all are tried.) */
static void refining_ends_where_no_exchange_helps(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    static const size_t sizes[][3] = {/* d, every, batch */
                                      {9, 0, 4},
                                      {9, 15, 4},
                                      {9, 4, 2},
                                      {9, 2, 3},
                                      {5, 0, 8}};
    size_t risen = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int bias = 0; bias < 2; bias++) {
            pool p;
            pool_make(&p, 60 + s, 40, sizes[s][0], sizes[s][1], bias);
            size_t rank = rank_of(&p);
            scant_picks *plain = npc(ctx, &p, sizes[s][2], 1, "5", "0");
            scant_picks *once = npc(ctx, &p, sizes[s][2], 1, "5", "1");
            scant_picks *full = npc(ctx, &p, sizes[s][2], 1, "5", "1000");
            double lambda = plain->items[0].score, end = full->items[0].score;
            check_picks(&p, once, rank);
            check_picks(&p, full, rank);
            assert_true(figure(once, "lambda_before") == lambda);
            assert_true(figure(once, "swaps") <= 1 && figure(full, "swaps") < 1000);
            assert_true(once->items[0].score >= lambda && end >= once->items[0].score);
            assert_true((figure(once, "swaps") > 0) == (once->items[0].score > lambda));
            assert_true(best_exchange(&p, rank, full) <= end + 1e-10);
            risen += end > lambda;
            scant_picks_free(ctx, plain);
            scant_picks_free(ctx, once);
            scant_picks_free(ctx, full);
            pool_end(&p);
        }
    assert_true(risen >= 8); /* a few start at the optimum */
    scant_ctx_free(ctx);
}

/* How many rows would have raised lambda more than the one that came in. */
static size_t better_than(const pool *p, size_t rank, const scant_picks *before,
                          const scant_picks *after) {
    size_t rows[16], out = 0, b = before->count, better = 0;
    rows_of(before, rows);
    for (size_t k = 0; k < b; k++) { /* the row that left the batch */
        bool kept = false;
        for (size_t i = 0; i < b; i++) kept |= after->items[i].index == rows[k];
        if (!kept) out = k;
    }
    for (size_t in = 0; in < p->n; in++) {
        bool taken = p->labels[in] >= 0;
        for (size_t i = 0; i < b; i++) taken |= before->items[i].index == in;
        rows[out] = in;
        if (!taken) better += lambda_of(p, rank, rows, b, NULL) > after->items[0].score;
    }
    return better;
}

/* Of 20,000 rows 16,384 are tried, different ones each time. Each exchange raises lambda
 * and brings in one of the best rows. (The probability that none of the 12 best is tried
 * is 1e-9.) */
static void refining_tries_a_part_of_a_large_pool(void **state) {
    (void)state;
    enum { ROWS = 20000, RANK = 3 };
    static const size_t sizes[][2] = {{0, 3}, {9000, 2}, {5000, 8}}; /* every, batch */
    static const char *const refine[] = {"0", "1", "2", "4", "50"};
    scant_ctx *ctx = ctx_threads(2);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        pool p;
        scant_picks *picks[5];
        double lambda = 0;
        pool_make(&p, 80 + s, ROWS, RANK - 1, sizes[s][0], 1);
        for (size_t k = 0; k < 5; k++) {
            picks[k] = npc(ctx, &p, sizes[s][1], s, "3", refine[k]);
            check_picks(&p, picks[k], RANK);
            double swaps = k ? figure(picks[k], "swaps") : 0;
            assert_true(swaps <= strtod(refine[k], NULL));
            assert_true(k > 1 || swaps == (double)k); /* three candidates are few */
            assert_true(swaps == 0 ||
                        picks[k]->items[0].score > picks[0]->items[0].score);
            assert_true(picks[k]->items[0].score >= lambda);
            lambda = picks[k]->items[0].score;
        }
        assert_true(better_than(&p, RANK, picks[0], picks[1]) < 12);
        for (size_t k = 0; k < 5; k++) scant_picks_free(ctx, picks[k]);
        pool_end(&p);
    }
    scant_ctx_free(ctx);
}

/* They come from all parts of the pool. */
static void rows_that_refining_tries_are_uniform(void **state) {
    (void)state;
    enum { ROWS = 20000, BATCH = 8, POOLS = 8, PARTS = 4 };
    scant_ctx *ctx = ctx_threads(2);
    size_t times[PARTS] = {0}, moved = 0;
    double chi = 0;
    for (uint64_t seed = 0; seed < POOLS; seed++) {
        pool p;
        pool_make(&p, 200 + seed, ROWS, 2, 0, 1);
        scant_picks *picks = npc(ctx, &p, BATCH, seed, "1", "16");
        for (size_t i = 0; i < BATCH; i++)
            times[picks->items[i].index / (ROWS / PARTS)]++;
        moved += figure(picks, "swaps") >= BATCH;
        scant_picks_free(ctx, picks);
        pool_end(&p);
    }
    assert_true(moved > POOLS / 2); /* most batches are no longer those that were drawn */
    for (size_t k = 0; k < PARTS; k++) {
        double expected = (double)(POOLS * BATCH) / PARTS;
        chi += pow((double)times[k] - expected, 2) / expected;
    }
    assert_true(chi < chi_square_limit(PARTS - 1));
    scant_ctx_free(ctx);
}

/* A batch with two equal rows has lambda 0; one exchange repairs it. */
static void refining_removes_copies(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    size_t mended = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        pool p;
        pool_make(&p, 70, 12, 8, 0, 1);
        for (size_t i = 1; i < 12; i += 2) /* in pairs */
            memcpy(p.h + i * 8, p.h + (i - 1) * 8, 8 * sizeof *p.h);
        scant_picks *plain = npc(ctx, &p, 3, seed, "1", "0");
        scant_picks *picks = npc(ctx, &p, 3, seed, "1", "5");
        if (plain->items[0].score == 0) {
            mended++;
            assert_true(figure(picks, "lambda_before") == 0);
            assert_true(picks->items[0].score > 0.01);
        }
        scant_picks_free(ctx, plain);
        scant_picks_free(ctx, picks);
        pool_end(&p);
    }
    assert_true(mended > 2);
    scant_ctx_free(ctx);
}

/* Refining stays within the plan's memory, gives the same bits at any thread count, and
 * any of its allocations may fail. */
static void refining_keeps_the_guarantees_of_selection(void **state) {
    (void)state;
    const scant_setting settings[] = {{"candidates", "7"}, {"refine", "2"}};
    pool p;
    scant_picks *first = NULL;
    scant_ctx *first_ctx = ctx_threads(1);
    pool_make(&p, 2, 90, 11, 13, 1);
    assert_int_equal(pool_call(first_ctx, &p, "npc", 20, 0, settings, 2, &first),
                     SCANT_OK);
    for (unsigned threads = 2; threads < 5; threads++) {
        scant_ctx *ctx = ctx_threads(threads);
        scant_array *features;
        scant_plan plan;
        scant_picks *picks;
        scant_select_opts opts = {.settings = settings, .n_settings = 2};
        assert_int_equal(scant_array_wrap(ctx, "features", p.h, SCANT_F64, 2,
                                          (size_t[]){p.n, p.d}, &features),
                         SCANT_OK);
        scant_evidence e = {.features = features};
        assert_int_equal(planned(ctx, "npc", &e, 20, &opts, &plan), SCANT_OK);
        scant_array_free(features);
        assert_int_equal(pool_call(ctx, &p, "npc", 20, 0, settings, 2, &picks), SCANT_OK);
        assert_true(scant_ctx_memory_peak(ctx) <= plan.memory);
        assert_memory_equal(picks->items, first->items, 20 * sizeof *picks->items);
        scant_picks_free(ctx, picks);
        scant_ctx_free(ctx);
    }
    scant_picks_free(first_ctx, first);
    scant_ctx_free(first_ctx);
    memory m;
    scant_ctx *ctx = ctx_counting(&m);
    scant_status status = SCANT_ENOMEM;
    for (size_t step = 2; status != SCANT_OK; step++) { /* the first ones wrap arrays */
        scant_picks *picks = NULL;
        m.calls = 0, m.fail_at = step + 2;
        status = pool_call(ctx, &p, "npc", 20, 0, settings, 2, &picks);
        assert_true(status == SCANT_OK || status == SCANT_ENOMEM);
        scant_picks_free(ctx, picks);
        assert_int_equal(m.live, 1);
    }
    scant_ctx_free(ctx);
    pool_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_the_lambda_of_the_batch),
        cmocka_unit_test(more_candidates_are_never_worse),
        cmocka_unit_test(the_best_pair_of_the_fixture_is_found),
        cmocka_unit_test(the_vector_at_the_widest_angle_is_picked),
        cmocka_unit_test(a_batch_of_all_rows_is_the_only_candidate),
        cmocka_unit_test(candidate_batches_are_uniform),
        cmocka_unit_test(a_labelled_copy_does_not_make_lambda_0),
        cmocka_unit_test(the_scale_of_features_does_not_matter),
        cmocka_unit_test(normalised_rows_are_unit_vectors),
        cmocka_unit_test(few_wide_rows_take_little_memory),
        cmocka_unit_test(refining_ends_where_no_exchange_helps),
        cmocka_unit_test(refining_tries_a_part_of_a_large_pool),
        cmocka_unit_test(rows_that_refining_tries_are_uniform),
        cmocka_unit_test(refining_removes_copies),
        cmocka_unit_test(refining_keeps_the_guarantees_of_selection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
