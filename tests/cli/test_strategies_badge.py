# SPDX-License-Identifier: Apache-2.0
"""badge: k-means++ on hallucinated gradients. Its picks are random, so their distribution is tested,
too, by chi-square over many seeds."""
import itertools
import unittest

import numpy as np

from reference import (allowed, badge_factored, badge_pair_law, draw_law, draw_positions, embed,
                       loss_gradients, noise, softmax, squared_distances)
from strategycase import StrategyCase


def clusters(seed, n, d, classes, count, spread):
    """Features and logits in `count` tight clusters."""
    rng = np.random.default_rng(seed)
    H, Z = noise(seed, count, d, classes, confident=2.0)
    kind = rng.integers(0, count, n)
    return (H[kind] + spread * rng.standard_normal((n, d)),
            Z[kind] + spread * rng.standard_normal((n, classes)))


class References(unittest.TestCase):
    def test_dense_and_factored_distances_agree(self):
        for bias, normalise in itertools.product((0, 1), (0, 1)):
            H, Z = noise(1, 40, 6, 5)
            P, H = softmax(Z), embed(H, bias, normalise)
            G = loss_gradients(P, H)
            N, D = badge_factored(P, H)
            np.testing.assert_allclose((G * G).sum(axis=1), N, rtol=1e-12)
            np.testing.assert_allclose(squared_distances(G), D, rtol=1e-10, atol=1e-13 * N.max())

    def test_probabilities_sum_to_one_and_are_zero_for_copies(self):
        H, Z = noise(2, 8, 4, 3)
        H[5], Z[5] = H[2], Z[2]
        D = squared_distances(loss_gradients(softmax(Z), H))
        self.assertEqual(draw_law(D, range(8), [2])[5], 0)
        self.assertAlmostEqual(sum(badge_pair_law(D, range(8), 2).values()), 1)

    def test_positions_are_uniform_for_the_right_distribution_only(self):
        # Draws proportional to the distance instead of the squared distance must be detected.
        D = squared_distances(noise(3, 40, 3, 2)[0])
        rng = np.random.default_rng(3)
        for power, uniform in ((1, True), (.5, False)):
            positions = []
            for _ in range(100):
                picks = [0]
                while len(picks) < 30:
                    law = draw_law(D ** power, range(40), picks)
                    picks.append(int(rng.choice(40, p=law)))
                positions += draw_positions(D, range(40), picks, rng, by_distance=True)
            case = StrategyCase()
            if uniform:
                case.assert_uniform(positions)
            else:
                self.assertRaises(AssertionError, case.assert_uniform, positions)


