/* SPDX-License-Identifier: Apache-2.0
 *
 * sparse-iht: proximal iterative hard thresholding for the problem of select/sparse.h
 * (the paper's Algorithm 2). Again and again: a step down the gradient of f1 from z, the
 * b rows that the proximal operator of f2 keeps, a step within them (de-bias), nothing
 * below 0, and z ahead of w by momentum. Every step is of the length that is best for f1.
 *
 * Which rows are kept: with s the point after the step, w = [s]+ on the b rows that
 * minimise |w - s|^2 / 2 + f2(w). The paper prints the b smallest ([-s_j]+^2 / 2 - alpha
 * sigma_j^2), which forgets that a row left out costs s_j^2 / 2; the minimum is at the b
 * largest ([s_j]+^2 / 2 + alpha sigma_j^2). Option prox chooses; with the small alpha of
 * the paper's tables, `printed` is near to ranking by sigma. Neither weighs f2 by the
 * length of the step, as in the paper.
 *
 * The iteration is not monotone and can end in a short cycle: the paper's last iterate is
 * returned, or the best (option keep). The paper does not tell how many there are.
 *
 * Picks are the rows kept in that iteration, by falling weight; where weights are equal,
 * as those that ended at 0 are, by the operator's order. Exact in double; the same at any
 * thread count.
 *
 * Cost: 2 n C d+ multiply-adds an iteration, in one reading of the features, and b C d+
 * for what is done within the support. Memory: 56 bytes a row, and p - p~.
 */
#include <math.h>
#include <string.h>

#include "linalg/topk.h"
#include "select/sparse.h"

enum { EXACT, PRINTED, LAST = 0, BEST }; /* choices of options prox and keep */

/* What an iteration ends with. */
typedef struct kept {
    size_t count, iteration;
    la_scored *chosen; /* places, best first */
    double *w;         /* of each */
    double f1, f2;
} kept;

typedef struct iht {
    sparse s;
    bool printed;
    double *w, *old;       /* n: this iteration's and the one's before */
    double *point;         /* n: the gradient, then s, then w - old */
    double *above;         /* n: z - 1 */
    double *bonus;         /* n: alpha sigma^2, as features come */
    size_t *places, *olds; /* b: where w and old may differ from 0 */
    size_t count, n_olds;
    size_t *ahead; /* 2 b: where z may, and */
    double *z;     /* its values there */
    size_t n_ahead;
    double *rw, *rz, *move; /* vectors: Phi w - v, Phi z - v, Phi (w - old) */
    kept now, best;
} iht;

/* ---- one iteration ---------------------------------------------------------------- */

/* point = z less the best step down the gradient of f1 there. */
static scant_status descend(iht *t) {
    sparse *s = &t->s;
    double b = (double)s->b, reach = 1, square;
    for (size_t i = 0; i < t->n_ahead; i++) reach = fmax(reach, fabs(t->z[i] - 1));
    double unit = sparse_unit(s, reach, t->rz);
    TRY(la_kron_gradient(&s->all, t->rz, 2 / b / unit, t->above, 2 * s->beta / unit,
                         t->point, s->image, &s->work));
    la_kernels_for(LA_F64)->sumsq(t->point, 1, s->n, &square);
    double curvature = sparse_inner(s, s->image, s->image) / b / b + s->beta * square;
    double mu = unit * sparse_step(square / 2, curvature); /* along the gradient itself */
    for (size_t j = 0; j < s->n; j++) t->point[j] *= -mu;
    for (size_t i = 0; i < t->n_ahead; i++) t->point[t->ahead[i]] += t->z[i];
    return SCANT_OK;
}

/* What the operator keeps rows by, but for alpha sigma^2. */
static double exact_part(double x) { return x > 0 ? x * x / 2 : 0; }
static double printed_part(double x) { return x < 0 ? -x * x / 2 : 0; }

/* w = [point]+ on the rows that the operator keeps; the w before becomes old. */
static void threshold(iht *t) {
    const sparse *s = &t->s;
    la_topk top;
    la_topk_init(&top, t->now.chosen, s->b);
    for (size_t j = 0; j < s->n; j++) {
        double x = t->point[j], part = t->printed ? printed_part(x) : exact_part(x);
        la_topk_offer(&top, part + t->bonus[j], j);
    }
    la_topk_sort(&top);
    for (size_t i = 0; i < t->n_olds; i++) t->old[t->olds[i]] = 0;
    for (size_t i = 0; i < t->count; i++) {
        t->olds[i] = t->places[i];
        t->old[t->olds[i]] = t->w[t->places[i]];
        t->w[t->places[i]] = 0;
    }
    t->n_olds = t->count;
    t->count = t->now.count = top.count;
    for (size_t i = 0; i < top.count; i++) {
        t->places[i] = top.items[i].index;
        t->w[t->places[i]] = fmax(t->point[t->places[i]], 0);
    }
}

