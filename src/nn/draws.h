/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws from what is known of a network's last layer: m matrices of weights W_s, the same
 * for every sample. What the network says under draw s is softmax(W_s h + c); the mean
 * over draws is what it predicts.
 *
 * Variational: W_s = M + s o e_s, with e_s normal. Dropout: M with the columns of dropped
 * features set to 0 and the others divided by 1 - rate, as training drops them. Draw s is
 * a function of (draw_seed, s): of no sample, no block, no thread, no other draw.
 *
 * Matrices of some draws are multiplied with some samples at a time: class by class and
 * in it draw by draw, so that draws are the lanes of the softmax behind it. Cost a
 * sample: m C d multiply-adds and m C exponentials. Memory: m C d floats, once a network.
 */
#ifndef SCANT_NN_DRAWS_H
#define SCANT_NN_DRAWS_H

#include "nn/network.h"
#include "scant/train.h"

typedef struct nn_draws {
    size_t m, classes, width;
    size_t group; /* draws multiplied at a time: a multiple of NN_LANES */
    float *w;     /* groups of width x (classes, draws of the group), as nn_kernels.panels
                   * takes them; the last one's are filled up to whole vectors by zeros */
    float *mean, *rho, *bias; /* what they were drawn of; rho NULL: dropout */
} nn_draws;

/* The draws of net as it is now: those made before where its last layer has not changed
 * since. Borrowed from net until the next call. NULL: it has none (bayes = none). */
scant_status nn_draws_of(scant_net *net, const nn_draws **out);
void nn_draws_destroy(scant_ctx *ctx, nn_draws *draws); /* NULL is fine */

/* Room of the threads that work on samples, in floats. */
size_t nn_draws_room(const scant_ctx *ctx, size_t classes);

/* Adds to sums (n x classes) what all draws say of n samples with features h: the
 * probabilities, or, where there is one class, the output itself. samples may be NULL;
 * else draw s of sample i goes to samples + s*apart + i*classes. A row of either depends
 * on its features alone. Same bits at any thread count. */
scant_status nn_draws_add(scant_ctx *ctx, const nn_draws *draws, const float *h, size_t n,
                          double *sums, float *samples, size_t apart, float *room);

#endif
