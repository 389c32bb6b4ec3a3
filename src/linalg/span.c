/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the rank of H+^T H+. Without its zero columns the matrix usually has full
 * rank, and one Cholesky factorization proves this: the matrix is still positive definite
 * after LA_SPAN_CUT times its Frobenius norm, a bound of the largest eigenvalue, is
 * subtracted from the diagonal.
 */
#include "linalg/span.h"

#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "linalg/dense.h"

enum { SPARE = 4096 }; /* overhead of arenas and allocator for a few blocks */

typedef struct finder {
    const la_view *v;
    size_t width;   /* d+ */
    double *matrix; /* (d+, d+) */
    double *room;   /* a copy of the matrix, or the work space of eigenvectors */
    size_t *live;   /* indices of the matrix's rows that are not zero */
    size_t n_live, rank;
    bool whole; /* the live columns are independent */
} finder;

static size_t room_doubles(size_t size) {
    size_t copy = size_add(size_mul(size, size), size_mul(size, 36));
    size_t vectors = size_add(size_mul(2, size_mul(size, size)), size_mul(size, 12));
    return size_add(copy > vectors ? copy : vectors, 64);
}

static size_t bytes(size_t doubles) {
    return scant__alloc_cost(size_mul(doubles, sizeof(double)));
}

size_t la_span_memory(const la_view *v, unsigned threads) {
    size_t width = la_view_width(v), square = size_mul(width, width);
    size_t all = size_add(bytes(square), bytes(room_doubles(width)));
    all = size_add(all, bytes(width));                          /* live */
    all = size_add(all, size_add(bytes(square), bytes(width))); /* the result */
    return size_add(all, size_add(la_gram_memory(v, threads), SPARE));
}

/* ---- the dimension ----------------------------------------------------------------- */

static void list_live(finder *f) {
    f->n_live = 0;
    for (size_t i = 0; i < f->width; i++)
        if (f->matrix[i * f->width + i] > 0) f->live[f->n_live++] = i;
}

static void copy_live(const finder *f, double shift) {
    size_t n = f->n_live;
    for (size_t i = 0; i < n; i++) {
        const double *row = f->matrix + f->live[i] * f->width;
        for (size_t j = 0; j < n; j++) f->room[i * n + j] = row[f->live[j]];
        f->room[i * n + i] -= shift;
    }
}

static scant_status rank_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    finder *f = arg;
    (void)block, (void)worker;
    list_live(f);
    size_t n = f->n_live;
    f->rank = n;
    copy_live(f, LA_SPAN_CUT * la_frobenius(f->matrix, f->width * f->width));
    f->whole = la_cholesky(n, f->room, n);
    if (f->whole) return SCANT_OK;
    copy_live(f, 0);
    double *values = f->room + n * n;
    if (!la_eigh(n, f->room, false, values, values + n))
        return scant__fault_set(
            fault, SCANT_EINTERNAL,
            "the eigenvalues that give the rank of %zu columns did not converge",
            f->width);
    while (f->rank && values[n - f->rank] <= LA_SPAN_CUT * values[n - 1]) f->rank--;
    return SCANT_OK;
}

/* ---- coordinates ------------------------------------------------------------------- */

static scant_status basis_of(finder *f, scant__arena *arena, la_work *work,
                             la_span *span) {
    size_t width = f->width, rank = f->rank;
    double *values = f->room + la_eigh_room(width, true);
    double *basis = TRY_NEW(arena, double, 1 + width * rank);
    TRY(la_eigh_alone(work->ctx, width, f->matrix, true, values, f->room));
    for (size_t k = 0; k < rank; k++) {
        const double *vector = f->matrix + (width - rank + k) * width;
        for (size_t i = 0; i < width; i++) basis[i * rank + k] = vector[i];
    }
    span->basis = basis;
    return SCANT_OK;
}

static scant_status columns_of(const finder *f, scant__arena *arena, la_span *span) {
    if (f->rank == f->width) return SCANT_OK;
    size_t *columns = TRY_NEW(arena, size_t, f->rank + 1);
    memcpy(columns, f->live, f->rank * sizeof *columns);
    span->columns = columns;
    return SCANT_OK;
}

static scant_status find(finder *f, scant__arena *arena, size_t rows, la_work *work,
                         la_span *span) {
    TRY(la_gram(f->v, NULL, f->matrix, work));
    TRY(scant__blas_for(work->ctx, NULL, 1, rank_block, f));
    span->rank = f->rank;
    if (f->rank >= rows) return SCANT_OK;
    if (f->whole) return columns_of(f, arena, span);
    return basis_of(f, arena, work, span);
}

scant_status la_span_find(la_span *span, scant__arena *arena, const la_view *v,
                          size_t rows, const char *phase) {
    size_t width = la_view_width(v);
    finder f = {.v = v, .width = width};
    la_work work;
    AUTO(scant__arena_end) scant__arena room = {.ctx = arena->ctx};
    *span = (la_span){.width = width};
    TRY(la_fits(arena->ctx, width));
    f.matrix = TRY_NEW(&room, double, size_mul(width, width));
    f.room = TRY_NEW(&room, double, room_doubles(width));
    f.live = TRY_NEW(&room, size_t, width);
    TRY(la_work_init(&work, &room, la_gram_memory(v, arena->ctx->threads)));
    work.phase = phase;
    return find(&f, arena, rows, &work, span);
}

void la_span_coordinates(const la_span *span, const double *rows, size_t count,
                         double *out) {
    size_t width = span->width, rank = span->rank;
    if (span->basis) {
        la_nn(count, rank, width, rows, width, span->basis, rank, out, rank);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < rank; k++)
            out[i * rank + k] = rows[i * width + span->columns[k]];
}
