/* SPDX-License-Identifier: Apache-2.0
 *
 * The growing set compared with the plain algorithms: the same farthest rows with the
 * same arithmetic, and draws with the exact D^2 distribution, found by enumeration.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "linalg/growset.h"

typedef struct pool {
    size_t n, d, c;
    float *h, *a; /* a NULL: Euclidean */
    la_rows h_rows, a_rows;
    double *norm;
    double bias;
} pool;

static void copy_rows(const void *self, size_t first, size_t count, void *out) {
    const la_rows *direct = self;
    memcpy(out, (const float *)direct->base + first * direct->d,
           count * direct->d * sizeof(float));
}

static la_rows rows_of(float *data, size_t n, size_t d) {
    return (la_rows){.n = n, .d = d, .base = data};
}

/* Clusters of this spread around five centres; every seventh row copies the previous. */
static pool make_pool(size_t n, size_t d, size_t c, double spread, uint64_t seed) {
    pool p = {.n = n, .d = d, .c = c};
    size_t pitch = d, a_pitch = c;
    p.h = calloc(n * pitch, sizeof *p.h);
    p.a = c ? calloc(n * a_pitch, sizeof *p.a) : NULL;
    for (size_t i = 0; i < n; i++) {
        size_t from = i % 7 == 6 ? i - 1 : i;
        for (size_t k = 0; k < d; k++)
            p.h[i * pitch + k] = (float)(normal_at(seed, (from % 5) * d + k) +
                                         spread * normal_at(seed + 1, from * d + k));
        for (size_t k = 0; k < c; k++)
            p.a[i * a_pitch + k] = (float)(unit_at(seed + 2, from * c + k) - 0.5);
    }
    p.h_rows = rows_of(p.h, n, d);
    if (c) p.a_rows = rows_of(p.a, n, c);
    return p;
}

static void end_pool(pool *p) {
    free(p->h);
    free(p->a);
    free(p->norm);
}

/* A set over p, in arena. copies: rows are fetched, as converted ones are. */
static la_growset *open_set(scant__arena *arena, pool *p, la_rows *fetched, int copies,
                            size_t group, la_space *space) {
    la_growset *set = scant__arena_alloc(arena, 1, sizeof *set);
    la_rows *h = &p->h_rows, *a = p->c ? &p->a_rows : NULL;
    if (copies) {
        fetched[0] = *h, fetched[0].base = NULL, fetched[0].self = h;
        fetched[0].fetch = copy_rows;
        h = &fetched[0];
        if (a) {
            fetched[1] = *a, fetched[1].base = NULL, fetched[1].self = a;
            fetched[1].fetch = copy_rows;
            a = &fetched[1];
        }
    }
    assert_int_equal(la_space_init(space, arena, h, a, p->bias, group, p->n), SCANT_OK);
    assert_int_equal(la_growset_init(set, arena, space), SCANT_OK);
    if (a) {
        p->norm = realloc(p->norm, p->n * sizeof *p->norm);
        for (size_t i = 0; i < p->n; i++)
            la_space_norms(space, i, 1, p->norm + i, la_growset_scratch(set, 0));
        space->norm = p->norm;
    }
    return set;
}

/* The squared distance of one pair, by the kernels directly. */
static double pair(const pool *p, size_t i, size_t j) {
    const la_kernels *k = la_kernels_for(LA_F32);
    const void *x = p->h + i * p->h_rows.d, *y = p->h + j * p->h_rows.d;
    double hh, aa;
    if (!p->c) {
        k->sqdist(&x, 1, &y, 1, p->h_rows.d, &hh);
        return hh;
    }
    k->dot(&x, 1, &y, 1, p->h_rows.d, &hh);
    const void *u = p->a + i * p->a_rows.d, *v = p->a + j * p->a_rows.d;
    k->dot(&u, 1, &v, 1, p->a_rows.d, &aa);
    double d = p->norm[i] + p->norm[j] - 2 * (aa * (hh + p->bias));
    return d > 0 ? d : 0;
}

/* The plain algorithm: updates all distances after every pick. */
static void plain_farthest(const pool *p, const size_t *start, size_t n_start,
                           const int *barred, size_t want, size_t *rows, double *d2) {
    double *best = malloc(p->n * sizeof *best);
    for (size_t i = 0; i < p->n; i++) {
        best[i] = INFINITY;
        for (size_t s = 0; s < n_start; s++)
            best[i] = fmin(best[i], pair(p, i, start[s]));
        if (barred[i]) best[i] = -1;
    }
    for (size_t t = 0; t < want; t++) {
        size_t top = 0;
        for (size_t i = 1; i < p->n; i++)
            if (best[i] > best[top]) top = i;
        rows[t] = top, d2[t] = best[top];
        for (size_t i = 0; i < p->n; i++)
            if (best[i] >= 0) best[i] = fmin(best[i], pair(p, i, top));
        best[top] = -1;
    }
    free(best);
}

