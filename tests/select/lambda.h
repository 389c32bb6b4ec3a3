/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of npc and crc: pools in memory, calls, and lambda by its
 * definition, with LAPACK's dense solver.
 */
#ifndef SCANT_TESTS_SELECT_LAMBDA_H
#define SCANT_TESTS_SELECT_LAMBDA_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "linalg/dense.h"
#include "support.h"

/* How far two solvers may differ, relative to the largest eigenvalue: half of what counts
 * as equal. */
static const double NEAR = 2e-12;

typedef struct pool {
    size_t n, d, l;
    double bias;
    double *h;       /* (n, d) */
    int64_t *labels; /* 0 or -1 */
} pool;

/* Rows i with i % every == 0 are labelled; every = 0: none. */
static inline void pool_make(pool *p, uint64_t seed, size_t n, size_t d, size_t every,
                             double bias) {
    *p = (pool){.n = n, .d = d, .bias = bias};
    p->h = malloc(n * d * sizeof *p->h);
    p->labels = malloc(n * sizeof *p->labels);
    for (size_t i = 0; i < n * d; i++) p->h[i] = normal_at(seed, i);
    for (size_t i = 0; i < n; i++) {
        p->labels[i] = every && i % every == 0 ? 0 : -1;
        p->l += p->labels[i] == 0;
    }
}

static inline void pool_end(pool *p) {
    free(p->h);
    free(p->labels);
}

/* ---- calls ---- */

static inline scant_status pool_call(scant_ctx *ctx, const pool *p, const char *strategy,
                                     size_t batch, uint64_t seed,
                                     const scant_setting *settings, size_t n_settings,
                                     scant_picks **out) {
    scant_array *features, *labels;
    scant_select_opts opts = {
        .seed = seed, .settings = settings, .n_settings = n_settings};
    assert_int_equal(scant_array_wrap(ctx, "features", p->h, SCANT_F64, 2,
                                      (size_t[]){p->n, p->d}, &features),
                     SCANT_OK);
    assert_int_equal(
        scant_array_wrap(ctx, "labels", p->labels, SCANT_I64, 1, &p->n, &labels),
        SCANT_OK);
    scant_evidence e = {.features = features, .labels = labels};
    scant_status s = scant_select(ctx, strategy, &e, batch, &opts, out);
    scant_array_free(features);
    scant_array_free(labels);
    return s;
}

static inline double figure(const scant_picks *picks, const char *name) {
    for (size_t i = 0; i < picks->n_info; i++)
        if (!strcmp(picks->info[i].name, name)) return picks->info[i].value;
    return NAN;
}

/* ---- lambda by its definition ---- */

static inline double inner(const pool *p, size_t i, size_t j) {
    double sum = p->bias * p->bias;
    for (size_t k = 0; k < p->d; k++) sum += p->h[i * p->d + k] * p->h[j * p->d + k];
    return sum;
}

/* Eigenvalues of the rows' Gram matrix, ascending; the caller frees them. */
static inline double *spectrum(const pool *p, const size_t *rows, size_t n) {
    scant_ctx *ctx = ctx_threads(1);
    double *a = malloc((n * n + 1) * sizeof *a), *values = malloc((n + 1) * sizeof *a);
    double *room = malloc(la_eigh_room(n, false) * sizeof *a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) a[i * n + j] = inner(p, rows[i], rows[j]);
    assert_int_equal(la_eigh_alone(ctx, n, a, false, values, room), SCANT_OK);
    scant_ctx_free(ctx);
    free(a);
    free(room);
    return values;
}

static inline size_t rank_of(const pool *p) {
    size_t *rows = malloc(p->n * sizeof *rows), rank = 0;
    for (size_t i = 0; i < p->n; i++) rows[i] = i;
    double *values = spectrum(p, rows, p->n);
    for (size_t i = 0; i < p->n; i++) rank += values[i] > 1e-10 * values[p->n - 1];
    free(values);
    free(rows);
    return rank;
}

/* lambda of the labelled rows, assumed to be independent, together with `rows`. */
static inline double lambda_of(const pool *p, size_t rank, const size_t *rows, size_t b,
                               double *largest) {
    size_t *all = malloc(p->n * sizeof *all), n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->labels[i] >= 0) all[n++] = i;
    for (size_t i = 0; i < b; i++) all[n++] = rows[i];
    double *values = spectrum(p, all, n), lambda = values[n > rank ? n - rank : 0];
    if (largest) *largest = values[n - 1];
    free(values);
    free(all);
    return lambda;
}

/* Two labelled rows and six unlabelled ones, with values known from other programs. */
static inline void pool_fixture(pool *p) {
    static const double h[] = {1, 0, 0, 1, 1, 1, 2, -1, -1, .5, .5, .5, 1, 2, -2, 1};
    pool_make(p, 1, 8, 2, 0, 1);
    memcpy(p->h, h, sizeof h);
    p->labels[6] = p->labels[7] = 0;
    p->l = 2;
}

#endif
