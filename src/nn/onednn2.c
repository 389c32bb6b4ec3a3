/* SPDX-License-Identifier: Apache-2.0
 *
 * Layer kernels from oneDNN 2.x (2.6 in Debian 12). No other file includes its header.
 *
 * Layouts are queried, never assumed: convolutions are described with "any" for their
 * operands, and the library's choice is passed on. The forward descriptor is the hint for
 * the backward ones. Scratch memory is the caller's. Beyond what the caller binds, the
 * library keeps only generated code, some kilobytes per operation, which the context's
 * cap does not count.
 *
 * oneDNN runs on the OpenMP threads of the calling thread; the caller sets their number
 * (core/parfor.h).
 */
#include "nn/backend.h"

#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR != 2
#error "this file is for oneDNN 2.x"
#endif

#include <stdio.h>
#include <string.h>

struct nn_backend {
    scant_ctx *ctx;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

struct nn_layout {
    dnnl_memory_desc_t md;
};

typedef struct pass {
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    nn_layout layout[NN_SLOTS];
    bool has[NN_SLOTS];
    dnnl_memory_t memory[NN_SLOTS];
    dnnl_exec_arg_t args[NN_SLOTS];
    int n_args;
    size_t scratch;
} pass;

struct nn_op {
    nn_backend *backend;
    nn_op_spec spec;
    pass passes[NN_PASSES];
};

/* The library's argument for each slot; for normalisation see arg_name(). */
static const int arg_of[NN_SLOTS] = {
    [NN_SRC] = DNNL_ARG_SRC,        [NN_DST] = DNNL_ARG_DST,
    [NN_W] = DNNL_ARG_WEIGHTS,      [NN_B] = DNNL_ARG_BIAS,
    [NN_STAT_MEAN] = DNNL_ARG_MEAN, [NN_STAT_VAR] = DNNL_ARG_VARIANCE,
    [NN_WORK] = DNNL_ARG_WORKSPACE, [NN_D_SRC] = DNNL_ARG_DIFF_SRC,
    [NN_D_DST] = DNNL_ARG_DIFF_DST, [NN_D_W] = DNNL_ARG_DIFF_WEIGHTS,
    [NN_D_B] = DNNL_ARG_DIFF_BIAS,  [NN_SCRATCH] = DNNL_ARG_SCRATCHPAD};

static int arg_name(const nn_op *op, nn_slot slot) {
    if (op->spec.node && op->spec.node->kind == NN_NORM) {
        if (slot == NN_W) return DNNL_ARG_SCALE;
        if (slot == NN_B) return DNNL_ARG_SHIFT;
        if (slot == NN_D_W) return DNNL_ARG_DIFF_SCALE;
        if (slot == NN_D_B) return DNNL_ARG_DIFF_SHIFT;
    }
    return arg_of[slot];
}

static scant_status check(nn_backend *b, dnnl_status_t status, const char *what) {
    bool had_none = scant__reserve_taken(); /* and it went on with the reserve */
    if (status == dnnl_success && !had_none) return SCANT_OK;
    if (status == dnnl_out_of_memory || had_none)
        return scant__fail(b->ctx, SCANT_ENOMEM, "no memory for %s", what);
    return scant__fail(b->ctx, SCANT_EINTERNAL, "oneDNN has no %s (status %d)", what,
                       (int)status);
}

#define DO(call, what) TRY(check(b, call, what))

/* oneDNN crashes if memory runs out while it generates code, which takes some 100 KB. On
 * SCANT_OK the room is held until room_end(). */
static scant_status room_begin(const nn_backend *b, const char *what, bool *held) {
    enum { ROOM = 16 << 20 };
    *held = scant__map_begin(ROOM);
    if (*held) return SCANT_OK;
    return scant__fail(b->ctx, SCANT_ENOMEM,
                       "no memory for %s: oneDNN needs %d MB, and the system allows no "
                       "more",
                       what, ROOM >> 20);
}

static void room_end(const bool *held) {
    if (*held) scant__map_end();
}

scant_status nn_backend_open(scant_ctx *ctx, nn_backend **out) {
    nn_backend *b = *out = scant__zalloc(ctx, 1, sizeof *b);
    if (!b) return SCANT_ENOMEM;
    b->ctx = ctx;
    dnnl_status_t s = dnnl_engine_create(&b->engine, dnnl_cpu, 0);
    if (s == dnnl_success)
        s = dnnl_stream_create(&b->stream, b->engine, dnnl_stream_default_flags);
    scant_status status = check(b, s, b->engine ? "stream" : "engine");
    if (status == SCANT_OK) return SCANT_OK;
    nn_backend_close(b);
    *out = NULL;
    return status;
}

void nn_backend_close(nn_backend *b) {
    if (!b) return;
    if (b->stream) dnnl_stream_destroy(b->stream);
    if (b->engine) dnnl_engine_destroy(b->engine);
    scant__free(b->ctx, b);
}

bool nn_backend_fuses(nn_kind kind, nn_act act) {
    if (kind == NN_NORM) return act == NN_ACT_RELU;
    if (kind == NN_CONV || kind == NN_DENSE)
        return act == NN_ACT_RELU || act == NN_ACT_LEAKY || act == NN_ACT_RELU6 ||
               act == NN_ACT_TANH;
    return false;
}

/* ---- layouts ---- */

scant_status nn_layout_plain(nn_backend *b, scant__arena *arena, size_t ndim,
                             const size_t *dims, nn_layout **out) {
    static const int as_they_are[] = {0, 1, 2, 3, 4};
    return nn_layout_ordered(b, arena, ndim, dims, as_they_are, out);
}

scant_status nn_layout_ordered(nn_backend *b, scant__arena *arena, size_t ndim,
                               const size_t *dims, const int *order, nn_layout **out) {
    dnnl_dims_t d, strides;
    dnnl_dim_t stride = 1;
    nn_layout layout;
    for (size_t i = 0; i < ndim; i++) d[i] = (dnnl_dim_t)dims[i];
    for (size_t i = ndim; i > 0; i--) {
        strides[order[i - 1]] = stride;
        stride *= d[order[i - 1]];
    }
    DO(dnnl_memory_desc_init_by_strides(&layout.md, (int)ndim, d, dnnl_f32, strides),
       "layout");
    return nn_layout_copy(arena, &layout, out);
}

scant_status nn_layout_copy(scant__arena *arena, const nn_layout *layout,
                            nn_layout **out) {
    *out = TRY_NEW(arena, nn_layout, 1);
    **out = *layout;
    return SCANT_OK;
}

bool nn_layout_same(const nn_layout *a, const nn_layout *b) {
    return dnnl_memory_desc_equal(&a->md, &b->md) != 0;
}

static bool is_tagged(const nn_layout *layout, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t md;
    return layout->md.ndims == 4 &&
           dnnl_memory_desc_init_by_tag(&md, 4, layout->md.dims, dnnl_f32, tag) ==
               dnnl_success &&
           dnnl_memory_desc_equal(&md, &layout->md);
}

bool nn_layout_planes_by_8(const nn_layout *layout) {
    return is_tagged(layout, dnnl_nChw8c);
}

bool nn_layout_weights_by_8(const nn_layout *layout) {
    return is_tagged(layout, dnnl_OIhw8i8o);
}

size_t nn_layout_bytes(const nn_layout *layout) {
    return dnnl_memory_desc_get_size(&layout->md);
}

static scant_status describe(nn_backend *b, size_t ndim, const size_t *dims,
                             dnnl_format_tag_t tag, dnnl_memory_desc_t *out) {
    dnnl_dims_t d;
    for (size_t i = 0; i < ndim; i++) d[i] = (dnnl_dim_t)dims[i];
    return check(b, dnnl_memory_desc_init_by_tag(out, (int)ndim, d, dnnl_f32, tag),
                 "layout");
}

static scant_status describe_planes(nn_backend *b, size_t n, nn_shape s,
                                    dnnl_format_tag_t tag, dnnl_memory_desc_t *out) {
    return describe(b, 4, (size_t[4]){n, s.c, s.h, s.w}, tag, out);
}

static dnnl_alg_kind_t algorithm(nn_act act) {
    switch (act) {
    case NN_ACT_TANH:
        return dnnl_eltwise_tanh;
    case NN_ACT_SIGMOID:
        return dnnl_eltwise_logistic;
    case NN_ACT_SWISH:
        return dnnl_eltwise_swish;
    case NN_ACT_SQUARE:
        return dnnl_eltwise_square;
    case NN_ACT_RELU6:
        return dnnl_eltwise_bounded_relu;
    default:
        return dnnl_eltwise_relu;
    }
}

static float alpha_of(nn_act act, float slope) {
    if (act == NN_ACT_LEAKY) return slope;
    if (act == NN_ACT_RELU6) return 6;
    return act == NN_ACT_SWISH ? 1 : 0;
}

/* ---- passes ---- */

/* The library's query for each slot's layout; it returns none if a pass lacks the slot.
 */
static const struct {
    dnnl_query_t query;
    int index;
} layouts[NN_SLOTS] = {[NN_SRC] = {dnnl_query_src_md, 0},
                       [NN_DST] = {dnnl_query_dst_md, 0},
                       [NN_W] = {dnnl_query_weights_md, 0},
                       [NN_B] = {dnnl_query_weights_md, 1},
                       [NN_WORK] = {dnnl_query_workspace_md, 0},
                       [NN_D_SRC] = {dnnl_query_diff_src_md, 0},
                       [NN_D_DST] = {dnnl_query_diff_dst_md, 0},
                       [NN_D_W] = {dnnl_query_diff_weights_md, 0},
                       [NN_D_B] = {dnnl_query_diff_weights_md, 1},
                       [NN_SCRATCH] = {dnnl_query_scratchpad_md, 0}};

static void learn(pass *p, nn_slot slot, const dnnl_memory_desc_t *md) {
    p->has[slot] = md && md->ndims;
    if (p->has[slot]) p->layout[slot].md = *md;
}

static void learn_all(pass *p) {
    for (int i = 0; i < NN_SLOTS; i++)
        if (layouts[i].query)
            learn(
                p, (nn_slot)i,
                dnnl_primitive_desc_query_md(p->pd, layouts[i].query, layouts[i].index));
    if (p->has[NN_SCRATCH]) p->scratch = nn_layout_bytes(&p->layout[NN_SCRATCH]);
    p->has[NN_SCRATCH] = p->scratch > 0;
}

static void end_attributes(dnnl_primitive_attr_t *attr) {
    if (*attr) dnnl_primitive_attr_destroy(*attr);
}

/* Fuses scaling and activation into a convolution or dense layer. */
static dnnl_status_t fuse(const nn_op_spec *s, dnnl_primitive_attr_t attr) {
    bool scaled = s->node->kind == NN_DENSE && s->node->scale != 1;
    dnnl_post_ops_t post;
    if (s->act == NN_ACT_NONE && !scaled) return dnnl_success;
    dnnl_status_t status = dnnl_post_ops_create(&post);
    if (status != dnnl_success) return status;
    if (scaled)
        status =
            dnnl_post_ops_append_eltwise(post, 1, dnnl_eltwise_linear, s->node->scale, 0);
    if (status == dnnl_success && s->act != NN_ACT_NONE)
        status = dnnl_post_ops_append_eltwise(post, 1, algorithm(s->act),
                                              alpha_of(s->act, s->slope), 0);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(attr, post);
    dnnl_post_ops_destroy(post);
    return status;
}

/* Creates a primitive from desc; described: the status of making desc. A backward pass
 * needs the forward pass, created before, as a hint. */
static scant_status make(nn_op *op, nn_pass which, dnnl_status_t described,
                         const_dnnl_op_desc_t desc) {
    static const char *const names[] = {
        [NN_CONV] = "convolution",   [NN_DENSE] = "dense layer",
        [NN_NORM] = "normalisation", [NN_ACT] = "activation",
        [NN_MAXPOOL] = "pooling",    [NN_AVGPOOL] = "pooling"};
    static const char *const ends[NN_PASSES] = {"", " backwards", "'s weights"};
    nn_backend *b = op->backend;
    nn_kind kind = op->spec.node->kind;
    pass *p = &op->passes[which];
    char what[40];
    AUTO(end_attributes) dnnl_primitive_attr_t attr = NULL;
    AUTO(room_end) bool held = false;
    snprintf(what, sizeof what, "%s%s", names[kind], ends[which]);
    TRY(room_begin(b, what, &held));
    DO(described, what);
    DO(dnnl_primitive_attr_create(&attr), "attributes");
    DO(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), what);
    if (which == NN_FORWARD && (kind == NN_CONV || kind == NN_DENSE))
        DO(fuse(&op->spec, attr), "fused activation");
    DO(dnnl_primitive_desc_create(&p->pd, desc, attr, b->engine,
                                  which == NN_FORWARD ? NULL : op->passes[NN_FORWARD].pd),
       what);
    DO(dnnl_primitive_create(&p->primitive, p->pd), what);
    learn_all(p);
    return SCANT_OK;
}

