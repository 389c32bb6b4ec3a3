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
    void *probs, *features; /* NULL: used in place */
    void *posterior;
} worker_room;

typedef struct scan_job {
    select_req *req;
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
    if (pool->samples) bytes += select_posterior_room(pool, 1);
    return bytes + select_measured_width(pool) * sizeof(double);
}

/* Bytes of a worker's buffers, with the overhead of each allocation. */
static size_t room_size(const select_req *req, size_t rows, size_t batch) {
    enum { BLOCKS = 8, OVERHEAD = 256 };
    return rows * row_room(&req->pool) + batch * sizeof(la_scored) + BLOCKS * OVERHEAD;
}

void select_plan_blocks(const select_req *req, size_t width, size_t worker, size_t row,
                        scant_plan *plan) {
    size_t rows = BLOCK_BYTES / (8 * (width + 1)) + 1, cap = req->ctx->cap, all;
    rows = size_min(rows, BLOCK_ROWS);
    while ((all = req->ctx->threads * (worker + rows * row)),
           rows > 1 && (plan->memory > cap || all > cap - plan->memory))
        rows /= 2;
    plan->block_rows = rows;
    plan->blocks = (req->pool.n + rows - 1) / rows;
    plan->memory = size_add(plan->memory, all);
    plan->passes = 1;
}

void select_scan_plan(const select_req *req, scant_plan *plan) {
    const select_pool *pool = &req->pool;
    size_t width = (pool->probs || pool->samples ? pool->c : 0);
    width += (pool->features ? pool->d : 0) + select_measured_width(pool);
    select_plan_blocks(req, width, room_size(req, 0, plan->batch), row_room(pool), plan);
}

size_t select_fill_memory(const select_req *req, size_t batch) {
    return req->ctx->threads * (room_size(req, 0, batch) + SELECT_MASK * sizeof(double));
}

static scant_status room_init(scant__arena *arena, const select_req *req, size_t rows,
                              size_t want, worker_room *room) {
    const select_pool *pool = &req->pool;
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
    if (pool->samples)
        room->posterior = TRY_NEW(arena, char, select_posterior_room(pool, rows));
    return SCANT_OK;
}

static void offer(const scan_job *job, worker_room *room, size_t first, size_t count) {
    const select_pool *pool = &job->req->pool;
    bool mask[SELECT_MASK], all = pool->available == pool->n;
    if (!all) select_pool_mask(pool, first, count, mask);
    for (size_t i = 0; i < count; i++)
        if ((all || mask[i]) && !(job->taken && job->taken[first + i]))
            la_topk_offer(&room->top, room->score[i], first + i);
}

static scant_status scan_rows(const scan_job *job, worker_room *room, size_t first,
                              size_t count, scant__fault *fault) {
    const select_pool *pool = &job->req->pool;
    scan_block block = {.req = job->req,
                        .first = first,
                        .count = count,
                        .norm = room->norm,
                        .measured = room->measured};
    if (pool->probs)
        TRY(select_probs_read(pool, job->measure, first, count, room->probs, room->stat,
                              &block.probs, fault));
    if (pool->features)
        TRY(select_features_norms(pool, first, count, room->features, room->norm, fault));
    if (pool->samples) {
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
    size_t n = job->req->pool.n, end = (chunk + 1) * CHUNK * job->rows;
    end = end < n ? end : n;
    for (size_t first = chunk * CHUNK * job->rows; first < end; first += job->rows) {
        size_t count = end - first < job->rows ? end - first : job->rows;
        TRY(scan_rows(job, &job->rooms[worker], first, count, fault));
    }
    return SCANT_OK;
}

static scant_status scan(scan_job *job, scant__arena *arena, size_t want) {
    select_req *req = job->req;
    unsigned threads = req->ctx->threads;
    job->rows = req->plan.block_rows;
    job->rooms = TRY_ZERO(arena, worker_room, threads);
    for (unsigned i = 0; i < threads; i++)
        TRY(room_init(arena, req, job->rows, want, &job->rooms[i]));
    size_t blocks = (req->pool.n + job->rows - 1) / job->rows;
    TRY(scant__parfor(req->ctx, "scoring", (blocks + CHUNK - 1) / CHUNK, scan_chunk,
                      job));
    la_topk *top = &job->rooms[0].top;
    for (unsigned i = 1; i < threads; i++) la_topk_merge(top, &job->rooms[i].top);
    la_topk_sort(top);
    for (size_t i = 0; i < top->count; i++)
        select_pick(req, top->items[i].index, 1, top->items[i].score);
    return SCANT_OK;
}

scant_status select_scan(select_req *req, select_measure measure, scan_score_fn score) {
    scan_job job = {.req = req, .measure = measure, .score = score};
    return scan(&job, req->arena, req->batch);
}

/* Scores rows by random keys: the rows with the largest keys are a uniform random subset
 * in random order, found in one pass whichever rows are left out. */
static void random_keys(const scan_block *block, double *score) {
    const scant__rng rng = {block->req->seed, SCANT__RNG_SHUFFLE};
    for (size_t i = 0; i < block->count; i++)
        score[i] = scant__rng_unit(&rng, block->first + i);
}

scant_status select_fill(select_req *req, const bool *taken, double score) {
    select_pool whole =
        req->pool; /* a copy without matrices, so that none is read again */
    AUTO(scant__arena_end) scant__arena room = {.ctx = req->ctx};
    scan_job job = {.req = req, .score = random_keys, .taken = taken};
    size_t from = req->count;
    req->pool.probs = req->pool.features = req->pool.samples = NULL;
    req->pool.slopes = req->pool.lengths = NULL;
    scant_status s = scan(&job, &room, req->batch - from);
    req->pool = whole;
    for (size_t i = from; s == SCANT_OK && i < req->count; i++)
        req->picks[i].score = score;
    return s;
}
