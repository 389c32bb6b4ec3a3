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
    scant_ctx *ctx; /* set by the first scant__names_add() */
    char *text;     /* each string ends in a zero */
    size_t used, room;
    size_t *at;
    size_t count, at_room;
} scant__names;

/* Append a copy of `length` bytes, or of a string. A list starts as {0}. */
scant_status scant__names_add(scant_ctx *ctx, scant__names *names, const char *text,
                              size_t length);
scant_status scant__names_put(scant_ctx *ctx, scant__names *names, const char *text);
const char *scant__names_get(const scant__names *names, size_t i);
/* The i-th string; NULL if i is out of range or the string is empty. */
const char *scant__names_name(const scant__names *names, size_t i);
/* Sorts the list in byte order. */
void scant__names_sort(scant__names *names);
/* Returns the index of text in a sorted list, or names->count if it is not there. */
size_t scant__names_find(const scant__names *names, const char *text);
void scant__names_end(scant__names *names);

#endif
