/* SPDX-License-Identifier: Apache-2.0
 *
 * dynamic: the rows that would speed training up most (Wang, Huang, Wu, Margenot, Tong &
 * He, "Deep active learning by leveraging training dynamics", 2022). With g the gradient
 * of a row's loss (labelled rows at their label, others at their most probable one) and
 * g_S the sum over the labelled rows, the loss falls at the rate |g_S|^2; with one more
 * row u the rate is |g_S + g_u|^2, so its score is
 *
 *     |g_u|^2 + gamma <g_u, g_S>
 *
 * with gamma = 2. The paper's variants: gamma = 0 (the gradient's length alone), 1, and
 * inf (the second term alone). The paper's formula prints the sum over S before both
 * terms; it belongs to the second only. Labelled rows are summed, not averaged: means
 * would give another ranking.
 *
 * By default g is the last layer's gradient a x h+, which is never built: g_S is a C x d+
 * matrix, and one product with it gives all scores. The paper uses gradients of the whole
 * network; these, or a sketch of them, can be given as --gradients. Instead the caller
 * can compute |g_u|^2 and <g_u, g_S> exactly, without storing gradients (SCANT_SLOPES);
 * the selection is then one pass over two numbers per row. The batch is the B rows with
 * the best scores, as in the paper; similarity among them is ignored.
 *
 * Without labels g_S = 0: every finite gamma ranks by length, and with inf all rows tie.
 *
 * Cost: O((n + l) C d), three passes over the features. Memory: 16 bytes per row.
 */
#include <math.h>

#include "linalg/kron.h"
#include "linalg/topk.h"
#include "select/scan.h"

typedef struct dynamic {
    select_features features;
    select_pool as_features; /* the pool with gradients as features */
    la_rows h, a;
    la_view all, labelled;
    la_work work;
    size_t *rows; /* labelled rows */
    double *norm, *dot, *sum;
    double scale; /* factor of the gradients */
} dynamic;

static scant_status choose_inputs(scant_selection *sel, unsigned given, unsigned *needs) {
    const scant_strategy_info *info = &sel->strategy->info;
    *needs = given & SCANT_GRADIENTS ? info->or_needs : info->needs;
    if (given & SCANT_SLOPES) *needs = SCANT_SLOPES;
    return SCANT_OK;
}

static size_t gradient_size(const la_view *v) {
    return size_mul(la_view_width(v), v->a ? v->a->d : 1);
}

static size_t work_memory(const la_view *v, unsigned threads) {
    size_t sums = v->a ? la_kron_sum_memory(v, threads) : la_sums_memory(v, threads);
    return size_max(sums, size_max(la_kron_norms_memory(v, threads),
                                   la_kron_dots_memory(v, threads)));
}

/* Sets the expected type and scale of the features or gradients, before they are read. */
static void serve(const scant_selection *sel, dynamic *d) {
    const select_pool *pool = &sel->pool;
    if (pool->gradients) d->as_features = select_gradients_as_features(pool);
    select_features_guess(pool->gradients ? &d->as_features : pool, false, &d->features);
}

/* Sets the views, once type and scale of the features are known. */
static void set_views(const scant_selection *sel, dynamic *d) {
    const select_pool *pool = &sel->pool;
    bool last_layer = !pool->gradients;
    double bias = last_layer ? select_option(sel, "bias") : 0;
    bias = select_features_constant(&d->features, bias);
    d->scale = d->features.scale;
    select_feature_rows(&d->features, &d->h);
    if (last_layer) select_prob_rows(pool, SELECT_RESIDUAL, &d->a);
    d->all =
        (la_view){.h = &d->h, .a = last_layer ? &d->a : NULL, .bias = bias, .m = pool->n};
    d->labelled = d->all;
    d->labelled.rows = d->rows;
    d->labelled.m = pool->labelled;
}

static void dynamic_plan(const scant_selection *sel, scant_plan *plan) {
    if (sel->pool.slopes) {
        select_scan_plan(sel, plan);
        return;
    }
    const select_pool *pool = &sel->pool;
    unsigned threads = sel->ctx->threads;
    dynamic d = {0};
    serve(sel, &d);
    set_views(sel, &d);
    d.h.base = NULL, d.h.type = LA_F64; /* in the worst case rows are copied */
    enum { BLOCKS = 8, OVERHEAD = 256 };
    size_t check = select_features_memory(d.features.pool, threads);
    if (pool->probs) check = size_max(check, select_probs_check_memory(pool, threads));
    size_t held = size_add(work_memory(&d.all, threads), BLOCKS * OVERHEAD);
    held = size_add(held, size_mul(gradient_size(&d.all), sizeof(double)));
    held = size_add(held, size_mul(pool->n, 2 * sizeof(double)));
    held = size_add(held, size_mul(pool->labelled + 1, sizeof(size_t)));
    held = size_add(held, size_mul(plan->batch, sizeof(la_scored)));
    plan->memory = size_add(plan->memory, size_max(held, check));
    plan->block_rows = LA_BLOCK;
    plan->blocks = pool->n / LA_BLOCK + 1;
    plan->passes = 3;
}

static scant_status check(scant_selection *sel, dynamic *d) {
    const select_pool *pool = d->features.pool;
    TRY(select_features_scan(sel->arena, pool, false, &d->features));
    return sel->pool.probs ? select_probs_check(sel->arena, &sel->pool) : SCANT_OK;
}