static dnnl_prop_kind_t forward_kind(const nn_op_spec *s) {
    return s->backward ? dnnl_forward_training : dnnl_forward_inference;
}

/* ---- windows ---- */

typedef struct slide {
    dnnl_dims_t kernel, stride, before, after; /* padding before and after */
} slide;

/* Pixels after the last window are not read, so padding after the input may be smaller
 * than before it (stride 2). */
static slide slide_of(const nn_node *v) {
    size_t in[2] = {v->in_shape.h, v->in_shape.w}, out[2] = {v->shape.h, v->shape.w};
    slide w;
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = (dnnl_dim_t)v->kernel[i];
        w.stride[i] = (dnnl_dim_t)v->stride[i];
        w.before[i] = (dnnl_dim_t)v->pad[i];
        w.after[i] = (dnnl_dim_t)((out[i] - 1) * v->stride[i] + v->kernel[i]) -
                     (dnnl_dim_t)(in[i] + v->pad[i]);
    }
    return w;
}

/* ---- layers ---- */

static scant_status conv_create(nn_op *op) {
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    const nn_node *v = s->node;
    size_t g = v->groups, n = s->batch;
    size_t grouped[5] = {g, v->shape.c / g, v->in_shape.c / g, v->kernel[0],
                         v->kernel[1]};
    dnnl_memory_desc_t src, weights, bias, dst;
    const dnnl_memory_desc_t *biased = v->bias ? &bias : NULL;
    dnnl_alg_kind_t how = dnnl_convolution_direct;
    slide w = slide_of(v);
    TRY(describe_planes(b, n, v->in_shape, dnnl_format_tag_any, &src));
    TRY(describe_planes(b, n, v->shape, dnnl_format_tag_any, &dst));
    TRY(describe(b, g > 1 ? 5 : 4, g > 1 ? grouped : grouped + 1, dnnl_format_tag_any,
                 &weights));
    TRY(describe(b, 1, &v->shape.c, dnnl_a, &bias));
    dnnl_convolution_desc_t desc;
    TRY(make(op, NN_FORWARD,
             dnnl_convolution_forward_desc_init(&desc, forward_kind(s), how, &src,
                                                &weights, biased, &dst, w.stride,
                                                w.before, w.after),
             &desc));
    if (!s->backward) return SCANT_OK;
    if (!s->no_data)
        TRY(make(op, NN_BACK_DATA,
                 dnnl_convolution_backward_data_desc_init(
                     &desc, how, &src, &weights, &dst, w.stride, w.before, w.after),
                 &desc));
    return make(op, NN_BACK_WEIGHTS,
                dnnl_convolution_backward_weights_desc_init(&desc, how, &src, &weights,
                                                            biased, &dst, w.stride,
                                                            w.before, w.after),
                &desc);
}

