/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that read results share.
 */
#ifndef SCANT_REPORT_RESULTS_INT_H
#define SCANT_REPORT_RESULTS_INT_H

#include "report/csv_table.h"
#include "report/results.h"

/* "folder/name" in the arena; NULL with the error text set. */
char *report_path(scant__arena *arena, const char *folder, const char *name);
bool report_file_exists(const char *path);

/* experiment.ini, classes.csv and thumbnails.csv of a folder, those that are there. */
scant_status report_folder_read(report_results *results, report_folder *folder);

/* From rows that were read to strategies, runs and their points and picks. */
typedef struct report_raw_run {
    uint32_t name, folder; /* name: its place in the list of names */
    uint64_t seed;
    size_t place; /* in the list of runs, once they are in order */
    size_t strategy;
} report_raw_run;

typedef struct report_raw_point {
    report_point point;
    uint32_t run;
    size_t line;
} report_raw_point;

typedef struct report_raw {
    report_raw_run *runs;
    size_t n_runs, runs_room;
    report_raw_point *points;
    size_t n_points, points_room;
    report_pick *picks; /* run: place in runs */
    size_t n_picks, picks_room;
    report_bin *bins; /* likewise */
    size_t n_bins, bins_room;
} report_raw;

/* Takes raw->picks and raw->bins; name_of tells the name of a strategy. */
scant_status report_merge(report_results *results, report_raw *raw,
                          const char *(*name_of)(const void *names, size_t i),
                          const void *names, size_t n_names);

#endif
