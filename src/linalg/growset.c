/* SPDX-License-Identifier: Apache-2.0 */
#include "linalg/growset.h"

#include <math.h>
#include <string.h>

#include "core/parfor.h"
#include "core/rng.h"

enum {
    BLOCK = 256, /* rows that share a maximum and a sum */
    CHUNK = 4,   /* blocks that a worker refreshes at a time */
    FIRST_LOOK =
        64,      /* centres of a large starting set that all rows see before picking */
    LOOK = 512,  /* centres a row sees at most before others are considered again */
    MIN_DRAW = 4 /* proposals a batch at least; LA_GROUP at most */
};

#define TAKEN (-1.0)

/* Pairs for single rows cost more than in a refresh: rows lie apart, one thread works. */
static const double SINGLE_PRICE = 3.0;

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
    set->bound = scant__arena_alloc(arena, n, sizeof *set->bound);
    set->stamp = scant__arena_zalloc(arena, n, sizeof *set->stamp);
    set->top = scant__arena_zalloc(arena, blocks, sizeof *set->top);
    set->sum = scant__arena_zalloc(arena, blocks, sizeof *set->sum);
    set->before = scant__arena_zalloc(arena, blocks, sizeof *set->before);
    set->scratch = scant__arena_alloc(arena, set->ctx->threads, set->scratch_size);
    if (!set->bound || !set->stamp || !set->top || !set->sum || !set->before ||
        !set->scratch)
        return SCANT_ENOMEM;
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

/* ---- refreshing all rows --------------------------------------------------------------
 */

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

static scant_status refresh(la_growset *set, size_t to) {
    refresh_job job = {set, to};
    size_t chunks = (set->blocks + CHUNK - 1) / CHUNK;
    TRY(scant__parfor(set->ctx, NULL, chunks, refresh_chunk, &job));
    set->fresh = to;
    set->spent = 0;
    return SCANT_OK;
}

/* Whether single rows have cost as much as bringing all rows up to date. */
static int refresh_pays(const la_growset *set) {
    double price = (double)set->active * (double)(set->space->count - set->fresh);
    return set->spent * SINGLE_PRICE >= price && price > 0;
}

