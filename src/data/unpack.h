/* SPDX-License-Identifier: Apache-2.0
 *
 * Files packed by gzip or xz, unpacked a piece at a time or whole.
 *
 * A file is one stream: what follows it is an error, as are a stream that is cut short
 * and a sum that is wrong. All memory is counted by the context.
 */
#ifndef SCANT_DATA_UNPACK_H
#define SCANT_DATA_UNPACK_H

#include "data/source.h"

typedef struct scant__unpack scant__unpack;

/* By the first bytes. */
bool scant__is_packed(const unsigned char *bytes, size_t size);

/* bytes must be packed and outlive the handle; name (borrowed too) starts messages. On
 * SCANT_OK *out is new: scant__unpack_close() ends it; else NULL. */
scant_status scant__unpack_open(scant_ctx *ctx, const char *name,
                                const unsigned char *bytes, size_t size,
                                scant__unpack **out);
/* Up to want bytes; *got is less only where the stream ended, whole and sound. */
scant_status scant__unpack_read(scant__unpack *unpack, void *out, size_t want,
                                size_t *got);
void scant__unpack_close(scant__unpack *unpack); /* NULL is fine */

/* The source's own bytes where it is not packed; else it becomes the unpacked ones. What
 * is packed does not tell its size reliably, so memory grows with what comes out. On
 * failure the source is as it was. */
scant_status scant__unpack_source(scant_ctx *ctx, const char *name,
                                  scant__source *source);

#endif
