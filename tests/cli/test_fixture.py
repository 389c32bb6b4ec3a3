# SPDX-License-Identifier: Apache-2.0
"""A worked example: six rows and two labelled ones, with three classes and two features. The expected
values were computed by an independent program, to six decimals or more."""
import itertools
import unittest

import numpy as np

from reference import SIX, embed, residuals, softmax
from reference_sparse import Sparse, from_gradients
from strategycase import StrategyCase

Z = np.array([[2, 0, -1], [.5, .4, .3], [1, 1, -2], [-1, 2, .5], [0, 0, 3], [.2, -.3, .1],
              [1, 0, 0], [0, 1, -1.0]])
H = np.array([[1, 0], [0, 1], [1, 1], [2, -1], [-1, .5], [.5, .5], [1, 2], [-2, 1.0]])
LABELS = np.array([-1, -1, -1, -1, -1, -1, 0, 1])
# Relative error of a squared distance that may be computed in float32.
SQUARED = 2e-5
# Error of expected values that are given to eight decimals.
EIGHT = 6e-9


class FixtureCase(StrategyCase):
    def args(self, *names, **more):
        """Flags for the named arrays, the labels and `more`."""
        whole = {"logits": Z, "features": H, "probs": softmax(Z)}
        return self.inputs(**{name: whole[name] for name in names}, labels=LABELS, **more)

    def each(self, strategy, *names, **opts):
        """Picks all six rows; returns their order, and the scores by row."""
        got = self.outcome(strategy, 6, self.args(*names), **opts)
        by_row = np.empty(6)
        by_row[got.indices] = got.scores
        return got.indices, by_row

    def alone(self, strategy, *names, **opts):
        """The score of each row if it is the only candidate."""
        scores = []
        for row in range(6):
            args = self.args(*names, candidates=np.array([row]))
            got = self.outcome(strategy, 1, args, **opts)
            self.assertEqual(got.indices, [row])
            scores.append(got.scores[0])
        return scores

    def assert_near(self, got, given, atol=SIX):
        np.testing.assert_allclose(got, given, rtol=0, atol=atol)


class Uncertainty(FixtureCase):
    def test_confidence(self):
        order, scores = self.each("confidence", "logits")
        self.assertEqual(order, [1, 5, 2, 3, 0, 4])
        self.assert_near(1 - scores, [.843795, .367165, .487856, .785597, .909443, .398189])

    def test_margin(self):
        order, scores = self.each("margin", "logits")
        self.assertEqual(order, [2, 1, 5, 3, 0, 4])
        self.assert_near(1 - scores, [.7296, .03494, 0, .610307, .864164, .037893])

    def test_entropy(self):
        order, scores = self.each("entropy", "logits")
        self.assertEqual(order, [1, 5, 2, 3, 0, 4])
        self.assert_near(scores, [.524267, 1.095287, .790603, .621585, .366594, 1.077614])

    def test_egl_has_the_bias_by_default(self):
        order, scores = self.each("egl", "logits", "features")
        self.assertEqual(order, [2, 1, 3, 5, 0, 4])
        self.assert_near(scores, [.510113, 1.151816, 1.246327, 1.147637, .33051, .985834])


class Coreset(FixtureCase):
    def test_order_and_radii(self):
        for dtype in ("f2", "f4", "f8"):
            args = self.inputs(features=H.astype(dtype), labels=LABELS)
            indices, scores = self.pick("coreset", 6, args)
            self.assertEqual(indices, [3, 5, 4, 0, 1, 2])
            np.testing.assert_allclose(np.square(scores), [10, 2.5, 1.25, .5, .5, .5],
                                       rtol=SQUARED)

    def test_distances_from_the_labelled_rows(self):
        scores = self.alone("coreset", "features")
        np.testing.assert_allclose(np.square(scores), [4, 2, 1, 10, 1.25, 2.5], rtol=SQUARED)


