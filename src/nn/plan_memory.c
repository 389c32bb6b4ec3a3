/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory assignment: largest tensor first, each at the lowest offset free of tensors live
 * at the same time. Not optimal, but within some percent of the peak for the networks
 * here. Costs tensors^2, once per plan.
 */
#include <string.h>

#include "nn/plan_int.h"

enum { ALIGN = 64 };

static bool meet(const nn_tensor *a, const nn_tensor *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset for t beside the tensors already placed (ordered by offset). */
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
    for (size_t i = 0; i < n;
         i++) { /* insertion sort by size, largest first: n is hundreds */
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
