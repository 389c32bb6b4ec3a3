/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a plan: one step per node forward, then backward, with a reorder wherever a
 * kernel needs another layout. Activations are merged into the layer before them if that
 * saves a pass over memory: inside the kernel, or in place after it.
 */
#include <assert.h>
#include <string.h>

#include "linalg/products.h"
#include "nn/conv_strips.h"
#include "nn/conv_taps.h"
#include "nn/noise.h"
#include "nn/plan_int.h"

static const nn_node *node_at(const nn_plan *p, int i) { return &p->net->nodes[i]; }

/* ---- tensors and steps ---- */

int nn_plan_tensor(nn_plan *p, const nn_layout *layout, size_t bytes) {
    assert(p->n_tensors < p->room); /* plan_write() explains the bound */
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
    assert(p->n_steps < p->room);
    p->steps[p->n_steps++] = step;
}

nn_step nn_op_step(int node, nn_op *op, nn_pass pass) {
    nn_step s = {.kind = NN_STEP_OP, .node = node, .op = op, .pass = pass};
    for (int i = 0; i < NN_SLOTS; i++) s.slot[i] = NN_NONE;
    return s;
}

void nn_plan_emit_simple(nn_plan *p, nn_step_kind kind, int node, int a, int b, int c,
                         const nn_node *act) {
    nn_plan_emit(
        p, (nn_step){.kind = kind, .node = node, .a = a, .b = b, .c = c, .act = act});
}

scant_status nn_plan_plain(nn_plan *p, int node, const nn_layout **out) {
    nn_place *place = &p->places[node];
    nn_shape s = node_at(p, node)->shape;
    if (!place->plain)
        TRY(nn_layout_plain(p->weights->backend, &p->arena, 4,
                            (size_t[4]){p->batch, s.c, s.h, s.w}, &place->plain));
    *out = place->plain;
    return SCANT_OK;
}

scant_status nn_plan_reorder(nn_plan *p, int node, const nn_layout *from, int ref,
                             const nn_layout *to, int into) {
    nn_op *op;
    TRY(nn_op_reorder(p->weights->backend, from, to, &op));
    p->ops[p->n_ops++] = op;
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
    nn_shape in = node->in_shape, out = node->shape;
    const size_t dims[3][4] = {{p->batch, in.c, in.h, in.w},
                               {p->batch, out.c, out.h, out.w},
                               {out.c, in.c, node->kernel[0], node->kernel[1]}};
    static const int orders[3][4] = {{0, 2, 3, 1}, {0, 2, 3, 1}, {2, 3, 1, 0}};
    for (int k = 0; k < 3 && !place->taps[2]; k++)
        TRY(nn_layout_ordered(p->weights->backend, &p->arena, 4, dims[k], orders[k],
                              &place->taps[k]));
    return SCANT_OK;
}

const nn_node *nn_plan_absorbed(const nn_plan *p, int i) {
    int act = p->places[i].absorbed;
    return act == NN_NONE ? NULL : node_at(p, act);
}

/* Whether node i's own kernel computes its activation. In a trace, the kernel of a
 * normalisation does not: the trace needs the gradient between the two. */
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

/* Sets owners. An activation joins the node before it if it is invertible and nothing
 * else reads that node. Outside training, dropout and noise are skipped. */
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

/* Creates node i's operation; src as in nn_op_spec. */
static scant_status create_op(nn_plan *p, int i, const nn_layout *src) {
    const nn_node *node = node_at(p, i), *act = node;
    if (nn_plan_act_inside(p, i)) act = nn_plan_absorbed(p, i);
    nn_op_spec spec = {.node = node,
                       .batch = p->batch,
                       .act = act->act,
                       .slope = act->slope,
                       .batch_stats = p->mode == NN_TRAIN,
                       .backward = p->mode != NN_PREDICT,
                       .no_data = p->places[node->in[0]].owner == 0,
                       .src = src};
    TRY(nn_op_create(p->weights->backend, &spec, &p->places[i].op));
    p->ops[p->n_ops++] = p->places[i].op;
    return SCANT_OK;
}

static void act_behind(nn_plan *p, int i) {
    const nn_node *act = nn_plan_absorbed(p, i);
    if (!act || nn_plan_act_inside(p, i)) return;
    int v = p->places[i].value;
    nn_plan_emit_simple(p, NN_STEP_APPLY, i, v, NN_NONE, v, act);
}

/* A tap-wise convolution; its result is reordered to dst, which its neighbours prefer. */
static scant_status forward_taps(nn_plan *p, int i, const nn_layout *dst) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    TRY(nn_plan_taps(p, i));
    int in = place->src, weight = nn_ref_value(node->weight);
    TRY(nn_plan_reordered(p, i, place->taps[0], &in));
    TRY(nn_plan_reordered(p, i, place->taps[2], &weight));
    int out = nn_plan_tensor(p, place->taps[1], 0);
    nn_plan_emit_simple(p, NN_STEP_TAPS_FORWARD, i, in, weight, out, NULL);
    TRY(nn_plan_reordered(p, i, dst, &out));
    place->value = out;
    const nn_node *act = nn_plan_absorbed(p, i);
    if (act) nn_plan_emit_simple(p, NN_STEP_APPLY, i, out, NN_NONE, out, act);
    return SCANT_OK;
}

