/* SPDX-License-Identifier: Apache-2.0
 *
 * bss: weighted rows such that a least-squares fit to them, by functions of a given
 * space, is nearly as good as a fit to the whole pool. They are drawn by randomized BSS
 * sampling ("Sample complexity of deep active learning", under review for ICLR 2022,
 * after Chen & Price, "Active regression via linear-sample sparsification", 2019, and Lee
 * & Sun 2018). linalg/bss_sampling.h describes the algorithm. A row drawn twice is one
 * pick with the sum of both weights.
 *
 * The space is spanned by the features and 1, by their monomials up to a degree (features
 * are scaled into the unit ball first), by gradients, or by the functions of a kernel
 * (select/kernel_basis.h), and made orthonormal under the uniform distribution on the
 * available rows (linalg/basis.h). The paper's basis is one of a network's functions and
 * nearly orthonormal; it exists, but the paper does not say how to compute it. B rows
 * support at most B/2 dimensions: of a larger space the leading B/2 principal directions
 * are kept, with a warning. Option dim keeps fewer.
 *
 * The paper's main text leaves the constants of the algorithm open; its appendix was not
 * available to us. With option epsilon, gamma = min(0.11, sqrt(epsilon / (2 + epsilon))).
 * Then each draw's coefficient beta_j times its condition number K_j is at most
 * epsilon/2, and the output is always good (eigenvalues within [3/4, 5/4], sum of beta at
 * most 5/4), not only with probability 0.9. Without epsilon, gamma is chosen for the
 * batch: a run has about 1.6 D t draws, t = 1/gamma^2 - 1, and secant steps with the same
 * seed move t towards B distinct rows from below. If the batch is small for the basis,
 * the output is not good, and the figure `good` is 0. The batch is not filled up with
 * other rows, since they would have no weight.
 *
 * There are at most about 2B draws, or 2000 if that is more. If few rows have most of the
 * leverage, or B is nearly n, these give fewer than B rows.
 *
 * law = leverage draws independently by leverage, the older method: 2 D / epsilon
 * draws, or until there are B distinct rows. The latter stopping rule depends on the
 * draws, so the weighted sum is unbiased only with epsilon.
 *
 * Cost: three passes (poly: four), n d^2 / 2 + n d D multiply-adds, D^(7/3) per draw.
 * Memory: 16 bytes per row (24 if some are labelled) and a few d^2 doubles. With a kernel
 * and up to 4096 rows: n^2 values and the eigenvectors of that matrix, in 32 n^2 bytes;
 * with more rows: 1024 values and 4 kB per row, n 1024^2 multiply-adds.
 */
#include <math.h>

#include "linalg/bss_sampling.h"
#include "linalg/kron.h"
#include "linalg/topk.h"
#include "select/kernel_basis.h"
#include "select/monomials.h"
#include "select/strategy.h"

enum { FEATURES, POLY, GRADIENTS }; /* choices of option basis */
enum { BSS, LEVERAGE };             /* choices of option law */
enum { MOST_FUNCTIONS = 5000 };     /* largest polynomial basis */

static const double SURE_GAMMA = 0.11; /* largest gamma whose output is always good */
/* Draws per D t: 1.53 to 1.64 were measured for D = 1 .. 500 and many t. */
static const double DRAWS = 1.59;
static const double MOST_DRAWS_PER_TD = 1.7;
static const double MOST_DRAWS = 1e7; /* limit with option epsilon */
static const double FEW_DRAWS = 2000; /* allowed for a batch of any size */
static const double LEAST_TD = 0.49;  /* if t D is below 1/2, there is only one draw */

typedef struct bss {
    scant_selection *sel;
    select_pool
        pool; /* the call's pool; gradients replace features if they are the basis */
    select_features features;
    la_rows h, functions;
    select_monomials monomials;
    size_t *rows; /* available rows; NULL for all */
    la_view view;
    select_kernel_basis kernel; /* used if the call has a kernel */
    la_basis basis;
    la_bss barrier;
    /* The best run so far that fits the batch: */
    la_topk best;
    double t;         /* 2/epsilon */
    double low, high; /* the eigenvalue band */
    double beta, condition;
    size_t draws;
} bss;

