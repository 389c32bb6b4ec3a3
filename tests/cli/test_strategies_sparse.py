# SPDX-License-Identifier: Apache-2.0
"""sparse-greedy and sparse-iht, compared with the same algorithms on the dense gradient matrix; and the
temperature for calibrated probabilities."""
import itertools
import unittest

import numpy as np

from reference import SIX, embed, noise, softmax
from reference_sparse import Sparse, from_gradients, from_samples
from strategycase import StrategyCase, evidence, needed

BOTH = ("sparse-greedy", "sparse-iht")


def random_problem(seed, n=12, b=4, alpha=.1, beta=.01):
    H, Z = noise(seed, n, 3, 4)
    return Sparse(*from_gradients(softmax(Z), softmax(Z / 2), embed(H, 1)), b, alpha, beta)


class References(unittest.TestCase):
    """The reference agrees with what the paper proves and with closed forms."""

    def test_expected_gradients_and_spreads_agree_with_their_definitions(self):
        H, Z = noise(1, 20, 5, 4)
        P, Q, H = softmax(Z), softmax(Z / 2), embed(H, 1)
        mean, spread = from_gradients(P, Q, H)
        each = []
        for y in range(4):
            A = P.copy()
            A[:, y] -= 1
            each.append((A[:, :, None] * H[:, None, :]).reshape(20, -1))
        np.testing.assert_allclose(mean, sum(Q[:, [y]] * each[y] for y in range(4)), atol=1e-14)
        away = sum(Q[:, y] * np.sqrt(((each[y] - mean) ** 2).sum(axis=1)) for y in range(4))
        np.testing.assert_allclose(spread, away, rtol=1e-12)

    def test_centred_losses_sum_to_zero_over_the_draws(self):
        S = evidence(2, 15)["samples"]
        mean, _ = from_samples(S)
        np.testing.assert_allclose(mean.sum(axis=1), 0, atol=1e-13)

    def test_equation_13s_factor_is_a_change_of_alpha_and_beta(self):
        """The factor 1/sqrt(m) of equation 13 multiplies the fit and sigma^2 by 1/m, and not beta's term. So
        beta must be m times as large without it. Algorithm 2 does not multiply f2 by its step: alpha / m."""
        alpha, beta = 2.0, 1e-3
        for seed in range(5):
            S = evidence(seed, 15, m=20)["samples"]
            mean, spread = from_samples(S)
            m = len(S)
            factor = Sparse(mean / m ** .5, spread / m ** .5, 4, alpha, beta)
            picks, _, weights = factor.greedy()
            same, _, without = Sparse(mean, spread, 4, alpha, m * beta).greedy()
            self.assertEqual(picks, same)
            np.testing.assert_allclose(weights, without, rtol=1e-9, atol=1e-12)
            support, weights, _ = factor.iht(50)
            same, without, _ = Sparse(mean, spread, 4, alpha / m, m * beta).iht(50)
            self.assertEqual(support, same)
            np.testing.assert_allclose(weights, without, rtol=1e-6, atol=1e-9)

    def test_the_slope_agrees_with_finite_differences(self):
        it = random_problem(3)
        w = np.random.default_rng(3).random(12)
        for j in range(12):
            e = np.zeros(12)
            e[j] = 1e-5
            self.assertAlmostEqual((it.f1(w + e) - it.f1(w - e)) / 2e-5, it.slope(w)[j], places=8)

    def test_after_a_line_search_the_slope_along_it_is_zero(self):
        it = random_problem(4)
        rng = np.random.default_rng(4)
        u, w = rng.standard_normal(12), rng.random(12)
        at = w - it.line_search(u, w) * u
        self.assertAlmostEqual((it.slope(at) * u).sum(), 0, places=12)

    def test_debiasing_never_raises_the_objective(self):
        for seed in range(20):
            it = random_problem(seed)
            w = np.maximum(np.random.default_rng(seed).standard_normal(12), 0)
            self.assertLessEqual(it.f1(it.unbiased(w)), it.f1(w) + 1e-15)

    def test_the_exact_rule_finds_the_best_of_all_supports(self):
        for seed in range(10):
            it = random_problem(seed, n=7, b=3, alpha=20)
            s = np.random.default_rng(seed).standard_normal(7) * .3

            def objective(rows):
                w = np.zeros(7)
                w[list(rows)] = np.maximum(s[list(rows)], 0)
                # a row of the support counts its gain even if its weight is 0
                return ((w - s) ** 2).sum() / 2 - it.gain[list(rows)].sum()

            best = min(itertools.combinations(range(7), 3), key=objective)
            merit = it.prox_scores(s, "exact")
            self.assertEqual(set(np.argsort(-merit)[:3]), set(best))

    def test_with_beta_0_all_rows_of_weight_1_fit_exactly(self):
        it = random_problem(5, n=6, b=6, alpha=0, beta=0)
        self.assertAlmostEqual(it.f1(np.full(6, 1.0)), 0)


