/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/growset.h"

#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/parfor.h"
#include "core/rng.h"

enum {
    BLOCK = 256,        /* rows that share a maximum and a sum */
    CHUNK = 4,          /* blocks per refresh task */
    TOGETHER = 16,      /* rows evaluated together by a worker */
    PROMISING = 16,     /* blocks searched for rows to evaluate */
    FIRST_CENTRES = 64, /* most centres that all rows are evaluated against first */
    MIN_CENTRES =
        32,      /* minimum number of centres per evaluation of a row, if available */
    MIN_DRAW = 4 /* minimum proposals per batch; the maximum is LA_GROUP */
};

#define TAKEN (-1.0)

/* Multiply-adds that take about 10 and about 100 microseconds. */
static const double LITTLE_WORK = 5e5, SOME_WORK = 5e6;
/* If less than SOME_WORK takes longer than this, a thread had to wait for a core. */
static const double TOO_LONG = 1e-3; /* seconds */

static size_t block_rows(const la_growset *set, size_t block) {
    size_t first = block * BLOCK;
    return set->n - first < BLOCK ? set->n - first : BLOCK;
}

size_t la_growset_memory(const la_rows *h, const la_rows *a, size_t group,
                         unsigned threads) {
    size_t n = h->n, blocks = (n + BLOCK - 1) / BLOCK;
    size_t padded = la_space_scratch(h, a, group) + 64;
    return n * (sizeof(double) + sizeof(uint32_t)) + blocks * 3 * sizeof(double) +
           threads * padded;
}

scant_status la_growset_init(la_growset *set, scant__arena *arena, la_space *space) {
    size_t n = space->h->n, blocks = (n + BLOCK - 1) / BLOCK;
    *set = (la_growset){
        .ctx = arena->ctx, .space = space, .n = n, .active = n, .blocks = blocks};
    set->scratch_size =
        (la_space_scratch(space->h, space->a, space->group) + 63) / 64 * 64;
    set->bound = TRY_NEW(arena, double, n);
    set->stamp = TRY_ZERO(arena, uint32_t, n);
    set->top = TRY_ZERO(arena, double, blocks);
    set->sum = TRY_ZERO(arena, double, blocks);
    set->before = TRY_ZERO(arena, double, blocks);
    set->scratch =
        TRY_NEW(arena, unsigned char, size_mul(set->ctx->threads, set->scratch_size));
    for (size_t i = 0; i < n; i++) set->bound[i] = INFINITY;
    return SCANT_OK;
}

void *la_growset_scratch(const la_growset *set, unsigned worker) {
    return set->scratch + worker * set->scratch_size;
}

static void retop(la_growset *set, size_t block) {
    const double *bound = set->bound + block * BLOCK;
    set->top[block] = bound[la_argmax(bound, block_rows(set, block))];
}

static void resum(la_growset *set, size_t block) {
    const double *bound = set->bound + block * BLOCK;
    double sum = 0;
    for (size_t i = 0, n = block_rows(set, block); i < n; i++)
        if (bound[i] > 0) sum += bound[i];
    set->sum[block] = sum;
}

void la_growset_exclude(la_growset *set, size_t row) {
    if (set->bound[row] < 0) return;
    set->bound[row] = TAKEN;
    set->active--;
}

void la_growset_add(la_growset *set, size_t row) {
    la_growset_exclude(set, row);
    la_space_add(set->space, row);
}

/* ---- refreshing all rows ------------------------------------------------------- */

typedef struct refresh_job {
    la_growset *set;
    size_t to;
} refresh_job;

