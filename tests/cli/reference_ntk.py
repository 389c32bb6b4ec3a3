# SPDX-License-Identifier: Apache-2.0
"""The tangent kernel of an infinitely wide ReLU network by its recursion, in long double, and
checks of npc, crc and bss with a kernel, by dense eigensolvers."""
import numpy as np

from reference import LAMBDA, STEPS, SUMS, embed
from reference_bss import moments

DEPENDENT = 1e-10  # relative to the largest diagonal element


def ntk(X, depth):
    """(n, n). Angles come from the norms of the difference and the sum of unit rows, because an
    arccosine gives small angles with half of the digits only."""
    X = np.asarray(X, np.longdouble)
    length = np.sqrt((X * X).sum(axis=1))
    unit = np.divide(X, length[:, None], out=np.zeros_like(X), where=length[:, None] > 0)
    apart = np.sqrt(((unit[:, None] - unit[None]) ** 2).sum(axis=2))
    along = np.sqrt(((unit[:, None] + unit[None]) ** 2).sum(axis=2))
    angle = 2 * np.arctan2(apart, along)
    pi = np.arctan2(np.longdouble(0), np.longdouble(-1))
    sigma = np.cos(angle)
    theta = sigma
    for _ in range(depth):
        turned = (pi - angle) / pi
        sigma = (np.sin(angle) + (pi - angle) * np.cos(angle)) / pi
        theta = sigma + theta * turned
        angle = np.arctan2(np.sqrt(np.maximum((1 - sigma) * (1 + sigma), 0)), sigma)
    return (theta * np.outer(length, length)).astype(float)


def independent(K, rows):
    """The rows that do not depend on earlier ones, by the remaining diagonal (Schur complement)."""
    kept = []
    limit = DEPENDENT * max((K[i, i] for i in rows), default=0)
    for i in rows:
        rest = K[i, i]
        if kept:
            rest -= K[i, kept] @ np.linalg.solve(K[np.ix_(kept, kept)], K[kept, i])
        if rest > limit:
            kept.append(int(i))
    return kept


def smallest(K, labelled, batch):
    """The smallest and the largest eigenvalue over the independent labelled rows and the batch."""
    rows = [*independent(K, labelled), *batch]
    values = np.linalg.eigvalsh(K[np.ix_(rows, rows)])
    return max(values[0], 0.0), values[-1]


def kernel_of(features, depth, bias=0, normalise=0):
    return ntk(embed(features, bias, normalise), depth)


# ---- checks -------------------------------------------------------------------------------


def check_value(case, value, K, labelled, batch):
    truth, largest = smallest(K, labelled, batch)
    case.assertLessEqual(abs(value - truth), LAMBDA * largest + SUMS * abs(truth),
                         f"lambda {value}, truth {truth}, largest {largest}")


def check_npc(case, outcome, K, rows, labelled, batch):
    case.check_rows(outcome.indices, rows, batch)
    case.assertEqual(outcome.indices, sorted(outcome.indices))
    case.assertEqual(len(set(outcome.scores)), 1)
    check_value(case, outcome.scores[0], K, labelled, outcome.indices)


def check_crc(case, outcome, K, rows, labelled, batch):
    case.check_rows(outcome.indices, rows, batch)
    size = outcome.options["group"]
    for at in range(0, len(outcome.indices) // size * size, size):
        group, scores = outcome.indices[at:at + size], outcome.scores[at:at + size]
        case.assertEqual(len(set(scores)), 1)
        check_value(case, scores[0], K, labelled, group)


def orthonormal(K, dim):
    """V (n, dim), V'V/n = I: the leading eigenvectors."""
    values, vectors = np.linalg.eigh(K)
    return vectors[:, ::-1][:, :dim] * np.sqrt(len(K))


def check_bss(case, outcome, K, rows, batch):
    """The weighted rows represent the leading eigenfunctions of the kernel as well as reported."""
    case.assertLessEqual(set(outcome.indices), set(int(i) for i in rows))
    case.assertLessEqual(len(set(outcome.indices)), batch)
    case.assertEqual(len(set(outcome.indices)), len(outcome.indices))
    case.assertGreater(min(outcome.weights), 0)
    K = K[np.ix_(rows, rows)]
    values = np.linalg.eigvalsh(K)[::-1]
    dim = outcome.info["dim"]
    case.assertEqual(dim, min(int((values > 1e-10 * values[0]).sum()),
                              max(1, min(batch, len(rows)) // 2)))
    if dim < len(values) and values[dim - 1] - values[dim] < 1e-6 * values[0]:
        return  # the last two eigenvalues are close: either direction may have been kept
    place = {int(row): j for j, row in enumerate(rows)}
    V = orthonormal(K, dim)
    band = np.linalg.eigvalsh(moments(V, [place[i] for i in outcome.indices], outcome.weights))
    case.assertAlmostEqual(outcome.info["lambda_min"], band[0], delta=STEPS * band[-1])
    case.assertAlmostEqual(outcome.info["lambda_max"], band[-1], delta=STEPS * band[-1])
