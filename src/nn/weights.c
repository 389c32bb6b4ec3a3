/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensors start at multiples of 16 floats, for alignment.
 */
#include "nn/weights.h"

#include <string.h>

#include "core/parfor.h"

enum { ALIGN_FLOATS = 16 };

scant_status nn_weights_create(const nn_net *net, nn_backend *backend, uint64_t seed,
                               nn_weights **out) {
    scant_ctx *ctx = net->ctx;
    nn_weights *w = *out = scant__zalloc(ctx, 1, sizeof *w);
    if (!w) return SCANT_ENOMEM;
    *w = (nn_weights){.ctx = ctx, .net = net, .backend = backend, .arena = {.ctx = ctx}};
    w->slices = scant__arena_zalloc(&w->arena, net->n_params, sizeof *w->slices);
    w->plain = scant__alloc(ctx, net->n_floats, sizeof *w->plain);
    if (!w->slices || !w->plain) {
        nn_weights_destroy(w);
        *out = NULL;
        return SCANT_ENOMEM;
    }
    nn_weights_draw(net, seed, w->plain);
    return SCANT_OK;
}

void nn_weights_destroy(nn_weights *w) {
    if (!w) return;
    scant__arena_end(&w->arena);
    scant__free(w->ctx, w->values);
    scant__free(w->ctx, w->grads);
    scant__free(w->ctx, w->plain);
    scant__free(w->ctx, w);
}

scant_status nn_weights_request(nn_weights *w, int param, const nn_layout *layout) {
    if (w->packed || w->slices[param].layout) return SCANT_OK;
    return nn_layout_copy(&w->arena, layout, &w->slices[param].layout);
}

/* Reorders one parameter; plain and packed point at its own numbers. */
static scant_status convert(nn_weights *w, size_t i, float *plain, float *packed,
                            bool pack) {
    const nn_param *p = &w->net->params[i];
    const nn_layout *layout = w->slices[i].layout;
    if (!layout) {
        memcpy(pack ? packed : plain, pack ? plain : packed, p->count * sizeof *plain);
        return SCANT_OK;
    }
    size_t groups = w->net->nodes[p->node].groups, dims[5], ndim = 0;
    AUTO(scant__arena_end) scant__arena arena = {.ctx = w->ctx};
    AUTO(nn_op_auto) nn_op *op = NULL;
    nn_layout *flat;
    if (groups > 1) dims[ndim++] = groups;
    for (size_t k = 0; k < p->ndim; k++)
        dims[ndim++] = k == 0 ? p->dims[0] / groups : p->dims[k];
    TRY(nn_layout_plain(w->backend, &arena, ndim, dims, &flat));
    if (pack)
        TRY(nn_op_move(w->backend, &arena, flat, plain, layout, packed, &op));
    else
        TRY(nn_op_move(w->backend, &arena, layout, packed, flat, plain, &op));
    return nn_op_run(op, NN_FORWARD);
}

scant_status nn_weights_pack(nn_weights *w) {
    if (w->packed) return SCANT_OK;
    const nn_net *net = w->net;
    size_t at = 0;
    for (int trained = 1; trained >= 0; trained--) {
        for (size_t i = 0; i < net->n_params; i++) {
            const nn_param *p = &net->params[i];
            nn_slice *slice = &w->slices[i];
            if (p->trained != (trained == 1)) continue;
            size_t floats = p->count;
            if (slice->layout) floats = nn_layout_bytes(slice->layout) / sizeof(float);
            floats = (floats + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
            *slice = (nn_slice){slice->layout, at, floats};
            at += floats;
        }
        if (trained) w->n_trained = at;
    }
    w->n_floats = at;
    w->values = scant__zalloc(w->ctx, w->n_floats, sizeof *w->values);
    w->grads = scant__zalloc(w->ctx, w->n_trained, sizeof *w->grads);
    scant_status s = w->values && w->grads
                         ? nn_weights_repack(w, w->plain, false, w->values)
                         : SCANT_ENOMEM;
    if (s != SCANT_OK) { /* still unpacked: the next plan tries again */
        scant__free(w->ctx, w->values);
        scant__free(w->ctx, w->grads);
        w->values = w->grads = NULL;
        return s;
    }
    w->packed = true;
    scant__free(w->ctx, w->plain);
    w->plain = NULL;
    return SCANT_OK;
}

/* Writes only the destination, so the callers below may cast const off the source. */
static scant_status convert_all(nn_weights *w, float *plain, float *packed, bool trained,
                                bool pack) {
    scant_status s = SCANT_OK;
    int threads = scant__threads_enter(w->ctx);
    for (size_t i = 0; i < w->net->n_params && s == SCANT_OK; i++) {
        const nn_param *p = &w->net->params[i];
        if (trained && !p->trained) continue;
        s = convert(w, i, plain + p->offset, packed + w->slices[i].at, pack);
    }
    scant__threads_leave(threads);
    return s;
}

scant_status nn_weights_unpack(nn_weights *w, const float *packed, bool trained,
                               float *plain) {
    return convert_all(w, plain, (float *)(uintptr_t)packed, trained, false);
}

scant_status nn_weights_repack(nn_weights *w, const float *plain, bool trained,
                               float *packed) {
    return convert_all(w, (float *)(uintptr_t)plain, packed, trained, true);
}

scant_status nn_weights_get(nn_weights *w, float *plain) {
    if (w->packed) return nn_weights_unpack(w, w->values, false, plain);
    memcpy(plain, w->plain, w->net->n_floats * sizeof *plain);
    return SCANT_OK;
}

scant_status nn_weights_get_one(nn_weights *w, int param, float *plain) {
    const nn_param *p = &w->net->params[param];
    if (!w->packed) {
        memcpy(plain, w->plain + p->offset, p->count * sizeof *plain);
        return SCANT_OK;
    }
    int threads = scant__threads_enter(w->ctx);
    scant_status s = convert(w, (size_t)param, plain, nn_weights_at(w, param), false);
    scant__threads_leave(threads);
    return s;
}

scant_status nn_weights_set(nn_weights *w, const float *plain) {
    if (w->packed) return nn_weights_repack(w, plain, false, w->values);
    memcpy(w->plain, plain, w->net->n_floats * sizeof *plain);
    return SCANT_OK;
}
