# SPDX-License-Identifier: Apache-2.0
"""npc and crc: lambda is compared with a dense eigensolver's; the distribution of the random batches and
groups is tested by chi-square over many seeds."""
import itertools
import math
import unittest

import numpy as np

from reference import allowed, embed, noise
from reference_lambda import eigenvalues, independent, lowered, rank, smallest
from strategycase import StrategyCase


def partly_labelled(n, labelled):
    """Labels on the first `labelled` rows."""
    return np.where(np.arange(n) < labelled, 0, -1)


def of_rank(seed, n, d, r):
    """Features of width d and rank r."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, r)) @ rng.standard_normal((r, d))


class References(unittest.TestCase):
    """The reference agrees with values computed by hand and with properties of eigenvalues."""

    def test_two_unit_rows(self):
        # With |cos| = a the eigenvalues of two unit rows are 1 + a and 1 - a.
        for a in (0, .3, .9):
            H = np.array([[1, 0, 0], [a, math.sqrt(1 - a * a), 0], [0, 0, 1]])
            self.assertAlmostEqual(smallest(H, [0], [1])[0], 1 - a)

    def test_ranks(self):
        self.assertEqual(rank(of_rank(1, 20, 7, 3)), 3)
        self.assertEqual(rank(embed(of_rank(1, 20, 7, 3), 1)), 4)
        self.assertEqual(rank(np.zeros((4, 3))), 0)
        self.assertEqual(rank(np.diag([1, 1e-4, 1e-6])), 2)  # squares: 1, 1e-8, 1e-12

    def test_beyond_the_rank_it_is_the_smallest_that_can_be_positive(self):
        H = of_rank(2, 20, 6, 3)
        value, _ = smallest(H, [0, 1], [2, 3, 4])
        self.assertAlmostEqual(value, np.linalg.svd(H[:5])[1][2] ** 2)
        # Beyond the rank more rows only raise it.
        self.assertGreaterEqual(smallest(H, [0, 1], [2, 3, 4, 5])[0], value)

    def test_within_the_rank_more_rows_only_lower_it(self):
        H = noise(3, 20, 12, 2)[0]
        values = [smallest(H, [0, 1], range(2, k))[0] for k in range(3, 13)]
        self.assertEqual(values, sorted(values, reverse=True))

    def test_dependent_rows_are_left_out(self):
        H = np.array([[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0], [1, 2, 0, 0], [0, 0, 1, 0],
                      [0, 0, 0, 3]])
        self.assertEqual(independent(H, [0, 1, 2, 3]), [0, 2])
        self.assertAlmostEqual(smallest(H, [0, 1], [2])[0], 1)


class Values(StrategyCase):
    """The lambda that npc and crc print agrees with the reference."""

    def check_both(self, H, labels, batch, **opts):
        arrays = {"features": H, "labels": labels}
        args = self.inputs(**arrays)
        self.check("npc", batch, args, **arrays, opts={"candidates": 50, **opts})
        self.check("crc", batch, args, **arrays, **opts)

    def test_below_at_and_above_the_rank(self):
        # d = 9 and the bias give rank 10; the numbers of labelled rows and picks are on both sides of it.
        H = noise(1, 60, 9, 2)[0]
        for labelled, batch in itertools.product((0, 1, 4, 9, 10, 11, 25), (1, 2, 5, 6, 10, 12, 30)):
            for bias in (0, 1):
                with self.subTest(labelled=labelled, batch=batch, bias=bias):
                    self.check_both(H, partly_labelled(60, labelled), batch, bias=bias)

    def test_features_of_lower_rank(self):
        for r in (1, 2, 5):
            H = of_rank(2, 50, 12, r)
            H[:, 3] = 0  # a unit that is always 0
            for labelled, batch in itertools.product((0, 2, 4, 8), (1, 2, 5, 10)):
                with self.subTest(rank=r, labelled=labelled, batch=batch):
                    self.check_both(H, partly_labelled(50, labelled), batch)

    def test_every_type(self):
        H = noise(3, 40, 8, 2)[0]
        for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "u1"):
            typed = (np.abs(H) * 90).astype("u1") if dtype == "u1" else H.astype(dtype)
            for normalise in (0, 1):
                with self.subTest(dtype=dtype, normalise=normalise):
                    self.check_both(typed, partly_labelled(40, 3), 4, normalise=normalise)

    def test_dependent_labelled_rows_do_not_make_lambda_zero(self):
        H = noise(4, 30, 12, 2)[0]
        H[1] = H[0]
        H[3] = 2 * H[0] - H[2]
        labels = partly_labelled(30, 5)
        self.check_both(H, labels, 3, bias=0)
        got = self.outcome("npc", 3, self.inputs(features=H, labels=labels), bias=0)
        self.assertGreater(got.scores[0], 1e-3)

    def test_copies_in_a_batch_give_zero(self):
        H = np.repeat(noise(5, 1, 6, 2)[0], 10, axis=0)
        H = np.vstack([H, noise(6, 5, 6, 2)[0]])
        arrays = {"features": H, "candidates": np.arange(10)}
        for strategy in ("npc", "crc"):
            got = self.outcome(strategy, 2, self.inputs(**arrays),
                               **({"group": 2} if strategy == "crc" else {}))
            self.assertAlmostEqual(got.scores[0], 0, delta=1e-10 * 20)

    def test_rows_of_zeros(self):
        H = noise(7, 30, 8, 2)[0]
        H[::3] = 0
        for bias in (0, 1):
            self.check_both(H, partly_labelled(30, 4), 5, bias=bias)
        self.check_both(np.zeros((12, 3)), partly_labelled(12, 2), 4, bias=1)

    def test_rows_of_zeros_only(self):
        args = self.inputs(features=np.zeros((12, 3)), labels=partly_labelled(12, 2))
        for strategy in ("npc", "crc"):
            got = self.outcome(strategy, 4, args, bias=0)
            self.check_rows(got.indices, range(2, 12), 4)
            self.assertEqual(set(got.scores), {0})

    def test_any_scale(self):
        H = noise(8, 40, 6, 2)[0]
        for dtype, scale in (("f4", 1e-15), ("f4", 1e15), ("f8", 1e-70), ("f8", 1e70)):
            for labelled, batch in ((3, 2), (20, 10)):
                with self.subTest(dtype=dtype, scale=scale, labelled=labelled):
                    self.check_both((H * scale).astype(dtype), partly_labelled(40, labelled), batch,
                                    bias=0)

    def test_one_direction_much_longer_than_the_rest(self):
        # The smallest eigenvalue counts although it is a millionth of the largest.
        H = noise(9, 40, 6, 2)[0]
        H[:, 0] *= 1e3
        for labelled, batch in ((2, 2), (20, 10)):
            self.check_both(H, partly_labelled(40, labelled), batch)

    def test_many_rows(self):
        H = noise(10, 3000, 40, 2)[0].astype("f4")
        for labelled, batch in ((10, 20), (30, 20), (500, 100)):
            with self.subTest(labelled=labelled, batch=batch):
                self.check_both(H, partly_labelled(3000, labelled), batch)

    def test_rows_that_are_not_candidates_count_for_the_rank(self):
        # The pool has rank three, the candidates and labelled rows span a plane. Three rows of a plane
        # are dependent, so the smallest eigenvalue is 0.
        H = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0], [0, 0, 1]])
        args = self.inputs(features=H, labels=np.array([0, -1, -1, -1, -1]),
                           candidates=np.array([1, 2, 3]))
        self.assertAlmostEqual(self.outcome("npc", 2, args, bias=0).scores[0], 0, delta=1e-9)


class Npc(StrategyCase):
    def test_the_best_batch_is_found_if_all_are_tried(self):
        # There are 28 or 56 batches; a thousand draws miss a given one with probability 1e-7 at most.
        for seed, (labelled, batch, d) in enumerate(
                ((0, 2, 5), (2, 2, 5), (3, 3, 8), (5, 2, 4), (6, 3, 3), (2, 2, 3))):
            H = noise(seed, 8 + labelled, d, 2)[0]
            labels = partly_labelled(8 + labelled, labelled)
            got = self.outcome("npc", batch, self.inputs(features=H, labels=labels), seed=seed)
            X = embed(H, 1)
            best = max(itertools.combinations(allowed(len(H), labels), batch),
                       key=lambda b: smallest(X, range(labelled), b)[0])
            with self.subTest(labelled=labelled, batch=batch):
                self.assertEqual(got.indices, list(best))

    def test_more_candidates_never_lower_lambda(self):
        H = noise(11, 100, 12, 2)[0]
        for labelled, batch in ((0, 5), (4, 4), (20, 10)):
            args = self.inputs(features=H, labels=partly_labelled(100, labelled))
            for seed in range(5):
                values = [self.outcome("npc", batch, args, seed=seed, candidates=k).scores[0]
                          for k in (1, 2, 10, 100, 1000)]
                self.assertEqual(values, sorted(values))

    def test_the_default_is_a_thousand_candidates(self):
        args = self.inputs(features=noise(12, 60, 6, 2)[0])
        got = self.outcome("npc", 4, args, seed=3)
        self.assertEqual((got.options["candidates"], got.options["bias"], got.options["refine"],
                          got.options["normalise"]), (1000, 1, 0, 0))
        self.assertEqual(got.indices, self.outcome("npc", 4, args, seed=3,
                                                   candidates=1000).indices)

    def test_info_has_lambda(self):
        got = self.outcome("npc", 4, self.inputs(features=noise(13, 60, 6, 2)[0]))
        self.assertEqual(got.info["lambda"], got.scores[0])

    def test_one_random_batch_is_uniform(self):
        H = noise(14, 9, 6, 2)[0]
        labels = np.array([-1, 0, -1, -1, -1, -1, -1, 1, -1])
        args = self.inputs(features=H, labels=labels)
        batches = list(itertools.combinations(allowed(9, labels), 3))
        picked = [tuple(p) for p in self.pick_with_seeds("npc", 3, args, range(1000),
                                                         candidates=1)]
        self.assert_law([picked.count(b) for b in batches], np.full(35, 1 / 35))

    def test_the_best_of_three_random_batches_follows_its_distribution(self):
        # Of N batches by descending lambda, the k-th is the best of three draws with probability
        # ((N-k+1)^3 - (N-k)^3) / N^3.
        H = noise(15, 7, 6, 2)[0]
        args = self.inputs(features=H)
        X = embed(H, 1)
        order = sorted(itertools.combinations(range(7), 2),
                       key=lambda b: -smallest(X, [], b)[0])
        picked = [tuple(p) for p in self.pick_with_seeds("npc", 2, args, range(1000),
                                                         candidates=3)]
        left = 21 - np.arange(21)
        self.assert_law([picked.count(b) for b in order], (left ** 3 - (left - 1) ** 3) / 21 ** 3)

    def test_refining_never_lowers_lambda_and_picks_only_candidates(self):
        H = noise(16, 60, 10, 2)[0]
        for labelled, batch in ((0, 4), (5, 4), (20, 6)):
            arrays = {"features": H, "labels": partly_labelled(60, labelled),
                      "candidates": np.arange(0, 60, 2)}
            args = self.inputs(**arrays)
            for seed in range(3):
                before = None
                for refine in (0, 1, 2, 5, 50):
                    got = self.outcome("npc", batch, args, seed=seed, candidates=20,
                                       refine=refine)
                    self.check_rows(got.indices, allowed(60, arrays["labels"],
                                                         arrays["candidates"]), batch)
                    value = smallest(embed(H, 1), range(labelled), got.indices)
                    self.assertAlmostEqual(got.scores[0], value[0], delta=1e-10 * value[1])
                    if before:
                        self.assertGreaterEqual(got.scores[0], before.scores[0])
                    if refine == 1 and before:  # one accepted swap replaces one row
                        self.assertLessEqual(len(set(got.indices) - set(before.indices)), 1)
                    before = got

    def test_after_full_refinement_no_swap_raises_lambda(self):
        H = noise(17, 25, 8, 2)[0]
        for labelled, batch in ((0, 3), (4, 3), (10, 4)):
            args = self.inputs(features=H, labels=partly_labelled(25, labelled))
            got = self.outcome("npc", batch, args, candidates=5, refine=10000)
            X = embed(H, 1)
            for out, row in itertools.product(got.indices, range(labelled, 25)):
                if row not in got.indices:
                    swapped = sorted({*got.indices, row} - {out})
                    value, largest = smallest(X, range(labelled), swapped)
                    self.assertLessEqual(value, got.scores[0] + 1e-9 * largest)

    def test_a_batch_of_all_rows(self):
        H = noise(18, 9, 5, 2)[0]
        got = self.outcome("npc", 9, self.inputs(features=H))
        self.assertEqual(got.indices, list(range(9)))
        self.assertAlmostEqual(got.scores[0], eigenvalues(embed(H, 1), range(9))[-6], delta=1e-9)


class Crc(StrategyCase):
    def groups(self, batch, args, group, **opts):
        """The picked groups as (lambda, rows), in order."""
        got = self.outcome("crc", batch, args, group=group, **opts)
        size = lowered(len(got.indices), group)
        return [(got.scores[k], tuple(got.indices[k:k + size]))
                for k in range(0, len(got.indices), size)]

    def test_the_best_groups_of_one_partition(self):
        # A batch of all complete groups shows every group of a seed.
        H = noise(20, 64, 9, 2)[0]
        for labelled, group in ((0, 4), (3, 5), (12, 4), (4, 10)):
            args = self.inputs(features=H, labels=partly_labelled(64, labelled))
            whole = (64 - labelled) // group
            for seed in range(3):
                every = self.groups(whole * group, args, group, seed=seed)
                self.assertEqual(len({row for _, rows in every for row in rows}), whole * group)
                for count in range(1, whole):
                    some = self.groups(count * group, args, group, seed=seed)
                    self.assertEqual([rows for _, rows in some],
                                     [rows for _, rows in every[:count]])
                    np.testing.assert_allclose([value for value, _ in some],
                                               [value for value, _ in every[:count]], rtol=1e-9)

    def test_the_group_is_a_tenth_of_the_batch(self):
        args = self.inputs(features=noise(21, 100, 9, 2)[0])
        for batch, group in ((1, 1), (7, 1), (10, 1), (40, 4), (45, 3), (99, 9), (100, 10)):
            got = self.outcome("crc", batch, args)
            self.assertEqual(got.options["group"], group)
            self.assertEqual(got.said, "")

    def test_a_group_that_divides_the_batch_is_kept_without_a_warning(self):
        args = self.inputs(features=noise(22, 100, 9, 2)[0])
        for batch, group in ((12, 4), (12, 12), (12, 1), (7, 7)):
            got = self.outcome("crc", batch, args, group=group)
            self.assertEqual((got.options["group"], got.said), (group, ""))

    def test_a_group_that_does_not_divide_the_batch_is_made_smaller_with_a_warning(self):
        args = self.inputs(features=noise(23, 100, 9, 2)[0])
        for batch, group, kept in ((12, 5, 4), (12, 13, 12), (7, 6, 1), (20, 1000, 20)):
            got = self.outcome("crc", batch, args, group=group)
            self.assertEqual(got.options["group"], kept)
            self.assertIn("warning", got.said)
            self.assertIn(str(kept), got.said)
            self.assertEqual(len(got.indices), batch)

    def test_rows_are_grouped_uniformly(self):
        # Six rows in three groups of two: the row that is in the group of row 0.
        args = self.inputs(features=noise(24, 6, 5, 2)[0])
        met = []
        for picked in self.pick_with_seeds("crc", 6, args, range(1000), group=2):
            at = picked.index(0) // 2 * 2
            met.append(sum(picked[at:at + 2]))
        self.assert_law(np.bincount(met, minlength=6)[1:], np.full(5, 1 / 5))

    def test_every_row_is_equally_often_left_over(self):
        # Seven rows in groups of three: one is left over, each row equally often.
        args = self.inputs(features=noise(25, 7, 5, 2)[0])
        left = [(set(range(7)) - set(picked)).pop()
                for picked in self.pick_with_seeds("crc", 6, args, range(700), group=3)]
        self.assert_law(np.bincount(left, minlength=7), np.full(7, 1 / 7))

    def test_a_batch_larger_than_the_pool_ends_with_score_0(self):
        # A tenth of the requested batch is a group of ten, which leaves three of 13 rows.
        H = noise(28, 13, 20, 2)[0]
        args = self.inputs(features=H)
        got = self.outcome("crc", 100, args)
        self.assertEqual(got.options["group"], 10)
        self.assertEqual(sorted(got.indices), list(range(13)))
        self.assertEqual(got.indices[:10], sorted(got.indices[:10]))
        truth = smallest(embed(H, 1), [], got.indices[:10])[0]
        np.testing.assert_allclose(got.scores, [truth] * 10 + [0] * 3, rtol=1e-9)
        last = [picked[-1] for picked in self.pick_with_seeds("crc", 100, args, range(400))]
        self.assert_law(np.bincount(last, minlength=13), np.full(13, 1 / 13))

    def test_a_batch_larger_than_the_pool_with_a_given_group(self):
        H = noise(29, 23, 9, 2)[0]
        for labelled, batch, group in ((0, 24, 4), (3, 60, 6), (12, 1000, 5), (4, 40, 20)):
            arrays = {"features": H, "labels": partly_labelled(23, labelled)}
            args = self.inputs(**arrays)
            self.check("crc", batch, args, **arrays, opts={"group": group})
            got = self.outcome("crc", batch, args, group=group)
            # a group larger than the pool is made smaller
            size = group if group <= 23 - labelled else lowered(batch, 23 - labelled)
            self.assertEqual(got.options["group"], size)
            self.assertEqual(sum(score == 0 for score in got.scores), (23 - labelled) % size)

    def test_equal_groups_are_ordered_by_their_lowest_row(self):
        H = np.tile(noise(30, 1, 5, 2)[0], (40, 1))
        for group in (1, 2, 4):
            for seed in range(3):
                got = self.groups(20, self.inputs(features=H), group, seed=seed)
                first = [rows[0] for _, rows in got]
                self.assertEqual(first, sorted(first))
                self.assertEqual(first[0], 0)
        self.assertEqual(self.outcome("crc", 20, self.inputs(features=H), group=1).indices,
                         list(range(20)))

    def test_one_group_of_the_whole_pool(self):
        H = noise(26, 9, 5, 2)[0]
        got = self.outcome("crc", 9, self.inputs(features=H), group=9)
        self.assertEqual(got.indices, list(range(9)))
        self.assertAlmostEqual(got.scores[0], eigenvalues(embed(H, 1), range(9))[-6], delta=1e-9)

    def test_groups_of_one_rank_single_rows(self):
        H = noise(27, 50, 6, 2)[0]
        labels = partly_labelled(50, 3)
        got = self.outcome("crc", 47, self.inputs(features=H, labels=labels), group=1)
        X = embed(H, 1)
        truth = sorted((-smallest(X, range(3), [i])[0], i) for i in range(3, 50))
        self.assertEqual(got.indices, [i for _, i in truth])


if __name__ == "__main__":
    unittest.main()
