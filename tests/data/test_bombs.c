/* SPDX-License-Identifier: Apache-2.0
 *
 * Small files that demand much work are refused before they are decoded. Only their
 * headers are written: an image that is not refused for its work is found to be damaged.
 */
#include "samples.h"

#include "data/images.h"

static void add_u32(buffer *b, size_t value) {
    add(b,
        (unsigned char[]){(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                          (unsigned char)(value >> 8), (unsigned char)value},
        4);
}

/* ---- PNG --------------------------------------------------------------------------- */

static void add_chunk(buffer *b, const char *name, const void *data, size_t n) {
    size_t start = b->size + 4;
    add_u32(b, n);
    add(b, name, 4);
    add(b, data, n);
    add_u32(b, crc32(0, b->bytes + start, (unsigned)(n + 4)));
}

static void begin_png(buffer *b, size_t width, size_t height, unsigned char depth,
                      unsigned char colour, unsigned char interlaced) {
    buffer head = {.size = 0};
    b->size = 0;
    add_u32(&head, width);
    add_u32(&head, height);
    add(&head, (unsigned char[]){depth, colour, 0, 0, interlaced}, 5);
    add(b, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(b, "IHDR", head.bytes, head.size);
}

/* ---- decoding ---------------------------------------------------------------------- */

static scant_status on_begin(void *self, size_t width, size_t height, int orientation) {
    (void)self, (void)width, (void)height, (void)orientation;
    return SCANT_OK;
}

static void on_row(void *self, const unsigned char *rgb) { (void)self, (void)rgb; }

static scant_status decode(const buffer *b, scant__fault *fault) {
    return scant__decode_upright(&(scant__decode){.ctx = ctx,
                                                  .name = "bomb",
                                                  .bytes = b->bytes,
                                                  .size = b->size,
                                                  .fault = fault,
                                                  .begin = on_begin,
                                                  .row = on_row});
}

static void assert_refused(const buffer *b, bool too_long, const char *what) {
    scant__fault fault = {""};
    assert_int_equal(decode(b, &fault), SCANT_EINPUT);
    if ((strstr(fault.text, "bomb: takes too long to decode") != NULL) != too_long)
        fail_msg("%s: %s", what, fault.text);
}

static void a_png_of_too_much_work_is_refused_by_its_header(void **state) {
    enum { GREY = 0, RGB = 2, RGBA = 6 };
    static const struct {
        size_t width, height;
        unsigned char depth, colour, interlaced;
        bool too_long;
        const char *what;
    } cases[] = {
        {1, 1 << 28, 8, GREY, 0, true, "a column"},
        {1, 1 << 23, 1, GREY, 0, true, "a shorter column"},
        {1, 1 << 20, 8, RGB, 0, false, "a million rows"},
        {1 << 28, 1, 8, GREY, 0, false, "a row"},
        {16384, 16384, 8, RGB, 0, false, "the most pixels"},
        {16384, 16384, 8, RGB, 1, true, "the most pixels, interlaced"},
        {8192, 8192, 8, RGB, 1, false, "a large interlaced one"},
        {16384, 16384, 16, RGBA, 0, true, "the most pixels of eight bytes"},
    };
    static buffer b;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_png(&b, cases[i].width, cases[i].height, cases[i].depth, cases[i].colour,
                  cases[i].interlaced);
        add_chunk(&b, "IDAT", "", 0);
        assert_refused(&b, cases[i].too_long, cases[i].what);
    }
}

/* 16 KB of text that would be 14 MB, and a row of one pixel. */
static void texts_of_a_png_are_not_unpacked(void **state) {
    static unsigned char text[7 << 20], packed[1 << 14];
    static buffer b;
    const unsigned char pixel[] = {0, 200};
    scant__fault fault = {""};
    uLongf n = sizeof packed - 3;
    (void)state;
    memcpy(packed, "x\0", 3);
    assert_int_equal(compress2(packed + 3, &n, text, sizeof text, 9), Z_OK);
    begin_png(&b, 1, 1, 8, 0, 0);
    add_chunk(&b, "zTXt", packed, n + 3);
    add_chunk(&b, "zTXt", packed, n + 3);
    n = sizeof packed;
    assert_int_equal(compress2(packed, &n, pixel, sizeof pixel, 9), Z_OK);
    add_chunk(&b, "IDAT", packed, n);
    add_chunk(&b, "IEND", "", 0);
    if (decode(&b, &fault) != SCANT_OK) fail_msg("%s", fault.text);
    assert_true(scant_ctx_memory_peak(ctx) < 1 << 20);
}

/* ---- JPEG -------------------------------------------------------------------------- */

static void add_segment(buffer *b, unsigned char marker, const void *data, size_t n) {
    add(b,
        (unsigned char[]){0xff, marker, (unsigned char)((n + 2) >> 8),
                          (unsigned char)(n + 2)},
        4);
    add(b, data, n);
}

/* A progressive grey image without coded data; the first segment's content looks like
 * more scans. */
static void put_scans(buffer *b, size_t width, size_t height, size_t scans) {
    const unsigned char frame[] = {8,
                                   (unsigned char)(height >> 8),
                                   (unsigned char)height,
                                   (unsigned char)(width >> 8),
                                   (unsigned char)width,
                                   1,
                                   1,
                                   0x11,
                                   0};
    const unsigned char scan[] = {1, 1, 0, 0, 0, 0};
    b->size = 0;
    add(b, "\xff\xd8", 2);
    add_segment(b, 0xe0, "\xff\xda\xff\xda\xff\xda\xff\xda\xff\xda\xff\xda", 12);
    add_segment(b, 0xc2, frame, sizeof frame);
    for (size_t i = 0; i < scans; i++) {
        add_segment(b, 0xda, scan, sizeof scan);
        add(b, "data\xff\0data\xff\xd0", 12);
    }
    add(b, "\xff\xd9", 2);
}

static void a_jpeg_of_too_many_scans_is_refused_by_its_markers(void **state) {
    static const struct {
        size_t width, height, scans;
        bool too_long;
        const char *what;
    } cases[] = {
        {8192, 8192, 129, true, "large"},        {8192, 8192, 128, false, "fewer scans"},
        {65500, 65, 501, true, "501 scans"},     {65500, 65, 500, false, "500 scans"},
        {6000, 4000, 10, false, "a photograph"},
    };
    static buffer b;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_scans(&b, cases[i].width, cases[i].height, cases[i].scans);
        assert_refused(&b, cases[i].too_long, cases[i].what);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_a_png_are_not_unpacked), /* first: the peak */
        cmocka_unit_test(a_png_of_too_much_work_is_refused_by_its_header),
        cmocka_unit_test(a_jpeg_of_too_many_scans_is_refused_by_its_markers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
