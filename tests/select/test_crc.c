/* SPDX-License-Identifier: Apache-2.0
 *
 * crc: groups formed again from the random keys, with lambda by the dense solver; and
 * group sizes that do not fit.
 */
#include "lambda.h"

typedef struct warnings {
    size_t count;
    char last[200];
} warnings;

static void take_warning(void *user, scant_log_level level, const char *text) {
    warnings *w = user;
    if (level != SCANT_LOG_WARNING) return;
    w->count++;
    snprintf(w->last, sizeof w->last, "%s", text);
}

static scant_ctx *ctx_warning(warnings *w) {
    scant_ctx *ctx;
    *w = (warnings){0};
    scant_ctx_opts opts = {.threads = 2, .user = w, .log = take_warning};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    return ctx;
}

/* group: NULL leaves it to the strategy. */
static scant_status call(scant_ctx *ctx, const pool *p, size_t batch, uint64_t seed,
                         const char *group, scant_picks **out) {
    const scant_setting settings[] = {{"bias", p->bias > 0 ? "1" : "0"},
                                      {"group", group}};
    return pool_call(ctx, p, "crc", batch, seed, settings, group ? 2 : 1, out);
}

static scant_picks *crc(scant_ctx *ctx, const pool *p, size_t batch, uint64_t seed,
                        const char *group) {
    scant_picks *picks;
    assert_int_equal(call(ctx, p, batch, seed, group, &picks), SCANT_OK);
    return picks;
}

static size_t group_of(const scant_picks *picks) {
    for (size_t i = 0; i < picks->n_settings; i++)
        if (!strcmp(picks->settings[i].key, "group"))
            return strtoul(picks->settings[i].value, NULL, 10);
    return 0;
}

/* ---- groups formed again ---- */

typedef struct group {
    size_t rows[64];
    double lambda;
    bool used;
} group;

typedef struct keyed {
    double key;
    size_t row;
} keyed;

static int descending(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    return (x->key < y->key) - (x->key > y->key);
}