static scant_status bss_inputs(scant_selection *sel, unsigned given, unsigned *needs) {
    if (!select_option_is_set(sel, "basis")) {
        bool other = !(given & SCANT_FEATURES) && given & SCANT_GRADIENTS && !sel->depth;
        TRY(select_option_settle(sel, "basis", other ? "gradients" : "features"));
    }
    bool gradients = select_option(sel, "basis") == GRADIENTS;
    if (sel->depth && select_option(sel, "basis") != FEATURES)
        return scant__fail(sel->ctx, SCANT_EUSAGE,
                           "bss: basis is '%s', but with a kernel it must be features",
                           select_option_text(sel, "basis"));
    *needs = gradients ? SCANT_GRADIENTS : SCANT_FEATURES;
    return SCANT_OK;
}

/* ---- the basis ----------------------------------------------------------------------
 */

static bool is_poly(const scant_selection *sel) {
    return select_option(sel, "basis") == POLY;
}

static size_t degree_of(const scant_selection *sel) {
    return (size_t)select_option_param(sel, "basis");
}

static size_t count_monomials(const scant_selection *sel) {
    return select_monomials_count(sel->pool.d, degree_of(sel),
                                  select_option(sel, "bias") > 0);
}

/* The dimensions that are kept at most: half of the batch, or option dim if that is less.
 */
static size_t most_dimensions(const scant_selection *sel, size_t batch) {
    size_t half = batch < 4 ? 1 : batch / 2;
    if (!select_option_is_set(sel, "dim")) return half;
    return size_min(half, (size_t)select_option(sel, "dim"));
}

static select_pool pool_of(const scant_selection *sel) {
    const select_pool *pool = &sel->pool;
    return pool->gradients ? select_gradients_as_features(pool) : *pool;
}

/* Builds monomials of the rows, scaled into the unit ball: the longest has length 1. */
static scant_status serve_monomials(bss *b) {
    scant_selection *sel = b->sel;
    AUTO(scant__arena_end) scant__arena room = {.ctx = sel->ctx};
    la_work work;
    double longest = 0, *norm = TRY_NEW(&room, double, b->view.m);
    TRY(la_work_init(&work, &room, la_kron_norms_memory(&b->view, sel->ctx->threads)));
    work.phase = "scaling";
    TRY(la_kron_norms(&b->view, norm, &work));
    for (size_t i = 0; i < b->view.m; i++) longest = fmax(longest, norm[i]);
    scant__arena_end(&room);
    double scale = longest > 0 ? 1 / sqrt(longest) : 1;
    TRY(select_monomials_init(&b->monomials, sel->arena, &b->h, scale, degree_of(sel),
                              select_option(sel, "bias") > 0));
    select_monomial_rows(&b->monomials, &b->functions);
    b->view.h = &b->functions;
    return SCANT_OK;
}

static scant_status bss_check(const scant_selection *sel) {
    size_t bias = select_option(sel, "bias") > 0;
    size_t count = is_poly(sel) ? count_monomials(sel) : 0;
    if (count > MOST_FUNCTIONS)
        return scant__fail(
            sel->ctx, SCANT_EUSAGE,
            "bss: polynomials of degree %zu in %zu features have %s%zu monomials, more "
            "than %d: use a smaller degree or fewer features",
            degree_of(sel), sel->pool.d, count == SIZE_MAX ? "more than " : "", count,
            MOST_FUNCTIONS);
    if (sel->depth) return SCANT_OK;
    if (!is_poly(sel)) count = sel->pool.gradients ? pool_of(sel).d : sel->pool.d + bias;
    return la_basis_fits(sel->ctx, count, sel->pool.available);
}

