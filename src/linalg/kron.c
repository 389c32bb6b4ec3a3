/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/kron.h"

#include <assert.h>
#include <string.h>

typedef struct kron {
    const la_view *v;
    size_t width, classes; /* d+, C */
    const double *w;       /* sum: weights w (NULL means ones); along: t; gradient: x */
    const double *panel;   /* dots, gradient: the matrix R; along: the others' rows */
    double scale, by;      /* gradient: coefficients */
    const double *oh, *oa; /* the others' rows: (others, d+), (others, C) */
    size_t others;
    double *out;
    size_t stride; /* numbers from one row of out to the next */
} kron;

static size_t classes_of(const la_view *v) { return v->a ? v->a->d : 1; }

static kron kron_of(const la_view *v) {
    return (kron){.v = v, .width = la_view_width(v), .classes = classes_of(v)};
}

/* Returns the rows' factors a, or ones if the view has no a. The ones are written to the
 * worker's buffer, after its first `before` numbers per row. */
static const double *factors(const la_block *b, size_t before) {
    double *ones = b->room + before * b->count;
    if (b->a) return b->a;
    for (size_t i = 0; i < b->count; i++) ones[i] = 1;
    return ones;
}

/* ---- norms ------------------------------------------------------------------------ */

static void norms_block(void *arg, const la_block *b) {
    const kron *k = arg;
    const la_kernels *f64 = la_kernels_for(LA_F64);
    double *out = k->out + b->first;
    f64->sumsq(b->h, b->count, k->width, out);
    if (!b->a) return;
    f64->sumsq(b->a, b->count, k->classes, b->room);
    for (size_t i = 0; i < b->count; i++) out[i] *= b->room[i];
}

static la_job norms_job(const la_view *v, kron *k) {
    size_t cost = la_view_width(v) + (v->a ? v->a->d : 0);
    return (la_job){.fn = norms_block, .arg = k, .room = 1, .cost = cost};
}

size_t la_kron_norms_memory(const la_view *v, unsigned threads) {
    return la_walk_memory(v, norms_job(v, NULL), threads);
}

scant_status la_kron_norms(const la_view *v, double *out, la_work *work) {
    kron k = kron_of(v);
    k.out = out;
    return la_walk(v, norms_job(v, &k), NULL, work);
}

/* ---- pairs ------------------------------------------------------------------------ */

static void pairs_block(void *arg, const la_block *b) {
    const kron *k = arg;
    double *out = k->out + b->first * k->stride;
    la_nt(b->count, k->others, k->width, b->h, k->width, k->oh, k->width, out, k->stride);
    if (!b->a) return;
    la_nt(b->count, k->others, k->classes, b->a, k->classes, k->oa, k->classes, b->room,
          k->others);
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < k->others; j++)
            out[i * k->stride + j] *= b->room[i * k->others + j];
}

/* A block of `others`, shared by all workers. */
typedef struct guests {
    la_view view;
    size_t rows; /* rows at a time */
    size_t h, a; /* bytes of their buffers */
    size_t memory;
} guests;

static guests guests_of(const la_view *v, const size_t *others, size_t count) {
    guests g = {.view = *v, .rows = count < LA_BLOCK ? count : LA_BLOCK};
    g.view.rows = others;
    g.view.m = count;
    g.h = size_mul(g.rows, size_mul(la_view_width(v), sizeof(double)));
    g.a = v->a ? size_mul(g.rows, size_mul(v->a->d, sizeof(double))) : 0;
    g.memory = size_add(size_add(g.h, g.a), la_view_raw(&g.view));
    g.memory = size_add(g.memory, 63) / 64 * 64; /* keeps what follows aligned */
    return g;
}

static la_job pairs_job(const la_view *v, size_t others, kron *k) {
    size_t width = la_view_width(v) + (v->a ? v->a->d : 0);
    size_t at_once = others < LA_BLOCK ? others : LA_BLOCK;
    return (la_job){.fn = pairs_block,
                    .arg = k,
                    .room = v->a ? at_once : 0,
                    .cost = size_mul(width, at_once),
                    .blas = true};
}

size_t la_kron_pairs_memory(const la_view *v, size_t k, unsigned threads) {
    return size_add(guests_of(v, NULL, k).memory,
                    la_walk_memory(v, pairs_job(v, k, NULL), threads));
}

