/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing list of strings in two blocks: the text, and where each begins.
 */
#ifndef SCANT_DATA_NAMES_H
#define SCANT_DATA_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/ctx.h"

typedef struct scant__names {
    char *text; /* each ends with a zero */
    size_t used, room;
    size_t *at;
    size_t count, at_room;
} scant__names;

/* Zero is an empty list. Appends a copy of length bytes. */
scant_status scant__names_add(scant_ctx *ctx, scant__names *names, const char *text,
                              size_t length);
const char *scant__names_get(const scant__names *names, size_t i);
/* The same for any i: NULL where there is none, or an empty one. */
const char *scant__names_name(const scant__names *names, size_t i);
/* By bytes, ascending. */
void scant__names_sort(scant__names *names);
/* The place of text in a sorted list, or count. */
size_t scant__names_find(const scant__names *names, const char *text);
void scant__names_end(scant_ctx *ctx, scant__names *names);

/* Makes room for need items of size bytes in *block, which has room for *room; what is
 * there is kept. Grows by halves. */
scant_status scant__grow(scant_ctx *ctx, void **block, size_t *room, size_t need,
                         size_t size);

#endif
