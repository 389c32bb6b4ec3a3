/* SPDX-License-Identifier: Apache-2.0
 *
 * lambda lies between a mu that a factorization proved to be below it and a Rayleigh
 * quotient, which is never below the smallest eigenvalue. Inverse iteration with the
 * current factors lowers the quotient, and mu is raised towards the quotient, by
 * bisection if necessary. This takes four to six factorizations, whatever the spectrum.
 */
#include "linalg/lambda_int.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "linalg/dense.h"

/* A base eigenvalue is clearly above mu if it exceeds mu by more than CLEAR_OF_MU |mu|
 * and by more than CLEAR_OF_TOP times the largest one. Larger fractions are more stable
 * (rounding is multiplied by at most largest / distance, so 1e-5 keeps it near 1e-11) but
 * give Q more rows. */
static const double CLEAR_OF_MU = 0.02, CLEAR_OF_TOP = 1e-5;

enum {
    INVERSE_STEPS = 4, /* steps of inverse iteration per factorization */
    MOST_ROUNDS = 200  /* rounds per evaluation: bisection alone needs 60 */
};

/* ---- workers' buffers -------------------------------------------------------------- */

/* Returns the next array, of whole cache lines, of the buffer `at`. If `at` is NULL, only
 * counts. */
static double *take(double *at, size_t *used, size_t rows, size_t width) {
    size_t count = size_add(size_mul(rows, width), 7) / 8 * 8;
    double *piece = at ? at + *used : NULL;
    *used = size_add(*used, count);
    return piece;
}

static size_t lay(const lambda_shape *s, size_t fetch, double *at, lambda_room *r) {
    bool direct = s->way == LAMBDA_DIRECT, schur = s->way == LAMBDA_SCHUR;
    bool small = direct || s->way == LAMBDA_NOTHING; /* needs no matrix of the set's size
                                                      */
    size_t used = 0, list = direct ? s->b : s->rows, b = small ? 0 : s->b;
    _Static_assert(sizeof(size_t) <= sizeof(double), "lists fit in doubles");
    *r = (lambda_room){0};
    r->fetch = take(at, &used, fetch / sizeof(double) + 1, 1);
    r->places = (size_t *)(void *)take(at, &used, list, 1);
    r->list = (size_t *)(void *)take(at, &used, list, 1);
    r->raw = take(at, &used, s->way == LAMBDA_SPLIT && s->keep ? 0 : s->rows, s->raw);
    r->y = take(at, &used, s->rows, s->size);
    r->kxx = take(at, &used, schur ? b : 0, b);
    r->matrix = take(at, &used, direct ? s->size : 0, s->size);
    r->g = take(at, &used, b, s->size);
    r->c = take(at, &used, b, b);
    r->q = take(at, &used, schur ? 0 : s->size, s->size);
    r->gap = take(at, &used, s->size, 1);
    r->v = take(at, &used, s->length, 1);
    r->kv = take(at, &used, s->length, 1);
    r->t = take(at, &used, s->rows > s->b ? s->rows : s->b, 1);
    r->z = take(at, &used, s->b, 1);
    return used;
}

size_t lambda_room_size(const lambda_shape *s, size_t fetch) {
    lambda_room none;
    return lay(s, fetch, NULL, &none);
}

void lambda_room_lay(const lambda_shape *s, size_t fetch, double *at, lambda_room *room) {
    lay(s, fetch, at, room);
}

/* ---- loading ----------------------------------------------------------------------- */

void lambda_kernel_block(const la_kernel *kernel, const size_t *rows, size_t m,
                         const size_t *others, size_t k, double *out, size_t stride,
                         void *room) {
    for (size_t i = 0; i < m; i += LA_KERNEL_TILE)
        for (size_t j = 0; j < k; j += LA_KERNEL_TILE) {
            size_t high = m - i < LA_KERNEL_TILE ? m - i : LA_KERNEL_TILE;
            size_t wide = k - j < LA_KERNEL_TILE ? k - j : LA_KERNEL_TILE;
            kernel->values(kernel->self, rows + i, high, others + j, wide,
                           out + i * stride + j, stride, room);
        }
}

