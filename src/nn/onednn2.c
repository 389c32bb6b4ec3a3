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

/* slot -> the library's argument, by pass where they differ */
static const int arg_of[NN_SLOTS] = {
    [NN_SRC] = DNNL_ARG_SRC,        [NN_DST] = DNNL_ARG_DST,
    [NN_W] = DNNL_ARG_WEIGHTS,      [NN_B] = DNNL_ARG_BIAS,
    [NN_STAT_MEAN] = DNNL_ARG_MEAN, [NN_STAT_VAR] = DNNL_ARG_VARIANCE,
    [NN_WORK] = DNNL_ARG_WORKSPACE, [NN_D_SRC] = DNNL_ARG_DIFF_SRC,
    [NN_D_DST] = DNNL_ARG_DIFF_DST, [NN_D_W] = DNNL_ARG_DIFF_WEIGHTS,
    [NN_D_B] = DNNL_ARG_DIFF_BIAS,  [NN_SCRATCH] = DNNL_ARG_SCRATCHPAD};

static int arg_name(const nn_op *op, nn_slot slot) {
    if (op->spec.kind == NN_NORM) {
        if (slot == NN_W) return DNNL_ARG_SCALE;
        if (slot == NN_B) return DNNL_ARG_SHIFT;
        if (slot == NN_D_W) return DNNL_ARG_DIFF_SCALE;
        if (slot == NN_D_B) return DNNL_ARG_DIFF_SHIFT;
    }
    return arg_of[slot];
}

static scant_status check(nn_backend *b, dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return SCANT_OK;
    if (status == dnnl_out_of_memory)
        return scant__fail(b->ctx, SCANT_ENOMEM, "no memory for %s", what);
    return scant__fail(b->ctx, SCANT_EINTERNAL, "oneDNN has no %s (status %d)", what,
                       (int)status);
}

#define DO(call, what) TRY(check(b, call, what))

scant_status nn_backend_open(scant_ctx *ctx, nn_backend **out) {
    *out = NULL;
    nn_backend *b = scant__zalloc(ctx, 1, sizeof *b);
    if (!b) return SCANT_ENOMEM;
    b->ctx = ctx;
    scant_status s = check(b, dnnl_engine_create(&b->engine, dnnl_cpu, 0), "engine");
    if (s == SCANT_OK)
        s = check(b, dnnl_stream_create(&b->stream, b->engine, dnnl_stream_default_flags),
                  "stream");
    if (s != SCANT_OK) {
        nn_backend_close(b);
        return s;
    }
    *out = b;
    return SCANT_OK;
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

scant_status nn_layout_plain(nn_backend *b, size_t ndim, const size_t *dims,
                             nn_layout **out) {
    static const int as_they_are[] = {0, 1, 2, 3, 4};
    return nn_layout_ordered(b, ndim, dims, as_they_are, out);
}

scant_status nn_layout_ordered(nn_backend *b, size_t ndim, const size_t *dims,
                               const int *order, nn_layout **out) {
    dnnl_dims_t d, strides;
    dnnl_dim_t stride = 1;
    for (size_t i = 0; i < ndim; i++) d[i] = (dnnl_dim_t)dims[i];
    for (size_t i = ndim; i > 0; i--) {
        strides[order[i - 1]] = stride;
        stride *= d[order[i - 1]];
    }
    nn_layout *layout = *out = scant__alloc(b->ctx, 1, sizeof *layout);
    if (!layout) return SCANT_ENOMEM;
    scant_status s = check(
        b, dnnl_memory_desc_init_by_strides(&layout->md, (int)ndim, d, dnnl_f32, strides),
        "layout");
    if (s != SCANT_OK) {
        nn_layout_destroy(b, layout);
        *out = NULL;
    }
    return s;
}

scant_status nn_layout_copy(nn_backend *b, const nn_layout *layout, nn_layout **out) {
    *out = scant__alloc(b->ctx, 1, sizeof **out);
    if (!*out) return SCANT_ENOMEM;
    **out = *layout;
    return SCANT_OK;
}

void nn_layout_destroy(nn_backend *b, nn_layout *layout) { scant__free(b->ctx, layout); }

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

/* ---- passes ---- */

static void learn(nn_op *op, nn_pass which, nn_slot slot, dnnl_query_t query, int index) {
    pass *p = &op->passes[which];
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(p->pd, query, index);
    if (!md || md->ndims == 0) return;
    p->layout[slot].md = *md;
    p->has[slot] = true;
}

static void learn_scratch(nn_op *op, nn_pass which) {
    pass *p = &op->passes[which];
    learn(op, which, NN_SCRATCH, dnnl_query_scratchpad_md, 0);
    if (p->has[NN_SCRATCH]) p->scratch = nn_layout_bytes(&p->layout[NN_SCRATCH]);
    p->has[NN_SCRATCH] = p->scratch > 0;
}

/* Creates a primitive; post NULL: no post-operations. A backward pass uses the forward
 * one, created before, as the hint. */
static scant_status make(nn_op *op, nn_pass which, const_dnnl_op_desc_t desc,
                         dnnl_post_ops_t post, const char *what) {
    nn_backend *b = op->backend;
    pass *p = &op->passes[which];
    dnnl_primitive_attr_t attr = NULL;
    DO(dnnl_primitive_attr_create(&attr), "attributes");
    dnnl_status_t status =
        dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && post)
        status = dnnl_primitive_attr_set_post_ops(attr, post);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(
            &p->pd, desc, attr, b->engine,
            which == NN_FORWARD ? NULL : op->passes[NN_FORWARD].pd);
    dnnl_primitive_attr_destroy(attr);
    if (status == dnnl_success) status = dnnl_primitive_create(&p->primitive, p->pd);
    DO(status, what);
    learn_scratch(op, which);
    return SCANT_OK;
}

