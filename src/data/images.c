/* SPDX-License-Identifier: Apache-2.0 */
#include "data/images.h"

#include <stdint.h>
#include <string.h>

#include "core/mem.h"
#include "data/source.h"

scant_status scant__decode_image(const scant__decode *job) {
    if (job->size >= 4 && memcmp(job->bytes, "\x89PNG", 4) == 0)
        return scant__decode_png(job);
    if (job->size >= 2 && memcmp(job->bytes, "\xff\xd8", 2) == 0)
        return scant__decode_jpeg(job);
    if (!job->size)
        return scant__fault_set(job->fault, SCANT_EINPUT, "%s: is empty, not an image",
                                job->name);
    return scant__fault_set(job->fault, SCANT_EINPUT,
                            "%s: is neither PNG nor JPEG; it looks like %s", job->name,
                            scant__filetype_name(job->bytes, job->size));
}

scant_status scant__decode_check(const scant__decode *job, size_t width, size_t height) {
    if (!width || !height)
        return scant__fault_set(job->fault, SCANT_EINPUT, "%s: has no pixels", job->name);
    if (width > SCANT__MAX_PIXELS / height)
        return scant__fault_set(job->fault, SCANT_EINPUT,
                                "%s: has %zu x %zu pixels, at most %d are allowed",
                                job->name, width, height, SCANT__MAX_PIXELS);
    return SCANT_OK;
}

scant_status scant__decode_check_work(const scant__decode *job, size_t row_width,
                                      size_t height, size_t times) {
    size_t row = size_mul(size_add(row_width, SCANT__ROW_WORK), times);
    if (size_mul(row, height) <= SCANT__MAX_WORK) return SCANT_OK;
    return scant__fault_set(job->fault, SCANT_EINPUT,
                            "%s: takes too long to decode: %zu rows%s, each as costly as "
                            "%zu pixels",
                            job->name, height, times > 1 ? ", interlaced" : "", row);
}

scant_status scant__encoded(scant_ctx *ctx, scant_status status,
                            const scant__fault *fault, scant__text *text, void **bytes,
                            size_t *size) {
    char *taken = NULL;
    if (status == SCANT_OK)
        status = scant__text_take(text, &taken, size);
    else
        scant__fail(ctx, status, "%s", fault->text);
    scant__text_end(text);
    *bytes = taken;
    return status;
}

/* ---- EXIF -------------------------------------------------------------------------- */

typedef struct tiff {
    const unsigned char *bytes;
    size_t size;
    bool big; /* big endian */
} tiff;

/* Reads a number of `size` bytes; returns 0 if it reaches beyond the end. */
static uint32_t number(const tiff *t, size_t at, size_t size) {
    uint32_t value = 0;
    if (at > t->size || size > t->size - at) return 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | t->bytes[t->big ? at + i : at + size - 1 - i];
    return value;
}

int scant__exif_orientation(const unsigned char *bytes, size_t size) {
    enum { ORIENTATION = 0x0112, SHORT = 3, LONG = 4, ENTRY = 12 };
    tiff t = {bytes, size, size && bytes[0] == 'M'};
    if (size < 8 || (memcmp(bytes, "II*\0", 4) != 0 && memcmp(bytes, "MM\0*", 4) != 0))
        return 1;
    size_t at = number(&t, 4, 4), entries = number(&t, at, 2);
    for (size_t i = 0; i < entries; i++) {
        size_t entry = at + 2 + i * ENTRY;
        uint32_t type = number(&t, entry + 2, 2);
        if (number(&t, entry, 2) != ORIENTATION || number(&t, entry + 4, 4) != 1)
            continue;
        if (type != SHORT && type != LONG) continue;
        uint32_t value = number(&t, entry + 8, type == SHORT ? 2 : 4);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* ---- rotating and mirroring, between a decoder and the consumer of its rows -------- */

typedef struct turner {
    const scant__decode *job; /* receives upright rows */
    size_t width, height;     /* as in the file */
    int orientation;
    unsigned char *whole; /* the image, if its orientation is not 1; else NULL */
    size_t rows;          /* rows of whole filled so far */
} turner;

static bool is_turned(const turner *t) { return t->orientation >= 5; }

static scant_status begin_turned(void *self, size_t width, size_t height,
                                 int orientation) {
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

static void keep_row(void *self, const unsigned char *rgb) {
    turner *t = self;
    if (t->whole)
        memcpy(t->whole + t->rows++ * 3 * t->width, rgb, 3 * t->width);
    else
        t->job->row(t->job->self, rgb);
}

/* The source of pixel (x, y) of the upright image. EXIF's orientations 1 to 4: normal,
 * mirrored, rotated by 180 degrees, flipped vertically; 5 to 8: the same after the image
 * is transposed. */
static const unsigned char *pixel(const turner *t, size_t x, size_t y) {
    size_t right = t->width - 1, bottom = t->height - 1, column, row;
    bool turned = is_turned(t);
    column = turned ? y : x;
    row = turned ? x : y;
    if (strchr("2378", '0' + t->orientation)) column = right - column;
    if (strchr("3467", '0' + t->orientation)) row = bottom - row;
    return t->whole + 3 * (row * t->width + column);
}

static scant_status turn(const turner *t) {
    const scant__decode *job = t->job;
    size_t width = is_turned(t) ? t->height : t->width;
    size_t height = is_turned(t) ? t->width : t->height;
    unsigned char *row = scant__worker_alloc(job->ctx, width, 3, job->fault);
    if (!row) return SCANT_ENOMEM;
    for (size_t y = 0; y < height; y++) {
        const unsigned char *from = pixel(t, 0, y);
        ptrdiff_t step = width > 1 ? pixel(t, 1, y) - from : 0;
        for (size_t x = 0; x < width; x++, from += step) memcpy(row + 3 * x, from, 3);
        job->row(job->self, row);
    }
    scant__free(job->ctx, row);
    return SCANT_OK;
}

scant_status scant__decode_upright(const scant__decode *job) {
    turner t = {.job = job};
    scant__decode inner = *job;
    inner.begin = begin_turned;
    inner.row = keep_row;
    inner.self = &t;
    scant_status status = scant__decode_image(&inner);
    if (status == SCANT_OK && t.whole) status = turn(&t);
    scant__free(job->ctx, t.whole);
    return status;
}