static scant_status forward_weighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    TRY(create_op(p, i, NULL));
    const nn_layout *src = nn_op_layout(place->op, NN_FORWARD, NN_SRC);
    const nn_layout *dst = nn_op_layout(place->op, NN_FORWARD, NN_DST);
    if (node->kind == NN_DENSE) { /* rows and plain planes have the same bytes */
        TRY(nn_plan_plain(p, node->in[0], &src));
        TRY(nn_plan_plain(p, i, &dst));
    }
    const nn_layout *w = nn_op_layout(place->op, NN_FORWARD, NN_W);
    TRY(nn_weights_request(p->weights, node->weight, w));
    int in = value_of(p, node->in[0]), weight = nn_ref_value(node->weight);
    if (nn_taps_faster_all(node)) {
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

/* Layers that accept any layout: normalisation, activations, pooling. */
static scant_status forward_unweighted(nn_plan *p, int i) {
    const nn_node *node = node_at(p, i);
    nn_place *place = &p->places[i];
    place->src = value_of(p, node->in[0]);
    TRY(create_op(p, i, p->tensors[place->src].layout));
    place->value = nn_plan_tensor(p, nn_op_layout(place->op, NN_FORWARD, NN_DST), 0);
    const nn_layout *work = nn_op_layout(place->op, NN_FORWARD, NN_WORK);
    if (work) place->work = nn_plan_tensor(p, work, 0);
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
    nn_plan_emit_simple(p, NN_STEP_SUM, i, a, b, c, nn_plan_absorbed(p, i));
    p->places[i].value = c;
    return SCANT_OK;
}

/* Noise also reads the input of the dense layer before it, as rows. */
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
                        place->value, NULL);
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
        nn_plan_emit_simple(p, NN_STEP_APPLY, i, place->src, NN_NONE, place->value, node);
        return SCANT_OK;
    case NN_DROPOUT:
        place->src = value_of(p, node->in[0]);
        place->value = nn_plan_tensor(p, p->tensors[place->src].layout, 0);
        place->work =
            nn_plan_tensor(p, NULL, p->tensors[place->src].bytes / sizeof(float));
        nn_plan_emit_simple(p, NN_STEP_DROP, i, place->src, place->work, place->value,
                            NULL);
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
                            p->places[p->front].value, NULL);
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

/* Keeps forward tensors that a trace's backward pass reads, so that it can run again. */
static void keep_forward(nn_plan *p) {
    for (size_t i = 0; i < p->n_tensors; i++) {
        nn_tensor *t = &p->tensors[i];
        if (t->first < p->n_forward && t->last >= p->n_forward) nn_plan_keep(p, (int)i);
    }
}

/* ---- memory ---- */

enum { ALIGN = 64 };

static bool overlap(const nn_tensor *a, const nn_tensor *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest free offset for t, given the tensors already placed (ordered by offset). */
static size_t place_for(const nn_plan *plan, const int *placed, size_t n,
                        const nn_tensor *t) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const nn_tensor *other = &plan->tensors[placed[i]];
        if (!overlap(t, other)) continue;
        if (at + t->bytes <= other->at) break;
        if (other->at + other->bytes > at) at = other->at + other->bytes;
    }
    return at;
}

/* Places tensors, largest first, each at the lowest offset that no tensor live at the
 * same time uses. The total is within a few percent of the optimum for the networks here.
 * Costs tensors^2, once per plan. */
static scant_status place_tensors(nn_plan *plan) {
    size_t n = plan->n_tensors;
    int *order = TRY_NEW(&plan->arena, int, n), *placed = TRY_NEW(&plan->arena, int, n);
    /* insertion sort by size, largest first: n is hundreds */
    for (size_t i = 0; i < n; i++) {
        nn_tensor *t = &plan->tensors[i];
        t->bytes = (t->bytes + ALIGN - 1) / ALIGN * ALIGN;
        size_t k = i;
        for (; k && plan->tensors[order[k - 1]].bytes < t->bytes; k--)
            order[k] = order[k - 1];
        order[k] = (int)i;
    }
    plan->block_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        nn_tensor *t = &plan->tensors[order[i]];
        t->at = place_for(plan, placed, i, t);
        if (t->at + t->bytes > plan->block_bytes) plan->block_bytes = t->at + t->bytes;
        size_t k = i;
        for (; k && plan->tensors[placed[k - 1]].at > t->at; k--)
            placed[k] = placed[k - 1];
        placed[k] = order[i];
    }
    plan->block = TRY_ZERO(&plan->arena, unsigned char, plan->block_bytes);
    return SCANT_OK;
}