static dnnl_alg_kind_t algorithm(nn_act act) {
    switch (act) {
    case NN_ACT_TANH:
        return dnnl_eltwise_tanh;
    case NN_ACT_SIGMOID:
        return dnnl_eltwise_logistic;
    case NN_ACT_SWISH:
        return dnnl_eltwise_swish;
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

static scant_status post_ops(nn_op *op, dnnl_post_ops_t *out) {
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    *out = NULL;
    bool scaled = s->kind == NN_DENSE && s->scale != 1;
    if (s->act == NN_ACT_NONE && !scaled) return SCANT_OK;
    DO(dnnl_post_ops_create(out), "fused activation");
    dnnl_status_t status = dnnl_success;
    if (scaled)
        status = dnnl_post_ops_append_eltwise(*out, 1, dnnl_eltwise_linear, s->scale, 0);
    if (status == dnnl_success && s->act != NN_ACT_NONE)
        status = dnnl_post_ops_append_eltwise(*out, 1, algorithm(s->act),
                                              alpha_of(s->act, s->slope), 0);
    if (status != dnnl_success) dnnl_post_ops_destroy(*out);
    DO(status, "fused activation");
    return SCANT_OK;
}

static dnnl_prop_kind_t forward_kind(const nn_op_spec *s) {
    return s->backward ? dnnl_forward_training : dnnl_forward_inference;
}

/* ---- windows ---- */

typedef struct slide {
    dnnl_dims_t kernel, stride, before, after; /* before, after: padding */
} slide;

/* Pixels after the last window are not read: padding after may be smaller than before
 * (stride 2). */
static slide slide_of(const nn_op_spec *s) {
    size_t in[2] = {s->in.h, s->in.w}, out[2] = {s->out.h, s->out.w};
    slide w;
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = (dnnl_dim_t)s->kernel[i];
        w.stride[i] = (dnnl_dim_t)s->stride[i];
        w.before[i] = (dnnl_dim_t)s->pad[i];
        w.after[i] = (dnnl_dim_t)((out[i] - 1) * s->stride[i] + s->kernel[i]) -
                     (dnnl_dim_t)(in[i] + s->pad[i]);
    }
    return w;
}

/* ---- convolution ---- */

typedef struct conv_shapes {
    dnnl_memory_desc_t src, weights, bias, dst;
    slide w;
} conv_shapes;

static scant_status conv_describe(nn_op *op, conv_shapes *c) {
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    size_t g = s->groups, ic = s->in.c / g, oc = s->out.c / g;
    size_t grouped[5] = {g, oc, ic, s->kernel[0], s->kernel[1]};
    TRY(describe_planes(b, s->batch, s->in, dnnl_format_tag_any, &c->src));
    TRY(describe_planes(b, s->batch, s->out, dnnl_format_tag_any, &c->dst));
    TRY(describe(b, g > 1 ? 5 : 4, g > 1 ? grouped : grouped + 1, dnnl_format_tag_any,
                 &c->weights));
    memset(&c->bias, 0, sizeof c->bias);
    if (s->bias) TRY(describe(b, 1, &s->out.c, dnnl_a, &c->bias));
    c->w = slide_of(s);
    return SCANT_OK;
}

/* The slots of a convolution's or dense layer's pass. */
static void learn_weighted(nn_op *op, nn_pass which) {
    bool bias = op->spec.bias;
    if (which == NN_FORWARD) {
        learn(op, which, NN_SRC, dnnl_query_src_md, 0);
        learn(op, which, NN_W, dnnl_query_weights_md, 0);
        if (bias) learn(op, which, NN_B, dnnl_query_weights_md, 1);
        learn(op, which, NN_DST, dnnl_query_dst_md, 0);
    } else if (which == NN_BACK_DATA) {
        learn(op, which, NN_D_SRC, dnnl_query_diff_src_md, 0);
        learn(op, which, NN_W, dnnl_query_weights_md, 0);
        learn(op, which, NN_D_DST, dnnl_query_diff_dst_md, 0);
    } else {
        learn(op, which, NN_SRC, dnnl_query_src_md, 0);
        learn(op, which, NN_D_DST, dnnl_query_diff_dst_md, 0);
        learn(op, which, NN_D_W, dnnl_query_diff_weights_md, 0);
        if (bias) learn(op, which, NN_D_B, dnnl_query_diff_weights_md, 1);
    }
}

static scant_status conv_backward(nn_op *op, const conv_shapes *c) {
    nn_backend *b = op->backend;
    dnnl_convolution_desc_t desc;
    if (!op->spec.no_data) {
        DO(dnnl_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct,
                                                    &c->src, &c->weights, &c->dst,
                                                    c->w.stride, c->w.before, c->w.after),
           "convolution backwards");
        TRY(make(op, NN_BACK_DATA, &desc, NULL, "convolution backwards"));
        learn_weighted(op, NN_BACK_DATA);
    }
    DO(dnnl_convolution_backward_weights_desc_init(
           &desc, dnnl_convolution_direct, &c->src, &c->weights,
           op->spec.bias ? &c->bias : NULL, &c->dst, c->w.stride, c->w.before,
           c->w.after),
       "convolution's weights");
    TRY(make(op, NN_BACK_WEIGHTS, &desc, NULL, "convolution's weights"));
    learn_weighted(op, NN_BACK_WEIGHTS);
    return SCANT_OK;
}

