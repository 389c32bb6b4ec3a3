/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the kernels for this machine. The choice depends only on the CPU, so it needs
 * no state and is the same in every thread.
 */
#include "nn/kernels.h"

#define MEMBER(name, isa) .name = nn_##name##_f32_##isa,

static const nn_kernels base = {NN_KERNEL_NAMES(MEMBER, base)};
#ifdef SCANT_HAVE_AVX2
static const nn_kernels avx2 = {NN_KERNEL_NAMES(MEMBER, avx2)};
#endif

const nn_kernels *nn_kernels_best(void) {
#ifdef SCANT_HAVE_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2;
#endif
    return &base;
}

const nn_kernels *nn_kernels_plain(void) { return &base; }

void nn_conv_pack(size_t oc, size_t ic, size_t taps, const float *w, size_t by_o,
                  size_t by_i, ptrdiff_t by_t, float *packed) {
    for (size_t o = 0, size; o < oc; o += size) {
        size = nn_group_size(o, oc);
        for (size_t i = 0; i < ic; i++)
            for (size_t t = 0; t < taps; t++)
                for (size_t k = 0; k < size; k++)
                    *packed++ =
                        w[(ptrdiff_t)((o + k) * by_o + i * by_i) + (ptrdiff_t)t * by_t];
    }
}
