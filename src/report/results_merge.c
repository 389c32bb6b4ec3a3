/* SPDX-License-Identifier: Apache-2.0
 *
 * Which strategy a run is of, once all folders are read, and which points and picks are
 * its own.
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

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int by_name_and_seed(const void *a, const void *b) {
    const order_key *x = a, *y = b;
    int name = compare(x->run->name, y->run->name);
    if (name) return name;
    int seed = compare(x->run->seed, y->run->seed);
    return seed ? seed : compare(x->at, y->at);
}

static int by_strategy_and_seed(const void *a, const void *b) {
    const order_key *x = a, *y = b;
    int strategy = compare(x->run->strategy, y->run->strategy);
    if (strategy) return strategy;
    int seed = compare(x->run->seed, y->run->seed);
    return seed ? seed : compare(x->at, y->at);
}

static int point_order(const void *a, const void *b) {
    const report_raw_point *x = a, *y = b;
    int run = compare(x->run, y->run);
    if (run) return run;
    int round = compare(x->point.round, y->point.round);
    return round ? round : compare(x->line, y->line);
}

static int pick_order(const void *a, const void *b) {
    const report_pick *x = a, *y = b;
    int run = compare(x->run, y->run);
    if (run) return run;
    int round = compare(x->round, y->round);
    if (round) return round;
    int rank = compare(x->rank, y->rank);
    return rank ? rank : compare(x->index, y->index);
}

static int bin_order(const void *a, const void *b) {
    const report_bin *x = a, *y = b;
    int run = compare(x->run, y->run);
    if (run) return run;
    int round = compare(x->round, y->round);
    if (round) return round;
    int when = compare(x->when, y->when);
    if (when) return when;
    int bin = compare(x->bin, y->bin);
    return bin ? bin : compare(x->line, y->line);
}

/* Files come sorted as a rule, and then this is one pass. */
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
    bool *clash;      /* a name: two folders have it with the same seed */
    size_t *strategy; /* a name, or a name and folder where they clash, plus 1 */
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
    report_raw *raw = m->raw;
    report_results *r = m->out;
    for (size_t i = 0; i < raw->n_runs; i++) m->order[i] = (order_key){&raw->runs[i], i};
    sort(m->order, raw->n_runs, sizeof *m->order, by_name_and_seed);
    for (size_t i = 1; i < raw->n_runs; i++) {
        const report_raw_run *a = m->order[i - 1].run, *b = m->order[i].run;
        if (a->name == b->name && a->seed == b->seed) m->clash[a->name] = true;
    }
    for (size_t i = 0; i < raw->n_runs; i++) {
        report_raw_run *run = &raw->runs[i];
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
    size_t n = m->raw->n_runs;
    for (size_t i = 0; i < n; i++) m->order[i] = (order_key){&m->raw->runs[i], i};
    sort(m->order, n, sizeof *m->order, by_strategy_and_seed);
    for (size_t i = 0; i < n; i++) {
        const report_raw_run *run = m->order[i].run;
        report_strategy *strategy = &r->strategies[run->strategy];
        r->runs[i] = (report_run){
            .strategy = run->strategy, .folder = run->folder, .seed = run->seed};
        m->raw->runs[m->order[i].at].place = i;
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
                           " of %s with seed %" PRIu64 " is there twice",
                           folder, point->line, point->point.round, name, run->seed);
    if (before->point.labels > point->point.labels)
        return scant__fail(m->out->arena.ctx, SCANT_EINPUT,
                           "%s/curve.csv: line %zu: %" PRIu64
                           " labels, but the round before had %" PRIu64,
                           folder, point->line, point->point.labels,
                           before->point.labels);
    return SCANT_OK;
}

static scant_status place_points(merging *m) {
    report_results *r = m->out;
    report_raw *raw = m->raw;
    for (size_t i = 0; i < raw->n_points; i++)
        raw->points[i].run = (uint32_t)raw->runs[raw->points[i].run].place;
    sort(raw->points, raw->n_points, sizeof *raw->points, point_order);
    r->points = scant__alloc(r->arena.ctx, raw->n_points + 1, sizeof *r->points);
    if (!r->points) return SCANT_ENOMEM;
    r->n_points = raw->n_points;
    for (size_t i = 0; i < raw->n_points; i++) {
        report_run *run = &r->runs[raw->points[i].run];
        r->points[i] = raw->points[i].point;
        if (run->n_points++)
            TRY(check_point(m, &raw->points[i - 1], &raw->points[i]));
        else
            run->points = &r->points[i];
    }
    return SCANT_OK;
}

