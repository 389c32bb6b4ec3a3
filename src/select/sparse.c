/* SPDX-License-Identifier: Apache-2.0 */
#include "select/sparse.h"

#include <math.h>
#include <string.h>

#include "linalg/topk.h"

enum {
    GRADIENT, /* choices of option source */
    SAMPLES,
    READ = 64,            /* gradient form: rows measured at a time */
    READ_BYTES = 1 << 16, /* posterior form: bytes of rows measured at a time */
    SPARE = 8 << 10       /* overhead of the allocator, all blocks together */
};

scant_status sparse_inputs(scant_selection *sel, unsigned given, unsigned *needs) {
    const scant_strategy_info *info = &sel->strategy->info;
    if (!select_option_is_set(sel, "source")) {
        bool draws = (info->needs & ~given) && !(info->or_needs & ~given);
        TRY(select_option_settle(sel, "source", "%s", draws ? "samples" : "gradient"));
    }
    *needs = select_option(sel, "source") == SAMPLES ? info->or_needs : info->needs;
    return SCANT_OK;
}

static bool is_posterior(const sparse *s) { return s->sel->pool.draws != NULL; }

/* ---- sizes ------------------------------------------------------------------------ */

/* Sets rows, views and sizes once type and scale of the features are known; allocates no
 * matrices. */
static void shape(sparse *s, double *numbers) {
    const select_pool *pool = &s->sel->pool;
    double bias = 0;
    if (is_posterior(s)) {
        s->h = (la_rows){.n = s->n, .d = pool->m, .type = LA_F64, .base = numbers};
    } else {
        if (s->features.scale > 0x1p480) /* keep its square finite */
            s->features.scale = 0x1p480;
        bias = select_features_constant(&s->features, select_option(s->sel, "bias"));
        s->scale = s->features.scale;
        select_feature_rows(&s->features, &s->h);
        s->h.n = s->n, s->h.list = s->rows;
        s->a = (la_rows){.n = s->n, .d = pool->c, .type = LA_F64, .base = numbers};
    }
    s->all = (la_view){
        .h = &s->h, .a = is_posterior(s) ? NULL : &s->a, .bias = bias, .m = s->n};
    s->size = size_mul(la_view_width(&s->all), s->all.a ? s->all.a->d : 1);
}

static size_t doubles(size_t rows, size_t width) {
    return size_mul(size_mul(rows, width), sizeof(double));
}

static size_t work_memory(const sparse *s) {
    unsigned threads = s->sel->ctx->threads;
    size_t gradient = la_kron_gradient_memory(&s->all, threads);
    size_t dots = la_kron_dots_memory(&s->all, threads);
    size_t sum = la_kron_sum_memory(&s->all, threads);
    size_t more = s->needs ? s->needs(&s->all, threads) : 0;
    size_t most = gradient > dots ? gradient : dots;
    most = most > sum ? most : sum;
    return most > more ? most : more;
}

/* Number of rows that a worker measures at a time, and bytes for them. */
static size_t read_rows(const sparse *s) {
    const select_pool *pool = &s->sel->pool;
    if (!is_posterior(s)) return READ;
    return READ_BYTES / doubles(pool->m, pool->c) + 1;
}

static size_t read_room(const sparse *s) {
    const select_pool *pool = &s->sel->pool;
    size_t rows = read_rows(s);
    size_t mean = s->ranked ? doubles(is_posterior(s) ? 1 : rows, s->width) : 0;
    if (is_posterior(s))
        return size_add(mean, doubles(rows + 2, size_mul(pool->m, pool->c)));
    size_t each = sizeof(la_rowstat) + sizeof(void *) + sizeof(double);
    size_t most = size_add(doubles(rows, pool->c), la_rows_point_scratch(&s->h, rows));
    return size_add(mean, size_add(rows * each, most));
}

