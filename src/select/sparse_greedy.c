/* SPDX-License-Identifier: Apache-2.0
 *
 * sparse-greedy: solves the problem of select/sparse.h one row at a time (the paper's
 * Algorithm 1). The row along which the objective falls most steeply, by tau (grad f1)_j
 * - alpha sigma_j^2, joins the batch with the weight that is best for f1; one step within
 * the batch follows (de-bias), and weights below 0 become 0. The paper leaves tau open;
 * only alpha / tau matters.
 *
 * Always picks B rows, in the order of picking; a weight may end at 0. Exact in double:
 * the picked row always has the largest score (linalg/lazy_argmax.h), although after a
 * pick the scores are usually updated along the new row alone.
 *
 * Cost: between O(n b (C + d)), if beta keeps the weights near 1, and O(n b C d); and
 * O(b^2 C d) within the batch. Memory: 40 bytes per row, and p - p~.
 */
#include <math.h>

#include "linalg/lazy_argmax.h"
#include "select/sparse.h"

enum { STATES = LA_LAZY_ARGMAX_UNDO + 1 }; /* states that can be restored */

typedef struct greedy {
    sparse s;
    la_lazy_argmax argmax;
    double tau;
    size_t *picks; /* places, in the order of picking */
    double *score; /* score of each pick */
    size_t count;
    double *w;      /* n: weights */
    double *states; /* (STATES, b): weights after each of the last picks */
    double *r;      /* vector: Phi w - v */
} greedy;

static double *state_after(const greedy *g, size_t count) {
    return g->states + count % STATES * g->s.b;
}

/* Adds a row: makes the best step along it and one step within the batch, and sets
 * weights below 0 to 0. */
static scant_status take(greedy *g, size_t place, double c) {
    sparse *s = &g->s;
    double square = s->length[place] * s->length[place];
    double weight = -sparse_step(c - s->beta, square + s->beta);
    g->score[g->count] = -g->tau * (2 * c - 2 * s->beta) + s->alpha * s->variance[place];
    g->picks[g->count++] = place;
    g->w[place] = weight;
    TRY(sparse_add(s, &place, 1, g->w, g->r));
    TRY(sparse_debias(s, g->picks, g->count, g->w, g->r));
    TRY(sparse_clip(s, g->picks, g->count, g->w, g->r));
    for (size_t i = 0; i < g->count; i++) state_after(g, g->count)[i] = g->w[g->picks[i]];
    return la_lazy_argmax_take(&g->argmax, place, weight / (double)s->b);
}

/* Withdraws the last picks. */
static scant_status back_by(greedy *g, size_t picks) {
    for (size_t i = 0; i < picks; i++) g->w[g->picks[--g->count]] = 0;
    for (size_t i = 0; i < g->count; i++) g->w[g->picks[i]] = state_after(g, g->count)[i];
    return sparse_residual(&g->s, g->picks, g->count, g->w, g->r);
}

static scant_status pick_all(greedy *g) {
    sparse *s = &g->s;
    size_t back = 0;
    TRY(sparse_residual(s, NULL, 0, g->w, g->r));
    do {
        while (g->count < s->b) {
            size_t place;
            double dot;
            TRY(la_lazy_argmax_find(&g->argmax, g->r, &place, &dot, &back));
            TRY(back ? back_by(g, back) : take(g, place, dot / (double)s->b));
            TRY(scant__tick(s->sel->ctx, "picking", g->count, s->b));
        }
        TRY(la_lazy_argmax_settle(&g->argmax, &back));
        TRY(back_by(g, back));
    } while (back);
    return SCANT_OK;
}

static void greedy_plan(const scant_selection *sel, scant_plan *plan) {
    enum { SPARE = 2048 };
    sparse s;
    if (sparse_is_ranked(sel)) {
        sparse_rank_plan(sel, plan);
        return;
    }
    sparse_plan(sel, la_lazy_argmax_work, plan, &s);
    size_t batch = size_mul(s.b, (STATES + 2) * sizeof(double));
    size_t own = size_mul(size_add(s.n, s.size), sizeof(double));
    plan->memory = size_add(plan->memory, size_add(la_lazy_argmax_memory(&s.all), SPARE));
    plan->memory = size_add(plan->memory, size_add(own, batch));
    plan->passes += s.b / LA_LAZY_ARGMAX_UNDO + 1;
}

static scant_status reserve(greedy *g) {
    sparse *s = &g->s;
    scant__arena *arena = s->sel->arena;
    g->picks = TRY_NEW(arena, size_t, s->b);
    g->score = TRY_NEW(arena, double, size_mul(STATES + 1, s->b));
    g->w = TRY_ZERO(arena, double, s->n);
    g->r = TRY_NEW(arena, double, s->size);
    g->states = g->score + s->b;
    g->argmax = (la_lazy_argmax){.view = &s->all,
                                 .work = &s->work,
                                 .share = s->alpha,
                                 .merit = s->variance,
                                 .slope = 2 * g->tau / (double)s->b,
                                 .length = s->length,
                                 .longer = (double)s->b};
    return la_lazy_argmax_init(&g->argmax, arena);
}

static scant_status greedy_select(scant_selection *sel) {
    greedy g = {.tau = select_option(sel, "tau")};
    sparse *s = &g.s;
    if (sparse_is_ranked(sel)) return sparse_rank(sel);
    TRY(sparse_open(sel, la_lazy_argmax_work, s));
    TRY(reserve(&g));
    TRY(pick_all(&g));
    for (size_t i = 0; i < g.count; i++)
        select_pick(sel, sparse_row(s, g.picks[i]), g.w[g.picks[i]],
                    g.score[i] / (s->scale * s->scale));
    sparse_figures(s, sel, sparse_f1(s, g.picks, g.count, g.w, g.r),
                   sparse_f2(s, g.picks, g.count, g.w));
    return SCANT_OK;
}

static const scant_option options[] = {
    SPARSE_OPTION_ALPHA("1e-2"),
    SPARSE_OPTION_BETA("0.1"),
    SELECT_OPTION("tau", NUMBER, "1",
                  "weight of the fit when a pick is scored; only alpha / tau matters",
                  .max = 1e100),
    SELECT_OPTION_BIAS("1"),
    SPARSE_OPTION_SOURCE,
    SPARSE_OPTION_TERMS,
};

static const scant_figure_info figures[] = {SPARSE_FIGURES};

const scant_strategy select_strategy_sparse_greedy = {
    .info = {.name = "sparse-greedy",
             .summary = "weighted rows, picked one by one, that approximate the pool's "
                        "expected gradient",
             .use = "For a batch that is both representative and uncertain, if you have "
                    "calibrated probabilities or posterior draws.",
             .paper = "Shen, Jiang, Zhang & Koyejo 2022",
             .score = "slope of the objective along the row when it was picked; with "
                      "terms=variance, the row's sigma",
             .needs = SCANT_PROBS | SCANT_CALIBRATED | SCANT_FEATURES,
             .or_needs = SCANT_DRAWS,
             SELECT_OPTIONS(options),
             SELECT_FIGURES(figures)},
    .inputs = sparse_inputs,
    .check = sparse_check,
    .plan = greedy_plan,
    .select = greedy_select,
};
