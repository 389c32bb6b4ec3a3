/* SPDX-License-Identifier: Apache-2.0
 *
 * margin: rows whose two most probable classes have the closest probabilities p1 and p2;
 * the score is 1 - (p1 - p2). Differences of logits would rank differently. One pass,
 * O(nC).
 */
#include "select/scan.h"

static void score(const scan_block *block, double *out) {
    const la_rowstat *stat = block->probs.stat;
    for (size_t i = 0; i < block->count; i++) out[i] = 1 - (stat[i].top - stat[i].second);
}

static scant_status margin_select(scant_selection *sel) {
    return select_scan(sel, SELECT_TOP, score);
}

const scant_strategy select_strategy_margin = {
    .info =
        {.name = "margin",
         .summary = "rows with the smallest gap between the two largest probabilities",
         .use = "The best of the plain uncertainty scores in most published comparisons.",
         .paper = "Scheffer, Decomain & Wrobel 2001",
         .score = "1 - (p1 - p2), where p1 and p2 are the two largest probabilities",
         .needs = SCANT_PROBS,
         .ranked = true},
    .plan = select_scan_plan,
    .select = margin_select,
};
