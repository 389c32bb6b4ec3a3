/* SPDX-License-Identifier: Apache-2.0
 *
 * Products over a matrix that need not fit in memory: Gram matrices, column sums, H+ B;
 * and the walk over blocks of rows that they and linalg/kron.h are made of.
 *
 * H+ (m, d+) is the rows of H that a view names, with a constant appended where it has a
 * bias. Rows come LA_BLOCK at a time, widened to double, into a worker's room, and BLAS
 * works on them there on one thread; or as they are, for kernels that widen in registers.
 * How rows are cut into blocks, partial sums and tasks depends on the sizes alone, and
 * partial sums are added in order: results are the same to the bit at any thread count.
 * Numbers are finite, or what comes out is not.
 *
 * Memory: a worker's block of LA_BLOCK (d+ + C) doubles and what the product keeps a row;
 * for sums, partial ones of 32 MB at most. It is all taken once, in la_work_init(), and
 * used again by every call: the _memory() functions say how much, for the work of one
 * call; a work that serves several needs the largest. BLAS has buffers of its own.
 */
#ifndef SCANT_LINALG_PRODUCTS_H
#define SCANT_LINALG_PRODUCTS_H

#include <stdbool.h>

#include "core/mem.h"
#include "linalg/rows.h"

enum { LA_BLOCK = 256 }; /* rows; fixed: another size rounds otherwise */

/* Which rows, and what stands beside them. */
typedef struct la_view {
    const la_rows *h;
    const la_rows *a;   /* the C numbers of each Kronecker row; NULL: none */
    double bias;        /* the last number of each row of H+; 0: none is appended */
    const size_t *rows; /* in this order, repeats count; NULL: 0..m-1 */
    size_t m;
} la_view;

size_t la_view_width(const la_view *v); /* d+ */

/* Room for calls that come one after the other. */
typedef struct la_work {
    scant_ctx *ctx;
    const char *phase; /* progress is told under this name; NULL: quietly */
    unsigned char *room;
    size_t memory;
} la_work;

/* memory: what a _memory() function gave for this ctx's thread count. */
scant_status la_work_init(la_work *work, scant__arena *arena, size_t memory);

/* What is left of a work once `bytes` of its room, a multiple of 64, are somebody's. */
scant_status la_work_after(const la_work *work, size_t bytes, la_work *rest);

/* ---- products -------------------------------------------------------------------- */

/* out (d+, d+) = sum of w_i h_i h_i^T, all of it and symmetric to the bit. w is indexed
 * by the rows' numbers and not negative; NULL: ones. Rows of weight 0 are read too: where
 * few rows count, name them. d+^2 / 2 multiply-adds a row. */
scant_status la_gram(const la_view *v, const double *w, double *out, la_work *work);
size_t la_gram_memory(const la_view *v, unsigned threads);

/* out (d+) = sum of w_i h_i, with w as above but of any sign. With a bias of 1 the last
 * is the sum of weights, which the others are divided by for means. */
scant_status la_sums(const la_view *v, const double *w, double *out, la_work *work);
size_t la_sums_memory(const la_view *v, unsigned threads);

/* out (m, k) = H+ b with b (d+, k). */
scant_status la_times(const la_view *v, const double *b, size_t k, double *out,
                      la_work *work);
size_t la_times_memory(const la_view *v, size_t k, unsigned threads);

/* ---- the walk: what the products above are made of ------------------------------- */

typedef struct la_block {
    size_t first, count; /* places in the view; the block's rows of h and a */
    const size_t *rows;  /* the view's */
    double *h;           /* (count, d+): the worker's own, to be spoilt */
    const double *a;     /* (count, C) */
    const void **x;      /* where the job asks for it, instead of h: the count rows of H,
                          * without the constant, in their own type */
    double *room;        /* the worker's, for the whole block */
    double *sum;         /* to which it is to be added, and */
    size_t from, to;     /* in which columns; other blocks have the others */
} la_block;

typedef struct la_job {
    void (*fn)(void *arg, const la_block *block);
    void *arg;
    size_t room;   /* doubles that a worker has for each row of a block */
    size_t cost;   /* multiply-adds a row: decides how work is cut */
    size_t height; /* of a sum over all rows; 0: every block stands for itself */
    size_t width;
    bool as_is; /* rows of H are not widened: the block has x, not h */
    bool whole; /* a sum's columns are not shared out: the block does more than its sum */
} la_job;

/* Hands all blocks to job->fn, in no order; sum (height, width) receives the sum. */
scant_status la_walk(const la_view *v, const la_job *job, double *sum, la_work *work);
size_t la_walk_memory(const la_view *v, const la_job *job, unsigned threads);

/* The number, in the matrix, of the i-th row of a block. */
static inline size_t la_block_row(const la_block *b, size_t i) {
    return b->rows ? b->rows[b->first + i] : b->first + i;
}

/* Rows first..first+count-1 of a view as doubles; h and a may be NULL. raw:
 * la_view_raw(). */
void la_view_load(const la_view *v, size_t first, size_t count, double *h, double *a,
                  void *raw);
size_t la_view_raw(const la_view *v); /* bytes */

/* BLAS takes sizes as int: fails where one is larger. */
scant_status la_fits(scant_ctx *ctx, size_t size);
/* c (m, n) = a b, = a b^T, += a^T b; the inner size is k, rows are lda, ldb, ldc apart.
 */
void la_nn(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
           size_t ldb, double *c, size_t ldc);
void la_nt(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
           size_t ldb, double *c, size_t ldc);
void la_tn_add(size_t m, size_t n, size_t k, const double *a, size_t lda, const double *b,
               size_t ldb, double *c, size_t ldc);

#endif
