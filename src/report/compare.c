/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares pairs of strategies, seed by seed. What both runs of a seed share (the initial
 * set, the network's initial weights) cancels in their difference.
 *
 * A seed is used if both strategies have a run of it, and both runs began with equally
 * many labels and, if picks are known, with the same samples. Runs are compared over the
 * range of labels that both have, since a strategy may pick fewer than asked for. Runs
 * with fewer rounds and fewer labels than others of their strategy are unfinished and
 * left out.
 * Cost: seeds times levels for each pair, and at most 2^20 sums for sign flips.
 */
#include <math.h>
#include <string.h>

#include "report/measures.h"
#include "report/stats.h"

static const double SIGNIFICANT = 0.05;
static const double ROUNDING = 1e-12; /* smaller relative differences count as 0 */

/* A fingerprint of a run's initial set that does not depend on the order. */
typedef struct beginning {
    size_t count; /* 0: unknown */
    uint64_t sum; /* sum of the samples' hashes */
} beginning;

typedef struct matched { /* two runs with the same seed */
    const report_run *a, *b;
    uint64_t to;   /* labels that both have */
    bool compared; /* whether areas and final values are compared, not only levels */
} matched;

typedef struct comparing {
    const report_results *r;
    const report_measures *m;
    double unit;           /* 100 for accuracies, 1 for errors */
    beginning *beginnings; /* fingerprints by run */
    matched *seeds;        /* seeds of the pair with related runs */
    size_t n_seeds;
    double *a, *b, *delta; /* values of a pair, by seed */
    size_t *order;
} comparing;

/* ---- initial sets ------------------------------------------------------------------ */

static uint64_t hash(uint64_t x) { /* the finalizer of MurmurHash3 */
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDu;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53u;
    return x ^ x >> 33;
}

/* Hashes labels as well: initial sets of other data may have the same row numbers. */
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

/* A run with fewer rounds but as many labels as others is finished: its pool is empty. */
static bool is_unfinished(const comparing *c, const report_run *run) {
    const report_strategy *strategy = &c->r->strategies[run->strategy];
    return run->n_points < strategy->most_points &&
           report_last(run)->labels < strategy->most_labels;
}

static bool comparable(const comparing *c, const matched *seed) {
    if (is_unfinished(c, seed->a) || is_unfinished(c, seed->b)) return false;
    return report_last(seed->a)->labels == report_last(seed->b)->labels ||
           seed->to > seed->a->points->labels;
}

static void add_seed(scant_pair *pair, const matched *seed) {
    uint64_t from = seed->a->points->labels;
    bool first = !pair->seeds++;
    if (first || from < pair->from) pair->from = from;
    if (first || seed->to < pair->to_least) pair->to_least = seed->to;
    if (first || seed->to > pair->to_most) pair->to_most = seed->to;
    pair->cut += report_last(seed->a)->labels != report_last(seed->b)->labels;
}

/* Lists the seeds for which both strategies have related runs. */
static void match(comparing *c, scant_pair *pair) {
    const report_strategy *a = &c->r->strategies[pair->a];
    const report_strategy *b = &c->r->strategies[pair->b];
    c->n_seeds = 0;
    for (size_t i = 0, j = 0; i < a->n_runs && j < b->n_runs;) {
        matched seed = {.a = &a->runs[i], .b = &b->runs[j]};
        i += seed.a->seed <= seed.b->seed;
        j += seed.b->seed <= seed.a->seed;
        if (seed.a->seed != seed.b->seed) continue;
        if (!related(c, seed.a, seed.b)) {
            pair->unrelated++;
            continue;
        }
        uint64_t x = report_last(seed.a)->labels, y = report_last(seed.b)->labels;
        seed.to = x < y ? x : y;
        seed.compared = comparable(c, &seed);
        if (seed.compared)
            add_seed(pair, &seed);
        else
            pair->others++;
        c->seeds[c->n_seeds++] = seed;
    }
}

static scant_difference compare_seeds(const comparing *c,
                                      double (*value)(const report_results *r,
                                                      const report_run *run,
                                                      uint64_t labels)) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_seeds; i++) {
        const matched *seed = &c->seeds[i];
        if (!seed->compared) continue;
        c->a[n] = c->unit * value(c->r, seed->a, seed->to);
        c->b[n++] = c->unit * value(c->r, seed->b, seed->to);
    }
    return difference_of(c, n);
}

static void count_wins(const comparing *c, scant_pair *pair) {
    const report_curve *levels = &c->m->curves[pair->a];
    for (size_t k = 0; k < levels->n; k++) {
        size_t n = 0;
        for (size_t i = 0; i < c->n_seeds; i++) {
            uint64_t labels = levels->levels[k].labels;
            const report_point *x = report_point_at(c->seeds[i].a, labels);
            const report_point *y = report_point_at(c->seeds[i].b, labels);
            if (x && y) c->delta[n++] = report_value(c->r, x) - report_value(c->r, y);
        }
        if (n < 2) continue;
        stats_paired s = stats_paired_of(c->delta, n);
        bool higher = c->r->regression ? s.mean < 0 : s.mean > 0;
        pair->levels++;
        if (s.p < SIGNIFICANT) (higher ? pair->wins_a++ : pair->wins_b++);
    }
}

static void compare_pair(comparing *c, scant_pair *pair) {
    match(c, pair);
    pair->auc = compare_seeds(c, report_area);
    pair->final = compare_seeds(c, report_value_at);
    count_wins(c, pair);
}

const char *report_why_not(const scant_pair *pair) {
    if (pair->unrelated) return "began with other samples";
    return pair->others ? "runs too short" : "no seed in common";
}

/* ---- all pairs --------------------------------------------------------------------- */

/* Applies the Holm correction to the p value at offset `at` of each pair. Pairs of two or
 * more seeds without a test result (NaN) count as p = 1. */
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
    comparing c = {.r = r, .m = m, .unit = report_unit(r)};
    size_t n = r->n_strategies, seeds = 1;
    size_t most = baseline < n ? n : n * (n - (n > 0)) / 2 + 1;
    *count = 0;
    for (size_t s = 0; s < n; s++) seeds = size_max(seeds, r->strategies[s].n_runs);
    *pairs = TRY_NEW(arena, scant_pair, most);
    c.a = TRY_NEW(arena, double, seeds);
    c.b = TRY_NEW(arena, double, seeds);
    c.delta = TRY_NEW(arena, double, seeds);
    c.seeds = TRY_NEW(arena, matched, seeds);
    c.beginnings = TRY_NEW(arena, beginning, r->n_runs + 1);
    c.order = TRY_NEW(arena, size_t, most);
    double *p = TRY_NEW(arena, double, most);
    for (size_t i = 0; i < r->n_runs; i++) c.beginnings[i] = beginning_of(&r->runs[i]);
    return compare_all(r, &c, baseline, *pairs, count, p);
}

/* ---- public functions -------------------------------------------------------------- */

/* A comparison, and the results whose arena holds its lists. */
typedef struct comparison {
    scant_comparison shown; /* must be first: scant_comparison_free() casts it */
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
    const char **names = TRY_NEW(&r->arena, const char *, r->n_strategies + 1);
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
    NEED(ctx);
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
