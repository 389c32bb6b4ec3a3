/* SPDX-License-Identifier: Apache-2.0
 *
 * Weight gradients of convolutions compared with plain loops. Most tests use small whole
 * numbers: floats hold their sums exactly, whatever the order of the additions.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "core/ctx.h"
#include "nn/conv_strips.h"
#include "nn/kernels.h"

typedef struct shape {
    const char *name;
    size_t n, ic, oc, h, w, kernel[2], stride[2], pad[2];
} shape;

static const shape shapes[] = {
    {"3x3, odd planes", 5, 8, 16, 9, 11, {3, 3}, {1, 1}, {1, 1}},
    {"stride 2, half a group of channels left over",
     3,
     16,
     48,
     9,
     11,
     {3, 3},
     {2, 2},
     {1, 1}},
    {"5x5, batch not divisible by slices", 37, 8, 32, 7, 6, {5, 5}, {1, 1}, {2, 2}},
    {"no padding", 4, 24, 16, 9, 11, {3, 3}, {1, 1}, {0, 0}},
    {"stride 2 without padding, columns left over",
     2,
     8,
     32,
     8,
     10,
     {3, 3},
     {2, 2},
     {0, 0}},
    {"every position has taps in the padding", 3, 8, 16, 1, 2, {5, 5}, {1, 1}, {2, 2}},
    {"different sizes in height and width", 2, 8, 64, 5, 13, {1, 3}, {1, 2}, {0, 1}},
    {"stride larger than the kernel", 2, 8, 16, 10, 11, {2, 2}, {3, 3}, {1, 1}},
    {"padding larger than the kernel", 2, 8, 16, 3, 4, {2, 2}, {1, 1}, {3, 4}},
    {"several strips per plane", 2, 16, 32, 40, 33, {3, 3}, {1, 1}, {1, 1}},
    {"very wide rows", 1, 8, 32, 3, 260, {3, 3}, {1, 1}, {1, 1}},
    {"1x1", 3, 8, 16, 6, 5, {1, 1}, {2, 2}, {0, 0}},
    {"many groups", 3, 8, 1088, 3, 3, {3, 3}, {1, 1}, {1, 1}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct problem {
    shape s;
    size_t oh, ow, n_x, n_d, n_w;
    nn_node node;
    float *x, *d, *dw, *db; /* in blocks of eight */
} problem;

static float *floats(size_t n) {
    float *p = malloc((n + 1) * sizeof *p);
    assert_non_null(p);
    return p;
}

/* whole: whole numbers -4 to 4; else real numbers -1 to 1. */
static void fill(float *to, size_t n, uint64_t seed, bool whole) {
    for (size_t i = 0; i < n; i++)
        to[i] =
            (float)(whole ? floor(9 * unit_at(seed, i)) - 4 : 2 * unit_at(seed, i) - 1);
}

static problem *problem_of(const shape *s, bool whole) {
    problem *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->s = *s;
    p->oh = (s->h + 2 * s->pad[0] - s->kernel[0]) / s->stride[0] + 1;
    p->ow = (s->w + 2 * s->pad[1] - s->kernel[1]) / s->stride[1] + 1;
    p->node = (nn_node){.kind = NN_CONV,
                        .in_shape = {s->ic, s->h, s->w},
                        .shape = {s->oc, p->oh, p->ow},
                        .groups = 1};
    memcpy(p->node.kernel, s->kernel, sizeof s->kernel);
    memcpy(p->node.stride, s->stride, sizeof s->stride);
    memcpy(p->node.pad, s->pad, sizeof s->pad);
    p->n_x = s->n * s->ic * s->h * s->w;
    p->n_d = s->n * s->oc * p->oh * p->ow;
    p->n_w = s->oc * s->ic * s->kernel[0] * s->kernel[1];
    p->x = floats(p->n_x);
    p->d = floats(p->n_d);
    p->dw = floats(p->n_w);
    p->db = floats(s->oc);
    fill(p->x, p->n_x, 1, whole);
    fill(p->d, p->n_d, 2, whole);
    return p;
}

static void end(problem *p) {
    free(p->x);
    free(p->d);
    free(p->dw);
    free(p->db);
    free(p);
}

