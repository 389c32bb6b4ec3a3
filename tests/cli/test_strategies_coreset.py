# SPDX-License-Identifier: Apache-2.0
"""coreset: farthest-first, starting from the labelled rows or from the row nearest the mean."""
import itertools
import unittest

import numpy as np

from reference import allowed, coreset, embed, noise
from strategycase import StrategyCase


class References(unittest.TestCase):
    """The reference agrees with values computed by hand and with properties of farthest-first."""

    def test_three_points_on_a_line(self):
        X = np.array([[0.0], [1], [10]])
        self.assertEqual(coreset(X, [1, 2], 2, [0]), ([2, 1], [10, 1]))

    def test_the_radius_is_within_twice_the_best(self):
        rng = np.random.default_rng(1)
        for _ in range(20):
            X = rng.standard_normal((9, 2))
            distance = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
            picks, scores = coreset(X, range(9), 4)
            self.assertEqual(scores[1:], sorted(scores[1:], reverse=True))
            best = min(distance[list(some)].min(axis=0).max()
                       for some in itertools.combinations(range(9), 3))
            self.assertLessEqual(distance[picks[:3]].min(axis=0).max(), 2 * best)

    def test_a_row_of_zeros_has_no_direction(self):
        X = embed(np.array([[3.0, 4], [0, 0]]), bias=1, normalise=1)
        np.testing.assert_allclose(X, [[.6, .8, 1], [0, 0, 1]], rtol=1e-15)


class Labels(StrategyCase):
    """Picks keep their distance from labelled rows, however many there are."""

    def test_any_number_of_labelled_rows_agrees_with_the_reference(self):
        H, _ = noise(2, 400, 7, 2)
        for dtype in ("f4", "f8"):
            for count, batch in ((1, 100), (3, 100), (63, 20), (64, 20), (65, 20), (150, 20),
                                 (350, 50), (399, 1)):
                with self.subTest(dtype=dtype, count=count):
                    labels = np.full(400, -1)
                    labels[np.random.default_rng(count).permutation(400)[:count]] = 0
                    arrays = {"features": H.astype(dtype), "labels": labels}
                    self.check("coreset", batch, self.inputs(**arrays), **arrays)

    def test_which_class_a_label_names_does_not_matter(self):
        H, _ = noise(3, 100, 4, 2)
        labels = np.where(np.arange(100) % 9, -1, 0)
        plain = self.pick("coreset", 30, self.inputs(features=H, labels=labels))
        named = np.where(labels == 0, np.arange(100), -1)
        self.assertEqual(self.pick("coreset", 30, self.inputs(features=H, labels=named)), plain)

    def test_labels_of_only_minus_one_are_the_same_as_no_labels(self):
        H, _ = noise(4, 100, 4, 2)
        plain = self.pick("coreset", 30, self.inputs(features=H))
        none = self.inputs(features=H, labels=np.full(100, -1))
        self.assertEqual(self.pick("coreset", 30, none), plain)

    def test_unlabelled_rows_that_are_not_candidates_do_not_count(self):
        H = np.array([[0.0], [9], [10], [4]])
        arrays = {"features": H, "labels": np.array([0, -1, -1, -1]),
                  "candidates": np.array([1, 3])}
        self.assertEqual(self.check("coreset", 2, self.inputs(**arrays), **arrays)[0], [1, 3])

    def test_the_mean_is_the_whole_pools_not_the_candidates(self):
        H = np.array([[0.0], [1], [2], [3], [94]])  # mean 20
        args = self.inputs(features=H, candidates=np.array([0, 1, 2]))
        self.assertEqual(self.pick("coreset", 2, args), ([2, 0], [18, 2]))

    def test_more_picks_than_labelled_rows(self):
        H, _ = noise(5, 700, 12, 2)
        labels = np.full(700, -1)
        labels[[5, 77]] = 1
        arrays = {"features": H.astype("f4"), "labels": labels}
        self.check("coreset", 500, self.inputs(**arrays), **arrays)


