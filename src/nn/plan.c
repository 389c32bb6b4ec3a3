/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a plan: one step per node forward, then backward, with a reorder wherever a
 * kernel needs another layout. Activations are merged into the layer before them where
 * that saves a pass over memory: inside the kernel, or in place behind it.
 */
#include <assert.h>
#include <string.h>

#include "linalg/products.h"
#include "nn/conv_strips.h"
#include "nn/conv_taps.h"
#include "nn/noise.h"
#include "nn/plan_int.h"
#include "nn/pointwise.h"

static const nn_node *node_at(const nn_plan *p, int i) { return &p->net->nodes[i]; }

/* ---- tensors and steps ---- */

int nn_plan_tensor(nn_plan *p, const nn_layout *layout, size_t bytes) {
    assert(p->n_tensors < p->room_tensors); /* plan_write() explains the bound */
    p->tensors[p->n_tensors] =
        (nn_tensor){.layout = layout,
                    .bytes = layout ? nn_layout_bytes(layout) : bytes,
                    .first = SIZE_MAX};
    return (int)p->n_tensors++;
}

void nn_plan_touch(nn_plan *p, int ref) {
    if (ref < 0) return;
    nn_tensor *t = &p->tensors[ref];
    if (t->first > p->n_steps) t->first = p->n_steps;
    if (t->last < p->n_steps) t->last = p->n_steps;
}

void nn_plan_keep(nn_plan *p, int tensor) { p->tensors[tensor].last = SIZE_MAX; }

void nn_plan_emit(nn_plan *p, nn_step step) {
    if (step.kind == NN_STEP_OP)
        for (int i = 0; i < NN_SLOTS; i++) nn_plan_touch(p, step.slot[i]);
    else
        nn_plan_touch(p, step.a), nn_plan_touch(p, step.b), nn_plan_touch(p, step.c);
    assert(p->n_steps < p->room_steps);
    p->steps[p->n_steps++] = step;
}

nn_step nn_op_step(int node, nn_op *op, nn_pass pass) {
    nn_step s = {.kind = NN_STEP_OP, .node = node, .op = op, .pass = pass};
    for (int i = 0; i < NN_SLOTS; i++) s.slot[i] = NN_NONE;
    return s;
}

void nn_plan_emit_simple(nn_plan *p, nn_step_kind kind, int node, int a, int b, int c,
                         const nn_node *act, float scale) {
    nn_plan_emit(p, (nn_step){.kind = kind,
                              .node = node,
                              .a = a,
                              .b = b,
                              .c = c,
                              .act = act ? act->act : NN_ACT_NONE,
                              .slope = act ? act->slope : 0,
                              .scale = scale});
}

scant_status nn_plan_plain(nn_plan *p, int node, const nn_layout **out) {
    nn_place *place = &p->places[node];
    nn_shape s = node_at(p, node)->shape;
    if (!place->plain)
        TRY(nn_layout_plain(p->weights->backend, 4, (size_t[4]){p->batch, s.c, s.h, s.w},
                            &place->plain));
    *out = place->plain;
    return SCANT_OK;
}

scant_status nn_plan_reorder(nn_plan *p, int node, const nn_layout *from, int ref,
                             const nn_layout *to, int into) {
    nn_op *op;
    TRY(nn_op_reorder(p->weights->backend, from, to, &op));
    p->reorders[p->n_reorders++] = op;
    nn_step s = nn_op_step(node, op, NN_FORWARD);
    s.slot[NN_SRC] = ref;
    s.slot[NN_DST] = into;
    nn_plan_emit(p, s);
    return SCANT_OK;
}

scant_status nn_plan_reordered(nn_plan *p, int node, const nn_layout *want, int *ref) {
    const nn_layout *have = nn_ref_is_param(*ref)
                                ? p->weights->slices[(-2 - *ref) / 2].layout
                                : p->tensors[*ref].layout;
    if (!have || nn_layout_same(have, want)) return SCANT_OK;
    int copy = nn_plan_tensor(p, want, 0);
    TRY(nn_plan_reorder(p, node, have, *ref, want, copy));
    *ref = copy;
    return SCANT_OK;
}