static size_t open_memory(const sparse *s) {
    const select_pool *pool = &s->sel->pool;
    unsigned threads = s->sel->ctx->threads;
    size_t list = s->n < pool->n ? s->n * sizeof(size_t) : 0;
    size_t matrix = s->ranked ? 0 : doubles(s->n, s->width);
    size_t vectors = size_add(doubles(s->n, 2), doubles(s->ranked ? 0 : s->size, 2));
    size_t batch = s->b * (2 * sizeof(double) + sizeof(size_t));
    size_t check = size_add(select_probs_check_memory(pool, threads),
                            select_temperature_memory(pool, threads));
    if (pool->features) check += select_features_memory(pool, threads);
    size_t all = size_add(size_add(list, matrix), size_add(vectors, batch));
    all = size_add(all, s->ranked ? 0 : work_memory(s));
    all = size_add(all, size_mul(threads, read_room(s)));
    return size_add(all, size_add(check, SPARE));
}

static void begin(const scant_selection *sel, sparse_needs needs, sparse *s) {
    *s = (sparse){.sel = sel,
                  .needs = needs,
                  .n = sel->pool.available,
                  .b = sel->batch,
                  .width = sel->pool.draws ? sel->pool.m : sel->pool.c,
                  .ranked = sparse_is_ranked(sel),
                  .scale = 1};
}

void sparse_plan(const scant_selection *sel, sparse_needs needs, scant_plan *plan,
                 sparse *s) {
    static size_t no_row;
    static double no_number;
    begin(sel, needs, s);
    if (s->n < sel->pool.n) s->rows = &no_row;
    if (sel->pool.features) select_features_guess(&sel->pool, false, &s->features);
    shape(s, &no_number);
    if (!is_posterior(s)) /* in the worst case rows are copied */
        s->h.base = NULL, s->h.type = LA_F64;
    plan->memory = size_add(plan->memory, open_memory(s));
    plan->block_rows = LA_BLOCK;
    plan->blocks = (sel->pool.n + LA_BLOCK - 1) / LA_BLOCK;
    plan->passes = 3; /* checks, measures, the sum of all */
}

/* ---- the gradient form ------------------------------------------------------------ */

typedef struct measure {
    sparse *s;
    la_rows probs, calibrated;
    double *numbers; /* (n, C) p - p~, or (n, m) gbar; NULL if not stored */
    unsigned char *room;
    size_t room_size;
    double *apart; /* per worker: the largest |p - p~| / max p of its rows */
} measure;

/* Measures a block: p~ is in room, and p - p~ in its final place, or in room too if it is
 * not stored. sigma_j does not depend on p. */
static scant_status measure_gradients(void *arg, size_t block, unsigned worker,
                                      scant__fault *fault) {
    (void)fault;
    const measure *m = arg;
    sparse *s = m->s;
    const la_kernels *f64 = la_kernels_for(LA_F64), *own = la_kernels_for(s->h.type);
    size_t first = block * READ, rest = s->n - first, count = rest < READ ? rest : READ;
    size_t c = s->a.d;
    la_rowstat *stat = (la_rowstat *)(void *)(m->room + worker * m->room_size);
    const void **x = (const void **)(void *)(stat + READ);
    double *spread = (double *)(void *)(x + READ), *own_room = spread + READ;
    double *calibrated = own_room + (m->numbers ? 0 : READ * c);
    double *out = m->numbers ? m->numbers + first * c : own_room;
    la_rows_get(&m->calibrated, first, count, calibrated);
    la_rows_get(&m->probs, first, count, out);
    la_rows_point(&s->h, NULL, first, count, calibrated + READ * c, x);
    f64->rowstat(calibrated, count, c, stat);
    f64->residual_length(calibrated, count, c, stat, spread);
    for (size_t i = 0; i < count; i++) {
        double h2, a2;
        double most = 0, apart = 0;
        for (size_t k = 0; k < c; k++) {
            most = fmax(most, out[i * c + k]);
            out[i * c + k] -= calibrated[i * c + k];
            apart = fmax(apart, fabs(out[i * c + k]));
        }
        m->apart[worker] = fmax(m->apart[worker], apart / most);
        own->sumsq(x[i], 1, s->h.d, &h2);
        f64->sumsq(out + i * c, 1, c, &a2);
        double h = sqrt(h2 + s->all.bias * s->all.bias);
        double sigma = spread[i] * h / (double)s->n;
        s->variance[first + i] = sigma * sigma;
        s->length[first + i] = sqrt(a2) * h / (double)s->b;
    }
    return SCANT_OK;
}

/* ---- the posterior form ----------------------------------------------------------- */

