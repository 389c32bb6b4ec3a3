/* SPDX-License-Identifier: Apache-2.0
 *
 * Per-sample gradients: squared norms, inner products, sketches, and their sum. One
 * forward and one backward pass per batch give every layer's input x and the gradient d
 * by its output; the results follow layer by layer (nn/persample.h), so no sample's full
 * gradient is ever in memory.
 *
 *   norms     dense: |d x^T|^2 = |d|^2 |x|^2. Convolution: |d P^T|^2, P the patches of x;
 *             if the output has few positions, sum_pq (d_p.d_q)(x_p.x_q), which needs no
 *             gradient. Bias: |sum of d|^2.
 *   products  <d, V x> with V the direction's part for the layer, or <gradient, V> if
 *             the gradient is computed anyway.
 *   lengths   norms of the loss gradient at every class, weighted by the probabilities.
 *   sum       the backward pass's result, summed over batches in double.
 *   sketches  a count-sketch (Charikar, Chen and Farach-Colton, 2002; as features of a
 *             kernel: Weinberger et al., 2009): entry j of the gradient is added, with
 *             sign s_j, to entry h_j of k. E<Sx, Sy> = <x, y>, and the variance is at
 *             most 2 |x|^2 |y|^2 / k. A dense Johnson-Lindenstrauss matrix has the same
 *             variance up to a constant, but costs k multiply-adds per entry instead of
 *             one, and k times 4 bytes per parameter instead of 4. j counts all trained
 *             parameters in plain order, so a sketch of the last layer is that layer's
 *             part of the full sketch.
 *
 * The front of a small network (plan_front.c) computes its own per-sample gradients,
 * eight at a time; the results are added to those of the other layers.
 *
 * Samples are independent and distributed over threads: apart from oneDNN's passes,
 * results do not depend on the thread count.
 */
#include <math.h>
#include <string.h>

#include "core/argmax.h"
#include "core/blas.h"
#include "core/rng.h"
#include "linalg/gemm_f32.h"
#include "linalg/kernels.h"
#include "nn/input.h"
#include "nn/loss.h"
#include "nn/persample.h"
#include "scant/train.h"

enum {
    DENSE_BLOCK = 16, /* maximum samples per task; a dense layer multiplies them by V in
                         one product */
    TASK_WORK = 1 << 20,     /* multiply-adds per task */
    TABLE_BLOCK = 1 << 16,   /* table entries per task */
    SKETCH_MOST = 0x7fffffff /* a bucket and a sign share 32 bits */
};

/* The results wanted from one backward pass. */
typedef struct wanted {
    double *norms, *products; /* entry 0: the batch's first sample */
    float *sketches;
    size_t stride; /* floats between two samples' sketches */
} wanted;

typedef struct work {
    nn_tracer t; /* its arena owns the following */
    const scant_gradient_opts *opts;
    const la_kernels *kernels;
    uint32_t *table; /* per parameter: 2 * bucket + (sign is -1) */
    double *total;   /* sum of gradients: packed like weights; plain for last_layer */
    bool front;      /* the plan has a front */
    float *packed;   /* front only: the direction, packed like weights */
    double *sums;    /* front only: norms and products of a batch */
    double *squares; /* lengths only: norms and probabilities of a batch */
    float *room;     /* scratch of all workers */
    size_t room_each;
    /* current layer: */
    const nn_layer *layer;
    const float *x, *d;
    wanted want;
    size_t per_task;
} work;

/* ---- one layer ---- */

static double dot(const work *w, const float *a, const float *b, size_t n) {
    double out;
    const void *x = a, *y = b;
    w->kernels->dot(&x, 1, &y, 1, n, &out);
    return out;
}

static double square(const work *w, const float *a, size_t n) {
    double out;
    w->kernels->sumsq(a, 1, n, &out);
    return out;
}

static const float *direction(const work *w, size_t at) {
    return w->opts->direction + (at - w->t.offset);
}

