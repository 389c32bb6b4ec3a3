/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rng.h"

#include <math.h>

static inline void philox(const uint32_t counter[4], const uint32_t key[2],
                          uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

void scant__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    philox(counter, key, out);
}

static uint64_t draw(const scant__rng *rng, uint64_t index, uint32_t attempt) {
    const uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), rng->purpose,
                                 attempt};
    uint32_t out[4];
    scant__philox(counter, key, out);
    return (uint64_t)out[1] << 32 | out[0];
}

uint64_t scant__rng_u64(const scant__rng *rng, uint64_t index) {
    return draw(rng, index, 0);
}

void scant__rng_blocks(const scant__rng *rng, uint64_t first, size_t n,
                       uint64_t (*out)[2]) {
    const uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    for (size_t i = 0; i < n; i++) {
        uint64_t index = first + i;
        const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32),
                                     rng->purpose, 0};
        uint32_t bits[4];
        philox(counter, key, bits);
        out[i][0] = (uint64_t)bits[1] << 32 | bits[0];
        out[i][1] = (uint64_t)bits[3] << 32 | bits[2];
    }
}

double scant__rng_unit(const scant__rng *rng, uint64_t index) {
    return (double)(draw(rng, index, 0) >> 11) * 0x1p-53;
}

uint64_t scant__rng_below(const scant__rng *rng, uint64_t index, uint64_t n) {
    uint64_t excess = (UINT64_MAX % n + 1) % n; /* 2^64 mod n */
    for (uint32_t attempt = 0;; attempt++) {
        uint64_t x = draw(rng, index, attempt);
        if (x <= UINT64_MAX - excess)
            return x % n; /* else: reject the incomplete last range */
    }
}

static double normal_radius(const scant__rng *rng, uint64_t index) {
    return sqrt(-2 * log(1 - scant__rng_unit(rng, 2 * index))); /* log of (0, 1] */
}

static double normal_angle(const scant__rng *rng, uint64_t index) {
    return 2 * 3.14159265358979323846 * scant__rng_unit(rng, 2 * index + 1);
}

double scant__rng_normal(const scant__rng *rng, uint64_t index) {
    return normal_radius(rng, index) * cos(normal_angle(rng, index));
}

void scant__rng_normal_pair(const scant__rng *rng, uint64_t index, double out[2]) {
    double radius = normal_radius(rng, index), angle = normal_angle(rng, index);
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

void scant__rng_shuffle(const scant__rng *rng, uint64_t first, size_t n, size_t *order) {
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)scant__rng_below(rng, first + i - 1, i), swap = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swap;
    }
}
