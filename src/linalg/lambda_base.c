/* SPDX-License-Identifier: Apache-2.0
 *
 * Work done once for all sets: the base's matrix, its eigenvectors, and the cached open
 * rows in that basis.
 */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "linalg/dense.h"
#include "linalg/lambda_int.h"

enum { ALONE = 192 }; /* fewer rows are processed on one thread */

static size_t cost(size_t rows, size_t width) {
    return scant__alloc_cost(size_mul(size_mul(rows, width), sizeof(double)));
}

static double *matrix(scant__arena *arena, size_t rows, size_t width) {
    return scant__arena_alloc(arena, size_add(size_mul(rows, width), 1), sizeof(double));
}

/* ---- K of a list of rows ----------------------------------------------------------- */

typedef struct gram_job {
    const la_kernel *kernel;
    const size_t *rows;
    size_t n;
    double *out;  /* (n, n): the lower triangle, and the rest of its tiles */
    size_t block; /* rows per task: whole tiles */
    unsigned char *rooms;
    size_t room_size;
} gram_job;

static size_t room_size(const la_kernel *kernel) {
    return size_add(lambda_fetch_bytes(kernel), 63) / 64 * 64;
}

static scant_status gram_rows(void *arg, size_t block, unsigned worker,
                              scant__fault *fault) {
    const gram_job *job = arg;
    size_t first = block * job->block, rest = job->n - first;
    size_t count = rest < job->block ? rest : job->block;
    (void)fault;
    lambda_kernel_block(job->kernel, job->rows + first, count, job->rows, first + count,
                        job->out + first * job->n, job->n,
                        job->rooms + worker * job->room_size);
    return SCANT_OK;
}

scant_status la_kernel_gram(const la_kernel *kernel, const size_t *rows, size_t n,
                            double *out, scant__arena *room) {
    gram_job job = {.kernel = kernel, .rows = rows, .n = n, .out = out};
    job.room_size = room_size(kernel);
    job.rooms = scant__arena_alloc(room, room->ctx->threads, job.room_size);
    if (!job.rooms) return SCANT_ENOMEM;
    job.block = n < ALONE ? ALONE : LA_KERNEL_TILE;
    size_t blocks = (n + job.block - 1) / job.block;
    return scant__blas_for(room->ctx, NULL, blocks, gram_rows, &job);
}

size_t la_kernel_gram_memory(const la_kernel *kernel, unsigned threads) {
    return scant__alloc_cost(size_mul(threads, room_size(kernel)));
}

/* ---- rows that depend on earlier ones ---------------------------------------------- */

typedef struct sieve {
    size_t n, kept;
    size_t *rows;
    size_t *places; /* (n): indices of the kept rows in k */
    double *k;      /* (n, n): kernel values */
    double *l;      /* (n, n): Cholesky factor of the kept rows */
} sieve;

/* Returns whether one factorization of all rows proves that all are independent. */
static bool all_stay(const sieve *s, double least) {
    memcpy(s->l, s->k, s->n * s->n * sizeof(double));
    if (!la_cholesky(s->n, s->l, s->n)) return false;
    for (size_t i = 0; i < s->n; i++) {
        double pivot = s->l[i * s->n + i];
        if (pivot * pivot <= least) return false;
    }
    return true;
}

/* Factorizes row by row and skips dependent rows. */
static scant_status sieve_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    sieve *s = arg;
    size_t n = s->n, kept = 0;
    double top = 0;
    (void)block, (void)worker, (void)fault;
    for (size_t i = 0; i < n; i++) top = fmax(top, s->k[i * n + i]);
    double least = LA_LAMBDA_DEPENDENT * top;
    s->kept = n;
    if (all_stay(s, least)) return SCANT_OK;
    for (size_t i = 0; i < n; i++) {
        double *z = s->l + kept * n, rest = s->k[i * n + i];
        for (size_t j = 0; j < kept; j++) z[j] = s->k[i * n + s->places[j]];
        if (kept)
            cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)kept,
                        s->l, (int)n, z, 1);
        for (size_t j = 0; j < kept; j++) rest -= z[j] * z[j];
        if (rest <= least) continue;
        z[kept] = sqrt(rest);
        s->places[kept++] = i;
    }
    for (size_t j = 0; j < kept; j++) s->rows[j] = s->rows[s->places[j]];
    s->kept = kept;
    return SCANT_OK;
}

