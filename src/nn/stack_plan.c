/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that stages fit together and assigns memory to each plane.
 *
 * Sizes saturate (core/size.h): too large a size is refused by the allocation.
 */
#include "nn/stack_int.h"

#include <math.h>
#include <stdint.h>

/* ---- checks ----------------------------------------------------------------------- */

static scant_status check_axis(scant_ctx *ctx, const nn_stage *s, size_t i, int axis) {
    size_t in = axis ? s->iw : s->ih, out = axis ? s->ow : s->oh;
    size_t kernel = s->kernel[axis], stride = s->stride[axis], pad = s->pad[axis];
    const char *name = axis ? "width" : "height";
    if (!in || !kernel || !stride || in > INT32_MAX || kernel > INT16_MAX ||
        stride > INT16_MAX || pad > INT16_MAX)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "stage %zu: %s %zu, kernel %zu, stride %zu and padding %zu: "
                           "zero or too large",
                           i, name, in, kernel, stride, pad);
    if (s->kind != NN_STAGE_CONV && pad > kernel / 2)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "stage %zu: padding %zu of a pool is more than half its "
                           "kernel of %zu",
                           i, pad, kernel);
    if (in + 2 * pad < kernel)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "stage %zu: a kernel of %zu is larger than the padded %s %zu",
                           i, kernel, name, in + 2 * pad);
    if (out != (in + 2 * pad - kernel) / stride + 1)
        return scant__fail(ctx, SCANT_EUSAGE, "stage %zu: %s %zu gives %zu, not %zu", i,
                           name, in, (in + 2 * pad - kernel) / stride + 1, out);
    return SCANT_OK;
}

static scant_status check_act(scant_ctx *ctx, const nn_stage *s, size_t i) {
    if (s->kind != NN_STAGE_CONV) {
        if (s->ic != s->oc)
            return scant__fail(ctx, SCANT_EUSAGE,
                               "stage %zu: a pool of %zu planes cannot give %zu", i,
                               s->ic, s->oc);
        if (s->act != NN_ACT_NONE)
            return scant__fail(ctx, SCANT_EUSAGE,
                               "stage %zu: a pool cannot have an activation", i);
        return SCANT_OK;
    }
    if (s->act > NN_ACT_SIGMOID)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "stage %zu: a stack does not support this activation", i);
    if (s->act == NN_ACT_LEAKY && !(s->slope >= 0 && isfinite(s->slope)))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "stage %zu: slope is %g, expected 0 or more", i,
                           (double)s->slope);
    return SCANT_OK;
}

static scant_status check_stage(scant_ctx *ctx, const nn_stage *stages, size_t i) {
    const nn_stage *s = &stages[i], *before = i ? s - 1 : NULL;
    if (s->kind > NN_STAGE_AVGPOOL || !s->ic || !s->oc)
        return scant__fail(ctx, SCANT_EUSAGE,
                           "stage %zu: its kind is invalid or it has no planes", i);
    TRY(check_axis(ctx, s, i, 0));
    TRY(check_axis(ctx, s, i, 1));
    if (before && (before->oc != s->ic || before->oh != s->ih || before->ow != s->iw))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "stage %zu reads %zu x %zu x %zu, but the one before gives "
                           "%zu x %zu x %zu",
                           i, s->ic, s->ih, s->iw, before->oc, before->oh, before->ow);
    return check_act(ctx, s, i);
}

/* ---- places ----------------------------------------------------------------------- */

typedef struct room { /* vertical, horizontal */
    size_t c, h, w, before[2], after[2];
} room;

/* The next free place in one of the two areas; items are `apart` from each other. */
static stack_place place(nn_stack *t, bool kept, const room *r, const size_t apart[2]) {
    size_t *size = kept ? &t->kept_size : &t->scratch_size;
    size_t rows = size_add(size_add(r->before[0], size_mul(r->h - 1, apart[0])),
                           size_add(r->after[0], 1));
    size_t cols = size_add(size_add(r->before[1], size_mul(r->w - 1, apart[1])),
                           size_add(r->after[1], 1));
    size_t row = size_mul(cols, NN_LANES), plane = size_mul(rows, row);
    stack_place p = {.kept = kept, .col = apart[1] * NN_LANES, .plane = plane};
    p.row = size_mul(row, apart[0]);
    p.at =
        size_add(*size, size_add(size_mul(row, r->before[0]), NN_LANES * r->before[1]));
    /* to a cache line: two items */
    *size = size_add(*size, size_mul(size_add(size_mul(plane, r->c), NN_LANES) / 16, 16));
    return p;
}

static const size_t dense[2] = {1, 1};

static stack_place place_plain(nn_stack *t, bool kept, size_t c, size_t h, size_t w) {
    return place(t, kept, &(room){.c = c, .h = h, .w = w}, dense);
}

/* Backward by the input reads a row from kernel - 1 - pad before its first item up to
 * item iw - 1 + pad. */
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
    bool raw = i && t->stages[i - 1].pooled; /* backward does not need it */
    st->conv = s->kind == NN_STAGE_CONV;
    st->pooled = st->conv && i + 1 < t->n_stages && (st + 1)->s.kind == NN_STAGE_MAXPOOL;
    for (int axis = 0; st->conv && axis < 2; axis++)
        in.before[axis] = in.after[axis] = s->pad[axis];
    st->in = place(t, t->training && !raw, &in, dense);
    if (s->kind == NN_STAGE_MAXPOOL && t->training)
        st->index = place_plain(t, true, s->oc, s->oh, s->ow);
    if (!st->conv) return;
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
    st->packed = scant__arena_alloc(&t->arena, weights, sizeof(float));
    if (!st->packed) return SCANT_ENOMEM;
    if (!t->training) return SCANT_OK;
    st->turned = scant__arena_alloc(&t->arena, weights, sizeof(float));
    st->offset = scant__arena_alloc(&t->arena, st->taps, sizeof(size_t));
    if (!st->turned || !st->offset) return SCANT_ENOMEM;
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
        t->kept =
            scant__arena_zalloc(&t->arena, blocks, size_mul(t->kept_size, sizeof(float)));
        t->parts =
            scant__arena_zalloc(&t->arena, parts, size_mul(t->part_size, sizeof(float)));
        if (!t->kept || !t->parts) return SCANT_ENOMEM;
    }
    t->scratch = scant__arena_zalloc(&t->arena, t->ctx->threads,
                                     size_mul(t->scratch_size, sizeof(float)));
    return t->scratch ? SCANT_OK : SCANT_ENOMEM;
}

scant_status nn_stack_plan(nn_stack *t, const nn_stage *stages) {
    size_t widest = 0, largest = 0;
    for (size_t i = 0; i < t->n_stages; i++) TRY(check_stage(t->ctx, stages, i));
    t->stages = scant__arena_zalloc(&t->arena, t->n_stages, sizeof *t->stages);
    if (!t->stages) return SCANT_ENOMEM;
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
        if (t->stages[i].conv) TRY(plan_weights(t, &t->stages[i]));
    return plan_memory(t);
}