/* Input and output are rows. */
static scant_status dense_create(nn_op *op) {
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    size_t in = nn_shape_size(s->node->in_shape), out = s->node->shape.c;
    dnnl_memory_desc_t src, weights, bias, dst;
    const dnnl_memory_desc_t *biased = s->node->bias ? &bias : NULL;
    TRY(describe(b, 2, (size_t[2]){s->batch, in}, dnnl_ab, &src));
    TRY(describe(b, 2, (size_t[2]){out, in}, dnnl_format_tag_any, &weights));
    TRY(describe(b, 1, &out, dnnl_a, &bias));
    TRY(describe(b, 2, (size_t[2]){s->batch, out}, dnnl_ab, &dst));
    dnnl_inner_product_desc_t desc;
    TRY(make(op, NN_FORWARD,
             dnnl_inner_product_forward_desc_init(&desc, forward_kind(s), &src, &weights,
                                                  biased, &dst),
             &desc));
    if (!s->backward) return SCANT_OK;
    weights = op->passes[NN_FORWARD].layout[NN_W].md; /* one layout for all passes */
    if (!s->no_data)
        TRY(make(op, NN_BACK_DATA,
                 dnnl_inner_product_backward_data_desc_init(&desc, &src, &weights, &dst),
                 &desc));
    return make(op, NN_BACK_WEIGHTS,
                dnnl_inner_product_backward_weights_desc_init(&desc, &src, &weights,
                                                              biased, &dst),
                &desc);
}