class Greedy(StrategyCase):
    def test_rows_and_weights_agree_with_the_reference(self):
        for seed, (n, d, classes, batch) in enumerate(
                ((12, 3, 4, 5), (40, 6, 3, 15), (30, 2, 2, 30), (50, 9, 10, 12), (25, 30, 5, 8))):
            for alpha, beta, tau in ((1e-2, .1, 1), (0, 1e-3, 1), (1, 1e-3, 1), (1, 1e-3, .01),
                                     (0, 0, 1), (5, 1, 1)):
                whole = evidence(seed, n, d, classes)
                for way in (0, 1, 2):
                    with self.subTest(n=n, batch=batch, alpha=alpha, beta=beta, tau=tau, way=way):
                        arrays = needed("sparse-greedy", whole, way)
                        arrays["labels"] = np.where(np.arange(n) % 6, -1, 1)
                        self.check("sparse-greedy", batch, self.inputs(**arrays), **arrays,
                                   alpha=alpha, beta=beta, tau=tau)

    def test_defaults(self):
        arrays = needed("sparse-greedy", evidence(6, 30))
        got = self.outcome("sparse-greedy", 6, self.inputs(**arrays))
        self.assertEqual({key: got.options[key] for key in ("alpha", "beta", "tau", "bias",
                                                            "source")},
                         {"alpha": .01, "beta": .1, "tau": 1, "bias": 1, "source": "gradient"})
        self.check("sparse-greedy", 6, self.inputs(**arrays), **arrays)
        got = self.outcome("sparse-greedy", 6,
                           self.inputs(**needed("sparse-greedy", evidence(6, 30), 2)))
        self.assertEqual(got.options["source"], "samples")

    def test_the_batch_is_always_full(self):
        # A row is picked even if its weight ends at 0.
        for seed in range(10):
            arrays = needed("sparse-greedy", evidence(seed, 20))
            got = self.outcome("sparse-greedy", 19, self.inputs(**arrays), alpha=0, beta=1e-6)
            self.assertEqual(len(set(got.indices)), 19)
            self.assertGreaterEqual(min(got.weights), 0)

    def test_a_large_alpha_picks_the_largest_spreads(self):
        arrays = needed("sparse-greedy", evidence(7, 40))
        got = self.outcome("sparse-greedy", 10, self.inputs(**arrays), alpha=1e9)
        _, spread = from_gradients(arrays["probs"], arrays["calibrated"],
                                   embed(arrays["features"], 1))
        self.assertEqual(got.indices, list(np.argsort(-spread, kind="stable")[:10]))


