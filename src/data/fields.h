/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows with named fields: CSV with a header (RFC 4180, columns in any order) or JSON
 * objects, also .gz and .xz. The first non-blank byte decides which.
 *
 * Blanks at the ends of a cell are kept only inside quotes. An empty field counts as
 * missing. Whole numbers in JSON become text.
 */
#ifndef SCANT_DATA_FIELDS_H
#define SCANT_DATA_FIELDS_H

#include "core/csv.h"
#include "core/json_read.h"
#include "data/names.h"
#include "data/source.h"

enum { SCANT__FIELDS = 8 }; /* maximum number of names */

/* Reads JSON objects one by one from a list ([{...}, {...}]) or a sequence, one per line
 * (JSONL) or separated by any white space. */
typedef struct scant__objects {
    const char *at, *end;
    size_t line;  /* line number of at, from 1 */
    size_t count; /* objects read so far */
    bool list;    /* a list: in brackets, with commas */
    bool ended;   /* the closing bracket was read */
} scant__objects;

typedef struct scant__fields {
    scant_ctx *ctx;
    const char *name;         /* file name; borrowed */
    const char *const *names; /* the fields to read; borrowed */
    size_t n;
    bool json;
    size_t line;             /* line number of the current row */
    scant__json_tree object; /* current row, JSON only */
    scant__names others;     /* other field names in the file; for JSON the first few */
    /* private to fields.c: */
    scant__source source;
    scant__cells cells;
    scant__objects objects;
    size_t columns, room, rows; /* CSV */
    size_t *fields;             /* (columns): the field of each column, or n */
    scant__names text;          /* values of the current row */
    size_t at[SCANT__FIELDS];   /* index of each field in text; SIZE_MAX: missing */
    char numbers[SCANT__FIELDS][24];
} scant__fields;

/* n is at most SCANT__FIELDS. Call scant__fields_end() also on failure. */
scant_status scant__fields_open(scant__fields *fields, scant_ctx *ctx, const char *path,
                                const char *const *names, size_t n);
/* Whether a CSV file has a column for the field; always true for JSON. */
bool scant__fields_has(const scant__fields *fields, size_t field);
/* Reads the next row; *there is false at the end. */
scant_status scant__fields_next(scant__fields *fields, bool *there);
/* Sets *out to a field of the current row, valid until the next row; NULL if missing. */
scant_status scant__fields_get(scant__fields *fields, size_t field, const char **out);
/* Fails with SCANT_EINPUT and the text "FILE: line 3: 'VALUE' WHAT". */
scant_status scant__fields_wrong(const scant__fields *fields, const char *value,
                                 const char *what);
void scant__fields_end(scant__fields *fields);

#endif
