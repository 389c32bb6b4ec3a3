# SPDX-License-Identifier: Apache-2.0
"""bss: weighted rows that represent a pool in least squares. The reported eigenvalues must be right for
every seed, and over many seeds the weighted basis must be orthonormal on average."""
import itertools
import math
import unittest

import numpy as np

from reference import embed, noise
from reference_bss import columns, dimensions, moments, monomials, orthonormal, spectrum
from strategycase import Pool, StrategyCase


class References(unittest.TestCase):
    def test_monomials_of_two_variables(self):
        X = np.array([[.6, .8], [.3, 0]])
        np.testing.assert_allclose(monomials(X, 2), [[1, .6, .8, .36, .48, .64],
                                                     [1, .3, 0, .09, 0, 0]])
        self.assertEqual(monomials(np.ones((1, 3)), 3).shape[1], math.comb(6, 3))

    def test_the_basis_is_orthonormal_under_the_pool(self):
        F = embed(noise(1, 50, 4, 2)[0] * [1, 10, .1, 3], 1)
        for dim in (5, 3, 1):
            V = orthonormal(F, dim)
            np.testing.assert_allclose(moments(V, range(50), np.full(50, 1 / 50)), np.eye(dim),
                                       atol=1e-12)

    def test_the_leading_directions_have_the_most_variance(self):
        F = noise(2, 200, 3, 2)[0] * [1, 10, 3]
        values, vectors = spectrum(F)
        self.assertEqual(np.abs(vectors[:, 0]).argmax(), 1)
        self.assertTrue(values[0] > values[1] > values[2])


