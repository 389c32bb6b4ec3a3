# SPDX-License-Identifier: Apache-2.0
"""Reference implementations of the strategies, slow and obvious, in float64.

They avoid every optimisation on purpose: gradients are dense, distances are sums of squared
differences, and every step of a greedy choice computes all rows again. Strategies that need more
code have a file each (reference_*.py). strategycase.py compares the program with the references.
"""
import math

import numpy as np

# ---- tolerances -----------------------------------------------------------------------

# Scores in double, printed with nine digits: half a unit of the ninth digit is at most 5e-9 of the
# number. A softmax has an absolute error of a few 1e-16 per class, or of 2e-15 where its terms are
# rounded so that their order does not matter; 1 - p keeps that absolute error, however small it is.
SCORE_RELATIVE = 6e-9
SCORE_ABSOLUTE = 2e-15  # per class
# Rows whose true scores differ by less (relative) may be ranked in either order: the last bits of
# a sum depend on its order.
SAME_SCORE = 1e-13
# Absolute error of the difference of two entropies in double; entropies are a few nats.
INFORMATION = 3e-14
# Error of expected values that are given to six decimals.
SIX = 6e-7
# The documented relative error of distances in float32.
DISTANCE_RELATIVE = 1e-5
# Sums of thousands of terms in double, printed in full: relative to the sum of the magnitudes.
SUMS = 1e-12
# Results of many steps of sums in double, if rounding changes no choice on the way.
STEPS = 1e-8
# The documented error of lambda, relative to the largest eigenvalue.
LAMBDA = 1e-10
# Bound on the error of x log x if the logarithm's argument is clamped to at least 1e-12.
CLAMPED = 4e-13

# ---- the pool ---------------------------------------------------------------------------


def real(array):
    """The numbers of an array in any type and byte order, as native float64."""
    return np.asarray(array).astype(np.float64)