/* Batch normalisation: one backward pass for all gradients. */
static scant_status norm_create(nn_op *op) {
    static const nn_slot vectors[] = {NN_W,        NN_B,   NN_STAT_MEAN,
                                      NN_STAT_VAR, NN_D_W, NN_D_B};
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    if (!s->batch_stats) flags |= dnnl_use_global_stats;
    if (s->act == NN_ACT_RELU) flags |= dnnl_fuse_norm_relu;
    dnnl_batch_normalization_desc_t desc;
    dnnl_memory_desc_t channels;
    pass *forward = &op->passes[NN_FORWARD], *back = &op->passes[NN_BACK_DATA];
    TRY(describe(b, 1, &s->node->shape.c, dnnl_a, &channels));
    TRY(make(op, NN_FORWARD,
             dnnl_batch_normalization_forward_desc_init(
                 &desc, forward_kind(s), &s->src->md, (float)NN_NORM_EPS, flags),
             &desc));
    for (int i = 0; i < 4; i++) learn(forward, vectors[i], &channels);
    if (!s->backward) return SCANT_OK;
    TRY(make(op, NN_BACK_DATA,
             dnnl_batch_normalization_backward_desc_init(
                 &desc, dnnl_backward, &forward->layout[NN_DST].md, &s->src->md,
                 (float)NN_NORM_EPS, flags),
             &desc));
    for (int i = 0; i < 6; i++) learn(back, vectors[i], &channels);
    return SCANT_OK;
}