/* Adds `by` times the gradient entries of parameters at, at+1, ... to a sketch. */
static void fold(const work *w, size_t at, const float *numbers, size_t n, float by,
                 float *sketch) {
    const uint32_t *table = w->table + (at - w->t.offset);
    for (size_t i = 0; i < n; i++) {
        float value = by * numbers[i];
        sketch[table[i] >> 1] += table[i] & 1 ? -value : value;
    }
}

/* Whether position_norm() is cheaper than the gradient for a convolution's norm. */
static bool by_positions(const nn_layer *l) {
    size_t per = l->rows / l->node->groups;
    return l->node->kind == NN_CONV &&
           size_mul(l->places, per + l->width) < size_mul(per, l->width);
}

static bool needs_gradient(const nn_layer *l, const wanted *want) {
    return l->node->kind != NN_DENSE && (want->sketches || l->node->kind == NN_NORM ||
                                         (want->norms && !by_positions(l)));
}

/* |d P^T|^2 as a sum over pairs of positions. */
static double position_norm(const work *w, const float *x, const float *d, float *room) {
    const nn_layer *l = w->layer;
    size_t p = l->places, per = l->rows / l->node->groups, stride;
    float *xx = room, *dd = xx + p * p;
    double sum = 0;
    for (size_t g = 0; g < l->node->groups; g++) {
        const float *patches =
            nn_layer_patches(l, x, g, 0, l->node->shape.h, dd + p * p, &stride);
        la_stn(p, p, l->width, patches, stride, patches, stride, xx, p);
        la_stn(p, p, per, d + g * per * p, p, d + g * per * p, p, dd, p);
        sum += dot(w, xx, dd, p * p);
    }
    return sum;
}

/* <d, V P> */
static double conv_product(const work *w, const float *x, const float *d, float *room) {
    const nn_layer *l = w->layer;
    const float *v = direction(w, l->weight_at);
    size_t per = l->rows / l->node->groups, line = l->node->shape.w, stride;
    size_t most = l->strip * line;
    double sum = 0;
    for (size_t g = 0; g < l->node->groups; g++)
        for (size_t at = 0; at < l->node->shape.h; at += l->strip) {
            size_t some = size_min(l->strip, l->node->shape.h - at), n = some * line;
            const float *patches =
                nn_layer_patches(l, x, g, at, some, room + per * most, &stride);
            la_snn(per, n, l->width, v + g * per * l->width, l->width, patches, stride,
                   room, n);
            for (size_t k = 0; k < per; k++)
                sum += dot(w, room + k * n, d + (g * per + k) * l->places + at * line, n);
        }
    return sum;
}

/* One sample of a convolution or normalisation. */
static void planes_sample(const work *w, size_t i, float *room) {
    const nn_layer *l = w->layer;
    const wanted *want = &w->want;
    const float *x = w->x + i * l->x, *d = w->d + i * l->d;
    size_t size = l->rows * l->width;
    bool whole = needs_gradient(l, want);
    float *gradient = room, *bias = room + (whole ? size : 0), *rest = bias + l->rows;
    if (whole)
        nn_layer_gradient(l, x, d, &(nn_part){0, l->rows, 1, gradient, 0}, rest);
    else if (l->bias)
        nn_layer_bias(l, d, bias);
    if (want->sketches) {
        float *sketch = want->sketches + i * want->stride;
        fold(w, l->weight_at, gradient, size, 1, sketch);
        if (l->bias) fold(w, l->bias_at, bias, l->rows, 1, sketch);
    }
    if (want->norms) {
        want->norms[i] +=
            whole ? square(w, gradient, size) : position_norm(w, x, d, rest);
        if (l->bias) want->norms[i] += square(w, bias, l->rows);
    }
    if (want->products) {
        want->products[i] += whole ? dot(w, gradient, direction(w, l->weight_at), size)
                                   : conv_product(w, x, d, rest);
        if (l->bias) want->products[i] += dot(w, bias, direction(w, l->bias_at), l->rows);
    }
}

