# SPDX-License-Identifier: Apache-2.0
"""Strategies on posterior draws, the slow and obvious way: all label strings are enumerated, and
the log-likelihood vectors are dense. Draws are S (m,n,C)."""
import itertools
import math

import numpy as np

from reference import CLAMPED, INFORMATION, SCORE_ABSOLUTE, STEPS, SUMS


def plogp(P):
    return P * np.log(np.where(P > 0, P, 1))


def entropies(P):
    """Entropies of the distributions along the last axis."""
    return -plogp(P).sum(axis=-1)


def expected_entropy(S):
    """(n): the expected entropy of each label if the model were known."""
    return entropies(S).mean(axis=0)


def bald(S):
    return entropies(S.mean(axis=0)) - expected_entropy(S)


# ---- batchbald ----------------------------------------------------------------------------


def strings(S, picks):
    """(C^k, m): the probability of every label string of the k picks under every draw."""
    J = np.ones((1, len(S)))
    for i in picks:
        J = (J[:, None, :] * S[:, i, :].T[None, :, :]).reshape(-1, len(S))
    return J


def joint_information(S, picks):
    """The mutual information of the labels of picks and the model, over all strings."""
    return entropies(strings(S, picks).mean(axis=1)) - expected_entropy(S)[list(picks)].sum()


def joint_gain(S, picks, rows):
    """(n): the joint information of picks together with each of rows; -inf for other rows."""
    J, known = strings(S, picks), expected_entropy(S)
    out = np.full(S.shape[1], -np.inf)
    for i in rows:
        R = J @ S[:, i, :] / len(S)
        out[i] = entropies(R.ravel()) - known[list(picks)].sum() - known[i]
    return out


def sampled_spread(S, picks, i):
    """The standard deviation of one string's term in an estimate of the joint entropy of picks
    and i, if strings are drawn from the posterior predictive. Computed over all strings."""
    J = strings(S, picks)
    q = J.mean(axis=1)
    R = J @ S[:, i, :] / len(S)
    seen = q > 0
    share = (-plogp(R)[seen]).sum(axis=1) / q[seen]
    mean = (q[seen] * share).sum()
    return math.sqrt(max((q[seen] * (share - mean) ** 2).sum(), 0))


def by_hand(S, picks):
    """Joint information by plain loops, to check joint_information()."""
    m, _, classes = S.shape
    joint = 0.0
    for string in itertools.product(range(classes), repeat=len(picks)):
        p = 0.0
        for s in range(m):
            chance = 1.0
            for i, y in zip(picks, string):
                chance *= S[s, i, y]
            p += chance / m
        joint -= p * math.log(p) if p > 0 else 0
    known = 0.0
    for s in range(m):
        for i in picks:
            known -= sum(p * math.log(p) for p in S[s, i] if p > 0) / m
    return joint - known


# ---- acs-fw -------------------------------------------------------------------------------


def coreset_vectors(S, projections=0, dtype=np.float64):
    """(n,J): the expected log-likelihood of every row under each of the first J draws, plus the
    entropy of the mean prediction of all draws, divided by sqrt(J)."""
    S = np.asarray(S).astype(dtype)
    first = S[:projections] if projections else S
    predictive = S.mean(axis=0)
    logs = np.log(np.maximum(first, dtype(1e-12)))
    L = (predictive * logs).sum(axis=2) + entropies(predictive)
    return (L.T / np.sqrt(dtype(len(first)))).copy()


class FrankWolfe:
    """Finds weights w >= 0 so that the weighted sum of the rows of L approximates their sum."""

    def __init__(self, L):
        self.L = L
        self.sigma = np.sqrt((L * L).sum(axis=1) + L.dtype.type(1e-6))
        self.total = L.sum(axis=0)
        self.w = np.zeros(len(L), L.dtype)
        self.Lw = np.zeros_like(self.total)
        self.size = np.sqrt((self.total * self.total).sum())
        self.clear = True  # False after a choice that depended on rounding

    def scores(self):
        return (self.L * (self.total - self.Lw)).sum(axis=1) / self.sigma

    def error(self):
        return np.sqrt(((self.total - self.Lw) ** 2).sum())

    def step(self):
        """Makes one step; returns its length, 0 to 1."""
        merit = self.scores()
        f = int(np.argmax(merit))
        near = merit >= merit[f] - SUMS * abs(merit[f]) - SUMS / 100 * self.size
        self.clear &= bool((self.L[near] == self.L[f]).all())
        far = self.sigma.sum() / self.sigma[f]
        V = far * self.L[f] - self.Lw
        size = (V * V).sum()
        gamma = (V * (self.total - self.Lw)).sum() / size if size > 0 else self.L.dtype.type(0)
        gamma = min(max(gamma, 0), 1)
        self.w = (1 - gamma) * self.w
        self.w[f] += gamma * far
        self.Lw = (1 - gamma) * self.Lw + gamma * far * self.L[f]
        return gamma

    def run(self, b):
        """Steps until b rows have weight, at most 20 b steps. Returns b rows by descending weight;
        rows without weight follow by score."""
        for _ in range(20 * b):
            if (self.w > 0).sum() >= b or self.step() < 1e-12:
                break
        merit = self.scores()
        return sorted(range(len(self.w)), key=lambda i: (-self.w[i], -merit[i], i))[:b]


