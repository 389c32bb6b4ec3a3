/* SPDX-License-Identifier: Apache-2.0
 *
 * Network input: samples are checked against the network's shape, read and scaled.
 */
#ifndef SCANT_NN_INPUT_H
#define SCANT_NN_INPUT_H

#include "data/dataset.h"
#include "nn/network.h"
#include "scant/train.h"

/* Checks the sample shape. Feature rows also fit a network whose input has as many
 * numbers per sample. */
scant_status nn_input_check(scant_net *net, const scant_data *data);
/* Checks that rows are samples of data. If rows is NULL, sets *n to the number
 * of all samples. */
scant_status nn_input_rows_check(scant_ctx *ctx, const scant_data *data,
                                 const size_t *rows, size_t *n);

/* Reads and scales one sample; thread-safe. */
scant_status nn_input_row(const scant_net *net, const scant_data *data, size_t row,
                          float *out, scant__fault *fault);
/* Applies the network's scaling to a sample read elsewhere. */
void nn_input_scale(const scant_net *net, float *row);
/* Reads and scales n samples in parallel; out is n x width. */
scant_status nn_input_rows(scant_net *net, const scant_data *data, const size_t *rows,
                           size_t n, float *out);

/* Returns the number of threads for prefetching: all threads to decode image files, one
 * for data in memory. */
unsigned nn_input_threads(const scant_net *net, const scant_data *data);

/* The deviation to scale a channel or column with: 1 if it is constant up to rounding,
 * relative to its mean. The scale of its values does not matter. */
float nn_input_deviation(double mean, double variance);
/* Sets the scaling to the mean and deviation of each channel over at most 10,000 evenly
 * spaced samples, if data are images and the network has no scaling yet. rows: n samples
 * of data, or NULL for all. */
scant_status nn_input_fit_scaling(scant_net *net, const scant_data *data,
                                  const size_t *rows, size_t n);

#endif