/* Some samples of a dense layer. */
static void dense_samples(const work *w, size_t first, size_t count, float *room) {
    const nn_layer *l = w->layer;
    const wanted *want = &w->want;
    if (want->products)
        la_snt(count, l->rows, l->width, w->x + first * l->x, l->x,
               direction(w, l->weight_at), l->width, room, l->rows);
    for (size_t i = first; i < first + count; i++) {
        const float *x = w->x + i * l->x, *d = w->d + i * l->d;
        if (want->norms)
            want->norms[i] +=
                square(w, d, l->rows) * (square(w, x, l->width) + (l->bias ? 1 : 0));
        if (want->products) {
            want->products[i] += dot(w, d, room + (i - first) * l->rows, l->rows);
            if (l->bias)
                want->products[i] += dot(w, d, direction(w, l->bias_at), l->rows);
        }
        if (!want->sketches) continue;
        float *sketch = want->sketches + i * want->stride;
        for (size_t k = 0; k < l->rows; k++)
            if (d[k] != 0)
                fold(w, l->weight_at + k * l->width, x, l->width, d[k], sketch);
        if (l->bias) fold(w, l->bias_at, d, l->rows, 1, sketch);
    }
}

static scant_status layer_task(void *arg, size_t task, unsigned worker,
                               scant__fault *fault) {
    (void)fault;
    const work *w = arg;
    size_t first = task * w->per_task;
    size_t count = size_min(w->per_task, w->t.count - first);
    float *room = w->room + worker * w->room_each;
    if (w->layer->node->kind == NN_DENSE)
        dense_samples(w, first, count, room);
    else
        for (size_t i = first; i < first + count; i++) planes_sample(w, i, room);
    return SCANT_OK;
}

/* Scratch floats per worker for a layer. */
static size_t layer_room(const nn_layer *l) {
    if (l->node->kind == NN_DENSE) return size_mul(DENSE_BLOCK, l->rows);
    size_t per = l->rows / l->node->groups, p = l->places;
    size_t product = size_mul(per, size_mul(l->strip, l->node->shape.w));
    size_t most =
        size_add(size_max(size_mul(l->rows, l->width), product), nn_layer_room(l));
    if (by_positions(l)) {
        size_t pairs = size_mul(2, size_mul(p, p));
        most = size_max(most, size_add(pairs, size_mul(l->width, p)));
    }
    return size_add(most, l->rows);
}

/* ---- the network's front ---- */

/* The parameter that holds entry `at` of a packed vector. */
static size_t param_at(const work *w, size_t at) {
    const nn_slice *slices = w->t.net->weights->slices;
    size_t i = 0;
    while (at < slices[i].at || at - slices[i].at >= slices[i].room) i++;
    return i;
}

static void fold_lanes(void *arg, const nn_lane_grads *g, unsigned worker) {
    (void)worker;
    const work *w = arg;
    size_t done = 0;
    while (done < g->count) {
        size_t param = param_at(w, g->at + done);
        const nn_param *p = &w->t.net->net->params[param];
        size_t within = g->at + done - w->t.net->weights->slices[param].at;
        size_t some = size_min(g->count - done, p->count - within);
        const uint32_t *table = w->table + p->offset + within;
        for (size_t lane = 0; lane < g->samples; lane++) {
            if (g->first + lane >= w->t.count) break;
            float *sketch = w->want.sketches + (g->first + lane) * w->want.stride;
            const float *from = g->g + done * NN_LANES + lane;
            for (size_t i = 0; i < some; i++) {
                float value = from[i * NN_LANES];
                sketch[table[i] >> 1] += table[i] & 1 ? -value : value;
            }
        }
        done += some;
    }
}

static scant_status run_front(work *w, const wanted *want) {
    double *norms = want->norms ? w->sums : NULL;
    double *products = want->products ? w->sums + w->t.batch : NULL;
    if (norms || products) {
        memset(w->sums, 0, 2 * w->t.batch * sizeof *w->sums);
        TRY(nn_plan_front_persample(w->t.plan, w->packed, norms, products));
        for (size_t i = 0; i < w->t.count; i++) {
            if (norms) want->norms[i] += norms[i];
            if (products) want->products[i] += products[i];
        }
    }
    return want->sketches ? nn_plan_front_visit(w->t.plan, fold_lanes, w) : SCANT_OK;
}

