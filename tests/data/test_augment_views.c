/* SPDX-License-Identifier: Apache-2.0
 *
 * Weak and strong views: which steps they consist of, how often each is drawn, and that
 * they depend on the seed and the draw only.
 */
#include <math.h>

#include "../support.h"

#include "core/ctx.h"
#include "core/parfor.h"
#include "data/augment_views.h"

static const scant__rng weak_rng = {7, SCANT__RNG_WEAK};
static const scant__rng strong_rng = {7, SCANT__RNG_STRONG};

enum { MOST = 3 * 32 * 32 };

static void noise_bytes(unsigned char *out, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) out[i] = (unsigned char)(unit_at(seed, i) * 256);
}

static void as_floats(const unsigned char *in, float *out, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = (float)in[i] / 255;
}

/* The counts are those of equally likely events, up to chance. */
static void assert_equally_likely(const size_t *counts, size_t n) {
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) sum += (double)counts[i];
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += ((double)counts[i] - mean) * ((double)counts[i] - mean) / mean;
    assert_true(square < chi_square_limit(n - 1));
}

/* ---- draws ---- */

static void operations_levels_and_signs_are_uniform_and_independent(void **state) {
    enum { DRAWS = 40000 };
    size_t many[3] = {0}, levels[SCANT__OPERATIONS * 9] = {0}, signs[3][2] = {{0}};
    size_t across[7 * SCANT__OPERATIONS] = {0}; /* 28 pixels: up to 3 either way */
    size_t pairs[SCANT__OPERATIONS * SCANT__OPERATIONS] = {0};
    (void)state;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        scant__augment_step t[SCANT__AUGMENT_STEPS];
        size_t n = scant__strong_steps(&strong_rng, draw, t);
        assert_true(n <= 2);
        many[n]++;
        for (size_t i = 0; i < n; i++) {
            int level = abs(t[i].level);
            assert_true(t[i].operation < SCANT__OPERATIONS && level >= 1 && level <= 9);
            levels[(int)t[i].operation * 9 + level - 1]++;
            if (scant__operation_signed(t[i].operation))
                signs[n][t[i].level < 0]++;
            else
                assert_true(t[i].level > 0);
        }
        if (n < 2) continue;
        scant__move move = scant__augment_draw(&strong_rng, 4 * draw, 28, 28, true);
        pairs[t[0].operation * SCANT__OPERATIONS + t[1].operation]++;
        across[(size_t)(move.across + 3) * SCANT__OPERATIONS + t[0].operation]++;
    }
    assert_equally_likely(
        (size_t[]){many[0], many[1] / 2, many[1] - many[1] / 2, many[2]}, 4);
    assert_equally_likely(levels, SCANT__OPERATIONS * 9);
    assert_equally_likely(pairs, SCANT__OPERATIONS * SCANT__OPERATIONS);
    assert_equally_likely(signs[1], 2);
    assert_equally_likely(signs[2], 2);
    assert_equally_likely(across, 7 * SCANT__OPERATIONS);
}

/* ---- images ---- */

static void weak_views_are_those_of_supervised_training(void **state) {
    const scant__views views = {.c = 3, .h = 16, .w = 24, .images = true, .flip = true};
    float in[3 * 16 * 24], a[3 * 16 * 24], b[3 * 16 * 24];
    (void)state;
    for (size_t i = 0; i < 3 * 16 * 24; i++) in[i] = (float)unit_at(1, i) - 3;
    for (uint64_t draw = 0; draw < 50; draw++) {
        const scant__rng rng = {5, SCANT__RNG_AUGMENT};
        scant__move move = scant__augment_draw(&rng, draw, 16, 24, true);
        scant__augment_weak(&views, &rng, draw, in, a);
        scant__augment_move(move, in, b, 3, 16, 24);
        assert_memory_equal(a, b, sizeof a);
    }
}

