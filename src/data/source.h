/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an input's bytes are: a file mapped whole, or a member of an .npz archive.
 */
#ifndef SCANT_DATA_SOURCE_H
#define SCANT_DATA_SOURCE_H

#include <stdbool.h>

#include "core/ctx.h"

typedef struct scant__source {
    const unsigned char *bytes; /* the file's, or the member's; borrowed from the two
                                 * below; never NULL */
    size_t size;
    bool member; /* of an archive */
    void *map;
    size_t map_size;
    void *owned; /* inflated bytes, from scant__alloc() */
} scant__source;

/* Opens "FILE", or "FILE.npz:KEY". An archive is known by its content; without KEY it
 * must have one array. Other files come as they are, empty ones with size 0. On failure
 * (SCANT_EINPUT or SCANT_ENOMEM; the message starts with spec) nothing needs closing. */
scant_status scant__source_open(scant_ctx *ctx, const char *spec, scant__source *out);
/* Opens the file at path as it is, whatever it holds and is called. */
scant_status scant__source_map(scant_ctx *ctx, const char *path, scant__source *out);
void scant__source_close(scant_ctx *ctx, scant__source *source);

#endif
