/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of strong augmentation: small images computed by hand, and others
 * compared with Pillow's results (operations.h).
 */
#include "../support.h"

#include "data/augment_views.h"

#include "operations.h"

static void operate(scant__operation operation, int level, const unsigned char *in,
                    unsigned char *out, size_t h, size_t w) {
    memset(out, 0xAB, h * w);
    scant__operate(operation, level, in, out, 1, h, w);
}

#define ASSERT_MAKES(operation, level, h, w, in, ...)                                    \
    do {                                                                                 \
        const unsigned char want_[(h) * (w)] = __VA_ARGS__;                              \
        unsigned char out_[(h) * (w)];                                                   \
        operate(operation, level, in, out_, h, w);                                       \
        assert_memory_equal(out_, want_, sizeof out_);                                   \
    } while (0)

static const unsigned char nine[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static const unsigned char sixteen[16] = {1, 2,  3,  4,  5,  6,  7,  8,
                                          9, 10, 11, 12, 13, 14, 15, 16};

/* ---- bytes ---- */

/* 50 to 150 become 0 to 255: b becomes 2.55 (b - 50), truncated: 127.5 becomes 127. */
static void autocontrast_stretches_each_channel_separately(void **state) {
    const unsigned char in[] = {50, 100, 150, 60, 7, 7, 7, 7, 0, 255, 128, 3};
    const unsigned char want[] = {0, 127, 255, 25, 7, 7, 7, 7, 0, 255, 128, 3};
    unsigned char out[12];
    (void)state;
    scant__operate(SCANT__AUTOCONTRAST, 4, in, out, 3, 2, 2);
    assert_memory_equal(out, want, sizeof out);
}

/* 256 pixels of each of 4 values: the step is (1024 - 256) div 255 = 3, the sums at the
 * values are 1, 257, 513, 769; divided by 3: 0, 85, 171, 256, the last clipped to 255. */
static void equalize_spreads_values_by_their_ranks(void **state) {
    const unsigned char values[] = {10, 11, 200, 250}, want[] = {0, 85, 171, 255};
    unsigned char in[1024], out[1024];
    (void)state;
    for (size_t i = 0; i < 1024; i++) in[i] = values[i % 4];
    operate(SCANT__EQUALIZE, 1, in, out, 32, 32);
    for (size_t i = 0; i < 1024; i++) assert_int_equal(out[i], want[i % 4]);
}

static void equalize_does_not_change_images_of_too_few_pixels(void **state) {
    unsigned char in[400], out[400];
    (void)state;
    ASSERT_MAKES(SCANT__EQUALIZE, 1, 3, 3, nine, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    memset(in, 77, sizeof in);
    operate(SCANT__EQUALIZE, 1, in, out, 20, 20); /* no pixel below the largest value */
    assert_memory_equal(out, in, sizeof in);
    /* 254 pixels below the largest value give a step of 0, so nothing changes; 255 give a
     * step of 1, and the sums are 0 and 255 */
    memset(in, 5, 254);
    operate(SCANT__EQUALIZE, 1, in, out, 20, 20);
    assert_memory_equal(out, in, sizeof in);
    in[254] = 5;
    operate(SCANT__EQUALIZE, 1, in, out, 20, 20);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[399], 255);
}

/* .05 + .09 * 5 = .5: half of each, truncated. */
static void brightness_blends_with_black(void **state) {
    const unsigned char in[] = {0, 1, 2, 101, 200, 255};
    (void)state;
    ASSERT_MAKES(SCANT__BRIGHTNESS, 5, 2, 3, in, {0, 0, 1, 50, 100, 127});
    ASSERT_MAKES(SCANT__BRIGHTNESS, 1, 2, 3, in, {0, 0, 0, 14, 28, 35}); /* .14 */
}

/* The mean 100.2 is rounded to 100; b becomes (b + 100) / 2. */
static void contrast_blends_with_the_mean_grey(void **state) {
    const unsigned char in[] = {0, 51, 100, 150, 200};
    (void)state;
    ASSERT_MAKES(SCANT__CONTRAST, 5, 1, 5, in, {50, 75, 100, 125, 150});
    /* the mean 50.5 is rounded to 51 */
    ASSERT_MAKES(SCANT__CONTRAST, 5, 1, 2, ((unsigned char[]){50, 51}), {50, 51});
}

/* The grey of red is (255 * 19595 + 32768) div 65536 = 76, that of white 255, that of
 * blue (255 * 7471 + 32768) div 65536 = 29. Blended by half, red becomes (76 + 255) / 2 =
 * 165 in its red channel and 38 in the others. */
static void color_blends_with_grey(void **state) {
    const unsigned char in[] = {255, 255, 0, 0, 255, 0, 0, 255, 255};
    const unsigned char want[] = {165, 255, 14, 38, 255, 14, 38, 255, 142};
    unsigned char out[9];
    (void)state;
    scant__operate(SCANT__COLOR, 5, in, out, 3, 1, 3);
    assert_memory_equal(out, want, sizeof out);
}

/* The grey of two channels is their mean, (10 + 31 + 1) div 2 = 21. */
static void color_of_other_channels_blends_with_their_mean(void **state) {
    unsigned char out[2];
    (void)state;
    scant__operate(SCANT__COLOR, 5, (unsigned char[]){10, 31}, out, 2, 1, 1);
    assert_memory_equal(out, ((unsigned char[]){15, 26}), 2);
}

static void color_does_not_change_grey_images(void **state) {
    unsigned char in[256], out[256];
    (void)state;
    for (size_t i = 0; i < 256; i++) in[i] = (unsigned char)i;
    for (int level = 1; level <= SCANT__LEVELS; level++) {
        operate(SCANT__COLOR, level, in, out, 16, 16);
        assert_memory_equal(out, in, sizeof in);
    }
}

/* Smoothing gives 5 * 130 / 13 = 50, blended by half 90. A centre of 140 among tens gives
 * (8 * 10 + 5 * 140) / 13 = 60. The border is not changed. */
static void sharpness_blends_with_the_smoothed_image(void **state) {
    (void)state;
    ASSERT_MAKES(SCANT__SHARPNESS, 5, 3, 3,
                 ((unsigned char[]){0, 0, 0, 0, 130, 0, 0, 0, 0}),
                 {0, 0, 0, 0, 90, 0, 0, 0, 0});
    ASSERT_MAKES(SCANT__SHARPNESS, 5, 3, 3,
                 ((unsigned char[]){10, 10, 10, 10, 140, 10, 10, 10, 10}),
                 {10, 10, 10, 10, 100, 10, 10, 10, 10});
    /* 19 / 13 is rounded to 1, the blend 1.5 truncated to 1; 20 / 13 is rounded to 2 */
    ASSERT_MAKES(SCANT__SHARPNESS, 5, 3, 3,
                 ((unsigned char[]){9, 0, 0, 0, 2, 0, 0, 0, 0}),
                 {9, 0, 0, 0, 1, 0, 0, 0, 0});
    ASSERT_MAKES(SCANT__SHARPNESS, 5, 3, 3,
                 ((unsigned char[]){7, 0, 0, 0, 2, 0, 0, 0, 3}),
                 {7, 0, 0, 0, 2, 0, 0, 0, 3});
    ASSERT_MAKES(SCANT__SHARPNESS, 5, 2, 4, sixteen, {1, 2, 3, 4, 5, 6, 7, 8});
    ASSERT_MAKES(SCANT__SHARPNESS, 5, 4, 2, sixteen, {1, 2, 3, 4, 5, 6, 7, 8});
}

static void posterize_keeps_the_high_bits(void **state) {
    const int white[] = {0, 240, 240, 248, 248, 252, 252, 252, 254, 254};
    (void)state;
    for (int level = 1; level <= SCANT__LEVELS; level++) {
        unsigned char in[2] = {255, 0x0F}, out[2];
        operate(SCANT__POSTERIZE, level, in, out, 1, 2);
        assert_int_equal(out[0], white[level]);
        assert_int_equal(out[1], white[level] & 0x0F);
    }
}

static void solarize_inverts_from_its_threshold_on(void **state) {
    const int from[] = {256, 231, 205, 180, 154, 128, 103, 77, 52, 26};
    unsigned char in[256], out[256];
    (void)state;
    for (size_t i = 0; i < 256; i++) in[i] = (unsigned char)i;
    for (int level = 0; level <= SCANT__LEVELS; level++) {
        operate(SCANT__SOLARIZE, level, in, out, 16, 16);
        for (int i = 0; i < 256; i++)
            assert_int_equal(out[i], i < from[level] ? i : 255 - i);
    }
}

/* ---- geometry ---- */

/* floor(.27 * 4) = 1. */
static void translations_move_by_whole_pixels(void **state) {
    (void)state;
    ASSERT_MAKES(SCANT__TRANSLATE_X, 9, 4, 4, sixteen,
                 {2, 3, 4, 0, 6, 7, 8, 0, 10, 11, 12, 0, 14, 15, 16, 0});
    ASSERT_MAKES(SCANT__TRANSLATE_X, -9, 4, 4, sixteen,
                 {0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0, 13, 14, 15});
    ASSERT_MAKES(SCANT__TRANSLATE_Y, 9, 4, 4, sixteen,
                 {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0, 0, 0, 0});
    ASSERT_MAKES(SCANT__TRANSLATE_Y, -9, 4, 4, sixteen,
                 {0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    /* floor(.24 * 4) = 0; a 2 x 8 image moves by 2 across and 0 down */
    ASSERT_MAKES(SCANT__TRANSLATE_X, 8, 4, 4, sixteen,
                 {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
    ASSERT_MAKES(SCANT__TRANSLATE_X, 9, 2, 8, sixteen,
                 {3, 4, 5, 6, 7, 8, 0, 0, 11, 12, 13, 14, 15, 16, 0, 0});
    ASSERT_MAKES(SCANT__TRANSLATE_Y, 9, 2, 8, sixteen,
                 {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
}

/* The centres of rows 0 to 3 move by .135, .405, .675 and .945 pixels: those of 1/2 or
 * more reach the next pixel, or with a negative level the previous one. */
static void shears_move_rows_by_their_heights(void **state) {
    (void)state;
    ASSERT_MAKES(SCANT__SHEAR_X, 9, 4, 4, sixteen,
                 {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 0, 14, 15, 16, 0});
    ASSERT_MAKES(SCANT__SHEAR_X, -9, 4, 4, sixteen,
                 {1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 10, 11, 0, 13, 14, 15});
    ASSERT_MAKES(SCANT__SHEAR_Y, 9, 4, 4, sixteen,
                 {1, 2, 7, 8, 5, 6, 11, 12, 9, 10, 15, 16, 13, 14, 0, 0});
    ASSERT_MAKES(SCANT__SHEAR_Y, -9, 4, 4, sixteen,
                 {1, 2, 0, 0, 5, 6, 3, 4, 9, 10, 7, 8, 13, 14, 11, 12});
}

/* 27 degrees: cos .8910, sin .4540. The upper left pixel comes from (-.8910 + .4540,
 * -.4540 - .8910) = (-.437, -1.345), the pixel above the centre; that one comes from
 * (.454, -.891), itself; the others follow by quarter turns. */
static void rotate_turns_to_the_left(void **state) {
    (void)state;
    ASSERT_MAKES(SCANT__ROTATE, 9, 3, 3, nine, {2, 2, 6, 4, 5, 6, 4, 8, 8});
    ASSERT_MAKES(SCANT__ROTATE, -9, 3, 3, nine, {4, 2, 2, 4, 5, 6, 8, 8, 6});
}

/* In a 4 x 4 image the centre of the corner pixel, (-1.5, -1.5), comes from (-.6555,
 * -2.0175), just outside; at 24 degrees (cos .9135, sin .4067) from (-.7602, -1.9804),
 * just inside. */
static void rotate_fills_with_black(void **state) {
    unsigned char out[16];
    (void)state;
    operate(SCANT__ROTATE, 9, sixteen, out, 4, 4);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[3], 0);
    assert_int_equal(out[12], 0);
    assert_int_equal(out[15], 0);
    operate(SCANT__ROTATE, 8, sixteen, out, 4, 4);
    assert_int_equal(out[0], 2);
    for (size_t i = 0; i < 16; i++) assert_int_not_equal(out[i], 0);
}

static void level_0_does_not_move_the_image(void **state) {
    const scant__operation moves[] = {SCANT__IDENTITY,    SCANT__ROTATE,
                                      SCANT__SHEAR_X,     SCANT__SHEAR_Y,
                                      SCANT__TRANSLATE_X, SCANT__TRANSLATE_Y};
    unsigned char out[60];
    (void)state;
    for (size_t i = 0; i < 6; i++)
        for (size_t h = 1; h <= 20; h++) {
            memset(out, 0xAB, sizeof out);
            scant__operate(moves[i], 0, colour, out, 3, h, 20 / h);
            assert_memory_equal(out, colour, 3 * h * (20 / h));
        }
}

/* ---- all operations ---- */

static void all_operations_match_pillow(void **state) {
    unsigned char out[408];
    (void)state;
    for (size_t i = 0; i < sizeof colour_made / sizeof *colour_made; i++) {
        scant__operate(colour_made[i].operation, colour_made[i].level, colour, out, 3, 4,
                       5);
        if (memcmp(out, colour_made[i].out, 60) != 0)
            fail_msg("operation %d at level %d", (int)colour_made[i].operation,
                     colour_made[i].level);
    }
    operate(SCANT__EQUALIZE, 1, grey, out, 17, 24);
    assert_memory_equal(out, grey_equalized, sizeof out);
}

/* The input is on the heap, so that sanitizers detect reads outside it; the bytes after
 * the output must not change. */
static void all_operations_write_the_whole_image_and_nothing_else(void **state) {
    const size_t sizes[][3] = {{1, 1, 1}, {3, 1, 7}, {3, 7, 1}, {1, 2, 2}, {4, 5, 9}};
    (void)state;
    for (size_t s = 0; s < 5; s++) {
        size_t n = sizes[s][0] * sizes[s][1] * sizes[s][2];
        unsigned char *in = malloc(n), *a = malloc(n + 8), *b = malloc(n + 8);
        assert_true(in && a && b);
        for (size_t i = 0; i < n; i++) in[i] = (unsigned char)(unit_at(3, i) * 256);
        for (int o = 0; o < SCANT__OPERATIONS; o++)
            for (int level = -9; level <= 9; level++) {
                if (level < 1 && !scant__operation_signed((scant__operation)o)) continue;
                memset(a, 1, n + 8);
                memset(b, 2, n + 8);
                scant__operate((scant__operation)o, level, in, a, sizes[s][0],
                               sizes[s][1], sizes[s][2]);
                scant__operate((scant__operation)o, level, in, b, sizes[s][0],
                               sizes[s][1], sizes[s][2]);
                assert_memory_equal(a, b, n);
                assert_memory_equal(a + n, "\1\1\1\1\1\1\1\1", 8);
            }
        free(in);
        free(a);
        free(b);
    }
}

static void only_geometric_operations_are_signed(void **state) {
    (void)state;
    for (int o = 0; o < SCANT__OPERATIONS; o++)
        assert_int_equal(scant__operation_signed((scant__operation)o),
                         o >= SCANT__ROTATE);
}

/* ---- cutout ---- */

static void cut_black(size_t y, size_t x, size_t side, unsigned char *out) {
    memset(out, 0, 32);
    scant__cutout(out, 2, 4, 4, y, x, side);
    assert_memory_equal(out, out + 16, 16);
}

static void cutout_is_a_square_clipped_at_the_border(void **state) {
    enum { G = 127 };
    unsigned char out[32];
    (void)state;
    cut_black(2, 2, 2, out);
    assert_memory_equal(
        out, ((unsigned char[]){0, 0, 0, 0, 0, G, G, 0, 0, G, G, 0, 0, 0, 0, 0}), 16);
    cut_black(0, 3, 2, out);
    assert_memory_equal(
        out, ((unsigned char[]){0, 0, G, G, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 16);
    cut_black(3, 0, 3, out);
    assert_memory_equal(
        out, ((unsigned char[]){0, 0, 0, 0, 0, 0, 0, 0, G, G, 0, 0, G, G, 0, 0}), 16);
    cut_black(1, 1, 1, out);
    assert_memory_equal(
        out, ((unsigned char[]){0, 0, 0, 0, 0, G, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 16);
    cut_black(1, 2, 100, out);
    for (size_t i = 0; i < 16; i++) assert_int_equal(out[i], G);
    cut_black(1, 2, 0, out);
    for (size_t i = 0; i < 16; i++) assert_int_equal(out[i], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(autocontrast_stretches_each_channel_separately),
        cmocka_unit_test(equalize_spreads_values_by_their_ranks),
        cmocka_unit_test(equalize_does_not_change_images_of_too_few_pixels),
        cmocka_unit_test(brightness_blends_with_black),
        cmocka_unit_test(contrast_blends_with_the_mean_grey),
        cmocka_unit_test(color_blends_with_grey),
        cmocka_unit_test(color_of_other_channels_blends_with_their_mean),
        cmocka_unit_test(color_does_not_change_grey_images),
        cmocka_unit_test(sharpness_blends_with_the_smoothed_image),
        cmocka_unit_test(posterize_keeps_the_high_bits),
        cmocka_unit_test(solarize_inverts_from_its_threshold_on),
        cmocka_unit_test(translations_move_by_whole_pixels),
        cmocka_unit_test(shears_move_rows_by_their_heights),
        cmocka_unit_test(rotate_turns_to_the_left),
        cmocka_unit_test(rotate_fills_with_black),
        cmocka_unit_test(level_0_does_not_move_the_image),
        cmocka_unit_test(all_operations_match_pillow),
        cmocka_unit_test(all_operations_write_the_whole_image_and_nothing_else),
        cmocka_unit_test(only_geometric_operations_are_signed),
        cmocka_unit_test(cutout_is_a_square_clipped_at_the_border),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
