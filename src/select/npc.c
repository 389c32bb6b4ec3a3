/* SPDX-License-Identifier: Apache-2.0
 *
 * npc: neural pre-conditioning. Draws many random batches X and picks the one with the
 * largest lambda. That is the smallest eigenvalue of a Gram matrix over the labelled rows
 * and X: inner products of the last layer's gradients, which are K(x, x') = h+ . h+' for
 * any weights and labels. So npc works before any label is given, on the features of an
 * untrained network.
 *
 * As in the paper, batches are drawn uniformly. The paper draws O(n); our 1000 are its
 * example (one of the best 1% is among them with probability 1 - 4e-5). The kernel is the
 * paper's over C: it sums the classes. Unlike in the paper, the rank of the features
 * decides which eigenvalue counts as smallest: with more rows than the rank the Gram
 * matrix is singular, and the paper's value would be rounding noise (linalg/lambda.h).
 * The best batch is found exactly, without computing the eigenvalues of most batches. The
 * option refine goes beyond the paper: guided by the eigenvector of lambda, it replaces
 * rows of the best batch one by one with the row that raises lambda most (of all rows, or
 * of 16,384 random ones in a larger pool). It ends when no replacement raises lambda for
 * any of the eight rows that lower it most.
 *
 * Cost: a pass of n d^2 for the rank; for each of m batches of b rows some b^2 (d + l) or
 * b^2 d (linalg/lambda.h); each swap, n d (l + b) or n d^2. Memory: 8 bytes per row, one
 * bit per row and thread, a few d x d matrices per thread, and a cache of at most 128 MB
 * of rows; three n x n matrices if there are fewer rows than columns.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "select/npc_crc.h"

enum {
    OUT_TRIES = 8,     /* rows of the batch to try before refining ends */
    IN_TRIES = 1 << 14 /* candidate replacements; sampled if there are more */
};

static const char WEIGHING[] = "evaluating batches", REFINING[] = "refining";

/* ---- random batches ---------------------------------------------------------------- */

typedef struct batches {
    scant__rng rng;
    size_t available, b;
    uint64_t *marks; /* per worker: one bit per position, all 0 between calls */
    size_t words;
} batches;

static int by_place(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Draws `count` distinct positions, ascending, by Floyd's algorithm with `count` random
 * numbers starting at `from`. A few positions are sorted; many are read in order from the
 * marks. */
static void draw_places(const batches *s, uint64_t from, size_t count, unsigned worker,
                        size_t *places) {
    uint64_t *marks = s->marks + worker * s->words;
    bool few = count < s->words / 16;
    for (size_t j = s->available - count, i = 0; i < count; i++, j++) {
        size_t at = (size_t)scant__rng_below(&s->rng, from++, j + 1);
        if (marks[at / 64] >> at % 64 & 1) at = j;
        marks[at / 64] |= (uint64_t)1 << at % 64;
        places[i] = at;
    }
    if (few) {
        for (size_t i = 0; i < count; i++) marks[places[i] / 64] = 0;
        qsort(places, count, sizeof *places, by_place);
        return;
    }
    for (size_t w = 0; w < s->words; w++)
        for (; marks[w]; marks[w] &= marks[w] - 1)
            *places++ = w * 64 + (size_t)__builtin_ctzll(marks[w]);
}

static void get_batch(const void *self, size_t set, unsigned worker, size_t *places) {
    const batches *s = self;
    draw_places(s, (uint64_t)set * s->b, s->b, worker, places);
}

/* ---- refining ---------------------------------------------------------------------- */

typedef struct refiner {
    scant_selection *sel;
    const select_lambda *s;
    const batches *draws;
    uint64_t next;                /* the next unused random number */
    double lambda;                /* lambda of the batch */
    size_t *batch, *next_batch;   /* (b): positions, ascending */
    double *burden, *next_burden; /* (b): burden of each row of the batch */
    size_t *base;                 /* rows of L and of the batch except one */
    size_t *others;               /* candidate positions */
    size_t *rows;                 /* rows of the candidates */
    size_t n_others;
} refiner;

static size_t most_others(size_t available) {
    return available < IN_TRIES ? available : IN_TRIES;
}

/* Lists all positions that are not in the batch, or a random subset of them. */
static void list_others(refiner *r) {
    const la_lambda_task *t = &r->s->task;
    size_t count = most_others(t->n_open), kept = 0;
    if (count == t->n_open)
        for (size_t i = 0; i < count; i++) r->others[i] = i;
    else
        draw_places(r->draws, r->next, count, 0, r->others), r->next += count;
    for (size_t i = 0, k = 0; i < count; i++) {
        while (k < t->b && r->batch[k] < r->others[i]) k++;
        if (k < t->b && r->batch[k] == r->others[i]) continue;
        r->others[kept] = r->others[i];
        r->rows[kept++] = t->open[r->others[i]];
    }
    r->n_others = kept;
}

/* Finds the best replacement `in` of row `out`. The base is the labelled rows and the
 * batch without `out`; each candidate is a set of one row. */
static scant_status best_in_place_of(refiner *r, size_t out, size_t *in) {
    la_lambda_task task = r->s->task;
    size_t n = task.n_base, count = 0;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = r->sel->ctx};
    la_lambda *e;
    la_found found;
    memcpy(r->base, task.base, n * sizeof *r->base);
    for (size_t i = 0; i < task.b; i++)
        if (i != out) r->base[n++] = task.open[r->batch[i]];
    task.base = r->base, task.n_base = n;
    task.open = r->rows, task.n_open = task.sets = r->n_others;
    task.b = 1;
    TRY(la_lambda_create(&arena, &task, &e));
    TRY(la_lambda_best(e, &(la_sets){.count = r->n_others}, 1, r->lambda, NULL, &found,
                       &count));
    *in = count ? r->others[found.set] : SIZE_MAX;
    return SCANT_OK;
}