static void warn_if_wide(const bss *b) {
    size_t functions = la_view_width(&b->view), n = b->view.m;
    if (functions > n && !b->sel->depth)
        scant__warn(b->sel->ctx,
                    "bss: the basis has %zu functions, more than the %zu row%s of the "
                    "pool; dependent functions are dropped",
                    functions, n, n == 1 ? "" : "s");
}

/* Checks the functions of the space and provides them as rows of a view. */
static scant_status serve(bss *b) {
    scant_selection *sel = b->sel;
    const select_pool *pool = &sel->pool;
    bool poly = is_poly(sel), constant = !pool->gradients && !poly;
    b->pool = pool_of(sel);
    TRY(select_features_scan(sel->arena, &b->pool, false, &b->features));
    double bias = constant ? select_option(sel, "bias") : 0;
    bias = select_features_constant(&b->features, bias);
    if (poly) b->features.type = LA_F64;
    select_feature_rows(&b->features, &b->h);
    if (pool->available < pool->n || sel->depth) {
        b->rows = TRY_NEW(sel->arena, size_t, pool->available);
        select_pool_list_available(pool, b->rows);
    }
    b->view = (la_view){.h = &b->h, .bias = bias, .rows = b->rows, .m = pool->available};
    if (poly) TRY(serve_monomials(b));
    warn_if_wide(b);
    return SCANT_OK;
}

/* The dimensions that a batch of any size would have. */
static size_t asked_dimensions(const bss *b) {
    if (!select_option_is_set(b->sel, "dim")) return b->basis.rank;
    return size_min(b->basis.rank, (size_t)select_option(b->sel, "dim"));
}

static scant_status build(bss *b) {
    scant_selection *sel = b->sel;
    size_t most = most_dimensions(sel, sel->batch);
    if (sel->depth)
        TRY(select_kernel_basis_build(&b->kernel, sel, &b->view, b->rows, b->view.m, most,
                                      &b->basis));
    else
        TRY(la_basis_build(&b->basis, sel->arena, &b->view, most));
    if (b->basis.dim == 0)
        return scant__fail(sel->ctx, SCANT_EINPUT,
                           "%s: every available row is 0, so there is no basis",
                           scant_array_name(b->pool.features));
    if (asked_dimensions(b) > most)
        scant__warn(
            sel->ctx,
            "bss: the basis has %zu dimensions, more than half of a batch of %zu: its "
            "%zu leading principal direction%s kept",
            asked_dimensions(b), sel->batch, most, most == 1 ? " is" : "s are");
    return SCANT_OK;
}

/* ---- runs and the search for t ------------------------------------------------------
 */

static double t_of(double gamma) { return 1 / (gamma * gamma) - 1; }

static bool by_leverage(const scant_selection *sel) {
    return select_option(sel, "law") == LEVERAGE;
}

/* Keeps the drawn rows if they are the most so far that fit the batch. */
static scant_status keep(bss *b) {
    const la_bss *p = &b->barrier;
    if (p->distinct > b->sel->batch || p->distinct < b->best.count) return SCANT_OK;
    TRY(la_bss_band(&b->barrier, &b->low, &b->high));
    la_topk_init(&b->best, b->best.items, b->sel->batch);
    for (size_t i = 0; i < b->view.m; i++)
        if (p->weight[i] > 0)
            la_topk_offer(&b->best, p->weight[i], b->rows ? b->rows[i] : i);
    b->t = by_leverage(b->sel) ? p->mid / (double)b->basis.dim : t_of(p->gamma);
    b->beta = p->beta;
    b->condition = p->condition;
    b->draws = p->draws;
    return SCANT_OK;
}

static scant_status draw(bss *b, double t) {
    double draws = ceil(t * (double)b->basis.dim);
    if (by_leverage(b->sel))
        TRY(la_bss_run_plain(&b->barrier, (size_t)draws, SIZE_MAX));
    else
        TRY(la_bss_run(&b->barrier, 1 / sqrt(1 + t)));
    return keep(b);
}