static bool has_round(const report_run *run, uint64_t round) {
    size_t low = 0, high = run->n_points;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->points[middle].round < round)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->n_points && run->points[low].round == round;
}

static void place_picks(merging *m) {
    report_results *r = m->out;
    report_raw *raw = m->raw;
    size_t kept = 0;
    for (size_t i = 0; i < raw->n_picks; i++)
        raw->picks[i].run = (uint32_t)raw->runs[raw->picks[i].run].place;
    sort(raw->picks, raw->n_picks, sizeof *raw->picks, pick_order);
    bool there = false;
    for (size_t i = 0; i < raw->n_picks; i++) {
        const report_pick pick = raw->picks[i];
        report_run *run = &r->runs[pick.run];
        bool same = i && raw->picks[i - 1].run == pick.run &&
                    raw->picks[i - 1].round == pick.round;
        if (!same) there = has_round(run, pick.round);
        if (!there) continue;
        if (!run->n_picks++) run->picks = &raw->picks[kept];
        raw->picks[kept++] = pick;
    }
    r->picks = raw->picks;
    r->n_picks = kept;
    raw->picks = NULL;
}

static scant_status check_bin(merging *m, const report_bin *before,
                              const report_bin *bin) {
    if (before->run != bin->run || before->round != bin->round ||
        before->when != bin->when || before->bin != bin->bin)
        return SCANT_OK;
    const report_run *run = &m->out->runs[bin->run];
    return scant__fail(m->out->arena.ctx, SCANT_EINPUT,
                       "%s/calibration.csv: line %zu: bin %u of round %u of %s with seed "
                       "%" PRIu64 " is there twice",
                       m->out->folders[run->folder].path, bin->line, bin->bin + 1,
                       bin->round, m->out->strategies[run->strategy].name, run->seed);
}

static scant_status place_bins(merging *m) {
    report_results *r = m->out;
    report_raw *raw = m->raw;
    size_t kept = 0;
    for (size_t i = 0; i < raw->n_bins; i++)
        raw->bins[i].run = (uint32_t)raw->runs[raw->bins[i].run].place;
    sort(raw->bins, raw->n_bins, sizeof *raw->bins, bin_order);
    for (size_t i = 0; i < raw->n_bins; i++) {
        const report_bin bin = raw->bins[i];
        report_run *run = &r->runs[bin.run];
        if (!has_round(run, bin.round)) continue;
        if (kept) TRY(check_bin(m, &raw->bins[kept - 1], &bin));
        if (!run->n_bins++) run->bins = &raw->bins[kept];
        raw->bins[kept++] = bin;
    }
    r->bins = raw->bins;
    r->n_bins = kept;
    raw->bins = NULL;
    return SCANT_OK;
}

scant_status report_merge(report_results *r, report_raw *raw,
                          const char *(*name_of)(const void *names, size_t i),
                          const void *names, size_t n_names) {
    scant__arena *arena = &r->arena;
    merging m = {.out = r, .raw = raw, .name_of = name_of, .names = names};
    size_t places = size_mul(n_names, r->n_folders);
    m.order = scant__arena_alloc(arena, raw->n_runs + 1, sizeof *m.order);
    m.clash = scant__arena_zalloc(arena, n_names + 1, sizeof *m.clash);
    m.strategy = scant__arena_zalloc(arena, places + 1, sizeof *m.strategy);
    r->strategies = scant__arena_zalloc(arena, places + 1, sizeof *r->strategies);
    r->runs = scant__arena_zalloc(arena, raw->n_runs + 1, sizeof *r->runs);
    if (!m.order || !m.clash || !m.strategy || !r->strategies || !r->runs)
        return SCANT_ENOMEM;
    TRY(assign_strategies(&m, n_names));
    order_runs(&m);
    TRY(place_points(&m));
    place_picks(&m);
    return place_bins(&m);
}