static scant_status refresh_chunk(void *arg, size_t chunk, unsigned worker,
                                  scant__fault *fault) {
    (void)fault;
    refresh_job *job = arg;
    la_growset *set = job->set;
    void *scratch = la_growset_scratch(set, worker);
    size_t end = (chunk + 1) * CHUNK < set->blocks ? (chunk + 1) * CHUNK : set->blocks;
    for (size_t block = chunk * CHUNK; block < end; block++) {
        size_t row = block * BLOCK, stop = row + block_rows(set, block);
        while (row < stop) {
            size_t group[LA_GROUP], m = 0;
            double best[LA_GROUP];
            for (; row < stop && m < LA_GROUP; row++)
                if (set->bound[row] >= 0) best[m] = set->bound[row], group[m++] = row;
            la_space_nearest(set->space, group, m, set->fresh, job->to, best, scratch);
            for (size_t i = 0; i < m; i++) {
                set->bound[group[i]] = best[i];
                if (set->stamp[group[i]] < job->to)
                    set->stamp[group[i]] = (uint32_t)job->to;
            }
        }
        retop(set, block);
        resum(set, block);
    }
    return SCANT_OK;
}

/* Runs blocks of work, in parallel if that is faster. If another process occupies a core,
 * small work would often wait for the thread on that core; so after one delay small work
 * stays on one thread. The result does not depend on which thread runs a block. */
static scant_status spread(la_growset *set, const char *phase, size_t pairs,
                           size_t blocks, scant__block_fn fn, void *job) {
    const la_space *space = set->space;
    size_t width = space->h->d + (space->a ? space->a->d : 0);
    double work = (double)pairs * (double)width;
    if (work >= SOME_WORK) return scant__parfor(set->ctx, phase, blocks, fn, job);
    if (work >= LITTLE_WORK && blocks > 1 && !set->alone) {
        double begun = scant__now();
        TRY(scant__parfor(set->ctx, NULL, blocks, fn, job));
        set->alone = scant__now() - begun > TOO_LONG;
        return SCANT_OK;
    }
    scant__fault fault;
    for (size_t i = 0; i < blocks; i++) TRY(fn(job, i, 0, &fault));
    return SCANT_OK;
}

static scant_status refresh(la_growset *set, size_t to) {
    refresh_job job = {set, to};
    size_t chunks = (set->blocks + CHUNK - 1) / CHUNK;
    TRY(spread(set, "measuring distances", set->active * (to - set->fresh), chunks,
               refresh_chunk, &job));
    set->fresh = to;
    set->spent = 0;
    return SCANT_OK;
}

/* Returns whether evaluating single rows has cost as much as refreshing all rows. */
static int refresh_pays(const la_growset *set) {
    double price = (double)set->active * (double)(set->space->count - set->fresh);
    return set->spent >= price && price > 0;
}

/* Sets order (m) to the indices of rows sorted by stamp, the number of centres that a row
 * has been evaluated against. */
