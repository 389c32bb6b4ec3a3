# SPDX-License-Identifier: Apache-2.0
"""npc, crc and bss with --kernel ntk:depth=K, compared with the kernel's recursion and dense eigensolvers."""
import itertools
import json
import math
import unittest

import numpy as np

import reference_ntk
from reference import allowed, noise
from reference_ntk import kernel_of, ntk, smallest
from scantcli import run
from strategycase import STRATEGIES, StrategyCase, evidence, needed

TAKERS = ("npc", "crc", "bss")


def partly_labelled(n, labelled):
    return np.where(np.arange(n) < labelled, 0, -1)


class Reference(unittest.TestCase):
    """The reference agrees with values computed by hand and with random networks."""

    def test_values_worked_by_hand(self):
        K = ntk([[3, 4], [-8, 6], [-3, -4], [0, 0]], 1)
        np.testing.assert_allclose(np.diag(K), [50, 200, 50, 0], rtol=1e-15)
        np.testing.assert_allclose(K[0, 1:], [50 / math.pi, 0, 0], atol=1e-14)

    def test_one_layer_agrees_with_random_features(self):
        # Sigma_1 + Theta_0 kappa_0 = 2 E[relu relu] + 2 x.x' P(both positive), by a million draws.
        X = np.array([[1.0, .5], [.3, -1]])
        G = np.random.default_rng(1).standard_normal((1000000, 2)) @ X.T
        relu, on = np.maximum(G, 0), G > 0
        value = 2 * (relu[:, 0] * relu[:, 1]).mean() + 2 * (X[0] @ X[1]) * (on[:, 0] & on[:, 1]).mean()
        self.assertAlmostEqual(ntk(X, 1)[0, 1], value, delta=.01)