static scant_status front_room(work *w, const scant_gradients *out) {
    nn_weights *weights = w->t.net->weights;
    w->front = !w->t.last_layer && nn_plan_front_last(w->t.plan);
    if (!w->front) return SCANT_OK;
    w->sums = TRY_NEW(&w->t.arena, double, 2 * w->t.batch);
    if (!out->products) return SCANT_OK;
    w->packed = TRY_ZERO(&w->t.arena, float, weights->n_trained);
    return nn_weights_repack(weights, w->opts->direction, true, w->packed);
}

/* ---- all layers ---- */

static scant_status run_layers(work *w, const wanted *want) {
    w->want = *want;
    if (w->front) TRY(run_front(w, want));
    for (size_t i = 0; i < w->t.n_layers; i++) {
        const nn_layer *l = w->layer = &w->t.layers[i];
        TRY(nn_tracer_layer(&w->t, i, &w->x, &w->d));
        size_t cost = size_add(size_mul(l->rows * l->width, l->places), 1);
        w->per_task = size_max(1, size_min(TASK_WORK / cost, DENSE_BLOCK));
        if (l->node->kind == NN_DENSE) w->per_task = DENSE_BLOCK;
        size_t tasks = (w->t.count + w->per_task - 1) / w->per_task;
        TRY(scant__blas_for(w->t.net->ctx, NULL, tasks, layer_task, w));
    }
    return SCANT_OK;
}

/* ---- sketches ---- */

static scant_status table_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    (void)worker, (void)fault;
    const work *w = arg;
    scant__rng rng = {w->opts->seed, SCANT__RNG_SKETCH};
    size_t to = size_min((block + 1) * TABLE_BLOCK, w->t.parameters);
    for (size_t j = block * TABLE_BLOCK; j < to; j++) {
        uint64_t u = scant__rng_u64(&rng, w->t.offset + j);
        double unit = (double)(u >> 11) * 0x1p-53; /* the lowest bit is the sign */
        uint32_t bucket = (uint32_t)(unit * (double)w->opts->sketch);
        w->table[j] = bucket << 1 | (uint32_t)(u & 1);
    }
    return SCANT_OK;
}

static scant_status make_table(work *w) {
    w->table = TRY_NEW(&w->t.arena, uint32_t, w->t.parameters);
    size_t blocks = (w->t.parameters + TABLE_BLOCK - 1) / TABLE_BLOCK;
    return scant__parfor(w->t.net->ctx, NULL, blocks, table_block, w);
}

/* Sketches the gradient of every output: one backward pass per class. */
static scant_status sketch_outputs(work *w, float *sketches) {
    size_t classes = w->t.net->net->classes, k = w->opts->sketch;
    for (size_t c = 0; c < classes; c++) {
        memset(w->t.d_logits, 0, w->t.count * classes * sizeof *w->t.d_logits);
        for (size_t i = 0; i < w->t.count; i++) w->t.d_logits[i * classes + c] = 1;
        TRY(nn_tracer_backward(&w->t, false));
        TRY(run_layers(w,
                       &(wanted){.sketches = sketches + c * k, .stride = classes * k}));
    }
    return SCANT_OK;
}

/* ---- expected gradient lengths ---- */

/* d_logits = p - e_c for all samples; chance[i] is p_c. */
static void class_gradient(work *w, int32_t c, double *chance) {
    size_t classes = w->t.net->net->classes;
    for (size_t i = 0; i < w->t.count; i++) {
        float *d = w->t.d_logits + i * classes;
        nn_score s = nn_loss(&(nn_targets){.labels = &c}, 1, classes,
                             nn_tracer_logits(&w->t) + i * classes, d);
        chance[i] = exp(-s.loss);
    }
}

