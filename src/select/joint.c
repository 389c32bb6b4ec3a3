/* SPDX-License-Identifier: Apache-2.0 */
#include "select/joint.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "linalg/products.h"

enum {
    WHOLE = 8,             /* up to so many picks, strings are resampled after each */
    PART = 64,             /* minimum strings per part */
    GROUP_COLUMNS = 60,    /* most columns of rows evaluated together: 5 panels */
    BLOCK_BYTES = 1 << 16, /* bytes of strings per block */
    TASK_WORK = 32 << 20,  /* minimum multiply-adds per task */
    LOG_WORK = 16,         /* cost of a logarithm in multiply-adds */
    DRAW_WORK = 64,        /* cost of sampling a label, in multiply-adds */
    RESCALE = 8,           /* labels after which a string's weights are rescaled */
    MERGE_FROM = 512,      /* minimum enumerated strings to merge */
    MERGED = 64,           /* minimum strings after merging */
    MERGE = 32             /* strings merged into one, on average */
};
static const double DROP = 1e-3, LN2 = 0.693147180559945309417;

static size_t over(size_t a, size_t b) { return a / b + (a % b != 0); }

/* ---- memory ----------------------------------------------------------------------- */

static size_t group_of(const select_pool *pool) {
    return size_max(1, GROUP_COLUMNS / pool->c);
}

/* A worker's buffer, in doubles: panels, entropies under each draw, a row, sums. */
typedef struct buffers {
    double *panels, *entropy, *row, *sum;
} buffers;

static size_t panels_of(const select_pool *pool, size_t rows) {
    return over(rows * pool->c, LA_PANEL);
}

static size_t buffer_bytes(const select_pool *pool) {
    size_t group = group_of(pool), panels = panels_of(pool, group), m = pool->m;
    size_t doubles = size_mul(panels * LA_PANEL, m + 1);
    doubles = size_add(doubles, size_mul(m, group + pool->c));
    return size_add(size_mul(doubles, sizeof(double)), 63) / 64 * 64;
}

static buffers buffers_of(const joint *j, unsigned worker) {
    size_t group = group_of(j->pool), panels = panels_of(j->pool, group), m = j->pool->m;
    buffers d = {.panels = (double *)(void *)(j->room + worker * buffer_bytes(j->pool))};
    d.entropy = d.panels + panels * LA_PANEL * m;
    d.row = d.entropy + group * m;
    d.sum = d.row + m * j->pool->c;
    return d;
}

static size_t drawn_of(const select_pool *pool, size_t limit) {
    return size_mul(pool->m, size_max(1, limit / pool->m));
}

/* The largest number of strings at a time, enumerated or sampled. */
static size_t capacity_of(const select_pool *pool, size_t limit, size_t batch) {
    size_t listed = 1;
    for (size_t k = 1; k < batch; k++) {
        if (listed > limit / pool->c) return size_max(listed, drawn_of(pool, limit));
        listed *= pool->c;
    }
    return listed;
}

static size_t merged_of(size_t count) { return size_max(MERGED, count / MERGE); }

size_t joint_memory(const select_pool *pool, size_t limit, size_t batch,
                    unsigned threads) {
    enum { BLOCKS = 12, OVERHEAD = 256 };
    size_t m = pool->m, capacity = capacity_of(pool, limit, batch);
    size_t merged = merged_of(capacity), weights = size_mul(m, sizeof(double));
    size_t all = size_mul(size_add(capacity, merged + JOINT_PARTS + 1), weights);
    all = size_add(all, size_mul(capacity, sizeof(size_t) + sizeof(double)));
    all = size_add(all, size_mul(merged, sizeof(void *) + sizeof(double)));
    all = size_add(all, size_mul(weights, 2 * pool->c));
    all = size_add(all, size_mul(threads, buffer_bytes(pool)));
    return size_add(all, batch * sizeof(size_t) + BLOCKS * OVERHEAD);
}

/* Sets up enumerated strings as one part; its sums of weights are all 1/m. */
static void be_listed(const select_pool *pool, joint_set *set) {
    set->part = set->count, set->parts = 1;
    for (size_t s = 0; s < pool->m; s++) set->share[s] = 1 / (double)pool->m;
}

