/* SPDX-License-Identifier: Apache-2.0
 *
 * Patches are a matrix: a row for each element of the window, a column for each output
 * position. So image lines are copied whole, and a sample's gradient is one product d
 * patches^T with a long inner dimension. Patches that exceed the cache are built in
 * strips of lines.
 */
#include "nn/persample.h"

#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "linalg/gemm_f32.h"
#include "linalg/products.h"
#include "nn/inference.h"
#include "nn/input.h"
#include "scant/train.h"

enum {
    STRIP_FLOATS = 128 << 10, /* floats of patches per strip: half of the L2 cache */
    BATCH_MOST = 128,
    TRACE_BYTES = 256 << 20 /* maximum size of a plan */
};

size_t nn_share(const scant_ctx *ctx, size_t most) {
    size_t left = ctx->cap > ctx->used ? ctx->cap - ctx->used : 0;
    return size_min(left / 2, most);
}

/* ---- layers ---- */

static bool single_pixels(const nn_layer *l) {
    const nn_node *node = l->node;
    bool single = true;
    for (int k = 0; k < 2; k++)
        single &= node->kernel[k] == 1 && node->stride[k] == 1 && node->pad[k] == 0;
    return single;
}

/* One row of patches: the pixels at offset (down, across) of the window, for the output
 * positions of lines first..first+count-1. */
static void patch_row(const nn_layer *l, const float *plane, size_t down, size_t across,
                      size_t first, size_t count, float *out) {
    const nn_node *node = l->node;
    size_t line = node->shape.w, stride = node->stride[1], pad = node->pad[1];
    /* output positions lo..hi-1 of a line read a pixel, the others padding */
    size_t lo = pad > across ? (pad - across + stride - 1) / stride : 0;
    size_t end = l->in.w + pad > across ? (l->in.w + pad - across - 1) / stride + 1 : 0;
    size_t hi = size_min(end, line);
    lo = size_min(lo, hi);
    for (size_t i = 0; i < count; i++, out += line) {
        size_t y = (first + i) * node->stride[0] + down; /* including padding */
        if (y < node->pad[0] || y - node->pad[0] >= l->in.h) {
            memset(out, 0, line * sizeof *out);
            continue;
        }
        const float *from = plane + (y - node->pad[0]) * l->in.w;
        for (size_t k = 0; k < lo; k++) out[k] = 0;
        for (size_t k = hi; k < line; k++) out[k] = 0;
        if (hi > lo) from += lo * stride + across - pad;
        if (stride == 1)
            memcpy(out + lo, from, (hi - lo) * sizeof *out);
        else
            for (size_t k = lo; k < hi; k++) out[k] = from[(k - lo) * stride];
    }
}

const float *nn_layer_patches(const nn_layer *l, const float *x, size_t group,
                              size_t first, size_t count, float *room, size_t *stride) {
    const nn_node *node = l->node;
    size_t plane = l->in.h * l->in.w, channels = l->in.c / node->groups;
    const float *planes = x + group * channels * plane;
    if (single_pixels(l)) {
        *stride = plane;
        return planes + first * l->in.w;
    }
    *stride = count * node->shape.w;
    float *out = room;
    for (size_t c = 0; c < channels; c++)
        for (size_t down = 0; down < node->kernel[0]; down++)
            for (size_t across = 0; across < node->kernel[1]; across++, out += *stride)
                patch_row(l, planes + c * plane, down, across, first, count, out);
    return room;
}

static void plane_sums(const nn_layer *l, const float *d, size_t count, float *out) {
    for (size_t k = 0; k < count; k++) {
        double sum = 0;
        for (size_t p = 0; p < l->places; p++) sum += (double)d[k * l->places + p];
        out[k] = (float)sum;
    }
}

static void conv_gradient(const nn_layer *l, const float *x, const float *d,
                          const nn_part *part, float *room) {
    size_t per = l->rows / l->node->groups, lines = l->node->shape.h, stride;
    size_t first = part->first, end = first + part->count, line = l->node->shape.w;
    for (size_t k = 0; k < part->copies; k++)
        memset(part->out + k * part->stride, 0,
               part->count * l->width * sizeof *part->out);
    for (size_t group = first / per; group * per < end; group++) {
        size_t from = size_max(first, group * per), to = size_min(end, (group + 1) * per);
        for (size_t at = 0; at < lines; at += l->strip) {
            size_t some = size_min(l->strip, lines - at);
            const float *patches = nn_layer_patches(l, x, group, at, some, room, &stride);
            for (size_t k = 0; k < part->copies; k++)
                la_snt_add(to - from, l->width, some * line,
                           d + k * l->d + from * l->places + at * line, l->places,
                           patches, stride,
                           part->out + k * part->stride + (from - first) * l->width,
                           l->width);
        }
    }
}