static void bytes_and_floats_have_the_same_views(void **state) {
    const scant__views views = {.c = 3, .h = 32, .w = 32, .images = true, .flip = true};
    static unsigned char in[MOST], out[MOST], scratch[2 * MOST];
    static float in_float[MOST], want[MOST], got[MOST];
    (void)state;
    assert_int_equal(scant__views_scratch(&views), sizeof scratch);
    noise_bytes(in, MOST, 2);
    as_floats(in, in_float, MOST);
    for (uint64_t draw = 0; draw < 100; draw++) {
        scant__move move = scant__augment_draw(&weak_rng, draw, 32, 32, true);
        scant__augment_move_bytes(move, in, out, 3, 32, 32);
        scant__augment_weak(&views, &weak_rng, draw, in_float, got);
        as_floats(out, want, MOST);
        assert_memory_equal(got, want, sizeof want);
        scant__augment_strong_bytes(&views, &strong_rng, draw, in, out, scratch);
        scant__augment_strong(&views, &strong_rng, draw, in_float, got, scratch);
        as_floats(out, want, MOST);
        assert_memory_equal(got, want, sizeof want);
    }
}

/* Counts where cutting a square from image gives out; *found is the last place. */
static size_t count_places(const unsigned char *image, const unsigned char *out, size_t c,
                           size_t h, size_t w, size_t side, size_t *found) {
    unsigned char cut[2 * 12 * 10];
    size_t many = 0;
    for (size_t i = 0; i < h * w; i++) {
        memcpy(cut, image, c * h * w);
        scant__cutout(cut, c, h, w, i / w, i % w, side);
        if (memcmp(cut, out, c * h * w) != 0) continue;
        many++;
        *found = i;
    }
    return many;
}

/* Shifts are up to 1 either way; the square of a 12 x 10 image is 5 wide. */
static void strong_views_are_a_move_then_operations_then_a_random_square(void **state) {
    enum { C = 2, H = 12, W = 10, N = C * H * W, DRAWS = 3000 };
    const scant__views views = {.c = C, .h = H, .w = W, .images = true, .flip = true};
    unsigned char in[N], out[N], a[N], b[N], scratch[2 * N];
    size_t counts[H * W] = {0}, ambiguous = 0, moves[18] = {0};
    (void)state;
    noise_bytes(in, N, 3);
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        scant__augment_step t[SCANT__AUGMENT_STEPS];
        size_t n = scant__strong_steps(&strong_rng, draw, t), place = 0;
        scant__move move = scant__augment_draw(&strong_rng, 4 * draw, H, W, true);
        scant__augment_strong_bytes(&views, &strong_rng, draw, in, out, scratch);
        scant__augment_move_bytes(move, in, a, C, H, W);
        for (size_t i = 0; i < n; i++) {
            scant__operate(t[i].operation, t[i].level, a, b, C, H, W);
            memcpy(a, b, N);
        }
        size_t many = count_places(a, out, C, H, W, 5, &place);
        assert_true(many >= 1);
        ambiguous += many > 1;
        counts[place]++;
        moves[(move.down + 1) * 6 + (move.across + 1) * 2 + move.mirrored]++;
    }
    assert_true(ambiguous < DRAWS / 100);
    assert_equally_likely(counts, H * W);
    assert_equally_likely(moves, 18);
}

static void the_square_is_half_the_shorter_side_unless_given(void **state) {
    scant__views views = {.c = 1, .h = 32, .w = 40, .images = true};
    static unsigned char in[32 * 40], out[32 * 40], scratch[2 * 32 * 40];
    (void)state;
    memset(in, 1, sizeof in);
    for (int asked = 0; asked < 2; asked++) {
        size_t most = 0, least = SIZE_MAX;
        views.cut = asked ? 4 : 0;
        for (uint64_t draw = 0; draw < 400; draw++) {
            scant__augment_step t[SCANT__AUGMENT_STEPS];
            size_t cut = 0;
            if (scant__strong_steps(&strong_rng, draw, t)) continue;
            scant__augment_strong_bytes(&views, &strong_rng, draw, in, out, scratch);
            for (size_t i = 0; i < sizeof out; i++) {
                assert_true(out[i] == 1 || out[i] == 127);
                cut += out[i] == 127;
            }
            most = cut > most ? cut : most;
            least = cut < least ? cut : least;
        }
        assert_int_equal(most, asked ? 16 : 256);
        assert_true(least < most && least > 0);
    }
}