static void load_features(const la_lambda *e, const lambda_room *room, size_t first,
                          size_t count) {
    la_view view = *e->task.kernel->features;
    view.rows = room->list + first;
    view.m = count;
    la_view_load(&view, 0, count, room->raw, NULL, room->fetch);
}

/* Computes Z^T Z, a block of rows at a time. */
static void load_direct(const la_lambda *e, lambda_room *room) {
    size_t b = e->shape.b, size = e->shape.size, width = e->shape.raw;
    const la_span *span = e->task.span;
    bool itself = !span->basis && !span->columns;
    const la_kernels *f64 = la_kernels_for(LA_F64);
    double top = e->top;
    memcpy(room->matrix, e->matrix, size * size * sizeof(double));
    for (size_t first = 0; first < b; first += e->shape.rows) {
        size_t rest = b - first, count = rest < e->shape.rows ? rest : e->shape.rows;
        load_features(e, room, first, count);
        f64->sumsq(room->raw, count, width, room->t);
        for (size_t i = 0; i < count; i++) top = room->t[i] > top ? room->t[i] : top;
        if (!itself) la_span_coordinates(span, room->raw, count, room->y);
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)size, (int)count, 1,
                    itself ? room->raw : room->y, (int)size, 1, room->matrix, (int)size);
    }
    room->slack = LA_LAMBDA_EQUAL * top;
}

void lambda_load(const la_lambda *e, lambda_room *room, size_t sets) {
    const lambda_shape *s = &e->shape;
    size_t count = sets * s->b, size = s->size;
    if (s->way == LAMBDA_NOTHING) return;
    for (size_t i = 0; i < count; i++) room->list[i] = e->task.open[room->places[i]];
    if (s->way == LAMBDA_DIRECT) {
        load_direct(e, room);
        return;
    }
    if (!e->task.kernel->features)
        lambda_kernel_block(e->task.kernel, room->list, count, e->task.base,
                            e->task.n_base, room->raw, s->raw, room->fetch);
    else if (s->way == LAMBDA_SCHUR || !s->keep)
        load_features(e, room, 0, count);
    if (!s->keep && size)
        la_nn(count, size, s->raw, room->raw, s->raw, e->turn, size, room->y, size);
}

/* Row i of Y, cached or loaded. */
static const double *row_of(const la_lambda *e, const lambda_room *room, size_t i) {
    if (!e->shape.keep) return room->set_y + i * e->shape.size;
    return e->kept + room->places[room->at + i] * e->shape.size;
}

static void gather(const la_lambda *e, const lambda_room *room) {
    size_t size = e->shape.size;
    for (size_t i = 0; e->shape.keep && i < e->shape.b; i++)
        memcpy(room->set_y + i * size, row_of(e, room, i), size * sizeof(double));
}

void lambda_turn_to(const la_lambda *e, lambda_room *room, size_t set) {
    const lambda_shape *s = &e->shape;
    const la_kernels *f64 = la_kernels_for(LA_F64);
    size_t b = s->b, at = set * b;
    double top = e->top;
    room->at = at;
    if (s->way == LAMBDA_NOTHING || s->way == LAMBDA_DIRECT) return;
    room->set_y = room->y + at * s->size;
    room->set_raw = room->raw + at * s->raw;
    if (s->way == LAMBDA_SPLIT) {
        for (size_t i = 0; i < b; i++)
            f64->sumsq(row_of(e, room, i), 1, s->size, room->t + i);
    } else if (e->task.kernel->features) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)b, (int)s->raw, 1,
                    room->set_raw, (int)s->raw, 0, room->kxx, (int)b);
    } else {
        lambda_kernel_block(e->task.kernel, room->list + at, b, room->list + at, b,
                            room->kxx, b, room->fetch);
    }
    for (size_t i = 0; i < b; i++) {
        double norm = s->way == LAMBDA_SPLIT ? room->t[i] : room->kxx[i * b + i];
        top = norm > top ? norm : top;
    }
    room->slack = LA_LAMBDA_EQUAL * top;
}

/* ---- tests whether lambda > mu ----------------------------------------------------- */

