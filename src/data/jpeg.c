/* SPDX-License-Identifier: Apache-2.0
 *
 * JPEG with libjpeg and its slow, exact transform: at full size the pixels equal PIL's.
 *
 * libjpeg allocates with malloc(), so its memory is charged to the context in advance.
 * For decoding the amount follows from the header: some rows, and for a progressive image
 * all coefficients. For encoding it is an estimate.
 */
#include <setjmp.h>
#include <stddef.h> /* before jpeglib.h, which needs FILE and size_t */
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#include "core/text.h"
#include "data/images.h"

enum {
    EXIF = JPEG_APP0 + 1,
    MAX_SCANS = 500, /* of any image; a progressive one has about ten */
    ROWS_HELD = 64,  /* rows in libjpeg's buffers when decoding */
    ROWS_MADE = 128, /* bytes per column and channel when encoding */
    FIXED = 1 << 18, /* bytes of libjpeg's tables */
    PIECE = 16384    /* size of the output buffer */
};

/* Data of libjpeg's callbacks (client_data). */
typedef struct state {
    struct jpeg_error_mgr errors;
    jmp_buf back;
    scant__fault *fault;
    const char *name, *trouble; /* messages begin with both */
    scant_status status;
} state;

static void on_error(j_common_ptr jpeg) {
    state *s = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    bool memory = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
    s->status = scant__fault_set(s->fault, memory ? SCANT_ENOMEM : SCANT_EINPUT,
                                 "%s%s: %s", s->name, s->trouble, text);
    longjmp(s->back, 1);
}

static void no_output(j_common_ptr jpeg) { (void)jpeg; }

static struct jpeg_error_mgr *begin_errors(state *s) {
    jpeg_std_error(&s->errors);
    s->errors.error_exit = on_error;
    s->errors.output_message = no_output;
    return &s->errors;
}

/* ---- decoding ---------------------------------------------------------------------- */

typedef struct reader {
    state state; /* first: callbacks read client_data as a state */
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct jpeg;
    const scant__decode *job;
    unsigned char *row; /* a row as decoded */
    unsigned char *rgb; /* the row converted from CMYK; else NULL */
    size_t charged;
} reader;

/* After a warning (level -1) libjpeg makes up pixels, so warnings are errors, except for
 * extra bytes between markers and an unknown JFIF version, which are harmless. */
static void on_message(j_common_ptr jpeg, int level) {
    int code = jpeg->err->msg_code;
    if (level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR) return;
    on_error(jpeg);
}

/* Sets the fault if an image of so many scans is too much work. */
static scant_status check_scans(const reader *r, size_t scans) {
    const struct jpeg_decompress_struct *jpeg = &r->jpeg;
    uint64_t pixels = (uint64_t)jpeg->image_width * jpeg->image_height;
    uint64_t most = SCANT__MAX_SCANNED / (pixels ? pixels : 1);
    if (most > MAX_SCANS) most = MAX_SCANS;
    if (scans <= most) return SCANT_OK;
    return scant__fault_set(
        r->job->fault, SCANT_EINPUT,
        "%s: takes too long to decode: the JPEG image of %u x %u pixels "
        "has more than %u scans",
        r->job->name, jpeg->image_width, jpeg->image_height, (unsigned)most);
}

/* Counts the scans without decoding: walks the segments, and over coded data to the next
 * marker (in coded data 0xff is followed by 0 or a restart marker). */
static size_t count_scans(const unsigned char *bytes, size_t size) {
    enum { FIRST = 0xc0, RESTART = 0xd0, START = 0xd8, END = 0xd9, SCAN = 0xda };
    size_t scans = 0;
    for (size_t at = 0; at + 4 <= size;) {
        const unsigned char *next = memchr(bytes + at, 0xff, size - at - 3);
        if (!next) break;
        at = (size_t)(next - bytes) + 1;
        unsigned char marker = bytes[at];
        if (marker == END) break;
        if (marker < FIRST || marker == 0xff) continue;
        if (marker >= RESTART && marker <= START) continue;
        scans += marker == SCAN;
        at += 1 + (size_t)(bytes[at + 1] << 8 | bytes[at + 2]);
    }
    return scans;
}

/* A file may have scans that count_scans() does not find, behind damaged segments. */
static void on_progress(j_common_ptr jpeg) {
    reader *r = jpeg->client_data;
    if (!jpeg->is_decompressor) return;
    r->state.status = check_scans(r, (size_t)r->jpeg.input_scan_number);
    if (r->state.status != SCANT_OK) longjmp(r->state.back, 1);
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

/* The number of bytes that libjpeg will allocate. */
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
    J_COLOR_SPACE space = jpeg->jpeg_color_space;
    bool cmyk = space == JCS_CMYK || space == JCS_YCCK;
    jpeg->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    if (cmyk || space == JCS_GRAYSCALE || space == JCS_RGB || space == JCS_YCbCr)
        return SCANT_OK;
    return scant__fault_set(
        r->job->fault, SCANT_EINPUT,
        "%s: the JPEG image has %d components in an unknown colour space", r->job->name,
        jpeg->num_components);
}

