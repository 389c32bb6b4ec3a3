/* SPDX-License-Identifier: Apache-2.0
 *
 * entropy: rows with the largest -sum p ln p, in nats. One pass, O(nC); the logarithm
 * dominates.
 */
#include "select/scan.h"

static void score(const scan_block *block, double *out) {
    for (size_t i = 0; i < block->count; i++) out[i] = block->probs.stat[i].entropy;
}

static scant_status entropy_select(scant_selection *sel) {
    return select_scan(sel, SELECT_ENTROPY, score);
}

const scant_strategy select_strategy_entropy = {
    .info = {.name = "entropy",
             .summary = "rows whose class probabilities have the largest entropy",
             .use =
                 "When all classes matter. With many classes, margin is usually better.",
             .paper = "Shannon 1948; Settles 2009",
             .score = "entropy in nats",
             .needs = SCANT_PROBS,
             .ranked = true},
    .plan = select_scan_plan,
    .select = entropy_select,
};
