/* SPDX-License-Identifier: Apache-2.0
 *
 * Posterior draws of a network's last layer: m weight matrices W_s, the same for every
 * sample. Draw s predicts softmax(W_s h + c); the network predicts the mean over draws.
 *
 * Variational: W_s = M + sigma o e_s (elementwise), with deviations sigma and e_s
 * standard normal. Dropout: M with the columns of dropped features set to 0 and the
 * others divided by 1 - rate, as in training. Draw s is a function of (draw_seed, s)
 * only, not of samples, blocks, threads or other draws.
 *
 * A group of draws is multiplied with a block of samples. The products are ordered by
 * class, then by draw: draws are the lanes of the softmax that follows. Cost per sample:
 * m C d multiply-adds and m C exponentials. Memory: m C d floats per network.
 */
#ifndef SCANT_NN_DRAWS_H
#define SCANT_NN_DRAWS_H

#include "nn/network.h"
#include "scant/train.h"

typedef struct nn_draws {
    scant__arena arena; /* owns the arrays */
    size_t m, classes, width;
    size_t group; /* draws multiplied at a time: a multiple of NN_LANES */
    float *w;     /* groups of width x (classes, draws of the group), in the layout of
                     nn_kernels.panels; the last group is zero-padded to whole vectors */
    float *mean;  /* the weights; with a variational layer, their posterior means */
    float *rho;   /* standard deviations; NULL with dropout */
    float *bias;
} nn_draws;

/* Sets *out to the draws for net's current weights, reused if its last layer has not
 * changed; NULL for bayes = none. They belong to net and are valid until the next call.
 */
scant_status nn_draws_of(scant_net *net, const nn_draws **out);
void nn_draws_free(nn_draws *draws); /* NULL is fine */
DEFINE_AUTO(nn_draws, nn_draws)

/* Returns the scratch of all threads, in floats. */
size_t nn_draws_room(const scant_ctx *ctx, size_t classes);

/* Adds the outputs of all draws for n samples with features h to sums (n x classes):
 * probabilities, or with one class the output itself. samples may be NULL; else draw s of
 * sample i goes to samples + s*stride + i*classes. A row depends on its own features
 * only. Results do not depend on the thread count. */
scant_status nn_draws_add(scant_ctx *ctx, const nn_draws *draws, const float *h, size_t n,
                          double *sums, float *samples, size_t stride, float *room);

#endif
