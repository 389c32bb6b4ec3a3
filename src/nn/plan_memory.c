/* SPDX-License-Identifier: Apache-2.0
 *
 * Places in the block: the largest tensor first, each at the lowest place where nothing
 * lies that is needed at the same time. Not the best packing, but within some percent of
 * the most that is needed at once for the networks here; cost tensors^2, once a plan.
 */
#include <string.h>

#include "nn/plan_int.h"

enum { ALIGN = 64 };

static bool meet(const nn_tensor *a, const nn_tensor *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest place for t beside the tensors that have one already (ordered by place). */
static size_t place_for(const nn_plan *plan, const int *placed, size_t n,
                        const nn_tensor *t) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const nn_tensor *other = &plan->tensors[placed[i]];
        if (!meet(t, other)) continue;
        if (at + t->bytes <= other->at) break;
        if (other->at + other->bytes > at) at = other->at + other->bytes;
    }
    return at;
}

scant_status nn_plan_place(nn_plan *plan) {
    size_t n = plan->n_tensors;
    int *order = scant__arena_alloc(&plan->arena, n, sizeof *order);
    int *placed = scant__arena_alloc(&plan->arena, n, sizeof *placed);
    if (!order || !placed) return SCANT_ENOMEM;
    for (size_t i = 0; i < n; i++) { /* by size, larger first; insertion: n is hundreds */
        nn_tensor *t = &plan->tensors[i];
        t->bytes = (t->bytes + ALIGN - 1) / ALIGN * ALIGN;
        size_t k = i;
        for (; k && plan->tensors[order[k - 1]].bytes < t->bytes; k--)
            order[k] = order[k - 1];
        order[k] = (int)i;
    }
    plan->block_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        nn_tensor *t = &plan->tensors[order[i]];
        t->at = place_for(plan, placed, i, t);
        if (t->at + t->bytes > plan->block_bytes) plan->block_bytes = t->at + t->bytes;
        size_t k = i;
        for (; k && plan->tensors[placed[k - 1]].at > t->at; k--)
            placed[k] = placed[k - 1];
        placed[k] = order[i];
    }
    plan->block = scant__arena_zalloc(&plan->arena, plan->block_bytes, 1);
    return plan->block ? SCANT_OK : SCANT_ENOMEM;
}