/* Outputs and scratch are NaN before the call; one more float after each must stay 7. */
static void compute(problem *p, unsigned threads, bool bias) {
    scant_ctx *ctx = ctx_threads(threads);
    size_t bytes = nn_strips_scratch(&p->node);
    float *scratch = floats(bytes / sizeof(float));
    for (size_t i = 0; i <= bytes / sizeof(float); i++) scratch[i] = NAN;
    for (size_t i = 0; i <= p->n_w; i++) p->dw[i] = i < p->n_w ? NAN : 7;
    for (size_t i = 0; i <= p->s.oc; i++) p->db[i] = i < p->s.oc ? NAN : 7;
    scratch[bytes / sizeof(float)] = 7;
    assert_int_equal(nn_strips_weights(ctx, &p->node, p->s.n, p->x, p->d, p->dw,
                                       bias ? p->db : NULL, scratch),
                     SCANT_OK);
    assert_true(scratch[bytes / sizeof(float)] == 7 && p->dw[p->n_w] == 7 &&
                p->db[p->s.oc] == 7);
    free(scratch);
    scant_ctx_free(ctx);
}

/* Channel c, row r, column k of sample n; channels are in blocks of eight. */
static double planes_at(const float *x, size_t n, size_t c, size_t channels, size_t r,
                        size_t high, size_t k, size_t wide) {
    return (double)x[(((n * (channels / 8) + c / 8) * high + r) * wide + k) * 8 + c % 8];
}

/* The gradient by the weight of output channel o, input channel i and tap (ky, kx), from
 * the definition of a convolution. */
static double gradient_by(const problem *p, size_t o, size_t i, size_t ky, size_t kx) {
    const shape *s = &p->s;
    double sum = 0;
    for (size_t n = 0; n < s->n; n++)
        for (size_t r = 0; r < p->oh; r++)
            for (size_t c = 0; c < p->ow; c++) {
                long y = (long)(r * s->stride[0] + ky) - (long)s->pad[0];
                long x = (long)(c * s->stride[1] + kx) - (long)s->pad[1];
                if (y < 0 || x < 0 || y >= (long)s->h || x >= (long)s->w) continue;
                sum += planes_at(p->d, n, o, s->oc, r, p->oh, c, p->ow) *
                       planes_at(p->x, n, i, s->ic, (size_t)y, s->h, (size_t)x, s->w);
            }
    return sum;
}

static float weight_at(const problem *p, size_t o, size_t i, size_t tap) {
    size_t taps = p->s.kernel[0] * p->s.kernel[1];
    return p
        ->dw[(((o / 8 * (p->s.ic / 8) + i / 8) * taps + tap) * 8 + i % 8) * 8 + o % 8];
}

static void whole_numbers_give_exact_sums(void **state) {
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        problem *p = problem_of(&shapes[k], true);
        const shape *s = &p->s;
        compute(p, 2, false);
        /* of many channels every 37th, to save time: covers all positions in a tile */
        size_t step = s->oc > 64 ? 37 : 1;
        for (size_t o = 0; o < s->oc; o += step)
            for (size_t i = 0; i < s->ic; i++)
                for (size_t t = 0; t < s->kernel[0] * s->kernel[1]; t++) {
                    double is = (double)weight_at(p, o, i, t);
                    double want =
                        gradient_by(p, o, i, t / s->kernel[1], t % s->kernel[1]);
                    if (is != want)
                        fail_msg("%s: weight %zu, %zu, %zu: %g, expected %g", s->name, o,
                                 i, t, is, want);
                }
        end(p);
    }
}

static void bias_gradient_is_the_sum_over_its_plane(void **state) {
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        problem *p = problem_of(&shapes[k], true);
        compute(p, 2, true);
        for (size_t o = 0; o < p->s.oc; o++) {
            double want = 0;
            for (size_t n = 0; n < p->s.n; n++)
                for (size_t i = 0; i < p->oh * p->ow; i++)
                    want += planes_at(p->d, n, o, p->s.oc, 0, p->oh, i, p->ow);
            assert_true((double)p->db[o] == want);
        }
        end(p);
    }
}

