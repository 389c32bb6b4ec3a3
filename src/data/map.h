/* SPDX-License-Identifier: Apache-2.0
 *
 * A memory-mapped regular file; thread-safe.
 */
#ifndef SCANT_DATA_MAP_H
#define SCANT_DATA_MAP_H

#include "core/ctx.h"

typedef struct scant__map {
    const unsigned char *bytes; /* never NULL, even for an empty file */
    size_t size;
    void *map; /* NULL for an empty file */
} scant__map;

/* On failure (SCANT_EINPUT or SCANT_ENOMEM) sets fault, whose text starts with name. The
 * file must not shrink while mapped. */
scant_status scant__map_open(const char *path, const char *name, scant__map *out,
                             scant__fault *fault);
void scant__map_close(scant__map *map);

#endif
