/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions on small planes with many channels, tap by tap: for each kernel position
 * one matrix product over the pixels that meet there. Skipping padding saves a third of
 * the work on 4x4 planes and more than half on 2x2; library kernels compute with the
 * padding, and their weight gradients run at half speed there.
 *
 * Results do not depend on the thread count.
 */
#ifndef SCANT_NN_CONV_TAPS_H
#define SCANT_NN_CONV_TAPS_H

#include "nn/net.h"

/* Whether this is faster for node's weight gradient; and for all its passes. */
bool nn_taps_pay(const nn_net *net, const nn_node *node);
bool nn_taps_pay_all(const nn_net *net, const nn_node *node);
/* Bytes of scratch per call. */
size_t nn_taps_scratch(const nn_net *net, const nn_node *node, unsigned threads);
/* Channels last: x (n, h, w, ic), d (n, oh, ow, oc), dw (kernel, ic, oc). db (oc) may be
 * NULL. Results are overwritten. */
scant_status nn_taps_weights(scant_ctx *ctx, const nn_net *net, const nn_node *node,
                             size_t n, const float *x, const float *d, float *dw,
                             float *db, void *scratch);

/* w (kernel, ic, oc); bias may be NULL. Sets y (n, oh, ow, oc). */
scant_status nn_taps_forward(scant_ctx *ctx, const nn_net *net, const nn_node *node,
                             size_t n, const float *x, const float *w, const float *bias,
                             float *y, void *scratch);
/* Sets dx (n, h, w, ic). */
scant_status nn_taps_data(scant_ctx *ctx, const nn_net *net, const nn_node *node,
                          size_t n, const float *d, const float *w, float *dx,
                          void *scratch);

#endif
