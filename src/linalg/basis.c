/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/basis.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "linalg/kron.h"

enum { SPARE = 256 }; /* what an arena and the allocator add to a block */

static const double LEAST = 1e-10; /* of the largest eigenvalue */

/* Whether V is made from F F^T. */
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
                    .cost = size_mul(la_view_width(f), dim)};
}

static size_t measure_memory(const la_view *f, size_t dim, unsigned threads) {
    la_job job = measure_job(f, dim, NULL);
    return la_walk_memory(f, &job, threads);
}

static scant_status measure_rows(la_basis *basis, scant__arena *temporary) {
    measure m = {basis, la_view_width(&basis->f)};
    la_job job = measure_job(&basis->f, basis->dim, &m);
    unsigned threads = temporary->ctx->threads;
    la_work work;
    TRY(la_work_init(&work, temporary, measure_memory(&basis->f, basis->dim, threads)));
    work.phase = "measuring rows";
    TRY(la_walk(&basis->f, &job, NULL, &work));
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

/* The smaller of F^T F / n and F F^T / n, diagonalized: vectors by rows. */
static scant_status diagonalize(const la_view *f, scant__arena *temporary,
                                double **vectors, double **values) {
    scant_ctx *ctx = temporary->ctx;
    size_t side = side_of(f);
    la_work work;
    TRY(la_basis_fits(ctx, la_view_width(f), f->m));
    *vectors = scant__arena_alloc(temporary, size_mul(side, side), sizeof(double));
    *values = scant__arena_alloc(temporary, side, sizeof(double));
    double *room = scant__arena_alloc(temporary, la_eigh_room(side, true), sizeof *room);
    if (!*vectors || !*values || !room) return SCANT_ENOMEM;
    TRY(la_work_init(&work, temporary, products_memory(f, ctx->threads)));
    work.phase = "finding directions";
    if (is_wide(f))
        TRY(la_kron_pairs(f, f->rows, f->m, *vectors, &work));
    else
        TRY(la_gram(f, NULL, *vectors, &work));
    for (size_t i = 0; i < side * side; i++) (*vectors)[i] /= (double)f->m;
    return la_eigh_alone(ctx, side, *vectors, true, *values, room);
}

/* out (side, dim): the leading vectors as columns, each times 1/sqrt(lambda), or
 * sqrt(n). */
static void lead(const la_basis *basis, const double *vectors, const double *values,
                 size_t side, double n, double *out) {
    for (size_t k = 0; k < basis->dim; k++) {
        size_t at = side - 1 - k;
        double scale = n > 0 ? sqrt(n) : 1 / sqrt(values[at]);
        for (size_t i = 0; i < side; i++)
            out[i * basis->dim + k] = vectors[at * side + i] * scale;
    }
}

static scant_status build(la_basis *basis, scant__arena *arena, scant__arena *temporary,
                          const la_view *f, size_t most) {
    size_t side = side_of(f);
    double *vectors = NULL, *values = NULL;
    TRY(diagonalize(f, temporary, &vectors, &values));
    double top = values[side - 1];
    *basis = (la_basis){.f = *f};
    while (basis->rank < side && values[side - 1 - basis->rank] > LEAST * top &&
           values[side - 1 - basis->rank] > 0)
        basis->rank++;
    basis->dim = size_min(basis->rank, most);
    if (basis->dim == 0) return SCANT_OK;
    bool wide = is_wide(f);
    size_t dim = basis->dim;
    double *matrix = scant__arena_alloc(arena, size_mul(side, dim), sizeof *matrix);
    basis->sums = scant__arena_alloc(arena, f->m, sizeof *basis->sums);
    if (!matrix || !basis->sums) return SCANT_ENOMEM;
    lead(basis, vectors, values, side, wide ? (double)f->m : 0, matrix);
    basis->p = matrix;
    if (!wide) return SCANT_OK;
    double *same = scant__arena_zalloc(arena, size_mul(dim, dim), sizeof *same);
    if (!same) return SCANT_ENOMEM;
    for (size_t k = 0; k < dim; k++) same[k * dim + k] = 1;
    basis->p = same;
    basis->kept = (la_rows){.n = f->m, .d = dim, .type = LA_F64, .base = matrix};
    basis->f = (la_view){.h = &basis->kept, .m = f->m};
    return SCANT_OK;
}

scant_status la_basis_build(la_basis *basis, scant__arena *arena, const la_view *f,
                            size_t most) {
    scant__arena temporary;
    scant__arena_init(&temporary, arena->ctx);
    scant_status s = build(basis, arena, &temporary, f, most);
    scant__arena_end(&temporary); /* the largest by far */
    if (s == SCANT_OK && basis->dim) s = measure_rows(basis, &temporary);
    scant__arena_end(&temporary);
    return s;
}

size_t la_basis_memory_kept(const la_view *f, size_t most) {
    size_t dim = size_min(most, side_of(f)), kept = bytes(side_of(f), dim);
    kept = size_add(kept, bytes(f->m, 1));
    return is_wide(f) ? size_add(kept, bytes(dim, dim)) : kept;
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
    size_t found = size_add(bytes(side, side), bytes(side, 1));
    found = size_add(found, bytes(la_eigh_room(side, true), 1));
    found = size_add(found, products_memory(f, threads));
    la_rows kept = {.n = f->m, .d = dim, .type = LA_F64};
    la_view v = is_wide(f) ? (la_view){.h = &kept, .m = f->m} : *f;
    size_t measured = measure_memory(&v, dim, threads);
    return size_add(la_basis_memory_kept(f, most), size_max(found, measured));
}
