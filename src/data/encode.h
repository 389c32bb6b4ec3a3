/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes images: width x height RGB pixels of three bytes, rows from the top. *bytes is
 * new; free it with scant__free().
 */
#ifndef SCANT_DATA_ENCODE_H
#define SCANT_DATA_ENCODE_H

#include <stdbool.h>

#include "core/ctx.h"

/* grey: keeps only the first byte of each pixel. */
scant_status scant__encode_png(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                               size_t height, bool grey, void **bytes, size_t *size);
/* quality is libjpeg's, 1 to 100. */
scant_status scant__encode_jpeg(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                                size_t height, int quality, void **bytes, size_t *size);

#endif
