/* SPDX-License-Identifier: Apache-2.0
 *
 * What one or several folders of results hold, read and checked.
 *
 * Strategies stand in the order in which curve.csv lists them, the first folder's first.
 * Several folders: runs of one strategy with different seeds are joined; where two
 * folders have the same strategy with the same seed, that strategy is listed once a
 * folder, as "name (folder)". A run is what curve.csv has of it, be it finished or not;
 * picks and bins of runs or rounds that curve.csv does not know are left out.
 *
 * Cost: n log n in the rows, and a pass where they come sorted; memory 56 bytes a
 * pick and 64 a bin.
 */
#ifndef SCANT_REPORT_RESULTS_H
#define SCANT_REPORT_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"

typedef struct report_point {
    uint64_t round, labels;
    double accuracy, loss, train_seconds, select_seconds;
    double best, error;           /* NaN: not told; likewise: */
    double lambda, ratio, epochs; /* of theory.csv */
} report_point;

typedef struct report_pick {
    uint64_t index;
    uint32_t run;         /* whose */
    uint32_t round, rank; /* round 0: the initial set */
    double weight, score;
    double label; /* a class, or the number to predict; NaN: not told */
} report_pick;

/* A bin of a reliability diagram, with samples in it: on the test set after a round,
 * before or after scaling by a temperature. */
enum { REPORT_BEFORE, REPORT_AFTER, REPORT_WHENS };
typedef struct report_bin {
    uint32_t run, round;
    uint32_t when, bin; /* bin: from 0 */
    double count, confidence, accuracy;
    double temperature; /* NaN: not told */
    size_t line;
} report_bin;

typedef struct report_run {
    size_t strategy, folder;
    uint64_t seed;
    report_point *points; /* by round, ascending */
    size_t n_points;      /* at least 1 */
    report_pick *picks;   /* by round and rank */
    size_t n_picks;
    report_bin *bins; /* by round, when and bin */
    size_t n_bins;
} report_run;

typedef struct report_strategy {
    const char *name;
    report_run *runs; /* by seed */
    size_t n_runs;    /* at least 1 */
} report_strategy;

typedef struct report_class {
    const char *name; /* NULL: it has none */
    double count;     /* in the training data; NaN: not told */
} report_class;

/* A picture of a pick. */
typedef struct report_thumbnail {
    uint64_t row, index, label;
    const char *name; /* of its class, may be empty */
} report_thumbnail;

/* A key of experiment.ini. */
typedef struct report_setting {
    const char *section, *key, *value;
} report_setting;

typedef struct report_folder {
    const char *path;
    const char *label; /* the last part of its path, or all of it where two are alike */
    const char *experiment;   /* the text of experiment.ini; NULL: there is none */
    report_setting *settings; /* in it */
    size_t n_settings;
    report_thumbnail *thumbnails; /* by index */
    size_t n_thumbnails;
} report_folder;

typedef struct report_results {
    scant__arena arena;
    report_folder *folders;
    size_t n_folders;
    report_strategy *strategies;
    size_t n_strategies;
    report_run *runs; /* by strategy and seed */
    size_t n_runs;
    report_point *points; /* of all runs */
    report_pick *picks;
    report_bin *bins;
    size_t n_points, n_picks, n_bins;
    report_class *classes; /* by label; those of the first folder that names them */
    size_t n_classes;
    bool regression; /* error is what counts, and less of it is better */
    bool has_best;   /* there is a column best_accuracy */
    /* In what the experiments of several folders differ; NULL: in nothing that is known.
     */
    const char *differ;
} report_results;

/* Reads all of the folders. SCANT_EUSAGE where one is given twice, SCANT_EINPUT where a
 * file is wrong; nothing needs ending then. Warns of experiments that differ in more than
 * strategies and seeds. */
scant_status report_results_open(scant_ctx *ctx, const char *const *paths, size_t n,
                                 report_results *out);
/* One folder's, of bytes instead of files (NULL: there is no such file). */
typedef struct report_bytes {
    const void *curve;
    size_t curve_size;
    const void *picks;
    size_t picks_size;
    const void *calibration;
    size_t calibration_size;
    const void *theory;
    size_t theory_size;
} report_bytes;
scant_status report_results_parse(scant_ctx *ctx, const report_bytes *files,
                                  report_results *out);
void report_results_close(report_results *results);

/* What is plotted: accuracy, or the error of numbers to predict. */
double report_value(const report_results *results, const report_point *point);
/* The last point of a run with at most so many labels, or NULL. */
const report_point *report_point_before(const report_run *run, uint64_t labels);
/* The point of a run with so many labels (the last such), or NULL. */
const report_point *report_point_at(const report_run *run, uint64_t labels);
const report_point *report_last(const report_run *run);
/* The strategy of that name, or n_strategies. */
size_t report_strategy_find(const report_results *results, const char *name);
/* A run's bins of a round, before or after; n 0: there are none. */
const report_bin *report_bins_of(const report_run *run, uint32_t round, uint32_t when,
                                 size_t *n);
/* Rounds of the longest run. */
size_t report_longest(const report_results *results);
/* A class's name, or its number in out (of 32 bytes). */
const char *report_class_name(const report_results *results, size_t label, char *out);

#endif
