/* SPDX-License-Identifier: Apache-2.0
 *
 * Inner products of all rows with one row cost n (J C + d+) multiply-adds: each is the
 * product of the factors' inner products. The sum of all rows, and its inner products
 * with all rows, are computed once and cost 2 n J C d+.
 */
#include "select/fisher.h"

#include <math.h>

#include "data/array.h"
#include "select/frank_wolfe.h"

static void fetch(const void *self, size_t first, size_t count, void *out) {
    const select_fisher *f = self;
    const scant_array *draws = f->pool->draws;
    size_t c = f->pool->c, n = f->pool->n, width = f->draws * c;
    double *to = out, norm = 1 / sqrt((double)f->draws);
    for (size_t i = 0; i < count; i++, to += width) {
        const double *mean = f->mean + (first + i) * c;
        size_t row = f->rows[first + i];
        for (size_t s = 0; s < f->draws; s++) {
            double *at = to + s * c;
            scant__array_read_f64(draws, (s * n + row) * c, c, at);
            for (size_t k = 0; k < c; k++)
                at[k] = norm * select_walk_difference(mean[k], at[k]);
        }
    }
}

void select_fisher_rows(const select_fisher *f, la_rows *out) {
    *out = (la_rows){
        .n = f->n, .d = f->draws * f->pool->c, .type = LA_F64, .fetch = fetch, .self = f};
}

/* ---- opening ---------------------------------------------------------------------- */

static void shape(const scant_selection *sel, select_fisher *f) {
    if (f->features.scale > 0x1p480) /* keep its square finite */
        f->features.scale = 0x1p480;
    double bias = select_features_constant(&f->features, select_option(sel, "bias"));
    f->scale = f->features.scale;
    select_feature_rows(&f->features, &f->h);
    f->h.n = f->n;
    if (f->n < sel->pool.n) f->h.list = f->rows;
    select_fisher_rows(f, &f->a);
    f->all = (la_view){.h = &f->h, .a = &f->a, .bias = bias, .m = f->n};
}

static size_t work_memory(const select_fisher *f, unsigned threads) {
    const la_view *v = &f->all;
    size_t each[] = {la_kron_norms_memory(v, threads), la_kron_sum_memory(v, threads),
                     la_kron_dots_memory(v, threads),
                     la_kron_along_memory(v, 1, threads)};
    size_t most = 0;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        most = each[i] > most ? each[i] : most;
    return most;
}

/* Sets the largest possible sizes, before features are read. */
static void guess(const scant_selection *sel, size_t draws, select_fisher *f) {
    static size_t no_row;
    *f = (select_fisher){
        .pool = &sel->pool, .n = sel->pool.available, .draws = draws, .rows = &no_row};
    select_features_guess(&sel->pool, false, &f->features);
    shape(sel, f);
    f->h.base = NULL, f->h.type = LA_F64;
}

size_t select_fisher_memory(const scant_selection *sel, size_t draws) {
    enum { SPARE = 4096 };
    unsigned threads = sel->ctx->threads;
    select_fisher f;
    guess(sel, draws, &f);
    size_t row = size_mul(size_add(sel->pool.c, 3), sizeof(double));
    size_t all = size_add(size_mul(f.n, row), work_memory(&f, threads));
    return size_add(all, size_add(select_features_memory(&sel->pool, threads), SPARE));
}

size_t select_fisher_width(const scant_selection *sel, size_t draws) {
    select_fisher f;
    guess(sel, draws, &f);
    return size_mul(la_view_width(&f.all), f.a.d);
}

scant_status select_fisher_open(const scant_selection *sel, const size_t *rows,
                                size_t draws, select_fisher *f) {
    scant__arena *arena = sel->arena;
    *f = (select_fisher){
        .pool = &sel->pool, .n = sel->pool.available, .draws = draws, .rows = rows};
    TRY(select_features_scan(arena, &sel->pool, false, &f->features));
    shape(sel, f);
    f->mean = TRY_NEW(arena, double, size_mul(sel->pool.c, f->n));
    f->goal = TRY_ZERO(arena, double, size_mul(3, f->n));
    f->fit = f->goal + f->n, f->row = f->fit + f->n;
    return la_work_init(&f->work, arena, work_memory(f, sel->ctx->threads));
}

/* ---- products --------------------------------------------------------------------- */

scant_status select_fisher_measure(select_fisher *f, double *size, double *goal) {
    TRY(la_kron_norms(&f->all, size, &f->work));
    f->work.phase = "summing gradients";
    TRY(la_kron_sum(&f->all, NULL, goal, &f->work));
    f->work.phase = "comparing gradients";
    TRY(la_kron_dots(&f->all, goal, f->goal, &f->work));
    f->work.phase = NULL;
    return SCANT_OK;
}

scant_status select_fisher_row(select_fisher *f, size_t place, double *out) {
    la_view one = f->all;
    double times = 1;
    one.rows = &place, one.m = 1;
    TRY(la_kron_sum(&one, NULL, out, &f->work));
    return la_kron_along(&f->all, &place, 1, &times, f->row, &f->work);
}

void select_fisher_step(select_fisher *f, double stride, double add) {
    for (size_t i = 0; i < f->n; i++)
        f->fit[i] = (1 - stride) * f->fit[i] + add * f->row[i];
}
