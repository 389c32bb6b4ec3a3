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

static void infinity_is_cut_off_like_any_number(void **state) {
    (void)state;
    const float zero[N] = {0},
                endless[N] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    float out[N];
    scant_ctx *ctx = ctx_threads(1);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        nn_apply(ctx, rows[r].act, rows[r].slope, in, out, N);
        same(out, rows[r].out);
        nn_sum(ctx, rows[r].act, rows[r].slope, in, zero, out, N);
        same(out, rows[r].out);
        nn_mask(ctx, rows[r].act, rows[r].slope, rows[r].out, endless, out, N);
        same(out, rows[r].back);
    }
    nn_sum(ctx, NN_ACT_NONE, 0, in, zero, out, N);
    same(out, in);
    scant_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(infinity_is_cut_off_like_any_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
