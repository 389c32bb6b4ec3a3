/* SPDX-License-Identifier: Apache-2.0
 *
 * The front of a small network: a chain of convolutions with few channels and poolings
 * from the input to a dense layer. Library kernels waste most of their lanes on so few
 * channels; stack.h's do not. The choice depends on the network only, so every plan finds
 * the weights in the same (plain) order.
 *
 * NN_TRACE needs every layer's input, so it runs the front with the usual kernels.
 */
#include <string.h>

#include "nn/plan_int.h"

enum { FEW = 256 }; /* limit of input channels times output channels */

static bool fits(const nn_plan *p, int i) {
    const nn_node *node = &p->net->nodes[i];
    const nn_place *place = &p->places[i];
    if (place->uses != 1) return false;
    if (node->kind == NN_MAXPOOL) return true;
    return node->kind == NN_CONV && node->groups == 1 &&
           node->in_shape.c * node->shape.c <= FEW;
}

int nn_plan_front(const nn_plan *p) {
    int at = 0, convs = 0;
    for (int i = 1; i < (int)p->net->n_nodes; i++) {
        bool next = p->places[p->net->nodes[i].in[0]].owner == at;
        /* ends the front: only training has dropout, and all modes need the same front */
        if (next && p->net->nodes[i].kind == NN_DROPOUT) break;
        if (p->places[i].owner != i) continue; /* computed by the layer before it */
        if (next && p->net->nodes[i].kind == NN_DENSE) return convs ? at : NN_NONE;
        if (!next || !fits(p, i)) break;
        convs += p->net->nodes[i].kind == NN_CONV;
        at = i;
    }
    return NN_NONE;
}

scant_status nn_plan_front_weights(nn_plan *p) {
    for (int i = 1; i <= p->front; i++) {
        const nn_node *node = &p->net->nodes[i];
        if (node->kind != NN_CONV) continue;
        const nn_param *w = &p->net->params[node->weight];
        nn_layout *plain;
        TRY(nn_layout_plain(p->weights->backend, &p->arena, w->ndim, w->dims, &plain));
        TRY(nn_weights_request(p->weights, node->weight, plain));
        if (!nn_layout_same(p->weights->slices[node->weight].layout, plain))
            return scant__fail(p->ctx, SCANT_EINTERNAL,
                               "%s: weights are not in plain order", w->name);
    }
    return SCANT_OK;
}

static nn_stage stage_of(const nn_plan *p, int i) {
    const nn_node *node = &p->net->nodes[i];
    nn_shape in = node->in_shape, out = node->shape;
    nn_stage s = {.conv = node->kind == NN_CONV,
                  .ic = in.c,
                  .ih = in.h,
                  .iw = in.w,
                  .oc = out.c,
                  .oh = out.h,
                  .ow = out.w,
                  .bias = node->bias};
    memcpy(s.kernel, node->kernel, sizeof s.kernel);
    memcpy(s.stride, node->stride, sizeof s.stride);
    memcpy(s.pad, node->pad, sizeof s.pad);
    if (node->kind == NN_CONV) {
        s.weight = p->weights->slices[node->weight].at;
        if (node->bias) s.bias_at = p->weights->slices[node->bias_at].at;
    }
    if (p->places[i].absorbed != NN_NONE) {
        s.act = p->net->nodes[p->places[i].absorbed].act;
        s.slope = p->net->nodes[p->places[i].absorbed].slope;
    }
    return s;
}

scant_status nn_plan_front_make(nn_plan *p) {
    nn_stage *stages = TRY_NEW(&p->arena, nn_stage, (size_t)p->front);
    size_t n = 0;
    for (int i = 1; i <= p->front; i++)
        if (p->places[i].owner == i) stages[n++] = stage_of(p, i);
    return nn_stack_create(p->ctx, stages, n, p->batch, p->mode != NN_PREDICT, &p->stack);
}

int nn_plan_front_last(const nn_plan *p) { return p->stack ? p->front : 0; }

scant_status nn_plan_front_persample(nn_plan *p, const float *v, double *norms,
                                     double *products) {
    return nn_stack_persample(p->stack, p->weights->values, p->batch,
                              nn_tensor_data(p, p->front_grad), v, norms, products);
}

scant_status nn_plan_front_visit(nn_plan *p, nn_visit_fn fn, void *arg) {
    return nn_stack_visit(p->stack, p->weights->values, p->batch,
                          nn_tensor_data(p, p->front_grad), fn, arg);
}
