/* SPDX-License-Identifier: Apache-2.0
 *
 * A matrix read by rows, in one number type. Its rows are either direct (in memory, used
 * in place) or written to scratch by a function; they are stored one after the other. A
 * list selects rows of another matrix.
 */
#ifndef SCANT_LINALG_ROWS_H
#define SCANT_LINALG_ROWS_H

#include <stddef.h>

#include "linalg/kernels.h"

typedef struct la_rows {
    size_t n, d;
    la_type type;
    const void *base; /* row i starts at base + i*d; NULL if rows are not direct */
    /* Writes rows first..first+count-1 to out. Thread-safe. */
    void (*fetch)(const void *self, size_t first, size_t count, void *out);
    const void *self;
    const size_t *list; /* row i is row list[i] of base or fetch; row i itself if NULL */
} la_rows;

size_t la_rows_bytes(const la_rows *rows); /* bytes of one row */
/* Returns the bytes of scratch that la_rows_get() needs for count rows. */
size_t la_rows_scratch(const la_rows *rows, size_t count);
/* Returns rows first..first+count-1, valid while scratch and the matrix are. */
const void *la_rows_get(const la_rows *rows, size_t first, size_t count, void *scratch);

/* Sets out to pointers to `count` rows, which need not be contiguous: the rows that
 * which[first..first+count-1] lists, or rows first..first+count-1 if `which` is NULL.
 * scratch: la_rows_point_scratch() bytes. */
void la_rows_point(const la_rows *rows, const size_t *which, size_t first, size_t count,
                   void *scratch, const void **out);
size_t la_rows_point_scratch(const la_rows *rows, size_t count);

#endif
