/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk proceeds in rounds, so that all workers read the same stretch of the matrix and
 * cancel is polled often. A round has `parts` parts of `depth` consecutive blocks each; a
 * task is one part, or one stripe of a part's columns. A part adds to the same partial
 * sum in all rounds. Each stripe widens the same rows again, so stripes are used only if
 * partial sums are too large for many parts and multiplying costs far more than widening.
 * A walk without a sum is one round of as many parts as needed.
 */
#include "linalg/products.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "core/parfor.h"

enum {
    FETCH = 32,            /* rows converted at a time: they fit the first-level cache */
    TASKS = 32,            /* tasks per round of a sum, if the sizes allow */
    DEPTH = 16,            /* most blocks per task */
    TASK_WORK = 8 << 20,   /* minimum multiply-adds per task: a few 0.1 ms */
    SUM_BYTES = 32 << 20,  /* most bytes of partial sums besides the first */
    STRIPE = 128,          /* approximate minimum number of columns of a stripe */
    STRIPE_WORK = 16,      /* minimum multiply-adds per number widened */
    LINE = 64,             /* alignment of a worker's buffers in bytes */
    ALLOCATOR_SPARE = 256, /* overhead of arena and allocator per block */
};

/* ---- sizes ------------------------------------------------------------------------ */

static size_t over(size_t a, size_t b) { return a / b + (a % b != 0); }

static size_t lines(size_t bytes) { return size_add(bytes, LINE - 1) / LINE * LINE; }

static size_t doubles(size_t rows, size_t width) { /* bytes, in whole lines */
    return lines(size_mul(size_mul(rows, width), sizeof(double)));
}

scant_status la_fits(scant_ctx *ctx, size_t size) {
    if (size <= INT_MAX) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT,
                       "size %zu is too large for BLAS, expected at most %d", size,
                       INT_MAX);
}

/* ---- rows as doubles -------------------------------------------------------------- */

size_t la_view_width(const la_view *v) { return v->h->d + (v->bias != 0); }

size_t la_view_raw(const la_view *v) {
    size_t count = size_min(v->m, FETCH), h = la_rows_scratch(v->h, count);
    return v->a ? size_max(h, la_rows_scratch(v->a, count)) : h;
}

/* Vectorised by hand: compilers do not vectorise the plain loop at -O2. */
static void to_double(const float *x, size_t n, double *out) {
    typedef float f4 __attribute__((vector_size(16)));
    typedef double d4 __attribute__((vector_size(32)));
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        f4 four;
        memcpy(&four, x + k, sizeof four);
        d4 wide = __builtin_convertvector(four, d4);
        memcpy(out + k, &wide, sizeof wide);
    }
    for (; k < n; k++) out[k] = (double)x[k];
}

/* Converts rows at positions first.. of the view to doubles; rows of out are `width`
 * apart. */
static void widen(const la_view *v, const la_rows *matrix, size_t first, size_t count,
                  size_t width, double *out, void *raw) {
    for (size_t i = 0, run; i < count; i += run) {
        size_t row = v->rows ? v->rows[first + i] : first + i;
        size_t most = size_min(count - i, FETCH);
        for (run = 1; run < most; run++)
            if (v->rows && v->rows[first + i + run] != row + run) break;
        const void *from = la_rows_get(matrix, row, run, raw);
        if (matrix->type == LA_F64 && width == matrix->d) {
            memcpy(out + i * width, from, run * width * sizeof *out);
            continue;
        }
        for (size_t r = 0; r < run; r++) {
            double *to = out + (i + r) * width;
            size_t skip = r * matrix->d;
            if (matrix->type == LA_F64)
                memcpy(to, (const double *)from + skip, matrix->d * sizeof *to);
            else
                to_double((const float *)from + skip, matrix->d, to);
        }
    }
}