class Badge(FixtureCase):
    def test_the_first_pick_has_the_largest_norm_for_every_seed(self):
        for seed in range(5):
            got = self.outcome("badge", 1, self.args("logits", "features"), seed=seed)
            self.assertEqual(got.indices, [2])
            self.assertAlmostEqual(got.scores[0], 1.00177, delta=1e-5)

    def test_norms(self):
        norms = np.array([.039205, .601219, 1.00177, .391126, .015376, .275159])
        scores = self.alone("badge", "logits", "features")
        self.assert_near(scores, norms, atol=1e-5 * norms.max() + SIX)

    def test_norms_with_the_bias(self):
        norms = np.array([.078411, 1.202438, 1.502655, .469351, .027677, .825478])
        scores = self.alone("badge", "logits", "features", bias=1)
        self.assert_near(scores, norms, atol=1e-5 * norms.max() + SIX)

    def test_distances_to_the_first_pick(self):
        for row, squared in enumerate([.767514, .616025, 0, 1.633638, 1.013847, .407351]):
            if row != 2:
                args = self.args("logits", "features", candidates=np.array([2, row]))
                got = self.outcome("badge", 2, args)
                self.assertEqual(got.indices, [2, row])
                self.assertAlmostEqual(got.scores[1], squared, delta=1e-5 * 1.00177 + SIX)


class Dynamic(FixtureCase):
    SQUARES = np.array([.078411, 1.202438, 1.502655, .469351, .027677, .825478])
    INNER = np.array([.271312, .729068, 1.302536, -.413376, -.071592, .858769])

    def by_row(self, **opts):
        return self.each("dynamic", "logits", "features", **opts)

    def test_the_gain_in_speed(self):
        for opts in ({}, {"gamma": 2}):
            order, scores = self.by_row(**opts)
            self.assertEqual(order, [2, 1, 5, 0, 4, 3])
            self.assert_near(scores, [.621035, 2.660574, 4.107727, -.357401, -.115507, 2.543017])

    def test_squared_norms_alone(self):
        order, scores = self.by_row(gamma=0)
        self.assertEqual(order, [2, 1, 5, 3, 0, 4])
        self.assert_near(scores, self.SQUARES)

    def test_the_inner_product_alone(self):
        order, scores = self.by_row(gamma="inf")
        self.assertEqual(order, [2, 5, 1, 0, 4, 3])
        self.assert_near(scores, self.INNER)

    def test_with_gamma_1_the_inner_product_counts_once(self):
        order, scores = self.by_row(gamma=1)
        self.assertEqual(order, [2, 1, 5, 0, 3, 4])
        self.assert_near(scores, self.SQUARES + self.INNER, atol=2 * SIX)

    def test_the_gain_of_two_rows_is_not_the_sum_of_their_gains(self):
        # The set {0,3} as one row of gradients has the gain .124257. The two single gains sum to
        # .263634, and the ratio is R = 2.121676.
        A = residuals(softmax(Z), np.where(LABELS >= 0, LABELS, softmax(Z).argmax(axis=1)))
        G = (A[:, :, None] * embed(H, 1)[:, None, :]).reshape(8, -1)
        G = np.vstack([G, G[0] + G[3]])
        got = self.outcome("dynamic", 7, self.inputs(gradients=G, labels=np.r_[LABELS, -1]))
        gain = dict(zip(got.indices, got.scores))
        self.assertAlmostEqual(gain[8], .124257, delta=SIX)
        self.assertAlmostEqual((gain[0] + gain[3]) / gain[8], 2.121676, delta=SIX)


class Npc(FixtureCase):
    def test_one_row_beside_the_labelled_ones(self):
        self.assert_near(self.alone("npc", "features"),
                         [.837722, .089372, .171573, 1.55051, .133355, .386135])

    def test_the_best_row_is_found(self):
        got = self.outcome("npc", 1, self.args("features"))
        self.assertEqual(got.indices, [3])
        self.assertAlmostEqual(got.scores[0], 1.55051, delta=SIX)

    def test_two_rows_exceed_the_rank(self):
        for rows, value in (((0, 1), .876894), ((0, 3), 1.82774), ((3, 4), 2.124311)):
            args = self.args("features", candidates=np.array(rows))
            got = self.outcome("npc", 2, args)
            self.assertEqual(got.indices, list(rows))
            self.assert_near(got.scores, [value] * 2)
            self.assertAlmostEqual(got.info["lambda"], value, delta=SIX)

    def test_the_labelled_rows_alone_have_eigenvalues_5_and_7(self):
        # The candidate is orthogonal to both labelled rows, (1,2,1) x (-2,1,1) = (1,-3,5), and so long
        # that the smallest eigenvalue is theirs.
        wide = np.vstack([embed(H, 1), [10, -30, 50]])
        args = self.inputs(features=wide, labels=np.r_[LABELS, -1], candidates=np.array([8]))
        self.assert_near(self.outcome("npc", 1, args, bias=0).scores, [5])


