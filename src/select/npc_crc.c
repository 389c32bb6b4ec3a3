/* SPDX-License-Identifier: Apache-2.0 */
#include "select/npc_crc.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "linalg/kron.h"

static const char FINDING_RANK[] = "finding the rank";

/* ---- few rows of many columns ------------------------------------------------------ */

/* n rows span at most n dimensions. If d is larger, each row is replaced by n numbers;
 * inner products stay the same, and later work does not depend on d. */
static bool is_wide(const scant_selection *sel) {
    return !sel->depth && sel->pool.n < sel->pool.d + (select_option(sel, "bias") > 0);
}

static size_t turn_memory(const la_view *view, unsigned threads) {
    enum { SPARE = 2048 };
    size_t n = view->m, all = size_add(n, la_eigh_room(n, true));
    all = size_mul(size_add(all, 1), sizeof(double));
    return size_add(all, size_add(la_kron_pairs_memory(view, n, threads), SPARE));
}

/* out (n, n) = rows with the same inner products as the view's rows: E lambda^(1/2) for
 * inner products E diag(lambda) E^T. */
static scant_status turn(scant_ctx *ctx, const la_view *view, scant__arena *room,
                         double *out) {
    size_t n = view->m;
    la_work work;
    TRY(la_eigh_fits(ctx, n));
    double *values = TRY_NEW(room, double, n);
    double *rest = TRY_NEW(room, double, la_eigh_room(n, true));
    TRY(la_work_init(&work, room, la_kron_pairs_memory(view, n, ctx->threads)));
    work.phase = FINDING_RANK;
    TRY(la_kron_pairs(view, NULL, n, out, &work));
    TRY(la_eigh_alone(ctx, n, out, true, values, rest));
    for (size_t k = 0; k < n; k++) {
        double root = values[k] > 0 ? sqrt(values[k]) : 0;
        for (size_t i = 0; i < n; i++) out[k * n + i] *= root;
    }
    for (size_t i = 0; i < n; i++) /* transposes: eigenvectors become columns */
        for (size_t k = 0; k < i; k++) {
            double swap = out[i * n + k];
            out[i * n + k] = out[k * n + i];
            out[k * n + i] = swap;
        }
    return SCANT_OK;
}

static scant_status start_rows(scant_selection *sel, double bias, select_lambda *s) {
    size_t n = sel->pool.n;
    select_feature_rows(&s->features, &s->h);
    s->view = (la_view){.h = &s->h, .bias = bias, .m = n};
    if (!is_wide(sel)) return SCANT_OK;
    double *rows = TRY_NEW(sel->arena, double, size_mul(n, n));
    AUTO(scant__arena_end) scant__arena room = {.ctx = sel->ctx};
    TRY(turn(sel->ctx, &s->view, &room, rows));
    s->h = (la_rows){.n = n, .d = n, .type = LA_F64, .base = rows};
    s->view.bias = 0;
    return SCANT_OK;
}

scant_status select_lambda_check(const scant_selection *sel) {
    return is_wide(sel) ? la_eigh_fits(sel->ctx, sel->pool.n) : SCANT_OK;
}

static void make_kernel(const scant_selection *sel, const la_view *view, la_ntk *ntk,
                        la_kernel *out) {
    *ntk = (la_ntk){view, sel->depth};
    if (sel->depth)
        la_kernel_of_ntk(ntk, out);
    else
        la_kernel_of_features(view, out);
}

/* ---- the plan ---------------------------------------------------------------------- */

/* The largest layout of features: a copy in double. */
typedef struct widest {
    la_rows rows;
    la_view view;
    la_ntk ntk;
    la_kernel kernel;
} widest;

static void widest_make(const scant_selection *sel, bool turned, widest *w) {
    double bias = turned ? 0 : select_option(sel, "bias");
    size_t n = sel->pool.n, d = turned ? n : sel->pool.d;
    w->rows = (la_rows){.n = n, .d = d, .type = LA_F64};
    w->view = (la_view){.h = &w->rows, .bias = bias, .m = sel->pool.n};
    make_kernel(sel, &w->view, &w->ntk, &w->kernel);
}

