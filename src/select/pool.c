/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes, labels and candidates of a pool.
 */
#include <stdio.h>
#include <string.h>

#include "data/array.h"
#include "select/evidence.h"

enum { READ = 4096 }; /* labels read at a time */

typedef struct rule {     /* what an array of the evidence must be */
    size_t ndim, rows_at; /* which dimension counts rows; ndim: none does */
    const char *shape, *types;
    bool (*type_ok)(scant_dtype dtype);
} rule;

static bool is_feature_type(scant_dtype dtype) {
    return scant__dtype_is_float(dtype) || dtype == SCANT_U8;
}

static const rule features_rule = {2, 0, "n x d", "float16, float32, float64 or uint8",
                                   is_feature_type};
static const rule probs_rule = {2, 0, "n x C", "float16, float32 or float64",
                                scant__dtype_is_float};
static const rule samples_rule = {3, 1, "m x n x C", "float16, float32 or float64",
                                  scant__dtype_is_float};
static const rule labels_rule = {1, 0, "n", "an integer type", scant__dtype_is_integer};
static const rule candidates_rule = {1, 1, "k", "an integer type",
                                     scant__dtype_is_integer};

static void shape_text(const scant_array *array, char *out, size_t size) {
    size_t used = 0, ndim = scant_array_ndim(array);
    const size_t *shape = scant_array_shape(array);
    out[0] = 0;
    for (size_t i = 0; i < ndim && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%zu", i ? " x " : "", shape[i]);
    if (ndim == 0) snprintf(out, size, "a single number");
}

static scant_status check_array(scant_ctx *ctx, const scant_array *array, const rule *r) {
    if (scant_array_ndim(array) != r->ndim) {
        char shape[200];
        shape_text(array, shape, sizeof shape);
        return scant__fail(ctx, SCANT_EINPUT, "%s: has the shape %s, expected %s",
                           scant_array_name(array), shape, r->shape);
    }
    if (!r->type_ok(scant_array_dtype(array)))
        return scant__fail(ctx, SCANT_EINPUT, "%s: holds %s, expected %s",
                           scant_array_name(array),
                           scant__dtype_name(scant_array_dtype(array)), r->types);
    return SCANT_OK;
}

/* Every array that counts rows must count the same. *first is the one that came before.
 */
static scant_status check_rows(scant_ctx *ctx, const scant_array *array, const rule *r,
                               const scant_array **first, size_t *n) {
    size_t rows = scant_array_shape(array)[r->rows_at];
    if (*first && rows != *n)
        return scant__fail(ctx, SCANT_EINPUT, "%s: has %zu rows, but %s has %zu",
                           scant_array_name(array), rows, scant_array_name(*first), *n);
    if (!*first) *first = array, *n = rows;
    return SCANT_OK;
}

static scant_status check_width(scant_ctx *ctx, const scant_array *array, size_t least,
                                const char *what, size_t *out) {
    *out = scant_array_shape(array)[1];
    if (*out < least)
        return scant__fail(ctx, SCANT_EINPUT, "%s: has %zu %s, expected at least %zu",
                           scant_array_name(array), *out, what, least);
    return SCANT_OK;
}

static scant_status missing(scant_ctx *ctx, const char *strategy, const char *what) {
    return scant__fail(ctx, SCANT_EUSAGE, "%s needs %s", strategy, what);
}

scant_status select_pool_open(scant_ctx *ctx, const scant_evidence *e, unsigned used,
                              const char *strategy, select_pool *pool) {
    *pool = (select_pool){.labels = e->labels, .candidates = e->candidates};
    if (e->probs && e->logits)
        return scant__fail(ctx, SCANT_EUSAGE, "probs and logits: give one of them");
    if (used & SCANT_FEATURES) {
        if (!e->features) return missing(ctx, strategy, "features");
        pool->features = e->features;
    }
    if (used & SCANT_PROBS) {
        pool->probs = e->probs ? e->probs : e->logits;
        if (!pool->probs) return missing(ctx, strategy, "probs (or logits)");
        pool->softmax = !e->probs;
    }
    bool all = used & SCANT_ROWS;
    const struct {
        const scant_array *array;
        const rule *rule;
        bool used;
    } inputs[] = {{e->features, &features_rule, pool->features || all},
                  {e->probs ? e->probs : e->logits, &probs_rule, pool->probs || all},
                  {e->calibrated, &probs_rule, all},
                  {e->gradients, &probs_rule, all},
                  {e->samples, &samples_rule, all},
                  {e->labels, &labels_rule, true}};
    const scant_array *first = NULL;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        if (!inputs[i].array || !inputs[i].used) continue;
        TRY(check_array(ctx, inputs[i].array, inputs[i].rule));
        TRY(check_rows(ctx, inputs[i].array, inputs[i].rule, &first, &pool->n));
    }
    if (!first) {
        if (!e->rows) return missing(ctx, strategy, "an input that tells how many rows");
        pool->n = e->rows;
    }
    if (e->candidates) TRY(check_array(ctx, e->candidates, &candidates_rule));
    if (pool->features) TRY(check_width(ctx, pool->features, 1, "columns", &pool->d));
    if (pool->probs) TRY(check_width(ctx, pool->probs, 2, "classes", &pool->c));
    return SCANT_OK;
}

