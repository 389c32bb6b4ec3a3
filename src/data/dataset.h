/* SPDX-License-Identifier: Apache-2.0
 *
 * Data sets: any row can be read, from any thread, as float planes. Each format's reader
 * fills in a scant_data; callers need not know the format.
 */
#ifndef SCANT_DATA_DATASET_H
#define SCANT_DATA_DATASET_H

#include <stdbool.h>

#include "core/mem.h"
#include "core/parfor.h"
#include "data/names.h"
#include "scant/train.h"

DEFINE_AUTO(scant_data, scant_data)

/* Floats per sample: channels * height * width. */
size_t scant__data_width(const scant_data *data);

/* Writes a sample to out as planes (c, h, w): bytes as value / 255, other numbers
 * unchanged. Thread-safe. Fails only if an image file cannot be read or a number is not
 * finite; fault says which and why. */
scant_status scant__data_read(const scant_data *data, size_t row, float *out,
                              scant__fault *fault);

/* Whether samples are images (can be flipped and shifted), not feature rows. */
bool scant__data_is_image(const scant_data *data);
/* Whether all values come from bytes: multiples of 1/255 from 0 to 1. */
bool scant__data_bytes(const scant_data *data);

/* ---- data sets composed of others or of files ---- */

/* Image files in the order of names, which are paths below folder or absolute. A file is
 * opened only when its sample is read. */
scant_status scant__data_open_files(scant_ctx *ctx, const char *folder,
                                    const scant__names *names, size_t side,
                                    scant_data **out);
/* Concatenates n parts of equal sample shape. Takes ownership of the parts, also on
 * failure. */
scant_status scant__data_join(scant_ctx *ctx, scant_data **parts, size_t n,
                              scant_data **out);
/* Samples rows[0..n-1] of data. Takes ownership of data, also on failure; copies rows. */
scant_status scant__data_subset(scant_ctx *ctx, scant_data *data, const size_t *rows,
                                size_t n, scant_data **out);

/* Encodes an image for display, its longer side scaled down to at most `most` pixels. A
 * file becomes an upright JPEG, or PNG if it is PNG and not scaled; any other sample
 * becomes PNG. *type is a static string; free *bytes with scant__free(). */
scant_status scant__data_image_file(const scant_data *data, size_t row, size_t most,
                                    void **bytes, size_t *size, const char **type);

/* Paths of all images below folder, at any depth, in byte order; SCANT_EINPUT if there
 * are none. */
scant_status scant__images_list(scant_ctx *ctx, const char *folder, scant__names *names);

#endif