class Figures(StrategyCase):
    """The reported figures are true of the returned weights."""

    def test_figures_are_right_with_and_without_a_constant(self):
        for n, d, batch in ((200, 3, 40), (500, 8, 60), (50, 2, 50), (100, 5, 12), (60, 1, 5)):
            arrays = {"features": noise(n, n, d, 2)[0]}
            for bias, seed in itertools.product((0, 1), range(4)):
                with self.subTest(n=n, d=d, batch=batch, bias=bias, seed=seed):
                    self.check("bss", batch, self.inputs(**arrays), **arrays, bias=bias, seed=seed)

    def test_most_of_the_batch_is_used(self):
        # Never more rows than the batch, and not many fewer if the pool is large.
        for d, batch in ((3, 40), (8, 60), (8, 200), (2, 1000)):
            arrays = {"features": noise(d, 5000, d, 2)[0]}
            for seed in range(3):
                got = self.outcome("bss", batch, self.inputs(**arrays), seed=seed)
                self.assertLessEqual(len(got.indices), batch)
                self.assertGreater(len(got.indices), .7 * batch)
                self.assertEqual(len(got.indices), got.info["distinct"])
                self.assertGreaterEqual(got.info["draws"], got.info["distinct"])

    def test_gradients_are_a_basis_without_a_bias(self):
        G = noise(3, 150, 12, 2)[0]
        for dtype in ("<f2", ">f4", "<f8"):
            arrays = {"gradients": G.astype(dtype)}
            for bias in (0, 1):  # the bias does not apply to gradients
                self.check("bss", 60, self.inputs(**arrays), **arrays, bias=bias)

    def test_the_option_basis_chooses_between_features_and_gradients(self):
        H, G = noise(4, 150, 3, 2)[0], noise(5, 150, 5, 2)[0]
        both = self.inputs(features=H, gradients=G)
        for basis, alone in (("features", {"features": H}), ("gradients", {"gradients": G})):
            got = self.outcome("bss", 40, both, basis=basis)
            self.assertEqual(got.weights, self.outcome("bss", 40, self.inputs(**alone)).weights)

    def test_polynomials_of_features_are_a_basis(self):
        H = noise(6, 400, 2, 2)[0]
        for degree, d in ((1, 2), (2, 2), (3, 2), (2, 1), (8, 1)):
            arrays = {"features": H[:, :d] / 3}
            D = math.comb(degree + d, d)
            with self.subTest(degree=degree, d=d):
                self.check("bss", 3 * D + 10, self.inputs(**arrays), **arrays,
                           basis=f"poly:{degree}")
                got = self.outcome("bss", 3 * D + 10, self.inputs(**arrays),
                                   basis=f"poly:{degree}")
                self.assertEqual((got.info["dim"], got.options["basis"]), (D, f"poly:{degree}"))

    def test_a_polynomial_of_degree_one_is_the_features_and_a_constant(self):
        args = self.inputs(features=noise(7, 200, 3, 2)[0])
        linear, poly = (self.outcome("bss", 40, args, basis=basis)
                        for basis in ("features", "poly:1"))
        self.assertEqual(linear.info["dim"], poly.info["dim"])

    def test_features_of_lower_rank(self):
        rng = np.random.default_rng(8)
        H = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 9))
        H[:, 4] = 0
        arrays = {"features": H}
        self.check("bss", 30, self.inputs(**arrays), **arrays)
        self.assertEqual(self.outcome("bss", 30, self.inputs(**arrays), bias=0).info["dim"], 3)

    def test_columns_of_very_different_scale(self):
        arrays = {"features": noise(9, 100, 3, 2)[0] * [1e-3, 1, 1e2]}
        self.check("bss", 30, self.inputs(**arrays), **arrays)

    def test_any_scale(self):
        H = noise(10, 100, 4, 2)[0]
        for dtype, scale in (("f4", 1e-15), ("f4", 1e15), ("f8", 1e-70), ("f8", 1e70)):
            arrays = {"features": (H * scale).astype(dtype)}
            with self.subTest(dtype=dtype, scale=scale):
                self.check("bss", 30, self.inputs(**arrays), **arrays, bias=0)

    def test_the_only_row_of_a_direction_is_picked(self):
        # Only row 300 has the third direction: without it the smallest eigenvalue would be 0.
        H = np.vstack([noise(11, 300, 2, 2)[0], [[0, 0]]])
        H = np.hstack([H, np.zeros((301, 1))])
        H[300, 2] = 5
        arrays = {"features": H}
        for seed in range(5):
            indices, _ = self.check("bss", 40, self.inputs(**arrays), **arrays, seed=seed)
            self.assertIn(300, indices)

    def test_labelled_rows_do_not_count(self):
        H = noise(12, 120, 3, 2)[0]
        labels = np.where(np.arange(120) % 3, -1, 0)
        rows = np.flatnonzero(labels < 0)
        part = self.outcome("bss", 30, self.inputs(features=H, labels=labels))
        alone = self.outcome("bss", 30, self.inputs(features=H[rows]))
        self.assertEqual(part.indices, [rows[i] for i in alone.indices])
        np.testing.assert_allclose(part.weights, alone.weights, rtol=1e-9)

    def test_copies(self):
        arrays = {"features": np.repeat(noise(13, 10, 2, 2)[0], 20, axis=0)}
        self.check("bss", 60, self.inputs(**arrays), **arrays)


