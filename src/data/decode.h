/* SPDX-License-Identifier: Apache-2.0
 *
 * PNG and JPEG, decoded to rows of red, green and blue bytes, by any thread.
 *
 * As PIL's convert("RGB") has it: grey three times, palettes looked up, alpha dropped,
 * CMYK taken as Adobe's (inverted). Deviation: of 16-bit grey, too, the upper byte
 * counts, where PIL clips. What is damaged or cut short is refused, not guessed.
 */
#ifndef SCANT_DATA_DECODE_H
#define SCANT_DATA_DECODE_H

#include <stdbool.h>

#include "core/ctx.h"

/* More are taken for an attack on our memory. */
enum { SCANT__MAX_PIXELS = 1 << 28 };

/* What a decoder works on. */
typedef struct scant__decode {
    scant_ctx *ctx;
    const char *name; /* starts the fault's text */
    const unsigned char *bytes;
    size_t size;
    scant__fault *fault;
    /* Where it goes: begin once, with EXIF's orientation (1 where there is none); then
     * row for each row from the top. begin may fail, with fault set. */
    scant_status (*begin)(void *self, size_t width, size_t height, int orientation);
    void (*row)(void *self, const unsigned char *rgb);
    void *self;
    /* JPEG may come smaller, at 1/2, 1/4 or 1/8 of its size, as long as its longer side
     * is no less than this; 0: at its full size. */
    size_t least;
} scant__decode;

/* By content. SCANT_EINPUT for what is neither. */
scant_status scant__decode_picture(const scant__decode *job);

/* The same of the picture as it is to be seen: turned as EXIF says, so that begin gets
 * the sides that it has then, and orientation 1. One that must be turned is held whole.
 */
scant_status scant__decode_upright(const scant__decode *job);

scant_status scant__decode_png(const scant__decode *job);
scant_status scant__decode_jpeg(const scant__decode *job);

/* The orientation in an EXIF block (a TIFF header and on), 1 to 8; 1 where it has none or
 * is damaged. */
int scant__exif_orientation(const unsigned char *bytes, size_t size);

/* Sides that are not zero and pixels that are not too many: else the fault is set. */
scant_status scant__decode_check(const scant__decode *job, size_t width, size_t height);

#endif
