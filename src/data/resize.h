/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture made small, row by row as it is decoded: the shorter side to side * 256 / 224
 * (256 for 224), then the side x side pixels of its middle.
 *
 * Equal, to the bit, to what torchvision's Resize(256) and CenterCrop(224) give of a PIL
 * image.
 */
#ifndef SCANT_DATA_RESIZE_H
#define SCANT_DATA_RESIZE_H

#include <stdint.h>

#include "core/ctx.h"

/* Of one direction: which pixels go into each of side results, and with what weights. */
typedef struct scant__taps {
    size_t most;     /* weights a result at most */
    size_t *first;   /* (side) */
    size_t *count;   /* (side) */
    int32_t *weight; /* (side, most), in 1 / 2^22 */
} scant__taps;

typedef struct scant__resize {
    scant_ctx *ctx;
    size_t width, height, side;
    scant__taps across, down;
    unsigned char *ring; /* the last down.most rows, side pixels of three bytes */
    int32_t *sum;        /* (3 * side) */
    size_t seen, done;   /* rows that came, results that are complete */
    const float *unit;   /* a byte's value (256) */
    float *out;          /* three planes of side x side */
    void *block;         /* all of the above that is owned */
} scant__resize;

/* unit and out are borrowed. SCANT_ENOMEM, fault set, or SCANT_OK; scant__resize_end()
 * is due in both cases. */
scant_status scant__resize_begin(scant__resize *resize, scant_ctx *ctx, size_t width,
                                 size_t height, size_t side, const float unit[256],
                                 float *out, scant__fault *fault);
/* The next row, width pixels of three bytes. After height rows out is whole. */
void scant__resize_row(scant__resize *resize, const unsigned char *rgb);
void scant__resize_end(scant__resize *resize);

#endif
