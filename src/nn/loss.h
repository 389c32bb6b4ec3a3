/* SPDX-License-Identifier: Apache-2.0
 *
 * Losses over a batch of logits: their value, and the gradient by the logits.
 */
#ifndef SCANT_NN_LOSS_H
#define SCANT_NN_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "scant/train.h"

/* What a batch is to be. One of labels, soft (n x c, rows that sum to 1) and targets
 * (n x c numbers, squared error) is set. */
typedef struct nn_wanted {
    const int32_t *labels;
    const float *soft;
    const float *targets;
    const float *weights; /* of the samples; NULL: 1 each */
    double divide;        /* what the sum is divided by; 0: n (the mean) */
} nn_wanted;

typedef struct nn_score {
    double loss;    /* sum of weighted losses, divided */
    size_t correct; /* samples whose largest logit (lowest class on ties) is the label */
    int finite;     /* all logits are */
} nn_score;

/* d (n x c) may be NULL. Rows are summed in order, in double. */
nn_score nn_loss(const nn_wanted *wanted, size_t n, size_t c, const float *logits,
                 float *d);

/* Rows of logits to probabilities, softmax(z / temperature), in place or not. */
void nn_softmax(size_t n, size_t c, const float *logits, double temperature,
                float *probs);

/* The largest probability of a row of logits. */
double nn_confidence(const float *logits, size_t c);
/* The temperature T that makes softmax(z / T) likeliest to give the labels (Guo et al.,
 * 2017), between 0.01 and 100. */
double nn_temperature(const float *logits, const int32_t *labels, size_t n, size_t c);
/* The bins of a reliability diagram at a temperature, and the expected calibration error;
 * 0 of no samples. */
double nn_calibration(const float *logits, const int32_t *labels, size_t n, size_t c,
                      double temperature, scant_calibration_bin *bins);

#endif
