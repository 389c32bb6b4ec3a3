/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotates and mirrors images according to their EXIF orientation, between a decoder and
 * the consumer of its rows.
 */
#include <string.h>

#include "core/mem.h"
#include "data/decode.h"

typedef struct turner {
    const scant__decode *job; /* receives upright rows */
    size_t width, height;     /* as in the file */
    int orientation;
    unsigned char *whole; /* an image that must be rotated; else NULL */
    size_t rows;          /* rows of whole filled so far */
} turner;

static bool is_turned(const turner *t) { return t->orientation >= 5; }

static scant_status on_begin(void *self, size_t width, size_t height, int orientation) {
    turner *t = self;
    const scant__decode *job = t->job;
    t->width = width;
    t->height = height;
    t->orientation = orientation;
    if (orientation != 1 && !(t->whole = scant__worker_alloc(
                                  job->ctx, size_mul(width, height), 3, job->fault)))
        return SCANT_ENOMEM;
    return job->begin(job->self, is_turned(t) ? height : width,
                      is_turned(t) ? width : height, 1);
}

static void on_row(void *self, const unsigned char *rgb) {
    turner *t = self;
    if (t->whole)
        memcpy(t->whole + t->rows++ * 3 * t->width, rgb, 3 * t->width);
    else
        t->job->row(t->job->self, rgb);
}

/* The source of pixel (x, y) of the upright image. EXIF's eight orientations: normal,
 * mirrored, rotated by 180 degrees, flipped vertically, and the same four transposed. */
static const unsigned char *pixel(const turner *t, size_t x, size_t y) {
    size_t right = t->width - 1, bottom = t->height - 1, column, row;
    bool turned = is_turned(t);
    bool from_right = t->orientation == 2 || t->orientation == 3 || t->orientation == 7 ||
                      t->orientation == 8;
    bool from_bottom = t->orientation == 3 || t->orientation == 4 ||
                       t->orientation == 6 || t->orientation == 7;
    column = turned ? y : x;
    row = turned ? x : y;
    if (from_right) column = right - column;
    if (from_bottom) row = bottom - row;
    return t->whole + 3 * (row * t->width + column);
}

static scant_status turn(const turner *t) {
    const scant__decode *job = t->job;
    size_t width = is_turned(t) ? t->height : t->width;
    size_t height = is_turned(t) ? t->width : t->height;
    unsigned char *row = scant__worker_alloc(job->ctx, width, 3, job->fault);
    if (!row) return SCANT_ENOMEM;
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) memcpy(row + 3 * x, pixel(t, x, y), 3);
        job->row(job->self, row);
    }
    scant__free(job->ctx, row);
    return SCANT_OK;
}

scant_status scant__decode_upright(const scant__decode *job) {
    turner t = {.job = job};
    scant__decode inner = *job;
    inner.begin = on_begin;
    inner.row = on_row;
    inner.self = &t;
    scant_status status = scant__decode_image(&inner);
    if (status == SCANT_OK && t.whole) status = turn(&t);
    scant__free(job->ctx, t.whole);
    return status;
}
