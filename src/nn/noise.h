/* SPDX-License-Identifier: Apache-2.0
 *
 * A variational last layer (Blundell et al., 2015): its weights W (classes x width) are
 * independent normal numbers with means M, the dense layer's weights, and deviations
 * s = softplus(rho). The bias has no distribution.
 *
 * Training samples the output instead of W (local reparametrisation; Kingma, Salimans,
 * Welling, 2015): for input h it is M h + c + e sqrt(v), where v_k = sum_j s_kj^2 h_j^2 +
 * 1e-6 and e is a new normal number for each sample, class and step. Each sample has the
 * same distribution as with a drawn W, but samples of a batch are independent, so
 * gradients vary less. Inference draws W (nn/draws.h).
 *
 * Training adds the divergence of W's distribution from its prior (normal with mean 0 and
 * variance v0), divided by the number of samples, to the loss.
 */
#ifndef SCANT_NN_NOISE_H
#define SCANT_NN_NOISE_H

#include "core/rng.h"
#include "nn/weights.h"

#define NN_NOISE_FLOOR 1e-6 /* lower bound of v */

/* One layer and a batch of n. */
typedef struct nn_noise {
    size_t n, classes, width;
    const float *h;   /* n x width */
    const float *rho; /* classes x width */
    float *work;      /* n x classes: set by forward for backward */
    void *scratch;    /* nn_noise_scratch() bytes */
} nn_noise;

size_t nn_noise_scratch(size_t n, size_t classes, size_t width);
/* out = z + e sqrt(v) (n x classes); e of sample i and class k is normal number i*classes
 * + k of rng. Results of both functions do not depend on the thread count. */
scant_status nn_noise_forward(scant_ctx *ctx, const nn_noise *noise,
                              const scant__rng *rng, const float *z, float *out);
/* Sets d_h and d_rho from d, the gradient by out. The gradient by z is d itself. */
scant_status nn_noise_back(scant_ctx *ctx, const nn_noise *noise, const float *d,
                           float *d_h, float *d_rho);

/* ---- divergence from the prior ---- */

/* KL = 1/2 sum of s^2/v0 + M^2/v0 - 1 - ln(s^2/v0); 0 without a variational layer.
 * Weights must be packed. */
double nn_kl(nn_weights *weights);
/* Adds `by` times the gradient of KL to weights->grads. */
void nn_kl_add(nn_weights *weights, double by);

static inline bool nn_is_variational(const nn_net *net) {
    return net->nodes[net->n_nodes - 1].kind == NN_NOISE;
}

/* ln(1 + exp(x)) */
double nn_softplus(double x);

#endif