static int ascending(const void *a, const void *b) {
    const size_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int by_first_row(const void *a, const void *b) {
    return ascending(((const group *)a)->rows, ((const group *)b)->rows);
}

/* All complete groups of the unlabelled rows, sorted by first row; returns how many. */
static size_t regroup(const pool *p, uint64_t seed, size_t size, size_t rank,
                      group *groups) {
    keyed *order = malloc(p->n * sizeof *order);
    size_t open = 0, count;
    for (size_t i = 0; i < p->n; i++)
        if (p->labels[i] < 0)
            order[open++] =
                (keyed){scant__rng_unit(&(scant__rng){seed, SCANT__RNG_SHUFFLE}, i), i};
    qsort(order, open, sizeof *order, descending);
    count = open / size;
    for (size_t g = 0; g < count; g++) {
        for (size_t i = 0; i < size; i++) groups[g].rows[i] = order[g * size + i].row;
        qsort(groups[g].rows, size, sizeof(size_t), ascending);
        groups[g].lambda = lambda_of(p, rank, groups[g].rows, size, NULL);
        groups[g].used = false;
    }
    free(order);
    qsort(groups, count, sizeof *groups, by_first_row);
    return count;
}

/* The picks are whole groups, best first, with their lambda; no better one is left. */
static void check_groups(const pool *p, const scant_picks *picks, uint64_t seed) {
    static group groups[500];
    size_t size = group_of(picks), rank = rank_of(p);
    size_t count = regroup(p, seed, size, rank, groups), used = 0;
    double worst = INFINITY;
    assert_int_equal(picks->count % size, 0);
    for (size_t at = 0; at < picks->count; at += size) {
        size_t g = 0, rows[64];
        for (size_t i = 0; i < size; i++) {
            rows[i] = picks->items[at + i].index;
            assert_true(picks->items[at + i].score == picks->items[at].score);
        }
        while (g < count && memcmp(groups[g].rows, rows, size * sizeof *rows)) g++;
        assert_true(g < count && !groups[g].used);
        groups[g].used = true;
        used++;
        assert_true(fabs(picks->items[at].score - groups[g].lambda) < 1e-10);
        assert_true(picks->items[at].score <= worst);
        worst = picks->items[at].score;
    }
    for (size_t g = 0; g < count; g++)
        assert_true(groups[g].used || groups[g].lambda <= worst + 1e-10);
    assert_int_equal(used, picks->count / size);
    assert_true(figure(picks, "groups") == (double)count);
    assert_true(figure(picks, "rank") == (double)rank);
}

static void the_best_groups_are_picked_whole(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    static const struct {
        size_t d, every, batch;
        const char *group;
    } cases[] = {{12, 9, 20, NULL}, {12, 9, 20, "5"},  {12, 9, 12, "12"},
                 {12, 4, 30, "3"},  {12, 0, 20, "4"},  {6, 3, 40, "20"},
                 {6, 3, 40, "1"},   {40, 9, 60, NULL}, {40, 3, 10, "10"},
                 {1, 0, 7, "1"}};
    for (size_t s = 0; s < sizeof cases / sizeof *cases; s++)
        for (int bias = 0; bias < 2; bias++) {
            pool p;
            pool_make(&p, s, 107, cases[s].d, cases[s].every, bias);
            scant_picks *picks = crc(ctx, &p, cases[s].batch, s, cases[s].group);
            assert_int_equal(picks->count, cases[s].batch);
            check_groups(&p, picks, s);
            scant_picks_free(ctx, picks);
            pool_end(&p);
        }
    scant_ctx_free(ctx);
}

/* Groups of one row have the row's own lambda, which is known for the fixture. */
static void single_rows_are_ranked_by_their_lambda(void **state) {
    (void)state;
    static const double score[] = {.837722, .089372, .171573, 1.55051, .133355, .386135};
    static const size_t order[] = {3, 0, 5, 2, 4, 1};
    scant_ctx *ctx = ctx_threads(2);
    pool p;
    pool_fixture(&p);
    for (size_t batch = 1; batch <= 6; batch++) {
        scant_picks *picks = crc(ctx, &p, batch, 9, "1");
        assert_int_equal(picks->count, batch);
        for (size_t i = 0; i < batch; i++) {
            assert_int_equal(picks->items[i].index, order[i]);
            assert_true(fabs(picks->items[i].score - score[order[i]]) < 1e-6);
        }
        scant_picks_free(ctx, picks);
    }
    pool_end(&p);
    scant_ctx_free(ctx);
}

/* A batch larger than the pool: all groups, then the remaining rows. */
static void remaining_rows_follow_with_score_0(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    pool p;
    pool_make(&p, 1, 13, 20, 0, 1);
    scant_picks *picks = crc(ctx, &p, 100, 0, NULL); /* groups of 10 */
    bool seen[13] = {0};
    size_t rows[10];
    double largest;
    for (size_t i = 0; i < 10; i++) rows[i] = picks->items[i].index;
    double lambda = lambda_of(&p, 13, rows, 10, &largest);
    assert_int_equal(picks->count, 13);
    assert_int_equal(group_of(picks), 10);
    for (size_t i = 0; i < 13; i++) {
        assert_false(seen[picks->items[i].index]);
        seen[picks->items[i].index] = true;
        assert_true(i < 10 ? fabs(picks->items[i].score - lambda) <= NEAR * largest
                           : picks->items[i].score == 0);
        if (i > 0 && i < 10)
            assert_true(picks->items[i].index > picks->items[i - 1].index);
    }
    scant_picks_free(ctx, picks);
    pool_end(&p);
    scant_ctx_free(ctx);
}

static void one_group_of_all_rows_is_the_pool(void **state) {
    (void)state;
    scant_ctx *ctx = ctx_threads(2);
    pool p;
    pool_make(&p, 1, 12, 20, 0, 1);
    scant_picks *picks = crc(ctx, &p, 12, 0, "12");
    for (size_t i = 0; i < 12; i++) assert_int_equal(picks->items[i].index, i);
    scant_picks_free(ctx, picks);
    picks = crc(ctx, &p, 600, 0, "12"); /* one group, though 50 are requested */
    assert_int_equal(picks->count, 12);
    for (size_t i = 0; i < 12; i++) assert_int_equal(picks->items[i].index, i);
    scant_picks_free(ctx, picks);
    pool_end(&p);
    scant_ctx_free(ctx);
}

/* Groups that cannot change lambda tie and are ordered by their lowest row. */
static void equal_groups_come_in_order(void **state) {
    (void)state;
    enum { ROWS = 20 };
    static group groups[ROWS];
    scant_ctx *ctx = ctx_threads(2);
    pool p;
    pool_make(&p, 1, ROWS, ROWS, 0, 0);
    for (size_t i = 0; i < ROWS * ROWS; i++) p.h[i] = i % (ROWS + 1) == 0;
    p.labels[0] = p.labels[1] = 0, p.l = 2;
    p.h[ROWS] = 0.8, p.h[ROWS + 1] = 0.6;
    scant_picks *picks = crc(ctx, &p, 9, 5, "3");
    regroup(&p, 5, 3, ROWS, groups);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(picks->items[i].index, groups[i / 3].rows[i % 3]);
        assert_true(picks->items[i].score == figure(picks, "cap"));
        assert_true(fabs(picks->items[i].score - 0.2) < 1e-14);
    }
    scant_picks_free(ctx, picks);
    pool_end(&p);
    scant_ctx_free(ctx);
}

