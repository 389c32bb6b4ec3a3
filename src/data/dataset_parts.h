/* SPDX-License-Identifier: Apache-2.0
 *
 * Data sets composed of others or of a list of files; and a sample encoded as an image
 * file.
 */
#ifndef SCANT_DATA_DATASET_PARTS_H
#define SCANT_DATA_DATASET_PARTS_H

#include "core/ctx.h"
#include "data/names.h"
#include "scant/train.h"

/* Image files in the order of names, which are paths below folder or absolute. No file is
 * opened before it is read. */
scant_status scant__data_open_files(scant_ctx *ctx, const char *folder,
                                    const scant__names *names, size_t side,
                                    scant_data **out);
/* Concatenates n parts of equal sample shape. Takes the parts, also on failure. */
scant_status scant__data_join(scant_ctx *ctx, scant_data **parts, size_t n,
                              scant_data **out);
/* Samples rows[0..n-1] of data. Takes data, also on failure; rows are copied. */
scant_status scant__data_subset(scant_ctx *ctx, scant_data *data, const size_t *rows,
                                size_t n, scant_data **out);

/* Encodes a sample for display. Image files become JPEG (PNG if a small PNG), whole and
 * upright, the longer side at most `most` pixels; other samples become PNG, scaled down
 * only if larger. *type is static; free *bytes with scant__free(). */
scant_status scant__data_image_file(const scant_data *data, size_t row, size_t most,
                                    void **bytes, size_t *size, const char **type);

/* Paths of all images below folder, at any depth, in byte order; SCANT_EINPUT if there
 * are none. */
scant_status scant__images_list(scant_ctx *ctx, const char *folder, scant__names *names);

#endif
