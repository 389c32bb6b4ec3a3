/* SPDX-License-Identifier: Apache-2.0
 *
 * sparse-greedy: the problem of select/sparse.h solved a row at a time (the paper's
 * Algorithm 1). The row along which the objective falls most steeply, by tau (grad
 * f1)_j - alpha sigma_j^2, joins the batch with the weight that is best for f1; one step
 * within the batch follows (de-bias), and weights below 0 become 0. The paper leaves tau
 * open; only alpha / tau matters.
 *
 * Always B rows, in the order of picking; a weight may end at 0. Exact in double.
 *
 * Cost: O(n b C d). Memory: 33 bytes a row, and p - p~.
 */
#include <math.h>

#include "select/sparse.h"

typedef struct greedy {
    sparse s;
    double tau;
    size_t *picks; /* places, in the order of picking */
    double *score; /* of each pick */
    size_t count;
    bool *taken;   /* n */
    double *w, *c; /* n */
    double *r;     /* vector: Phi w - v */
} greedy;

static double score_of(const greedy *g, size_t place, double c) {
    const sparse *s = &g->s;
    double slope = 2 * c + 2 * s->beta * (g->w[place] - 1);
    return -g->tau * slope + s->alpha * s->variance[place];
}

static scant_status best(greedy *g, size_t *place, double *c, double *score) {
    sparse *s = &g->s;
    TRY(la_kron_dots(&s->all, g->r, g->c, &s->work));
    *place = s->n;
    for (size_t j = 0; j < s->n; j++) {
        if (g->taken[j]) continue;
        double own = g->c[j] / (double)s->b, x = score_of(g, j, own);
        if (*place == s->n || x > *score) *place = j, *score = x, *c = own;
    }
    return SCANT_OK;
}

/* The row joins: the best step along it, one within the support, nothing below 0. */
static scant_status take(greedy *g, size_t place, double c, double score) {
    sparse *s = &g->s;
    double square = s->length[place] * s->length[place];
    g->w[place] = -sparse_step(c - s->beta, square + s->beta);
    g->taken[place] = true;
    g->picks[g->count] = place;
    g->score[g->count++] = score;
    TRY(sparse_add(s, &place, 1, g->w, g->r));
    TRY(sparse_debias(s, g->picks, g->count, g->w, g->r));
    return sparse_clip(s, g->picks, g->count, g->w, g->r);
}

static void greedy_plan(const select_req *req, scant_plan *plan) {
    size_t n = req->pool.available, size = sparse_plan(req, plan);
    enum { SPARE = 2048 };
    plan->memory = la_size_add(plan->memory, la_size_mul(n, 2 * sizeof(double) + 1));
    plan->memory = la_size_add(plan->memory, la_size_mul(size, sizeof(double)));
    plan->memory = la_size_add(plan->memory, plan->batch * 16 + SPARE);
    plan->passes += 1;
}

static scant_status greedy_select(select_req *req) {
    greedy g = {.tau = select_option(req, "tau")};
    sparse *s = &g.s;
    TRY(sparse_open(req, s));
    g.picks = scant__arena_alloc(req->arena, s->b, sizeof *g.picks);
    g.score = scant__arena_alloc(req->arena, s->b, sizeof *g.score);
    g.taken = scant__arena_zalloc(req->arena, s->n, sizeof *g.taken);
    g.w = scant__arena_zalloc(req->arena, s->n, 2 * sizeof *g.w);
    g.r = scant__arena_alloc(req->arena, s->size, sizeof *g.r);
    if (!g.picks || !g.score || !g.taken || !g.w || !g.r) return SCANT_ENOMEM;
    g.c = g.w + s->n;
    TRY(sparse_residual(s, NULL, 0, g.w, g.r));
    while (g.count < s->b) {
        size_t place;
        double c = 0, score = 0;
        TRY(best(&g, &place, &c, &score));
        TRY(take(&g, place, c, score));
        TRY(scant__tick(req->ctx, "picking", g.count, s->b));
    }
    for (size_t i = 0; i < g.count; i++)
        select_pick(req, sparse_row(s, g.picks[i]), g.w[g.picks[i]],
                    g.score[i] / (s->scale * s->scale));
    sparse_figures(s, sparse_f1(s, g.picks, g.count, g.w, g.r),
                   sparse_f2(s, g.picks, g.count, g.w));
    return SCANT_OK;
}

static const scant_option options[] = {
    SPARSE_OPTION_ALPHA("1e-2"),
    SPARSE_OPTION_BETA("0.1"),
    {.key = "tau",
     .kind = SCANT_OPTION_NUMBER,
     .value = "1",
     .min = 0,
     .max = 1e100,
     .help = "the step that a pick is judged by: only alpha / tau matters"},
    SELECT_OPTION_BIAS("1"),
    SPARSE_OPTION_SOURCE,
};

const scant_strategy select_strategy_sparse_greedy = {
    .info = {.name = "sparse-greedy",
             .summary = "weighted rows that stand for the pool's expected gradients, one "
                        "after the other",
             .use = "A batch that represents the pool and is uncertain, where there are "
                    "calibrated probabilities or samples of a posterior.",
             .paper = "Shen, Jiang, Zhang & Koyejo 2022",
             .score = "how steeply the objective fell along the row when it was picked",
             .needs = SCANT_PROBS | SCANT_CALIBRATED | SCANT_FEATURES,
             .or_needs = SCANT_SAMPLES,
             .options = options,
             .n_options = sizeof options / sizeof *options},
    .way = sparse_way,
    .plan = greedy_plan,
    .select = greedy_select,
};
