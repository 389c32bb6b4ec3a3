/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns memory to each plane, and runs the stages forward and backward, block by block.
 *
 * The output of a convolution followed by max pooling stays in the worker's scratch:
 * backward needs only the activated maxima and their positions.
 */
#include "nn/stack_int.h"

#include <assert.h>
#include <string.h>

#include "core/parfor.h"

/* ---- memory: sizes saturate (core/size.h), so a too large allocation fails ---- */

typedef struct room { /* before, after: padding, vertical and horizontal */
    size_t c, h, w, before[2], after[2];
} room;

/* Allocates planes in the area `kept` or `scratch`. Items are stride[0] rows and
 * stride[1] columns apart. */
static stack_place place(nn_stack *t, bool kept, const room *r, const size_t stride[2]) {
    size_t *size = kept ? &t->kept_size : &t->scratch_size;
    size_t rows = size_add(size_add(r->before[0], size_mul(r->h - 1, stride[0])),
                           size_add(r->after[0], 1));
    size_t cols = size_add(size_add(r->before[1], size_mul(r->w - 1, stride[1])),
                           size_add(r->after[1], 1));
    size_t row = size_mul(cols, NN_LANES), plane = size_mul(rows, row);
    stack_place p = {.kept = kept, .col = stride[1] * NN_LANES, .plane = plane};
    p.row = size_mul(row, stride[0]);
    p.at =
        size_add(*size, size_add(size_mul(row, r->before[0]), NN_LANES * r->before[1]));
    /* rounded up to a cache line: two items */
    *size = size_add(*size, size_mul(size_add(size_mul(plane, r->c), NN_LANES) / 16, 16));
    return p;
}

static const size_t dense[2] = {1, 1};

static stack_place place_plain(nn_stack *t, bool kept, size_t c, size_t h, size_t w) {
    return place(t, kept, &(room){.c = c, .h = h, .w = w}, dense);
}

/* Allocates the gradient by a stage's output. backward_input() reads its rows from
 * kernel - 1 - pad items before the first one up to item iw - 1 + pad. */
static stack_place place_grad(nn_stack *t, const nn_stage *s) {
    room r = {.c = s->oc, .h = s->oh, .w = s->ow};
    size_t last = (s->ow - 1) * s->stride[1], reach = s->iw - 1 + s->pad[1];
    if (s->kernel[1] > s->pad[1]) r.before[1] = s->kernel[1] - 1 - s->pad[1];
    if (reach > last) r.after[1] = reach - last;
    return place(t, false, &r, s->stride);
}

static void plan_stage(nn_stack *t, size_t i, size_t *widest) {
    stack_stage *st = &t->stages[i];
    const nn_stage *s = &st->s;
    room in = {.c = s->ic, .h = s->ih, .w = s->iw};
    bool raw = i && t->stages[i - 1].pooled; /* backward does not need the pool's input */
    st->pooled = s->conv && i + 1 < t->n_stages && !(st + 1)->s.conv;
    for (int axis = 0; s->conv && axis < 2; axis++)
        in.before[axis] = in.after[axis] = s->pad[axis];
    st->in = place(t, t->training && !raw, &in, dense);
    if (!s->conv && t->training) st->index = place_plain(t, true, s->oc, s->oh, s->ow);
    if (!s->conv) return;
    st->taps = size_mul(s->ic, size_mul(s->kernel[0], s->kernel[1]));
    st->first = t->part_size;
    size_t params = size_mul(s->oc, size_add(st->taps, 1));
    t->part_size = size_add(t->part_size, params);
    *widest = size_max(*widest, params);
    if (t->training) st->grad = place_grad(t, s);
}

static scant_status plan_weights(nn_stack *t, stack_stage *st) {
    const nn_stage *s = &st->s;
    size_t window = s->kernel[0] * s->kernel[1], weights = size_mul(s->oc, st->taps);
    st->packed = TRY_NEW(&t->arena, float, weights);
    if (!t->training) return SCANT_OK;
    st->turned = TRY_NEW(&t->arena, float, weights);
    st->offset = TRY_NEW(&t->arena, size_t, st->taps);
    for (size_t tap = 0; tap < st->taps; tap++) {
        size_t i = tap / window, ky = tap % window / s->kernel[1];
        st->offset[tap] =
            i * st->in.plane + ky * st->in.row + tap % s->kernel[1] * st->in.col;
    }
    return SCANT_OK;
}

