/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns runs to strategies when all folders are read, and points, picks and bins to
 * runs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/results_int.h"

typedef struct order_key {
    const report_raw_run *run;
    size_t at;
} order_key;

/* The order of two lists of numbers. */
static int compare(const uint64_t *a, const uint64_t *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return a[i] > b[i] ? 1 : -1;
    return 0;
}

static int by_name_and_seed(const void *a, const void *b) {
    const order_key *x = a, *y = b;
    const uint64_t p[] = {x->run->name, x->run->seed, x->at};
    const uint64_t q[] = {y->run->name, y->run->seed, y->at};
    return compare(p, q, 3);
}

static int by_strategy_and_seed(const void *a, const void *b) {
    const order_key *x = a, *y = b;
    const uint64_t p[] = {x->run->strategy, x->run->seed, x->at};
    const uint64_t q[] = {y->run->strategy, y->run->seed, y->at};
    return compare(p, q, 3);
}

static int point_order(const void *a, const void *b) {
    const report_raw_point *x = a, *y = b;
    const uint64_t p[] = {x->run, x->point.round, x->line};
    const uint64_t q[] = {y->run, y->point.round, y->line};
    return compare(p, q, 3);
}

static int pick_order(const void *a, const void *b) {
    const report_pick *x = a, *y = b;
    const uint64_t p[] = {x->run, x->round, x->rank, x->index};
    const uint64_t q[] = {y->run, y->round, y->rank, y->index};
    return compare(p, q, 4);
}

static int bin_order(const void *a, const void *b) {
    const report_bin *x = a, *y = b;
    const uint64_t p[] = {x->run, x->round, x->when, x->bin, x->line};
    const uint64_t q[] = {y->run, y->round, y->when, y->bin, y->line};
    return compare(p, q, 5);
}

/* One pass if the items are sorted, as in most files. */
static void sort(void *items, size_t n, size_t size,
                 int (*order)(const void *, const void *)) {
    const char *at = items;
    for (size_t i = 1; i < n; i++, at += size)
        if (order(at, at + size) > 0) {
            qsort(items, n, size, order);
            return;
        }
}

/* ---- strategies -------------------------------------------------------------------- */

typedef struct merging {
    report_results *out;
    report_raw *raw;
    const char *(*name_of)(const void *names, size_t i);
    const void *names;
    order_key *order;
    bool *clash; /* by name: whether two folders have it with the same seed */
    /* The strategy, plus 1, of each name, or of each folder and name if they clash. */
    size_t *strategy;
} merging;

static scant_status name_strategy(merging *m, const report_raw_run *run,
                                  report_strategy *out) {
    const char *name = m->name_of(m->names, run->name);
    if (!m->clash[run->name]) {
        out->name = scant__arena_strdup(&m->out->arena, name);
        return out->name ? SCANT_OK : SCANT_ENOMEM;
    }
    const char *folder = m->out->folders[run->folder].label;
    size_t room = strlen(name) + strlen(folder) + 4;
    char *text = scant__arena_alloc(&m->out->arena, room, 1);
    if (!text) return SCANT_ENOMEM;
    snprintf(text, room, "%s (%s)", name, folder);
    out->name = text;
    return SCANT_OK;
}

static scant_status assign_strategies(merging *m, size_t n_names) {
    report_raw_run *runs = m->raw->runs.items;
    report_results *r = m->out;
    size_t n = m->raw->runs.n;
    for (size_t i = 0; i < n; i++) m->order[i] = (order_key){&runs[i], i};
    sort(m->order, n, sizeof *m->order, by_name_and_seed);
    for (size_t i = 1; i < n; i++) {
        const report_raw_run *a = m->order[i - 1].run, *b = m->order[i].run;
        if (a->name == b->name && a->seed == b->seed) m->clash[a->name] = true;
    }
    for (size_t i = 0; i < n; i++) {
        report_raw_run *run = &runs[i];
        size_t place = m->clash[run->name] ? run->folder : 0;
        size_t *strategy = &m->strategy[place * n_names + run->name];
        if (!*strategy) {
            TRY(name_strategy(m, run, &r->strategies[r->n_strategies]));
            *strategy = ++r->n_strategies;
        }
        run->strategy = *strategy - 1;
    }
    return SCANT_OK;
}

static void order_runs(merging *m) {
    report_results *r = m->out;
    report_raw_run *runs = m->raw->runs.items;
    size_t n = m->raw->runs.n;
    for (size_t i = 0; i < n; i++) m->order[i] = (order_key){&runs[i], i};
    sort(m->order, n, sizeof *m->order, by_strategy_and_seed);
    for (size_t i = 0; i < n; i++) {
        const report_raw_run *run = m->order[i].run;
        report_strategy *strategy = &r->strategies[run->strategy];
        r->runs[i] = (report_run){
            .strategy = run->strategy, .folder = run->folder, .seed = run->seed};
        runs[m->order[i].at].place = i;
        if (!strategy->n_runs++) strategy->runs = &r->runs[i];
    }
    r->n_runs = n;
}

/* ---- points and picks -------------------------------------------------------------- */

