/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes PNG and JPEG to rows of RGB bytes (thread-safe), and encodes them.
 *
 * Like PIL's convert("RGB"): grey is repeated, palettes are looked up, alpha is dropped,
 * CMYK is assumed to be Adobe's (inverted). Unlike PIL, which clips, 16-bit grey keeps
 * its upper byte. Damaged or truncated files are refused.
 */
#ifndef SCANT_DATA_IMAGES_H
#define SCANT_DATA_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

/* Decoding is bounded, because a small file can demand much memory and time. An image of
 * more pixels is refused, and so is one whose rows cost more than SCANT__MAX_WORK pixels
 * in total: a row costs its width and SCANT__ROW_WORK, an interlaced one four times as
 * much. A JPEG's pixels times its scans are at most SCANT__MAX_SCANNED. Each limit is one
 * to three seconds of work. */
enum {
    SCANT__MAX_PIXELS = 1 << 28,
    SCANT__MAX_WORK = 5 << 26,
    SCANT__ROW_WORK = 64,
    SCANT__INTERLACED = 4
};
static const uint64_t SCANT__MAX_SCANNED = (uint64_t)1 << 33;

/* An image to decode, and the callbacks that receive its rows. */
typedef struct scant__decode {
    scant_ctx *ctx;
    const char *name; /* file name; starts the fault's text */
    const unsigned char *bytes;
    size_t size;
    scant__fault *fault;
    /* begin() is called once, with the EXIF orientation (1 if there is none), then row()
     * for each row from the top. begin() may fail, with fault set. */
    scant_status (*begin)(void *self, size_t width, size_t height, int orientation);
    void (*row)(void *self, const unsigned char *rgb);
    void *self;
    /* A JPEG is decoded at 1/2, 1/4 or 1/8 of its size if its longer side then still has
     * at least this many pixels; 0: full size. */
    size_t least;
} scant__decode;

/* Decodes PNG or JPEG, detected by content; SCANT_EINPUT if it is neither. */
scant_status scant__decode_image(const scant__decode *job);

/* The same, rotated upright according to EXIF: begin() gets the final width and height
 * and orientation 1. An image whose orientation is not 1 is held in memory. */
scant_status scant__decode_upright(const scant__decode *job);

/* ---- decoders of the two formats ---- */

scant_status scant__decode_png(const scant__decode *job);
scant_status scant__decode_jpeg(const scant__decode *job);

/* The orientation in an EXIF block (starting at its TIFF header), 1 to 8; 1 if missing or
 * damaged. */
int scant__exif_orientation(const unsigned char *bytes, size_t size);

/* Sets the fault if a side is zero or there are too many pixels; and if decoding rows as
 * costly as row_width pixels, `times` times, is too much work. */
scant_status scant__decode_check(const scant__decode *job, size_t width, size_t height);
scant_status scant__decode_check_work(const scant__decode *job, size_t row_width,
                                      size_t height, size_t times);

/* Moves an encoder's output from text to *bytes, or fails with status and fault; frees
 * text in both cases. */
scant_status scant__encoded(scant_ctx *ctx, scant_status status,
                            const scant__fault *fault, scant__text *text, void **bytes,
                            size_t *size);

/* ---- encoding: width x height RGB pixels of three bytes, rows from the top. *bytes is
 * new; free it with scant__free() ---- */

/* If grey is true, writes a grey image of the first byte of each pixel. */
scant_status scant__encode_png(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                               size_t height, bool grey, void **bytes, size_t *size);
/* quality is libjpeg's, 1 to 100. */
scant_status scant__encode_jpeg(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                                size_t height, int quality, void **bytes, size_t *size);

/* ---- resizing and cropping, row by row as an image is decoded. With a side of 224,
 * scant__fit_middle() gives the same pixels as torchvision's Resize(256) and
 * CenterCrop(224) of a PIL image ---- */

/* Resize to wide x high, then keep width columns from left and height rows from top. */
typedef struct scant__fit {
    size_t wide, high;
    size_t left, top, width, height;
} scant__fit;

/* Scales the image so that its shorter edge has `side` * 256 / 224 pixels (256 for 224),
 * then crops a square of `side` x `side` pixels from the middle. */
scant__fit scant__fit_middle(size_t width, size_t height, size_t side);
/* Scales the whole image down so that its longer side has at most `most` pixels. */
scant__fit scant__fit_whole(size_t width, size_t height, size_t most);

/* Filter taps of one direction: the source pixels and weights of each result pixel. */
typedef struct scant__taps {
    size_t most;     /* maximum number of taps of a result */
    size_t *first;   /* (results): first source pixel */
    size_t *count;   /* (results): number of taps */
    int32_t *weight; /* (results, most), in units of 1 / 2^22 */
} scant__taps;

/* Receives row y of the result, width pixels of three bytes. */
typedef void scant__resize_fn(void *self, size_t y, const unsigned char *rgb);

typedef struct scant__resize {
    scant_ctx *ctx;
    size_t width, height; /* size of the result */
    scant__taps across, down;
    unsigned char *ring; /* the last down.most rows, width pixels of three bytes each */
    unsigned char *line; /* (3 * width): one result row */
    int32_t *sum;        /* (3 * width): weighted sums of a result row */
    size_t seen, done;   /* rows received; result rows complete */
    scant__resize_fn *emit;
    void *self;
    void *block; /* owns all buffers above */
} scant__resize;

/* Starts resizing an image of width x height pixels; emit() receives the result's rows
 * from the top. Returns SCANT_OK, or SCANT_ENOMEM with fault set; call
 * scant__resize_end() in both cases. */
scant_status scant__resize_begin(scant__resize *resize, scant_ctx *ctx, size_t width,
                                 size_t height, const scant__fit *fit,
                                 scant__resize_fn *emit, void *self, scant__fault *fault);
/* Adds the next row, width pixels of three bytes. After height rows the result is
 * complete. */
void scant__resize_row(scant__resize *resize, const unsigned char *rgb);
void scant__resize_end(scant__resize *resize);

#endif