/* Equal rows tie, whatever their random keys. */
static void equal_rows_come_in_order(void **state) {
    (void)state;
    enum { ROWS = 300 };
    scant_ctx *ctx = ctx_threads(2);
    pool p;
    pool_make(&p, 1, ROWS, 3, 0, 1);
    for (size_t i = 1; i < ROWS; i++) memcpy(p.h + i * 3, p.h, 3 * sizeof *p.h);
    for (size_t label = 0; label < 2; label++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            scant_picks *picks = crc(ctx, &p, 100, seed, "1");
            for (size_t i = 0; i < 100; i++)
                assert_int_equal(picks->items[i].index, i + label);
            scant_picks_free(ctx, picks);
        }
        p.labels[0] = 0, p.l = 1;
    }
    pool_end(&p);
    scant_ctx_free(ctx);
}

static void group_sizes_are_adjusted_to_fit(void **state) {
    (void)state;
    static const struct {
        size_t batch;
        const char *given;
        size_t used, warned;
    } cases[] = {{20, NULL, 2, 0}, {7, NULL, 1, 0}, {25, NULL, 1, 0},  {36, NULL, 3, 0},
                 {20, "5", 5, 0},  {20, "7", 5, 1}, {20, "30", 20, 1}, {13, "12", 1, 1},
                 {1, NULL, 1, 0},  {1, "1", 1, 0},  {60, "60", 60, 0}, {10, "67", 10, 1}};
    pool p;
    pool_make(&p, 3, 66, 8, 0, 1);
    for (size_t s = 0; s < sizeof cases / sizeof *cases; s++) {
        warnings w;
        scant_ctx *ctx = ctx_warning(&w);
        scant_picks *picks = crc(ctx, &p, cases[s].batch, 0, cases[s].given);
        assert_int_equal(group_of(picks), cases[s].used);
        assert_int_equal(picks->count, cases[s].batch);
        assert_int_equal(w.count, cases[s].warned);
        bool too_large = cases[s].given && strtoul(cases[s].given, NULL, 10) > 66;
        if (w.count)
            assert_non_null(strstr(w.last, too_large ? "larger than the" : "groups of"));
        scant_picks_free(ctx, picks);
        scant_ctx_free(ctx);
    }
    scant_ctx *ctx = ctx_threads(1);
    scant_picks *picks;
    assert_int_equal(call(ctx, &p, 10, 0, "0", &picks), SCANT_EUSAGE);
    scant_ctx_free(ctx);
    pool_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_groups_are_picked_whole),
        cmocka_unit_test(single_rows_are_ranked_by_their_lambda),
        cmocka_unit_test(remaining_rows_follow_with_score_0),
        cmocka_unit_test(one_group_of_all_rows_is_the_pool),
        cmocka_unit_test(equal_groups_come_in_order),
        cmocka_unit_test(equal_rows_come_in_order),
        cmocka_unit_test(group_sizes_are_adjusted_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
