/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples encoded as images for browsers.
 */
#include "samples.h"

#include "data/dataset.h"
#include "data/images.h"
#include "data/source.h"
#include "scant/train.h"

#ifndef PICTURES
#error "PICTURES is the folder tests/data/pictures"
#endif

/* ---- images in memory ------------------------------------------------------------ */

typedef struct image {
    size_t width, height, rows;
    int orientation;
    unsigned char rgb[400 * 300 * 3];
} image;

static scant_status on_begin(void *self, size_t width, size_t height, int orientation) {
    image *p = self;
    p->width = width;
    p->height = height;
    p->orientation = orientation;
    p->rows = 0;
    assert_true(3 * width * height <= sizeof p->rgb);
    return SCANT_OK;
}

static void on_row(void *self, const unsigned char *rgb) {
    image *p = self;
    memcpy(p->rgb + p->rows++ * 3 * p->width, rgb, 3 * p->width);
}

static void decode(const void *bytes, size_t size, image *out) {
    scant__fault fault = {{0}};
    const scant__decode job = {.ctx = ctx,
                               .name = "image",
                               .bytes = bytes,
                               .size = size,
                               .fault = &fault,
                               .begin = on_begin,
                               .row = on_row,
                               .self = out};
    if (scant__decode_image(&job) != SCANT_OK) fail_msg("%s", fault.text);
    assert_int_equal(out->rows, out->height);
}

/* The pixels of a file as stored: its orientation is not applied. */
static void stored(const char *name, image *out) {
    char path[1024];
    scant__map map;
    scant__fault fault;
    snprintf(path, sizeof path, "%s/%s", PICTURES, name);
    assert_int_equal(scant__map_open(path, path, &map, &fault), SCANT_OK);
    decode(map.bytes, map.size, out);
    scant__map_close(&map);
}

