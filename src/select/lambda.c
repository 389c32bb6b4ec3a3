/* SPDX-License-Identifier: Apache-2.0 */
#include "select/lambda.h"

#include <math.h>

static const char FINDING_RANK[] = "finding the rank";

/* ---- the plan ---------------------------------------------------------------------- */

/* Features as they take most room: through a copy, in double. */
typedef struct widest {
    la_rows rows;
    la_view view;
    la_kernel kernel;
} widest;

static void widest_make(const select_req *req, widest *w) {
    double bias = select_option(req, "bias");
    w->rows = (la_rows){.n = req->pool.n, .d = req->pool.d, .type = LA_F64};
    w->view = (la_view){.h = &w->rows, .bias = bias, .m = req->pool.n};
    la_kernel_of_features(&w->view, &w->kernel);
}

static size_t greater(size_t a, size_t b) { return a > b ? a : b; }

void select_lambda_plan(const select_req *req, size_t b, size_t sets, scant_plan *plan) {
    enum { SPARE = 4096 };
    unsigned threads = req->ctx->threads;
    const select_pool *pool = &req->pool;
    la_lambda_task task = {
        .n_base = pool->labelled, .n_open = pool->available, .b = b, .sets = sets};
    widest w;
    widest_make(req, &w);
    task.kernel = &w.kernel;
    size_t width = la_view_width(&w.view);
    size_t basis = la_size_mul(la_size_mul(width, width + 1), sizeof(double));
    size_t settle = la_lambda_settle_memory(&task, threads);
    size_t engine = la_size_add(la_lambda_memory(&task, threads), basis);
    engine = la_size_add(engine, la_lambda_best_memory(task.sets));
    /* one after the other */
    size_t most = greater(select_features_memory(pool, threads), greater(settle, engine));
    most = la_size_add(most, scant__alloc_cost((pool->labelled + 1) * sizeof(size_t)));
    plan->memory = la_size_add(plan->memory, la_size_add(most, SPARE));
    plan->block_rows = pool->n < LA_BLOCK ? pool->n : LA_BLOCK;
    plan->blocks = (pool->n + plan->block_rows - 1) / plan->block_rows;
    plan->passes = 3; /* the check, the rank, the sets */
}

size_t select_lambda_another(const select_req *req, size_t more, size_t open) {
    la_lambda_task task = {
        .n_base = req->pool.labelled + more, .n_open = open, .b = 1, .sets = open};
    widest w;
    widest_make(req, &w);
    task.kernel = &w.kernel;
    return la_size_add(la_lambda_memory(&task, req->ctx->threads),
                       la_lambda_best_memory(open));
}

/* ---- the call ---------------------------------------------------------------------- */

scant_status select_lambda_start(select_req *req, const size_t *open, size_t b,
                                 size_t sets, select_lambda *s) {
    double bias = select_option(req, "bias");
    bool unit = select_option(req, "normalise") != 0;
    *s = (select_lambda){0};
    TRY(select_features_scan(req->arena, &req->pool, unit, &s->features));
    select_features *f = &s->features;
    if (bias > 0 && f->scale > 1) f->scale = 1; /* next to the 1, they do not count */
    select_feature_rows(f, &s->h);
    s->view = (la_view){.h = &s->h, .bias = bias * f->scale, .m = req->pool.n};
    la_kernel_of_features(&s->view, &s->kernel);
    s->base = scant__arena_alloc(req->arena, req->pool.labelled + 1, sizeof *s->base);
    if (!s->base) return SCANT_ENOMEM;
    select_pool_list_labelled(&req->pool, s->base);
    s->task = (la_lambda_task){.kernel = &s->kernel,
                               .open = open,
                               .n_open = req->pool.available,
                               .n_base = req->pool.labelled,
                               .b = b,
                               .sets = sets};
    TRY(la_lambda_settle(req->arena, &s->task, s->base, &s->span, FINDING_RANK));
    return la_lambda_create(req->arena, &s->task, &s->engine);
}

void select_lambda_figures(select_req *req, const select_lambda *s) {
    double cap = la_lambda_cap(s->engine);
    select_figure(req, "rank", (double)s->span.rank);
    select_figure(req, "evaluated", (double)la_lambda_evaluated(s->engine));
    if (isfinite(cap)) select_figure(req, "cap", select_lambda_value(s, cap));
}
