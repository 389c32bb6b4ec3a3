/* SPDX-License-Identifier: Apache-2.0
 *
 * acs-fw: a sparse weighted subset that approximates the whole pool's log-likelihood
 * (Pinsler, Gordon, Nalisnick & Hernandez-Lobato, "Bayesian batch active learning as
 * sparse subset approximation", 2019). Row i has a vector with one number for each
 * posterior draw s,
 *
 *     L_i[s] = (sum_y p_y ln P(y | x_i, s) + H(p)) / sqrt(J),
 *
 * where p is the mean over all draws and J the number of draws used: the expected
 * log-likelihood of the row's label under s. Sparse weights w >= 0 minimise |sum_i L_i -
 * sum_i w_i L_i| by Frank-Wolfe steps: with s_i = sqrt(|L_i|^2 + 1e-6) and s their sum,
 * each step moves towards the row with the largest <residual, L_i> / s_i, at weight s /
 * s_i, by the optimal fraction of at most 1.
 *
 * As in the paper H(p) has the factor 1, and vectors are not centred. The published code
 * takes B steps and returns the rows with weight, does not limit the step length, and
 * predicts by averaging logits; we step until B rows have weight, at most 20 B times. If
 * no step lowers the residual or the steps run out, rows of weight 0 fill up the batch:
 * those that score best for the next step.
 *
 * Exact in double, with ln max(P, 1e-12) for ln P. Cost: O(m n C) for the vectors, then
 * O(n J) per step, at memory speed. Memory: n J numbers.
 *
 * inner=fisher uses the paper's other vectors: gradients of the same expectation with
 * respect to the last layer's weights (select/fisher.h), from draws and features. Memory:
 * C + 8 numbers per row and some vectors of J C d+. It is expensive: 2 n J C d+
 * multiply-adds at first, and n (J C + d+) for every step, which reads all draws again.
 */
#include <math.h>
#include <string.h>

#include "linalg/products.h"
#include "linalg/topk.h"
#include "select/fisher.h"
#include "select/frank_wolfe.h"
#include "select/posterior_stats.h"
#include "select/strategy.h"

enum {
    LINE = 64,
    STEP_BYTES = 64 << 20, /* bytes of vectors per block; with less, a second thread
                            * costs more than it saves */
    TOGETHER = 16,         /* products at a time */
    STEPS = 20,            /* most steps per row of the batch */
    PROJECTIONS = 0,       /* choices of option inner */
    FISHER
};
static const double JITTER = 1e-6, STANDSTILL = 1e-12;

typedef struct coreset {
    scant_selection *sel;
    size_t n;     /* number of available rows */
    size_t draws; /* J */
    size_t *rows; /* n: the rows' indices in the pool */
    select_walk walk;
    bool by_fisher;
    double *vectors;      /* (n, J); fisher: one vector */
    select_fisher fisher; /* inner=fisher: replaces the vectors */
    double *score;        /* n */
    size_t steps;
    size_t block;    /* rows per block of vectors */
    size_t blocks;   /* number of blocks */
    la_scored *best; /* best score of each block */
    unsigned char *room;
    size_t room_size, scan_rows;
} coreset;

/* ---- vectors ----------------------------------------------------------------------- */

/* The first position whose row index is at least `row`. */
static size_t place_of(const coreset *c, size_t row) {
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Computes the vectors of positions from..to-1, which are in one block. */
static void write_vectors(coreset *c, const select_pool *view, size_t first, size_t count,
                          const select_posterior *posterior, double *cross, size_t from,
                          size_t to) {
    const la_kernels *k = la_kernels_for(select_probs_type(view));
    double norm = 1 / sqrt((double)c->draws), *raw = cross + c->scan_rows;
    for (size_t s = 0; s < c->draws && from < to; s++) {
        const void *rows = select_sample_rows(view, s, first, count, raw);
        k->cross(posterior->mean, rows, count, view->c, cross);
        for (size_t i = from; i < to; i++) {
            size_t at = c->rows[i] - first;
            c->vectors[i * c->draws + s] =
                norm * select_walk_difference(posterior->entropy[at], cross[at]);
        }
    }
}

/* Reads and checks a block of rows; stores the vectors of the available ones. */
static scant_status scan_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    coreset *c = arg;
    const select_pool *pool = &c->sel->pool, view = select_draws_view(pool);
    size_t first = block * c->scan_rows, rest = pool->n - first;
    size_t count = rest < c->scan_rows ? rest : c->scan_rows;
    double *cross = (double *)(void *)(c->room + worker * c->room_size);
    select_posterior posterior;
    TRY(select_posterior_read(pool, first, count, false,
                              cross + c->scan_rows * (pool->c + 1), &posterior, fault));
    size_t from = place_of(c, first), to = place_of(c, first + count);
    if (!c->by_fisher)
        write_vectors(c, &view, first, count, &posterior, cross, from, to);
    else
        for (size_t i = from; i < to; i++)
            memcpy(c->fisher.mean + i * pool->c,
                   posterior.mean + (c->rows[i] - first) * pool->c,
                   pool->c * sizeof *posterior.mean);
    return SCANT_OK;
}

