/* SPDX-License-Identifier: Apache-2.0
 *
 * The recursion of linalg/ntk.h over many pairs of rows at once. A pair's value does not
 * depend on its position.
 */
#include "linalg/kernels/log.h"

#include <stdbool.h>

#include "linalg/kernels.h"

#ifdef KERNEL_f64

/* asin(x) / x over t = x^2 from 0 to 1/2, as a polynomial in 4 t - 1, highest power
 * first, interpolated at 20 Chebyshev points; error 4e-18. */
static const double ASIN[] = {
    0x1.205d03b3080c1p-38, 0x1.d2c70e4a10d8ap-37, 0x1.8e3f9defd9dbbp-36,
    0x1.47b56c7c837dbp-34, 0x1.3f25a177f0f37p-32, 0x1.08d3f9234b494p-30,
    0x1.b3b412e58cfdap-29, 0x1.6f8c205462642p-27, 0x1.3979f82560dc5p-25,
    0x1.0e4191084d349p-23, 0x1.d8a860d38555bp-22, 0x1.a4a0cfad09241p-20,
    0x1.7ea3e54697c2cp-18, 0x1.661e736950507p-16, 0x1.5c39755d360d8p-14,
    0x1.656be8b5f27cap-12, 0x1.8e5f3ab69f962p-10, 0x1.ff1bde0fa3ed1p-8,
    0x1.b8550d62bfb6cp-5,  0x1.0c152382d7366p+0};
enum { TERMS = sizeof ASIN / sizeof *ASIN };

/* Pairs processed together: a single chain would wait for its square roots. */
enum { WIDE = 4, MANY = 4 * WIDE };

typedef struct pairs {
    D4 part[WIDE], sum[WIDE];
} pairs;

INLINE D4 choose(L4 mask, D4 yes, D4 no) {
    return (D4)((mask & (L4)yes) | (~mask & (L4)no));
}

/* Applies one layer. Before the first one, sum is r_0, and part is 1 - r_0, or 1 + r_0
 * for obtuse angles. After layer h, sum is T_h and part is 1 - r_h. */
INLINE void layer(pairs *p, bool first) {
    const D4 zero = {0}, one = spread(1);
    D4 ratio[WIDE];
#pragma GCC unroll 4
    for (int k = 0; k < WIDE; k++) ratio[k] = spread(ASIN[0]);
#pragma GCC unroll 20
    for (int j = 1; j < TERMS; j++)
#pragma GCC unroll 4
        for (int k = 0; k < WIDE; k++)
            ratio[k] = fma_d(ratio[k], 2 * p->part[k] - 1, spread(ASIN[j]));
#pragma GCC unroll 4
    for (int k = 0; k < WIDE; k++) {
        D4 part = p->part[k], half = part / 2, twice = 2 * sqrt_d(half);
        L4 obtuse = first ? p->sum[k] < zero : (L4)zero;
        D4 acute = twice * ratio[k], turn = acute * M_1_PI;
        D4 bend = (twice * sqrt_d(1 - half) - (1 - part) * acute) * M_1_PI;
        D4 less = max_d(choose(obtuse, one, part) - bend, zero);
        p->sum[k] = (1 - less) + p->sum[k] * choose(obtuse, turn, 1 - turn);
        p->part[k] = less;
    }
}

void KERNEL(tangents)(const double *part, double *sum, size_t n, size_t depth) {
    for (size_t i = 0; i < n; i += MANY) {
        size_t bytes = (n - i < MANY ? n - i : MANY) * sizeof(double);
        pairs p = {0};
        memcpy(p.part, part + i, bytes);
        memcpy(p.sum, sum + i, bytes);
        layer(&p, true);
        for (size_t h = 1; h < depth; h++) layer(&p, false);
        memcpy(sum + i, p.sum, bytes);
    }
}

#endif
