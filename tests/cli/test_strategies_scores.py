# SPDX-License-Identifier: Apache-2.0
"""random, confidence, margin, entropy and egl: values, ties, and the distribution of random picks."""
import itertools
import unittest

import numpy as np

from reference import (SIX, allowed, confidence, egl, embed, entropy, margin, noise, ranked,
                       residuals, softmax)
from strategycase import SCORED, StrategyCase


class References(unittest.TestCase):
    """The references agree with values computed by hand and with each other."""

    def test_values_worked_by_hand(self):
        P, H = np.array([[.5, .3, .2]]), np.array([[1.0]])
        self.assertAlmostEqual(confidence(P)[0], .5)
        self.assertAlmostEqual(margin(P)[0], .8)
        self.assertAlmostEqual(entropy(P)[0], 1.029653, delta=SIX)
        self.assertAlmostEqual(egl(P, H)[0], .771164, delta=SIX)

    def test_egl_agrees_with_the_closed_form(self):
        H, Z = noise(1, 30, 5, 7)
        P = softmax(Z)
        H = embed(H, bias=1)
        norm = (P * P).sum(axis=1, keepdims=True)
        closed = (P * np.sqrt(1 - 2 * P + norm)).sum(axis=1) * np.sqrt((H * H).sum(axis=1))
        np.testing.assert_allclose(egl(P, H), closed, rtol=1e-12)

    def test_the_expected_gradient_is_zero(self):
        _, Z = noise(2, 30, 5, 7)
        P = softmax(Z)
        total = sum(P[:, [y]] * residuals(P, np.full(30, y)) for y in range(7))
        np.testing.assert_allclose(total, 0, atol=1e-15)


class MarginOfLogits(StrategyCase):
    def test_it_is_the_gap_of_the_two_largest_logits(self):
        # by hand: gaps 2, 1 and 1.5
        Z = np.array([[2., 0, -9], [1, 0, 0], [1.5, 0, -9]])
        for rows in ({"logits": Z}, {"probs": softmax(Z)}):
            indices, scores = self.pick("margin", 3, self.inputs(**rows), on_logits=1)
            self.assertEqual(indices, [1, 2, 0])
            np.testing.assert_allclose(scores, [-1, -1.5, -2], atol=1e-6)

    def test_it_orders_rows_unlike_probabilities(self):
        # gaps of logits 0.5 and 0.6; of probabilities .213 and .166, because the second row has
        # more probable other classes
        Z = np.array([[.5, 0, -5, -5], [.6, 0, 0, 0]])
        args = self.inputs(logits=Z)
        self.assertEqual(self.pick("margin", 2, args, on_logits=1)[0], [0, 1])
        self.assertEqual(self.pick("margin", 2, args)[0], [1, 0])

    def test_certain_rows_come_last(self):
        Z = np.array([[900., 0], [1, 0], [-900, 0]])
        self.assertEqual(self.pick("margin", 3, self.inputs(logits=Z), on_logits=1)[0][0], 1)


class Ties(StrategyCase):
    def test_equal_rows_go_by_index(self):
        # 200 copies of 5 rows in random order: copies of a row must have ascending indices.
        kinds = np.random.default_rng(3).integers(0, 5, 200)
        H, Z = noise(3, 5, 6, 9)
        for strategy in ("confidence", "margin", "entropy", "egl"):
            for batch in (1, 50, 123, 200):
                with self.subTest(strategy, batch=batch):
                    args = self.inputs(logits=Z[kinds],
                                       features=H[kinds] if strategy == "egl" else None)
                    P = softmax(Z)
                    scores = egl(P, embed(H, 1)) if strategy == "egl" else SCORED[strategy](P)
                    indices, _ = self.pick(strategy, batch, args)
                    self.assertEqual(indices, ranked(scores[kinds], range(200), batch))

    def test_when_all_scores_are_equal_the_first_rows_are_picked(self):
        P = np.full((1000, 4), .25)
        for strategy in SCORED:
            with self.subTest(strategy):
                indices, _ = self.pick(strategy, 10, self.inputs(probs=P))
                self.assertEqual(indices, list(range(10)))

    def test_with_two_classes_mirrored_rows_tie(self):
        # The order of the classes does not matter. 0.25 and 0.75 are exact, so the ties are, too.
        P = np.array([[.9, .1], [.25, .75], [.75, .25], [.25, .75]])
        for strategy in SCORED:
            with self.subTest(strategy):
                self.assertEqual(self.pick(strategy, 4, self.inputs(probs=P))[0], [1, 2, 3, 0])

    def test_the_two_largest_may_be_equal_or_at_any_position(self):
        P = np.array([[.1, .2, .7], [.4, .2, .4], [.5, .3, .2], [.2, .3, .5], [.05, .9, .05]])
        self.check("margin", 5, self.inputs(probs=P), probs=P)


