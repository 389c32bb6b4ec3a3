/* SPDX-License-Identifier: Apache-2.0 */
#include "select/grow.h"

/* The residual rows; NULL: distances are Euclidean. *scale: factor of the residuals. */
static const la_rows *residuals(const select_req *req, la_rows *a, double *scale) {
    *scale = req->pool.probs ? select_residual_rows(&req->pool, a) : 1;
    return req->pool.probs ? a : NULL;
}

enum { SPARE = 16 << 10 }; /* overhead of arena and allocator, all blocks together */

/* Memory of select_grow_init() for features of f's type and scale, with `rows` rows in a
 * worker's scratch. */
static size_t grow_memory(const select_req *req, const select_features *f, size_t centres,
                          size_t rows) {
    la_rows h, a_rows;
    double scale;
    select_feature_rows(f, &h);
    const la_rows *a = residuals(req, &a_rows, &scale);
    unsigned threads = req->ctx->threads;
    size_t set = la_growset_memory(&h, a, rows, threads);
    size_t check = select_features_memory(&req->pool, threads);
    /* the check ends before the set starts */
    return la_space_memory(&h, a, centres) + SPARE + (set > check ? set : check);
}

/* Plans scratch for a full group of rows, or for fewer if memory is short. */
static void plan_rows(const select_req *req, const select_features *f, size_t centres,
                      scant_plan *plan) {
    size_t rows = LA_GROUP, all;
    while ((all = plan->memory + grow_memory(req, f, centres, rows)) > req->ctx->cap &&
           rows > 1)
        rows /= 2;
    plan->memory = all;
    plan->block_rows = rows;
    plan->blocks = (req->pool.n + rows - 1) / rows;
}

void select_grow_plan(const select_req *req, size_t centres, scant_plan *plan) {
    select_features guess;
    select_features_guess(&req->pool, select_option(req, "normalise") != 0, &guess);
    plan_rows(req, &guess, centres, plan);
    plan->passes = 2;
}

/* Plans again once the type is known: features of extreme size need double. */
static scant_status plan_again(select_req *req, const select_features *f,
                               size_t centres) {
    select_features guess;
    scant_plan *plan = &req->plan;
    select_features_guess(&req->pool, f->normalise, &guess);
    if (guess.type == f->type && guess.scale == f->scale) return SCANT_OK;
    plan->memory -= grow_memory(req, &guess, centres, plan->block_rows);
    plan_rows(req, f, centres, plan);
    return select_check_plan(req, plan);
}

scant_status select_grow_init(select_req *req, size_t centres, double bias,
                              select_grow *grow) {
    bool unit = select_option(req, "normalise") != 0;
    select_features *f = &grow->features;
    TRY(select_features_scan(req->arena, &req->pool, unit, f));
    bias = select_features_constant(f, bias);
    TRY(plan_again(req, f, centres));
    select_feature_rows(f, &grow->h);
    const la_rows *a = residuals(req, &grow->a, &grow->scale);
    grow->scale *= f->scale;
    TRY(la_space_init(&grow->space, req->arena, &grow->h, a, bias * bias,
                      req->plan.block_rows, centres));
    return la_growset_init(&grow->set, req->arena, &grow->space);
}

static void exclude(void *self, size_t row) { la_growset_exclude(self, row); }

void select_grow_exclude(const select_req *req, select_grow *grow) {
    select_pool_visit(&req->pool, select_pool_mask, false, exclude, &grow->set);
}
