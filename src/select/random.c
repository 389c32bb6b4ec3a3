/* SPDX-License-Identifier: Apache-2.0
 *
 * random: rows drawn uniformly without replacement; the baseline.
 *
 * Each row gets a key from the counter-based generator; the rows with the largest keys
 * are picked. One pass, O(n + b log b).
 */
#include "select/scan.h"

static scant_status random_select(scant_selection *sel) {
    return select_fill(sel, NULL, 0);
}

const scant_strategy select_strategy_random = {
    .info = {.name = "random",
             .summary = "a uniform random sample of the rows",
             .use = "The baseline for every comparison, and a sound choice for the first "
                    "labels.",
             .paper = "none",
             .score = "0",
             .needs = SCANT_ROWS,
             .ranked = true},
    .plan = select_scan_plan,
    .select = random_select,
};