class Rules(StrategyCase):
    def test_labelled_rows_neither_attract_nor_repel(self):
        H, Z = noise(4, 60, 5, 4)
        rows = np.arange(20, 60)
        labels = np.where(np.arange(60) < 20, 1, -1)
        for seed in range(5):
            whole = self.inputs(features=H, logits=Z, labels=labels)
            indices, scores = self.pick("badge", 15, whole, seed=seed)
            G = loss_gradients(softmax(Z), embed(H))
            self.check_badge((indices, scores), G, rows, 15)

    def test_of_equal_norms_the_lowest_index_is_first(self):
        H, Z = noise(5, 30, 7, 4)
        for dtype in ("f4", "f8"):
            H[20:], Z[20:] = 3 * H[9], Z[9]
            args = self.inputs(features=H.astype(dtype), probs=softmax(Z).astype(dtype))
            self.assertEqual(self.pick("badge", 1, args)[0], [20])

    def test_of_equally_likely_classes_the_first_is_the_label(self):
        P = np.array([[.4, .4, .2], [.2, .4, .4], [.4, .2, .4], [1 / 3] * 3])
        H = np.array([[1.0, 0], [1, .5], [1, .25], [1, 2]])
        for arrays in ({"probs": P}, {"logits": np.log(P)}):
            for seed in range(4):
                self.check("badge", 4, self.inputs(features=H, **arrays), features=H, **arrays,
                           seed=seed)

    def test_copies_are_picked_last_and_score_zero(self):
        kinds = np.random.default_rng(6).permutation(np.repeat(np.arange(5), 12))
        H, Z = noise(6, 5, 33, 4)
        for dtype in ("f4", "f8"):
            args = self.inputs(features=H.astype(dtype)[kinds],
                               probs=softmax(Z).astype(dtype)[kinds])
            for seed in range(10):
                indices, scores = self.pick("badge", 20, args, seed=seed)
                self.assertEqual(sorted(kinds[indices[:5]]), [0, 1, 2, 3, 4])
                self.assertEqual(scores[5:], [0] * 15)
                self.assertEqual(len(set(indices)), 20)

    def test_without_any_gradient_all_rows_score_zero(self):
        P = np.tile([0, 1.0, 0], (40, 1))
        H, _ = noise(7, 40, 5, 3)
        for arrays in ({"features": H, "probs": P},
                       {"features": np.zeros((40, 5)), "probs": np.full((40, 3), 1 / 3)}):
            indices, scores = self.pick("badge", 40, self.inputs(**arrays))
            self.assertEqual(sorted(indices), list(range(40)))
            self.assertEqual(scores, [0] * 40)

    def test_rows_of_zeros_with_normalise(self):
        H, Z = noise(8, 40, 5, 3)
        H[::4] = 0
        for dtype in ("f4", "f8"):
            arrays = {"features": H.astype(dtype), "logits": Z}
            for bias in (0, 1):
                self.check("badge", 40, self.inputs(**arrays), **arrays, bias=bias, normalise=1)

    def test_another_seed_gives_other_picks(self):
        H, Z = noise(9, 500, 5, 3)
        args = self.inputs(features=H, logits=Z)
        chosen = self.pick_with_seeds("badge", 20, args, [0, 1, 2**32, 2**63])
        self.assertEqual(len({tuple(c) for c in chosen}), 4)
        self.assertEqual(len({c[0] for c in chosen}), 1)


