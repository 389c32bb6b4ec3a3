/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/topk.h"

#include <stdbool.h>

static bool worse(la_scored a, la_scored b) {
    return a.score < b.score || (a.score == b.score && a.index > b.index);
}

void la_topk_init(la_topk *top, la_scored *items, size_t capacity) {
    *top = (la_topk){.items = items, .capacity = capacity};
}

/* Sifts item down from slot, below all worse items. */
static void sift_down(la_scored *heap, size_t count, size_t slot, la_scored item) {
    for (;;) {
        size_t child = 2 * slot + 1;
        if (child >= count) break;
        if (child + 1 < count && worse(heap[child + 1], heap[child])) child++;
        if (!worse(heap[child], item)) break;
        heap[slot] = heap[child];
        slot = child;
    }
    heap[slot] = item;
}

void la_topk_insert(la_topk *top, double score, size_t index) {
    la_scored item = {score, index};
    if (top->count == top->capacity) {
        if (top->count > 0 && worse(top->items[0], item))
            sift_down(top->items, top->count, 0, item);
        return;
    }
    size_t slot = top->count++;
    while (slot > 0 && worse(item, top->items[(slot - 1) / 2])) {
        top->items[slot] = top->items[(slot - 1) / 2];
        slot = (slot - 1) / 2;
    }
    top->items[slot] = item;
}

void la_topk_merge(la_topk *into, const la_topk *from) {
    for (size_t i = 0; i < from->count; i++)
        la_topk_offer(into, from->items[i].score, from->items[i].index);
}

void la_topk_sort(la_topk *top) {
    for (size_t last = top->count; last > 1; last--) {
        la_scored item = top->items[last - 1];
        top->items[last - 1] = top->items[0];
        sift_down(top->items, last - 1, 0, item);
    }
}