# ---- checks -------------------------------------------------------------------------------

# Below this gain in nats the program picks the remaining rows by bald.
UNSEEN = 2e-11


def rounding(S):
    """The absolute error allowed for the information of each row."""
    held = (((S > 0) & (S < 1e-12)).any(axis=(0, 2))) * CLAMPED
    return INFORMATION + (SCORE_ABSOLUTE + held) * S.shape[2]


def check_bald(case, outcome, pool, batch):
    S = pool.samples
    case.check_scores((outcome.indices, outcome.scores), bald(S), pool.rows, batch, rounding(S),
                      SUMS)


def check_batchbald(case, outcome, pool, batch, mc=10000):
    """Exact steps equal the values over all strings. Sampled steps are checked while all strings
    can be enumerated: the score estimates the pick's true value, and no other row is better by
    more than the error of two estimates."""
    S, picks = pool.samples, []
    m, _, classes = S.shape
    case.check_rows(outcome.indices, pool.rows, batch)
    unsure, before = rounding(S).max(), 0
    for i, score in zip(outcome.indices, outcome.scores):
        exact = classes ** len(picks) <= mc
        if not exact and classes ** len(picks) > 4096:
            break
        left = [j for j in pool.rows if j not in picks]
        truth = joint_gain(S, picks, left)
        best = truth.max()
        if best > math.log(m) * (1 - 1e-3) and np.abs(S.sum(axis=2) - 1).max() > 1e-12:
            break  # rows that do not sum to exactly 1 may exceed the largest possible information
        if picks and best - before < UNSEEN:
            break  # the program picks the rest by bald, and says so
        before = truth[i]
        tiny = strings(S, picks) @ S[:, i, :] / m
        slack = ((len(picks) + 1) * (unsure + SUMS) +
                 CLAMPED * ((tiny > 0) & (tiny < 1e-12)).sum())
        if not exact:
            # Every draw supplies equally many strings. The largest of many estimates exceeds its
            # true value by a few standard deviations.
            count = max(mc // m, 1) * m
            slack += 7 * max(sampled_spread(S, picks, j) for j in left) / math.sqrt(count)
        where = f"pick {len(picks) + 1}, row {i}: score {score}, truth {truth[i]}, best {best}"
        case.assertLessEqual(abs(score - truth[i]), slack, where)
        case.assertGreaterEqual(truth[i], best - 2 * slack, where)
        picks.append(i)


def check_acs(case, outcome, pool, batch, projections=0):
    """Rows and weights equal the reference's, and the rows without weight follow by score. Skipped
    if reference runs that differ only in rounding disagree. The weights are always sorted."""
    case.check_rows(outcome.indices, pool.rows, batch)
    case.assertEqual(outcome.weights, outcome.scores)
    case.assertEqual(outcome.weights, sorted(outcome.weights, reverse=True))
    S, b = pool.samples[:, pool.rows], len(outcome.indices)
    if not b:
        return
    runs = []
    for dtype, turn in ((np.float64, 1), (np.longdouble, 1), (np.float64, -1)):
        L = coreset_vectors(S[:, :, ::turn], projections, dtype)
        steps = FrankWolfe(L[:, ::turn].copy())
        order = steps.run(b)
        runs.append((steps, [i for i in order if steps.w[i] > 0]))
    steps, heavy = runs[0]
    w, scale = steps.w, max(steps.w.max(), 1e-300)
    if any(not it.clear or other != heavy or np.abs(it.w - w).max() > STEPS * scale / 100
           for it, other in runs):
        return
    place = {int(row): i for i, row in enumerate(pool.rows)}
    picked = [place[row] for row in outcome.indices]
    case.assertEqual(picked[:len(heavy)], heavy)
    np.testing.assert_allclose(outcome.weights, w[picked], rtol=0, atol=STEPS * scale)
    # At the end the residual may be only rounding error, and so may be the order of these rows.
    merit = steps.scores()
    slack = SUMS * steps.size * 10
    merit[heavy] = -np.inf
    for i in picked[len(heavy):]:
        case.assertGreaterEqual(merit[i], merit.max() - slack)
        merit[i] = -np.inf
