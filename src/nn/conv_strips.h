/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights' gradients of convolutions on planes of some size, on the layouts that the
 * backend's kernels use: channels in blocks of eight. Those kernels wait for loads and
 * compute with the padding; these do neither, and took three quarters of the time on an
 * AMD EPYC (0.6 to 0.8 for 3x3 kernels of 16 to 128 channels on 8x8 to 32x32 pixels; with
 * a stride of 2 the gain is small).
 *
 * Same bits at any thread count.
 */
#ifndef SCANT_NN_CONV_STRIPS_H
#define SCANT_NN_CONV_STRIPS_H

#include "nn/net.h"

/* Whether node is a convolution whose weights' gradient is better off so, on this
 * machine, if its tensors lie in blocks of eight. */
bool nn_strips_pay(const nn_net *net, const nn_node *node);
/* Bytes that a call needs beside its operands. */
size_t nn_strips_scratch(const nn_net *net, const nn_node *node);
/* x (n, ic/8, h, w, 8), d (n, oc/8, oh, ow, 8), dw (oc/8, ic/8, kernel, 8 of ic, 8 of
 * oc); ic is a multiple of 8 and oc of 16. db (oc) may be NULL. Both are set, not added
 * to. scratch is aligned as floats are. */
scant_status nn_strips_weights(scant_ctx *ctx, const nn_net *net, const nn_node *node,
                               size_t n, const float *x, const float *d, float *dw,
                               float *db, void *scratch);

#endif