/* ---- binding ---- */

static scant_status bind_steps(nn_plan *p) {
    for (size_t i = 0; i < p->n_steps; i++) {
        nn_step *s = &p->steps[i];
        if (s->kind != NN_STEP_OP) continue;
        if (nn_op_scratch(s->op, s->pass)) s->slot[NN_SCRATCH] = p->scratch;
        for (int k = 0; k < NN_SLOTS; k++)
            if (s->slot[k] != NN_NONE)
                TRY(nn_op_bind(s->op, s->pass, (nn_slot)k, nn_ref_data(p, s->slot[k])));
    }
    return SCANT_OK;
}

static size_t scratch_of(const nn_plan *p, const nn_step *s) {
    const nn_node *node = node_at(p, s->node);
    switch (s->kind) {
    case NN_STEP_OP:
        return nn_op_scratch(s->op, s->pass);
    case NN_STEP_TAPS:
    case NN_STEP_TAPS_FORWARD:
    case NN_STEP_TAPS_DATA:
        return nn_taps_scratch(node, p->ctx->threads);
    case NN_STEP_STRIPS:
        return nn_strips_scratch(node);
    case NN_STEP_NOISE:
        return nn_noise_scratch(p->batch, node->shape.c,
                                nn_shape_size(node_at(p, node->in[1])->shape));
    default:
        return 0;
    }
}

static void plan_scratch(nn_plan *p) {
    size_t most = 1;
    for (size_t i = 0; i < p->n_steps; i++)
        most = size_max(most, scratch_of(p, &p->steps[i]));
    p->scratch = nn_plan_tensor(p, NULL, most);
    p->tensors[p->scratch].first = 0;
    nn_plan_keep(p, p->scratch);
}

/* Creates the reorders that nn_plan_trace() runs, with two buffers. */
static scant_status plan_traces(nn_plan *p) {
    size_t most[2] = {0, 0};
    for (size_t i = 1; i < p->net->n_nodes; i++) {
        if (p->places[i].trace[0] == NN_NONE) continue;
        most[0] = size_max(most[0], nn_shape_size(p->net->nodes[i].in_shape));
        most[1] = size_max(most[1], nn_shape_size(p->net->nodes[i].shape));
    }
    for (int k = 0; k < 2; k++) p->copy[k] = TRY_NEW(&p->arena, float, p->batch *most[k]);
    for (size_t i = 1; i < p->net->n_nodes; i++)
        for (int k = 0; k < 2; k++) {
            nn_place *place = &p->places[i];
            if (place->trace[k] == NN_NONE) continue;
            const nn_layout *have = p->tensors[place->trace[k]].layout, *plain;
            TRY(nn_plan_plain(p, k ? (int)i : node_at(p, (int)i)->in[0], &plain));
            if (nn_layout_same(have, plain)) continue;
            nn_op **op = &p->ops[p->n_ops++];
            TRY(nn_op_move(p->weights->backend, &p->arena, have,
                           nn_tensor_data(p, place->trace[k]), plain, p->copy[k], op));
            place->unfold[k] = *op;
        }
    return SCANT_OK;
}

static scant_status plan_write(nn_plan *p) {
    /* Upper bounds. A tap-wise convolution has the most steps, 17: three reorders, itself
     * and its activation forward; mask, scale, three reorders and weights, three reorders
     * and data, and a reorder and a sum of gradients backward. A step makes at most one
     * operation and one tensor; normalisation makes four tensors but few reorders. A
     * trace adds two. */
    p->room = 20 * p->net->n_nodes + 16;
    p->steps = TRY_NEW(&p->arena, nn_step, p->room);
    p->tensors = TRY_NEW(&p->arena, nn_tensor, p->room);
    p->ops = TRY_ZERO(&p->arena, nn_op *, p->room);
    p->places = TRY_ZERO(&p->arena, nn_place, p->net->n_nodes);
    absorb(p);
    p->front = nn_plan_front(p);
    TRY(nn_plan_front_weights(p));
    TRY(plan_forward(p));
    if (p->mode != NN_PREDICT) TRY(nn_plan_write_backward(p));
    if (p->mode == NN_TRACE) keep_forward(p);
    plan_scratch(p);
    TRY(nn_weights_pack(p->weights));
    TRY(place_tensors(p));
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
                   .arena = {.ctx = ctx},
                   .batch = batch,
                   .mode = mode == NN_TRACE_REST ? NN_TRACE : mode,
                   .traces_all = mode == NN_TRACE,
                   .front = NN_NONE,
                   .d_logits = NN_NONE};
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
    for (size_t i = 0; i < p->n_ops; i++) nn_op_free(p->ops[i]);
    scant_ctx *ctx = p->ctx;
    scant__arena_end(&p->arena);
    scant__free(ctx, p);
}
