/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples put together from others, or from a list of files; and a sample as a picture
 * that browsers show.
 */
#ifndef SCANT_DATA_PARTS_H
#define SCANT_DATA_PARTS_H

#include "core/ctx.h"
#include "data/names.h"
#include "scant/train.h"

/* Pictures in files, in the order of names, which are paths below folder (absolute ones
 * are taken as they are). No file is looked at before it is read. */
scant_status scant__data_open_files(scant_ctx *ctx, const char *folder,
                                    const scant__names *names, size_t side,
                                    scant_data **out);
/* The samples of n parts, one after the other. They must have one shape. Takes the parts,
 * also on failure. */
scant_status scant__data_join(scant_ctx *ctx, scant_data **parts, size_t n,
                              scant_data **out);
/* Samples rows[0..n-1] of data, which it takes, also on failure; rows are copied. */
scant_status scant__data_some(scant_ctx *ctx, scant_data *data, const size_t *rows,
                              size_t n, scant_data **out);

/* A sample as a file: of pictures in files JPEG (PNG where that is what it is and it is
 * small), the whole picture, upright, its longer side at most `most` pixels; of others
 * PNG, their pixels as they are where they are no more than that. *type: static. *bytes:
 * scant__free(). */
scant_status scant__data_picture(const scant_data *data, size_t row, size_t most,
                                 void **bytes, size_t *size, const char **type);

/* Paths of all pictures below folder, at any depth, sorted by bytes; SCANT_EINPUT where
 * there are none. */
scant_status scant__pictures_list(scant_ctx *ctx, const char *folder,
                                  scant__names *names);

#endif
