# SPDX-License-Identifier: Apache-2.0
"""bald, batchbald and acs-fw: strategies on posterior draws, compared with the enumeration of all label
strings and with dense vectors."""
import itertools
import math
import unittest

import numpy as np

from reference_bayes import (FrankWolfe, bald, by_hand, coreset_vectors, expected_entropy,
                             joint_gain, joint_information)
from strategycase import StrategyCase

LN2 = math.log(2)


def posterior(seed, m, n, classes, sure=1.0):
    """Random posterior draws; a small `sure` gives draws that are confident and disagree."""
    return np.random.default_rng(seed).dirichlet(np.full(classes, sure), (m, n))


class References(unittest.TestCase):
    """The references agree with plain loops and with what the papers prove."""

    def test_two_contradicting_draws_give_one_bit(self):
        S = np.array([[[1.0, 0], [1, 0]], [[0, 1], [0, 1]]])
        np.testing.assert_allclose(bald(S), [LN2, LN2])
        self.assertAlmostEqual(joint_information(S, [0, 1]), LN2)

    def test_joint_information_agrees_with_loops(self):
        S = posterior(1, 5, 6, 3, .4)
        for picks in ([2], [1, 4], [5, 0, 3]):
            self.assertAlmostEqual(joint_information(S, picks), by_hand(S, picks))
            gain = joint_gain(S, picks[:-1], [picks[-1]])[picks[-1]]
            self.assertAlmostEqual(gain, by_hand(S, picks))

    def test_information_grows_and_is_bounded(self):
        S = posterior(2, 4, 8, 3, .3)
        before = 0
        for k in range(1, 9):
            now = joint_information(S, list(range(k)))
            self.assertGreaterEqual(now, before - 1e-12)
            self.assertLessEqual(now, min(math.log(4), bald(S)[:k].sum()) + 1e-12)
            before = now

    def test_frank_wolfe_never_increases_the_error(self):
        for seed in range(5):
            steps = FrankWolfe(coreset_vectors(posterior(seed, 8, 30, 3, .5)))
            before = steps.error()
            for _ in range(40):
                steps.step()
                self.assertLessEqual(steps.error(), before * (1 + 1e-12))
                before = steps.error()

    def test_frank_wolfe_gives_a_single_row_weight_one(self):
        steps = FrankWolfe(coreset_vectors(posterior(3, 8, 1, 3)))
        self.assertEqual(steps.run(1), [0])
        self.assertAlmostEqual(steps.w[0], 1, delta=1e-5)


class Bald(StrategyCase):
    def test_values_worked_by_hand(self):
        # Rows: the draws agree, contradict each other, are equally uncertain, disagree partly.
        S = np.array([[[1, 0], [1, 0], [.5, .5], [.75, .25]],
                      [[1, 0], [0, 1], [.5, .5], [.25, .75]]])
        got = self.outcome("bald", 4, self.inputs(samples=S))
        self.assertEqual(got.indices, [1, 3, 0, 2])
        quarter = LN2 + .75 * math.log(.75) + .25 * math.log(.25)
        np.testing.assert_allclose(got.scores, [LN2, quarter, 0, 0], atol=1e-15)

    def test_every_row_agrees_with_the_reference(self):
        for m, n, classes, sure in ((2, 50, 2, 1), (7, 60, 5, .2), (50, 40, 10, .05),
                                    (3, 30, 100, 1)):
            with self.subTest(m=m, classes=classes, sure=sure):
                S = posterior(m, m, n, classes, sure)
                labels = np.where(np.arange(n) % 7, -1, 1)
                for dtype in ("<f4", ">f4", "f8", "f2"):
                    arrays = {"samples": S.astype(dtype), "labels": labels}
                    self.check("bald", n, self.inputs(**arrays), **arrays)

    def test_copies_go_by_index(self):
        kinds = np.random.default_rng(5).integers(0, 5, 200)
        S = posterior(5, 6, 5, 4)[:, kinds]
        got = self.outcome("bald", 200, self.inputs(samples=S))
        for kind in range(5):
            mine = [(s, i) for s, i in zip(got.scores, got.indices) if kinds[i] == kind]
            self.assertEqual(len({s for s, _ in mine}), 1)
            self.assertEqual([i for _, i in mine], sorted(i for _, i in mine))

    def test_equal_draws_have_no_information(self):
        S = np.repeat(posterior(6, 1, 20, 3), 5, axis=0)
        got = self.outcome("bald", 20, self.inputs(samples=S))
        np.testing.assert_allclose(got.scores, 0, atol=1e-15)
        self.assertGreaterEqual(min(got.scores), 0)

    def test_information_is_at_most_the_logarithm_of_draws_and_of_classes(self):
        for m, classes in ((2, 5), (6, 2), (4, 4)):
            S = posterior(7, m, 200, classes, .01)
            got = self.outcome("bald", 200, self.inputs(samples=S))
            self.assertLessEqual(max(got.scores), math.log(min(m, classes)) + 1e-12)
            self.assertGreaterEqual(min(got.scores), 0)

    def test_thousands_of_rows(self):
        arrays = {"samples": posterior(8, 10, 5000, 6, .3).astype("f4")}
        self.check("bald", 700, self.inputs(**arrays), **arrays)