class Precision(StrategyCase):
    def check_seeds(self, H, batch=50, **outputs):
        arrays = {"features": H, **outputs}
        for seed in range(2):
            self.check("badge", batch, self.inputs(**arrays), **arrays, seed=seed)

    def test_any_scale(self):
        H, Z = noise(10, 60, 9, 4)
        for dtype, scale in (("f4", 1e-30), ("f4", 1e-15), ("f4", 1e25), ("f8", 1e-100),
                             ("f8", 1e100), ("f2", 1e-3), ("f2", 1e4)):
            for bias, normalise in itertools.product((0, 1), (0, 1)):
                with self.subTest(dtype=dtype, scale=scale, bias=bias, normalise=normalise):
                    arrays = {"features": (H * scale).astype(dtype), "logits": Z}
                    self.check("badge", 50, self.inputs(**arrays), **arrays, bias=bias,
                               normalise=normalise)

    def test_subnormal_doubles_have_no_square(self):
        H, Z = noise(19, 10, 3, 4)
        self.check_seeds(H * 1e-310, batch=10, logits=Z)

    def test_next_to_a_bias_tiny_features_do_not_count(self):
        H, Z = noise(20, 12, 3, 4)
        for scale in (1e-200, 1e-310):
            with self.subTest(scale=scale):
                arrays = {"features": H * scale, "logits": Z}
                self.check("badge", 12, self.inputs(**arrays), **arrays, bias=1)

    def test_distances_far_below_the_largest_norm_are_drawn_from(self):
        H = np.array([[1e9], [1.0], [2], [4], [8]])
        args = self.inputs(features=H, probs=np.full((5, 2), 0.5))
        chosen = self.pick_with_seeds("badge", 3, args, range(60))
        self.assertEqual({c[0] for c in chosen}, {0})
        # The second pick is any of the four small rows, which are all 1e9 away. The third is then at
        # least 4 away from the second with probability 0.82 (49/59, 36/41, 16/29 and 1 for the four
        # rows); if it were drawn uniformly, 0.5. The standard error of 60 runs is 0.05.
        far = [abs(H[c[2], 0] - H[c[1], 0]) >= 4 for c in chosen]
        self.assertGreater(np.mean(far), 0.65)

    def test_probabilities_whose_squares_vanish_in_float32(self):
        P = np.array([[1, 1e-25, 0], [1, 5e-25, 0], [1, 0, 2e-25], [1, 3e-25, 1e-25]], "f4")
        H = np.array([[1.0, 0], [0, 1], [1, 1], [2, 0]], "f4")
        self.check_seeds(H, batch=4, probs=P)

    def test_a_large_common_offset(self):
        H, Z = noise(11, 60, 9, 4)
        for dtype, offset in (("f4", 100), ("f4", 1e4), ("f8", 1e8)):
            with self.subTest(dtype=dtype, offset=offset):
                self.check_seeds((H + offset).astype(dtype), logits=Z)

    def test_rows_of_very_different_norms(self):
        H, Z = noise(12, 60, 9, 4)
        H *= 10.0 ** np.linspace(-8, 8, 60)[:, None]
        for dtype in ("f4", "f8"):
            with self.subTest(dtype=dtype):
                self.check_seeds(H.astype(dtype), logits=Z)

    def test_confident_probabilities(self):
        # All rows are confident: their tiny gradients are all that distinguishes them.
        H, _ = noise(13, 60, 9, 4)
        rng = np.random.default_rng(13)
        for rest in (1e-3, 1e-5, 1e-6, 3e-7):
            P = np.full((60, 4), 0.0)
            split = rng.dirichlet(np.ones(3), 60) * rest
            for i, sure in enumerate(rng.integers(0, 4, 60)):
                P[i] = np.insert(split[i], sure, 1 - rest)
            for dtype in ("f4", "f8"):
                with self.subTest(rest=rest, dtype=dtype):
                    self.check_seeds(H.astype("f4"), probs=P.astype(dtype))

    def test_confident_logits(self):
        # The softmax is computed in double, so 1 - p = 1e-9 has seven digits left.
        H, Z = noise(14, 60, 9, 4)
        for gap in (5, 10, 20):
            sure = Z.copy()
            sure[np.arange(60), np.arange(60) % 4] += gap
            for dtype in ("f4", "f8"):
                with self.subTest(gap=gap, dtype=dtype):
                    self.check_seeds(H.astype("f4"), logits=sure.astype(dtype))

    def test_many_classes(self):
        H, Z = noise(15, 60, 9, 1000)
        for dtype in ("f4", "f8"):
            self.check_seeds(H.astype(dtype), logits=Z.astype(dtype))

    def test_tight_clusters(self):
        H, Z = clusters(17, 400, 12, 6, 25, .02)
        for dtype in ("f4", "f8"):
            with self.subTest(dtype=dtype):
                self.check_seeds(H.astype(dtype), batch=200, logits=Z.astype(dtype))