class Cut(StrategyCase):
    """The basis has more dimensions than half of the batch."""

    def test_the_leading_directions_are_kept_with_a_warning(self):
        H = noise(20, 200, 20, 2)[0] * np.linspace(3, .5, 20)
        arrays = {"features": H}
        for batch in (2, 3, 10, 25, 41, 42):
            with self.subTest(batch=batch):
                self.check("bss", batch, self.inputs(**arrays), **arrays)
                got = self.outcome("bss", batch, self.inputs(**arrays))
                whole, dim = dimensions(embed(H, 1), batch)
                self.assertEqual((whole, got.info["dim"]), (21, min(batch // 2, 21)))
                self.assertEqual("warning" in got.said, dim < whole)

    def test_a_batch_of_one_keeps_one_direction(self):
        # Half of a batch of one would be none, but one direction is always kept.
        got = self.outcome("bss", 1, self.inputs(features=noise(21, 50, 3, 2)[0]))
        self.assertLessEqual(len(got.indices), 1)
        self.assertEqual(got.info["dim"], 1)

    def test_more_dimensions_than_rows(self):
        arrays = {"features": noise(22, 12, 40, 2)[0]}
        for batch in (4, 12, 50):
            self.check("bss", batch, self.inputs(**arrays), **arrays)


class Epsilon(StrategyCase):
    def test_it_decides_the_number_of_rows(self):
        args = self.inputs(features=noise(30, 20000, 2, 2)[0])
        sizes = []
        for epsilon in (.3, .02, .01):
            got = self.outcome("bss", 20000, args, epsilon=epsilon)
            sizes.append(len(got.indices))
            self.assertLessEqual(got.info["gamma"], min(.11, math.sqrt(epsilon / (2 + epsilon))) + 1e-12)
            # With such a small gamma every result is good.
            self.assertEqual(got.info["good"], 1)
            self.assertTrue(.75 <= got.info["lambda_min"] <= got.info["lambda_max"] <= 1.25)
        self.assertEqual(sizes, sorted(sizes))

    def test_an_epsilon_that_needs_more_rows_than_the_batch_is_refused_with_their_number(self):
        args = self.inputs(features=noise(31, 20000, 2, 2)[0])
        needs = len(self.outcome("bss", 20000, args, epsilon=.3, seed=5).indices)
        said = self.fails(2, "select", "bss", "--batch", 50, *args, "--opt", "epsilon=0.3", "--seed",
                          5, says=["epsilon", "50"])
        self.assertIn(str(needs), said)
        got = self.outcome("bss", needs, args, epsilon=.3, seed=5)
        self.assertEqual(len(got.indices), needs)

    def test_values_outside_0_to_1_are_refused(self):
        args = self.inputs(features=noise(32, 100, 2, 2)[0])
        for bad in ("0", "1", "-0.5", "2", "inf", "nan", "x"):
            self.fails(2, "select", "bss", "--batch", 50, *args, "--opt", f"epsilon={bad}",
                       says="epsilon")


class Law(StrategyCase):
    def test_the_weighted_basis_is_orthonormal_on_average(self):
        # Given the earlier draws, a draw adds (gamma / Phi) I on average. So the mean of A'A over seeds
        # is the mean of the coefficients' sum, times I. With a given epsilon no draw depends on the
        # final number of rows.
        H = noise(40, 60, 2, 2)[0] ** 3  # rows of very different leverage
        args = self.inputs(features=H)
        V = orthonormal(columns(Pool(features=H)), 3)
        runs = [self.outcome("bss", 60, args, epsilon=.9, seed=seed) for seed in range(200)]
        off = np.array([moments(V, got.indices, got.weights) - got.info["sum_beta"] * np.eye(3)
                        for got in runs])
        for i, j in itertools.product(range(3), range(3)):
            spread = off[:, i, j].std() / math.sqrt(len(runs))
            self.assertLess(abs(off[:, i, j].mean()), 4 * spread, (i, j))

    def test_a_function_of_the_basis_is_recovered(self):
        H = noise(41, 500, 4, 2)[0]
        got = self.outcome("bss", 30, self.inputs(features=H))
        X = embed(H, 1)
        truth = np.array([2, -1, .5, 3, .25])
        root = np.sqrt(got.weights)
        found = np.linalg.lstsq(X[got.indices] * root[:, None], (X @ truth)[got.indices] * root,
                                rcond=None)[0]
        np.testing.assert_allclose(found, truth, rtol=1e-10)

    def test_weighted_fits_are_close_to_the_best_fit(self):
        # A linear function with noise: averaged over seeds, the excess error of the weighted fit is a
        # small part of the noise.
        H = noise(42, 2000, 4, 2)[0]
        X = embed(H, 1)
        rng = np.random.default_rng(42)
        y = X @ [1, 2, 3, -1, .5] + rng.standard_normal(2000)
        best = np.linalg.lstsq(X, y, rcond=None)[0]
        loss = ((y - X @ best) ** 2).mean()
        excess = []
        for seed in range(20):
            got = self.outcome("bss", 100, self.inputs(features=H), seed=seed)
            root = np.sqrt(got.weights)
            fit = np.linalg.lstsq(X[got.indices] * root[:, None], y[got.indices] * root,
                                  rcond=None)[0]
            excess.append(((X @ (fit - best)) ** 2).mean() / loss)
        # Uniform rows have D/k = 0.05; twice that leaves room for the weights.
        self.assertLess(np.mean(excess), .1)


class Leverage(StrategyCase):
    """law=leverage: independent draws. linalg/test_bss_sampling.c tests their distribution."""

    def test_figures_are_right_on_pools_of_every_kind(self):
        for n, d, batch in ((200, 3, 40), (500, 8, 60), (50, 2, 50), (100, 30, 12), (12, 40, 9),
                            (60, 1, 5), (1, 2, 1)):
            H = noise(n, n, d, 2)[0]
            for kind, features in (("normal", H), ("heavy", H ** 3), ("copies", np.repeat(H[:1], n, 0))):
                arrays = {"features": features}
                for seed in range(3):
                    with self.subTest(n=n, d=d, batch=batch, kind=kind, seed=seed):
                        self.check("bss", batch, self.inputs(**arrays), **arrays, law="leverage",
                                   seed=seed)

    def test_the_batch_is_full(self):
        args = self.inputs(features=noise(50, 5000, 4, 2)[0] ** 3)
        for batch in (1, 2, 40, 300):
            got = self.outcome("bss", batch, args, law="leverage")
            self.assertEqual((len(got.indices), got.info["distinct"]), (batch, batch))

    def test_epsilon_decides_the_number_of_draws(self):
        arrays = {"features": noise(51, 3000, 3, 2)[0] ** 3}
        for epsilon in (.9, .3, .02):
            got = self.outcome("bss", 3000, self.inputs(**arrays), law="leverage", epsilon=epsilon)
            self.assertEqual(got.info["draws"], math.ceil(2 * 4 / epsilon))
        self.check("bss", 3000, self.inputs(**arrays), **arrays, law="leverage", epsilon=.02)
        self.fails(2, "select", "bss", "--batch", 50, *self.inputs(**arrays), "--opt", "epsilon=0.02",
                   "--opt", "law=leverage", says=["epsilon = 0.02 needs", "more than the batch of 50"])
        self.fails(2, "select", "bss", "--batch", 50, *self.inputs(**arrays), "--opt", "epsilon=1e-7",
                   "--opt", "law=leverage", says="more than the limit of")

    def test_the_weighted_basis_is_orthonormal_on_average(self):
        H = noise(40, 60, 2, 2)[0] ** 3
        V = orthonormal(columns(Pool(features=H)), 3)
        runs = [self.outcome("bss", 60, self.inputs(features=H), epsilon=.3, law="leverage", seed=seed)
                for seed in range(200)]
        sums = np.array([moments(V, got.indices, got.weights) for got in runs])
        spread = sums.std(axis=0) / math.sqrt(len(runs))
        self.assertLess(spread.max(), .05)
        self.assertTrue((np.abs(sums.mean(axis=0) - np.eye(3)) < 4 * spread).all())

    def test_the_largest_leverage_is_reported(self):
        # The corners of a square have equal leverage, which is the smallest possible maximum, D.
        square = np.tile([[1., 1], [1, -1], [-1, 1], [-1, -1]], (25, 1))
        got = self.outcome("bss", 20, self.inputs(features=square), bias=0)
        self.assertAlmostEqual(got.info["leverage"], 2, places=9)
        # Only one row of 100 has the second direction, so its leverage, and K, is 100.
        lone = np.vstack([np.tile([[1., 0]], (99, 1)), [[0, 1]]])
        for law in ("bss", "leverage"):
            got = self.outcome("bss", 20, self.inputs(features=lone), bias=0, law=law)
            self.assertAlmostEqual(got.info["leverage"], 100, places=9)
            self.assertLess(got.info["condition"], 1)

    def test_an_unknown_law_is_refused(self):
        self.fails(2, "select", "bss", "--batch", 5, *self.inputs(features=noise(52, 20, 2, 2)[0]),
                   "--opt", "law=uniform", says=["law", "bss", "leverage"])


if __name__ == "__main__":
    unittest.main()
