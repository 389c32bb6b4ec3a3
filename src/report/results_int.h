/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of reading results: rows of files (results_rows.c, results_files.c) become
 * runs when all folders are read (results_merge.c).
 */
#ifndef SCANT_REPORT_RESULTS_INT_H
#define SCANT_REPORT_RESULTS_INT_H

#include "data/names.h"
#include "report/results.h"

enum { REPORT_MOST_STRATEGIES = 1024 };

/* "folder/name" in the arena; NULL: no memory. */
char *report_path(scant__arena *arena, const char *folder, const char *name);
bool report_file_exists(const char *path);

/* Reads experiment.ini, classes.csv and thumbnails.csv of a folder if they exist. */
scant_status report_folder_read(report_results *results, report_folder *folder);

/* Sets `differ` to the keys whose values differ between folders. Strategies and seeds do
 * not count, nor do keys that only one folder has: those are options of strategies that
 * the others did not run, or keys of another version. */
scant_status report_experiments_compare(report_results *results);

/* The number of items i < n that satisfy a condition, by binary search; those that do
 * must come first. */
#define REPORT_COUNT_FIRST(n, i, condition)                                              \
    __extension__({                                                                      \
        size_t low_ = 0, high_ = (n);                                                    \
        while (low_ < high_) {                                                           \
            size_t i = low_ + (high_ - low_) / 2;                                        \
            if (condition)                                                               \
                low_ = i + 1;                                                            \
            else                                                                         \
                high_ = i;                                                               \
        }                                                                                \
        low_;                                                                            \
    })

/* Reading of rows. Until report_merge(), the runs in `out` are in the order of reading,
 * `strategy` is an index in names, and points, picks and bins are in any order; but those
 * points whose folder's curve.csv is read are sorted by run and round. */
typedef struct report_loading {
    scant_ctx *ctx;
    report_results *out;
    uint32_t folder;
    bool trainings;   /* read curve.csv and trainings.csv only */
    const char *file; /* being read */
    scant__names names;
    /* By name: whether two folders have the strategy with the same seed. */
    bool clash[REPORT_MOST_STRATEGIES];
    size_t last; /* the run found last */
    /* The last run that find_run() did not find: its next rows need no search. */
    char lost[256]; /* strategy of that run; "": none */
    uint64_t lost_seed;
    size_t runs_room, points_room, picks_room, bins_room;
    size_t first_point; /* first point of the folder; its points are sorted */
    struct csv_row *row;
} report_loading;

scant_status report_load_file(report_loading *loading, report_file file,
                              const void *bytes, size_t size);

/* Sorts runs, points, picks and bins; makes strategies. Drops picks and bins of rounds
 * that curve.csv does not have. */
scant_status report_merge(report_loading *loading);

#endif
