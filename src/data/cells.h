/* SPDX-License-Identifier: Apache-2.0
 *
 * The cells of a CSV text, as RFC 4180 has it: commas, quotes around cells that hold
 * commas, quotes (doubled) or line ends; LF or CRLF. Empty lines are passed over, and so
 * is a byte order mark.
 */
#ifndef SCANT_DATA_CELLS_H
#define SCANT_DATA_CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/ctx.h"

typedef struct scant__cell {
    const char *text; /* not terminated; valid until the next one is read */
    size_t length;
    size_t line; /* where it begins */
    bool last;   /* of its row */
    bool quoted; /* it stood in quotes: blanks at its ends are its own */
} scant__cell;

typedef struct scant__cells {
    scant_ctx *ctx;
    const char *name; /* of the file; messages begin with it */
    const char *start, *end;
    const char *at; /* the next cell */
    size_t line;    /* its line, from 1 */
    char *quoted;   /* the text of a cell with doubled quotes */
    size_t room;
} scant__cells;

/* name and bytes are borrowed. SCANT_EINPUT where there is a zero byte. */
scant_status scant__cells_begin(scant__cells *cells, scant_ctx *ctx, const char *name,
                                const void *bytes, size_t size);
/* Whether there is another row; goes to it. */
bool scant__cells_row(scant__cells *cells);
/* There must be one: a row was begun, and the last cell was not its last. */
scant_status scant__cells_next(scant__cells *cells, scant__cell *out);
void scant__cells_rewind(scant__cells *cells);
void scant__cells_end(scant__cells *cells);

/* Without blanks and tabs at its ends. */
scant__cell scant__cell_trim(scant__cell cell);
/* The decimal number that it is, blanks around it aside; false where it is none. It must
 * be called with the C locale on (uselocale()). */
bool scant__cell_number(scant__cell cell, double *out);

#endif
