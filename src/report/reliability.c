/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration of a strategy's runs (Guo, Pleiss, Sun & Weinberger, "On calibration of
 * modern neural networks", 2017): the bins of all runs added up, and the mean over runs
 * of the expected calibration error, which is computed from each run's own bins.
 *
 * All runs are taken at the same round, to compare networks with equally many labels: the
 * last in which all have bins before and after scaling; if there is none, the last in
 * which all have bins before scaling. Runs without any bins are left out. Cost: a binary
 * search in each run for every round of the run with the fewest bins.
 */
#include <math.h>

#include "report/measures.h"
#include "report/stats.h"

/* Returns the run with the fewest bins among those that have any; NULL: none. */
static const report_run *shortest(const report_strategy *strategy) {
    const report_run *out = NULL;
    for (size_t i = 0; i < strategy->n_runs; i++) {
        const report_run *run = &strategy->runs[i];
        if (run->n_bins && (!out || run->n_bins < out->n_bins)) out = run;
    }
    return out;
}

static bool all_have(const report_strategy *strategy, uint32_t round, uint32_t last) {
    for (size_t i = 0; i < strategy->n_runs; i++)
        for (uint32_t when = 0; strategy->runs[i].n_bins && when <= last; when++) {
            size_t n;
            if (!report_bins_of(&strategy->runs[i], round, when, &n)) return false;
        }
    return true;
}

/* Sets *out to the last round in which all runs have bins before scaling (and after it,
 * if last is REPORT_AFTER). False: none. */
static bool last_round(const report_strategy *strategy, uint32_t last, uint32_t *out) {
    const report_run *run = shortest(strategy);
    for (size_t i = run->n_bins; i-- > 0;) {
        *out = run->bins[i].round;
        bool first = i + 1 == run->n_bins || run->bins[i + 1].round != *out;
        if (first && all_have(strategy, *out, last)) return true;
    }
    return false;
}

/* Returns the expected calibration error of a run, and adds its bins to `whole`. */
static double add_run(const report_bin *bins, size_t n, report_bin *whole,
                      double *samples) {
    double error = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        const report_bin *bin = &bins[i];
        report_bin *sum = &whole[bin->bin];
        error += bin->count * fabs(bin->confidence - bin->accuracy);
        count += bin->count;
        sum->count += bin->count;
        sum->confidence += bin->count * bin->confidence;
        sum->accuracy += bin->count * bin->accuracy;
    }
    *samples += count;
    return error / count;
}

static void add_labels(const report_run *run, report_reliability *out) {
    for (size_t i = 0; i < run->n_points; i++) {
        uint64_t labels = run->points[i].labels;
        if (run->points[i].round != out->round) continue;
        if (!out->runs || labels < out->labels_least) out->labels_least = labels;
        if (!out->runs || labels > out->labels_most) out->labels_most = labels;
    }
}

/* numbers: a buffer of three doubles for each run. */
static void measure(const report_strategy *strategy, uint32_t last, double *numbers,
                    report_reliability *out) {
    double *errors[REPORT_WHENS] = {numbers, numbers + strategy->n_runs};
    double *temperatures = numbers + 2 * strategy->n_runs;
    size_t n_temperatures = 0;
    for (size_t i = 0; i < strategy->n_runs; i++) {
        const report_run *run = &strategy->runs[i];
        if (!run->n_bins) continue;
        for (uint32_t when = 0; when <= last; when++) {
            size_t n;
            const report_bin *bins = report_bins_of(run, (uint32_t)out->round, when, &n);
            errors[when][out->runs] =
                add_run(bins, n, out->bins[when], &out->count[when]);
            if (when == REPORT_AFTER && !isnan(bins->temperature))
                temperatures[n_temperatures++] = bins->temperature;
        }
        add_labels(run, out);
        out->runs++;
    }
    for (uint32_t when = 0; when <= last; when++) {
        out->error[when] = report_spread_of(errors[when], out->runs);
        for (size_t b = 0; b < SCANT_CALIBRATION_BINS; b++) {
            report_bin *bin = &out->bins[when][b];
            if (!(bin->count > 0)) continue;
            bin->confidence /= bin->count;
            bin->accuracy /= bin->count;
        }
    }
    out->temperature = report_spread_of(temperatures, n_temperatures);
}

scant_status report_measure_reliability(report_results *r, report_measures *m) {
    scant__arena *arena = &r->arena;
    m->reliability = TRY_ZERO(arena, report_reliability, r->n_strategies + 1);
    double *numbers = TRY_NEW(arena, double, 3 * (r->n_runs + 1));
    for (size_t s = 0; s < r->n_strategies; s++) {
        report_reliability *out = &m->reliability[s];
        uint32_t last = REPORT_AFTER, round;
        if (!shortest(&r->strategies[s])) continue;
        bool found = last_round(&r->strategies[s], last, &round) ||
                     last_round(&r->strategies[s], last = REPORT_BEFORE, &round);
        if (!found) continue;
        out->round = round;
        for (size_t when = 0; when < REPORT_WHENS; when++)
            out->bins[when] = TRY_ZERO(arena, report_bin, SCANT_CALIBRATION_BINS);
        measure(&r->strategies[s], last, numbers, out);
    }
    return SCANT_OK;
}
