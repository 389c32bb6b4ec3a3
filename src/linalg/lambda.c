/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses a task's method, computes its memory, and searches for the best sets.
 */
#include "linalg/lambda.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/blas.h"
#include "linalg/dense.h"
#include "linalg/lambda_int.h"

enum {
    CHUNK_ROWS = 128,        /* rows of small sets loaded at a time */
    FIRST_ROUND = 4,         /* sets evaluated in full before there is a threshold */
    MOST_IN_ROUND = 1 << 16, /* sets between two updates of the threshold */
    BLOCK_WORK = 2 << 20,    /* minimum multiply-adds per block */
    SPARE = 16 << 10         /* overhead of arenas and allocator for a few dozen blocks */
};

/* ---- features as a kernel ---------------------------------------------------------- */

static void feature_values(const void *self, const size_t *rows, size_t m,
                           const size_t *others, size_t k, double *out, size_t stride,
                           void *room) {
    la_view view = *(const la_view *)self;
    size_t width = la_view_width(&view);
    double *x = room, *y = x + LA_KERNEL_TILE * width;
    void *fetch = y + LA_KERNEL_TILE * width;
    view.rows = rows, view.m = m;
    la_view_load(&view, 0, m, x, NULL, fetch);
    view.rows = others, view.m = k;
    la_view_load(&view, 0, k, y, NULL, fetch);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)k, (int)width, 1, x,
                (int)width, y, (int)width, 0, out, (int)stride);
}

void la_kernel_of_features(const la_view *h, la_kernel *out) {
    la_view many = *h;
    many.m = LA_KERNEL_TILE;
    size_t tiles = size_mul(2 * LA_KERNEL_TILE * sizeof(double), la_view_width(h));
    *out = (la_kernel){.n = h->h->n,
                       .values = feature_values,
                       .room_bytes = size_add(tiles, la_view_raw(&many)),
                       .self = h,
                       .features = h};
}

/* ---- choice of the method ---------------------------------------------------------- */

/* Twice the multiply-adds of a set, plus its share of the work done once. */
static double cost_direct(const la_lambda_task *t, double r) {
    return (double)t->b * r * r + r * r * r / 3;
}

static double cost_split(const la_lambda_task *t, double width, double r, bool keep) {
    double b = (double)t->b, base = (double)t->n_base, sets = (double)t->sets;
    double low = fmax(r - base, r / 10), turned = keep ? (double)t->n_open / sets : b;
    double once = 25 * r * r * r / sets; /* eigenvectors, slower than products */
    return once + 2 * turned * width * r + b * b * (r + low) + b * b * b / 3 +
           low * low * b + low * low * low / 3;
}

/* Caching is faster if sets use a row twice or more on average. */
static bool worth_keeping(const la_lambda_task *t, size_t size) {
    return t->kernel->features && size && t->sets / 2 >= t->n_open / t->b;
}

static bool keeps(const la_lambda_task *t, size_t size) {
    size_t row = size_mul(size, sizeof(double));
    return worth_keeping(t, size) && size_mul(t->n_open, row) <= LA_LAMBDA_KEEP;
}

static size_t chunk_rows(size_t b) { return b < CHUNK_ROWS ? CHUNK_ROWS / b * b : b; }

static lambda_shape schur_shape(const la_lambda_task *t) {
    const la_view *features = t->kernel->features;
    return (lambda_shape){.way = LAMBDA_SCHUR,
                          .b = t->b,
                          .raw = features ? la_view_width(features) : t->n_base,
                          .size = t->n_base,
                          .length = size_add(t->n_base, t->b),
                          .rows = chunk_rows(t->b),
                          .keep = keeps(t, t->n_base)};
}

static lambda_shape split_shape(const la_lambda_task *t, size_t r) {
    return (lambda_shape){.way = LAMBDA_SPLIT,
                          .b = t->b,
                          .raw = la_view_width(t->kernel->features),
                          .size = r,
                          .length = r,
                          .rows = chunk_rows(t->b),
                          .keep = keeps(t, r)};
}

static lambda_shape direct_shape(const la_lambda_task *t, size_t r) {
    return (lambda_shape){.way = LAMBDA_DIRECT,
                          .b = t->b,
                          .raw = la_view_width(t->kernel->features),
                          .size = r,
                          .length = r,
                          .rows = t->b < LA_BLOCK ? t->b : LA_BLOCK};
}

