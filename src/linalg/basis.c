/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/basis.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "linalg/kron.h"

enum { SPARE = 256 }; /* overhead of arena and allocator per block */

static const double LEAST = 1e-10; /* smallest eigenvalue kept, relative to the largest */

/* Whether V is computed from F F^T. */
static bool is_wide(const la_view *f) { return la_view_width(f) > f->m; }
static size_t side_of(const la_view *f) { return size_min(la_view_width(f), f->m); }

static size_t bytes(size_t rows, size_t columns) {
    size_t size = size_mul(size_mul(rows, columns), sizeof(double));
    return size_add(size, SPARE);
}

/* ---- row lengths ------------------------------------------------------------------- */

typedef struct measure {
    const la_basis *basis;
    size_t width;
} measure;

static void measure_block(void *arg, const la_block *block) {
    const measure *m = arg;
    size_t dim = m->basis->dim;
    la_nn(block->count, dim, m->width, block->h, m->width, m->basis->p, dim, block->room,
          dim);
    la_kernels_for(LA_F64)->sumsq(block->room, block->count, dim,
                                  m->basis->sums + block->first);
}

static la_job measure_job(const la_view *f, size_t dim, measure *m) {
    return (la_job){.fn = measure_block,
                    .arg = m,
                    .room = dim,
                    .cost = size_mul(la_view_width(f), dim),
                    .blas = true};
}

static size_t measure_memory(const la_view *f, size_t dim, unsigned threads) {
    return la_walk_memory(f, measure_job(f, dim, NULL), threads);
}

static scant_status measure_rows(la_basis *basis, scant__arena *temporary) {
    measure m = {basis, la_view_width(&basis->f)};
    unsigned threads = temporary->ctx->threads;
    la_work work;
    TRY(la_work_init(&work, temporary, measure_memory(&basis->f, basis->dim, threads)));
    work.phase = "measuring row lengths";
    TRY(la_walk(&basis->f, measure_job(&basis->f, basis->dim, &m), NULL, &work));
    double sum = 0;
    basis->largest = 0;
    for (size_t i = 0; i < basis->f.m; i++) {
        basis->largest = fmax(basis->largest, basis->sums[i]);
        sum += basis->sums[i];
        basis->sums[i] = sum;
    }
    return SCANT_OK;
}

