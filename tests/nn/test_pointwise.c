/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations of infinities and NaN, as in torch: infinity is clipped like any number,
 * and NaN stays NaN, so that it shows in the loss.
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
    float back[N]; /* NN_MASK of these outputs and infinite gradients */
} rows[] = {
    {NN_ACT_RELU, 0, {0, 0, 0, 3, INFINITY, NAN}, {0, 0, 0, INFINITY, INFINITY, 0}},
    {NN_ACT_LEAKY,
     .5f,
     {-INFINITY, -1, 0, 3, INFINITY, NAN},
     {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY}},
    {NN_ACT_RELU6, 0, {0, 0, 0, 3, 6, NAN}, {0, 0, 0, INFINITY, 0, 0}},
};

static void assert_same(const float *got, const float *want) {
    for (int i = 0; i < N; i++)
        if (!(isnan(want[i]) ? isnan(got[i]) : got[i] == want[i]))
            fail_msg("%d: %g, expected %g", i, (double)got[i], (double)want[i]);
}

static void apply(scant_ctx *ctx, nn_pointwise_op op, nn_act act, float slope,
                  const float *a, const float *b, float *out) {
    nn_pointwise(
        ctx, op,
        &(nn_elements){.act = act, .slope = slope, .a = a, .b = b, .out = out, .n = N});
}

static void infinity_is_clipped_and_nan_stays_nan(void **state) {
    (void)state;
    const float zero[N] = {0}, infinite[N] = {INFINITY, INFINITY, INFINITY,
                                              INFINITY, INFINITY, INFINITY};
    float out[N];
    scant_ctx *ctx = ctx_threads(1);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        apply(ctx, NN_APPLY, rows[r].act, rows[r].slope, in, NULL, out);
        assert_same(out, rows[r].out);
        apply(ctx, NN_SUM, rows[r].act, rows[r].slope, in, zero, out);
        assert_same(out, rows[r].out);
        apply(ctx, NN_MASK, rows[r].act, rows[r].slope, rows[r].out, infinite, out);
        assert_same(out, rows[r].back);
    }
    apply(ctx, NN_SUM, NN_ACT_NONE, 0, in, zero, out);
    assert_same(out, in);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infinity_is_clipped_and_nan_stays_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
