/* SPDX-License-Identifier: Apache-2.0
 *
 * acs-fw: a sparse stand-in for the whole pool (Pinsler, Gordon, Nalisnick &
 * Hernandez-Lobato, "Bayesian batch active learning as sparse subset approximation",
 * 2019). Row i has a vector, one number a posterior sample s,
 *
 *     L_i[s] = (sum_y p_y ln P(y | x_i, s) + H(p)) / sqrt(J),
 *
 * p the mean over all samples, J how many of them are used: what its label, drawn from
 * what is believed now, is expected to say about s, and less the more s disagrees.
 * Weights w >= 0 with few that are not 0 are to make |sum_i L_i - sum_i w_i L_i| small,
 * by Frank-Wolfe steps: with s_i = sqrt(|L_i|^2 + 1e-6) and s their sum, towards the row
 * with the largest <rest, L_i> / s_i, at weight s / s_i, as far as is best, at most all
 * the way.
 *
 * As in the paper the entropy counts once, and vectors are not centred. Unlike the
 * published code, which takes B steps and gives what has weight then, we step until B
 * rows have weight, at most 20 B times; it does not keep steps from going too far, and
 * predicts by averaging logits. Where no step helps any more, or the steps run out, the
 * batch is filled by the score that the next step would go by, with weight 0.
 *
 * Exact in double; probabilities below 1e-12 count as that in logarithms. Cost: O(m n C)
 * for the vectors, then O(n J) a step, at memory speed. Memory: n J numbers.
 */
#include <math.h>
#include <string.h>

#include "linalg/products.h"
#include "linalg/topk.h"
#include "select/samples.h"
#include "select/strategy.h"

enum {
    LINE = 64,
    STEP_BYTES = 64 << 20, /* of vectors a thread: to wake another costs more on less */
    TOGETHER = 16,         /* products at a time */
    STEPS = 20             /* for each row of the batch, at most */
};
static const double JITTER = 1e-6, STANDSTILL = 1e-12, ROUNDING = 1e-15;

typedef struct coreset {
    select_req *req;
    size_t n, width;           /* rows that may be picked; J */
    size_t *rows;              /* n: which they are */
    double *vectors;           /* (n, J) */
    double *size, all;         /* n: s_i; their sum */
    double *weight, *score;    /* n */
    size_t *held, n_held;      /* places of rows with weight */
    double *goal, *fit, *rest; /* J: sum of L_i, of w_i L_i; the difference */
    size_t steps;
    size_t block, blocks; /* rows a block, of the vectors */
    la_scored *best;      /* of each block */
    unsigned char *room;
    size_t room_size, scan_rows;
} coreset;

/* ---- vectors ----------------------------------------------------------------------- */

/* The first place whose row is not below row. */
static size_t place_of(const coreset *c, size_t row) {
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What is no more than rounding is 0: where all samples agree, nothing is said, and where
 * the goal is reached, nothing is left. */
static double difference(double a, double b) {
    return fabs(a - b) > ROUNDING * fmax(fabs(a), fabs(b)) ? a - b : 0;
}

/* Reads and checks a block of rows; writes the vectors of those that may be picked. */
static scant_status scan_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    coreset *c = arg;
    const select_pool *pool = &c->req->pool, view = select_samples_view(pool);
    const la_kernels *k = la_kernels_for(select_probs_type(&view));
    size_t first = block * c->scan_rows, rest = pool->n - first;
    size_t count = rest < c->scan_rows ? rest : c->scan_rows;
    unsigned char *room = c->room + worker * c->room_size;
    double *cross = (double *)(void *)room, *raw = cross + c->scan_rows;
    double norm = 1 / sqrt((double)c->width);
    select_beliefs beliefs;
    TRY(select_beliefs_read(pool, first, count, false, raw + c->scan_rows * pool->c,
                            &beliefs, fault));
    size_t from = place_of(c, first), to = place_of(c, first + count);
    for (size_t s = 0; s < c->width && from < to; s++) {
        const void *rows = select_sample_rows(&view, s, first, count, raw);
        k->cross(beliefs.mean, rows, count, pool->c, cross);
        for (size_t i = from; i < to; i++) {
            size_t at = c->rows[i] - first;
            c->vectors[i * c->width + s] =
                norm * difference(beliefs.entropy[at], cross[at]);
        }
    }
    return SCANT_OK;
}

static void measure(coreset *c) {
    la_kernels_for(LA_F64)->sumsq(c->vectors, c->n, c->width, c->size);
    for (size_t i = 0; i < c->n; i++) c->all += c->size[i] = sqrt(c->size[i] + JITTER);
    la_kernels_for(LA_F64)->total(c->vectors, c->n, c->width, c->goal);
    memcpy(c->rest, c->goal, c->width * sizeof *c->rest);
}

/* ---- steps ------------------------------------------------------------------------- */