class BatchBald(StrategyCase):
    def test_a_copy_of_a_pick_is_not_picked(self):
        # Rows 0 and 1 are copies with the most information; 2 and 3 are independent of them.
        S = np.array([[[1, 0], [1, 0], [.9, .1], [.9, .1]], [[1, 0], [1, 0], [.1, .9], [.8, .2]],
                      [[0, 1], [0, 1], [.9, .1], [.3, .7]], [[0, 1], [0, 1], [.1, .9], [.1, .9]]])
        self.assertEqual(self.outcome("bald", 2, self.inputs(samples=S)).indices, [0, 1])
        got = self.outcome("batchbald", 2, self.inputs(samples=S))
        self.assertEqual(got.indices, [0, 2])
        pair = self.outcome("batchbald", 2, self.inputs(samples=S, candidates=np.array([0, 1])))
        np.testing.assert_allclose(pair.scores, [LN2, LN2], rtol=1e-12)

    def test_the_first_pick_is_that_of_bald(self):
        for seed in range(10):
            args = self.inputs(samples=posterior(seed, 5, 40, 4, .3))
            first = self.outcome("bald", 1, args)
            for mc in (1, 10000):
                got = self.outcome("batchbald", 1, args, mc=mc)
                self.assertEqual(got.indices, first.indices)
                np.testing.assert_allclose(got.scores, first.scores, rtol=1e-12)

    def test_exact_steps_agree_with_all_strings(self):
        # C^picks is at most mc in every step.
        for m, n, classes, batch, mc in ((3, 20, 2, 8, 128), (5, 15, 3, 6, 243), (4, 12, 2, 12, 2048),
                                         (10, 30, 10, 4, 1000), (6, 10, 7, 3, 10000)):
            for sure in (.1, 1):
                with self.subTest(m=m, n=n, classes=classes, sure=sure):
                    arrays = {"samples": posterior(m, m, n, classes, sure)}
                    self.check("batchbald", batch, self.inputs(**arrays), **arrays, mc=mc)

    def test_exact_scores_rise_and_are_bounded(self):
        S = posterior(11, 6, 25, 2, .2)
        got = self.outcome("batchbald", 10, self.inputs(samples=S))
        information = bald(S)
        self.assertEqual(got.scores, sorted(got.scores))
        for k, score in enumerate(got.scores, 1):
            self.assertLessEqual(score, math.log(6) + 1e-12)
            self.assertLessEqual(score, information[got.indices[:k]].sum() + 1e-12)

    def test_sampled_steps_estimate_the_information_of_all_strings(self):
        for seed in range(4):
            for m, n, classes, batch, mc in ((8, 20, 2, 11, 16), (10, 15, 3, 7, 100),
                                             (40, 20, 4, 5, 400), (5, 12, 2, 10, 1)):
                with self.subTest(seed=seed, m=m, n=n, classes=classes, mc=mc):
                    arrays = {"samples": posterior(seed, m, n, classes, .5)}
                    self.check("batchbald", batch, self.inputs(**arrays), **arrays, seed=seed,
                               mc=mc)

    def test_estimates_find_the_exact_picks_if_rows_differ_much(self):
        # With mc = 1, all steps after the first pick are sampled (2^1 > 1 strings). The three rows have
        # far more information than the others, in this order.
        models = np.array(list(itertools.product((0, 1), repeat=3)))
        S = np.full((8, 30, 2), .5)
        for row, (bit, p) in {5: (0, .99), 17: (1, .9), 22: (2, .8)}.items():
            S[:, row, 0] = np.where(models[:, bit], p, 1 - p)
            S[:, row, 1] = 1 - S[:, row, 0]
        for seed in range(5):
            got = self.outcome("batchbald", 3, self.inputs(samples=S), mc=1, seed=seed)
            self.assertEqual(got.indices, [5, 17, 22])

    def test_estimates_are_not_biased(self):
        # With one candidate for the second pick no choice favours high estimates.
        S = posterior(13, 6, 2, 4, .5)
        args = self.inputs(samples=S)
        truth = joint_information(S, [0, 1])
        scores = np.array([self.outcome("batchbald", 2, args, seed=seed, mc=3).scores[1]
                           for seed in range(400)])
        spread = scores.std() / 20
        self.assertGreater(spread, 0)
        self.assertLessEqual(abs(scores.mean() - truth), 4 * spread)

    def test_long_batches_neither_underflow_nor_fail(self):
        S = posterior(14, 10, 600, 10, .1)
        got = self.outcome("batchbald", 500, self.inputs(samples=S), mc=200)
        self.check_rows(got.indices, range(600), 500)
        self.assertTrue(all(math.isfinite(score) for score in got.scores))

    def test_copies_go_by_index(self):
        S = posterior(15, 5, 4, 3, .3)[:, np.random.default_rng(15).integers(0, 4, 40)]
        arrays = {"samples": S}
        indices, _ = self.check("batchbald", 5, self.inputs(**arrays), **arrays)
        for k, i in enumerate(indices):
            alike = [j for j in range(i) if np.array_equal(S[:, j], S[:, i])]
            self.assertLessEqual(set(alike), set(indices[:k]), "a copy with a lower index was not picked before")


