/* SPDX-License-Identifier: Apache-2.0 */
#include "select/scan.h"

#include "core/rng.h"
#include "linalg/topk.h"
#include "select/posterior_stats.h"

/* A block's rows fit the second-level cache, its results the first-level cache. */
enum {
    BLOCK_BYTES = 1 << 17, /* bytes of a block's rows, counted as doubles */
    BLOCK_ROWS = 384,      /* most rows per block */
    CHUNK = 4              /* blocks per task */
};

_Static_assert((int)BLOCK_ROWS <= (int)SELECT_MASK, "a block's mask fits");

typedef struct worker_room {
    la_topk top;
    double *score, *norm, *measured;
    la_rowstat *stat;
    void *probs, *features; /* NULL if used in place */
    void *posterior;
} worker_room;

typedef struct scan_job {
    scant_selection *sel;
    select_measure measure;
    scan_score_fn score;
    const bool *taken;
    size_t rows; /* rows per block */
    worker_room *rooms;
} scan_job;

/* Bytes per row of a worker's buffers. */
static size_t row_room(const select_pool *pool) {
    size_t bytes = sizeof(double); /* score */
    if (pool->probs) {
        bytes += sizeof(la_rowstat);
        if (!select_probs_direct(pool))
            bytes += pool->c * la_kernels_for(select_probs_type(pool))->size;
    }
    if (pool->features) {
        bytes += sizeof(double);
        if (!select_features_direct(pool)) bytes += pool->d * sizeof(double);
    }
    if (pool->draws) bytes += select_posterior_room(pool, 1);
    return bytes + select_measured_width(pool) * sizeof(double);
}

/* Bytes of a worker's buffers, with the overhead of each allocation. */
static size_t room_size(const scant_selection *sel, size_t rows, size_t batch) {
    enum { BLOCKS = 8, OVERHEAD = 256 };
    return rows * row_room(&sel->pool) + batch * sizeof(la_scored) + BLOCKS * OVERHEAD;
}

void select_plan_blocks(const scant_selection *sel, size_t width, size_t worker,
                        size_t row, scant_plan *plan) {
    size_t rows = BLOCK_BYTES / (8 * (width + 1)) + 1, cap = sel->ctx->cap, all;
    rows = size_min(rows, BLOCK_ROWS);
    while ((all = sel->ctx->threads * (worker + rows * row)),
           rows > 1 && (plan->memory > cap || all > cap - plan->memory))
        rows /= 2;
    plan->block_rows = rows;
    plan->blocks = (sel->pool.n + rows - 1) / rows;
    plan->memory = size_add(plan->memory, all);
    plan->passes = 1;
}

void select_scan_plan(const scant_selection *sel, scant_plan *plan) {
    const select_pool *pool = &sel->pool;
    size_t width = (pool->probs || pool->draws ? pool->c : 0);
    width += (pool->features ? pool->d : 0) + select_measured_width(pool);
    select_plan_blocks(sel, width, room_size(sel, 0, plan->batch), row_room(pool), plan);
}

size_t select_fill_memory(const scant_selection *sel, size_t batch) {
    return sel->ctx->threads * (room_size(sel, 0, batch) + SELECT_MASK * sizeof(double));
}

static scant_status room_init(scant__arena *arena, const scant_selection *sel,
                              size_t rows, size_t want, worker_room *room) {
    const select_pool *pool = &sel->pool;
    la_scored *heap = TRY_NEW(arena, la_scored, want);
    room->score = TRY_NEW(arena, double, rows);
    la_topk_init(&room->top, heap, want);
    if (pool->probs) room->stat = TRY_NEW(arena, la_rowstat, rows);
    if (pool->probs && !select_probs_direct(pool)) {
        size_t size = la_kernels_for(select_probs_type(pool))->size;
        room->probs = TRY_NEW(arena, char, size_mul(rows * pool->c, size));
    }
    if (pool->features) room->norm = TRY_NEW(arena, double, rows);
    if (pool->features && !select_features_direct(pool))
        room->features = TRY_NEW(arena, double, size_mul(rows, pool->d));
    if (select_measured_width(pool))
        room->measured = TRY_NEW(arena, double, select_measured_width(pool) * rows);
    if (pool->draws)
        room->posterior = TRY_NEW(arena, char, select_posterior_room(pool, rows));
    return SCANT_OK;
}

