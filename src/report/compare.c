/* SPDX-License-Identifier: Apache-2.0 */
#include "report/compare.h"

#include <math.h>
#include <string.h>

#include "report/stats.h"
#include "scant/train.h"

static const double SIGNIFICANT = 0.05;
static const double ROUNDING = 1e-12; /* relative difference of equal numbers */

/* The initial set of a run, in any order. */
typedef struct beginning {
    size_t count; /* 0: unknown */
    uint64_t sum; /* of the samples' hashes */
} beginning;

typedef struct matched { /* a seed of both strategies */
    const report_run *a, *b;
    uint64_t to; /* labels that both have */
} matched;

typedef struct comparing {
    const report_results *r;
    const report_measures *m;
    double unit;           /* 100 for accuracies, 1 for errors */
    beginning *beginnings; /* by run */
    size_t *longest;       /* by strategy: points of its longest run, */
    uint64_t *most;        /* and the most labels of a run */
    matched *seeds;
    double *a, *b, *delta; /* by seed */
    size_t *order;
} comparing;

/* ---- initial sets ------------------------------------------------------------------ */

static uint64_t hash(uint64_t x) { /* the finalizer of MurmurHash3 */
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDu;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53u;
    return x ^ x >> 33;
}

/* Hashes labels as well: other data may have the same rows in its initial set. */
static beginning beginning_of(const report_run *run) {
    beginning start = {0};
    for (; start.count < run->n_picks && !run->picks[start.count].round; start.count++) {
        const report_pick *pick = &run->picks[start.count];
        uint64_t label = 0;
        if (!isnan(pick->label)) memcpy(&label, &pick->label, sizeof label);
        start.sum += hash(hash(pick->index + 1) + label);
    }
    return start;
}

static bool related(const comparing *c, const report_run *a, const report_run *b) {
    beginning x = c->beginnings[a - c->r->runs], y = c->beginnings[b - c->r->runs];
    if (a->points->labels != b->points->labels) return false;
    return !x.count || !y.count || (x.count == y.count && x.sum == y.sum);
}

/* ---- one pair ---------------------------------------------------------------------- */

/* Moves i and j to the next seed that both have; false at the end. */
static bool next_common(const report_strategy *a, const report_strategy *b, size_t *i,
                        size_t *j) {
    while (*i < a->n_runs && *j < b->n_runs) {
        uint64_t x = a->runs[*i].seed, y = b->runs[*j].seed;
        if (x == y) return true;
        if (x < y)
            ++*i;
        else
            ++*j;
    }
    return false;
}

static scant_difference difference_of(const comparing *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        c->delta[i] = c->a[i] - c->b[i];
        if (fabs(c->delta[i]) <= ROUNDING * (fabs(c->a[i]) + fabs(c->b[i])))
            c->delta[i] = 0;
    }
    stats_paired s = stats_paired_of(c->delta, n);
    double flips = n < 2 ? (double)NAN : stats_sign_flips(c->delta, n);
    return (scant_difference){.mean_a = stats_mean(c->a, n),
                              .mean_b = stats_mean(c->b, n),
                              .mean = s.mean,
                              .low = s.low,
                              .high = s.high,
                              .t = s.t,
                              .p = s.p,
                              .p_holm = s.p,
                              .p_flips = flips,
                              .p_flips_holm = flips};
}

/* A run that used up its pool in fewer rounds is finished: it has as many labels. */
static bool is_unfinished(const comparing *c, const report_run *run) {
    return run->n_points < c->longest[run->strategy] &&
           report_last(run)->labels < c->most[run->strategy];
}

/* to: the labels that both runs have. */
static bool comparable(const comparing *c, const report_run *a, const report_run *b,
                       uint64_t to) {
    if (is_unfinished(c, a) || is_unfinished(c, b)) return false;
    return report_last(a)->labels == report_last(b)->labels || to > a->points->labels;
}

static void add_seed(const comparing *c, scant_pair *pair, matched seed) {
    uint64_t from = seed.a->points->labels;
    bool first = !pair->seeds;
    if (first || from < pair->from) pair->from = from;
    if (first || seed.to < pair->to_least) pair->to_least = seed.to;
    if (first || seed.to > pair->to_most) pair->to_most = seed.to;
    pair->cut += report_last(seed.a)->labels != report_last(seed.b)->labels;
    c->seeds[pair->seeds++] = seed;
}

