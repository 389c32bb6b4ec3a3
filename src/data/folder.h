/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in a folder, and what a path's last part says.
 */
#ifndef SCANT_DATA_FOLDER_H
#define SCANT_DATA_FOLDER_H

#include "data/names.h"

/* Appends the names of files and of folders in path, each sorted by bytes. Links are
 * followed; what is hidden (starts with a dot) and what is neither is passed over. Either
 * list may be NULL. */
scant_status scant__folder_list(scant_ctx *ctx, const char *path, scant__names *files,
                                scant__names *folders);

/* "folder/name", new; NULL with the error text set. */
char *scant__path_join(scant_ctx *ctx, const char *folder, const char *name);

/* Whether a part of a path is "..": it could lead anywhere. */
bool scant__path_goes_up(const char *path);

/* Whether name ends with ending, capital letters or not. */
bool scant__ends_with(const char *name, const char *ending);
/* The same, where .gz or .xz may follow. */
bool scant__ends_with_packed(const char *name, const char *ending);

#endif
