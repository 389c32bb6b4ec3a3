/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a plan down: forward through the nodes, then backward, a step each; where a
 * kernel wants another layout than there is, a reorder goes in between. Activations
 * become part of the layer before them where that saves a pass over memory: inside the
 * kernel, or in place behind it.
 *
 * A gradient that several nodes share (a residual sum hands its own to both sides) is
 * changed in place only once nobody else is waiting for it.
 */
#include <assert.h>
#include <string.h>

#include "nn/plan_int.h"
#include "nn/pointwise.h"
#include "nn/taps.h"

static const nn_node *node_at(const nn_plan *p, int i) { return &p->net->nodes[i]; }

/* ---- tensors and steps ---- */

static int tensor_new(nn_plan *p, const nn_layout *layout, size_t bytes) {
    assert(p->n_tensors < p->room_tensors); /* plan_write() says why */
    p->tensors[p->n_tensors] =
        (nn_tensor){.layout = layout,
                    .bytes = layout ? nn_layout_bytes(layout) : bytes,
                    .first = SIZE_MAX};
    return (int)p->n_tensors++;
}

static void touch(nn_plan *p, int ref) {
    if (ref < 0) return;
    nn_tensor *t = &p->tensors[ref];
    if (t->first > p->n_steps) t->first = p->n_steps;
    if (t->last < p->n_steps) t->last = p->n_steps;
}

static void keep_to_end(nn_plan *p, int tensor) { p->tensors[tensor].last = SIZE_MAX; }

static void emit(nn_plan *p, nn_step step) {
    if (step.kind == NN_STEP_OP)
        for (int i = 0; i < NN_SLOTS; i++) touch(p, step.slot[i]);
    else
        touch(p, step.a), touch(p, step.b), touch(p, step.c);
    assert(p->n_steps < p->room_steps);
    p->steps[p->n_steps++] = step;
}

static nn_step op_step(int node, nn_op *op, nn_pass pass) {
    nn_step s = {.kind = NN_STEP_OP, .node = node, .op = op, .pass = pass};
    for (int i = 0; i < NN_SLOTS; i++) s.slot[i] = NN_NONE;
    return s;
}

static void emit_simple(nn_plan *p, nn_step_kind kind, int node, int a, int b, int c,
                        const nn_node *act, float scale) {
    emit(p, (nn_step){.kind = kind,
                      .node = node,
                      .a = a,
                      .b = b,
                      .c = c,
                      .act = act ? act->act : NN_ACT_NONE,
                      .slope = act ? act->slope : 0,
                      .scale = scale});
}

static scant_status plain_of(nn_plan *p, int node, const nn_layout **out) {
    nn_place *place = &p->places[node];
    nn_shape s = node_at(p, node)->shape;
    if (!place->plain)
        TRY(nn_layout_plain(p->weights->backend, 4, (size_t[4]){p->batch, s.c, s.h, s.w},
                            &place->plain));
    *out = place->plain;
    return SCANT_OK;
}

static scant_status reorder(nn_plan *p, int node, const nn_layout *from, int ref,
                            const nn_layout *to, int into) {
    nn_op *op;
    TRY(nn_op_reorder(p->weights->backend, from, to, &op));
    p->reorders[p->n_reorders++] = op;
    nn_step s = op_step(node, op, NN_FORWARD);
    s.slot[NN_SRC] = ref;
    s.slot[NN_DST] = into;
    emit(p, s);
    return SCANT_OK;
}

/* What *ref holds, in the layout that is wanted: itself, or a reordered copy. */
static scant_status bring(nn_plan *p, int node, const nn_layout *want, int *ref) {
    const nn_layout *have = nn_ref_is_param(*ref)
                                ? p->weights->slices[(-2 - *ref) / 2].layout
                                : p->tensors[*ref].layout;
    if (!have || nn_layout_same(have, want)) return SCANT_OK;
    int copy = tensor_new(p, want, 0);
    TRY(reorder(p, node, have, *ref, want, copy));
    *ref = copy;
    return SCANT_OK;
}

/* ---- forward ---- */

static bool in_place_act(const nn_plan *p, int i) {
    const nn_node *act = node_at(p, i);
    return act->kind == NN_ACT && nn_act_invertible(act->act);
}