class Kernel(StrategyCase):
    def outcome_of(self, strategy, batch, args, depth, **opts):
        return self.outcome(strategy, batch, [*args, "--kernel", f"ntk:depth={depth}"], **opts)

    def check_all(self, H, labels, batch, depth, candidates=None, **opts):
        """Checks npc, crc and bss on one pool."""
        args = self.inputs(features=H, labels=labels, candidates=candidates)
        rows = allowed(len(H), labels, candidates)
        labelled = [] if labels is None else np.flatnonzero(np.asarray(labels) != -1)
        K = kernel_of(H, depth, opts.get("bias", 0), opts.get("normalise", 0))
        got = self.outcome_of("npc", batch, args, depth, candidates=30, **opts)
        reference_ntk.check_npc(self, got, K, rows, labelled, batch)
        self.assertNotIn("rank", got.info)
        got = self.outcome_of("crc", batch, args, depth, **opts)
        reference_ntk.check_crc(self, got, K, rows, labelled, batch)
        if "normalise" not in opts:
            got = self.outcome_of("bss", batch, args, depth, **opts)
            reference_ntk.check_bss(self, got, K, rows, batch)
            self.assertNotIn("landmarks", got.info)

    def test_any_number_of_rows_and_columns(self):
        # The kernel matrix is not singular even with more rows than columns.
        for d, labelled, batch, depth in ((1, 0, 2, 1), (2, 0, 4, 1), (5, 3, 4, 2), (5, 12, 20, 3),
                                          (40, 10, 10, 1), (3, 30, 20, 5), (9, 1, 1, 100)):
            H = noise(d, 70, d, 2)[0]
            for bias in (0, 1):
                with self.subTest(d=d, labelled=labelled, batch=batch, depth=depth, bias=bias):
                    self.check_all(H, partly_labelled(70, labelled), batch, depth, bias=bias)

    def test_wide_features(self):
        self.check_all(noise(3, 20, 300, 2)[0], partly_labelled(20, 4), 5, 2)

    def test_every_type_and_unit_length(self):
        H = noise(4, 40, 8, 2)[0]
        for dtype in ("<f2", ">f4", "<f4", "<f8", "u1"):
            typed = (np.abs(H) * 90).astype("u1") if dtype == "u1" else H.astype(dtype)
            for opts in ({}, {"normalise": 1}):
                with self.subTest(dtype=dtype, **opts):
                    self.check_all(typed, partly_labelled(40, 3), 4, 2, **opts)

    def test_features_with_almost_the_same_direction(self):
        # All angles are small, where an arccosine would lose half of the digits.
        H = 1 + 1e-4 * noise(5, 60, 6, 2)[0]
        self.check_all(H, partly_labelled(60, 5), 6, 2)

    def test_copies_multiples_opposites_and_zeros(self):
        H = noise(6, 40, 6, 2)[0]
        H[1], H[2], H[3] = H[0], 2 * H[0], -H[0]
        H[10:14] = 0
        H[20] = H[21]
        self.check_all(H, partly_labelled(40, 5), 4, 2)
        self.check_all(H, partly_labelled(40, 12), 4, 1)

    def test_a_copy_of_a_labelled_row_does_not_make_lambda_zero(self):
        H = noise(7, 30, 4, 2)[0]
        H[1] = H[0]
        args = self.inputs(features=H, labels=partly_labelled(30, 3))
        self.assertGreater(self.outcome_of("npc", 3, args, 2).scores[0], 1e-3)

    def test_copies_in_a_batch_give_zero_and_a_warning(self):
        H = np.repeat(noise(8, 1, 6, 2)[0], 10, axis=0)
        for strategy in ("npc", "crc"):
            opts = {"group": 2} if strategy == "crc" else {}
            got = self.outcome_of(strategy, 2, self.inputs(features=H), 2, **opts)
            self.assertEqual(set(got.scores), {0})
            self.assertIn("lambda is 0 for every", got.said)

    def test_rows_of_zeros_only(self):
        args = self.inputs(features=np.zeros((12, 3)), labels=partly_labelled(12, 2))
        for strategy in ("npc", "crc"):
            self.assertEqual(set(self.outcome_of(strategy, 4, args, 2).scores), {0})
        done = run("select", "bss", "--batch", 4, *args, "--kernel", "ntk:depth=2")
        self.assertEqual(done.returncode, 3)
        self.assertIn("so there is no basis", done.stderr)

    def test_candidates(self):
        self.check_all(noise(9, 50, 5, 2)[0], partly_labelled(50, 4), 5, 2, np.arange(3, 50, 2))

    def test_any_scale(self):
        H = noise(10, 30, 4, 2)[0]
        for dtype, scale in (("f4", 1e-15), ("f4", 1e15), ("f8", 1e-70), ("f8", 1e70)):
            with self.subTest(scale=scale):
                self.check_all((H * scale).astype(dtype), partly_labelled(30, 3), 4, 2)

    def test_the_best_batch_is_found_if_all_are_tried(self):
        for seed, (labelled, batch, depth) in enumerate(((0, 2, 1), (2, 2, 3), (5, 3, 2))):
            H = noise(seed, 8 + labelled, 2, 2)[0]
            labels = partly_labelled(8 + labelled, labelled)
            K = kernel_of(H, depth)
            best = max(itertools.combinations(allowed(len(H), labels), batch),
                       key=lambda b: smallest(K, range(labelled), b)[0])
            args = self.inputs(features=H, labels=labels)
            self.assertEqual(self.outcome_of("npc", batch, args, depth).indices, list(best))

    def test_refining_never_lowers_lambda(self):
        H = noise(12, 60, 4, 2)[0]
        args = self.inputs(features=H, labels=partly_labelled(60, 5))
        K, before = kernel_of(H, 2), 0
        for refine in (0, 1, 3, 50):
            got = self.outcome_of("npc", 4, args, 2, candidates=20, refine=refine)
            reference_ntk.check_npc(self, got, K, allowed(60, partly_labelled(60, 5)), range(5), 4)
            self.assertGreaterEqual(got.scores[0], before)
            before = got.scores[0]
        for out, row in itertools.product(got.indices, range(5, 60)):
            if row not in got.indices:
                swapped = sorted({*got.indices, row} - {out})
                value, largest = smallest(K, range(5), swapped)
                self.assertLessEqual(value, before + 1e-9 * largest)

    def test_bss_uses_landmarks_for_many_rows(self):
        # In two dimensions the kernel has few large eigenvalues: 1024 rows explain nearly all of it.
        H = noise(13, 4500, 2, 2)[0].astype("f4")
        args = self.inputs(features=H)
        got = self.outcome_of("bss", 60, args, 1, seed=3)
        self.assertEqual(got.info["landmarks"], 1024)
        self.assertTrue(.999 < got.info["explained"] <= 1)
        self.assertIn("1024 random landmarks, which explain", got.said)
        self.assertEqual(got.indices, self.outcome_of("bss", 60, args, 1, seed=3).indices)
        # The reported eigenvalues hold for the leading eigenfunctions of the whole kernel.
        c = math.pi
        angle = np.arctan2(H[:, 1].astype(float), H[:, 0])
        t = np.abs(angle[:, None] - angle[None])
        t = np.minimum(t, 2 * c - t)
        K = ((np.sin(t) + (c - t) * np.cos(t)) / c + np.cos(t) * (c - t) / c)
        length = np.hypot(*H.T.astype(float))
        K *= np.outer(length, length)
        place = np.zeros(len(H))
        place[got.indices] = got.weights
        root = np.sqrt(place[got.indices])
        V = self.leading(K, 5)
        A = V[got.indices] * root[:, None]
        band = np.linalg.eigvalsh(A.T @ A)
        self.assertGreaterEqual(band[0], got.info["lambda_min"] - .05)
        self.assertLessEqual(band[-1], got.info["lambda_max"] + .05)

    @staticmethod
    def leading(K, dim):
        """V (n, dim): the leading eigenvectors, by subspace iteration."""
        V = np.random.default_rng(1).standard_normal((len(K), 3 * dim))
        for _ in range(30):
            V, _ = np.linalg.qr(K @ V)
        values, turn = np.linalg.eigh(V.T @ K @ V)
        return (V @ turn)[:, ::-1][:, :dim] * math.sqrt(len(K))

    def test_landmarks_that_are_all_zero_are_refused(self):
        H = np.zeros((5000, 3))
        H[4999] = 1
        args = self.inputs(features=H)
        refused = 0
        for seed in range(4):  # refused unless 4999 is a landmark, which has a probability of 1 in 5
            done = run("select", "bss", "--batch", 10, *args, "--kernel", "ntk:depth=1",
                       "--seed", seed)
            if done.returncode:
                self.assertEqual(done.returncode, 3)
                self.assertIn("all 1024 landmarks of the kernel over 5000 rows are rows of zeros",
                              done.stderr)
                refused += 1
        self.assertGreater(refused, 0)


