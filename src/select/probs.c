/* SPDX-License-Identifier: Apache-2.0
 *
 * Probabilities and logits: read, checked, and as residuals p - e_y.
 */
#include <math.h>

#include "data/array.h"
#include "select/evidence.h"

/* The contract's slack and the rounding of a sum in double; and what of a quick sum
 * leaves no doubt. */
static const double SUM_SLACK = 1e-3 + 1e-12, SURELY = 0.9e-3;

la_type select_probs_type(const select_pool *pool) {
    return pool->softmax || scant_array_dtype(pool->probs) == SCANT_F64 ? LA_F64 : LA_F32;
}

bool select_probs_direct(const select_pool *pool) {
    return !pool->softmax &&
           scant__array_is_direct(
               pool->probs, select_probs_type(pool) == LA_F64 ? SCANT_F64 : SCANT_F32);
}

/* Looks closely at a row whose quick sum is not well within the slack: sums it in double,
 * and says what is wrong if anything is. */
static scant_status check_row(const select_pool *pool, size_t row, scant__fault *fault) {
    const char *name = scant_array_name(pool->probs);
    double sum = 0;
    for (size_t k = 0; k < pool->c; k++) {
        double x;
        scant__array_read_f64(pool->probs, row * pool->c + k, 1, &x);
        if (!isfinite(x))
            return scant__fault_set(fault, SCANT_EINPUT, "%s: row %zu, column %zu is %g",
                                    name, row, k, x);
        if (x < 0 && !pool->softmax)
            return scant__fault_set(
                fault, SCANT_EINPUT,
                "%s: row %zu, column %zu is %g; a probability is at least 0", name, row,
                k, x);
        sum += x;
    }
    if (pool->softmax || fabs(sum - 1) <= SUM_SLACK) return SCANT_OK;
    return scant__fault_set(fault, SCANT_EINPUT,
                            "%s: row %zu sums to %.9g, expected 1 within 0.001", name,
                            row, sum);
}

static bool all_finite(const double *x, size_t count) {
    double probe = 0; /* NaN as soon as one is not finite */
    for (size_t i = 0; i < count; i++) probe += x[i] * 0.0;
    return probe == 0;
}

scant_status select_probs_read(const select_pool *pool, select_measure measure,
                               size_t first, size_t count, void *rows, la_rowstat *stat,
                               select_probs_block *out, scant__fault *fault) {
    size_t c = pool->c;
    la_type type = select_probs_type(pool);
    const la_kernels *k = la_kernels_for(type);
    const void *p = rows;
    if (select_probs_direct(pool))
        p = pool->probs->data + first * c * k->size;
    else if (type == LA_F32)
        scant__array_read_f32(pool->probs, first * c, count * c, rows);
    else
        scant__array_read_f64(pool->probs, first * c, count * c, rows);
    if (pool->softmax) {
        for (size_t i = 0; i < count; i++)
            if (!all_finite((double *)rows + i * c, c))
                return check_row(pool, first + i, fault);
        la_softmax(rows, count, c);
    }
    (measure == SELECT_ENTROPY ? k->entropy : k->rowstat)(p, count, c, stat);
    for (size_t i = 0; i < count; i++)
        if (!(fabs(stat[i].sum - 1) <= SURELY && stat[i].min >= 0))
            TRY(check_row(pool, first + i, fault));
    *out = (select_probs_block){type, p, stat};
    return SCANT_OK;
}

/* Residuals of a confident row are so small that their squares vanish in float: all are
 * served times a power of two. */
static const double RESIDUAL_SCALE = 0x1p40;

static void residual_f32(const select_pool *pool, size_t row, float *out) {
    la_rowstat stat;
    size_t y = 0;
    scant__array_read_f32(pool->probs, row * pool->c, pool->c, out);
    la_kernels_for(LA_F32)->rowstat(out, 1, pool->c, &stat);
    while ((double)out[y] != stat.top) y++;
    out[y] -= 1;
    for (size_t k = 0; k < pool->c; k++) out[k] *= (float)RESIDUAL_SCALE;
}

static void residual_f64(const select_pool *pool, size_t row, double *out) {
    scant__array_read_f64(pool->probs, row * pool->c, pool->c, out);
    if (pool->softmax) la_softmax(out, 1, pool->c);
    size_t y = la_argmax(out, pool->c);
    if (pool->softmax) { /* p_y - 1 from the others: 1 - p_y itself has lost its digits */
        out[y] = 0;
        for (size_t k = 0; k < pool->c; k++)
            if (k != y) out[y] -= out[k];
    } else {
        out[y] -= 1;
    }
    for (size_t k = 0; k < pool->c; k++) out[k] *= RESIDUAL_SCALE;
}

static void residual_fetch(const void *self, size_t first, size_t count, void *out) {
    const select_pool *pool = self;
    la_type type = select_probs_type(pool);
    for (size_t i = 0; i < count; i++) {
        if (type == LA_F32)
            residual_f32(pool, first + i, (float *)out + i * pool->c);
        else
            residual_f64(pool, first + i, (double *)out + i * pool->c);
    }
}

double select_residual_rows(const select_pool *pool, la_rows *out) {
    *out = (la_rows){.n = pool->n,
                     .d = pool->c,
                     .type = select_probs_type(pool),
                     .fetch = residual_fetch,
                     .self = pool};
    return RESIDUAL_SCALE;
}
