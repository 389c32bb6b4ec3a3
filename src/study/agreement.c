/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures whether alignment predicts the speed of training (dynamicAL, section 4.3,
 * appendix D.2): Kendall's tau between G and A of the unions of S with random sets Q. All
 * threads work on the sets; each set costs (|S| + |Q|)^2 classes multiply-adds.
 *
 * The p-value uses the normal approximation of tau for independent orders without ties.
 */
#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "core/parfor.h"
#include "core/rng.h"
#include "study/quantities.h"
#include "study/study.h"

typedef struct work {
    const double *k;
    size_t n, classes, start, size; /* n rows: all; start: S; size: S and Q */
    const int32_t *labels;
    const float *f;
    uint64_t seed;
    double *dynamics, *alignment; /* by set */
    /* Buffers, one for each worker: */
    double *block; /* (size, size) */
    size_t *order; /* n - start, then the size rows of a set */
    int32_t *own;
    float *outputs;
} work;

static scant_status one_set(void *arg, size_t set, unsigned worker, scant__fault *fault) {
    const work *w = arg;
    size_t size = w->size, others = w->n - w->start, c = w->classes;
    double *block = w->block + worker * size * size;
    size_t *order = w->order + worker * (others + size), *rows = order + others;
    int32_t *own = w->own + worker * size;
    float *outputs = w->outputs + worker * size * c;
    scant__rng rng = {w->seed, SCANT__RNG_BATCH};
    (void)fault;
    scant__rng_shuffle(&rng, set * (others + 1), others, order);
    for (size_t i = 0; i < size; i++) {
        rows[i] = i < w->start ? i : w->start + order[i - w->start];
        own[i] = w->labels[rows[i]];
        memcpy(outputs + i * c, w->f + rows[i] * c, c * sizeof *outputs);
    }
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++)
            block[i * size + j] = w->k[rows[i] * w->n + rows[j]];
    w->alignment[set] = study_alignment(block, size, own);
    w->dynamics[set] = study_training_dynamics(block, size, own, c, outputs);
    return SCANT_OK;
}

static scant_status draw_sets(scant_ctx *ctx, work *w, size_t sets) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    size_t rows = size_mul(w->size, ctx->threads);
    w->block = TRY_NEW(&arena, double, size_mul(w->size, rows));
    w->order = TRY_NEW(&arena, size_t, size_mul(w->n - w->start + w->size, ctx->threads));
    w->own = TRY_NEW(&arena, int32_t, rows);
    w->outputs = TRY_NEW(&arena, float, size_mul(rows, w->classes));
    return scant__parfor(ctx, "sets", sets, one_set, w);
}

static scant_status check(scant_ctx *ctx, const scant_lab_opts *o) {
    size_t labelled, n = o->n;
    if (o->sets < 2)
        return scant__fail(ctx, SCANT_EUSAGE, "expected at least 2 sets, not %zu",
                           o->sets);
    if (o->start > n || o->draw > n - o->start)
        return scant__fail(ctx, SCANT_EINPUT,
                           "a set needs %zu samples to start with and %zu drawn ones, "
                           "but there are %zu",
                           o->start, o->draw, n);
    TRY(study_check_labels(ctx, o->labels, n, o->classes, &labelled));
    if (labelled < n)
        return scant__fail(ctx, SCANT_EINPUT,
                           "%zu of %zu samples have no label, but all need one",
                           n - labelled, n);
    return SCANT_OK;
}

static double two_sided(double tau, double n) {
    double deviation = sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)));
    return isnan(tau) ? tau : erfc(fabs(tau) / deviation / sqrt(2));
}

scant_status study_kernel_agreement(scant__arena *arena, const double *k, const float *f,
                                    const scant_lab_opts *opts, scant_agreement *out) {
    scant_lab_opts o = *opts;
    if (!o.start) o.start = 500;
    if (!o.draw) o.draw = 250;
    TRY(check(arena->ctx, &o));
    work w = {.k = k,
              .n = o.n,
              .classes = o.classes,
              .start = o.start,
              .size = o.start + o.draw,
              .labels = o.labels,
              .f = f,
              .seed = o.seed,
              .dynamics = TRY_NEW(arena, double, o.sets),
              .alignment = TRY_NEW(arena, double, o.sets)};
    TRY(draw_sets(arena->ctx, &w, o.sets));
    double tau = study_kendall(w.dynamics, w.alignment, o.sets);
    *out = (scant_agreement){.sets = o.sets,
                             .start = o.start,
                             .draw = o.draw,
                             .tau = tau,
                             .p = two_sided(tau, (double)o.sets),
                             .dynamics = w.dynamics,
                             .alignment = w.alignment};
    return SCANT_OK;
}
