# SPDX-License-Identifier: Apache-2.0
"""The smallest eigenvalue that npc and crc maximise, computed from scratch each time by a dense
eigensolver on the whole Gram matrix."""
import numpy as np

from reference import LAMBDA, SUMS, embed

RANK = 1e-10  # relative to the largest: smaller eigenvalues and squared residuals count as 0


def rank(H, at=RANK):
    """The numerical rank of H (h+ of all rows), from the eigenvalues of H'H."""
    values = np.linalg.eigvalsh(H.T @ H)
    return int((values > at * values[-1]).sum())


def rank_is_clear(H):
    """Whether no eigenvalue is so close to the limit that rounding decides the rank."""
    return rank(H, 1e-3 * RANK) == rank(H, 1e3 * RANK)


def independent(H, rows):
    """The rows that do not depend linearly on earlier ones: their squared distance to the span of
    those is compared with the largest squared norm of all rows."""
    return _independent(H, rows, RANK)


def _independent(H, rows, at):
    kept = []
    limit = at * max(((H[i] ** 2).sum() for i in rows), default=0)
    for i in rows:
        rest = H[i]
        if kept:
            q, _ = np.linalg.qr(H[kept].T)
            for _ in range(2):  # a second time to remove the rounding error of the first
                rest = rest - q @ (q.T @ rest)
        if (rest ** 2).sum() > limit:
            kept.append(int(i))
    return kept


def dependence_is_clear(H, rows):
    return _independent(H, rows, 1e-3 * RANK) == _independent(H, rows, 1e3 * RANK)


def eigenvalues(H, rows):
    """Eigenvalues of the Gram matrix of rows, ascending."""
    X = H[list(rows)]
    return np.linalg.eigvalsh(X @ X.T)


def smallest(H, labelled, batch, r=None):
    """lambda(labelled + batch), and the largest eigenvalue, to which errors are relative."""
    r = rank(H) if r is None else r
    whole = [*labelled, *batch]
    values = eigenvalues(H, whole)
    if r == 0:  # all rows are zero
        return 0.0, 0.0
    if len(whole) > r:
        return values[-r], values[-1]
    return eigenvalues(H, [*independent(H, labelled), *batch])[0], values[-1]


# ---- checks -------------------------------------------------------------------------------


def check_value(case, value, H, labelled, batch, r):
    """The printed lambda is right."""
    truth, largest = smallest(H, labelled, batch, r)
    case.assertLessEqual(abs(value - truth), LAMBDA * largest + SUMS * abs(truth),
                         f"lambda {value}, truth {truth}, largest {largest}")


def clear(H, labelled):
    """Whether rounding decides neither the rank nor which labelled rows are independent."""
    return rank_is_clear(H) and dependence_is_clear(H, labelled)


def check_npc(case, outcome, pool, batch, candidates=1000, bias=1, normalise=0, refine=0):
    case.check_rows(outcome.indices, pool.rows, batch)
    case.assertEqual(outcome.indices, sorted(outcome.indices))
    if not outcome.indices:
        return
    case.assertEqual(len(set(outcome.scores)), 1)
    H = embed(pool.features, bias, normalise)
    if clear(H, pool.labelled):
        check_value(case, outcome.scores[0], H, pool.labelled, outcome.indices, rank(H))


def lowered(batch, group):
    """The largest divisor of batch that is at most group."""
    return max(k for k in range(1, min(batch, group) + 1) if batch % k == 0)


def check_crc(case, outcome, pool, batch, group=None, bias=1, normalise=0):
    case.check_rows(outcome.indices, pool.rows, batch)
    if not outcome.indices:
        return
    available = len(pool.rows)
    size = lowered(batch, min(available, group or max(1, batch // 10)))
    whole = min(batch, available) // size * size
    case.assertEqual(outcome.options["group"], size)
    case.assertEqual(outcome.scores[whole:], [0] * (len(outcome.scores) - whole))
    H = embed(pool.features, bias, normalise)
    best = []
    for at in range(0, whole, size):
        rows, scores = outcome.indices[at:at + size], outcome.scores[at:at + size]
        case.assertEqual(rows, sorted(rows))
        case.assertEqual(len(set(scores)), 1)
        best.append((-scores[0], rows[0]))
        if clear(H, pool.labelled):
            check_value(case, scores[0], H, pool.labelled, rows, rank(H))
    case.assertEqual(best, sorted(best))
