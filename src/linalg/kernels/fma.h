/* SPDX-License-Identifier: Apache-2.0
 *
 * a*b + c rounded once, four or eight at a time, where the instruction set has no fused
 * multiply-add: the same bits as on machines that have it. Included by vec.h.
 *
 * Boldo & Melquiond 2008, "Emulation of FMA and correctly rounded sums: proved algorithms
 * using rounding to odd".
 */
#ifndef SCANT_LINALG_FMA_H
#define SCANT_LINALG_FMA_H

#include <float.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* x + y = sum + error, exactly (Knuth). */
INLINE D4 two_sum(D4 x, D4 y, D4 *error) {
    D4 sum = x + y, part = sum - x;
    *error = (x - (sum - part)) + (y - part);
    return sum;
}

/* x + y, and if that is not a double, the neighbour with an odd mantissa: rounding it
 * again to fewer digits gives what rounding the exact sum does. */
INLINE D4 odd_sum(D4 x, D4 y) {
    D4 error, sum = two_sum(x, y, &error);
    L4 even = ((L4)sum & 1) - 1;             /* all ones: even */
    L4 away = ((error > 0) ^ (sum > 0)) | 1; /* 1: the exact sum is farther from 0 */
    /* the error of an infinite sum is NaN, which is neither above nor below 0 */
    return (D4)((L4)sum + (away & even & ((error > 0) | (error < 0))));
}

INLINE int all(L4 mask) {
#ifdef __SSE2__
    typedef double D2 __attribute__((vector_size(16)));
    D2 parts[2];
    memcpy(parts, &mask, sizeof mask);
    return (_mm_movemask_pd((__m128d)parts[0]) & _mm_movemask_pd((__m128d)parts[1])) == 3;
#else
    return (mask[0] & mask[1] & mask[2] & mask[3]) != 0;
#endif
}

INLINE D4 size_of(D4 x) { return (D4)((L4)x & INT64_MAX); }

#ifdef KERNEL_f32
/* Whether rounding the sum x to float gives what rounding the exact sum does. It does
 * unless x is half-way between two floats: half-way points are doubles, so x and the
 * exact sum are on the same side of all others. Below FLT_MIN they are elsewhere. */
INLINE L4 is_safe(D4 x) {
    L4 half = ((L4)x & 0x1FFFFFFF) == 0x10000000;
    return ~half & ((size_of(x) >= (double)FLT_MIN) | (x == 0));
}

/* Products of floats are exact in double. */
INLINE V fma_emulated(V a, V b, V c) {
    D4 l = low(a) * low(b) + low(c), h = high(a) * high(b) + high(c);
    if (!all(is_safe(l) & is_safe(h))) {
        l = odd_sum(low(a) * low(b), low(c));
        h = odd_sum(high(a) * high(b), high(c));
    }
    return __builtin_shufflevector(__builtin_convertvector(l, F4),
                                   __builtin_convertvector(h, F4), 0, 1, 2, 3, 4, 5, 6,
                                   7);
}
#endif

/* All ones where the parts of a product are normal numbers. */
INLINE L4 is_moderate(D4 x) {
    D4 size = size_of(x);
    return (size == 0) | ((size >= 0x1p-450) & (size <= 0x1p450));
}

/* The upper 26 bits of x (Veltkamp). */
INLINE D4 upper(D4 x) {
    D4 wide = x * 134217729.0;
    return wide - (wide - x);
}

INLINE D4 fma_emulated_d(D4 a, D4 b, D4 c) {
    if (!all(is_moderate(a) & is_moderate(b) & (size_of(c) <= 0x1p900)))
        return (D4){fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1]), fma(a[2], b[2], c[2]),
                    fma(a[3], b[3], c[3])};
    D4 product = a * b, ah = upper(a), al = a - ah, bh = upper(b), bl = b - bh;
    D4 rest = ((ah * bh - product) + ah * bl + al * bh) + al * bl; /* Dekker */
    D4 below, least, above = two_sum(c, rest, &below);
    D4 most = two_sum(product, above, &least);
    return most + odd_sum(below, least);
}

#endif
