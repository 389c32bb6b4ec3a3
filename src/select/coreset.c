/* SPDX-License-Identifier: Apache-2.0
 *
 * coreset: greedy k-center (Sener & Savarese, "Active learning for convolutional neural
 * networks: a core-set approach", 2018): repeatedly pick the row farthest from all
 * labelled and picked rows. The radius is at most twice the best possible.
 *
 * Exact, ties to the lowest index, by lazy re-evaluation (linalg/growset.h): between n*d
 * and n*(l+b)*d operations, typically a few per cent of the latter. Without labelled rows
 * the published code starts at row 0; we start at the row nearest the pool's mean.
 */
#include <math.h>
#include <string.h>

#include "select/grow.h"

enum {
    SUMS = 64, /* parts of the pool; their sums are added in a fixed order */
    BLOCK = 16 /* rows at a time */
};

/* ---- the row nearest the mean -------------------------------------------------- */

typedef struct centre_job {
    const scant_selection *sel;
    const la_rows *h;
    size_t part;  /* rows per part */
    double *sums; /* SUMS x d */
    double *mean; /* d */
    unsigned char *room;
    size_t room_size; /* bytes per worker: BLOCK rows, unless they are read in place */
    double best[SUMS];
    size_t row[SUMS];
} centre_job;

/* Reads up to BLOCK rows of a part, starting at `first`. */
static const void *block_at(const centre_job *job, size_t part, size_t first,
                            unsigned worker, size_t *count) {
    size_t end = (part + 1) * job->part;
    end = end < job->h->n ? end : job->h->n;
    *count = end - first < BLOCK ? end - first : BLOCK;
    return la_rows_get(job->h, first, *count, job->room + worker * job->room_size);
}

static scant_status sum_part(void *arg, size_t part, unsigned worker,
                             scant__fault *fault) {
    (void)fault;
    centre_job *job = arg;
    const la_kernels *k = la_kernels_for(job->h->type);
    size_t first = part * job->part, stop = first + job->part, count;
    for (; first < stop && first < job->h->n; first += count) {
        const void *rows = block_at(job, part, first, worker, &count);
        k->total(rows, count, job->h->d, job->sums + part * job->h->d);
    }
    return SCANT_OK;
}

static scant_status nearest_in_part(void *arg, size_t part, unsigned worker,
                                    scant__fault *fault) {
    (void)fault;
    centre_job *job = arg;
    const la_kernels *k = la_kernels_for(job->h->type);
    size_t first = part * job->part, stop = first + job->part, count;
    job->best[part] = INFINITY;
    for (; first < stop && first < job->h->n; first += count) {
        double d2[BLOCK];
        bool open[BLOCK];
        const void *rows = block_at(job, part, first, worker, &count);
        k->sqdist_to(rows, count, job->h->d, job->mean, d2);
        select_pool_mask(&job->sel->pool, first, count, open);
        for (size_t i = 0; i < count; i++)
            if (open[i] && d2[i] < job->best[part])
                job->best[part] = d2[i], job->row[part] = first + i;
    }
    return SCANT_OK;
}

static scant_status nearest_to_mean(scant_selection *sel, const la_rows *h, size_t *row,
                                    double *d2) {
    centre_job job = {.sel = sel, .h = h, .part = (h->n + SUMS - 1) / SUMS};
    size_t parts = (h->n + job.part - 1) / job.part;
    job.room_size = la_rows_scratch(h, BLOCK);
    job.sums = TRY_ZERO(sel->arena, double, size_mul(parts, h->d));
    job.mean = TRY_ZERO(sel->arena, double, h->d);
    job.room =
        TRY_NEW(sel->arena, unsigned char, size_mul(sel->ctx->threads, job.room_size));
    TRY(scant__parfor(sel->ctx, "averaging", parts, sum_part, &job));
    for (size_t p = 0; p < parts; p++)
        for (size_t k = 0; k < h->d; k++) job.mean[k] += job.sums[p * h->d + k];
    for (size_t k = 0; k < h->d; k++) job.mean[k] /= (double)h->n;
    TRY(scant__parfor(sel->ctx, "finding the row nearest the mean", parts,
                      nearest_in_part, &job));
    *d2 = INFINITY;
    for (size_t p = 0; p < parts; p++)
        if (job.best[p] < *d2) *d2 = job.best[p], *row = job.row[p];
    return SCANT_OK;
}

/* ---- the strategy -------------------------------------------------------------- */

static void coreset_plan(const scant_selection *sel, scant_plan *plan) {
    size_t d = sel->pool.d, threads = sel->ctx->threads;
    plan->memory += plan->batch * (sizeof(size_t) + sizeof(double));
    plan->memory += (SUMS + 1 + threads * BLOCK) * d * sizeof(double);
    select_grow_plan(sel, plan->batch + sel->pool.labelled, plan);
    if (!sel->pool.labelled) plan->passes += 2;
}

static void add(void *self, size_t row) { la_growset_add(self, row); }

static scant_status coreset_select(scant_selection *sel) {
    select_grow grow;
    TRY(select_grow_init(sel, sel->pool.labelled + sel->batch, 0, &grow));
    select_grow_exclude(sel, &grow);
    if (sel->pool.labelled) {
        select_pool_visit(&sel->pool, select_pool_labelled, true, add, &grow.set);
    } else {
        size_t row = 0;
        double d2 = 0;
        TRY(nearest_to_mean(sel, &grow.h, &row, &d2));
        la_growset_add(&grow.set, row);
        select_pick(sel, row, 1, sqrt(d2) / grow.scale);
    }
    size_t want = sel->batch - sel->count, got;
    size_t *rows = TRY_NEW(sel->arena, size_t, want + 1);
    double *d2 = TRY_NEW(sel->arena, double, want + 1);
    TRY(la_growset_farthest(&grow.set, want, rows, d2, &got));
    for (size_t i = 0; i < got; i++)
        select_pick(sel, rows[i], 1, sqrt(d2[i]) / grow.scale);
    return SCANT_OK;
}

static const scant_option options[] = {SELECT_OPTION_NORMALISE};

const scant_strategy select_strategy_coreset = {
    .info = {.name = "coreset",
             .summary = "rows that cover the feature space: always the row farthest from "
                        "labelled and picked ones",
             .use = "A diverse batch from embeddings alone; needs no probabilities.",
             .paper = "Sener & Savarese 2018",
             .score = "Euclidean distance to the nearest labelled or picked row when the "
                      "row was picked",
             .needs = SCANT_FEATURES,
             .uses = SCANT_LABELS,
             SELECT_OPTIONS(options),
             .ranked = true},
    .plan = coreset_plan,
    .select = coreset_select,
};
