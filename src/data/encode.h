/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures as files: width x height pixels of three bytes (red, green, blue), rows from
 * the top. *bytes is new: scant__free() ends it.
 */
#ifndef SCANT_DATA_ENCODE_H
#define SCANT_DATA_ENCODE_H

#include <stdbool.h>

#include "core/ctx.h"

/* grey: the first byte of each pixel is kept alone. */
scant_status scant__encode_png(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                               size_t height, bool grey, void **bytes, size_t *size);
/* quality: libjpeg's, 1 to 100. */
scant_status scant__encode_jpeg(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                                size_t height, int quality, void **bytes, size_t *size);

#endif