void la_view_load(const la_view *v, size_t first, size_t count, double *h, double *a,
                  void *raw) {
    size_t d = v->h->d, width = la_view_width(v);
    if (h) widen(v, v->h, first, count, width, h, raw);
    for (size_t i = 0; h && width > d && i < count; i++) h[i * width + d] = v->bias;
    if (a) widen(v, v->a, first, count, v->a->d, a, raw);
}

/* Returns the numbers of a for rows first.., in place or copied to room; NULL if the view
 * has no a. */
static const double *numbers(const la_view *v, size_t first, size_t count, double *room,
                             void *raw) {
    const la_rows *a = v->a;
    if (!a) return NULL;
    if (a->type == LA_F64 && a->base && !a->list && !v->rows)
        return la_rows_get(a, first, count, raw);
    la_view_load(v, first, count, NULL, room, raw);
    return room;
}

/* ---- the walk --------------------------------------------------------------------- */

typedef struct cut {
    size_t rows; /* rows per block */
    size_t blocks, depth, parts, stripes;
    size_t h, a, raw, room; /* bytes of a worker's buffers */
    size_t x;   /* bytes of the pointers to rows, if job->as_is; h then holds the rows
                 * that are not direct, in their own type */
    size_t sum; /* bytes of a partial sum */
    size_t memory;
} cut;

static cut cut_up(const la_view *v, const la_job *job, unsigned threads) {
    size_t width = la_view_width(v), classes = v->a ? v->a->d : 0;
    cut c = {.rows = size_min(v->m, LA_BLOCK), .stripes = 1};
    c.blocks = over(v->m, LA_BLOCK);
    c.depth = TASK_WORK / size_mul(LA_BLOCK, size_add(job->cost, 1));
    c.depth = size_max(1, size_min(c.depth, DEPTH));
    c.parts = size_max(1, over(c.blocks, c.depth));
    if (job->height) {
        c.sum = doubles(job->height, job->width);
        c.parts = size_min(size_min(c.parts, TASKS), 1 + SUM_BYTES / c.sum);
        size_t worth = size_mul(job->height, job->width) / (width + classes);
        c.stripes = size_min(over(TASKS, c.parts), over(job->width, STRIPE));
        c.stripes = size_max(1, size_min(c.stripes, worth / STRIPE_WORK));
        if (size_mul(v->m, job->cost) < TASK_WORK || job->whole) c.stripes = 1;
    }
    c.h =
        job->as_is ? lines(la_rows_point_scratch(v->h, c.rows)) : doubles(c.rows, width);
    c.x = job->as_is ? lines(c.rows * sizeof(void *)) : 0;
    c.a = doubles(c.rows, classes);
    c.raw = lines(la_view_raw(v));
    c.room = doubles(c.rows, job->room);
    size_t worker = size_add(size_add(c.h, c.a), size_add(c.raw, c.room));
    worker = size_add(worker, c.x);
    /* count every thread, even if there are fewer tasks, so that fewer rows never need
     * more memory */
    c.memory = size_mul(worker, threads);
    c.memory = size_add(c.memory, size_mul(c.parts - 1, c.sum));
    c.memory = size_add(c.memory, ALLOCATOR_SPARE);
    return c;
}

size_t la_walk_memory(const la_view *v, la_job job, unsigned threads) {
    return cut_up(v, &job, threads).memory;
}

scant_status la_work_init(la_work *work, scant__arena *arena, size_t memory) {
    *work = (la_work){.ctx = arena->ctx, .memory = memory};
    work->room = scant__arena_alloc(arena, memory - ALLOCATOR_SPARE, 1);
    return work->room ? SCANT_OK : SCANT_ENOMEM;
}

scant_status la_work_after(const la_work *work, size_t bytes, la_work *rest) {
    if (bytes > work->memory)
        return scant__fail(work->ctx, SCANT_EINTERNAL,
                           "a product needs %zu bytes of work space, got %zu", bytes,
                           work->memory);
    *rest = *work;
    rest->room += bytes, rest->memory -= bytes;
    return SCANT_OK;
}

