/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON objects from a file, one at a time: a list ([{...}, {...}]) or a sequence, one per
 * line (JSONL) or with any white space. Only one object is in memory.
 */
#ifndef SCANT_DATA_JSON_OBJECTS_H
#define SCANT_DATA_JSON_OBJECTS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/ctx.h"

typedef struct scant__objects {
    scant_ctx *ctx;
    const char *name; /* of the file; starts messages */
    const char *at, *end;
    size_t line;  /* of at, from 1 */
    size_t count; /* objects read so far */
    bool list;    /* in brackets, with commas */
    bool ended;   /* the closing bracket was read */
} scant__objects;

/* Whether the text starts like such a file, ignoring a byte order mark. */
bool scant__objects_begin_with(const void *bytes, size_t size);

/* name and bytes are borrowed. */
void scant__objects_begin(scant__objects *objects, scant_ctx *ctx, const char *name,
                          const void *bytes, size_t size);
/* *out is new, freed by json_decref(); NULL at the end. *line is where it begins.
 * SCANT_EINPUT if the text is not JSON, not an object, or repeats a key. */
scant_status scant__objects_next(scant__objects *objects, json_t **out, size_t *line);

#endif