typedef struct aim { /* the search for a t with `batch` distinct rows */
    double batch;
    double t, count;         /* t and distinct rows of the last run */
    double old_t, old_count; /* the same of the run before */
    double enough, too_many; /* largest t known to give at most `batch` rows; smallest t
                              * known to give more */
} aim;

/* Secant step: slightly below where the line through the last two points meets the batch.
 */
static double secant(const aim *a) {
    double target = a->batch * (1 - 1.0 / 128);
    double slope = (a->count - a->old_count) / (a->t - a->old_t);
    if (!(slope > 0)) slope = a->count / a->t;
    double t = a->t + (target - a->count) / slope;
    if (t > a->enough && t < a->too_many) return t;
    return isfinite(a->too_many) ? (a->enough + a->too_many) / 2 : 2 * a->t;
}

/* Searches for a t that gives `batch` distinct rows or slightly fewer. If the batch is
 * the whole pool, no t gives too many. */
static scant_status draw_for_batch(bss *b) {
    enum { CORRECTIONS = 3, RETREATS = 8 };
    double batch = (double)b->sel->batch, d = (double)b->basis.dim, start, most, least;
    if (by_leverage(b->sel)) {
        size_t draws = (size_t)fmax(2 * batch, FEW_DRAWS);
        TRY(la_bss_run_plain(&b->barrier, draws, b->sel->batch));
        return keep(b);
    }
    start = batch / (DRAWS * d);
    most = fmax(2 * start, FEW_DRAWS / (DRAWS * d));
    least = LEAST_TD / d;
    bool all = b->sel->batch == b->view.m;
    aim a = {.batch = batch, .too_many = INFINITY, .t = all ? most : start};
    for (int i = 0;; i++) {
        TRY(draw(b, a.t));
        a.count = (double)b->barrier.distinct;
        if (a.count > batch)
            a.too_many = fmin(a.too_many, a.t);
        else
            a.enough = fmax(a.enough, a.t);
        bool near = a.count <= batch && a.count >= batch * (1 - 1.0 / 64);
        double t = fmax(least, fmin(secant(&a), most));
        if (all || near || i == CORRECTIONS || t == a.t) break;
        a.old_t = a.t, a.old_count = a.count, a.t = t;
    }
    for (int i = 0; b->best.count == 0; i++) { /* a single draw is never too many */
        double t = i < RETREATS ? (least + a.too_many) / 2 : least;
        TRY(draw(b, t));
        a.too_many = fmin(a.too_many, t);
    }
    return SCANT_OK;
}

/* Says how many rows epsilon needs. If the basis was cut for the batch, a larger batch
 * has a larger basis, which needs more rows: at most as many as it has draws. */
static scant_status refuse_epsilon(const bss *b, double epsilon, double draws_per_dim) {
    double most =
        ceil(MOST_DRAWS_PER_TD / DRAWS * draws_per_dim) * (double)asked_dimensions(b);
    bool cut = asked_dimensions(b) > b->basis.dim;
    if (by_leverage(b->sel)) most = ceil(draws_per_dim * (double)asked_dimensions(b));
    return scant__fail(b->sel->ctx, SCANT_EUSAGE,
                       "bss: epsilon = %g needs %s%zu rows, more than the batch of %zu",
                       epsilon, cut ? "up to " : "",
                       cut ? (size_t)fmin(most, (double)b->view.m) : b->barrier.distinct,
                       b->sel->batch);
}

static scant_status draw_for_epsilon(bss *b, double epsilon) {
    bool leverage = by_leverage(b->sel);
    double gamma = fmin(SURE_GAMMA, sqrt(epsilon / (2 + epsilon)));
    double t = leverage ? 2 / epsilon : t_of(gamma);
    double per_dim = (leverage ? 1 : DRAWS) * t, draws = per_dim * (double)b->basis.dim;
    if (!(draws < MOST_DRAWS))
        return scant__fail(
            b->sel->ctx, SCANT_EUSAGE,
            "bss: epsilon = %g needs about %.3g draws, more than the limit of %.0g",
            epsilon, draws, MOST_DRAWS);
    TRY(draw(b, t));
    return b->best.count ? SCANT_OK : refuse_epsilon(b, epsilon, per_dim);
}

