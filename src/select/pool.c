/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes, labels and candidates of a pool.
 */
#include <math.h>
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
static const rule gradients_rule = {2, 0, "n x k", "float16, float32 or float64",
                                    scant__dtype_is_float};
static const rule samples_rule = {3, 1, "m x n x C", "float16, float32 or float64",
                                  scant__dtype_is_float};
static const rule slopes_rule = {2, 0, "n x 2", "float16, float32 or float64",
                                 scant__dtype_is_float};
static const rule lengths_rule = {1, 0, "n", "float16, float32 or float64",
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

/* Calibrated probabilities, or logits that a temperature makes them of. */
static scant_status open_calibrated(scant_ctx *ctx, const scant_evidence *e,
                                    const char *strategy, select_pool *pool) {
    pool->calibrated = e->calibrated;
    bool heat = e->temperature > 0 || e->calibrate_on;
    if (e->calibrated && heat)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "calibrated and a temperature: give one of them");
    if (e->calibrated) return SCANT_OK;
    if (!heat || !e->logits)
        return missing(ctx, strategy, "calibrated (or logits with a temperature)");
    if (e->calibrate_on && !e->labels)
        return missing(ctx, strategy, "labels to fit the temperature to");
    pool->calibrated = e->logits;
    pool->temperature = e->calibrate_on ? 1 : e->temperature;
    pool->calibrate_on = e->calibrate_on;
    return SCANT_OK;
}

static scant_status check_calibrated(scant_ctx *ctx, const select_pool *pool) {
    size_t c;
    TRY(check_width(ctx, pool->calibrated, 2, "classes", &c));
    if (!pool->probs || c == pool->c) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT, "%s: has %zu classes, but %s has %zu",
                       scant_array_name(pool->calibrated), c,
                       scant_array_name(pool->probs), pool->c);
}

static scant_status check_samples(scant_ctx *ctx, select_pool *pool) {
    const size_t *shape = scant_array_shape(pool->samples);
    const char *name = scant_array_name(pool->samples);
    pool->m = shape[0];
    if (shape[2] < 2)
        return scant__fail(ctx, SCANT_EINPUT, "%s: has %zu classes, expected at least 2",
                           name, shape[2]);
    if (pool->m == 0)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: holds no samples of the posterior (it is 0 x n x C)",
                           name);
    if (pool->m == 1)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%s: holds one sample of the posterior; nothing can disagree, "
                           "expected at least 2",
                           name);
    if (pool->probs && shape[2] != pool->c)
        return scant__fail(ctx, SCANT_EINPUT, "%s: has %zu classes, but %s has %zu", name,
                           shape[2], scant_array_name(pool->probs), pool->c);
    pool->c = shape[2];
    return SCANT_OK;
}

static scant_status check_slopes(scant_ctx *ctx, const select_pool *pool) {
    size_t width = scant_array_shape(pool->slopes)[1];
    if (width == select_measured_width(pool)) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT, "%s: has %zu columns, expected 2",
                       scant_array_name(pool->slopes), width);
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
    if (used & SCANT_CALIBRATED) TRY(open_calibrated(ctx, e, strategy, pool));
    if (used & SCANT_GRADIENTS) {
        if (!e->gradients) return missing(ctx, strategy, "gradients");
        pool->gradients = e->gradients;
    }
    if (used & SCANT_SAMPLES) {
        if (!e->samples) return missing(ctx, strategy, "samples");
        pool->samples = e->samples;
    }
    if (used & SCANT_SLOPES) {
        if (!e->slopes) return missing(ctx, strategy, "slopes");
        pool->slopes = e->slopes;
    }
    if (used & SCANT_LENGTHS) {
        if (!e->lengths) return missing(ctx, strategy, "lengths");
        pool->lengths = e->lengths;
    }
    if (used & SCANT_LABELS && !e->labels) return missing(ctx, strategy, "labels");
    bool all = used & SCANT_ROWS;
    const struct {
        const scant_array *array;
        const rule *rule;
        bool used;
    } inputs[] = {{e->features, &features_rule, pool->features || all},
                  {e->probs ? e->probs : e->logits, &probs_rule, pool->probs || all},
                  {pool->calibrated ? pool->calibrated : e->calibrated, &probs_rule,
                   pool->calibrated || all},
                  {e->gradients, &gradients_rule, pool->gradients || all},
                  {e->samples, &samples_rule, pool->samples || all},
                  {e->slopes, &slopes_rule, pool->slopes || all},
                  {e->lengths, &lengths_rule, pool->lengths || all},
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
    if (pool->gradients) TRY(check_width(ctx, pool->gradients, 1, "columns", &pool->k));
    if (pool->slopes) TRY(check_slopes(ctx, pool));
    if (pool->calibrated) TRY(check_calibrated(ctx, pool));
    if (pool->samples) TRY(check_samples(ctx, pool));
    if (pool->calibrate_on) TRY(check_array(ctx, pool->calibrate_on, &candidates_rule));
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
                    scant_array_name(pool->probs ? pool->probs : pool->samples), pool->c);
            pool->labelled += block[i] >= 0;
        }
    }
    return SCANT_OK;
}

size_t select_measured_width(const select_pool *pool) {
    return pool->slopes ? 2 : pool->lengths ? 1 : 0;
}

/* The first number of a row is a length, or its square. */
scant_status select_measured_read(const select_pool *pool, size_t first, size_t count,
                                  double *out, scant__fault *fault) {
    size_t width = select_measured_width(pool);
    const scant_array *array = pool->slopes ? pool->slopes : pool->lengths;
    scant__array_read_f64(array, first * width, count * width, out);
    for (size_t i = 0; i < count * width; i++)
        if (!isfinite(out[i]) || (i % width == 0 && out[i] < 0))
            return scant__fault_set(
                fault, SCANT_EINPUT, "%s: row %zu, column %zu is %g, expected %s",
                scant_array_name(array), first + i / width, i % width, out[i],
                i % width ? "a finite number" : "a finite number of at least 0");
    return SCANT_OK;
}

int64_t select_pool_label(const select_pool *pool, size_t row) {
    int64_t label = -1;
    if (pool->labels) scant__array_read_i64(pool->labels, row, 1, &label);
    return label;
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
        if (select_pool_label(pool, (size_t)row) >= 0) {
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

static void list(const select_pool *pool, size_t *rows,
                 void (*mark)(const select_pool *, size_t, size_t, bool *)) {
    bool mask[SELECT_MASK];
    for (size_t first = 0; first < pool->n; first += SELECT_MASK) {
        size_t rest = pool->n - first, count = rest < SELECT_MASK ? rest : SELECT_MASK;
        mark(pool, first, count, mask);
        for (size_t i = 0; i < count; i++)
            if (mask[i]) *rows++ = first + i;
    }
}

void select_pool_list_available(const select_pool *pool, size_t *rows) {
    list(pool, rows, select_pool_mask);
}

void select_pool_list_labelled(const select_pool *pool, size_t *rows) {
    list(pool, rows, select_pool_labelled);
}