class Law(StrategyCase):
    """Each pick after the first is drawn with probability proportional to its squared distance."""

    def pairs(self, G, picked):
        """Counts and probabilities of the pairs (second pick, third pick)."""
        first = picked[0][0]
        law = badge_pair_law(squared_distances(G), range(len(G)), first)
        self.assertEqual({p[0] for p in picked}, {first})
        seen = [tuple(p[1:3]) for p in picked]
        self.assertLessEqual(set(seen), set(law))
        return [seen.count(pair) for pair in law], list(law.values())

    def positions(self, arrays, batch, seeds, **opts):
        """Positions (seeds, batch - 1) for both orders of the rows; see draw_positions()."""
        H = embed(arrays["features"], opts.get("bias", 0))
        P = softmax(arrays["logits"])
        rows = allowed(len(H), arrays.get("labels"), arrays.get("candidates"))
        D = badge_factored(P, H)[1] if len(H) > 500 else squared_distances(loss_gradients(P, H))
        picked = self.pick_with_seeds("badge", batch, self.inputs(**arrays), seeds, **opts)
        for by_distance in (False, True):
            rng = np.random.default_rng(1)
            yield np.array([draw_positions(D, rows, picks, rng, by_distance) for picks in picked])

    def test_second_and_third_pick_follow_their_distribution(self):
        H, Z = noise(20, 8, 4, 3)
        args = self.inputs(features=H.astype("f4"), logits=Z.astype("f4"))
        picked = self.pick_with_seeds("badge", 3, args, range(3000))
        self.assert_law(*self.pairs(loss_gradients(softmax(Z), embed(H)), picked))

    def test_second_and_third_pick_among_copies_follow_their_distribution(self):
        kinds = np.array([0, 1, 2, 0, 3, 1, 4, 0])
        H, Z = noise(21, 5, 4, 3)
        H, Z = H[kinds], Z[kinds]
        args = self.inputs(features=H.astype("f4"), logits=Z.astype("f4"))
        picked = self.pick_with_seeds("badge", 3, args, range(1500))
        self.assert_law(*self.pairs(loss_gradients(softmax(Z), embed(H)), picked))

    def test_picks_are_uniform_once_only_copies_are_left(self):
        kinds = np.array([0, 1, 1, 0, 1, 0, 1, 1, 0, 1])
        H, Z = noise(22, 2, 4, 3)
        args = self.inputs(features=H[kinds], logits=Z[kinds])
        picked = self.pick_with_seeds("badge", 4, args, range(1000))
        D = squared_distances(loss_gradients(softmax(Z[kinds]), H[kinds]))
        rng = np.random.default_rng(1)
        later = [draw_positions(D, range(10), p, rng, by_distance=False)[1:] for p in picked]
        self.assert_uniform(np.ravel(later), bins=20)

    def test_every_pick_among_tight_clusters_follows_its_distribution(self):
        # At the last picks every cluster has many picks. Distances from early steps are hundreds of
        # times too large and must not be used.
        for dtype, spread, runs in (("f4", .05, 60), ("f8", .002, 30)):
            H, Z = clusters(23, 300, 8, 5, 30, spread)
            arrays = {"features": H.astype(dtype), "logits": Z.astype(dtype)}
            for positions in self.positions(arrays, 150, range(runs)):
                with self.subTest(dtype=dtype):
                    self.assert_uniform(positions[:, :29])
                    self.assert_uniform(positions[:, 29:60])
                    self.assert_uniform(positions[:, -60:])

    def test_every_pick_among_thousands_of_rows_follows_its_distribution(self):
        H, Z = clusters(24, 3000, 16, 10, 60, .1)
        arrays = {"features": H.astype("f4"), "logits": Z.astype("f4")}
        for positions in self.positions(arrays, 400, range(12)):
            self.assert_uniform(positions)

    def test_every_pick_of_candidates_with_a_bias_follows_its_distribution(self):
        H, Z = noise(25, 120, 6, 4)
        arrays = {"features": H, "logits": Z, "labels": np.where(np.arange(120) % 4, -1, 0),
                  "candidates": np.arange(20, 110)}
        for positions in self.positions(arrays, 60, range(60), bias=1):
            self.assert_uniform(positions)

    def test_the_scale_of_the_features_does_not_change_the_distribution(self):
        H, Z = noise(26, 60, 6, 4)
        for dtype, scale in (("f4", 1e-30), ("f4", 1e25), ("f8", 1e-100), ("f8", 1e100)):
            arrays = {"features": (H * scale).astype(dtype), "logits": Z}
            for positions in self.positions(arrays, 40, range(40)):
                with self.subTest(dtype=dtype, scale=scale):
                    self.assert_uniform(positions, bins=20)

    def test_confident_rows_are_drawn_by_their_tiny_distances(self):
        H, Z = noise(27, 60, 6, 4)
        Z[np.arange(60), np.arange(60) % 4] += 18
        arrays = {"features": H.astype("f4"), "logits": Z.astype("f4")}
        for positions in self.positions(arrays, 40, range(60)):
            self.assert_uniform(positions, bins=20)


if __name__ == "__main__":
    unittest.main()
