/* SPDX-License-Identifier: Apache-2.0
 *
 * JPEG by libjpeg. Its memory is charged as an estimate before it starts.
 */
#include <setjmp.h>
#include <stddef.h> /* before jpeglib.h, which needs FILE and size_t */
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>

#include "core/text.h"
#include "data/encode.h"

enum {
    PIECE = 16384,   /* output buffer in bytes */
    ROWS_HELD = 128, /* bytes held by libjpeg, per column and channel */
    FIXED = 1 << 18  /* its tables */
};

typedef struct writer {
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    struct jpeg_compress_struct jpeg;
    jmp_buf back;
    scant_ctx *ctx;
    const unsigned char *rgb;
    size_t width, height;
    int quality;
    scant__text out;
    scant_status status;
    unsigned char piece[PIECE];
} writer;

static void on_error(j_common_ptr jpeg) {
    writer *w = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    bool memory = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
    w->status = scant__fail(w->ctx, memory ? SCANT_ENOMEM : SCANT_EINPUT,
                            "cannot encode a JPEG of %zu x %zu pixels: %s", w->width,
                            w->height, text);
    longjmp(w->back, 1);
}

static void no_output(j_common_ptr jpeg) { (void)jpeg; }

static void begin_piece(j_compress_ptr jpeg) {
    writer *w = jpeg->client_data;
    w->destination.next_output_byte = w->piece;
    w->destination.free_in_buffer = PIECE;
}

/* The buffer is full, whatever free_in_buffer says. */
static boolean on_full(j_compress_ptr jpeg) {
    writer *w = jpeg->client_data;
    scant__text_bytes(&w->out, (const char *)w->piece, PIECE);
    begin_piece(jpeg);
    return TRUE;
}

static void on_end(j_compress_ptr jpeg) {
    writer *w = jpeg->client_data;
    scant__text_bytes(&w->out, (const char *)w->piece,
                      PIECE - w->destination.free_in_buffer);
}

/* Everything that may longjmp(). */
static void write_all(writer *w) {
    struct jpeg_compress_struct *jpeg = &w->jpeg;
    jpeg_create_compress(jpeg);
    w->destination.init_destination = begin_piece;
    w->destination.empty_output_buffer = on_full;
    w->destination.term_destination = on_end;
    jpeg->dest = &w->destination;
    jpeg->image_width = (JDIMENSION)w->width;
    jpeg->image_height = (JDIMENSION)w->height;
    jpeg->input_components = 3;
    jpeg->in_color_space = JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, w->quality, TRUE);
    jpeg_start_compress(jpeg, TRUE);
    while (jpeg->next_scanline < jpeg->image_height) {
        /* libjpeg does not write to it */
        JSAMPROW row = (JSAMPROW)(uintptr_t)(w->rgb + jpeg->next_scanline * 3 * w->width);
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
}

/* setjmp() has a function of its own because its locals may be clobbered. */
static void guarded(writer *w) {
    if (setjmp(w->back) == 0) write_all(w);
}

scant_status scant__encode_jpeg(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                                size_t height, int quality, void **bytes, size_t *size) {
    scant__fault fault;
    char *text = NULL;
    size_t charge = size_add(FIXED, size_mul(width, 3 * ROWS_HELD));
    *bytes = NULL;
    writer *w = scant__zalloc(ctx, 1, sizeof *w);
    if (!w) return SCANT_ENOMEM;
    w->ctx = ctx;
    w->rgb = rgb;
    w->width = width;
    w->height = height;
    w->quality = quality;
    w->jpeg.err = jpeg_std_error(&w->errors);
    w->jpeg.client_data = w;
    w->errors.error_exit = on_error;
    w->errors.output_message = no_output;
    scant__text_init(&w->out, ctx);
    if (scant__charge(ctx, charge, &fault)) {
        guarded(w);
        jpeg_destroy_compress(&w->jpeg);
        scant__uncharge(ctx, charge);
    } else {
        w->status = scant__fail(ctx, SCANT_ENOMEM, "%s", fault.text);
    }
    scant_status status = w->status;
    if (status == SCANT_OK) status = scant__text_take(&w->out, &text, size);
    scant__text_end(&w->out);
    scant__free(ctx, w);
    *bytes = text;
    return status;
}