/* Who computes what: activations join the layer before them, dropout vanishes outside
 * training. */
static void absorb(nn_plan *p) {
    const nn_net *net = p->net;
    for (size_t i = 0; i < net->n_nodes; i++) {
        nn_place *place = &p->places[i];
        *place = (nn_place){.owner = (int)i,
                            .absorbed = NN_NONE,
                            .value = NN_NONE,
                            .grad = NN_NONE,
                            .src = NN_NONE,
                            .mean = NN_NONE,
                            .var = NN_NONE,
                            .work = NN_NONE,
                            .trace = {NN_NONE, NN_NONE}};
        for (int k = 0; k < 2; k++)
            if (net->nodes[i].in[k] != NN_NONE) p->places[net->nodes[i].in[k]].uses++;
    }
    for (size_t i = 1; i < net->n_nodes; i++) {
        int in = net->nodes[i].in[0], owner = p->places[in].owner;
        if (net->nodes[i].kind == NN_DROPOUT && p->mode != NN_TRAIN) {
            p->places[i].owner = owner;
            if (p->places[in].uses == 1) p->places[owner].uses = p->places[i].uses;
            continue;
        }
        nn_kind kind = net->nodes[owner].kind;
        bool fits =
            kind == NN_CONV || kind == NN_DENSE || kind == NN_NORM || kind == NN_ADD;
        if (fits && owner == in && in_place_act(p, (int)i) && p->places[in].uses == 1) {
            p->places[i].owner = owner;
            p->places[owner].absorbed = (int)i;
            p->places[owner].uses = p->places[i].uses;
        }
    }
}

static const nn_node *absorbed_act(const nn_plan *p, int i) {
    int act = p->places[i].absorbed;
    return act == NN_NONE ? NULL : node_at(p, act);
}

static int value_of(const nn_plan *p, int node) {
    return p->places[p->places[node].owner].value;
}

/* Whether node i's own kernel does its activation. A trace wants to see the gradient
 * between the two. */
static bool act_inside(const nn_plan *p, int i) {
    const nn_node *act = absorbed_act(p, i), *node = node_at(p, i);
    if (!act || !nn_backend_fuses(node->kind, act->act)) return false;
    return node->kind != NN_NORM || p->mode != NN_TRACE;
}

static nn_op_spec spec_of(const nn_plan *p, int i) {
    const nn_node *node = node_at(p, i), *act = absorbed_act(p, i);
    nn_op_spec s = {.kind = node->kind,
                    .batch = p->batch,
                    .in = node_at(p, node->in[0])->shape,
                    .out = node->shape,
                    .groups = node->groups,
                    .bias = node->bias,
                    .act = node->act,
                    .slope = node->slope,
                    .scale = node->scale,
                    .batch_stats = p->mode == NN_TRAIN,
                    .backward = p->mode != NN_PREDICT,
                    .no_data = p->places[node->in[0]].owner == 0};
    for (int k = 0; k < 2; k++) {
        s.kernel[k] = node->kernel[k];
        s.stride[k] = node->stride[k];
        s.pad[k] = node->pad[k];
    }
    if (act && act_inside(p, i)) {
        s.act = act->act;
        s.slope = act->slope;
    }
    return s;
}

static void act_behind(nn_plan *p, int i) {
    const nn_node *act = absorbed_act(p, i);
    if (!act || act_inside(p, i)) return;
    int v = p->places[i].value;
    emit_simple(p, NN_STEP_APPLY, i, v, NN_NONE, v, act, 1);
}

static scant_status forward_weighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    nn_op_spec spec = spec_of(p, i);
    TRY(nn_op_create(p->weights->backend, &spec, &place->op));
    const nn_layout *src = nn_op_layout(place->op, NN_FORWARD, NN_SRC);
    const nn_layout *dst = nn_op_layout(place->op, NN_FORWARD, NN_DST);
    if (node->kind == NN_DENSE) { /* rows: the same bytes as planes in plain order */
        TRY(plain_of(p, node->in[0], &src));
        TRY(plain_of(p, i, &dst));
    }
    const nn_layout *w = nn_op_layout(place->op, NN_FORWARD, NN_W);
    TRY(nn_weights_want(p->weights, node->weight, w));
    int in = value_of(p, node->in[0]), weight = nn_ref_value(node->weight);
    TRY(bring(p, i, src, &in));
    TRY(bring(p, i, w, &weight));
    place->src = in;
    place->value = tensor_new(p, dst, 0);
    nn_step s = op_step(i, place->op, NN_FORWARD);
    s.slot[NN_SRC] = in;
    s.slot[NN_W] = weight;
    if (node->bias) s.slot[NN_B] = nn_ref_value(node->bias_at);
    s.slot[NN_DST] = place->value;
    emit(p, s);
    act_behind(p, i);
    return SCANT_OK;
}