static void shown(const scant_data *data, size_t row, size_t most, image *out,
                  const char **type) {
    void *bytes;
    size_t size;
    if (scant__data_image_file(data, row, most, &bytes, &size, type) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    decode(bytes, size, out);
    assert_int_equal(out->orientation, 1);
    scant__free(ctx, bytes);
}

/* Applies the orientation of the image. EXIF defines each by where the first stored row
 * and the first stored column are shown. */
static void apply_orientation(const image *in, image *out) {
    static const struct {
        bool turned, row_last, column_last;
    } exif[] = {{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 0},
                {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 1}};
    size_t k = (size_t)in->orientation - 1;
    out->width = exif[k].turned ? in->height : in->width;
    out->height = exif[k].turned ? in->width : in->height;
    for (size_t y = 0; y < in->height; y++)
        for (size_t x = 0; x < in->width; x++) {
            size_t row = exif[k].row_last ? in->height - 1 - y : y;
            size_t column = exif[k].column_last ? in->width - 1 - x : x;
            size_t at =
                exif[k].turned ? column * out->width + row : row * out->width + column;
            memcpy(out->rgb + 3 * at, in->rgb + 3 * (y * in->width + x), 3);
        }
}

/* The mean absolute difference. */
static double difference(const image *a, const image *b) {
    double sum = 0;
    if (a->width != b->width || a->height != b->height) return 1000;
    size_t n = 3 * a->width * a->height;
    for (size_t i = 0; i < n; i++) sum += abs(a->rgb[i] - b->rgb[i]);
    return sum / (double)n;
}

/* The mean of a colour in a part of the image, in fractions of its sides. */
static double mean(const image *p, size_t colour, double x0, double x1, double y0,
                   double y1) {
    double sum = 0, n = 0;
    for (size_t y = (size_t)(y0 * (double)p->height);
         y < (size_t)(y1 * (double)p->height); y++)
        for (size_t x = (size_t)(x0 * (double)p->width);
             x < (size_t)(x1 * (double)p->width); x++, n++)
            sum += p->rgb[3 * (y * p->width + x) + colour];
    return sum / n;
}

static image whole, turned, thumb;

/* ---- files ------------------------------------------------------------------------- */

/* JPEG of quality 88 with subsampled colour changes the noise of the test images by
 * several levels; an image of wrong orientation is off by about sixty. */
static void an_image_that_fits_keeps_its_pixels(void **state) {
    scant_data *data = opened(PICTURES, (scant_data_opts){0});
    size_t pngs = 0, jpegs = 0;
    (void)state;
    for (size_t i = 0; i < scant_data_count(data); i++) {
        const char *name = scant_data_sample_name(data, i), *type;
        bool png = strstr(name, ".png") != NULL;
        stored(name, &whole);
        apply_orientation(&whole, &turned);
        shown(data, i, 400, &thumb, &type);
        assert_string_equal(type, png ? "image/png" : "image/jpeg");
        double off = difference(&thumb, &turned);
        if (png ? off > 0 : off > 12) fail_msg("%s differs by %g", name, off);
        *(png ? &pngs : &jpegs) += 1;
    }
    assert_true(pngs > 10 && jpegs == 15);
    scant_data_free(data);
}

static void every_orientation_is_shown_upright(void **state) {
    scant_data *data = opened(PICTURES, (scant_data_opts){0});
    size_t seen = 0;
    (void)state;
    for (size_t i = 0; i < scant_data_count(data); i++) {
        const char *name = scant_data_sample_name(data, i), *type;
        if (strncmp(name, "orientation", 11) != 0) continue;
        stored(name, &whole);
        assert_int_equal(whole.orientation, name[11] - '0');
        shown(data, i, 400, &thumb, &type);
        for (int other = 1; other <= 8; other++) {
            bool right = other == name[11] - '0';
            whole.orientation = other;
            apply_orientation(&whole, &turned);
            double off = difference(&thumb, &turned);
            if (right ? off > 12 : off < 30)
                fail_msg("%s as orientation %d differs by %g", name, other, off);
        }
        seen++;
    }
    assert_int_equal(seen, 8);
    scant_data_free(data);
}

static void the_longer_side_is_as_asked_and_mean_colours_are_kept(void **state) {
    static const size_t sizes[] = {1, 2, 7, 16, 29, 64, 96, 150, 219, 300};
    scant_data *data = opened(PICTURES, (scant_data_opts){0});
    (void)state;
    for (size_t i = 0; i < scant_data_count(data); i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const char *name = scant_data_sample_name(data, i), *type;
            size_t most = sizes[k];
            stored(name, &whole);
            apply_orientation(&whole, &turned);
            size_t longer = size_max(turned.width, turned.height);
            if (longer <= most) continue;
            shown(data, i, most, &thumb, &type);
            assert_string_equal(type, "image/jpeg");
            assert_int_equal(size_max(thumb.width, thumb.height), most);
            double want = (double)most / (double)longer *
                          (double)size_min(turned.width, turned.height);
            double got = (double)size_min(thumb.width, thumb.height);
            /* half a pixel by rounding here, and half by libjpeg's at a scale of 1/2 or
             * less */
            if (fabs(got - (want < 1 ? 1 : want)) > 1)
                fail_msg("%s at %zu: the shorter side is %g, expected %g", name, most,
                         got, want);
            if (most < 16) continue;
            for (size_t c = 0; c < 3; c++) {
                double a = mean(&thumb, c, 0, 1, 0, 1), b = mean(&turned, c, 0, 1, 0, 1);
                if (fabs(a - b) > 4)
                    fail_msg("%s at %zu: colour %zu is %g, expected %g", name, most, c, a,
                             b);
            }
        }
    scant_data_free(data);
}

/* A 300 x 220 image that libjpeg decodes at a reduced scale for 96 pixels and fewer. Each
 * ninth of it keeps its mean colours. */
static void a_large_jpeg_keeps_the_colours_of_its_parts(void **state) {
    scant__names names = {0};
    scant_data *data;
    const char *type;
    (void)state;
    assert_int_equal(scant__names_add(ctx, &names, "large.jpg", 9), SCANT_OK);
    assert_int_equal(scant__data_open_files(ctx, PICTURES, &names, 0, &data), SCANT_OK);
    stored("large.jpg", &whole);
    for (size_t most = 12; most <= 96; most += 12) {
        shown(data, 0, most, &thumb, &type);
        for (size_t k = 0; k < 27; k++) {
            double x = (double)(k / 3 % 3) / 3, y = (double)(k / 9) / 3;
            double a = mean(&thumb, k % 3, x, x + 1. / 3, y, y + 1. / 3);
            double b = mean(&whole, k % 3, x, x + 1. / 3, y, y + 1. / 3);
            /* a ninth of a small image is cut at whole pixels: 4 of 12 by 3 of 9 */
            if (fabs(a - b) > 14)
                fail_msg("at %zu: part %zu is %g, expected %g", most, k, a, b);
        }
    }
    scant_data_free(data);
    scant__names_end(&names);
}

/* ---- arrays ------------------------------------------------------------------------ */

static scant_data *array(const char *name, const char *header, const void *bytes,
                         size_t size) {
    buffer b = npy(1, header, bytes, size);
    return opened(put_buffer(name, &b), (scant_data_opts){0});
}

static void arrays_are_shown_pixel_by_pixel(void **state) {
    unsigned char grey[2][3][4], colour[1][2][2][3];
    const char *type;
    (void)state;
    for (size_t i = 0; i < sizeof grey; i++) (&grey[0][0][0])[i] = (unsigned char)(i * 9);
    for (size_t i = 0; i < sizeof colour; i++)
        (&colour[0][0][0][0])[i] = (unsigned char)(255 - i * 7);
    scant_data *d = array("g.npy", NPY("|u1", "(2, 3, 4)"), grey, sizeof grey);
    shown(d, 1, 28, &thumb, &type);
    assert_string_equal(type, "image/png");
    assert_int_equal(thumb.width, 4);
    assert_int_equal(thumb.height, 3);
    for (size_t i = 0; i < 36; i++)
        assert_int_equal(thumb.rgb[i], (&grey[1][0][0])[i / 3]);
    scant_data_free(d);
    d = array("c.npy", NPY("|u1", "(1, 2, 2, 3)"), colour, sizeof colour);
    shown(d, 0, 28, &thumb, &type);
    assert_memory_equal(thumb.rgb, colour, sizeof colour);
    shown(d, 0, 1, &thumb, &type); /* larger than asked for, so reduced */
    assert_string_equal(type, "image/png");
    assert_int_equal(thumb.width * thumb.height, 1);
    scant_data_free(d);
}

static void values_beyond_black_and_white_are_clipped(void **state) {
    const float values[] = {-3, 0, .5F, 1, 7, .2F};
    const unsigned char want[] = {0, 0, 128, 255, 255, 51};
    const char *type;
    (void)state;
    scant_data *d = array("f.npy", NPY("<f4", "(1, 2, 3)"), values, sizeof values);
    shown(d, 0, 28, &thumb, &type);
    for (size_t i = 0; i < 18; i++) assert_int_equal(thumb.rgb[i], want[i / 3]);
    scant_data_free(d);
}

/* Of two channels the first is shown, of five the first three. */
static void of_other_channel_counts_the_first_channels_are_shown(void **state) {
    const unsigned char two[] = {1, 2, 3, 4}, five[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const char *type;
    (void)state;
    scant_data *d = array("2.npy", NPY("|u1", "(1, 1, 2, 2)"), two, sizeof two);
    shown(d, 0, 28, &thumb, &type);
    assert_memory_equal(thumb.rgb, ((unsigned char[]){1, 1, 1, 3, 3, 3}), 6);
    scant_data_free(d);
    d = array("5.npy", NPY("|u1", "(1, 1, 2, 5)"), five, sizeof five);
    shown(d, 0, 28, &thumb, &type);
    assert_memory_equal(thumb.rgb, ((unsigned char[]){1, 2, 3, 6, 7, 8}), 6);
    scant_data_free(d);
}

/* ---- errors ------------------------------------------------------------------------ */

static void refuses_to_show(const scant_data *d, size_t row, size_t most,
                            scant_status want, const char *words) {
    void *bytes = &bytes;
    size_t size, used = ctx->used;
    const char *type;
    assert_int_equal(scant__data_image_file(d, row, most, &bytes, &size, &type), want);
    assert_null(bytes);
    assert_int_equal(ctx->used, used);
    assert_non_null(strstr(scant_ctx_errmsg(ctx), words));
}

static void samples_that_cannot_be_shown_are_refused(void **state) {
    const float values[] = {1, 2, 3, NAN};
    (void)state;
    scant_data *d = array("r.npy", NPY("<f4", "(2, 2)"), values, sizeof values);
    refuses_to_show(d, 0, 28, SCANT_EINPUT, "r.npy: has feature rows, not images");
    scant_data_free(d);
    d = array("n.npy", NPY("<f4", "(1, 2, 2)"), values, sizeof values);
    refuses_to_show(d, 0, 28, SCANT_EINPUT, "n.npy: sample 0 has a number that is not");
    refuses_to_show(d, 1, 28, SCANT_EUSAGE, "n.npy: has no sample 1, only 1");
    refuses_to_show(d, 0, 0, SCANT_EUSAGE, "n.npy: the longest side allowed");
    scant_data_free(d);
}

/* Truncated or with a changed byte, a file gives an image or a message. */
static void damaged_images_do_no_harm(void **state) {
    static const char *const names[] = {"rgb8_interlaced_tiny.png", "orientation6.jpg",
                                        "palette2.png", "grey.JPEG"};
    static unsigned char bytes[32768];
    char path[1024];
    (void)state;
    assert_int_equal(mkdir(path_of("harm"), 0700), 0);
    for (size_t k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "%s/%s", PICTURES, names[k]);
        FILE *f = fopen(path, "rb");
        size_t size = fread(bytes, 1, sizeof bytes, f), failed = 0;
        fclose(f);
        for (size_t i = 0; i < size; i += 1 + size / 200) {
            void *out;
            size_t out_size, used;
            const char *type;
            bytes[i] ^= 0x55;
            put("harm/a.png", bytes, i % 2 ? i : size);
            bytes[i] ^= 0x55;
            scant_data *d = opened(path_of("harm"), (scant_data_opts){0});
            used = ctx->used;
            scant_status status =
                scant__data_image_file(d, 0, 16, &out, &out_size, &type);
            assert_true(status == SCANT_OK || status == SCANT_EINPUT);
            assert_int_equal(status == SCANT_OK, out != NULL);
            failed += status != SCANT_OK;
            scant__free(ctx, out);
            assert_int_equal(ctx->used, used);
            scant_data_free(d);
        }
        assert_true(failed > 20);
    }
}

static void showing_survives_failing_memory(void **state) {
    static const char *const names[] = {"orientation6.jpg", "rgb8_interlaced.png"};
    const unsigned char grey[] = {1, 2, 3, 4};
    scant_data *data[3];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        scant__names one = {0};
        assert_int_equal(scant__names_put(ctx, &one, names[i]), SCANT_OK);
        assert_int_equal(scant__data_open_files(ctx, PICTURES, &one, 0, &data[i]),
                         SCANT_OK);
        scant__names_end(&one);
    }
    data[2] = array("m.npy", NPY("|u1", "(1, 2, 2)"), grey, sizeof grey);
    for (size_t i = 0; i < 6; i++) {
        size_t used = ctx->used, k = 0;
        for (scant_status status = SCANT_ENOMEM; status != SCANT_OK; k++) {
            void *bytes;
            size_t size;
            const char *type;
            mem.calls = 0;
            mem.fail_at = k;
            status = scant__data_image_file(data[i % 3], 0, i < 3 ? 10 : 400, &bytes,
                                            &size, &type);
            mem.fail_at = SIZE_MAX;
            assert_true(status == SCANT_OK || status == SCANT_ENOMEM);
            assert_int_equal(status == SCANT_OK, bytes != NULL);
            if (status != SCANT_OK) assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
            scant__free(ctx, bytes);
            assert_int_equal(ctx->used, used);
        }
        assert_true(k > 5);
    }
    for (size_t i = 0; i < 3; i++) scant_data_free(data[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_that_fits_keeps_its_pixels),
        cmocka_unit_test(every_orientation_is_shown_upright),
        cmocka_unit_test(the_longer_side_is_as_asked_and_mean_colours_are_kept),
        cmocka_unit_test(a_large_jpeg_keeps_the_colours_of_its_parts),
        cmocka_unit_test(arrays_are_shown_pixel_by_pixel),
        cmocka_unit_test(values_beyond_black_and_white_are_clipped),
        cmocka_unit_test(of_other_channel_counts_the_first_channels_are_shown),
        cmocka_unit_test(samples_that_cannot_be_shown_are_refused),
        cmocka_unit_test(damaged_images_do_no_harm),
        cmocka_unit_test(showing_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
