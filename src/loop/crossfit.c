/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/crossfit.h"

#include "core/rng.h"
#include "nn/loss.h"

scant_status loop_crossfit_logits(const loop_crossfit *c, scant__arena *arena,
                                  float **logits, size_t **places) {
    size_t *order = scant__arena_alloc(arena, c->n, sizeof *order);
    size_t *kept = scant__arena_alloc(arena, c->n, sizeof *kept);
    size_t filled = 0;
    *places = scant__arena_alloc(arena, c->n, sizeof **places);
    *logits = scant__arena_alloc(arena, c->n, size_mul(c->classes, sizeof **logits));
    if (!order || !kept || !*places || !*logits) return SCANT_ENOMEM;
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

static scant_status fit_temperature(const loop_crossfit *c, scant__arena *arena,
                                    const int32_t *labels, double *out) {
    float *logits;
    size_t *places;
    TRY(loop_crossfit_logits(c, arena, &logits, &places));
    int32_t *ordered = scant__arena_alloc(arena, c->n, sizeof *ordered);
    if (!ordered) return SCANT_ENOMEM;
    for (size_t i = 0; i < c->n; i++) ordered[i] = labels[places[i]];
    *out = nn_temperature(logits, ordered, c->n, c->classes);
    return SCANT_OK;
}

scant_status loop_crossfit_temperature(const loop_crossfit *c, scant_ctx *ctx,
                                       const int32_t *labels, double *out) {
    scant__arena arena;
    *out = 0;
    if (c->n < 2) return SCANT_OK;
    scant__arena_init(&arena, ctx);
    scant_status status = fit_temperature(c, &arena, labels, out);
    scant__arena_end(&arena);
    return status;
}
