/* SPDX-License-Identifier: Apache-2.0
 *
 * coreset: greedy k-center (Sener & Savarese, "Active learning for convolutional neural
 * networks: a core-set approach", 2018): the row farthest from all labelled and picked
 * rows, again and again. The radius is at most twice the best possible.
 *
 * Exact, ties to the lowest index, by lazy re-evaluation (linalg/growset.h): between n*d
 * and n*(l+b)*d operations, typically a few per cent of the latter. Where nothing is
 * labelled the published code starts at row 0; we start at the row nearest the pool's
 * mean.
 */
#include <math.h>
#include <string.h>

#include "select/grow.h"

enum { SUMS = 64 }; /* parts of the pool whose sums are added in order */

/* ---- the row nearest the mean -------------------------------------------------------
 */

typedef struct centre_job {
    const select_req *req;
    const la_rows *h;
    size_t part;  /* rows a part */
    double *sums; /* SUMS x d */
    double *mean; /* d */
    unsigned char *room;
    size_t room_size; /* a worker's: one row in double */
    double best[SUMS];
    size_t row[SUMS];
} centre_job;

/* Row i in double, as the distances see it. */
static const double *row_f64(const centre_job *job, size_t i, unsigned worker) {
    unsigned char *room = job->room + worker * job->room_size;
    const la_rows *h = job->h;
    if (h->type == LA_F64) return la_rows_get(h, i, 1, room);
    double *wide = (double *)(void *)room;
    const float *row = la_rows_get(h, i, 1, wide + h->d);
    for (size_t k = 0; k < h->d; k++) wide[k] = (double)row[k];
    return wide;
}

static size_t part_end(const centre_job *job, size_t part) {
    size_t end = (part + 1) * job->part;
    return end < job->h->n ? end : job->h->n;
}

static scant_status sum_part(void *arg, size_t part, unsigned worker,
                             scant__fault *fault) {
    (void)fault;
    centre_job *job = arg;
    size_t d = job->h->d;
    double *sum = job->sums + part * d;
    for (size_t i = part * job->part; i < part_end(job, part); i++) {
        const double *row = row_f64(job, i, worker);
        for (size_t k = 0; k < d; k++) sum[k] += row[k];
    }
    return SCANT_OK;
}

static scant_status nearest_in_part(void *arg, size_t part, unsigned worker,
                                    scant__fault *fault) {
    (void)fault;
    centre_job *job = arg;
    size_t d = job->h->d;
    job->best[part] = INFINITY;
    for (size_t i = part * job->part; i < part_end(job, part); i++) {
        bool open;
        select_pool_mask(&job->req->pool, i, 1, &open);
        if (!open) continue;
        const double *row = row_f64(job, i, worker);
        double sum = 0;
        for (size_t k = 0; k < d; k++)
            sum += (row[k] - job->mean[k]) * (row[k] - job->mean[k]);
        if (sum < job->best[part]) job->best[part] = sum, job->row[part] = i;
    }
    return SCANT_OK;
}

static size_t centre_room(const la_rows *h) { /* bytes a worker */
    return (h->d + h->pitch) * sizeof(double);
}

static scant_status nearest_to_mean(select_req *req, const la_rows *h, size_t *row,
                                    double *d2) {
    centre_job job = {.req = req, .h = h, .part = (h->n + SUMS - 1) / SUMS};
    size_t parts = (h->n + job.part - 1) / job.part;
    job.room_size = centre_room(h);
    job.sums = scant__arena_zalloc(req->arena, parts, h->d * sizeof(double));
    job.mean = scant__arena_zalloc(req->arena, h->d, sizeof(double));
    job.room = scant__arena_alloc(req->arena, req->ctx->threads, job.room_size);
    if (!job.sums || !job.mean || !job.room) return SCANT_ENOMEM;
    TRY(scant__parfor(req->ctx, "averaging", parts, sum_part, &job));
    for (size_t p = 0; p < parts; p++)
        for (size_t k = 0; k < h->d; k++) job.mean[k] += job.sums[p * h->d + k];
    for (size_t k = 0; k < h->d; k++) job.mean[k] /= (double)h->n;
    TRY(scant__parfor(req->ctx, "finding the middle", parts, nearest_in_part, &job));
    *d2 = INFINITY;
    for (size_t p = 0; p < parts; p++)
        if (job.best[p] < *d2) *d2 = job.best[p], *row = job.row[p];
    return SCANT_OK;
}

/* ---- the strategy -------------------------------------------------------------------
 */

static void coreset_plan(const select_req *req, scant_plan *plan) {
    size_t d = req->pool.d, threads = req->ctx->threads;
    plan->memory += plan->batch * (sizeof(size_t) + sizeof(double));
    plan->memory +=
        (SUMS + 1) * d * sizeof(double) + threads * (2 * d + 8) * sizeof(double);
    select_grow_plan(req, plan->batch + req->pool.labelled, plan);
    if (!req->pool.labelled) plan->passes += 2;
}

static void add_labelled(const select_req *req, select_grow *grow) {
    bool mask[SELECT_MASK];
    for (size_t first = 0; first < req->pool.n; first += SELECT_MASK) {
        size_t rest = req->pool.n - first,
               count = rest < SELECT_MASK ? rest : SELECT_MASK;
        select_pool_labelled(&req->pool, first, count, mask);
        for (size_t i = 0; i < count; i++)
            if (mask[i]) la_growset_add(&grow->set, first + i);
    }
}

static scant_status coreset_select(select_req *req) {
    select_grow grow;
    TRY(select_grow_init(req, req->pool.labelled + req->batch, 0, &grow));
    double scale = grow.features.scale;
    select_grow_exclude(req, &grow);
    if (req->pool.labelled) {
        add_labelled(req, &grow);
    } else {
        size_t row = 0;
        double d2 = 0;
        TRY(nearest_to_mean(req, &grow.h, &row, &d2));
        la_growset_add(&grow.set, row);
        select_pick(req, row, 1, sqrt(d2) / scale);
    }
    size_t want = req->batch - req->count, got;
    size_t *rows = scant__arena_alloc(req->arena, want + 1, sizeof *rows);
    double *d2 = scant__arena_alloc(req->arena, want + 1, sizeof *d2);
    if (!rows || !d2) return SCANT_ENOMEM;
    TRY(la_growset_farthest(&grow.set, want, rows, d2, &got));
    for (size_t i = 0; i < got; i++) select_pick(req, rows[i], 1, sqrt(d2[i]) / scale);
    return SCANT_OK;
}

static const scant_option options[] = {SELECT_OPTION_NORMALISE};

const scant_strategy select_strategy_coreset = {
    .info = {.name = "coreset",
             .summary =
                 "rows that cover the features: farthest first from what is labelled",
             .use = "A diverse batch from embeddings alone, without any model's opinion.",
             .paper = "Sener & Savarese 2018",
             .score = "Euclidean distance to the labelled and picked rows when picked",
             .needs = SCANT_FEATURES,
             .options = options,
             .n_options = sizeof options / sizeof *options},
    .plan = coreset_plan,
    .select = coreset_select,
};
