/* SPDX-License-Identifier: Apache-2.0
 *
 * bald: rows on which posterior draws disagree most (Houlsby, Huszar, Ghahramani
 * & Lengyel, "Bayesian active learning for classification and preference learning", 2011;
 * Gal, Islam & Ghahramani, "Deep Bayesian active learning with image data", 2017). The
 * score is the mutual information of a row's label and the model: the entropy of the mean
 * prediction minus the mean entropy of the draws' predictions, in nats; at most ln m.
 *
 * Exact up to the rounding of entropies, a few 1e-15. Smaller values count as 0, so that
 * rows without disagreement tie. One pass, O(m n C); the logarithm dominates. Memory: one
 * block of rows per worker.
 */
#include <string.h>

#include "select/scan.h"

static void score(const scan_block *block, double *out) {
    memcpy(out, block->information, block->count * sizeof *out);
}

static scant_status bald_select(scant_selection *sel) {
    TRY(select_scan(sel, SELECT_ENTROPY, score));
    if (sel->picks[0].score == 0)
        scant__warn(
            sel->ctx,
            "%s: the posterior draws agree on every row; the rows with the lowest "
            "indices are picked",
            scant_array_name(sel->pool.draws));
    return SCANT_OK;
}

const scant_strategy select_strategy_bald = {
    .info = {.name = "bald",
             .summary = "rows on which posterior draws disagree most",
             .use = "With an ensemble or MC dropout, for a few rows at a time. Rows of a "
                    "large batch may carry the same information.",
             .paper = "Houlsby et al. 2011; Gal et al. 2017",
             .score = "mutual information between the row's label and the model, in nats",
             .needs = SCANT_DRAWS,
             .ranked = true},
    .plan = select_scan_plan,
    .select = bald_select,
};