scant_status la_kron_pairs(const la_view *v, const size_t *others, size_t count,
                           double *out, la_work *work) {
    kron k = kron_of(v);
    guests g = guests_of(v, others, count);
    TRY(la_fits(work->ctx, count));
    la_work rest;
    TRY(la_work_after(work, g.memory, &rest));
    double *h = (double *)(void *)work->room;
    double *a = v->a ? (double *)(void *)(work->room + g.h) : NULL;
    k.oh = h, k.oa = a, k.stride = count;
    for (size_t j = 0; j < count; j += g.rows) {
        k.others = count - j < g.rows ? count - j : g.rows;
        k.out = out + j;
        la_view_load(&g.view, j, k.others, h, a, work->room + g.h + g.a);
        TRY(la_walk(v, pairs_job(v, count, &k), NULL, &rest));
    }
    return SCANT_OK;
}

/* ---- sums ------------------------------------------------------------------------- */

/* Adds the sum of s_j g_(i+j), over `count` rows from row i on, to columns from..to-1 of
 * b->sum. Changes the pointers b->x to these rows. */
static void add_rows(const kron *k, const la_block *b, size_t i, size_t count,
                     const double *a, const double *s) {
    size_t d = k->v->h->d, end = b->to < d ? b->to : d,
           from = b->from < end ? b->from : end;
    const la_kernels *kernels = la_kernels_for(k->v->h->type);
    for (size_t j = i; from && j < i + count; j++)
        b->x[j] = (const unsigned char *)b->x[j] + from * kernels->size;
    kernels->kron_add(b->x + i, count, end - from, a + i * k->classes, k->classes, s,
                      b->to > d ? k->v->bias : 0, b->sum + from, k->width);
}

static void sum_block(void *arg, const la_block *b) {
    const kron *k = arg;
    for (size_t i = 0; i < b->count; i++)
        b->room[i] = k->w ? k->w[la_block_row(b, i)] : 1;
    if (b->from < b->to) add_rows(k, b, 0, b->count, factors(b, 1), b->room);
}

static la_job sum_job(const la_view *v, kron *k) {
    size_t width = la_view_width(v);
    return (la_job){.fn = sum_block,
                    .arg = k,
                    .room = 2,
                    .cost = size_mul(classes_of(v), width),
                    .height = classes_of(v),
                    .width = width,
                    .as_is = true};
}

size_t la_kron_sum_memory(const la_view *v, unsigned threads) {
    return la_walk_memory(v, sum_job(v, NULL), threads);
}

scant_status la_kron_sum(const la_view *v, const double *w, double *out, la_work *work) {
    kron k = kron_of(v);
    k.w = w;
    return la_walk(v, sum_job(v, &k), out, work);
}

/* ---- dots ------------------------------------------------------------------------- */

/* Bytes of R in the kernels' layout, the first part of the work space; the walk uses the
 * rest. */
static size_t panel_memory(const la_view *v, size_t classes) {
    size_t pitch = size_mul(la_panel_pitch(v->h->d), sizeof(double));
    return size_add(size_mul(classes, pitch), 63) / 64 * 64;
}

static scant_status panel_pack(kron *k, const double *r, la_work *work, la_work *rest) {
    size_t d = k->v->h->d, pitch = la_panel_pitch(d),
           bytes = panel_memory(k->v, k->classes);
    TRY(la_work_after(work, bytes, rest));
    double *panel = (double *)(void *)work->room;
    for (size_t c = 0; c < k->classes; c++) {
        double *to = panel + c * pitch;
        const double *from = r + c * k->width;
        memset(to, 0, pitch * sizeof *to);
        memcpy(to + LA_PANEL_START, from, d * sizeof *to);
        if (k->width > d) to[0] = from[d] * k->v->bias;
    }
    k->panel = panel;
    return SCANT_OK;
}

static void dots_block(void *arg, const la_block *b) {
    const kron *k = arg;
    la_kernels_for(k->v->h->type)
        ->kron_dot(b->x, b->count, k->v->h->d, factors(b, 0), k->classes, k->panel,
                   k->out + b->first);
}

static la_job dots_job(const la_view *v, kron *k) {
    return (la_job){.fn = dots_block,
                    .arg = k,
                    .room = 1,
                    .cost = size_mul(classes_of(v), la_view_width(v)),
                    .as_is = true};
}

size_t la_kron_dots_memory(const la_view *v, unsigned threads) {
    return size_add(panel_memory(v, classes_of(v)),
                    la_walk_memory(v, dots_job(v, NULL), threads));
}

scant_status la_kron_dots(const la_view *v, const double *r, double *out, la_work *work) {
    kron k = kron_of(v);
    la_work rest;
    k.out = out;
    TRY(panel_pack(&k, r, work, &rest));
    return la_walk(v, dots_job(v, &k), NULL, &rest);
}

/* ---- dots with a sum of a few rows ------------------------------------------------ */

