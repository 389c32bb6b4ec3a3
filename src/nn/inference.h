/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a network over samples in evaluation mode, batch by batch. An ensemble or a
 * network with posterior draws (nn/draws.h) returns the mean prediction.
 */
#ifndef SCANT_NN_INFERENCE_H
#define SCANT_NN_INFERENCE_H

#include "nn/network.h"
#include "scant/train.h"

/* Outputs for positions first, first+1, ... of the requested rows. */
typedef struct nn_outputs {
    size_t first, count;
    const float *features, *logits; /* count rows */
    const float *probs;             /* if NULL, the softmax of logits */
} nn_outputs;

typedef scant_status (*nn_infer_fn)(void *arg, const nn_outputs *outputs);

typedef struct nn_inference {
    const char *phase;
    nn_infer_fn fn;
    void *arg;
    bool first_only; /* run only the first member of an ensemble */
    size_t most;     /* maximum samples per batch; 0 for automatic */
    /* Receives each draw's probabilities, unless NULL. Those of draw s for a batch's
     * sample i go to samples + s*stride + i*classes; fn advances samples. */
    float *samples;
    size_t stride;
    bool infinite; /* set if an output is not finite */
} nn_inference;

/* Calls fn for every batch of the given rows, or of all samples if rows is NULL.
 * SCANT_EINPUT: an output is not finite; the message names the sample, and
 * reading->infinite is set. */
scant_status nn_infer(scant_net *net, const scant_data *data, const size_t *rows,
                      size_t n, nn_inference *reading);
/* scant_net_evaluate(), with `first_only` for the first member only; scaled, if not NULL,
 * gets the calibration error and bins at scaled->temperature. */
scant_status nn_evaluate(scant_net *net, const scant_data *data, const size_t *rows,
                         size_t n, bool first_only, scant_evaluation *out,
                         scant_calibration *scaled);
size_t nn_infer_batch(const scant_net *net, size_t n);

/* scant_net_write_draws(); without `sync` the file is temporary and not fsynced. */
scant_status nn_samples(scant_net *net, const scant_data *data, const size_t *rows,
                        size_t n, const char *path, bool sync);

#endif
