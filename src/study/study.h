/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the kernel laboratory: studies that are not made from a matrix, and the
 * measurements that scant_lab_run() puts together.
 */
#ifndef SCANT_STUDY_STUDY_H
#define SCANT_STUDY_STUDY_H

#include <stdbool.h>

#include "core/mem.h"
#include "scant/study.h"

/* The lists of a study, to fill in; the study owns them. */
typedef struct study_lists {
    double *values, *energy, *start; /* NULL: not used */
} study_lists;

/* A study with lists of n numbers, all 0; NULL: no memory. scant_study_free() ends it. */
scant_study *study_new(scant_ctx *ctx, size_t n, bool energy, bool start,
                       study_lists *lists);
/* Computes the other numbers from values (largest first), energies, rests, samples,
 * labelled, alignment, bound, jitter, rate and tolerance (0: the default). noise: as in
 * scant_study_opts. */
void study_complete(scant_study *study, size_t classes, double noise);

/* The distance between two sets of rows of a kernel (n, n) as distributions: sqrt(max(0,
 * MMD^2)) by the unbiased statistic. A row in both sets is not compared with itself, so
 * the distance of a set to itself is 0. NaN for sets of fewer than two rows. */
scant_status study_kernel_mmd(scant_ctx *ctx, const double *k, size_t n, const size_t *s0,
                              size_t m, const size_t *s, size_t count, double *out);

/* For scant_agreement. */
typedef struct study_agreement_opts {
    size_t sets;  /* how many Q (150) */
    size_t start; /* rows of S (500) */
    size_t draw;  /* rows of each Q (250) */
    uint64_t seed;
} study_agreement_opts;

/* k (n, n), with a label each; f: n x classes outputs. Lists are in the arena. */
scant_status study_kernel_agreement(scant__arena *arena, const double *k, size_t n,
                                    const int32_t *labels, size_t classes, const float *f,
                                    const study_agreement_opts *opts,
                                    scant_agreement *out);

/* A study without the kernel matrix, from the K x K matrix of sketched gradients, which
 * has the same eigenvalues above 0 up to the sketch's error. For tens of thousands of
 * samples.
 */
typedef struct study_sketch_opts {
    size_t numbers; /* K */
    int last_layer; /* as for scant_net_kernel() */
    int full;       /* as for scant_net_kernel() */
    uint64_t seed;  /* of the sketch */
    double rate;    /* as for a study */
    double tolerance;
} study_sketch_opts;

/* rows NULL: all of data. The bound B and theorem 2 are NaN if there are more than K
 * samples. The start is the network's outputs. Costs K^2 operations for each row of the
 * kernel. */
scant_status study_sketch(scant_net *net, const scant_data *data, const size_t *rows,
                          size_t n, const int32_t *labels, const study_sketch_opts *opts,
                          scant_study **out, scant_sketch_error *error);
/* Bytes that it needs, without the network's pass. */
size_t study_sketch_memory(const scant_net *net, size_t n, const study_sketch_opts *opts);

/* Gradient descent on L = 1/2 |f - Y|^2 over all samples at once, in evaluation mode
 * (running statistics are constant), without momentum: the training that a kernel
 * predicts.
 */
typedef struct study_descent_opts {
    int last_layer; /* only that layer's parameters move */
    size_t steps;   /* (100) */
    double rate;    /* (1 / the largest eigenvalue of the full kernel, by power
                     * iteration) */
} study_descent_opts;

/* losses (steps + 1): L before the first step and after each. Every sample needs a label.
 * *rate (may be NULL): the one that was used. Changes net. SCANT_EINPUT if L is no longer
 * finite. */
scant_status study_net_descend(scant_net *net, const scant_data *data, const size_t *rows,
                               size_t n, const int32_t *labels,
                               const study_descent_opts *opts, double *losses,
                               double *rate);

#endif