static lambda_shape shape_of(const la_lambda_task *t) {
    if (!t->dual) return schur_shape(t);
    size_t r = t->span->rank;
    if (!r) return (lambda_shape){.way = LAMBDA_NOTHING, .b = t->b, .rows = t->b};
    lambda_shape split = split_shape(t, r), direct = direct_shape(t, r);
    if (!t->n_base || t->b > r) return direct;
    bool better = cost_split(t, (double)split.raw, (double)r, split.keep) <
                  cost_direct(t, (double)r);
    return better ? split : direct;
}

/* ---- memory ------------------------------------------------------------------------ */

static size_t cost(size_t rows, size_t width) {
    return scant__alloc_cost(size_mul(size_mul(rows, width), sizeof(double)));
}

size_t lambda_fetch_bytes(const la_kernel *kernel) {
    if (!kernel->features) return kernel->room_bytes;
    la_view many = *kernel->features;
    many.m = SIZE_MAX;
    return size_max(la_view_raw(&many), kernel->room_bytes);
}

/* Memory of la_lambda_create() for a shape; enough also for the same method with a
 * smaller base. */
static size_t shape_memory(const la_lambda_task *t, const lambda_shape *s,
                           unsigned threads) {
    size_t fetch = lambda_fetch_bytes(t->kernel);
    size_t all = cost(lambda_room_size(s, fetch), threads);
    if (worth_keeping(t, s->size)) {
        size_t kept = cost(t->n_open, s->size), most = scant__alloc_cost(LA_LAMBDA_KEEP);
        all = size_add(all, kept < most ? kept : most);
    }
    return size_add(all, size_add(lambda_base_memory(t, s, threads), SPARE));
}

size_t la_lambda_memory(const la_lambda_task *task, unsigned threads) {
    lambda_shape schur = schur_shape(task);
    if (!task->kernel->features) return shape_memory(task, &schur, threads);
    la_lambda_task any = *task;
    any.dual = true;
    size_t width = la_view_width(task->kernel->features);
    lambda_shape direct = direct_shape(task, width), split = split_shape(task, width);
    split.keep = false;
    if (split.b > width) /* the rank is at most width < b, so split will not be used;
                          * its b only has to be valid */
        split.b = width, split.rows = chunk_rows(width);
    size_t all = size_max(shape_memory(&any, &split, threads),
                          shape_memory(&any, &direct, threads));
    if (size_add(task->n_base, task->b) > width) return all;
    schur.keep = false;
    return size_max(all, shape_memory(&any, &schur, threads));
}

static la_view all_rows(const la_kernel *kernel) {
    la_view all = *kernel->features;
    all.rows = NULL;
    all.m = kernel->n;
    return all;
}

size_t la_lambda_settle_memory(const la_lambda_task *task, unsigned threads) {
    const la_kernel *kernel = task->kernel;
    size_t rows = size_add(task->n_base, task->b);
    size_t sieve = lambda_independent_memory(kernel, task->n_base, threads);
    if (!kernel->features) return sieve;
    la_view all = all_rows(kernel);
    size_t span = la_span_memory(&all, threads); /* freed before the sieve runs */
    return rows > la_view_width(&all) ? span : size_max(span, sieve);
}

/* ---- preparing a task -------------------------------------------------------------- */

scant_status la_lambda_settle(scant__arena *arena, la_lambda_task *task, size_t *base,
                              la_span *span, const char *phase) {
    const la_kernel *kernel = task->kernel;
    *span = (la_span){0};
    task->span = span;
    task->base = base;
    task->dual = false;
    if (kernel->features) {
        la_view all = all_rows(kernel);
        size_t rows = task->n_base + task->b;
        TRY(la_span_find(span, arena, &all, rows, phase));
        task->dual = rows > span->rank;
    }
    if (task->dual) return SCANT_OK;
    return lambda_independent(kernel, arena->ctx, base, &task->n_base);
}

static scant_status make_rooms(la_lambda *e, scant__arena *arena) {
    unsigned threads = e->ctx->threads;
    size_t fetch = lambda_fetch_bytes(e->task.kernel);
    size_t size = lambda_room_size(&e->shape, fetch);
    double *all = scant__arena_alloc(arena, threads, size_mul(size, sizeof(double)));
    e->rooms = scant__arena_alloc(arena, threads, sizeof *e->rooms);
    if (!all || !e->rooms) return SCANT_ENOMEM;
    for (unsigned i = 0; i < threads; i++)
        lambda_room_lay(&e->shape, fetch, all + i * size, &e->rooms[i]);
    return SCANT_OK;
}