/* ---- the strategy --------------------------------------------------------------------
 */

static void tell(bss *b) {
    scant_selection *sel = b->sel;
    bool good = b->low >= 0.75 && b->high <= 1.25 && b->beta <= 1.25;
    select_figure(sel, "dim", (double)b->basis.dim);
    if (!by_leverage(sel)) select_figure(sel, "gamma", 1 / sqrt(1 + b->t));
    select_figure(sel, "epsilon", 2 / b->t);
    select_figure(sel, "draws", (double)b->draws);
    select_figure(sel, "distinct", (double)b->best.count);
    select_figure(sel, "lambda_min", b->low);
    select_figure(sel, "lambda_max", b->high);
    select_figure(sel, "sum_beta", b->beta);
    select_figure(sel, "good", good);
    select_figure(sel, "leverage", b->basis.largest);
    select_figure(sel, "condition", b->condition);
    if (!b->kernel.landmarks) return;
    select_figure(sel, "landmarks", (double)b->kernel.landmarks);
    select_figure(sel, "explained", b->kernel.near.explained);
}

static scant_status bss_select(scant_selection *sel) {
    bss *b = TRY_ZERO(sel->arena, bss, 1);
    b->sel = sel;
    TRY(serve(b));
    TRY(build(b));
    TRY(la_bss_init(&b->barrier, sel->arena, &b->basis, sel->seed));
    b->best.items = TRY_NEW(sel->arena, la_scored, sel->batch);
    bool given = select_option_is_set(sel, "epsilon");
    TRY(given ? draw_for_epsilon(b, select_option(sel, "epsilon")) : draw_for_batch(b));
    tell(b);
    if (!given && 4 * b->best.count < 3 * sel->batch)
        scant__warn(
            sel->ctx,
            "bss: %zu row%s instead of %zu: further draws would repeat them, because few "
            "rows have most of the leverage or nearly all rows are asked for",
            b->best.count, b->best.count == 1 ? " is picked" : "s are picked",
            sel->batch);
    la_topk_sort(&b->best);
    for (size_t i = 0; i < b->best.count; i++) {
        const la_scored *pick = &b->best.items[i];
        select_pick(sel, pick->index, pick->score, pick->score);
    }
    return SCANT_OK;
}

static size_t plan_memory(const scant_selection *sel, size_t batch, size_t monomials) {
    enum { SPARE = 4096 }; /* overhead of arena and allocator */
    const select_pool pool = pool_of(sel);
    unsigned threads = sel->ctx->threads;
    bool poly = is_poly(sel), constant = !pool.gradients && !poly;
    size_t n = pool.available;
    /* In the worst case rows are copied. */
    la_rows x = {.n = pool.n, .d = pool.d, .type = LA_F64}, f = x;
    la_view plain = {.h = &x, .m = n}, view = {.h = &f, .m = n};
    if (poly) f.d = monomials;
    if (constant) view.bias = select_option(sel, "bias");
    size_t dim = size_min(most_dimensions(sel, batch), size_min(la_view_width(&view), n));
    size_t kept = sizeof(bss) + SPARE + batch * sizeof(la_scored);
    if (n < pool.n || sel->depth) kept += n * sizeof(size_t);
    if (poly) kept += select_monomials_memory(monomials);
    size_t reading = select_features_memory(&pool, threads);
    size_t scaling =
        poly ? n * sizeof(double) + la_kron_norms_memory(&plain, threads) : 0;
    size_t building = la_basis_memory(&view, dim, threads);
    size_t drawing =
        size_add(la_basis_memory_kept(&view, dim), la_bss_memory(&view, dim));
    if (sel->depth) {
        dim = size_min(most_dimensions(sel, batch), n);
        building = select_kernel_basis_memory(sel, &view, n, dim);
        drawing = select_kernel_basis_memory_kept(n, dim);
    }
    size_t most = size_max(size_max(reading, scaling), size_max(building, drawing));
    return size_add(kept, most);
}

