# SPDX-License-Identifier: Apache-2.0
"""Pools to measure on: features and probabilities in float32, the same for the same sizes."""
import numpy as np


def softmax(Z):
    Z -= Z.max(axis=1, keepdims=True)
    np.exp(Z, out=Z)
    Z /= Z.sum(axis=1, keepdims=True)
    return Z


def probs(n, classes, seed=1):
    return softmax(np.random.default_rng(seed).standard_normal((n, classes), dtype=np.float32))


def noise(n, d, classes, seed=1):
    """No structure at all: every distance is about as large as any other."""
    H = np.random.default_rng(seed + 1).standard_normal((n, d), dtype=np.float32)
    return H, probs(n, classes, seed)


def clustered(n, d, classes, seed=1, count=100):
    """What a trained network gives: tight groups, and most rows sure of their class."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, count, n)
    H = 0.1 * rng.standard_normal((n, d), dtype=np.float32)
    H += rng.standard_normal((count, d), dtype=np.float32)[kind]
    Z = rng.standard_normal((n, classes), dtype=np.float32)
    Z[np.arange(n), kind % classes] += 6
    return H, softmax(Z)
