/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest structurally positive eigenvalue of Gram matrices over many sets of rows
 * that share a base: lambda(base + X) for sets X of b rows each, and the sets with the
 * largest.
 *
 * With N rows in base and set together and r the dimension that rows can span:
 *
 *   N <= r  the smallest eigenvalue of K(base + X);
 *   N > r   K is singular: its r-th largest eigenvalue, which is the smallest of the
 *           r x r matrix Z^T Z over coordinates z of the rows in the space that all rows
 *           span (linalg/span.h).
 *
 * The search tests whether each set is above the best so far, which takes one or two
 * Cholesky factorizations of size b (or r). Eigenvalues are computed only for sets that
 * are: about ln m of m sets in random order. Results do not depend on the order of work:
 * sets are processed in rounds of fixed size, each against the results of the previous
 * rounds.
 *
 * Values are right to about 1e-12 of the largest eigenvalue (plus the part of the rows
 * outside the span, at most LA_SPAN_CUT of the largest eigenvalue of all rows). Values
 * closer than LA_LAMBDA_EQUAL of max(largest eigenvalue of the base, largest norm^2 in
 * the set) count as equal, and equal sets keep their order: exact ties are ties here.
 *
 * Cost, in multiply-adds: once, size^3 for the base's eigenvectors (size: its rows, or
 * r); a set of b rows of width d+: b^2 (d+ + l) / 2 + b^3 / 6 where N <= r; else b^2 r /
 * 2 + b^3 / 6 or r^2 b / 2 + r^3 / 6, whichever is less; and b d+ l (b d+ r) to transform
 * its rows to the base's eigenvectors, unless the transformed rows are cached, in at most
 * LA_LAMBDA_KEEP bytes.
 */
#ifndef SCANT_LINALG_LAMBDA_H
#define SCANT_LINALG_LAMBDA_H

#include <stdbool.h>

#include "linalg/span.h"

#define LA_LAMBDA_EQUAL 1e-12
/* A base row is left out if its squared residual after the earlier rows is below this
 * fraction of the largest squared norm. */
#define LA_LAMBDA_DEPENDENT 1e-10
enum { LA_LAMBDA_KEEP = 128 << 20 };

/* ---- kernels ----------------------------------------------------------------------- */

enum { LA_KERNEL_TILE = 64 }; /* most rows on either side of a block of values */

/* A positive semidefinite kernel over n rows. */
typedef struct la_kernel {
    size_t n;
    /* out (m, k) = K(rows[i], others[j]); rows of out are `apart` numbers apart.
     * Thread-safe; may use BLAS. room: the worker's room_bytes, aligned to 64. */
    void (*values)(const void *self, const size_t *rows, size_t m, const size_t *others,
                   size_t k, double *out, size_t apart, void *room);
    size_t room_bytes;
    const void *self;
    /* K = H+ H+^T for the rows of this view (its list is not used); NULL: rows of K are
     * assumed to be independent. */
    const la_view *features;
} la_kernel;

/* K(x, x') = h+ . h+'. Valid while h is. */
void la_kernel_of_features(const la_view *h, la_kernel *out);

/* out (n, n) = the kernel's values between the rows of a list: the lower triangle, and
 * parts of the upper one. Temporaries are allocated in room and not freed. */
scant_status la_kernel_gram(const la_kernel *kernel, const size_t *rows, size_t n,
                            double *out, scant__arena *room);
size_t la_kernel_gram_memory(const la_kernel *kernel, unsigned threads);

/* ---- the task ---------------------------------------------------------------------- */

typedef struct la_lambda_task {
    const la_kernel *kernel;
    const la_span *span; /* if dual: with coordinates */
    bool dual;           /* N > r */
    const size_t *base;  /* rows that belong to every set */
    size_t n_base;
    const size_t *open; /* rows that sets consist of; sets name places in this list */
    size_t n_open;
    size_t b;    /* rows per set */
    size_t sets; /* expected number of sets: decides what is cached */
} la_lambda_task;

/* Given kernel, open, b, sets and in base all labelled rows, finds the rank of all rows
 * of the kernel and sets span (the caller's, coordinates in arena) and dual. If N <= r,
 * it removes rows from base that depend on earlier ones, so that a label given twice does
 * not make every value 0. */
scant_status la_lambda_settle(scant__arena *arena, la_lambda_task *task, size_t *base,
                              la_span *span, const char *phase);
size_t la_lambda_settle_memory(const la_lambda_task *task, unsigned threads);

/* The arrays of the task must outlive the engine. */
typedef struct la_lambda la_lambda;
scant_status la_lambda_create(scant__arena *arena, const la_lambda_task *task,
                              la_lambda **out);
/* Upper bound for any rank and any base of up to n_base rows. */
size_t la_lambda_memory(const la_lambda_task *task, unsigned threads);

/* The upper bound of all values by the base (its own smallest eigenvalue); INFINITY:
 * none. */
double la_lambda_cap(const la_lambda *e);
/* Number of sets evaluated in full so far. */
size_t la_lambda_evaluated(const la_lambda *e);

/* ---- questions --------------------------------------------------------------------- */

typedef struct la_sets {
    size_t count;
    /* Writes the b places of a set, distinct. worker: below the thread count, for
     * scratch. NULL: set i is the places i*b to i*b + b-1. */
    void (*get)(const void *self, size_t set, unsigned worker, size_t *places);
    const void *self;
} la_sets;

typedef struct la_found {
    double lambda;
    size_t set;
} la_found;

/* The `want` best sets, best first, equal ones in order; only sets above `least` (below
 * 0: all). Fewer if there are no more. */
scant_status la_lambda_best(la_lambda *e, const la_sets *sets, size_t want, double least,
                            const char *phase, la_found *found, size_t *count);
size_t la_lambda_best_memory(size_t sets, size_t want);

/* One set's value; and, unless burden is NULL, how much each of its rows lowers it (b):
 * replace the rows with the largest burden first. */
scant_status la_lambda_of(la_lambda *e, const size_t *places, double *lambda,
                          double *burden);

#endif
