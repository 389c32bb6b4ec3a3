/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture made small, row by row as it is decoded: brought to another size, of which a
 * part is kept.
 *
 * With scant__fit_middle() equal, to the bit, to what torchvision's Resize(256) and
 * CenterCrop(224) give of a PIL image.
 */
#ifndef SCANT_DATA_RESIZE_H
#define SCANT_DATA_RESIZE_H

#include <stdint.h>

#include "core/ctx.h"

/* What becomes of a picture: it is resized to wide x high, and of that the columns from
 * left and the rows from top on are kept. */
typedef struct scant__fit {
    size_t wide, high;
    size_t left, top, width, height;
} scant__fit;

/* The shorter side to side * 256 / 224 (256 for 224), then the side x side pixels of the
 * middle. */
scant__fit scant__fit_middle(size_t width, size_t height, size_t side);
/* The whole picture, its longer side no longer than most; never made larger. */
scant__fit scant__fit_whole(size_t width, size_t height, size_t most);

/* Of one direction: which pixels go into each result, and with what weights. */
typedef struct scant__taps {
    size_t most;     /* weights a result at most */
    size_t *first;   /* (results) */
    size_t *count;   /* (results) */
    int32_t *weight; /* (results, most), in 1 / 2^22 */
} scant__taps;

/* Takes row y of the result, width pixels of three bytes. */
typedef void scant__resize_fn(void *self, size_t y, const unsigned char *rgb);

typedef struct scant__resize {
    scant_ctx *ctx;
    size_t width, height; /* of the result */
    scant__taps across, down;
    unsigned char *ring; /* the last down.most rows, width pixels of three bytes */
    unsigned char *line; /* (3 * width): a row of the result */
    int32_t *sum;        /* (3 * width) */
    size_t seen, done;   /* rows that came, results that are complete */
    scant__resize_fn *emit;
    void *self;
    void *block; /* all of the above that is owned */
} scant__resize;

/* Of a picture of width x height pixels; emit is called with the rows of the result, from
 * the top. SCANT_ENOMEM, fault set, or SCANT_OK; scant__resize_end() is due in both
 * cases. */
scant_status scant__resize_begin(scant__resize *resize, scant_ctx *ctx, size_t width,
                                 size_t height, const scant__fit *fit,
                                 scant__resize_fn *emit, void *self, scant__fault *fault);
/* The next row, width pixels of three bytes. After height rows the result is whole. */
void scant__resize_row(scant__resize *resize, const unsigned char *rgb);
void scant__resize_end(scant__resize *resize);

#endif
