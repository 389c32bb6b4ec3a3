/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans the backward pass, from the last node to the first.
 *
 * Several nodes may share a gradient: a residual sum passes its own to both inputs. A
 * gradient is changed in place only when no other node still needs it.
 */
#include "nn/conv_strips.h"
#include "nn/conv_taps.h"
#include "nn/plan_int.h"

static const nn_node *node_at(const nn_plan *p, int i) { return &p->net->nodes[i]; }

/* Adds tensor t to the gradient by node's output. */
static scant_status give(nn_plan *p, int node, int t) {
    nn_place *to = &p->places[p->places[node].owner];
    if (p->places[node].owner == 0) return SCANT_OK;
    if (to->grad == NN_NONE) {
        to->grad = t;
        p->tensors[t].waiting++;
        return SCANT_OK;
    }
    int have = to->grad, sum = have;
    TRY(nn_plan_reordered(p, node, p->tensors[have].layout, &t));
    if (p->tensors[have].waiting > 1 || p->mode == NN_TRACE) {
        sum = nn_plan_tensor(p, p->tensors[have].layout, 0);
        p->tensors[have].waiting--;
        p->tensors[sum].waiting = 1;
    }
    nn_plan_emit_simple(p, NN_STEP_SUM, node, have, t, sum, NULL);
    to->grad = sum;
    return SCANT_OK;
}

/* Sets *out to the gradient by node i's value before its activation; i may change it. */
static scant_status own_gradient(nn_plan *p, int i, int *out) {
    nn_place *place = &p->places[i];
    const nn_node *act = nn_plan_absorbed(p, i);
    int g = place->grad;
    p->tensors[g].waiting--;
    bool alone = p->tensors[g].waiting == 0 && p->mode != NN_TRACE;
    bool kernel_does = act && node_at(p, i)->kind == NN_NORM && nn_plan_act_inside(p, i);
    if (act && !kernel_does) {
        TRY(nn_plan_reordered(p, i, p->tensors[place->value].layout, &g));
        int masked = alone ? g : nn_plan_tensor(p, p->tensors[g].layout, 0);
        nn_plan_emit_simple(p, NN_STEP_MASK, i, place->value, g, masked, act);
        g = masked;
        alone = true;
    }
    if (node_at(p, i)->kind == NN_DENSE && node_at(p, i)->scale != 1) {
        int scaled =
            alone && p->mode != NN_TRACE ? g : nn_plan_tensor(p, p->tensors[g].layout, 0);
        nn_plan_emit_simple(p, NN_STEP_SCALE, i, g, NN_NONE, scaled, NULL);
        g = scaled;
    }
    *out = g;
    return SCANT_OK;
}

static void trace(nn_plan *p, int i, int input, int g) {
    if (p->mode != NN_TRACE) return;
    p->places[i].trace[0] = input;
    p->places[i].trace[1] = g;
    nn_plan_keep(p, input);
    nn_plan_keep(p, g);
}

static scant_status back_taps(nn_plan *p, int i, int g) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    TRY(nn_plan_taps(p, i));
    int src = place->src, dw = nn_plan_tensor(p, place->taps[2], 0);
    TRY(nn_plan_reordered(p, i, place->taps[0], &src));
    TRY(nn_plan_reordered(p, i, place->taps[1], &g));
    nn_plan_emit_simple(p, NN_STEP_TAPS, i, src, g, dw, NULL);
    return nn_plan_reorder(p, i, place->taps[2], dw,
                           p->weights->slices[node->weight].layout,
                           nn_ref_grad(node->weight));
}

static scant_status back_taps_data(nn_plan *p, int i, int g) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    int weight = nn_ref_value(node->weight);
    TRY(nn_plan_reordered(p, i, place->taps[1], &g));
    TRY(nn_plan_reordered(p, i, place->taps[2], &weight));
    int d_src = nn_plan_tensor(p, place->taps[0], 0);
    nn_plan_emit_simple(p, NN_STEP_TAPS_DATA, i, g, weight, d_src, NULL);
    TRY(nn_plan_reordered(p, i, nn_op_layout(place->op, NN_BACK_DATA, NN_D_SRC), &d_src));
    return give(p, node->in[0], d_src);
}

