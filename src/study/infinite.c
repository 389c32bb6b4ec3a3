/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of a network compared with that of the infinitely wide one: CRC's theorem 1
 * (theorem 3.1 of Arora et al., 2019), which bounds the difference of their entries.
 *
 * The theorem's network has standard normal parameters v and weights sqrt(2 / fan-in) v,
 * without biases. scant's weights are those numbers themselves (init he), so the gradient
 * by v is sqrt(2 / fan-in) times that by a weight. The theorem does not scale the first
 * layer. Ours has 2 / fan-in there, too: as if samples were shorter by its root, which
 * multiplies the closed form by 2 / fan-in. Other laws of initial weights have another
 * limit, and their difference does not vanish.
 *
 * Cost: the kernel of the network, the closed form, and the eigenvalues of two matrices.
 */
#include <math.h>

#include "core/size.h"
#include "data/array.h"
#include "linalg/dense.h"
#include "nn/input.h"
#include "nn/network.h"
#include "study/study.h"

/* Counts the hidden layers; 0: the network is not such a chain. */
static size_t hidden_layers(const nn_net *net) {
    size_t rectifiers = 0;
    for (size_t i = 1; i < net->n_nodes; i++) {
        const nn_node *v = &net->nodes[i];
        bool dense = v->kind == NN_DENSE && !v->frozen;
        bool relu = v->kind == NN_ACT && v->act == NN_ACT_RELU;
        if (v->in[0] != (int)i - 1) return 0;
        if (!dense && !relu && v->kind != NN_DROPOUT) return 0;
        rectifiers += relu;
    }
    return rectifiers;
}

static scant_status closed_form(const scant_lab_opts *o, scant__arena *arena,
                                size_t depth, double *out) {
    size_t width = nn_shape_size(nn_net_input(o->net->net)), n = o->n;
    const size_t shape[] = {n, width};
    AUTO(scant_array_auto) scant_array *x = NULL;
    float *inputs = TRY_NEW(arena, float, size_mul(n, width));
    TRY(nn_input_rows(o->net, o->data, o->rows, n, inputs));
    TRY(scant_array_wrap(o->net->ctx, "inputs", inputs, SCANT_F32, 2, shape, &x));
    TRY(scant_ntk_kernel(o->net->ctx, x, NULL, depth, out));
    for (size_t i = 0; i < n * n; i++) out[i] *= 2 / (double)width;
    return SCANT_OK;
}

/* The largest absolute eigenvalue; k is overwritten. */
static scant_status spectral(scant_ctx *ctx, double *k, size_t n, double *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    double *values = TRY_NEW(&arena, double, n);
    double *room = TRY_NEW(&arena, double, la_eigh_room(n, false));
    TRY(la_eigh_alone(ctx, n, k, false, values, room));
    *out = fmax(fabs(values[0]), fabs(values[n - 1]));
    return SCANT_OK;
}

scant_status study_infinite(const scant_lab_opts *o, scant_infinite *out) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = o->net->ctx};
    size_t n = o->n, cells = size_mul(n, n);
    double change, whole;
    *out = (scant_infinite){.depth = hidden_layers(o->net->net)};
    if (!out->depth)
        return scant__fail(o->net->ctx, SCANT_EINPUT,
                           "%s cannot be compared with an infinitely wide network: that "
                           "has a closed form for dense layers with ReLU (model mlp)",
                           o->net->net->model);
    if (o->net->trained || o->net->net->init != NN_INIT_HE)
        return scant__fail(o->net->ctx, SCANT_EINPUT,
                           "the network cannot be compared with an infinitely wide one: "
                           "expected initial weights by the law he, not trained");
    if (o->last_layer)
        return scant__fail(o->net->ctx, SCANT_EINPUT,
                           "an infinitely wide network is compared with the kernel of "
                           "all layers, not of the last one");
    double *own = TRY_NEW(&arena, double, cells), *limit = TRY_NEW(&arena, double, cells);
    TRY(study_net_scaled_kernel(o->net, o->data, o->rows, n, own));
    TRY(closed_form(o, &arena, out->depth, limit));
    for (size_t i = 0; i < cells; i++) {
        own[i] -= limit[i];
        out->entry = fmax(out->entry, fabs(own[i]));
    }
    double trace = 0;
    for (size_t i = 0; i < n; i++) trace += limit[i * n + i];
    out->entry /= trace / (double)n;
    out->frobenius = la_frobenius(own, cells) / la_frobenius(limit, cells);
    TRY(spectral(arena.ctx, own, n, &change));
    TRY(spectral(arena.ctx, limit, n, &whole));
    out->spectral = change / whole;
    return SCANT_OK;
}

double study_infinite_memory(const scant_lab_opts *o, size_t n) {
    size_t width = nn_shape_size(nn_net_input(o->net->net));
    return 16 * (double)n * (double)n + 4 * (double)n * (double)width +
           8 * ((double)n + (double)la_eigh_room(n, false)) +
           (double)scant_ntk_memory(o->net->ctx, width);
}
