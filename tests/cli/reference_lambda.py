# SPDX-License-Identifier: Apache-2.0
"""The smallest eigenvalue that npc and crc maximise, by a dense eigensolver on the whole Gram
matrix, every time anew."""
import numpy as np

from reference import LAMBDA, SUMS, embed

RANK = 1e-10  # of the largest: eigenvalues that count, residuals that do not


def rank(H, at=RANK):
    """Of the rows of H (h+ of all rows): eigenvalues of their second moments that count."""
    values = np.linalg.eigvalsh(H.T @ H)
    return int((values > at * values[-1]).sum())


def rank_is_clear(H):
    """Whether no eigenvalue is so near the limit that rounding decides."""
    return rank(H, 1e-3 * RANK) == rank(H, 1e3 * RANK)


def independent(H, rows):
    """The rows that do not depend on earlier ones: squared distance to their span by least
    squares, against the largest squared norm of them all."""
    return _independent(H, rows, RANK)


def _independent(H, rows, at):
    kept = []
    limit = at * max(((H[i] ** 2).sum() for i in rows), default=0)
    for i in rows:
        rest = H[i]
        if kept:
            q, _ = np.linalg.qr(H[kept].T)
            for _ in range(2):  # once more: the first leaves its own rounding
                rest = rest - q @ (q.T @ rest)
        if (rest ** 2).sum() > limit:
            kept.append(int(i))
    return kept


def dependence_is_clear(H, rows):
    return _independent(H, rows, 1e-3 * RANK) == _independent(H, rows, 1e3 * RANK)


def eigenvalues(H, rows):
    """Of the Gram matrix over rows, rising."""
    X = H[list(rows)]
    return np.linalg.eigvalsh(X @ X.T)


def smallest(H, labelled, batch, r=None):
    """lambda(labelled + batch), and the largest eigenvalue, which is the measure of error."""
    r = rank(H) if r is None else r
    whole = [*labelled, *batch]
    values = eigenvalues(H, whole)
    if r == 0:  # nothing but zeros
        return 0.0, 0.0
    if len(whole) > r:
        return values[-r], values[-1]
    return eigenvalues(H, [*independent(H, labelled), *batch])[0], values[-1]


# ---- judges -------------------------------------------------------------------------------


def judge_value(case, value, H, labelled, batch, r):
    """lambda as it was printed."""
    truth, largest = smallest(H, labelled, batch, r)
    case.assertLessEqual(abs(value - truth), LAMBDA * largest + SUMS * abs(truth),
                         f"lambda {value}, truth {truth}, largest {largest}")


def clear(H, labelled):
    """Whether the rule leaves no doubt on these rows."""
    return rank_is_clear(H) and dependence_is_clear(H, labelled)


def judge_npc(case, outcome, pool, batch, candidates=1000, bias=1, normalise=0, refine=0):
    case.judge_rows(outcome.indices, pool.rows, batch)
    case.assertEqual(outcome.indices, sorted(outcome.indices))
    if not outcome.indices:
        return
    case.assertEqual(len(set(outcome.scores)), 1)
    H = embed(pool.features, bias, normalise)
    if clear(H, pool.labelled):
        judge_value(case, outcome.scores[0], H, pool.labelled, outcome.indices, rank(H))


def lowered(batch, group):
    """The largest divisor of batch that is not larger than group."""
    return max(k for k in range(1, min(batch, group) + 1) if batch % k == 0)


def judge_crc(case, outcome, pool, batch, group=None, bias=1, normalise=0):
    case.judge_rows(outcome.indices, pool.rows, batch)
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
            judge_value(case, scores[0], H, pool.labelled, rows, rank(H))
    case.assertEqual(best, sorted(best))
