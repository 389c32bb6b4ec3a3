# SPDX-License-Identifier: Apache-2.0
"""What each strategy promises, computed the slow and obvious way in float64.

Nothing here is fast or clever on purpose: gradients are built whole, distances are sums of
squared differences, every step of a greedy choice looks at every row. The last part is a test
case that runs a strategy and judges what it prints against that.
"""
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from scantcli import Case, run

# ---- the worked example -----------------------------------------------------------------

# Six rows of three classes and two features, and two labelled rows.
FIXTURE_Z = np.array([[2, 0, -1], [.5, .4, .3], [1, 1, -2], [-1, 2, .5], [0, 0, 3], [.2, -.3, .1]])
FIXTURE_H = np.array([[1, 0], [0, 1], [1, 1], [2, -1], [-1, .5], [.5, .5]])
FIXTURE_LABELLED_Z = np.array([[1, 0, 0], [0, 1, -1.0]])
FIXTURE_LABELLED_H = np.array([[1, 2], [-2, 1.0]])
FIXTURE_LABELS = np.array([-1, -1, -1, -1, -1, -1, 0, 1])
# Its values are given to six decimals.
SIX = 6e-7

# ---- the pool ---------------------------------------------------------------------------


def real(array):
    """The numbers of an array in any type and byte order, as native float64."""
    return np.asarray(array).astype(np.float64)


def softmax(logits, dtype=np.float64):
    """In long double 1 - p of a sure row keeps the digits that float64 loses."""
    Z = np.asarray(logits).astype(dtype)
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


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


def badge_rows(P, H):
    """The dense gradients a x h+ (n, C*d), a = p - e of the first arg max. H is h+."""
    A = residuals(P, real(P).argmax(axis=1))
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


# ---- judging the program ----------------------------------------------------------------

SCORED = {"confidence": confidence, "margin": margin, "entropy": entropy}
STRATEGIES = ("random", "confidence", "margin", "entropy", "egl", "coreset", "badge")
NEEDS = {"random": ("features",), "confidence": ("probs",), "margin": ("probs",),
         "entropy": ("probs",), "egl": ("probs", "features"), "coreset": ("features",),
         "badge": ("probs", "features")}

HEADER = "rank,index,weight,score"

# Scores in double, printed with nine digits: half a unit of the ninth is 5e-9 of a number that
# begins with 1, at most. A softmax is known to a few 1e-16 a class, or to 2e-15 where its terms
# are rounded so that their order does not matter; 1 - p keeps that error whatever remains.
SCORE_RELATIVE = 6e-9
SCORE_ABSOLUTE = 2e-15  # a class
# Two rows whose true scores differ by less may stand in either order: the last bits of a sum
# depend on its order.
SAME_SCORE = 1e-13
# What the contract grants to distances in float32.
DISTANCE_RELATIVE = 1e-5


