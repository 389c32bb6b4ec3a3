/* SPDX-License-Identifier: Apache-2.0 */
#include "report/compare.h"

#include <math.h>
#include <string.h>

#include "report/stats.h"

static const double SIGNIFICANT = 0.05;

typedef struct comparing {
    const report_results *r;
    const report_measures *m;
    double unit;           /* percent of accuracy; errors as they are */
    double *a, *b, *delta; /* a seed each */
    size_t *order;
} comparing;

/* ---- one pair ---------------------------------------------------------------------- */

/* Calls up the next seed that both have; false at the end. */
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
    for (size_t i = 0; i < n; i++) c->delta[i] = c->a[i] - c->b[i];
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

static bool same_span(const report_run *a, const report_run *b) {
    return a->points->labels == b->points->labels &&
           report_last(a)->labels == report_last(b)->labels;
}

/* The values of both, seed by seed: of areas, or of the last points. */
static size_t collect(const comparing *c, scant_pair *pair, bool final) {
    const report_strategy *a = &c->r->strategies[pair->a];
    const report_strategy *b = &c->r->strategies[pair->b];
    size_t n = 0;
    pair->others = 0;
    for (size_t i = 0, j = 0; next_common(a, b, &i, &j); i++, j++) {
        const report_run *x = &a->runs[i], *y = &b->runs[j];
        if (!same_span(x, y)) {
            pair->others++;
            continue;
        }
        c->a[n] = c->unit * (final ? report_value(c->r, report_last(x))
                                   : c->m->area[x - c->r->runs]);
        c->b[n] = c->unit * (final ? report_value(c->r, report_last(y))
                                   : c->m->area[y - c->r->runs]);
        n++;
    }
    return n;
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
            if (x && y) c->delta[n++] = report_value(c->r, x) - report_value(c->r, y);
        }
        if (n < 2) continue;
        stats_paired s = stats_paired_of(c->delta, n);
        bool higher = c->r->regression ? s.mean < 0 : s.mean > 0;
        pair->levels++;
        if (s.p < SIGNIFICANT) (higher ? pair->wins_a++ : pair->wins_b++);
    }
}

static void compare_pair(const comparing *c, scant_pair *pair) {
    pair->seeds = collect(c, pair, false);
    pair->auc = difference_of(c, pair->seeds);
    collect(c, pair, true);
    pair->final = difference_of(c, pair->seeds);
    count_wins(c, pair);
}

/* ---- all pairs --------------------------------------------------------------------- */

/* p is the offset of a number of a pair, corrected in place. */
static void correct(const comparing *c, scant_pair *pairs, size_t count, double *p,
                    size_t at) {
    for (size_t i = 0; i < count; i++) p[i] = *(double *)((char *)&pairs[i] + at);
    stats_holm(p, count, c->order);
    for (size_t i = 0; i < count; i++) *(double *)((char *)&pairs[i] + at) = p[i];
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
    c.order = scant__arena_alloc(arena, most, sizeof *c.order);
    double *p = scant__arena_alloc(arena, most, sizeof *p);
    if (!*pairs || !c.a || !c.b || !c.delta || !c.order || !p) return SCANT_ENOMEM;
    return compare_all(r, &c, baseline, *pairs, count, p);
}

/* ---- for others -------------------------------------------------------------------- */

/* The arena that all of it is in goes with it. */
typedef struct comparison {
    scant_comparison shown; /* first: the caller's pointer is to it */
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
