/* SPDX-License-Identifier: Apache-2.0
 *
 * PNG by libpng, whose memory is charged to the context.
 */
#include <setjmp.h>

#include <png.h>

#include "core/text.h"
#include "data/encode.h"

typedef struct writer {
    scant_ctx *ctx;
    const unsigned char *rgb;
    size_t width, height;
    bool grey;
    png_struct *png;
    png_info *info;
    unsigned char *row; /* for grey */
    scant__text out;
    scant_status status;
} writer;

static void *png_alloc(png_struct *png, png_alloc_size_t size) {
    writer *w = png_get_mem_ptr(png);
    void *block = scant__alloc(w->ctx, size, 1);
    if (!block) w->status = SCANT_ENOMEM;
    return block;
}

static void png_release(png_struct *png, void *block) {
    writer *w = png_get_mem_ptr(png);
    scant__free(w->ctx, block);
}

static void on_error(png_struct *png, const char *text) {
    writer *w = png_get_error_ptr(png);
    if (w->status == SCANT_OK)
        w->status = scant__fail(w->ctx, SCANT_EINPUT,
                                "cannot encode a PNG of %zu x %zu pixels: %s", w->width,
                                w->height, text);
    png_longjmp(png, 1);
}

static void on_warning(png_struct *png, const char *text) {
    (void)png;
    (void)text;
}

static void on_write(png_struct *png, png_byte *bytes, size_t size) {
    writer *w = png_get_io_ptr(png);
    scant__text_bytes(&w->out, (const char *)bytes, size);
}

static void on_flush(png_struct *png) { (void)png; }

static void write_rows(const writer *w) {
    for (size_t y = 0; y < w->height; y++) {
        const unsigned char *rgb = w->rgb + y * 3 * w->width;
        for (size_t x = 0; w->grey && x < w->width; x++) w->row[x] = rgb[3 * x];
        png_write_row(w->png, w->grey ? w->row : rgb);
    }
}

/* setjmp() has a function of its own because its locals may be clobbered. */
static void guarded(writer *w) {
    if (setjmp(png_jmpbuf(w->png)) != 0) return;
    w->info = png_create_info_struct(w->png);
    if (!w->info) png_error(w->png, "no memory");
    png_set_write_fn(w->png, w, on_write, on_flush);
    png_set_IHDR(w->png, w->info, (png_uint_32)w->width, (png_uint_32)w->height, 8,
                 w->grey ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    write_rows(w);
    png_write_end(w->png, NULL);
}

scant_status scant__encode_png(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                               size_t height, bool grey, void **bytes, size_t *size) {
    writer w = {.ctx = ctx, .rgb = rgb, .width = width, .height = height, .grey = grey};
    char *text = NULL;
    *bytes = NULL;
    scant__text_init(&w.out, ctx);
    if (grey && !(w.row = scant__alloc(ctx, width, 1))) return SCANT_ENOMEM;
    w.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning, &w,
                                      png_alloc, png_release);
    if (w.png)
        guarded(&w);
    else if (w.status == SCANT_OK)
        w.status = scant__fail(ctx, SCANT_ENOMEM, "no memory for libpng");
    png_destroy_write_struct(&w.png, &w.info);
    scant__free(ctx, w.row);
    if (w.status == SCANT_OK) w.status = scant__text_take(&w.out, &text, size);
    scant__text_end(&w.out);
    *bytes = text;
    return w.status;
}
