/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner loops: one set per number type, chosen for the CPU. Kernels allocate nothing,
 * cannot fail and have no state. Rows are contiguous.
 */
#ifndef SCANT_LINALG_KERNELS_H
#define SCANT_LINALG_KERNELS_H

#include <stddef.h>

typedef enum la_type { LA_F32, LA_F64 } la_type;

typedef struct la_rowstat {
    double sum; /* relative error a few 1e-6 in float; min, top and second are exact */
    double min;
    double top, second; /* the two largest; set by rowstat */
    double entropy;     /* in nats; set by entropy */
} la_rowstat;

typedef struct la_kernels {
    size_t size;         /* bytes per number */
    size_t lanes, piece; /* summation order of dot and sqdist, for tests */
    /* out (nx,ny) = x_i . y_j. A pair's value does not depend on the other pairs of the
     * call. */
    void (*dot)(const void *const *x, size_t nx, const void *const *y, size_t ny,
                size_t d, double *out);
    /* out (nx,ny) = |x_i - y_j|^2. As in dot, pairs do not depend on each other. */
    void (*sqdist)(const void *const *x, size_t nx, const void *const *y, size_t ny,
                   size_t d, double *out);
    /* out = x_i . x_i, with the same bits as dot. */
    void (*selfdot)(const void *rows, size_t n, size_t d, double *out);
    /* out = x_i . x_i, summed in double. */
    void (*sumsq)(const void *rows, size_t n, size_t d, double *out);
    /* sum += all rows, in double. */
    void (*total)(const void *rows, size_t n, size_t d, double *sum);
    /* out = |x_i - point|^2, in double. */
    void (*sqdist_to)(const void *rows, size_t n, size_t d, const double *point,
                      double *out);
    /* For rows of c >= 2 probabilities: writes sum, min, top and second only. */
    void (*rowstat)(const void *rows, size_t n, size_t c, la_rowstat *out);
    /* For rows of c >= 2 probabilities: writes sum, min and entropy only. */
    void (*entropy)(const void *rows, size_t n, size_t c, la_rowstat *out);
    /* The entropy in nats to full precision, for differences of entropies; `entropy` is
     * faster, with an error of 1e-13. Both are equal for permutations of a row. */
    void (*exact_entropy)(const void *rows, size_t n, size_t c, double *out);
    /* out = - sum_y a_y ln max(p_y, 1e-12) of each row, to full precision; a is double.
     * Rows whose pairs (a, p) are permutations of each other have equal values. */
    void (*cross)(const double *a, const void *rows, size_t n, size_t c, double *out);
    /* coarse + fine += rows, elementwise. Sums over many calls do not depend on the order
     * of the calls: coarse is exact, and the rounding of fine is below the precision of
     * the sum. grid: la_grid(). */
    void (*gather)(const void *rows, size_t count, double grid, double *coarse,
                   double *fine);
    /* sum_y p_y |p - e_y|; stat: the results of rowstat. */
    void (*residual_length)(const void *rows, size_t n, size_t c, const la_rowstat *stat,
                            double *out);
    /* For Kronecker rows g_i = a_i x x_i with a (n, c), in double: out_i = sum over k of
     * a_ik (start_k + x_i . v_k), with a panel of c rows. A row's value does not depend
     * on the other rows. */
    void (*kron_dot)(const void *const *x, size_t n, size_t d, const double *a, size_t c,
                     const double *panel, double *out);
    /* sum += the sum of s_i g_i, in the order of rows. sum has c rows of d numbers, each
     * `stride` numbers after the previous one. A constant other than 0 is the last number
     * of every x_i; a row of sum then has d + 1 numbers. */
    void (*kron_add)(const void *const *x, size_t n, size_t d, const double *a, size_t c,
                     const double *s, double constant, double *sum, size_t stride);
} la_kernels;

/* Each row of a panel has start, 0, 0, 0, the d numbers of v, and zeros to a multiple of
 * 4. */
enum { LA_PANEL_START = 4 };
static inline size_t la_panel_pitch(size_t d) { return LA_PANEL_START + (d + 3) / 4 * 4; }

const la_kernels *la_kernels_for(la_type type);
/* Returns the portable set. */
const la_kernels *la_kernels_plain(la_type type);

/* Converts rows of logits to probabilities, in place. Input must be finite. */
void la_softmax(double *rows, size_t n, size_t c);
/* Returns a grid for exact sums of numbers whose magnitudes add up to at most `most` > 0:
 * x + grid - grid rounds x to a multiple of a power of two on which such sums are exact.
 */
double la_grid(double most);
/* sum[k] += - r log2 r over all r = j_t . p_k, 0 <= r <= 1 or just above, with rows j_t
 * of j (rows, m) and columns p_k of panel (m, LA_PANEL). Terms are rounded to a grid of
 * 2^-46 bits: sums are exact in any order. */
enum { LA_PANEL = 12 };
void la_joint_bits(const double *j, size_t rows, size_t m, const double *panel,
                   double *sum);
/* Replaces sum, the cosines of n pairs of rows, by T_depth of linalg/ntk.h. part holds
 * 1 - cosine, or 1 + cosine if the cosine is negative. depth > 0. */
void la_tangents(const double *part, double *sum, size_t n, size_t depth);
/* Returns the first index of the largest number; n > 0, no NaN. */
size_t la_argmax(const double *x, size_t n);

/* Each compiled set by name, for the dispatcher and for tests. */
#define LA_KERNEL_SET(type, isa)                                                         \
    void la_dot_##type##_##isa(const void *const *, size_t, const void *const *, size_t, \
                               size_t, double *);                                        \
    void la_sqdist_##type##_##isa(const void *const *, size_t, const void *const *,      \
                                  size_t, size_t, double *);                             \
    void la_selfdot_##type##_##isa(const void *, size_t, size_t, double *);              \
    void la_sumsq_##type##_##isa(const void *, size_t, size_t, double *);                \
    void la_total_##type##_##isa(const void *, size_t, size_t, double *);                \
    void la_sqdist_to_##type##_##isa(const void *, size_t, size_t, const double *,       \
                                     double *);                                          \
    void la_rowstat_##type##_##isa(const void *, size_t, size_t, la_rowstat *);          \
    void la_entropy_##type##_##isa(const void *, size_t, size_t, la_rowstat *);          \
    void la_cross_##type##_##isa(const double *, const void *, size_t, size_t,           \
                                 double *);                                              \
    void la_exact_entropy_##type##_##isa(const void *, size_t, size_t, double *);        \
    void la_gather_##type##_##isa(const void *, size_t, double, double *, double *);     \
    void la_joint_bits_##type##_##isa(const double *, size_t, size_t, const double *,    \
                                      double *);                                         \
    void la_residual_length_##type##_##isa(const void *, size_t, size_t,                 \
                                           const la_rowstat *, double *);                \
    void la_kron_dot_##type##_##isa(const void *const *, size_t, size_t, const double *, \
                                    size_t, const double *, double *);                   \
    void la_kron_add_##type##_##isa(const void *const *, size_t, size_t, const double *, \
                                    size_t, const double *, double, double *, size_t);   \
    void la_softmax_##type##_##isa(double *, size_t, size_t);                            \
    void la_tangents_##type##_##isa(const double *, double *, size_t, size_t);           \
    size_t la_argmax_##type##_##isa(const double *, size_t);
LA_KERNEL_SET(f32, base)
LA_KERNEL_SET(f64, base)
LA_KERNEL_SET(f32, avx2)
LA_KERNEL_SET(f64, avx2)

#endif
