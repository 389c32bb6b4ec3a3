/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling of planes of vectors, and activations, forward and backward.
 *
 * The maximum is taken before the activation of the preceding convolution: activations
 * are monotone, so the result is the same for a fraction of the work. Where they are
 * flat, several inputs have the largest output, and the gradient is zero.
 */
#include "nn/kernels/lane.h"

/* The rows or columns first..end-1 of an input that a window covers. skipped: number of
 * the window's rows or columns in the padding before the input. */
typedef struct window {
    size_t first, end, skipped;
} window;

static window clip(const nn_stage *s, int axis, size_t at, size_t size) {
    size_t begin = at * s->stride[axis], pad = s->pad[axis];
    window w = {.skipped = begin < pad ? pad - begin : 0};
    w.first = begin + w.skipped - pad;
    w.end = begin + s->kernel[axis] - pad; /* pad is at most half the kernel */
    if (w.end > size) w.end = size;
    return w;
}

static bool is_plain_2x2(const nn_stage *s) {
    return s->kernel[0] == 2 && s->kernel[1] == 2 && s->stride[0] == 2 &&
           s->stride[1] == 2 && s->pad[0] == 0 && s->pad[1] == 0;
}

/* Updates best and its tap number if x is larger or NaN. */
INLINE void better(V *best, VI *tap, V x, int32_t number) {
    VI mask = (VI)(x > *best) | (VI)(x != x);
    *best = choose(mask, x, *best);
    *tap = (mask & number) | (~mask & *tap);
}