scant_status nn_plan_taps(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    nn_backend *b = p->weights->backend;
    nn_shape in = node_at(p, node->in[0])->shape, out = node->shape;
    const size_t *k = node->kernel;
    if (place->taps[2]) return SCANT_OK;
    TRY(nn_layout_ordered(b, 4, (size_t[]){p->batch, in.c, in.h, in.w},
                          (int[]){0, 2, 3, 1}, &place->taps[0]));
    TRY(nn_layout_ordered(b, 4, (size_t[]){p->batch, out.c, out.h, out.w},
                          (int[]){0, 2, 3, 1}, &place->taps[1]));
    return nn_layout_ordered(b, 4, (size_t[]){out.c, in.c, k[0], k[1]},
                             (int[]){2, 3, 1, 0}, &place->taps[2]);
}

const nn_node *nn_plan_absorbed(const nn_plan *p, int i) {
    int act = p->places[i].absorbed;
    return act == NN_NONE ? NULL : node_at(p, act);
}

/* Whether node i's own kernel computes its activation. A trace needs the gradient between
 * the two. */
bool nn_plan_act_inside(const nn_plan *p, int i) {
    const nn_node *act = nn_plan_absorbed(p, i), *node = node_at(p, i);
    if (!act || !nn_backend_fuses(node->kind, act->act)) return false;
    return node->kind != NN_NORM || p->mode != NN_TRACE;
}

bool nn_plan_has_front(const nn_plan *p) { return p->front != NN_NONE && !p->traces_all; }

/* ---- forward ---- */

static bool in_place_act(const nn_plan *p, int i) {
    const nn_node *act = node_at(p, i);
    return act->kind == NN_ACT && nn_act_invertible(act->act);
}

/* Decides which node computes what: activations join the layer before them; dropout and
 * noise vanish outside training. */
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
        nn_kind own = net->nodes[i].kind;
        if ((own == NN_DROPOUT || own == NN_NOISE) && p->mode != NN_TRAIN) {
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

static int value_of(const nn_plan *p, int node) {
    return p->places[p->places[node].owner].value;
}

static nn_op_spec spec_of(const nn_plan *p, int i) {
    const nn_node *node = node_at(p, i), *act = nn_plan_absorbed(p, i);
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
    if (act && nn_plan_act_inside(p, i)) {
        s.act = act->act;
        s.slope = act->slope;
    }
    return s;
}

static void act_behind(nn_plan *p, int i) {
    const nn_node *act = nn_plan_absorbed(p, i);
    if (!act || nn_plan_act_inside(p, i)) return;
    int v = p->places[i].value;
    nn_plan_emit_simple(p, NN_STEP_APPLY, i, v, NN_NONE, v, act, 1);
}

/* The result of a tap-wise convolution is reordered at once to the layout its neighbours
 * prefer. */
static scant_status forward_taps(nn_plan *p, int i, const nn_layout *dst) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    TRY(nn_plan_taps(p, i));
    int in = place->src, weight = nn_ref_value(node->weight);
    TRY(nn_plan_reordered(p, i, place->taps[0], &in));
    TRY(nn_plan_reordered(p, i, place->taps[2], &weight));
    int out = nn_plan_tensor(p, place->taps[1], 0);
    nn_plan_emit_simple(p, NN_STEP_TAPS_FORWARD, i, in, weight, out, NULL, 1);
    TRY(nn_plan_reordered(p, i, dst, &out));
    place->value = out;
    const nn_node *act = nn_plan_absorbed(p, i);
    if (act) nn_plan_emit_simple(p, NN_STEP_APPLY, i, out, NN_NONE, out, act, 1);
    return SCANT_OK;
}

static scant_status forward_weighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    nn_op_spec spec = spec_of(p, i);
    TRY(nn_op_create(p->weights->backend, &spec, &place->op));
    const nn_layout *src = nn_op_layout(place->op, NN_FORWARD, NN_SRC);
    const nn_layout *dst = nn_op_layout(place->op, NN_FORWARD, NN_DST);
    if (node->kind == NN_DENSE) { /* rows are the same bytes as plain planes */
        TRY(nn_plan_plain(p, node->in[0], &src));
        TRY(nn_plan_plain(p, i, &dst));
    }
    const nn_layout *w = nn_op_layout(place->op, NN_FORWARD, NN_W);
    TRY(nn_weights_request(p->weights, node->weight, w));
    int in = value_of(p, node->in[0]), weight = nn_ref_value(node->weight);
    if (nn_taps_pay_all(p->net, node)) {
        place->src = in;
        return forward_taps(p, i, dst);
    }
    TRY(nn_plan_reordered(p, i, src, &in));
    TRY(nn_plan_reordered(p, i, w, &weight));
    place->src = in;
    place->value = nn_plan_tensor(p, dst, 0);
    nn_step s = nn_op_step(i, place->op, NN_FORWARD);
    s.slot[NN_SRC] = in;
    s.slot[NN_W] = weight;
    if (node->bias) s.slot[NN_B] = nn_ref_value(node->bias_at);
    s.slot[NN_DST] = place->value;
    nn_plan_emit(p, s);
    act_behind(p, i);
    return SCANT_OK;
}

