/* SPDX-License-Identifier: Apache-2.0
 *
 * The closed-form tangent kernel between rows of features (linalg/ntk.h), and regression
 * with any kernel: the predictions of an infinitely wide network trained to convergence
 * (Arora et al. 2019).
 *
 * Cost: n m values of the kernel; n^3 / 6 multiply-adds to fit, n c to predict a row.
 * Memory: n^2 doubles for a fit. The same bits at any thread count: the factorization
 * runs on one thread.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/blas.h"
#include "linalg/dense.h"
#include "linalg/ntk.h"
#include "scant/study.h"
#include "select/pool.h"

/* ---- kernel values ----------------------------------------------------------------- */

typedef struct operand {
    select_pool pool;
    select_features features;
    la_rows rows;
    la_view view;
    la_ntk ntk;
} operand;

typedef struct between {
    operand a, b;
    bool same; /* b is a: one triangle is copied */
    double *out, unscale;
    unsigned char *rooms;
    size_t room;
} between;

static scant_status read_side(scant__arena *arena, const scant_array *features,
                              size_t depth, operand *s) {
    const scant_evidence e = {.features = features};
    TRY(select_pool_open(arena->ctx, &e, SCANT_FEATURES, "the kernel", &s->pool));
    TRY(select_features_scan(arena, &s->pool, false, &s->features));
    select_feature_rows(&s->features, &s->rows);
    s->view = (la_view){.h = &s->rows, .m = s->rows.n};
    s->ntk = (la_ntk){&s->view, depth};
    return SCANT_OK;
}

static scant_status too_large(const between *k, size_t i, size_t j, scant__fault *fault) {
    return scant__fault_set(
        fault, SCANT_EINPUT, "the kernel of %s row %zu and %s row %zu overflows",
        scant_array_name(k->a.pool.features), i, scant_array_name(k->b.pool.features), j);
}

static scant_status value_rows(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    const between *k = arg;
    size_t m = k->b.rows.n, first = block * LA_KERNEL_TILE;
    size_t count = size_min(LA_KERNEL_TILE, k->a.rows.n - first);
    void *room = k->rooms + worker * k->room;
    size_t end = k->same ? first + count : m;
    for (size_t from = 0; from < end; from += LA_KERNEL_TILE)
        la_ntk_between(&k->a.ntk, first, count, &k->b.ntk, from,
                       size_min(LA_KERNEL_TILE, end - from), k->out + first * m + from, m,
                       room);
    for (size_t i = first; i < first + count; i++)
        for (size_t j = 0; j < end; j++) {
            double *value = &k->out[i * m + j];
            *value *= k->unscale;
            if (!isfinite(*value)) return too_large(k, i, j, fault);
            if (k->same && j < first) k->out[j * m + i] = *value;
        }
    return SCANT_OK;
}

/* Returns the buffer size of one thread, in whole cache lines. */
static size_t room_of(const la_ntk *a, const la_ntk *b) {
    return size_mul(size_add(la_ntk_room(a, b), 63) / 64, 64);
}

/* Each thread has a buffer: first of CHECK bytes, to check the features, then that of
 * la_ntk_between(). The check also keeps the extremes of at most 65,536 blocks of rows
 * (SPARE). */
size_t scant_ntk_memory(const scant_ctx *ctx, size_t width) {
    enum { CHECK = (1 << 18) + 64, SPARE = (1 << 20) + 4096 };
    const la_rows rows = {.d = width, .type = LA_F64};
    const la_view view = {.h = &rows};
    const la_ntk ntk = {&view, 1};
    return size_add(size_mul(ctx->threads, size_max(room_of(&ntk, &ntk), CHECK)), SPARE);
}

static scant_status all_values(scant__arena *arena, between *k) {
    scant_ctx *ctx = arena->ctx;
    k->unscale = 1 / k->a.features.scale / k->b.features.scale;
    k->room = room_of(&k->a.ntk, &k->b.ntk);
    k->rooms = TRY_NEW(arena, unsigned char, size_mul(ctx->threads, k->room));
    size_t blocks = (k->a.rows.n + LA_KERNEL_TILE - 1) / LA_KERNEL_TILE;
    return scant__parfor(ctx, "comparing rows", blocks, value_rows, k);
}

static scant_status check_between(scant_ctx *ctx, const between *k, size_t depth) {
    if (depth < 1 || depth > LA_NTK_DEPTH)
        return scant__fail(ctx, SCANT_EUSAGE, "the depth is %zu, expected 1 to %d", depth,
                           LA_NTK_DEPTH);
    if (k->a.rows.d == k->b.rows.d) return SCANT_OK;
    return scant__fail(ctx, SCANT_EINPUT, "%s has %zu columns, but %s has %zu",
                       scant_array_name(k->b.pool.features), k->b.rows.d,
                       scant_array_name(k->a.pool.features), k->a.rows.d);
}

scant_status scant_ntk_kernel(scant_ctx *ctx, const scant_array *a, const scant_array *b,
                              size_t depth, double *out) {
    NEED(ctx && a);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    between k = {.same = !b || a == b, .out = out};
    TRY(read_side(&arena, a, depth, &k.a));
    TRY(read_side(&arena, b ? b : a, depth, &k.b));
    TRY(check_between(ctx, &k, depth));
    return all_values(&arena, &k);
}

