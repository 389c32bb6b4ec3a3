/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and checks features, and provides them as rows for distances.
 *
 * Rows of float32 or float64 are used in place unless their type or scale has to change.
 * Distances are computed in float only if float32 holds the input exactly, rows are not
 * scaled to unit length, and squares of norms neither overflow nor underflow. In all
 * other cases they are computed in double. If squares of the largest norm overflow or
 * underflow in double too, rows are multiplied by a power of two.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "data/array.h"
#include "select/pool.h"

/* Ranges of norms whose squares neither overflow nor underflow in float32 and in double.
 */
#define F32_LARGE 1e15
#define F32_SMALL 1e-15
#define F64_LARGE 1e140
#define F64_SMALL 1e-140

enum { PIECE = 256 };

static bool is_f64(const select_pool *pool) {
    return scant_array_dtype(pool->features) == SCANT_F64;
}

bool select_features_direct(const select_pool *pool) {
    return scant__array_is_direct(pool->features, is_f64(pool) ? SCANT_F64 : SCANT_F32);
}

/* The largest magnitude of a row. *bad: column of a number that is not finite, or d. */
static double row_reach(const select_pool *pool, size_t row, size_t *bad) {
    double piece[PIECE], reach = 0;
    *bad = pool->d;
    for (size_t k = 0; k < pool->d; k += PIECE) {
        size_t count = pool->d - k < PIECE ? pool->d - k : PIECE;
        scant__array_read_f64(pool->features, row * pool->d + k, count, piece);
        for (size_t j = 0; j < count; j++) {
            if (!isfinite(piece[j])) {
                *bad = k + j;
                return piece[j];
            }
            reach = fabs(piece[j]) > reach ? fabs(piece[j]) : reach;
        }
    }
    return reach;
}

/* Computes the norm of a row whose squares overflow or underflow in double. Fails if a
 * number is not finite. */
static scant_status extreme_norm(const select_pool *pool, size_t row, double *norm,
                                 scant__fault *fault) {
    size_t bad;
    double reach = row_reach(pool, row, &bad), sum = 0, piece[PIECE];
    if (bad < pool->d)
        return scant__fault_set(fault, SCANT_EINPUT,
                                "%s: row %zu, column %zu is %g, expected a finite number",
                                scant_array_name(pool->features), row, bad, reach);
    for (size_t k = 0; reach > 0 && k < pool->d; k += PIECE) {
        size_t count = pool->d - k < PIECE ? pool->d - k : PIECE;
        scant__array_read_f64(pool->features, row * pool->d + k, count, piece);
        for (size_t j = 0; j < count; j++) sum += (piece[j] / reach) * (piece[j] / reach);
    }
    *norm = reach * sqrt(sum);
    return SCANT_OK;
}

scant_status select_features_norms(const select_pool *pool, size_t first, size_t count,
                                   void *room, double *norm, scant__fault *fault) {
    size_t d = pool->d;
    if (select_features_direct(pool)) {
        const la_kernels *k = la_kernels_for(is_f64(pool) ? LA_F64 : LA_F32);
        k->sumsq(pool->features->data + first * d * k->size, count, d, norm);
    } else {
        scant__array_read_f64(pool->features, first * d, count * d, room);
        la_kernels_for(LA_F64)->sumsq(room, count, d, norm);
    }
    for (size_t i = 0; i < count; i++) {
        bool vanished = norm[i] < F64_SMALL * F64_SMALL && is_f64(pool);
        if (!vanished && norm[i] <= F64_LARGE * F64_LARGE)
            norm[i] = sqrt(norm[i]);
        else
            TRY(extreme_norm(pool, first + i, &norm[i], fault));
    }
    return SCANT_OK;
}

void select_features_guess(const select_pool *pool, bool normalise, select_features *f) {
    *f = (select_features){.pool = pool,
                           .type = normalise || is_f64(pool) ? LA_F64 : LA_F32,
                           .normalise = normalise,
                           .scale = 1};
}

/* Rows checked at a time: a quarter megabyte, or more to have at most 65,536 blocks. */
static size_t check_rows(const select_pool *pool) {
    size_t rows = 32768 / pool->d + 1, least = pool->n / 65536 + 1;
    return rows > least ? rows : least;
}

static size_t check_room(const select_pool *pool) { /* bytes per worker */
    return check_rows(pool) * (1 + (select_features_direct(pool) ? 0 : pool->d)) *
           sizeof(double);
}

size_t select_features_memory(const select_pool *pool, unsigned threads) {
    return scant__alloc_cost(threads * check_room(pool)) +
           scant__alloc_cost((pool->n / check_rows(pool) + 2) * 2 * sizeof(double)) + 128;
}