static scant_status measure(coreset *c) {
    select_walk *w = &c->walk;
    double jitter = JITTER;
    if (c->by_fisher) {
        jitter *= c->fisher.scale * c->fisher.scale;
        TRY(select_fisher_measure(&c->fisher, w->size, w->goal));
    } else {
        la_kernels_for(LA_F64)->sumsq(c->vectors, c->n, w->width, w->size);
        la_kernels_for(LA_F64)->total(c->vectors, c->n, w->width, w->goal);
    }
    for (size_t i = 0; i < c->n; i++) w->all += w->size[i] = sqrt(w->size[i] + jitter);
    select_walk_begin(w);
    return SCANT_OK;
}

/* ---- steps ------------------------------------------------------------------------- */

static scant_status score_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    (void)worker, (void)fault;
    coreset *c = arg;
    const void *x[TOGETHER], *y = c->walk.rest;
    size_t width = c->walk.width;
    size_t first = block * c->block, end = first + c->block;
    la_scored best = {-INFINITY, 0};
    end = end < c->n ? end : c->n;
    for (size_t i = first; i < end; i += TOGETHER) {
        size_t count = end - i < TOGETHER ? end - i : TOGETHER;
        for (size_t k = 0; k < count; k++) x[k] = c->vectors + (i + k) * width;
        la_kernels_for(LA_F64)->dot(x, count, &y, 1, width, c->score + i);
        for (size_t k = i; k < i + count; k++) {
            c->score[k] /= c->walk.size[k];
            if (c->score[k] > best.score) best = (la_scored){c->score[k], k};
        }
    }
    c->best[block] = best;
    return SCANT_OK;
}

/* Scores rows by inner products with the residual: goal minus fit. */
static size_t score_fisher(coreset *c) {
    const select_fisher *f = &c->fisher;
    for (size_t i = 0; i < c->n; i++)
        c->score[i] = select_walk_difference(f->goal[i], f->fit[i]) / c->walk.size[i];
    return la_argmax(c->score, c->n);
}

/* Finds the position with the largest score; ties go to the lowest. */
static scant_status find_best(coreset *c, size_t *place) {
    la_scored best = {-INFINITY, 0};
    if (c->by_fisher) {
        *place = score_fisher(c);
        return SCANT_OK;
    }
    TRY(scant__parfor(c->sel->ctx, NULL, c->blocks, score_block, c));
    for (size_t b = 0; b < c->blocks; b++)
        if (c->best[b].score > best.score) best = c->best[b];
    *place = best.index;
    return SCANT_OK;
}

static scant_status step_to(coreset *c, size_t place, double *stride) {
    select_walk *w = &c->walk;
    const double *v = c->vectors + (c->by_fisher ? 0 : place * w->width);
    if (c->by_fisher) TRY(select_fisher_row(&c->fisher, place, c->vectors));
    *stride = select_walk_stride(w, place, v);
    select_walk_step(w, place, v, *stride);
    if (c->by_fisher)
        select_fisher_step(&c->fisher, *stride, *stride * (w->all / w->size[place]));
    return SCANT_OK;
}

static scant_status walk(coreset *c) {
    scant_selection *sel = c->sel;
    size_t batch = sel->batch;
    while (c->walk.n_held < batch && c->steps < STEPS * batch) {
        size_t place;
        double stride;
        TRY(scant__tick(sel->ctx, "stepping", c->walk.n_held, batch));
        TRY(find_best(c, &place));
        TRY(step_to(c, place, &stride));
        if (stride < STANDSTILL) break;
        c->steps++;
    }
    return SCANT_OK;
}

