/* SPDX-License-Identifier: Apache-2.0 */
#include "report/measures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/results_int.h"
#include "report/stats.h"

enum { MOST_LABELS = 100000 }; /* most classes */

/* ---- mean curves ------------------------------------------------------------------- */

typedef struct observation { /* a run's value at a number of labels */
    uint64_t labels;
    size_t run;
    double value;
    double before, after; /* slope to the previous and to the next value of the run */
    bool first;           /* the first of its run */
} observation;

static int observation_order(const void *a, const void *b) {
    const observation *x = a, *y = b;
    if (x->labels != y->labels) return x->labels < y->labels ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

/* Returns a value of a point; NaN: unknown. */
typedef double (*value_of)(const report_results *r, const report_point *p);

static double lambda_of(const report_results *r, const report_point *p) {
    (void)r;
    return p->lambda > 0 ? log10(p->lambda) : (double)NAN;
}

static double ratio_of(const report_results *r, const report_point *p) {
    (void)r;
    return fabs(p->ratio) <= 1e100 ? p->ratio
                                   : (double)NAN; /* so that squares are finite */
}

/* Lists a strategy's values; returns their count. If several points of a run have the
 * same number of labels, the last one is used. */
static size_t collect(const report_results *r, const report_strategy *s, value_of value,
                      observation *out) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_runs; i++) {
        const report_run *run = &s->runs[i];
        for (size_t k = 0; k < run->n_points; k++) {
            const report_point *p = &run->points[k];
            if (k + 1 < run->n_points && p[1].labels == p->labels) continue;
            if (isnan(value(r, p))) continue;
            out[n] = (observation){.labels = p->labels,
                                   .run = i,
                                   .value = value(r, p),
                                   .first = !n || out[n - 1].run != i};
            if (!out[n].first) {
                double labels = (double)(out[n].labels - out[n - 1].labels);
                out[n].before = (out[n].value - out[n - 1].value) / labels;
                out[n - 1].after = out[n].before;
            }
            n++;
        }
    }
    return n;
}

/* The mean over all runs in their common range of labels. The sum is extrapolated from
 * level to level by the sum of slopes, and computed anew where all runs have a value. */
static void sum_common(const observation *seen, size_t n, size_t runs, uint64_t from,
                       uint64_t to, report_curve *out) {
    double sum = 0, rate = 0;
    uint64_t before = 0;
    for (size_t i = 0, end; i < n && seen[i].labels <= to; i = end) {
        double here = 0, after = 0;
        sum += rate * (double)(seen[i].labels - before);
        before = seen[i].labels;
        for (end = i; end < n && seen[end].labels == seen[i].labels; end++) {
            sum += seen[end].first ? seen[end].value : 0;
            rate += seen[end].after - seen[end].before;
            here += seen[end].value;
            after += seen[end].after;
        }
        if (end - i == runs) sum = here, rate = after;
        if (seen[i].labels >= from)
            out->levels[out->n++] = (report_level){
                .labels = seen[i].labels, .mean = sum / (double)runs, .runs = runs};
    }
}

static scant_status measure_common(report_results *r, size_t strategy,
                                   const observation *seen, size_t n, double *values,
                                   report_measures *m) {
    const report_strategy *s = &r->strategies[strategy];
    const report_curve *curve = &m->curves[strategy];
    uint64_t from = 0, to = UINT64_MAX;
    for (size_t i = 0; i < s->n_runs; i++) {
        uint64_t first = s->runs[i].points->labels,
                 last = report_last(&s->runs[i])->labels;
        if (first > from) from = first;
        if (last < to) to = last;
    }
    if (from > to) {
        m->common_curves[strategy] = *curve;
        m->ends[strategy] = curve->levels[curve->n - 1];
        return SCANT_OK;
    }
    report_curve *common = &m->common_curves[strategy];
    common->levels = TRY_NEW(&r->arena, report_level, curve->n);
    sum_common(seen, n, s->n_runs, from, to, common);
    for (size_t i = 0; i < s->n_runs; i++)
        values[i] = report_value_at(r, &s->runs[i], to);
    m->ends[strategy] = (report_level){.labels = to,
                                       .mean = common->levels[common->n - 1].mean,
                                       .std = stats_std(values, s->n_runs),
                                       .runs = s->n_runs};
    return SCANT_OK;
}