class Iht(StrategyCase):
    def test_rows_and_weights_agree_with_the_reference(self):
        for seed, (n, d, classes, batch) in enumerate(
                ((12, 3, 4, 5), (40, 6, 3, 15), (30, 2, 2, 30), (50, 9, 10, 12), (25, 30, 5, 8))):
            whole = evidence(seed, n, d, classes)
            for alpha, beta, iters in ((1e-8, 1e-4, 1), (1e-8, 1e-4, 20), (1, 1e-3, 7),
                                       (0, .1, 300), (1, 1e-3, 60), (0, 0, 5)):
                for way, prox, keep in ((0, "exact", "last"), (1, "printed", "last"),
                                        (2, "exact", "best"), (0, "exact", "best")):
                    with self.subTest(n=n, alpha=alpha, beta=beta, iters=iters, way=way,
                                      prox=prox, keep=keep):
                        arrays = needed("sparse-iht", whole, way)
                        arrays["labels"] = np.where(np.arange(n) % 6, -1, 1)
                        self.check("sparse-iht", batch, self.inputs(**arrays), **arrays,
                                   alpha=alpha, beta=beta, iters=iters, prox=prox, keep=keep)

    def test_defaults(self):
        arrays = needed("sparse-iht", evidence(8, 30))
        got = self.outcome("sparse-iht", 6, self.inputs(**arrays))
        wanted = {"alpha": 1e-8, "beta": 1e-4, "iters": 300, "tol": 0, "keep": "last",
                  "prox": "exact", "bias": 1, "source": "gradient"}
        self.assertEqual({key: got.options[key] for key in wanted}, wanted)
        self.check("sparse-iht", 6, self.inputs(**arrays), **arrays)

    def test_a_tolerance_ends_the_iterations_early(self):
        arrays = needed("sparse-iht", evidence(9, 30))
        args = self.inputs(**arrays)
        for tol in (.5, 1e-2, 1e-6):
            self.check("sparse-iht", 6, args, **arrays, alpha=1, beta=1e-2, tol=tol)
        self.assertNotEqual(
            self.outcome("sparse-iht", 6, args, alpha=1, beta=1e-2, tol=.5).weights,
            self.outcome("sparse-iht", 6, args, alpha=1, beta=1e-2, iters=50).weights)

    def test_the_best_iterate_is_no_worse_than_the_last(self):
        for seed in range(10):
            arrays = needed("sparse-iht", evidence(seed, 25))
            args = self.inputs(**arrays)
            parts = from_gradients(arrays["probs"], arrays["calibrated"],
                                   embed(arrays["features"], 1))
            f = {}
            for keep in ("last", "best"):
                got = self.outcome("sparse-iht", 5, args, keep=keep, iters=40)
                w = np.zeros(25)
                w[got.indices] = got.weights
                f[keep] = Sparse(*parts, 5, 1e-8, 1e-4).f(w)
            self.assertLessEqual(f["best"], f["last"] + 1e-15)

    def test_the_batch_is_always_full(self):
        for seed in range(5):
            arrays = needed("sparse-iht", evidence(seed, 20))
            got = self.outcome("sparse-iht", 19, self.inputs(**arrays), prox="printed")
            self.assertEqual(len(set(got.indices)), 19)
            self.assertEqual(got.weights, sorted(got.weights, reverse=True))
            self.assertEqual(got.weights, got.scores)


