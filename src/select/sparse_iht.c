/* SPDX-License-Identifier: Apache-2.0
 *
 * sparse-iht: proximal iterative hard thresholding for the problem of select/sparse.h
 * (the paper's Algorithm 2). Each iteration makes a gradient step of f1 from z, keeps the
 * b rows that the proximal operator of f2 chooses, makes a step within them (de-bias),
 * sets weights below 0 to 0, and moves z beyond w by momentum. Every step has the length
 * that minimises f1.
 *
 * Which rows are kept: with s the point after the step, w = [s]+ on the b rows that
 * minimise |w - s|^2 / 2 + f2(w). The paper prints the b smallest ([-s_j]+^2 / 2 - alpha
 * sigma_j^2), which ignores that a row left out costs s_j^2 / 2; the minimum is at the b
 * largest ([s_j]+^2 / 2 + alpha sigma_j^2). Option prox chooses between the two rules;
 * with the small alpha of the paper's tables, `printed` nearly ranks by sigma. As in the
 * paper, neither rule multiplies f2 by the step length.
 *
 * The iteration is not monotone and can end in a short cycle: the paper's last iterate is
 * returned, or the best (option keep). The paper does not say how many iterations it
 * uses.
 *
 * Picks are the rows kept in that iteration, by descending weight; equal weights, such as
 * 0, in the operator's order. Exact in double; the same at any thread count.
 *
 * An iteration needs two results over all n rows, mostly found without reading the rows.
 *
 * Which rows the operator keeps: inner products <g_j, r> are stored for an earlier
 * residual r. Since then each has changed by at most |g_j| |change of r|; only rows that
 * may still be kept are recomputed, or all rows if there are many.
 *
 * The step length needs K r, where K is the sum of all g_j g_j^T, and r is a weighted sum
 * of few g_j, minus v. K g_j is computed once for each row in the support of z. If such
 * rows are too many (columns_most()), K r is computed directly in each iteration.
 *
 * Cost: n C d+ multiply-adds for each row that was ever in the support of z, and the same
 * each time that all <g_j, r> are recomputed, which is some tens of times. If too many
 * rows were in the support, 2 n C d+ per iteration. Within the support, 3 b C d+ per
 * iteration. Memory: some 60 bytes per row, at most 32 more for columns, and p - p~.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/topk.h"
#include "select/sparse.h"

enum { EXACT, PRINTED, LAST = 0, BEST }; /* choices of options prox and keep */

/* The result of an iteration. */
typedef struct kept {
    size_t count, iteration;
    la_scored *chosen; /* places, best first */
    double *w;         /* weight of each */
    double f1, f2;
} kept;

/* Cached K g_j of rows j. */
typedef struct columns {
    double *k;     /* `most` vectors K g_j */
    size_t *place; /* place of row j of each */
    size_t count, most;
} columns;

typedef struct iht {
    sparse s;
    bool printed;
    double *w;             /* n: weights of this iteration */
    double *old;           /* n: weights of the previous iteration */
    double *point;         /* n: s where it is known, then w - old */
    double *bonus;         /* n: alpha sigma^2, in the scale of the features */
    double *value;         /* n: <g_j, from> */
    double *from;          /* vector: the residual that value refers to */
    unsigned char *listed; /* n: whether a place is in list */
    size_t *list;          /* places whose s is computed */
    double *dots;          /* <g_j, rz> of these places */
    size_t room;           /* capacity of list and dots */
    columns columns;
    size_t *places;         /* b: where w may differ from 0 */
    size_t count;           /* number of these places */
    size_t *olds;           /* b: where old may differ from 0 */
    size_t n_olds;          /* number of these places */
    size_t *z_places;       /* 2 b: where z may differ from 0 */
    size_t n_z;             /* number of these places */
    double *z;              /* values of z at these places */
    double *rw, *rz, *move; /* vectors: Phi w - v, Phi z - v, Phi (w - old) */
    double *start;          /* vector: K times the first rz */
    double *k;              /* vector: K times the current rz */
    double mu, share, pull; /* s = z - mu (share <g_j, rz> + pull (z - 1)) */
    kept now, best;
} iht;

static size_t iters_of(const scant_selection *sel) {
    return (size_t)select_option(sel, "iters");
}

/* ---- step length ------------------------------------------------------------------ */

