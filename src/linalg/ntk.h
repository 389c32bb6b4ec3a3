/* SPDX-License-Identifier: Apache-2.0
 *
 * The tangent kernel of an infinitely wide fully connected network with K hidden layers
 * of rectifiers, in closed form (Arora et al. 2019, "On exact computation with an
 * infinitely wide neural net"; Cho & Saul 2009): no biases, c_sigma = 2. With
 *
 *     kappa0(r) = (pi - acos r) / pi
 *     kappa1(r) = (sqrt(1 - r^2) + r (pi - acos r)) / pi
 *
 * and r_0 the cosine of x and x': r_h = kappa1(r_h-1), T_0 = r_0, T_h = r_h + T_h-1
 * kappa0(r_h-1), and the kernel is |x| |x'| T_K. So the kernel is (K + 1) |x|^2 if
 * x = x', and 0 if a row is 0.
 *
 * acos loses half of the digits near 1 and -1. The recursion therefore uses 1 - r instead
 * of r. If the inner product is not precise enough, 1 - r is computed from the difference
 * of the unit rows (near r = -1, 1 + r from their sum). Errors are 1e-15 (K up to 5) to
 * 1e-13 (K = 100) times |x| |x'| (K + 1).
 *
 * A pair's value depends neither on the other pairs nor on which of its rows is first, so
 * copies of a row have equal values, to the bit.
 *
 * Cost: d multiply-adds per pair, twice that if rows are nearly parallel, and an arc sine
 * and two square roots per layer, vectorised (linalg/kernels/ntk.c), which cost as much
 * as about 20 columns. On one core: 15 ns per pair, plus 2 ns per layer and 0.1 ns per
 * column.
 */
#ifndef SCANT_LINALG_NTK_H
#define SCANT_LINALG_NTK_H

#include "linalg/lambda.h"

enum { LA_NTK_DEPTH = 100 }; /* most hidden layers: more make rows nearly equal */

typedef struct la_ntk {
    const la_view *rows; /* H+; only la_ntk_between() uses the view's list of rows */
    size_t depth;        /* K, from 1 */
} la_ntk;

/* out is valid while ntk is. */
void la_kernel_of_ntk(const la_ntk *ntk, la_kernel *out);

/* out (m, k) = the kernel between the m rows of a from `first` on and the k rows of b
 * from `from` on (same width and depth); m, k <= LA_KERNEL_TILE. Rows of out are `stride`
 * numbers apart. room: la_ntk_room() bytes, aligned to 64. */
void la_ntk_between(const la_ntk *a, size_t first, size_t m, const la_ntk *b, size_t from,
                    size_t k, double *out, size_t stride, void *room);
size_t la_ntk_room(const la_ntk *a, const la_ntk *b);

#endif