scant_status lambda_independent(const la_kernel *kernel, scant_ctx *ctx, size_t *rows,
                                size_t *count) {
    AUTO(scant__arena_end) scant__arena room = {.ctx = ctx};
    sieve s = {.n = *count, .rows = rows};
    if (!s.n) return SCANT_OK;
    TRY(la_fits(ctx, s.n));
    s.k = matrix(&room, s.n, s.n);
    s.l = matrix(&room, s.n, s.n);
    if (!s.k || !s.l) return SCANT_ENOMEM;
    s.places = TRY_NEW(&room, size_t, s.n);
    TRY(la_kernel_gram(kernel, rows, s.n, s.k, &room));
    TRY(scant__blas_for(ctx, NULL, 1, sieve_block, &s));
    *count = s.kept;
    return SCANT_OK;
}

size_t lambda_independent_memory(const la_kernel *kernel, size_t count,
                                 unsigned threads) {
    enum { SPARE = 2048 };
    size_t all = size_mul(2, cost(count, size_add(count, 1)));
    all = size_add(all, size_add(cost(count, 1), SPARE));
    return size_add(all, la_kernel_gram_memory(kernel, threads));
}

/* ---- the base ---------------------------------------------------------------------- */

typedef struct base_job {
    la_lambda *e;
    double *k;    /* (size, size): K, or Z^T Z; then its eigenvectors, by rows */
    double *wide; /* (raw, raw): H+^T H+ if dual, else the base's rows */
    double *half; /* (raw, size) */
    double *room; /* work space of the eigenvectors */
    void *fetch;
} base_job;

static la_view view_of(const la_kernel *kernel, const size_t *rows, size_t m) {
    la_view view = *kernel->features;
    view.rows = rows;
    view.m = m;
    return view;
}

/* Work space for the base or for the cached open rows, whichever is larger. */
static size_t work_memory(const la_lambda_task *t, const lambda_shape *s,
                          unsigned threads) {
    if (!t->kernel->features) return 0;
    la_view base = view_of(t->kernel, t->base, t->n_base);
    la_view open = view_of(t->kernel, t->open, t->n_open);
    size_t times = la_times_memory(&open, s->size, threads);
    size_t sums = t->dual ? la_gram_memory(&base, threads) : 0;
    return size_add(1, sums > times ? sums : times);
}

size_t lambda_base_memory(const la_lambda_task *t, const lambda_shape *s,
                          unsigned threads) {
    size_t size = s->size, raw = s->raw;
    size_t kept = size_add(cost(size, 1), cost(raw, size_add(size, 1))); /* raw >= size */
    size_t squares = size_add(cost(raw, size_add(raw, 1)), cost(size, size_add(size, 1)));
    size_t rooms = size_add(cost(la_eigh_room(size, true), 1),
                            scant__alloc_cost(lambda_fetch_bytes(t->kernel)));
    size_t all =
        size_add(size_add(kept, squares), size_add(rooms, cost(raw, size_add(size, 1))));
    return size_add(all, size_add(la_kernel_gram_memory(t->kernel, threads),
                                  work_memory(t, s, threads)));
}

/* turn (raw, size) = the transpose of rows (size, raw) */
static void transpose(const double *rows, size_t size, size_t raw, double *turn) {
    for (size_t i = 0; i < raw; i++)
        for (size_t k = 0; k < size; k++) turn[i * size + k] = rows[k * raw + i];
}

static scant_status no_eigenvectors(scant__fault *fault, size_t size) {
    return scant__fault_set(fault, SCANT_EINTERNAL,
                            "the eigenvectors of a matrix of %zu rows did not converge",
                            size);
}

/* Computes turn, which maps loaded rows to Y = K_XL U^T, with U the eigenvectors of the
 * base L, by rows. turn is U^T; with features, where H_X is loaded, it is (U H_L)^T. */
static scant_status schur_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    base_job *job = arg;
    la_lambda *e = job->e;
    size_t size = e->shape.size, raw = e->shape.raw;
    (void)block, (void)worker;
    if (!la_eigh(size, job->k, true, e->base, job->room))
        return no_eigenvectors(fault, size);
    e->top = e->base[size - 1];
    if (!e->task.kernel->features) {
        transpose(job->k, size, size, e->turn);
        return SCANT_OK;
    }
    la_view base = view_of(e->task.kernel, e->task.base, size);
    la_view_load(&base, 0, size, job->wide, NULL, job->fetch);
    la_nn(size, raw, size, job->k, size, job->wide, raw, job->half, raw);
    transpose(job->half, size, raw, e->turn);
    return SCANT_OK;
}