/* Makes a level for each number of labels; sorts seen. */
static scant_status level(report_results *r, observation *seen, size_t n, double *values,
                          report_curve *out) {
    size_t levels = 0;
    qsort(seen, n, sizeof *seen, observation_order);
    for (size_t i = 0; i < n; i++) levels += !i || seen[i].labels != seen[i - 1].labels;
    out->levels = TRY_NEW(&r->arena, report_level, levels + 1);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && seen[end].labels == seen[i].labels; end++)
            values[end - i] = seen[end].value;
        out->levels[out->n++] = (report_level){.labels = seen[i].labels,
                                               .mean = stats_mean(values, end - i),
                                               .std = stats_std(values, end - i),
                                               .runs = end - i};
    }
    return SCANT_OK;
}

static scant_status measure_curve(report_results *r, size_t strategy, observation *seen,
                                  double *values, report_measures *m) {
    static const value_of theories[REPORT_THEORIES] = {lambda_of, ratio_of};
    const report_strategy *s = &r->strategies[strategy];
    for (size_t i = 0; i < REPORT_THEORIES; i++)
        TRY(level(r, seen, collect(r, s, theories[i], seen), values,
                  &m->theory[i][strategy]));
    size_t n = collect(r, s, report_value, seen);
    TRY(level(r, seen, n, values, &m->curves[strategy]));
    return measure_common(r, strategy, seen, n, values, m);
}

static scant_status measure_curves(report_results *r, report_measures *m) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = r->arena.ctx};
    observation *seen = TRY_NEW(&arena, observation, r->n_points + 1);
    double *values = TRY_NEW(&arena, double, r->n_points + 1);
    for (size_t s = 0; s < r->n_strategies; s++)
        TRY(measure_curve(r, s, seen, values, m));
    return SCANT_OK;
}

/* ---- areas and time ---------------------------------------------------------------- */

double report_value_at(const report_results *r, const report_run *run, uint64_t labels) {
    const report_point *p = report_point_before(run, labels);
    if (!p || labels > report_last(run)->labels) return NAN;
    if (p->labels == labels) return report_value(r, p);
    double share = (double)(labels - p->labels) / (double)(p[1].labels - p->labels);
    return report_value(r, p) + share * (report_value(r, p + 1) - report_value(r, p));
}

double report_area(const report_results *r, const report_run *run, uint64_t labels) {
    const report_point *p = run->points, *last = report_last(run);
    double area = 0, span = (double)(labels - p->labels);
    if (labels == p->labels) return report_value_at(r, run, labels);
    for (; p < last && p[1].labels <= labels; p++)
        area += (double)(p[1].labels - p->labels) / span *
                (report_value(r, p) / 2 + report_value(r, p + 1) / 2);
    if (p->labels < labels)
        area += (double)(labels - p->labels) / span *
                (report_value(r, p) / 2 + report_value_at(r, run, labels) / 2);
    return area;
}

report_spread report_spread_of(const double *x, size_t n) {
    return (report_spread){n ? stats_mean(x, n) : 0, stats_std(x, n), n};
}

static double total_seconds(const report_run *run, bool training) {
    double sum = 0;
    for (size_t i = 0; i < run->n_points; i++)
        sum += training ? run->points[i].train_seconds : run->points[i].select_seconds;
    return sum;
}

static void sum_runs(const report_results *r, report_measures *m) {
    for (size_t s = 0; s < r->n_strategies; s++) {
        const report_strategy *strategy = &r->strategies[s];
        double *areas = &m->area[strategy->runs - r->runs];
        double n = (double)strategy->n_runs;
        for (size_t i = 0; i < strategy->n_runs; i++) {
            areas[i] = report_area(r, &strategy->runs[i],
                                   report_last(&strategy->runs[i])->labels);
            m->train_seconds[s] += total_seconds(&strategy->runs[i], true) / n;
            m->select_seconds[s] += total_seconds(&strategy->runs[i], false) / n;
        }
        m->areas[s] = report_spread_of(areas, strategy->n_runs);
    }
}

