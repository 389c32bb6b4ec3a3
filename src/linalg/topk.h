/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the best b of a stream of (score, index): larger score first, ties to the lower
 * index. The order is total, so the result depends neither on the order of items nor on
 * how they are divided between workers.
 *
 * Cost: O(1) for an item that is rejected, O(log b) for one that is kept.
 */
#ifndef SCANT_LINALG_TOPK_H
#define SCANT_LINALG_TOPK_H

#include <stddef.h>

typedef struct la_scored {
    double score;
    size_t index;
} la_scored;

typedef struct la_topk { /* a heap with the worst item on top, in the caller's memory */
    la_scored *items;
    size_t count, capacity;
} la_topk;

void la_topk_init(la_topk *top, la_scored *items, size_t capacity);
void la_topk_insert(la_topk *top, double score, size_t index); /* the slow path of
                                                                * la_topk_offer() */
/* Most items are worse than the worst one kept and cost one comparison. */
static inline void la_topk_offer(la_topk *top, double score, size_t index) {
    if (top->count < top->capacity || (top->count > 0 && score >= top->items[0].score))
        la_topk_insert(top, score, index);
}
void la_topk_merge(la_topk *into, const la_topk *from);
void la_topk_sort(la_topk *top); /* best first; no items may be offered afterwards */

#endif
