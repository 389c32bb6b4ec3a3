/* SPDX-License-Identifier: Apache-2.0
 *
 * lambda compared with LAPACK's dense solver, set by set, in every regime and by every
 * method; the best of many sets compared with all of them; closed forms and anchors.
 */
#include <math.h>
#include <stdio.h>

#include "linalg/dense.h"
#include "linalg/lambda_int.h"
#include "matrix.h"

/* Relative to the largest eigenvalue. The engine stops within half of LA_LAMBDA_EQUAL of
 * a value that factorizations of some 100 rows bracket to 1e-14, and returns 0 for values
 * below it; the error of the reference is of the same order. */
static const double NEAR = 2 * LA_LAMBDA_EQUAL;

/* ---- pools ---- */

typedef enum kind {
    NORMAL,
    RECTIFIED, /* not negative, so with a strong mean */
    COPIES,    /* three copies of every row */
    DEAD,      /* a third of the columns are 0 */
    ZEROS,     /* a fifth of the rows are 0 */
    FLAT,      /* rank of about a third of the dimensions */
    GRADED,    /* columns scaled from 1 to 1e-4: eigenvalues down to 1e-8 */
    AXES,      /* mostly axes: eigenvalues of the base coincide */
    TURNED,    /* AXES reflected: they coincide up to rounding */
    KINDS
} kind;

typedef struct pool {
    size_t n, d, l;
    double bias, *h, *k; /* (n, d); (n, n), the Gram matrix */
    size_t *base;        /* (l) */
    size_t *open, m;     /* the others */
    la_rows rows;
    la_view view;
    la_kernel kernel;
} pool;

/* Number j of row i of a pool of kind k. */
static double number(kind k, uint64_t seed, size_t i, size_t j, size_t d) {
    double x = normal_at(seed, i * d + j);
    if (k == RECTIFIED) return x > 0 ? x + 0.5 : 0;
    if (k == COPIES) return normal_at(seed, i / 3 * d + j);
    if (k == DEAD) return j % 3 == 1 ? 0 : x;
    if (k == ZEROS) return i % 5 == 2 ? 0 : x;
    if (k == GRADED) return x * pow(10, -4 * (double)j / (double)d);
    if (k == AXES && i % 7) return i % d == j;
    if (k == TURNED && i % 7) return (double)(i % d == j) - 2 / (double)d;
    if (k == FLAT) {
        size_t rank = d / 3 + 1;
        x = 0;
        for (size_t q = 0; q < rank; q++)
            x += normal_at(seed, i * rank + q) * normal_at(seed + 1, q * d + j);
    }
    return x;
}

static double inner(const pool *p, size_t i, size_t j) {
    long double sum = (long double)p->bias * p->bias;
    for (size_t k = 0; k < p->d; k++)
        sum += (long double)p->h[i * p->d + k] * p->h[j * p->d + k];
    return (double)sum;
}

static void pool_make(pool *p, kind k, uint64_t seed, size_t n, size_t d, size_t l,
                      double bias) {
    *p = (pool){.n = n, .d = d, .l = l, .bias = bias, .m = n - l};
    p->h = malloc(n * d * sizeof(double));
    p->k = malloc(n * n * sizeof(double));
    p->base = malloc((n + 1) * sizeof(size_t));
    p->open = malloc((n + 1) * sizeof(size_t));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) p->h[i * d + j] = number(k, seed, i, j, d);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            p->k[i * n + j] = p->k[j * n + i] = inner(p, i, j);
    size_t step = 0;
    for (size_t i = 0, a = 0, b = 0; i < n;
         i++) { /* labelled rows lie among the others */
        step += l;
        if (step >= n && a < l)
            step -= n, p->base[a++] = i;
        else
            p->open[b++] = i;
    }
    p->rows = (la_rows){.n = n, .d = d, .type = LA_F64, .base = p->h};
    p->view = (la_view){.h = &p->rows, .bias = bias, .m = n};
    la_kernel_of_features(&p->view, &p->kernel);
}

static void pool_end(pool *p) {
    free(p->h);
    free(p->k);
    free(p->base);
    free(p->open);
}

/* ---- the reference ---- */

static scant_ctx *one_thread; /* of the reference */