double report_labels_to_reach(const report_results *r, const report_curve *curve,
                              double goal) {
    double sign = r->regression ? -1 : 1;
    for (size_t i = 0; i < curve->n; i++) {
        const report_level *at = &curve->levels[i];
        if (sign * at->mean < sign * goal) continue;
        if (!i) return (double)at->labels;
        double before = at[-1].mean, from = (double)at[-1].labels;
        double share = (goal - before) / (at->mean - before);
        return from + share * ((double)at->labels - from);
    }
    return NAN;
}

/* ---- classes ----------------------------------------------------------------------- */

/* Returns the number of classes; 0 if labels are not classes. */
static size_t count_labels(const report_results *r) {
    double most = -1;
    if (r->regression) return 0;
    for (size_t i = 0; i < r->n_picks; i++) {
        double label = r->picks[i].label;
        if (isnan(label) || label == -1) continue;
        if (label < 0 || label >= MOST_LABELS || label != floor(label)) return 0;
        most = fmax(most, label);
    }
    return most < 0 ? 0 : size_max((size_t)most + 1, r->n_classes);
}

/* Sets balance to the class shares of the training data if classes.csv has counts, else
 * to those of random's picks. */
static scant_status find_balance(report_results *r, report_measures *m) {
    size_t n = m->n_labels, random = report_strategy_find(r, "random");
    double sum = 0;
    bool known = r->n_classes == n;
    double *balance = TRY_NEW(&r->arena, double, n);
    for (size_t c = 0; c < n && known; c++) known = !isnan(r->classes[c].count);
    if (!known && random == r->n_strategies) return SCANT_OK;
    for (size_t c = 0; c < n; c++) {
        balance[c] = known ? r->classes[c].count : m->picked[random * n + c];
        sum += balance[c];
    }
    if (!(sum > 0)) return SCANT_OK;
    for (size_t c = 0; c < n; c++) balance[c] /= sum;
    m->balance = balance;
    m->balance_of = known ? "the training data" : "random's picks";
    return SCANT_OK;
}

static scant_status measure_classes(report_results *r, report_measures *m) {
    m->n_labels = count_labels(r);
    if (!m->n_labels) return SCANT_OK;
    m->picked = TRY_ZERO(&r->arena, double, size_mul(r->n_strategies, m->n_labels));
    for (size_t i = 0; i < r->n_runs; i++) {
        const report_run *run = &r->runs[i];
        for (size_t k = 0; k < run->n_picks; k++) {
            const report_pick *pick = &run->picks[k];
            if (pick->round && pick->label >= 0)
                m->picked[run->strategy * m->n_labels + (size_t)pick->label]++;
        }
    }
    return find_balance(r, m);
}

/* ---- overlaps ---------------------------------------------------------------------- */

typedef struct member { /* a row of a strategy's labelled set */
    uint64_t index;
    uint64_t since; /* number of labels when it was added */
} member;

typedef struct member_set {
    member *items; /* sorted by index, without duplicates */
    size_t n;
} member_set;

static int member_order(const void *a, const void *b) {
    const member *x = a, *y = b;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return (x->since > y->since) - (x->since < y->since);
}

/* members: a buffer for the strategy's picks, which then holds the set. */
static member_set make_set(const report_strategy *s, member *members) {
    member_set set = {.items = members};
    size_t n = 0;
    for (size_t i = 0; i < s->n_runs; i++) {
        const report_run *run = &s->runs[i];
        const report_point *point = run->points;
        for (size_t k = 0; k < run->n_picks; k++) {
            /* Every round with picks has a point. */
            while (point->round < run->picks[k].round) point++;
            members[n++] = (member){run->picks[k].index, point->labels};
        }
    }
    qsort(members, n, sizeof *members, member_order);
    for (size_t i = 0; i < n; i++) /* keeps the earliest entry of each row */
        if (!i || members[i].index != members[i - 1].index)
            set.items[set.n++] = members[i];
    return set;
}

size_t report_level_from(const report_curve *curve, uint64_t labels) {
    return REPORT_COUNT_FIRST(curve->n, i, curve->levels[i].labels < labels);
}

const report_level *report_level_at(const report_curve *curve, uint64_t labels) {
    size_t at = report_level_from(curve, labels);
    bool there = at < curve->n && curve->levels[at].labels == labels;
    return there ? &curve->levels[at] : NULL;
}

