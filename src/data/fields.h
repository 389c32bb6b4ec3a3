/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows with named fields, from a file of people's: CSV with a header (RFC 4180, in any
 * order), or JSON objects; .gz and .xz, too. Told apart by the first byte that counts.
 *
 * Blanks at the ends of a cell count only where it is quoted. An empty field is one that
 * is not there. Whole numbers of JSON are taken as their text.
 */
#ifndef SCANT_DATA_FIELDS_H
#define SCANT_DATA_FIELDS_H

#include "data/cells.h"
#include "data/names.h"
#include "data/objects.h"
#include "data/source.h"

enum { SCANT__FIELDS = 8 }; /* names at most */

typedef struct scant__fields {
    scant_ctx *ctx;
    const char *name;         /* of the file; borrowed */
    const char *const *names; /* of the fields that are looked for; borrowed */
    size_t n;
    bool json;
    size_t line;         /* of the row */
    json_t *object;      /* the row, of JSON */
    scant__names others; /* names in the file that are none of names; of JSON some */
    /* the rest is fields.c's */
    scant__source source;
    scant__cells cells;
    scant__objects objects;
    size_t columns, room, rows; /* of CSV */
    size_t *fields;             /* (columns): which field each is, or n */
    scant__names text;          /* the row's fields */
    size_t at[SCANT__FIELDS];   /* which of text each is; SIZE_MAX: it is not there */
    char numbers[SCANT__FIELDS][24];
} scant__fields;

/* At most SCANT__FIELDS names. scant__fields_end() is due in any case. */
scant_status scant__fields_open(scant__fields *fields, scant_ctx *ctx, const char *path,
                                const char *const *names, size_t n);
/* Of CSV: whether there is a column of that name. Of JSON: always. */
bool scant__fields_has(const scant__fields *fields, size_t field);
/* Goes to the next row; *there is false where there is none. */
scant_status scant__fields_next(scant__fields *fields, bool *there);
/* The row's field, NULL where it is not there; valid until the next row. */
scant_status scant__fields_get(scant__fields *fields, size_t field, const char **out);
/* SCANT_EINPUT: "FILE: line 3: 'VALUE' WHAT". */
scant_status scant__fields_wrong(const scant__fields *fields, const char *value,
                                 const char *what);
void scant__fields_end(scant__fields *fields);

#endif