/* Converts Adobe's inverted CMYK: multiplies each of c, m and y by k / 255. */
static void cmyk_to_rgb(const unsigned char *in, size_t width, unsigned char *out) {
    for (size_t i = 0; i < width; i++, in += 4, out += 3)
        for (size_t j = 0; j < 3; j++) {
            unsigned ink = (255U - in[j]) * in[3] + 128;
            out[j] = (unsigned char)(in[3] - ((ink + (ink >> 8)) >> 8));
        }
}

/* Chooses the smallest scale at which the longer side has at least job->least pixels. */
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
    TRY(check_scans(r, count_scans(job->bytes, job->size)));
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

/* Contains all calls that may longjmp(). */
static scant_status read_all(reader *r) {
    const scant__decode *job = r->job;
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.progress = &r->progress;
    jpeg_mem_src(&r->jpeg, job->bytes, (unsigned long)job->size);
    jpeg_save_markers(&r->jpeg, EXIF, 0xffff);
    jpeg_read_header(&r->jpeg, TRUE);
    TRY(prepare(r));
    jpeg_start_decompress(&r->jpeg);
    while (r->jpeg.output_scanline < r->jpeg.output_height) {
        JSAMPROW rows[] = {r->row};
        jpeg_read_scanlines(&r->jpeg, rows, 1);
        if (r->rgb) cmyk_to_rgb(r->row, r->jpeg.output_width, r->rgb);
        job->row(job->self, r->rgb ? r->rgb : r->row);
    }
    jpeg_finish_decompress(&r->jpeg);
    return SCANT_OK;
}

/* A separate function, because longjmp() may clobber the locals of setjmp()'s caller. */
static void read_guarded(reader *r) {
    if (setjmp(r->state.back) == 0) r->state.status = read_all(r);
}

scant_status scant__decode_jpeg(const scant__decode *job) {
    reader r = {.job = job, .progress.progress_monitor = on_progress};
    r.state.fault = job->fault;
    r.state.name = job->name;
    r.state.trouble = ": the JPEG image is damaged";
    r.jpeg.err = begin_errors(&r.state);
    r.jpeg.err->emit_message = on_message;
    r.jpeg.client_data = &r;
    read_guarded(&r);
    jpeg_destroy_decompress(&r.jpeg);
    scant__uncharge(job->ctx, r.charged);
    scant__free(job->ctx, r.row);
    scant__free(job->ctx, r.rgb);
    return r.state.status;
}

/* ---- encoding ---------------------------------------------------------------------- */

typedef struct writer {
    state state; /* first: callbacks read client_data as a state */
    struct jpeg_destination_mgr destination;
    struct jpeg_compress_struct jpeg;
    const unsigned char *rgb;
    size_t width, height;
    int quality;
    scant__text out;
    unsigned char piece[PIECE];
} writer;

static void begin_piece(j_compress_ptr jpeg) {
    writer *w = jpeg->client_data;
    w->destination.next_output_byte = w->piece;
    w->destination.free_in_buffer = PIECE;
}

/* libjpeg calls this when the whole buffer is full; free_in_buffer is not valid then. */
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

/* Contains all calls that may longjmp(). */
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
        /* libjpeg does not write to the row */
        JSAMPROW row = (JSAMPROW)(uintptr_t)(w->rgb + jpeg->next_scanline * 3 * w->width);
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
}

static void write_guarded(writer *w) {
    if (setjmp(w->state.back) == 0) write_all(w);
}

scant_status scant__encode_jpeg(scant_ctx *ctx, const unsigned char *rgb, size_t width,
                                size_t height, int quality, void **bytes, size_t *size) {
    AUTO(scant__arena_end) scant__arena arena = {.ctx = ctx};
    scant__fault fault;
    char name[100];
    size_t charge = size_add(FIXED, size_mul(width, 3 * ROWS_MADE));
    *bytes = NULL;
    writer *w = TRY_ZERO(&arena, writer, 1);
    w->rgb = rgb;
    w->width = width;
    w->height = height;
    w->quality = quality;
    w->out.ctx = ctx;
    snprintf(name, sizeof name, "cannot encode a JPEG of %zu x %zu pixels", width,
             height);
    w->state.fault = &fault;
    w->state.name = name;
    w->state.trouble = "";
    w->jpeg.err = begin_errors(&w->state);
    w->jpeg.client_data = w;
    if (!scant__charge(ctx, charge, &fault))
        return scant__fail(ctx, SCANT_ENOMEM, "%s", fault.text);
    write_guarded(w);
    jpeg_destroy_compress(&w->jpeg);
    scant__uncharge(ctx, charge);
    return scant__encoded(ctx, w->state.status, &fault, &w->out, bytes, size);
}
