/* SPDX-License-Identifier: Apache-2.0
 *
 * What is computed of results: means at every number of labels, areas under the curves,
 * overlaps of what was labelled, time, balance of classes; and the CSV files of them.
 *
 * Cost: n log n in points and picks; a merge of two sorted lists a pair of strategies.
 */
#ifndef SCANT_REPORT_MEASURES_H
#define SCANT_REPORT_MEASURES_H

#include "report/markup.h"
#include "report/results.h"

/* A strategy at a number of labels: a row of summary.csv. */
typedef struct report_level {
    uint64_t labels;
    double mean, std; /* of accuracy (or error); std with n - 1, 0 of one run */
    size_t runs;      /* that have it */
} report_level;

typedef struct report_curve {
    report_level *levels; /* by labels, ascending */
    size_t n;
} report_curve;
/* The first level of so many labels or more; n: there is none. */
size_t report_level_from(const report_curve *curve, uint64_t labels);
/* NULL: the curve has no such level. */
const report_level *report_level_at(const report_curve *curve, uint64_t labels);

typedef struct report_spread {
    double mean, std;
    size_t n;
} report_spread;

typedef struct report_overlap {
    uint64_t labels;
    size_t a, b; /* strategies, a < b */
    double iou;  /* of the sets of samples labelled by then; 1 where both are empty */
} report_overlap;

/* How a strategy's confidence goes with its accuracy, at the last round that all its runs
 * have bins of: before and after scaling, or else before. Runs without bins do not count.
 */
typedef struct report_reliability {
    size_t runs; /* 0: there is nothing to show */
    uint64_t round, labels_least, labels_most;
    report_spread error[REPORT_WHENS]; /* expected calibration error; n 0: not known */
    report_spread temperature;         /* that scales; n 0: not told */
    report_bin *bins[REPORT_WHENS];    /* SCANT_CALIBRATION_BINS, of all runs together */
    double count[REPORT_WHENS];        /* samples in them */
} report_reliability;

/* What is shown of theory.csv: log10 of lambda (so means are geometric), and R(Q|S). */
enum { REPORT_LAMBDA, REPORT_RATIO, REPORT_THEORIES };

typedef struct report_measures {
    report_curve *curves; /* a strategy each */
    /* The same over the labels that all its runs have come to, with a run's value between
     * two of its points in a straight line: means of the same runs throughout. (No std.)
     * Of runs that have no labels in common it is the curve itself. */
    report_curve *wholes;
    report_level *ends;       /* a strategy each: the last of that, with its std */
    double *area;             /* a run each: under its curve, divided by its span */
    report_spread *areas;     /* a strategy each */
    report_overlap *overlaps; /* by labels, then pair */
    size_t n_overlaps;
    /* A strategy each: seconds a run, mean over its runs. */
    double *train_seconds, *select_seconds;
    /* What was picked after the initial set, (strategies, n_labels): how often a class.
     * n_labels is 0 where picks tell no classes. */
    double *picked;
    size_t n_labels;
    double *balance; /* n_labels shares to compare with; NULL: there are none */
    /* where they are from: "the training data", or "random's picks" */
    const char *balance_of;
    report_reliability *reliability; /* a strategy each */
    /* Likewise; without levels where nothing is known. */
    report_curve *theory[REPORT_THEORIES];
} report_measures;

/* Everything is in the results' arena. The first fills in curves, areas and times alone.
 */
scant_status report_measure_runs(report_results *results, report_measures *out);
scant_status report_measure(report_results *results, report_measures *out);

/* reliability.c: fills in reliability. */
scant_status report_measure_reliability(report_results *results, report_measures *out);

/* The area of a run's points up to a number of labels (which the run must have come to),
 * divided by the span of labels; of one number of labels its last value. */
double report_area(const report_results *results, const report_run *run, uint64_t labels);
/* A run's value at a number of labels, between two points in a straight line; NaN before
 * its first and beyond its last. */
double report_value_at(const report_results *results, const report_run *run,
                       uint64_t labels);

/* The number of labels at which a strategy's mean first is as good as goal, between two
 * points in a straight line; NaN where it never is. */
double report_labels_to_reach(const report_results *results, const report_curve *curve,
                              double goal);

/* summary.csv, auc.csv, overlap.csv; and what merged folders have, too. */
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