static scant_status reserve(scant_selection *sel, dynamic *d) {
    scant__arena *arena = sel->arena;
    size_t n = sel->pool.n;
    d->rows = TRY_NEW(arena, size_t, sel->pool.labelled + 1);
    d->norm = TRY_NEW(arena, double, n);
    d->dot = TRY_ZERO(arena, double, n);
    select_pool_list_labelled(&sel->pool, d->rows);
    set_views(sel, d);
    d->sum = TRY_ZERO(arena, double, gradient_size(&d->all));
    return la_work_init(&d->work, arena, work_memory(&d->all, sel->ctx->threads));
}

/* Computes d->norm = |g_u|^2 and d->dot = <g_u, g_S> for all rows. */
static scant_status measure(scant_selection *sel, dynamic *d) {
    d->work.phase = "measuring gradients";
    TRY(la_kron_norms(&d->all, d->norm, &d->work));
    if (!sel->pool.labelled) return SCANT_OK;
    d->work.phase = "summing labelled gradients";
    if (d->labelled.a)
        TRY(la_kron_sum(&d->labelled, NULL, d->sum, &d->work));
    else
        TRY(la_sums(&d->labelled, NULL, d->sum, &d->work));
    d->work.phase = "scoring";
    return la_kron_dots(&d->all, d->sum, d->dot, &d->work);
}

static double worth(double gamma, double norm, double dot) {
    return isinf(gamma) ? dot : norm + gamma * dot;
}

static scant_status pick(scant_selection *sel, const dynamic *d) {
    double gamma = select_option(sel, "gamma"), square = d->scale * d->scale;
    bool mask[SELECT_MASK];
    la_topk top;
    la_scored *heap = TRY_NEW(sel->arena, la_scored, sel->batch);
    la_topk_init(&top, heap, sel->batch);
    for (size_t first = 0; first < sel->pool.n; first += SELECT_MASK) {
        size_t rest = sel->pool.n - first;
        size_t count = rest < SELECT_MASK ? rest : SELECT_MASK;
        select_pool_mask(&sel->pool, first, count, mask);
        for (size_t i = 0; i < count; i++) {
            double score = worth(gamma, d->norm[first + i], d->dot[first + i]);
            if (mask[i]) la_topk_offer(&top, score, first + i);
        }
    }
    la_topk_sort(&top);
    for (size_t i = 0; i < top.count; i++)
        select_pick(sel, top.items[i].index, 1, top.items[i].score / square);
    return SCANT_OK;
}

/* ---- slopes ---- */

static void score_measured(const scan_block *block, double *out) {
    double gamma = select_option(block->sel, "gamma");
    const double *slopes = block->measured;
    for (size_t i = 0; i < block->count; i++, slopes += 2)
        out[i] = worth(gamma, slopes[0], slopes[1]);
}

/* |g_S|^2 is the sum of <g, g_S> over S, which the scan has checked. */
static double measured_speed(const select_pool *pool) {
    double speed = 0, row[2];
    scant__fault unused;
    for (size_t i = 0; i < pool->n; i++) {
        if (select_pool_label(pool, i) < 0) continue;
        select_measured_read(pool, i, 1, row, &unused);
        speed += row[1];
    }
    return speed;
}

static scant_status select_by_slopes(scant_selection *sel) {
    TRY(select_scan(sel, SELECT_TOP, score_measured));
    select_figure(sel, "speed", measured_speed(&sel->pool));
    return SCANT_OK;
}

/* ---- the strategy ---- */

static scant_status dynamic_select(scant_selection *sel) {
    dynamic d = {0};
    double speed = 0;
    if (isinf(select_option(sel, "gamma")) && !sel->pool.labelled)
        scant__warn(sel->ctx,
                    "dynamic: gamma = inf compares rows with the labelled ones, but no "
                    "row is labelled; the rows with the lowest indices are picked");
    if (sel->pool.slopes) return select_by_slopes(sel);
    serve(sel, &d);
    TRY(check(sel, &d));
    TRY(reserve(sel, &d));
    TRY(measure(sel, &d));
    for (size_t k = 0; k < gradient_size(&d.all); k++) speed += d.sum[k] * d.sum[k];
    select_figure(sel, "speed", speed / (d.scale * d.scale)); /* |g_S|^2 */
    return pick(sel, &d);
}

static const scant_option options[] = {
    SELECT_OPTION(
        "gamma", NUMBER, "2",
        "weight of the similarity to the labelled rows' gradients; inf: only the "
        "similarity counts",
        .max = INFINITY),
    SELECT_OPTION_BIAS("1"),
};

static const scant_figure_info figures[] = {
    {"speed", "squared length of the sum of the labelled rows' gradients: the current "
              "rate at which the loss falls"},
};

const scant_strategy select_strategy_dynamic = {
    .info =
        {.name = "dynamic",
         .summary = "rows whose gradients would speed up training most",
         .use = "When training continues from round to round. Best with gradients of the "
                "whole network; in 'scant run', dynamic.layers = all uses them exactly.",
         .paper = "Wang et al. 2022 (dynamicAL)",
         .score = "increase in the rate at which the loss falls: |g|^2 + gamma <g, sum "
                  "of the labelled rows' g>",
         .needs = SCANT_PROBS | SCANT_FEATURES,
         .or_needs = SCANT_GRADIENTS,
         .uses = SCANT_LABELS,
         SELECT_OPTIONS(options),
         SELECT_FIGURES(figures),
         .ranked = true},
    .inputs = choose_inputs,
    .plan = dynamic_plan,
    .select = dynamic_select,
};
