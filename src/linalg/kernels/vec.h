/* SPDX-License-Identifier: Apache-2.0
 *
 * A 32-byte vector of the type a kernel file is compiled for: 8 floats or 4 doubles, on
 * any machine (the compiler splits it if registers are narrower). The number of lanes
 * affects results, because each lane has its own partial sum. So it must not depend on
 * the width of the machine's registers. Nor does any operation here: a kernel gives the
 * same bits on every machine.
 */
#ifndef SCANT_LINALG_VEC_H
#define SCANT_LINALG_VEC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define PASTE3_(a, b, c) a##_##b##_##c
#define PASTE3(a, b, c) PASTE3_(a, b, c)
/* The kernel's symbol for this type and instruction set. */
#define KERNEL(name) PASTE3(la_##name, KERNEL_TYPE, KERNEL_ISA)

#if defined(KERNEL_f32)
typedef float T;
typedef int32_t I;
#elif defined(KERNEL_f64)
typedef double T;
typedef int64_t I;
#else
#error "compile with -DKERNEL_f32 or -DKERNEL_f64"
#endif

enum { LANES = 32 / sizeof(T) };

typedef T V __attribute__((vector_size(32)));
typedef I VI __attribute__((vector_size(32)));
typedef T VU __attribute__((vector_size(32), aligned(sizeof(T)),
                            may_alias)); /* for unaligned loads */
typedef double D4 __attribute__((vector_size(32)));
typedef int64_t L4 __attribute__((vector_size(32)));
typedef uint64_t U4 __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

INLINE V load(const T *p) { return *(const VU *)p; }

/* Loads into a register once. By default gcc loads the value again in each multiply-add
 * that uses it, and the load ports limit the speed to a third. */
INLINE V load_once(const T *p) {
    V v = load(p);
#ifdef __AVX2__
    __asm__("" : "+x"(v));
#endif
    return v;
}

/* Loads the first count numbers, 0 < count < LANES, then zeros; reads nothing beyond. */
INLINE V load_tail(const T *p, size_t count) {
#if defined(__AVX2__)
    static const I on_off[2 * LANES] = {
#ifdef KERNEL_f32
        -1, -1, -1, -1, -1,
        -1, -1, -1
#else
        -1, -1, -1, -1
#endif
    };
    __m256i mask = _mm256_loadu_si256((const __m256i *)(on_off + LANES - count));
#ifdef KERNEL_f32
    return (V)_mm256_maskload_ps(p, mask);
#else
    return (V)_mm256_maskload_pd(p, mask);
#endif
#else
    V v = {0};
    memcpy(&v, p, count * sizeof *p);
    return v;
#endif
}

INLINE D4 sqrt_d(D4 x) {
#ifdef __AVX2__
    return (D4)_mm256_sqrt_pd((__m256d)x);
#else
    return (D4){sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3])};
#endif
}

INLINE V max_v(V a, V b) {
#if defined(__AVX2__) && defined(KERNEL_f32)
    return (V)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__AVX2__)
    return (V)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    VI m = a > b;
    return (V)((m & (VI)a) | (~m & (VI)b));
#endif
}

INLINE V min_v(V a, V b) {
#if defined(__AVX2__) && defined(KERNEL_f32)
    return (V)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__AVX2__)
    return (V)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
    VI m = a < b;
    return (V)((m & (VI)a) | (~m & (VI)b));
#endif
}

/* Converts a vector to 4 doubles; the two halves of 8 floats are added. */
#ifdef KERNEL_f32
typedef float F4 __attribute__((vector_size(16)));
INLINE D4 low(V v) {
    return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3), D4);
}
INLINE D4 high(V v) {
    return __builtin_convertvector(__builtin_shufflevector(v, v, 4, 5, 6, 7), D4);
}
INLINE D4 fold(V v) { return low(v) + high(v); }
#else
INLINE D4 fold(V v) { return v; }
#endif

#if !defined(__FMA__) && !defined(FP_FAST_FMA) && !defined(VEC_ROUND_TWICE)
#include "linalg/kernels/fma.h"
#endif

/* a*b + c, rounded once on any machine; with VEC_ROUND_TWICE, for code that does not
 * promise the same bits on every machine, twice where that is faster. */
INLINE V fma_v(V a, V b, V c) {
#if defined(__FMA__) && defined(KERNEL_f32)
    return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__FMA__)
    return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(FP_FAST_FMA) && defined(KERNEL_f32)
    for (size_t i = 0; i < LANES; i++) a[i] = fmaf(a[i], b[i], c[i]);
    return a;
#elif defined(FP_FAST_FMA)
    for (size_t i = 0; i < LANES; i++) a[i] = fma(a[i], b[i], c[i]);
    return a;
#elif defined(VEC_ROUND_TWICE)
    return a * b + c;
#elif defined(KERNEL_f32)
    return fma_emulated(a, b, c);
#else
    return fma_emulated_d(a, b, c);
#endif
}

INLINE D4 fma_d(D4 a, D4 b, D4 c) {
#ifdef __FMA__
    return (D4)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(FP_FAST_FMA)
    for (size_t i = 0; i < 4; i++) a[i] = fma(a[i], b[i], c[i]);
    return a;
#elif defined(VEC_ROUND_TWICE)
    return a * b + c;
#else
    return fma_emulated_d(a, b, c);
#endif
}

/* Loads four numbers as doubles. */
#ifdef KERNEL_f32
INLINE D4 load_d(const T *p) {
#ifdef __AVX2__ /* gcc compiles the conversion below to seven instructions */
    return (D4)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
    typedef float F4U __attribute__((vector_size(16), aligned(4), may_alias));
    return __builtin_convertvector((F4)(*(const F4U *)p), D4);
#endif
}
#else
INLINE D4 load_d(const T *p) { return load(p); }
#endif

/* Loads up to 3 numbers as doubles, then zeros. */
INLINE D4 load_rest(const T *p, size_t count) {
    D4 v = {0};
    for (size_t i = 0; i < count; i++) v[i] = (double)p[i];
    return v;
}

/* Prefetches the beginnings of the next rows. The hardware prefetcher detects no stream
 * in short rows; of long rows it prefetches the rest by itself. */
INLINE void fetch(const T *const *x, size_t n, size_t d) {
    enum { LINE = 64 / sizeof(T), MOST = 16 * LINE };
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d && j < MOST; j += LINE) __builtin_prefetch(x[i] + j);
}

INLINE double sum4(D4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }

#endif