static scant_status conv_create(nn_op *op) {
    nn_backend *b = op->backend;
    conv_shapes c;
    TRY(conv_describe(op, &c));
    dnnl_convolution_desc_t desc;
    DO(dnnl_convolution_forward_desc_init(
           &desc, forward_kind(&op->spec), dnnl_convolution_direct, &c.src, &c.weights,
           op->spec.bias ? &c.bias : NULL, &c.dst, c.w.stride, c.w.before, c.w.after),
       "convolution");
    dnnl_post_ops_t post;
    TRY(post_ops(op, &post));
    scant_status status = make(op, NN_FORWARD, &desc, post, "convolution");
    if (post) dnnl_post_ops_destroy(post);
    TRY(status);
    learn_weighted(op, NN_FORWARD);
    return op->spec.backward ? conv_backward(op, &c) : SCANT_OK;
}

/* ---- dense: rows in, rows out ---- */

static scant_status dense_create(nn_op *op) {
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    size_t in = nn_shape_size(s->in), out = s->out.c;
    dnnl_memory_desc_t src, weights, bias, dst;
    TRY(describe(b, 2, (size_t[2]){s->batch, in}, dnnl_ab, &src));
    TRY(describe(b, 2, (size_t[2]){out, in}, dnnl_format_tag_any, &weights));
    TRY(describe(b, 1, &out, dnnl_a, &bias));
    TRY(describe(b, 2, (size_t[2]){s->batch, out}, dnnl_ab, &dst));
    dnnl_inner_product_desc_t desc;
    DO(dnnl_inner_product_forward_desc_init(&desc, forward_kind(s), &src, &weights,
                                            s->bias ? &bias : NULL, &dst),
       "dense layer");
    dnnl_post_ops_t post;
    TRY(post_ops(op, &post));
    scant_status status = make(op, NN_FORWARD, &desc, post, "dense layer");
    if (post) dnnl_post_ops_destroy(post);
    TRY(status);
    learn_weighted(op, NN_FORWARD);
    if (!s->backward) return SCANT_OK;
    weights = op->passes[NN_FORWARD].layout[NN_W].md; /* one layout for all three */
    if (!s->no_data) {
        DO(dnnl_inner_product_backward_data_desc_init(&desc, &src, &weights, &dst),
           "dense layer backwards");
        TRY(make(op, NN_BACK_DATA, &desc, NULL, "dense layer backwards"));
        learn_weighted(op, NN_BACK_DATA);
    }
    DO(dnnl_inner_product_backward_weights_desc_init(&desc, &src, &weights,
                                                     s->bias ? &bias : NULL, &dst),
       "dense layer's weights");
    TRY(make(op, NN_BACK_WEIGHTS, &desc, NULL, "dense layer's weights"));
    learn_weighted(op, NN_BACK_WEIGHTS);
    return SCANT_OK;
}