class Rules(StrategyCase):
    """Properties of both strategies."""

    def test_rows_that_may_not_be_picked_do_not_count(self):
        # n, v and the term (w - 1)^2 are over the rows that may be picked.
        whole = evidence(10, 40)
        some = np.arange(2, 40, 3)
        for strategy, way in itertools.product(BOTH, (0, 1, 2)):
            arrays = needed(strategy, whole, way)
            part = self.outcome(strategy, 5, self.inputs(**arrays, candidates=some))
            cut = {key: value if key == "temperature" else
                   value[:, some] if key == "samples" else value[some]
                   for key, value in arrays.items()}
            alone = self.outcome(strategy, 5, self.inputs(**cut))
            with self.subTest(strategy, way=way):
                self.assertEqual(part.indices, [some[i] for i in alone.indices])
                self.assertEqual(part.weights, alone.weights)

    def test_a_batch_larger_than_the_pool_counts_as_the_pools_size(self):
        arrays = needed("sparse-greedy", evidence(11, 9))
        args = self.inputs(**arrays)
        for strategy in BOTH:
            self.assertEqual(self.outcome(strategy, 9, args).weights,
                             self.outcome(strategy, 1000, args).weights)

    def test_labels_only_exclude_rows(self):
        arrays = needed("sparse-greedy", evidence(12, 30))
        for strategy in BOTH:
            runs = [self.outcome(strategy, 5, self.inputs(
                **arrays, labels=np.where(np.arange(30) % 4, -1, k))).weights for k in (0, 3)]
            self.assertEqual(*runs)

    def test_the_bias_agrees_with_the_reference(self):
        arrays = needed("sparse-greedy", evidence(13, 30))
        for strategy, bias in itertools.product(BOTH, (0, 1)):
            self.check(strategy, 6, self.inputs(**arrays), **arrays, bias=bias)

    def test_of_copies_the_first_is_picked_first(self):
        # Of two copies the first is picked first; the term (w - 1)^2 lets the second follow.
        whole = evidence(14, 6)
        for strategy in BOTH:
            arrays = needed(strategy, whole)
            twice = {key: np.vstack([value, value]) for key, value in arrays.items()}
            self.check(strategy, 5, self.inputs(**twice), **twice, beta=.1)
            got = self.outcome(strategy, 5, self.inputs(**twice), beta=.1)
            for at, i in enumerate(got.indices):
                if i >= 6:
                    self.assertIn(i - 6, got.indices[:at])

    def test_the_option_source_chooses_between_gradients_and_draws(self):
        whole = evidence(15, 30)
        for strategy in BOTH:
            by_gradient = self.inputs(**needed(strategy, whole))
            by_samples = self.inputs(**needed(strategy, whole, 2))
            for source, alone in (("gradient", by_gradient), ("samples", by_samples)):
                both = self.outcome(strategy, 5, by_gradient + by_samples, source=source)
                self.assertEqual(both.weights, self.outcome(strategy, 5, alone).weights)
                self.assertIn("warning", both.said)

    def test_the_bias_does_not_apply_to_draws(self):
        arrays = needed("sparse-greedy", evidence(16, 30), 2)
        for strategy in BOTH:
            args = self.inputs(**arrays)
            self.assertEqual(self.outcome(strategy, 5, args, bias=0).weights,
                             self.outcome(strategy, 5, args, bias=1).weights)

    def test_certain_draws_agree_with_the_reference(self):
        # Logarithms of 0 are clamped to those of 1e-12.
        S = np.eye(3)[np.random.default_rng(17).integers(0, 3, (6, 30))]
        for strategy in BOTH:
            self.check(strategy, 7, self.inputs(samples=S), samples=S, beta=1e-2)

    def test_calibrated_probabilities_equal_to_the_probabilities_give_a_warning(self):
        # The expected gradients are 0; only the spread and the term (w - 1)^2 are left.
        whole = evidence(18, 30)
        for strategy in BOTH:
            for arrays in ({"probs": whole["probs"], "calibrated": whole["probs"]},
                           {"logits": whole["logits"], "temperature": 1.0},
                           {"logits": whole["logits"], "temperature": 1.0005}):
                arrays["features"] = whole["features"]
                with self.subTest(strategy, given=list(arrays)):
                    got = self.outcome(strategy, 5, self.inputs(**arrays))
                    self.assertRegex(got.said, "warning: .*(calibrated|logits|temperature)")
                    self.check(strategy, 5, self.inputs(**arrays), **arrays)
            arrays = needed(strategy, whole)
            self.assertEqual(self.outcome(strategy, 5, self.inputs(**arrays)).said, "")

    def test_many_classes(self):
        whole = evidence(19, 40, 5, 1000)
        for strategy in BOTH:
            arrays = {key: value.astype("f4") for key, value in needed(strategy, whole).items()}
            self.check(strategy, 10, self.inputs(**arrays), **arrays,
                       **({"iters": 20} if strategy == "sparse-iht" else {}))

    def test_a_thousand_rows(self):
        whole = evidence(20, 1000, 8, 4, m=12)
        for strategy, way in itertools.product(BOTH, (0, 2)):
            arrays = {key: value.astype("f4")
                      for key, value in needed(strategy, whole, way).items()}
            with self.subTest(strategy, way=way):
                self.check(strategy, 40, self.inputs(**arrays), **arrays,
                           **({"iters": 20} if strategy == "sparse-iht" else {}))


