/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and checks probabilities and logits, and provides residuals p - e_y.
 */
#include <math.h>
#include <stdio.h>

#include "data/array.h"
#include "select/pool.h"

/* Tolerance of a row's sum (documented as 1e-3, plus rounding in double), and a stricter
 * one within which the quick sum is precise enough. */
static const double SUM_SLACK = 1e-3 + 1e-12, SURELY = 0.9e-3;

la_type select_probs_type(const select_pool *pool) {
    return pool->softmax || scant_array_dtype(pool->probs) == SCANT_F64 ? LA_F64 : LA_F32;
}

bool select_probs_direct(const select_pool *pool) {
    return !pool->softmax &&
           scant__array_is_direct(
               pool->probs, select_probs_type(pool) == LA_F64 ? SCANT_F64 : SCANT_F32);
}

/* Checks a row whose quick sum is not within the stricter tolerance: sums it in double
 * and fails if it is wrong. */
static scant_status check_row(const select_pool *pool, size_t row, scant__fault *fault) {
    const char *name = scant_array_name(pool->probs);
    char where[64];
    if (pool->probs == pool->draws)
        snprintf(where, sizeof where, "draw %zu, row %zu", row / pool->n, row % pool->n);
    else
        snprintf(where, sizeof where, "row %zu", row);
    double sum = 0;
    for (size_t k = 0; k < pool->c; k++) {
        double x;
        scant__array_read_f64(pool->probs, row * pool->c + k, 1, &x);
        if (!isfinite(x))
            return scant__fault_set(fault, SCANT_EINPUT,
                                    "%s: %s, column %zu is %g, expected a finite number",
                                    name, where, k, x);
        if (x < 0 && !pool->softmax)
            return scant__fault_set(
                fault, SCANT_EINPUT,
                "%s: %s, column %zu is %g; a probability is at least 0", name, where, k,
                x);
        sum += x;
    }
    if (pool->softmax || fabs(sum - 1) <= SUM_SLACK) return SCANT_OK;
    return scant__fault_set(fault, SCANT_EINPUT,
                            "%s: %s sums to %.9g, expected 1 within 0.001", name, where,
                            sum);
}

static bool all_finite(const double *x, size_t count) {
    double probe = 0; /* becomes NaN if any number is not finite */
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

static void read_probs(const scant_array *array, bool logits, double temperature,
                       size_t row, size_t c, double *out) {
    scant__array_read_f64(array, row * c, c, out);
    if (!logits) return;
    if (temperature > 0) { /* large differences to the maximum underflow to 0 */
        const double far = -1e6;
        double top = out[la_argmax(out, c)];
        for (size_t k = 0; k < c; k++) out[k] = fmax((out[k] - top) / temperature, far);
    }
    la_softmax(out, 1, c);
}

static void probs_of(const select_pool *pool, size_t row, double *out) {
    read_probs(pool->probs, pool->softmax, 0, row, pool->c, out);
}

/* Residuals of a confident row are so small that their squares underflow in float; hence
 * the factor. */
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

/* p -= e_y. After a softmax, p_y - 1 is computed as minus the sum of the others, to avoid
 * cancellation. */
static void subtract_label(const select_pool *pool, size_t y, double *p) {
    if (!pool->softmax) {
        p[y] -= 1;
        return;
    }
    p[y] = 0;
    for (size_t k = 0; k < pool->c; k++)
        if (k != y) p[y] -= p[k];
}

static void residual_f64(const select_pool *pool, size_t row, double *out) {
    probs_of(pool, row, out);
    subtract_label(pool, la_argmax(out, pool->c), out);
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

/* ---- checking all probabilities ------------------------------------------------- */

enum { CHECK_BYTES = 1 << 16 };

static size_t check_rows(const select_pool *pool) {
    return CHECK_BYTES / (pool->c * sizeof(double)) + 1;
}

static size_t check_room(const select_pool *pool) {
    return check_rows(pool) * (sizeof(la_rowstat) + pool->c * sizeof(double));
}

size_t select_probs_check_memory(const select_pool *pool, unsigned threads) {
    return scant__alloc_cost(threads * check_room(pool)) + 128;
}

typedef struct check_job {
    const select_pool *view; /* a view whose probs are checked */
    size_t total, rows;
    unsigned char *room;
} check_job;

static scant_status check_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    const check_job *job = arg;
    select_probs_block out;
    size_t first = block * job->rows, rest = job->total - first;
    la_rowstat *stat = (la_rowstat *)(void *)(job->room + worker * check_room(job->view));
    return select_probs_read(job->view, SELECT_TOP, first,
                             rest < job->rows ? rest : job->rows, stat + job->rows, stat,
                             &out, fault);
}

static scant_status check_all(scant_ctx *ctx, const select_pool *pool,
                              const scant_array *what, bool logits, size_t total,
                              unsigned char *room) {
    select_pool view = *pool;
    if (!what) return SCANT_OK;
    view.probs = what, view.softmax = logits;
    check_job job = {&view, total, check_rows(pool), room};
    return scant__parfor(ctx, "checking probabilities", (total + job.rows - 1) / job.rows,
                         check_block, &job);
}

scant_status select_probs_check(scant__arena *arena, const select_pool *pool) {
    scant_ctx *ctx = arena->ctx;
    AUTO(scant__arena_end) scant__arena room = {.ctx = ctx};
    unsigned char *bytes =
        TRY_NEW(&room, unsigned char, size_mul(ctx->threads, check_room(pool)));
    TRY(check_all(ctx, pool, pool->probs, pool->softmax, pool->n, bytes));
    if (pool->calibrated != pool->probs)
        TRY(check_all(ctx, pool, pool->calibrated, pool->temperature > 0, pool->n,
                      bytes));
    return check_all(ctx, pool, pool->draws, false, pool->m * pool->n, bytes);
}

/* ---- rows of probabilities ------------------------------------------------------- */

static void calibrated_of(const select_pool *pool, size_t row, double *out) {
    read_probs(pool->calibrated, pool->temperature > 0, pool->temperature, row, pool->c,
               out);
}

static void label_residual_of(const select_pool *pool, size_t row, double *out) {
    probs_of(pool, row, out);
    int64_t label = select_pool_label(pool, row);
    subtract_label(pool, label >= 0 ? (size_t)label : la_argmax(out, pool->c), out);
}

#define PROB_FETCH(name, row_of)                                                         \
    static void name(const void *self, size_t first, size_t count, void *out) {          \
        const select_pool *pool = self;                                                  \
        for (size_t i = 0; i < count; i++)                                               \
            row_of(pool, first + i, (double *)out + i * pool->c);                        \
    }
PROB_FETCH(fetch_probs, probs_of)
PROB_FETCH(fetch_calibrated, calibrated_of)
PROB_FETCH(fetch_residual, label_residual_of)

void select_prob_rows(const select_pool *pool, select_prob_kind kind, la_rows *out) {
    static void (*const fetch[])(const void *, size_t, size_t, void *) = {
        [SELECT_PROBS] = fetch_probs,
        [SELECT_CALIBRATED] = fetch_calibrated,
        [SELECT_RESIDUAL] = fetch_residual,
    };
    *out = (la_rows){
        .n = pool->n, .d = pool->c, .type = LA_F64, .fetch = fetch[kind], .self = pool};
}
