/* SPDX-License-Identifier: Apache-2.0
 *
 * A regular file mapped whole, by any thread.
 */
#ifndef SCANT_DATA_MAP_H
#define SCANT_DATA_MAP_H

#include "core/ctx.h"

typedef struct scant__map {
    const unsigned char *bytes; /* never NULL, also where the file is empty */
    size_t size;
    void *map; /* NULL where the file is empty */
} scant__map;

/* name starts the fault's text, which is set on failure: SCANT_EINPUT, or SCANT_ENOMEM.
 * The file must not shrink meanwhile. */
scant_status scant__map_open(const char *path, const char *name, scant__map *out,
                             scant__fault *fault);
void scant__map_close(scant__map *map);

#endif
