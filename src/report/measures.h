/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of results: means at every number of labels, areas under the curves,
 * overlaps of labelled sets, time, balance of classes; and their CSV files.
 *
 * Cost: n log n in points and picks; for each pair of strategies a merge of two sorted
 * lists.
 */
#ifndef SCANT_REPORT_MEASURES_H
#define SCANT_REPORT_MEASURES_H

#include "report/markup.h"
#include "report/results.h"

/* A strategy at a number of labels: a row of summary.csv. */
typedef struct report_level {
    uint64_t labels;
    double mean, std; /* of accuracy or error; std with n - 1, 0 for one run */
    size_t runs;      /* with this number of labels */
} report_level;

typedef struct report_curve {
    report_level *levels; /* by labels, ascending */
    size_t n;
} report_curve;
/* The index of the first level of at least so many labels; n: none. */
size_t report_level_from(const report_curve *curve, uint64_t labels);
/* The level of so many labels; NULL: none. */
const report_level *report_level_at(const report_curve *curve, uint64_t labels);

typedef struct report_spread {
    double mean, std;
    size_t n;
} report_spread;

typedef struct report_overlap {
    uint64_t labels;
    size_t a, b; /* strategies, a < b */
    double iou;  /* of the labelled sets; 1 if both are empty */
} report_overlap;

/* Calibration of a strategy at the last round of which all its runs have bins before and
 * after scaling, or else before. Runs without bins are left out. */
typedef struct report_reliability {
    size_t runs; /* 0: no bins */
    uint64_t round, labels_least, labels_most;
    report_spread error[REPORT_WHENS]; /* expected calibration error; n 0: unknown */
    report_spread temperature;         /* n 0: unknown */
    report_bin *bins[REPORT_WHENS];    /* SCANT_CALIBRATION_BINS, sums over runs */
    double count[REPORT_WHENS];        /* samples */
} report_reliability;

/* From theory.csv: log10 of lambda (so means are geometric), and R(Q|S). */
enum { REPORT_LAMBDA, REPORT_RATIO, REPORT_THEORIES };

typedef struct report_measures {
    report_curve *curves; /* one for each strategy */
    /* The same over the range of labels that all its runs have, with runs interpolated
     * linearly: each mean is over all runs. Without std. If runs have no labels in
     * common, the curve itself. */
    report_curve *wholes;
    report_level *ends;   /* by strategy: the last level of wholes, with its std */
    double *area;         /* by run: under its curve, divided by its range of labels */
    report_spread *areas; /* by strategy */
    report_overlap *overlaps; /* by labels, then pair */
    size_t n_overlaps;
    /* By strategy: seconds per run, mean over runs. */
    double *train_seconds, *select_seconds;
    /* Picks of each class after the initial set, (strategies, n_labels). n_labels is 0 if
     * picks have no classes. */
    double *picked;
    size_t n_labels;
    double *balance; /* n_labels shares to compare with; NULL: none */
    /* their source: "the training data", or "random's picks" */
    const char *balance_of;
    report_reliability *reliability; /* by strategy */
    /* By strategy; without levels if unknown. */
    report_curve *theory[REPORT_THEORIES];
} report_measures;

/* All lists are in the results' arena. The first computes curves, areas and times only.
 */
scant_status report_measure_runs(report_results *results, report_measures *out);
scant_status report_measure(report_results *results, report_measures *out);

/* Computes reliability (reliability.c). */
scant_status report_measure_reliability(report_results *results, report_measures *out);

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

/* CSV files: summary.csv, auc.csv, overlap.csv; and those of merged folders. */
void report_write_summary(scant__text *out, const report_results *results,
                          const report_measures *measures);
void report_write_auc(scant__text *out, const report_results *results,
                      const report_measures *measures);
void report_write_overlap(scant__text *out, const report_results *results,
                          const report_measures *measures);
void report_write_curve(scant__text *out, const report_results *results);
void report_write_picks(scant__text *out, const report_results *results);
void report_write_calibration(scant__text *out, const report_results *results);
void report_write_theory(scant__text *out, const report_results *results);

#endif
