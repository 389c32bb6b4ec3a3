/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns runs to strategies when all folders are read, and points, picks and bins to
 * runs.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/results_int.h"

/* Compares two lists of numbers lexicographically. */
static int compare(const uint64_t *a, const uint64_t *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return a[i] > b[i] ? 1 : -1;
    return 0;
}

static int run_order(const void *a, const void *b) {
    const report_run *x = a, *y = b;
    const uint64_t p[] = {x->strategy, x->seed}, q[] = {y->strategy, y->seed};
    return compare(p, q, 2);
}

static int point_order(const void *a, const void *b) {
    const report_point *x = a, *y = b;
    const uint64_t p[] = {x->run, x->round, x->line};
    const uint64_t q[] = {y->run, y->round, y->line};
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

/* Sorts items; one pass if they are sorted already, as in most files. */
static void sort(void *items, size_t n, size_t size,
                 int (*order)(const void *, const void *)) {
    const char *at = items;
    for (size_t i = 1; i < n; i++, at += size)
        if (order(at, at + size) > 0) {
            qsort(items, n, size, order);
            return;
        }
}

/* Sorts points, picks or bins. Each begins with its run's index in the order of reading,
 * which is replaced by the run's new index, places[index]. */
static void sort_rows(const uint32_t *places, void *items, size_t n, size_t size,
                      int (*order)(const void *, const void *)) {
    for (size_t i = 0; i < n; i++) {
        uint32_t *run = (void *)((char *)items + i * size);
        *run = places[*run];
    }
    sort(items, n, size, order);
}

/* ---- strategies -------------------------------------------------------------------- */

/* Makes a strategy for each name; if the name clashes, one for each folder. */
static scant_status assign_strategies(const report_loading *l) {
    report_results *r = l->out;
    scant__arena *arena = &r->arena;
    size_t names = l->names.count, most = size_mul(names, r->n_folders);
    size_t *numbers = TRY_ZERO(arena, size_t, most + 1); /* index + 1; 0: none */
    r->strategies = TRY_ZERO(arena, report_strategy, most + 1);
    for (size_t i = 0; i < r->n_runs; i++) {
        report_run *run = &r->runs[i];
        bool clash = l->clash[run->strategy];
        size_t *number = &numbers[(clash ? run->folder : 0) * names + run->strategy];
        if (!*number) {
            report_strategy *strategy = &r->strategies[r->n_strategies];
            strategy->name =
                scant__arena_format(arena, clash ? "%s (%s)" : "%s",
                                    scant__names_get(&l->names, run->strategy),
                                    r->folders[run->folder].label);
            if (!strategy->name) return SCANT_ENOMEM;
            *number = ++r->n_strategies;
        }
        run->strategy = *number - 1;
    }
    return SCANT_OK;
}

static void sort_runs(report_results *r, uint32_t *places) {
    sort(r->runs, r->n_runs, sizeof *r->runs, run_order);
    for (size_t i = 0; i < r->n_runs; i++) {
        report_strategy *strategy = &r->strategies[r->runs[i].strategy];
        places[r->runs[i].read] = (uint32_t)i;
        if (!strategy->n_runs++) strategy->runs = &r->runs[i];
    }
}

/* ---- points, picks and bins -------------------------------------------------------- */

static scant_status check_point(const report_results *r, const report_point *point) {
    const report_run *run = &r->runs[point->run];
    const report_point *before = point - 1;
    const char *folder = r->folders[run->folder].path;
    if (before->round == point->round)
        return scant__fail(r->arena.ctx, SCANT_EINPUT,
                           "%s/curve.csv: line %zu: round %u of %s with seed %" PRIu64
                           " occurs twice",
                           folder, point->line, point->round,
                           r->strategies[run->strategy].name, run->seed);
    if (before->labels > point->labels)
        return scant__fail(r->arena.ctx, SCANT_EINPUT,
                           "%s/curve.csv: line %zu: %" PRIu64
                           " labels, but the round before had %" PRIu64,
                           folder, point->line, point->labels, before->labels);
    return SCANT_OK;
}

static scant_status place_points(report_results *r) {
    for (size_t i = 0; i < r->n_points; i++) {
        report_run *run = &r->runs[r->points[i].run];
        if (run->n_points++)
            TRY(check_point(r, &r->points[i]));
        else
            run->points = &r->points[i];
        report_strategy *strategy = &r->strategies[run->strategy];
        strategy->most_points = size_max(strategy->most_points, run->n_points);
        if (r->points[i].labels > strategy->most_labels)
            strategy->most_labels = r->points[i].labels;
    }
    return SCANT_OK;
}

static bool has_round(const report_run *run, uint32_t round) {
    size_t at = REPORT_COUNT_FIRST(run->n_points, i, run->points[i].round < round);
    return at < run->n_points && run->points[at].round == round;
}

static void place_picks(report_results *r) {
    report_pick *picks = r->picks;
    size_t kept = 0;
    bool there = false;
    for (size_t i = 0; i < r->n_picks; i++) {
        const report_pick pick = picks[i];
        report_run *run = &r->runs[pick.run];
        bool same = i && picks[i - 1].run == pick.run && picks[i - 1].round == pick.round;
        if (!same) there = has_round(run, pick.round);
        if (!there) continue;
        if (!run->n_picks++) run->picks = &picks[kept];
        picks[kept++] = pick;
    }
    r->n_picks = kept;
}

static scant_status check_bin(const report_results *r, const report_bin *before,
                              const report_bin *bin) {
    if (before->run != bin->run || before->round != bin->round ||
        before->when != bin->when || before->bin != bin->bin)
        return SCANT_OK;
    const report_run *run = &r->runs[bin->run];
    return scant__fail(r->arena.ctx, SCANT_EINPUT,
                       "%s/calibration.csv: line %zu: bin %u of round %u of %s with seed "
                       "%" PRIu64 " occurs twice",
                       r->folders[run->folder].path, bin->line, bin->bin + 1, bin->round,
                       r->strategies[run->strategy].name, run->seed);
}

static scant_status place_bins(report_results *r) {
    size_t kept = 0;
    for (size_t i = 0; i < r->n_bins; i++) {
        const report_bin bin = r->bins[i];
        report_run *run = &r->runs[bin.run];
        if (!has_round(run, bin.round)) continue;
        if (kept) TRY(check_bin(r, &r->bins[kept - 1], &bin));
        if (!run->n_bins++) run->bins = &r->bins[kept];
        r->bins[kept++] = bin;
    }
    r->n_bins = kept;
    return SCANT_OK;
}

scant_status report_merge(report_loading *l) {
    report_results *r = l->out;
    uint32_t *places = TRY_NEW(&r->arena, uint32_t, r->n_runs + 1);
    TRY(assign_strategies(l));
    sort_runs(r, places);
    sort_rows(places, r->points, r->n_points, sizeof *r->points, point_order);
    sort_rows(places, r->picks, r->n_picks, sizeof *r->picks, pick_order);
    sort_rows(places, r->bins, r->n_bins, sizeof *r->bins, bin_order);
    TRY(place_points(r));
    place_picks(r);
    return place_bins(r);
}
