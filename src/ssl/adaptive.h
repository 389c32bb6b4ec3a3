/* SPDX-License-Identifier: Apache-2.0
 *
 * The adaptive parts of FreeMatch and SoftMatch, as functions of a batch.
 */
#ifndef SCANT_SSL_ADAPTIVE_H
#define SCANT_SSL_ADAPTIVE_H

#include <stddef.h>
#include <stdint.h>

/* ---- FreeMatch ---- */

/* Floats of the state: running means of the probability of each class (p) and of the
 * share of each class among the most likely ones (h), then that of the confidence. */
#define SSL_FREEMATCH_STATE(c) (2 * (c) + 1)

void ssl_freematch_init(size_t c, float *state); /* to 1 / c */
/* Adds a batch of predictions (n x c) and their most likely classes. */
void ssl_freematch_average(size_t n, size_t c, const float *probs, const int32_t *labels,
                           double decay, float *state);
/* The least confidence of a pseudo-label of class k that counts. */
double ssl_freematch_threshold(size_t c, const float *state, size_t k);

/* Returns the fairness loss of the predictions for strong views (n x c logits) whose
 * weight is above 0, and adds its gradient by the logits, times `scale`, to d:
 *     sum_k a_k log(b_k) over the classes that are the most likely one of a view,
 * where a is p / h of the state and b the same of these predictions, both divided by
 * their sum; h counts as a constant. Without such views it is 0. probs: n x c, scratch: 3
 * c numbers. */
double ssl_fairness(size_t n, size_t c, const float *state, const float *logits,
                    const float *weights, double scale, float *probs, double *scratch,
                    float *d);

/* ---- SoftMatch ---- */

/* The state: running mean and variance of the confidence. */
enum { SSL_SOFTMATCH_STATE = 2 };

void ssl_softmatch_init(size_t c, float *state); /* mean 1 / c, variance 1 */
/* Adds the confidences of a batch. */
void ssl_softmatch_average(size_t n, const float *confidence, double decay, float *state);
/* The weight of a confidence: 1 from the mean on; below it a Gaussian whose deviation is
 * half of that of the confidence. */
double ssl_softmatch_weight(const float *state, double confidence);

#endif
