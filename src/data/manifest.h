/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests: a table that names items. CSV (RFC 4180, with a header; .gz and .xz, too) or
 * JSONL (an object a line), told apart by their content. Columns, in any order: id; path,
 * row (a whole number from 0 on) or text; label; group. Others are told of once, in a
 * warning, and passed over; split and cost among them. A path has no part "..".
 */
#ifndef SCANT_DATA_MANIFEST_H
#define SCANT_DATA_MANIFEST_H

#include <stdbool.h>

#include "core/ctx.h"

typedef struct scant__manifest_row {
    size_t line;                                  /* from 1, for messages */
    const char *id, *path, *text, *label, *group; /* NULL: not there, or empty */
    bool has_row;
    size_t row;
} scant__manifest_row;

/* Calls fn for every row in order; strings are valid within the call. What is wrong is
 * SCANT_EINPUT with file, line and value. fn's failure ends it. */
scant_status scant__manifest_read(scant_ctx *ctx, const char *path,
                                  scant_status (*fn)(void *user,
                                                     const scant__manifest_row *row),
                                  void *user);

#endif