/* Whether conv_strips.h computes the weight gradient: if it is faster, and all layouts
 * are in blocks of eight. */
static bool by_strips(const nn_plan *p, int i) {
    const nn_op *op = p->places[i].op;
    return nn_strips_faster(node_at(p, i)) &&
           nn_layout_planes_by_8(nn_op_layout(op, NN_BACK_WEIGHTS, NN_SRC)) &&
           nn_layout_planes_by_8(nn_op_layout(op, NN_BACK_WEIGHTS, NN_D_DST)) &&
           nn_layout_weights_by_8(nn_op_layout(op, NN_BACK_WEIGHTS, NN_D_W));
}

static scant_status back_weights(nn_plan *p, int i, int g) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    bool rows = node->kind == NN_DENSE, strips = !rows && by_strips(p, i);
    if (node->frozen) return SCANT_OK;
    if (!strips && nn_taps_faster(node)) return back_taps(p, i, g);
    int src = place->src;
    if (!rows) {
        TRY(nn_plan_reordered(p, i, nn_op_layout(place->op, NN_BACK_WEIGHTS, NN_SRC),
                              &src));
        TRY(nn_plan_reordered(p, i, nn_op_layout(place->op, NN_BACK_WEIGHTS, NN_D_DST),
                              &g));
    }
    const nn_layout *dw = nn_op_layout(place->op, NN_BACK_WEIGHTS, NN_D_W);
    const nn_layout *packed = p->weights->slices[node->weight].layout;
    int to = nn_ref_grad(node->weight), into = to;
    bool same = nn_layout_same(dw, packed);
    if (!same) into = nn_plan_tensor(p, dw, 0);
    nn_step s = nn_op_step(i, place->op, NN_BACK_WEIGHTS);
    s.slot[NN_SRC] = src;
    s.slot[NN_D_DST] = g;
    s.slot[NN_D_W] = into;
    if (node->bias) s.slot[NN_D_B] = nn_ref_grad(node->bias_at);
    if (strips)
        nn_plan_emit_simple(p, NN_STEP_STRIPS, i, src, g, into, NULL);
    else
        nn_plan_emit(p, s);
    return same ? SCANT_OK : nn_plan_reorder(p, i, dw, into, packed, to);
}

static scant_status back_weighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    bool rows = node->kind == NN_DENSE;
    int g;
    TRY(own_gradient(p, i, &g));
    const nn_layout *layout = NULL;
    if (rows) {
        TRY(nn_plan_plain(p, i, &layout));
        TRY(nn_plan_reordered(p, i, layout, &g));
    }
    trace(p, i, place->src, g);
    size_t before = p->n_steps;
    TRY(back_weights(p, i, g));
    for (size_t k = before; k < p->n_steps; k++) p->steps[k].of_weights = true;
    if (!nn_op_has(place->op, NN_BACK_DATA)) return SCANT_OK;
    if (nn_taps_faster_all(node)) return back_taps_data(p, i, g);
    const nn_layout *w = nn_op_layout(place->op, NN_BACK_DATA, NN_W);
    if (rows)
        TRY(nn_plan_plain(p, node->in[0], &layout));
    else {
        TRY(nn_plan_reordered(p, i, nn_op_layout(place->op, NN_BACK_DATA, NN_D_DST), &g));
        layout = nn_op_layout(place->op, NN_BACK_DATA, NN_D_SRC);
    }
    int weight = nn_ref_value(node->weight), d_src = nn_plan_tensor(p, layout, 0);
    TRY(nn_plan_reordered(p, i, w, &weight));
    nn_step s = nn_op_step(i, place->op, NN_BACK_DATA);
    s.slot[NN_D_DST] = g;
    s.slot[NN_W] = weight;
    s.slot[NN_D_SRC] = d_src;
    nn_plan_emit(p, s);
    return give(p, node->in[0], d_src);
}

