/* SPDX-License-Identifier: Apache-2.0
 *
 * Temperature scaling (Guo, Pleiss, Sun & Weinberger, "On calibration of modern neural
 * networks", 2017): p~ = softmax(z / T), where T maximises the likelihood of the labels
 * of held-out rows. The loss is convex in s = 1/T; Newton steps minimise it within a
 * bracket, with bisection if a step leaves the bracket. The published code runs L-BFGS on
 * T instead; the minimum is the same.
 *
 * If the likelihood grows up to an end of the bracket (all rows correct and separable, or
 * logits no better than chance), that end is used, with a warning.
 */
#include <math.h>

#include "core/parfor.h"
#include "data/array.h"
#include "linalg/newton.h"
#include "select/pool.h"

static const double LEAST = 1e-2, MOST = 1e2; /* bounds of s, and of T */

enum { ROWS = 256 }; /* rows per block */

typedef struct fit {
    scant_ctx *ctx;
    const select_pool *pool;
    size_t k;       /* number of rows to fit to */
    size_t blocks;  /* number of blocks */
    double s;       /* 1/T at which derivatives are computed */
    la_slope *part; /* derivatives in s, summed over the rows of each block */
    double *rows;   /* C logits per worker */
} fit;

static scant_status slope_of_block(void *arg, size_t block, unsigned worker,
                                   scant__fault *fault) {
    (void)fault;
    const fit *f = arg;
    const select_pool *pool = f->pool;
    size_t c = pool->c, end = size_min((block + 1) * ROWS, f->k);
    double *row = f->rows + worker * c;
    la_slope sum = {0};
    for (size_t i = block * ROWS; i < end; i++) {
        int64_t at;
        scant__array_read_i64(pool->calibrate_on, i, 1, &at);
        size_t y = (size_t)select_pool_label(pool, (size_t)at);
        scant__array_read_f64(pool->calibrated, (size_t)at * c, c, row);
        double top = row[la_argmax(row, c)], total = 0, mean = 0, square = 0;
        for (size_t j = 0; j < c; j++) {
            double z = row[j] - top, p = exp(f->s * z);
            total += p, mean += p * z, square += p * z * z;
        }
        mean /= total;
        sum.first += mean - (row[y] - top);
        sum.second += fmax(0, square / total - mean * mean);
    }
    f->part[block] = sum;
    return SCANT_OK;
}

static scant_status slope_at(void *arg, double s, la_slope *out) {
    fit *f = arg;
    f->s = s;
    TRY(scant__parfor(f->ctx, "fitting the temperature", f->blocks, slope_of_block, f));
    *out = (la_slope){0};
    for (size_t i = 0; i < f->blocks; i++) {
        out->first += f->part[i].first;
        out->second += f->part[i].second;
    }
    return SCANT_OK;
}

scant_status select_temperature_check(scant_ctx *ctx, const select_pool *pool) {
    if (!pool->calibrate_on) return SCANT_OK;
    const char *name = scant_array_name(pool->calibrate_on);
    size_t k = scant_array_shape(pool->calibrate_on)[0];
    for (size_t i = 0; i < k; i++) {
        int64_t row;
        scant__array_read_i64(pool->calibrate_on, i, 1, &row);
        if (row < 0 || (uint64_t)row >= pool->n)
            return scant__fail(ctx, SCANT_EINPUT,
                               "%s: row %zu is %lld, expected a row of the pool, which "
                               "has %zu (counted from 0)",
                               name, i, (long long)row, pool->n);
        if (select_pool_label(pool, (size_t)row) < 0)
            return scant__fail(ctx, SCANT_EINPUT,
                               "%s: row %zu lists row %lld, which has no label to fit "
                               "the temperature to",
                               name, i, (long long)row);
    }
    if (k == 0)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: lists no rows to fit the temperature to", name);
    return SCANT_OK;
}

static size_t blocks_of(size_t k) { return k / ROWS + (k % ROWS != 0); }

size_t select_temperature_memory(const select_pool *pool, unsigned threads) {
    if (!pool->calibrate_on) return 0;
    size_t parts =
        size_mul(blocks_of(scant_array_shape(pool->calibrate_on)[0]), sizeof(la_slope));
    size_t rows = size_mul(size_mul(threads, pool->c), sizeof(double));
    return size_add(scant__alloc_cost(parts), scant__alloc_cost(rows));
}

scant_status select_temperature_fit(scant__arena *arena, select_pool *pool) {
    scant_ctx *ctx = arena->ctx;
    double s;
    if (!pool->calibrate_on) return SCANT_OK;
    fit f = {.ctx = ctx, .pool = pool, .k = scant_array_shape(pool->calibrate_on)[0]};
    TRY(select_temperature_check(ctx, pool));
    f.blocks = blocks_of(f.k);
    f.part = TRY_NEW(arena, la_slope, f.blocks);
    f.rows = TRY_NEW(arena, double, size_mul(ctx->threads, pool->c));
    TRY(la_convex_minimum(slope_at, &f, LEAST, MOST, 1, &s));
    pool->temperature = 1 / s;
    if (s == LEAST || s == MOST)
        scant__warn(ctx,
                    "the fitted temperature is at the end of its range, %g: the rows of "
                    "%s do not determine it",
                    pool->temperature, scant_array_name(pool->calibrate_on));
    return SCANT_OK;
}