/* ---- fitting ----------------------------------------------------------------------- */

typedef struct fit {
    const double *kernel;
    size_t n, c;
    double shift, least; /* added to the diagonal; lower bound of squared pivots */
    double *factor;      /* (n, n) */
    double *alpha;       /* (n, c): the targets, then the solution */
    bool definite;
} fit;

static scant_status factorize(void *arg, size_t block, unsigned worker,
                              scant__fault *fault) {
    fit *f = arg;
    size_t n = f->n;
    (void)block, (void)worker, (void)fault;
    for (size_t i = 0; i < n; i++) {
        memcpy(f->factor + i * n, f->kernel + i * n, (i + 1) * sizeof(double));
        f->factor[i * n + i] += f->shift;
    }
    f->definite = la_cholesky(n, f->factor, n);
    for (size_t i = 0; f->definite && i < n; i++) {
        double pivot = f->factor[i * n + i];
        f->definite = pivot * pivot > f->least;
    }
    if (!f->definite) return SCANT_OK;
    la_solve_lower(n, f->c, f->factor, n, f->alpha, f->c);
    la_solve_lower_t(n, f->c, f->factor, n, f->alpha, f->c);
    return SCANT_OK;
}

/* Sets *top to the largest diagonal entry; checks that all numbers are finite. */
static scant_status check_fit(scant_ctx *ctx, const fit *f, const double *targets,
                              double *top) {
    *top = 0;
    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j <= i; j++)
            if (!isfinite(f->kernel[i * f->n + j]))
                return scant__fail(ctx, SCANT_EINPUT,
                                   "the kernel: row %zu, column %zu is %g", i, j,
                                   f->kernel[i * f->n + j]);
        for (size_t j = 0; j < f->c; j++)
            if (!isfinite(targets[i * f->c + j]))
                return scant__fail(ctx, SCANT_EINPUT,
                                   "the targets: row %zu, column %zu is %g", i, j,
                                   targets[i * f->c + j]);
        *top = fmax(*top, f->kernel[i * (f->n + 1)]);
    }
    TRY(la_fits(ctx, f->n));
    return la_fits(ctx, f->c);
}

/* Tries a jitter of 0, then one of sqrt(DBL_EPSILON) times the largest diagonal entry,
 * for which the errors by jitter and by rounding are about equal, then ten times more
 * each time. */
static scant_status solve(scant_ctx *ctx, fit *f, double ridge, double top,
                          double *jitter) {
    double size = top + ridge > 0 ? top + ridge : 1;
    f->least = (double)f->n * DBL_EPSILON * size;
    for (*jitter = 0; *jitter <= 1e-3 * size;
         *jitter = *jitter > 0 ? 10 * *jitter : fmax(sqrt(DBL_EPSILON) * size, DBL_MIN)) {
        f->shift = ridge + *jitter;
        TRY(scant__blas_for(ctx, NULL, 1, factorize, f));
        if (f->definite) return SCANT_OK;
    }
    return scant__fail(ctx, SCANT_EINPUT,
                       "the matrix is not a kernel: it has a negative eigenvalue beyond "
                       "rounding");
}

scant_status scant_kernel_fit(scant_ctx *ctx, const double *kernel, size_t n,
                              const double *targets, size_t c, double ridge,
                              double *alpha, double *jitter) {
    NEED(ctx);
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    fit f = {.kernel = kernel, .n = n, .c = c, .alpha = alpha};
    double top, added = 0;
    if (jitter) *jitter = 0;
    if (!(ridge >= 0) || !isfinite(ridge))
        return scant__fail(ctx, SCANT_EUSAGE,
                           "the ridge is %g, expected a number of at least 0", ridge);
    TRY(check_fit(ctx, &f, targets, &top));
    if (!n || !c) return SCANT_OK;
    f.factor = TRY_NEW(&arena, double, size_mul(n, n));
    memmove(alpha, targets, n * c * sizeof *alpha);
    TRY(solve(ctx, &f, ridge, top, &added));
    if (jitter) *jitter = added;
    return SCANT_OK;
}

/* ---- predicting -------------------------------------------------------------------- */

typedef struct prediction {
    const double *kernel, *alpha;
    size_t m, n, c;
    double *out;
} prediction;

static scant_status predict_rows(void *arg, size_t block, unsigned worker,
                                 scant__fault *fault) {
    const prediction *p = arg;
    size_t first = block * LA_BLOCK, count = size_min(LA_BLOCK, p->m - first);
    (void)worker, (void)fault;
    la_nn(count, p->c, p->n, p->kernel + first * p->n, p->n, p->alpha, p->c,
          p->out + first * p->c, p->c);
    return SCANT_OK;
}

scant_status scant_kernel_predict(scant_ctx *ctx, const double *kernel, size_t m,
                                  size_t n, const double *alpha, size_t c, double *out) {
    NEED(ctx);
    prediction p = {kernel, alpha, m, n, c, out};
    TRY(la_fits(ctx, n));
    TRY(la_fits(ctx, c));
    if (!m || !c) return SCANT_OK;
    return scant__blas_for(ctx, NULL, (m + LA_BLOCK - 1) / LA_BLOCK, predict_rows, &p);
}
