# SPDX-License-Identifier: Apache-2.0
"""Sparse approximation, the slow and obvious way: the gradient matrix is dense, and every product
with it is computed from scratch.

The iterations are a chain of choices, and rounding can change a choice between rows that are
equally good. Therefore they can also run in long double: if both runs disagree, the program's
result is not compared.
"""
import numpy as np

from reference import STEPS, SUMS, embed

TINY = 1e-300  # a line search with a smaller denominator does not move


class Sparse:
    """min |v - Phi w|^2 + beta |w - 1|^2 - alpha sum over w_j > 0 of sigma_j^2."""

    def __init__(self, mean_gradients, spread, b, alpha, beta):
        """mean_gradients (n,k): the expected gradient of every row. spread (n): the expected
        distance of the gradient from it."""
        n = len(mean_gradients)
        self.n, self.b, self.alpha, self.beta = n, b, alpha, beta
        self.v = mean_gradients.mean(axis=0)
        self.Phi = mean_gradients / b
        self.gain = alpha * (spread / n) ** 2
        self.clear = True  # False after a support that depended on rounding

    def residual(self, w):
        return (self.Phi * w[:, None]).sum(axis=0) - self.v

    def f1(self, w):
        r = self.residual(w)
        return (r * r).sum() + self.beta * ((w - 1) ** 2).sum()

    def f(self, w):
        return self.f1(w) - self.gain[w > 0].sum()

    def slope(self, w):
        """The gradient of f1."""
        return 2 * (self.Phi * self.residual(w)).sum(axis=1) + 2 * self.beta * (w - 1)

    def line_search(self, u, w):
        """The step mu that minimises f1(w - mu u)."""
        along = (self.Phi * u[:, None]).sum(axis=0)
        below = (along * along).sum() + self.beta * (u * u).sum()
        if below < TINY:
            return w.dtype.type(0)
        return ((self.residual(w) * along).sum() + self.beta * ((w - 1) * u).sum()) / below

    def unbiased(self, w):
        u = np.where(w != 0, self.slope(w), 0)
        return w - self.line_search(u, w) * u

    def zeros(self):
        return np.zeros(self.n, self.Phi.dtype)

    # ---- Algorithm 1 ---------------------------------------------------------------

    def greedy_scores(self, w, tau):
        return -tau * self.slope(w) + self.gain

    def greedy_step(self, w, j):
        unit = self.zeros()
        unit[j] = 1
        w = w - self.line_search(unit, w) * unit
        return np.maximum(self.unbiased(w), 0)

    def greedy(self, tau=1.0):
        """Returns the rows in the order they are picked, their scores, and the final weights of all rows."""
        w, picks, scores = self.zeros(), [], []
        for _ in range(self.b):
            s = self.greedy_scores(w, tau)
            s[picks] = -np.inf
            picks.append(int(np.argmax(s)))
            scores.append(s[picks[-1]])
            w = self.greedy_step(w, picks[-1])
        return picks, scores, w

    # ---- Algorithm 2 ---------------------------------------------------------------

    def prox_scores(self, s, rule):
        if rule == "exact":
            return np.maximum(s, 0) ** 2 / 2 + self.gain
        return -(np.maximum(-s, 0) ** 2 / 2 - self.gain)

    def note_ties(self, z, merit, order):
        """Clears `clear` if only rounding separates the last row of a support from one left out."""
        near = np.flatnonzero(np.abs(merit - merit[order[self.b - 1]]) <=
                              SUMS * np.abs(merit).max())
        if set(near) & set(order[self.b:]):
            first = near[0]
            self.clear &= bool((self.Phi[near] == self.Phi[first]).all() and
                               (self.gain[near] == self.gain[first]).all() and
                               (z[near] == z[first]).all())

    def iht(self, iters, rule="exact", tol=0, keep="last"):
        """Returns the support, and the weights and prox scores of all rows."""
        w = z = self.zeros()
        best = (np.inf, None, None, None)
        for _ in range(iters):
            before = w
            slope = self.slope(z)
            s = z - self.line_search(slope, z) * slope
            merit = self.prox_scores(s, rule)
            order = sorted(range(self.n), key=lambda j: (-merit[j], j))
            support = order[:self.b]
            self.note_ties(z, merit, order)
            w = self.zeros()
            w[support] = np.maximum(s[support], 0)
            w = np.maximum(self.unbiased(w), 0)
            if keep == "last" or self.f(w) < best[0]:
                best = (self.f(w), w, support, merit)
            moved = w - before
            if tol > 0 and np.sqrt((moved ** 2).sum()) <= tol * np.sqrt((w ** 2).sum()):
                break
            z = w - self.line_search(moved, w) * moved
        _, w, support, merit = best
        return support, w, merit


# ---- inputs -------------------------------------------------------------------------------


def from_gradients(P, Q, H, dtype=np.float64):
    """Expected gradients (n, C d) and spreads (n) of rows with probabilities P and features H
    (h+), if labels are drawn from Q. The gradients (p - e_y) x h+ have the mean (p - q) x h+ and
    the distances |q - e_y| |h+| from it. Rows of Q are not scaled to sum to 1."""
    P, Q, H = (np.asarray(X).astype(dtype) for X in (P, Q, H))
    mean = ((P - Q)[:, :, None] * H[:, None, :]).reshape(len(P), -1)
    spread = np.zeros(len(P), dtype)
    for y in range(P.shape[1]):
        A = Q.copy()
        A[:, y] -= 1
        spread += Q[:, y] * np.sqrt((A * A).sum(axis=1))
    return mean, spread * np.sqrt((H * H).sum(axis=1))


