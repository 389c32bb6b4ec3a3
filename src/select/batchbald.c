/* SPDX-License-Identifier: Apache-2.0
 *
 * batchbald: rows whose labels jointly carry most information about the model (Kirsch,
 * van Amersfoort & Gal, "BatchBALD: efficient and diverse batch acquisition for deep
 * Bayesian active learning", 2019). Greedily picks the row that adds most to the joint
 * mutual information I(y_S; model), within a factor of 1 - 1/e of the best batch.
 *
 * A string is one label for each pick so far. Up to `mc` strings, joint entropies are
 * exact, and picks and scores are those of exhaustive enumeration. Beyond that, strings
 * are sampled (joint.h says how, and where it deviates from the paper: estimators with
 * less noise, and strings that are not all resampled after every pick). The score of a
 * pick is then estimated on strings that include its label, and never falls below the
 * previous score.
 *
 * Lazy evaluation: the gain of a row never grows with the picks, so a gain computed for
 * fewer picks is an upper bound, and only rows whose bound reaches the best gain are
 * evaluated, first on merged strings, which give an upper bound too. The bound from an
 * estimated gain is the estimate plus four standard errors. With the same margin, each
 * pick is found by a race: rows are evaluated on a few strings, then on more, until their
 * bound falls below the best gain or all strings are used. So the pick is the one that
 * evaluating every row on all strings would give, unless a gain is above its bound; then
 * the pick's gain is within the noise of the best.
 *
 * The information is at most ln m. Picks would be arbitrary once all exact gains are
 * below 1e-11, or once ln m minus the information is within the noise of sampled strings
 * (2 / sqrt of their number, four standard errors at a spread of half a nat). bald then
 * makes the remaining picks, with the last information as their score.
 *
 * Cost: O(m n C) for the first pick, then at most n mc m C multiply-adds per pick, most
 * of which are avoided. Memory: mc m numbers, 17 bytes per row, a few rows per worker.
 */
#include <math.h>
#include <string.h>

#include "linalg/products.h"
#include "linalg/topk.h"
#include "select/joint.h"
#include "select/posterior_stats.h"
#include "select/strategy.h"

enum {
    FIRST_WAVE = 12,     /* rows evaluated first, on all strings: they set the gain to
                          * beat */
    EXACT_WAVE = 120,    /* rows of the next waves, with exact gains */
    WAVE = 960,          /* rows of a race, or evaluated together on merged strings */
    WORTH_MERGING = 256, /* minimum number of candidate rows to merge strings */
    STAGE = 4            /* a race uses 4 parts first, then 4 times as many */
};
static const double ROUNDING =
    1e-10; /* rounding of gains: rows with bounds this close are evaluated */
static const double NOTHING = 1e-11, NORMAL = 1e-12, ERRORS = 4;

/* How precisely a row has been evaluated. */
typedef enum closeness { SEEN_NOT, SEEN_MERGED, SEEN_WHOLE } closeness;

typedef struct greedy {
    scant_selection *sel;
    joint j;
    double *information; /* n: information of a row's label alone */
    double *bound;       /* n: upper bound of the gain; negative if not available */
    unsigned char *seen; /* n: closeness of the evaluation for this pick */
    double total;        /* information of the picks */
    la_scored best;      /* best row so far for this pick */
    double slack;        /* how far a computed bound may be below the true one */
    double off;          /* largest deviation of a row's sum from 1 */
    double *offs;        /* the same per worker */
    /* A wave: */
    la_scored *heap;
    size_t *rows;
    double *value;                                          /* (WAVE, JOINT_PARTS) */
    double common[JOINT_PARTS], total_common, apart, alone; /* measure_common() */
    /* The first pass: */
    unsigned char *room;
    size_t scan_rows;
} greedy;

/* ---- the first pass ---------------------------------------------------------------- */

static scant_status scan_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    greedy *g = arg;
    const select_pool *pool = &g->sel->pool;
    bool mask[SELECT_MASK];
    select_posterior posterior;
    size_t first = block * g->scan_rows, rest = pool->n - first;
    size_t count = rest < g->scan_rows ? rest : g->scan_rows;
    TRY(select_posterior_read(
        pool, first, count, true,
        g->room + worker * select_posterior_room(pool, g->scan_rows), &posterior, fault));
    g->offs[worker] = fmax(g->offs[worker], posterior.off);
    select_pool_mask(pool, first, count, mask);
    for (size_t i = 0; i < count; i++) {
        g->information[first + i] = posterior.information[i];
        g->bound[first + i] = mask[i] ? posterior.information[i] : -1;
    }
    return SCANT_OK;
}

static void take(greedy *g, size_t row, double score) {
    g->bound[row] = -1;
    g->total = score;
    select_pick(g->sel, row, 1, score);
}

/* ---- waves ------------------------------------------------------------------------- */