/* z = w - tau (w - old), by the best tau for f1. Returns |w - old|^2. */
static scant_status momentum(iht *t, double *moved) {
    sparse *s = &t->s;
    double slope = 0, *change = t->point;
    *moved = 0;
    for (size_t i = 0; i < t->n_ahead; i++) t->above[t->ahead[i]] = -1;
    t->n_ahead = 0;
    for (size_t i = 0; i < t->n_olds; i++)
        if (t->old[t->olds[i]] != 0) t->ahead[t->n_ahead++] = t->olds[i];
    for (size_t i = 0; i < t->count; i++)
        if (t->old[t->places[i]] == 0 && t->w[t->places[i]] != 0)
            t->ahead[t->n_ahead++] = t->places[i];
    for (size_t i = 0; i < t->n_ahead; i++) {
        size_t j = t->ahead[i];
        change[j] = t->w[j] - t->old[j];
        slope += s->beta * (t->w[j] - 1) * change[j];
        *moved += change[j] * change[j];
    }
    memset(t->move, 0, s->size * sizeof *t->move);
    TRY(sparse_add(s, t->ahead, t->n_ahead, change, t->move));
    double tau = sparse_step(sparse_inner(s, t->rw, t->move) + slope,
                             sparse_inner(s, t->move, t->move) + s->beta * *moved);
    for (size_t i = 0; i < t->n_ahead; i++) {
        size_t j = t->ahead[i];
        t->z[i] = t->w[j] - tau * change[j];
        t->above[j] = t->z[i] - 1;
    }
    for (size_t i = 0; i < s->size; i++) t->rz[i] = t->rw[i] - tau * t->move[i];
    return SCANT_OK;
}

static void remember(iht *t, size_t iteration) {
    sparse *s = &t->s;
    kept *now = &t->now, *best = &t->best;
    now->iteration = iteration;
    now->f1 = sparse_f1(s, t->places, t->count, t->w, t->rw);
    now->f2 = sparse_f2(s, t->places, t->count, t->w);
    for (size_t i = 0; i < t->count; i++) now->w[i] = t->w[t->places[i]];
    if (select_option(s->req, "keep") == BEST && best->count &&
        !(now->f1 + now->f2 < best->f1 + best->f2))
        return;
    kept was = *best;
    *best = *now;
    best->chosen = was.chosen, best->w = was.w;
    memcpy(best->chosen, now->chosen, now->count * sizeof *now->chosen);
    memcpy(best->w, now->w, now->count * sizeof *now->w);
}

static scant_status iterate(iht *t, size_t *done) {
    sparse *s = &t->s;
    size_t iters = (size_t)select_option(s->req, "iters");
    double tol = select_option(s->req, "tol");
    for (*done = 0; *done < iters;) {
        double moved, square = 0;
        TRY(descend(t));
        threshold(t);
        TRY(sparse_residual(s, t->places, t->count, t->w, t->rw));
        TRY(sparse_debias(s, t->places, t->count, t->w, t->rw));
        TRY(sparse_clip(s, t->places, t->count, t->w, t->rw));
        remember(t, ++*done);
        TRY(momentum(t, &moved));
        TRY(scant__tick(s->req->ctx, "iterating", *done, iters));
        for (size_t i = 0; i < t->count; i++) square += t->now.w[i] * t->now.w[i];
        if (tol > 0 && sqrt(moved) <= tol * sqrt(square)) break;
    }
    return SCANT_OK;
}

/* ---- the strategy ----------------------------------------------------------------- */

static size_t iht_memory(size_t n, size_t b, size_t size) {
    enum { SPARE = 4096 };
    size_t rows = size_mul(n, 5 * sizeof(double));
    size_t batch = b * (2 * sizeof(la_scored) + 4 * sizeof(double) + 4 * sizeof(size_t));
    size_t vectors = size_mul(size, 3 * sizeof(double));
    return size_add(size_add(rows, batch), size_add(vectors, SPARE));
}

static void iht_plan(const select_req *req, scant_plan *plan) {
    sparse s;
    sparse_plan(req, NULL, plan, &s);
    plan->memory = size_add(plan->memory, iht_memory(s.n, s.b, s.size));
    plan->passes += (size_t)select_option(req, "iters");
}

