/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the unit tests: contexts, a counting allocator that can fail, random numbers.
 */
#ifndef SCANT_TESTS_SUPPORT_H
#define SCANT_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/blas.h"
#include "core/rng.h"
#include "scant/scant.h"

typedef struct memory {
    size_t calls, live;
    size_t fail_at; /* the call that fails, from 0; SIZE_MAX: none */
} memory;

static inline void *memory_allocate(void *user, size_t bytes) {
    memory *m = user;
    if (m->calls++ == m->fail_at) return NULL;
    m->live++;
    return malloc(bytes);
}

static inline void memory_release(void *user, void *block) {
    memory *m = user;
    m->live--;
    free(block);
}

/* Whether to run long tests. `make soak` sets SCANT_SOAK to many random pools, sanitizer
 * runs to a few. */
static inline int soaking(void) {
    const char *pools = getenv("SCANT_SOAK");
    return pools && atol(pools) > 1000;
}

static inline scant_ctx *ctx_threads(unsigned threads) {
    scant_ctx *ctx;
    assert_int_equal(scant_ctx_create(&(scant_ctx_opts){.threads = threads}, &ctx),
                     SCANT_OK);
    return ctx;
}

/* m must outlive the context. */
static inline scant_ctx *ctx_counting(memory *m) {
    scant_ctx *ctx;
    scant_ctx_opts opts = {
        .threads = 2, .user = m, .allocate = memory_allocate, .release = memory_release};
    *m = (memory){.fail_at = SIZE_MAX};
    assert_int_equal(scant_ctx_create(&opts, &ctx), SCANT_OK);
    return ctx;
}

/* The most memory that was in use besides OpenBLAS' buffers, which are never given back
 * before the context ends. */
static inline size_t peak_of(const scant_ctx *c) {
    return c->peak - c->blas * SCANT__BLAS_BUFFER;
}

/* Uniform random numbers by index, the same in every run. */
static inline double unit_at(uint64_t seed, uint64_t index) {
    return scant__rng_unit(&(scant__rng){seed, 1000}, index);
}
/* Roughly normal: the sum of twelve uniform numbers. */
static inline double normal_at(uint64_t seed, uint64_t index) {
    double sum = -6;
    for (uint64_t i = 0; i < 12; i++) sum += unit_at(seed, 12 * index + i);
    return sum;
}

/* The chi-square that chance exceeds once in a million, as Wilson and Hilferty
 * approximate it. */
static inline double chi_square_limit(size_t freedom) {
    double k = (double)freedom, z = 4.7534, root = 2 / (9 * k);
    double cube = 1 - root + z * __builtin_sqrt(root);
    return k * cube * cube * cube;
}

#endif