static bool may_win(const greedy *g, size_t row, closeness how) {
    return g->bound[row] >= 0 && g->bound[row] >= g->best.score - g->slack &&
           g->seen[row] < how;
}

/* Lists the rows with the best bounds that may still win and have not been evaluated as
 * precisely as `how`. */
static size_t next_wave(greedy *g, size_t size, closeness how) {
    la_topk top;
    la_topk_init(&top, g->heap, size);
    for (size_t i = 0; i < g->sel->pool.n; i++)
        if (may_win(g, i, how)) la_topk_offer(&top, g->bound[i], i);
    la_topk_sort(&top);
    for (size_t k = 0; k < top.count; k++) {
        g->rows[k] = top.items[k].index;
        g->seen[g->rows[k]] = (unsigned char)how;
    }
    return top.count;
}

static void enter(greedy *g, size_t row, double gain) {
    const la_scored *best = &g->best;
    if (gain > best->score || (gain == best->score && row < best->index))
        g->best = (la_scored){gain, row};
}

/* ---- exact gains --------------------------------------------------------------------
 */

static scant_status evaluate(greedy *g, const joint_set *set, size_t count) {
    bool whole = set == &g->j.all;
    TRY(joint_evaluate(&g->j, set, g->rows, count, 0, 1, g->value));
    for (size_t k = 0; k < count; k++) {
        size_t row = g->rows[k];
        double gain = g->value[k * JOINT_PARTS] - set->known;
        if (whole) enter(g, row, gain);
        if (whole || gain < g->bound[row]) g->bound[row] = gain > 0 ? gain : 0;
    }
    return SCANT_OK;
}

/* Evaluates a few rows, which set the gain to beat; then all rows that may reach it, on
 * merged strings first if there are many. */
static scant_status find_exact(greedy *g) {
    size_t count, many = 0;
    double sure = g->j.all.known + log((double)g->sel->pool.c);
    g->slack = ROUNDING + 4 * g->off * sure;
    count = next_wave(g, FIRST_WAVE, SEEN_WHOLE);
    TRY(evaluate(g, &g->j.all, count));
    for (size_t i = 0; i < g->sel->pool.n; i++) many += may_win(g, i, SEEN_MERGED);
    if (many >= WORTH_MERGING) {
        TRY(joint_merge(&g->j));
        while (g->j.merged.count && (count = next_wave(g, WAVE, SEEN_MERGED)))
            TRY(evaluate(g, &g->j.merged, count));
    }
    while ((count = next_wave(g, EXACT_WAVE, SEEN_WHOLE)))
        TRY(evaluate(g, &g->j.all, count));
    return SCANT_OK;
}

/* ---- estimated gains ----------------------------------------------------------------
 */

/* Computes the mean gain of the first wave's rows in each part of the strings. Also
 * computes the variance over parts of a row's gain (alone), and of its difference from
 * that mean (apart). A short last part is left out of the variances. */
static void measure_common(greedy *g, size_t count) {
    size_t parts = g->j.all.count / g->j.all.part;
    double *common = g->common, rows = (double)count, apart = 0, alone = 0;
    g->total_common = 0;
    for (size_t p = 0; p < g->j.all.parts; p++) {
        common[p] = 0;
        for (size_t k = 0; k < count; k++) common[p] += g->value[k * JOINT_PARTS + p];
        g->total_common += common[p] /= rows;
    }
    for (size_t k = 0; k < count; k++) {
        const double *value = g->value + k * JOINT_PARTS;
        double mean = 0, shift = 0;
        for (size_t p = 0; p < parts; p++) {
            mean += value[p] / (double)parts;
            shift += (value[p] - common[p]) / (double)parts;
        }
        for (size_t p = 0; p < parts; p++) {
            double x = value[p] - mean, y = value[p] - common[p] - shift;
            alone += x * x, apart += y * y;
        }
    }
    bool few = parts < 2 || count < 2;
    g->alone = few ? (double)INFINITY : alone / (rows * (double)(parts - 1));
    g->apart = few ? (double)INFINITY : apart / ((rows - 1) * (double)(parts - 1));
}

typedef struct estimate {
    double gain;
    double race;  /* upper bound of the gain on all strings */
    double bound; /* upper bound of the true gain */
} estimate;

/* Estimates a row's gain from the first `parts` parts. The first wave's mean is known for
 * the other parts, so only the difference from it is estimated. */
static estimate gain_of(const greedy *g, size_t k, size_t parts) {
    const joint_set *set = &g->j.all;
    const double *value = g->value + k * JOINT_PARTS;
    double seen = (double)(parts * set->part), all = (double)set->count, sum = 0;
    for (size_t p = 0; p < parts; p++) sum += value[p] - g->common[p];
    double scale = 1 / (double)g->j.drawn, rest = all / (seen < all ? seen : all);
    double gain = scale * (g->total_common + rest * sum);
    double race = parts < set->parts ? scale * rest * sqrt(g->apart * (double)parts) : 0;
    double noise = scale * sqrt(g->alone * (double)set->parts);
    return (estimate){gain, gain + ERRORS * race, gain + ERRORS * (race + noise)};
}

