/* SPDX-License-Identifier: Apache-2.0 */
#include "report/projection.h"

#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "linalg/dense.h"
#include "linalg/products.h"

enum {
    SMALL_WIDTH = 1024, /* most features for an exact Gram matrix */
    BLOCK = 8,          /* vectors of subspace iteration */
    STEPS = 40,         /* most steps of subspace iteration */
};
static const size_t MOST_GRAM = (size_t)64 << 30;  /* n d^2: a few seconds */
static const size_t MOST_WIDE = (size_t)128 << 20; /* n d, read in every step */
static const double SETTLED = 1e-5; /* change in a step, relative to the variance */

/* ---- even samples ----------------------------------------------------------------- */

static void sample_next(report_sample *s) {
    scant__rng rng = {0, SCANT__RNG_SHUFFLE};
    if (s->taken >= s->room || s->room >= s->total) return;
    size_t from = (size_t)((double)s->total * (double)s->taken / (double)s->room);
    size_t to = (size_t)((double)s->total * (double)(s->taken + 1) / (double)s->room);
    from = from < s->seen ? s->seen : from;
    s->next = to > from ? from + scant__rng_below(&rng, s->taken, to - from) : from;
}

report_sample report_sample_begin(size_t total, size_t room) {
    report_sample s = {.total = total, .room = room};
    sample_next(&s);
    return s;
}

bool report_sample_takes(report_sample *s) {
    size_t at = s->seen++;
    if (s->room >= s->total) return true;
    if (s->taken >= s->room || at != s->next) return false;
    s->taken++;
    sample_next(s);
    return true;
}

/* ---- centred rows ------------------------------------------------------------------ */

typedef struct centred {
    la_rows inner; /* doubles */
    const double *mean;
} centred;

/* Rows are centred before multiplying: for a pool far from the origin, products of the
 * rows themselves would lose all digits. */
static void centred_fetch(const void *self, size_t first, size_t count, void *out) {
    const centred *c = self;
    size_t d = c->inner.d;
    double *centred_rows = out;
    const double *x = la_rows_get(&c->inner, first, count, out);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < d; k++)
            centred_rows[i * d + k] = x[i * d + k] - c->mean[k];
}

/* ---- components -------------------------------------------------------------------- */

/* Matrices of the computation. */
typedef struct pca {
    size_t d, m; /* m: rows that are used */
    size_t *rows;
    double *mean;
    double *gram, *values, *room; /* up to SMALL_WIDTH features: (d,d), (d), scratch */
    double *basis, *image;        /* for more: (BLOCK,d), (d,BLOCK+1) */
    double *axes;                 /* (d,2) */
    la_work work;
} pca;

static bool is_wide(size_t d) { return d > SMALL_WIDTH; }

static size_t rows_used(const select_pool *pool) {
    size_t d = pool->d, most = is_wide(d) ? MOST_WIDE / d : MOST_GRAM / (d * d);
    most = most > 2 * d && most > 1000 ? most : 2 * d + 1000;
    return most < pool->n ? most : pool->n;
}

/* Adds X^T (X basis^T) to the first BLOCK columns of image (d,BLOCK+1), and the sum of
 * squares of each feature to its last column. */
static void image_block(void *arg, const la_block *b) {
    const pca *p = arg;
    size_t d = p->d, width = BLOCK + 1;
    la_nt(b->count, BLOCK, d, b->h, d, p->basis, d, b->room, BLOCK);
    la_tn_add(d, BLOCK, b->count, b->h, d, b->room, BLOCK, b->sum, width);
    for (size_t i = 0; i < b->count; i++)
        for (size_t k = 0; k < d; k++)
            b->sum[k * width + BLOCK] += b->h[i * d + k] * b->h[i * d + k];
}