/* Backward reads the activation's input, not its output. */
static scant_status act_create(nn_op *op) {
    const nn_op_spec *s = &op->spec;
    dnnl_eltwise_desc_t desc;
    float alpha = alpha_of(s->act, s->slope);
    TRY(make(op, NN_FORWARD,
             dnnl_eltwise_forward_desc_init(&desc, forward_kind(s), algorithm(s->act),
                                            &s->src->md, alpha, 0),
             &desc));
    if (!s->backward) return SCANT_OK;
    return make(op, NN_BACK_DATA,
                dnnl_eltwise_backward_desc_init(&desc, algorithm(s->act), &s->src->md,
                                                &s->src->md, alpha, 0),
                &desc);
}

static scant_status pool_create(nn_op *op) {
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    dnnl_alg_kind_t how =
        s->node->kind == NN_MAXPOOL ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding;
    dnnl_memory_desc_t dst;
    TRY(describe_planes(b, s->batch, s->node->shape, dnnl_format_tag_any, &dst));
    slide w = slide_of(s->node);
    dnnl_pooling_desc_t desc;
    TRY(make(op, NN_FORWARD,
             dnnl_pooling_forward_desc_init(&desc, forward_kind(s), how, &s->src->md,
                                            &dst, w.stride, w.kernel, w.before, w.after),
             &desc));
    if (!s->backward) return SCANT_OK;
    dst = op->passes[NN_FORWARD].layout[NN_DST].md;
    return make(op, NN_BACK_DATA,
                dnnl_pooling_backward_desc_init(&desc, how, &s->src->md, &dst, w.stride,
                                                w.kernel, w.before, w.after),
                &desc);
}

/* ---- operations ---- */