static scant_status plan_memory(nn_stack *t) {
    size_t blocks = (t->batch - 1) / NN_LANES + 1;
    if (t->training) {
        size_t parts = size_min(blocks, NN_STACK_PARTS);
        t->kept = TRY_ZERO(&t->arena, float, size_mul(blocks, t->kept_size));
        t->parts = TRY_ZERO(&t->arena, float, size_mul(parts, t->part_size));
    }
    t->scratch = TRY_ZERO(&t->arena, float, size_mul(t->ctx->threads, t->scratch_size));
    return SCANT_OK;
}

static scant_status plan(nn_stack *t, const nn_stage *stages) {
    size_t widest = 0, largest = 0;
    t->stages = TRY_ZERO(&t->arena, stack_stage, t->n_stages);
    for (size_t i = 0; i < t->n_stages; i++) t->stages[i].s = stages[i];
    for (size_t i = 0; i < t->n_stages; i++) {
        const nn_stage *s = &stages[i];
        plan_stage(t, i, &widest);
        largest = size_max(largest, size_mul(s->ic, size_mul(s->ih, s->iw)));
    }
    const nn_stage *last = &stages[t->n_stages - 1];
    largest = size_max(largest, size_mul(last->oc, size_mul(last->oh, last->ow)));
    t->out = place_plain(t, t->training, last->oc, last->oh, last->ow);
    for (int i = 0; t->training && i < 2; i++)
        t->d[i] = place_plain(t, false, 1, 1, largest);
    if (t->training && widest) t->lane = place_plain(t, false, 1, 1, widest);
    if (size_max(t->kept_size, t->scratch_size) == SIZE_MAX)
        return scant__fail(t->ctx, SCANT_ENOMEM,
                           "the stack's planes are too large to address");
    for (size_t i = 0; i < t->n_stages; i++)
        if (t->stages[i].s.conv) TRY(plan_weights(t, &t->stages[i]));
    return plan_memory(t);
}

scant_status nn_stack_create(scant_ctx *ctx, const nn_stage *stages, size_t n_stages,
                             size_t batch, bool training, nn_stack **out) {
    *out = NULL;
    assert(n_stages && batch);
    nn_stack *t = scant__zalloc(ctx, 1, sizeof *t);
    if (!t) return SCANT_ENOMEM;
    *t = (nn_stack){.ctx = ctx,
                    .arena = {.ctx = ctx},
                    .kernels = nn_kernels_best(),
                    .n_stages = n_stages,
                    .batch = batch,
                    .training = training};
    scant_status status = plan(t, stages);
    if (status != SCANT_OK)
        nn_stack_destroy(t);
    else
        *out = t;
    return status;
}

void nn_stack_destroy(nn_stack *t) {
    if (!t) return;
    scant__arena_end(&t->arena);
    scant__free(t->ctx, t);
}

/* The work of one block. */
typedef struct block_work {
    const nn_stack *t;
    const float *params;
    size_t block, first, samples;
    unsigned worker;
} block_work;

static block_work block_work_of(const nn_stack *t, const float *params, size_t n,
                                size_t block, unsigned worker) {
    size_t first = block * NN_LANES;
    return (block_work){t, params, block, first, size_min(n - first, NN_LANES), worker};
}

static float *floats(const block_work *k, const stack_place *p) {
    const nn_stack *t = k->t;
    float *area = p->kept ? t->kept + k->block * t->kept_size
                          : t->scratch + k->worker * t->scratch_size;
    return area + p->at;
}

static nn_view view(const block_work *k, const stack_place *p) {
    return (nn_view){floats(k, p), p->plane, p->row, p->col};
}

/* Planes of h rows and w columns without padding. */
static nn_view plain(float *at, size_t h, size_t w) {
    return (nn_view){at, h * w * NN_LANES, w * NN_LANES, NN_LANES};
}

