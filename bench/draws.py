# SPDX-License-Identifier: Apache-2.0
"""Draws the random batches that a call of npc compares, so that a rival can evaluate the same
ones. Follows src/core/rng.c and src/select/npc.c."""
import numpy as np

BATCH = 4  # SCANT__RNG_BATCH
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(seed, purpose, index):
    """Philox4x32-10 at the counters (index, purpose, 0): 64 bits each."""
    index = np.asarray(index, np.uint64)
    c0, c1 = index & LOW, index >> HALF
    c2, c3 = np.full_like(index, purpose), np.zeros_like(index)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1 = (p1 >> HALF) ^ c1 ^ np.uint64(k0), p1 & LOW
        c2, c3 = (p0 >> HALF) ^ c3 ^ np.uint64(k1), p0 & LOW
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c1 << HALF | c0


def npc_batches(rows, batch, count, seed=0):
    """`count` batches of distinct rows by Floyd's algorithm: the i-th draw is a number up to the
    i-th limit, and is replaced by the limit itself if it came up before. (The library rejects
    draws in the uneven last part of the 64-bit range: one in 1e15.)"""
    last = len(rows) - batch + np.arange(batch)
    numbers = philox(seed, BATCH, np.arange(count * batch)).reshape(count, batch)
    places = (numbers % (last + 1).astype(np.uint64)).astype(np.int64)
    out = []
    for drawn in places:
        taken = set()
        for place, end in zip(drawn.tolist(), last.tolist()):
            taken.add(end if place in taken else place)
        out.append(rows[sorted(taken)])
    return out
