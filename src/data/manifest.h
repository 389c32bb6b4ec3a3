/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests: tables with a row for each item. The format is CSV (RFC 4180, with a header)
 * or JSONL (one object per line), plain, .gz or .xz, recognised by content. The columns,
 * in any order, are id; path, row (a whole number from 0) or text; label; group. Other
 * columns, such as split and cost, are ignored with one warning. No component of a path
 * may be "..".
 */
#ifndef SCANT_DATA_MANIFEST_H
#define SCANT_DATA_MANIFEST_H

#include <stdbool.h>

#include "core/ctx.h"

typedef struct scant__manifest_row {
    size_t line;                                  /* from 1, for messages */
    const char *id, *path, *text, *label, *group; /* NULL: missing or empty */
    bool has_row;
    size_t row;
} scant__manifest_row;

/* Calls fn for every row in order; strings are valid during the call. Errors are
 * SCANT_EINPUT with file, line and value. Stops if fn fails. */
scant_status scant__manifest_read(scant_ctx *ctx, const char *path,
                                  scant_status (*fn)(void *user,
                                                     const scant__manifest_row *row),
                                  void *user);

#endif
