/* SPDX-License-Identifier: Apache-2.0
 *
 * PNG by libpng, whose memory is charged to the context. Rows are passed on as they come;
 * only an interlaced image is held in memory.
 */
#include <setjmp.h>
#include <string.h>

#include <png.h>

#include "core/mem.h"
#include "data/decode.h"

typedef struct reader {
    const scant__decode *job;
    size_t at;
    png_struct *png;
    png_info *info;
    unsigned char *rows; /* one row, or all of an interlaced image */
    scant_status status; /* of the failure */
} reader;

static void *png_alloc(png_struct *png, png_alloc_size_t size) {
    reader *r = png_get_mem_ptr(png);
    void *block = scant__worker_alloc(r->job->ctx, size, 1, r->job->fault);
    if (!block) r->status = SCANT_ENOMEM;
    return block;
}

static void png_release(png_struct *png, void *block) {
    reader *r = png_get_mem_ptr(png);
    scant__free(r->job->ctx, block);
}

static void on_error(png_struct *png, const char *text) {
    reader *r = png_get_error_ptr(png);
    if (r->status == SCANT_OK)
        r->status =
            scant__fault_set(r->job->fault, SCANT_EINPUT,
                             "%s: the PNG image is damaged: %s", r->job->name, text);
    png_longjmp(png, 1);
}

static void on_warning(png_struct *png, const char *text) {
    (void)png;
    (void)text;
}

static void on_read(png_struct *png, png_byte *out, size_t size) {
    reader *r = png_get_io_ptr(png);
    if (size > r->job->size - r->at) png_error(png, "it is cut short");
    memcpy(out, r->job->bytes + r->at, size);
    r->at += size;
}

static int orientation(reader *r) {
    png_byte *exif;
    png_uint_32 size;
    if (!png_get_eXIf_1(r->png, r->info, &size, &exif)) return 1;
    return scant__exif_orientation(exif, size);
}

/* Requests RGB rows. */
static void set_transforms(reader *r) {
    int colour = png_get_color_type(r->png, r->info);
    int depth = png_get_bit_depth(r->png, r->info);
    if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(r->png);
    if (colour == PNG_COLOR_TYPE_GRAY && depth < 8)
        png_set_expand_gray_1_2_4_to_8(r->png);
    if (depth == 16) png_set_strip_16(r->png);
    png_set_strip_alpha(r->png);
    if (!(colour & PNG_COLOR_MASK_COLOR)) png_set_gray_to_rgb(r->png);
}

static void pass_on(const reader *r, size_t height, size_t stride, int passes) {
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < height; y++) {
            unsigned char *row = r->rows + (passes > 1 ? y * stride : 0);
            png_read_row(r->png, row, NULL);
            if (pass == passes - 1) r->job->row(r->job->self, row);
        }
}

/* Everything that may longjmp(). */
static void read_all(reader *r) {
    const scant__decode *job = r->job;
    png_read_info(r->png, r->info);
    size_t width = png_get_image_width(r->png, r->info);
    size_t height = png_get_image_height(r->png, r->info);
    r->status = scant__decode_check(job, width, height);
    if (r->status != SCANT_OK) return;
    set_transforms(r);
    int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    if (png_get_rowbytes(r->png, r->info) != 3 * width)
        png_error(r->png, "its rows have an unexpected size");
    r->rows =
        scant__worker_alloc(job->ctx, passes > 1 ? height : 1, 3 * width, job->fault);
    r->status =
        r->rows ? job->begin(job->self, width, height, orientation(r)) : SCANT_ENOMEM;
    if (r->status != SCANT_OK) return;
    if (passes > 1) memset(r->rows, 0, height * 3 * width);
    pass_on(r, height, 3 * width, passes);
    png_read_end(r->png, NULL);
}

/* setjmp() has a function of its own because its locals may be clobbered. */
static void guarded(reader *r) {
    if (setjmp(png_jmpbuf(r->png)) != 0) return;
    r->info = png_create_info_struct(r->png);
    if (!r->info) png_error(r->png, "no memory");
    png_set_read_fn(r->png, r, on_read);
    png_set_user_limits(r->png, SCANT__MAX_PIXELS, SCANT__MAX_PIXELS);
    read_all(r);
}

scant_status scant__decode_png(const scant__decode *job) {
    reader r = {.job = job};
    r.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning, &r,
                                     png_alloc, png_release);
    if (!r.png) return r.status == SCANT_OK ? SCANT_ENOMEM : r.status;
    guarded(&r);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    scant__free(job->ctx, r.rows);
    return r.status;
}
