/* SPDX-License-Identifier: Apache-2.0
 *
 * What files and their errors need in more than one place.
 */
#ifndef SCANT_DATA_FILE_H
#define SCANT_DATA_FILE_H

#include "core/ctx.h"

enum { SCANT__ERRNO_TEXT = 128 };

/* errno's text in the caller's buffer, as strerror() may not be called by two threads. */
const char *scant__errno_text(int number, char out[SCANT__ERRNO_TEXT]);

typedef struct scant__piece {
    const void *bytes;
    size_t size;
} scant__piece;

/* scant_file_write() of pieces that need not be copied together first. */
scant_status scant__file_write_pieces(scant_ctx *ctx, const char *path,
                                      const scant__piece *pieces, size_t count);

#endif
