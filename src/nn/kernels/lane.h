/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the kernels of this folder: vectors of eight lanes, and activations. In the
 * stack's kernels a lane is a sample.
 */
#ifndef SCANT_NN_LANE_H
#define SCANT_NN_LANE_H

#define VEC_ROUND_TWICE
#include "linalg/kernels/vec.h"

#include "nn/kernels.h"

#define NN_KERNEL(name) PASTE3(nn_##name, KERNEL_TYPE, KERNEL_ISA)

_Static_assert((int)LANES == (int)NN_LANES, "a vector holds a block's samples");

INLINE V spread(float x) { return (V){x, x, x, x, x, x, x, x}; }

INLINE void store(float *p, V v) { *(VU *)p = v; }

/* Keeps a value in its register: see load_once(). */
INLINE V keep(V v) {
#ifdef __AVX2__
    __asm__("" : "+x"(v));
#endif
    return v;
}

/* a where mask is set, b elsewhere. */
INLINE V choose(VI mask, V a, V b) { return (V)((mask & (VI)a) | (~mask & (VI)b)); }

/* tanh to 1.5 ulp: an odd polynomial near 0, else from exp(2|x|), with |x|
 * limited to 9.1. */
INLINE V tanh_v(V x) {
    const VI sign = (VI)spread(-0.0f);
    V z = x * x, a = (V)((VI)x & ~sign);
    V p = spread(-0.00604905933f);
    p = fma_v(p, z, spread(0.0209518959f));
    p = fma_v(p, z, spread(-0.0538364744f));
    p = fma_v(p, z, spread(0.133325998f));
    p = fma_v(p, z, spread(-0.333333237f));
    V near = fma_v(p * z, x, x);
    V t = choose(a < spread(9.1f), a, spread(9.1f)) * spread(2.88539008f);
    const V magic = spread(12582912.0f); /* 1.5 * 2^23: adding it rounds */
    V whole = t + magic;
    VI power = ((VI)whole - (VI)magic + 127) << 23;
    V f = t - (whole - magic);
    V e = spread(0.000154570129f);
    e = fma_v(e, f, spread(0.00133856757f));
    e = fma_v(e, f, spread(0.00961806827f));
    e = fma_v(e, f, spread(0.0555036739f));
    e = fma_v(e, f, spread(0.240226509f));
    e = fma_v(e, f, spread(0.693147186f));
    e = fma_v(e, f, spread(1)) * (V)power;
    V far = spread(1) - spread(2) / (e + spread(1));
    far = (V)((VI)far | ((VI)x & sign));
    V y = choose(a < spread(0.63f), near, far);
    return choose(x == x, y, x); /* NaN stays NaN */
}

/* act(x); NaN stays NaN. */
INLINE V act_v(V x, nn_act act, V slope) {
    switch (act) {
    case NN_ACT_RELU:
        return (V)((VI)x & ~(VI)(x < spread(0)));
    case NN_ACT_LEAKY:
        return choose(x > spread(0), x, x * slope);
    case NN_ACT_RELU6:
        x = (V)((VI)x & ~(VI)(x < spread(0)));
        return choose(x > spread(6), spread(6), x);
    case NN_ACT_TANH:
        return tanh_v(x);
    case NN_ACT_SIGMOID: /* absolute error 6e-8 */
        return spread(0.5f) + spread(0.5f) * tanh_v(spread(0.5f) * x);
    default:
        return x;
    }
}

/* dy act'(x), from y = act(x). */
INLINE V act_back_v(V dy, V y, nn_act act, V slope) {
    switch (act) {
    case NN_ACT_RELU:
        return (V)((VI)dy & ~(VI)(y <= spread(0)));
    case NN_ACT_LEAKY:
        return choose(y > spread(0), dy, dy * slope);
    case NN_ACT_RELU6:
        return (V)((VI)dy & ~(VI)((y <= spread(0)) | (y >= spread(6))));
    case NN_ACT_TANH:
        return dy * (spread(1) - y * y);
    case NN_ACT_SIGMOID:
        return dy * (y * (spread(1) - y));
    default:
        return dy;
    }
}

#endif
