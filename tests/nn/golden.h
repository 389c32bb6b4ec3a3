/* SPDX-License-Identifier: Apache-2.0
 *
 * formula.py and make_golden.py in C: numbers by seed, name and index, and digests of
 * tensors. Both must compute the same.
 */
#ifndef SCANT_TESTS_NN_GOLDEN_H
#define SCANT_TESTS_NN_GOLDEN_H

#include <math.h>

#include "../support.h"

#include "nn/net.h"

enum { DIGEST = 10, ENTRIES = 8 };

/* The seed XOR the FNV-1a hash of prefix and name. */
static inline uint64_t named_seed(uint64_t seed, const char *prefix, const char *name) {
    const char *const parts[] = {prefix, name};
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 2; i++)
        for (const char *p = parts[i]; *p; p++)
            hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    return seed ^ hash;
}

/* Norm, sum with random signs, eight entries. */
static inline void digest(uint64_t seed, const char *name, const float *values,
                          size_t count, double out[DIGEST]) {
    const scant__rng rng = {named_seed(seed, "sign:", name), 1000};
    double squares = 0, sum = 0;
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++, bits >>= 1) {
        double x = (double)values[i];
        if (i % 64 == 0) bits = scant__rng_u64(&rng, i / 64);
        squares += x * x;
        sum += bits & 1 ? -x : x;
    }
    out[0] = sqrt(squares);
    out[1] = sum;
    for (size_t i = 0; i < ENTRIES; i++)
        out[2 + i] = (double)values[i * (count - 1) / (ENTRIES - 1)];
}

/* The numbers of a parameter or buffer; signs: -1 and 1 only. */
static inline void formula_param(uint64_t seed, const nn_param *param, bool signs,
                                 float *out) {
    uint64_t named = named_seed(seed, "", param->name);
    double fan_in = 1;
    for (size_t i = 1; i < param->ndim; i++) fan_in *= (double)param->dims[i];
    for (size_t i = 0; i < param->count; i++) {
        double u = unit_at(named, i);
        if (signs)
            u = u < 0.5 ? -1 : 1;
        else if (param->ndim >= 2)
            u = 2 * sqrt(6 / fan_in) * (u - 0.5);
        else if (param->role == NN_GAMMA || param->role == NN_VAR)
            u = 1 + (u - 0.5) / 2;
        else
            u = (u - 0.5) / 5;
        out[i] = (float)u;
    }
}

static inline void formula_inputs(uint64_t seed, size_t count, float *out) {
    uint64_t named = named_seed(seed, "", "input");
    for (size_t i = 0; i < count; i++) out[i] = (float)(4 * (unit_at(named, i) - 0.5));
}

static inline void formula_labels(uint64_t seed, size_t count, size_t classes,
                                  int32_t *out) {
    uint64_t named = named_seed(seed, "", "labels");
    for (size_t i = 0; i < count; i++)
        out[i] = (int32_t)(unit_at(named, i) * (double)classes);
}

#endif
