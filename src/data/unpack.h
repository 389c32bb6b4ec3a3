/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip and xz files, unpacked in pieces or whole.
 *
 * A file is one stream; trailing data, truncation and checksum errors are refused. All
 * memory is counted by the context.
 */
#ifndef SCANT_DATA_UNPACK_H
#define SCANT_DATA_UNPACK_H

#include "data/source.h"

typedef struct scant__unpack scant__unpack;

/* Detects gzip or xz by the first bytes. */
bool scant__is_packed(const unsigned char *bytes, size_t size);

/* bytes must be packed and outlive the handle; name (also borrowed) starts messages. On
 * SCANT_OK *out is new, freed by scant__unpack_close(); else NULL. */
scant_status scant__unpack_open(scant_ctx *ctx, const char *name,
                                const unsigned char *bytes, size_t size,
                                scant__unpack **out);
/* Reads up to want bytes; *got is less only at the end of an intact stream. */
scant_status scant__unpack_read(scant__unpack *unpack, void *out, size_t want,
                                size_t *got);
void scant__unpack_close(scant__unpack *unpack); /* NULL is fine */

/* Replaces a packed source by its unpacked bytes; leaves others unchanged. Memory grows
 * with the output because the packed size hint is unreliable. On failure the source is
 * unchanged. */
scant_status scant__unpack_source(scant_ctx *ctx, const char *name,
                                  scant__source *source);

#endif
