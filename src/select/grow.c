/* SPDX-License-Identifier: Apache-2.0 */
#include "select/grow.h"

static const la_rows *residuals(const select_req *req, la_rows *a) {
    if (!req->pool.probs) return NULL;
    select_residual_rows(&req->pool, a);
    return a;
}

enum { SPARE = 16 << 10 }; /* the arena's and the allocator's, over all blocks */

/* Rows in a worker's scratch: all that may come at once, fewer where memory is short. */
void select_grow_plan(const select_req *req, size_t centres, scant_plan *plan) {
    select_features f;
    la_rows h, a_rows;
    select_features_guess(&req->pool, select_option(req, "normalise") != 0, &f);
    select_feature_rows(&f, &h);
    const la_rows *a = residuals(req, &a_rows);
    unsigned threads = req->ctx->threads;
    size_t check = select_features_memory(&req->pool, threads);
    size_t rows = LA_GROUP, cap = req->ctx->cap, set;
    plan->memory += la_space_memory(&h, a, centres) + SPARE;
    while ((set = la_growset_memory(&h, a, rows, threads)),
           rows > 1 && (plan->memory > cap || set > cap - plan->memory))
        rows /= 2;
    plan->block_rows = rows;
    plan->blocks = (req->pool.n + rows - 1) / rows;
    plan->memory += set > check ? set : check; /* one ends before the other starts */
    plan->passes = 2;
}

scant_status select_grow_init(select_req *req, size_t centres, double bias,
                              select_grow *grow) {
    bool unit = select_option(req, "normalise") != 0;
    TRY(select_features_scan(req->arena, &req->pool, unit, &grow->features));
    select_feature_rows(&grow->features, &grow->h);
    const la_rows *a = residuals(req, &grow->a);
    double scale = grow->features.scale;
    TRY(la_space_init(&grow->space, req->arena, &grow->h, a, bias * scale * scale,
                      req->plan.block_rows, centres));
    return la_growset_init(&grow->set, req->arena, &grow->space);
}

void select_grow_exclude(const select_req *req, select_grow *grow) {
    bool mask[SELECT_MASK];
    for (size_t first = 0; first < req->pool.n; first += SELECT_MASK) {
        size_t rest = req->pool.n - first,
               count = rest < SELECT_MASK ? rest : SELECT_MASK;
        select_pool_mask(&req->pool, first, count, mask);
        for (size_t i = 0; i < count; i++)
            if (!mask[i]) la_growset_exclude(&grow->set, first + i);
    }
}
