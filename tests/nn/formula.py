# SPDX-License-Identifier: Apache-2.0
"""Weights, inputs and labels that C and Python make alike, so that none need be stored.

A number is a pure function of a seed, a name and an index: the unit of src/core/rng.h with the
purpose that tests/support.h uses and the seed XOR the name's FNV-1a hash (64 bits); call it u.
Everything below is computed in double and then rounded to float.

  input                            4 (u - 1/2)
  labels                           floor(u * classes)
  sign:NAME                        -1 where u < 1/2, else 1: the signs of NAME's projection
  out.weight (onehidden's)         -1 where u < 1/2, else 1
  weights of two dimensions up     2 sqrt(6 / fan_in) (u - 1/2), fan_in: the product of all
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


def units(seed, name, count):
    out = np.empty(count)
    for first in range(0, count, CHUNK):
        index = np.arange(first, min(first + CHUNK, count), dtype=np.uint64)
        zero = np.zeros_like(index)
        low, high = philox(index, zero, zero + np.uint64(PURPOSE), zero, seed ^ fnv1a(name))
        bits = (high << np.uint64(32) | low) >> np.uint64(11)
        out[first:first + len(index)] = bits.astype(np.float64) * 2.0 ** -53
    return out


def signs(seed, name, count):
    return np.where(units(seed, name, count) < 0.5, -1.0, 1.0)


def tensor(seed, name, shape, norm):
    """norm: whether the tensor is a normalization's."""
    count = math.prod(shape)
    if name == "out.weight":
        values = signs(seed, name, count)
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