static int work_of(nn_plan *p, const nn_place *place) {
    const nn_layout *work = nn_op_layout(place->op, NN_FORWARD, NN_WORK);
    return work ? tensor_new(p, work, 0) : NN_NONE;
}

/* Layers that take what comes in whatever layout: normalisation, activations, pooling. */
static scant_status forward_unweighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    nn_op_spec spec = spec_of(p, i);
    place->src = value_of(p, node->in[0]);
    spec.src = p->tensors[place->src].layout;
    TRY(nn_op_create(p->weights->backend, &spec, &place->op));
    place->value = tensor_new(p, nn_op_layout(place->op, NN_FORWARD, NN_DST), 0);
    place->work = work_of(p, place);
    nn_step s = op_step(i, place->op, NN_FORWARD);
    s.slot[NN_SRC] = place->src;
    s.slot[NN_DST] = place->value;
    s.slot[NN_WORK] = place->work;
    if (node->kind == NN_NORM) {
        s.slot[NN_W] = nn_ref_value(node->weight);
        s.slot[NN_B] = nn_ref_value(node->bias_at);
        bool own = p->mode == NN_TRAIN;
        size_t bytes = node->shape.c * sizeof(float);
        place->mean = own ? tensor_new(p, NULL, bytes) : nn_ref_value(node->mean);
        place->var = own ? tensor_new(p, NULL, bytes) : nn_ref_value(node->var);
        if (own) keep_to_end(p, place->mean), keep_to_end(p, place->var);
        s.slot[NN_STAT_MEAN] = place->mean;
        s.slot[NN_STAT_VAR] = place->var;
    }
    emit(p, s);
    act_behind(p, i);
    return SCANT_OK;
}

/* The sum may take the place of its first operand where nobody looks at that again. */
static bool may_overwrite(const nn_plan *p, int node) {
    int owner = p->places[node].owner;
    nn_kind kind = node_at(p, owner)->kind;
    return owner == node && p->places[owner].uses == 1 && p->mode != NN_TRACE &&
           p->places[owner].absorbed == NN_NONE && (kind == NN_CONV || kind == NN_NORM);
}

static scant_status forward_sum(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    int a = value_of(p, node->in[0]), b = value_of(p, node->in[1]);
    TRY(bring(p, i, p->tensors[a].layout, &b));
    int c = may_overwrite(p, node->in[0]) ? a : tensor_new(p, p->tensors[a].layout, 0);
    emit_simple(p, NN_STEP_SUM, i, a, b, c, absorbed_act(p, i), 1);
    p->places[i].value = c;
    return SCANT_OK;
}

static scant_status forward_node(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    if (place->owner != i) return SCANT_OK;
    switch (node->kind) {
    case NN_CONV:
    case NN_DENSE:
        return forward_weighted(p, i);
    case NN_ADD:
        return forward_sum(p, i);
    case NN_ACT:
        if (!nn_act_invertible(node->act)) return forward_unweighted(p, i);
        place->src = value_of(p, node->in[0]);
        place->value = tensor_new(p, p->tensors[place->src].layout, 0);
        emit_simple(p, NN_STEP_APPLY, i, place->src, NN_NONE, place->value, node, 1);
        return SCANT_OK;
    case NN_DROPOUT:
        place->src = value_of(p, node->in[0]);
        place->value = tensor_new(p, p->tensors[place->src].layout, 0);
        place->work = tensor_new(p, NULL, p->tensors[place->src].bytes / sizeof(float));
        emit_simple(p, NN_STEP_DROP, i, place->src, place->work, place->value, NULL,
                    node->rate);
        return SCANT_OK;
    default:
        return forward_unweighted(p, i);
    }
}