/* The panel holds the others' rows of H, one row in place of each class. */
static void along_block(void *arg, const la_block *b) {
    enum { ROWS = 32 };
    const kron *k = arg;
    const void *own[ROWS], *other[LA_BLOCK];
    double *factor = b->room;
    for (size_t j = 0; k->oa && j < k->others; j++) other[j] = k->oa + j * k->classes;
    for (size_t i = 0; i < b->count; i += ROWS) {
        size_t rows = b->count - i < ROWS ? b->count - i : ROWS;
        double *z = factor + i * k->others;
        for (size_t r = 0; b->a && r < rows; r++) own[r] = b->a + (i + r) * k->classes;
        if (b->a) la_kernels_for(LA_F64)->dot(own, rows, other, k->others, k->classes, z);
        for (size_t r = 0; r < rows * k->others; r++)
            z[r] = k->w[r % k->others] * (b->a ? z[r] : 1);
    }
    la_kernels_for(k->v->h->type)
        ->kron_dot(b->x, b->count, k->v->h->d, factor, k->others, k->panel,
                   k->out + b->first);
}

static la_job along_job(const la_view *v, size_t others, kron *k) {
    size_t width = size_add(la_view_width(v), v->a ? v->a->d : 0);
    return (la_job){.fn = along_block,
                    .arg = k,
                    .room = others,
                    .cost = size_mul(width, others),
                    .as_is = true};
}

size_t la_kron_along_memory(const la_view *v, size_t k, unsigned threads) {
    size_t own = size_add(guests_of(v, NULL, k).memory, panel_memory(v, k));
    return size_add(own, la_walk_memory(v, along_job(v, k, NULL), threads));
}

scant_status la_kron_along(const la_view *v, const size_t *others, size_t count,
                           const double *t, double *out, la_work *work) {
    kron k = kron_of(v);
    guests g = guests_of(v, others, count);
    size_t own = size_add(g.memory, panel_memory(v, count));
    size_t d = v->h->d, pitch = la_panel_pitch(d);
    assert(count <= LA_BLOCK);
    la_work rest;
    TRY(la_work_after(work, own, &rest));
    double *h = (double *)(void *)work->room;
    double *a = v->a ? (double *)(void *)(work->room + g.h) : NULL;
    double *panel = (double *)(void *)(work->room + g.memory);
    la_view_load(&g.view, 0, count, h, a, work->room + g.h + g.a);
    for (size_t j = 0; j < count; j++) {
        memset(panel + j * pitch, 0, pitch * sizeof *panel);
        memcpy(panel + j * pitch + LA_PANEL_START, h + j * k.width, d * sizeof *panel);
        panel[j * pitch] = v->bias * v->bias;
    }
    k.w = t, k.oa = a, k.panel = panel, k.others = count, k.out = out;
    return la_walk(v, along_job(v, count, &k), NULL, &rest);
}

/* ---- gradients -------------------------------------------------------------------- */

/* Processes a few rows at a time, so that they are still in cache when they are summed.
 * Their number depends on the row length alone, not on the type. */
static void gradient_block(void *arg, const la_block *b) {
    enum { NEAR = 1 << 15, LEAST = 8 };
    const kron *k = arg;
    const la_kernels *kernels = la_kernels_for(k->v->h->type);
    const double *a = factors(b, 0);
    size_t step = NEAR / k->v->h->d / 4 * 4;
    step = step < LEAST ? LEAST : step;
    for (size_t i = 0, count; i < b->count; i += count) {
        double *out = k->out + b->first + i;
        count = b->count - i < step ? b->count - i : step;
        kernels->kron_dot(b->x + i, count, k->v->h->d, a + i * k->classes, k->classes,
                          k->panel, out);
        for (size_t j = 0; j < count; j++)
            out[j] = k->scale * out[j] + k->by * k->w[b->first + i + j];
        add_rows(k, b, i, count, a, out);
    }
}

static la_job gradient_job(const la_view *v, kron *k) {
    size_t width = la_view_width(v);
    return (la_job){.fn = gradient_block,
                    .arg = k,
                    .room = 1,
                    .cost = size_mul(size_mul(classes_of(v), width), 2),
                    .height = classes_of(v),
                    .width = width,
                    .as_is = true,
                    .whole = true};
}

size_t la_kron_gradient_memory(const la_view *v, unsigned threads) {
    return size_add(panel_memory(v, classes_of(v)),
                    la_walk_memory(v, gradient_job(v, NULL), threads));
}

scant_status la_kron_gradient(const la_view *v, const double *r, double scale,
                              const double *x, double by, double *out, double *sum,
                              la_work *work) {
    kron k = kron_of(v);
    la_work rest;
    k.out = out, k.scale = scale, k.by = by, k.w = x;
    TRY(panel_pack(&k, r, work, &rest));
    return la_walk(v, gradient_job(v, &k), sum, &rest);
}
