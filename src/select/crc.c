/* SPDX-License-Identifier: Apache-2.0
 *
 * crc: convergence rate control ("Better optimization can reduce sample complexity:
 * active semi-supervised learning via convergence rate control", 2021). Gradient descent
 * converges at a rate that the smallest eigenvalue of the Gram matrix of gradients sets:
 * rows that are not labelled are shuffled and cut into groups, and the groups X with the
 * largest lambda(L + X) are labelled, whole.
 *
 * As in the paper the kernel is the last layer's, K(x, x') = h+ . h+', a group is a tenth
 * of the batch, and the rows of an incomplete last group are left out this time. The
 * paper takes the smallest eigenvalue that is positive as a number; we, the smallest that
 * is positive by the features' rank (linalg/lambda.h), as the other is rounding noise
 * where there are more rows than dimensions. Exact; which groups are best is found
 * without eigenvalues of most.
 *
 * Cost: a pass of n d^2 for the rank; n/g groups of g rows, each some g^2 (d + l) + g d l
 * or g^2 d + g d^2. Memory: 24 bytes a row and a few d x d matrices a thread.
 */
#include <stdlib.h>

#include "core/rng.h"
#include "linalg/topk.h"
#include "select/lambda.h"

/* ---- groups ------------------------------------------------------------------------ */

/* Rows a group: what is asked for, or a tenth of the batch, lowered to a divisor. */
static size_t group_size(const select_req *req) {
    size_t batch = req->batch, group = batch / 10;
    if (select_option_is_set(req, "group")) group = (size_t)select_option(req, "group");
    if (group > batch) group = batch;
    if (group < 1) group = 1;
    while (batch % group) group--;
    return group;
}

static scant_status settle_group(select_req *req, size_t *group) {
    bool given = select_option_is_set(req, "group");
    size_t asked = given ? (size_t)select_option(req, "group") : 0;
    *group = group_size(req);
    if (asked > req->pool.available)
        scant__warn(req->ctx,
                    "crc: a group of %zu rows is larger than the pool, of which %zu can "
                    "be picked: groups are %zu",
                    asked, req->pool.available, *group);
    else if (given && *group != asked)
        scant__warn(req->ctx,
                    "crc: groups of %zu rows do not make a batch of %zu: they are %zu",
                    asked, req->batch, *group);
    return select_option_settle(req, "group", "%zu", *group);
}

static int by_index(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static size_t shuffle_memory(size_t available) {
    return scant__alloc_cost(available * sizeof(la_scored)) + 256;
}

/* Rows that may be picked in random order, by a key a row: the order that `random` would
 * pick them in. Each group's rows are in index order. */
static scant_status shuffle(select_req *req, size_t *order, size_t group) {
    size_t available = req->pool.available;
    const scant__rng rng = {req->seed, SCANT__RNG_SHUFFLE};
    la_topk top;
    la_scored *heap = scant__alloc(req->ctx, available, sizeof *heap);
    if (!heap) return SCANT_ENOMEM;
    select_pool_list_available(&req->pool, order);
    la_topk_init(&top, heap, available);
    for (size_t i = 0; i < available; i++)
        la_topk_offer(&top, scant__rng_unit(&rng, order[i]), order[i]);
    la_topk_sort(&top);
    for (size_t i = 0; i < available; i++) order[i] = heap[i].index;
    scant__free(req->ctx, heap);
    for (size_t i = 0; i + group <= available; i += group)
        qsort(order + i, group, sizeof *order, by_index);
    return scant__tick(req->ctx, "shuffling", 1, 1);
}

/* ---- the strategy ------------------------------------------------------------------ */

static void crc_plan(const select_req *req, scant_plan *plan) {
    size_t available = req->pool.available, group = group_size(req);
    plan->memory += scant__alloc_cost(available * sizeof(size_t));
    plan->memory += shuffle_memory(available);
    plan->memory += scant__alloc_cost(req->batch / group * sizeof(la_found)) + 1024;
    select_lambda_plan(req, group, available / group, req->batch / group, plan);
}

/* There are groups enough: the batch is no more than the rows, and a multiple of group.
 */
static scant_status crc_select(select_req *req) {
    size_t available = req->pool.available, group = 1, count;
    select_lambda s;
    TRY(settle_group(req, &group));
    size_t want = req->batch / group, groups = available / group;
    size_t *order = scant__arena_alloc(req->arena, available, sizeof *order);
    la_found *found = scant__arena_alloc(req->arena, want, sizeof *found);
    if (!order || !found) return SCANT_ENOMEM;
    TRY(shuffle(req, order, group));
    TRY(select_lambda_start(req, order, group, groups, &s));
    TRY(la_lambda_best(s.engine, &(la_sets){.count = groups}, want, -1, "weighing groups",
                       found, &count));
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < group; k++)
            select_pick(req, order[found[i].set * group + k], 1,
                        select_lambda_value(&s, found[i].lambda));
    select_figure(req, "groups", (double)groups);
    select_lambda_figures(req, &s);
    return SCANT_OK;
}

static const scant_option options[] = {
    {.key = "group",
     .kind = SCANT_OPTION_COUNT,
     .otherwise = "a tenth of the batch",
     .min = 1,
     .max = 1e9,
     .help = "rows a group; lowered to a divisor of the batch"},
    SELECT_OPTION_BIAS("1"),
    SELECT_OPTION_NORMALISE,
};

const scant_strategy select_strategy_crc = {
    .info = {.name = "crc",
             .summary = "the best conditioned groups of rows beside the labelled ones",
             .use = "Few labels and semi-supervised training: as npc, with a look at "
                    "every row.",
             .paper = "convergence rate control, 2021",
             .score = "lambda of the labelled rows and the row's group",
             .needs = SCANT_FEATURES,
             .options = options,
             .n_options = sizeof options / sizeof *options},
    .plan = crc_plan,
    .select = crc_select,
};