/* Lists the seeds to compare, and counts the others. */
static void match(const comparing *c, scant_pair *pair) {
    const report_strategy *a = &c->r->strategies[pair->a];
    const report_strategy *b = &c->r->strategies[pair->b];
    for (size_t i = 0, j = 0; next_common(a, b, &i, &j); i++, j++) {
        matched seed = {&a->runs[i], &b->runs[j], report_last(&a->runs[i])->labels};
        uint64_t other = report_last(seed.b)->labels;
        if (other < seed.to) seed.to = other;
        if (!related(c, seed.a, seed.b))
            pair->unrelated++;
        else if (!comparable(c, seed.a, seed.b, seed.to))
            pair->others++;
        else
            add_seed(c, pair, seed);
    }
}

static scant_difference compare_seeds(const comparing *c, const scant_pair *pair,
                                      bool final) {
    for (size_t i = 0; i < pair->seeds; i++) {
        const matched *seed = &c->seeds[i];
        c->a[i] = c->unit * (final ? report_value_at(c->r, seed->a, seed->to)
                                   : report_area(c->r, seed->a, seed->to));
        c->b[i] = c->unit * (final ? report_value_at(c->r, seed->b, seed->to)
                                   : report_area(c->r, seed->b, seed->to));
    }
    return difference_of(c, pair->seeds);
}

static void count_wins(const comparing *c, scant_pair *pair) {
    const report_strategy *a = &c->r->strategies[pair->a];
    const report_strategy *b = &c->r->strategies[pair->b];
    const report_curve *levels = &c->m->curves[pair->a];
    for (size_t k = 0; k < levels->n; k++) {
        size_t n = 0;
        for (size_t i = 0, j = 0; next_common(a, b, &i, &j); i++, j++) {
            const report_point *x, *y;
            x = report_point_at(&a->runs[i], levels->levels[k].labels);
            y = report_point_at(&b->runs[j], levels->levels[k].labels);
            if (x && y && related(c, &a->runs[i], &b->runs[j]))
                c->delta[n++] = report_value(c->r, x) - report_value(c->r, y);
        }
        if (n < 2) continue;
        stats_paired s = stats_paired_of(c->delta, n);
        bool higher = c->r->regression ? s.mean < 0 : s.mean > 0;
        pair->levels++;
        if (s.p < SIGNIFICANT) (higher ? pair->wins_a++ : pair->wins_b++);
    }
}

static void compare_pair(const comparing *c, scant_pair *pair) {
    match(c, pair);
    pair->auc = compare_seeds(c, pair, false);
    pair->final = compare_seeds(c, pair, true);
    count_wins(c, pair);
}

const char *report_why_not(const scant_pair *pair) {
    if (pair->unrelated) return "began with other samples";
    return pair->others ? "runs too short" : "no seed in common";
}

/* ---- all pairs --------------------------------------------------------------------- */

/* Corrects the p value at an offset in each pair. Pairs without a test result still count
 * in the Holm correction. */
static void correct(const comparing *c, scant_pair *pairs, size_t count, double *p,
                    size_t at) {
    for (size_t i = 0; i < count; i++) {
        p[i] = *(double *)((char *)&pairs[i] + at);
        if (isnan(p[i]) && pairs[i].seeds > 1) p[i] = 1;
    }
    stats_holm(p, count, c->order);
    for (size_t i = 0; i < count; i++) {
        double *number = (double *)((char *)&pairs[i] + at);
        if (!isnan(*number)) *number = p[i];
    }
}

static scant_status compare_all(report_results *r, comparing *c, size_t baseline,
                                scant_pair *pairs, size_t *count, double *p) {
    for (size_t a = 0; a < r->n_strategies; a++)
        for (size_t b = 0; b < r->n_strategies; b++) {
            bool wanted = baseline < r->n_strategies ? b == baseline && a != b : b < a;
            if (!wanted) continue;
            TRY(scant__tick(r->arena.ctx, "comparing", a, r->n_strategies));
            pairs[*count] = (scant_pair){.a = a, .b = b};
            compare_pair(c, &pairs[(*count)++]);
        }
    correct(c, pairs, *count, p, offsetof(scant_pair, auc.p_holm));
    correct(c, pairs, *count, p, offsetof(scant_pair, auc.p_flips_holm));
    correct(c, pairs, *count, p, offsetof(scant_pair, final.p_holm));
    correct(c, pairs, *count, p, offsetof(scant_pair, final.p_flips_holm));
    return SCANT_OK;
}