static void norm_gradient(const nn_layer *l, const float *x, const float *d, size_t first,
                          size_t count, float *weights) {
    for (size_t c = first; c < first + count; c++) {
        double mean = (double)l->mean[c], sum = 0;
        double by = 1 / sqrt((double)l->var[c] + NN_NORM_EPS);
        for (size_t p = c * l->places; p < (c + 1) * l->places; p++)
            sum += (double)d[p] * ((double)x[p] - mean);
        weights[c - first] = (float)(sum * by);
    }
}

static void dense_gradient(const nn_layer *l, const float *x, const float *d,
                           size_t first, size_t count, float *weights) {
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < l->width; i++)
            weights[k * l->width + i] = d[first + k] * x[i];
}

void nn_layer_gradient(const nn_layer *l, const float *x, const float *d,
                       const nn_part *part, float *room) {
    if (l->node->kind == NN_CONV) conv_gradient(l, x, d, part, room);
    for (size_t k = 0; k < part->copies; k++, d += l->d) {
        float *out = part->out + k * part->stride;
        if (l->node->kind == NN_NORM)
            norm_gradient(l, x, d, part->first, part->count, out);
        else if (l->node->kind == NN_DENSE)
            dense_gradient(l, x, d, part->first, part->count, out);
        if (l->bias)
            plane_sums(l, d + part->first * l->places, part->count,
                       out + part->count * l->width);
    }
}

void nn_layer_bias(const nn_layer *l, const float *d, float *bias) {
    plane_sums(l, d, l->rows, bias);
}

size_t nn_layer_room(const nn_layer *l) {
    if (l->node->kind != NN_CONV || single_pixels(l)) return 0;
    return size_mul(l->width, size_mul(l->strip, l->node->shape.w));
}

static nn_layer layer_of(scant_net *net, int at) {
    const nn_net *shape = net->net;
    const nn_node *node = &shape->nodes[at];
    nn_layer l = {.node = node, .at = at, .in = node->in_shape};
    const nn_param *w = &shape->params[node->weight];
    bool norm = node->kind == NN_NORM;
    l.x = nn_shape_size(l.in);
    l.d = nn_shape_size(node->shape);
    l.places = node->shape.h * node->shape.w;
    l.rows = node->shape.c;
    l.width = w->count / l.rows;
    l.bias = node->bias || norm;
    l.weight_at = w->offset;
    if (l.bias) l.bias_at = shape->params[node->bias_at].offset;
    l.strip = STRIP_FLOATS / size_max(1, size_mul(l.width, node->shape.w));
    l.strip = size_max(1, size_min(l.strip, node->shape.h));
    if (norm) {
        l.mean = nn_weights_at(net->weights, node->mean);
        l.var = nn_weights_at(net->weights, node->var);
    }
    return l;
}

static bool has_trained(const nn_node *node) {
    return node->weight != NN_NONE && !node->frozen;
}

/* ---- batches ---- */

static scant_status list_layers(nn_tracer *t) {
    const nn_net *shape = t->net->net;
    size_t last = (size_t)shape->head, stop = (size_t)nn_plan_front_last(t->plan);
    if (t->last_layer) stop = last - 1;
    t->layers = TRY_NEW(&t->arena, nn_layer, shape->n_nodes);
    for (size_t i = last; i > stop; i--) {
        if (!has_trained(&shape->nodes[i])) continue;
        nn_layer l = layer_of(t->net, (int)i);
        TRY(la_fits(t->net->ctx, size_max(size_max(l.x, l.d), l.width)));
        t->layers[t->n_layers++] = l;
    }
    t->offset = t->last_layer ? t->layers[0].weight_at : 0;
    t->parameters = t->last_layer ? nn_layer_size(t->layers) : shape->n_trained;
    return SCANT_OK;
}