/* With a move only, and a square of one pixel, all other pixels are exact. */
static void unchanged_pixels_are_exact(void **state) {
    const scant__views views = {.c = 1, .h = 7, .w = 37, .images = true, .cut = 1};
    float in[259], out[259];
    unsigned char scratch[518];
    size_t checked = 0;
    (void)state;
    for (size_t i = 0; i < 259; i++) in[i] = (float)(i % 256) / 255;
    for (uint64_t draw = 0; draw < 200; draw++) {
        scant__augment_step t[SCANT__AUGMENT_STEPS];
        float moved[259];
        size_t other = 0;
        if (scant__strong_steps(&strong_rng, draw, t)) continue;
        scant__augment_strong(&views, &strong_rng, draw, in, out, scratch);
        scant__augment_move(scant__augment_draw(&strong_rng, 4 * draw, 7, 37, false), in,
                            moved, 1, 7, 37);
        for (size_t i = 0; i < 259; i++) other += out[i] != moved[i];
        assert_true(other <= 1);
        checked++;
    }
    assert_true(checked > 20);
}

/* Black is -2 and white 3, so a step of one byte value is 1/51. Values outside the range
 * become black or white. */
static void floats_of_another_range_stay_in_that_range(void **state) {
    const scant__views views = {
        .c = 1, .h = 6, .w = 7, .images = true, .low = -2, .high = 3, .cut = 1};
    float in[42], out[42];
    unsigned char scratch[84];
    bool exact = false;
    (void)state;
    for (size_t i = 0; i < 42; i++) in[i] = (float)unit_at(4, i) * 5 - 2;
    in[0] = -1e30f, in[1] = 1e30f, in[2] = 1;
    for (uint64_t draw = 0; draw < 300; draw++) {
        scant__augment_step t[SCANT__AUGMENT_STEPS];
        scant__augment_strong(&views, &strong_rng, draw, in, out, scratch);
        for (size_t i = 0; i < 42; i++) {
            float level = (out[i] + 2) * 51;
            assert_true(out[i] >= -2 && out[i] <= 3);
            assert_true(fabsf(level - roundf(level)) < 1e-3f);
        }
        if (scant__strong_steps(&strong_rng, draw, t)) continue;
        size_t near = 0;
        for (size_t i = 3; i < 42; i++) near += fabsf(out[i] - in[i]) <= .5f / 51 + 1e-5f;
        assert_true(near >= 38);
        exact |= out[0] == -2 && out[1] == 3 && fabsf(out[2] - 1) < 1e-6f;
    }
    assert_true(exact);
}

/* ---- features ---- */

enum { FEATURES = 5, SAMPLES = 20000 };

