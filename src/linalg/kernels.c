/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the set of kernels for this CPU. The probe depends on the CPU alone, so it
 * needs no state.
 */
#include "linalg/kernels.h"

#include <math.h>
#include <stdbool.h>

#define SET(type, isa, bytes)                                                            \
    {                                                                                    \
        .size = bytes, .lanes = 32 / (bytes), .piece = 2048,                             \
        .dot = la_dot_##type##_##isa, .sqdist = la_sqdist_##type##_##isa,                \
        .selfdot = la_selfdot_##type##_##isa, .sumsq = la_sumsq_##type##_##isa,          \
        .total = la_total_##type##_##isa, .sqdist_to = la_sqdist_to_##type##_##isa,      \
        .rowstat = la_rowstat_##type##_##isa, .entropy = la_entropy_##type##_##isa,      \
        .exact_entropy = la_exact_entropy_##type##_##isa,                                \
        .cross = la_cross_##type##_##isa, .gather = la_gather_##type##_##isa,            \
        .residual_length = la_residual_length_##type##_##isa,                            \
        .kron_dot = la_kron_dot_##type##_##isa, .kron_add = la_kron_add_##type##_##isa,  \
    }

static const la_kernels base[] = {
    [LA_F32] = SET(f32, base, 4), [LA_F64] = SET(f64, base, 8)};

#ifdef SCANT_HAVE_AVX2
static const la_kernels avx2[] = {
    [LA_F32] = SET(f32, avx2, 4), [LA_F64] = SET(f64, avx2, 8)};
static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#define PICK(with_avx2, without) (has_avx2() ? (with_avx2) : (without))
#else
#define PICK(with_avx2, without) (without)
#endif

const la_kernels *la_kernels_for(la_type type) { return PICK(&avx2[type], &base[type]); }

const la_kernels *la_kernels_plain(la_type type) { return &base[type]; }

void la_softmax(double *rows, size_t n, size_t c) {
    PICK(la_softmax_f64_avx2, la_softmax_f64_base)(rows, n, c);
}

void la_joint_bits(const double *j, size_t rows, size_t m, const double *panel,
                   double *sum) {
    PICK(la_joint_bits_f64_avx2, la_joint_bits_f64_base)(j, rows, m, panel, sum);
}

void la_tangents(const double *part, double *sum, size_t n, size_t depth) {
    PICK(la_tangents_f64_avx2, la_tangents_f64_base)(part, sum, n, depth);
}

double la_grid(double most) { return 1.5 * ldexp(1, ilogb(most) + 2); }

size_t la_argmax(const double *x, size_t n) {
    return PICK(la_argmax_f64_avx2, la_argmax_f64_base)(x, n);
}