static scant_status check_point(merging *m, const report_raw_point *before,
                                const report_raw_point *point) {
    const report_run *run = &m->out->runs[point->run];
    const char *folder = m->out->folders[run->folder].path;
    const char *name = m->out->strategies[run->strategy].name;
    if (before->point.round == point->point.round)
        return scant__fail(m->out->arena.ctx, SCANT_EINPUT,
                           "%s/curve.csv: line %zu: round %" PRIu64
                           " of %s with seed %" PRIu64 " occurs twice",
                           folder, point->line, point->point.round, name, run->seed);
    if (before->point.labels > point->point.labels)
        return scant__fail(m->out->arena.ctx, SCANT_EINPUT,
                           "%s/curve.csv: line %zu: %" PRIu64
                           " labels, but the round before had %" PRIu64,
                           folder, point->line, point->point.labels,
                           before->point.labels);
    return SCANT_OK;
}

/* The index, in the sorted runs, of a run as it was read. */
static uint32_t place_of(const merging *m, uint32_t run) {
    return (uint32_t)((report_raw_run *)m->raw->runs.items)[run].place;
}

static scant_status place_points(merging *m) {
    report_results *r = m->out;
    report_raw_point *points = m->raw->points.items;
    size_t n = m->raw->points.n;
    for (size_t i = 0; i < n; i++) points[i].run = place_of(m, points[i].run);
    sort(points, n, sizeof *points, point_order);
    r->points = scant__alloc(r->arena.ctx, n + 1, sizeof *r->points);
    if (!r->points) return SCANT_ENOMEM;
    r->n_points = n;
    for (size_t i = 0; i < n; i++) {
        report_run *run = &r->runs[points[i].run];
        r->points[i] = points[i].point;
        if (run->n_points++)
            TRY(check_point(m, &points[i - 1], &points[i]));
        else
            run->points = &r->points[i];
    }
    return SCANT_OK;
}

static bool is_before(const void *points, size_t i, const void *round) {
    return ((const report_point *)points)[i].round < *(const uint64_t *)round;
}

static bool has_round(const report_run *run, uint64_t round) {
    size_t at = report_count_before(run->n_points, is_before, run->points, &round);
    return at < run->n_points && run->points[at].round == round;
}

static void place_picks(merging *m) {
    report_results *r = m->out;
    report_pick *picks = r->picks = m->raw->picks.items;
    size_t n = m->raw->picks.n;
    bool there = false;
    m->raw->picks = (report_list){0};
    for (size_t i = 0; i < n; i++) picks[i].run = place_of(m, picks[i].run);
    sort(picks, n, sizeof *picks, pick_order);
    for (size_t i = 0; i < n; i++) {
        const report_pick pick = picks[i];
        report_run *run = &r->runs[pick.run];
        bool same = i && picks[i - 1].run == pick.run && picks[i - 1].round == pick.round;
        if (!same) there = has_round(run, pick.round);
        if (!there) continue;
        if (!run->n_picks++) run->picks = &picks[r->n_picks];
        picks[r->n_picks++] = pick;
    }
}

static scant_status check_bin(merging *m, const report_bin *before,
                              const report_bin *bin) {
    if (before->run != bin->run || before->round != bin->round ||
        before->when != bin->when || before->bin != bin->bin)
        return SCANT_OK;
    const report_run *run = &m->out->runs[bin->run];
    return scant__fail(m->out->arena.ctx, SCANT_EINPUT,
                       "%s/calibration.csv: line %zu: bin %u of round %u of %s with seed "
                       "%" PRIu64 " occurs twice",
                       m->out->folders[run->folder].path, bin->line, bin->bin + 1,
                       bin->round, m->out->strategies[run->strategy].name, run->seed);
}

static scant_status place_bins(merging *m) {
    report_results *r = m->out;
    report_bin *bins = r->bins = m->raw->bins.items;
    size_t n = m->raw->bins.n;
    m->raw->bins = (report_list){0};
    for (size_t i = 0; i < n; i++) bins[i].run = place_of(m, bins[i].run);
    sort(bins, n, sizeof *bins, bin_order);
    for (size_t i = 0; i < n; i++) {
        const report_bin bin = bins[i];
        report_run *run = &r->runs[bin.run];
        if (!has_round(run, bin.round)) continue;
        if (r->n_bins) TRY(check_bin(m, &bins[r->n_bins - 1], &bin));
        if (!run->n_bins++) run->bins = &bins[r->n_bins];
        bins[r->n_bins++] = bin;
    }
    return SCANT_OK;
}

scant_status report_merge(report_results *r, report_raw *raw,
                          const char *(*name_of)(const void *names, size_t i),
                          const void *names, size_t n_names) {
    scant__arena *arena = &r->arena;
    merging m = {.out = r, .raw = raw, .name_of = name_of, .names = names};
    size_t places = size_mul(n_names, r->n_folders);
    m.order = scant__arena_alloc(arena, raw->runs.n + 1, sizeof *m.order);
    m.clash = scant__arena_zalloc(arena, n_names + 1, sizeof *m.clash);
    m.strategy = scant__arena_zalloc(arena, places + 1, sizeof *m.strategy);
    r->strategies = scant__arena_zalloc(arena, places + 1, sizeof *r->strategies);
    r->runs = scant__arena_zalloc(arena, raw->runs.n + 1, sizeof *r->runs);
    if (!m.order || !m.clash || !m.strategy || !r->strategies || !r->runs)
        return SCANT_ENOMEM;
    TRY(assign_strategies(&m, n_names));
    order_runs(&m);
    TRY(place_points(&m));
    place_picks(&m);
    return place_bins(&m);
}