double sparse_posterior_row(double *p, size_t m, size_t c, double *mean, double *room) {
    const double least = 1e-12; /* lower limit of p in the logarithm */
    double *chance = room, *loss = room + c, spread = 0;
    memset(chance, 0, 2 * c * sizeof *chance);
    for (size_t k = 0; k < m; k++)
        for (size_t y = 0; y < c; y++) {
            double *at = &p[k * c + y];
            chance[y] += *at;
            *at = -log(*at > least ? *at : least);
            loss[y] += *at;
        }
    for (size_t y = 0; y < c; y++) chance[y] /= (double)m, loss[y] /= (double)m;
    for (size_t k = 0; k < m; k++) {
        mean[k] = 0;
        for (size_t y = 0; y < c; y++) {
            p[k * c + y] -= loss[y];
            mean[k] += chance[y] * p[k * c + y];
        }
    }
    for (size_t y = 0; y < c; y++) {
        double square = 0;
        for (size_t k = 0; k < m; k++) {
            double e = p[k * c + y] - mean[k];
            square += e * e;
        }
        spread += chance[y] * sqrt(square);
    }
    return spread;
}

static scant_status measure_samples(void *arg, size_t block, unsigned worker,
                                    scant__fault *fault) {
    (void)fault;
    const measure *m = arg;
    sparse *s = m->s;
    const select_pool *pool = &s->sel->pool;
    size_t rows = read_rows(s), each = pool->m * pool->c, first = block * rows;
    size_t end = first + rows < s->n ? first + rows : s->n;
    double *p = (double *)(void *)(m->room + worker * m->room_size);
    double *last = p + (rows + 2) * each;
    if (!s->rows) select_draws_get(pool, first, end - first, p);
    for (size_t i = first; i < end; i++) {
        double *own = p + (i - first) * each, square;
        double *mean = m->numbers ? m->numbers + i * pool->m : last;
        if (s->rows) select_draws_get(pool, s->rows[i], 1, own);
        double sigma =
            sparse_posterior_row(own, pool->m, pool->c, mean, p + rows * each) /
            (double)s->n;
        s->variance[i] = sigma * sigma;
        la_kernels_for(LA_F64)->sumsq(mean, 1, pool->m, &square);
        s->length[i] = sqrt(square) / (double)s->b;
    }
    return SCANT_OK;
}

/* ---- opening ---------------------------------------------------------------------- */

/* Warns if the expected gradients, which choose the batch, are zero or nearly so. */
static void warn_if_blind(const sparse *s) {
    static const double NEAR = 1e-3;
    const select_pool *pool = &s->sel->pool;
    scant_ctx *ctx = s->sel->ctx;
    const char *then = s->alpha > 0
                           ? "rows are ranked by their variance"
                           : "all rows tie: those with the lowest indices are picked";
    if (is_posterior(s)) {
        if (s->longest == 0)
            scant__warn(
                ctx,
                "%s: the posterior draws agree on every row, so only beta ranks the rows",
                scant_array_name(pool->draws));
    } else if (pool->temperature > 0 && fabs(pool->temperature - 1) < NEAR) {
        scant__warn(
            ctx, "the temperature is %.6g; near 1 the expected gradients vanish, and %s",
            pool->temperature, then);
    } else if (s->apart < NEAR) {
        scant__warn(ctx,
                    "%s: at most %.1e away from the model's own probabilities, so the "
                    "expected gradients vanish: %s",
                    pool->temperature > 0 ? "probabilities at that temperature"
                                          : scant_array_name(pool->calibrated),
                    s->apart, then);
    } else if (s->longest == 0) {
        scant__warn(
            ctx,
            "%s: features are 0 in every row whose probabilities differ, so the expected "
            "gradients vanish: %s",
            scant_array_name(pool->features), then);
    }
}

static scant_status allocate(sparse *s, double **numbers) {
    const select_pool *pool = &s->sel->pool;
    scant__arena *arena = s->sel->arena;
    if (s->n < pool->n) {
        s->rows = TRY_NEW(arena, size_t, s->n);
        select_pool_list_available(pool, s->rows);
    }
    *numbers = NULL;
    if (!s->ranked) *numbers = TRY_NEW(arena, double, size_mul(s->n, s->width));
    s->variance = TRY_NEW(arena, double, size_mul(2, s->n));
    s->step = TRY_NEW(arena, double, size_mul(2, s->b));
    s->support = TRY_NEW(arena, size_t, s->b);
    s->length = s->variance + s->n;
    return SCANT_OK;
}

