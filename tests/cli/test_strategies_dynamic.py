# SPDX-License-Identifier: Apache-2.0
"""dynamic: the gain in training speed, compared with dense gradients."""
import itertools
import unittest

import numpy as np

from reference import dynamic, embed, loss_gradients, noise, softmax, speed
from strategycase import StrategyCase


def labelled(n, every, classes):
    """Labels of all classes in turn on every `every`-th row."""
    return np.where(np.arange(n) % every, -1, np.arange(n) // every % classes)


class References(unittest.TestCase):
    def test_the_criterion_is_the_gain_in_speed(self):
        H, Z = noise(1, 30, 4, 5)
        G = loss_gradients(softmax(Z), embed(H, 1), labelled(30, 4, 5))
        S = list(range(0, 30, 4))
        for u in set(range(30)) - set(S):
            self.assertAlmostEqual(dynamic(G, S, 2)[u], speed(G, [*S, u]) - speed(G, S),
                                   delta=1e-9 * speed(G, [*S, u]))

    def test_labelled_rows_have_the_gradient_of_their_label(self):
        P, H = np.array([[.7, .2, .1]]), np.array([[2.0]])
        np.testing.assert_allclose(loss_gradients(P, H, [1]), [[1.4, -1.6, .2]], rtol=1e-15)
        np.testing.assert_allclose(loss_gradients(P, H, [-1]), [[-.6, .4, .2]], rtol=1e-15)


class Values(StrategyCase):
    def test_every_gamma_and_bias_agrees_with_the_reference(self):
        H, Z = noise(2, 80, 7, 5, confident=2.0)
        arrays = {"features": H, "logits": Z, "labels": labelled(80, 6, 5)}
        args = self.inputs(**arrays)
        for gamma, bias in itertools.product((0, .5, 1, 2, 1e3, "inf"), (0, 1)):
            with self.subTest(gamma=gamma, bias=bias):
                self.check("dynamic", 80, args, **arrays, gamma=gamma, bias=bias)

    def test_the_defaults_are_gamma_2_and_the_bias(self):
        H, Z = noise(3, 40, 5, 4)
        args = self.inputs(features=H, logits=Z, labels=labelled(40, 5, 4))
        got = self.outcome("dynamic", 10, args)
        self.assertEqual(got.options["gamma"], 2)
        self.assertEqual(got.options["bias"], 1)
        self.assertEqual(got.scores, self.outcome("dynamic", 10, args, gamma=2, bias=1).scores)

    def test_the_score_is_the_gain_in_speed(self):
        H, Z = noise(4, 60, 5, 4)
        labels = labelled(60, 5, 4)
        got = self.outcome("dynamic", 48, self.inputs(features=H, logits=Z, labels=labels))
        G = loss_gradients(softmax(Z), embed(H, 1), labels)
        S = np.flatnonzero(labels >= 0)
        for u, score in zip(got.indices, got.scores):
            after = speed(G, [*S, u])
            self.assertAlmostEqual(score, after - speed(G, S), delta=1e-9 * after)

    def test_labelled_rows_count_even_if_they_are_not_candidates(self):
        H, Z = noise(5, 50, 5, 4)
        labels = labelled(50, 5, 4)
        args = {"features": H, "logits": Z, "labels": labels}
        whole = self.outcome("dynamic", 40, self.inputs(**args))
        some = np.arange(1, 50, 3)
        part = self.outcome("dynamic", 40, self.inputs(**args, candidates=some))
        truth = dict(zip(whole.indices, whole.scores))
        self.assertEqual(set(part.indices), {i for i in some if labels[i] < 0})
        self.assertEqual(part.scores, [truth[i] for i in part.indices])

    def test_without_labels_the_norms_decide(self):
        H, Z = noise(6, 40, 5, 4)
        for labels in (None, np.full(40, -1)):
            args = self.inputs(features=H, logits=Z, labels=labels)
            norms = self.outcome("dynamic", 40, args, gamma=0)
            for gamma in (1, 2):
                self.assertEqual(self.outcome("dynamic", 40, args, gamma=gamma).scores,
                                 norms.scores)
            # The inner product alone is 0 for all rows, so the first rows are picked.
            all_tied = self.outcome("dynamic", 7, args, gamma="inf")
            self.assertEqual((all_tied.indices, all_tied.scores), (list(range(7)), [0] * 7))

    def test_the_label_of_a_labelled_row_matters(self):
        H, Z = noise(7, 40, 5, 4)
        labels = labelled(40, 5, 4)
        for turned in (labels, np.where(labels >= 0, (labels + 1) % 4, -1)):
            arrays = {"features": H, "logits": Z, "labels": turned}
            self.check("dynamic", 32, self.inputs(**arrays), **arrays)

    def test_a_certain_row_scores_zero(self):
        P = np.array([[.5, .5, 0], [0, 1, 0], [.2, .2, .6], [0, 0, 1]])
        got = self.outcome("dynamic", 4, self.inputs(features=np.ones((4, 2)), probs=P))
        self.assertEqual(sorted(got.indices[2:]), [1, 3])
        self.assertEqual(got.scores[2:], [0, 0])

    def test_many_classes(self):
        H, Z = noise(8, 60, 6, 1000, confident=3.0)
        arrays = {"features": H.astype("f4"), "logits": Z.astype("f4"),
                  "labels": labelled(60, 4, 1000)}
        self.check("dynamic", 45, self.inputs(**arrays), **arrays)

    def test_any_scale_of_the_features(self):
        H, Z = noise(9, 40, 6, 5)
        for dtype, scale in (("f4", 1e-18), ("f4", 1e15), ("f8", 1e-60), ("f8", 1e60)):
            for bias in (0, 1):
                with self.subTest(dtype=dtype, scale=scale, bias=bias):
                    arrays = {"features": (H * scale).astype(dtype), "probs": softmax(Z),
                              "labels": labelled(40, 5, 5)}
                    self.check("dynamic", 32, self.inputs(**arrays), **arrays, bias=bias)

    def test_thousands_of_rows(self):
        H, Z = noise(10, 5000, 20, 8, confident=2.0)
        arrays = {"features": H.astype("f4"), "logits": Z.astype("f4"),
                  "labels": labelled(5000, 10, 8)}
        for gamma in (2, "inf"):
            self.check("dynamic", 500, self.inputs(**arrays), **arrays, gamma=gamma)


class Ties(StrategyCase):
    def test_copies_tie_and_go_by_index(self):
        # 300 copies of 6 rows in random order: copies of a row have equal scores and ascending indices.
        kinds = np.random.default_rng(11).integers(0, 6, 300)
        H, Z = noise(11, 6, 9, 7)
        labels = np.full(300, -1)
        labels[:30:3] = 2
        for dtype, gamma in itertools.product(("f4", "f8"), (0, 2, "inf")):
            with self.subTest(dtype=dtype, gamma=gamma):
                args = self.inputs(features=H.astype(dtype)[kinds],
                                   logits=Z.astype(dtype)[kinds], labels=labels)
                got = self.outcome("dynamic", 290, args, gamma=gamma)
                for kind in range(6):
                    mine = [(s, i) for s, i in zip(got.scores, got.indices) if kinds[i] == kind]
                    self.assertEqual(len({s for s, _ in mine}), 1)
                    self.assertEqual([i for _, i in mine], sorted(i for _, i in mine))


class Gradients(StrategyCase):
    def setUp(self):
        super().setUp()
        self.H, self.Z = noise(12, 70, 5, 4, confident=2.0)
        self.labels = labelled(70, 6, 4)
        self.G = loss_gradients(softmax(self.Z), embed(self.H, 1), self.labels)

    def test_the_last_layers_gradients_pick_as_features_and_probabilities_do(self):
        for gamma in (0, 1, 2, "inf"):
            factored = self.outcome("dynamic", 58, self.inputs(
                features=self.H, logits=self.Z, labels=self.labels), gamma=gamma)
            dense = self.outcome("dynamic", 58, self.inputs(
                gradients=self.G, labels=self.labels), gamma=gamma)
            self.assertEqual(dense.indices, factored.indices)
            np.testing.assert_allclose(dense.scores, factored.scores, rtol=1e-9,
                                       atol=1e-12 * speed(self.G, range(70)))

    def test_every_type_is_converted_exactly(self):
        for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8"):
            with self.subTest(dtype=dtype):
                arrays = {"gradients": self.G.astype(dtype), "labels": self.labels}
                self.check("dynamic", 58, self.inputs(**arrays), **arrays)

    def test_the_bias_does_not_apply_to_gradients(self):
        # Nothing is appended to given gradients.
        arrays = {"gradients": self.G, "labels": self.labels}
        for bias in (0, 1):
            self.check("dynamic", 58, self.inputs(**arrays), **arrays, bias=bias)

    def test_a_label_may_be_any_class(self):
        # A given gradient already includes its label.
        named = np.where(self.labels >= 0, 10**6, -1)
        arrays = {"gradients": self.G, "labels": named}
        self.check("dynamic", 58, self.inputs(**arrays), **arrays)


if __name__ == "__main__":
    unittest.main()
