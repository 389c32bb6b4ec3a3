/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by coreset and badge, which grow a set of rows: reads and checks features,
 * builds a space over them and excludes unavailable rows.
 */
#ifndef SCANT_SELECT_GROW_H
#define SCANT_SELECT_GROW_H

#include "linalg/growset.h"
#include "select/strategy.h"

typedef struct select_grow {
    select_features features;
    la_rows h, a;
    double scale; /* distances are multiplied by it */
    la_space space;
    la_growset set;
} select_grow;

/* Adds the memory of select_grow_init() for `centres` centres. Sets blocks, and passes to
 * 2: the check of the features, and growing. */
void select_grow_plan(const scant_selection *sel, size_t centres, scant_plan *plan);
/* bias: the constant appended to h in Kronecker rows (if sel->pool.probs is used). */
scant_status select_grow_init(scant_selection *sel, size_t centres, double bias,
                              select_grow *grow);
/* Excludes every row that is not available. */
void select_grow_exclude(const scant_selection *sel, select_grow *grow);

#endif
