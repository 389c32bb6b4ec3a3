/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside linalg/lambda.h.
 *
 * Three ways to ask whether all eigenvalues that count are above mu. D is diagonal and
 * holds the base's eigenvalues, ascending; Y (b, size) is the set's rows in the base's
 * eigenvectors.
 *
 * schur (N <= r): K turned into the base's eigenvectors is [D Y^T; Y K_XX]. It is above
 * mu where D is and S = K_XX - mu - Y (D - mu)^-1 Y^T is positive definite. split (N >
 * r): Z^T Z is D + Y^T Y. Let h be the eigenvalues of the base clearly above mu and s the
 * others. C = I + Y_h (D_h - mu)^-1 Y_h^T is positive definite, and what remains to ask
 * of is the small Q = D_s - mu + Y_s^T C^-1 Y_s: the inertia of a b x b matrix
 * (Haynsworth), but by definite factorizations alone, which are stable wherever mu lies
 * among the eigenvalues of the base. direct (N > r): Z^T Z - mu itself, r x r; where b is
 * not small against r.
 */
#ifndef SCANT_LINALG_LAMBDA_INT_H
#define SCANT_LINALG_LAMBDA_INT_H

#include "linalg/lambda.h"

typedef enum lambda_way {
    LAMBDA_NOTHING, /* r = 0: all values are 0 */
    LAMBDA_SCHUR,
    LAMBDA_SPLIT,
    LAMBDA_DIRECT
} lambda_way;

typedef struct lambda_shape { /* what sizes decide */
    lambda_way way;
    size_t b;
    size_t raw;    /* numbers of a row as it comes: d+, or K with the base's rows */
    size_t size;   /* of the base's matrix: its rows, or r */
    size_t length; /* of an eigenvector */
    size_t rows;   /* loaded at once: of one set or several, or a part of one (direct) */
    bool keep;     /* coordinates of all open rows are kept */
} lambda_shape;

typedef struct lambda_room { /* a worker's */
    size_t *places, *list;   /* (rows, or b where direct): places, and rows, of sets */
    void *fetch;             /* what loading takes */
    double *raw;             /* (rows, raw) */
    double *y;               /* (rows, size) */
    double *kxx;             /* (b, b): lower triangle, schur */
    double *matrix;          /* (r, r): Z^T Z, lower triangle, direct */
    double *g;               /* (b, size): Y as the factorization at mu needs it */
    double *c;               /* (b, b): factor of S, or of C */
    double *q;               /* (size, size): factor of Q, or of the whole */
    double *gap;             /* (size): base - mu */
    double *v, *kv;          /* (length): a vector, and the matrix times it */
    double *t, *z;           /* (b) */
    /* of the set at hand: */
    size_t at; /* where its rows begin among those loaded */
    const double *set_raw;
    double *set_y; /* where kept: a place for it, filled when vectors are asked for */
    double slack;  /* below it differences mean nothing */
    double mu;     /* the factorization's */
    size_t low;    /* how many are not clearly above mu: split */
} lambda_room;

struct la_lambda {
    scant_ctx *ctx;
    la_lambda_task task;
    lambda_shape shape;
    double *base;   /* (size): its eigenvalues, ascending; not where direct */
    double top;     /* a lower bound of the largest */
    double *turn;   /* (raw, size): from a row to Y; not where direct */
    double *kept;   /* (n_open, size): Y of all open rows, or NULL */
    double *matrix; /* (r, r): Z^T Z of the base, lower triangle, where direct */
    lambda_room *rooms;
    size_t evaluated;
};

/* ---- lambda.c ---- */

/* Bytes that loading rows takes of a worker. */
size_t lambda_fetch_bytes(const la_kernel *kernel);

/* ---- lambda_base.c ---- */

/* Keeps of rows those that do not depend on earlier ones, in order. */
scant_status lambda_independent(const la_kernel *kernel, scant_ctx *ctx, size_t *rows,
                                size_t *count);
size_t lambda_independent_memory(const la_kernel *kernel, size_t count, unsigned threads);

/* Makes what an engine has of its base, in arena; temporaries are in room. */
scant_status lambda_base(la_lambda *e, scant__arena *arena, scant__arena *room);
/* Temporaries and all but what is kept of open rows. */
size_t lambda_base_memory(const la_lambda_task *t, const lambda_shape *s,
                          unsigned threads);

/* ---- lambda_set.c: one set at a time, in a worker's room. In blocks of core/parfor.h,
 * where BLAS is on one thread. ---- */

/* out (m, k) = K(rows, others) in tiles; rows of out are apart. */
void lambda_kernel_block(const la_kernel *kernel, const size_t *rows, size_t m,
                         const size_t *others, size_t k, double *out, size_t apart,
                         void *room);

/* Doubles of a worker's room; and where they lie from `at` on. */
size_t lambda_room_size(const lambda_shape *s, size_t fetch);
void lambda_room_lay(const lambda_shape *s, size_t fetch, double *at, lambda_room *room);

/* Loads `sets` sets whose places are in the room. */
void lambda_load(const la_lambda *e, lambda_room *room, size_t sets);
/* Turns to one of those loaded. */
void lambda_turn_to(const la_lambda *e, lambda_room *room, size_t set);
/* Whether its lambda is above mu. */
bool lambda_above(const la_lambda *e, lambda_room *room, double mu);
/* Its lambda, which is above `lo`: lambda_above() was the last question, at lo. */
double lambda_value(const la_lambda *e, lambda_room *room, double lo);
/* Its lambda, whatever it is. The vector that belongs to it is left in room->v. */
double lambda_solve(const la_lambda *e, lambda_room *room);
/* What la_lambda_of() says. After lambda_solve(). */
void lambda_burden(const la_lambda *e, lambda_room *room, double *burden);

#endif