/* g = Y with columns from `low` on divided by the square roots of their gaps. */
static void scale_columns(const la_lambda *e, lambda_room *room, size_t low) {
    size_t size = e->shape.size;
    double *root = room->kv; /* free between factorizations; length >= size */
    for (size_t k = 0; k < size; k++) root[k] = k < low ? 1 : 1 / sqrt(room->gap[k]);
    for (size_t i = 0; i < e->shape.b; i++) {
        const double *y = row_of(e, room, i);
        double *g = room->g + i * size;
        for (size_t k = 0; k < size; k++) g[k] = y[k] * root[k];
    }
}

static bool schur_above(const la_lambda *e, lambda_room *room, double mu) {
    size_t b = e->shape.b, size = e->shape.size;
    if (size && !(room->gap[0] > 0)) return false;
    for (size_t i = 0; i < b; i++)
        if (!(room->kxx[i * b + i] > mu)) return false;
    for (size_t i = 0; i < b; i++) {
        memcpy(room->c + i * b, room->kxx + i * b, (i + 1) * sizeof(double));
        room->c[i * b + i] -= mu;
    }
    if (size) {
        scale_columns(e, room, 0);
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)b, (int)size, -1,
                    room->g, (int)size, 1, room->c, (int)b);
    }
    return la_cholesky(b, room->c, b);
}

static bool split_above(const la_lambda *e, lambda_room *room, double mu) {
    size_t b = e->shape.b, size = e->shape.size, below = 0, low = 0;
    double clear = fmax(CLEAR_OF_MU * fabs(mu), CLEAR_OF_TOP * e->top);
    while (below < size && room->gap[below] < 0) below++;
    if (below > b) return false; /* b rows can raise only b eigenvalues */
    while (low < size && room->gap[low] <= clear) low++;
    room->low = low;
    scale_columns(e, room, low);
    memset(room->c, 0, b * b * sizeof(double));
    for (size_t i = 0; i < b; i++) room->c[i * b + i] = 1;
    if (low < size)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)b, (int)(size - low), 1,
                    room->g + low, (int)size, 1, room->c, (int)b);
    if (!la_cholesky(b, room->c, b)) return false; /* not finite */
    if (!low) return true;
    la_solve_lower(b, low, room->c, b, room->g, size);
    memset(room->q, 0, low * low * sizeof(double));
    for (size_t k = 0; k < low; k++) room->q[k * low + k] = room->gap[k];
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)low, (int)b, 1, room->g,
                (int)size, 1, room->q, (int)low);
    return la_cholesky(low, room->q, low);
}

static bool direct_above(const la_lambda *e, lambda_room *room, double mu) {
    size_t size = e->shape.size;
    for (size_t k = 0; k < size; k++) {
        memcpy(room->q + k * size, room->matrix + k * size, (k + 1) * sizeof(double));
        room->q[k * size + k] -= mu;
    }
    return la_cholesky(size, room->q, size);
}

bool lambda_above(const la_lambda *e, lambda_room *room, double mu) {
    const lambda_shape *s = &e->shape;
    room->mu = mu;
    for (size_t k = 0; e->base && k < s->size; k++) room->gap[k] = e->base[k] - mu;
    if (s->way == LAMBDA_SCHUR) return schur_above(e, room, mu);
    if (s->way == LAMBDA_SPLIT) return split_above(e, room, mu);
    return s->way == LAMBDA_DIRECT && direct_above(e, room, mu);
}

/* ---- vectors ----------------------------------------------------------------------- */

/* rows_times: out (b) += Y v; columns_times: out += sign Y^T t. Both use the columns of Y
 * from `from` on; the vector of columns (v or out) starts at column `from`. */
static void rows_times(const la_lambda *e, const lambda_room *room, size_t from,
                       const double *v, double *out) {
    size_t size = e->shape.size;
    if (from < size)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)e->shape.b, (int)(size - from), 1,
                    room->set_y + from, (int)size, v, 1, 1, out, 1);
}

static void columns_times(const la_lambda *e, const lambda_room *room, size_t from,
                          const double *t, double sign, double *out) {
    size_t size = e->shape.size;
    if (from < size)
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)e->shape.b, (int)(size - from), sign,
                    room->set_y + from, (int)size, t, 1, 1, out, 1);
}

static void solve_lower(size_t n, const double *l, bool transposed, double *x) {
    cblas_dtrsv(CblasRowMajor, CblasLower, transposed ? CblasTrans : CblasNoTrans,
                CblasNonUnit, (int)n, l, (int)n, x, 1);
}