static scant_status measure_all(sparse *s, double *numbers) {
    const select_pool *pool = &s->sel->pool;
    measure m = {.s = s, .numbers = numbers, .room_size = (read_room(s) + 63) / 64 * 64};
    size_t rows = read_rows(s);
    unsigned threads = s->sel->ctx->threads;
    if (!is_posterior(s)) {
        select_prob_rows(pool, SELECT_PROBS, &m.probs);
        select_prob_rows(pool, SELECT_CALIBRATED, &m.calibrated);
        m.probs.list = m.calibrated.list = s->rows;
    }
    m.room = TRY_NEW(s->sel->arena, unsigned char, size_mul(threads, m.room_size));
    m.apart = TRY_ZERO(s->sel->arena, double, threads);
    TRY(scant__parfor(s->sel->ctx, "measuring rows", (s->n + rows - 1) / rows,
                      is_posterior(s) ? measure_samples : measure_gradients, &m));
    for (unsigned i = 0; i < threads; i++) s->apart = fmax(s->apart, m.apart[i]);
    return SCANT_OK;
}

scant_status sparse_check(const scant_selection *sel) {
    return select_temperature_check(sel->ctx, &sel->pool);
}

scant_status sparse_open(scant_selection *sel, sparse_needs needs, sparse *s) {
    double *numbers;
    begin(sel, needs, s);
    TRY(select_probs_check(sel->arena, &sel->pool));
    TRY(select_temperature_fit(sel->arena, &sel->pool));
    if (!is_posterior(s))
        TRY(select_features_scan(sel->arena, &sel->pool, false, &s->features));
    TRY(allocate(s, &numbers));
    shape(s, numbers);
    TRY(measure_all(s, numbers));
    if (s->ranked) return SCANT_OK;
    TRY(la_work_init(&s->work, sel->arena, work_memory(s)));
    s->v = TRY_NEW(sel->arena, double, size_mul(s->size, 2));
    s->image = s->v + s->size;
    s->alpha =
        select_option(sel, "terms") == SPARSE_FIT ? 0 : select_option(sel, "alpha");
    s->beta = select_option(sel, "beta") * s->scale * s->scale;
    s->work.phase = "averaging";
    TRY(la_kron_sum(&s->all, NULL, s->v, &s->work));
    s->work.phase = NULL;
    for (size_t i = 0; i < s->size; i++) s->v[i] /= (double)s->n;
    s->longest = s->length[la_argmax(s->length, s->n)];
    warn_if_blind(s);
    return SCANT_OK;
}

size_t sparse_row(const sparse *s, size_t place) {
    return s->rows ? s->rows[place] : place;
}

/* ---- the problem ------------------------------------------------------------------ */

double sparse_inner(const sparse *s, const double *x, const double *y) {
    const void *a = x, *b = y;
    double out;
    la_kernels_for(LA_F64)->dot(&a, 1, &b, 1, s->size, &out);
    return out;
}

static la_view some(const sparse *s, const size_t *places, size_t count) {
    la_view v = s->all;
    v.rows = places, v.m = count;
    return v;
}

scant_status sparse_add(sparse *s, const size_t *places, size_t count, const double *w,
                        double *r) {
    la_view v = some(s, places, count);
    TRY(la_kron_sum(&v, w, s->image, &s->work));
    for (size_t i = 0; i < s->size; i++) r[i] += s->image[i] / (double)s->b;
    return SCANT_OK;
}

scant_status sparse_residual(sparse *s, const size_t *places, size_t count,
                             const double *w, double *r) {
    for (size_t i = 0; i < s->size; i++) r[i] = -s->v[i];
    return sparse_add(s, places, count, w, r);
}

double sparse_f1(const sparse *s, const size_t *places, size_t count, const double *w,
                 const double *r) {
    double pull = (double)(s->n - count);
    for (size_t i = 0; i < count; i++) pull += (w[places[i]] - 1) * (w[places[i]] - 1);
    return sparse_inner(s, r, r) + s->beta * pull;
}

double sparse_f2(const sparse *s, const size_t *places, size_t count, const double *w) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (w[places[i]] > 0) sum += s->variance[places[i]];
    return -s->alpha * sum;
}