static bool allocate(joint *j, scant__arena *arena) {
    size_t weights = size_mul(j->pool->m, sizeof(double)), c = j->pool->c;
    size_t merged = merged_of(j->capacity);
    j->all.weight = scant__arena_alloc(arena, j->capacity, weights);
    j->all.share = scant__arena_alloc(arena, JOINT_PARTS, weights);
    j->merged.weight = scant__arena_alloc(arena, merged, weights);
    j->merged.share = scant__arena_alloc(arena, 1, weights);
    j->number = scant__arena_alloc(arena, j->capacity, sizeof *j->number);
    j->open = scant__arena_alloc(arena, j->capacity, sizeof *j->open);
    j->middle = scant__arena_alloc(arena, merged, sizeof *j->middle);
    j->middle_size = scant__arena_alloc(arena, merged, sizeof *j->middle_size);
    j->picks = scant__arena_alloc(arena, j->batch, sizeof *j->picks);
    j->row = scant__arena_alloc(arena, c, weights);
    j->columns = scant__arena_alloc(arena, c, weights);
    j->room = scant__arena_alloc(arena, arena->ctx->threads, buffer_bytes(j->pool));
    return j->all.weight && j->all.share && j->merged.weight && j->merged.share &&
           j->number && j->open && j->middle && j->middle_size && j->picks && j->row &&
           j->columns && j->room;
}

scant_status joint_init(joint *j, scant__arena *arena, const select_pool *pool,
                        uint64_t seed, size_t limit, size_t batch) {
    *j = (joint){.ctx = arena->ctx,
                 .pool = pool,
                 .seed = seed,
                 .limit = limit,
                 .batch = batch,
                 .capacity = capacity_of(pool, limit, batch),
                 .exact = true,
                 .all = {.count = 1},
                 .left = log((double)pool->m)};
    if (!allocate(j, arena)) return SCANT_ENOMEM;
    for (size_t s = 0; s < pool->m; s++) j->all.weight[s] = 1 / (double)pool->m;
    be_listed(pool, &j->all);
    return SCANT_OK;
}

/* Units of work per task: enough to be worth a thread. */
static size_t units_a_task(size_t units, double work) {
    enum { TASKS = 64 };
    double tasks = fmin(work / TASK_WORK, TASKS);
    return tasks < 2 ? units : over(units, (size_t)tasks);
}

/* ---- evaluation -------------------------------------------------------------------- */

typedef struct evaluation {
    const joint *j;
    const joint_set *set;
    const size_t *rows;
    size_t count;
    size_t first, end; /* parts first..end-1 */
    double *value;
    size_t groups, per_task;
} evaluation;

/* Packs predictions of a few rows into panels, with their entropies under each draw. */
static void pack(const evaluation *e, size_t first, size_t count, const buffers *d) {
    const select_pool *pool = e->j->pool;
    size_t m = pool->m, c = pool->c, panels = panels_of(pool, count);
    double *last = d->panels + (panels - 1) * m * LA_PANEL;
    memset(last, 0,
           m * LA_PANEL * sizeof *last); /* the last panel may have unused columns */
    for (size_t i = 0; i < count; i++) {
        select_draws_get(pool, e->rows[first + i], 1, d->row);
        la_kernels_for(LA_F64)->exact_entropy(d->row, m, c, d->entropy + i * m);
        for (size_t k = 0; k < c; k++) {
            size_t column = i * c + k;
            double *to = d->panels + column / LA_PANEL * m * LA_PANEL + column % LA_PANEL;
            for (size_t s = 0; s < m; s++) to[s * LA_PANEL] = d->row[s * c + k];
        }
    }
}

/* Adds to d->sum the entropies of strings from..to-1 with each label of the packed rows.
 */
static void add_strings(const joint_set *set, size_t m, size_t from, size_t to,
                        size_t panels, const buffers *d) {
    size_t step = size_max(32, BLOCK_BYTES / (m * sizeof(double)));
    memset(d->sum, 0, panels * LA_PANEL * sizeof *d->sum);
    for (size_t t = from; t < to; t += step)
        for (size_t p = 0; p < panels; p++)
            la_joint_bits(set->weight + t * m, size_min(step, to - t), m,
                          d->panels + p * m * LA_PANEL, d->sum + p * LA_PANEL);
}