/* The largest number of columns K g_j worth computing for `iters` iterations, within 32
 * bytes per row of the pool. */
static size_t columns_most(size_t n, size_t size, size_t iters) {
    size_t room = size_mul(4, n) / size;
    return iters / 2 < room ? iters / 2 : room;
}

static const double *column_of(const columns *c, size_t place, size_t size) {
    for (size_t i = 0; i < c->count; i++)
        if (c->place[i] == place) return c->k + i * size;
    return NULL;
}

/* Computes value for all rows at rz, and sets from = rz; computes K rz too if and_k. */
static scant_status compute_values(iht *t, bool and_k) {
    sparse *s = &t->s;
    memcpy(t->from, t->rz, s->size * sizeof *t->from);
    if (!and_k) return la_kron_dots(&s->all, t->rz, t->value, &s->work);
    return la_kron_gradient(&s->all, t->rz, 1, s->length, 0, t->value, t->k, &s->work);
}

static scant_status add_column(iht *t, size_t place) {
    sparse *s = &t->s;
    columns *c = &t->columns;
    double one = 1;
    TRY(la_kron_along(&s->all, &place, 1, &one, t->point, &s->work));
    TRY(la_kron_sum(&s->all, t->point, c->k + c->count * s->size, &s->work));
    c->place[c->count++] = place;
    return SCANT_OK;
}

/* k = K rz. */
static scant_status find_k(iht *t, size_t iteration) {
    sparse *s = &t->s;
    size_t missing = 0;
    for (size_t i = 0; i < t->n_z; i++)
        missing += !column_of(&t->columns, t->z_places[i], s->size);
    if (iteration == 0 || missing > t->columns.most - t->columns.count) {
        TRY(compute_values(t, true));
        if (iteration == 0) memcpy(t->start, t->k, s->size * sizeof *t->k);
        return SCANT_OK;
    }
    memcpy(t->k, t->start, s->size * sizeof *t->k);
    for (size_t i = 0; i < t->n_z; i++) {
        if (!column_of(&t->columns, t->z_places[i], s->size))
            TRY(add_column(t, t->z_places[i]));
        const double *k = column_of(&t->columns, t->z_places[i], s->size);
        double by = t->z[i] / (double)s->b;
        for (size_t l = 0; l < s->size; l++) t->k[l] += by * k[l];
    }
    return SCANT_OK;
}

/* Finds the best step of f1 along its gradient at z. u is the gradient divided by `unit`:
 * u_j = share <g_j, rz> + pull (z_j - 1). With x the sum of (z_j - 1) g_j,
 *     image = b Phi u = sum of u_j g_j = share K rz + pull x,
 *     |u|^2 = share <rz, image> + pull (z - 1).u. */
static scant_status descend(iht *t, size_t iteration) {
    sparse *s = &t->s;
    double b = (double)s->b, n = (double)s->n, reach = 1, above = n - (double)t->n_z;
    for (size_t i = 0; i < t->n_z; i++) {
        reach = fmax(reach, fabs(t->z[i] - 1));
        above += (t->z[i] - 1) * (t->z[i] - 1);
    }
    double unit = sparse_unit(s, reach, t->rz), along = 0;
    TRY(find_k(t, iteration));
    t->share = 2 / b / unit, t->pull = 2 * s->beta / unit;
    for (size_t l = 0; l < s->size; l++) {
        double x = b * (t->rz[l] + s->v[l]) - n * s->v[l];
        along += t->rz[l] * x;
        s->image[l] = t->share * t->k[l] + t->pull * x;
    }
    double square = t->share * sparse_inner(s, t->rz, s->image) +
                    t->pull * (t->share * along + t->pull * above);
    double curvature = sparse_inner(s, s->image, s->image) / b / b + s->beta * square;
    t->mu = unit * sparse_step(square / 2, curvature); /* along the gradient itself */
    return SCANT_OK;
}

/* ---- the proximal operator -------------------------------------------------------- */

/* The operator's score without alpha sigma^2; nondecreasing in x in both variants. */
static double part(const iht *t, double x) {
    if (t->printed) return x < 0 ? -x * x / 2 : 0;
    return x > 0 ? x * x / 2 : 0;
}

