/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/crossfit.h"

#include "core/rng.h"
#include "nn/loss.h"

scant_status loop_crossfit_logits(const loop_crossfit *c, scant__arena *arena,
                                  float **logits, size_t **places) {
    size_t *order = TRY_NEW(arena, size_t, c->n);
    size_t *kept = TRY_NEW(arena, size_t, c->n);
    size_t filled = 0;
    *places = TRY_NEW(arena, size_t, c->n);
    *logits = TRY_NEW(arena, float, size_mul(c->n, c->classes));
    scant__rng_shuffle(&(scant__rng){c->seed, SCANT__RNG_FOLD}, 0, c->n, order);
    for (size_t fold = 0; fold < c->folds; fold++) {
        size_t n_kept = 0, n_held = 0, *held = *places + filled;
        for (size_t i = 0; i < c->n; i++) {
            if (i % c->folds == fold)
                held[n_held++] = order[i];
            else
                kept[n_kept++] = order[i];
        }
        TRY(c->fit(c->user, fold, kept, n_kept, held, n_held,
                   *logits + filled * c->classes));
        filled += n_held;
    }
    return SCANT_OK;
}

scant_status loop_crossfit_temperature(const loop_crossfit *c, scant_ctx *ctx,
                                       const int32_t *labels, double *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    float *logits;
    size_t *places;
    *out = 0;
    if (c->n < 2) return SCANT_OK;
    TRY(loop_crossfit_logits(c, &arena, &logits, &places));
    int32_t *ordered = TRY_NEW(&arena, int32_t, c->n);
    for (size_t i = 0; i < c->n; i++) ordered[i] = labels[places[i]];
    *out = nn_temperature(logits, ordered, c->n, c->classes);
    return SCANT_OK;
}