static void offer(const scan_job *job, worker_room *room, size_t first, size_t count) {
    const select_pool *pool = &job->sel->pool;
    bool mask[SELECT_MASK], all = pool->available == pool->n;
    if (!all) select_pool_mask(pool, first, count, mask);
    for (size_t i = 0; i < count; i++)
        if ((all || mask[i]) && !(job->taken && job->taken[first + i]))
            la_topk_offer(&room->top, room->score[i], first + i);
}

static scant_status scan_rows(const scan_job *job, worker_room *room, size_t first,
                              size_t count, scant__fault *fault) {
    const select_pool *pool = &job->sel->pool;
    scan_block block = {.sel = job->sel,
                        .first = first,
                        .count = count,
                        .norm = room->norm,
                        .measured = room->measured};
    if (pool->probs)
        TRY(select_probs_read(pool, job->measure, first, count, room->probs, room->stat,
                              &block.probs, fault));
    if (pool->features)
        TRY(select_features_norms(pool, first, count, room->features, room->norm, fault));
    if (pool->draws) {
        select_posterior posterior;
        TRY(select_posterior_read(pool, first, count, true, room->posterior, &posterior,
                                  fault));
        block.information = posterior.information;
    }
    if (room->measured)
        TRY(select_measured_read(pool, first, count, room->measured, fault));
    job->score(&block, room->score);
    offer(job, room, first, count);
    return SCANT_OK;
}

static scant_status scan_chunk(void *arg, size_t chunk, unsigned worker,
                               scant__fault *fault) {
    scan_job *job = arg;
    size_t n = job->sel->pool.n, end = (chunk + 1) * CHUNK * job->rows;
    end = end < n ? end : n;
    for (size_t first = chunk * CHUNK * job->rows; first < end; first += job->rows) {
        size_t count = end - first < job->rows ? end - first : job->rows;
        TRY(scan_rows(job, &job->rooms[worker], first, count, fault));
    }
    return SCANT_OK;
}

static scant_status scan(scan_job *job, scant__arena *arena, size_t want) {
    scant_selection *sel = job->sel;
    unsigned threads = sel->ctx->threads;
    job->rows = sel->plan.block_rows;
    job->rooms = TRY_ZERO(arena, worker_room, threads);
    for (unsigned i = 0; i < threads; i++)
        TRY(room_init(arena, sel, job->rows, want, &job->rooms[i]));
    size_t blocks = (sel->pool.n + job->rows - 1) / job->rows;
    TRY(scant__parfor(sel->ctx, "scoring", (blocks + CHUNK - 1) / CHUNK, scan_chunk,
                      job));
    la_topk *top = &job->rooms[0].top;
    for (unsigned i = 1; i < threads; i++) la_topk_merge(top, &job->rooms[i].top);
    la_topk_sort(top);
    for (size_t i = 0; i < top->count; i++)
        select_pick(sel, top->items[i].index, 1, top->items[i].score);
    return SCANT_OK;
}

scant_status select_scan(scant_selection *sel, select_measure measure,
                         scan_score_fn score) {
    scan_job job = {.sel = sel, .measure = measure, .score = score};
    return scan(&job, sel->arena, sel->batch);
}

/* Scores rows by random keys: the rows with the largest keys are a uniform random subset
 * in random order, found in one pass whichever rows are left out. */
static void random_keys(const scan_block *block, double *score) {
    const scant__rng rng = {block->sel->seed, SCANT__RNG_SHUFFLE};
    for (size_t i = 0; i < block->count; i++)
        score[i] = scant__rng_unit(&rng, block->first + i);
}

scant_status select_fill(scant_selection *sel, const bool *taken, double score) {
    select_pool whole =
        sel->pool; /* a copy without matrices, so that none is read again */
    AUTO(scant__arena_end) scant__arena room = {.ctx = sel->ctx};
    scan_job job = {.sel = sel, .score = random_keys, .taken = taken};
    size_t from = sel->count;
    sel->pool.probs = sel->pool.features = sel->pool.draws = NULL;
    sel->pool.slopes = sel->pool.lengths = NULL;
    scant_status s = scan(&job, &room, sel->batch - from);
    sel->pool = whole;
    for (size_t i = from; s == SCANT_OK && i < sel->count; i++)
        sel->picks[i].score = score;
    return s;
}
