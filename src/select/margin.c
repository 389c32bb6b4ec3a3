/* SPDX-License-Identifier: Apache-2.0
 *
 * margin: rows whose two most probable classes have the closest probabilities p1 and p2;
 * the score is 1 - (p1 - p2). One pass, O(nC).
 *
 * With on_logits, the closest outputs f1 and f2, as the papers on dynamicAL and NPC write
 * it (their public code uses probabilities); the score is f2 - f1 = ln p2 - ln p1, so
 * that probabilities are enough. The two rank differently: between rows with the same p1
 * - p2, logits prefer those whose other classes are improbable, and probabilities do not.
 */
#include <float.h>
#include <math.h>

#include "select/scan.h"

static double log_of(double p) { return log(fmax(p, DBL_MIN)); }

static void score(const scan_block *block, double *out) {
    const la_rowstat *stat = block->probs.stat;
    bool logits = select_option(block->sel, "on_logits") > 0;
    for (size_t i = 0; i < block->count; i++)
        out[i] = logits ? log_of(stat[i].second) - log_of(stat[i].top)
                        : 1 - (stat[i].top - stat[i].second);
}

static scant_status margin_select(scant_selection *sel) {
    return select_scan(sel, SELECT_TOP, score);
}

static const scant_option options[] = {
    OPT_SWITCH("on_logits", "0", 0, NULL,
               "compare the network's outputs instead of probabilities; the score is "
               "then the second largest output less the largest"),
};

const scant_strategy select_strategy_margin = {
    .info =
        {.name = "margin",
         .summary = "rows with the smallest gap between the two largest probabilities",
         .use = "The best of the plain uncertainty scores in most published comparisons.",
         .paper = "Scheffer, Decomain & Wrobel 2001",
         .score = "1 - (p1 - p2), where p1 and p2 are the two largest probabilities",
         .needs = SCANT_PROBS,
         SELECT_OPTIONS(options),
         .ranked = true},
    .plan = select_scan_plan,
    .select = margin_select,
};