/* v = (K - mu)^-1 v */
static void schur_solve(const la_lambda *e, lambda_room *room) {
    size_t b = e->shape.b, size = e->shape.size;
    double *u = room->v, *x = room->v + size;
    for (size_t k = 0; k < size; k++) room->kv[k] = u[k] / room->gap[k];
    for (size_t i = 0; i < b; i++) room->t[i] = -x[i];
    rows_times(e, room, 0, room->kv, room->t);
    for (size_t i = 0; i < b; i++) x[i] = -room->t[i];
    solve_lower(b, room->c, false, x);
    solve_lower(b, room->c, true, x);
    columns_times(e, room, 0, x, -1, u);
    for (size_t k = 0; k < size; k++) u[k] /= room->gap[k];
}

/* With C = R R^T, T = R^-1 Y_s and z = Y v: Q v_s = f_s - T^T R^-1 Y_h (D_h - mu)^-1 f_h,
 * z = R^-T (T v_s + R^-1 Y_h (D_h - mu)^-1 f_h), v_h = (D_h - mu)^-1 (f_h - Y_h^T z). */
static void split_solve(const la_lambda *e, lambda_room *room) {
    size_t b = e->shape.b, size = e->shape.size, low = room->low;
    double *v = room->v, *q = room->t;
    for (size_t k = low; k < size; k++) room->kv[k] = v[k] / room->gap[k];
    memset(q, 0, b * sizeof(double));
    rows_times(e, room, low, room->kv + low, q);
    solve_lower(b, room->c, false, q);
    memcpy(room->z, q, b * sizeof(double));
    if (low) {
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)b, (int)low, -1, room->g, (int)size,
                    q, 1, 1, v, 1);
        solve_lower(low, room->q, false, v);
        solve_lower(low, room->q, true, v);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)b, (int)low, 1, room->g, (int)size,
                    v, 1, 1, room->z, 1);
    }
    solve_lower(b, room->c, true, room->z);
    columns_times(e, room, low, room->z, -1, v + low);
    for (size_t k = low; k < size; k++) v[k] /= room->gap[k];
}

static void solve(const la_lambda *e, lambda_room *room) {
    size_t length = e->shape.length;
    if (e->shape.way == LAMBDA_SCHUR) {
        schur_solve(e, room);
    } else if (e->shape.way == LAMBDA_SPLIT) {
        split_solve(e, room);
    } else {
        solve_lower(length, room->q, false, room->v);
        solve_lower(length, room->q, true, room->v);
    }
    /* divide by the largest entry first, so that squares do not overflow */
    double reach = fabs(room->v[cblas_idamax((int)length, room->v, 1)]);
    cblas_dscal((int)length, 1 / reach, room->v, 1);
    cblas_dscal((int)length, 1 / cblas_dnrm2((int)length, room->v, 1), room->v, 1);
}

/* kv = K v, or Z^T Z v if N > r */
static void apply(const la_lambda *e, lambda_room *room) {
    const lambda_shape *s = &e->shape;
    const double *v = room->v;
    double *out = room->kv;
    if (s->way == LAMBDA_DIRECT) {
        memset(out, 0, s->size * sizeof(double));
        cblas_dsymv(CblasRowMajor, CblasLower, (int)s->size, 1, room->matrix,
                    (int)s->size, v, 1, 1, out, 1);
        return;
    }
    for (size_t k = 0; k < s->size; k++) out[k] = e->base[k] * v[k];
    if (s->way == LAMBDA_SPLIT) {
        memset(room->t, 0, s->b * sizeof(double));
        rows_times(e, room, 0, v, room->t);
        columns_times(e, room, 0, room->t, 1, out);
        return;
    }
    memset(out + s->size, 0, s->b * sizeof(double));
    cblas_dsymv(CblasRowMajor, CblasLower, (int)s->b, 1, room->kxx, (int)s->b,
                v + s->size, 1, 1, out + s->size, 1);
    rows_times(e, room, 0, v, out + s->size);
    columns_times(e, room, 0, v + s->size, 1, out);
}

/* Inverse iteration with the current factors; returns the Rayleigh quotient, and an upper
 * bound of its distance from an eigenvalue. */