/* All eigenvalues of the Gram matrix of the rows, ascending. */
static double *spectrum(const pool *p, const size_t *rows, size_t n) {
    double *a = malloc((n * n + 1) * sizeof *a), *values = malloc((n + 1) * sizeof *a);
    double *room = malloc(la_eigh_room(n, false) * sizeof *a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) a[i * n + j] = p->k[rows[i] * p->n + rows[j]];
    assert_int_equal(la_eigh_alone(one_thread, n, a, false, values, room), SCANT_OK);
    free(a);
    free(room);
    return values;
}

static size_t rank_of(const pool *p) {
    size_t *rows = malloc(p->n * sizeof *rows), rank = 0;
    for (size_t i = 0; i < p->n; i++) rows[i] = i;
    double *values = spectrum(p, rows, p->n);
    for (size_t i = 0; i < p->n; i++) rank += values[i] > 1e-10 * values[p->n - 1];
    free(values);
    free(rows);
    return rank;
}

/* Labelled rows that do not depend linearly on earlier ones, by Gram-Schmidt. */
static size_t independent(const pool *p, size_t *out) {
    size_t width = p->d + 1, count = 0;
    double *q = malloc((p->l + 1) * width * sizeof *q), top = 0;
    for (size_t i = 0; i < p->l; i++) top = fmax(top, p->k[p->base[i] * (p->n + 1)]);
    for (size_t i = 0; i < p->l; i++) {
        double *x = q + count * width, norm = 0;
        memcpy(x, p->h + p->base[i] * p->d, p->d * sizeof *x);
        x[p->d] = p->bias;
        for (int twice = 0; twice < 2; twice++)
            for (size_t j = 0; j < count; j++) {
                double dot = 0;
                for (size_t k = 0; k < width; k++) dot += x[k] * q[j * width + k];
                for (size_t k = 0; k < width; k++) x[k] -= dot * q[j * width + k];
            }
        for (size_t k = 0; k < width; k++) norm += x[k] * x[k];
        if (norm <= 1e-10 * top) continue;
        for (size_t k = 0; k < width; k++) x[k] /= sqrt(norm);
        out[count++] = p->base[i];
    }
    free(q);
    return count;
}

typedef struct eigenvalues {
    double lambda, largest;
} eigenvalues;

static eigenvalues reference(const pool *p, size_t rank, const size_t *set, size_t b) {
    size_t *rows = malloc((p->l + b) * sizeof *rows), n = p->l;
    bool dual = p->l + b > rank;
    if (dual)
        memcpy(rows, p->base, p->l * sizeof *rows);
    else
        n = independent(p, rows);
    for (size_t i = 0; i < b; i++) rows[n + i] = p->open[set[i]];
    n += b;
    double *values = spectrum(p, rows, n);
    eigenvalues t = {dual ? values[n - rank] : values[0], values[n - 1]};
    free(values);
    free(rows);
    return t;
}

/* ---- engines ---- */

typedef struct engine {
    scant_ctx *ctx;
    scant__arena arena;
    la_span span;
    la_lambda *e;
    size_t *base;
    size_t planned; /* memory for all calls */
} engine;

/* SPARE: what the allocator adds. MANY: the most sets that a test searches; MOST: the
 * most results that it asks for. */
enum { SPARE = 4096, MANY = 150, MOST = 12 };

static void engine_make(engine *g, const pool *p, const la_kernel *kernel, size_t b,
                        size_t sets, unsigned threads) {
    la_lambda_task task = {.kernel = kernel,
                           .open = p->open,
                           .n_open = p->m,
                           .n_base = p->l,
                           .b = b,
                           .sets = sets};
    g->ctx = ctx_threads(threads);
    g->base = malloc((p->l + 1) * sizeof *g->base);
    memcpy(g->base, p->base, p->l * sizeof *g->base);
    scant__arena_init(&g->arena, g->ctx);
    size_t width = kernel->features ? la_view_width(kernel->features) : 0;
    size_t span = (width * width + width) * sizeof(double); /* kept after settling */
    size_t first = la_lambda_settle_memory(&task, threads);
    size_t then = la_lambda_memory(&task, threads) + span;
    size_t best = la_lambda_best_memory(sets > MANY ? sets : MANY, MOST);
    g->planned = peak_of(g->ctx) + SPARE;
    assert_int_equal(la_lambda_settle(&g->arena, &task, g->base, &g->span, NULL),
                     SCANT_OK);
    assert_true(peak_of(g->ctx) <= g->planned + first);
    assert_int_equal(la_lambda_create(&g->arena, &task, &g->e), SCANT_OK);
    /* consecutive calls: memory of the first is freed except for the span */
    size_t most = first > then ? first : then;
    assert_true(peak_of(g->ctx) <= g->planned + most);
    g->planned += first > then + best ? first : then + best;
}