static void check_farthest(pool *p, size_t n_start, size_t want, unsigned threads,
                           int copies, size_t group) {
    scant_ctx *ctx = ctx_threads(threads);
    scant__arena arena;
    scant__arena_init(&arena, ctx);
    la_rows fetched[2];
    la_space space;
    la_growset *set = open_set(&arena, p, fetched, copies, group, &space);
    size_t *start = calloc(n_start, sizeof *start), *rows = calloc(p->n, sizeof *rows);
    size_t *plain = calloc(p->n, sizeof *plain), got = 0, left = 0;
    double *d2 = calloc(p->n, sizeof *d2), *plain_d2 = calloc(p->n, sizeof *plain_d2);
    int *barred = calloc(p->n, sizeof *barred);
    for (size_t i = 0; i < p->n; i++)
        if (i % 11 == 3) barred[i] = 1, la_growset_exclude(set, i);
    for (size_t s = 0; s < n_start; s++) {
        start[s] = (s * 13 + 2) % p->n;
        barred[start[s]] = 1;
        la_growset_add(set, start[s]);
    }
    for (size_t i = 0; i < p->n; i++) left += !barred[i];
    assert_int_equal(la_growset_farthest(set, want, rows, d2, &got), SCANT_OK);
    assert_int_equal(got, want < left ? want : left);
    plain_farthest(p, start, n_start, barred, got, plain, plain_d2);
    for (size_t i = 0; i < got; i++) {
        assert_int_equal(rows[i], plain[i]);
        assert_true(d2[i] == plain_d2[i]);
        if (i) assert_true(d2[i] <= d2[i - 1]); /* the radius never grows */
    }
    free(start), free(rows), free(plain), free(d2), free(plain_d2), free(barred);
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

static void farthest_first_equals_the_plain_algorithm(void **state) {
    (void)state;
    const double spreads[] = {0, 0.01, 1, 100};
    for (size_t d = 1; d < 30; d += 4)
        for (size_t s = 0; s < 4; s++)
            for (size_t c = 0; c < 6; c += 5) {
                pool p = make_pool(301, d, c, spreads[s], 10 * d + s);
                p.bias = c ? 1 : 0;
                check_farthest(&p, 1, 60, 1, 0, LA_GROUP);
                check_farthest(&p, 3, 290, 2, 1, 7);
                check_farthest(&p, 130, 400, 2, 0, LA_GROUP); /* more than are left */
                end_pool(&p);
            }
}

static void large_starting_sets_equal_the_plain_algorithm(void **state) {
    (void)state;
    pool p = make_pool(3000, 9, 0, 1, 5);
    check_farthest(&p, 900, 100, 2, 0, LA_GROUP);
    end_pool(&p);
}

static void farthest_first_on_a_line(void **state) {
    (void)state;
    float line[3] = {0, 1, 10}; /* starting at 0, first 10 and then 1 */
    pool p = {.n = 3, .d = 1, .h = line, .h_rows = rows_of(line, 3, 1)};
    scant_ctx *ctx = ctx_threads(1);
    scant__arena arena;
    scant__arena_init(&arena, ctx);
    la_rows fetched[2];
    la_space space;
    la_growset *set = open_set(&arena, &p, fetched, 0, LA_GROUP, &space);
    size_t rows[2], got;
    double d2[2];
    la_growset_add(set, 0);
    assert_int_equal(la_growset_farthest(set, 2, rows, d2, &got), SCANT_OK);
    assert_int_equal(got, 2);
    assert_int_equal(rows[0], 2);
    assert_int_equal(rows[1], 1);
    assert_true(d2[0] == 100 && d2[1] == 1);
    scant__arena_end(&arena);
    scant_ctx_free(ctx);
}

/* Starts with row 0 and draws `want` rows. */
static size_t draw_rows(scant_ctx *ctx, pool *p, uint64_t seed, size_t want, size_t *rows,
                        double *d2) {
    scant__arena arena;
    scant__arena_init(&arena, ctx);
    la_rows fetched[2];
    la_space space;
    size_t got;
    la_growset *set = open_set(&arena, p, fetched, 0, LA_GROUP, &space);
    la_growset_add(set, 0);
    assert_int_equal(la_growset_sample(set, seed, want, rows, d2, &got), SCANT_OK);
    scant__arena_end(&arena);
    return got;
}

/* The probabilities of the next pick: squared distances, normalised. */
static void law(const pool *p, const size_t *picked, size_t count, double *out) {
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        out[i] = INFINITY;
        for (size_t k = 0; k < count; k++)
            out[i] = picked[k] == i ? 0 : fmin(out[i], pair(p, i, picked[k]));
        sum += out[i];
    }
    for (size_t i = 0; i < p->n; i++) out[i] /= sum;
}

