/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading results, inside: files to rows (results.c, results_files.c), rows to runs
 * (results_merge.c).
 */
#ifndef SCANT_REPORT_RESULTS_INT_H
#define SCANT_REPORT_RESULTS_INT_H

#include "report/csv_table.h"
#include "report/results.h"

/* "folder/name" in the arena; NULL: no memory. */
char *report_path(scant__arena *arena, const char *folder, const char *name);
bool report_file_exists(const char *path);

/* Reads experiment.ini, classes.csv and thumbnails.csv of a folder if they exist. */
scant_status report_folder_read(report_results *results, report_folder *folder);

/* A growing array. */
typedef struct report_list {
    void *items; /* scant__free() */
    size_t n, room;
} report_list;

/* Adds an item of so many bytes; NULL: no memory. */
void *report_list_add(scant_ctx *ctx, report_list *list, size_t size);
/* The number of items, of n sorted ones, that are before a key. */
size_t report_count_before(size_t n,
                           bool (*before)(const void *items, size_t i, const void *key),
                           const void *items, const void *key);

typedef struct report_raw_run {
    uint32_t name, folder; /* name: its index in the list of names */
    uint64_t seed;
    size_t place; /* its index in the sorted runs */
    size_t strategy;
} report_raw_run;

typedef struct report_raw_point {
    report_point point;
    uint32_t run;
    size_t line;
} report_raw_point;

typedef struct report_raw {
    report_list runs;   /* of report_raw_run */
    report_list points; /* of report_raw_point; run: its index in runs */
    report_list picks;  /* of report_pick; likewise */
    report_list bins;   /* of report_bin; likewise */
} report_raw;

/* Makes strategies, runs and their points, picks and bins. The results take the items of
 * picks and bins. name_of: the name of a strategy. */
scant_status report_merge(report_results *results, report_raw *raw,
                          const char *(*name_of)(const void *names, size_t i),
                          const void *names, size_t n_names);

#endif