typedef struct norms_job {
    const select_pool *pool;
    size_t rows;         /* rows per block */
    unsigned char *room; /* per worker: `rows` norms, then rows * d doubles */
    size_t room_size;
    double *largest;  /* per block */
    double *smallest; /* per block, without zero rows */
} norms_job;

static scant_status norms_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    norms_job *job = arg;
    const select_pool *pool = job->pool;
    size_t first = block * job->rows;
    size_t count = pool->n - first < job->rows ? pool->n - first : job->rows;
    double *norm = (double *)(void *)(job->room + worker * job->room_size);
    TRY(select_features_norms(pool, first, count, norm + job->rows, norm, fault));
    job->largest[block] = norm[la_argmax(norm, count)];
    job->smallest[block] = INFINITY;
    for (size_t i = 0; i < count; i++)
        if (norm[i] > 0 && norm[i] < job->smallest[block]) job->smallest[block] = norm[i];
    return SCANT_OK;
}

/* A power of two that brings norms near 1, as far as a normal double can. */
static double scale_for(double reach) {
    int up = -ilogb(reach);
    return ldexp(1.0, up > 1000 ? 1000 : up < -1000 ? -1000 : up);
}

scant_status select_features_scan(scant__arena *arena, const select_pool *pool,
                                  bool normalise, select_features *out) {
    norms_job job = {
        .pool = pool, .rows = check_rows(pool), .room_size = check_room(pool)};
    size_t blocks = (pool->n + job.rows - 1) / job.rows;
    AUTO(scant__arena_end) scant__arena room = {.ctx = arena->ctx};
    select_features_guess(pool, normalise, out);
    job.room = TRY_NEW(&room, unsigned char, arena->ctx->threads *job.room_size);
    job.largest = TRY_NEW(&room, double, 2 * (blocks + 1));
    job.smallest = job.largest + blocks + 1;
    TRY(scant__parfor(arena->ctx, "checking features", blocks, norms_block, &job));
    double reach = 0, least = INFINITY;
    for (size_t i = 0; i < blocks; i++) {
        reach = fmax(reach, job.largest[i]);
        least = fmin(least, job.smallest[i]);
    }
    if (normalise || reach == 0) return SCANT_OK;
    if (reach > F32_LARGE || least < F32_SMALL) out->type = LA_F64;
    if (reach > F64_LARGE || reach < F64_SMALL) out->scale = scale_for(reach);
    return SCANT_OK;
}

/* Divides by the largest magnitude first, so that squares stay in range. */
static void to_unit_length(double *x, size_t d) {
    double reach = 0, squares;
    for (size_t k = 0; k < d; k++) reach = fabs(x[k]) > reach ? fabs(x[k]) : reach;
    if (reach == 0) return;
    for (size_t k = 0; k < d; k++) x[k] /= reach;
    la_kernels_for(LA_F64)->sumsq(x, 1, d, &squares);
    double norm = sqrt(squares);
    for (size_t k = 0; k < d; k++) x[k] /= norm;
}

static void fetch_f64(const select_features *f, size_t row, double *out) {
    size_t d = f->pool->d;
    scant__array_read_f64(f->pool->features, row * d, d, out);
    if (f->normalise) to_unit_length(out, d);
    for (size_t k = 0; f->scale != 1 && k < d; k++) out[k] *= f->scale;
}

static void feature_fetch(const void *self, size_t first, size_t count, void *out) {
    const select_features *f = self;
    size_t d = f->pool->d;
    if (f->type == LA_F32) {
        scant__array_read_f32(f->pool->features, first * d, count * d, out);
        return;
    }
    for (size_t i = 0; i < count; i++) fetch_f64(f, first + i, (double *)out + i * d);
}

double select_features_constant(select_features *f, double constant) {
    if (constant > 0 && f->scale > 1) f->scale = 1;
    return constant * f->scale;
}

void select_feature_rows(const select_features *f, la_rows *out) {
    const select_pool *pool = f->pool;
    bool as_it_lies =
        !f->normalise && f->scale == 1 &&
        scant__array_is_direct(pool->features, f->type == LA_F64 ? SCANT_F64 : SCANT_F32);
    *out = (la_rows){.n = pool->n,
                     .d = pool->d,
                     .type = f->type,
                     .base = as_it_lies ? pool->features->data : NULL,
                     .fetch = feature_fetch,
                     .self = f};
}

select_pool select_gradients_as_features(const select_pool *pool) {
    select_pool out = *pool;
    out.features = pool->gradients;
    out.d = pool->k;
    return out;
}
