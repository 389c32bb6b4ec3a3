/* SPDX-License-Identifier: Apache-2.0
 *
 * An allocator for jansson that counts the bytes in use.
 */
#ifndef SCANT_TESTS_JSON_COUNTING_H
#define SCANT_TESTS_JSON_COUNTING_H

#include <stdlib.h>

enum { HEAD = 16 };
static size_t live, peak;

static inline void *count_malloc(size_t size) {
    size_t *block = malloc(size + HEAD);
    if (!block) return NULL;
    *block = size + HEAD;
    live += *block;
    if (live > peak) peak = live;
    return (char *)block + HEAD;
}

static inline void count_free(void *pointer) {
    size_t *block = pointer ? (size_t *)(void *)((char *)pointer - HEAD) : NULL;
    if (block) live -= *block;
    free(block);
}

#endif