class Ties(StrategyCase):
    def test_copies_go_by_index_and_come_last(self):
        # 120 copies of 6 rows with different distances: first one of each, then the copies.
        kinds = np.random.default_rng(6).integers(0, 6, 120)
        H, _ = noise(6, 6, 33, 2)
        for dtype in ("f4", "f8"):
            X = H.astype(dtype)[kinds]
            expected, scores = coreset(embed(X), range(120), 120)
            indices, printed = self.pick("coreset", 120, self.inputs(features=X))
            self.assertEqual(indices, expected)
            self.assertEqual(printed[6:], [0] * 114)
            np.testing.assert_allclose(printed, scores, rtol=1e-5)

    def test_copies_of_labelled_rows_are_at_distance_zero(self):
        H, _ = noise(7, 20, 33, 2)
        for dtype in ("f4", "f8"):
            X = np.vstack([H, H]).astype(dtype)
            labels = np.r_[np.zeros(20, int), np.full(20, -1)]
            picked = self.pick("coreset", 20, self.inputs(features=X, labels=labels))
            self.assertEqual(picked, (list(range(20, 40)), [0] * 20))

    def test_whole_numbers_tie_exactly(self):
        # Squared distances between small integers are exact in float32, so of equally distant rows the
        # lowest index must be picked.
        for seed in range(10):
            X = np.random.default_rng(seed).integers(0, 4, (60, 3))
            labels = np.full(60, -1)
            labels[seed] = 0
            expected, _ = coreset(X.astype(float), allowed(60, labels), 40, [seed])
            for dtype in ("u1", "f2", "f4", "f8"):
                with self.subTest(seed=seed, dtype=dtype):
                    args = self.inputs(features=X.astype(dtype), labels=labels)
                    self.assertEqual(self.pick("coreset", 40, args)[0], expected)

    def test_rows_equally_near_the_mean_go_by_index(self):
        X = np.array([[5, 5], [1, 0], [-1, 0], [0, 1], [-5, -5], [0, -1.0], [3, -3], [-3, 3]])
        self.assertEqual(self.pick("coreset", 1, self.inputs(features=X)), ([1], [1]))

    def test_all_rows_equal(self):
        X = np.full((50, 9), .1, "f4")
        self.assertEqual(self.pick("coreset", 50, self.inputs(features=X)),
                         (list(range(50)), [0] * 50))


