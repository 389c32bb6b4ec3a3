/* SPDX-License-Identifier: Apache-2.0
 *
 * Terms of sums over draws are rounded to a grid (la_grid), so that sums do not depend on
 * the order of draws; the kernels do the same for sums over classes.
 */
#include "select/posterior_stats.h"

#include <math.h>

#include "data/array.h"

/* Relative error of entropies, and absolute error from the rounding of the mean. */
static const double ROUNDING = 2e-15, MEAN_ROUNDING = 4e-16;

select_pool select_draws_view(const select_pool *pool) {
    select_pool view = *pool;
    view.probs = pool->draws;
    view.softmax = false;
    return view;
}

const void *select_sample_rows(const select_pool *view, size_t sample, size_t first,
                               size_t count, void *room) {
    size_t c = view->c, from = (sample * view->n + first) * c;
    la_type type = select_probs_type(view);
    if (select_probs_direct(view))
        return view->probs->data + from * la_kernels_for(type)->size;
    if (type == LA_F32)
        scant__array_read_f32(view->probs, from, count * c, room);
    else
        scant__array_read_f64(view->probs, from, count * c, room);
    return room;
}

void select_draws_get(const select_pool *pool, size_t first, size_t count, double *out) {
    size_t c = pool->c;
    for (size_t s = 0; s < pool->m; s++)
        for (size_t i = 0; i < count; i++)
            scant__array_read_f64(pool->draws, (s * pool->n + first + i) * c, c,
                                  out + (i * pool->m + s) * c);
}

/* Buffers of a worker: the result, then partial sums. */
typedef struct buffers {
    select_posterior out;
    la_rowstat *stat;
    double *fine, *within_fine, *raw;
} buffers;

size_t select_posterior_room(const select_pool *pool, size_t rows) {
    return rows * ((3 * pool->c + 4) * sizeof(double) + sizeof(la_rowstat));
}

static buffers lay_out(const select_pool *pool, size_t count, void *room) {
    buffers d = {.stat = room};
    d.out.mean = (double *)(void *)(d.stat + count);
    d.fine = d.out.mean + count * pool->c;
    d.raw = d.fine + count * pool->c;
    d.out.entropy = d.raw + count * pool->c;
    d.out.within = d.out.entropy + count;
    d.out.information = d.out.within + count;
    d.within_fine = d.out.information + count;
    for (size_t i = 0; i < 2 * count * pool->c; i++) d.out.mean[i] = 0;
    for (size_t i = 0; i < count; i++) d.out.within[i] = d.within_fine[i] = 0;
    return d;
}

static double difference(double entropy, double within) {
    double information = entropy - within;
    return information > ROUNDING * entropy + MEAN_ROUNDING ? information : 0;
}

scant_status select_posterior_read(const select_pool *pool, size_t first, size_t count,
                                   bool disagreement, void *room, select_posterior *out,
                                   scant__fault *fault) {
    size_t m = pool->m, c = pool->c, size = count * c;
    const select_pool view = select_draws_view(pool);
    const la_kernels *k = la_kernels_for(select_probs_type(&view));
    /* a probability is at most 1.001, an entropy slightly above ln c at most */
    double grid = la_grid(1.01 * (double)m);
    double entropy_grid = la_grid((log((double)c) + 1) * (double)m);
    buffers d = lay_out(pool, count, room);
    for (size_t s = 0; s < m; s++) {
        select_probs_block block;
        TRY(select_probs_read(&view, SELECT_TOP, s * pool->n + first, count, d.raw,
                              d.stat, &block, fault));
        k->gather(block.rows, size, grid, d.out.mean, d.fine);
        for (size_t i = 0; i < count; i++)
            d.out.off = fmax(d.out.off, fabs(d.stat[i].sum - 1));
        if (!disagreement) continue;
        k->exact_entropy(block.rows, count, c, d.out.entropy);
        for (size_t i = 0; i < count; i++) {
            double h = d.out.entropy[i], part = (h + entropy_grid) - entropy_grid;
            d.out.within[i] += part;
            d.within_fine[i] += h - part;
        }
    }
    for (size_t i = 0; i < size; i++)
        d.out.mean[i] = (d.out.mean[i] + d.fine[i]) / (double)m;
    la_kernels_for(LA_F64)->exact_entropy(d.out.mean, count, c, d.out.entropy);
    for (size_t i = 0; i < count; i++) {
        d.out.within[i] = (d.out.within[i] + d.within_fine[i]) / (double)m;
        d.out.information[i] = difference(d.out.entropy[i], d.out.within[i]);
    }
    *out = d.out;
    if (!disagreement) out->within = out->information = NULL;
    return SCANT_OK;
}
