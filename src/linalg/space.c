/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/space.h"

#include <string.h>

enum {
    CENTRES = 24
}; /* centres per tile: 24 rows of 512 floats fit the second-level cache */

/* The start of a worker's scratch; copies of rows that are not direct follow. */
typedef struct scratch {
    const void *hp[LA_GROUP], *ap[LA_GROUP];
    double hh[LA_GROUP * CENTRES], aa[LA_GROUP * CENTRES];
} scratch;

size_t la_space_memory(const la_rows *h, const la_rows *a, size_t capacity) {
    size_t each = sizeof(void *);
    if (!h->base) each += la_rows_bytes(h);
    if (a) each += sizeof(void *) + sizeof(double) + (a->base ? 0 : la_rows_bytes(a));
    return capacity * each;
}

scant_status la_space_init(la_space *space, scant__arena *arena, const la_rows *h,
                           const la_rows *a, double bias, size_t group, size_t capacity) {
    *space =
        (la_space){.h = h, .a = a, .bias = bias, .group = group, .capacity = capacity};
    space->hc = scant__arena_alloc(arena, capacity, sizeof *space->hc);
    if (!space->hc) return SCANT_ENOMEM;
    if (!h->base) {
        space->h_store = scant__arena_alloc(arena, capacity, la_rows_bytes(h));
        if (!space->h_store) return SCANT_ENOMEM;
    }
    if (!a) return SCANT_OK;
    space->ac = scant__arena_alloc(arena, capacity, sizeof *space->ac);
    space->nc = scant__arena_alloc(arena, capacity, sizeof *space->nc);
    if (!space->ac || !space->nc) return SCANT_ENOMEM;
    if (!a->base) {
        space->a_store = scant__arena_alloc(arena, capacity, la_rows_bytes(a));
        if (!space->a_store) return SCANT_ENOMEM;
    }
    return SCANT_OK;
}

size_t la_space_scratch(const la_rows *h, const la_rows *a, size_t group) {
    size_t bytes = sizeof(scratch) + la_rows_scratch(h, group);
    return a ? bytes + la_rows_scratch(a, group) : bytes;
}

void la_space_norms(const la_space *space, size_t first, size_t count, double *out,
                    void *raw) {
    scratch *s = raw;
    unsigned char *room = (unsigned char *)(s + 1);
    const la_rows *h = space->h, *a = space->a;
    const la_kernels *hk = la_kernels_for(h->type), *ak = la_kernels_for(a->type);
    hk->selfdot(la_rows_get(h, first, count, room), count, h->d, s->hh);
    ak->selfdot(la_rows_get(a, first, count, room), count, a->d, s->aa);
    for (size_t i = 0; i < count; i++) out[i] = s->aa[i] * (s->hh[i] + space->bias);
}

static const void *centre_row(const la_rows *rows, size_t row, unsigned char *store,
                              size_t slot) {
    if (rows->base) return la_rows_get(rows, row, 1, NULL);
    return la_rows_get(rows, row, 1, store + slot * la_rows_bytes(rows));
}

void la_space_add(la_space *space, size_t row) {
    size_t slot = space->count++;
    space->hc[slot] = centre_row(space->h, row, space->h_store, slot);
    if (!space->a) return;
    space->ac[slot] = centre_row(space->a, row, space->a_store, slot);
    space->nc[slot] = space->norm[row];
}

static void gather(const la_rows *matrix, const size_t *rows, size_t m, const void **out,
                   unsigned char *room) {
    size_t bytes = la_rows_bytes(matrix);
    for (size_t i = 0; i < m; i++)
        out[i] = la_rows_get(matrix, rows[i], 1, room + i * bytes);
}

/* Lowers best[i] to the smallest distance to `width` centres, if that is smaller. The
 * inner products with the centres are in scratch. */
static void nearest_kronecker(const la_space *space, const size_t *rows, size_t m,
                              size_t first, size_t width, const scratch *s,
                              double *best) {
    for (size_t i = 0; i < m; i++) {
        double ni = space->norm[rows[i]];
        for (size_t j = 0; j < width; j++) {
            double cross = s->aa[i * width + j] * (s->hh[i * width + j] + space->bias);
            double d = ni + space->nc[first + j] - 2 * cross;
            d = d > 0 ? d : 0; /* cancellation can leave a tiny negative */
            if (d < best[i]) best[i] = d;
        }
    }
}

static void nearest_group(const la_space *space, const size_t *rows, size_t m,
                          size_t from, size_t to, double *best, scratch *s) {
    unsigned char *room = (unsigned char *)(s + 1);
    const la_rows *h = space->h, *a = space->a;
    const la_kernels *hk = la_kernels_for(h->type);
    gather(h, rows, m, s->hp, room);
    if (a) gather(a, rows, m, s->ap, room + la_rows_scratch(h, space->group));
    for (size_t c = from; c < to; c += CENTRES) {
        size_t width = to - c < CENTRES ? to - c : CENTRES;
        if (a) {
            hk->dot(s->hp, m, space->hc + c, width, h->d, s->hh);
            la_kernels_for(a->type)->dot(s->ap, m, space->ac + c, width, a->d, s->aa);
            nearest_kronecker(space, rows, m, c, width, s, best);
            continue;
        }
        hk->sqdist(s->hp, m, space->hc + c, width, h->d, s->hh);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < width; j++)
                if (s->hh[i * width + j] < best[i]) best[i] = s->hh[i * width + j];
    }
}

void la_space_nearest(const la_space *space, const size_t *rows, size_t m, size_t from,
                      size_t to, double *best, void *raw) {
    for (size_t i = 0; i < m; i += space->group) {
        size_t k = m - i < space->group ? m - i : space->group;
        nearest_group(space, rows + i, k, from, to, best + i, raw);
    }
}