static double iterate(const la_lambda *e, lambda_room *room, double *off) {
    size_t length = e->shape.length;
    for (int k = 0; k < INVERSE_STEPS; k++) solve(e, room);
    apply(e, room);
    double rho = cblas_ddot((int)length, room->v, 1, room->kv, 1);
    cblas_daxpy((int)length, -rho, room->v, 1, room->kv, 1);
    *off = cblas_dnrm2((int)length, room->kv, 1);
    return rho;
}

static void start_vector(const la_lambda *e, lambda_room *room) {
    double turn = 0;
    gather(e, room);
    for (size_t k = 0; k < e->shape.length; k++) {
        turn += 0.61803398874989485; /* golden ratio: avoids patterns in the data */
        turn -= turn >= 1;
        room->v[k] = turn - 0.45;
    }
}

/* ---- values ------------------------------------------------------------------------ */

/* Bisects between lo, which is below lambda, and *hi, which is not, until a point is
 * below lambda. Returns this point, or lo if the interval becomes too short, and leaves
 * the factors at the returned point. Lowers *hi to the last point that was not below. */
static double back_off(const la_lambda *e, lambda_room *room, double lo, double *hi) {
    while (*hi - lo > room->slack / 4) {
        double mid = lo + (*hi - lo) / 2;
        if (lambda_above(e, room, mid)) return mid;
        *hi = mid;
    }
    lambda_above(e, room, lo);
    return lo;
}

double lambda_value(const la_lambda *e, lambda_room *room, double lo) {
    double hi = INFINITY, slack = room->slack;
    start_vector(e, room);
    for (int round = 0; round < MOST_ROUNDS && hi - lo > slack / 2; round++) {
        double off, rho = iterate(e, room, &off);
        if (!(rho < hi)) rho = hi;
        hi = rho;
        if (hi - lo <= slack / 2) break;
        double next = hi - fmax(slack / 4, fmin(off, (hi - lo) / 2));
        if (lambda_above(e, room, next)) {
            lo = next;
        } else {
            hi = next;
            lo = back_off(e, room, lo, &hi);
        }
    }
    if (e->shape.way == LAMBDA_SCHUR && e->shape.size && hi > e->base[0] - slack)
        return e->base[0]; /* lambda is at most this: la_lambda_cap() */
    return hi;
}

double lambda_solve(const la_lambda *e, lambda_room *room) {
    double off;
    if (e->shape.way == LAMBDA_NOTHING) return 0;
    if (lambda_above(e, room, room->slack)) return lambda_value(e, room, room->slack);
    /* lambda is 0: rows are dependent, and the vector shows which */
    start_vector(e, room);
    if (lambda_above(e, room, -room->slack)) iterate(e, room, &off);
    return 0;
}

/* out (b) = z . v for each row of the set. */
static void direct_rows_times(const la_lambda *e, lambda_room *room, double *out) {
    const lambda_shape *s = &e->shape;
    const la_span *span = e->task.span;
    bool itself = !span->basis && !span->columns;
    for (size_t first = 0; first < s->b; first += s->rows) {
        size_t rest = s->b - first, count = rest < s->rows ? rest : s->rows;
        load_features(e, room, first, count);
        if (!itself) la_span_coordinates(span, room->raw, count, room->y);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)count, (int)s->size, 1,
                    itself ? room->raw : room->y, (int)s->size, room->v, 1, 1,
                    out + first, 1);
    }
}

/* If N <= r, removing the row with the largest entry of the eigenvector raises lambda
 * most. If N > r, removing the row with the smallest component along the eigenvector
 * lowers it least. */
void lambda_burden(const la_lambda *e, lambda_room *room, double *burden) {
    const lambda_shape *s = &e->shape;
    memset(burden, 0, s->b * sizeof(double));
    if (s->way == LAMBDA_NOTHING) return;
    if (s->way == LAMBDA_SPLIT) rows_times(e, room, 0, room->v, burden);
    if (s->way == LAMBDA_DIRECT) direct_rows_times(e, room, burden);
    for (size_t i = 0; i < s->b; i++) {
        if (s->way == LAMBDA_SCHUR)
            burden[i] = room->v[s->size + i] * room->v[s->size + i];
        else
            burden[i] *= -burden[i];
    }
}
