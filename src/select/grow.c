/* SPDX-License-Identifier: Apache-2.0 */
#include "select/grow.h"

/* Returns the residual rows, or NULL if distances are Euclidean. *scale: factor of the
 * residuals. */
static const la_rows *residuals(const scant_selection *sel, la_rows *a, double *scale) {
    *scale = sel->pool.probs ? select_residual_rows(&sel->pool, a) : 1;
    return sel->pool.probs ? a : NULL;
}

enum { SPARE = 16 << 10 }; /* overhead of arena and allocator, all blocks together */

/* Memory of select_grow_init() for features of f's type and scale, with `rows` rows in a
 * worker's scratch. */
static size_t grow_memory(const scant_selection *sel, const select_features *f,
                          size_t centres, size_t rows) {
    la_rows h, a_rows;
    double scale;
    select_feature_rows(f, &h);
    const la_rows *a = residuals(sel, &a_rows, &scale);
    unsigned threads = sel->ctx->threads;
    size_t set = la_growset_memory(&h, a, rows, threads);
    size_t check = select_features_memory(&sel->pool, threads);
    /* the check ends before the set starts */
    return la_space_memory(&h, a, centres) + SPARE + (set > check ? set : check);
}

/* Plans scratch for a full group of rows, or for fewer if memory is short. */
static void plan_rows(const scant_selection *sel, const select_features *f,
                      size_t centres, scant_plan *plan) {
    size_t rows = LA_GROUP, all;
    while ((all = plan->memory + grow_memory(sel, f, centres, rows)) > sel->ctx->cap &&
           rows > 1)
        rows /= 2;
    plan->memory = all;
    plan->block_rows = rows;
    plan->blocks = (sel->pool.n + rows - 1) / rows;
}

void select_grow_plan(const scant_selection *sel, size_t centres, scant_plan *plan) {
    select_features guess;
    select_features_guess(&sel->pool, select_option(sel, "normalise") != 0, &guess);
    plan_rows(sel, &guess, centres, plan);
    plan->passes = 2;
}

/* Plans again once the type is known: features of extreme size need double. */
static scant_status plan_again(scant_selection *sel, const select_features *f,
                               size_t centres) {
    select_features guess;
    scant_plan *plan = &sel->plan;
    select_features_guess(&sel->pool, f->normalise, &guess);
    if (guess.type == f->type && guess.scale == f->scale) return SCANT_OK;
    plan->memory -= grow_memory(sel, &guess, centres, plan->block_rows);
    plan_rows(sel, f, centres, plan);
    return select_check_plan(sel, plan);
}

scant_status select_grow_init(scant_selection *sel, size_t centres, double bias,
                              select_grow *grow) {
    bool unit = select_option(sel, "normalise") != 0;
    select_features *f = &grow->features;
    TRY(select_features_scan(sel->arena, &sel->pool, unit, f));
    bias = select_features_constant(f, bias);
    TRY(plan_again(sel, f, centres));
    select_feature_rows(f, &grow->h);
    const la_rows *a = residuals(sel, &grow->a, &grow->scale);
    grow->scale *= f->scale;
    TRY(la_space_init(&grow->space, sel->arena, &grow->h, a, bias * bias,
                      sel->plan.block_rows, centres));
    return la_growset_init(&grow->set, sel->arena, &grow->space);
}

static void exclude(void *self, size_t row) { la_growset_exclude(self, row); }

void select_grow_exclude(const scant_selection *sel, select_grow *grow) {
    select_pool_visit(&sel->pool, select_pool_mask, false, exclude, &grow->set);
}
