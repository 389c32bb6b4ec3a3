/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidence of every kind for a pool of random rows.
 */
#ifndef SCANT_TESTS_SELECT_RANDOM_EVIDENCE_H
#define SCANT_TESTS_SELECT_RANDOM_EVIDENCE_H

#include <stdlib.h>
#include <string.h>

#include "scant/scant.h"
#include "support.h"

enum { N = 700, D = 12, C = 5, M = 6, K = 9 };

/* What a call has besides its evidence. */
typedef struct extra {
    scant_setting option; /* key NULL: none */
    const char *kernel;   /* NULL: none */
} extra;

typedef struct fixture {
    float h[N * D], p[N * C], q[N * C], g[N * K], samples[M * N * C];
    double slopes[N * 2], lengths[N];
    int32_t labels[N];
    int64_t candidates[N];
    unsigned drop; /* evidence that is not given: scant_evidence_kind bits */
    extra set;
    float *features; /* (N, d): h, or a test's own */
    size_t d;
} fixture;

typedef struct inputs {
    scant_evidence evidence;
    scant_array *array[10];
    size_t count;
} inputs;

static inline fixture *make(void) {
    fixture *f = calloc(1, sizeof *f);
    f->features = f->h, f->d = D;
    f->drop = SCANT_SLOPES | SCANT_LENGTHS;
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t k = 0; k < D; k++) f->h[i * D + k] = (float)normal_at(1, i * D + k);
        for (size_t k = 0; k < K; k++) f->g[i * K + k] = (float)normal_at(3, i * K + k);
        f->lengths[i] = unit_at(5, i);
        f->slopes[2 * i] = unit_at(6, i);
        f->slopes[2 * i + 1] = normal_at(7, i);
        for (size_t k = 0; k < C; k++) sum += unit_at(2, i * C + k);
        for (size_t k = 0; k < C; k++) {
            f->p[i * C + k] = (float)(unit_at(2, i * C + k) / sum);
            f->q[i * C + k] = 0.7F * f->p[i * C + k] + 0.3F / C;
        }
        f->labels[i] = i % 5 == 0 ? (int32_t)(i % C) : -1;
        f->candidates[i] = (int64_t)((i * 3) % N); /* coprime, so a permutation */
    }
    for (size_t row = 0; row < M * N; row++) {
        double sum = 0;
        for (size_t k = 0; k < C; k++) sum += unit_at(4, row * C + k);
        for (size_t k = 0; k < C; k++)
            f->samples[row * C + k] = (float)(unit_at(4, row * C + k) / sum);
    }
    return f;
}

static inline scant_status wrap(scant_ctx *ctx, inputs *in, const char *name,
                                const void *data, scant_dtype dtype, size_t rows,
                                size_t columns, const scant_array **out) {
    size_t shape[2] = {rows, columns};
    scant_status s = scant_array_wrap(ctx, name, data, dtype, columns ? 2 : 1, shape,
                                      &in->array[in->count]);
    if (s == SCANT_OK) *out = in->array[in->count++];
    return s;
}

static inline scant_status wrap_samples(scant_ctx *ctx, inputs *in,
                                        const float *samples) {
    size_t shape[3] = {M, N, C};
    scant_status s = scant_array_wrap(ctx, "samples", samples, SCANT_F32, 3, shape,
                                      &in->array[in->count]);
    if (s == SCANT_OK) in->evidence.draws = in->array[in->count++];
    return s;
}

static inline void close_inputs(inputs *in) {
    for (size_t i = 0; i < in->count; i++) scant_array_free(in->array[i]);
}

static inline scant_status open_inputs(scant_ctx *ctx, const fixture *f,
                                       size_t candidates, inputs *in) {
    scant_evidence *e = &in->evidence;
    *in = (inputs){0};
    scant_status s =
        wrap(ctx, in, "features", f->features, SCANT_F32, N, f->d, &e->features);
    if (s == SCANT_OK) s = wrap(ctx, in, "probs", f->p, SCANT_F32, N, C, &e->probs);
    if (s == SCANT_OK)
        s = wrap(ctx, in, "calibrated", f->q, SCANT_F32, N, C, &e->calibrated);
    if (s == SCANT_OK)
        s = wrap(ctx, in, "gradients", f->g, SCANT_F32, N, K, &e->gradients);
    if (s == SCANT_OK) s = wrap_samples(ctx, in, f->samples);
    if (s == SCANT_OK && !(f->drop & SCANT_SLOPES))
        s = wrap(ctx, in, "slopes", f->slopes, SCANT_F64, N, 2, &e->slopes);
    if (s == SCANT_OK && !(f->drop & SCANT_LENGTHS))
        s = wrap(ctx, in, "lengths", f->lengths, SCANT_F64, N, 0, &e->lengths);
    if (s == SCANT_OK)
        s = wrap(ctx, in, "labels", f->labels, SCANT_I32, N, 0, &e->labels);
    if (s == SCANT_OK && candidates)
        s = wrap(ctx, in, "candidates", f->candidates, SCANT_I64, candidates, 0,
                 &e->candidates);
    if (s != SCANT_OK) close_inputs(in);
    if (f->drop & SCANT_FEATURES) e->features = NULL;
    if (f->drop & SCANT_PROBS) e->probs = NULL;
    if (f->drop & SCANT_CALIBRATED) e->calibrated = NULL;
    if (f->drop & SCANT_GRADIENTS) e->gradients = NULL;
    if (f->drop & SCANT_DRAWS) e->draws = NULL;
    return s;
}

/* Fails unless the call is refused with that status and a message with those words. */
static inline void assert_refused(scant_ctx *ctx, const char *strategy,
                                  const scant_evidence *e, size_t batch,
                                  const scant_setting *setting, scant_status status,
                                  const char *says) {
    scant_picks *picks = (void *)ctx;
    scant_select_opts opts = {.settings = setting, .n_settings = setting ? 1 : 0};
    assert_int_equal(scant_select(ctx, strategy, e, batch, &opts, &picks), status);
    assert_null(picks);
    if (!strstr(scant_ctx_errmsg(ctx), says))
        fail_msg("message \"%s\" does not contain \"%s\"", scant_ctx_errmsg(ctx), says);
}

#endif