static int work_of(nn_plan *p, const nn_place *place) {
    const nn_layout *work = nn_op_layout(place->op, NN_FORWARD, NN_WORK);
    return work ? nn_plan_tensor(p, work, 0) : NN_NONE;
}

/* Layers that accept any layout: normalisation, activations, pooling. */
static scant_status forward_unweighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    nn_op_spec spec = spec_of(p, i);
    place->src = value_of(p, node->in[0]);
    spec.src = p->tensors[place->src].layout;
    TRY(nn_op_create(p->weights->backend, &spec, &place->op));
    place->value = nn_plan_tensor(p, nn_op_layout(place->op, NN_FORWARD, NN_DST), 0);
    place->work = work_of(p, place);
    nn_step s = nn_op_step(i, place->op, NN_FORWARD);
    s.slot[NN_SRC] = place->src;
    s.slot[NN_DST] = place->value;
    s.slot[NN_WORK] = place->work;
    if (node->kind == NN_NORM) {
        s.slot[NN_W] = nn_ref_value(node->weight);
        s.slot[NN_B] = nn_ref_value(node->bias_at);
        bool own = p->mode == NN_TRAIN;
        size_t bytes = node->shape.c * sizeof(float);
        place->mean = own ? nn_plan_tensor(p, NULL, bytes) : nn_ref_value(node->mean);
        place->var = own ? nn_plan_tensor(p, NULL, bytes) : nn_ref_value(node->var);
        if (own) nn_plan_keep(p, place->mean), nn_plan_keep(p, place->var);
        s.slot[NN_STAT_MEAN] = place->mean;
        s.slot[NN_STAT_VAR] = place->var;
    }
    nn_plan_emit(p, s);
    act_behind(p, i);
    return SCANT_OK;
}

/* Whether a sum may overwrite its first operand because nothing reads it again. */
static bool may_overwrite(const nn_plan *p, int node) {
    int owner = p->places[node].owner;
    nn_kind kind = node_at(p, owner)->kind;
    return owner == node && p->places[owner].uses == 1 && p->mode != NN_TRACE &&
           p->places[owner].absorbed == NN_NONE && (kind == NN_CONV || kind == NN_NORM);
}

static scant_status forward_sum(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    int a = value_of(p, node->in[0]), b = value_of(p, node->in[1]);
    TRY(nn_plan_reordered(p, i, p->tensors[a].layout, &b));
    int c =
        may_overwrite(p, node->in[0]) ? a : nn_plan_tensor(p, p->tensors[a].layout, 0);
    nn_plan_emit_simple(p, NN_STEP_SUM, i, a, b, c, nn_plan_absorbed(p, i), 1);
    p->places[i].value = c;
    return SCANT_OK;
}

/* Also reads the preceding dense layer's input, as rows. */
static scant_status forward_noise(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    const nn_layout *plain;
    size_t width = nn_shape_size(node_at(p, node->in[1])->shape);
    TRY(la_fits(p->ctx, size_max(width, size_max(node->shape.c, p->batch))));
    TRY(nn_plan_plain(p, i, &plain));
    place->src = p->places[node->in[0]].src;
    place->value = nn_plan_tensor(p, plain, 0);
    place->work = nn_plan_tensor(p, plain, 0);
    nn_plan_touch(p, place->work);
    nn_plan_emit_simple(p, NN_STEP_NOISE, i, value_of(p, node->in[0]), place->src,
                        place->value, NULL, 1);
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
    case NN_NOISE:
        return forward_noise(p, i);
    case NN_ACT:
        if (!nn_act_invertible(node->act)) return forward_unweighted(p, i);
        place->src = value_of(p, node->in[0]);
        place->value = nn_plan_tensor(p, p->tensors[place->src].layout, 0);
        nn_plan_emit_simple(p, NN_STEP_APPLY, i, place->src, NN_NONE, place->value, node,
                            1);
        return SCANT_OK;
    case NN_DROPOUT:
        place->src = value_of(p, node->in[0]);
        place->value = nn_plan_tensor(p, p->tensors[place->src].layout, 0);
        place->work =
            nn_plan_tensor(p, NULL, p->tensors[place->src].bytes / sizeof(float));
        nn_plan_emit_simple(p, NN_STEP_DROP, i, place->src, place->work, place->value,
                            NULL, node->rate);
        return SCANT_OK;
    default:
        return forward_unweighted(p, i);
    }
}