static bool has_front(const nn_plan *p) { return p->front != NN_NONE && !p->traces_all; }

static scant_status plan_forward(nn_plan *p) {
    const nn_layout *plain;
    int last = (int)p->net->n_nodes - 1;
    TRY(plain_of(p, 0, &plain));
    p->input = p->places[0].value = tensor_new(p, plain, 0);
    touch(p, p->input);
    int next = 1;
    if (has_front(p)) {
        TRY(plain_of(p, p->front, &plain));
        p->places[p->front].value = tensor_new(p, plain, 0);
        emit_simple(p, NN_STEP_FRONT, p->front, p->input, NN_NONE,
                    p->places[p->front].value, NULL, 1);
        next = p->front + 1;
    }
    for (int i = next; i <= last; i++) TRY(forward_node(p, i));
    p->logits = p->places[last].value;
    p->features = p->places[last].src; /* rows in plain order */
    keep_to_end(p, p->logits);
    keep_to_end(p, p->features);
    p->n_forward = p->n_steps;
    return SCANT_OK;
}

/* ---- backward ---- */

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
    TRY(bring(p, node, p->tensors[have].layout, &t));
    if (p->tensors[have].waiting > 1 || p->mode == NN_TRACE) {
        sum = tensor_new(p, p->tensors[have].layout, 0);
        p->tensors[have].waiting--;
        p->tensors[sum].waiting = 1;
    }
    emit_simple(p, NN_STEP_SUM, node, have, t, sum, NULL, 1);
    to->grad = sum;
    return SCANT_OK;
}

/* The gradient by what node i computes before its activation, i's own to use. */
static scant_status own_gradient(nn_plan *p, int i, int *out) {
    nn_place *place = &p->places[i];
    const nn_node *act = absorbed_act(p, i);
    int g = place->grad;
    p->tensors[g].waiting--;
    bool alone = p->tensors[g].waiting == 0 && p->mode != NN_TRACE;
    bool kernel_does = act && node_at(p, i)->kind == NN_NORM && act_inside(p, i);
    if (act && !kernel_does) {
        TRY(bring(p, i, p->tensors[place->value].layout, &g));
        int masked = alone ? g : tensor_new(p, p->tensors[g].layout, 0);
        emit_simple(p, NN_STEP_MASK, i, place->value, g, masked, act, 1);
        g = masked;
        alone = true;
    }
    float scale = node_at(p, i)->scale;
    if (node_at(p, i)->kind == NN_DENSE && scale != 1) {
        int scaled =
            alone && p->mode != NN_TRACE ? g : tensor_new(p, p->tensors[g].layout, 0);
        emit_simple(p, NN_STEP_SCALE, i, g, NN_NONE, scaled, NULL, scale);
        g = scaled;
    }
    *out = g;
    return SCANT_OK;
}

static void trace(nn_plan *p, int i, int input, int g) {
    if (p->mode != NN_TRACE) return;
    p->places[i].trace[0] = input;
    p->places[i].trace[1] = g;
    keep_to_end(p, input);
    keep_to_end(p, g);
}

static scant_status back_taps(nn_plan *p, int i, int g) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    nn_backend *b = p->weights->backend;
    nn_shape in = node_at(p, node->in[0])->shape, out = node->shape;
    const size_t *k = node->kernel;
    TRY(nn_layout_ordered(b, 4, (size_t[]){p->batch, in.c, in.h, in.w},
                          (int[]){0, 2, 3, 1}, &place->taps[0]));
    TRY(nn_layout_ordered(b, 4, (size_t[]){p->batch, out.c, out.h, out.w},
                          (int[]){0, 2, 3, 1}, &place->taps[1]));
    TRY(nn_layout_ordered(b, 4, (size_t[]){out.c, in.c, k[0], k[1]}, (int[]){2, 3, 1, 0},
                          &place->taps[2]));
    int src = place->src, dw = tensor_new(p, place->taps[2], 0);
    TRY(bring(p, i, place->taps[0], &src));
    TRY(bring(p, i, place->taps[1], &g));
    emit_simple(p, NN_STEP_TAPS, i, src, g, dw, NULL, 1);
    return reorder(p, i, place->taps[2], dw, p->weights->slices[node->weight].layout,
                   nn_ref_grad(node->weight));
}

