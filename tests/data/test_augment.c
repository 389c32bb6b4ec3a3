/* SPDX-License-Identifier: Apache-2.0
 *
 * Flips and shifts of images.
 */
#include <stdbool.h>

#include "../support.h"

#include "data/augment_views.h"

static void flip_crop(const float *in, float *out, size_t c, size_t h, size_t w,
                      uint64_t seed, uint64_t draw, bool flip) {
    const scant__rng rng = {seed, SCANT__RNG_AUGMENT};
    scant__augment_move(scant__augment_draw(&rng, draw, h, w, flip), in, out, c, h, w);
}

/* A pixel of an 8 x 8 image, its value encoding its place; shifts are -1, 0 or 1. */
static float at(size_t c, size_t y, size_t x) { return (float)(c * 100 + y * 8 + x); }

static void fill(float *in, size_t c) {
    for (size_t k = 0; k < c; k++)
        for (size_t y = 0; y < 8; y++)
            for (size_t x = 0; x < 8; x++) in[(k * 8 + y) * 8 + x] = at(k, y, x);
}

/* The source of row y when shifted by d; reflection does not repeat the edge. */
static size_t source(size_t y, int d) {
    int from = (int)y + d;
    return (size_t)(from < 0 ? 1 : from > 7 ? 6 : from);
}

static bool is_move(const float *out, size_t planes, int down, int across,
                    bool mirrored) {
    for (size_t k = 0; k < planes; k++)
        for (size_t y = 0; y < 8; y++)
            for (size_t x = 0; x < 8; x++) {
                size_t column = source(x, across);
                if (mirrored) column = 7 - column;
                if (out[(k * 8 + y) * 8 + x] != at(k, source(y, down), column))
                    return false;
            }
    return true;
}

/* Three shifts down, three across, mirrored or not; all planes move together. */
static void draws_are_the_eighteen_moves_equally_often(void **state) {
    enum { DRAWS = 18000 };
    float in[128], out[128];
    size_t many[18] = {0};
    double square = 0;
    (void)state;
    fill(in, 2);
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        size_t found = 0;
        flip_crop(in, out, 2, 8, 8, 5, draw, true);
        for (size_t i = 0; i < 18; i++)
            if (is_move(out, 2, (int)(i / 2 % 3) - 1, (int)(i / 6) - 1, i % 2)) {
                many[i]++;
                found++;
            }
        assert_int_equal(found, 1);
    }
    for (size_t i = 0; i < 18; i++) {
        double off = (double)many[i] - DRAWS / 18;
        square += off * off / (DRAWS / 18);
    }
    assert_true(square < chi_square_limit(17));
}

static void without_flips_no_image_is_mirrored(void **state) {
    float in[64], out[64];
    (void)state;
    fill(in, 1);
    for (uint64_t draw = 0; draw < 100; draw++) {
        size_t found = 0;
        flip_crop(in, out, 1, 8, 8, 1, draw, false);
        for (size_t i = 0; i < 9; i++)
            found += is_move(out, 1, (int)(i % 3) - 1, (int)(i / 3) - 1, false);
        assert_int_equal(found, 1);
    }
}

static void a_draw_repeats_and_another_seed_gives_another(void **state) {
    float in[32 * 32], a[32 * 32], b[32 * 32];
    size_t same = 0;
    (void)state;
    for (size_t i = 0; i < 1024; i++) in[i] = (float)i;
    for (uint64_t draw = 0; draw < 200; draw++) {
        flip_crop(in, a, 1, 32, 32, 3, draw, true);
        flip_crop(in, b, 1, 32, 32, 3, draw, true);
        assert_memory_equal(a, b, sizeof a);
        flip_crop(in, b, 1, 32, 32, 4, draw, true);
        same += memcmp(a, b, sizeof a) == 0;
    }
    assert_true(same < 20); /* by chance, one in 162 is equal */
}

/* For 32 pixels up to 4 either way: all nine shifts occur, none beyond. Of 40, eleven. */
static void the_shift_is_an_eighth_of_the_side(void **state) {
    float in[32 * 40], out[32 * 40];
    bool down[9] = {false}, across[11] = {false};
    (void)state;
    for (size_t i = 0; i < 32 * 40; i++) in[i] = (float)i;
    for (uint64_t draw = 0; draw < 500; draw++) {
        flip_crop(in, out, 1, 32, 40, 0, draw, false);
        size_t middle = (size_t)out[16 * 40 + 20];
        assert_true(middle / 40 >= 12 && middle / 40 <= 20);
        assert_true(middle % 40 >= 15 && middle % 40 <= 25);
        down[middle / 40 - 12] = true;
        across[middle % 40 - 15] = true;
    }
    for (size_t i = 0; i < 9; i++) assert_true(down[i]);
    for (size_t i = 0; i < 11; i++) assert_true(across[i]);
}

/* Whether out is in, moved like this and reflected at the border. */
static bool is_from(const float *in, const float *out, int down, int across,
                    bool mirrored) {
    enum { H = 24, W = 32 };
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int row = abs(y + down), column = abs(x + across);
            if (row > H - 1) row = 2 * (H - 1) - row;
            if (column > W - 1) column = 2 * (W - 1) - column;
            if (mirrored) column = W - 1 - column;
            if (out[y * W + x] != in[row * W + column]) return false;
        }
    return true;
}

static void pixels_shifted_in_are_reflected(void **state) {
    float in[24 * 32], out[24 * 32];
    (void)state;
    for (size_t i = 0; i < 24 * 32; i++) in[i] = (float)i;
    for (uint64_t draw = 0; draw < 300; draw++) {
        size_t found = 0;
        flip_crop(in, out, 1, 24, 32, 9, draw, true);
        for (int i = 0; i < 7 * 9 * 2; i++)
            found += is_from(in, out, i % 7 - 3, i / 7 % 9 - 4, i >= 7 * 9);
        assert_int_equal(found, 1);
    }
}

static void small_images_are_only_mirrored(void **state) {
    const float in[] = {1, 2, 3, 4, 5, 6};
    float out[6];
    size_t mirrored = 0;
    (void)state;
    for (uint64_t draw = 0; draw < 100; draw++) {
        flip_crop(in, out, 1, 2, 3, 0, draw, true);
        if (memcmp(in, out, sizeof in) == 0) continue;
        assert_memory_equal(out, ((float[]){3, 2, 1, 6, 5, 4}), sizeof out);
        mirrored++;
    }
    assert_true(mirrored > 25 && mirrored < 75);
    flip_crop(in, out, 1, 1, 1, 0, 0, true);
    assert_true(out[0] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_the_eighteen_moves_equally_often),
        cmocka_unit_test(without_flips_no_image_is_mirrored),
        cmocka_unit_test(a_draw_repeats_and_another_seed_gives_another),
        cmocka_unit_test(the_shift_is_an_eighth_of_the_side),
        cmocka_unit_test(pixels_shifted_in_are_reflected),
        cmocka_unit_test(small_images_are_only_mirrored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
