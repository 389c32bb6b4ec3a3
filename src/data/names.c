/* SPDX-License-Identifier: Apache-2.0 */
#include "data/names.h"

#include <string.h>

#include "core/mem.h"

scant_status scant__names_add(scant_ctx *ctx, scant__names *names, const char *text,
                              size_t length) {
    size_t need = size_add(names->used, size_add(length, 1));
    names->ctx = ctx;
    if (need > names->room) {
        size_t room = size_max(need, size_add(names->room, names->room / 2));
        char *grown = scant__realloc(ctx, names->text, names->used, room);
        if (!grown) return SCANT_ENOMEM;
        names->text = grown;
        names->room = room;
    }
    TRY_PUSH(ctx, names->at, names->count, names->at_room, names->used);
    if (length) memcpy(names->text + names->used, text, length);
    names->text[names->used + length] = 0;
    names->used = need;
    return SCANT_OK;
}

scant_status scant__names_put(scant_ctx *ctx, scant__names *names, const char *text) {
    return scant__names_add(ctx, names, text, strlen(text));
}

const char *scant__names_get(const scant__names *names, size_t i) {
    return names->text + names->at[i];
}

const char *scant__names_name(const scant__names *names, size_t i) {
    const char *name = i < names->count ? scant__names_get(names, i) : "";
    return *name ? name : NULL;
}

typedef struct range {
    size_t low, n;
    size_t depth; /* length of the common prefix */
} range;

/* Partitions a range by the byte at its depth: below, equal to and above that of the
 * middle name. */
static void split(scant__names *names, range r, range out[3]) {
    const char *text = names->text + r.depth;
    size_t *at = names->at, below = r.low, i = r.low, above = r.low + r.n;
    unsigned char pivot = (unsigned char)text[at[r.low + r.n / 2]];
    while (i < above) {
        unsigned char byte = (unsigned char)text[at[i]];
        size_t held = at[i];
        if (byte < pivot) {
            at[i++] = at[below];
            at[below++] = held;
        } else if (byte > pivot) {
            at[i] = at[--above];
            at[above] = held;
        } else {
            i++;
        }
    }
    out[0] = (range){r.low, below - r.low, r.depth};
    out[1] = (range){below, pivot ? above - below : 0,
                     r.depth + 1}; /* pivot 0: all names end here */
    out[2] = (range){above, r.low + r.n - above, r.depth};
}

/* Multikey quicksort (Bentley and Sedgewick, "Fast algorithms for sorting and searching
 * strings", 1997). Iterating on the largest part bounds the recursion depth by log2 n. A
 * name is split at most 256 times at one depth, once per value of the byte, so no input
 * order takes quadratic time. */
static void sort_range(scant__names *names, range r) {
    while (r.n > 1) {
        range parts[3];
        size_t largest = 0;
        split(names, r, parts);
        for (size_t i = 1; i < 3; i++)
            if (parts[i].n > parts[largest].n) largest = i;
        for (size_t i = 0; i < 3; i++)
            if (i != largest) sort_range(names, parts[i]);
        r = parts[largest];
    }
}

void scant__names_sort(scant__names *names) {
    sort_range(names, (range){0, names->count, 0});
}

size_t scant__names_find(const scant__names *names, const char *text) {
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(scant__names_get(names, middle), text);
        if (!order) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return names->count;
}

void scant__names_end(scant__names *names) {
    scant__free(names->ctx, names->text);
    scant__free(names->ctx, names->at);
    *names = (scant__names){0};
}