static scant_status reserve(iht *t) {
    sparse *s = &t->s;
    scant__arena *arena = s->req->arena;
    size_t b = s->b;
    t->w = scant__arena_zalloc(arena, s->n, 5 * sizeof *t->w);
    t->places = scant__arena_alloc(arena, b, 4 * sizeof *t->places);
    t->z = scant__arena_alloc(arena, b, 4 * sizeof *t->z);
    t->now.chosen = scant__arena_alloc(arena, b, 2 * sizeof *t->now.chosen);
    t->rw = scant__arena_alloc(arena, s->size, 3 * sizeof *t->rw);
    if (!t->w || !t->places || !t->z || !t->now.chosen || !t->rw) return SCANT_ENOMEM;
    t->old = t->w + s->n, t->point = t->old + s->n, t->above = t->point + s->n;
    t->bonus = t->above + s->n;
    t->olds = t->places + b, t->ahead = t->olds + b;
    t->now.w = t->z + 2 * b, t->best.w = t->now.w + b;
    t->best.chosen = t->now.chosen + b;
    t->rz = t->rw + s->size, t->move = t->rz + s->size;
    for (size_t j = 0; j < s->n; j++) {
        t->above[j] = -1;
        t->bonus[j] = s->alpha * s->variance[j] / s->scale / s->scale;
    }
    for (size_t i = 0; i < s->size; i++) t->rz[i] = -s->v[i];
    return SCANT_OK;
}

/* By falling weight; equal weights in the operator's order. */
static void hand_over(iht *t, select_req *req) {
    sparse *s = &t->s;
    const kept *k = &t->best;
    la_topk top;
    la_topk_init(&top, t->now.chosen, s->b);
    for (size_t i = 0; i < k->count; i++) la_topk_offer(&top, k->w[i], i);
    la_topk_sort(&top);
    for (size_t i = 0; i < top.count; i++) {
        double w = top.items[i].score;
        select_pick(req, sparse_row(s, k->chosen[top.items[i].index].index), w, w);
    }
}

static scant_status iht_select(select_req *req) {
    iht t = {.printed = select_option(req, "prox") == PRINTED};
    size_t done;
    TRY(sparse_open(req, NULL, &t.s));
    TRY(reserve(&t));
    TRY(iterate(&t, &done));
    sparse_figures(&t.s, req, t.best.f1, t.best.f2);
    select_figure(req, "iterations", (double)done);
    if (select_option(req, "keep") == BEST)
        select_figure(req, "kept", (double)t.best.iteration);
    hand_over(&t, req);
    return SCANT_OK;
}

static const scant_option options[] = {
    SPARSE_OPTION_ALPHA("1e-8"),
    SPARSE_OPTION_BETA("1e-4"),
    {.key = "iters",
     .kind = SCANT_OPTION_COUNT,
     .value = "300",
     .min = 1,
     .max = 1e9,
     .help = "iterations"},
    {.key = "tol",
     .kind = SCANT_OPTION_NUMBER,
     .value = "0",
     .min = 0,
     .max = 1,
     .help = "end earlier, once an iteration moves the weights by less than this part of "
             "their length; 0: never"},
    {.key = "keep",
     .kind = SCANT_OPTION_CHOICE,
     .value = "last",
     .choices = "last|best",
     .help = "the last iterate, or the one with the smallest objective"},
    {.key = "prox",
     .kind = SCANT_OPTION_CHOICE,
     .value = "exact",
     .choices = "exact|printed",
     .help =
         "which rows an iteration keeps: by the minimum, or by the rule as printed in "
         "the paper"},
    SELECT_OPTION_BIAS("1"),
    SPARSE_OPTION_SOURCE,
};

static const scant_figure_info figures[] = {
    SPARSE_FIGURES,
    {"iterations", "iterations that were made"},
    {"kept", "the iteration, from 1, whose weights are given; only with keep=best"},
};

const scant_strategy select_strategy_sparse_iht = {
    .info = {.name = "sparse-iht",
             .summary = "weighted rows that stand for the pool, all chosen together, by "
                        "iterative thresholding",
             .use =
                 "As sparse-greedy, where the whole batch is to be weighed at once; the "
                 "price does not grow with it.",
             .paper = "Shen, Jiang, Zhang & Koyejo 2022",
             .score = "the row's weight",
             .needs = SCANT_PROBS | SCANT_CALIBRATED | SCANT_FEATURES,
             .or_needs = SCANT_SAMPLES,
             .options = options,
             .n_options = sizeof options / sizeof *options,
             .figures = figures,
             .n_figures = sizeof figures / sizeof *figures},
    .way = sparse_way,
    .check = sparse_check,
    .plan = iht_plan,
    .select = iht_select,
};