typedef struct walk {
    const la_view *v;
    const la_job *job;
    cut c;
    double *sum; /* the first part's sum; in the end, the whole sum */
    /* the work space: the sums of the other parts, followed by the workers' buffers */
    unsigned char *others;
    size_t start; /* the round's first block */
} walk;

static double *part_sum(const walk *w, size_t part) {
    if (!part || !w->c.sum) return w->sum;
    return (double *)(void *)(w->others + (part - 1) * w->c.sum);
}

static scant_status walk_task(void *arg, size_t task, unsigned worker,
                              scant__fault *fault) {
    (void)fault;
    const walk *w = arg;
    const cut *c = &w->c;
    size_t part = task / c->stripes, stripe = task % c->stripes;
    size_t columns = over(over(w->job->width, c->stripes), 8) * 8;
    unsigned char *room = w->others + (c->parts - 1) * c->sum;
    room += worker * (c->h + c->a + c->raw + c->room + c->x);
    unsigned char *raw = room + c->h + c->a + c->room;
    la_block b = {.rows = w->v->rows,
                  .h = w->job->as_is ? NULL : (double *)(void *)room,
                  .x = (const void **)(void *)(raw + c->raw),
                  .room = (double *)(void *)(room + c->h + c->a),
                  .sum = part_sum(w, part),
                  .from = size_min(stripe * columns, w->job->width),
                  .to = size_min((stripe + 1) * columns, w->job->width)};
    size_t end = size_min(w->start + (part + 1) * c->depth, c->blocks);
    for (size_t i = w->start + part * c->depth; i < end; i++) {
        b.first = i * LA_BLOCK;
        b.count = size_min(w->v->m - b.first, LA_BLOCK);
        la_view_load(w->v, b.first, b.count, b.h, NULL, raw);
        b.a = numbers(w->v, b.first, b.count, (double *)(void *)(room + c->h), raw);
        if (!b.h) la_rows_point(w->v->h, w->v->rows, b.first, b.count, room, b.x);
        w->job->fn(w->job->arg, &b);
    }
    return SCANT_OK;
}

static scant_status walk_rounds(walk *w, la_work *work) {
    const cut *c = &w->c;
    size_t round = c->parts * c->depth;
    const char *inner = c->blocks <= round ? work->phase : NULL;
    for (; w->start < c->blocks; w->start += round) {
        size_t tasks = size_min(over(c->blocks - w->start, c->depth), c->parts);
        TRY((w->job->blas ? scant__blas_for : scant__parfor)(
            work->ctx, inner, tasks * c->stripes, walk_task, w));
        size_t done = size_min(w->start + round, c->blocks);
        if (!inner) TRY(scant__tick(work->ctx, work->phase, done, c->blocks));
    }
    return SCANT_OK;
}

scant_status la_walk(const la_view *v, la_job job, double *sum, la_work *work) {
    walk w = {.v = v, .job = &job, .sum = sum, .others = work->room};
    la_work rest;
    TRY(la_fits(work->ctx, la_view_width(v)));
    if (v->a) TRY(la_fits(work->ctx, v->a->d));
    w.c = cut_up(v, &job, work->ctx->threads);
    TRY(la_work_after(work, w.c.memory, &rest)); /* checks the size */
    size_t size = job.height * job.width;
    for (size_t p = 0; size && p < w.c.parts; p++)
        memset(part_sum(&w, p), 0, size * sizeof *sum);
    TRY(walk_rounds(&w, work));
    for (size_t p = 1; size && p < w.c.parts; p++) {
        const double *part = part_sum(&w, p);
        for (size_t k = 0; k < size; k++) sum[k] += part[k];
    }
    return SCANT_OK;
}

/* ---- BLAS ------------------------------------------------------------------------- */

void la_nn(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
           size_t ldb, double *c, size_t ldc) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a,
                (int)lda, b, (int)ldb, 0, c, (int)ldc);
}

