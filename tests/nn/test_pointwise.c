/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations at their edges, as torch has them: infinity is cut off like any number, and
 * what is no number stays none, so that a loss shows it.
 */
#include "../support.h"

#include <math.h>

#include "nn/pointwise.h"

enum { N = 6 };
static const float in[N] = {-INFINITY, -2, 0, 3, INFINITY, NAN};

static const struct {
    nn_act act;
    float slope;
    float out[N];
    float back[N]; /* of a gradient that is infinite, where the output is out */
} rows[] = {
    {NN_ACT_RELU, 0, {0, 0, 0, 3, INFINITY, NAN}, {0, 0, 0, INFINITY, INFINITY, 0}},
    {NN_ACT_LEAKY,
     .5f,
     {-INFINITY, -1, 0, 3, INFINITY, NAN},
     {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}},
    {NN_ACT_RELU6, 0, {0, 0, 0, 3, 6, NAN}, {0, 0, 0, INFINITY, 0, 0}},
};

static void same(const float *got, const float *want) {
    for (int i = 0; i < N; i++)
        if (!(isnan(want[i]) ? isnan(got[i]) : got[i] == want[i]))
            fail_msg("%d: %g, not %g", i, (double)got[i], (double)want[i]);
}

static void point(scant_ctx *ctx, nn_pointwise_op op, nn_act act, float slope,
                  const float *a, const float *b, float *out) {
    nn_pointwise(
        ctx, op,
        &(nn_elements){.act = act, .slope = slope, .a = a, .b = b, .out = out, .n = N});
}

static void infinity_is_cut_off_like_any_number(void **state) {
    (void)state;
    const float zero[N] = {0},
                endless[N] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    float out[N];
    scant_ctx *ctx = ctx_threads(1);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        point(ctx, NN_APPLY, rows[r].act, rows[r].slope, in, NULL, out);
        same(out, rows[r].out);
        point(ctx, NN_SUM, rows[r].act, rows[r].slope, in, zero, out);
        same(out, rows[r].out);
        point(ctx, NN_MASK, rows[r].act, rows[r].slope, rows[r].out, endless, out);
        same(out, rows[r].back);
    }
    point(ctx, NN_SUM, NN_ACT_NONE, 0, in, zero, out);
    same(out, in);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infinity_is_cut_off_like_any_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