static scant_status score_block(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    (void)worker, (void)fault;
    coreset *c = arg;
    const void *x[TOGETHER], *y = c->rest;
    size_t first = block * c->block, end = first + c->block;
    la_scored best = {-INFINITY, 0};
    end = end < c->n ? end : c->n;
    for (size_t i = first; i < end; i += TOGETHER) {
        size_t count = end - i < TOGETHER ? end - i : TOGETHER;
        for (size_t k = 0; k < count; k++) x[k] = c->vectors + (i + k) * c->width;
        la_kernels_for(LA_F64)->dot(x, count, &y, 1, c->width, c->score + i);
        for (size_t k = i; k < i + count; k++) {
            c->score[k] /= c->size[k];
            if (c->score[k] > best.score) best = (la_scored){c->score[k], k};
        }
    }
    c->best[block] = best;
    return SCANT_OK;
}

/* The place with the largest score; the first of equals. */
static scant_status find_best(coreset *c, size_t *place) {
    la_scored best = {-INFINITY, 0};
    TRY(scant__parfor(c->req->ctx, NULL, c->blocks, score_block, c));
    for (size_t b = 0; b < c->blocks; b++)
        if (c->best[b].score > best.score) best = c->best[b];
    *place = best.index;
    return SCANT_OK;
}

static double product(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++) sum += x[k] * y[k];
    return sum;
}

/* How far towards the vertex at `place` the rest is smallest: 0 to 1. */
static double stride(const coreset *c, size_t place, double vertex) {
    const double *v = c->vectors + place * c->width;
    double along = 0, square = 0;
    for (size_t s = 0; s < c->width; s++) {
        double way = vertex * v[s] - c->fit[s];
        along += way * c->rest[s];
        square += way * way;
    }
    return along > 0 && square > 0 ? fmin(along / square, 1) : 0;
}

static void step(coreset *c, size_t place, double vertex, double gamma) {
    const double *v = c->vectors + place * c->width;
    if (gamma == 1) { /* what was there is left behind */
        for (size_t k = 0; k < c->n_held; k++) c->weight[c->held[k]] = 0;
        c->n_held = 0;
    }
    for (size_t k = 0; k < c->n_held; k++) c->weight[c->held[k]] *= 1 - gamma;
    if (c->weight[place] == 0 && gamma > 0) c->held[c->n_held++] = place;
    c->weight[place] += gamma * vertex;
    for (size_t s = 0; s < c->width; s++) {
        c->fit[s] = (1 - gamma) * c->fit[s] + gamma * vertex * v[s];
        c->rest[s] = difference(c->goal[s], c->fit[s]);
    }
}

static scant_status walk(coreset *c) {
    select_req *req = c->req;
    size_t batch = req->batch;
    while (c->n_held < batch && c->steps < STEPS * batch) {
        size_t place;
        TRY(scant__tick(req->ctx, "stepping", c->n_held, batch));
        TRY(find_best(c, &place));
        double vertex = c->all / c->size[place], gamma = stride(c, place, vertex);
        step(c, place, vertex, gamma);
        if (gamma < STANDSTILL) break;
        c->steps++;
    }
    return SCANT_OK;
}

/* ---- picks ------------------------------------------------------------------------- */

static scant_status hand_in(coreset *c) {
    select_req *req = c->req;
    la_scored *heap = scant__arena_alloc(req->arena, req->batch, sizeof *heap);
    la_topk top;
    size_t place, with_weight = c->n_held;
    if (!heap) return SCANT_ENOMEM;
    la_topk_init(&top, heap, req->batch);
    for (size_t k = 0; k < c->n_held; k++)
        la_topk_offer(&top, c->weight[c->held[k]], c->held[k]);
    la_topk_sort(&top);
    for (size_t k = 0; k < top.count; k++) {
        double weight = top.items[k].score;
        select_pick(req, c->rows[top.items[k].index], weight, weight);
    }
    if (req->count < req->batch) {
        TRY(find_best(c, &place)); /* scores as they are now */
        la_topk_init(&top, heap, req->batch - req->count);
        for (size_t i = 0; i < c->n; i++)
            if (c->weight[i] == 0) la_topk_offer(&top, c->score[i], i);
        la_topk_sort(&top);
        for (size_t k = 0; k < top.count; k++)
            select_pick(req, c->rows[top.items[k].index], 0, 0);
    }
    select_figure(req, "objective_start", sqrt(product(c->goal, c->goal, c->width)));
    select_figure(req, "objective", sqrt(product(c->rest, c->rest, c->width)));
    select_figure(req, "steps", (double)c->steps);
    select_figure(req, "filled", (double)(req->batch - with_weight));
    return SCANT_OK;
}

/* ---- the strategy -------------------------------------------------------------------
 */

