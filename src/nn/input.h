/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples on their way into a network: checked against its shape, read, scaled.
 */
#ifndef SCANT_NN_INPUT_H
#define SCANT_NN_INPUT_H

#include "data/dataset.h"
#include "nn/network.h"
#include "scant/train.h"

/* Whether data's samples are of the shape that net takes; rows of features may stand for
 * planes of as many numbers. */
scant_status nn_input_check(scant_net *net, const scant_data *data);
/* Whether rows (NULL: all; *n is then set) are samples of data. */
scant_status nn_input_rows_check(scant_ctx *ctx, const scant_data *data,
                                 const size_t *rows, size_t *n);

/* One sample, by any thread. */
scant_status nn_input_row(const scant_net *net, const scant_data *data, size_t row,
                          float *out, scant__fault *fault);
/* What is left to do with a sample that was read, and perhaps changed, by another. */
void nn_input_scale(const scant_net *net, float *row);
/* n samples, in parallel, to out (n x width). */
scant_status nn_input_rows(scant_net *net, const scant_data *data, const size_t *rows,
                           size_t n, float *out);

/* How many threads to read ahead with: images in files are decoded, the rest is there.
 */
unsigned nn_input_threads(const scant_net *net, const scant_data *data);

/* Where the network has no scaling yet and data are images: the mean and deviation of
 * each channel, over at most 10,000 samples spread evenly. rows: n of data; NULL: all. */
scant_status nn_input_fit_scaling(scant_net *net, const scant_data *data,
                                  const size_t *rows, size_t n);

#endif
