/* SPDX-License-Identifier: Apache-2.0
 *
 * LAPACK stores matrices by columns, we by rows. So the lower triangle of our matrix is
 * the upper one for LAPACK, and its eigenvectors, stored as columns, are rows for us.
 */
#include "linalg/dense.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "linalg/kernels.h"

/* Sizes of dsyevd's two work arrays (LAPACK's formulas). */
static size_t eigh_doubles(size_t n, bool vectors) {
    if (n <= 1) return 1;
    return vectors ? 1 + 6 * n + 2 * n * n : 2 * n + 1 + 32 * n;
}

static size_t eigh_ints(size_t n, bool vectors) {
    return vectors && n > 1 ? 3 + 5 * n : 1;
}

size_t la_eigh_room(size_t n, bool vectors) {
    return eigh_doubles(n, vectors) + eigh_ints(n, vectors);
}

bool la_eigh(size_t n, double *a, bool vectors, double *values, double *room) {
    size_t doubles = eigh_doubles(n, vectors), ints = eigh_ints(n, vectors);
    lapack_int order = (lapack_int)n;
    if (n == 0) return true;
    return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, vectors ? 'V' : 'N', 'U', order, a,
                               order, values, room, (lapack_int)doubles,
                               (lapack_int *)(void *)(room + doubles),
                               (lapack_int)ints) == 0;
}

typedef struct eigh_call {
    size_t n;
    double *a;
    bool vectors;
    double *values, *room;
} eigh_call;

static scant_status eigh_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    const eigh_call *c = arg;
    (void)block, (void)worker;
    if (la_eigh(c->n, c->a, c->vectors, c->values, c->room)) return SCANT_OK;
    return scant__fault_set(fault, SCANT_EINTERNAL,
                            "the eigenvalues of a matrix of %zu rows did not converge",
                            c->n);
}

scant_status la_eigh_fits(scant_ctx *ctx, size_t n) {
    if (n <= LA_EIGH_MOST) return SCANT_OK;
    return scant__fail(
        ctx, SCANT_EINPUT,
        "%zu dimensions are too many for eigenvectors, expected at most %d", n,
        LA_EIGH_MOST);
}

scant_status la_eigh_alone(scant_ctx *ctx, size_t n, double *a, bool vectors,
                           double *values, double *room) {
    eigh_call call = {n, a, vectors, values, room};
    TRY(la_eigh_fits(ctx, n));
    return scant__blas_for(ctx, NULL, 1, eigh_block, &call);
}

bool la_cholesky(size_t n, double *a, size_t lda) {
    if (n == 0) return true;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, a,
                               (lapack_int)lda) == 0;
}

void la_solve_lower(size_t n, size_t k, const double *l, size_t lda, double *b,
                    size_t ldb) {
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)n,
                (int)k, 1, l, (int)lda, b, (int)ldb);
}

void la_solve_lower_t(size_t n, size_t k, const double *l, size_t lda, double *b,
                      size_t ldb) {
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)n,
                (int)k, 1, l, (int)lda, b, (int)ldb);
}

enum { SIDE = 32 }; /* la_spectral(): the Frobenius norm if both sizes are larger */

double la_frobenius(const double *x, size_t size) {
    double square, top = 0;
    la_kernels_for(LA_F64)->sumsq(x, 1, size, &square);
    if (square > 1e-290 && square < 1e290) return sqrt(square);
    for (size_t i = 0; i < size; i++) top = fmax(top, fabs(x[i]));
    square = 0;
    for (size_t i = 0; top > 0 && i < size; i++) square += x[i] / top * (x[i] / top);
    return top * sqrt(square);
}

/* gram = x x^T or x^T x, whichever is smaller. */
static void small_gram(const double *x, size_t rows, size_t columns, double *gram) {
    const void *row[SIDE];
    memset(gram, 0, SIDE * SIDE * sizeof *gram);
    if (rows <= columns) {
        for (size_t i = 0; i < rows; i++) row[i] = x + i * columns;
        la_kernels_for(LA_F64)->dot(row, rows, row, rows, columns, gram);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            for (size_t k = 0; k < columns; k++)
                gram[j * columns + k] += x[i * columns + j] * x[i * columns + k];
}

/* With G the Gram matrix, |G^4|_F^2 is the sum of the 16th powers of the n singular
 * values. Its 16th root is at most n^(1/16) times the largest singular value. */
double la_spectral(const double *x, size_t rows, size_t columns) {
    size_t n = rows < columns ? rows : columns;
    double gram[SIDE * SIDE], square[SIDE * SIDE],
        length = la_frobenius(x, rows * columns);
    if (n == 1 || n > SIDE || !(length > 0)) return length;
    small_gram(x, rows, columns, gram);
    double unit = la_frobenius(gram, n * n), power = 1;
    if (!(unit > 0) || isinf(unit)) return length;
    for (size_t i = 0; i < n * n; i++) gram[i] /= unit;
    for (int twice = 0; twice < 2; twice++) {
        const void *row[SIDE];
        for (size_t i = 0; i < n; i++)
            row[i] = gram + i * n; /* gram is symmetric: its rows are its columns */
        la_kernels_for(LA_F64)->dot(row, n, row, n, n, square);
        memcpy(gram, square, n * n * sizeof *gram);
        power *= 2;
    }
    /* the factor covers rounding; it is far below the bound's excess */
    double bound = sqrt(unit * pow(la_frobenius(gram, n * n), 1 / power)) * (1 + 1e-9);
    return bound < length ? bound : length;
}