double sparse_step(double slope, double curvature) {
    return curvature < 1e-300 ? 0 : slope / curvature;
}

double sparse_unit(const sparse *s, double reach, const double *r) {
    double most = s->longest * sqrt(sparse_inner(s, r, r)) + s->beta * reach;
    return most > 0 ? ldexp(1, ilogb(most)) : 1;
}

scant_status sparse_debias(sparse *s, const size_t *places, size_t count, double *w,
                           double *r) {
    double *above = s->step, *u = s->step + s->b, b = (double)s->b, reach = 0, square;
    size_t m = 0;
    for (size_t i = 0; i < count; i++)
        if (w[places[i]] != 0) {
            above[m] = w[places[i]] - 1;
            reach = fmax(reach, fabs(above[m]));
            s->support[m++] = places[i];
        }
    if (m == 0) return SCANT_OK;
    la_view v = some(s, s->support, m);
    double unit = sparse_unit(s, reach, r);
    TRY(la_kron_gradient(&v, r, 2 / b / unit, above, 2 * s->beta / unit, u, s->image,
                         &s->work));
    la_kernels_for(LA_F64)->sumsq(u, 1, m, &square);
    double curvature = sparse_inner(s, s->image, s->image) / b / b + s->beta * square;
    double mu = unit * sparse_step(square / 2, curvature); /* u is the gradient itself */
    for (size_t i = 0; i < m; i++) w[s->support[i]] -= mu * u[i];
    for (size_t i = 0; i < s->size; i++) r[i] -= mu * (s->image[i] / b);
    return SCANT_OK;
}

scant_status sparse_clip(sparse *s, const size_t *places, size_t count, double *w,
                         double *r) {
    size_t m = 0;
    for (size_t i = 0; i < count; i++)
        if (w[places[i]] < 0) {
            w[places[i]] = -w[places[i]]; /* adding the negated entry removes it from r */
            s->support[m++] = places[i];
        }
    if (m) TRY(sparse_add(s, s->support, m, w, r));
    for (size_t i = 0; i < m; i++) w[s->support[i]] = 0;
    return SCANT_OK;
}

/* ---- figures; ranking by variance ------------------------------------------------- */

static void figure_temperature(scant_selection *sel) {
    if (sel->pool.calibrated && sel->pool.temperature > 0)
        select_figure(sel, "temperature", sel->pool.temperature);
}

static void figure_sigma(const sparse *s, scant_selection *sel) {
    double most = s->variance[la_argmax(s->variance, s->n)];
    select_figure(sel, "sigma_max", sqrt(most) / s->scale);
}

void sparse_figures(const sparse *s, scant_selection *sel, double f1, double f2) {
    double unit = s->scale * s->scale;
    figure_temperature(sel);
    select_figure(sel, "f", (f1 + f2) / unit);
    select_figure(sel, "f1", f1 / unit);
    select_figure(sel, "v2", sparse_inner(s, s->v, s->v) / unit);
    figure_sigma(s, sel);
}

bool sparse_is_ranked(const scant_selection *sel) {
    return select_option(sel, "terms") == SPARSE_VARIANCE;
}

void sparse_rank_plan(const scant_selection *sel, scant_plan *plan) {
    sparse s;
    sparse_plan(sel, NULL, plan, &s);
    plan->memory = size_add(plan->memory, s.b * sizeof(la_scored));
    plan->passes = 2; /* checks, measures */
}

scant_status sparse_rank(scant_selection *sel) {
    sparse s;
    la_topk top;
    TRY(sparse_open(sel, NULL, &s));
    la_scored *heap = TRY_NEW(sel->arena, la_scored, s.b);
    la_topk_init(&top, heap, s.b);
    for (size_t j = 0; j < s.n; j++) la_topk_offer(&top, s.variance[j], j);
    la_topk_sort(&top);
    for (size_t i = 0; i < top.count; i++)
        select_pick(sel, sparse_row(&s, heap[i].index), 1, sqrt(heap[i].score) / s.scale);
    if (heap[0].score == 0)
        scant__warn(sel->ctx, "the variance of every row is 0; the rows with the lowest "
                              "indices are picked");
    figure_temperature(sel);
    figure_sigma(&s, sel);
    return SCANT_OK;
}