scant_status la_lambda_create(scant__arena *arena, const la_lambda_task *task,
                              la_lambda **out) {
    AUTO(scant__arena_end) scant__arena room = {.ctx = arena->ctx};
    la_lambda *e = *out = TRY_ZERO(arena, la_lambda, 1);
    e->ctx = arena->ctx;
    e->task = *task;
    e->shape = shape_of(task);
    if (e->shape.way != LAMBDA_DIRECT) TRY(la_eigh_fits(e->ctx, e->shape.size));
    TRY(la_fits(e->ctx, e->shape.length));
    TRY(la_fits(e->ctx, e->shape.raw));
    TRY(la_fits(e->ctx, e->shape.b));
    TRY(make_rooms(e, arena));
    return lambda_base(e, arena, &room);
}

double la_lambda_cap(const la_lambda *e) {
    if (e->shape.way == LAMBDA_SCHUR && e->shape.size) return e->base[0];
    return INFINITY;
}

size_t la_lambda_evaluated(const la_lambda *e) { return e->evaluated; }

/* ---- the search -------------------------------------------------------------------- */

typedef struct answer {
    double lambda; /* -1 if not above the threshold */
    double slack;
    size_t set;
} answer;

typedef struct search {
    la_lambda *e;
    const la_sets *sets;
    double threshold; /* lambda that a set must exceed in this round; negative: no
                         limit yet */
    size_t first, count;
    size_t block;    /* sets per task */
    answer *answers; /* results of the round */
    answer *best;    /* capacity: the wanted results plus those of a round */
    size_t n_best;
} search;

static size_t most_in_round(size_t sets) {
    return sets < MOST_IN_ROUND ? sets : MOST_IN_ROUND;
}

size_t la_lambda_best_memory(size_t sets, size_t want) {
    size_t most = most_in_round(sets), all = size_add(size_add(want, most), most);
    return size_add(scant__alloc_cost(size_mul(all, sizeof(answer))), 256);
}

/* Number of sets loaded at once. */
static size_t chunk_sets(const la_lambda *e) {
    return e->shape.way == LAMBDA_DIRECT ? 1 : e->shape.rows / e->shape.b;
}

/* Number of sets per block: enough work for a thread. */
static size_t block_sets(const la_lambda *e) {
    const lambda_shape *s = &e->shape;
    double b = (double)s->b, size = (double)s->size, raw = (double)s->raw;
    double work = s->way == LAMBDA_DIRECT
                      ? size * size * (b / 2 + size / 6)
                      : b * (s->keep ? raw : raw * size) + b * b * (raw + size + b) / 2;
    double sets = BLOCK_WORK / (work + 1);
    size_t chunk = chunk_sets(e), chunks = (size_t)(sets / (double)chunk) + 1;
    return chunks * chunk;
}

static void get_places(const search *s, size_t set, unsigned worker, size_t *places) {
    size_t b = s->e->shape.b;
    if (s->sets->get) {
        s->sets->get(s->sets->self, set, worker, places);
        return;
    }
    for (size_t i = 0; i < b; i++) places[i] = set * b + i;
}

static answer ask(const search *s, lambda_room *room, size_t set) {
    answer a = {.lambda = -1, .slack = room->slack, .set = set};
    double mu = s->threshold + room->slack;
    if (s->threshold < 0)
        a.lambda = lambda_solve(s->e, room);
    else if (lambda_above(s->e, room, mu))
        a.lambda = lambda_value(s->e, room, mu);
    return a;
}

static void ask_chunk(const search *s, size_t first, size_t count, unsigned worker) {
    lambda_room *room = &s->e->rooms[worker];
    for (size_t i = 0; i < count; i++)
        get_places(s, s->first + first + i, worker, room->places + i * s->e->shape.b);
    lambda_load(s->e, room, count);
    for (size_t i = 0; i < count; i++) {
        lambda_turn_to(s->e, room, i);
        s->answers[first + i] = ask(s, room, s->first + first + i);
    }
}

static scant_status ask_block(void *arg, size_t block, unsigned worker,
                              scant__fault *fault) {
    const search *s = arg;
    size_t chunk = chunk_sets(s->e), first = block * s->block, end = first + s->block;
    (void)fault;
    if (end > s->count) end = s->count;
    for (; first < end; first += chunk)
        ask_chunk(s, first, end - first < chunk ? end - first : chunk, worker);
    return SCANT_OK;
}

