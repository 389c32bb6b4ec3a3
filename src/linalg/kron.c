/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/kron.h"

typedef struct kron {
    size_t width, classes; /* d+, C */
    const double *w;       /* of a sum; NULL: ones */
    const double *r;       /* (C, d+) of dots */
    const double *oh, *oa; /* (others, d+), (others, C) of pairs */
    size_t others;
    double *out;
    size_t apart; /* numbers from one row of out to the next */
} kron;

static kron kron_of(const la_view *v) {
    return (kron){.width = la_view_width(v), .classes = v->a ? v->a->d : 0};
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
    la_job job = norms_job(v, NULL);
    return la_walk_memory(v, &job, threads);
}

scant_status la_kron_norms(const la_view *v, double *out, la_work *work) {
    kron k = kron_of(v);
    k.out = out;
    la_job job = norms_job(v, &k);
    return la_walk(v, &job, NULL, work);
}

/* ---- pairs ------------------------------------------------------------------------ */

static void pairs_block(void *arg, const la_block *b) {
    const kron *k = arg;
    double *out = k->out + b->first * k->apart;
    la_nt(b->count, k->others, k->width, b->h, k->width, k->oh, k->width, out, k->apart);
    if (!b->a) return;
    la_nt(b->count, k->others, k->classes, b->a, k->classes, k->oa, k->classes, b->room,
          k->others);
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < k->others; j++)
            out[i * k->apart + j] *= b->room[i * k->others + j];
}

/* A block of others, shared by all workers. */
typedef struct guests {
    la_view view;
    size_t rows, h, a; /* at a time; bytes of their pieces */
    size_t memory;
} guests;

static guests guests_of(const la_view *v, const size_t *others, size_t count) {
    guests g = {.view = *v, .rows = count < LA_BLOCK ? count : LA_BLOCK};
    g.view.rows = others;
    g.view.m = count;
    g.h = la_size_mul(g.rows, la_size_mul(la_view_width(v), sizeof(double)));
    g.a = v->a ? la_size_mul(g.rows, la_size_mul(v->a->d, sizeof(double))) : 0;
    g.memory = la_size_add(la_size_add(g.h, g.a), la_view_raw(&g.view));
    g.memory = la_size_add(g.memory, 63) / 64 * 64; /* what follows stays aligned */
    return g;
}

static la_job pairs_job(const la_view *v, size_t others, kron *k) {
    size_t width = la_view_width(v) + (v->a ? v->a->d : 0);
    size_t at_once = others < LA_BLOCK ? others : LA_BLOCK;
    return (la_job){.fn = pairs_block,
                    .arg = k,
                    .room = v->a ? at_once : 0,
                    .cost = la_size_mul(width, at_once)};
}

size_t la_kron_pairs_memory(const la_view *v, size_t k, unsigned threads) {
    la_job job = pairs_job(v, k, NULL);
    return la_size_add(guests_of(v, NULL, k).memory, la_walk_memory(v, &job, threads));
}

scant_status la_kron_pairs(const la_view *v, const size_t *others, size_t count,
                           double *out, la_work *work) {
    kron k = kron_of(v);
    la_job job = pairs_job(v, count, &k);
    guests g = guests_of(v, others, count);
    TRY(la_fits(work->ctx, count));
    if (g.memory > work->memory)
        return scant__fail(work->ctx, SCANT_EINTERNAL,
                           "pairs need %zu bytes and were planned with %zu", g.memory,
                           work->memory);
    la_work rest = {.ctx = work->ctx,
                    .phase = work->phase,
                    .room = work->room + g.memory,
                    .memory = work->memory - g.memory};
    double *h = (double *)(void *)work->room;
    double *a = v->a ? (double *)(void *)(work->room + g.h) : NULL;
    k.oh = h, k.oa = a, k.apart = count;
    for (size_t j = 0; j < count; j += g.rows) {
        k.others = count - j < g.rows ? count - j : g.rows;
        k.out = out + j;
        la_view_load(&g.view, j, k.others, h, a, work->room + g.h + g.a);
        TRY(la_walk(v, &job, NULL, &rest));
    }
    return SCANT_OK;
}

/* ---- sums ------------------------------------------------------------------------- */

static void sum_block(void *arg, const la_block *b) {
    const kron *k = arg;
    for (size_t i = 0; k->w && i < b->count; i++) {
        double weight = k->w[la_block_row(b, i)];
        for (size_t c = 0; c < k->classes; c++) b->a[i * k->classes + c] *= weight;
    }
    if (b->from < b->to)
        la_tn_add(k->classes, b->to - b->from, b->count, b->a, k->classes, b->h + b->from,
                  k->width, b->sum + b->from, k->width);
}

static la_job sum_job(const la_view *v, kron *k) {
    size_t width = la_view_width(v);
    return (la_job){.fn = sum_block,
                    .arg = k,
                    .cost = la_size_mul(v->a->d, width),
                    .height = v->a->d,
                    .width = width};
}

size_t la_kron_sum_memory(const la_view *v, unsigned threads) {
    la_job job = sum_job(v, NULL);
    return la_walk_memory(v, &job, threads);
}

scant_status la_kron_sum(const la_view *v, const double *w, double *out, la_work *work) {
    kron k = kron_of(v);
    k.w = w;
    la_job job = sum_job(v, &k);
    return la_walk(v, &job, out, work);
}

/* ---- dots ------------------------------------------------------------------------- */

/* By the kernel whose values do not depend on where a row stands in a block: rows that
 * are equal get values that are. */
static void dots_block(void *arg, const la_block *b) {
    enum { ROWS = 16, CLASSES = 12 };
    const kron *k = arg;
    const void *h[ROWS], *r[CLASSES];
    double pairs[ROWS * CLASSES], *out = k->out + b->first;
    size_t height = b->a ? k->classes : 1;
    for (size_t i = 0; i < b->count; i += ROWS) {
        size_t rows = b->count - i < ROWS ? b->count - i : ROWS;
        for (size_t j = 0; j < rows; j++)
            h[j] = b->h + (i + j) * k->width, out[i + j] = 0;
        for (size_t c = 0; c < height; c += CLASSES) {
            size_t count = height - c < CLASSES ? height - c : CLASSES;
            for (size_t j = 0; j < count; j++) r[j] = k->r + (c + j) * k->width;
            la_kernels_for(LA_F64)->dot(h, rows, r, count, k->width, pairs);
            for (size_t j = 0; j < rows; j++)
                for (size_t l = 0; l < count; l++) {
                    double a = b->a ? b->a[(i + j) * k->classes + c + l] : 1;
                    out[i + j] += a * pairs[j * count + l];
                }
        }
    }
}

static la_job dots_job(const la_view *v, kron *k) {
    return (la_job){.fn = dots_block,
                    .arg = k,
                    .cost = la_size_mul(v->a ? v->a->d : 1, la_view_width(v))};
}

size_t la_kron_dots_memory(const la_view *v, unsigned threads) {
    la_job job = dots_job(v, NULL);
    return la_walk_memory(v, &job, threads);
}

scant_status la_kron_dots(const la_view *v, const double *r, double *out, la_work *work) {
    kron k = kron_of(v);
    k.r = r, k.out = out;
    la_job job = dots_job(v, &k);
    return la_walk(v, &job, NULL, work);
}
