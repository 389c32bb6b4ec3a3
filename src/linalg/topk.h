/* SPDX-License-Identifier: Apache-2.0
 *
 * The best b of a stream of (score, index): larger score first, ties to the lower index.
 * That order is total, so the result does not depend on the order in which items come,
 * nor on how the stream is cut between workers.
 *
 * Cost: O(1) for an item that does not get in, O(log b) for one that does.
 */
#ifndef SCANT_LINALG_TOPK_H
#define SCANT_LINALG_TOPK_H

#include <stddef.h>

typedef struct la_scored {
    double score;
    size_t index;
} la_scored;

typedef struct la_topk { /* a heap, worst on top, in the caller's memory */
    la_scored *items;
    size_t count, capacity;
} la_topk;

void la_topk_init(la_topk *top, la_scored *items, size_t capacity);
void la_topk_insert(la_topk *top, double score, size_t index); /* offer, in full */
/* Most items are worse than the worst kept: they cost one comparison. */
static inline void la_topk_offer(la_topk *top, double score, size_t index) {
    if (top->count < top->capacity || (top->count > 0 && score >= top->items[0].score))
        la_topk_insert(top, score, index);
}
void la_topk_merge(la_topk *into, const la_topk *from);
void la_topk_sort(la_topk *top); /* best first; afterwards nothing may be offered */

#endif
