/* SPDX-License-Identifier: Apache-2.0
 *
 * A .npy file of float32 rows that grows at its end: a cache. Rows are there once the
 * header counts them, which is written after them; what was cut off while it grew is
 * forgotten by the next who opens it.
 */
#ifndef SCANT_DATA_GROWING_H
#define SCANT_DATA_GROWING_H

#include "core/ctx.h"

typedef struct scant__growing scant__growing;

/* Opens or makes the file; one that has another width, or is damaged, is made anew.
 * *rows: how many are there. One process at a time may have it open. */
scant_status scant__growing_open(scant_ctx *ctx, const char *path, size_t width,
                                 scant__growing **out, size_t *rows);
scant_status scant__growing_append(scant__growing *growing, const float *rows, size_t n);
void scant__growing_close(scant__growing *growing); /* NULL is fine */

#endif