static void engine_end(engine *g) {
    assert_true(peak_of(g->ctx) <= g->planned);
    scant__arena_end(&g->arena);
    scant_ctx_free(g->ctx);
    free(g->base);
}

/* Random sets. Every fourth is a copy of the one before, with its rows reversed. */
typedef struct draw {
    size_t m, b;
    uint64_t seed;
} draw;

static bool is_copy(size_t set) { return set % 4 == 1; }

static void draw_get(const void *self, size_t set, unsigned worker, size_t *places) {
    const draw *d = self;
    const scant__rng rng = {d->seed, 1001};
    size_t from = is_copy(set) ? set - 1 : set, count = 0;
    (void)worker;
    for (uint64_t k = 0; count < d->b; k++) {
        size_t at = scant__rng_below(&rng, from * 100000 + k, d->m), j = 0;
        while (j < count && places[j] != at) j++;
        if (j == count) places[count++] = at;
    }
    for (size_t i = 0; is_copy(set) && i < count / 2; i++) {
        size_t other = places[i];
        places[i] = places[count - 1 - i];
        places[count - 1 - i] = other;
    }
}

/* ---- values ---- */

enum { WAYS = LAMBDA_DIRECT + 1, SETS = 12 };
static size_t seen[WAYS], seen_kept[WAYS], seen_straddling;

static void check_values(const pool *p, size_t b, size_t sets, unsigned threads) {
    engine g;
    draw d = {p->m, b, 7};
    size_t rank = rank_of(p), count, places[512];
    la_found found[SETS];
    engine_make(&g, p, &p->kernel, b, sets, threads);
    assert_int_equal(g.span.rank, rank);
    seen[g.e->shape.way]++;
    seen_kept[g.e->shape.way] += g.e->shape.keep;
    seen_straddling += p->l < rank && rank < p->l + b;
    la_sets all = {SETS, draw_get, &d};
    assert_int_equal(la_lambda_best(g.e, &all, SETS, -1, NULL, found, &count), SCANT_OK);
    assert_int_equal(count, SETS); /* all are asked for, so all are evaluated */
    for (size_t i = 0; i < count; i++) {
        double lambda;
        draw_get(&d, found[i].set, 0, places);
        eigenvalues t = reference(p, rank, places, b);
        if (!(fabs(found[i].lambda - t.lambda) <= NEAR * t.largest))
            fail_msg("n=%zu d=%zu l=%zu b=%zu rank=%zu way %d: %.17g, expected %.17g "
                     "(off by %g)",
                     p->n, p->d, p->l, b, rank, (int)g.e->shape.way, found[i].lambda,
                     t.lambda, (found[i].lambda - t.lambda) / t.largest);
        assert_int_equal(la_lambda_of(g.e, places, &lambda, NULL), SCANT_OK);
        assert_true(fabs(lambda - t.lambda) <= NEAR * t.largest);
        assert_true(i == 0 || found[i].lambda <= found[i - 1].lambda);
    }
    engine_end(&g);
}

/* Pools of every kind, with l and b around the rank: N < r, N = r, N > r, l < r < l + b,
 * l = 0, b > r. */
static void values_match_the_dense_solver(void **state) {
    (void)state;
    static const size_t sizes[][3] = {
        /* d, l, b */
        {12, 0, 1},  {12, 0, 5},   {12, 3, 4},   {12, 8, 4},  {12, 7, 6},  {12, 12, 1},
        {12, 20, 3}, {12, 30, 1},  {12, 30, 12}, {12, 4, 40}, {1, 0, 1},   {1, 3, 2},
        {40, 10, 7}, {40, 30, 3},  {40, 39, 2},  {40, 60, 2}, {40, 60, 9}, {40, 20, 45},
        {6, 0, 30},  {40, 35, 10}, {40, 12, 2},  {40, 50, 1}};
    memset(seen, 0, sizeof seen);
    for (int k = 0; k < KINDS; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int bias = 0; bias < 2; bias++) {
                pool p;
                pool_make(&p, (kind)k, 10 + s, 110, sizes[s][0], sizes[s][1], bias);
                check_values(&p, sizes[s][2], 12, 1);
                check_values(&p, sizes[s][2], 100000, 2);
                pool_end(&p);
            }
    assert_true(seen[LAMBDA_SCHUR] > 50 && seen[LAMBDA_DIRECT] > 50);
    assert_true(seen[LAMBDA_SPLIT] > 50 && seen_straddling > 50);
    assert_true(seen_kept[LAMBDA_SCHUR] > 20 && seen_kept[LAMBDA_SPLIT] > 20);
}

