/* SPDX-License-Identifier: Apache-2.0
 *
 * confidence: rows with the lowest maximum probability; the score is 1 - max p. One pass,
 * O(nC).
 */
#include "select/scan.h"

static void score(const scan_block *block, double *out) {
    for (size_t i = 0; i < block->count; i++) out[i] = 1 - block->probs.stat[i].top;
}

static scant_status confidence_select(scant_selection *sel) {
    return select_scan(sel, SELECT_TOP, score);
}

const scant_strategy select_strategy_confidence = {
    .info = {.name = "confidence",
             .summary = "rows whose most probable class has the lowest probability",
             .use = "Cheap, and strong once the model is fairly accurate. Large batches "
                    "contain near-duplicates.",
             .paper = "Lewis & Gale 1994",
             .score = "1 - max p",
             .needs = SCANT_PROBS,
             .ranked = true},
    .plan = select_scan_plan,
    .select = confidence_select,
};