/* ---- picks ------------------------------------------------------------------------- */

static scant_status hand_in(coreset *c) {
    scant_selection *sel = c->sel;
    la_scored *heap = TRY_NEW(sel->arena, la_scored, sel->batch);
    la_topk top;
    const select_walk *w = &c->walk;
    size_t place, with_weight = w->n_held;
    double unit = c->by_fisher ? c->fisher.scale : 1;
    la_topk_init(&top, heap, sel->batch);
    for (size_t k = 0; k < w->n_held; k++)
        la_topk_offer(&top, w->weight[w->held[k]], w->held[k]);
    la_topk_sort(&top);
    for (size_t k = 0; k < top.count; k++) {
        double weight = top.items[k].score;
        select_pick(sel, c->rows[top.items[k].index], weight, weight);
    }
    if (sel->count < sel->batch) {
        TRY(find_best(c, &place)); /* computes the scores after the last step */
        la_topk_init(&top, heap, sel->batch - sel->count);
        for (size_t i = 0; i < c->n; i++)
            if (w->weight[i] == 0) la_topk_offer(&top, c->score[i], i);
        la_topk_sort(&top);
        for (size_t k = 0; k < top.count; k++)
            select_pick(sel, c->rows[top.items[k].index], 0, 0);
    }
    select_figure(sel, "objective_start", select_walk_length(w, w->goal) / unit);
    select_figure(sel, "objective", select_walk_length(w, w->rest) / unit);
    select_figure(sel, "steps", (double)c->steps);
    select_figure(sel, "filled", (double)(sel->batch - with_weight));
    return SCANT_OK;
}

/* ---- the strategy -------------------------------------------------------------------
 */

static bool is_fisher(const scant_selection *sel) {
    return select_option(sel, "inner") == FISHER;
}

static size_t draws_of(const scant_selection *sel) {
    double asked = select_option(sel, "projections");
    return asked > 0 && asked < (double)sel->pool.m ? (size_t)asked : sel->pool.m;
}

/* A worker's buffers in the first pass: bytes per row, and bytes for `rows` rows. */
static size_t scan_row(const select_pool *pool) {
    return select_posterior_room(pool, 1) + (pool->c + 1) * sizeof(double);
}

static size_t scan_room(const select_pool *pool, size_t rows) {
    return rows * scan_row(pool) / LINE * LINE + LINE;
}

static size_t block_of(size_t width) { return STEP_BYTES / (width * sizeof(double)) + 1; }

static void acs_plan(const scant_selection *sel, scant_plan *plan) {
    enum { BLOCKS = 14, OVERHEAD = 256 };
    const select_pool *pool = &sel->pool;
    size_t n = pool->available, draws = draws_of(sel), width = draws;
    size_t all = size_mul(n, 2 * sizeof(size_t) + 3 * sizeof(double));
    if (is_fisher(sel)) {
        width = select_fisher_width(sel, draws);
        all = size_add(all, size_mul(width, sizeof(double)));
        all = size_add(all, select_fisher_memory(sel, draws));
    } else {
        all = size_add(all, size_mul(n, size_mul(width, sizeof(double))));
        all = size_add(all, (n / block_of(width) + 1) * sizeof(la_scored));
    }
    all = size_add(all, plan->batch * sizeof(la_scored) + BLOCKS * OVERHEAD);
    all = size_add(all, size_mul(width, 3 * sizeof(double)));
    plan->memory = size_add(plan->memory, all);
    select_plan_blocks(sel, pool->c, LINE, scan_row(pool), plan);
    if (is_fisher(sel)) /* plus one for each step beyond the batch */
        plan->passes += plan->batch + 4;
}