size_t la_basis_row_at(const la_basis *basis, double share) {
    size_t low = 0, high = basis->f.m - 1;
    double at = share * basis->sums[high];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (basis->sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- principal directions ---------------------------------------------------------- */

static size_t products_memory(const la_view *f, unsigned threads) {
    return is_wide(f) ? la_kron_pairs_memory(f, f->m, threads)
                      : la_gram_memory(f, threads);
}

typedef struct directions {
    size_t side;
    double *vectors; /* (side, side): eigenvectors, one per row */
    double *values;  /* side: eigenvalues, ascending */
    double rows;     /* n, by which the matrix is divided */
} directions;

/* Replaces the matrix in d->vectors by its eigenvectors. */
static scant_status diagonalize(directions *d, scant__arena *temporary) {
    size_t side = d->side;
    d->values = TRY_NEW(temporary, double, side);
    double *room = TRY_NEW(temporary, double, la_eigh_room(side, true));
    for (size_t i = 0; i < side * side; i++) d->vectors[i] /= d->rows;
    return la_eigh_alone(temporary->ctx, side, d->vectors, true, d->values, room);
}

static size_t diagonalize_memory(size_t side) {
    return size_add(bytes(side, 1), bytes(la_eigh_room(side, true), 1));
}

/* Writes the smaller of F^T F and F F^T to d->vectors. */
static scant_status products(const la_view *f, scant__arena *temporary, directions *d) {
    scant_ctx *ctx = temporary->ctx;
    la_work work;
    TRY(la_basis_fits(ctx, la_view_width(f), f->m));
    *d = (directions){.side = side_of(f), .rows = (double)f->m};
    d->vectors = TRY_NEW(temporary, double, size_mul(d->side, d->side));
    TRY(la_work_init(&work, temporary, products_memory(f, ctx->threads)));
    work.phase = "finding directions";
    if (is_wide(f)) return la_kron_pairs(f, f->rows, f->m, d->vectors, &work);
    return la_gram(f, NULL, d->vectors, &work);
}

/* out (side, dim) = the leading vectors as columns, times sqrt(n) if they are V's columns
 * (itself), else times 1/sqrt(lambda). */
static void lead(const la_basis *basis, const directions *d, bool itself, double *out) {
    for (size_t k = 0; k < basis->dim; k++) {
        size_t at = d->side - 1 - k;
        double scale = itself ? sqrt(d->rows) : 1 / sqrt(d->values[at]);
        for (size_t i = 0; i < d->side; i++)
            out[i * basis->dim + k] = d->vectors[at * d->side + i] * scale;
    }
}

/* If `itself`, d's vectors are the columns of V, and V is stored; otherwise they are
 * directions of F. */
static scant_status build(la_basis *basis, scant__arena *arena, const la_view *f,
                          const directions *d, bool itself, size_t most) {
    size_t side = d->side, n = (size_t)d->rows;
    double top = d->values[side - 1];
    *basis = (la_basis){0};
    if (!itself) basis->f = *f;
    while (basis->rank < side && d->values[side - 1 - basis->rank] > LEAST * top &&
           d->values[side - 1 - basis->rank] > 0)
        basis->rank++;
    basis->dim = size_min(basis->rank, most);
    if (basis->dim == 0) return SCANT_OK;
    size_t dim = basis->dim;
    double *matrix = TRY_NEW(arena, double, size_mul(side, dim));
    basis->sums = TRY_NEW(arena, double, n);
    lead(basis, d, itself, matrix);
    basis->p = matrix;
    if (!itself) return SCANT_OK;
    double *same = TRY_ZERO(arena, double, size_mul(dim, dim));
    for (size_t k = 0; k < dim; k++) same[k * dim + k] = 1;
    basis->p = same;
    basis->kept = (la_rows){.n = n, .d = dim, .type = LA_F64, .base = matrix};
    basis->f = (la_view){.h = &basis->kept, .m = n};
    return SCANT_OK;
}

static scant_status finish(la_basis *basis, scant__arena *arena, const la_view *f,
                           directions *d, bool itself, size_t most,
                           scant__arena *temporary) {
    TRY(diagonalize(d, temporary));
    TRY(build(basis, arena, f, d, itself, most));
    scant__arena_end(temporary); /* frees the largest blocks early */
    return basis->dim ? measure_rows(basis, temporary) : SCANT_OK;
}

scant_status la_basis_build(la_basis *basis, scant__arena *arena, const la_view *f,
                            size_t most) {
    AUTO(scant__arena_end) scant__arena temporary = {.ctx = arena->ctx};
    directions d;
    TRY(products(f, &temporary, &d));
    return finish(basis, arena, f, &d, is_wide(f), most, &temporary);
}

size_t la_basis_memory_kept(const la_view *f, size_t most) {
    size_t dim = size_min(most, side_of(f)), kept = bytes(side_of(f), dim);
    if (is_wide(f)) return la_basis_of_gram_memory_kept(f->m, most);
    return size_add(kept, bytes(f->m, 1));
}

scant_status la_basis_fits(scant_ctx *ctx, size_t width, size_t rows) {
    if (size_min(width, rows) <= LA_EIGH_MOST) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT,
                       "a basis of %zu functions over %zu rows is too large: one of "
                       "the two must be at most %d",
                       width, rows, LA_EIGH_MOST);
}

size_t la_basis_memory(const la_view *f, size_t most, unsigned threads) {
    size_t side = side_of(f), dim = size_min(most, side);
    size_t found = size_add(bytes(side, side), diagonalize_memory(side));
    found = size_add(found, products_memory(f, threads));
    la_rows kept = {.n = f->m, .d = dim, .type = LA_F64};
    la_view v = is_wide(f) ? (la_view){.h = &kept, .m = f->m} : *f;
    size_t measured = measure_memory(&v, dim, threads);
    return size_add(la_basis_memory_kept(f, most), size_max(found, measured));
}

/* ---- basis from a Gram matrix ------------------------------------------------------ */

scant_status la_basis_of_gram(la_basis *basis, scant__arena *arena, double *gram,
                              size_t n, size_t most) {
    AUTO(scant__arena_end) scant__arena temporary = {.ctx = arena->ctx};
    directions d = {.side = n, .vectors = gram, .rows = (double)n};
    TRY(la_eigh_fits(arena->ctx, n));
    return finish(basis, arena, NULL, &d, true, most, &temporary);
}

size_t la_basis_of_gram_memory_kept(size_t n, size_t most) {
    size_t dim = size_min(most, n), kept = size_add(bytes(n, dim), bytes(n, 1));
    return size_add(kept, bytes(dim, dim));
}

size_t la_basis_of_gram_memory(size_t n, size_t most, unsigned threads) {
    size_t dim = size_min(most, n);
    la_rows kept = {.n = n, .d = dim, .type = LA_F64};
    la_view v = {.h = &kept, .m = n};
    return size_add(la_basis_of_gram_memory_kept(n, most),
                    size_max(diagonalize_memory(n), measure_memory(&v, dim, threads)));
}