static int32_t *index_of(const block_work *k, const stack_stage *st) {
    return k->t->training ? (int32_t *)(void *)floats(k, &st->index) : NULL;
}

/* ---- forward pass ----------------------------------------------------------------- */

typedef struct forward_job {
    nn_stack *t;
    const float *params, *rows;
    float *out;
    size_t n;
} forward_job;

static void forward_stage(const block_work *k, size_t i) {
    const stack_stage *st = &k->t->stages[i], *before = i ? st - 1 : NULL;
    const nn_stage *s = &st->s;
    const nn_kernels *kernels = k->t->kernels;
    nn_view x = view(k, &st->in);
    nn_view y = view(k, i + 1 < k->t->n_stages ? &st[1].in : &k->t->out);
    if (st->s.conv) {
        nn_conv c = {.ic = s->ic,
                     .ih = s->ih,
                     .iw = s->iw,
                     .oc = s->oc,
                     .oh = s->oh,
                     .ow = s->ow,
                     .kernel = {s->kernel[0], s->kernel[1]},
                     .stride = {s->stride[0], s->stride[1]},
                     .lead = {(ptrdiff_t)s->pad[0], (ptrdiff_t)s->pad[1]},
                     .x = x,
                     .y = y,
                     .w = st->packed,
                     .bias = s->bias ? k->params + s->bias_at : NULL,
                     .act = st->pooled ? NN_ACT_NONE : s->act,
                     .slope = s->slope};
        kernels->conv(&c);
    } else {
        bool pooled = before && before->pooled;
        kernels->maxpool(s, &x, &y, index_of(k, st), pooled ? before->s.act : NN_ACT_NONE,
                         pooled ? before->s.slope : 0);
    }
}

static scant_status forward_block(void *arg, size_t block, unsigned worker,
                                  scant__fault *fault) {
    const forward_job *j = arg;
    const nn_stack *t = j->t;
    const nn_stage *first = &t->stages[0].s, *last = &t->stages[t->n_stages - 1].s;
    block_work k = block_work_of(t, j->params, j->n, block, worker);
    nn_view x = view(&k, &t->stages[0].in), y = view(&k, &t->out);
    (void)fault;
    t->kernels->pack(j->rows + k.first * (first->ic * first->ih * first->iw), k.samples,
                     first->ic, first->ih, first->iw, &x);
    for (size_t i = 0; i < t->n_stages; i++) forward_stage(&k, i);
    t->kernels->unpack(&y, k.samples, last->oc, last->oh, last->ow,
                       j->out + k.first * (last->oc * last->oh * last->ow));
    return SCANT_OK;
}

scant_status nn_stack_forward(nn_stack *t, const float *params, size_t n,
                              const float *rows, float *out) {
    forward_job j = {t, params, rows, out, n};
    assert(n <= t->batch);
    t->ready = 0;
    for (size_t i = 0; i < t->n_stages; i++) {
        const stack_stage *st = &t->stages[i];
        size_t window = st->s.kernel[0] * st->s.kernel[1];
        if (st->s.conv)
            nn_conv_pack(st->s.oc, st->s.ic, window, params + st->s.weight, st->taps,
                         window, 1, st->packed);
    }
    TRY(scant__parfor(t->ctx, NULL, (n + NN_LANES - 1) / NN_LANES, forward_block, &j));
    t->ready = n;
    return SCANT_OK;
}

/* ---- backward pass ---------------------------------------------------------------- */

typedef struct backward_job {
    nn_stack *t;
    const float *params, *d_out;
    float *d_rows;
    size_t n, blocks, group; /* group: blocks per partial sum */
    nn_visit_fn fn;          /* NULL: gradients are summed */
    void *arg;
} backward_job;

/* Adds a block's parameter gradients to the partial sums, or passes them to fn. */
static void give(const backward_job *j, const block_work *k, size_t first, size_t at,
                 size_t count, const float *g) {
    const nn_stack *t = j->t;
    if (j->fn) {
        nn_lane_grads shown = {k->first, k->samples, at, count, g};
        j->fn(j->arg, &shown, k->worker);
    } else {
        t->kernels->lane_sums(g, count,
                              t->parts + k->block / j->group * t->part_size + first);
    }
}

