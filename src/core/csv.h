/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the cells of a CSV text (RFC 4180). Commas separate cells; LF or CRLF ends a row.
 * A cell with commas, line ends or quotes is in quotes, and quotes inside it are doubled.
 * Empty lines and a byte order mark are skipped. scant__text_csv() writes cells.
 */
#ifndef SCANT_CORE_CSV_H
#define SCANT_CORE_CSV_H

#include "core/text.h"

typedef struct scant__cell {
    const char *text; /* without a final zero; valid until the next cell is read */
    size_t length;
    size_t line; /* line on which the cell begins */
    bool last;   /* the last cell of its row */
    bool quoted; /* was in quotes, so blanks at its ends belong to it */
} scant__cell;

typedef struct scant__cells {
    scant_ctx *ctx;
    const char *name; /* file name; starts messages */
    const char *start, *end;
    const char *at;     /* next cell */
    size_t line;        /* line number of at, from 1 */
    scant__text quoted; /* buffer for a cell with doubled quotes */
} scant__cells;

/* Borrows name and bytes. SCANT_EINPUT if there is a zero byte. */
scant_status scant__cells_begin(scant__cells *cells, scant_ctx *ctx, const char *name,
                                const void *bytes, size_t size);
/* Moves to the next row; returns false at the end. */
bool scant__cells_row(scant__cells *cells);
/* Reads the next cell of the row. The previous one must not have been the last. */
scant_status scant__cells_next(scant__cells *cells, scant__cell *out);
void scant__cells_rewind(scant__cells *cells);
void scant__cells_end(scant__cells *cells);

/* Strips blanks and tabs at both ends. */
scant__cell scant__cell_trim(scant__cell cell);
/* Parses a decimal number, ignoring blanks around it; returns false if it is not one. The
 * C locale must be active (uselocale()). */
bool scant__cell_number(scant__cell cell, double *out);

#endif
