# SPDX-License-Identifier: Apache-2.0
"""Weights, inputs and labels that C and Python compute identically, so that none is stored.

Each number is a function of a seed, a name and an index. u is scant__rng_unit() of src/core/rng.h
with the purpose of tests/support.h and the seed XOR the name's FNV-1a hash (64 bits). Everything
below is computed in double and then rounded to float.

  input                            4 (u - 1/2)
  labels                           floor(u * classes)
  sign:NAME                        the signs of NAME's projection: bit i % 64 of the 64 random
                                   bits at index i / 64; 1 is minus
  out.weight (onehidden's)         -1 where u < 1/2, else 1
  weights of 2 or more dimensions  2 sqrt(6 / fan_in) (u - 1/2), fan_in: the product of all
                                   dimensions but the first
  a normalization's weight, and running_var    1 + (u - 1/2) / 2
  other vectors (biases, running_mean)         (u - 1/2) / 5
"""
import math

import numpy as np

PURPOSE = 1000
ROUNDS, CHUNK = 10, 1 << 18


def fnv1a(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def philox(c0, c1, c2, c3, seed):
    """The first two words of Philox4x32-10 for arrays (uint64, below 2^32) of counters."""
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(ROUNDS):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = ((p1 >> shift) ^ c1 ^ np.uint64(k0), p1 & low,
                          (p0 >> shift) ^ c3 ^ np.uint64(k1), p0 & low)
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1


def words(seed, name, count):
    """64 random bits per index."""
    out = np.empty(count, np.uint64)
    for first in range(0, count, CHUNK):
        index = np.arange(first, min(first + CHUNK, count), dtype=np.uint64)
        zero = np.zeros_like(index)
        low, high = philox(index, zero, zero + np.uint64(PURPOSE), zero, seed ^ fnv1a(name))
        out[first:first + len(index)] = high << np.uint64(32) | low
    return out


def units(seed, name, count):
    return (words(seed, name, count) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def signs(seed, name, count):
    """The signs of name's projection."""
    some = words(seed, "sign:" + name, (count + 63) // 64)
    bits = some[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    return 1.0 - 2.0 * bits.ravel()[:count].astype(np.float64)


def tensor(seed, name, shape, norm):
    """norm: whether the tensor belongs to a normalization."""
    count = math.prod(shape)
    if name == "out.weight":
        values = np.where(units(seed, name, count) < 0.5, -1.0, 1.0)
    elif len(shape) >= 2:
        values = 2 * math.sqrt(6 / math.prod(shape[1:])) * (units(seed, name, count) - 0.5)
    elif name.endswith("running_var") or (norm and name.endswith("weight")):
        values = 1 + (units(seed, name, count) - 0.5) / 2
    else:
        values = (units(seed, name, count) - 0.5) / 5
    return values.astype(np.float32).reshape(shape)


def inputs(seed, shape):
    return (4 * (units(seed, "input", math.prod(shape)) - 0.5)).astype(np.float32).reshape(shape)


def labels(seed, count, classes):
    return (units(seed, "labels", count) * classes).astype(np.int64)