/* k (r, r) = V^T (H+^T H+) V, where h+ V are the span's coordinates of a row h+ */
static void into_span(const base_job *job, double *k) {
    const la_span *span = job->e->task.span;
    size_t raw = span->width, size = span->rank;
    if (span->basis) {
        la_nn(raw, size, raw, job->wide, raw, span->basis, size, job->half, size);
        memset(k, 0, size * size * sizeof(double));
        la_tn_add(size, size, raw, span->basis, size, job->half, size, k, size);
        return;
    }
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) {
            size_t row = span->columns ? span->columns[i] : i;
            k[i * size + j] =
                job->wide[row * raw + (span->columns ? span->columns[j] : j)];
        }
}

static scant_status direct_block(void *arg, size_t block, unsigned worker,
                                 scant__fault *fault) {
    const base_job *job = arg;
    la_lambda *e = job->e;
    size_t size = e->shape.size;
    (void)block, (void)worker, (void)fault;
    into_span(job, e->matrix);
    for (size_t k = 0; k < size; k++) e->top = fmax(e->top, e->matrix[k * size + k]);
    return SCANT_OK;
}

/* Computes turn = V U^T, which maps a row h+ to Y, with U the eigenvectors by rows. */
static scant_status split_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    const base_job *job = arg;
    la_lambda *e = job->e;
    const la_span *span = e->task.span;
    size_t size = e->shape.size, raw = e->shape.raw;
    (void)block, (void)worker;
    into_span(job, job->k);
    if (!la_eigh(size, job->k, true, e->base, job->room))
        return no_eigenvectors(fault, size);
    e->top = fmax(0, e->base[size - 1]);
    if (span->basis) {
        la_nt(raw, size, size, span->basis, size, job->k, size, e->turn, size);
        return SCANT_OK;
    }
    memset(e->turn, 0, raw * size * sizeof(double));
    for (size_t i = 0; i < size; i++) {
        double *row = e->turn + (span->columns ? span->columns[i] : i) * size;
        for (size_t k = 0; k < size; k++) row[k] = job->k[k * size + i];
    }
    return SCANT_OK;
}

static scant_status dual_base(la_lambda *e, base_job *job, la_work *work) {
    la_view base = view_of(e->task.kernel, e->task.base, e->task.n_base);
    TRY(la_gram(&base, NULL, job->wide, work));
    bool direct = e->shape.way == LAMBDA_DIRECT;
    return scant__blas_for(e->ctx, NULL, 1, direct ? direct_block : split_block, job);
}

static scant_status base_alloc(la_lambda *e, scant__arena *arena, scant__arena *room,
                               base_job *job) {
    const lambda_shape *s = &e->shape;
    size_t size = s->size, raw = s->raw;
    bool direct = s->way == LAMBDA_DIRECT;
    job->e = e;
    job->k = matrix(room, size, size);
    job->wide = matrix(room, raw, raw > size ? raw : size);
    job->half = matrix(room, raw, size);
    job->room = matrix(room, direct ? 1 : la_eigh_room(size, true), 1);
    job->fetch = scant__arena_alloc(room, lambda_fetch_bytes(e->task.kernel) + 1, 1);
    double *base = matrix(arena, size, 1), *turn = matrix(arena, raw, size);
    if (!job->k || !job->wide || !job->half || !job->room || !job->fetch || !base ||
        !turn)
        return SCANT_ENOMEM;
    if (direct)
        e->matrix = turn; /* (r, r): raw >= r */
    else
        e->base = base, e->turn = turn;
    return SCANT_OK;
}

static scant_status keep_open(la_lambda *e, scant__arena *arena, la_work *work) {
    la_view open = view_of(e->task.kernel, e->task.open, e->task.n_open);
    e->kept = matrix(arena, e->task.n_open, e->shape.size);
    if (!e->kept) return SCANT_ENOMEM;
    return la_times(&open, e->turn, e->shape.size, e->kept, work);
}

scant_status lambda_base(la_lambda *e, scant__arena *arena, scant__arena *room) {
    const lambda_shape *s = &e->shape;
    base_job job;
    la_work work = {.ctx = e->ctx};
    if (s->way == LAMBDA_NOTHING) return SCANT_OK;
    TRY(base_alloc(e, arena, room, &job));
    size_t memory = work_memory(&e->task, s, e->ctx->threads);
    if (memory) TRY(la_work_init(&work, room, memory));
    if (s->way != LAMBDA_SCHUR) {
        TRY(dual_base(e, &job, &work));
    } else if (s->size) {
        TRY(la_kernel_gram(e->task.kernel, e->task.base, s->size, job.k, room));
        TRY(scant__blas_for(e->ctx, NULL, 1, schur_block, &job));
    }
    return s->keep ? keep_open(e, arena, &work) : SCANT_OK;
}