static scant_status back_unweighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    int g;
    TRY(own_gradient(p, i, &g));
    TRY(nn_plan_reordered(p, i, nn_op_layout(place->op, NN_BACK_DATA, NN_D_DST), &g));
    int d_src = nn_plan_tensor(p, nn_op_layout(place->op, NN_BACK_DATA, NN_D_SRC), 0);
    nn_step s = nn_op_step(i, place->op, NN_BACK_DATA);
    if (nn_op_layout(place->op, NN_BACK_DATA, NN_SRC)) s.slot[NN_SRC] = place->src;
    s.slot[NN_WORK] = place->work;
    s.slot[NN_D_DST] = g;
    s.slot[NN_D_SRC] = d_src;
    if (node->kind == NN_NORM) {
        s.slot[NN_W] = nn_ref_value(node->weight);
        s.slot[NN_B] = nn_ref_value(node->bias_at);
        s.slot[NN_STAT_MEAN] = place->mean;
        s.slot[NN_STAT_VAR] = place->var;
        s.slot[NN_D_W] = nn_ref_grad(node->weight);
        s.slot[NN_D_B] = nn_ref_grad(node->bias_at);
        trace(p, i, place->src, g);
    }
    nn_plan_emit(p, s);
    return give(p, node->in[0], d_src);
}

/* The gradient by the dense layer's output equals the gradient by the noisy output. */
static scant_status back_noise(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    const nn_layout *plain;
    int g;
    TRY(own_gradient(p, i, &g));
    TRY(nn_plan_plain(p, node->in[1], &plain));
    int d = nn_plan_tensor(p, plain, 0);
    nn_plan_touch(p, place->work);
    nn_plan_emit_simple(p, NN_STEP_NOISE_BACK, i, g, place->src, d, NULL);
    TRY(give(p, node->in[0], g));
    return give(p, node->in[1], d);
}

static scant_status back_node(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    bool act = node->kind == NN_ACT;
    int g, d;
    if (place->owner != i || place->grad == NN_NONE) return SCANT_OK;
    switch (node->kind) {
    case NN_CONV:
    case NN_DENSE:
        return back_weighted(p, i);
    case NN_ADD:
        TRY(own_gradient(p, i, &g));
        TRY(give(p, node->in[0], g));
        return give(p, node->in[1], g);
    case NN_ACT:
    case NN_DROPOUT:
        if (act && !nn_act_invertible(node->act)) return back_unweighted(p, i);
        TRY(own_gradient(p, i, &g));
        TRY(nn_plan_reordered(p, i, p->tensors[place->value].layout, &g));
        d = nn_plan_tensor(p, p->tensors[g].layout, 0);
        if (act)
            nn_plan_emit_simple(p, NN_STEP_MASK, i, place->value, g, d, node);
        else
            nn_plan_emit_simple(p, NN_STEP_DROP_BACK, i, g, place->work, d, NULL);
        return give(p, node->in[0], d);
    case NN_NOISE:
        return back_noise(p, i);
    default:
        return back_unweighted(p, i);
    }
}

scant_status nn_plan_write_backward(nn_plan *p) {
    int last = (int)p->net->n_nodes - 1;
    const nn_layout *plain;
    TRY(nn_plan_plain(p, last, &plain));
    p->d_logits = nn_plan_tensor(p, plain, 0);
    /* the caller sets d_logits between the passes: it must not share memory with tensors
     * that are live then */
    nn_plan_touch(p, p->d_logits);
    if (p->n_forward) p->tensors[p->d_logits].first = p->n_forward - 1;
    TRY(give(p, last, p->d_logits));
    int first = nn_plan_has_front(p) ? p->front : 0;
    for (int i = last; i > first; i--) TRY(back_node(p, i));
    if (!first) return SCANT_OK;
    int g = p->places[first].grad;
    TRY(nn_plan_plain(p, first, &plain));
    TRY(nn_plan_reordered(p, first, plain, &g));
    nn_plan_emit_simple(p, NN_STEP_FRONT_BACK, first, g, NN_NONE, g, NULL);
    p->steps[p->n_steps - 1].of_weights = true;
    p->front_grad = g;
    if (p->mode == NN_TRACE) nn_plan_keep(p, g);
    return SCANT_OK;
}