static int overlap_order(const void *x, const void *y) {
    const report_overlap *p = x, *q = y;
    if (p->labels != q->labels) return p->labels < q->labels ? -1 : 1;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

/* both, any: numbers of samples added to the intersection and to the union at each level
 * of the curve; the last entry counts those added later. */
static void count_pair(member_set a, member_set b, const report_curve *curve,
                       size_t *both, size_t *any) {
    size_t i = 0, j = 0;
    memset(both, 0, (curve->n + 1) * sizeof *both);
    memset(any, 0, (curve->n + 1) * sizeof *any);
    while (i < a.n || j < b.n) {
        bool left = j == b.n || (i < a.n && a.items[i].index <= b.items[j].index);
        bool right = i == a.n || (j < b.n && b.items[j].index <= a.items[i].index);
        size_t x = left ? report_level_from(curve, a.items[i++].since) : curve->n;
        size_t y = right ? report_level_from(curve, b.items[j++].since) : curve->n;
        if (left && right) both[size_max(x, y)]++;
        any[size_min(x, y)]++;
    }
}

typedef struct pair_work {
    member_set *sets;   /* by strategy */
    size_t *both, *any; /* an entry for each level of a curve, and one more */
} pair_work;

static void measure_pair(const pair_work *w, size_t a, size_t b, report_measures *m) {
    const report_curve *curve = &m->curves[a];
    size_t common = 0, all = 0;
    count_pair(w->sets[a], w->sets[b], curve, w->both, w->any);
    for (size_t i = 0; i < curve->n; i++) {
        uint64_t labels = curve->levels[i].labels;
        common += w->both[i];
        all += w->any[i];
        if (!report_level_at(&m->curves[b], labels)) continue;
        double iou = all ? (double)common / (double)all : 1;
        m->overlaps[m->n_overlaps++] = (report_overlap){labels, a, b, iou};
    }
}

static scant_status measure_overlaps(report_results *r, report_measures *m) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = r->arena.ctx};
    size_t n = r->n_strategies, most = 0, all = 0;
    pair_work w = {0};
    if (!r->n_picks || n < 2) return SCANT_OK;
    member *members = TRY_NEW(&arena, member, r->n_picks);
    w.sets = TRY_NEW(&arena, member_set, n);
    for (size_t s = 0; s < n; s++) {
        const report_strategy *strategy = &r->strategies[s];
        w.sets[s] = make_set(strategy, members);
        for (size_t i = 0; i < strategy->n_runs; i++)
            members += strategy->runs[i].n_picks;
        most = size_max(most, m->curves[s].n + 1);
        all = size_add(all, size_mul(n - 1 - s, m->curves[s].n));
    }
    w.both = TRY_NEW(&arena, size_t, most);
    w.any = TRY_NEW(&arena, size_t, most);
    m->overlaps = TRY_NEW(&r->arena, report_overlap, all + 1);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            TRY(scant__tick(r->arena.ctx, "overlaps", a, n));
            measure_pair(&w, a, b, m);
        }
    qsort(m->overlaps, m->n_overlaps, sizeof *m->overlaps, overlap_order);
    return SCANT_OK;
}

/* ---- all measures ------------------------------------------------------------------ */

scant_status report_measure_runs(report_results *r, report_measures *out) {
    scant__arena *arena = &r->arena;
    size_t n = r->n_strategies + 1;
    *out = (report_measures){0};
    out->curves = TRY_ZERO(arena, report_curve, n);
    out->common_curves = TRY_ZERO(arena, report_curve, n);
    out->ends = TRY_ZERO(arena, report_level, n);
    for (size_t i = 0; i < REPORT_THEORIES; i++)
        out->theory[i] = TRY_ZERO(arena, report_curve, n);
    out->area = TRY_ZERO(arena, double, r->n_runs + 1);
    out->areas = TRY_ZERO(arena, report_spread, n);
    out->train_seconds = TRY_ZERO(arena, double, n);
    out->select_seconds = TRY_ZERO(arena, double, n);
    TRY(measure_curves(r, out));
    sum_runs(r, out);
    return SCANT_OK;
}

scant_status report_measure(report_results *r, report_measures *out) {
    TRY(report_measure_runs(r, out));
    TRY(measure_classes(r, out));
    TRY(report_measure_reliability(r, out));
    TRY(report_measure_trainings(r, &out->trainings));
    return measure_overlaps(r, out);
}