static void bss_plan(const scant_selection *sel, scant_plan *plan) {
    size_t monomials = is_poly(sel) ? count_monomials(sel) : 0;
    plan->block_rows = LA_BLOCK;
    plan->blocks = sel->pool.n / LA_BLOCK + 1;
    plan->passes = is_poly(sel) ? 4 : 3;
    plan->memory = size_add(plan->memory, plan_memory(sel, plan->batch, monomials));
}

static const scant_option options[] = {
    SELECT_OPTION(
        "epsilon", NUMBER, NULL,
        "relative excess error that the fit may have; if this needs more rows than "
        "the batch, the call fails",
        .otherwise = "chosen for the batch", .max = 1, .open = SCANT_OPEN_BOTH),
    SELECT_OPTION(
        "basis", CHOICE, NULL,
        "functions to fit: linear in the features, polynomials of degree K in the "
        "features, or linear in the gradients",
        .otherwise = "features if given, else gradients",
        .choices = "features|poly:K|gradients", .min = 1, .max = 8),
    SELECT_OPTION("dim", COUNT, NULL, "leading principal directions of the basis to keep",
                  .otherwise = "all, but at most half of the batch", .min = 1,
                  .max = 1e9),
    SELECT_OPTION(
        "bias", SWITCH, "1",
        "include a constant function; with a kernel, append a 1 to the features",
        .kernel_value = "0"),
    SELECT_OPTION(
        "law", CHOICE, "bss",
        "how rows are drawn: by randomized BSS sampling, or independently by their "
        "leverage, which needs more rows for the same fit",
        .choices = "bss|leverage"),
};

static const scant_figure_info figures[] = {
    {"dim", "dimension of the basis"},
    {"gamma", "distance between the barriers: if small, the eigenvalues end between "
              "about 1 - 2 gamma and 1 + 2 gamma; absent with law=leverage"},
    {"epsilon", "bound on the relative excess error of the fit; valid if good is 1"},
    {"draws", "number of draws, repeated rows included"},
    {"distinct", "number of distinct rows drawn"},
    {"lambda_min", "smallest eigenvalue of the weighted rows over the basis; 1 is ideal"},
    {"lambda_max", "largest eigenvalue; 1 is ideal"},
    {"sum_beta", "sum of the draws' coefficients; 1 is ideal"},
    {"good", "1 if the eigenvalues are within 3/4 and 5/4 and sum_beta is at most 5/4 "
             "(the paper's criterion), else 0"},
    {"leverage", "largest leverage of a row, which is the condition number of uniform "
                 "sampling; the mean leverage is dim"},
    {"condition",
     "largest coefficient of a draw times the condition number of its distribution, at "
     "most epsilon/2; for as many uniform draws it would be leverage/draws"},
    {"landmarks",
     "number of landmark rows that approximate the kernel; absent if all rows are used"},
    {"explained", "fraction of the kernel's trace that the landmarks explain"},
};

const scant_strategy select_strategy_bss = {
    .info = {.name = "bss",
             .summary = "weighted rows on which a least-squares fit is nearly as good as "
                        "on the whole pool",
             .use = "For fitting a linear or polynomial model, or a last layer: train "
                    "with the weights. It may return fewer rows than the batch.",
             .paper = "Sample complexity of deep active learning 2022; Chen & Price 2019",
             .score = "weight of the row in the fit",
             .needs = SCANT_FEATURES,
             .or_needs = SCANT_GRADIENTS,
             SELECT_OPTIONS(options),
             SELECT_FIGURES(figures),
             .kernel = true},
    .inputs = bss_inputs,
    .check = bss_check,
    .plan = bss_plan,
    .select = bss_select,
    .blas = true,
};