class Temperature(StrategyCase):
    def fit(self, Z, labels, rows, **more):
        """Fits a temperature to the given rows; two more rows may be picked."""
        Z = np.vstack([np.asarray(Z, float), np.zeros((2, len(Z[0])))])
        Z[-1, 0] = 1
        args = self.inputs(features=np.ones((len(Z), 1)), logits=Z, temperature="fit",
                           labels=np.r_[labels, -1, -1], calibrate_on=np.array(rows), **more)
        return self.outcome("sparse-greedy", 1, args)

    def test_four_rows_by_hand(self):
        # One of four labels is wrong with logits 1 and 0: 1/T = ln 3.
        got = self.fit([[1, 0]] * 4, [0, 0, 0, 1], range(4))
        self.assertAlmostEqual(got.info["temperature"], .910239, delta=SIX)
        self.assertAlmostEqual(got.info["temperature"], 1 / np.log(3), delta=1e-7)

    def test_only_the_listed_rows_count(self):
        got = self.fit([[1, 0]] * 6, [0, 0, 0, 1, 1, 1], [0, 1, 2, 3])
        self.assertAlmostEqual(got.info["temperature"], .910239, delta=SIX)

    def test_it_has_the_greatest_likelihood(self):
        rng = np.random.default_rng(1)
        for classes, heat in ((2, 3.0), (5, .5), (10, 1.7)):
            Z = rng.standard_normal((300, classes)) * 3
            labels = np.array([rng.choice(classes, p=p) for p in softmax(Z / heat)])
            got = self.fit(Z, labels, np.arange(300)).info["temperature"]

            def loss(t):
                return -np.log(softmax(Z / t)[np.arange(300), labels]).mean()

            for factor in (1 - 1e-3, 1 + 1e-3):
                self.assertLess(loss(got), loss(got * factor))
            self.assertAlmostEqual(got / heat, 1, delta=.4)

    def test_a_fitted_temperature_picks_as_the_same_number_does(self):
        rng = np.random.default_rng(2)
        Z = rng.standard_normal((80, 4)) * 2
        labels = np.full(80, -1)
        labels[:30] = [rng.choice(4, p=p) for p in softmax(Z[:30] / 2)]
        given = {"features": rng.standard_normal((80, 3)), "logits": Z, "labels": labels}
        for strategy in BOTH:
            fitted = self.outcome(strategy, 6, self.inputs(
                **given, temperature="fit", calibrate_on=np.arange(30)))
            told = self.outcome(strategy, 6, self.inputs(
                **given, temperature=float(repr(fitted.info["temperature"]))))
            self.assertEqual(fitted.indices, told.indices)
            np.testing.assert_allclose(fitted.weights, told.weights, rtol=1e-9)
            self.assertEqual(told.info["temperature"], fitted.info["temperature"])

    def test_it_equals_calibrated_probabilities(self):
        whole = evidence(3, 40)
        for strategy, heat in itertools.product(BOTH, (.5, 2.0, 7.3)):
            given = {"features": whole["features"], "logits": whole["logits"]}
            warm = self.outcome(strategy, 8, self.inputs(**given, temperature=heat))
            told = self.outcome(strategy, 8, self.inputs(
                **given, calibrated=softmax(whole["logits"] / heat)))
            with self.subTest(strategy, heat=heat):
                self.assertEqual(warm.indices, told.indices)
                np.testing.assert_allclose(warm.weights, told.weights, rtol=1e-8, atol=1e-12)

    def test_without_errors_the_temperature_is_limited_with_a_warning(self):
        got = self.fit([[1, 0], [0, 1], [2, 0]], [0, 1, 0], range(3))
        self.assertIn("warning", got.said)
        self.assertGreaterEqual(got.info["temperature"], 1e-2 * (1 - 1e-9))


if __name__ == "__main__":
    unittest.main()
