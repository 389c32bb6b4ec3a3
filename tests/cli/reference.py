# SPDX-License-Identifier: Apache-2.0
"""What each strategy promises, computed the slow and obvious way in float64.

Nothing here is fast or clever on purpose: gradients are built whole, distances are sums of
squared differences, every step of a greedy choice looks at every row. The families that need
more have a file each; judge.py runs strategies and judges what they print against all that.
"""
import math

import numpy as np

# ---- what may differ ------------------------------------------------------------------

# Scores in double, printed with nine digits: half a unit of the ninth is 5e-9 of a number that
# begins with 1, at most. A softmax is known to a few 1e-16 a class, or to 2e-15 where its terms
# are rounded so that their order does not matter; 1 - p keeps that error whatever remains.
SCORE_RELATIVE = 6e-9
SCORE_ABSOLUTE = 2e-15  # a class
# Two rows whose true scores differ by less may stand in either order: the last bits of a sum
# depend on its order.
SAME_SCORE = 1e-13
# Of the difference of two entropies in double, which are a few nats.
INFORMATION = 3e-14
# Values given to six decimals.
SIX = 6e-7
# What the contract grants to distances in float32.
DISTANCE_RELATIVE = 1e-5
# Sums in double of thousands of terms, printed in full: of the sum of the terms' sizes.
SUMS = 1e-12
# Results of many steps, each of which sums in double, where no choice hangs by a thread.
STEPS = 1e-8
# What the contract grants to lambda, of the largest eigenvalue.
LAMBDA = 1e-10
# Where a logarithm's argument is held to at least 1e-12, x log x is off by less than this.
CLAMPED = 4e-13

# ---- the pool ---------------------------------------------------------------------------


def real(array):
    """The numbers of an array in any type and byte order, as native float64."""
    return np.asarray(array).astype(np.float64)


def softmax(logits, dtype=np.float64):
    """In long double 1 - p of a sure row keeps the digits that float64 loses."""
    Z = np.asarray(logits).astype(dtype)
    E = np.exp(Z - Z.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def allowed(n, labels=None, candidates=None):
    """The rows that may be picked, in rising order."""
    free = np.ones(n, bool) if labels is None else np.asarray(labels) == -1
    if candidates is not None:
        listed = np.zeros(n, bool)
        listed[np.asarray(candidates, dtype=np.int64)] = True
        free &= listed
    return np.flatnonzero(free)


def embed(features, bias=0, normalise=0):
    """h+ of every row: scaled to unit length first if asked, then a 1 appended if asked.
    A row of zeros has no direction and stays what it is."""
    H = real(features)
    if normalise:
        length = np.sqrt((H * H).sum(axis=1, keepdims=True))
        H = np.divide(H, length, out=np.zeros_like(H), where=length > 0)
    if bias:
        H = np.hstack([H, np.ones((len(H), 1))])
    return H


def noise(seed, n, d, classes, confident=1.0):
    """Features and logits without structure; a large confident makes sure models."""
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
    """p - e_y of every row for the given class of each."""
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
    """The batch largest of rows; of equals the lowest index first."""
    return sorted(rows, key=lambda i: (-scores[i], i))[:batch]


# ---- distances --------------------------------------------------------------------------


def squared_distances(X):
    """(n,n), by differences: exact 0 for equal rows, nothing cancels."""
    return np.stack([((X - x) ** 2).sum(axis=1) for x in X]) if len(X) else np.zeros((0, 0))


def mean_row(X):
    """The mean, taken about the first row so that a common offset costs no digits."""
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
    """Farthest-first, one pick at a time, whoever makes the picks."""

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
        """What the next pick maximises; its magnitude is the score. Without labels the first
        pick is to be near the mean, so there it is that distance, negative."""
        if self.first:
            return -np.sqrt(((self.X - mean_row(self.X)) ** 2).sum(axis=1))
        return self.D

    def best(self):
        """Of equals the lowest index, as argmax has it."""
        return int(np.argmax(np.where(self.free, self.worth(), -np.inf)))

    def take(self, i):
        self.near(i)
        self.free[i] = False
        self.first = False


# ---- badge ------------------------------------------------------------------------------


def loss_gradients(P, H, labels=None):
    """The dense gradients a x h+ (n, C*d), a = p - e of the label where there is one, else of
    the first arg max. H is h+."""
    classes = real(P).argmax(axis=1)
    if labels is not None:
        classes = np.where(np.asarray(labels) >= 0, labels, classes)
    A = residuals(P, classes)
    return (A[:, :, None] * H[:, None, :]).reshape(len(A), -1)


def badge_factored(P, H):
    """Squared norms (n) and squared distances (n,n) of the same rows, never building them."""
    A = residuals(P, real(P).argmax(axis=1))
    N = (A * A).sum(axis=1) * (H * H).sum(axis=1)
    D = np.maximum(N[:, None] + N[None, :] - 2 * (A @ A.T) * (H @ H.T), 0)
    np.fill_diagonal(D, 0)
    return N, D


def draw_law(D, rows, taken):
    """The chances (n) of the next pick of k-means++ after taken: in proportion to the squared
    distance to the nearest taken; all of them 0: even chances among the rest."""
    near = D[taken].min(axis=0)
    left = np.zeros(len(D))
    left[[i for i in rows if i not in taken]] = 1
    mass = near * left
    return mass / mass.sum() if mass.sum() > 0 else left / left.sum()


def badge_pair_law(D, rows, first):
    """{(second, third): chance} given the first pick."""
    law = {}
    for i, p in enumerate(draw_law(D, rows, [first])):
        if p > 0:
            for j, q in enumerate(draw_law(D, rows, [first, i])):
                if q > 0:
                    law[i, j] = p * q
    return law


# ---- dynamic ----------------------------------------------------------------------------


def speed(G, rows):
    """G(S): the squared length of the summed gradient of rows."""
    total = G[list(rows)].sum(axis=0)
    return (total * total).sum()


def dynamic(G, labelled, gamma):
    """|g|^2 + gamma g.sum over labelled of g; gamma inf: the second term alone."""
    inner = (G * G[list(labelled)].sum(axis=0)).sum(axis=1)
    return inner if np.isinf(gamma) else (G * G).sum(axis=1) + gamma * inner


# ---- chance -----------------------------------------------------------------------------


def chi_square_limit(freedom):
    """What a chi-square statistic exceeds once in 10,000 (Wilson and Hilferty's cube, good to
    a percent here). Seeds are fixed, so a test that passes once passes always."""
    v = 2 / (9 * freedom)
    return freedom * (1 - v + 3.719 * math.sqrt(v)) ** 3


def chi_square(counts, chances):
    """The statistic and its limit. Cells that expect fewer than 5 are counted together, rare
    ones first, as the law of the statistic holds only for well-filled cells."""
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
    """Where each pick after the first fell in the law it was drawn from, as a number in (0,1).

    A pick that occupies [a,b) of the cumulative law, rows laid out in order, yields a uniform
    number of [a,b). If every pick follows its law given those before, all the numbers are
    independent and uniform (Rosenblatt's transform): so late picks, whose own law nobody can
    write down, are tested too. Rows lie by index, or far ones first; the second is sensitive
    to draws from distances that are too old."""
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
