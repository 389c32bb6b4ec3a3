/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV with a header line, read row by row into a struct, and written from it. Columns are
 * found by their names, in any order; unknown ones are ignored. Every cell is checked;
 * errors name the file, the line and the column.
 */
#ifndef SCANT_REPORT_CSV_TABLE_H
#define SCANT_REPORT_CSV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

typedef enum report_kind {
    REPORT_WORD = 1, /* const char *, 1 to 255 bytes; valid until the next row */
    REPORT_WORDS,    /* like REPORT_WORD, may be empty */
    REPORT_SHORT,    /* uint32_t, up to 2^32 - 2 */
    REPORT_COUNT,    /* uint64_t, up to 2^53 */
    REPORT_SEED,     /* uint64_t, any */
    REPORT_FRACTION, /* double from 0 to 1; NaN for a missing one: "", "nan", infinity */
    REPORT_AMOUNT,   /* double from 0 to 1e100; missing only if the column is optional */
    REPORT_NUMBER    /* double, may be missing */
} report_kind;

typedef struct report_column {
    const char *name;
    report_kind kind;
    bool optional; /* a file may lack the column; the value is then "", 0 or NaN */
    size_t at;     /* offset of the value in the row's struct */
} report_column;

typedef struct report_table {
    const report_column *columns;
    size_t n_columns; /* at most 16 */
    void *row;        /* struct that rows are read into or written from */
    /* Called for every row, after it is read into `row`. */
    scant_status (*take)(void *self, size_t line);
    void *self;
    unsigned found; /* a bit for each column that the file has */
} report_table;

/* Reads all rows. Messages begin with name. Fails with SCANT_EINPUT, SCANT_ENOMEM or the
 * status of take. */
scant_status report_table_read(scant_ctx *ctx, const char *name, const void *bytes,
                               size_t size, report_table *table);
/* Write the header or the row, columns in `found` only. Numbers are exact and do not
 * depend on the locale. */
void report_table_head(scant__text *out, const report_table *table);
void report_table_row(scant__text *out, const report_table *table);

#endif