/* ---- the best of many ---- */

/* Compares with the values of all sets: those found are correct, none that is left out is
 * better, and a copy comes after its original. */
static void check_best(const pool *p, size_t b, size_t want, double least) {
    engine g;
    draw d = {p->m, b, 21};
    size_t rank = rank_of(p), count, places[512], above = 0;
    la_found found[MOST];
    eigenvalues t[MANY];
    double slack = 0;
    for (size_t i = 0; i < MANY; i++) {
        draw_get(&d, i, 0, places);
        t[i] = reference(p, rank, places, b);
        slack = fmax(slack, NEAR * t[i].largest);
    }
    for (size_t i = 0; i < MANY; i++) above += t[i].lambda > least + slack;
    engine_make(&g, p, &p->kernel, b, MANY, 2);
    la_sets all = {MANY, draw_get, &d};
    assert_int_equal(la_lambda_best(g.e, &all, want, least, NULL, found, &count),
                     SCANT_OK);
    assert_true(count >= (above < want ? above : want) && count <= want);
    bool in[MANY] = {false};
    for (size_t i = 0; i < count; i++) {
        size_t set = found[i].set;
        assert_true(fabs(found[i].lambda - t[set].lambda) <= slack);
        assert_true(found[i].lambda > least);
        assert_true(i == 0 || found[i].lambda < found[i - 1].lambda ||
                    (found[i].lambda == found[i - 1].lambda && set > found[i - 1].set));
        assert_true(!is_copy(set) || in[set - 1]);
        assert_false(in[set]);
        in[set] = true;
    }
    for (size_t i = 0; count && i < MANY; i++)
        if (!in[i]) assert_true(t[i].lambda <= found[count - 1].lambda + slack);
    engine_end(&g);
}

static void the_best_sets_match_an_exhaustive_search(void **state) {
    (void)state;
    static const size_t sizes[][3] = {/* d, l, b */
                                      {20, 0, 4},  {20, 6, 3},  {20, 15, 5}, {20, 18, 8},
                                      {20, 40, 1}, {20, 40, 3}, {20, 5, 30}, {12, 10, 2}};
    static const size_t wants[] = {1, 2, 5, MOST};
    for (int k = 0; k < KINDS; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            pool p;
            pool_make(&p, (kind)k, 40 + s, 110, sizes[s][0], sizes[s][1], k % 2);
            check_best(&p, sizes[s][2], wants[s % 4], -1);
            check_best(&p, sizes[s][2], wants[(s + 1) % 4], s % 2 ? 0.5 : 0);
            pool_end(&p);
        }
}

/* If the values are clearly separated, the answer is unique. */
static void the_argmax_matches_the_dense_solver(void **state) {
    (void)state;
    size_t clear = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        size_t l = seed % 3 * 9, b = 1 + seed % 5, rank, best = 0, count, places[8];
        pool p;
        engine g;
        la_found found;
        eigenvalues t[MANY];
        pool_make(&p, seed % 2 ? NORMAL : RECTIFIED, 100 + seed, 90, 15, l, 1);
        rank = rank_of(&p);
        draw d = {p.m, b, seed};
        for (size_t i = 0; i < MANY; i++) {
            draw_get(&d, i, 0, places);
            t[i] = reference(&p, rank, places, b);
            if (t[i].lambda > t[best].lambda + NEAR * t[i].largest) best = i;
        }
        bool apart = true;
        for (size_t i = 0; i < MANY; i++)
            if (i != best && !(i == best + 1 && is_copy(i)))
                apart &= t[i].lambda < t[best].lambda - 1e-9 * t[i].largest;
        engine_make(&g, &p, &p.kernel, b, MANY, 2);
        la_sets all = {MANY, draw_get, &d};
        assert_int_equal(la_lambda_best(g.e, &all, 1, -1, NULL, &found, &count),
                         SCANT_OK);
        if (apart) assert_int_equal(found.set, best);
        if (apart && l < 18) assert_true(la_lambda_evaluated(g.e) < MANY / 4);
        clear += apart;
        engine_end(&g);
        pool_end(&p);
    }
    assert_true(clear > 40); /* except where the base limits all sets equally */
}