#ifdef SCANT_SANITIZED
enum { SMALL = 9, COPIES = 60, DRAWS = 8000 };
#else
enum { SMALL = 9, COPIES = 60, DRAWS = 40000 };
#endif

/* COPIES copies of each row of p. The law of the picked points is the same, but so many
 * rows are not refreshed after every pick, and most draws use stale bounds. */
static pool copies_of(const pool *p) {
    pool q = *p;
    size_t pitch = p->h_rows.d, a_pitch = p->a_rows.d;
    q.n = p->n * COPIES;
    q.norm = NULL;
    q.h = calloc(q.n * pitch, sizeof *q.h);
    q.a = p->c ? calloc(q.n * a_pitch, sizeof *q.a) : NULL;
    for (size_t i = 0; i < q.n; i++) {
        memcpy(q.h + i * pitch, p->h + i % p->n * pitch, pitch * sizeof *q.h);
        if (p->c)
            memcpy(q.a + i * a_pitch, p->a + i % p->n * a_pitch, a_pitch * sizeof *q.a);
    }
    q.h_rows = rows_of(q.h, q.n, q.d);
    if (p->c) q.a_rows = rows_of(q.a, q.n, q.c);
    return q;
}

/* Draws three picks after the first from `drawn`, whose rows are those of p or copies of
 * them, and compares the counts of all 9^3 sequences with their exact probabilities. */
static void check_law(pool *p, pool *drawn) {
    scant_ctx *ctx = ctx_threads(1);
    double *count = calloc(SMALL * SMALL * SMALL, sizeof *count);
    double *want = calloc(SMALL * SMALL * SMALL, sizeof *want);
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        size_t rows[3];
        double d2[3];
        assert_int_equal(draw_rows(ctx, drawn, seed, 3, rows, d2), 3);
        for (size_t k = 0; k < 3; k++) rows[k] %= SMALL;
        count[(rows[0] * SMALL + rows[1]) * SMALL + rows[2]]++;
    }
    for (size_t i = 0; i < SMALL; i++)
        for (size_t j = 0; j < SMALL; j++) {
            double first[SMALL], second[SMALL], third[SMALL];
            law(p, (size_t[]){0}, 1, first);
            if (first[i] == 0) continue;
            law(p, (size_t[]){0, i}, 2, second);
            if (second[j] == 0) continue;
            law(p, (size_t[]){0, i, j}, 3, third);
            for (size_t k = 0; k < SMALL; k++)
                want[(i * SMALL + j) * SMALL + k] =
                    DRAWS * first[i] * second[j] * third[k];
        }
    double chi = 0, rare = 0, rare_want = 0;
    size_t cells = 0;
    for (size_t s = 0; s < SMALL * SMALL * SMALL; s++) {
        if (want[s] == 0) assert_true(count[s] == 0); /* picked rows and copies of them */
        if (want[s] < 8) { /* too few for the approximation: pooled */
            rare += count[s], rare_want += want[s];
            continue;
        }
        chi += (count[s] - want[s]) * (count[s] - want[s]) / want[s];
        cells++;
    }
    if (rare_want > 8) chi += (rare - rare_want) * (rare - rare_want) / rare_want;
    assert_true(cells > 30);
    assert_true(chi < chi_square_limit(cells));
    free(count), free(want);
    scant_ctx_free(ctx);
}

static void draws_follow_the_d2_distribution(void **state) {
    (void)state;
    const struct {
        size_t d, c;
        double spread;
    } kinds[] = {{3, 0, 1}, {4, 0, 0.3}, {3, 4, 1}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        pool p = make_pool(SMALL, kinds[k].d, kinds[k].c, kinds[k].spread, 3 + 10 * k);
        p.bias = kinds[k].c ? 1 : 0;
        check_law(&p, &p);
        pool many = copies_of(&p);
        check_law(&p, &many);
        end_pool(&many);
        end_pool(&p);
    }
}

