/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums and products of sizes that saturate at SIZE_MAX, which no allocator grants. Memory
 * plans can use them without a check at every step.
 */
#ifndef SCANT_CORE_SIZE_H
#define SCANT_CORE_SIZE_H

#include <stddef.h>
#include <stdint.h>

static inline size_t size_add(size_t a, size_t b) {
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static inline size_t size_mul(size_t a, size_t b) {
    return b && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

static inline size_t size_min(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t size_max(size_t a, size_t b) { return a > b ? a : b; }

#endif
