/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether alignment predicts the speed of training (dynamicAL, section 5.2): Kendall's
 * tau between G(S u Q) and A(S u Q) over random sets Q. Sets are independent and run on
 * all threads; each costs (|S| + |Q|)^2 classes multiply-adds.
 *
 * p is by the normal approximation of tau for independent orders, without ties.
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
    size_t n, classes, start, size; /* rows of all, of S, of S and Q */
    const int32_t *labels;
    const float *f;
    uint64_t seed;
    double *dynamics, *alignment; /* by set */
    /* Buffers, one for each worker: */
    double *block; /* (size, size) */
    size_t *order; /* n - start */
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
    scant__arena arena;
    size_t threads = ctx->threads;
    scant__arena_init(&arena, ctx);
    w->block = scant__arena_alloc(&arena, size_mul(w->size, w->size),
                                  threads * sizeof *w->block);
    w->order =
        scant__arena_alloc(&arena, w->n - w->start + w->size, threads * sizeof *w->order);
    w->own = scant__arena_alloc(&arena, w->size, threads * sizeof *w->own);
    w->outputs = scant__arena_alloc(&arena, size_mul(w->size, w->classes),
                                    threads * sizeof *w->outputs);
    scant_status s =
        w->block && w->order && w->own && w->outputs ? SCANT_OK : SCANT_ENOMEM;
    if (s == SCANT_OK) s = scant__parfor(ctx, "sets", sets, one_set, w);
    scant__arena_end(&arena);
    return s;
}

static scant_status check(scant_ctx *ctx, size_t n, const int32_t *labels, size_t classes,
                          const study_agreement_opts *o) {
    size_t labelled;
    if (o->sets < 2)
        return scant__fail(ctx, SCANT_EUSAGE, "expected at least 2 sets, not %zu",
                           o->sets);
    if (o->start > n || o->draw > n - o->start)
        return scant__fail(ctx, SCANT_EINPUT,
                           "a set needs %zu samples to start with and %zu drawn ones, "
                           "but there are %zu",
                           o->start, o->draw, n);
    TRY(study_check_labels(ctx, labels, n, classes, &labelled));
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

scant_status study_kernel_agreement(scant__arena *arena, const double *k, size_t n,
                                    const int32_t *labels, size_t classes, const float *f,
                                    const study_agreement_opts *opts,
                                    scant_agreement *out) {
    study_agreement_opts o = opts ? *opts : (study_agreement_opts){0};
    if (!o.sets) o.sets = 150;
    if (!o.start) o.start = 500;
    if (!o.draw) o.draw = 250;
    TRY(check(arena->ctx, n, labels, classes, &o));
    work w = {.k = k,
              .n = n,
              .classes = classes,
              .start = o.start,
              .size = o.start + o.draw,
              .labels = labels,
              .f = f,
              .seed = o.seed};
    w.dynamics = scant__arena_alloc(arena, o.sets, sizeof *w.dynamics);
    w.alignment = scant__arena_alloc(arena, o.sets, sizeof *w.alignment);
    if (!w.dynamics || !w.alignment) return SCANT_ENOMEM;
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
