/* SPDX-License-Identifier: Apache-2.0
 *
 * Folder listings and path helpers.
 */
#ifndef SCANT_DATA_PATHS_H
#define SCANT_DATA_PATHS_H

#include "data/names.h"

/* Appends the names of files and folders in path, each in byte order. Links are followed;
 * hidden entries (starting with a dot) and special files are skipped. Either list may be
 * NULL. */
scant_status scant__folder_list(scant_ctx *ctx, const char *path, scant__names *files,
                                scant__names *folders);

/* "folder/name", new; NULL with the error text set. */
char *scant__path_join(scant_ctx *ctx, const char *folder, const char *name);

/* Whether a component of the path is "..". */
bool scant__path_goes_up(const char *path);

/* Whether name ends with ending, ignoring case. */
bool scant__ends_with(const char *name, const char *ending);
/* The same, optionally followed by .gz or .xz. */
bool scant__ends_with_packed(const char *name, const char *ending);

#endif