static void offer(iht *t, la_topk *top, size_t place, double z, double dot) {
    double x = z - t->mu * (t->share * dot + t->pull * (z - 1));
    t->point[place] = x;
    la_topk_offer(top, part(t, x) + t->bonus[place], place);
}

static void list(iht *t, size_t place, size_t *count) {
    if (t->listed[place]) return;
    t->listed[place] = 1;
    t->list[(*count)++] = place;
}

/* Finds the rows to keep among all rows; z is 0 outside its support. */
static scant_status offer_all(iht *t, la_topk *top) {
    sparse *s = &t->s;
    if (memcmp(t->from, t->rz, s->size * sizeof *t->from) != 0)
        TRY(compute_values(t, false));
    la_topk_init(top, t->now.chosen, s->b);
    for (size_t i = 0; i < t->n_z; i++) t->listed[t->z_places[i]] = 1;
    for (size_t j = 0; j < s->n; j++)
        if (!t->listed[j]) offer(t, top, j, 0, t->value[j]);
    for (size_t i = 0; i < t->n_z; i++) {
        t->listed[t->z_places[i]] = 0;
        offer(t, top, t->z_places[i], t->z[i], t->value[t->z_places[i]]);
    }
    return SCANT_OK;
}

/* Appends places whose score may reach `least` to the `count` listed ones. Returns
 * false if they are too many. */
static bool list_chances(iht *t, double least, size_t *count) {
    const sparse *s = &t->s;
    double apart = 0, there = sqrt(sparse_inner(s, t->rz, t->rz)),
           before = sqrt(sparse_inner(s, t->from, t->from));
    for (size_t l = 0; l < s->size; l++)
        apart += (t->rz[l] - t->from[l]) * (t->rz[l] - t->from[l]);
    /* the second term is the rounding of inner products of s->size numbers */
    double far = sqrt(apart) + ((double)s->size + 16) * DBL_EPSILON * (there + before);
    double slope = t->mu * t->share, by = slope * (double)s->b * far * (1 + 1e-9);
    double most = t->mu * t->pull * (1 + 1e-12);
    for (size_t j = 0; j < s->n; j++) {
        double x = most - slope * t->value[j] + by * s->length[j];
        if (part(t, x) + t->bonus[j] < least) continue;
        if (t->listed[j]) continue;
        if (*count == t->room) return false;
        list(t, j, count);
    }
    return true;
}

/* Finds the rows to keep among the listed ones. Sets *enough to whether no other row can
 * have a larger score. */
static scant_status offer_some(iht *t, la_topk *top, bool *enough) {
    sparse *s = &t->s;
    size_t count = 0, first = 0;
    la_topk_init(top, t->now.chosen, s->b);
    for (size_t i = 0; i < t->n_z; i++) list(t, t->z_places[i], &count);
    for (size_t i = 0; i < t->count; i++) list(t, t->places[i], &count);
    *enough = count >= s->b;
    while (*enough && first < count) {
        la_view v = s->all;
        v.rows = t->list + first, v.m = count - first;
        TRY(la_kron_dots(&v, t->rz, t->dots, &s->work));
        for (size_t i = first; i < count; i++)
            offer(t, top, t->list[i], i < t->n_z ? t->z[i] : 0, t->dots[i - first]);
        bool again = first == 0;
        first = count;
        if (again) *enough = list_chances(t, top->items[0].score, &count);
    }
    for (size_t i = 0; i < count; i++) t->listed[t->list[i]] = 0;
    return SCANT_OK;
}

/* w = [s]+ on the rows that the operator keeps; the previous w becomes old. */
static scant_status threshold(iht *t) {
    sparse *s = &t->s;
    la_topk top;
    bool enough = false;
    if (memcmp(t->from, t->rz, s->size * sizeof *t->from) != 0)
        TRY(offer_some(t, &top, &enough));
    if (!enough) TRY(offer_all(t, &top));
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
    return SCANT_OK;
}

/* ---- one iteration ---------------------------------------------------------------- */

