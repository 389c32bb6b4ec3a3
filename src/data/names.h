/* SPDX-License-Identifier: Apache-2.0
 *
 * A growable list of strings in two blocks: the text, and the offsets.
 */
#ifndef SCANT_DATA_NAMES_H
#define SCANT_DATA_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/ctx.h"

typedef struct scant__names {
    char *text; /* each string is terminated */
    size_t used, room;
    size_t *at;
    size_t count, at_room;
} scant__names;

/* Appends a copy of length bytes. A zeroed list is empty. */
scant_status scant__names_add(scant_ctx *ctx, scant__names *names, const char *text,
                              size_t length);
const char *scant__names_get(const scant__names *names, size_t i);
/* For any i; NULL if out of range or empty. */
const char *scant__names_name(const scant__names *names, size_t i);
/* In byte order. */
void scant__names_sort(scant__names *names);
/* Index of text in a sorted list, or count. */
size_t scant__names_find(const scant__names *names, const char *text);
void scant__names_end(scant_ctx *ctx, scant__names *names);

/* Makes room for need items of size bytes in *block, whose capacity is *room; keeps the
 * contents. Grows by half. */
scant_status scant__grow(scant_ctx *ctx, void **block, size_t *room, size_t need,
                         size_t size);

#endif
