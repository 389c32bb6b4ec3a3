/* SPDX-License-Identifier: Apache-2.0
 *
 * Initial weights.
 *
 *            convolutions               dense layers        biases
 *   torch    U(-a, a), a = 1/sqrt(fan-in)                   like the weights
 *   he       N(0, 2/fan-in)                                 0
 *   he-out   N(0, 2/fan-out)            see below           0, or see below
 *   glorot   U(-a, a), a = sqrt(6/(fan-in + fan-out))       0
 *
 * torch is what PyTorch's Linear and Conv2d do; he is He et al. (2015); glorot is Glorot
 * and Bengio (2010). he-out is what public code of deep networks does. That code agrees
 * on convolutions but not on dense layers, so each model has one of three laws for dense
 * layers (nn_dense_init): torch's law (torchvision's resnet), N(0, 0.01^2) (torchvision's
 * vgg and mobilenetv2), or N(0, 2/(fan-in + fan-out)) (wide residual networks in
 * FixMatch's code). Fans are torch's: a layer of `groups` has fan-in c/groups k^2 and
 * fan-out c' k^2.
 *
 * Normalisation starts as the identity. A variational last layer has means N(0, 0.05^2)
 * and rho N(-4, 0.05^2). onehidden has a law of its own (models.c).
 */
#include <math.h>

#include "core/rng.h"
#include "nn/weights.h"

/* The law of a parameter: uniform in (-width, width), or normal with deviation width. */
typedef struct law {
    bool uniform;
    double width; /* 0: all numbers are 0 */
} law;

static law torch_law(const nn_param *p) {
    return (law){true, 1 / sqrt((double)p->fan_in)};
}

/* Dense layers of he-out. */
static law dense_law(const nn_net *net, const nn_param *p) {
    if (net->dense_init == NN_DENSE_TORCH) return torch_law(p);
    if (p->role == NN_BIAS) return (law){0};
    return (law){.width = net->dense_init == NN_DENSE_SMALL
                              ? 0.01
                              : sqrt(2 / (double)(p->fan_in + p->fan_out))};
}

/* The law of a weight tensor or its bias. */
static law law_of(const nn_net *net, const nn_param *p) {
    const nn_node *node = &net->nodes[p->node];
    if (node->deviation > 0)
        return (law){.width = p->role == NN_WEIGHT ? (double)node->deviation : 0};
    if (net->init == NN_INIT_TORCH) return torch_law(p);
    if (net->init == NN_INIT_HE_OUT && node->kind == NN_DENSE) return dense_law(net, p);
    if (p->role == NN_BIAS) return (law){0};
    if (net->init == NN_INIT_GLOROT)
        return (law){true, sqrt(6 / (double)(p->fan_in + p->fan_out))};
    size_t fan = net->init == NN_INIT_HE ? p->fan_in : p->fan_out;
    return (law){.width = sqrt(2 / (double)fan)};
}

static void draw(const scant__rng *rng, law of, const nn_param *p, float *w) {
    for (size_t k = 0; k < p->count; k++) {
        double x = of.uniform ? 2 * scant__rng_unit(rng, 2 * (p->offset + k)) - 1
                              : scant__rng_normal(rng, p->offset + k);
        w[k] = (float)(of.width * x);
    }
}

void nn_weights_draw(const nn_net *net, uint64_t seed, float *plain) {
    const scant__rng rng = {seed, SCANT__RNG_WEIGHTS};
    for (size_t i = 0; i < net->n_params; i++) {
        const nn_param *p = &net->params[i];
        float *w = plain + p->offset;
        if (p->role == NN_WEIGHT && net->nodes[p->node].frozen) { /* random signs */
            for (size_t k = 0; k < p->count; k++)
                w[k] = scant__rng_unit(&rng, 2 * (p->offset + k)) < 0.5 ? -1 : 1;
        } else if (p->role == NN_WEIGHT || p->role == NN_BIAS) {
            draw(&rng, law_of(net, p), p, w);
        } else if (p->role == NN_RHO) {
            for (size_t k = 0; k < p->count; k++)
                w[k] = (float)(-4 + 0.05 * scant__rng_normal(&rng, p->offset + k));
        } else {
            for (size_t k = 0; k < p->count; k++)
                w[k] = p->role == NN_GAMMA || p->role == NN_VAR ? 1 : 0;
        }
    }
}