static void evaluate_group(const evaluation *e, size_t first, size_t count,
                           const buffers *d) {
    const joint_set *set = e->set;
    size_t m = e->j->pool->m, c = e->j->pool->c, panels = panels_of(e->j->pool, count);
    pack(e, first, count, d);
    for (size_t p = e->first; p < e->end; p++) {
        size_t from = p * set->part, to = size_min(from + set->part, set->count);
        add_strings(set, m, from, to, panels, d);
        for (size_t i = 0; i < count; i++) {
            double bits = 0, within = 0;
            for (size_t k = 0; k < c; k++) bits += d->sum[i * c + k];
            for (size_t s = 0; s < m; s++)
                within += set->share[p * m + s] * d->entropy[i * m + s];
            e->value[(first + i) * JOINT_PARTS + p] = LN2 * bits - within;
        }
    }
}

static scant_status evaluate_task(void *arg, size_t task, unsigned worker,
                                  scant__fault *fault) {
    (void)fault;
    const evaluation *e = arg;
    const buffers d = buffers_of(e->j, worker);
    size_t group = group_of(e->j->pool),
           end = size_min((task + 1) * e->per_task, e->groups);
    for (size_t g = task * e->per_task; g < end; g++)
        evaluate_group(e, g * group, size_min(group, e->count - g * group), &d);
    return SCANT_OK;
}

scant_status joint_evaluate(const joint *j, const joint_set *set, const size_t *rows,
                            size_t count, size_t first, size_t end, double *value) {
    evaluation e = {
        j, set, rows, count, first, end, value, over(count, group_of(j->pool)), 0};
    double strings = (double)(size_min(end * set->part, set->count) - first * set->part);
    double columns = (double)count * (double)j->pool->c;
    e.per_task = units_a_task(e.groups, columns * ((double)j->pool->m + LOG_WORK) *
                                            (strings + LOG_WORK));
    return scant__parfor(j->ctx, NULL, over(e.groups, e.per_task), evaluate_task, &e);
}

/* ---- merging ------------------------------------------------------------------------
 */

typedef struct merging {
    joint *j;
    size_t middles, per_task;
} merging;

/* Writes to j->number, for a few strings, the middle with the nearest posterior. */
static void find_nearest(const merging *g, size_t first, size_t count) {
    enum { PIECE = 32 };
    joint *j = g->j;
    size_t m = j->pool->m;
    const void *x[4];
    double best[4] = {INFINITY, INFINITY, INFINITY, INFINITY}, dot[4 * PIECE];
    for (size_t i = 0; i < count; i++) {
        x[i] = j->all.weight + (first + i) * m;
        j->number[first + i] = 0;
    }
    for (size_t k = 0; k < g->middles; k += PIECE) {
        size_t some = size_min(PIECE, g->middles - k);
        la_kernels_for(LA_F64)->dot(x, count, j->middle + k, some, m, dot);
        for (size_t i = 0; i < count; i++)
            for (size_t l = 0; l < some; l++) {
                /* |b|^2 - 2 a.b of posteriors a, b: weights over their sums */
                const double *at = (const double *)j->middle[k + l];
                double sums =
                    j->open[first + i] * j->open[(size_t)(at - j->all.weight) / m];
                double far = j->middle_size[k + l] - 2 * dot[i * some + l] / sums;
                if (far < best[i]) best[i] = far, j->number[first + i] = k + l;
            }
    }
}

static scant_status merge_task(void *arg, size_t task, unsigned worker,
                               scant__fault *fault) {
    (void)worker, (void)fault;
    const merging *g = arg;
    size_t end = size_min((task + 1) * g->per_task, g->j->all.count);
    for (size_t t = task * g->per_task; t < end; t += 4)
        find_nearest(g, t, size_min(4, end - t));
    return SCANT_OK;
}

/* Chooses the middles: strings at equal steps of cumulative probability. */
static size_t choose_middles(joint *j, size_t want) {
    size_t m = j->pool->m, found = 0;
    double sum = 0, upto = 0;
    for (size_t t = 0; t < j->all.count; t++) {
        j->open[t] = 0;
        for (size_t s = 0; s < m; s++) j->open[t] += j->all.weight[t * m + s];
        sum += j->open[t];
    }
    for (size_t t = 0; t < j->all.count && found < want; t++) {
        upto += j->open[t];
        if (!(upto * (double)want > ((double)found + 0.5) * sum) || !(j->open[t] > 0))
            continue;
        const double *at = j->all.weight + t * m;
        la_kernels_for(LA_F64)->sumsq(at, 1, m, &j->middle_size[found]);
        j->middle_size[found] /= j->open[t] * j->open[t];
        j->middle[found++] = at;
    }
    return found;
}

