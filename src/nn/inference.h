/* SPDX-License-Identifier: Apache-2.0
 *
 * A network run over samples in evaluation mode, batch by batch. A network that is an
 * ensemble or has draws (nn/draws.h) says the mean of what they say.
 */
#ifndef SCANT_NN_INFERENCE_H
#define SCANT_NN_INFERENCE_H

#include "nn/network.h"
#include "scant/train.h"

/* What is said of rows first, first+1, ... of those asked for. */
typedef struct nn_outputs {
    size_t first, count;
    const float *features, *logits; /* count rows */
    const float *probs;             /* NULL: softmax of logits */
} nn_outputs;

typedef scant_status (*nn_infer_fn)(void *arg, const nn_outputs *said);

typedef struct nn_inference {
    const char *phase;
    nn_infer_fn fn;
    void *arg;
    bool alone;  /* the first member of an ensemble, without the others */
    size_t most; /* samples of a batch at most; 0: as many as pays */
    /* Where each draw's probabilities go, NULL: nowhere. Draw s of a batch's i-th sample
     * is at samples + s*apart + i*classes; fn moves samples on. */
    float *samples;
    size_t apart;
} nn_inference;

/* rows NULL: all. */
scant_status nn_infer(scant_net *net, const scant_data *data, const size_t *rows,
                      size_t n, nn_inference *reading);
/* scant_net_evaluate(), perhaps of the first member alone; scaled, where it is not NULL,
 * by its temperature. */
scant_status nn_evaluate(scant_net *net, const scant_data *data, const size_t *rows,
                         size_t n, bool alone, scant_evaluation *out,
                         scant_calibration *scaled);
size_t nn_infer_batch(const scant_net *net, size_t n);

/* scant_net_samples(); a file that is not to last is not waited for until it is on disk.
 */
scant_status nn_samples(scant_net *net, const scant_data *data, const size_t *rows,
                        size_t n, const char *path, bool lasting);

#endif
