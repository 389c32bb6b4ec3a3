/* SPDX-License-Identifier: Apache-2.0
 *
 * Network input: samples are checked against the network's shape, read and scaled.
 */
#ifndef SCANT_NN_INPUT_H
#define SCANT_NN_INPUT_H

#include "data/dataset.h"
#include "nn/network.h"
#include "scant/train.h"

/* Checks the sample shape; feature rows may stand for planes of as many numbers. */
scant_status nn_input_check(scant_net *net, const scant_data *data);
/* Checks that rows are samples of data. rows NULL means all and sets *n. */
scant_status nn_input_rows_check(scant_ctx *ctx, const scant_data *data,
                                 const size_t *rows, size_t *n);

/* Reads one sample; thread-safe. */
scant_status nn_input_row(const scant_net *net, const scant_data *data, size_t row,
                          float *out, scant__fault *fault);
/* Applies the network's scaling to a sample read elsewhere. */
void nn_input_scale(const scant_net *net, float *row);
/* Reads n samples in parallel to out (n x width). */
scant_status nn_input_rows(scant_net *net, const scant_data *data, const size_t *rows,
                           size_t n, float *out);

/* Threads for prefetching: image files must be decoded, other data is in memory. */
unsigned nn_input_threads(const scant_net *net, const scant_data *data);

/* If the network has no scaling yet and data are images: sets the mean and deviation of
 * each channel over at most 10,000 evenly spaced samples. rows: n of data; NULL: all. */
scant_status nn_input_fit_scaling(scant_net *net, const scant_data *data,
                                  const size_t *rows, size_t n);

#endif
