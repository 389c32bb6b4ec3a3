/* SPDX-License-Identifier: Apache-2.0
 *
 * Logarithms and sums of p log p, four at a time.
 *
 * Sums do not depend on the order of their terms: each term is rounded to a grid that is
 * coarse enough for sums of such terms to be exact.
 */
#ifndef SCANT_LINALG_LOG_H
#define SCANT_LINALG_LOG_H

#include "linalg/kernels/vec.h"

/* An entropy in bits is summed on top of 96. While the entropy is below 32, each term is
 * rounded to a multiple of 2^-46, whatever the sum is. */
#define BASE 96.0
#define FAINT 0x1p-14 /* a smaller entropy has fewer than 10 digits on that grid */
#define LN2 0.693147180559945309417

INLINE D4 spread(double x) { return (D4){x, x, x, x}; }

INLINE D4 max_d(D4 a, D4 b) {
#ifdef __AVX2__
    return (D4)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    L4 m = a > b;
    return (D4)((m & (L4)a) | (~m & (L4)b));
#endif
}

INLINE D4 min_d(D4 a, D4 b) {
#ifdef __AVX2__
    return (D4)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    L4 m = a < b;
    return (D4)((m & (L4)a) | (~m & (L4)b));
#endif
}

/* Splits x into 2^k z with z in [sqrt(1/2), sqrt 2); returns s = (z-1)/(z+1), and k as a
 * double. x must be normal and > 0, or 0: the results are then finite but meaningless. */
INLINE D4 split(D4 x, D4 *k) {
    const uint64_t half_root = 0x3fe6a09e667f3bcd; /* bits of sqrt(1/2) */
    U4 from = (U4)x + (((uint64_t)1024 << 52) - half_root);
    D4 z = (D4)((from & (uint64_t)0x000fffffffffffff) + half_root);
    /* converts the exponent to double by adding it to the mantissa of 2^52: AVX2 has no
     * conversion of 64-bit integers */
    *k = (D4)(from >> 52 | (uint64_t)0x4330000000000000) - (0x1p52 + 1024.0);
    return (z - 1.0) / (z + 1.0);
}

/* log2 x: with s of split(), log2 z = 2/ln 2 artanh(s), and artanh(s)/s is interpolated
 * at six Chebyshev points of s^2 in [0, 0.0295], with a relative error of 3e-14. */
INLINE D4 log2_d(D4 x) {
    D4 k, s = split(x, &k), w = s * s, w2 = w * w;
    D4 p01 = fma_d(w, spread(0.9617966941122649), spread(2.885390081777851));
    D4 p23 = fma_d(w, spread(0.41220922406110433), spread(0.5770779426603044));
    D4 p45 = fma_d(w, spread(0.28288502340748234), spread(0.31990680380701336));
    return fma_d(s, fma_d(w2, fma_d(w2, p45, p23), p01), k);
}

/* log2 x, interpolated at eight points: the error of 1.2e-18 is below rounding. */
INLINE D4 log2_exact(D4 x) {
    D4 k, s = split(x, &k), w = s * s, w2 = w * w;
    D4 p01 = fma_d(w, spread(0.9617966939259898), spread(2.8853900817779268));
    D4 p23 = fma_d(w, spread(0.4121985858436884), spread(0.5770780163455079));
    D4 p45 = fma_d(w, spread(0.26233436870413046), spread(0.3205985346160899));
    D4 p67 = fma_d(w, spread(0.21366349314179198), spread(0.22091265042797464));
    D4 high = fma_d(w2, p67, p45);
    return fma_d(s, fma_d(w2, fma_d(w2, high, p23), p01), k);
}

/* sum - p log2 p, where sum >= base of above(); p = 0 adds nothing. */
INLINE D4 surprise(D4 sum, D4 p) { return fma_d(-p, log2_d(p), sum); }

/* The entropy in bits: the sum over lanes of (lane - base). */
INLINE double above(D4 sum, double base) { return sum4(sum - base); }

#endif