class Values(StrategyCase):
    def test_with_two_classes_confidence_margin_and_entropy_rank_alike(self):
        _, Z = noise(4, 500, 1, 2)
        orders = [self.pick(strategy, 500, self.inputs(logits=Z))[0] for strategy in SCORED]
        self.assertEqual(orders[0], orders[1])
        self.assertEqual(orders[0], orders[2])

    def test_probabilities_near_one_keep_their_digits(self):
        rest = np.array([1e-2, 1e-4, 1e-6, 1e-7, 3e-8, 1e-9, 1e-11])
        P = np.stack([1 - rest, .75 * rest, .25 * rest], axis=1)
        H, _ = noise(5, len(P), 4, 3)
        for dtype in ("f4", "f8"):
            for strategy in ("confidence", "margin", "entropy", "egl"):
                with self.subTest(strategy, dtype=dtype):
                    arrays = {"probs": P.astype(dtype),
                              "features": H if strategy == "egl" else None}
                    self.check(strategy, 7, self.inputs(**arrays), **arrays)

    def test_a_certain_row_scores_zero(self):
        P = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1.0]])
        H, _ = noise(6, 3, 4, 3)
        for strategy in ("confidence", "margin", "entropy", "egl"):
            with self.subTest(strategy):
                args = self.inputs(probs=P, features=H if strategy == "egl" else None)
                self.assertEqual(self.pick(strategy, 3, args), ([0, 1, 2], [0, 0, 0]))

    def test_distant_logits_neither_overflow_nor_lose_small_probabilities(self):
        gaps = np.array([0, 1, 10, 20, 100, 700, 1e4, 1e30])
        Z = np.stack([np.zeros(8), -gaps, -2 * gaps], axis=1)
        for shift, strategy in itertools.product((0, 1e3, -1e3), SCORED):
            with self.subTest(strategy, shift=shift):
                self.check(strategy, 8, self.inputs(logits=Z + shift), logits=Z + shift)

    def test_rows_are_not_renormalised(self):
        # Rows whose sum differs from 1 by less than 1e-3 are used unchanged.
        P = np.array([[.5, .4995], [.5004, .5004], [.7, .2992]])
        for strategy in SCORED:
            with self.subTest(strategy):
                self.check(strategy, 3, self.inputs(probs=P), probs=P)

    def test_egl_at_any_scale_of_the_features(self):
        H, Z = noise(7, 40, 6, 5)
        P = softmax(Z)
        for dtype, scale in (("f4", 1e-30), ("f4", 1e25), ("f8", 1e-100), ("f8", 1e100)):
            for bias, normalise in itertools.product((0, 1), (0, 1)):
                with self.subTest(dtype=dtype, scale=scale, bias=bias, normalise=normalise):
                    arrays = {"features": (H * scale).astype(dtype), "probs": P}
                    self.check("egl", 40, self.inputs(**arrays), **arrays, bias=bias,
                               normalise=normalise)

    def test_egl_keeps_rows_of_zeros_when_it_normalises(self):
        H, Z = noise(8, 30, 6, 5)
        H[::3] = 0
        arrays = {"features": H, "logits": Z}
        for bias in (0, 1):
            _, scores = self.check("egl", 30, self.inputs(**arrays), **arrays, bias=bias,
                                   normalise=1)
            self.assertEqual(scores.count(0.0), 0 if bias else 10)

    def test_many_rows_and_classes(self):
        _, Z = noise(9, 5000, 1, 100)
        labels = np.where(np.arange(5000) % 4, -1, 0)
        for strategy in SCORED:
            with self.subTest(strategy):
                arrays = {"logits": Z.astype("f4"), "labels": labels}
                self.check(strategy, 777, self.inputs(**arrays), **arrays)


class RandomLaw(StrategyCase):
    def test_every_order_is_equally_likely(self):
        args = self.inputs(features=np.zeros((4, 1)))
        orders = list(itertools.permutations(range(4)))
        picked = self.pick_with_seeds("random", 4, args, range(1200))
        counts = [picked.count(list(order)) for order in orders]
        self.assert_law(counts, np.full(24, 1 / 24))

    def test_every_row_is_equally_likely_at_every_rank(self):
        # Ranks 1 to 5 of the 40 unlabelled rows: each rank on its own, then all together.
        labels = np.where(np.arange(50) % 5, -1, 0)
        args = self.inputs(features=np.zeros((50, 1)), labels=labels)
        rows = allowed(50, labels)
        picked = np.array(self.pick_with_seeds("random", 5, args, range(1000)))
        for place in picked.T:
            self.assert_law(np.bincount(place, minlength=50)[rows], np.full(40, 1 / 40))
        self.assert_law(np.bincount(picked.ravel(), minlength=50)[rows], np.full(40, 1 / 40))

    def test_neighbouring_rows_are_not_picked_together_more_often(self):
        args = self.inputs(features=np.zeros((8, 1)))
        pairs = list(itertools.permutations(range(8), 2))
        picked = [tuple(p) for p in self.pick_with_seeds("random", 2, args, range(1000))]
        self.assert_law([picked.count(pair) for pair in pairs], np.full(56, 1 / 56))

    def test_all_64_bits_of_a_seed_count(self):
        args = self.inputs(features=np.zeros((1000, 1)))
        seeds = [0, 1, 2**31, 2**32, 2**32 + 1, 2**63, 2**64 - 1]
        picked = self.pick_with_seeds("random", 20, args, seeds)
        self.assertEqual(len({tuple(p) for p in picked}), len(seeds))
        self.assertEqual(self.pick_with_seeds("random", 20, args, seeds), picked)

    def test_the_default_seed_is_zero(self):
        args = self.inputs(features=np.zeros((1000, 1)))
        self.assertEqual(self.pick("random", 20, args), self.pick("random", 20, args, seed=0))

    def test_any_single_input_gives_the_number_of_rows(self):
        _, Z = noise(10, 30, 3, 4)
        by = [self.pick("random", 9, self.inputs(**{flag: array})) for flag, array in
              (("features", np.zeros((30, 2))), ("probs", softmax(Z)), ("logits", Z),
               ("labels", np.full(30, -1)))]
        self.assertEqual(by[1:], by[:1] * 3)


if __name__ == "__main__":
    unittest.main()
