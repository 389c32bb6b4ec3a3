/* SPDX-License-Identifier: Apache-2.0
 *
 * A cache of float32 rows: an append-only .npy file. The header is written after the rows
 * that it counts; the next open truncates rows that the header does not count.
 */
#ifndef SCANT_DATA_ROWCACHE_H
#define SCANT_DATA_ROWCACHE_H

#include "core/mem.h"

typedef struct scant__rowcache scant__rowcache;

/* Opens or creates the file; replaces a file that is damaged or has another width. *rows
 * is the row count. One process at a time may have it open. */
scant_status scant__rowcache_open(scant_ctx *ctx, const char *path, size_t width,
                                  scant__rowcache **out, size_t *rows);
scant_status scant__rowcache_append(scant__rowcache *growing, const float *rows,
                                    size_t n);
void scant__rowcache_free(scant__rowcache *growing); /* NULL is fine */
DEFINE_AUTO(scant__rowcache, scant__rowcache)

#endif
