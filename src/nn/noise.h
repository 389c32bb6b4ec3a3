/* SPDX-License-Identifier: Apache-2.0
 *
 * A variational last layer (Blundell et al., 2015): its weights W (classes x width) are
 * independent normal numbers of means M, which are the dense layer's weights, and of
 * deviations s = softplus(rho). The bias is one number a class, as ever.
 *
 * In training the output of a sample with input h is drawn, not W (local
 * reparametrisation; Kingma, Salimans, Welling, 2015): M h + c + e sqrt(v), where
 * v_k = sum_j s_kj^2 h_j^2 + 1e-6 and e is normal, anew for each sample, class and step.
 * That is the law which a drawn W would give each sample; samples of a batch are
 * independent of each other, so gradients vary less. Read-outs draw W (nn/draws.h).
 *
 * What is minimised beside the data's loss is the divergence of W's law from its prior,
 * normal with mean 0 and variance v0, divided by the number of samples.
 */
#ifndef SCANT_NN_NOISE_H
#define SCANT_NN_NOISE_H

#include "core/rng.h"
#include "nn/weights.h"

#define NN_NOISE_FLOOR 1e-6 /* of v */

/* One layer and a batch of n. */
typedef struct nn_noise {
    size_t n, classes, width;
    const float *h;   /* n x width */
    const float *rho; /* classes x width */
    float *work;      /* n x classes: what forward leaves for backward */
    void *scratch;    /* nn_noise_scratch() bytes */
} nn_noise;

size_t nn_noise_scratch(size_t n, size_t classes, size_t width);
/* out = z + e sqrt(v) (n x classes); e of sample i and class k is normal number
 * i*classes + k of rng. Same bits at any thread count, here and below. */
scant_status nn_noise_forward(scant_ctx *ctx, const nn_noise *noise,
                              const scant__rng *rng, const float *z, float *out);
/* From d, the gradient by out: sets d_h and d_rho. That by z is d itself. */
scant_status nn_noise_back(scant_ctx *ctx, const nn_noise *noise, const float *d,
                           float *d_h, float *d_rho);

/* ---- the divergence of the law from its prior ---- */

/* KL = 1/2 sum of s^2/v0 + M^2/v0 - 1 - ln(s^2/v0). Of a network without such a layer: 0.
 * Weights are packed. */
double nn_kl(nn_weights *weights);
/* Adds by times its gradient to weights->grads. */
void nn_kl_add(nn_weights *weights, double by);

static inline bool nn_is_variational(const nn_net *net) {
    return net->nodes[net->n_nodes - 1].kind == NN_NOISE;
}

/* ln(1 + exp(x)) */
double nn_softplus(double x);

#endif
