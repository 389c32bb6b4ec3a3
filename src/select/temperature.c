/* SPDX-License-Identifier: Apache-2.0
 *
 * Temperature scaling (Guo, Pleiss, Sun & Weinberger, "On calibration of modern neural
 * networks", 2017): p~ = softmax(z / T) with T of the greatest likelihood of the labels
 * of rows that were not trained on. In s = 1/T the loss is convex: Newton's steps within
 * a bracket, bisection where one leaves it. The published code runs L-BFGS on T instead;
 * the minimum is the same.
 *
 * Where the likelihood grows to an end of the bracket (all rows right and separable, or
 * the logits no better than chance) the end is taken, with a warning.
 */
#include <math.h>

#include "data/array.h"
#include "select/evidence.h"

static const double COLDEST = 1e-2, HOTTEST = 1e2; /* bounds of T, and of 1/T */

typedef struct fit {
    const select_pool *pool;
    size_t k;    /* rows to fit to */
    double *row; /* C logits */
} fit;

/* The loss' first two derivatives in s, means over rows. */
static void slope(const fit *f, double s, double *first, double *second) {
    const select_pool *pool = f->pool;
    size_t c = pool->c;
    *first = *second = 0;
    for (size_t i = 0; i < f->k; i++) {
        int64_t at;
        scant__array_read_i64(pool->calibrate_on, i, 1, &at);
        size_t y = (size_t)select_pool_label(pool, (size_t)at);
        scant__array_read_f64(pool->calibrated, (size_t)at * c, c, f->row);
        double top = f->row[la_argmax(f->row, c)], sum = 0, mean = 0, square = 0;
        for (size_t j = 0; j < c; j++) {
            double z = f->row[j] - top, p = exp(s * z);
            sum += p, mean += p * z, square += p * z * z;
        }
        mean /= sum;
        *first += mean - (f->row[y] - top);
        *second += fmax(0, square / sum - mean * mean);
    }
    *first /= (double)f->k, *second /= (double)f->k;
}

static double solve(const fit *f) {
    enum { STEPS = 200 };
    double low = COLDEST, high = HOTTEST, s = 1, first, second;
    slope(f, low, &first, &second);
    if (first >= 0) return low;
    slope(f, high, &first, &second);
    if (first <= 0) return high;
    for (int i = 0; i < STEPS; i++) {
        slope(f, s, &first, &second);
        *(first > 0 ? &high : &low) = s;
        double next = second > 0 ? s - first / second : low;
        if (!(next > low && next < high)) next = (low + high) / 2;
        double step = fabs(next - s);
        s = next;
        if (first == 0 || step < 1e-12 * s) break;
    }
    return s;
}

static scant_status check_rows(scant_ctx *ctx, const select_pool *pool, size_t k) {
    const char *name = scant_array_name(pool->calibrate_on);
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

scant_status select_temperature_fit(scant__arena *arena, select_pool *pool) {
    scant_ctx *ctx = arena->ctx;
    if (!pool->calibrate_on) return SCANT_OK;
    fit f = {.pool = pool, .k = scant_array_shape(pool->calibrate_on)[0]};
    TRY(check_rows(ctx, pool, f.k));
    f.row = scant__arena_alloc(arena, pool->c, sizeof *f.row);
    if (!f.row) return SCANT_ENOMEM;
    double s = solve(&f);
    pool->temperature = 1 / s;
    if (s == COLDEST || s == HOTTEST)
        scant__warn(ctx,
                    "the temperature went to the end of its range, %g: the rows of %s do "
                    "not settle it",
                    pool->temperature, scant_array_name(pool->calibrate_on));
    return SCANT_OK;
}