/* Adds p_c |gradient at class c| over all classes: one backward pass per class. */
static scant_status expect_lengths(work *w, double *lengths) {
    double *norms = w->squares, *chance = norms + w->t.batch;
    for (size_t c = 0; c < w->t.net->net->classes; c++) {
        memset(norms, 0, w->t.count * sizeof *norms);
        class_gradient(w, (int32_t)c, chance);
        TRY(nn_tracer_backward(&w->t, false));
        TRY(run_layers(w, &(wanted){.norms = norms}));
        for (size_t i = 0; i < w->t.count; i++) lengths[i] += chance[i] * sqrt(norms[i]);
    }
    return SCANT_OK;
}

/* ---- sum of the gradients ---- */

static size_t total_size(const work *w) {
    return w->t.last_layer ? w->t.parameters : w->t.net->weights->n_trained;
}

static void add_batch(work *w) {
    if (!w->t.last_layer) {
        const float *grads = w->t.net->weights->grads;
        for (size_t i = 0; i < total_size(w); i++) w->total[i] += (double)grads[i];
        return;
    }
    const nn_layer *l = w->t.layers;
    const float *x = nn_plan_features(w->t.plan), *d = w->t.d_last;
    for (size_t i = 0; i < w->t.count; i++, x += l->x, d += l->d)
        for (size_t k = 0; k < l->rows; k++) {
            double *row = w->total + k * l->width, by = (double)d[k];
            for (size_t j = 0; j < l->width; j++) row[j] += by * (double)x[j];
            if (l->bias) w->total[l->bias_at - w->t.offset + k] += by;
        }
}

static scant_status give_sum(work *w, float *sum) {
    nn_weights *weights = w->t.net->weights;
    float *to = w->t.last_layer ? sum : weights->grads; /* no longer needed */
    for (size_t i = 0; i < total_size(w); i++) {
        to[i] = (float)w->total[i];
        if (!isfinite(to[i]))
            return scant__fail(w->t.net->ctx, SCANT_EINPUT,
                               "the sum of the network's gradients is not finite");
    }
    return w->t.last_layer ? SCANT_OK : nn_weights_unpack(weights, to, true, sum);
}

/* ---- scant_net_gradients() ---- */

static scant_status check(scant_net *net, const scant_gradient_opts *o, size_t n,
                          const scant_gradients *out) {
    scant_ctx *ctx = net->ctx;
    size_t classes = net->net->classes;
    if (out->products && !o->direction)
        return scant__fail(ctx, SCANT_EUSAGE, "products need a direction");
    if (out->sketches && (o->sketch == 0 || o->sketch > SKETCH_MOST))
        return scant__fail(ctx, SCANT_EUSAGE, "sketch is %zu, expected 1 to %d",
                           o->sketch, SKETCH_MOST);
    for (size_t i = 0; o->labels && i < n; i++)
        if (o->labels[i] < 0 || (size_t)o->labels[i] >= classes)
            return scant__fail(
                ctx, SCANT_EINPUT,
                "labels: label %zu is %d, expected a class of the network, 0 to %zu", i,
                (int)o->labels[i], classes - 1);
    return SCANT_OK;
}

static scant_status take_room(work *w, const scant_gradients *out) {
    scant__arena *arena = &w->t.arena;
    size_t threads = w->t.net->ctx->threads;
    for (size_t i = 0; i < w->t.n_layers; i++)
        w->room_each = size_max(w->room_each, layer_room(&w->t.layers[i]));
    w->room_each = size_add(w->room_each, 15) / 16 * 16;
    if (out->norms || out->products || out->sketches || out->lengths)
        w->room = TRY_NEW(arena, float, size_mul(threads, w->room_each));
    if (out->sum) w->total = TRY_ZERO(arena, double, total_size(w));
    if (out->lengths) w->squares = TRY_NEW(arena, double, 2 * w->t.batch);
    TRY(front_room(w, out));
    return out->sketches ? make_table(w) : SCANT_OK;
}

/* d_logits of the loss: p - e_y. */
static void loss_gradient(work *w, const int32_t *labels) {
    size_t classes = w->t.net->net->classes;
    for (size_t i = 0; i < w->t.count; i++) {
        const float *z = nn_tracer_logits(&w->t) + i * classes;
        int32_t label = labels ? labels[i] : (int32_t)scant__argmax(z, classes);
        nn_loss(&(nn_targets){.labels = &label}, 1, classes, z,
                w->t.d_logits + i * classes);
    }
}

