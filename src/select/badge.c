/* SPDX-License-Identifier: Apache-2.0
 *
 * badge: k-means++ seeding on the last layer's gradients (Ash, Zhang, Krishnamurthy,
 * Langford & Agarwal, "Deep batch active learning by diverse, uncertain gradient lower
 * bounds", 2020). The gradient of a row at its most probable label y is a x h with a = p
 * - e_y. D^2 sampling draws a batch of gradients: it prefers large ones and avoids
 * similar ones.
 *
 * As in the published code the first pick is the row with the largest norm, features
 * carry no bias (option bias), and labelled rows are ignored. Unlike in that code, the
 * n x (C d) gradients are never built, and most distances are never computed
 * (linalg/growset.h). The picks still have exactly the distribution of k-means++. Once
 * all distances are 0 the rest of the batch is drawn uniformly.
 *
 * Cost: O(n(C + d)) for the norms, then a few per cent of the n*b distances. Memory: 21
 * bytes per row plus the picked rows, for any number of classes.
 */
#include <math.h>

#include "select/grow.h"

enum { NORM_BLOCK = 1024 };

typedef struct norm_job {
    const scant_selection *sel;
    select_grow *grow;
    double *norm;
    unsigned char *room; /* per worker: probabilities and statistics of a few rows */
    size_t room_size, room_rows;
} norm_job;

static size_t check_rows(const select_pool *pool) {
    size_t rows = 16384 / pool->c + 1;
    return rows < LA_GROUP ? rows : LA_GROUP;
}

static size_t check_room(const select_pool *pool) {
    return check_rows(pool) * (sizeof(la_rowstat) + pool->c * sizeof(double));
}

/* Checks the probabilities of a block and computes its norms. */
static scant_status norm_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    norm_job *job = arg;
    const select_pool *pool = &job->sel->pool;
    la_rowstat *stat = (la_rowstat *)(void *)(job->room + worker * job->room_size);
    size_t first = block * NORM_BLOCK, end = first + NORM_BLOCK, step = job->room_rows;
    end = end < pool->n ? end : pool->n;
    for (; first < end; first += step) {
        size_t count = end - first < step ? end - first : step;
        select_probs_block checked;
        TRY(select_probs_read(pool, SELECT_TOP, first, count, stat + step, stat, &checked,
                              fault));
        la_space_norms(&job->grow->space, first, count, job->norm + first,
                       la_growset_scratch(&job->grow->set, worker));
    }
    return SCANT_OK;
}

static scant_status compute_norms(scant_selection *sel, select_grow *grow) {
    norm_job job = {.sel = sel, .grow = grow};
    job.room_size = check_room(&sel->pool);
    job.room_rows = check_rows(&sel->pool);
    if (job.room_rows > grow->space.group) job.room_rows = grow->space.group;
    grow->space.norm = job.norm = TRY_NEW(sel->arena, double, sel->pool.n);
    job.room = TRY_NEW(sel->arena, unsigned char, sel->ctx->threads *job.room_size);
    size_t blocks = (sel->pool.n + NORM_BLOCK - 1) / NORM_BLOCK;
    return scant__parfor(sel->ctx, "measuring gradients", blocks, norm_block, &job);
}

/* The available row with the largest norm; ties go to the lowest index. */
static size_t largest(const scant_selection *sel, const select_grow *grow) {
    size_t best = sel->pool.n;
    for (size_t i = 0; i < sel->pool.n; i++)
        if (grow->set.bound[i] >= 0 &&
            (best == sel->pool.n || grow->space.norm[i] > grow->space.norm[best]))
            best = i;
    return best;
}

static void badge_plan(const scant_selection *sel, scant_plan *plan) {
    const select_pool *pool = &sel->pool;
    plan->memory += pool->n * sizeof(double) + sel->ctx->threads * check_room(pool);
    plan->memory += plan->batch * (sizeof(size_t) + sizeof(double));
    plan->memory += pool->n * sizeof(bool) + select_fill_memory(sel, plan->batch);
    select_grow_plan(sel, plan->batch, plan);
    plan->passes += 1;
}

/* Fills the batch at random once every remaining row has the gradient of a picked one. */
static scant_status fill(scant_selection *sel, const select_grow *grow) {
    bool *taken = TRY_NEW(sel->arena, bool, sel->pool.n);
    for (size_t i = 0; i < sel->pool.n; i++) taken[i] = grow->set.bound[i] < 0;
    return select_fill(sel, taken, 0);
}

static scant_status badge_select(scant_selection *sel) {
    select_grow grow;
    TRY(select_grow_init(sel, sel->batch, select_option(sel, "bias"), &grow));
    TRY(compute_norms(sel, &grow));
    select_grow_exclude(sel, &grow);
    size_t first = largest(sel, &grow);
    double top = grow.space.norm[first];
    la_growset_add(&grow.set, first);
    select_pick(sel, first, 1, top / grow.scale / grow.scale);
    size_t want = sel->batch - 1, got;
    size_t *rows = TRY_NEW(sel->arena, size_t, want + 1);
    double *d2 = TRY_NEW(sel->arena, double, want + 1);
    TRY(la_growset_sample(&grow.set, sel->seed, want, rows, d2, &got));
    for (size_t i = 0; i < got; i++)
        select_pick(sel, rows[i], 1, d2[i] / grow.scale / grow.scale);
    return got < want ? fill(sel, &grow) : SCANT_OK;
}

static const scant_option options[] = {SELECT_OPTION_BIAS("0"), SELECT_OPTION_NORMALISE};

const scant_strategy select_strategy_badge = {
    .info = {.name = "badge",
             .summary =
                 "uncertain and diverse rows: k-means++ on the last layer's gradients",
             .use =
                 "The default choice for batches if you have probabilities and features.",
             .paper = "Ash et al. 2020",
             .score = "squared distance to the nearest earlier pick (first pick: its "
                      "squared norm)",
             .needs = SCANT_PROBS | SCANT_FEATURES,
             SELECT_OPTIONS(options),
             .ranked = true},
    .plan = badge_plan,
    .select = badge_select,
};
