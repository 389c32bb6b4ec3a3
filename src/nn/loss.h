/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses over a batch of logits: value and gradient by the logits.
 */
#ifndef SCANT_NN_LOSS_H
#define SCANT_NN_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "scant/train.h"

/* The targets of a batch. Exactly one of labels, soft (n x c, rows sum to 1) and targets
 * (n x c numbers, squared error) is set. */
typedef struct nn_targets {
    const int32_t *labels;
    const float *soft;
    const float *targets;
    const float *weights; /* per sample; 1 each if NULL */
    double divide;        /* divisor of the sum; 0 means n, for the mean */
} nn_targets;

typedef struct nn_score {
    double loss;    /* weighted sum over samples, divided by `divide` */
    size_t correct; /* samples whose argmax (lowest class on ties) is the label */
    int finite;     /* all logits are finite */
} nn_score;

/* Returns the loss of n samples; d (n x c, may be NULL) gets its gradient by the logits.
 * Rows are summed in order, in double. */
nn_score nn_loss(const nn_targets *wanted, size_t n, size_t c, const float *logits,
                 float *d);

/* Sets each row of probs to softmax(z / temperature); may be in place. */
void nn_softmax(size_t n, size_t c, const float *logits, double temperature,
                float *probs);

/* Returns the largest probability of a row of logits. */
double nn_confidence(const float *logits, size_t c);
/* Returns the temperature T that maximises the likelihood of the labels under softmax(z /
 * T) (Guo et al., 2017), between 0.01 and 100. */
double nn_temperature(const float *logits, const int32_t *labels, size_t n, size_t c);
/* Sets the bins of a reliability diagram at a temperature and returns the expected
 * calibration error; 0 without samples. */
double nn_calibration(const float *logits, const int32_t *labels, size_t n, size_t c,
                      double temperature, scant_calibration_bin *bins);

#endif
