/* SPDX-License-Identifier: Apache-2.0
 *
 * The results in one or several folders, read and checked.
 *
 * Strategies are in the order of curve.csv, those of the first folder first. Runs of one
 * strategy with different seeds are joined over folders. If two folders have the same
 * strategy with the same seed, it is listed once for each folder, as "name (folder)". A
 * run consists of its rows in curve.csv, finished or not; picks and bins of other runs or
 * rounds are left out.
 *
 * Cost: n log n in the rows, or one pass if they are sorted; 56 bytes for each pick and
 * 64 for each bin.
 */
#ifndef SCANT_REPORT_RESULTS_H
#define SCANT_REPORT_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"

typedef struct report_point {
    uint64_t round, labels;
    double accuracy, loss, train_seconds, select_seconds;
    double best, error;           /* NaN: not known; likewise: */
    double lambda, ratio, epochs; /* from theory.csv */
} report_point;

typedef struct report_pick {
    uint64_t index;
    uint32_t run;         /* index in runs */
    uint32_t round, rank; /* round 0: the initial set */
    double weight, score;
    double label; /* a class, or the number to predict; NaN: not known */
} report_pick;

/* A non-empty bin of a reliability diagram: on the test set after a round, before or
 * after temperature scaling. */
enum { REPORT_BEFORE, REPORT_AFTER, REPORT_WHENS };
typedef struct report_bin {
    uint32_t run, round;
    uint32_t when, bin; /* bin: from 0 */
    double count, confidence, accuracy;
    double temperature; /* NaN: not known */
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
    double count;     /* in the training data; NaN: not known */
} report_class;

/* The image of a pick. */
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
    const char *label; /* the last part of its path, or the path if two are the same */
    const char *experiment;   /* the text of experiment.ini; NULL: none */
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
    bool regression;    /* values are errors: less is better */
    bool has_best;      /* there is a column best_accuracy */
    const char *differ; /* keys in which the folders' experiments differ; NULL: none */
} report_results;

/* Reads all folders. SCANT_EUSAGE if one is given twice, SCANT_EINPUT if a file is wrong;
 * on failure there is nothing to close. Warns of experiments that differ in more than
 * strategies and seeds. */
scant_status report_results_open(scant_ctx *ctx, const char *const *paths, size_t n,
                                 report_results *out);
/* Reads one folder from memory: curve.csv, picks.csv, calibration.csv, theory.csv. All
 * but the first may be NULL. */
typedef struct report_bytes {
    const void *bytes;
    size_t size;
} report_bytes;
scant_status report_results_parse(scant_ctx *ctx, const report_bytes bytes[4],
                                  report_results *out);
void report_results_close(report_results *results);

/* The accuracy of a point, or its error for regression. */
double report_value(const report_results *results, const report_point *point);
/* The last point of a run with at most so many labels; NULL: none. */
const report_point *report_point_before(const report_run *run, uint64_t labels);
/* The last point of a run with exactly so many labels; NULL: none. */
const report_point *report_point_at(const report_run *run, uint64_t labels);
const report_point *report_last(const report_run *run);
/* The strategy of that name, or n_strategies. */
size_t report_strategy_find(const report_results *results, const char *name);
/* The bins of a run in a round, before or after scaling; NULL and n 0: none. */
const report_bin *report_bins_of(const report_run *run, uint32_t round, uint32_t when,
                                 size_t *n);
/* The number of rounds of the longest run. */
size_t report_longest(const report_results *results);
/* The name of a class, or its number, written to out (32 bytes). */
const char *report_class_name(const report_results *results, size_t label, char *out);

#endif