static void results_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{5, 3}, {30, 2}, {30, 25}, {0, 4}}; /* l, b */
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        pool p;
        la_found first[MOST], found[MOST];
        size_t b = sizes[s][1], count;
        pool_make(&p, RECTIFIED, 3, 100, 16, sizes[s][0], 1);
        draw d = {p.m, b, 5};
        for (unsigned threads = 1; threads <= 4; threads++) {
            engine g;
            la_found *out = threads == 1 ? first : found;
            engine_make(&g, &p, &p.kernel, b, 1000, threads);
            la_sets all = {1000, draw_get, &d};
            assert_int_equal(la_lambda_best(g.e, &all, MOST, -1, NULL, out, &count),
                             SCANT_OK);
            assert_int_equal(count, MOST);
            if (threads > 1) assert_memory_equal(found, first, sizeof first);
            engine_end(&g);
        }
        pool_end(&p);
    }
}

/* ---- anchors ---- */

static void pool_of(pool *p, const double *h, size_t n, size_t d, size_t l, double bias) {
    pool_make(p, NORMAL, 1, n, d, 0, bias);
    memcpy(p->h, h, n * d * sizeof *h);
    p->l = l, p->m = n - l;
    for (size_t i = 0; i < n; i++) /* the first l rows are labelled */
        *(i < l ? &p->base[i] : &p->open[i - l]) = i;
}

static double lambda_of(const pool *p, const la_kernel *kernel, size_t b,
                        const size_t *places) {
    engine g;
    double lambda;
    engine_make(&g, p, kernel, b, 1, 1);
    assert_int_equal(la_lambda_of(g.e, places, &lambda, NULL), SCANT_OK);
    engine_end(&g);
    return lambda;
}

/* A labelled row and a candidate of unit length: K = [1 a; a 1], with a bias
 * [2 1+a; 1+a 2]. */
static void lambda_of_two_unit_vectors_is_one_minus_their_cosine(void **state) {
    (void)state;
    for (int k = -9; k <= 9; k++) {
        double a = k / 10.0;
        const double h[] = {1, 0, 0, a, sqrt(1 - a * a), 0, 0, 0, 1};
        pool p;
        pool_of(&p, h, 3, 3, 1, 0);
        assert_true(fabs(lambda_of(&p, &p.kernel, 1, (size_t[]){0}) - (1 - fabs(a))) <=
                    NEAR * 2);
        pool_end(&p);
        pool_of(&p, h, 3, 3, 1, 1);
        assert_true(fabs(lambda_of(&p, &p.kernel, 1, (size_t[]){0}) -
                         (2 - fabs(1 + a))) <= NEAR * 4);
        pool_end(&p);
    }
}

/* Six candidates and two labelled rows; another program gave the values, to 6 digits. */
static void lambda_matches_the_values_of_another_program(void **state) {
    (void)state;
    static const double h[] = {1, 2, -2, 1, 1, 0, 0, 1, 1, 1, 2, -1, -1, .5, .5, .5};
    static const double one[] = {.837722, .089372, .171573, 1.55051, .133355, .386135};
    pool p;
    engine g;
    pool_of(&p, h, 8, 2, 2, 1);
    for (size_t i = 0; i < 6; i++)
        assert_true(fabs(lambda_of(&p, &p.kernel, 1, &i) - one[i]) < 1e-6);
    assert_true(fabs(lambda_of(&p, &p.kernel, 2, (size_t[]){0, 1}) - .876894) < 1e-6);
    assert_true(fabs(lambda_of(&p, &p.kernel, 2, (size_t[]){0, 3}) - 1.82774) < 1e-6);
    assert_true(fabs(lambda_of(&p, &p.kernel, 2, (size_t[]){3, 4}) - 2.124311) < 1e-6);
    engine_make(&g, &p, &p.kernel, 1, 6, 1);
    assert_int_equal(g.span.rank, 3);
    assert_true(fabs(la_lambda_cap(g.e) - 5) < 1e-12); /* K_LL: 5 and 7 */
    engine_end(&g);
    pool_end(&p);
}