class Calls(StrategyCase):
    """Output and refusals of calls with a kernel."""

    def test_json_has_the_kernel_and_the_bias_that_was_used(self):
        args = self.inputs(features=noise(1, 30, 4, 2)[0])
        for strategy in TAKERS:
            for kernel, opts, bias in ((None, (), 1), ("ntk:depth=3", (), 0),
                                       ("ntk:depth=3", ("--opt", "bias=1"), 1)):
                words = ["--kernel", kernel] if kernel else []
                got = json.loads(self.ok("select", strategy, "--batch", 4, *args, *words, *opts,
                                         "--format", "json"))
                self.assertEqual(got.get("kernel"), kernel)
                self.assertEqual(got["options"]["bias"], bias)

    def test_a_dry_run_shows_the_kernel_and_the_bias(self):
        args = self.inputs(features=noise(1, 30, 4, 2)[0])
        said = self.ok("select", "npc", "--batch", 4, *args, "--kernel", "ntk:depth=3", "--dry-run")
        self.assertIn("kernel     ntk:depth=3\n", said)
        self.assertIn("bias=0", said)
        said = self.ok("select", "npc", "--batch", 4, *args, "--dry-run")
        self.assertNotIn("kernel", said)
        self.assertIn("bias=1", said)

    def test_other_strategies_refuse_a_kernel(self):
        arrays = evidence(2, 20)
        for strategy in STRATEGIES:
            if strategy in TAKERS:
                continue
            done = run(*self.command(strategy, 2, self.inputs(**needed(strategy, arrays))),
                       "--kernel", "ntk:depth=1")
            self.assertEqual(done.returncode, 2, strategy)
            self.assertIn(f"{strategy} takes no kernel; these do: npc, crc, bss", done.stderr)

    def test_invalid_kernels_are_refused(self):
        args = self.inputs(features=noise(1, 30, 4, 2)[0])
        for text in ("foo", "ntk", "ntk:", "ntk:depth", "ntk:depth=", "ntk:depth=0",
                     "ntk:depth=-1", "ntk:depth=101", "ntk:depth=2.5", "ntk:depth=x", "ntk:width=3",
                     "NTK:depth=2", "ntk:depth=2,3"):
            done = run("select", "npc", "--batch", 4, *args, "--kernel", text)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(f"the kernel is '{text}', expected ntk:depth=K, K from 1 to 100",
                          done.stderr)

    def test_threads_do_not_change_the_picks(self):
        args = self.inputs(features=noise(2, 300, 9, 2)[0], labels=partly_labelled(300, 20))
        for strategy in TAKERS:
            words = ("select", strategy, "--batch", 20, *args, "--kernel", "ntk:depth=2")
            first = self.ok(*words, "--threads", 1)
            for threads in (2, 3):
                self.assertEqual(self.ok(*words, "--threads", threads), first)


if __name__ == "__main__":
    unittest.main()