scant_status joint_merge(joint *j) {
    size_t m = j->pool->m, count = j->all.count;
    joint_set *merged = &j->merged;
    merged->count = 0;
    if (!j->exact || count < MERGE_FROM) return SCANT_OK;
    merging g = {j, choose_middles(j, merged_of(count)), 0};
    double work = (double)count * (double)g.middles * (double)m;
    g.per_task = over(units_a_task(count, work), 4) * 4;
    TRY(scant__parfor(j->ctx, NULL, over(count, g.per_task), merge_task, &g));
    merged->count = g.middles;
    memset(merged->weight, 0, g.middles * m * sizeof *merged->weight);
    for (size_t t = 0; t < count; t++)
        for (size_t s = 0; s < m; s++)
            merged->weight[j->number[t] * m + s] += j->all.weight[t * m + s];
    merged->known = 0;
    for (size_t k = 0; k < g.middles; k++) {
        double sum = 0;
        for (size_t s = 0; s < m; s++) sum += merged->weight[k * m + s];
        if (sum > 0) merged->known -= sum * log(sum);
    }
    be_listed(j->pool, merged);
    return SCANT_OK;
}

/* ---- adding a pick ----------------------------------------------------------------- */

/* Loads the row's predictions, (m, C) to j->row and (C, m) to j->columns. Returns their
 * mean entropy. */
static double load(joint *j, size_t row) {
    size_t m = j->pool->m, c = j->pool->c;
    double sum = 0;
    const buffers d = buffers_of(j, 0);
    select_draws_get(j->pool, row, 1, j->row);
    la_kernels_for(LA_F64)->exact_entropy(j->row, m, c, d.entropy);
    for (size_t s = 0; s < m; s++) {
        sum += d.entropy[s];
        for (size_t k = 0; k < c; k++) j->columns[k * m + s] = j->row[s * c + k];
    }
    return sum / (double)m;
}

/* Extends every string by every label, in place: from the last string to the first, so
 * that nothing unread is overwritten. */
static void list_on(joint *j) {
    size_t m = j->pool->m, c = j->pool->c;
    for (size_t t = j->all.count; t-- > 0;)
        for (size_t k = c; k-- > 0;) {
            const double *from = j->all.weight + t * m, *p = j->columns + k * m;
            double *to = j->all.weight + (t * c + k) * m;
            for (size_t s = 0; s < m; s++) to[s] = from[s] * p[s];
        }
    j->all.count *= c;
    be_listed(j->pool, &j->all);
}

typedef struct drawing {
    joint *j;
    size_t position; /* position of the sampled label */
    bool last;
    size_t per_task;
} drawing;

