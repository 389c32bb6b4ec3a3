/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of linalg/lambda.h.
 *
 * Three methods test whether all relevant eigenvalues are above mu. D is diagonal and
 * holds the base's eigenvalues, ascending; Y (b, size) holds the set's rows in the basis
 * of the base's eigenvectors.
 *
 * schur (N <= r): K in the basis of the base's eigenvectors is [D Y^T; Y K_XX]. It is
 * above mu if D is and S = K_XX - mu - Y (D - mu)^-1 Y^T is positive definite.
 *
 * split (N > r): Z^T Z is D + Y^T Y. Let h be the eigenvalues of the base clearly above
 * mu and s the others. C = I + Y_h (D_h - mu)^-1 Y_h^T is positive definite, so it
 * remains to test whether the small Q = D_s - mu + Y_s^T C^-1 Y_s is. The inertia of the
 * b x b matrix I + Y (D - mu)^-1 Y^T would answer the same (Haynsworth), but that matrix
 * may be indefinite; factorizations of C and Q are stable for any mu.
 *
 * direct (N > r): factorizes Z^T Z - mu, r x r; used if b is not small compared with r.
 */
#ifndef SCANT_LINALG_LAMBDA_INT_H
#define SCANT_LINALG_LAMBDA_INT_H

#include "linalg/lambda.h"

typedef enum lambda_way {
    LAMBDA_NOTHING, /* if r = 0: all values are 0 */
    LAMBDA_SCHUR,
    LAMBDA_SPLIT,
    LAMBDA_DIRECT
} lambda_way;

typedef struct lambda_shape { /* derived from the sizes */
    lambda_way way;
    size_t b;
    size_t raw;    /* numbers per row when loaded: d+, or K with the base's rows */
    size_t size;   /* rows of the base's matrix: base rows, or r */
    size_t length; /* length of an eigenvector */
    size_t rows;   /* rows loaded at once: one or several sets, or part of one (direct) */
    bool keep;     /* coordinates of all open rows are cached */
} lambda_shape;

typedef struct lambda_room { /* one worker's buffers */
    size_t *places;          /* (rows, or b if direct): the sets' positions */
    size_t *list;            /* the rows at these positions */
    void *fetch;             /* buffer for loading */
    double *raw;             /* (rows, raw) */
    double *y;               /* (rows, size) */
    double *kxx;             /* (b, b): lower triangle, schur */
    double *matrix;          /* (r, r): Z^T Z, lower triangle, direct */
    double *g;               /* (b, size): Y scaled for the factorization at mu */
    double *c;               /* (b, b): factor of S, or of C */
    double *q;               /* (size, size): factor of Q, or of Z^T Z - mu if direct */
    double *gap;             /* (size): the base's eigenvalues minus mu */
    double *v;               /* (length) */
    double *kv;              /* (length): the matrix times v */
    double *t, *z;           /* (b) */
    /* The current set: */
    size_t at; /* index of its first row among the loaded rows */
    const double *set_raw;
    double *set_y; /* Y; if rows are cached, a buffer, filled when vectors are needed */
    double slack;  /* rounding level: smaller differences are not significant */
    double mu;     /* mu of the current factorization */
    size_t low;    /* if split: number of base eigenvalues not clearly above mu */
} lambda_room;

struct la_lambda {
    scant_ctx *ctx;
    la_lambda_task task;
    lambda_shape shape;
    double *base;   /* (size): the base's eigenvalues, ascending; unset if direct */
    double top;     /* a lower bound of the largest eigenvalue */
    double *turn;   /* (raw, size): transforms a row to Y; unset if direct */
    double *kept;   /* (n_open, size): Y of all open rows, or NULL */
    double *matrix; /* (r, r): Z^T Z of the base, lower triangle, if direct */
    lambda_room *rooms;
    size_t evaluated;
};

/* ---- lambda.c ---- */

/* Bytes per worker for loading rows. */
size_t lambda_fetch_bytes(const la_kernel *kernel);

/* ---- lambda_base.c ---- */

/* Removes rows that depend on earlier ones; keeps the order. */
scant_status lambda_independent(const la_kernel *kernel, scant_ctx *ctx, size_t *rows,
                                size_t *count);
size_t lambda_independent_memory(const la_kernel *kernel, size_t count, unsigned threads);

/* Builds the engine's base in arena; temporaries are in room. */
scant_status lambda_base(la_lambda *e, scant__arena *arena, scant__arena *room);
/* Memory of lambda_base(): temporaries and results, without the cached open rows. */
size_t lambda_base_memory(const la_lambda_task *t, const lambda_shape *s,
                          unsigned threads);

/* ---- lambda_set.c: one set at a time, in a worker's room. Call inside blocks of
 * core/parfor.h, where BLAS uses one thread. ---- */

/* out (m, k) = K(rows, others), tile by tile; rows of out are `stride` numbers apart. */
void lambda_kernel_block(const la_kernel *kernel, const size_t *rows, size_t m,
                         const size_t *others, size_t k, double *out, size_t stride,
                         void *room);

/* Returns the size of a worker's buffers in doubles. */
size_t lambda_room_size(const lambda_shape *s, size_t fetch);
/* Lays out a worker's buffers from `at` on. */
void lambda_room_lay(const lambda_shape *s, size_t fetch, double *at, lambda_room *room);

/* Loads `sets` sets whose positions are in the room. */
void lambda_load(const la_lambda *e, lambda_room *room, size_t sets);
/* Makes one of the loaded sets current. */
void lambda_turn_to(const la_lambda *e, lambda_room *room, size_t set);
/* Returns whether the current set's lambda is above mu. */
bool lambda_above(const la_lambda *e, lambda_room *room, double mu);
/* Returns the current set's lambda, which is above `lo`. The previous call must be
 * lambda_above() at lo. */
double lambda_value(const la_lambda *e, lambda_room *room, double lo);
/* Returns the current set's lambda, without a threshold; leaves the eigenvector in
 * room->v. */
double lambda_solve(const la_lambda *e, lambda_room *room);
/* Computes the burden of la_lambda_of(); call after lambda_solve(). */
void lambda_burden(const la_lambda *e, lambda_room *room, double *burden);

#endif
