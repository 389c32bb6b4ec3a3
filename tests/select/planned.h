/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans a selection without running it.
 */
#ifndef SCANT_TESTS_SELECT_PLANNED_H
#define SCANT_TESTS_SELECT_PLANNED_H

#include "scant/scant.h"

static inline scant_status planned(scant_ctx *ctx, const char *strategy,
                                   const scant_evidence *evidence, size_t batch,
                                   const scant_select_opts *opts, scant_plan *plan) {
    scant_selection *selection;
    *plan = (scant_plan){0};
    scant_status s =
        scant_selection_open(ctx, strategy, evidence, batch, opts, &selection);
    if (s == SCANT_OK) s = scant_selection_plan(selection, plan);
    scant_selection_free(selection);
    return s;
}

#endif
