/* SPDX-License-Identifier: Apache-2.0
 *
 * Resizes and crops an image row by row as it is decoded.
 *
 * With scant__fit_middle() equal, to the bit, to torchvision's Resize(256) and
 * CenterCrop(224) of a PIL image.
 */
#ifndef SCANT_DATA_RESIZE_H
#define SCANT_DATA_RESIZE_H

#include <stdint.h>

#include "core/ctx.h"

/* Resize to wide x high, then keep width columns from left and height rows from top. */
typedef struct scant__fit {
    size_t wide, high;
    size_t left, top, width, height;
} scant__fit;

/* Scales the shorter side to side * 256 / 224 (256 for 224), then crops the middle side x
 * side pixels. */
scant__fit scant__fit_middle(size_t width, size_t height, size_t side);
/* The whole image, its longer side at most `most`; never enlarged. */
scant__fit scant__fit_whole(size_t width, size_t height, size_t most);

/* Filter taps of one direction: the source pixels and weights of each result. */
typedef struct scant__taps {
    size_t most;     /* maximum weights per result */
    size_t *first;   /* (results) */
    size_t *count;   /* (results) */
    int32_t *weight; /* (results, most), in 1 / 2^22 */
} scant__taps;

/* Receives row y of the result, width pixels of three bytes. */
typedef void scant__resize_fn(void *self, size_t y, const unsigned char *rgb);

typedef struct scant__resize {
    scant_ctx *ctx;
    size_t width, height; /* of the result */
    scant__taps across, down;
    unsigned char *ring; /* the last down.most rows, width pixels of three bytes each */
    unsigned char *line; /* (3 * width): one result row */
    int32_t *sum;        /* (3 * width) */
    size_t seen, done;   /* rows received, results complete */
    scant__resize_fn *emit;
    void *self;
    void *block; /* owns all buffers above */
} scant__resize;

/* For an image of width x height pixels; emit receives the result's rows from the top.
 * Returns SCANT_ENOMEM with fault set, or SCANT_OK; call scant__resize_end() in both
 * cases. */
scant_status scant__resize_begin(scant__resize *resize, scant_ctx *ctx, size_t width,
                                 size_t height, const scant__fit *fit,
                                 scant__resize_fn *emit, void *self, scant__fault *fault);
/* Adds the next row, width pixels of three bytes. After height rows the result is
 * complete. */
void scant__resize_row(scant__resize *resize, const unsigned char *rgb);
void scant__resize_end(scant__resize *resize);

#endif
