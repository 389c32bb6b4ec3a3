/* SPDX-License-Identifier: Apache-2.0
 *
 * A network run over samples in evaluation mode, batch by batch.
 */
#ifndef SCANT_NN_READOUT_H
#define SCANT_NN_READOUT_H

#include "nn/network.h"

/* After a forward pass: the plan's first `count` samples are rows first, first+1, ... of
 * those asked for. */
typedef scant_status (*nn_readout_fn)(void *arg, nn_plan *plan, size_t first,
                                      size_t count);

/* rows NULL: all. */
scant_status nn_readout(scant_net *net, const scant_data *data, const size_t *rows,
                        size_t n, const char *phase, nn_readout_fn fn, void *arg);
size_t nn_readout_batch(const scant_net *net, size_t n);

#endif
