/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers: the generator against published vectors, the draws derived from it
 * against their distributions. Seeds are fixed, so a statistical test always passes or
 * always fails; a true random generator would exceed the bounds once in a million.
 */
#include <math.h>

#include "core/rng.h"
#include "support.h"

/* Random123's kat_vectors, philox4x32 with 10 rounds. */
static void philox_gives_the_published_vectors(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        scant__philox(known[i].counter, known[i].key, out);
        for (int word = 0; word < 4; word++)
            assert_int_equal(out[word], known[i].out[word]);
    }
}

static void assert_uniform(const size_t *count, size_t bins, size_t draws) {
    double expected = (double)draws / (double)bins, sum = 0;
    for (size_t i = 0; i < bins; i++) {
        double gap = (double)count[i] - expected;
        sum += gap * gap / expected;
    }
    assert_true(sum < chi_square_limit(bins - 1));
}

static void a_draw_depends_on_seed_purpose_and_index(void **state) {
    (void)state;
    const scant__rng a = {7, SCANT__RNG_SHUFFLE}, same = {7, SCANT__RNG_SHUFFLE},
                     purpose = {7, SCANT__RNG_PROPOSE}, seed = {8, SCANT__RNG_SHUFFLE},
                     high_seed = {7 + ((uint64_t)1 << 32), SCANT__RNG_SHUFFLE};
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t x = scant__rng_u64(&a, i);
        assert_true(x == scant__rng_u64(&same, i));
        assert_true(x != scant__rng_u64(&purpose, i));
        assert_true(x != scant__rng_u64(&seed, i));
        assert_true(x != scant__rng_u64(&high_seed, i));
        assert_true(x != scant__rng_u64(&a, i + 1));
        assert_true(x != scant__rng_u64(&a, i + ((uint64_t)1 << 32)));
    }
}

static void unit_is_uniform_and_below_one(void **state) {
    (void)state;
    enum { DRAWS = 200000, BINS = 32 };
    const scant__rng rng = {1, SCANT__RNG_ACCEPT};
    size_t count[BINS] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        double x = scant__rng_unit(&rng, i);
        assert_true(x >= 0 && x < 1);
        count[(size_t)(x * BINS)]++;
    }
    assert_uniform(count, BINS, DRAWS);
}

static void neighbouring_draws_are_independent(void **state) {
    (void)state;
    enum { DRAWS = 200000, SIDE = 8 };
    const scant__rng rng = {2, SCANT__RNG_PROPOSE};
    size_t count[SIDE * SIDE] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        size_t x = (size_t)(scant__rng_unit(&rng, 2 * i) * SIDE);
        size_t y = (size_t)(scant__rng_unit(&rng, 2 * i + 1) * SIDE);
        count[x * SIDE + y]++;
    }
    assert_uniform(count, SIDE * SIDE, DRAWS);
}

static void below_is_uniform_and_in_range(void **state) {
    (void)state;
    enum { DRAWS = 100000, N = 10 };
    const scant__rng rng = {3, SCANT__RNG_SHUFFLE};
    size_t count[N] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint64_t x = scant__rng_below(&rng, i, N);
        assert_true(x < N);
        count[x]++;
    }
    assert_uniform(count, N, DRAWS);
}

static void below_has_no_bias_where_n_does_not_divide_the_range(void **state) {
    (void)state;
    /* A plain remainder would land in the first third half of the time. */
    enum { DRAWS = 30000 };
    const scant__rng rng = {4, SCANT__RNG_SHUFFLE};
    const uint64_t third = (uint64_t)1 << 62;
    size_t count[3] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint64_t x = scant__rng_below(&rng, i, 3 * third);
        assert_true(x < 3 * third);
        count[x / third]++;
    }
    assert_uniform(count, 3, DRAWS);
}

static void below_works_for_every_n(void **state) {
    (void)state;
    const scant__rng rng = {5, SCANT__RNG_SHUFFLE};
    const uint64_t ns[] = {1,         2, 3, (uint64_t)1 << 32, ((uint64_t)1 << 63) + 1,
                           UINT64_MAX};
    for (size_t k = 0; k < sizeof ns / sizeof *ns; k++)
        for (uint64_t i = 0; i < 1000; i++)
            assert_true(scant__rng_below(&rng, i, ns[k]) < ns[k]);
}