class Crc(FixtureCase):
    def test_groups_of_one_are_ranked_as_single_rows(self):
        order, scores = self.each("crc", "features", group=1)
        self.assertEqual(order, [3, 0, 5, 2, 4, 1])
        self.assert_near(scores, [.837722, .089372, .171573, 1.55051, .133355, .386135])

    def test_a_group_of_two(self):
        for rows, value in (((0, 1), .876894), ((0, 3), 1.82774), ((3, 4), 2.124311)):
            args = self.args("features", candidates=np.array(rows))
            got = self.outcome("crc", 2, args, group=2)
            self.assertEqual(got.indices, list(rows))
            self.assert_near(got.scores, [value] * 2)


class SparseCase(FixtureCase):
    def setUp(self):
        super().setUp()
        self.ways = (self.args("logits", "features", temperature=2),
                     self.args("probs", "features", calibrated=softmax(Z / 2)),
                     self.args("logits", "features", calibrated=softmax(Z / 2)))

    @staticmethod
    def problem(alpha, beta, b=2):
        parts = from_gradients(softmax(Z)[:6], softmax(Z / 2)[:6], embed(H, 1)[:6])
        return Sparse(*parts, b, alpha, beta)

    def f1(self, got, alpha, beta):
        """f1 of the returned weights, over all six rows."""
        w = np.zeros(6)
        w[got.indices] = got.weights
        return self.problem(alpha, beta).f1(w)


class SparseParts(SparseCase):
    """The parts of the objective, as far as scores show them."""

    def test_spreads(self):
        # With a tiny tau the score is sigma^2.
        sigma = [.158751, .19233, .218315, .288916, .150429, .166008]
        for args in self.ways:
            got = self.outcome("sparse-greedy", 6, args, alpha=1, tau=1e-12)
            found = np.empty(6)
            found[got.indices] = np.sqrt(got.scores)
            self.assert_near(found, sigma)

    def test_the_reference_has_the_same_parts(self):
        it = self.problem(1, 0)
        self.assert_near(np.sqrt(it.gain), [.158751, .19233, .218315, .288916, .150429, .166008])
        self.assertAlmostEqual((it.v ** 2).sum(), .0179819, delta=6e-8)
        self.assert_near((it.Phi ** 2).sum(axis=1), [.03484193, .00027668, .00651146, .08634696,
                                                     .04010005, .00115226], atol=EIGHT)


class SparseGreedy(SparseCase):
    def test_picks_weights_and_fit(self):
        for args, (alpha, beta, picks, weights, f1) in itertools.product(self.ways, (
                (0, .001, [3, 0], [.421112, .431495], .00816456),
                (1, .001, [3, 2], [.261588, .569927], .01354898),
                (1e-8, 1e-4, [3, 0], None, .00407103))):
            got = self.outcome("sparse-greedy", 2, args, alpha=alpha, beta=beta)
            self.assertEqual(got.indices, picks)
            if weights:
                self.assert_near(got.weights, weights)
            self.assertAlmostEqual(self.f1(got, alpha, beta), f1, delta=EIGHT)


class SparseIht(SparseCase):
    def test_picks_and_fit(self):
        for args, (alpha, beta, prox, iters, rows, f1) in itertools.product(self.ways, (
                (1, .001, "exact", 1, {3, 4}, .01176591),
                (1, .001, "exact", 20, {0, 3}, .00786071),
                (1, .001, "printed", 1, {2, 3}, .01513496),
                (1, .001, "printed", 20, {2, 3}, .01354175),
                (1e-8, 1e-4, "exact", 1, {3, 4}, .00724977),
                (1e-8, 1e-4, "exact", 20, {0, 4}, .01054208),
                (1e-8, 1e-4, "printed", 1, {2, 3}, .01051376),
                (1e-8, 1e-4, "printed", 20, {2, 3}, .00928454))):
            got = self.outcome("sparse-iht", 2, args, alpha=alpha, beta=beta, prox=prox,
                               iters=iters)
            self.assertEqual(set(got.indices), rows)
            self.assertEqual(got.weights, sorted(got.weights, reverse=True))
            self.assertAlmostEqual(self.f1(got, alpha, beta), f1, delta=EIGHT)

    def test_weights(self):
        got = self.outcome("sparse-iht", 2, self.ways[0], alpha=1, beta=.001, iters=20)
        self.assertEqual(got.indices, [0, 3])
        self.assert_near(got.weights, [.533916, .449847])


if __name__ == "__main__":
    unittest.main()