void la_nt(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
           size_t ldb, double *c, size_t ldc) {
    if (n == 1) { /* dgemv does not pack: half the time */
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)m, (int)k, 1, a, (int)lda, b, 1, 0,
                    c, (int)ldc);
        return;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1, a,
                (int)lda, b, (int)ldb, 0, c, (int)ldc);
}

void la_tn_add(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
               size_t ldb, double *c, size_t ldc) {
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a,
                (int)lda, b, (int)ldb, 1, c, (int)ldc);
}

/* ---- products --------------------------------------------------------------------- */

typedef struct product {
    size_t width;    /* d+ */
    const double *w; /* weights, or NULL */
    const double *b; /* la_times(): (d+, k) */
    size_t k;
    double *out;
} product;

/* Adds to the stripe's columns of the upper triangle. */
static void gram_block(void *arg, const la_block *b) {
    const product *p = arg;
    size_t width = p->width, columns = b->to - b->from;
    for (size_t i = 0; p->w && i < b->count; i++) {
        double weight = p->w[la_block_row(b, i)], root = sqrt(weight);
        assert(weight >= 0);
        for (size_t k = 0; k < b->to; k++) b->h[i * width + k] *= root;
    }
    const double *h = b->h + b->from;
    if (!columns) return;
    la_tn_add(b->from, columns, b->count, b->h, width, h, width, b->sum + b->from, width);
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)columns, (int)b->count, 1, h,
                (int)width, 1, b->sum + b->from * width + b->from, (int)width);
}

static la_job gram_job(const la_view *v, product *p) {
    size_t width = la_view_width(v);
    return (la_job){.fn = gram_block,
                    .arg = p,
                    .cost = size_mul(width, width) / 2,
                    .height = width,
                    .width = width,
                    .blas = true};
}

size_t la_gram_memory(const la_view *v, unsigned threads) {
    return la_walk_memory(v, gram_job(v, NULL), threads);
}

scant_status la_gram(const la_view *v, const double *w, double *out, la_work *work) {
    product p = {.width = la_view_width(v), .w = w};
    TRY(la_walk(v, gram_job(v, &p), out, work));
    for (size_t i = 0; i < p.width; i++)
        for (size_t j = 0; j < i; j++) out[i * p.width + j] = out[j * p.width + i];
    return SCANT_OK;
}

static void sums_block(void *arg, const la_block *b) {
    const product *p = arg;
    for (size_t i = 0; i < b->count; i++) {
        double weight = p->w ? p->w[la_block_row(b, i)] : 1;
        const double *h = b->h + i * p->width;
        for (size_t k = b->from; k < b->to; k++) b->sum[k] += weight * h[k];
    }
}

static la_job sums_job(const la_view *v, product *p) {
    size_t width = la_view_width(v);
    return (la_job){
        .fn = sums_block, .arg = p, .cost = width, .height = 1, .width = width};
}

size_t la_sums_memory(const la_view *v, unsigned threads) {
    return la_walk_memory(v, sums_job(v, NULL), threads);
}

scant_status la_sums(const la_view *v, const double *w, double *out, la_work *work) {
    product p = {.width = la_view_width(v), .w = w};
    return la_walk(v, sums_job(v, &p), out, work);
}

static void times_block(void *arg, const la_block *b) {
    const product *p = arg;
    la_nn(b->count, p->k, p->width, b->h, p->width, p->b, p->k, p->out + b->first * p->k,
          p->k);
}

static la_job times_job(const la_view *v, size_t k, product *p) {
    return (la_job){
        .fn = times_block, .arg = p, .cost = size_mul(la_view_width(v), k), .blas = true};
}

size_t la_times_memory(const la_view *v, size_t k, unsigned threads) {
    return la_walk_memory(v, times_job(v, k, NULL), threads);
}

scant_status la_times(const la_view *v, const double *b, size_t k, double *out,
                      la_work *work) {
    product p = {.width = la_view_width(v), .b = b, .k = k, .out = out};
    TRY(la_fits(work->ctx, k));
    return la_walk(v, times_job(v, k, &p), NULL, work);
}
