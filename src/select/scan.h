/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores every row in one pass, block by block, and picks the best.
 * Memory: a heap of the batch and one block per thread.
 */
#ifndef SCANT_SELECT_SCAN_H
#define SCANT_SELECT_SCAN_H

#include "select/strategy.h"

typedef struct scan_block {
    const scant_selection *sel;
    size_t first, count;
    /* Set only if the strategy needs them: */
    select_probs_block probs;
    const double *norm;        /* |h_i| of the features */
    const double *information; /* information of the posterior draws */
    const double *measured;    /* slopes or lengths */
} scan_block;

/* Writes the score of row first+i to score[i]. Rows with higher scores are picked first.
 */
typedef void (*scan_score_fn)(const scan_block *block, double *score);

void select_scan_plan(const scant_selection *sel, scant_plan *plan);
/* Picks the rows with the best scores, as many as the batch; ties to the lowest index. */
scant_status select_scan(scant_selection *sel, select_measure measure,
                         scan_score_fn score);

#endif
