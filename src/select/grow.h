/* SPDX-License-Identifier: Apache-2.0
 *
 * What strategies that grow a set have in common: features read and checked, a space over
 * them, rows that may not be picked left out.
 */
#ifndef SCANT_SELECT_GROW_H
#define SCANT_SELECT_GROW_H

#include "linalg/growset.h"
#include "select/strategy.h"

typedef struct select_grow {
    select_features features;
    la_rows h, a;
    double scale; /* distances are served times it, squared ones times its square */
    la_space space;
    la_growset set;
} select_grow;

/* Adds what init allocates for so many centres, and the pass it makes. */
void select_grow_plan(const select_req *req, size_t centres, scant_plan *plan);
/* bias: for Kronecker rows (req->pool.probs is used), what h carries. */
scant_status select_grow_init(select_req *req, size_t centres, double bias,
                              select_grow *grow);
/* Leaves out every row that may not be picked. */
void select_grow_exclude(const select_req *req, select_grow *grow);

#endif
