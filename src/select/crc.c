/* SPDX-License-Identifier: Apache-2.0
 *
 * crc: convergence rate control ("Better optimization can reduce sample complexity:
 * active semi-supervised learning via convergence rate control", 2021). The smallest
 * eigenvalue of the Gram matrix of gradients sets the convergence rate of gradient
 * descent. Unlabelled rows are shuffled and divided into groups; the groups X with the
 * largest lambda(L + X) are picked whole.
 *
 * As in the paper, the kernel is the last layer's, K(x, x') = h+ . h+', a group is a
 * tenth of the batch, and the rows of an incomplete last group are left out of this call.
 * The paper takes the smallest eigenvalue that is numerically positive; we take the
 * smallest that is positive by the features' rank (linalg/lambda.h), since the paper's is
 * rounding noise if there are more rows than dimensions. The best groups are found
 * exactly, without computing the eigenvalues of most groups.
 *
 * Cost: a pass of n d^2 for the rank; n/g groups of g rows, each some g^2 (d + l) + g d l
 * with l labelled rows, or g^2 d + g d^2 if g + l exceeds the rank. Memory: 24 bytes per
 * row and a few d x d matrices per thread.
 */
#include <stdlib.h>

#include "core/rng.h"
#include "linalg/topk.h"
#include "select/npc_crc.h"

/* ---- groups ------------------------------------------------------------------------ */

/* Rows per group: the option, or a tenth of the batch, lowered to a divisor of the batch
 * that the pool can fill. The batch is the number asked for, even if the pool has fewer
 * rows. */
static size_t group_size(const scant_selection *sel) {
    size_t group = sel->asked / 10;
    if (select_option_is_set(sel, "group")) group = (size_t)select_option(sel, "group");
    group = size_max(1, size_min(group, size_min(sel->asked, sel->pool.available)));
    while (sel->asked % group) group--;
    return group;
}

static scant_status settle_group(scant_selection *sel, size_t *group) {
    bool given = select_option_is_set(sel, "group");
    size_t asked = given ? (size_t)select_option(sel, "group") : 0;
    *group = group_size(sel);
    if (asked > sel->pool.available)
        scant__warn(sel->ctx,
                    "crc: a group of %zu rows is larger than the %zu available rows; the "
                    "group size is lowered to %zu",
                    asked, sel->pool.available, *group);
    else if (given && *group != asked)
        scant__warn(sel->ctx,
                    "crc: groups of %zu rows do not divide a batch of %zu; the group "
                    "size is lowered to %zu",
                    asked, sel->asked, *group);
    return select_option_settle(sel, "group", "%zu", *group);
}