class Precision(StrategyCase):
    """Scores are right to 1e-5 at any scale, offset and spread."""

    def check_features(self, H, batch, normalise=0, labelled=0):
        arrays = {"features": H, "labels": np.where(np.arange(len(H)) < labelled, 0, -1)}
        self.check("coreset", batch, self.inputs(**arrays), **arrays, normalise=normalise)

    def test_any_scale(self):
        H, _ = noise(8, 60, 9, 2)
        for dtype, scale in (("f4", 1e-30), ("f4", 1e25), ("f8", 1e-100), ("f8", 1e100),
                             ("f2", 1e-4), ("f2", 1e4)):
            for normalise, labelled in itertools.product((0, 1), (0, 5)):
                with self.subTest(dtype=dtype, scale=scale, normalise=normalise,
                                  labelled=labelled):
                    self.check_features((H * scale).astype(dtype), 50, normalise, labelled)

    def test_subnormal_doubles_have_distances(self):
        # Their squares are 0, so the expected values are computed by hand. The mean is 4.
        X = np.array([[1.0], [2], [4], [9]]) * 1e-310
        indices, scores = self.pick("coreset", 4, self.inputs(features=X))
        self.assertEqual(indices, [2, 3, 0, 1])
        np.testing.assert_allclose(np.array(scores) * 1e300 * 1e10, [0, 5, 3, 1], rtol=1e-5,
                                   atol=1e-9)

    def test_small_rows_beside_large_ones_keep_their_distances(self):
        X = np.array([[1], [0], [1e-25], [3e-25]], "f4")
        args = self.inputs(features=X, labels=np.array([0, -1, -1, -1]))
        indices, scores = self.pick("coreset", 3, args)
        self.assertEqual(indices, [1, 3, 2])
        np.testing.assert_allclose(scores, [1, 3e-25, 1e-25], rtol=1e-5)

    def test_wide_rows(self):
        # A float32 sum of so many terms of one sign would have an error of 1e-4 or more.
        X = np.zeros((4, 150_001), "f4")
        X[1], X[2], X[3] = 0.1, 0.2, 0.05
        indices, scores = self.pick("coreset", 3, self.inputs(
            features=X, labels=np.array([0, -1, -1, -1])))
        self.assertEqual(indices, [2, 1, 3])
        truth = np.sqrt(150_001) * np.array([0.2, 0.1, 0.05], "f4").astype(float)
        np.testing.assert_allclose(scores, truth, rtol=1e-5)

    def test_a_large_common_offset(self):
        H, _ = noise(9, 80, 20, 2)
        for dtype, offset in (("f4", 30), ("f4", 1e3), ("f4", 1e5), ("f8", 1e3), ("f8", 1e8)):
            for labelled in (0, 5):
                with self.subTest(dtype=dtype, offset=offset, labelled=labelled):
                    self.check_features((H + offset).astype(dtype), 60, labelled=labelled)

    def test_differences_of_doubles_below_the_resolution_of_floats(self):
        H, _ = noise(10, 80, 20, 2)
        for spread in (1e-7, 1e-8, 1e-9):
            for labelled in (0, 5):
                with self.subTest(spread=spread, labelled=labelled):
                    self.check_features(1 + spread * H, 60, labelled=labelled)

    def test_near_copies(self):
        # Ten clusters of eight rows that differ by a small spread.
        H, _ = noise(11, 10, 20, 2)
        shift, _ = noise(12, 80, 20, 2)
        for dtype, spread in (("f4", 1e-3), ("f4", 1e-5), ("f8", 1e-5), ("f8", 1e-9)):
            for labelled in (0, 5):
                with self.subTest(dtype=dtype, spread=spread, labelled=labelled):
                    self.check_features((np.tile(H, (8, 1)) + spread * shift).astype(dtype), 70,
                                        labelled=labelled)

    def test_one_row_far_out(self):
        # One outlier must not spoil the precision of the other rows.
        H, _ = noise(13, 80, 20, 2)
        for dtype, far in (("f4", 1e4), ("f4", 1e7), ("f4", 1e20), ("f8", 1e20)):
            for labelled in (0, 5):
                with self.subTest(dtype=dtype, far=far, labelled=labelled):
                    X = H.copy()
                    X[40] *= far
                    self.check_features(X.astype(dtype), 60, labelled=labelled)

    def test_one_column_far_larger_than_the_rest(self):
        H, _ = noise(14, 80, 20, 2)
        H[:, 7] = 1e6
        for dtype in ("f4", "f8"):
            for labelled in (0, 5):
                with self.subTest(dtype=dtype, labelled=labelled):
                    self.check_features(H.astype(dtype), 60, labelled=labelled)

    def test_rows_of_zeros_with_normalise(self):
        H, _ = noise(15, 40, 5, 2)
        H[::4] = 0
        for dtype in ("f4", "f8"):
            self.check_features(H.astype(dtype), 40, normalise=1)
            self.check_features(H.astype(dtype), 30, normalise=1, labelled=3)

    def test_normalised_rows_are_compared_by_direction(self):
        X = np.array([[1.0, 0], [100, 1], [0, .001], [-5, 0]])
        args = self.inputs(features=X, labels=np.array([0, -1, -1, -1]))
        indices, scores = self.pick("coreset", 3, args, normalise=1)
        self.assertEqual(indices, [3, 2, 1])
        np.testing.assert_allclose(scores, [2, np.sqrt(2), np.sqrt(2 - 2 / np.hypot(1, .01))],
                                   rtol=1e-5)


class Large(StrategyCase):
    def test_thousands_of_rows_in_clusters(self):
        rng = np.random.default_rng(16)
        centres = rng.standard_normal((40, 24)) * 5
        H = (centres[rng.integers(0, 40, 6000)] + rng.standard_normal((6000, 24)) * .3).astype("f4")
        for labels in (None, np.where(np.arange(6000) % 61, -1, 0)):
            arrays = {"features": H, "labels": labels}
            self.check("coreset", 300, self.inputs(**arrays), **arrays)


if __name__ == "__main__":
    unittest.main()
