/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of the kernel laboratory: studies without a kernel matrix, and the
 * measurements of scant_lab_run().
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

/* Returns a copy of `begun` with lists of n zeros; NULL: no memory. Free it with
 * scant_study_free() or AUTO(study_end). */
scant_study *study_new(scant_ctx *ctx, size_t n, bool energy, bool start,
                       study_lists *lists, const scant_study *begun);
void study_end(scant_study **study);
/* Computes the other numbers from values (largest first), energies, rests, samples,
 * labelled, alignment, bound, jitter, rate and tolerance (0: the default); noise: as in
 * scant_study_opts. */
void study_complete(scant_study *study, size_t classes, double noise);

/* The distance between two sets of rows of a kernel (n, n) as distributions: sqrt(max(0,
 * MMD^2)) by the unbiased statistic. A row in both sets is not compared with itself, so
 * the distance of a set to itself is 0. NaN for sets of fewer than two rows. */
scant_status study_kernel_mmd(scant_ctx *ctx, const double *k, size_t n, const size_t *s0,
                              size_t m, const size_t *s, size_t count, double *out);

/* Compares alignment and dynamics of random sets (agreement.c). k (n, n): the kernel; f
 * (n, classes): outputs. Every sample needs a label. out's lists are in the arena. */
scant_status study_kernel_agreement(scant__arena *arena, const double *k, const float *f,
                                    const scant_lab_opts *opts, scant_agreement *out);

/* A study without the kernel matrix, for tens of thousands of samples. It uses the K x K
 * matrix of sketched gradients, where K is opts->sketch; up to the sketch's error this
 * has the same eigenvalues above 0. rows NULL: all of data. The bound B and theorem 2 are
 * NaN. The start is the network's outputs. Costs K^2 operations for each row of the
 * kernel. */
scant_status study_sketch(const scant_lab_opts *opts, scant_study **out,
                          scant_sketch_error *error);
/* Returns the bytes that study_sketch() needs for n samples, without those of the
 * network's passes. */
size_t study_sketch_memory(const scant_lab_opts *opts, size_t n);

/* The kernel of a network of dense layers in the parametrisation of CRC's theorem 1, as a
 * mean over outputs: weights are sqrt(2 / fan-in) v, the kernel has the gradients by v,
 * and biases do not count. out (n, n). */
scant_status study_net_scaled_kernel(scant_net *net, const scant_data *data,
                                     const size_t *rows, size_t n, double *out);
/* Compares that kernel with the one of infinite width (infinite.c). SCANT_EINPUT if the
 * network is not a chain of dense layers and rectifiers. */
scant_status study_infinite(const scant_lab_opts *opts, scant_infinite *out);
/* Returns the bytes that it needs for n samples, without those of the network's passes.
 */
double study_infinite_memory(const scant_lab_opts *opts, size_t n);

/* Gradient descent on L = 1/2 |f - Y|^2 over all samples at once, in evaluation mode
 * (running statistics are constant), without momentum: the training that a kernel
 * predicts. losses (steps + 1): L before the first step and after each. Every sample
 * needs a label. *rate 0: uses 1 / the largest eigenvalue of the full kernel, by power
 * iteration, and sets *rate to it. Changes net. SCANT_EINPUT if L is no longer
 * finite. */
scant_status study_net_descend(const scant_lab_opts *opts, double *losses, double *rate);

#endif
