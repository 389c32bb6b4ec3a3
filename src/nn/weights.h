/* SPDX-License-Identifier: Apache-2.0
 *
 * A network's parameters and buffers in one vector, each tensor in the layout that the
 * kernels prefer ("packed"), trained tensors first. Gradients, momenta and averages have
 * the same layout, so an optimiser is a loop over floats.
 *
 * Callers see the plain order (nn_param.offset; tensors as in torch). The first plan
 * (plan.c) decides each tensor's layout; until then values are plain.
 */
#ifndef SCANT_NN_WEIGHTS_H
#define SCANT_NN_WEIGHTS_H

#include "nn/backend.h"

typedef struct nn_slice {
    nn_layout *layout; /* NULL if plain */
    size_t at;         /* offset in floats */
    size_t room;       /* size in floats, including padding, which is 0 */
} nn_slice;

typedef struct nn_weights {
    scant_ctx *ctx;
    const nn_net *net;
    nn_backend *backend;
    scant__arena arena; /* owns slices and their layouts */
    nn_slice *slices;   /* per parameter */
    float *values;      /* packed */
    float *grads;       /* packed; only for trained parameters */
    size_t n_trained, n_floats;
    bool packed;
    float *plain; /* until packed: the values */
} nn_weights;

/* Creates random weights by the law net->init. */
scant_status nn_weights_create(const nn_net *net, nn_backend *backend, uint64_t seed,
                               nn_weights **out);
void nn_weights_destroy(nn_weights *weights); /* NULL is fine */

/* Writes the initial weights in plain order (init.c). */
void nn_weights_draw(const nn_net *net, uint64_t seed, float *plain);

/* Before packing: requests a layout for a parameter. The first request wins. */
scant_status nn_weights_request(nn_weights *weights, int param, const nn_layout *layout);
scant_status nn_weights_pack(nn_weights *weights);

/* Converts a packed vector (like values; all tensors, or only the trained) to the plain
 * order. */
scant_status nn_weights_unpack(nn_weights *weights, const float *packed, bool trained,
                               float *plain);
/* Converts a vector in plain order to a packed one. */
scant_status nn_weights_repack(nn_weights *weights, const float *plain, bool trained,
                               float *packed);
/* Copies the values in plain order, whether packed or not. */
scant_status nn_weights_get(nn_weights *weights, float *plain);
scant_status nn_weights_get_one(nn_weights *weights, int param, float *plain);
scant_status nn_weights_set(nn_weights *weights, const float *plain);

static inline float *nn_weights_at(nn_weights *w, int param) {
    return w->values + w->slices[param].at;
}
static inline float *nn_grads_at(nn_weights *w, int param) {
    return w->grads + w->slices[param].at;
}

#endif