static void weak_views_of_features_add_normal_noise_scaled_by_the_spread(void **state) {
    const float spread[FEATURES] = {1, 2, 0, .5f, 10}, in[FEATURES] = {0, 1, 2, 3, -4};
    const scant__views views = {
        .c = FEATURES, .h = 1, .w = 1, .noise = .1f, .drop = .5f, .spread = spread};
    double sum[FEATURES] = {0}, square[FEATURES] = {0}, cross[FEATURES] = {0};
    float out[FEATURES];
    double before = 0, lag = 0; /* covariance of consecutive draws */
    (void)state;
    assert_int_equal(scant__views_scratch(&views), 0);
    for (uint64_t draw = 0; draw < SAMPLES; draw++) {
        scant__augment_weak(&views, &weak_rng, draw, in, out);
        for (size_t i = 0; i < FEATURES; i++) {
            double off = (double)out[i] - (double)in[i];
            sum[i] += off;
            square[i] += off * off;
            cross[i] += off * ((double)out[(i + 1) % 5] - (double)in[(i + 1) % 5]);
        }
        lag += before * ((double)out[1] - (double)in[1]);
        before = (double)out[3] - (double)in[3];
    }
    assert_true(fabs(lag / SAMPLES) <= 5 * .05 * .2 / sqrt(SAMPLES));
    /* five standard errors of a mean, a variance and a covariance */
    for (size_t i = 0; i < FEATURES; i++) {
        double s = .1 * (double)spread[i], r = .1 * (double)spread[(i + 1) % 5];
        assert_true(fabs(sum[i] / SAMPLES) <= 5 * s / sqrt(SAMPLES));
        assert_true(fabs(square[i] / SAMPLES - s * s) <=
                    5 * s * s * sqrt(2. / SAMPLES) + 1e-9);
        assert_true(fabs(cross[i] / SAMPLES) <= 5 * s * r / sqrt(SAMPLES) + 1e-9);
    }
}

static void strong_views_of_features_also_drop_some(void **state) {
    const float middle[FEATURES] = {100, 200, 300, 400, 500}, in[FEATURES] = {0};
    scant__views views = {.c = FEATURES, .h = 1, .w = 1, .noise = .1f, .drop = .25f};
    size_t lost[FEATURES] = {0}, both = 0;
    float out[FEATURES], zero[FEATURES];
    (void)state;
    for (uint64_t draw = 0; draw < SAMPLES; draw++) {
        views.middle = middle;
        scant__augment_strong(&views, &strong_rng, draw, in, out, NULL);
        views.middle = NULL;
        scant__augment_strong(&views, &strong_rng, draw, in, zero, NULL);
        for (size_t i = 0; i < FEATURES; i++) {
            bool gone = out[i] == middle[i];
            assert_true(gone ? zero[i] == 0 : zero[i] == out[i] && fabsf(out[i]) < 1);
            lost[i] += gone;
        }
        both += out[0] == middle[0] && out[1] == middle[1];
    }
    for (size_t i = 0; i < FEATURES; i++)
        assert_true(fabs((double)lost[i] / SAMPLES - .25) <
                    5 * sqrt(.25 * .75 / SAMPLES));
    assert_true(fabs((double)both / SAMPLES - .0625) < 5 * sqrt(.0625 * .9375 / SAMPLES));
}

/* The variance of the kept features is 1, within five standard errors. */
static void dropped_features_are_independent_of_the_noise(void **state) {
    const scant__views views = {.c = 2, .h = 1, .w = 1, .noise = 1, .drop = .25f};
    const float in[2] = {0};
    float out[2];
    double square = 0, kept = 0;
    (void)state;
    for (uint64_t draw = 0; draw < SAMPLES; draw++) {
        scant__augment_strong(&views, &strong_rng, draw, in, out, NULL);
        for (size_t i = 0; i < 2; i++) {
            square += (double)out[i] * (double)out[i];
            kept += out[i] != 0;
        }
    }
    assert_true(fabs(square / kept - 1) < 5 * sqrt(2 / kept));
}

static void make_views(const scant__views *v, uint64_t seed, uint64_t draw,
                       const float *in, float *weak, float *strong, void *scratch) {
    scant__augment_weak(v, &(scant__rng){seed, SCANT__RNG_WEAK}, draw, in, weak);
    scant__augment_strong(v, &(scant__rng){seed, SCANT__RNG_STRONG}, draw, in, strong,
                          scratch);
}

static void without_noise_and_drops_features_do_not_change(void **state) {
    const scant__views views = {.c = 3, .h = 1, .w = 1};
    const float in[] = {1.5f, -2, 1e30f};
    float weak[3], strong[3];
    (void)state;
    make_views(&views, 1, 2, in, weak, strong, NULL);
    assert_memory_equal(weak, in, sizeof in);
    assert_memory_equal(strong, in, sizeof in);
}