static void backward_params(const backward_job *j, const block_work *k,
                            const stack_stage *st) {
    const nn_stage *s = &st->s;
    float *lane = floats(k, &k->t->lane);
    nn_view x = view(k, &st->in), g = view(k, &st->grad);
    size_t weights = s->oc * st->taps;
    nn_wgrad w = {.oc = s->oc,
                  .taps = st->taps,
                  .oh = s->oh,
                  .ow = s->ow,
                  .offset = st->offset,
                  .g = g,
                  .x = x,
                  .out = lane};
    w.x.at -= s->pad[0] * x.row + s->pad[1] * x.col; /* position of the first tap */
    w.x.row = x.row * s->stride[0];
    w.x.col = x.col * s->stride[1];
    k->t->kernels->wgrad(&w);
    give(j, k, st->first, s->weight, weights, lane);
    if (!s->bias) return;
    k->t->kernels->plane_sums(&g, s->oc, s->oh, s->ow, lane);
    give(j, k, st->first + weights, s->bias_at, s->oc, lane);
}

/* Gradient by a convolution's input: convolves the gradient by its output, with zeros
 * between strides, with the flipped kernel. */
static void backward_input(const block_work *k, const stack_stage *st,
                           const nn_view *dx) {
    const nn_stage *s = &st->s;
    nn_view g = view(k, &st->grad);
    nn_conv c = {.ic = s->oc,
                 .ih = (s->oh - 1) * s->stride[0] + 1,
                 .iw = (s->ow - 1) * s->stride[1] + 1,
                 .oc = s->ic,
                 .oh = s->ih,
                 .ow = s->iw,
                 .kernel = {s->kernel[0], s->kernel[1]},
                 .stride = {1, 1},
                 .x = {g.at, g.plane, g.row / s->stride[0], NN_LANES},
                 .y = *dx,
                 .w = st->turned,
                 .act = NN_ACT_NONE};
    for (int axis = 0; axis < 2; axis++)
        c.lead[axis] = (ptrdiff_t)s->kernel[axis] - 1 - (ptrdiff_t)s->pad[axis];
    k->t->kernels->conv(&c);
}

/* Computes dx from dy for stage i, or for a max pool i and the convolution before it.
 * Returns the next stage to process. */
static size_t backward_stage(const backward_job *j, const block_work *k, size_t i,
                             const nn_view *dy, float *dx_at) {
    const nn_stack *t = k->t;
    const stack_stage *st = &t->stages[i];
    const nn_stage *s = &st->s;
    nn_view y = view(k, i + 1 < t->n_stages ? &st[1].in : &t->out);
    nn_view dx = plain(dx_at, s->ih, s->iw);
    if (!s->conv) {
        if (!i || !st[-1].pooled) {
            t->kernels->maxpool_back(s, dy, &y, index_of(k, st), NN_ACT_NONE, 0, &dx);
            return i;
        }
        const stack_stage *conv = st - 1;
        nn_view g = view(k, &conv->grad);
        t->kernels->maxpool_back(s, dy, &y, index_of(k, st), conv->s.act, conv->s.slope,
                                 &g);
        st = conv;
        i--;
    } else {
        nn_view g = view(k, &st->grad);
        t->kernels->act_back(dy, &y, s->act, s->slope, s->oc, s->oh, s->ow, &g);
    }
    dx = plain(dx_at, st->s.ih, st->s.iw);
    backward_params(j, k, st);
    if (i || j->d_rows) backward_input(k, st, &dx);
    return i;
}

static void backward_block(const backward_job *j, const block_work *k) {
    const nn_stack *t = k->t;
    const nn_stage *first = &t->stages[0].s, *last = &t->stages[t->n_stages - 1].s;
    float *d = floats(k, &t->d[0]), *other = floats(k, &t->d[1]);
    nn_view dy = plain(d, last->oh, last->ow);
    t->kernels->pack(j->d_out + k->first * (last->oc * last->oh * last->ow), k->samples,
                     last->oc, last->oh, last->ow, &dy);
    for (size_t i = t->n_stages; i > 0;) {
        i = backward_stage(j, k, i - 1, &dy, other);
        float *swap = d;
        d = other;
        other = swap;
        dy = plain(d, t->stages[i].s.ih, t->stages[i].s.iw);
    }
    if (j->d_rows)
        t->kernels->unpack(&dy, k->samples, first->ic, first->ih, first->iw,
                           j->d_rows + k->first * (first->ic * first->ih * first->iw));
}