/* Sorts rows by how many centres they have seen. order has m entries. */
static void by_stamp(const la_growset *set, const size_t *rows, size_t m, size_t *order) {
    for (size_t i = 0; i < m; i++) {
        size_t j = i;
        for (; j > 0 && set->stamp[rows[order[j - 1]]] > set->stamp[rows[i]]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

/* Brings rows (m <= LA_GROUP) up to the first `to` centres: best gets the distances,
 * bounds are left alone. Rows are taken together, so that a centre is read once for many,
 * as long as their stamps are alike; the lowest counts for all: seeing a centre twice
 * changes nothing. */
static void look(la_growset *set, const size_t *rows, size_t m, size_t to, double *best) {
    size_t order[LA_GROUP], group[LA_GROUP];
    double d2[LA_GROUP];
    by_stamp(set, rows, m, order);
    for (size_t i = 0; i < m;) {
        size_t from = set->stamp[rows[order[i]]], slack = (to - from) / 4, k = 0;
        for (; i + k < m && set->stamp[rows[order[i + k]]] <= from + slack; k++) {
            group[k] = rows[order[i + k]];
            d2[k] = set->bound[group[k]];
        }
        la_space_nearest(set->space, group, k, from, to, d2, la_growset_scratch(set, 0));
        set->spent += (double)(k * (to - from));
        for (size_t j = 0; j < k; j++) best[order[i + j]] = d2[j];
        i += k;
    }
}

/* ---- farthest first -------------------------------------------------------------------
 */

static size_t farthest_bound(const la_growset *set) {
    size_t block = la_argmax(set->top, set->blocks), first = block * BLOCK;
    return first + la_argmax(set->bound + first, block_rows(set, block));
}

/* Takes out the rows with the largest bounds, down to the first that is up to date.
 * Returns how many; 0: that one is the farthest, and in *farthest. */
static size_t take_promising(la_growset *set, size_t *rows, double *bounds,
                             size_t *farthest) {
    size_t m = 0;
    while (m < LA_GROUP / 2) {
        size_t row = farthest_bound(set);
        if (set->bound[row] < 0) break;
        if (set->stamp[row] == set->space->count) {
            if (m == 0) *farthest = row;
            break;
        }
        rows[m] = row;
        bounds[m++] = set->bound[row];
        set->bound[row] = TAKEN;
        retop(set, row / BLOCK);
    }
    return m;
}

static void look_at_promising(la_growset *set, const size_t *rows, const double *bounds,
                              size_t m) {
    double best[LA_GROUP];
    size_t oldest = set->space->count;
    for (size_t i = 0; i < m; i++) {
        set->bound[rows[i]] = bounds[i];
        if (set->stamp[rows[i]] < oldest) oldest = set->stamp[rows[i]];
    }
    size_t to = set->space->count - oldest > LOOK ? oldest + LOOK : set->space->count;
    look(set, rows, m, to, best);
    for (size_t i = 0; i < m; i++) {
        size_t row = rows[i], block = row / BLOCK;
        set->bound[row] = best[i];
        if (set->stamp[row] < to) set->stamp[row] = (uint32_t)to;
        if (best[i] > set->top[block]) set->top[block] = best[i];
    }
}

scant_status la_growset_farthest(la_growset *set, size_t want, size_t *rows, double *d2,
                                 size_t *got) {
    size_t known = set->space->count;
    TRY(refresh(set, known < FIRST_LOOK ? known : FIRST_LOOK));
    for (*got = 0; *got < want && set->active > 0;) {
        size_t promising[LA_GROUP], farthest = 0;
        double bounds[LA_GROUP];
        size_t m = take_promising(set, promising, bounds, &farthest);
        if (m > 0) {
            look_at_promising(set, promising, bounds, m);
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

/* ---- D^2 sampling ---------------------------------------------------------------------
 */

/* Running sums of the blocks' sums; returns the total. */
static double accumulate(la_growset *set) {
    double total = 0;
    for (size_t i = 0; i < set->blocks; i++) set->before[i] = total, total += set->sum[i];
    return total;
}

/* The first row whose running sum of bounds exceeds at, which is below the total. */
static size_t row_at(const la_growset *set, double at) {
    size_t low = 0, high = set->blocks; /* the last block that starts at or before at */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (set->before[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    while (low > 0 && !(set->sum[low] > 0)) low--; /* only where rounding met the total */
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
    size_t rows[LA_GROUP];
    double bound[LA_GROUP]; /* when drawn */
    double d2[LA_GROUP];    /* now */
    size_t m;
} draw;

static void propose(la_growset *set, const scant__rng *rng, uint64_t serial, double total,
                    size_t m, draw *out) {
    out->m = m;
    for (size_t i = 0; i < m; i++) {
        out->rows[i] = row_at(set, scant__rng_unit(rng, serial + i) * total);
        out->bound[i] = set->bound[out->rows[i]];
    }
    look(set, out->rows, m, set->space->count, out->d2);
}

/* Keeps what was learnt of the rows that were not taken. */
static void remember(la_growset *set, const draw *d, size_t seen) {
    for (size_t i = 0; i < d->m; i++) {
        size_t row = d->rows[i];
        if (set->bound[row] >= 0) {
            set->bound[row] = d->d2[i] < set->bound[row] ? d->d2[i] : set->bound[row];
            if (set->stamp[row] < seen) set->stamp[row] = (uint32_t)seen;
        }
    }
    for (size_t i = 0; i < d->m; i++) resum(set, d->rows[i] / BLOCK);
}

/* Goes through the proposals in order; returns how many were accepted. */
static size_t accept(la_growset *set, const scant__rng *rng, uint64_t serial, draw *d,
                     size_t want, size_t *rows, double *d2) {
    size_t got = 0;
    for (size_t i = 0; i < d->m && got < want; i++) {
        if (!(scant__rng_unit(rng, serial + i) * d->bound[i] < d->d2[i])) continue;
        size_t row = d->rows[i], later = i + 1, newest = set->space->count;
        rows[got] = row;
        d2[got++] = d->d2[i];
        la_growset_add(set, row);
        la_space_nearest(set->space, d->rows + later, d->m - later, newest, newest + 1,
                         d->d2 + later, la_growset_scratch(set, 0));
        for (size_t j = later; j < d->m; j++)
            if (d->rows[j] == row) d->d2[j] = 0; /* drawn twice, taken once */
    }
    return got;
}

scant_status la_growset_sample(la_growset *set, uint64_t seed, double zero, size_t want,
                               size_t *rows, double *d2, size_t *got) {
    const scant__rng proposing = {seed, SCANT__RNG_PROPOSE};
    const scant__rng accepting = {seed, SCANT__RNG_ACCEPT};
    uint64_t serial = 0;
    size_t m = MIN_DRAW;
    TRY(refresh(set, set->space->count));
    for (*got = 0; *got < want;) {
        double total = accumulate(set);
        int worthless = !(total > zero);
        if (worthless && set->fresh == set->space->count) break;
        if (worthless || refresh_pays(set)) {
            TRY(refresh(set, set->space->count));
            continue;
        }
        draw d;
        size_t seen = set->space->count;
        double spent = set->spent;
        propose(set, &proposing, serial, total, m, &d);
        size_t k =
            accept(set, &accepting, serial, &d, want - *got, rows + *got, d2 + *got);
        remember(set, &d, seen);
        serial += m;
        *got += k;
        /* what led to picks was not wasted */
        set->spent -= (set->spent - spent) * (double)k / (double)m;
        /* next time about as many proposals as picks still wanted, at this rate */
        size_t need = (want - *got) * m / (k ? k : 1) + 1;
        m = need < 2 * m ? need : 2 * m;
        m = m < MIN_DRAW ? MIN_DRAW : m > LA_GROUP ? LA_GROUP : m;
        TRY(scant__tick(set->ctx, "picking", *got, want));
    }
    return SCANT_OK;
}
