/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions on small planes with many channels, tap by tap: for each place of the
 * kernel one product of matrices whose rows are the pixels that meet there. Rows that
 * would meet padding are left out, which on planes of 4x4 saves a third of the work and
 * on 2x2 more than half; libraries' kernels compute with the padding, and those for
 * weights run at half speed there.
 *
 * Same bits at any thread count.
 */
#ifndef SCANT_NN_CONV_TAPS_H
#define SCANT_NN_CONV_TAPS_H

#include "nn/net.h"

/* Whether node is a convolution whose weights' gradient is better off so; and whether all
 * of it is. */
bool nn_taps_pay(const nn_net *net, const nn_node *node);
bool nn_taps_pay_all(const nn_net *net, const nn_node *node);
/* Bytes that a call needs beside its operands. */
size_t nn_taps_scratch(const nn_net *net, const nn_node *node, unsigned threads);
/* Channels are last: x (n, h, w, ic), d (n, oh, ow, oc), dw (kernel, ic, oc). db (oc) may
 * be NULL. All are set, not added to. */
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