/* Replaces row `out` of the batch by position `in` if lambda rises; keeps the order. */
static scant_status exchange(refiner *r, size_t out, size_t in, bool *done) {
    size_t b = r->s->task.b, at = 0, *batch = r->next_batch;
    double lambda, *burden = r->next_burden;
    for (size_t i = 0; i < b; i++)
        if (i != out) batch[at++] = r->batch[i];
    for (; at > 0 && batch[at - 1] > in; at--) batch[at] = batch[at - 1];
    batch[at] = in;
    TRY(la_lambda_of(r->s->engine, batch, &lambda, burden));
    if (!(lambda > r->lambda)) return SCANT_OK;
    r->lambda = lambda;
    r->next_batch = r->batch, r->next_burden = r->burden;
    r->batch = batch, r->burden = burden;
    *done = true;
    return SCANT_OK;
}

/* Makes one swap that raises lambda. *done: false if none was found. */
static scant_status refine_once(refiner *r, bool *done) {
    size_t b = r->s->task.b, tries = b < OUT_TRIES ? b : OUT_TRIES;
    *done = false;
    list_others(r);
    for (size_t t = 0; r->n_others && t < tries && !*done; t++) {
        size_t out = 0, in;
        for (size_t i = 1; i < b; i++)
            if (r->burden[i] > r->burden[out]) out = i;
        r->burden[out] = -INFINITY;
        TRY(best_in_place_of(r, out, &in));
        if (in != SIZE_MAX) TRY(exchange(r, out, in, done));
    }
    return SCANT_OK;
}

static size_t refine_memory(const scant_selection *sel, size_t batch) {
    enum { BLOCKS = 7, OVERHEAD = 256 };
    size_t others = most_others(sel->pool.available);
    size_t numbers = 4 * batch + (sel->pool.labelled + batch) + 2 * others;
    return numbers * sizeof(size_t) + BLOCKS * OVERHEAD;
}

static scant_status refiner_init(refiner *r, size_t *batch) {
    scant__arena *arena = r->sel->arena;
    size_t b = r->s->task.b, others = most_others(r->s->task.n_open);
    r->batch = batch;
    r->next_batch = scant__arena_alloc(arena, b, sizeof *r->next_batch);
    r->burden = scant__arena_alloc(arena, b, sizeof *r->burden);
    r->next_burden = scant__arena_alloc(arena, b, sizeof *r->next_burden);
    r->base = scant__arena_alloc(arena, r->s->task.n_base + b, sizeof *r->base);
    r->others = scant__arena_alloc(arena, others, sizeof *r->others);
    r->rows = scant__arena_alloc(arena, others, sizeof *r->rows);
    bool got = r->next_batch && r->burden && r->next_burden && r->base && r->others;
    return got && r->rows ? SCANT_OK : SCANT_ENOMEM;
}

/* Swaps rows while lambda rises, at most `most` times. */
static scant_status refine(refiner *r, size_t most, size_t *swaps) {
    double lambda;
    bool more = most > 0;
    TRY(la_lambda_of(r->s->engine, r->batch, &lambda, r->burden));
    while (more && *swaps < most) {
        TRY(refine_once(r, &more));
        *swaps += more;
        TRY(scant__tick(r->sel->ctx, REFINING, *swaps, most));
    }
    return SCANT_OK;
}

/* ---- the strategy ------------------------------------------------------------------ */

