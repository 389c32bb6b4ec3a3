/* SPDX-License-Identifier: Apache-2.0
 *
 * JPEG by libjpeg with the slow, exact transform, at full size unless a smaller one is
 * allowed: the same pixels as PIL.
 *
 * libjpeg takes its memory from the system. The amount follows from the header and is
 * charged before decoding starts: some rows, and for a progressive image all
 * coefficients.
 */
#include <setjmp.h>
#include <stddef.h> /* before jpeglib.h, which needs FILE and size_t */
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#include "core/mem.h"
#include "data/decode.h"

enum {
    EXIF = JPEG_APP0 + 1,
    MAX_SCANS = 500, /* a progressive image has about ten; each costs a pass */
    ROWS_HELD = 64,  /* rows of samples in libjpeg's buffers */
    FIXED = 1 << 18  /* its tables */
};

typedef struct reader {
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct jpeg;
    jmp_buf back;
    const scant__decode *job;
    unsigned char *row; /* as decoded */
    unsigned char *rgb; /* for CMYK; else NULL */
    size_t charged;
    scant_status status;
} reader;

static void on_error(j_common_ptr jpeg) {
    reader *r = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    bool memory = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
    r->status = scant__fault_set(r->job->fault, memory ? SCANT_ENOMEM : SCANT_EINPUT,
                                 "%s: the JPEG image is damaged: %s", r->job->name, text);
    longjmp(r->back, 1);
}

/* A libjpeg warning (level -1) means invented pixels, so it is an error, except for
 * skipped bytes between markers, which are harmless. */
static void on_message(j_common_ptr jpeg, int level) {
    int code = jpeg->err->msg_code;
    if (level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR) return;
    on_error(jpeg);
}

static void no_output(j_common_ptr jpeg) { (void)jpeg; }

static void on_progress(j_common_ptr jpeg) {
    reader *r = jpeg->client_data;
    if (!jpeg->is_decompressor || r->jpeg.input_scan_number <= MAX_SCANS) return;
    r->status = scant__fault_set(r->job->fault, SCANT_EINPUT,
                                 "%s: the JPEG image has more than %d scans",
                                 r->job->name, MAX_SCANS);
    longjmp(r->back, 1);
}

static int orientation(const struct jpeg_decompress_struct *jpeg) {
    static const char start[6] = "Exif\0";
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m; m = m->next)
        if (m->marker == EXIF && m->data_length > sizeof start &&
            memcmp(m->data, start, sizeof start) == 0)
            return scant__exif_orientation(m->data + sizeof start,
                                           m->data_length - sizeof start);
    return 1;
}

/* The bytes that libjpeg will hold. */
static size_t memory_needed(struct jpeg_decompress_struct *jpeg) {
    size_t parts = (size_t)jpeg->num_components, bytes = FIXED;
    bytes += size_mul(jpeg->image_width, parts * ROWS_HELD);
    if (!jpeg_has_multiple_scans(jpeg)) return bytes;
    for (size_t i = 0; i < parts; i++) {
        const jpeg_component_info *c = &jpeg->comp_info[i];
        size_t blocks =
            size_mul((size_t)c->width_in_blocks + 8, (size_t)c->height_in_blocks + 8);
        bytes = size_add(bytes, size_mul(blocks, DCTSIZE2 * sizeof(JCOEF)));
    }
    return bytes;
}

static scant_status choose_colours(reader *r) {
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    switch (jpeg->jpeg_color_space) {
    case JCS_GRAYSCALE:
    case JCS_RGB:
    case JCS_YCbCr:
        jpeg->out_color_space = JCS_RGB;
        return SCANT_OK;
    case JCS_CMYK:
    case JCS_YCCK:
        jpeg->out_color_space = JCS_CMYK;
        return SCANT_OK;
    default:
        return scant__fault_set(
            r->job->fault, SCANT_EINPUT,
            "%s: the JPEG image has %d components in an unknown colour space",
            r->job->name, jpeg->num_components);
    }
}

/* Inverted CMYK, as Adobe's programs write it: c, m, y are each multiplied by black. */
static void cmyk_to_rgb(const unsigned char *in, size_t width, unsigned char *out) {
    for (size_t i = 0; i < width; i++, in += 4, out += 3)
        for (size_t j = 0; j < 3; j++) {
            unsigned ink = (255U - in[j]) * in[3] + 128;
            out[j] = (unsigned char)(in[3] - ((ink + (ink >> 8)) >> 8));
        }
}

/* Chooses the smallest scale that is no smaller than requested. */
static void choose_size(reader *r) {
    size_t longer = size_max(r->jpeg.image_width, r->jpeg.image_height);
    unsigned part = 1;
    while (r->job->least && part < 8 && longer / (2 * part) >= r->job->least) part *= 2;
    r->jpeg.scale_num = 1;
    r->jpeg.scale_denom = part;
    jpeg_calc_output_dimensions(&r->jpeg);
}

static scant_status prepare(reader *r) {
    const scant__decode *job = r->job;
    TRY(scant__decode_check(job, r->jpeg.image_width, r->jpeg.image_height));
    TRY(choose_colours(r));
    choose_size(r);
    size_t width = r->jpeg.output_width, height = r->jpeg.output_height;
    size_t needed = memory_needed(&r->jpeg);
    if (!scant__charge(job->ctx, needed, job->fault)) return SCANT_ENOMEM;
    r->charged = needed;
    bool cmyk = r->jpeg.out_color_space == JCS_CMYK;
    r->row = scant__worker_alloc(job->ctx, width, cmyk ? 4 : 3, job->fault);
    if (!r->row) return SCANT_ENOMEM;
    if (cmyk && !(r->rgb = scant__worker_alloc(job->ctx, width, 3, job->fault)))
        return SCANT_ENOMEM;
    return job->begin(job->self, width, height, orientation(&r->jpeg));
}

/* Everything that may longjmp(). */
static void read_all(reader *r) {
    const scant__decode *job = r->job;
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.progress = &r->progress;
    jpeg_mem_src(&r->jpeg, job->bytes, (unsigned long)job->size);
    jpeg_save_markers(&r->jpeg, EXIF, 0xffff);
    jpeg_read_header(&r->jpeg, TRUE);
    r->status = prepare(r);
    if (r->status != SCANT_OK) return;
    jpeg_start_decompress(&r->jpeg);
    while (r->jpeg.output_scanline < r->jpeg.output_height) {
        JSAMPROW rows[] = {r->row};
        jpeg_read_scanlines(&r->jpeg, rows, 1);
        if (r->rgb) cmyk_to_rgb(r->row, r->jpeg.output_width, r->rgb);
        job->row(job->self, r->rgb ? r->rgb : r->row);
    }
    jpeg_finish_decompress(&r->jpeg);
}

/* setjmp() has a function of its own because its locals may be clobbered. */
static void guarded(reader *r) {
    if (setjmp(r->back) == 0) read_all(r);
}

scant_status scant__decode_jpeg(const scant__decode *job) {
    reader r = {.job = job};
    r.jpeg.err = jpeg_std_error(&r.errors);
    r.jpeg.client_data = &r;
    r.errors.error_exit = on_error;
    r.errors.emit_message = on_message;
    r.errors.output_message = no_output;
    r.progress.progress_monitor = on_progress;
    guarded(&r);
    jpeg_destroy_decompress(&r.jpeg);
    scant__uncharge(job->ctx, r.charged);
    scant__free(job->ctx, r.row);
    scant__free(job->ctx, r.rgb);
    return r.status;
}
