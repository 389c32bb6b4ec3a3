/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions on small planes with many channels, tap by tap: for each kernel position
 * one matrix product over the pairs of input and output pixels that it connects. Skipping
 * padding saves a third of a 3x3 kernel's work on 4x4 planes and more than half on
 * 2x2. Library kernels compute with the padding, and on such planes their weight
 * gradients run at half speed.
 *
 * Results do not depend on the thread count.
 */
#ifndef SCANT_NN_CONV_TAPS_H
#define SCANT_NN_CONV_TAPS_H

#include "nn/net.h"

/* Returns whether tap by tap is faster for node's weight gradient. */
bool nn_taps_faster(const nn_node *node);
/* Returns whether tap by tap is faster for all passes of node. */
bool nn_taps_faster_all(const nn_node *node);
/* Returns the bytes of scratch per call. */
size_t nn_taps_scratch(const nn_node *node, unsigned threads);
/* Channels last: x (n, h, w, ic), d (n, oh, ow, oc), dw (kernel, ic, oc). db (oc) may be
 * NULL. Results are overwritten. */
scant_status nn_taps_weights(scant_ctx *ctx, const nn_node *node, size_t n,
                             const float *x, const float *d, float *dw, float *db,
                             void *scratch);

/* Sets y (n, oh, ow, oc) from x, or dx from d if `data`. w is (kernel, ic, oc); bias may
 * be NULL. */
scant_status nn_taps_apply(scant_ctx *ctx, const nn_node *node, size_t n, bool data,
                           const float *from, const float *w, const float *bias,
                           float *to, void *scratch);

/* Restricts outputs *from..*to-1 to those whose tap k lies inside an input of length
 * `in`; if there are none, *from >= *to. */
static inline void nn_tap_inside(size_t in, size_t k, size_t stride, size_t pad,
                                 size_t *from, size_t *to) {
    if (k < pad) *from = size_max(*from, (pad - k + stride - 1) / stride);
    *to = in + pad > k ? size_min(*to, (in + pad - k - 1) / stride + 1) : 0;
}

#endif
