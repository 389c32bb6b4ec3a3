/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/nystroem.h"

#include <math.h>

#include "core/blas.h"
#include "core/rng.h"
#include "linalg/dense.h"
#include "linalg/lambda_int.h"

enum {
    BLOCK = LA_KERNEL_TILE, /* rows; fixed, because another size rounds differently */
    SPARE = 256             /* overhead of arena and allocator per block */
};

static const double LEAST = 1e-10; /* smallest eigenvalue kept, relative to the largest */

typedef struct maker {
    const la_kernel *kernel;
    const size_t *rows;
    size_t n, m, rank;
    size_t *landmarks; /* (m) */
    double *turn;      /* (m, rank): U S^(-1/2) */
    float *out;        /* (n, rank) */
    unsigned char *rooms;
    size_t room;         /* bytes per worker */
    double *has, *trace; /* traces of the result and of the kernel, per block */
} maker;

/* Sampling without replacement, in order (Knuth's algorithm S). */
static void draw(const size_t *rows, size_t n, size_t m, uint64_t seed, size_t *out) {
    const scant__rng rng = {seed, SCANT__RNG_LANDMARKS};
    for (size_t i = 0, taken = 0; taken < m; i++)
        if (scant__rng_below(&rng, i, n - i) < m - taken) out[taken++] = rows[i];
}

/* ---- the landmarks ----------------------------------------------------------------- */

static size_t landmarks_memory(const la_kernel *kernel, size_t m, unsigned threads) {
    size_t doubles = size_add(size_mul(m, m), size_add(m, la_eigh_room(m, true)));
    size_t all = size_add(size_mul(doubles, sizeof(double)), 4 * SPARE);
    return size_add(all, la_kernel_gram_memory(kernel, threads));
}

/* Computes k->rank, and k->turn in arena. */
static scant_status landmarks(maker *k, scant__arena *arena, scant__arena *temporary) {
    size_t m = k->m;
    double *w = TRY_NEW(temporary, double, size_mul(m, m));
    double *values = TRY_NEW(temporary, double, m);
    double *room = TRY_NEW(temporary, double, la_eigh_room(m, true));
    TRY(la_kernel_gram(k->kernel, k->landmarks, m, w, temporary));
    TRY(la_eigh_alone(arena->ctx, m, w, true, values, room));
    while (k->rank < m && values[m - 1 - k->rank] > LEAST * values[m - 1] &&
           values[m - 1 - k->rank] > 0)
        k->rank++;
    k->turn = TRY_NEW(arena, double, size_mul(m, k->rank) + 1);
    for (size_t j = 0; j < k->rank; j++) {
        size_t at = m - 1 - j;
        double scale = 1 / sqrt(values[at]);
        for (size_t i = 0; i < m; i++) k->turn[i * k->rank + j] = w[at * m + i] * scale;
    }
    return SCANT_OK;
}

/* ---- the rows ---------------------------------------------------------------------- */

static size_t fetch_bytes(const la_kernel *kernel) {
    return size_add(kernel->room_bytes, 63) / 64 * 64;
}

/* Bytes for kernel values with landmarks, the rows computed from them, and the kernel's
 * buffer. */
static size_t room_bytes(const la_kernel *kernel, size_t m) {
    return size_add(size_mul(2 * BLOCK * sizeof(double), m), fetch_bytes(kernel));
}

static scant_status make_rows(void *arg, size_t block, unsigned worker,
                              scant__fault *fault) {
    const maker *k = arg;
    size_t first = block * BLOCK, count = size_min(BLOCK, k->n - first), rank = k->rank;
    double *values = (double *)(void *)(k->rooms + worker * k->room);
    double *made = values + BLOCK * k->m, *fetch = made + BLOCK * k->m, one;
    const size_t *rows = k->rows + first;
    (void)fault;
    lambda_kernel_block(k->kernel, rows, count, k->landmarks, k->m, values, k->m, fetch);
    la_nn(count, rank, k->m, values, k->m, k->turn, rank, made, rank);
    for (size_t i = 0; i < count; i++) {
        k->kernel->values(k->kernel->self, rows + i, 1, rows + i, 1, &one, 1, fetch);
        k->trace[block] += one;
        for (size_t j = 0; j < rank; j++) {
            double x = made[i * rank + j];
            k->has[block] += x * x;
            k->out[(first + i) * rank + j] = (float)x;
        }
    }
    return SCANT_OK;
}

static size_t rows_memory(const la_kernel *kernel, size_t n, size_t m, unsigned threads) {
    size_t sums = size_mul(n / BLOCK + 1, 2 * sizeof(double));
    return size_add(scant__alloc_cost(size_mul(threads, room_bytes(kernel, m))),
                    size_add(sums, 3 * SPARE));
}

static scant_status all_rows(maker *k, scant__arena *temporary, double *explained) {
    scant_ctx *ctx = temporary->ctx;
    size_t blocks = (k->n + BLOCK - 1) / BLOCK;
    double has = 0, trace = 0;
    k->room = room_bytes(k->kernel, k->m);
    k->rooms = TRY_NEW(temporary, unsigned char, size_mul(ctx->threads, k->room));
    k->has = TRY_ZERO(temporary, double, blocks);
    k->trace = TRY_ZERO(temporary, double, blocks);
    TRY(scant__blas_for(ctx, "comparing with landmarks", blocks, make_rows, k));
    for (size_t i = 0; i < blocks; i++) has += k->has[i], trace += k->trace[i];
    *explained = trace > 0 ? fmin(has / trace, 1) : 1;
    return SCANT_OK;
}

static scant_status build(maker *k, scant__arena *arena, scant__arena *temporary,
                          la_nystroem *out) {
    AUTO(scant__arena_end) scant__arena solving = {.ctx = arena->ctx};
    TRY(landmarks(k, temporary, &solving));
    scant__arena_end(&solving);
    k->out = TRY_NEW(arena, float, size_mul(k->n, k->rank) + 1);
    if (k->rank) TRY(all_rows(k, temporary, &out->explained));
    out->rows = (la_rows){.n = k->n, .d = k->rank, .type = LA_F32, .base = k->out};
    return SCANT_OK;
}

scant_status la_nystroem_build(la_nystroem *out, scant__arena *arena,
                               const la_kernel *kernel, const size_t *rows, size_t n,
                               size_t n_landmarks, uint64_t seed) {
    maker k = {.kernel = kernel, .rows = rows, .n = n, .m = n_landmarks};
    AUTO(scant__arena_end) scant__arena temporary = {.ctx = arena->ctx};
    *out = (la_nystroem){0};
    TRY(la_eigh_fits(arena->ctx, k.m));
    k.landmarks = TRY_NEW(&temporary, size_t, k.m);
    draw(rows, n, k.m, seed, k.landmarks);
    return build(&k, arena, &temporary, out);
}

size_t la_nystroem_memory_kept(size_t n, size_t n_landmarks) {
    return size_add(size_mul(size_mul(n, n_landmarks), sizeof(float)), SPARE);
}

size_t la_nystroem_memory(const la_kernel *kernel, size_t n, size_t m, unsigned threads) {
    size_t turn =
        size_add(size_mul(size_mul(m, size_add(m, 1)), sizeof(double)), 2 * SPARE);
    size_t making =
        size_add(la_nystroem_memory_kept(n, m), rows_memory(kernel, n, m, threads));
    return size_add(turn, size_max(landmarks_memory(kernel, m, threads), making));
}