/* Updates the wave's rows after `parts` parts; keeps those in the race that may still be
 * best. */
static size_t judge(greedy *g, size_t count, size_t parts) {
    size_t kept = 0;
    for (size_t k = 0; k < count; k++) {
        size_t row = g->rows[k];
        double *bound = &g->bound[row];
        estimate e = gain_of(g, k, parts);
        *bound = fmin(*bound, fmax(e.bound, 0));
        if (parts == g->j.all.parts) {
            enter(g, row, fmin(fmax(e.gain, 0), *bound));
        } else if (fmin(e.race, *bound) >= g->best.score) {
            memmove(g->value + kept * JOINT_PARTS, g->value + k * JOINT_PARTS,
                    parts * sizeof *g->value);
            g->rows[kept++] = row;
        }
    }
    return kept;
}

static scant_status race(greedy *g, size_t count) {
    const joint_set *set = &g->j.all;
    size_t from = 0, to = STAGE;
    while (count) {
        to = to < set->parts ? to : set->parts;
        TRY(joint_evaluate(&g->j, set, g->rows, count, from, to, g->value));
        count = judge(g, count, to);
        from = to;
        to *= STAGE;
    }
    return SCANT_OK;
}

static scant_status find_estimated(greedy *g) {
    const joint_set *set = &g->j.all;
    g->slack = 0;
    size_t count = next_wave(g, FIRST_WAVE, SEEN_WHOLE);
    TRY(joint_evaluate(&g->j, set, g->rows, count, 0, set->parts, g->value));
    measure_common(g, count);
    judge(g, count, set->parts);
    while ((count = next_wave(g, WAVE, SEEN_WHOLE))) TRY(race(g, count));
    return SCANT_OK;
}

static scant_status find_best(greedy *g) {
    g->best = (la_scored){-INFINITY, SIZE_MAX};
    memset(g->seen, 0, g->sel->pool.n);
    return g->j.exact ? find_exact(g) : find_estimated(g);
}

/* ---- picks ------------------------------------------------------------------------- */

/* The first pick is the row with the largest information. */
static void first_best(greedy *g) {
    g->best = (la_scored){-INFINITY, SIZE_MAX};
    for (size_t i = 0; i < g->sel->pool.n; i++)
        if (g->bound[i] > g->best.score && g->bound[i] >= 0)
            g->best = (la_scored){g->bound[i], i};
}

/* Whether the remaining information is within the noise. */
static bool is_saturated(const greedy *g) {
    const joint *j = &g->j;
    return !j->exact && j->left <= 2 / sqrt((double)j->drawn);
}

/* Whether the best row adds nothing. If sums of probabilities are not exactly 1, exact
 * gains are not exactly 0 either; the tolerance allows for that. */
static bool adds_nothing(const greedy *g) {
    return g->best.score <= NOTHING && (!g->j.exact || g->off <= NORMAL);
}

static scant_status pick_best(greedy *g) {
    double ceiling = log((double)g->sel->pool.m), score = g->total + g->best.score;
    bool exact = g->j.exact, last = g->sel->count + 1 == g->sel->batch;
    size_t row = g->best.index;
    if (!exact || !last) TRY(joint_add(&g->j, row, g->best.score));
    if (!exact) score = ceiling - g->j.left;
    if (!exact || fabs(score - g->total) <= NOTHING) score = fmax(score, g->total);
    if (!exact || fabs(score - ceiling) <= NOTHING) score = fmin(score, ceiling);
    take(g, row, score);
    return SCANT_OK;
}

static scant_status fill_by_bald(greedy *g) {
    scant_selection *sel = g->sel;
    size_t want = sel->batch - sel->count;
    la_scored *heap = TRY_NEW(sel->arena, la_scored, want);
    la_topk top;
    scant__warn(sel->ctx,
                "after %zu pick%s the joint information (%.4g nats of at most ln %zu = "
                "%.4g) does not grow measurably; %zu more %s picked by bald",
                sel->count, sel->count == 1 ? "" : "s", g->total, sel->pool.m,
                log((double)sel->pool.m), want, want == 1 ? "is" : "are");
    la_topk_init(&top, heap, want);
    for (size_t i = 0; i < sel->pool.n; i++)
        if (g->bound[i] >= 0) la_topk_offer(&top, g->information[i], i);
    la_topk_sort(&top);
    for (size_t k = 0; k < top.count; k++) take(g, top.items[k].index, g->total);
    return SCANT_OK;
}