/* ---- reproducibility ---- */

typedef struct many {
    scant__views views;
    const float *in;
    float *out;
    unsigned char *scratch; /* one part per worker */
} many;

static scant_status make(void *arg, size_t i, unsigned worker, scant__fault *fault) {
    const many *m = arg;
    size_t n = m->views.c * m->views.h * m->views.w;
    (void)fault;
    make_views(&m->views, 11, i, m->in, m->out + 2 * i * n, m->out + (2 * i + 1) * n,
               m->scratch + worker * scant__views_scratch(&m->views));
    return SCANT_OK;
}

static void views_do_not_depend_on_threads_or_order(void **state) {
    enum { N = 3 * 17 * 16, TIMES = 200 };
    static float in[N], a[2 * N * TIMES], b[2 * N * TIMES];
    static unsigned char scratch[4 * 2 * N];
    many m = {{.c = 3, .h = 17, .w = 16, .images = true, .flip = true}, in, a, scratch};
    scant_ctx *ctx = ctx_threads(4);
    (void)state;
    for (size_t i = 0; i < N; i++) in[i] = (float)(int)(unit_at(6, i) * 256) / 255;
    for (int features = 0; features < 2; features++) {
        m.out = a;
        assert_int_equal(scant__parfor(ctx, NULL, TIMES, make, &m), SCANT_OK);
        m.out = b;
        memset(scratch, 0x5A, sizeof scratch);
        for (size_t i = TIMES; i-- > 0;) make(&m, i, 0, NULL);
        assert_memory_equal(a, b, sizeof a);
        assert_memory_not_equal(a, a + 2 * N, N * sizeof *a);
        assert_memory_not_equal(a, a + N, N * sizeof *a);
        m.views.images = false;
        m.views.noise = .1f;
        m.views.drop = .2f;
    }
    scant_ctx_free(ctx);
}

static void other_seeds_and_draws_give_other_views(void **state) {
    const scant__views views = {.c = 3, .h = 32, .w = 32, .images = true, .flip = true};
    static unsigned char in[MOST], a[MOST], b[MOST], scratch[2 * MOST];
    size_t same = 0;
    (void)state;
    noise_bytes(in, MOST, 9);
    for (uint64_t draw = 0; draw < 100; draw++) {
        scant__augment_strong_bytes(&views, &strong_rng, draw, in, a, scratch);
        scant__augment_strong_bytes(&views, &strong_rng, draw + 1, in, b, scratch);
        same += memcmp(a, b, MOST) == 0;
        scant__augment_strong_bytes(&views, &(scant__rng){8, SCANT__RNG_STRONG}, draw, in,
                                    b, scratch);
        same += memcmp(a, b, MOST) == 0;
    }
    assert_int_equal(same, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_levels_and_signs_are_uniform_and_independent),
        cmocka_unit_test(weak_views_are_those_of_supervised_training),
        cmocka_unit_test(bytes_and_floats_have_the_same_views),
        cmocka_unit_test(strong_views_are_a_move_then_operations_then_a_random_square),
        cmocka_unit_test(the_square_is_half_the_shorter_side_unless_given),
        cmocka_unit_test(unchanged_pixels_are_exact),
        cmocka_unit_test(floats_of_another_range_stay_in_that_range),
        cmocka_unit_test(weak_views_of_features_add_normal_noise_scaled_by_the_spread),
        cmocka_unit_test(strong_views_of_features_also_drop_some),
        cmocka_unit_test(dropped_features_are_independent_of_the_noise),
        cmocka_unit_test(without_noise_and_drops_features_do_not_change),
        cmocka_unit_test(views_do_not_depend_on_threads_or_order),
        cmocka_unit_test(other_seeds_and_draws_give_other_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
