/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits a run's samples: the pool is the first N of a shuffle by the run's seed, the
 * validation set is taken out of it, and the initial labelled set is drawn from the rest.
 * Each split has its own random stream, so that a larger validation set only takes its
 * additional samples out of the pool. All lists have row numbers of train.
 */
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "loop/loop.h"
#include "scant/train.h"

void loop_shuffle(uint64_t seed, uint32_t purpose, size_t *rows, size_t n) {
    const scant__rng rng = {seed, purpose};
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)scant__rng_below(&rng, i - 1, i), swap = rows[i - 1];
        rows[i - 1] = rows[k];
        rows[k] = swap;
    }
}

scant_status loop_split_check(scant_ctx *ctx, const loop_settings *set,
                              const loop_samples *s, size_t *n_pool) {
    size_t pool = set->pool ? set->pool : s->n_rows;
    bool none = strcmp(set->initial_how, "none") == 0;
    if (pool > s->n_rows)
        return scant__fail(ctx, SCANT_EINPUT,
                           "data.pool is %zu, but %s has %zu samples to choose from",
                           pool, scant_data_name(s->train), s->n_rows);
    if (set->validation >= pool)
        return scant__fail(
            ctx, SCANT_EINPUT,
            "data.validation is %zu, expected less than %zu, the size of the pool",
            set->validation, pool);
    *n_pool = pool - set->validation;
    if (!none && set->initial > *n_pool)
        return scant__fail(
            ctx, SCANT_EINPUT, "loop.initial is %zu, but the pool has %zu samples%s",
            set->initial, *n_pool,
            set->validation ? " once the validation set is taken out" : "");
    return SCANT_OK;
}

/* Takes one sample of each class in turn; rows must be shuffled. */
static void take_balanced(const loop_samples *s, const size_t *rows, size_t n,
                          size_t wanted, size_t *counts, size_t *out) {
    const int32_t *labels = scant_data_labels(s->train);
    size_t taken = 0;
    /* the k-th sample of each class comes in the k-th turn */
    for (size_t turn = 0; taken < wanted; turn++) {
        memset(counts, 0, s->classes * sizeof *counts);
        for (size_t i = 0; i < n && taken < wanted; i++)
            if (counts[labels[rows[i]]]++ == turn) out[taken++] = rows[i];
    }
}

static scant_status take_initial(scant__arena *arena, const loop_settings *set,
                                 const loop_samples *s, uint64_t seed, loop_split *out) {
    bool balanced = strcmp(set->initial_how, "balanced") == 0;
    if (strcmp(set->initial_how, "none") == 0) return SCANT_OK;
    size_t n = out->n_pool, *order = TRY_NEW(arena, size_t, n);
    size_t *counts = TRY_NEW(arena, size_t, s->classes);
    out->initial = TRY_NEW(arena, size_t, set->initial);
    memcpy(order, out->pool, n * sizeof *order);
    loop_shuffle(seed, SCANT__RNG_INITIAL, order, n);
    out->n_initial = set->initial;
    if (balanced)
        take_balanced(s, order, n, set->initial, counts, out->initial);
    else
        memcpy(out->initial, order, set->initial * sizeof *order);
    return SCANT_OK;
}

scant_status loop_split_make(scant__arena *arena, const loop_settings *set,
                             const loop_samples *s, uint64_t seed, loop_split *out) {
    size_t n, *order = TRY_NEW(arena, size_t, s->n_rows);
    *out = (loop_split){0};
    TRY(loop_split_check(arena->ctx, set, s, &n));
    memcpy(order, s->rows, s->n_rows * sizeof *order);
    loop_shuffle(seed, SCANT__RNG_POOL, order, s->n_rows);
    size_t all = n + set->validation;
    qsort(order, all, sizeof *order, loop_compare);
    loop_shuffle(seed, SCANT__RNG_VALIDATION, order, all);
    out->valid = order;
    out->n_valid = set->validation;
    out->pool = order + set->validation;
    out->n_pool = n;
    qsort(out->valid, out->n_valid, sizeof *order, loop_compare);
    qsort(out->pool, out->n_pool, sizeof *order, loop_compare);
    return take_initial(arena, set, s, seed, out);
}