static int by_index(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The available rows in random order, divided into groups. */
typedef struct groups {
    size_t count, rows; /* rows per group */
    size_t *order;      /* rows group by group; within a group in index order */
    la_scored *list;    /* groups, numbered so that ties go to the lowest first row */
} groups;

static size_t groups_memory(size_t available) {
    return scant__alloc_cost(available * sizeof(la_scored)) +
           scant__alloc_cost(available * sizeof(size_t)) + 256;
}

/* Orders the available rows as strategy `random` would pick them. */
static scant_status shuffle(scant_selection *sel, groups *g) {
    enum { POLL = 1 << 16 };
    size_t available = sel->pool.available;
    const scant__rng rng = {sel->seed, SCANT__RNG_SHUFFLE};
    la_topk top;
    la_topk_init(&top, g->list, available);
    for (size_t i = 0; i < available; i++) {
        if (i % POLL == 0) TRY(scant__tick(sel->ctx, "shuffling", i, available));
        la_topk_offer(&top, scant__rng_unit(&rng, g->order[i]), g->order[i]);
    }
    la_topk_sort(&top);
    for (size_t i = 0; i < available; i++) g->order[i] = g->list[i].index;
    return SCANT_OK;
}

static scant_status make_groups(scant_selection *sel, size_t rows, groups *g) {
    size_t available = sel->pool.available;
    la_topk top;
    *g = (groups){.count = available / rows, .rows = rows};
    g->order = TRY_NEW(sel->arena, size_t, available);
    g->list = TRY_NEW(sel->arena, la_scored, available);
    select_pool_list_available(&sel->pool, g->order);
    TRY(shuffle(sel, g));
    la_topk_init(&top, g->list, g->count);
    for (size_t i = 0; i < g->count; i++) {
        size_t *first = g->order + i * rows;
        qsort(first, rows, sizeof *first, by_index);
        la_topk_offer(&top, -(double)*first, i);
    }
    la_topk_sort(&top);
    return SCANT_OK;
}

static size_t group_start(const groups *g, size_t set) {
    return g->list[set].index * g->rows;
}

static void get_group(const void *self, size_t set, unsigned worker, size_t *places) {
    const groups *g = self;
    (void)worker;
    for (size_t k = 0; k < g->rows; k++) places[k] = group_start(g, set) + k;
}

/* ---- the strategy ------------------------------------------------------------------ */

static void crc_plan(const scant_selection *sel, scant_plan *plan) {
    size_t available = sel->pool.available, rows = group_size(sel);
    size_t want = sel->batch / rows;
    plan->memory = size_add(plan->memory, groups_memory(available));
    plan->memory =
        size_add(plan->memory, scant__alloc_cost(want * sizeof(la_found)) + 1024);
    select_lambda_plan(sel, rows, available / rows, want, plan);
}

/* If the batch exceeds the pool, there are too few groups: all are picked, followed by
 * the remaining rows in random order. */
static scant_status crc_select(scant_selection *sel) {
    size_t rows = 1, count;
    select_lambda s;
    groups g;
    TRY(settle_group(sel, &rows));
    size_t want = sel->batch / rows;
    la_found *found = TRY_NEW(sel->arena, la_found, want);
    TRY(make_groups(sel, rows, &g));
    TRY(select_lambda_start(sel, g.order, rows, g.count, &s));
    la_sets sets = {.count = g.count, .get = get_group, .self = &g};
    TRY(la_lambda_best(s.engine, &sets, want, -1, "evaluating groups", found, &count));
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < rows; k++)
            select_pick(sel, g.order[group_start(&g, found[i].set) + k], 1,
                        select_lambda_value(&s, found[i].lambda));
    for (size_t i = g.count * rows; sel->count < sel->batch; i++)
        select_pick(sel, g.order[i], 1, 0);
    select_figure(sel, "groups", (double)g.count);
    select_lambda_figures(sel, &s, found[0].lambda, "group");
    return SCANT_OK;
}

static const scant_option options[] = {
    SELECT_OPTION("group", COUNT, NULL,
                  "rows per group; lowered to a divisor of the batch",
                  .otherwise = "a tenth of the batch", .min = 1, .max = 1e9),
    SELECT_LAMBDA_BIAS,
    SELECT_OPTION_NORMALISE,
};

static const scant_figure_info figures[] = {
    {"groups", "number of groups that the pool was divided into"},
    SELECT_LAMBDA_FIGURES("groups"),
};

const scant_strategy select_strategy_crc = {
    .info = {.name = "crc",
             .summary = "groups of rows that, together with the labelled rows, have the "
                        "best conditioned kernel matrix",
             .use = "For few labels and for semi-supervised training. Like npc, but it "
                    "considers every row.",
             .paper = "convergence rate control, 2021",
             .score = "lambda of the labelled rows and the row's group; 0 for random "
                      "rows that fill up the batch",
             .needs = SCANT_FEATURES,
             .uses = SCANT_LABELS,
             SELECT_OPTIONS(options),
             SELECT_FIGURES(figures),
             .kernel = true},
    .check = select_lambda_check,
    .plan = crc_plan,
    .select = crc_select,
    .blas = true,
};
