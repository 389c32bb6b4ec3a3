/* SPDX-License-Identifier: Apache-2.0
 *
 * PNG with libpng, whose memory is charged to the context. Each row is passed on when it
 * is decoded; only an interlaced image is held in memory.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

#include "core/text.h"
#include "data/images.h"

/* Data of libpng's callbacks. */
typedef struct state {
    scant_ctx *ctx;
    scant__fault *fault;
    const char *name, *trouble; /* messages begin with both */
    png_struct *png;
    png_info *info;
    scant_status status;
} state;

static void *png_alloc(png_struct *png, png_alloc_size_t size) {
    state *s = png_get_mem_ptr(png);
    void *block = scant__worker_alloc(s->ctx, size, 1, s->fault);
    if (!block) s->status = SCANT_ENOMEM;
    return block;
}

static void png_release(png_struct *png, void *block) {
    state *s = png_get_mem_ptr(png);
    scant__free(s->ctx, block);
}

static void on_error(png_struct *png, const char *text) {
    state *s = png_get_error_ptr(png);
    if (s->status == SCANT_OK)
        s->status = scant__fault_set(s->fault, SCANT_EINPUT, "%s%s: %s", s->name,
                                     s->trouble, text);
    png_longjmp(png, 1);
}

static void on_warning(png_struct *png, const char *text) { (void)png, (void)text; }

/* ---- decoding ---------------------------------------------------------------------- */

typedef struct reader {
    state state;
    const scant__decode *job;
    size_t at;
    unsigned char *rows; /* one row, or all of an interlaced image */
} reader;

static void on_read(png_struct *png, png_byte *out, size_t size) {
    reader *r = png_get_io_ptr(png);
    if (size > r->job->size - r->at) png_error(png, "it is cut short");
    memcpy(out, r->job->bytes + r->at, size);
    r->at += size;
}

static int orientation(const state *s) {
    png_byte *exif;
    png_uint_32 size;
    if (!png_get_eXIf_1(s->png, s->info, &size, &exif)) return 1;
    return scant__exif_orientation(exif, size);
}

/* Makes libpng convert rows to RGB bytes. */
static void set_transforms(const state *s) {
    int colour = png_get_color_type(s->png, s->info);
    int depth = png_get_bit_depth(s->png, s->info);
    if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(s->png);
    if (colour == PNG_COLOR_TYPE_GRAY && depth < 8)
        png_set_expand_gray_1_2_4_to_8(s->png);
    if (depth == 16) png_set_strip_16(s->png);
    png_set_strip_alpha(s->png);
    if (!(colour & PNG_COLOR_MASK_COLOR)) png_set_gray_to_rgb(s->png);
}

static void pass_on(const reader *r, size_t height, size_t stride, int passes) {
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < height; y++) {
            unsigned char *row = r->rows + (passes > 1 ? y * stride : 0);
            png_read_row(r->state.png, row, NULL);
            if (pass == passes - 1) r->job->row(r->job->self, row);
        }
}

/* Reads the image; libpng may longjmp() out of it. */
static scant_status read_all(reader *r) {
    const scant__decode *job = r->job;
    png_struct *png = r->state.png;
    png_info *info = r->state.info;
    png_read_info(png, info);
    size_t width = png_get_image_width(png, info);
    size_t height = png_get_image_height(png, info);
    TRY(scant__decode_check(job, width, height));
    /* unpacking and filtering cost as much as the bytes of a row, decoding as its pixels
     */
    size_t costly = size_max(width, png_get_rowbytes(png, info) / 3);
    set_transforms(&r->state);
    int passes = png_set_interlace_handling(png);
    TRY(scant__decode_check_work(job, costly, height,
                                 passes > 1 ? SCANT__INTERLACED : 1));
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != 3 * width)
        png_error(png, "its rows have an unexpected size");
    r->rows =
        scant__worker_alloc(job->ctx, passes > 1 ? height : 1, 3 * width, job->fault);
    if (!r->rows) return SCANT_ENOMEM;
    TRY(job->begin(job->self, width, height, orientation(&r->state)));
    if (passes > 1) memset(r->rows, 0, height * 3 * width);
    pass_on(r, height, 3 * width, passes);
    png_read_end(png, NULL);
    return SCANT_OK;
}

