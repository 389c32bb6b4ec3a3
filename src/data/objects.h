/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON objects from a file, one at a time: those of a list ([{...}, {...}]), or one after
 * the other, a line each (JSONL) or however they are set. Only one is held in memory.
 */
#ifndef SCANT_DATA_OBJECTS_H
#define SCANT_DATA_OBJECTS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/ctx.h"

typedef struct scant__objects {
    scant_ctx *ctx;
    const char *name; /* of the file; messages begin with it */
    const char *at, *end;
    size_t line;  /* of at, from 1 */
    size_t count; /* objects that were read */
    bool list;    /* brackets and commas */
    bool ended;   /* the closing one has come */
} scant__objects;

/* Whether text begins as such a file does; a byte order mark is passed over. */
bool scant__objects_begin_with(const void *bytes, size_t size);

/* name and bytes are borrowed. */
void scant__objects_begin(scant__objects *objects, scant_ctx *ctx, const char *name,
                          const void *bytes, size_t size);
/* *out is new: json_decref() ends it; NULL at the end. *line: where it begins. What is no
 * JSON, or something else than an object, is SCANT_EINPUT. Keys that come twice, too. */
scant_status scant__objects_next(scant__objects *objects, json_t **out, size_t *line);

#endif