class Acs(StrategyCase):
    def test_rows_and_weights_agree_with_the_reference(self):
        for seed, (m, n, classes, batch, sure) in enumerate(
                ((5, 30, 3, 4, 1), (20, 40, 4, 10, .3), (3, 50, 2, 25, .5), (30, 25, 10, 24, .2),
                 (2, 20, 5, 20, 1))):
            with self.subTest(m=m, n=n, classes=classes, batch=batch):
                arrays = {"samples": posterior(seed, m, n, classes, sure),
                          "labels": np.where(np.arange(n) % 9, -1, 0)}
                self.check("acs-fw", batch, self.inputs(**arrays), **arrays)

    def test_projections_are_the_first_draws(self):
        S = posterior(20, 12, 40, 4, .4)
        for k in (1, 2, 7, 12):
            with self.subTest(projections=k):
                self.check("acs-fw", 8, self.inputs(samples=S), samples=S, projections=k)
        args = self.inputs(samples=S)
        self.assertEqual(self.outcome("acs-fw", 8, args, projections=0).weights,
                         self.outcome("acs-fw", 8, args, projections=12).weights)

    def test_a_single_row_has_weight_one(self):
        got = self.outcome("acs-fw", 1, self.inputs(samples=posterior(21, 6, 1, 3)))
        self.assertAlmostEqual(got.weights[0], 1, delta=1e-5)

    def test_rows_that_may_not_be_picked_do_not_count(self):
        S = posterior(22, 6, 30, 3, .4)
        some = np.arange(3, 30, 2)
        part = self.outcome("acs-fw", 5, self.inputs(samples=S, candidates=some))
        alone = self.outcome("acs-fw", 5, self.inputs(samples=S[:, some]))
        self.assertEqual(part.indices, [some[i] for i in alone.indices])
        self.assertEqual(part.weights, alone.weights)

    def test_certain_draws_agree_with_the_reference(self):
        # Logarithms of 0 are clamped to those of 1e-12.
        S = np.eye(3)[np.random.default_rng(23).integers(0, 3, (6, 30))]
        arrays = {"samples": S}
        self.check("acs-fw", 7, self.inputs(**arrays), **arrays)

    def test_only_the_first_of_equal_rows_has_weight(self):
        S = posterior(24, 6, 5, 3, .4)[:, np.arange(30) % 5]
        got = self.outcome("acs-fw", 8, self.inputs(samples=S))
        heavy = [i for i, w in zip(got.indices, got.weights) if w > 0]
        self.assertLess(max(heavy), 5)

    def test_the_weighted_rows_approximate_the_pool(self):
        S = posterior(25, 10, 60, 4, .3)
        got = self.outcome("acs-fw", 20, self.inputs(samples=S))
        L = coreset_vectors(S)
        total = L.sum(axis=0)
        left = total - (L[got.indices] * np.array(got.weights)[:, None]).sum(axis=0)
        self.assertLess((left ** 2).sum(), .1 * (total ** 2).sum())

    def test_thousands_of_rows(self):
        arrays = {"samples": posterior(26, 20, 3000, 5, .3).astype("f4")}
        self.check("acs-fw", 60, self.inputs(**arrays), **arrays)


if __name__ == "__main__":
    unittest.main()