static size_t width_of(const select_req *req) {
    double asked = select_option(req, "projections");
    return asked > 0 && asked < (double)req->pool.m ? (size_t)asked : req->pool.m;
}

/* Of a worker in the first pass: bytes a row, and for so many. */
static size_t scan_row(const select_pool *pool) {
    return select_beliefs_room(pool, 1) + (pool->c + 1) * sizeof(double);
}

static size_t scan_room(const select_pool *pool, size_t rows) {
    return rows * scan_row(pool) / LINE * LINE + LINE;
}

static size_t block_of(size_t width) { return STEP_BYTES / (width * sizeof(double)) + 1; }

static void acs_plan(const select_req *req, scant_plan *plan) {
    enum { BLOCKS = 14, OVERHEAD = 256 };
    const select_pool *pool = &req->pool;
    size_t n = pool->available, width = width_of(req);
    size_t row = size_mul(width, sizeof(double)) + 2 * sizeof(size_t);
    size_t all = size_mul(n, row + 3 * sizeof(double));
    all = size_add(all, (n / block_of(width) + 1 + plan->batch) * sizeof(la_scored));
    all = size_add(all, 3 * width * sizeof(double) + BLOCKS * OVERHEAD);
    plan->memory = size_add(plan->memory, all);
    select_plan_blocks(req, pool->c, LINE, scan_row(pool), plan);
}

static scant_status prepare(coreset *c) {
    select_req *req = c->req;
    scant__arena *arena = req->arena;
    size_t n = c->n = req->pool.available, width = c->width = width_of(req);
    c->scan_rows = req->plan.block_rows;
    c->room_size = scan_room(&req->pool, c->scan_rows);
    c->block = block_of(width);
    c->blocks = (n + c->block - 1) / c->block;
    c->rows = scant__arena_alloc(arena, n, sizeof *c->rows);
    c->held = scant__arena_alloc(arena, n, sizeof *c->held);
    c->vectors = scant__arena_alloc(arena, n, size_mul(width, sizeof(double)));
    c->size = scant__arena_alloc(arena, n, sizeof *c->size);
    c->score = scant__arena_alloc(arena, n, sizeof *c->score);
    c->weight = scant__arena_zalloc(arena, n, sizeof *c->weight);
    c->goal = scant__arena_zalloc(arena, 3 * width, sizeof *c->goal);
    c->best = scant__arena_alloc(arena, c->blocks, sizeof *c->best);
    c->room = scant__arena_alloc(arena, req->ctx->threads, c->room_size);
    if (!c->rows || !c->held || !c->vectors || !c->size || !c->score || !c->weight ||
        !c->goal || !c->best || !c->room)
        return SCANT_ENOMEM;
    c->fit = c->goal + width;
    c->rest = c->fit + width;
    select_pool_list_available(&req->pool, c->rows);
    TRY(scant__parfor(req->ctx, "measuring beliefs", req->plan.blocks, scan_block, c));
    measure(c);
    return SCANT_OK;
}

static scant_status acs_check(const select_req *req) {
    double asked = select_option(req, "projections");
    if (asked <= (double)req->pool.m) return SCANT_OK;
    return scant__fail(req->ctx, SCANT_EUSAGE,
                       "acs-fw: projections is %.0f, but %s holds %zu samples", asked,
                       scant_array_name(req->pool.samples), req->pool.m);
}

static scant_status acs_select(select_req *req) {
    coreset c = {.req = req};
    TRY(prepare(&c));
    if (product(c.goal, c.goal, c.width) == 0)
        scant__warn(req->ctx, "%s: the samples agree on every row: the first are picked",
                    scant_array_name(req->pool.samples));
    TRY(walk(&c));
    return hand_in(&c);
}

static const scant_option options[] = {
    {.key = "projections",
     .kind = SCANT_OPTION_COUNT,
     .value = "0",
     .min = 0,
     .max = 1e9,
     .help = "samples that rows are compared on: so many, from the first on; 0: all"}};

static const scant_figure_info figures[] = {
    {"objective_start", "distance of an empty stand-in from the pool"},
    {"objective", "distance of the weighted rows from the pool"},
    {"steps", "steps that moved the weights"},
    {"filled", "picks without weight, which fill the batch up"},
};

const scant_strategy select_strategy_acs_fw = {
    .info = {.name = "acs-fw",
             .summary = "a sparse weighted stand-in for what the whole pool would say of "
                        "the posterior",
             .use = "With an ensemble or MC dropout, for large batches that must not "
                    "repeat themselves.",
             .paper = "Pinsler et al. 2019",
             .score = "weight of the row in the stand-in; 0: filled up",
             .needs = SCANT_SAMPLES,
             .options = options,
             .n_options = sizeof options / sizeof *options,
             .figures = figures,
             .n_figures = sizeof figures / sizeof *figures},
    .check = acs_check,
    .plan = acs_plan,
    .select = acs_select,
};