static scant_status read_labels(scant_ctx *ctx, select_pool *pool) {
    int64_t block[READ];
    for (size_t first = 0; first < pool->n; first += READ) {
        size_t count = pool->n - first < READ ? pool->n - first : READ;
        scant__array_read_i64(pool->labels, first, count, block);
        for (size_t i = 0; i < count; i++) {
            if (block[i] < -1)
                return scant__fail(
                    ctx, SCANT_EINPUT,
                    "%s: row %zu is %lld, expected a class from 0 on, or -1",
                    scant_array_name(pool->labels), first + i, (long long)block[i]);
            if (pool->c && block[i] >= 0 && (uint64_t)block[i] >= pool->c)
                return scant__fail(
                    ctx, SCANT_EINPUT,
                    "%s: row %zu is class %lld, but %s has only %zu classes",
                    scant_array_name(pool->labels), first + i, (long long)block[i],
                    scant_array_name(pool->probs), pool->c);
            pool->labelled += block[i] >= 0;
        }
    }
    return SCANT_OK;
}

static bool is_labelled(const select_pool *pool, size_t row) {
    if (!pool->labels) return false;
    int64_t label;
    scant__array_read_i64(pool->labels, row, 1, &label);
    return label >= 0;
}

static scant_status read_candidates(scant__arena *arena, select_pool *pool) {
    size_t k = scant_array_shape(pool->candidates)[0];
    pool->allowed = scant__arena_zalloc(arena, pool->n / 64 + 1, sizeof *pool->allowed);
    if (!pool->allowed) return SCANT_ENOMEM;
    for (size_t i = 0; i < k; i++) {
        int64_t row;
        scant__array_read_i64(pool->candidates, i, 1, &row);
        if (row < 0 || (uint64_t)row >= pool->n)
            return scant__fail(
                arena->ctx, SCANT_EINPUT,
                "%s: row %zu is %lld, expected a row of the pool, which has %zu "
                "(counted from 0)",
                scant_array_name(pool->candidates), i, (long long)row, pool->n);
        uint64_t *word = &pool->allowed[row / 64], bit = (uint64_t)1 << row % 64;
        if (is_labelled(pool, (size_t)row)) {
            pool->barred++;
        } else if (!(*word & bit)) {
            *word |= bit;
            pool->available++;
        }
    }
    return SCANT_OK;
}

scant_status select_pool_read(scant__arena *arena, select_pool *pool) {
    if (pool->labels) TRY(read_labels(arena->ctx, pool));
    if (pool->candidates) return read_candidates(arena, pool);
    pool->available = pool->n - pool->labelled;
    return SCANT_OK;
}

void select_pool_labelled(const select_pool *pool, size_t first, size_t count,
                          bool *mask) {
    int64_t labels[SELECT_MASK];
    if (!pool->labels) {
        memset(mask, 0, count * sizeof *mask);
        return;
    }
    scant__array_read_i64(pool->labels, first, count, labels);
    for (size_t i = 0; i < count; i++) mask[i] = labels[i] >= 0;
}

void select_pool_mask(const select_pool *pool, size_t first, size_t count, bool *mask) {
    if (pool->allowed) { /* labelled rows are not among them */
        for (size_t i = 0; i < count; i++)
            mask[i] = pool->allowed[(first + i) / 64] >> (first + i) % 64 & 1;
        return;
    }
    select_pool_labelled(pool, first, count, mask);
    for (size_t i = 0; i < count; i++) mask[i] = !mask[i];
}