def from_samples(S, dtype=np.float64):
    """The same in function space: the loss of every label under every posterior draw, minus its
    mean over the draws. S (m,n,C)."""
    S = np.asarray(S).astype(dtype)
    loss = -np.log(np.maximum(S, dtype(1e-12)))
    G = loss - loss.mean(axis=0)
    predictive = S.mean(axis=0)
    mean = (predictive * G).sum(axis=2)  # (m,n)
    away = np.sqrt(((G - mean[:, :, None]) ** 2).sum(axis=0))  # (n,C)
    return mean.T.copy(), (predictive * away).sum(axis=1)


# ---- checks -------------------------------------------------------------------------------


def problem(pool, b, alpha, beta, bias, source, dtype=np.float64):
    """The problem of a call, over the rows that may be picked."""
    if source is None:
        source = "gradient" if pool.samples is None else "samples"
    if source == "samples":
        parts = from_samples(pool.samples[:, pool.rows], dtype)
    else:
        H = embed(pool.features, bias)
        parts = from_gradients(np.asarray(pool.P)[pool.rows], np.asarray(pool.Q)[pool.rows],
                               H[pool.rows], dtype)
    return Sparse(*parts, b, dtype(alpha), dtype(beta))


def check_greedy(case, outcome, pool, batch, alpha=1e-2, beta=0.1, tau=1, bias=1, source=None):
    """Given the earlier picks, each pick has the largest score, up to rounding. The final weights
    are those of the reference for these picks."""
    case.check_rows(outcome.indices, pool.rows, batch)
    if not outcome.indices:
        return
    it = problem(pool, len(outcome.indices), alpha, beta, bias, source)
    place = {int(row): j for j, row in enumerate(pool.rows)}
    w, taken = it.zeros(), []
    length = np.sqrt((it.Phi * it.Phi).sum(axis=1))
    for rank, (row, score) in enumerate(zip(outcome.indices, outcome.scores), 1):
        s, j = it.greedy_scores(w, tau), place[row]
        s[taken] = -np.inf
        size = tau * (2 * length * (np.sqrt((it.v * it.v).sum()) + (length * w).sum()) +
                      2 * it.beta * np.abs(w - 1)) + it.gain
        where = f"rank {rank}, row {row}: score {score}, truth {s[j]}, best {s.max()}"
        case.assertLessEqual(abs(score - s[j]), STEPS / 100 * size[j], where)
        case.assertGreaterEqual(s[j], s.max() - SUMS * max(size[j], size[s.argmax()]), where)
        w = it.greedy_step(w, j)
        taken.append(j)
    np.testing.assert_allclose(outcome.weights, w[taken], rtol=STEPS, atol=STEPS * w.max())


def check_iht(case, outcome, pool, batch, alpha=1e-8, beta=1e-4, iters=300, tol=0, keep="last",
              prox="exact", bias=1, source=None):
    """Rows and weights equal the reference's, unless reference runs that differ only in rounding
    disagree. The weights are always sorted and not negative."""
    case.check_rows(outcome.indices, pool.rows, batch)
    case.assertEqual(outcome.weights, outcome.scores)
    case.assertEqual(outcome.weights, sorted(outcome.weights, reverse=True))
    case.assertGreaterEqual(min(outcome.weights, default=0), 0)
    if not outcome.indices:
        return
    runs = []
    for dtype, turn in ((np.float64, 1), (np.longdouble, 1), (np.float64, -1)):
        it = problem(pool, len(outcome.indices), alpha, beta, bias, source, dtype)
        it.Phi, it.v = it.Phi[:, ::turn].copy(), it.v[::turn].copy()
        runs.append(it.iht(iters, prox, tol, keep))
        if not it.clear:
            return
    support, w, merit = runs[0]
    scale = max(w.max(), 1e-300)
    if any(set(other) != set(support) or np.abs(v - w).max() > STEPS * scale / 100
           for other, v, _ in runs[1:]):
        return
    place = {int(row): j for j, row in enumerate(pool.rows)}
    picked = [place[row] for row in outcome.indices]
    case.assertEqual(set(picked), set(support))
    np.testing.assert_allclose(outcome.weights, w[picked], rtol=0, atol=STEPS * scale)
    # Of equal weights the larger prox score comes first, then the lower index. Weights that are
    # equal in nine digits need not be equal in the reference.
    for a, b, heavier, weight in zip(picked, picked[1:], outcome.weights, outcome.weights[1:]):
        if heavier == weight and w[a] == w[b]:
            where = f"rows {pool.rows[a]}, {pool.rows[b]}: weight {weight}, prox scores {merit[a]}, {merit[b]}"
            case.assertGreaterEqual(merit[a], merit[b] - SUMS * np.abs(merit).max(), where)
            if merit[a] == merit[b] and (it.Phi[a] == it.Phi[b]).all():
                case.assertLess(a, b, where)