class StrategyCase(Case):
    """Runs strategies and judges what they print."""

    def inputs(self, **arrays):
        """Saves the arrays that are not None and returns the flags that name them."""
        args = []
        for flag, array in arrays.items():
            if array is not None:
                args += ["--" + flag, self.save(flag, np.ascontiguousarray(array))]
        return args

    def pick(self, strategy, batch, args, **opts):
        """Indices and scores of a run that succeeds, the form of its table checked."""
        return self.read_table(self.ok("select", strategy, "--batch", batch, *args,
                                       *self.settings(opts)))

    @staticmethod
    def settings(opts):
        seed = ["--seed", opts.pop("seed")] if "seed" in opts else []
        return seed + [word for key, value in opts.items() for word in ("--opt", f"{key}={value}")]

    def read_table(self, text):
        lines = text.splitlines()
        self.assertEqual(lines[0], HEADER)
        indices, scores = [], []
        for rank, line in enumerate(lines[1:], 1):
            cells = line.split(",")
            self.assertEqual([cells[0], cells[2]], [str(rank), "1"], line)
            indices.append(int(cells[1]))
            scores.append(float(cells[3]))
        return indices, scores

    def pick_with_seeds(self, strategy, batch, args, seeds, **opts):
        """The indices picked with each seed, two processes at a time."""
        def one(seed):
            done = run("select", strategy, "--batch", batch, "--threads", 1, "--seed", seed,
                       *args, *self.settings(dict(opts)))
            self.assertEqual(done.returncode, 0, done.stderr)
            return self.read_table(done.stdout)[0]

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(one, seeds))

    def assert_law(self, counts, chances):
        statistic, limit = chi_square(counts, chances)
        self.assertLess(statistic, limit, "the frequencies do not follow the law")

    def assert_uniform(self, positions, bins=40):
        counts, _ = np.histogram(positions, bins=bins, range=(0, 1))
        self.assert_law(counts, np.full(bins, 1 / bins))

    def judge_rows(self, indices, rows, batch):
        """What holds for every strategy."""
        self.assertEqual(len(indices), min(batch, len(rows)))
        self.assertEqual(len(set(indices)), len(indices), "a row picked twice")
        self.assertLessEqual(set(indices), set(int(i) for i in rows), "a row not allowed")

    def judge_scores(self, picked, truth, rows, batch, rounding):
        """picked is the batch largest of truth, each with its score. rounding is the error
        that a row's score may have however small it is."""
        indices, scores = picked
        self.judge_rows(indices, rows, batch)
        expected = [truth[i] for i in ranked(truth, rows, batch)]
        for rank, (i, score, best) in enumerate(zip(indices, scores, expected), 1):
            where = f"rank {rank}, row {i}: score {score}, truth {truth[i]}, best {best}"
            self.assertLessEqual(abs(score - truth[i]),
                                 SCORE_RELATIVE * abs(truth[i]) + rounding[i], where)
            self.assertLessEqual(abs(truth[i] - best), SAME_SCORE * abs(best) + rounding[i], where)

    def judge_coreset(self, picked, X, rows, batch, labelled=(), blur=0.0):
        """Every pick is a farthest row from what was there before it, and says how far. Rows
        themselves are known to blur: 0 unless the program had to scale them."""
        indices, scores = picked
        self.judge_rows(indices, rows, batch)
        steps = CoresetSteps(X, rows, labelled)
        for rank, (i, score) in enumerate(zip(indices, scores), 1):
            worth, best = steps.worth(), steps.worth()[steps.best()]
            where = f"rank {rank}, row {i}: score {score}, truth {abs(worth[i])}, best {abs(best)}"
            self.assertLessEqual(abs(score - abs(worth[i])),
                                 DISTANCE_RELATIVE * abs(worth[i]) + blur, where)
            # Two distances, each right to the tolerance, may change places.
            self.assertGreaterEqual(worth[i], best - 2 * (DISTANCE_RELATIVE * abs(best) + blur),
                                    where)
            steps.take(i)

    def judge_badge(self, picked, G, rows, batch):
        """The first has the largest norm; each later one says its squared distance to those
        before, and has one unless nothing has. G is dense."""
        indices, scores = picked
        self.judge_rows(indices, rows, batch)
        if not indices:
            return
        N = (G * G).sum(axis=1)
        first = indices[0]
        self.assertGreaterEqual(N[first], N[rows].max() * (1 - 2 * DISTANCE_RELATIVE))
        self.assertLessEqual(abs(scores[0] - N[first]), DISTANCE_RELATIVE * N[first])
        near, nearest = ((G - G[first]) ** 2).sum(axis=1), np.full(len(G), first)
        left = np.zeros(len(G), bool)
        left[rows] = True
        left[first] = False
        for rank, (i, score) in enumerate(zip(indices[1:], scores[1:]), 2):
            where = f"rank {rank}, row {i}: score {score}, truth {near[i]}"
            self.assertLessEqual(abs(score - near[i]),
                                 DISTANCE_RELATIVE * max(N[i], N[nearest[i]]), where)
            self.assertGreaterEqual(score, 0, where)
            if near[i] == 0:
                self.assertLessEqual(near[left].max(), DISTANCE_RELATIVE * N[rows].max(),
                                     where + ": a copy while others are apart")
            distance = ((G - G[i]) ** 2).sum(axis=1)
            nearest = np.where(distance < near, i, nearest)
            near = np.minimum(near, distance)
            left[i] = False

    def judge(self, strategy, batch, args, features=None, probs=None, logits=None, labels=None,
              candidates=None, seed=None, bias=None, normalise=0):
        """Runs a strategy on what args names and judges it by the same arrays; its picks."""
        opts = {"seed": seed, "bias": bias, "normalise": normalise or None}
        picked = self.pick(strategy, batch, args,
                           **{key: value for key, value in opts.items() if value is not None})
        n = len(next(a for a in (features, probs, logits) if a is not None))
        rows = allowed(n, labels, candidates)
        P = softmax(logits, np.longdouble) if logits is not None else probs
        if strategy == "random":
            self.judge_rows(picked[0], rows, batch)
            self.assertLessEqual(set(picked[1]), {0.0})
        elif strategy in SCORED:
            rounding = np.full(n, SCORE_ABSOLUTE * P.shape[1])
            self.judge_scores(picked, SCORED[strategy](P), rows, batch, rounding)
        elif strategy == "egl":
            H = embed(features, 1 if bias is None else bias, normalise)
            rounding = SCORE_ABSOLUTE * P.shape[1] * np.sqrt((H * H).sum(axis=1))
            self.judge_scores(picked, egl(P, H), rows, batch, rounding)
        elif strategy == "coreset":
            labelled = [] if labels is None else np.flatnonzero(np.asarray(labels) != -1)
            # Unit length is reached to a few units in the last place of the type used.
            blur = normalise * (1e-14 if np.asarray(features).itemsize == 8 else 1e-6)
            self.judge_coreset(picked, embed(features, 0, normalise), rows, batch, labelled, blur)
        else:
            G = badge_rows(P, embed(features, bias or 0, normalise))
            self.judge_badge(picked, G, rows, batch)
        return picked
