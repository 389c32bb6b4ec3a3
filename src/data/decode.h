/* SPDX-License-Identifier: Apache-2.0
 *
 * PNG and JPEG decoded to rows of RGB bytes; thread-safe.
 *
 * Like PIL's convert("RGB"): grey is repeated, palettes are looked up, alpha is dropped,
 * CMYK is taken as Adobe's (inverted). Deviation: 16-bit grey keeps its upper byte, where
 * PIL clips. Damaged or truncated files are refused.
 */
#ifndef SCANT_DATA_DECODE_H
#define SCANT_DATA_DECODE_H

#include <stdbool.h>

#include "core/ctx.h"

/* A larger image is treated as an attack on our memory. */
enum { SCANT__MAX_PIXELS = 1 << 28 };

/* One decoding. */
typedef struct scant__decode {
    scant_ctx *ctx;
    const char *name; /* starts the fault's text */
    const unsigned char *bytes;
    size_t size;
    scant__fault *fault;
    /* begin is called once, with the EXIF orientation (1 if there is none), then row for
     * each row from the top. begin may fail, with fault set. */
    scant_status (*begin)(void *self, size_t width, size_t height, int orientation);
    void (*row)(void *self, const unsigned char *rgb);
    void *self;
    /* A JPEG may be decoded at 1/2, 1/4 or 1/8 of its size while its longer side is at
     * least this; 0: full size. */
    size_t least;
} scant__decode;

/* Detects the format by content; SCANT_EINPUT if it is neither. */
scant_status scant__decode_image(const scant__decode *job);

/* The same, rotated upright according to EXIF: begin gets the final sides and orientation
 * 1. An image that needs rotation is held in memory. */
scant_status scant__decode_upright(const scant__decode *job);

scant_status scant__decode_png(const scant__decode *job);
scant_status scant__decode_jpeg(const scant__decode *job);

/* The orientation in an EXIF block (starting at its TIFF header), 1 to 8; 1 if missing or
 * damaged. */
int scant__exif_orientation(const unsigned char *bytes, size_t size);

/* Sets the fault if a side is zero or there are too many pixels. */
scant_status scant__decode_check(const scant__decode *job, size_t width, size_t height);

#endif