/* The first label whose running sum exceeds u times the total; upto: running sums. */
static size_t label_at(const double *upto, size_t c, double u) {
    enum { FEW = 16 };
    double x = u * upto[c - 1];
    size_t low = 0, high = c - 1;
    for (size_t k = 0; c <= FEW && k < high; k++) low += upto[k] <= x;
    if (c <= FEW) return low;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (upto[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Scales weights to a sum of 1. owner: the posterior draw that the string was sampled
 * from; if all weights underflow to 0, it gets weight 1. */
static void normalise(double *weight, size_t m, size_t owner) {
    double sum = 0;
    for (size_t s = 0; s < m; s++) sum += weight[s];
    if (!(sum > 0)) weight[owner] = sum = 1;
    for (size_t s = 0; s < m; s++) weight[s] *= 1 / sum;
}

static void draw_on(const drawing *d, size_t t) {
    joint *j = d->j;
    size_t m = j->pool->m, c = j->pool->c, owner = j->number[t] % m;
    const scant__rng rng = {j->seed, SCANT__RNG_LABELS};
    uint64_t index = ((uint64_t)j->begun * j->drawn + j->number[t]) * j->pool->n;
    size_t label =
        label_at(j->row + owner * c, c, scant__rng_unit(&rng, index + d->position));
    double *weight = j->all.weight + t * m;
    const double *p = j->columns + label * m;
    for (size_t s = 0; s < m; s++) weight[s] *= p[s];
    if (d->last || d->position % RESCALE == RESCALE - 1) normalise(weight, m, owner);
    if (d->last) {
        la_rowstat stat; /* precise enough for estimates */
        la_kernels_for(LA_F64)->entropy(weight, 1, m, &stat);
        j->open[t] = stat.entropy > 0 ? stat.entropy : 0;
    }
}

static scant_status draw_task(void *arg, size_t task, unsigned worker,
                              scant__fault *fault) {
    (void)worker, (void)fault;
    const drawing *d = arg;
    size_t end = size_min((task + 1) * d->per_task, d->j->all.count);
    for (size_t t = task * d->per_task; t < end; t++) draw_on(d, t);
    return SCANT_OK;
}

/* Samples the loaded row's label for every string. */
static scant_status draw_labels(joint *j, size_t position) {
    size_t m = j->pool->m, c = j->pool->c;
    drawing d = {j, position, position + 1 == j->n_picks, 0};
    for (size_t s = 0; s < m; s++)
        for (size_t k = 1; k < c; k++) j->row[s * c + k] += j->row[s * c + k - 1];
    double each = (double)m * (d.last ? LOG_WORK : 1) + DRAW_WORK;
    d.per_task = units_a_task(j->all.count, each * (double)j->all.count);
    return scant__parfor(j->ctx, NULL, over(j->all.count, d.per_task), draw_task, &d);
}

/* Starts new strings and samples all their labels except the last one. */
static scant_status draw_anew(joint *j) {
    size_t m = j->pool->m;
    j->exact = false;
    j->all.known = j->dropped = 0;
    j->all.count = j->drawn = drawn_of(j->pool, j->limit);
    j->begun = j->n_picks;
    assert(j->all.count <= j->capacity);
    for (size_t t = 0; t < j->all.count; t++) j->number[t] = t;
    for (size_t i = 0; i < j->all.count * m; i++) j->all.weight[i] = 1;
    for (size_t position = 0; position + 1 < j->n_picks; position++) {
        load(j, j->picks[position]);
        TRY(draw_labels(j, position));
    }
    return SCANT_OK;
}

/* Returns the largest power of two such that all posteriors with less entropy together
 * hold at most DROP times the sum. */
static double drop_bound(const joint *j, double sum) {
    enum { BINS = 64 };
    double bin[BINS] = {0}, below = 0, bound = 0;
    for (size_t t = 0; t < j->all.count; t++) {
        int k = j->open[t] > 0 ? BINS - 4 + ilogb(j->open[t]) : 0; /* at most 44 nats */
        bin[k < 0 ? 0 : k < BINS ? k : BINS - 1] += j->open[t];
    }
    for (int k = 0; k < BINS && below + bin[k] <= DROP * sum; k++) {
        below += bin[k];
        bound = ldexp(1, k + 1 - (BINS - 4));
    }
    return bound;
}

/* Drops strings whose posterior has almost no entropy left. */
static void drop_certain(joint *j) {
    size_t m = j->pool->m, kept = 0, few = 0;
    double sum = 0;
    for (size_t t = 0; t < j->all.count; t++) sum += j->open[t];
    j->left = (sum + j->dropped) / (double)j->drawn;
    double bound = drop_bound(j, sum);
    for (size_t t = 0; t < j->all.count; t++) few += j->open[t] < bound;
    if (few * 8 < j->all.count) return; /* too few to pay for moving the others */
    for (size_t t = 0; t < j->all.count; t++) {
        if (j->open[t] < bound) {
            j->dropped += j->open[t];
            continue;
        }
        if (kept != t)
            memcpy(j->all.weight + kept * m, j->all.weight + t * m,
                   m * sizeof *j->all.weight);
        j->number[kept] = j->number[t];
        j->open[kept++] = j->open[t];
    }
    j->all.count = kept;
}

static void cut(joint *j) {
    size_t m = j->pool->m;
    j->all.part = size_max(PART, over(j->drawn, 512) * 4);
    j->all.parts = over(j->all.count, j->all.part);
    assert(j->all.parts <= JOINT_PARTS);
    memset(j->all.share, 0, j->all.parts * m * sizeof *j->all.share);
    for (size_t t = 0; t < j->all.count; t++)
        for (size_t s = 0; s < m; s++)
            j->all.share[t / j->all.part * m + s] += j->all.weight[t * m + s];
}

scant_status joint_add(joint *j, size_t row, double gain) {
    size_t n = j->n_picks++;
    j->picks[n] = row;
    if (j->exact && j->all.count <= j->limit / j->pool->c) {
        j->all.known += gain + load(j, row);
        list_on(j);
        return SCANT_OK;
    }
    if (j->exact || n < WHOLE || n + 1 >= 2 * j->begun) TRY(draw_anew(j));
    load(j, row);
    TRY(draw_labels(j, n));
    drop_certain(j);
    cut(j);
    return SCANT_OK;
}