static scant_status plan_forward(nn_plan *p) {
    const nn_layout *plain;
    int last = (int)p->net->n_nodes - 1;
    TRY(nn_plan_plain(p, 0, &plain));
    p->input = p->places[0].value = nn_plan_tensor(p, plain, 0);
    nn_plan_touch(p, p->input);
    int next = 1;
    if (nn_plan_has_front(p)) {
        TRY(nn_plan_plain(p, p->front, &plain));
        p->places[p->front].value = nn_plan_tensor(p, plain, 0);
        nn_plan_emit_simple(p, NN_STEP_FRONT, p->front, p->input, NN_NONE,
                            p->places[p->front].value, NULL, 1);
        next = p->front + 1;
    }
    for (int i = next; i <= last; i++) TRY(forward_node(p, i));
    p->logits = value_of(p, last);
    p->features = p->places[p->net->head].src; /* plain rows */
    nn_plan_keep(p, p->logits);
    nn_plan_keep(p, p->features);
    p->n_forward = p->n_steps;
    return SCANT_OK;
}

/* Keeps what a trace's backward pass reads of the forward pass, so that it can run again.
 * */
static void keep_forward(nn_plan *p) {
    for (size_t i = 0; i < p->n_tensors; i++) {
        nn_tensor *t = &p->tensors[i];
        if (t->first < p->n_forward && t->last >= p->n_forward) nn_plan_keep(p, (int)i);
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

static size_t noise_scratch(const nn_plan *p, const nn_node *node) {
    size_t width = nn_shape_size(node_at(p, node->in[1])->shape);
    return nn_noise_scratch(p->batch, node->shape.c, width);
}

static void plan_scratch(nn_plan *p) {
    size_t most = 1;
    for (size_t i = 0; i < p->n_steps; i++) {
        const nn_step *s = &p->steps[i];
        if (s->kind == NN_STEP_OP) most = size_max(most, nn_op_scratch(s->op, s->pass));
        if (s->kind == NN_STEP_TAPS || s->kind == NN_STEP_TAPS_FORWARD ||
            s->kind == NN_STEP_TAPS_DATA)
            most = size_max(
                most, nn_taps_scratch(p->net, node_at(p, s->node), p->ctx->threads));
        if (s->kind == NN_STEP_STRIPS)
            most = size_max(most, nn_strips_scratch(p->net, node_at(p, s->node)));
        if (s->kind == NN_STEP_NOISE)
            most = size_max(most, noise_scratch(p, node_at(p, s->node)));
    }
    p->scratch = nn_plan_tensor(p, NULL, most);
    p->tensors[p->scratch].first = 0;
    nn_plan_keep(p, p->scratch);
}

/* Reorders for handing out traces, with two buffers of their own. */
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
            TRY(nn_plan_plain(p, k ? (int)i : node_at(p, (int)i)->in[0], &plain));
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
    /* Upper bounds. A tap-wise convolution has the most steps: three reorders, itself and
     * its activation forward; mask, scale, three reorders and weights, three reorders and
     * data, and a reorder and a sum of gradients backward: 17. Each makes at most one
     * tensor, except normalisation with four and few reorders. */
    p->room_steps = p->room_tensors = p->room_reorders = 20 * p->net->n_nodes + 16;
    p->steps = scant__arena_alloc(&p->arena, p->room_steps, sizeof *p->steps);
    p->tensors = scant__arena_alloc(&p->arena, p->room_tensors, sizeof *p->tensors);
    p->reorders = scant__arena_alloc(&p->arena, p->room_reorders, sizeof *p->reorders);
    p->places = scant__arena_zalloc(&p->arena, p->net->n_nodes, sizeof *p->places);
    if (!p->steps || !p->tensors || !p->reorders || !p->places) return SCANT_ENOMEM;
    absorb(p);
    p->front = nn_plan_front(p);
    TRY(nn_plan_front_weights(p));
    TRY(plan_forward(p));
    if (p->mode != NN_PREDICT) TRY(nn_plan_write_backward(p));
    if (p->mode == NN_TRACE) keep_forward(p);
    plan_scratch(p);
    TRY(nn_weights_pack(p->weights));
    TRY(nn_plan_place(p));
    TRY(bind_steps(p));
    if (nn_plan_has_front(p)) TRY(nn_plan_front_make(p));
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
    int threads = scant__threads_enter(ctx); /* kernels depend on the thread count */
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