/* ---- batch normalisation: one backward pass for all gradients ---- */

static scant_status norm_create(nn_op *op) {
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    if (!s->batch_stats) flags |= dnnl_use_global_stats;
    if (s->act == NN_ACT_RELU) flags |= dnnl_fuse_norm_relu;
    dnnl_batch_normalization_desc_t desc;
    DO(dnnl_batch_normalization_forward_desc_init(&desc, forward_kind(s), &s->src->md,
                                                  (float)NN_NORM_EPS, flags),
       "normalisation");
    TRY(make(op, NN_FORWARD, &desc, NULL, "normalisation"));
    learn(op, NN_FORWARD, NN_SRC, dnnl_query_src_md, 0);
    learn(op, NN_FORWARD, NN_DST, dnnl_query_dst_md, 0);
    learn(op, NN_FORWARD, NN_WORK, dnnl_query_workspace_md, 0);
    pass *p = &op->passes[NN_FORWARD];
    dnnl_memory_desc_t channels;
    TRY(describe(b, 1, &s->in.c, dnnl_a, &channels));
    const nn_slot vectors[] = {NN_W, NN_B, NN_STAT_MEAN, NN_STAT_VAR};
    for (int i = 0; i < 4; i++) {
        p->layout[vectors[i]].md = channels;
        p->has[vectors[i]] = true;
    }
    if (!s->backward) return SCANT_OK;
    dnnl_memory_desc_t diff = p->layout[NN_DST].md;
    DO(dnnl_batch_normalization_backward_desc_init(
           &desc, dnnl_backward, &diff, &s->src->md, (float)NN_NORM_EPS, flags),
       "normalisation backwards");
    TRY(make(op, NN_BACK_DATA, &desc, NULL, "normalisation backwards"));
    learn(op, NN_BACK_DATA, NN_SRC, dnnl_query_src_md, 0);
    learn(op, NN_BACK_DATA, NN_D_DST, dnnl_query_diff_dst_md, 0);
    learn(op, NN_BACK_DATA, NN_D_SRC, dnnl_query_diff_src_md, 0);
    learn(op, NN_BACK_DATA, NN_WORK, dnnl_query_workspace_md, 0);
    p = &op->passes[NN_BACK_DATA];
    const nn_slot more[] = {NN_W, NN_B, NN_STAT_MEAN, NN_STAT_VAR, NN_D_W, NN_D_B};
    for (int i = 0; i < 6; i++) {
        p->layout[more[i]].md = channels;
        p->has[more[i]] = true;
    }
    return SCANT_OK;
}

/* ---- activations ---- */

static scant_status act_create(nn_op *op) {
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    /* swish and others: backward reads the input */
    dnnl_eltwise_desc_t desc;
    float alpha = alpha_of(s->act, s->slope);
    DO(dnnl_eltwise_forward_desc_init(&desc, forward_kind(s), algorithm(s->act),
                                      &s->src->md, alpha, 0),
       "activation");
    TRY(make(op, NN_FORWARD, &desc, NULL, "activation"));
    learn(op, NN_FORWARD, NN_SRC, dnnl_query_src_md, 0);
    learn(op, NN_FORWARD, NN_DST, dnnl_query_dst_md, 0);
    if (!s->backward) return SCANT_OK;
    DO(dnnl_eltwise_backward_desc_init(&desc, algorithm(s->act), &s->src->md, &s->src->md,
                                       alpha, 0),
       "activation backwards");
    TRY(make(op, NN_BACK_DATA, &desc, NULL, "activation backwards"));
    learn(op, NN_BACK_DATA, NN_SRC, dnnl_query_src_md, 0);
    learn(op, NN_BACK_DATA, NN_D_DST, dnnl_query_diff_dst_md, 0);
    learn(op, NN_BACK_DATA, NN_D_SRC, dnnl_query_diff_src_md, 0);
    return SCANT_OK;
}

