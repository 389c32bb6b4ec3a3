# SPDX-License-Identifier: Apache-2.0
"""The basis of bss, and how well weighted rows represent it, by dense eigendecompositions."""
import itertools
import re

import numpy as np

from reference import STEPS, embed


def monomials(X, degree):
    """(n, D): all products of at most `degree` coordinates, after scaling the rows into the unit ball."""
    X = X / max(np.sqrt((X * X).sum(axis=1)).max(), 1e-300)
    columns = []
    for k in range(degree + 1):
        for chosen in itertools.combinations_with_replacement(range(X.shape[1]), k):
            columns.append(np.prod(X[:, list(chosen)], axis=1))
    return np.stack(columns, axis=1)


def spectrum(F):
    """Eigenvalues of F'F/n, descending, and eigenvectors."""
    values, vectors = np.linalg.eigh(F.T @ F / len(F))
    return values[::-1], vectors[:, ::-1]


def dimensions(F, batch):
    """The rank of F, and how many directions are kept for a batch."""
    values, _ = spectrum(F)
    whole = int((values > 1e-10 * values[0]).sum())
    return whole, min(whole, max(1, batch // 2))


def orthonormal(F, dim):
    """V (n, dim) with V'V/n = I: F in its leading principal directions, scaled."""
    values, vectors = spectrum(F)
    return F @ (vectors[:, :dim] / np.sqrt(values[:dim]))


def moments(V, rows, weights):
    """A'A, the sum of w v v' over rows."""
    return (V[rows] * np.asarray(weights)[:, None]).T @ V[rows]


# ---- checks -------------------------------------------------------------------------------


def is_clear(F, dim):
    """Whether rounding decides neither the rank nor which direction is the last one kept."""
    values, _ = spectrum(F)
    count = [(values > at * values[0]).sum() for at in (1e-13, 1e-7)]
    last = dim < len(values) and values[dim] > 1e-10 * values[0]
    return count[0] == count[1] and not (last and values[dim - 1] - values[dim] < 1e-6 * values[0])


def columns(pool, bias=1, choice=None):
    """The basis functions of a call, (rows that may be picked, q)."""
    if choice is None:
        choice = "gradients" if pool.features is None else "features"
    if choice == "gradients":
        return pool.gradients[pool.rows]
    if choice == "features":
        return embed(pool.features, bias)[pool.rows]
    F = monomials(embed(pool.features)[pool.rows], int(choice.split(":")[1]))
    return F if bias else F[:, 1:]


def check_bss(case, outcome, pool, batch, bias=1, basis=None, epsilon=None, law="bss"):
    """The weighted rows represent the basis as well as reported."""
    indices, weights, info = outcome.indices, outcome.weights, outcome.info
    case.assertEqual(len(set(indices)), len(indices), "a row picked twice")
    case.assertLessEqual(set(indices), set(int(i) for i in pool.rows), "a row not allowed")
    case.assertLessEqual(len(indices), batch)
    case.assertEqual(weights, outcome.scores)
    case.assertEqual(weights, sorted(weights, reverse=True))
    if not len(pool.rows):
        return
    case.assertGreater(min(weights, default=1), 0)
    F = columns(pool, bias, basis)
    whole, dim = dimensions(F, min(batch, len(pool.rows)))
    if not dim or not is_clear(F, dim):
        return
    case.assertEqual(info["dim"], dim)
    cut = re.search("principal directions? (is|are) kept", outcome.said)
    case.assertEqual(bool(cut), dim < whole, outcome.said)
    place = {int(row): j for j, row in enumerate(pool.rows)}
    V = orthonormal(F, dim)
    band = np.linalg.eigvalsh(moments(V, [place[i] for i in indices], weights))
    case.assertAlmostEqual(info["lambda_min"], band[0], delta=STEPS * band[-1])
    case.assertAlmostEqual(info["lambda_max"], band[-1], delta=STEPS * band[-1])
    case.assertEqual(bool(info["good"]), band[0] >= .75 and band[-1] <= 1.25 and
                     info["sum_beta"] <= 1.25)
    lengths = (V * V).sum(axis=1)
    case.assertAlmostEqual(info["leverage"], lengths.max(), delta=STEPS * lengths.max())
    if law == "leverage":
        check_leverage(case, outcome, [lengths[place[i]] for i in indices], dim)
        return
    # Proved for every run: the sum of the coefficients, and the eigenvalues if gamma is small.
    gamma = info["gamma"]
    case.assertLessEqual(info["condition"], gamma ** 2 / (1 - gamma ** 2) + STEPS)
    case.assertAlmostEqual(info["epsilon"], 2 * gamma ** 2 / (1 - gamma ** 2), delta=STEPS)
    mid = 2 * dim * (1 - gamma ** 2) / gamma ** 2
    case.assertTrue(1 - STEPS <= info["sum_beta"] <= 1 + 2 / mid + STEPS)
    case.assertGreaterEqual(band[0], (1 - 2 * gamma) / (1 - gamma ** 2) - STEPS)
    case.assertLessEqual(band[-1], (1 + 2 * gamma) / (1 - gamma ** 2) +
                         2 / (mid * (1 - gamma)) + STEPS)


def check_leverage(case, outcome, lengths, dim):
    """A row that was drawn k times out of m has weight k D / (m |v|^2)."""
    info, draws = outcome.info, outcome.info["draws"]
    times = np.array(outcome.weights) * lengths * draws / dim
    np.testing.assert_allclose(times, np.round(times), atol=1e-6)
    case.assertTrue((np.round(times) >= 1).all())
    case.assertEqual(np.round(times).sum(), draws)
    case.assertNotIn("gamma", info)
    case.assertEqual(info["sum_beta"], 1)
    case.assertAlmostEqual(info["condition"], dim / draws, places=12)
    case.assertAlmostEqual(info["epsilon"], 2 * dim / draws, places=12)
