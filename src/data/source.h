/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of an input: a mapped file, or a member of an .npz archive.
 */
#ifndef SCANT_DATA_SOURCE_H
#define SCANT_DATA_SOURCE_H

#include <stdbool.h>

#include "core/ctx.h"
#include "data/map.h"

typedef struct scant__source {
    const unsigned char
        *bytes; /* of the file or member; borrowed from map or owned; never NULL */
    size_t size;
    bool member; /* of an archive */
    scant__map map;
    void *owned; /* inflated bytes, from scant__alloc() */
} scant__source;

/* Opens "FILE" or "FILE.npz:KEY". Archives are recognised by content; without KEY an
 * archive must have one array. An empty file has size 0. On failure (SCANT_EINPUT or
 * SCANT_ENOMEM; the message starts with spec) nothing needs closing. */
scant_status scant__source_open(scant_ctx *ctx, const char *spec, scant__source *out);
/* Maps the file at path without interpreting its name or content. */
scant_status scant__source_map(scant_ctx *ctx, const char *path, scant__source *out);
void scant__source_close(scant_ctx *ctx, scant__source *source);

#endif