static scant_status pick_all(greedy *g) {
    scant_selection *sel = g->sel;
    size_t exact = 0, joint_picks;
    while (sel->count < sel->batch && !is_saturated(g)) {
        TRY(scant__tick(sel->ctx, "picking", sel->count, sel->batch));
        if (sel->count)
            TRY(find_best(g));
        else
            first_best(g);
        if (adds_nothing(g)) break;
        exact += g->j.exact;
        TRY(pick_best(g));
    }
    joint_picks = sel->count;
    if (joint_picks < sel->batch) TRY(fill_by_bald(g));
    select_figure(sel, "ceiling", log((double)sel->pool.m));
    select_figure(sel, "information", g->total);
    select_figure(sel, "exact", (double)exact);
    select_figure(sel, "sampled", (double)(joint_picks - exact));
    select_figure(sel, "by_bald", (double)(sel->batch - joint_picks));
    return SCANT_OK;
}

/* ---- the strategy -------------------------------------------------------------------
 */

static size_t own_memory(const scant_selection *sel, size_t batch) {
    enum { BLOCKS = 10, OVERHEAD = 256 };
    size_t row = 2 * sizeof(double) + 1;
    size_t wave = sizeof(la_scored) + sizeof(size_t) + JOINT_PARTS * sizeof(double);
    size_t bytes = size_add(size_mul(sel->pool.n, row), WAVE * wave);
    bytes = size_add(bytes, sel->ctx->threads * sizeof(double));
    return size_add(bytes, batch * sizeof(la_scored) + BLOCKS * OVERHEAD);
}

static void batchbald_plan(const scant_selection *sel, scant_plan *plan) {
    const select_pool *pool = &sel->pool;
    size_t limit = (size_t)select_option(sel, "mc");
    plan->memory = size_add(plan->memory, own_memory(sel, plan->batch));
    plan->memory =
        size_add(plan->memory, joint_memory(pool, limit, plan->batch, sel->ctx->threads));
    select_plan_blocks(sel, pool->c, 0, select_posterior_room(pool, 1), plan);
}

static scant_status prepare(greedy *g) {
    scant_selection *sel = g->sel;
    scant__arena *arena = sel->arena;
    size_t n = sel->pool.n;
    g->scan_rows = sel->plan.block_rows;
    g->information = TRY_NEW(arena, double, n);
    g->bound = TRY_NEW(arena, double, n);
    g->seen = TRY_NEW(arena, unsigned char, n);
    g->heap = TRY_NEW(arena, la_scored, WAVE);
    g->rows = TRY_NEW(arena, size_t, WAVE);
    g->value = TRY_NEW(arena, double, WAVE *JOINT_PARTS);
    g->room = TRY_NEW(arena, unsigned char,
                      sel->ctx->threads *select_posterior_room(&sel->pool, g->scan_rows));
    g->offs = TRY_ZERO(arena, double, sel->ctx->threads);
    TRY(joint_init(&g->j, arena, &sel->pool, sel->seed, (size_t)select_option(sel, "mc"),
                   sel->batch));
    TRY(scant__parfor(sel->ctx, "scoring", sel->plan.blocks, scan_block, g));
    for (unsigned t = 0; t < sel->ctx->threads; t++) g->off = fmax(g->off, g->offs[t]);
    return SCANT_OK;
}

static scant_status batchbald_select(scant_selection *sel) {
    greedy g = {.sel = sel};
    TRY(prepare(&g));
    return pick_all(&g);
}

static const scant_option options[] = {
    SELECT_OPTION(
        "mc", COUNT, "10000",
        "limit on label combinations: up to this number all are enumerated, beyond "
        "it this many are drawn at random",
        .min = 1, .max = 1e9),
};

static const scant_figure_info figures[] = {
    {"ceiling", "upper bound on the information of any batch: ln(number of posterior "
                "draws), in nats"},
    {"information",
     "joint information of the batch without the picks made by bald, in nats"},
    {"exact", "number of first picks that were scored on all label combinations"},
    {"sampled",
     "number of next picks that were scored on label combinations drawn at random"},
    {"by_bald",
     "number of last picks made by bald, because no row added information; 0: none"},
};

const scant_strategy select_strategy_batchbald = {
    .info = {.name = "batchbald",
             .summary =
                 "rows whose labels together carry most information about the model",
             .use = "With an ensemble or MC dropout, for batches of up to a few dozen "
                    "rows. A batch can carry at most ln(number of posterior draws) nats.",
             .paper = "Kirsch et al. 2019",
             .score =
                 "joint mutual information between the model and the labels up to this "
                 "pick, in nats; picks beyond the ceiling repeat the last value",
             .needs = SCANT_DRAWS,
             SELECT_OPTIONS(options),
             SELECT_FIGURES(figures),
             .ranked = true},
    .plan = batchbald_plan,
    .select = batchbald_select,
};
