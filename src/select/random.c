/* SPDX-License-Identifier: Apache-2.0
 *
 * random: rows drawn uniformly without replacement. What every other strategy must beat.
 *
 * A key a row, from the counter-based generator; the rows with the largest keys. One
 * pass, no state, O(n + b log b).
 */
#include "select/scan.h"

static scant_status random_select(select_req *req) { return select_fill(req, NULL, 0); }

const scant_strategy select_strategy_random = {
    .info = {.name = "random",
             .summary = "rows drawn uniformly",
             .use =
                 "The baseline: run it beside anything else, and for the first labels.",
             .paper = "none",
             .score = "0",
             .needs = SCANT_ROWS},
    .plan = select_scan_plan,
    .select = random_select,
};