/* The batch size; a trace keeps about three tensors per node. */
static size_t trace_batch(const scant_net *net, size_t n) {
    size_t sample = 1;
    for (size_t i = 0; i < net->net->n_nodes; i++)
        sample = size_add(sample, nn_shape_size(net->net->nodes[i].shape));
    size_t share = nn_share(net->ctx, 2 * (size_t)TRACE_BYTES) / 2;
    size_t batch = share / size_mul(3 * sizeof(float), sample);
    return size_max(1, size_min(size_min(batch, BATCH_MOST), n));
}

scant_status nn_tracer_open(nn_tracer *t, scant_net *net, size_t n, nn_scope scope) {
    const nn_net *shape = net->net;
    bool last_layer = scope == NN_SCOPE_LAST;
    *t = (nn_tracer){.net = net, .arena = {.ctx = net->ctx}, .last_layer = last_layer};
    if (last_layer && !has_trained(&shape->nodes[shape->head]))
        return scant__fail(net->ctx, SCANT_EINPUT,
                           "%s: its last layer is not trained, so there is no gradient "
                           "by it alone",
                           shape->model);
    TRY(scant__blas_begin(net->ctx));
    if (last_layer) {
        t->batch = nn_infer_batch(net, n);
        TRY(nn_network_plan(net, t->batch, NN_PREDICT, &t->plan));
    } else {
        t->batch = trace_batch(net, n);
        nn_mode mode = scope == NN_SCOPE_REST ? NN_TRACE_REST : NN_TRACE;
        TRY(nn_plan_create(net->weights, t->batch, mode, &t->plan));
    }
    TRY(list_layers(t)); /* after planning, which sets the weights' positions */
    t->rows = TRY_NEW(&t->arena, size_t, t->batch);
    if (!last_layer) {
        t->d_logits = nn_plan_d_logits(t->plan);
        return SCANT_OK;
    }
    t->d_logits = TRY_NEW(&t->arena, float, t->batch * shape->classes);
    t->d_last = TRY_NEW(&t->arena, float, t->batch * shape->classes);
    return SCANT_OK;
}

void nn_tracer_close(nn_tracer *t) {
    if (!t->last_layer) nn_plan_destroy(t->plan); /* large: not cached */
    scant__arena_end(&t->arena);
}

const float *nn_tracer_logits(nn_tracer *t) { return nn_plan_logits(t->plan); }

scant_status nn_tracer_forward(nn_tracer *t, const scant_data *data, const size_t *rows,
                               size_t first, size_t count) {
    scant_net *net = t->net;
    size_t classes = net->net->classes, width = nn_shape_size(nn_net_input(net->net));
    float *input = nn_plan_input(t->plan);
    for (size_t i = 0; i < count; i++) t->rows[i] = rows ? rows[first + i] : first + i;
    TRY(nn_input_rows(net, data, t->rows, count, input));
    memset(input + count * width, 0, (t->batch - count) * width * sizeof *input);
    TRY(nn_plan_forward(t->plan, 0, 0));
    const float *logits = nn_plan_logits(t->plan);
    for (size_t i = 0; i < count * classes; i++)
        if (!isfinite(logits[i]))
            return scant__fail(net->ctx, SCANT_EINPUT,
                               "%s: the network's outputs for sample %zu are not finite",
                               scant_data_name(data), t->rows[i / classes]);
    memset(t->d_logits + count * classes, 0,
           (t->batch - count) * classes * sizeof *t->d_logits);
    t->count = count;
    return SCANT_OK;
}

scant_status nn_tracer_backward(nn_tracer *t, bool weights) {
    if (!t->last_layer)
        return weights ? nn_plan_backward(t->plan) : nn_plan_backward_trace(t->plan);
    float scale = t->layers[0].node->scale;
    for (size_t i = 0; i < t->batch * t->net->net->classes; i++)
        t->d_last[i] = scale * t->d_logits[i];
    return SCANT_OK;
}

scant_status nn_tracer_layer(nn_tracer *t, size_t i, const float **x, const float **d) {
    if (!t->last_layer) return nn_plan_trace(t->plan, t->layers[i].at, x, d);
    if (x) *x = nn_plan_features(t->plan);
    *d = t->d_last;
    return SCANT_OK;
}
