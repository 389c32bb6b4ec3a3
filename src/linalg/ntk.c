/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/ntk.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "linalg/dense.h"

enum { TILE = LA_KERNEL_TILE };

/* If 1 - |cosine| is below this, the cosine's rounding would affect the angle. */
static const double PARALLEL = 1e-3;

/* ---- a tile ------------------------------------------------------------------------ */

typedef struct side {
    size_t count;
    double *unit;   /* (count, width): rows of unit length; zero rows stay 0 */
    double *length; /* (count) */
} side;

typedef struct tile_room {
    double *unit[2], *length[2];
    double *cosines, *part, *sum; /* (TILE, TILE) */
    double *turned;               /* (width): a negated row */
    void *fetch;
} tile_room;

enum { SQUARE = TILE * TILE };

static size_t room_doubles(size_t width) {
    return size_add(size_mul(2 * TILE + 1, width), 2 * TILE + 3 * SQUARE + 8);
}

static tile_room lay(void *room, size_t width) {
    double *at = room;
    tile_room r = {.unit = {at, at + TILE * width}};
    at += 2 * TILE * width;
    r.length[0] = at, r.length[1] = at + TILE;
    r.cosines = at + 2 * TILE;
    r.part = r.cosines + SQUARE, r.sum = r.part + SQUARE;
    r.turned = r.sum + SQUARE;
    r.fetch = r.turned + (width + 7) / 8 * 8;
    return r;
}

static side load(const la_view *view, size_t first, size_t count, tile_room *r,
                 int which) {
    size_t width = la_view_width(view);
    side s = {count, r->unit[which], r->length[which]};
    la_view_load(view, first, count, s.unit, NULL, r->fetch);
    for (size_t i = 0; i < count; i++) {
        double *row = s.unit + i * width, length = la_frobenius(row, width);
        s.length[i] = length;
        for (size_t k = 0; length > 0 && k < width; k++) row[k] /= length;
    }
    return s;
}

/* Returns 1 - cosine of nearly parallel unit rows x and y, or of x and -y if sign is -1.
 */
static double parallel(const double *x, const double *y, double sign, size_t width,
                       tile_room *r) {
    double square;
    const void *one = x, *other = y;
    if (sign < 0) {
        for (size_t k = 0; k < width; k++) r->turned[k] = -y[k];
        other = r->turned;
    }
    la_kernels_for(LA_F64)->sqdist(&one, 1, &other, 1, width, &square);
    return square / 2;
}

/* Computes the input of la_tangents() for a pair. sum is derived from part, because
 * rounding may lift `cosine` above 1. */
static void start(const double *x, const double *y, double cosine, size_t width,
                  tile_room *r, double *part, double *sum) {
    bool obtuse = cosine < 0;
    *part = 1 - fabs(cosine);
    if (*part < PARALLEL) *part = parallel(x, y, obtuse ? -1 : 1, width, r);
    *sum = obtuse ? *part - 1 : 1 - *part;
}

static void pointers(const side *s, size_t width, const void **out) {
    for (size_t i = 0; i < s->count; i++) out[i] = s->unit + i * width;
}

/* same: both sides are the same rows, so only one triangle is computed. */
static void fill(const side *a, const side *b, bool same, size_t width, size_t depth,
                 double *out, size_t stride, tile_room *r) {
    const void *x[TILE], *y[TILE];
    size_t pairs = 0;
    pointers(a, width, x);
    pointers(b, width, y);
    la_kernels_for(LA_F64)->dot(x, a->count, y, b->count, width, r->cosines);
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < (same ? i + 1 : b->count); j++, pairs++)
            start(x[i], y[j], r->cosines[i * b->count + j], width, r, r->part + pairs,
                  r->sum + pairs);
    la_tangents(r->part, r->sum, pairs, depth);
    pairs = 0;
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < (same ? i + 1 : b->count); j++) {
            out[i * stride + j] = a->length[i] * b->length[j] * r->sum[pairs++];
            if (same) out[j * stride + i] = out[i * stride + j];
        }
}

/* ---- kernels ----------------------------------------------------------------------- */

static void ntk_values(const void *self, const size_t *rows, size_t m,
                       const size_t *others, size_t k, double *out, size_t stride,
                       void *room) {
    const la_ntk *ntk = self;
    la_view view = *ntk->rows;
    size_t width = la_view_width(&view);
    tile_room r = lay(room, width);
    bool same = rows == others && m == k;
    view.rows = rows, view.m = m;
    side a = load(&view, 0, m, &r, 0), b = a;
    view.rows = others, view.m = k;
    if (!same) b = load(&view, 0, k, &r, 1);
    fill(&a, &b, same, width, ntk->depth, out, stride, &r);
}

void la_ntk_between(const la_ntk *a, size_t first, size_t m, const la_ntk *b, size_t from,
                    size_t k, double *out, size_t stride, void *room) {
    size_t width = la_view_width(a->rows);
    tile_room r = lay(room, width);
    side x = load(a->rows, first, m, &r, 0), y = load(b->rows, from, k, &r, 1);
    fill(&x, &y, false, width, a->depth, out, stride, &r);
}

size_t la_ntk_room(const la_ntk *a, const la_ntk *b) {
    la_view x = *a->rows, y = *b->rows;
    x.m = y.m = TILE;
    size_t own = size_mul(room_doubles(la_view_width(&x)), sizeof(double));
    return size_add(own, size_max(la_view_raw(&x), la_view_raw(&y)));
}

void la_kernel_of_ntk(const la_ntk *ntk, la_kernel *out) {
    *out = (la_kernel){.n = ntk->rows->h->n,
                       .values = ntk_values,
                       .room_bytes = la_ntk_room(ntk, ntk),
                       .self = ntk};
}
