/* SPDX-License-Identifier: Apache-2.0
 *
 * Products over a matrix that need not fit in memory: Gram matrices, column sums, H+ B;
 * and the walk over blocks of rows, which these products and linalg/kron.h use.
 *
 * H+ (m, d+) holds the rows of H that a view lists, with a constant appended if the view
 * has a bias. LA_BLOCK rows at a time are widened to double in a worker's buffer, where
 * BLAS processes them on one thread. Kernels that widen in registers get the rows in the
 * matrix's own type. The division into blocks, partial sums and tasks depends on the
 * sizes alone, and partial sums are added in order: results are the same to the bit at
 * any thread count. Input that is not finite gives results that are not.
 *
 * Memory: per worker LA_BLOCK (d+ + C) doubles and the product's own buffers; for sums,
 * partial sums of at most 32 MB. la_work_init() allocates this work space once for all
 * calls. The _memory() functions return the size for one call; several calls can share a
 * work space of the largest size. BLAS has its own buffers (core/blas.h).
 */
#ifndef SCANT_LINALG_PRODUCTS_H
#define SCANT_LINALG_PRODUCTS_H

#include <stdbool.h>

#include "core/mem.h"
#include "linalg/rows.h"

enum { LA_BLOCK = 256 }; /* rows; fixed, because another size rounds differently */

/* Rows of a matrix, with an optional constant and second factor. */
typedef struct la_view {
    const la_rows *h;
    const la_rows *a;   /* the C numbers of each Kronecker row, or NULL */
    double bias;        /* the last number of each row of H+; 0 if none is appended */
    const size_t *rows; /* row numbers, repeats allowed; NULL for 0..m-1 */
    size_t m;
} la_view;

size_t la_view_width(const la_view *v); /* d+ */

/* Work space for consecutive calls. */
typedef struct la_work {
    scant_ctx *ctx;
    const char *phase; /* name of the phase in progress reports; NULL for no reports */
    unsigned char *room;
    size_t memory;
} la_work;

/* memory: result of a _memory() function for this ctx's thread count. */
scant_status la_work_init(la_work *work, scant__arena *arena, size_t memory);

/* Sets *rest to the part of a work space after its first `bytes`, a multiple of 64. Fails
 * if the work space is smaller than that. */
scant_status la_work_after(const la_work *work, size_t bytes, la_work *rest);

/* ---- products -------------------------------------------------------------------- */

/* out (d+, d+) = sum of w_i h_i h_i^T: both triangles, symmetric to the bit. w is indexed
 * by row number and not negative; NULL means ones. Rows of weight 0 are read too: if few
 * weights are not 0, list those rows in the view. d+^2 / 2 multiply-adds per row. */
scant_status la_gram(const la_view *v, const double *w, double *out, la_work *work);
size_t la_gram_memory(const la_view *v, unsigned threads);

/* out (d+) = sum of w_i h_i, with w as above but of any sign. With a bias of 1 the last
 * number is the sum of weights; divide by it for means. */
scant_status la_sums(const la_view *v, const double *w, double *out, la_work *work);
size_t la_sums_memory(const la_view *v, unsigned threads);

/* out (m, k) = H+ b with b (d+, k). */
scant_status la_times(const la_view *v, const double *b, size_t k, double *out,
                      la_work *work);
size_t la_times_memory(const la_view *v, size_t k, unsigned threads);

/* ---- the walk over blocks of rows, which the products use ------------------------ */

typedef struct la_block {
    size_t first;       /* the block's first position in the view */
    size_t count;       /* rows of h and a */
    const size_t *rows; /* the view's rows */
    double *h;          /* (count, d+): may be overwritten */
    const double *a;    /* (count, C) */
    const void **x;     /* if job->as_is: pointers to the count rows of H, in their own
                         * type and without the constant; h is then NULL */
    double *room;       /* the worker's buffer, for the whole block */
    double *sum;        /* the block adds to columns from..to-1 of it, and to no others */
    size_t from, to;
} la_block;

typedef struct la_job {
    void (*fn)(void *arg, const la_block *block);
    void *arg;
    size_t room;   /* doubles per row of a block in the worker's buffer */
    size_t cost;   /* multiply-adds per row: decides the size of tasks */
    size_t height; /* rows of the matrix that blocks add to; 0 for no sum */
    size_t width;  /* columns of that matrix */
    bool as_is;    /* rows of H are not widened: the block has x instead of h */
    bool whole;    /* columns of the sum are not divided into stripes, because fn
                    * does more than add to the sum */
    bool blas;     /* fn calls BLAS */
} la_job;

/* Calls job->fn for all blocks, in any order; sum (height, width) receives the sum. */
scant_status la_walk(const la_view *v, la_job job, double *sum, la_work *work);
size_t la_walk_memory(const la_view *v, la_job job, unsigned threads);

/* Returns the row number, in the matrix, of the i-th row of a block. */
static inline size_t la_block_row(const la_block *b, size_t i) {
    return b->rows ? b->rows[b->first + i] : b->first + i;
}

/* Loads rows first..first+count-1 of a view as doubles; h and a may be NULL. raw: a
 * buffer of la_view_raw() bytes. */
void la_view_load(const la_view *v, size_t first, size_t count, double *h, double *a,
                  void *raw);
size_t la_view_raw(const la_view *v); /* bytes */

/* Fails if a size does not fit an int, as BLAS requires. */
scant_status la_fits(scant_ctx *ctx, size_t size);
/* c (m, n) = a b; the inner size is k, rows are lda, ldb, ldc apart. */
void la_nn(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
           size_t ldb, double *c, size_t ldc);
/* c = a b^T. */
void la_nt(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
           size_t ldb, double *c, size_t ldc);
/* c += a^T b. */
void la_tn_add(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
               size_t ldb, double *c, size_t ldc);

#endif
