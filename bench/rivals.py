# SPDX-License-Identifier: Apache-2.0
"""The other side: each strategy as one would write it in NumPy, in float32, with care for
speed but without a change of algorithm."""
import numpy as np


def residuals(P):
    A = P.copy()
    A[np.arange(len(P)), P.argmax(axis=1)] -= 1
    return A


def badge(H, P, batch, seed):
    """k-means++ on the factored gradients: no n x (C*d) matrix, one pass over H and A a pick."""
    rng = np.random.default_rng(seed)
    A = residuals(P)
    N = np.einsum("ij,ij->i", A, A) * np.einsum("ij,ij->i", H, H)
    D = np.full(len(H), np.inf, np.float32)
    picks = [int(N.argmax())]
    while True:
        i = picks[-1]
        D = np.minimum(D, N + N[i] - 2 * (A @ A[i]) * (H @ H[i]))
        np.maximum(D, 0, out=D)
        D[i] = 0
        if len(picks) == batch:
            return np.array(picks)
        upto = np.cumsum(D, dtype=np.float64)
        picks.append(int(np.searchsorted(upto, rng.random() * upto[-1], side="right")))


def coreset(H, batch):
    """Farthest-first from the row nearest the mean, one matrix-vector product a pick."""
    N = np.einsum("ij,ij->i", H, H)
    mean = H.mean(axis=0, dtype=np.float64).astype(np.float32)
    D = np.full(len(H), np.inf, np.float32)
    picks = [int((N - 2 * (H @ mean)).argmin())]
    while len(picks) < batch:
        i = picks[-1]
        D = np.minimum(D, N + N[i] - 2 * (H @ H[i]))
        D[picks] = -1
        picks.append(int(D.argmax()))
    return np.array(picks)


def top(scores, batch):
    best = np.argpartition(-scores, batch)[:batch]
    return best[np.argsort(-scores[best], kind="stable")]


def entropy(P, batch):
    return top(-(P * np.log(P)).sum(axis=1), batch)


def margin(P, batch):
    two = np.partition(P, -2, axis=1)[:, -2:]
    return top(two[:, 0] - two[:, 1], batch)
