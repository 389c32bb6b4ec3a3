/* SPDX-License-Identifier: Apache-2.0
 *
 * Weight gradients of convolutions on medium-sized planes, in the backend's layout with
 * channels in blocks of eight. The backend's kernels stall on loads and compute with the
 * padding; these do neither. Measured on an AMD EPYC: 0.6 to 0.8 of the backend's time
 * for 3x3 kernels of 16 to 128 channels on 8x8 to 32x32 pixels; little gain at stride 2.
 *
 * Results do not depend on the thread count.
 */
#ifndef SCANT_NN_CONV_STRIPS_H
#define SCANT_NN_CONV_STRIPS_H

#include "nn/net.h"

/* Returns whether nn_strips_weights() is faster than the backend for node on this
 * machine, if the node's tensors are in blocks of eight. */
bool nn_strips_faster(const nn_node *node);
/* Returns the bytes of scratch per call. */
size_t nn_strips_scratch(const nn_node *node);
/* x (n, ic/8, h, w, 8), d (n, oc/8, oh, ow, 8), dw (oc/8, ic/8, kernel, 8 of ic, 8 of
 * oc); ic is a multiple of 8 and oc of 16. db (oc) may be NULL. dw and db are
 * overwritten. scratch has float alignment. */
scant_status nn_strips_weights(scant_ctx *ctx, const nn_node *node, size_t n,
                               const float *x, const float *d, float *dw, float *db,
                               void *scratch);

#endif
