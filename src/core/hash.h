/* SPDX-License-Identifier: Apache-2.0
 *
 * FNV-1a, 64 bits: detects accidental changes; not safe against an attacker. Numbers are
 * hashed in the machine's byte order.
 */
#ifndef SCANT_CORE_HASH_H
#define SCANT_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t SCANT__HASH_FIRST = 14695981039346656037u;

/* Adds bytes to hash and returns the new hash; start with SCANT__HASH_FIRST. */
static inline uint64_t scant__hash(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

#endif