/* Candidates are orthogonal to all other rows, labelled rows are not orthogonal to each
 * other: for every set lambda is the smallest eigenvalue of the labelled rows. */
static void equal_sets_keep_their_order(void **state) {
    (void)state;
    enum { N = 30 };
    static double h[N * N];
    size_t count;
    pool p;
    engine g;
    la_found found[5];
    for (size_t i = 0; i < N; i++) h[i * N + i] = i < 2 ? 1 : 1 + (double)(i % 4) / 8;
    h[N] = 0.9, h[N + 1] = sqrt(0.19);
    for (size_t i = 0; i < N; i++) { /* a reflection, so that values are rounded */
        double sum = 0;
        for (size_t k = 0; k < N; k++) sum += h[i * N + k] * (1 + (double)k);
        for (size_t k = 0; k < N; k++) h[i * N + k] -= 2 * sum * (1 + (double)k) / 9455;
    }
    pool_of(&p, h, N, N, 2, 0);
    engine_make(&g, &p, &p.kernel, 3, 40, 2);
    draw d = {p.m, 3, 4};
    la_sets all = {40, draw_get, &d};
    assert_int_equal(la_lambda_best(g.e, &all, 5, -1, NULL, found, &count), SCANT_OK);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(found[i].set, i);
        assert_true(found[i].lambda == la_lambda_cap(g.e));
        assert_true(fabs(found[i].lambda - 0.1) < 1e-14);
    }
    assert_int_equal(la_lambda_evaluated(g.e), 5); /* no other set can be better */
    engine_end(&g);
    pool_end(&p);
}

/* An eigenvalue p of the base just above or below lambda, in a direction in which the set
 * is large: terms divided by their distance must not swamp the rest. The set is 5 e1 and
 * e2 rotated by 45 degrees: Z^T Z = diag(p + 25, 2, 10, ...), and lambda is 2. */
static void an_eigenvalue_of_the_base_near_lambda_does_no_harm(void **state) {
    (void)state;
    enum { D = 8, ROWS = D + 2 };
    for (int k = 1; k <= 16; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            double h[ROWS * D] = {0}, beside = 2 + sign * pow(10, -k);
            size_t places[2] = {0, 1};
            pool p;
            engine g;
            double lambda;
            for (size_t i = 0; i < D; i++)
                h[i * D + i] = sqrt(i > 1 ? 10 : i ? 1 : beside);
            for (size_t i = D; i < ROWS; i++)
                h[i * D] = 5 / sqrt(2), h[i * D + 1] = (i == D ? 1 : -1) / sqrt(2);
            pool_of(&p, h, ROWS, D, D, 0);
            engine_make(&g, &p, &p.kernel, 2, 100000, 1);
            assert_int_equal(g.e->shape.way, LAMBDA_SPLIT);
            assert_int_equal(la_lambda_of(g.e, places, &lambda, NULL), SCANT_OK);
            assert_true(fabs(lambda - 2) <= NEAR * 27);
            engine_end(&g);
            pool_end(&p);
        }
}

static void a_set_with_a_copy_has_lambda_zero(void **state) {
    (void)state;
    const double h[] = {1, 0, 0, 0, 0, 2, 1, 0, 0, 2, 1, 0, 0, 0, 3, 0};
    double burden[2], lambda;
    pool p;
    engine g;
    pool_of(&p, h, 4, 4, 1, 0);
    engine_make(&g, &p, &p.kernel, 2, 1, 1);
    assert_int_equal(la_lambda_of(g.e, (size_t[]){0, 1}, &lambda, burden), SCANT_OK);
    assert_true(lambda == 0);
    assert_true(fabs(burden[0] - 0.5) < 1e-9 && fabs(burden[1] - 0.5) < 1e-9);
    assert_int_equal(la_lambda_of(g.e, (size_t[]){0, 2}, &lambda, burden), SCANT_OK);
    assert_true(fabs(lambda - 1) < NEAR * 9); /* [5 3; 3 9] has (14 - sqrt 52) / 2 > 1 */
    engine_end(&g);
    pool_end(&p);
}