/* By hand, from uniform u and v: sqrt(-2 ln(1 - u)) times cosine, sine of 2 pi v. */
static void normal_draws_follow_box_muller(void **state) {
    (void)state;
    enum { DRAWS = 100000 };
    const scant__rng rng = {6, SCANT__RNG_WEIGHTS};
    double sum[2] = {0}, squares[2] = {0}, both = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double u = scant__rng_unit(&rng, 2 * i), v = scant__rng_unit(&rng, 2 * i + 1);
        double pair[2], turn = 6.283185307179586 * v;
        scant__rng_normal_pair(&rng, i, pair);
        assert_true(pair[0] == scant__rng_normal(&rng, i));
        assert_true(fabs(pair[0] - sqrt(-2 * log(1 - u)) * cos(turn)) < 1e-12);
        assert_true(fabs(pair[1] - sqrt(-2 * log(1 - u)) * sin(turn)) < 1e-12);
        for (int k = 0; k < 2; k++) {
            sum[k] += pair[k];
            squares[k] += pair[k] * pair[k];
        }
        both += pair[0] * pair[1];
    }
    /* five standard errors; of squares sqrt(2) times that */
    double off = 5 / sqrt(DRAWS);
    for (int k = 0; k < 2; k++) {
        assert_true(fabs(sum[k] / DRAWS) < off);
        assert_true(fabs(squares[k] / DRAWS - 1) < sqrt(2) * off);
    }
    assert_true(fabs(both / DRAWS) < off);
}

static void shuffles_give_every_order_equally_often(void **state) {
    (void)state;
    enum { DRAWS = 24000, N = 4 };
    size_t count[256] = {0}, seen[24], n = 0, order[N];
    for (uint64_t i = 0; i < DRAWS; i++) {
        scant__rng_shuffle(&(scant__rng){7, SCANT__RNG_EPOCH}, i * N, N, order);
        size_t all = 0, code = 0;
        for (size_t k = 0; k < N; k++) {
            all |= (size_t)1 << order[k];
            code = 4 * code + order[k];
        }
        assert_int_equal(all, 15);
        count[code]++;
    }
    for (size_t i = 0; i < 256; i++)
        if (count[i]) {
            assert_true(n < 24);
            seen[n++] = count[i];
        }
    assert_int_equal(n, 24);
    assert_uniform(seen, 24, DRAWS);
    scant__rng_shuffle(&(scant__rng){7, SCANT__RNG_EPOCH}, 0, 1, order);
    assert_int_equal(order[0], 0);
}

static void rng_blocks_gives_both_halves_of_each_philox_block(void **state) {
    (void)state;
    const scant__rng rng = {0x123456789abcdefu, 77};
    const uint64_t first = ((uint64_t)1 << 32) - 3; /* the index crosses 32 bits */
    uint64_t bits[8][2];
    scant__rng_blocks(&rng, first, 8, bits);
    for (uint64_t i = 0; i < 8; i++) {
        const uint32_t key[2] = {(uint32_t)rng.seed, (uint32_t)(rng.seed >> 32)};
        const uint32_t counter[4] = {(uint32_t)(first + i), (uint32_t)((first + i) >> 32),
                                     77, 0};
        uint32_t out[4];
        scant__philox(counter, key, out);
        assert_true(bits[i][0] == scant__rng_u64(&rng, first + i));
        assert_true(bits[i][1] == ((uint64_t)out[3] << 32 | out[2]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rng_blocks_gives_both_halves_of_each_philox_block),
        cmocka_unit_test(philox_gives_the_published_vectors),
        cmocka_unit_test(a_draw_depends_on_seed_purpose_and_index),
        cmocka_unit_test(unit_is_uniform_and_below_one),
        cmocka_unit_test(neighbouring_draws_are_independent),
        cmocka_unit_test(below_is_uniform_and_in_range),
        cmocka_unit_test(below_has_no_bias_where_n_does_not_divide_the_range),
        cmocka_unit_test(below_works_for_every_n),
        cmocka_unit_test(normal_draws_follow_box_muller),
        cmocka_unit_test(shuffles_give_every_order_equally_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
