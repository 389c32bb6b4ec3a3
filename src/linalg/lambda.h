/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes lambda(base + X) for many sets X of b rows each, which share a base, and finds
 * the sets with the largest values. lambda is the smallest eigenvalue of the Gram matrix
 * K of base and set, apart from those that are 0 because K has more rows than dimensions.
 * With N rows in base and set together, and r the dimension of the space that all rows
 * span, lambda is
 *
 *   N <= r  the smallest eigenvalue of K(base + X);
 *   N > r   the r-th largest eigenvalue of K, because K is singular. It is the smallest
 *           eigenvalue of the r x r matrix Z^T Z, with the rows' coordinates z in that
 *           space (linalg/span.h).
 *
 * The search tests whether each set's value is above the best so far, which takes one or
 * two Cholesky factorizations of size b (or r). Eigenvalues are computed only for sets
 * that pass: about ln m of m sets if their order is random. Results do not depend on the
 * order of work: sets are processed in rounds whose sizes depend on the task only, and
 * each round uses the results of the previous rounds.
 *
 * The error of a value is about 1e-12 times the largest eigenvalue (plus the part of the
 * rows outside the span, at most LA_SPAN_CUT times the largest eigenvalue of all rows).
 * Values closer than LA_LAMBDA_EQUAL times max(largest eigenvalue of the base, largest
 * norm^2 in the set) count as equal, and sets with equal values keep their order, so
 * that rounding does not break exact ties.
 *
 * Cost, in multiply-adds, with l the rows of the base and d+ the width of a row:
 *
 *   once       l^3 (r^3 if N > r) for the base's eigenvectors;
 *   each set   b^2 (d+ + l) / 2 + b^3 / 6 if N <= r; if N > r the smaller of
 *              b^2 r / 2 + b^3 / 6 and r^2 b / 2 + r^3 / 6;
 *   each set   b d+ l (b d+ r if N > r) to transform its rows to the base's
 *              eigenvectors, unless the transformed rows are cached (at most
 *              LA_LAMBDA_KEEP bytes).
 */
#ifndef SCANT_LINALG_LAMBDA_H
#define SCANT_LINALG_LAMBDA_H

#include <stdbool.h>

#include "linalg/span.h"

#define LA_LAMBDA_EQUAL 1e-12
/* A base row is left out if the squared norm of its part orthogonal to the earlier rows
 * is below this fraction of the largest squared norm. */
#define LA_LAMBDA_DEPENDENT 1e-10
enum { LA_LAMBDA_KEEP = 128 << 20 };

/* ---- kernels ----------------------------------------------------------------------- */

/* maximum number of rows, and of columns, of a block of values */
enum { LA_KERNEL_TILE = 64 };

/* A positive semidefinite kernel over n rows. */
typedef struct la_kernel {
    size_t n;
    /* out (m, k) = K(rows[i], others[j]); rows of out are `stride` numbers apart.
     * Thread-safe; may use BLAS. room: the worker's room_bytes, aligned to 64. */
    void (*values)(const void *self, const size_t *rows, size_t m, const size_t *others,
                   size_t k, double *out, size_t stride, void *room);
    size_t room_bytes;
    const void *self;
    /* K = H+ H+^T for the rows of this view (its list is not used). If NULL, rows of K
     * are assumed to be independent. */
    const la_view *features;
} la_kernel;

/* The kernel of inner products of rows of H+ (linalg/products.h). Borrows h. */
void la_kernel_of_features(const la_view *h, la_kernel *out);

/* out (n, n) = the kernel's values between the rows of a list: the lower triangle, and
 * parts of the upper one. Temporaries are allocated in room and not freed. */
scant_status la_kernel_gram(const la_kernel *kernel, const size_t *rows, size_t n,
                            double *out, scant__arena *room);
size_t la_kernel_gram_memory(const la_kernel *kernel, unsigned threads);

/* ---- tasks ------------------------------------------------------------------------- */

typedef struct la_lambda_task {
    const la_kernel *kernel;
    const la_span *span; /* used if dual, for the coordinates */
    bool dual;           /* N > r */
    const size_t *base;  /* rows that belong to every set */
    size_t n_base;
    const size_t *open; /* rows that sets consist of; sets hold positions in this list */
    size_t n_open;
    size_t b;    /* rows per set */
    size_t sets; /* expected number of sets: decides what is cached */
} la_lambda_task;

/* Finds the rank of all rows of the kernel; sets task->base, task->span (coordinates in
 * arena) and task->dual. All other members must be set; base must hold all n_base
 * labelled rows. If N <= r, removes rows from base that depend on earlier ones: two equal
 * labelled rows would make every value 0. */
scant_status la_lambda_settle(scant__arena *arena, la_lambda_task *task, size_t *base,
                              la_span *span, const char *phase);
size_t la_lambda_settle_memory(const la_lambda_task *task, unsigned threads);

/* The engine for one task. The task's arrays must outlive it. */
typedef struct la_lambda la_lambda;
scant_status la_lambda_create(scant__arena *arena, const la_lambda_task *task,
                              la_lambda **out);
/* Returns an upper bound of the memory of la_lambda_create(), for any rank and any base
 * of up to n_base rows. */
size_t la_lambda_memory(const la_lambda_task *task, unsigned threads);

/* Returns an upper bound of all values, the smallest eigenvalue of the base; INFINITY if
 * there is none. */
double la_lambda_cap(const la_lambda *e);
/* Returns how many sets were evaluated in full so far. */
size_t la_lambda_evaluated(const la_lambda *e);

/* ---- evaluating sets --------------------------------------------------------------- */

typedef struct la_sets {
    size_t count;
    /* Writes the b distinct positions of a set. worker: below the thread count, for
     * scratch. If get is NULL, set i has positions i*b to i*b + b-1. */
    void (*get)(const void *self, size_t set, unsigned worker, size_t *places);
    const void *self;
} la_sets;

typedef struct la_found {
    double lambda;
    size_t set;
} la_found;

/* Finds the `want` best sets, best first; ties in the order of the sets. A set qualifies
 * if its lambda is above `least` by more than rounding, or if `least` is negative. *count
 * is smaller than `want` if fewer sets qualify. */
scant_status la_lambda_best(la_lambda *e, const la_sets *sets, size_t want, double least,
                            const char *phase, la_found *found, size_t *count);
size_t la_lambda_best_memory(size_t sets, size_t want);

/* Computes one set's value and, unless burden is NULL, burden (b): how much each row
 * lowers the value. To improve a set, replace the rows with the largest burden first. */
scant_status la_lambda_of(la_lambda *e, const size_t *places, double *lambda,
                          double *burden);

#endif