/* Even if a set has many more rows than columns. */
static void with_rank_zero_lambda_is_zero(void **state) {
    (void)state;
    static const double h[1400];
    static const size_t sizes[][2] = {{6, 2}, {700, 300}, {350, 348}}; /* n, b */
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned threads = 1; threads < 4; threads++) {
            pool p;
            engine g;
            la_found found[2];
            size_t n = sizes[s][0], b = sizes[s][1], count;
            pool_of(&p, h, n, 2, 2, 0);
            draw d = {p.m, b, 3};
            engine_make(&g, &p, &p.kernel, b, 2, threads);
            assert_int_equal(g.span.rank, 0);
            la_sets all = {.count = 2, .get = draw_get, .self = &d};
            assert_int_equal(la_lambda_best(g.e, &all, 2, -1, NULL, found, &count),
                             SCANT_OK);
            assert_int_equal(count, 2);
            assert_true(found[0].lambda == 0 && found[0].set == 0);
            assert_true(found[1].lambda == 0 && found[1].set == 1);
            engine_end(&g);
            pool_end(&p);
        }
}

/* ---- a kernel without features ---- */

static double gauss_at(const pool *p, size_t i, size_t j) {
    double sum = 0;
    for (size_t k = 0; k < p->d; k++) {
        double x = p->h[i * p->d + k] - p->h[j * p->d + k];
        sum += x * x;
    }
    return exp(-sum / 4);
}

static void gauss_values(const void *self, const size_t *rows, size_t m,
                         const size_t *others, size_t k, double *out, size_t apart,
                         void *room) {
    const pool *p = self;
    assert_true(m <= LA_KERNEL_TILE && k <= LA_KERNEL_TILE);
    memset(room, 255, 64); /* the room may be overwritten */
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < k; j++)
            out[i * apart + j] = gauss_at(p, rows[i], others[j]);
}

/* The rows of this kernel are independent except for copies, so any N is allowed. */
static void a_kernel_needs_no_features(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{0, 3}, {7, 5}, {20, 70}, {70, 1}}; /* l, b */
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        pool p;
        engine g;
        size_t b = sizes[s][1], count, places[100];
        la_found found[3];
        pool_make(&p, NORMAL, 6, 150, 3, sizes[s][0], 0);
        la_kernel kernel = {
            .n = p.n, .values = gauss_values, .room_bytes = 64, .self = &p};
        for (size_t i = 0; i < p.n; i++) /* the Gram matrix of the reference */
            for (size_t j = 0; j < p.n; j++) p.k[i * p.n + j] = gauss_at(&p, i, j);
        draw d = {p.m, b, 9};
        engine_make(&g, &p, &kernel, b, 50, 2);
        la_sets all = {50, draw_get, &d};
        assert_int_equal(la_lambda_best(g.e, &all, 3, -1, NULL, found, &count), SCANT_OK);
        double best = 0, slack = 0;
        for (size_t i = 0; i < 50; i++) {
            size_t rows[200], n = g.e->task.n_base;
            draw_get(&d, i, 0, places);
            memcpy(rows, g.base, n * sizeof *rows);
            for (size_t k = 0; k < b; k++) rows[n + k] = p.open[places[k]];
            double *values = spectrum(&p, rows, n + b);
            best = fmax(best, values[0]);
            slack = fmax(slack, NEAR * values[n + b - 1]);
            if (i == found[2].set)
                assert_true(fabs(values[0] - found[2].lambda) <= slack);
            free(values);
        }
        assert_true(fabs(best - found[0].lambda) <= slack && best > 0);
        engine_end(&g);
        pool_end(&p);
    }
}

static int make_ctx(void **state) {
    (void)state;
    one_thread = ctx_threads(1);
    return 0;
}

static int end_ctx(void **state) {
    (void)state;
    scant_ctx_free(one_thread);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_match_the_dense_solver),
        cmocka_unit_test(the_best_sets_match_an_exhaustive_search),
        cmocka_unit_test(the_argmax_matches_the_dense_solver),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
        cmocka_unit_test(lambda_of_two_unit_vectors_is_one_minus_their_cosine),
        cmocka_unit_test(lambda_matches_the_values_of_another_program),
        cmocka_unit_test(equal_sets_keep_their_order),
        cmocka_unit_test(an_eigenvalue_of_the_base_near_lambda_does_no_harm),
        cmocka_unit_test(a_set_with_a_copy_has_lambda_zero),
        cmocka_unit_test(with_rank_zero_lambda_is_zero),
        cmocka_unit_test(a_kernel_needs_no_features),
    };
    return cmocka_run_group_tests(tests, make_ctx, end_ctx);
}