static scant_status reserve_vectors(coreset *c) {
    scant_selection *sel = c->sel;
    scant__arena *arena = sel->arena;
    size_t width = c->walk.width = c->draws;
    if (c->by_fisher) {
        TRY(select_fisher_open(sel, c->rows, c->draws, &c->fisher));
        width = c->walk.width = size_mul(la_view_width(&c->fisher.all), c->fisher.a.d);
        c->vectors = TRY_NEW(arena, double, width);
        return SCANT_OK;
    }
    c->block = block_of(width);
    c->blocks = (c->n + c->block - 1) / c->block;
    c->best = TRY_NEW(arena, la_scored, c->blocks);
    c->vectors = TRY_NEW(arena, double, size_mul(c->n, width));
    return SCANT_OK;
}

static scant_status reserve(coreset *c) {
    scant_selection *sel = c->sel;
    scant__arena *arena = sel->arena;
    select_walk *w = &c->walk;
    size_t n = c->n = w->n = sel->pool.available;
    c->draws = draws_of(sel);
    c->by_fisher = is_fisher(sel);
    c->scan_rows = sel->plan.block_rows;
    c->room_size = scan_room(&sel->pool, c->scan_rows);
    c->rows = TRY_NEW(arena, size_t, n);
    select_pool_list_available(&sel->pool, c->rows);
    TRY(reserve_vectors(c));
    w->held = TRY_NEW(arena, size_t, n);
    w->size = TRY_NEW(arena, double, n);
    w->weight = TRY_ZERO(arena, double, n);
    w->goal = TRY_ZERO(arena, double, size_mul(3, w->width));
    c->score = TRY_NEW(arena, double, n);
    c->room = TRY_NEW(arena, unsigned char, size_mul(sel->ctx->threads, c->room_size));
    w->fit = w->goal + w->width;
    w->rest = w->fit + w->width;
    return SCANT_OK;
}

/* inner=fisher needs features besides posterior draws. */
static scant_status acs_inputs(scant_selection *sel, unsigned given, unsigned *needs) {
    (void)given;
    *needs = SCANT_DRAWS | (is_fisher(sel) ? SCANT_FEATURES : 0U);
    return SCANT_OK;
}

static scant_status acs_check(const scant_selection *sel) {
    double asked = select_option(sel, "projections");
    if (asked <= (double)sel->pool.m) return SCANT_OK;
    return scant__fail(sel->ctx, SCANT_EUSAGE,
                       "acs-fw: projections is %.0f, but %s has %zu posterior draws",
                       asked, scant_array_name(sel->pool.draws), sel->pool.m);
}

static scant_status acs_select(scant_selection *sel) {
    coreset c = {.sel = sel};
    TRY(reserve(&c));
    TRY(scant__parfor(sel->ctx, "reading posterior draws", sel->plan.blocks, scan_block,
                      &c));
    TRY(measure(&c));
    if (select_walk_length(&c.walk, c.walk.goal) == 0)
        scant__warn(
            sel->ctx,
            "%s: the posterior draws agree on every row; the rows with the lowest "
            "indices are picked",
            scant_array_name(sel->pool.draws));
    TRY(walk(&c));
    return hand_in(&c);
}

static const scant_option options[] = {
    SELECT_OPTION("projections", COUNT, "0",
                  "compare rows on the first K posterior draws only; 0 means all",
                  .max = 1e9),
    SELECT_OPTION(
        "inner", CHOICE, "projections",
        "compare rows by their expected log-likelihoods under the posterior draws "
        "(projections), or by the gradients of these with respect to the last layer's "
        "weights (fisher), which needs features too",
        .choices = "projections|fisher"),
    SELECT_OPTION_BIAS("1"),
};

static const scant_figure_info figures[] = {
    {"objective_start", "distance of the empty coreset from the pool"},
    {"objective", "distance of the weighted coreset from the pool"},
    {"steps", "number of steps that changed the weights"},
    {"filled", "number of picks without weight, which fill up the batch"},
};

const scant_strategy select_strategy_acs_fw = {
    .info =
        {.name = "acs-fw",
         .summary = "a weighted coreset whose log-likelihood approximates that of the "
                    "whole pool",
         .use =
             "With an ensemble or MC dropout, for large batches without redundant rows.",
         .paper = "Pinsler et al. 2019",
         .score = "weight of the row in the coreset; 0 for rows that fill up the batch",
         .needs = SCANT_DRAWS,
         SELECT_OPTIONS(options),
         SELECT_FIGURES(figures)},
    .inputs = acs_inputs,
    .check = acs_check,
    .plan = acs_plan,
    .select = acs_select,
};