static void by_stamp(const la_growset *set, const size_t *rows, size_t m, size_t *order) {
    for (size_t i = 0; i < m; i++) {
        size_t j = i;
        for (; j > 0 && set->stamp[rows[order[j - 1]]] > set->stamp[rows[i]]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

typedef struct update_job {
    la_growset *set;
    size_t rows[LA_GROUP], m, from, to;
} update_job;

static scant_status update_some(void *arg, size_t block, unsigned worker,
                                scant__fault *fault) {
    (void)fault;
    update_job *job = arg;
    la_growset *set = job->set;
    const size_t *rows = job->rows + block * TOGETHER;
    size_t rest = job->m - block * TOGETHER, m = rest < TOGETHER ? rest : TOGETHER;
    double d2[TOGETHER];
    for (size_t i = 0; i < m; i++) d2[i] = set->bound[rows[i]];
    la_space_nearest(set->space, rows, m, job->from, job->to, d2,
                     la_growset_scratch(set, worker));
    for (size_t i = 0; i < m; i++) {
        set->bound[rows[i]] = d2[i];
        set->stamp[rows[i]] = (uint32_t)job->to;
    }
    return SCANT_OK;
}

/* Evaluates each row (m <= LA_GROUP, all different) against more centres, about doubling
 * its stamp, and lowers its bound. Rows with similar stamps are evaluated together from
 * the lowest stamp on, so that a centre is read once for many rows; evaluating against a
 * centre twice changes nothing. */
static scant_status update_rows(la_growset *set, const size_t *rows, size_t m) {
    size_t order[LA_GROUP], count = set->space->count;
    by_stamp(set, rows, m, order);
    for (size_t i = 0; i < m;) {
        size_t from = set->stamp[rows[order[i]]],
               step = from > MIN_CENTRES ? from : MIN_CENTRES;
        size_t to = count - from > step + step / 2 ? from + step : count;
        update_job job = {.set = set, .from = from, .to = to};
        while (i < m && set->stamp[rows[order[i]]] <= from + (to - from) / 2)
            job.rows[job.m++] = rows[order[i++]];
        size_t pairs = job.m * (to - from), blocks = (job.m + TOGETHER - 1) / TOGETHER;
        TRY(spread(set, NULL, pairs, blocks, update_some, &job));
        set->spent += (double)pairs;
    }
    return SCANT_OK;
}

/* ---- farthest first ------------------------------------------------------------ */

/* Lists the blocks with the largest bounds, largest first, ties to the lower index; *next
 * is the largest bound of all other blocks. */
static size_t top_blocks(const la_growset *set, size_t out[PROMISING + 1], double *next) {
    size_t count = 0;
    for (size_t i = 0; i < set->blocks; i++) {
        if (count > PROMISING && set->top[i] <= set->top[out[PROMISING]]) continue;
        size_t at = count > PROMISING ? PROMISING : count++;
        for (; at > 0 && set->top[out[at - 1]] < set->top[i]; at--) out[at] = out[at - 1];
        out[at] = i;
    }
    *next = count > PROMISING ? set->top[out[PROMISING]] : TAKEN;
    return count > PROMISING ? PROMISING : count;
}

/* Lists the row with the largest bound (ties: the lowest) in rows[0], then rows with the
 * next largest bounds that are out of date: they will be needed soon, and centres are
 * read once for all. Returns how many, at most LA_GROUP. Rows of a block are adjacent. */
static size_t promising_rows(const la_growset *set, size_t *rows) {
    size_t blocks[PROMISING + 1] = {0}, m = 1;
    double next;
    size_t n_blocks = top_blocks(set, blocks, &next), first = blocks[0] * BLOCK;
    rows[0] = first + la_argmax(set->bound + first, block_rows(set, blocks[0]));
    for (size_t k = 0; k < n_blocks; k++) {
        first = blocks[k] * BLOCK;
        for (size_t i = first, end = first + block_rows(set, blocks[k]); i < end; i++)
            if (set->bound[i] > next && set->stamp[i] < set->space->count &&
                i != rows[0] && m < LA_GROUP)
                rows[m++] = i;
    }
    return m;
}

scant_status la_growset_farthest(la_growset *set, size_t want, size_t *rows, double *d2,
                                 size_t *got) {
    size_t known = set->space->count;
    TRY(refresh(set, known < FIRST_CENTRES ? known : FIRST_CENTRES));
    for (*got = 0; *got < want && set->active > 0;) {
        size_t promising[LA_GROUP], m = promising_rows(set, promising);
        size_t farthest = promising[0];
        if (set->stamp[farthest] < set->space->count) {
            TRY(update_rows(set, promising, m));
            for (size_t i = 0; i < m; i++)
                if (i == 0 || promising[i] / BLOCK != promising[i - 1] / BLOCK)
                    retop(set, promising[i] / BLOCK);
            if (refresh_pays(set)) TRY(refresh(set, set->space->count));
            continue;
        }
        rows[*got] = farthest;
        d2[(*got)++] = set->bound[farthest];
        la_growset_add(set, farthest);
        retop(set, farthest / BLOCK);
        TRY(scant__tick(set->ctx, "picking", *got, want));
    }
    return SCANT_OK;
}

/* ---- D^2 sampling -------------------------------------------------------------- */

/* Computes running sums of the blocks' sums; returns the total. */
static double accumulate(la_growset *set) {
    double total = 0;
    for (size_t i = 0; i < set->blocks; i++) set->before[i] = total, total += set->sum[i];
    return total;
}

/* Returns the first row whose running sum of bounds exceeds `at`, which is below the
 * total. */
static size_t row_at(const la_growset *set, double at) {
    size_t low = 0,
           high = set->blocks; /* low: the last block that starts at or before `at` */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (set->before[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    while (low > 0 && !(set->sum[low] > 0))
        low--; /* only if rounding made `at` the total */
    const double *bound = set->bound + low * BLOCK;
    double before = set->before[low];
    size_t row = 0;
    for (size_t i = 0, n = block_rows(set, low); i < n; i++) {
        if (!(bound[i] > 0)) continue;
        row = i;
        before += bound[i];
        if (before > at) break;
    }
    return low * BLOCK + row;
}

typedef struct draw {
    size_t m;
    size_t rows[LA_GROUP];
    double floor[LA_GROUP]; /* rows are accepted if their distance is above this: random
                             * number times bound */
} draw;

static void propose(la_growset *set, uint64_t seed, uint64_t serial, double total,
                    size_t m, draw *out) {
    const scant__rng where = {seed, SCANT__RNG_PROPOSE},
                     whether = {seed, SCANT__RNG_ACCEPT};
    out->m = m;
    for (size_t i = 0; i < m; i++) {
        out->rows[i] = row_at(set, scant__rng_unit(&where, serial + i) * total);
        out->floor[i] = scant__rng_unit(&whether, serial + i) * set->bound[out->rows[i]];
    }
}

/* Lowers the bound of each proposed row until it equals the row's distance, or is not
 * above the proposal's floor, so that the proposal will be rejected. */
static scant_status evaluate(la_growset *set, const draw *d) {
    for (;;) {
        size_t open[LA_GROUP], m = 0;
        for (size_t i = 0; i < d->m; i++) {
            size_t row = d->rows[i], j = 0;
            if (set->stamp[row] == set->space->count || set->bound[row] <= d->floor[i])
                continue;
            while (j < m && open[j] != row) j++; /* a row may be proposed twice */
            if (j == m) open[m++] = row;
        }
        if (m == 0) return SCANT_OK;
        TRY(update_rows(set, open, m));
    }
}

/* Decides the proposals in order; returns how many were accepted. Later proposals are
 * evaluated against each new centre; a row proposed again is at distance 0. */
static size_t accept(la_growset *set, const draw *d, size_t want, size_t *rows,
                     double *d2) {
    double now[LA_GROUP];
    size_t got = 0;
    for (size_t i = 0; i < d->m; i++) now[i] = set->bound[d->rows[i]];
    for (size_t i = 0; i < d->m && got < want; i++) {
        if (!(now[i] > d->floor[i])) continue;
        size_t row = d->rows[i], later = i + 1, newest = set->space->count;
        rows[got] = row;
        d2[got++] = now[i];
        la_growset_add(set, row);
        la_space_nearest(set->space, d->rows + later, d->m - later, newest, newest + 1,
                         now + later, la_growset_scratch(set, 0));
    }
    for (size_t i = 0; i < d->m; i++) resum(set, d->rows[i] / BLOCK);
    return got;
}

scant_status la_growset_sample(la_growset *set, uint64_t seed, size_t want, size_t *rows,
                               double *d2, size_t *got) {
    uint64_t serial = 0;
    size_t m = MIN_DRAW;
    TRY(refresh(set, set->space->count));
    for (*got = 0; *got < want;) {
        double total = accumulate(set);
        int worthless = !(total > 0);
        if (worthless && set->fresh == set->space->count) break;
        if (worthless || refresh_pays(set)) {
            TRY(refresh(set, set->space->count));
            continue;
        }
        draw d;
        double spent = set->spent;
        propose(set, seed, serial, total, m, &d);
        TRY(evaluate(set, &d));
        size_t k = accept(set, &d, want - *got, rows + *got, d2 + *got);
        serial += m;
        *got += k;
        /* evaluations that led to picks do not count towards the next refresh */
        set->spent -= (set->spent - spent) * (double)k / (double)m;
        /* the next batch: the proposals that the remaining picks need at this rate */
        size_t need = (want - *got) * m / (k ? k : 1) + 1;
        m = need < 2 * m ? need : 2 * m;
        m = m < MIN_DRAW ? MIN_DRAW : m > LA_GROUP ? LA_GROUP : m;
        TRY(scant__tick(set->ctx, "picking", *got, want));
    }
    return SCANT_OK;
}