scant_status nn_op_create(nn_backend *b, const nn_op_spec *spec, nn_op **out) {
    static scant_status (*const create[])(nn_op *) = {
        [NN_CONV] = conv_create, [NN_DENSE] = dense_create,  [NN_NORM] = norm_create,
        [NN_ACT] = act_create,   [NN_MAXPOOL] = pool_create, [NN_AVGPOOL] = pool_create};
    AUTO(nn_op_auto) nn_op *op = scant__zalloc(b->ctx, 1, sizeof *op);
    *out = NULL;
    if (!op) return SCANT_ENOMEM;
    op->backend = b;
    op->spec = *spec;
    TRY(create[spec->node->kind](op));
    *out = op;
    op = NULL;
    return SCANT_OK;
}

scant_status nn_op_reorder(nn_backend *b, const nn_layout *from, const nn_layout *to,
                           nn_op **out) {
    AUTO(end_attributes) dnnl_primitive_attr_t attr = NULL;
    AUTO(room_end) bool held = false;
    AUTO(nn_op_auto) nn_op *op = scant__zalloc(b->ctx, 1, sizeof *op);
    *out = NULL;
    if (!op) return SCANT_ENOMEM;
    op->backend = b;
    pass *p = &op->passes[NN_FORWARD];
    TRY(room_begin(b, "reorder", &held));
    DO(dnnl_primitive_attr_create(&attr), "reorder");
    DO(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user),
       "reorder");
    DO(dnnl_reorder_primitive_desc_create(&p->pd, &from->md, b->engine, &to->md,
                                          b->engine, attr),
       "reorder");
    DO(dnnl_primitive_create(&p->primitive, p->pd), "reorder");
    learn_all(p);
    *out = op;
    op = NULL;
    return SCANT_OK;
}

scant_status nn_op_move(nn_backend *b, scant__arena *arena, const nn_layout *from,
                        float *src, const nn_layout *to, float *dst, nn_op **out) {
    TRY(nn_op_reorder(b, from, to, out));
    TRY(nn_op_bind(*out, NN_FORWARD, NN_SRC, src));
    TRY(nn_op_bind(*out, NN_FORWARD, NN_DST, dst));
    size_t bytes = nn_op_scratch(*out, NN_FORWARD);
    return bytes ? nn_op_bind(*out, NN_FORWARD, NN_SCRATCH, TRY_NEW(arena, char, bytes))
                 : SCANT_OK;
}

void nn_op_free(nn_op *op) {
    if (!op) return;
    for (int i = 0; i < NN_PASSES; i++) {
        pass *p = &op->passes[i];
        for (int j = 0; j < NN_SLOTS; j++)
            if (p->memory[j]) dnnl_memory_destroy(p->memory[j]);
        if (p->primitive) dnnl_primitive_destroy(p->primitive);
        if (p->pd) dnnl_primitive_desc_destroy(p->pd);
    }
    scant__free(op->backend->ctx, op);
}

const nn_layout *nn_op_layout(const nn_op *op, nn_pass which, nn_slot slot) {
    const pass *p = &op->passes[which];
    return p->has[slot] ? &p->layout[slot] : NULL;
}

bool nn_op_has(const nn_op *op, nn_pass which) {
    return op->passes[which].primitive != NULL;
}

size_t nn_op_scratch(const nn_op *op, nn_pass which) { return op->passes[which].scratch; }

scant_status nn_op_bind(nn_op *op, nn_pass which, nn_slot slot, void *data) {
    nn_backend *b = op->backend;
    pass *p = &op->passes[which];
    if (!p->has[slot] || p->memory[slot])
        return scant__fail(b->ctx, SCANT_EINTERNAL, "a slot is missing or bound twice");
    DO(dnnl_memory_create(&p->memory[slot], &p->layout[slot].md, b->engine, data),
       "memory");
    p->args[p->n_args++] = (dnnl_exec_arg_t){arg_name(op, slot), p->memory[slot]};
    return SCANT_OK;
}

scant_status nn_op_run(nn_op *op, nn_pass which) {
    nn_backend *b = op->backend;
    pass *p = &op->passes[which];
    DO(dnnl_primitive_execute(p->primitive, b->stream, p->n_args, p->args), "result");
    return SCANT_OK;
}