INLINE void store_index(int32_t *p, VI v) { memcpy(p, &v, sizeof v); }
INLINE VI load_index(const int32_t *p) {
    VI v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void maxpool_2x2(const nn_stage *s, const float *x, size_t row, float *y,
                        int32_t *index, nn_act act, float slope, const bool keeps) {
    for (size_t ox = 0; ox < s->ow; ox++, x += 2 * LANES, y += LANES) {
        V best = load(x);
        VI tap = {0};
        better(&best, &tap, load(x + LANES), 1);
        better(&best, &tap, load(x + row), 2);
        better(&best, &tap, load(x + row + LANES), 3);
        store(y, act_v(best, act, spread(slope)));
        if (keeps) store_index(index + ox * LANES, tap);
    }
}

static void maxpool_row(const nn_stage *s, size_t oy, const float *plane,
                        const nn_view *x, float *y, int32_t *index, nn_act act,
                        float slope) {
    window down = clip(s, 0, oy, s->ih);
    for (size_t ox = 0; ox < s->ow; ox++) {
        window across = clip(s, 1, ox, s->iw);
        int32_t number = (int32_t)(down.skipped * s->kernel[1] + across.skipped);
        V best = load(plane + down.first * x->row + across.first * x->col);
        VI tap = (VI){0} + number;
        for (size_t r = down.first; r < down.end; r++) {
            int32_t n = number + (int32_t)((r - down.first) * s->kernel[1]);
            for (size_t c = across.first; c < across.end; c++, n++)
                better(&best, &tap, load(plane + r * x->row + c * x->col), n);
        }
        store(y + ox * LANES, act_v(best, act, spread(slope)));
        if (index) store_index(index + ox * LANES, tap);
    }
}

INLINE void maxpool_as(const nn_stage *s, const nn_view *x, const nn_view *y,
                       int32_t *index, nn_act act, float slope) {
    bool plain = is_plain_2x2(s);
    for (size_t c = 0; c < s->oc; c++)
        for (size_t oy = 0; oy < s->oh; oy++) {
            const float *plane = x->at + c * x->plane;
            const float *from = plane + 2 * oy * x->row;
            float *to = y->at + c * y->plane + oy * y->row;
            int32_t *which = index ? index + (c * s->oh + oy) * s->ow * LANES : NULL;
            if (!plain)
                maxpool_row(s, oy, plane, x, to, which, act, slope);
            else if (which)
                maxpool_2x2(s, from, x->row, to, which, act, slope, true);
            else
                maxpool_2x2(s, from, x->row, to, which, act, slope, false);
        }
}

void NN_KERNEL(maxpool)(const nn_stage *s, const nn_view *x, const nn_view *y,
                        int32_t *index, nn_act act, float slope) {
    if (act == NN_ACT_RELU) /* act becomes a compile-time constant */
        maxpool_as(s, x, y, index, NN_ACT_RELU, slope);
    else
        maxpool_as(s, x, y, index, act, slope);
}

/* Zeroes dx except its first `rows` x `cols` items, which are written anyway. */
static void clear(const nn_stage *s, const nn_view *dx, size_t rows, size_t cols) {
    for (size_t c = 0; c < s->ic; c++)
        for (size_t r = 0; r < s->ih; r++)
            for (size_t i = r < rows ? cols : 0; i < s->iw; i++)
                store(dx->at + c * dx->plane + r * dx->row + i * dx->col, spread(0));
}

INLINE void maxpool_back_2x2(const nn_stage *s, const float *dy, const float *y,
                             const int32_t *index, nn_act act, float slope, float *dx,
                             size_t row, size_t col) {
    for (size_t ox = 0; ox < s->ow; ox++, dx += 2 * col) {
        V g = act_back_v(load(dy + ox * LANES), load(y + ox * LANES), act, spread(slope));
        VI tap = load_index(index + ox * LANES);
        store(dx, (V)((VI)g & (tap == 0)));
        store(dx + col, (V)((VI)g & (tap == 1)));
        store(dx + row, (V)((VI)g & (tap == 2)));
        store(dx + row + col, (V)((VI)g & (tap == 3)));
    }
}

static void maxpool_back_row(const nn_stage *s, size_t oy, const float *dy,
                             const float *y, const int32_t *index, nn_act act,
                             float slope, float *plane, const nn_view *dx) {
    window down = clip(s, 0, oy, s->ih);
    for (size_t ox = 0; ox < s->ow; ox++) {
        window across = clip(s, 1, ox, s->iw);
        V g = act_back_v(load(dy + ox * LANES), load(y + ox * LANES), act, spread(slope));
        VI tap = load_index(index + ox * LANES);
        int32_t number = (int32_t)(down.skipped * s->kernel[1] + across.skipped);
        for (size_t r = down.first; r < down.end; r++) {
            int32_t n = number + (int32_t)((r - down.first) * s->kernel[1]);
            for (size_t c = across.first; c < across.end; c++, n++) {
                float *at = plane + r * dx->row + c * dx->col;
                store(at, load(at) + (V)((VI)g & (tap == n)));
            }
        }
    }
}

void NN_KERNEL(maxpool_back)(const nn_stage *s, const nn_view *dy, const nn_view *y,
                             const int32_t *index, nn_act act, float slope,
                             const nn_view *dx) {
    bool plain = is_plain_2x2(s);
    clear(s, dx, plain ? 2 * s->oh : 0, plain ? 2 * s->ow : 0);
    for (size_t c = 0; c < s->oc; c++)
        for (size_t oy = 0; oy < s->oh; oy++) {
            const float *from = dy->at + c * dy->plane + oy * dy->row;
            const float *is = y->at + c * y->plane + oy * y->row;
            const int32_t *which = index + (c * s->oh + oy) * s->ow * LANES;
            float *plane = dx->at + c * dx->plane;
            if (plain)
                maxpool_back_2x2(s, from, is, which, act, slope, plane + 2 * oy * dx->row,
                                 dx->row, dx->col);
            else
                maxpool_back_row(s, oy, from, is, which, act, slope, plane, dx);
        }
}

void NN_KERNEL(act_back)(const nn_view *dy, const nn_view *y, nn_act act, float slope,
                         size_t c, size_t h, size_t w, const nn_view *dx) {
    for (size_t p = 0; p < c; p++)
        for (size_t r = 0; r < h; r++) {
            const float *from = dy->at + p * dy->plane + r * dy->row;
            const float *is = y->at + p * y->plane + r * y->row;
            float *to = dx->at + p * dx->plane + r * dx->row;
            for (size_t i = 0; i < w; i++)
                store(to + i * dx->col,
                      act_back_v(load(from + i * LANES), load(is + i * LANES), act,
                                 spread(slope)));
        }
}