static scant_status back_weights(nn_plan *p, int i, int g) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    bool rows = node->kind == NN_DENSE;
    if (node->frozen) return SCANT_OK;
    if (nn_taps_pay(p->net, node)) return back_taps(p, i, g);
    int src = place->src;
    if (!rows) {
        TRY(bring(p, i, nn_op_layout(place->op, NN_BACK_WEIGHTS, NN_SRC), &src));
        TRY(bring(p, i, nn_op_layout(place->op, NN_BACK_WEIGHTS, NN_D_DST), &g));
    }
    const nn_layout *dw = nn_op_layout(place->op, NN_BACK_WEIGHTS, NN_D_W);
    const nn_layout *packed = p->weights->slices[node->weight].layout;
    int to = nn_ref_grad(node->weight), into = to;
    bool same = nn_layout_same(dw, packed);
    if (!same) into = tensor_new(p, dw, 0);
    nn_step s = op_step(i, place->op, NN_BACK_WEIGHTS);
    s.slot[NN_SRC] = src;
    s.slot[NN_D_DST] = g;
    s.slot[NN_D_W] = into;
    if (node->bias) s.slot[NN_D_B] = nn_ref_grad(node->bias_at);
    emit(p, s);
    return same ? SCANT_OK : reorder(p, i, dw, into, packed, to);
}

static scant_status back_weighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    bool rows = node->kind == NN_DENSE;
    int g;
    TRY(own_gradient(p, i, &g));
    const nn_layout *layout = NULL;
    if (rows) {
        TRY(plain_of(p, i, &layout));
        TRY(bring(p, i, layout, &g));
    }
    trace(p, i, place->src, g);
    size_t before = p->n_steps;
    TRY(back_weights(p, i, g));
    for (size_t k = before; k < p->n_steps; k++) p->steps[k].of_weights = true;
    if (!nn_op_has(place->op, NN_BACK_DATA)) return SCANT_OK;
    const nn_layout *w = nn_op_layout(place->op, NN_BACK_DATA, NN_W);
    if (rows)
        TRY(plain_of(p, node->in[0], &layout));
    else {
        TRY(bring(p, i, nn_op_layout(place->op, NN_BACK_DATA, NN_D_DST), &g));
        layout = nn_op_layout(place->op, NN_BACK_DATA, NN_D_SRC);
    }
    int weight = nn_ref_value(node->weight), d_src = tensor_new(p, layout, 0);
    TRY(bring(p, i, w, &weight));
    nn_step s = op_step(i, place->op, NN_BACK_DATA);
    s.slot[NN_D_DST] = g;
    s.slot[NN_W] = weight;
    s.slot[NN_D_SRC] = d_src;
    emit(p, s);
    return give(p, node->in[0], d_src);
}

static scant_status back_unweighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    int g;
    TRY(own_gradient(p, i, &g));
    TRY(bring(p, i, nn_op_layout(place->op, NN_BACK_DATA, NN_D_DST), &g));
    int d_src = tensor_new(p, nn_op_layout(place->op, NN_BACK_DATA, NN_D_SRC), 0);
    nn_step s = op_step(i, place->op, NN_BACK_DATA);
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
    emit(p, s);
    return give(p, node->in[0], d_src);
}

static scant_status back_node(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
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
        if (!nn_act_invertible(node->act)) return back_unweighted(p, i);
        TRY(own_gradient(p, i, &g));
        TRY(bring(p, i, p->tensors[place->value].layout, &g));
        d = tensor_new(p, p->tensors[g].layout, 0);
        emit_simple(p, NN_STEP_MASK, i, place->value, g, d, node, 1);
        return give(p, node->in[0], d);
    case NN_DROPOUT:
        TRY(own_gradient(p, i, &g));
        TRY(bring(p, i, p->tensors[place->value].layout, &g));
        d = tensor_new(p, p->tensors[g].layout, 0);
        emit_simple(p, NN_STEP_DROP_BACK, i, g, place->work, d, NULL, node->rate);
        return give(p, node->in[0], d);
    default:
        return back_unweighted(p, i);
    }
}

