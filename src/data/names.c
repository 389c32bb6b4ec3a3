/* SPDX-License-Identifier: Apache-2.0 */
#include "data/names.h"

#include <string.h>

#include "core/mem.h"

scant_status scant__grow(scant_ctx *ctx, void **block, size_t *room, size_t need,
                         size_t size) {
    if (need <= *room) return SCANT_OK;
    size_t more = size_max(size_max(need, 16), size_add(*room, *room / 2));
    void *grown = scant__alloc(ctx, more, size);
    if (!grown) return SCANT_ENOMEM;
    if (*room) memcpy(grown, *block, *room * size);
    scant__free(ctx, *block);
    *block = grown;
    *room = more;
    return SCANT_OK;
}

scant_status scant__names_add(scant_ctx *ctx, scant__names *names, const char *text,
                              size_t length) {
    void *block = names->text, *at = names->at;
    scant_status status = scant__grow(ctx, &block, &names->room,
                                      size_add(names->used, size_add(length, 1)), 1);
    names->text = block;
    if (status == SCANT_OK)
        status = scant__grow(ctx, &at, &names->at_room, names->count + 1, sizeof(size_t));
    names->at = at;
    if (status != SCANT_OK) return status;
    if (length) memcpy(names->text + names->used, text, length);
    names->text[names->used + length] = 0;
    names->at[names->count++] = names->used;
    names->used += length + 1;
    return SCANT_OK;
}

const char *scant__names_get(const scant__names *names, size_t i) {
    return names->text + names->at[i];
}

/* Sifts item i down among the first n: a heap with the largest on top. */
static void sift(scant__names *names, size_t i, size_t n) {
    size_t moved = names->at[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && strcmp(scant__names_get(names, child),
                                    scant__names_get(names, child + 1)) < 0)
            child++;
        if (strcmp(names->text + moved, scant__names_get(names, child)) >= 0) break;
        names->at[i] = names->at[child];
    }
    names->at[i] = moved;
}

/* A heap: qsort() takes no context, and its POSIX successor is too new. */
void scant__names_sort(scant__names *names) {
    size_t n = names->count;
    for (size_t i = n / 2; i-- > 0;) sift(names, i, n);
    for (; n > 1; n--) {
        size_t last = names->at[n - 1];
        names->at[n - 1] = names->at[0];
        names->at[0] = last;
        sift(names, 0, n - 1);
    }
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

void scant__names_end(scant_ctx *ctx, scant__names *names) {
    scant__free(ctx, names->text);
    scant__free(ctx, names->at);
    *names = (scant__names){0};
}