/* ---- pooling ---- */

static scant_status pool_create(nn_op *op) {
    nn_backend *b = op->backend;
    const nn_op_spec *s = &op->spec;
    dnnl_alg_kind_t how =
        s->kind == NN_MAXPOOL ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding;
    dnnl_memory_desc_t dst;
    TRY(describe_planes(b, s->batch, s->out, dnnl_format_tag_any, &dst));
    slide w = slide_of(s);
    dnnl_pooling_desc_t desc;
    DO(dnnl_pooling_forward_desc_init(&desc, forward_kind(s), how, &s->src->md, &dst,
                                      w.stride, w.kernel, w.before, w.after),
       "pooling");
    TRY(make(op, NN_FORWARD, &desc, NULL, "pooling"));
    learn(op, NN_FORWARD, NN_SRC, dnnl_query_src_md, 0);
    learn(op, NN_FORWARD, NN_DST, dnnl_query_dst_md, 0);
    learn(op, NN_FORWARD, NN_WORK, dnnl_query_workspace_md, 0);
    if (!s->backward) return SCANT_OK;
    dst = op->passes[NN_FORWARD].layout[NN_DST].md;
    DO(dnnl_pooling_backward_desc_init(&desc, how, &s->src->md, &dst, w.stride, w.kernel,
                                       w.before, w.after),
       "pooling backwards");
    TRY(make(op, NN_BACK_DATA, &desc, NULL, "pooling backwards"));
    learn(op, NN_BACK_DATA, NN_D_DST, dnnl_query_diff_dst_md, 0);
    learn(op, NN_BACK_DATA, NN_D_SRC, dnnl_query_diff_src_md, 0);
    learn(op, NN_BACK_DATA, NN_WORK, dnnl_query_workspace_md, 0);
    return SCANT_OK;
}

/* ---- operations ---- */

scant_status nn_op_create(nn_backend *b, const nn_op_spec *spec, nn_op **out) {
    *out = NULL;
    nn_op *op = scant__zalloc(b->ctx, 1, sizeof *op);
    if (!op) return SCANT_ENOMEM;
    op->backend = b;
    op->spec = *spec;
    scant_status s = SCANT_EINTERNAL;
    switch (spec->kind) {
    case NN_CONV:
        s = conv_create(op);
        break;
    case NN_DENSE:
        s = dense_create(op);
        break;
    case NN_NORM:
        s = norm_create(op);
        break;
    case NN_ACT:
        s = act_create(op);
        break;
    case NN_MAXPOOL:
    case NN_AVGPOOL:
        s = pool_create(op);
        break;
    default:
        s = scant__fail(b->ctx, SCANT_EINTERNAL, "there is no kernel for this layer");
    }
    if (s != SCANT_OK) {
        nn_op_destroy(op);
        return s;
    }
    *out = op;
    return SCANT_OK;
}

scant_status nn_op_reorder(nn_backend *b, const nn_layout *from, const nn_layout *to,
                           nn_op **out) {
    *out = NULL;
    nn_op *op = scant__zalloc(b->ctx, 1, sizeof *op);
    if (!op) return SCANT_ENOMEM;
    op->backend = b;
    pass *p = &op->passes[NN_FORWARD];
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(&attr);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (s == dnnl_success)
        s = dnnl_reorder_primitive_desc_create(&p->pd, &from->md, b->engine, &to->md,
                                               b->engine, attr);
    if (attr) dnnl_primitive_attr_destroy(attr);
    if (s == dnnl_success) s = dnnl_primitive_create(&p->primitive, p->pd);
    if (s != dnnl_success) {
        nn_op_destroy(op);
        return check(b, s, "reorder");
    }
    p->layout[NN_SRC] = *from;
    p->layout[NN_DST] = *to;
    p->has[NN_SRC] = p->has[NN_DST] = true;
    learn_scratch(op, NN_FORWARD);
    *out = op;
    return SCANT_OK;
}

void nn_op_destroy(nn_op *op) {
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