static la_job image_job(size_t d, pca *p) {
    return (la_job){.fn = image_block,
                    .arg = p,
                    .room = BLOCK,
                    .cost = 2 * BLOCK * d,
                    .height = d,
                    .width = BLOCK + 1,
                    .blas = true};
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

/* Gram-Schmidt, twice; rows that depend on earlier ones become 0. */
static void orthonormalise(double *rows, size_t count, size_t d) {
    for (size_t i = 0; i < count; i++) {
        double *x = rows + i * d, before = sqrt(dot(x, x, d));
        for (int turn = 0; turn < 2; turn++)
            for (size_t j = 0; j < i; j++) {
                const double *y = rows + j * d;
                double along = dot(x, y, d);
                for (size_t k = 0; k < d; k++) x[k] -= along * y[k];
            }
        double left = sqrt(dot(x, x, d));
        double scale = left > 1e-12 * before ? 1 / left : 0;
        for (size_t k = 0; k < d; k++) x[k] *= scale;
    }
}

/* Computes the Ritz values (descending) and vectors of the basis from its image. A row of
 * `turn` has a vector's coordinates in the basis. */
static scant_status ritz(scant_ctx *ctx, const pca *p, double values[BLOCK],
                         double turn[BLOCK * BLOCK]) {
    double small[BLOCK * BLOCK] = {0}, rising[BLOCK], room[256];
    size_t width = BLOCK + 1;
    for (size_t i = 0; i < BLOCK; i++)
        for (size_t k = 0; k < p->d; k++)
            for (size_t j = 0; j < BLOCK; j++)
                small[i * BLOCK + j] += p->basis[i * p->d + k] * p->image[k * width + j];
    for (size_t i = 0; i < BLOCK; i++)
        for (size_t j = 0; j < i; j++)
            small[i * BLOCK + j] = small[j * BLOCK + i] =
                (small[i * BLOCK + j] + small[j * BLOCK + i]) / 2;
    _Static_assert(1 + 6 * BLOCK + 2 * BLOCK * BLOCK + 3 + 5 * BLOCK <= 256, "room");
    TRY(la_eigh_alone(ctx, BLOCK, small, true, rising, room));
    for (size_t i = 0; i < BLOCK; i++) {
        values[i] = rising[BLOCK - 1 - i];
        memcpy(turn + i * BLOCK, small + (BLOCK - 1 - i) * BLOCK, BLOCK * sizeof *turn);
    }
    return SCANT_OK;
}

static scant_status wide_components(scant_ctx *ctx, const la_view *x, pca *p,
                                    double values[2], double *total) {
    scant__rng rng = {0, SCANT__RNG_PROPOSE};
    double ritzes[BLOCK], turn[BLOCK * BLOCK];
    values[0] = values[1] = 0;
    for (size_t k = 0; k < BLOCK * p->d; k++)
        p->basis[k] = scant__rng_unit(&rng, k) - 0.5;
    for (int step = 0; step < STEPS; step++) {
        orthonormalise(p->basis, BLOCK, p->d);
        TRY(la_walk(x, image_job(p->d, p), p->image, &p->work));
        TRY(ritz(ctx, p, ritzes, turn));
        *total = 0;
        for (size_t k = 0; k < p->d; k++) *total += p->image[k * (BLOCK + 1) + BLOCK];
        bool still = fabs(ritzes[0] - values[0]) <= SETTLED * *total &&
                     fabs(ritzes[1] - values[1]) <= SETTLED * *total;
        values[0] = ritzes[0], values[1] = ritzes[1];
        if (still || step + 1 == STEPS) break;
        for (size_t k = 0; k < p->d; k++)
            for (size_t i = 0; i < BLOCK; i++)
                p->basis[i * p->d + k] = p->image[k * (BLOCK + 1) + i];
    }
    for (size_t k = 0; k < p->d; k++)
        for (size_t a = 0; a < 2; a++) {
            p->axes[2 * k + a] = 0;
            for (size_t i = 0; i < BLOCK; i++)
                p->axes[2 * k + a] += turn[a * BLOCK + i] * p->basis[i * p->d + k];
        }
    return SCANT_OK;
}

static scant_status narrow_components(scant_ctx *ctx, const la_view *x, pca *p,
                                      double values[2], double *total) {
    size_t d = p->d;
    TRY(la_gram(x, NULL, p->gram, &p->work));
    *total = 0;
    for (size_t k = 0; k < d; k++) *total += p->gram[k * d + k];
    TRY(scant__tick(ctx, "finding components", 0, 1));
    TRY(la_eigh_alone(ctx, d, p->gram, true, p->values, p->room));
    for (size_t a = 0; a < 2; a++) {
        values[a] = p->values[d - 1 - a];
        for (size_t k = 0; k < d; k++) p->axes[2 * k + a] = p->gram[(d - 1 - a) * d + k];
    }
    return SCANT_OK;
}

/* Fixes the sign of a component: its first large entry is positive. (The largest entry
 * may be ambiguous by rounding.) */
static void fix_sign(double *axes, size_t d, size_t a) {
    double reach = 0;
    size_t first = 0;
    for (size_t k = 0; k < d; k++) reach = fmax(reach, fabs(axes[2 * k + a]));
    while (first + 1 < d && fabs(axes[2 * first + a]) < 0.9 * reach) first++;
    double sign = axes[2 * first + a] < 0 ? -1 : 1;
    for (size_t k = 0; k < d; k++) axes[2 * k + a] *= sign;
}

/* ---- memory ------------------------------------------------------------------------ */

/* Returns the size of the buffer that all products share. */
static size_t work_memory(const select_pool *pool, size_t count, unsigned threads) {
    la_rows h = {.n = pool->n, .d = pool->d, .type = LA_F64};
    la_view x = {.h = &h, .m = rows_used(pool)}, shown = {.h = &h, .m = count};
    size_t means =
        size_max(la_sums_memory(&x, threads), la_times_memory(&shown, 2, threads));
    return size_max(means, is_wide(pool->d)
                               ? la_walk_memory(&x, image_job(pool->d, NULL), threads)
                               : la_gram_memory(&x, threads));
}

static size_t doubles_cost(size_t count) {
    return scant__alloc_cost(size_add(size_mul(count, sizeof(double)), 64));
}

size_t report_project_memory(const select_pool *pool, size_t count, unsigned threads) {
    size_t d = pool->d, scan = select_features_memory(pool, threads);
    if (d <= 2) return scan;
    size_t own = size_add(doubles_cost(d), doubles_cost(2 * d));
    own = size_add(own, doubles_cost(rows_used(pool)));
    own = size_add(own, scant__alloc_cost(work_memory(pool, count, threads)));
    if (is_wide(d)) {
        own = size_add(own, doubles_cost(size_mul(d, BLOCK)));
        own = size_add(own, doubles_cost(size_mul(d, BLOCK + 1)));
    } else {
        own = size_add(own, doubles_cost(d * d + d));
        own = size_add(own, doubles_cost(la_eigh_room(d, true)));
    }
    return size_max(scan, own);
}

static scant_status pca_init(pca *p, scant__arena *arena, const select_pool *pool,
                             size_t count) {
    size_t d = pool->d;
    *p = (pca){.d = d, .m = rows_used(pool)};
    p->mean = TRY_NEW(arena, double, d);
    p->axes = TRY_NEW(arena, double, 2 * d);
    if (is_wide(d)) {
        p->basis = TRY_NEW(arena, double, BLOCK *d);
        p->image = TRY_NEW(arena, double, (BLOCK + 1) * d);
    } else {
        p->gram = TRY_NEW(arena, double, d *d + d);
        p->room = TRY_NEW(arena, double, la_eigh_room(d, true));
        p->values = p->gram + d * d;
    }
    if (p->m < pool->n) {
        report_sample sample = report_sample_begin(pool->n, p->m);
        size_t taken = 0;
        p->rows = TRY_NEW(arena, size_t, p->m);
        for (size_t i = 0; i < pool->n; i++)
            if (report_sample_takes(&sample)) p->rows[taken++] = i;
        p->m = taken;
    }
    return la_work_init(&p->work, arena, work_memory(pool, count, arena->ctx->threads));
}

/* ---- the projection ---------------------------------------------------------------- */

static scant_status project(scant__arena *arena, const select_pool *pool,
                            const la_rows *h, const size_t *rows, size_t count,
                            double *out, report_axes *axes) {
    scant_ctx *ctx = arena->ctx;
    double values[2], total = 0;
    pca p;
    TRY(pca_init(&p, arena, pool, count));
    p.work.phase = "finding components";
    la_view all = {.h = h, .rows = p.rows, .m = p.m};
    TRY(la_sums(&all, NULL, p.mean, &p.work));
    for (size_t k = 0; k < p.d; k++) p.mean[k] /= (double)p.m;
    centred c = {.inner = *h, .mean = p.mean};
    la_rows x = {
        .n = h->n, .d = h->d, .type = LA_F64, .fetch = centred_fetch, .self = &c};
    la_view used = {.h = &x, .rows = p.rows, .m = p.m};
    TRY((is_wide(p.d) ? wide_components : narrow_components)(ctx, &used, &p, values,
                                                             &total));
    for (size_t a = 0; a < 2; a++) {
        axes->share[a] = total > 0 ? fmax(0, values[a]) / total : 0;
        fix_sign(p.axes, p.d, a);
    }
    la_view shown = {.h = &x, .rows = rows, .m = count};
    return la_times(&shown, p.axes, 2, out, &p.work);
}

static void copy_features(const la_rows *h, const size_t *rows, size_t count,
                          double *out) {
    double room[2];
    for (size_t i = 0; i < count; i++) {
        const double *x = la_rows_get(h, rows[i], 1, room);
        out[2 * i] = x[0];
        out[2 * i + 1] = h->d == 2 ? x[1] : 0;
    }
}

scant_status report_project(scant__arena *arena, const select_pool *pool,
                            const size_t *rows, size_t count, double *out,
                            report_axes *axes) {
    AUTO(scant__arena_end) scant__arena own = {.ctx = arena->ctx};
    select_features f;
    la_rows h;
    TRY(select_features_scan(arena, pool, false, &f));
    f.type = LA_F64;
    select_feature_rows(&f, &h);
    *axes = (report_axes){.components = pool->d > 2};
    if (count == 0) return SCANT_OK;
    if (pool->d <= 2) {
        copy_features(&h, rows, count, out);
        return SCANT_OK;
    }
    return project(&own, pool, &h, rows, count, out, axes);
}