/* Memory of the rows that replace wide ones; *turning: memory for computing them. */
static size_t wide_memory(const scant_selection *sel, size_t *turning) {
    size_t n = sel->pool.n;
    widest w;
    *turning = 0;
    if (!is_wide(sel)) return 0;
    widest_make(sel, false, &w);
    *turning = turn_memory(&w.view, sel->ctx->threads);
    return scant__alloc_cost(size_mul(n, size_mul(n, sizeof(double))));
}

void select_lambda_plan(const scant_selection *sel, size_t b, size_t sets, size_t want,
                        scant_plan *plan) {
    enum { SPARE = 4096 };
    unsigned threads = sel->ctx->threads;
    const select_pool *pool = &sel->pool;
    la_lambda_task task = {
        .n_base = pool->labelled, .n_open = pool->available, .b = b, .sets = sets};
    widest w;
    size_t turning, rows = wide_memory(sel, &turning);
    widest_make(sel, is_wide(sel), &w);
    task.kernel = &w.kernel;
    size_t width = sel->depth ? 0 : la_view_width(&w.view);
    size_t basis = size_mul(size_mul(width, width + 1), sizeof(double));
    size_t settle = la_lambda_settle_memory(&task, threads);
    size_t engine = size_add(la_lambda_memory(&task, threads), basis);
    engine = size_add(engine, la_lambda_best_memory(sets, want));
    /* these two run one after the other */
    size_t most = size_max(select_features_memory(pool, threads), turning);
    most = size_add(rows, size_max(most, size_max(settle, engine)));
    most = size_add(most, scant__alloc_cost((pool->labelled + 1) * sizeof(size_t)));
    plan->memory = size_add(plan->memory, size_add(most, SPARE));
    plan->block_rows = pool->n < LA_BLOCK ? pool->n : LA_BLOCK;
    plan->blocks = (pool->n + plan->block_rows - 1) / plan->block_rows;
    plan->passes = sel->depth ? 2 : 3; /* the check, the rank, the sets */
}

size_t select_lambda_another(const scant_selection *sel, size_t more, size_t open) {
    la_lambda_task task = {
        .n_base = sel->pool.labelled + more, .n_open = open, .b = 1, .sets = open};
    widest w;
    widest_make(sel, is_wide(sel), &w);
    task.kernel = &w.kernel;
    return size_add(la_lambda_memory(&task, sel->ctx->threads),
                    la_lambda_best_memory(open, 1));
}

/* ---- the call ---------------------------------------------------------------------- */

scant_status select_lambda_start(scant_selection *sel, const size_t *open, size_t b,
                                 size_t sets, select_lambda *s) {
    double bias = select_option(sel, "bias");
    bool unit = select_option(sel, "normalise") != 0;
    *s = (select_lambda){0};
    TRY(select_features_scan(sel->arena, &sel->pool, unit, &s->features));
    TRY(start_rows(sel, select_features_constant(&s->features, bias), s));
    make_kernel(sel, &s->view, &s->ntk, &s->kernel);
    s->base = TRY_NEW(sel->arena, size_t, sel->pool.labelled + 1);
    select_pool_list_labelled(&sel->pool, s->base);
    s->task = (la_lambda_task){.kernel = &s->kernel,
                               .open = open,
                               .n_open = sel->pool.available,
                               .n_base = sel->pool.labelled,
                               .b = b,
                               .sets = sets};
    TRY(la_lambda_settle(sel->arena, &s->task, s->base, &s->span, FINDING_RANK));
    return la_lambda_create(sel->arena, &s->task, &s->engine);
}

void select_lambda_figures(scant_selection *sel, const select_lambda *s, double best,
                           const char *what) {
    if (!(best > 0))
        scant__warn(sel->ctx,
                    "%s: lambda is 0 for every %s, so none is better than another",
                    sel->strategy->info.name, what);
    double cap = la_lambda_cap(s->engine);
    if (!sel->depth) select_figure(sel, "rank", (double)s->span.rank);
    select_figure(sel, "evaluated", (double)la_lambda_evaluated(s->engine));
    if (isfinite(cap)) select_figure(sel, "cap", select_lambda_value(s, cap));
}