static scant_status plan_backward(nn_plan *p) {
    int last = (int)p->net->n_nodes - 1;
    const nn_layout *plain;
    TRY(plain_of(p, last, &plain));
    p->d_logits = tensor_new(p, plain, 0);
    /* filled in between the passes, so not to be shared with what forward leaves */
    touch(p, p->d_logits);
    if (p->n_forward) p->tensors[p->d_logits].first = p->n_forward - 1;
    TRY(give(p, last, p->d_logits));
    int first = has_front(p) ? p->front : 0;
    for (int i = last; i > first; i--) TRY(back_node(p, i));
    if (!first) return SCANT_OK;
    int g = p->places[first].grad;
    TRY(plain_of(p, first, &plain));
    TRY(bring(p, first, plain, &g));
    emit_simple(p, NN_STEP_FRONT_BACK, first, g, NN_NONE, g, NULL, 1);
    p->steps[p->n_steps - 1].of_weights = true;
    p->front_grad = g;
    if (p->mode == NN_TRACE) keep_to_end(p, g);
    return SCANT_OK;
}

/* What a trace's backward pass reads of the forward one stays, so that it can run again.
 */
static void keep_forward(nn_plan *p) {
    for (size_t i = 0; i < p->n_tensors; i++) {
        nn_tensor *t = &p->tensors[i];
        if (t->first < p->n_forward && t->last >= p->n_forward) keep_to_end(p, (int)i);
    }
}

/* ---- binding ---- */

static void *address(nn_plan *p, int ref) {
    if (!nn_ref_is_param(ref)) return nn_tensor_data(p, ref);
    int param = (-2 - ref) / 2;
    return (-ref) % 2 ? nn_grads_at(p->weights, param) : nn_weights_at(p->weights, param);
}

static scant_status bind_steps(nn_plan *p) {
    for (size_t i = 0; i < p->n_steps; i++) {
        nn_step *s = &p->steps[i];
        if (s->kind != NN_STEP_OP) continue;
        for (int k = 0; k < NN_SLOTS; k++) {
            if (k == NN_SCRATCH || s->slot[k] == NN_NONE) continue;
            TRY(nn_op_bind(s->op, s->pass, (nn_slot)k, address(p, s->slot[k])));
        }
        if (nn_op_scratch(s->op, s->pass))
            TRY(nn_op_bind(s->op, s->pass, NN_SCRATCH, nn_tensor_data(p, p->scratch)));
    }
    return SCANT_OK;
}

static void plan_scratch(nn_plan *p) {
    size_t most = 1;
    for (size_t i = 0; i < p->n_steps; i++) {
        const nn_step *s = &p->steps[i];
        if (s->kind == NN_STEP_OP) most = size_max(most, nn_op_scratch(s->op, s->pass));
        if (s->kind == NN_STEP_TAPS)
            most = size_max(
                most, nn_taps_scratch(p->net, node_at(p, s->node), p->ctx->threads));
    }
    p->scratch = tensor_new(p, NULL, most);
    p->tensors[p->scratch].first = 0;
    keep_to_end(p, p->scratch);
}

/* Reorders that a trace is handed out through, bound to two buffers of their own. */
static scant_status plan_traces(nn_plan *p) {
    size_t most[2] = {0, 0};
    for (size_t i = 1; i < p->net->n_nodes; i++) {
        if (p->places[i].trace[0] == NN_NONE) continue;
        nn_shape in = node_at(p, p->net->nodes[i].in[0])->shape;
        most[0] = size_max(most[0], nn_shape_size(in));
        most[1] = size_max(most[1], nn_shape_size(p->net->nodes[i].shape));
    }
    for (int k = 0; k < 2; k++) {
        p->copy[k] = scant__arena_alloc(&p->arena, p->batch * most[k], sizeof(float));
        if (!p->copy[k]) return SCANT_ENOMEM;
    }
    for (size_t i = 1; i < p->net->n_nodes; i++)
        for (int k = 0; k < 2; k++) {
            nn_place *place = &p->places[i];
            if (place->trace[k] == NN_NONE) continue;
            const nn_layout *have = p->tensors[place->trace[k]].layout, *plain;
            TRY(plain_of(p, k ? (int)i : node_at(p, (int)i)->in[0], &plain));
            if (nn_layout_same(have, plain)) continue;
            TRY(nn_op_reorder(p->weights->backend, have, plain, &place->unfold[k]));
            nn_op *op = place->unfold[k];
            TRY(nn_op_bind(op, NN_FORWARD, NN_SRC, nn_tensor_data(p, place->trace[k])));
            TRY(nn_op_bind(op, NN_FORWARD, NN_DST, p->copy[k]));
            if (nn_op_scratch(op, NN_FORWARD)) {
                void *scratch =
                    scant__arena_alloc(&p->arena, nn_op_scratch(op, NN_FORWARD), 1);
                if (!scratch) return SCANT_ENOMEM;
                TRY(nn_op_bind(op, NN_FORWARD, NN_SCRATCH, scratch));
            }
        }
    return SCANT_OK;
}

