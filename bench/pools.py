# SPDX-License-Identifier: Apache-2.0
"""Pools: features and probabilities in float32, the same for the same sizes."""
import numpy as np


def softmax(Z):
    Z -= Z.max(axis=1, keepdims=True)
    np.exp(Z, out=Z)
    Z /= Z.sum(axis=1, keepdims=True)
    return Z


def probs(n, classes, seed=1):
    return softmax(np.random.default_rng(seed).standard_normal((n, classes), dtype=np.float32))


def noise(n, d, classes, seed=1):
    """No structure: all distances are about equal."""
    H = np.random.default_rng(seed + 1).standard_normal((n, d), dtype=np.float32)
    return H, probs(n, classes, seed)


def clustered(n, d, classes, seed=1, count=100):
    """Like the output of a trained network: tight clusters, and most rows confident."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, count, n)
    H = 0.1 * rng.standard_normal((n, d), dtype=np.float32)
    H += rng.standard_normal((count, d), dtype=np.float32)[kind]
    Z = rng.standard_normal((n, classes), dtype=np.float32)
    Z[np.arange(n), kind % classes] += 6
    return H, softmax(Z)


def labels(n, count, classes, seed=1):
    """Labels of `count` rows spread over the pool; -1 elsewhere."""
    rng = np.random.default_rng(seed + 2)
    Y = np.full(n, -1, np.int64)
    Y[rng.choice(n, count, replace=False)] = rng.integers(0, classes, count)
    return Y


def calibrated(n, d, classes, seed=1, temperature=2.0):
    """Features, probabilities of an overconfident network, and calibrated ones."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 100, n)
    H = 0.5 * rng.standard_normal((n, d), dtype=np.float32)
    H += rng.standard_normal((100, d), dtype=np.float32)[kind]
    np.maximum(H, 0, out=H)
    Z = 2 * rng.standard_normal((n, classes), dtype=np.float32)
    Z[np.arange(n), kind % classes] += 4
    return H, softmax(Z.copy()), softmax(Z / np.float32(temperature))


def posterior(m, n, classes, seed=1, d=16):
    """Posterior draws of a network with a Bayesian last layer: each draw is one layer, the same
    for all rows."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((n, d), dtype=np.float32)
    middle = rng.standard_normal((d, classes), dtype=np.float32)
    out = np.empty((m, n, classes), np.float32)
    for s in range(m):
        out[s] = softmax(H @ (middle + 0.5 * rng.standard_normal((d, classes),
                                                                dtype=np.float32)))
    return out


def leverage(n, d, seed=1):
    """In some directions a few rows have most of the leverage: a least-squares fit needs them."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((n, d)) * np.sqrt(1 / rng.uniform(1e-4, 1, (n, 1)))
    rare = rng.choice(n, d // 2 * 20, replace=False).reshape(d // 2, 20)
    for column, rows in enumerate(rare):
        H[:, column] *= 0.01
        H[rows, column] = rng.standard_normal(20) * 5
    return H.astype(np.float32)
