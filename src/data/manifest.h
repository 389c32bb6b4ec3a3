/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests: tables that name items. CSV (RFC 4180, with a header; also .gz and .xz) or
 * JSONL (one object per line), recognised by content. Columns in any order: id; path, row
 * (a whole number from 0) or text; label; group. Others, such as split and cost, are
 * ignored with one warning. A path must not contain "..".
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
