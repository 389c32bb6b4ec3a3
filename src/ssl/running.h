/* SPDX-License-Identifier: Apache-2.0
 *
 * Running means of predictions, which adapt thresholds and weights during a training.
 * They are stored as floats, as a checkpoint stores them.
 */
#ifndef SCANT_SSL_RUNNING_H
#define SCANT_SSL_RUNNING_H

#include <stdbool.h>
#include <stddef.h>

/* A running mean after the value x: decay * mean + (1 - decay) * x. */
static inline float ssl_running(double decay, float mean, double x) {
    return (float)(decay * (double)mean + (1 - decay) * x);
}

/* The mean of n numbers, c apart. */
static inline double ssl_mean(size_t n, size_t c, const float *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i * c];
    return sum / (double)n;
}

/* The decay for a training of `steps` steps: the option prediction_ema. If that is auto,
 * 1 - 100 / steps from 0.9 to 0.999: a mean covers a hundredth of the training, from ten
 * steps to the papers' thousand. */
double ssl_running_decay(double option, size_t steps);

/* Whether a step has not been counted yet in a state whose stamp is *stamp (initially 0);
 * then stamps it. A step that is repeated after an interruption counts once. */
bool ssl_running_begins(float *stamp, size_t step);

#endif
