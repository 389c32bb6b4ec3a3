# SPDX-License-Identifier: Apache-2.0
"""The basis that bss samples for, and how well weighted rows stand for it: by dense
eigen-decompositions."""
import itertools

import numpy as np


def monomials(X, degree):
    """(n, D): all products of at most degree coordinates of rows scaled into the unit ball."""
    X = X / max(np.sqrt((X * X).sum(axis=1)).max(), 1e-300)
    columns = []
    for k in range(degree + 1):
        for chosen in itertools.combinations_with_replacement(range(X.shape[1]), k):
            columns.append(np.prod(X[:, list(chosen)], axis=1))
    return np.stack(columns, axis=1)


def spectrum(F):
    """Eigenvalues, falling, and eigenvectors of F'F/n."""
    values, vectors = np.linalg.eigh(F.T @ F / len(F))
    return values[::-1], vectors[:, ::-1]


def dimensions(F, batch):
    """How many directions count, and how many of those are kept for a batch."""
    values, _ = spectrum(F)
    whole = int((values > 1e-10 * values[0]).sum())
    return whole, min(whole, max(1, batch // 2))


def basis(F, dim):
    """V (n, dim), V'V/n = I: F turned to its leading principal directions and scaled."""
    values, vectors = spectrum(F)
    return F @ (vectors[:, :dim] / np.sqrt(values[:dim]))


def moments(V, rows, weights):
    """A'A: the sum of w v v' over rows."""
    return (V[rows] * np.asarray(weights)[:, None]).T @ V[rows]
