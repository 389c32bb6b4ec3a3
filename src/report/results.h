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
 * Cost: n log n in the rows, or one pass if they are sorted; 48 bytes for each pick and
 * 56 for each bin.
 */
#ifndef SCANT_REPORT_RESULTS_H
#define SCANT_REPORT_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

/* Points, picks and bins begin with their run, an index in runs, and round. */
typedef struct report_point {
    uint32_t run, round;
    uint64_t labels;
    double accuracy, loss, train_seconds, select_seconds;
    double best, error;           /* NaN: unknown */
    double lambda, ratio, epochs; /* from theory.csv; NaN: unknown */
    /* From trainings.csv. trainings: 2 if the first training had collapsed; 0: unknown.
     * signs: scant_train_sign bits of the last one; dead, gradient_norm: NaN: unknown. */
    uint32_t trainings;
    uint64_t signs;
    double dead, gradient_norm;
    size_t line;
} report_point;

typedef struct report_pick {
    uint32_t run, round; /* round 0: the initial set */
    uint32_t rank;
    uint64_t index;
    double weight, score;
    double label; /* a class, or the number to predict; NaN: unknown */
} report_pick;

/* A non-empty bin of a reliability diagram: on the test set after a round, before or
 * after temperature scaling. */
enum { REPORT_BEFORE, REPORT_AFTER, REPORT_WHENS };
typedef struct report_bin {
    uint32_t run, round;
    uint32_t when, bin; /* bin: from 0 */
    double count, confidence, accuracy;
    double temperature; /* NaN: unknown */
    size_t line;
} report_bin;

typedef struct report_run {
    size_t strategy, folder;
    uint64_t seed;
    size_t read;          /* index in the order of reading */
    report_point *points; /* sorted by round */
    size_t n_points;      /* at least 1 */
    report_pick *picks;   /* sorted by round and rank */
    size_t n_picks;
    report_bin *bins; /* sorted by round, when and bin */
    size_t n_bins;
} report_run;

typedef struct report_strategy {
    const char *name;
    report_run *runs;   /* sorted by seed */
    size_t n_runs;      /* at least 1 */
    size_t most_points; /* most points of a run */
    uint64_t most_labels;
} report_strategy;

typedef struct report_class {
    const char *name; /* NULL: it has none */
    double count;     /* samples in the training data; NaN: unknown */
} report_class;

/* The image of a pick. */
typedef struct report_thumbnail {
    uint64_t row, index, label;
    const char *name; /* name of its class; may be empty */
} report_thumbnail;

/* A key of experiment.ini. */
typedef struct report_setting {
    const char *section, *key, *value;
} report_setting;

typedef struct report_folder {
    const char *path;
    const char *label;        /* last part of the path; if two are equal, whole paths */
    const char *experiment;   /* the text of experiment.ini; NULL: none */
    report_setting *settings; /* keys of experiment.ini */
    size_t n_settings;
    report_thumbnail *thumbnails; /* sorted by index */
    size_t n_thumbnails;
} report_folder;

typedef struct report_results {
    scant__arena arena;
    report_folder *folders;
    size_t n_folders;
    report_strategy *strategies;
    size_t n_strategies;
    report_run *runs; /* sorted by strategy and seed */
    size_t n_runs;
    report_point *points; /* points of all runs */
    report_pick *picks;
    report_bin *bins;
    size_t n_points, n_picks, n_bins;
    report_class *classes; /* by label, from the first folder that has classes.csv */
    size_t n_classes;
    bool regression;    /* values are errors: less is better */
    bool has_best;      /* there is a column best_accuracy */
    const char *differ; /* "data.train, model.name": keys in which the folders'
                           experiments differ; NULL: none */
} report_results;

/* The files that are read, and written by a merge. */
typedef enum report_file {
    REPORT_CURVE,
    REPORT_PICKS,
    REPORT_CALIBRATION,
    REPORT_THEORY,
    REPORT_TRAININGS,
    REPORT_FILES
} report_file;
extern const char *const report_file_names[REPORT_FILES]; /* "curve.csv" */

/* Reads all folders. SCANT_EUSAGE if one is given twice, SCANT_EINPUT if a file is
 * invalid; on failure there is nothing to close. Warns of experiments that differ in more
 * than strategies and seeds. */
scant_status report_results_open(scant_ctx *ctx, const char *const *paths, size_t n,
                                 report_results *out);
/* The same without a warning, from curve.csv and trainings.csv alone. */
scant_status report_trainings_open(scant_ctx *ctx, const char *const *paths, size_t n,
                                   report_results *out);
/* Reads one folder from memory: the files in the order of report_file. All but the first
 * may be NULL. */
typedef struct report_bytes {
    const void *bytes;
    size_t size;
} report_bytes;
scant_status report_results_parse(scant_ctx *ctx, const report_bytes bytes[REPORT_FILES],
                                  report_results *out);
void report_results_close(report_results *results);
/* Writes a file that reads back as these results. */
void report_write_file(scant__text *out, const report_results *results, report_file file);

/* The accuracy of a point, or its error for regression. */
double report_value(const report_results *results, const report_point *point);
/* Values times report_unit() are shown with report_decimals(): accuracies in percent with
 * two decimals, errors with six digits (-1). */
double report_unit(const report_results *results);
int report_decimals(const report_results *results);
/* Returns the last point of a run with at most `labels` labels; NULL: none. */
const report_point *report_point_before(const report_run *run, uint64_t labels);
/* Returns the last point of a run with exactly `labels` labels; NULL: none. */
const report_point *report_point_at(const report_run *run, uint64_t labels);
const report_point *report_last(const report_run *run);
/* Whether the point's training ended collapsed. */
bool report_collapsed(const report_point *point);
/* Returns the index of the strategy with that name; n_strategies: none. */
size_t report_strategy_find(const report_results *results, const char *name);
/* Returns the *n bins of a run in a round, before or after scaling; NULL: none. */
const report_bin *report_bins_of(const report_run *run, uint32_t round, uint32_t when,
                                 size_t *n);
/* Returns the value of a key in a folder's experiment.ini; NULL: none. */
const char *report_experiment_value(const report_folder *folder, const char *section,
                                    const char *key);
/* Returns the name of a class, or its number, written to out (32 bytes). */
const char *report_class_name(const report_results *results, size_t label, char *out);

#endif