static int falling(const void *a, const void *b) {
    const answer *x = a, *y = b;
    if (x->lambda != y->lambda) return x->lambda < y->lambda ? 1 : -1;
    return (x->set > y->set) - (x->set < y->set);
}

/* Sorts the results. Values equal to a better one (within tolerance) take its value and
 * are ordered by set. Keeps the best `want`. */
static void rank_answers(search *s, size_t want) {
    answer *a = s->best;
    qsort(a, s->n_best, sizeof *a, falling);
    for (size_t i = 0, head = 0; i < s->n_best; i++) {
        if (a[head].lambda - a[i].lambda > a[i].slack) head = i;
        a[i].lambda = a[head].lambda;
    }
    qsort(a, s->n_best, sizeof *a, falling);
    if (s->n_best > want) s->n_best = want;
}

/* Number of sets of the next round: as many as in all rounds before, so that about `want`
 * of them are among the best; limited, to show progress. */
static size_t round_size(const search *s, size_t want) {
    size_t all = s->sets->count, rest = all - s->first;
    size_t first = want > FIRST_ROUND ? want : FIRST_ROUND;
    size_t size = s->first < first ? first : s->first;
    size_t step = all / 8 > 16 * s->block ? all / 8 : 16 * s->block;
    if (size > step && s->first >= first) size = step;
    if (size > MOST_IN_ROUND) size = MOST_IN_ROUND;
    return size < rest ? size : rest;
}

static double worst(const search *s) { return s->best[s->n_best - 1].lambda; }

static scant_status search_round(search *s, size_t want, double least) {
    size_t blocks = (s->count + s->block - 1) / s->block;
    s->threshold = s->n_best == want ? fmax(least, worst(s)) : least;
    TRY(scant__blas_for(s->e->ctx, NULL, blocks, ask_block, s));
    for (size_t i = 0; i < s->count; i++) {
        const answer *a = &s->answers[i];
        if (a->lambda < 0) continue;
        s->e->evaluated++;
        if (least < 0 || a->lambda > least + a->slack) s->best[s->n_best++] = *a;
    }
    rank_answers(s, want);
    return SCANT_OK;
}

static scant_status search_all(search *s, size_t want, double least, const char *phase) {
    size_t all = s->sets->count;
    for (; s->first < all; s->first += s->count) {
        if (s->n_best == want && worst(s) >= la_lambda_cap(s->e)) break;
        s->count = round_size(s, want);
        TRY(search_round(s, want, least));
        TRY(scant__tick(s->e->ctx, phase, s->first + s->count, all));
    }
    return SCANT_OK;
}

scant_status la_lambda_best(la_lambda *e, const la_sets *sets, size_t want, double least,
                            const char *phase, la_found *found, size_t *count) {
    search s = {.e = e, .sets = sets, .block = block_sets(e)};
    size_t most = most_in_round(sets->count);
    *count = 0;
    if (!want || !most) return SCANT_OK;
    s.answers = scant__alloc(e->ctx, want + 2 * most, sizeof *s.answers);
    if (!s.answers) return SCANT_ENOMEM;
    s.best = s.answers + most;
    scant_status status = search_all(&s, want, least, phase);
    for (size_t i = 0; status == SCANT_OK && i < s.n_best; i++)
        found[i] = (la_found){s.best[i].lambda, s.best[i].set};
    *count = status == SCANT_OK ? s.n_best : 0;
    scant__free(e->ctx, s.answers);
    return status;
}

/* ---- the value of one set ---------------------------------------------------------- */

typedef struct single {
    la_lambda *e;
    const size_t *places;
    double lambda, *burden;
} single;

static scant_status single_block(void *arg, size_t block, unsigned worker,
                                 scant__fault *fault) {
    single *s = arg;
    lambda_room *room = &s->e->rooms[worker];
    (void)block, (void)fault;
    memcpy(room->places, s->places, s->e->shape.b * sizeof *s->places);
    lambda_load(s->e, room, 1);
    lambda_turn_to(s->e, room, 0);
    s->lambda = lambda_solve(s->e, room);
    if (s->burden) lambda_burden(s->e, room, s->burden);
    return SCANT_OK;
}

scant_status la_lambda_of(la_lambda *e, const size_t *places, double *lambda,
                          double *burden) {
    single s = {.e = e, .places = places, .burden = burden};
    TRY(scant__blas_for(e->ctx, NULL, 1, single_block, &s));
    *lambda = s.lambda;
    return SCANT_OK;
}