def softmax(logits, dtype=np.float64):
    """With dtype long double, 1 - p of a confident row keeps the digits that float64 loses."""
    Z = np.asarray(logits).astype(dtype)
    E = np.exp(Z - Z.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def allowed(n, labels=None, candidates=None):
    """The rows that may be picked, in ascending order."""
    free = np.ones(n, bool) if labels is None else np.asarray(labels) == -1
    if candidates is not None:
        listed = np.zeros(n, bool)
        listed[np.asarray(candidates, dtype=np.int64)] = True
        free &= listed
    return np.flatnonzero(free)


def embed(features, bias=0, normalise=0):
    """h+ of every row: scaled to unit length with normalise, then a 1 appended with bias.
    A row of zeros stays zero."""
    H = real(features)
    if normalise:
        length = np.sqrt((H * H).sum(axis=1, keepdims=True))
        H = np.divide(H, length, out=np.zeros_like(H), where=length > 0)
    if bias:
        H = np.hstack([H, np.ones((len(H), 1))])
    return H


def noise(seed, n, d, classes, confident=1.0):
    """Random features and logits; a large `confident` gives a confident model."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), confident * rng.standard_normal((n, classes))


# ---- scores of single rows --------------------------------------------------------------


def confidence(P):
    return 1 - real(P).max(axis=1)


def margin(P):
    top = np.sort(real(P), axis=1)
    return 1 - (top[:, -1] - top[:, -2])


def entropy(P):
    P = real(P)
    return -(P * np.log(np.where(P > 0, P, 1))).sum(axis=1)


def residuals(P, classes):
    """p - e_y of every row, y being the given class."""
    A = np.array(P, np.longdouble)
    A[np.arange(len(A)), classes] -= 1
    return real(A)


def egl(P, H):
    """H is h+. The sum over y of p_y |p - e_y| |h+|, one class at a time."""
    P = real(P)
    gradient = np.zeros(len(P))
    for y in range(P.shape[1]):
        A = residuals(P, np.full(len(P), y))
        gradient += P[:, y] * np.sqrt((A * A).sum(axis=1))
    return gradient * np.sqrt((H * H).sum(axis=1))


def ranked(scores, rows, batch):
    """The `batch` rows with the largest scores; ties go to the lower index."""
    return sorted(rows, key=lambda i: (-scores[i], i))[:batch]


# ---- distances --------------------------------------------------------------------------


def squared_distances(X):
    """(n,n), by differences: exactly 0 for equal rows, no cancellation."""
    return np.stack([((X - x) ** 2).sum(axis=1) for x in X]) if len(X) else np.zeros((0, 0))


def mean_row(X):
    """The mean, computed relative to the first row so that a common offset costs no digits."""
    return X[0] + (X - X[0]).mean(axis=0)


def coreset(X, rows, batch, labelled=()):
    """Farthest-first over X: picks and their Euclidean distances."""
    steps = CoresetSteps(X, rows, labelled)
    picks, scores = [], []
    for _ in range(min(batch, len(rows))):
        best = steps.best()
        picks.append(best)
        scores.append(abs(steps.worth()[best]))
        steps.take(best)
    return picks, scores


class CoresetSteps:
    """Farthest-first, one pick at a time; the caller may take other rows than best()."""

    def __init__(self, X, rows, labelled=()):
        self.X = X
        self.free = np.zeros(len(X), bool)
        self.free[rows] = True
        self.D = np.full(len(X), np.inf)
        for i in labelled:
            self.near(i)
        self.first = len(labelled) == 0

    def near(self, i):
        self.D = np.minimum(self.D, np.sqrt(((self.X - self.X[i]) ** 2).sum(axis=1)))

    def worth(self):
        """The value that the next pick maximises; its magnitude is the score. Without labels the
        first pick is the row nearest the mean, so its value is the negative distance."""
        if self.first:
            return -np.sqrt(((self.X - mean_row(self.X)) ** 2).sum(axis=1))
        return self.D

    def best(self):
        """The row to pick next; ties go to the lowest index."""
        return int(np.argmax(np.where(self.free, self.worth(), -np.inf)))

    def take(self, i):
        self.near(i)
        self.free[i] = False
        self.first = False


# ---- badge ------------------------------------------------------------------------------


def loss_gradients(P, H, labels=None):
    """The dense gradients a x h+ (n, C*d), where a = p - e_y; y is the label of a labelled row,
    otherwise the first of the most probable classes. H is h+."""
    classes = real(P).argmax(axis=1)
    if labels is not None:
        classes = np.where(np.asarray(labels) >= 0, labels, classes)
    A = residuals(P, classes)
    return (A[:, :, None] * H[:, None, :]).reshape(len(A), -1)


def badge_factored(P, H):
    """Squared norms (n) and squared distances (n,n) of the same gradients, without building them."""
    A = residuals(P, real(P).argmax(axis=1))
    N = (A * A).sum(axis=1) * (H * H).sum(axis=1)
    D = np.maximum(N[:, None] + N[None, :] - 2 * (A @ A.T) * (H @ H.T), 0)
    np.fill_diagonal(D, 0)
    return N, D


def draw_law(D, rows, taken):
    """The probabilities (n) of the next pick of k-means++ after `taken`: proportional to the squared
    distance to the nearest taken row; uniform over the other rows if all distances are 0."""
    near = D[taken].min(axis=0)
    left = np.zeros(len(D))
    left[[i for i in rows if i not in taken]] = 1
    mass = near * left
    return mass / mass.sum() if mass.sum() > 0 else left / left.sum()


def badge_pair_law(D, rows, first):
    """{(second, third): probability} given the first pick."""
    law = {}
    for i, p in enumerate(draw_law(D, rows, [first])):
        if p > 0:
            for j, q in enumerate(draw_law(D, rows, [first, i])):
                if q > 0:
                    law[i, j] = p * q
    return law


# ---- dynamic ----------------------------------------------------------------------------


def speed(G, rows):
    """G(S): the squared norm of the summed gradient of rows."""
    total = G[list(rows)].sum(axis=0)
    return (total * total).sum()


def dynamic(G, labelled, gamma):
    """|g|^2 + gamma <g, sum of labelled g>; with gamma = inf the inner product alone."""
    inner = (G * G[list(labelled)].sum(axis=0)).sum(axis=1)
    return inner if np.isinf(gamma) else (G * G).sum(axis=1) + gamma * inner


# ---- distributions ----------------------------------------------------------------------


def chi_square_limit(freedom):
    """The value that a chi-square statistic exceeds with probability 1e-4 (Wilson and Hilferty's
    approximation, good to a percent here). Seeds are fixed, so a test that passes once passes
    always."""
    v = 2 / (9 * freedom)
    return freedom * (1 - v + 3.719 * math.sqrt(v)) ** 3


def chi_square(counts, chances):
    """The statistic and its limit. Cells with an expected count below 5 are merged, rare ones
    first, because the chi-square distribution holds for well-filled cells only."""
    counts, expected = np.asarray(counts, float), np.asarray(chances) * np.sum(counts)
    order = np.argsort(expected, kind="stable")
    counts, expected = counts[order], expected[order]
    rare = int(np.searchsorted(expected, 5))
    if rare:
        rare = max(rare, int(np.searchsorted(np.cumsum(expected), 5)) + 1)
        counts = np.append(counts[rare:], counts[:rare].sum())
        expected = np.append(expected[rare:], expected[:rare].sum())
    statistic = ((counts - expected) ** 2 / expected).sum()
    return statistic, chi_square_limit(len(counts) - 1)


def draw_positions(D, rows, picks, rng, by_distance):
    """The position of each pick after the first in the distribution it was drawn from, in (0,1).

    With the rows in a fixed order, a pick covers an interval [a,b) of the cumulative distribution;
    its position is a uniform number of [a,b). If every pick follows its distribution given the
    earlier picks, all positions are independent and uniform (Rosenblatt's transform). This tests
    late picks too, whose marginal distribution has no closed form. Rows are ordered by index or by
    falling distance; the second order is sensitive to draws from outdated distances."""
    near, positions = D[picks[0]].copy(), []
    left = np.zeros(len(D))
    left[rows] = 1
    left[picks[0]] = 0
    for pick in picks[1:]:
        mass = near * left
        if mass.sum() == 0:
            mass = left
        order = np.argsort(-mass, kind="stable") if by_distance else np.arange(len(D))
        upto = np.cumsum(mass[order])
        at = int(np.flatnonzero(order == pick)[0])
        low = upto[at - 1] if at else 0.0
        positions.append((low + rng.random() * (upto[at] - low)) / upto[-1])
        near = np.minimum(near, D[pick])
        left[pick] = 0
    return positions
