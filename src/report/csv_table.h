/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads CSV with a header line, row by row into a struct. Columns are found by their
 * names, in any order; unknown ones are ignored. Every cell is checked; errors name the
 * file, the line and the column.
 */
#ifndef SCANT_REPORT_CSV_TABLE_H
#define SCANT_REPORT_CSV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ctx.h"

enum { REPORT_NAME = 256 }; /* room for a name in a row, its zero included */

typedef enum report_kind {
    REPORT_WORD = 1, /* char[REPORT_NAME], not empty */
    REPORT_WORDS,    /* the same, may be empty */
    REPORT_COUNT,    /* uint64_t, up to 2^53 */
    REPORT_SEED,     /* uint64_t, any */
    REPORT_FRACTION, /* double from 0 to 1; NaN for "" and "nan" */
    REPORT_AMOUNT,   /* double from 0 to 1e100; NaN likewise if it is optional */
    REPORT_NUMBER    /* double; NaN for "", "nan" and infinities */
} report_kind;

typedef struct report_column {
    const char *name;
    report_kind kind;
    bool optional; /* absent: "", 0 or NaN */
    size_t at;     /* offset of the value in the row's struct */
} report_column;

typedef struct report_table {
    const report_column *columns;
    size_t n_columns; /* at most 16 */
    void *row;        /* the struct */
    /* Called for every row. */
    scant_status (*take)(void *self, size_t line);
    void *self;
    unsigned found; /* output: a bit for each column that the file has */
} report_table;

/* Messages begin with name. SCANT_EINPUT, or the status of take. */
scant_status report_table_read(scant_ctx *ctx, const char *name, const void *bytes,
                               size_t size, report_table *table);

#endif