static void results_do_not_depend_on_the_thread_count(void **state) {
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        problem *p = problem_of(&shapes[k], false);
        compute(p, 1, true);
        float *dw = floats(p->n_w), *db = floats(p->s.oc);
        memcpy(dw, p->dw, p->n_w * sizeof *dw);
        memcpy(db, p->db, p->s.oc * sizeof *db);
        for (unsigned threads = 2; threads <= 5; threads += 3) {
            compute(p, threads, true);
            assert_memory_equal(p->dw, dw, p->n_w * sizeof *dw);
            assert_memory_equal(p->db, db, p->s.oc * sizeof *db);
        }
        free(dw);
        free(db);
        end(p);
    }
}

/* A sum of some 500 products of at most 1: its rounding error is below 2e-5. */
static void real_numbers_give_sums_within_rounding(void **state) {
    (void)state;
    problem *p = problem_of(&shapes[0], false);
    compute(p, 2, false);
    for (size_t o = 0; o < p->s.oc; o++)
        for (size_t i = 0; i < p->s.ic; i++)
            for (size_t t = 0; t < 9; t++)
                assert_true(fabs((double)weight_at(p, o, i, t) -
                                 gradient_by(p, o, i, t / 3, t % 3)) < 2e-5);
    end(p);
}

/* Both kernels on 3 x 5 pixels with gaps between rows and blocks. */
static void vector_and_plain_kernels_match(void **state) {
    (void)state;
    enum { ROWS = 3, COLS = 5, X_ROW = 100, X_COL = 16, D_ROW = 48, D_BLOCK = 200 };
    float x[ROWS * X_ROW], d[4 * D_BLOCK], dw[4 * 100];
    const nn_kernels *sets[] = {nn_kernels_best(), nn_kernels_plain()};
    fill(x, ROWS * X_ROW, 3, true);
    fill(d, 4 * D_BLOCK, 4, true);
    for (size_t set = 0; set < 2; set++)
        for (size_t vectors = 2; vectors <= 4; vectors += 2) {
            for (size_t i = 0; i < 400; i++) dw[i] = 5;
            sets[set]->strip(&(nn_strip){.rows = ROWS,
                                         .cols = COLS,
                                         .vectors = vectors,
                                         .x = x,
                                         .d = d,
                                         .x_row = X_ROW,
                                         .x_col = X_COL,
                                         .d_row = D_ROW,
                                         .d_block = D_BLOCK,
                                         .dw_block = 100,
                                         .dw = dw});
            for (size_t at = 0; at < 400; at++) {
                size_t v = at / 100, i = at % 100 / 8, o = at % 100 % 8;
                float want = 5;
                for (size_t p = 0; v < vectors && i < 8 && p < ROWS * COLS; p++)
                    want += x[p / COLS * X_ROW + p % COLS * X_COL + i] *
                            d[v * D_BLOCK + p / COLS * D_ROW + p % COLS * 8 + o];
                assert_true(dw[at] == want);
            }
        }
}

static void strips_are_used_for_blocks_of_channels_on_medium_planes(void **state) {
    (void)state;
    bool can = nn_kernels_best() != nn_kernels_plain();
    problem *p = problem_of(&shapes[0], true);
    nn_node *v = &p->node;
    assert_int_equal(nn_strips_faster(v), can);
    v->shape.c = 24; /* not a multiple of 16 */
    assert_false(nn_strips_faster(v));
    v->shape.c = 16;
    p->node.in_shape.c = 12;
    assert_false(nn_strips_faster(v));
    p->node.in_shape.c = 8;
    v->groups = 8;
    assert_false(nn_strips_faster(v));
    v->groups = 1;
    v->kernel[0] = v->kernel[1] = 1;
    assert_false(nn_strips_faster(v));
    v->kernel[0] = 3;
    v->shape.h = v->shape.w = 4;
    assert_false(nn_strips_faster(v));
    end(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_give_exact_sums),
        cmocka_unit_test(bias_gradient_is_the_sum_over_its_plane),
        cmocka_unit_test(results_do_not_depend_on_the_thread_count),
        cmocka_unit_test(real_numbers_give_sums_within_rounding),
        cmocka_unit_test(vector_and_plain_kernels_match),
        cmocka_unit_test(strips_are_used_for_blocks_of_channels_on_medium_planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
