/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of results: means at every number of labels, areas under the curves,
 * overlaps of labelled sets, time, balance of classes.
 *
 * Cost: n log n in points and picks; for each pair of strategies a merge of two sorted
 * lists.
 */
#ifndef SCANT_REPORT_MEASURES_H
#define SCANT_REPORT_MEASURES_H

#include "report/markup.h"
#include "report/results.h"
#include "scant/train.h"

/* A strategy at a number of labels: a row of summary.csv. */
typedef struct report_level {
    uint64_t labels;
    double mean, std; /* accuracy or error over runs; std with n - 1, 0 for one run */
    size_t runs;      /* runs with this number of labels */
} report_level;

typedef struct report_curve {
    report_level *levels; /* sorted by labels */
    size_t n;
} report_curve;
/* Returns the index of the first level with at least `labels` labels; n: none. */
size_t report_level_from(const report_curve *curve, uint64_t labels);
/* Returns the level with exactly `labels` labels; NULL: none. */
const report_level *report_level_at(const report_curve *curve, uint64_t labels);

typedef struct report_spread {
    double mean, std;
    size_t n;
} report_spread;
report_spread report_spread_of(const double *x, size_t n);

typedef struct report_overlap {
    uint64_t labels;
    size_t a, b; /* strategies, a < b */
    double iou;  /* intersection over union of the labelled sets; 1: both empty */
} report_overlap;

/* Calibration of a strategy at the last round in which all its runs have bins before and
 * after scaling; if there is no such round, at the last in which all have bins before
 * scaling. Runs without any bins are left out. */
typedef struct report_reliability {
    size_t runs; /* 0: no bins */
    uint64_t round, labels_least, labels_most;
    report_spread error[REPORT_WHENS]; /* expected calibration error; n = 0: unknown */
    report_spread temperature;         /* n = 0: unknown */
    report_bin *bins[REPORT_WHENS];    /* SCANT_CALIBRATION_BINS each, over all runs */
    double count[REPORT_WHENS];        /* samples in all bins */
} report_reliability;

/* From theory.csv: log10 of lambda (so means are geometric), and R(Q|S). */
enum { REPORT_LAMBDA, REPORT_RATIO, REPORT_THEORIES };

typedef struct report_measures {
    report_curve *curves; /* one for each strategy */
    /* Mean curves over the range of labels that all runs of a strategy have; runs are
     * interpolated linearly, so each mean is over all runs. Without std. If the runs have
     * no range in common, the same as curves. */
    report_curve *common_curves;
    report_level *ends; /* by strategy: the last level of common_curves, with its std */
    double *area;       /* by run: area under its curve, divided by its range of labels */
    report_spread *areas;     /* by strategy: mean and std of area */
    report_overlap *overlaps; /* sorted by labels, then pair */
    size_t n_overlaps;
    /* By strategy: seconds per run, mean over runs. */
    double *train_seconds, *select_seconds;
    /* Number of picks of each class after the initial set, (strategies, n_labels).
     * n_labels is 0 if picks have no classes. */
    double *picked;
    size_t n_labels;
    double *balance; /* n_labels shares that picks are compared with; NULL: none */
    /* Where balance comes from: "the training data" or "random's picks". */
    const char *balance_of;
    report_reliability *reliability; /* by strategy */
    /* Curves by strategy, without levels if unknown. */
    report_curve *theory[REPORT_THEORIES];
    scant_trainings trainings;
} report_measures;

/* All lists are in the results' arena. report_measure_runs() computes curves, areas,
 * times and theory only. */
scant_status report_measure_runs(report_results *results, report_measures *out);
scant_status report_measure(report_results *results, report_measures *out);

/* Computes reliability (reliability.c). */
scant_status report_measure_reliability(report_results *results, report_measures *out);

/* Computes trainings (trainings.c). */
scant_status report_measure_trainings(report_results *results, scant_trainings *out);

/* The area under a run's curve up to a number of labels (the run must have as many),
 * divided by the range of labels; the last value if the range is empty. */
double report_area(const report_results *results, const report_run *run, uint64_t labels);
/* A run's value at a number of labels, interpolated linearly; NaN outside its range. */
double report_value_at(const report_results *results, const report_run *run,
                       uint64_t labels);

/* The number of labels at which a curve first reaches goal, interpolated linearly; NaN if
 * it never does. */
double report_labels_to_reach(const report_results *results, const report_curve *curve,
                              double goal);

/* Compares each strategy with the baseline, seed by seed (compare.c); if baseline is
 * n_strategies, each strategy with those before it. *pairs is in the results' arena. */
scant_status report_compare(report_results *results, const report_measures *measures,
                            size_t baseline, scant_pair **pairs, size_t *count);
/* Returns the reason why no seed of a pair is compared. */
const char *report_why_not(const scant_pair *pair);

/* The texts of summary.csv, auc.csv and overlap.csv (report.c). */
void report_write_summary(scant__text *out, const report_results *results,
                          const report_measures *measures);
void report_write_auc(scant__text *out, const report_results *results,
                      const report_measures *measures);
void report_write_overlap(scant__text *out, const report_results *results,
                          const report_measures *measures);

#endif
