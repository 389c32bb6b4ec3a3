/* SPDX-License-Identifier: Apache-2.0
 *
 * egl: expected gradient length of the last layer, sum_y p_y |p - e_y| |h+|, where h+ is
 * h with a 1 appended for the bias. The score uses the length, not its square (both are
 * published). One pass, O(n(C + d)); the n x C x d gradients are never built.
 *
 * With SCANT_LENGTHS the caller gives the lengths of the whole network's gradients (one
 * backward pass for each class); the options then have no effect.
 */
#include <math.h>
#include <string.h>

#include "select/scan.h"

static void score(const scan_block *block, double *out) {
    const scant_selection *sel = block->sel;
    const select_probs_block *p = &block->probs;
    double bias = select_option(sel, "bias");
    bool unit = select_option(sel, "normalise") != 0;
    la_kernels_for(p->type)->residual_length(p->rows, block->count, sel->pool.c, p->stat,
                                             out);
    for (size_t i = 0; i < block->count; i++) {
        double h = block->norm[i];
        if (unit) h = h > 0 ? 1 : 0;
        out[i] *= bias > 0 ? hypot(h, 1) : h;
    }
}

static scant_status choose_inputs(scant_selection *sel, unsigned given, unsigned *needs) {
    *needs = given & SCANT_LENGTHS ? SCANT_LENGTHS : sel->strategy->info.needs;
    return SCANT_OK;
}

static void score_measured(const scan_block *block, double *out) {
    memcpy(out, block->measured, block->count * sizeof *out);
}

static scant_status egl_select(scant_selection *sel) {
    return select_scan(sel, SELECT_TOP, sel->pool.lengths ? score_measured : score);
}

static const scant_option options[] = {
    SELECT_OPTION_BIAS("1"),
    SELECT_OPTION_NORMALISE,
};

const scant_strategy select_strategy_egl = {
    .info = {.name = "egl",
             .summary =
                 "rows with the largest expected gradient length in the last layer",
             .use = "Uncertainty weighted by the length of the features. In 'scant run', "
                    "egl.layers = all uses gradients of the whole network.",
             .paper = "Settles, Craven & Ray 2008",
             .score =
                 "expected length of the last layer's gradient over the predicted labels",
             .needs = SCANT_PROBS | SCANT_FEATURES,
             SELECT_OPTIONS(options),
             .ranked = true},
    .inputs = choose_inputs,
    .plan = select_scan_plan,
    .select = egl_select,
};