/* Texts and profiles are compressed, up to a thousandfold, and not used. */
static void skip_texts(png_struct *png) {
#ifdef PNG_HANDLE_AS_UNKNOWN_SUPPORTED
    static const png_byte names[] = "iCCP\0iTXt\0tEXt\0zTXt\0sPLT\0hIST\0pCAL\0sCAL";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, sizeof names / 5);
#else
    (void)png;
#endif
}

/* A separate function, because longjmp() may clobber the locals of setjmp()'s caller. */
static void read_guarded(reader *r) {
    state *s = &r->state;
    if (setjmp(png_jmpbuf(s->png)) != 0) return;
    s->info = png_create_info_struct(s->png);
    if (!s->info) png_error(s->png, "no memory");
    png_set_read_fn(s->png, r, on_read);
    png_set_user_limits(s->png, SCANT__MAX_PIXELS, SCANT__MAX_PIXELS);
    skip_texts(s->png);
    s->status = read_all(r);
}

scant_status scant__decode_png(const scant__decode *job) {
    reader r = {.job = job, .state = {.ctx = job->ctx, .fault = job->fault}};
    state *s = &r.state;
    s->name = job->name;
    s->trouble = ": the PNG image is damaged";
    s->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, s, on_error, on_warning, s,
                                      png_alloc, png_release);
    if (!s->png) return s->status == SCANT_OK ? SCANT_ENOMEM : s->status;
    read_guarded(&r);
    png_destroy_read_struct(&s->png, &s->info, NULL);
    scant__free(job->ctx, r.rows);
    return s->status;
}

/* ---- encoding ---------------------------------------------------------------------- */

typedef struct writer {
    state state;
    const unsigned char *rgb;
    size_t width, height;
    bool grey;
    unsigned char *row; /* one row of a grey image */
    scant__text out;
} writer;

static void on_write(png_struct *png, png_byte *bytes, size_t size) {
    writer *w = png_get_io_ptr(png);
    scant__text_bytes(&w->out, (const char *)bytes, size);
}

static void on_flush(png_struct *png) { (void)png; }

static void write_rows(const writer *w) {
    for (size_t y = 0; y < w->height; y++) {
        const unsigned char *rgb = w->rgb + y * 3 * w->width;
        for (size_t x = 0; w->grey && x < w->width; x++) w->row[x] = rgb[3 * x];
        png_write_row(w->state.png, w->grey ? w->row : rgb);
    }
}

static void write_guarded(writer *w) {
    state *s = &w->state;
    if (setjmp(png_jmpbuf(s->png)) != 0) return;
    s->info = png_create_info_struct(s->png);
    if (!s->info) png_error(s->png, "no memory");
    png_set_write_fn(s->png, w, on_write, on_flush);
    png_set_IHDR(s->png, s->info, (png_uint_32)w->width, (png_uint_32)w->height, 8,
                 w->grey ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(s->png, s->info);
    write_rows(w);
    png_write_end(s->png, NULL);
}

scant_status scant__encode_png(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                               size_t height, bool grey, void **bytes, size_t *size) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    scant__fault fault = {"no memory for libpng"};
    char name[100];
    writer w = {
        .rgb = rgb, .width = width, .height = height, .grey = grey, .out.ctx = ctx};
    state *s = &w.state;
    *bytes = NULL;
    w.row = TRY_NEW(&arena, unsigned char, width);
    snprintf(name, sizeof name, "cannot encode a PNG of %zu x %zu pixels", width, height);
    *s = (state){.ctx = ctx, .fault = &fault, .name = name, .trouble = ""};
    s->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, s, on_error, on_warning, s,
                                       png_alloc, png_release);
    if (s->png)
        write_guarded(&w);
    else
        s->status = SCANT_ENOMEM;
    png_destroy_write_struct(&s->png, &s->info);
    return scant__encoded(ctx, s->status, &fault, &w.out, bytes, size);
}