static scant_status backward_group(void *arg, size_t group, unsigned worker,
                                   scant__fault *fault) {
    const backward_job *j = arg;
    nn_stack *t = j->t;
    size_t first = group * j->group, end = size_min(first + j->group, j->blocks);
    (void)fault;
    if (!j->fn) memset(t->parts + group * t->part_size, 0, t->part_size * sizeof(float));
    for (size_t block = first; block < end; block++) {
        block_work k = block_work_of(t, j->params, j->n, block, worker);
        backward_block(j, &k);
    }
    return SCANT_OK;
}

static scant_status backward_run(backward_job *j, size_t *groups) {
    nn_stack *t = j->t;
    assert(t->training && j->n == t->ready);
    for (size_t i = j->d_rows ? 0 : 1; i < t->n_stages; i++) {
        const stack_stage *st = &t->stages[i];
        size_t window = st->s.kernel[0] * st->s.kernel[1];
        if (st->s.conv) /* input channels are the outputs, taps in reverse */
            nn_conv_pack(st->s.ic, st->s.oc, window,
                         j->params + st->s.weight + window - 1, window, st->taps, -1,
                         st->turned);
    }
    j->blocks = (j->n + NN_LANES - 1) / NN_LANES;
    j->group = j->fn ? 1 : size_max(1, (j->blocks + NN_STACK_PARTS - 1) / NN_STACK_PARTS);
    *groups = (j->blocks + j->group - 1) / j->group;
    return scant__parfor(t->ctx, NULL, *groups, backward_group, j);
}

scant_status nn_stack_backward(nn_stack *t, const float *params, size_t n,
                               const float *d_out, float *grads, float *d_rows) {
    backward_job j = {.t = t, .params = params, .d_out = d_out, .d_rows = d_rows, .n = n};
    size_t groups;
    TRY(backward_run(&j, &groups));
    for (size_t i = 0; i < t->n_stages; i++) {
        const stack_stage *st = &t->stages[i];
        if (!st->s.conv) continue;
        size_t weights = st->s.oc * st->taps;
        t->kernels->add_parts(t->parts + st->first, groups, t->part_size, weights,
                              grads + st->s.weight);
        if (st->s.bias)
            t->kernels->add_parts(t->parts + st->first + weights, groups, t->part_size,
                                  st->s.oc, grads + st->s.bias_at);
    }
    return SCANT_OK;
}

scant_status nn_stack_visit(nn_stack *t, const float *params, size_t n,
                            const float *d_out, nn_visit_fn fn, void *arg) {
    backward_job j = {
        .t = t, .params = params, .d_out = d_out, .n = n, .fn = fn, .arg = arg};
    size_t groups;
    return backward_run(&j, &groups);
}

typedef struct persample {
    const nn_kernels *kernels;
    const float *v;
    double *norms, *products;
} persample;

static void persample_visit(void *arg, const nn_lane_grads *grads, unsigned worker) {
    const persample *p = arg;
    double norms[NN_LANES] = {0}, products[NN_LANES] = {0};
    (void)worker;
    if (p->norms) p->kernels->lane_squares(grads->g, grads->count, norms);
    if (p->products)
        p->kernels->lane_products(grads->g, p->v + grads->at, grads->count, products);
    for (size_t i = 0; i < grads->samples; i++) {
        if (p->norms) p->norms[grads->first + i] += norms[i];
        if (p->products) p->products[grads->first + i] += products[i];
    }
}

scant_status nn_stack_persample(nn_stack *t, const float *params, size_t n,
                                const float *d_out, const float *v, double *norms,
                                double *products) {
    persample p = {t->kernels, v, norms, products};
    return nn_stack_visit(t, params, n, d_out, persample_visit, &p);
}