/* z = w - tau (w - old), with the tau that minimises f1; *moved = |w - old|^2. */
static scant_status momentum(iht *t, double *moved) {
    sparse *s = &t->s;
    double slope = 0, *change = t->point;
    *moved = 0;
    t->n_z = 0;
    for (size_t i = 0; i < t->n_olds; i++)
        if (t->old[t->olds[i]] != 0) t->z_places[t->n_z++] = t->olds[i];
    for (size_t i = 0; i < t->count; i++)
        if (t->old[t->places[i]] == 0 && t->w[t->places[i]] != 0)
            t->z_places[t->n_z++] = t->places[i];
    for (size_t i = 0; i < t->n_z; i++) {
        size_t j = t->z_places[i];
        change[j] = t->w[j] - t->old[j];
        slope += s->beta * (t->w[j] - 1) * change[j];
        *moved += change[j] * change[j];
    }
    memset(t->move, 0, s->size * sizeof *t->move);
    TRY(sparse_add(s, t->z_places, t->n_z, change, t->move));
    double tau = sparse_step(sparse_inner(s, t->rw, t->move) + slope,
                             sparse_inner(s, t->move, t->move) + s->beta * *moved);
    for (size_t i = 0; i < t->n_z; i++) {
        size_t j = t->z_places[i];
        t->z[i] = t->w[j] - tau * change[j];
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
    if (select_option(s->sel, "keep") == BEST && best->count &&
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
    size_t iters = iters_of(s->sel);
    double tol = select_option(s->sel, "tol");
    for (*done = 0; *done < iters;) {
        double moved, square = 0;
        TRY(descend(t, *done));
        TRY(threshold(t));
        TRY(sparse_residual(s, t->places, t->count, t->w, t->rw));
        TRY(sparse_debias(s, t->places, t->count, t->w, t->rw));
        TRY(sparse_clip(s, t->places, t->count, t->w, t->rw));
        remember(t, ++*done);
        TRY(momentum(t, &moved));
        TRY(scant__tick(s->sel->ctx, "iterating", *done, iters));
        for (size_t i = 0; i < t->count; i++) square += t->now.w[i] * t->now.w[i];
        if (tol > 0 && sqrt(moved) <= tol * sqrt(square)) break;
    }
    return SCANT_OK;
}

/* ---- the strategy ----------------------------------------------------------------- */

enum { VECTORS = 6 };

/* The largest number of listed rows; if more may be kept, all rows are recomputed. */
static size_t list_room(size_t n, size_t b) { return 3 * b + n / 8; }

static size_t iht_needs(const la_view *v, unsigned threads) {
    return la_kron_along_memory(v, 1, threads);
}

static size_t iht_memory(size_t n, size_t b, size_t size, size_t iters) {
    enum { SPARE = 4096 };
    size_t most = columns_most(n, size, iters);
    size_t rows = size_mul(n, 5 * sizeof(double) + 1);
    size_t list = list_room(n, b) * (sizeof(size_t) + sizeof(double));
    size_t batch = b * (2 * sizeof(la_scored) + 4 * sizeof(double) + 4 * sizeof(size_t));
    size_t vectors = size_mul(size, (VECTORS + most) * sizeof(double));
    size_t all = size_add(size_add(rows, list), size_add(batch, vectors));
    return size_add(all, most * sizeof(size_t) + SPARE);
}

static void iht_plan(const scant_selection *sel, scant_plan *plan) {
    sparse s;
    if (sparse_is_ranked(sel)) {
        sparse_rank_plan(sel, plan);
        return;
    }
    sparse_plan(sel, iht_needs, plan, &s);
    plan->memory = size_add(plan->memory, iht_memory(s.n, s.b, s.size, iters_of(sel)));
    plan->passes += iters_of(sel); /* an upper bound; usually far fewer */
}

static scant_status reserve_columns(iht *t) {
    const sparse *s = &t->s;
    columns *c = &t->columns;
    c->most = columns_most(s->n, s->size, iters_of(s->sel));
    if (c->most == 0) return SCANT_OK;
    c->place = TRY_NEW(s->sel->arena, size_t, c->most);
    c->k = TRY_NEW(s->sel->arena, double, size_mul(c->most, s->size));
    return SCANT_OK;
}

static scant_status reserve(iht *t) {
    sparse *s = &t->s;
    scant__arena *arena = s->sel->arena;
    size_t b = s->b;
    t->room = list_room(s->n, b);
    t->w = TRY_ZERO(arena, double, size_mul(5, s->n));
    t->listed = TRY_ZERO(arena, unsigned char, s->n);
    t->list = TRY_NEW(arena, size_t, t->room);
    t->dots = TRY_NEW(arena, double, t->room);
    t->places = TRY_NEW(arena, size_t, size_mul(4, b));
    t->z = TRY_NEW(arena, double, size_mul(4, b));
    t->now.chosen = TRY_NEW(arena, la_scored, size_mul(2, b));
    t->rw = TRY_NEW(arena, double, size_mul(VECTORS, s->size));
    t->old = t->w + s->n, t->point = t->old + s->n, t->bonus = t->point + s->n;
    t->value = t->bonus + s->n;
    t->olds = t->places + b, t->z_places = t->olds + b;
    t->now.w = t->z + 2 * b, t->best.w = t->now.w + b;
    t->best.chosen = t->now.chosen + b;
    t->rz = t->rw + s->size, t->move = t->rz + s->size, t->from = t->move + s->size;
    t->start = t->from + s->size, t->k = t->start + s->size;
    for (size_t j = 0; j < s->n; j++)
        t->bonus[j] = s->alpha * s->variance[j] / s->scale / s->scale;
    for (size_t i = 0; i < s->size; i++) t->rz[i] = -s->v[i];
    return reserve_columns(t);
}

/* Hands over the picks by descending weight; equal weights in the operator's order. */
static void hand_over(iht *t, scant_selection *sel) {
    sparse *s = &t->s;
    const kept *k = &t->best;
    la_topk top;
    la_topk_init(&top, t->now.chosen, s->b);
    for (size_t i = 0; i < k->count; i++) la_topk_offer(&top, k->w[i], i);
    la_topk_sort(&top);
    for (size_t i = 0; i < top.count; i++) {
        double w = top.items[i].score;
        select_pick(sel, sparse_row(s, k->chosen[top.items[i].index].index), w, w);
    }
}

static scant_status iht_select(scant_selection *sel) {
    iht t = {.printed = select_option(sel, "prox") == PRINTED};
    size_t done;
    if (sparse_is_ranked(sel)) return sparse_rank(sel);
    TRY(sparse_open(sel, iht_needs, &t.s));
    TRY(reserve(&t));
    TRY(iterate(&t, &done));
    sparse_figures(&t.s, sel, t.best.f1, t.best.f2);
    select_figure(sel, "iterations", (double)done);
    if (select_option(sel, "keep") == BEST)
        select_figure(sel, "kept", (double)t.best.iteration);
    hand_over(&t, sel);
    return SCANT_OK;
}

static const scant_option options[] = {
    SPARSE_OPTION_ALPHA("1e-8"),
    SPARSE_OPTION_BETA("1e-4"),
    SELECT_OPTION("iters", COUNT, "300", "iterations", .min = 1, .max = 1e9),
    SELECT_OPTION(
        "tol", NUMBER, "0",
        "stop early once an iteration changes the weights by at most this fraction "
        "of their norm; 0: never",
        .max = 1),
    SELECT_OPTION("keep", CHOICE, "last",
                  "return the last iterate, or the one with the smallest objective",
                  .choices = "last|best"),
    SELECT_OPTION("prox", CHOICE, "exact",
                  "how an iteration chooses rows: by the exact minimum, or by the rule "
                  "printed in the paper",
                  .choices = "exact|printed"),
    SELECT_OPTION_BIAS("1"),
    SPARSE_OPTION_SOURCE,
    SPARSE_OPTION_TERMS,
};

static const scant_figure_info figures[] = {
    SPARSE_FIGURES,
    {"iterations", "number of iterations"},
    {"kept",
     "iteration, counted from 1, whose weights are returned; only with keep=best"},
};

const scant_strategy select_strategy_sparse_iht = {
    .info = {.name = "sparse-iht",
             .summary = "weighted rows, optimised together, that approximate the pool's "
                        "expected gradient",
             .use = "Like sparse-greedy, but optimises the whole batch at once; the cost "
                    "does not grow with the batch.",
             .paper = "Shen, Jiang, Zhang & Koyejo 2022",
             .score = "the row's weight; with terms=variance, the row's sigma",
             .needs = SCANT_PROBS | SCANT_CALIBRATED | SCANT_FEATURES,
             .or_needs = SCANT_DRAWS,
             SELECT_OPTIONS(options),
             SELECT_FIGURES(figures)},
    .inputs = sparse_inputs,
    .check = sparse_check,
    .plan = iht_plan,
    .select = iht_select,
};