/* The potential after the picks. On a larger pool, where bounds are stale by the tenth
 * pick, its mean is that of plain D^2 sampling. */
static double potential(const pool *p, const size_t *rows, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        double best = pair(p, i, 0);
        for (size_t k = 0; k < count; k++) best = fmin(best, pair(p, i, rows[k]));
        sum += best;
    }
    return sum;
}

static void plain_draw(const pool *p, uint64_t seed, size_t want, size_t *rows) {
    double *best = malloc(p->n * sizeof *best);
    for (size_t i = 0; i < p->n; i++) best[i] = pair(p, i, 0);
    for (size_t t = 0; t < want; t++) {
        double total = 0, at, sum = 0;
        size_t row = 0;
        for (size_t i = 0; i < p->n; i++) total += best[i];
        at = total * unit_at(seed, t);
        while (row < p->n - 1 && (sum += best[row]) <= at) row++;
        rows[t] = row;
        for (size_t i = 0; i < p->n; i++) best[i] = fmin(best[i], pair(p, i, row));
    }
    free(best);
}

static void stale_bounds_do_not_change_the_mean_potential(void **state) {
    (void)state;
    enum { TRIALS = 300, PICKS = 12 };
    pool p = make_pool(120, 6, 0, 0.2, 31);
    scant_ctx *ctx = ctx_threads(1);
    double sum[2] = {0}, square[2] = {0};
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        size_t rows[PICKS];
        double d2[PICKS], phi[2];
        assert_int_equal(draw_rows(ctx, &p, seed, PICKS, rows, d2), PICKS);
        phi[0] = potential(&p, rows, PICKS);
        plain_draw(&p, seed + 5000, PICKS, rows);
        phi[1] = potential(&p, rows, PICKS);
        for (int k = 0; k < 2; k++) sum[k] += phi[k], square[k] += phi[k] * phi[k];
    }
    double variance = 0;
    for (int k = 0; k < 2; k++)
        variance += (square[k] - sum[k] * sum[k] / TRIALS) / TRIALS / TRIALS;
    /* five standard errors: chance exceeds them once in two million */
    assert_true(fabs(sum[0] - sum[1]) / TRIALS < 5 * sqrt(variance));
    end_pool(&p);
    scant_ctx_free(ctx);
}

static void every_draw_reports_its_true_distance(void **state) {
    (void)state;
    for (size_t c = 0; c < 8; c += 7) {
        pool p = make_pool(2000, 12, c, 0.1, 41);
        size_t rows[3][500];
        double d2[3][500];
        for (unsigned threads = 1; threads <= 3; threads++) {
            scant_ctx *ctx = ctx_threads(threads);
            assert_int_equal(
                draw_rows(ctx, &p, 7, 500, rows[threads - 1], d2[threads - 1]), 500);
            scant_ctx_free(ctx);
        }
        assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
        assert_memory_equal(rows[0], rows[2], sizeof rows[0]);
        for (size_t t = 0; t < 500; t++) {
            double best = pair(&p, rows[0][t], 0);
            for (size_t k = 0; k < t; k++)
                best = fmin(best, pair(&p, rows[0][t], rows[0][k]));
            assert_true(best > 0 && d2[0][t] == best);
        }
        end_pool(&p);
    }
}

static void draws_stop_when_only_copies_are_left(void **state) {
    (void)state;
    pool p = make_pool(50, 5, 3, 0, 51); /* 5 distinct rows of h */
    for (size_t i = 0; i < 50; i++)
        for (size_t k = 0; k < 3; k++) p.a[i * 3 + k] = p.a[k];
    scant_ctx *ctx = ctx_threads(2);
    size_t rows[50];
    double d2[50];
    assert_int_equal(draw_rows(ctx, &p, 1, 49, rows, d2), 4);
    end_pool(&p);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(farthest_first_equals_the_plain_algorithm),
        cmocka_unit_test(large_starting_sets_equal_the_plain_algorithm),
        cmocka_unit_test(farthest_first_on_a_line),
        cmocka_unit_test(draws_follow_the_d2_distribution),
        cmocka_unit_test(stale_bounds_do_not_change_the_mean_potential),
        cmocka_unit_test(every_draw_reports_its_true_distance),
        cmocka_unit_test(draws_stop_when_only_copies_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