static scant_status plan_write(nn_plan *p) {
    /* Bounds. Of steps a convolution has the most: two reorders, itself and its
     * activation forward; mask, scale, four reorders, by weights and a reorder, by data,
     * and a reorder and a sum of gradients backward: 15. Each makes at most one tensor,
     * but for normalisation, with four and few reorders. */
    p->room_steps = p->room_tensors = p->room_reorders = 16 * p->net->n_nodes + 16;
    p->steps = scant__arena_alloc(&p->arena, p->room_steps, sizeof *p->steps);
    p->tensors = scant__arena_alloc(&p->arena, p->room_tensors, sizeof *p->tensors);
    p->reorders = scant__arena_alloc(&p->arena, p->room_reorders, sizeof *p->reorders);
    p->places = scant__arena_zalloc(&p->arena, p->net->n_nodes, sizeof *p->places);
    if (!p->steps || !p->tensors || !p->reorders || !p->places) return SCANT_ENOMEM;
    absorb(p);
    p->front = nn_plan_front(p);
    TRY(nn_plan_front_weights(p));
    TRY(plan_forward(p));
    if (p->mode != NN_PREDICT) TRY(plan_backward(p));
    if (p->mode == NN_TRACE) keep_forward(p);
    plan_scratch(p);
    TRY(nn_weights_pack(p->weights));
    TRY(nn_plan_place(p));
    TRY(bind_steps(p));
    if (has_front(p)) TRY(nn_plan_front_make(p));
    return p->mode == NN_TRACE ? plan_traces(p) : SCANT_OK;
}

scant_status nn_plan_create(nn_weights *weights, size_t batch, nn_mode mode,
                            nn_plan **out) {
    *out = NULL;
    scant_ctx *ctx = weights->ctx;
    nn_plan *p = scant__zalloc(ctx, 1, sizeof *p);
    if (!p) return SCANT_ENOMEM;
    *p = (nn_plan){.weights = weights,
                   .net = weights->net,
                   .ctx = ctx,
                   .batch = batch,
                   .mode = mode == NN_TRACE_REST ? NN_TRACE : mode,
                   .traces_all = mode == NN_TRACE,
                   .front = NN_NONE,
                   .d_logits = NN_NONE};
    scant__arena_init(&p->arena, ctx);
    int threads = scant__threads_enter(ctx); /* kernels are made for a thread count */
    scant_status status = plan_write(p);
    scant__threads_leave(threads);
    if (status != SCANT_OK) {
        nn_plan_destroy(p);
        return status;
    }
    *out = p;
    return SCANT_OK;
}

void nn_plan_destroy(nn_plan *p) {
    if (!p) return;
    nn_stack_destroy(p->stack);
    for (size_t i = 0; i < p->n_reorders; i++) nn_op_destroy(p->reorders[i]);
    for (size_t i = 0; p->places && i < p->net->n_nodes; i++) {
        nn_op_destroy(p->places[i].op);
        nn_op_destroy(p->places[i].unfold[0]);
        nn_op_destroy(p->places[i].unfold[1]);
        nn_layout_destroy(p->weights->backend, p->places[i].plain);
        for (int k = 0; k < 3; k++)
            nn_layout_destroy(p->weights->backend, p->places[i].taps[k]);
    }
    scant_ctx *ctx = p->ctx;
    scant__arena_end(&p->arena);
    scant__free(ctx, p);
}