/* Number of batches: 1 if all available rows are the batch. */
static size_t count_batches(const scant_selection *sel) {
    bool all = sel->batch == sel->pool.available;
    return all ? 1 : (size_t)select_option(sel, "candidates");
}

static void npc_plan(const scant_selection *sel, scant_plan *plan) {
    const select_pool *pool = &sel->pool;
    size_t words = pool->available / 64 + 1;
    size_t own = scant__alloc_cost(pool->available * sizeof(size_t)) + 1024;
    own += scant__alloc_cost(sel->ctx->threads * words * sizeof(uint64_t));
    own += scant__alloc_cost(sel->batch * sizeof(size_t));
    if (select_option(sel, "refine") > 0) {
        size_t others = most_others(pool->available);
        own = size_add(own, refine_memory(sel, sel->batch));
        own = size_add(own, select_lambda_another(sel, sel->batch, others));
    }
    plan->memory = size_add(plan->memory, own);
    select_lambda_plan(sel, sel->batch, count_batches(sel), 1, plan);
}

static scant_status refine_best(scant_selection *sel, const select_lambda *s,
                                const batches *draws, size_t **batch, double *lambda) {
    size_t most = (size_t)select_option(sel, "refine"), swaps = 0;
    double before = *lambda;
    refiner r = {.sel = sel, .s = s, .draws = draws, .lambda = *lambda};
    r.next = (uint64_t)s->task.sets * s->task.b;
    TRY(refiner_init(&r, *batch));
    TRY(refine(&r, most, &swaps));
    *batch = r.batch;
    *lambda = r.lambda;
    select_figure(sel, "swaps", (double)swaps);
    select_figure(sel, "lambda_before", select_lambda_value(s, before));
    return SCANT_OK;
}

static scant_status npc_select(scant_selection *sel) {
    size_t available = sel->pool.available, sets = count_batches(sel), count;
    batches draws = {.rng = {sel->seed, SCANT__RNG_BATCH},
                     .available = available,
                     .b = sel->batch,
                     .words = available / 64 + 1};
    size_t *open = TRY_NEW(sel->arena, size_t, available);
    size_t *batch = TRY_NEW(sel->arena, size_t, sel->batch);
    select_lambda s;
    la_found best;
    draws.marks = TRY_ZERO(sel->arena, uint64_t, sel->ctx->threads * draws.words);
    select_pool_list_available(&sel->pool, open);
    TRY(select_lambda_start(sel, open, sel->batch, sets, &s));
    la_sets all = {.count = sets, .get = get_batch, .self = &draws};
    TRY(la_lambda_best(s.engine, &all, 1, -1, WEIGHING, &best, &count));
    get_batch(&draws, best.set, 0, batch);
    if (select_option(sel, "refine") > 0)
        TRY(refine_best(sel, &s, &draws, &batch, &best.lambda));
    double lambda = select_lambda_value(&s, best.lambda);
    for (size_t i = 0; i < sel->batch; i++) select_pick(sel, open[batch[i]], 1, lambda);
    select_figure(sel, "lambda", lambda);
    select_lambda_figures(sel, &s, lambda, "batch that was drawn");
    return SCANT_OK;
}

static const scant_option options[] = {
    SELECT_OPTION("candidates", COUNT, "1000", "how many random batches to choose from",
                  .min = 1, .max = 1e9),
    SELECT_LAMBDA_BIAS,
    SELECT_OPTION_NORMALISE,
    SELECT_OPTION(
        "refine", COUNT, "0",
        "improve the best batch by up to this many swaps, each replacing one row so "
        "that lambda rises",
        .max = 1e9),
};

static const scant_figure_info figures[] = {
    {"lambda", "lambda of the labelled rows and the batch; every pick's score"},
    SELECT_LAMBDA_FIGURES("batches"),
    {"swaps", "number of swaps made; only with refine"},
    {"lambda_before", "lambda before the swaps; only with refine"},
};

const scant_strategy select_strategy_npc = {
    .info = {.name = "npc",
             .summary =
                 "the random batch, out of many, with the best conditioned kernel matrix",
             .use = "For the first labels and for few labels. It needs features only; "
                    "those of an untrained network work too.",
             .paper = "Kong et al. 2022 (neural pre-conditioning)",
             .score =
                 "lambda of the labelled rows and the batch (the same for every pick)",
             .needs = SCANT_FEATURES,
             .uses = SCANT_LABELS,
             SELECT_OPTIONS(options),
             SELECT_FIGURES(figures),
             .kernel = true},
    .check = select_lambda_check,
    .plan = npc_plan,
    .select = npc_select,
    .blas = true,
};