static scant_status run_batch(work *w, size_t first, const scant_gradients *out) {
    const scant_gradient_opts *o = w->opts;
    size_t each = o->sketch * (o->outputs ? w->t.net->net->classes : 1);
    float *sketches = out->sketches ? out->sketches + first * each : NULL;
    wanted want = {.norms = out->norms ? out->norms + first : NULL,
                   .products = out->products ? out->products + first : NULL,
                   .sketches = o->outputs ? NULL : sketches,
                   .stride = o->sketch};
    if (want.norms || want.products || want.sketches || out->sum) {
        loss_gradient(w, o->labels ? o->labels + first : NULL);
        TRY(nn_tracer_backward(&w->t, out->sum != NULL));
        if (out->sum) add_batch(w);
    }
    if (want.norms || want.products || want.sketches) TRY(run_layers(w, &want));
    if (out->lengths) TRY(expect_lengths(w, out->lengths + first));
    return sketches && o->outputs ? sketch_outputs(w, sketches) : SCANT_OK;
}

/* Outputs may be finite and their gradients too large. */
static scant_status check_finite(const work *w, const scant_data *data, size_t first,
                                 const scant_gradients *out) {
    size_t width = w->opts->sketch * (w->opts->outputs ? w->t.net->net->classes : 1);
    for (size_t i = 0; i < w->t.count; i++) {
        bool finite = (!out->norms || isfinite(out->norms[first + i])) &&
                      (!out->products || isfinite(out->products[first + i])) &&
                      (!out->lengths || isfinite(out->lengths[first + i]));
        for (size_t k = 0; out->sketches && k < width; k++)
            finite = finite && isfinite(out->sketches[(first + i) * width + k]);
        if (!finite)
            return scant__fail(
                w->t.net->ctx, SCANT_EINPUT,
                "%s: the network's gradients for sample %zu are not finite",
                scant_data_name(data), w->t.rows[i]);
    }
    return SCANT_OK;
}

static scant_status run(work *w, const scant_data *data, const size_t *rows, size_t n,
                        const scant_gradients *out) {
    TRY(take_room(w, out));
    for (size_t first = 0; first < n; first += w->t.batch) {
        size_t count = size_min(w->t.batch, n - first);
        TRY(scant__tick(w->t.net->ctx, "gradients", first, n));
        TRY(nn_tracer_forward(&w->t, data, rows, first, count));
        TRY(run_batch(w, first, out));
        TRY(check_finite(w, data, first, out));
    }
    TRY(scant__tick(w->t.net->ctx, "gradients", n, n));
    return out->sum ? give_sum(w, out->sum) : SCANT_OK;
}

scant_status scant_net_gradients(scant_net *net, const scant_data *data,
                                 const size_t *rows, size_t n,
                                 const scant_gradient_opts *opts,
                                 const scant_gradients *out) {
    NEED(net && data);
    scant_gradient_opts o = opts ? *opts : (scant_gradient_opts){0};
    TRY(nn_input_check(net, data));
    TRY(nn_input_rows_check(net->ctx, data, rows, &n));
    TRY(check(net, &o, n, out));
    size_t each = size_mul(o.sketch, o.outputs ? net->net->classes : 1);
    if (out->norms) memset(out->norms, 0, n * sizeof *out->norms);
    if (out->products) memset(out->products, 0, n * sizeof *out->products);
    if (out->lengths) memset(out->lengths, 0, n * sizeof *out->lengths);
    if (out->sketches) memset(out->sketches, 0, n * each * sizeof *out->sketches);
    work w = {.opts = &o, .kernels = la_kernels_for(LA_F32)};
    scant_status s =
        nn_tracer_open(&w.t, net, n, o.last_layer ? NN_SCOPE_LAST : NN_SCOPE_REST);
    if (s == SCANT_OK) s = run(&w, data, rows, n, out);
    nn_tracer_close(&w.t);
    return s;
}