scant_status report_compare(report_results *r, const report_measures *m, size_t baseline,
                            scant_pair **pairs, size_t *count) {
    scant__arena *arena = &r->arena;
    comparing c = {.r = r, .m = m, .unit = r->regression ? 1 : 100};
    size_t n = r->n_strategies, seeds = 1;
    size_t most = baseline < n ? n : n * (n - (n > 0)) / 2 + 1;
    *count = 0;
    for (size_t s = 0; s < n; s++) seeds = size_max(seeds, r->strategies[s].n_runs);
    *pairs = scant__arena_alloc(arena, most, sizeof **pairs);
    c.a = scant__arena_alloc(arena, seeds, sizeof *c.a);
    c.b = scant__arena_alloc(arena, seeds, sizeof *c.b);
    c.delta = scant__arena_alloc(arena, seeds, sizeof *c.delta);
    c.seeds = scant__arena_alloc(arena, seeds, sizeof *c.seeds);
    c.beginnings = scant__arena_alloc(arena, r->n_runs + 1, sizeof *c.beginnings);
    c.longest = scant__arena_zalloc(arena, n + 1, sizeof *c.longest);
    c.most = scant__arena_zalloc(arena, n + 1, sizeof *c.most);
    c.order = scant__arena_alloc(arena, most, sizeof *c.order);
    double *p = scant__arena_alloc(arena, most, sizeof *p);
    if (!*pairs || !c.a || !c.b || !c.delta || !c.seeds || !c.beginnings || !c.longest ||
        !c.most || !c.order || !p)
        return SCANT_ENOMEM;
    for (size_t i = 0; i < r->n_runs; i++) {
        size_t *longest = &c.longest[r->runs[i].strategy];
        c.beginnings[i] = beginning_of(&r->runs[i]);
        *longest = size_max(*longest, r->runs[i].n_points);
        uint64_t *labels = &c.most[r->runs[i].strategy],
                 last = report_last(&r->runs[i])->labels;
        if (last > *labels) *labels = last;
    }
    return compare_all(r, &c, baseline, *pairs, count, p);
}

/* ---- public ------------------------------------------------------------------------ */

/* With the arena that the comparison is in. */
typedef struct comparison {
    scant_comparison shown; /* first: the caller has its address */
    report_results results;
} comparison;

static scant_status fill(comparison *c, const char *baseline) {
    report_results *r = &c->results;
    report_measures measures;
    scant_pair *pairs;
    size_t base = r->n_strategies;
    if (baseline) base = report_strategy_find(r, baseline);
    if (baseline && base == r->n_strategies)
        return scant__fail(r->arena.ctx, SCANT_EUSAGE,
                           "there is no strategy '%s' in the results", baseline);
    const char **names =
        scant__arena_alloc(&r->arena, r->n_strategies + 1, sizeof *names);
    if (!names) return SCANT_ENOMEM;
    for (size_t i = 0; i < r->n_strategies; i++) names[i] = r->strategies[i].name;
    TRY(report_measure_runs(r, &measures));
    TRY(report_compare(r, &measures, base, &pairs, &c->shown.n_pairs));
    c->shown.strategies = names;
    c->shown.n_strategies = r->n_strategies;
    c->shown.regression = r->regression;
    c->shown.pairs = pairs;
    return SCANT_OK;
}

scant_status scant_compare(scant_ctx *ctx, const char *const *dirs, size_t n,
                           const char *baseline, scant_comparison **out) {
    *out = NULL;
    if (!n) return scant__fail(ctx, SCANT_EUSAGE, "no folder of results is given");
    comparison *c = scant__zalloc(ctx, 1, sizeof *c);
    if (!c) return SCANT_ENOMEM;
    scant_status status = report_results_open(ctx, dirs, n, &c->results);
    if (status == SCANT_OK) status = fill(c, baseline);
    if (status == SCANT_OK)
        *out = &c->shown;
    else
        scant_comparison_free(ctx, &c->shown);
    return status;
}

void scant_comparison_free(scant_ctx *ctx, scant_comparison *shown) {
    comparison *c = (comparison *)shown;
    if (!c) return;
    report_results_close(&c->results);
    scant__free(ctx, c);
}
