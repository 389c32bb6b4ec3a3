/* SPDX-License-Identifier: Apache-2.0 */
#include "select/grow.h"

/* Rows in a worker's scratch: all that may come at once, fewer where memory is short. */
static size_t group_rows(const select_req *req, const la_rows *h, const la_rows *a,
                         size_t used) {
    size_t group = LA_GROUP, cap = req->ctx->cap, budget = cap > used ? cap - used : 0;
    while (group > 1 && la_growset_memory(h, a, group, req->ctx->threads) > budget)
        group /= 2;
    return group;
}

static const la_rows *residuals(const select_req *req, la_rows *a) {
    if (!req->pool.probs) return NULL;
    select_residual_rows(&req->pool, a);
    return a;
}

enum { SPARE = 16 << 10 }; /* the arena's and the allocator's, over all blocks */

void select_grow_plan(const select_req *req, size_t centres, scant_plan *plan) {
    select_features f;
    la_rows h, a_rows;
    select_features_guess(&req->pool, select_option(req, "normalise") != 0, &f);
    select_feature_rows(&f, &h);
    const la_rows *a = residuals(req, &a_rows);
    size_t check = select_features_memory(&req->pool, req->ctx->threads);
    plan->memory += la_space_memory(&h, a, centres) + SPARE;
    plan->block_rows = group_rows(req, &h, a, plan->memory);
    plan->blocks = (req->pool.n + plan->block_rows - 1) / plan->block_rows;
    size_t set = la_growset_memory(&h, a, plan->block_rows, req->ctx->threads);
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
    size_t used = req->ctx->used + la_space_memory(&grow->h, a, centres) + SPARE;
    size_t group = group_rows(req, &grow->h, a, used);
    TRY(la_space_init(&grow->space, req->arena, &grow->h, a, bias * scale * scale, group,
                      centres));
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
